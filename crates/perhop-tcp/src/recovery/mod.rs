//! How losses are found and repaired, apart from how the window grows.

mod reno;

pub use reno::Reno;

/// What a duplicate acknowledgment leads to.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDuplicate {
    /// Nothing yet.
    Wait,
    /// Recovery begins: shrink the window, retransmit the first outstanding segment.
    Retransmit,
    /// The window was inflated by a segment.
    Inflate,
}
