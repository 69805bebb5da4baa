//! The words of values, below what is written and what is meant: quantities, names, marks, choices, and suggestions for a wrong one.

pub mod choices;
pub mod congestion;
pub mod conventions;
pub mod files;
pub mod labels;
pub mod link_rate;
pub mod marks;
pub mod names;
pub(crate) mod quantity;
pub mod setting;
pub(crate) mod suggest;
pub mod units;
