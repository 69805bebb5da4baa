//! The TCP-friendly marker: both algorithms by hand, their properties, and what each reading changes.

mod allocation;
mod common;
mod estimate;
mod laws;
mod readings;
mod spacing;
