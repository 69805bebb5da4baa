//! All tests of the crate in one program: it is linked once.

mod exact;
mod laws;
mod laws_meter;
mod laws_node;
