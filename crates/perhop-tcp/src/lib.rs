//! TCP as state machines without input or output: a sender, a receiver, and the rules they are put together from.
//!
//! Before working here read RFC 5681 (congestion control) and RFC 6298 (retransmission timer). Sequence numbers are
//! byte offsets from the start of the connection, in `u64`, so they never wrap; a driver that speaks to a real
//! network maps them to 32 bits.

pub mod ack;
pub mod cc;
pub mod pacing;
pub mod rate;
pub mod receiver;
pub mod recovery;
pub mod rtt;
pub mod segment;
pub mod sender;
pub mod settings;
pub mod wheel;
