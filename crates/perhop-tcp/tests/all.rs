//! All tests of the crate in one program: it is linked once.

mod dctcp;
mod fuzz;
mod laws;
mod pacing;
mod prague;
mod rate;
mod receiver;
mod script;
mod scripts;
mod sender;
mod sender_laws;
