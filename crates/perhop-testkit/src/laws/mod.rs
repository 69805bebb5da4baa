//! Laws that every implementation of a trait must obey, whatever it is asked to do.
//!
//! A law is a function of a constructor and a list of operations that panics when the law is broken. `ops()` makes
//! random lists; the macro of the same name as the module turns the laws into tests of one element.

#[cfg(feature = "tcp")]
pub mod ack_policy;
pub mod classifier;
#[cfg(feature = "tcp")]
pub mod congestion_control;
#[cfg(feature = "tcp")]
pub mod connection;
pub mod meter;
pub mod node;
pub mod queue;
pub mod scheduler;
#[cfg(feature = "tcp")]
pub mod sender;
