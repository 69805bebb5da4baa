//! Applications over flows in virtual time: loads, players and calls.

pub mod application;
pub mod call;
pub mod player;
