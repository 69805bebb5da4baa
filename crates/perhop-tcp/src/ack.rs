//! When a receiver acknowledges.
//!
//! Source: RFC 5681 section 4.2, RFC 1122 section 4.2.3.2. Different: segments are counted whatever their size, since
//! what is full-sized is the sender's secret; so short ones are acknowledged sooner than they must be.

use perhop_core::time::{Instant, Span};

/// Longest time for which an acknowledgment may wait (RFC 1122 section 4.2.3.2).
pub const MAX_DELAY: Span = Span::from_millis(500);

/// A segment as the receiver saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Arrival {
    /// It filled the next expected byte.
    pub in_order: bool,
    /// It filled the next expected byte, in front of bytes that had come before it.
    pub fills_gap: bool,
}

impl Arrival {
    /// Whether its acknowledgment may wait.
    //= rfc5681-3.2-duplicate-at-once
    //= rfc5681-3.2-gap-at-once
    //= rfc6582-5-receiver-at-once
    #[must_use]
    pub const fn may_wait(&self) -> bool {
        self.in_order && !self.fills_gap
    }
}

/// What to do about an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAction {
    /// Acknowledge at once.
    Now,
    /// Acknowledge then, if nothing causes an acknowledgment before.
    Delay(Instant),
    /// Acknowledge with what has been decided already.
    None,
}

/// Decides when to acknowledge. `now` never decreases between calls. A receiver asks about segments with data alone.
///
/// Laws: what may not wait is acknowledged at once, what may wait within 500 ms and with the next segment at the latest.
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

/// One acknowledgment for two segments in order, and after a time-out for one.
#[derive(Clone, Copy, Debug)]
pub struct Delayed {
    timeout: Span,
    /// A segment waits for its acknowledgment.
    waiting: bool,
}

impl Delayed {
    /// Lets the first segment wait for `timeout`, at most [`MAX_DELAY`].
    #[must_use]
    pub const fn new(timeout: Span) -> Self {
        Self {
            timeout: if timeout.as_nanos() < MAX_DELAY.as_nanos() { timeout } else { MAX_DELAY },
            waiting: false,
        }
    }
}

impl AckPolicy for Delayed {
    //= rfc5681-4.2-delayed
    //= rfc5681-4.2-every-second
    //= rfc5681-4.2-half-second
    fn on_arrival(&mut self, now: Instant, seg: &Arrival) -> AckAction {
        if self.waiting || !seg.may_wait() {
            return AckAction::Now;
        }
        self.waiting = true;
        AckAction::Delay(now + self.timeout)
    }

    fn on_ack_sent(&mut self, _now: Instant) {
        self.waiting = false;
    }
}
