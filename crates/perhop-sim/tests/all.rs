//! All tests of the crate in one program: it is linked once.

mod applications;
mod bbr;
mod bbr3;
mod burst_loss;
mod common;
mod dctcp;
mod determinism;
mod diffserv;
mod dualpi2;
mod engine;
mod measures;
mod more_series;
mod own_queue;
mod pie;
mod random;
mod shaped;
mod subscribers;
mod tables;
mod traced;
