//! `DualPI2`: its clauses, its pseudo-code, and Linux.

mod clauses;
mod linux;
mod pseudocode;
