//! `DualPI2`: its clauses, and its pseudo-code.

mod clauses;
mod pseudocode;
