//! Hosts in virtual time, and the packets that they send.

pub mod connection;
pub mod datagrams;
pub mod deadlines;
pub mod ends;
pub mod fill;
pub mod host;
pub mod packet;
pub mod processing;
