//! How much of cwnd is used, and what is left of one that the application leaves unused.
//!
//! Source: RFC 2861 section 3; Linux's `tcp_cwnd_validate`, `tcp_is_cwnd_limited`, `tcp_cwnd_application_limited` and
//! `tcp_cwnd_restart`. Units: segments. Cost: a look at the last of the segments that leave together.

use perhop_core::time::{Instant, Span};

/// The use of cwnd, in windows of data.
#[derive(Debug, Default)]
pub(super) struct Validation {
    /// Whether cwnd was full in the present window of data, and else the most that was outstanding in it (`max_packets_out`).
    full: bool,
    most: u64,
    /// Where that window of data ends (`cwnd_usage_seq`).
    until: u64,
    /// When cwnd last was the limit (`snd_cwnd_stamp`), and the most outstanding since (`snd_cwnd_used`).
    since: Instant,
    used: u64,
}

/// The data outstanding when a segment of new data has left.
#[derive(Clone, Copy, Debug)]
pub(super) struct Outstanding {
    /// First byte not acknowledged, and one past the last sent.
    pub una: u64,
    pub max: u64,
    /// Segments sent and not acknowledged, and those of them that are in the network.
    pub segments: u64,
    pub in_flight: u64,
    pub cwnd: u64,
    pub slow_start: bool,
}

impl Validation {
    /// New data has left, and nothing more can: the most of cwnd that was used, where something else has been the limit for a time-out `rto`.
    pub(super) fn on_sent(&mut self, now: Instant, out: &Outstanding, rto: Span) -> Option<u64> {
        let full = out.in_flight >= out.cwnd;
        if out.una >= self.until || full || (!self.full && out.segments > self.most) {
            (self.full, self.most, self.until) = (full, out.segments, out.max);
        }
        if self.limits(out.cwnd, out.slow_start) {
            self.restart(now);
            return None;
        }
        self.used = self.used.max(out.segments);
        if now.saturating_since(self.since) < rto {
            return None;
        }
        let used = self.used;
        self.restart(now);
        Some(used)
    }

    /// Whether cwnd is the limit; in slow start it is as long as more than half of it is used.
    pub(super) const fn limits(&self, cwnd: u64, slow_start: bool) -> bool {
        self.full || slow_start && cwnd < 2 * self.most
    }

    /// The use of cwnd counts from `now` on.
    pub(super) const fn restart(&mut self, now: Instant) {
        (self.since, self.used) = (now, 0);
    }
}
