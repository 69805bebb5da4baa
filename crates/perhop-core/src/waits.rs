//! How long packets wait, and so how long a queue is on average.
//!
//! Source: Little 1961, path by path: the integral of what waits over a time is the sum of the parts of all waits that
//! fall into it. So nothing is done when a packet comes, and nothing at all for one that does not wait. What waits at the end of
//! the time must be counted when it ends. Units: ns. Cost: for a packet that waited, two products and four sums.

use crate::time::{Instant, Span};
use crate::units::Bytes;

/// The waits in a queue since an instant.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Waits {
    since: Instant,
    longest: Span,
    /// Packets by the time that each waited after `since`.
    packets: u128,
    /// Bytes likewise.
    bytes: u128,
    /// Of the packets that were sent, what they waited before `since`.
    before: u128,
    /// Of `packets`, the part of those that were not sent.
    unsent: u128,
}

impl Waits {
    /// Nothing has left since `now`.
    #[must_use]
    pub const fn since(now: Instant) -> Self {
        Self { since: now, longest: Span::ZERO, packets: 0, bytes: 0, before: 0, unsent: 0 }
    }

    /// A packet of `len` that waited since `from` has been sent.
    #[inline]
    pub(crate) fn sent(&mut self, from: Instant, now: Instant, len: Bytes) {
        self.longest = self.longest.max(now - from);
        if from < self.since {
            self.before += u128::from((self.since - from).as_nanos());
        }
        self.add(from, now, len);
    }

    /// A packet of `len` that waited since `from` waits no longer, and was not sent.
    pub(crate) fn left(&mut self, from: Instant, now: Instant, len: Bytes) {
        self.unsent += self.add(from, now, len);
    }

    #[inline]
    fn add(&mut self, from: Instant, now: Instant, len: Bytes) -> u128 {
        let waited = u128::from((now - from.max(self.since)).as_nanos());
        self.packets += waited;
        self.bytes += waited * u128::from(len.0);
        waited
    }

    /// The longest wait of a packet that was sent.
    #[must_use]
    pub const fn longest(&self) -> Span {
        self.longest
    }

    /// The mean wait of `sent` packets, s: all that were sent, those that did not wait included.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean for people and tables")]
    pub fn mean_s(&self, sent: u64) -> f64 {
        (self.packets + self.before - self.unsent) as f64 / sent as f64 / 1e9
    }

    /// How many packets, and how many bytes, waited on average between the instant since which waits count and that at which
    /// what was still there left.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean for people and tables")]
    pub fn mean_backlog(&self, from: Instant, to: Instant) -> (f64, f64) {
        let time = (to - from).as_nanos() as f64;
        (self.packets as f64 / time, self.bytes as f64 / time)
    }
}
