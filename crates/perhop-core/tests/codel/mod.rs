//! `CoDel`: by the clauses of RFC 8289, against its pseudo-code in whole numbers, against Linux.

mod clauses;
mod linux;
pub(crate) mod pseudocode;
