//! When a receiver acknowledges.

use perhop_core::time::Instant;

/// A segment as the receiver saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// It filled the next expected byte.
    pub in_order: bool,
    /// It carried nothing new.
    pub duplicate: bool,
}

/// What to do about an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAction {
    /// Acknowledge at once.
    Now,
    /// Acknowledge with a later segment.
    None,
}

/// Decides when to acknowledge (RFC 5681 section 4.2). `now` never decreases between calls.
pub trait AckPolicy: Send {
    /// A segment arrived.
    fn on_arrival(&mut self, now: Instant, seg: &Arrival) -> AckAction;
    /// An acknowledgment left for whatever reason.
    fn on_ack_sent(&mut self, _now: Instant) {}
}

/// One acknowledgment for each segment, at once (Kalampoukas et al. 1997, section 4.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct EverySegment;

impl AckPolicy for EverySegment {
    fn on_arrival(&mut self, _now: Instant, _seg: &Arrival) -> AckAction {
        AckAction::Now
    }
}
