//! All tests of the crate in one program: it is linked once.

mod between;
mod campaign;
mod captures;
mod common;
mod conditioners;
mod count;
mod custom;
mod domain;
mod files;
mod frames;
mod fuzz;
mod interfaces;
mod labels;
mod limits;
mod load;
mod losses;
mod overrides;
mod profiles;
mod render;
mod routes;
mod rules;
mod slices;
mod sources;
mod tcp_rules;
mod units;
mod warnings;
