//! Smoothed round-trip time and variation as Linux keeps them.
//!
//! Source: `tcp_rtt_estimator` in `net/ipv4/tcp_input.c`. Different: nanoseconds in place of microseconds. Units: ns with 3 (srtt) and
//! 2 (deviation) fraction bits.

/// srtt and mean deviation after a sample: gains of 1/8 and 1/4, and of 1/32 for a deviation that a shorter round trip would raise, as it is
/// nothing to wait longer for.
pub(super) fn smoothed(before: Option<(u64, u64)>, rtt: u64) -> (u64, u64) {
    let Some((srtt, deviation)) = before else { return (rtt << 3, rtt << 1) };
    let old = srtt >> 3;
    let (off, expected) = (old.abs_diff(rtt), deviation >> 2);
    let more = off.saturating_sub(expected);
    let raised = if rtt < old { more >> 3 } else { more };
    (srtt + rtt - old, deviation + raised - expected.saturating_sub(off))
}

/// The variation of the time-out: the largest deviation of a window of data, which falls by a quarter at most from one window to the next.
#[derive(Clone, Copy, Debug)]
pub(super) struct WindowedVariation {
    /// `rttvar_us`.
    variation: u64,
    /// `mdev_max_us`: the largest deviation within this window.
    largest: u64,
    /// `rtt_seq`: the window ends when all before it is acknowledged.
    end: u64,
}

impl WindowedVariation {
    pub(super) const NONE: Self = Self { variation: 0, largest: 0, end: 0 };

    /// The variation, never below `min`, after a sample that made the deviation what it is.
    pub(super) fn update(&mut self, deviation: u64, first: bool, min: u64, (una, next): (u64, u64)) -> u64 {
        if first {
            let variation = deviation.max(min);
            *self = Self { variation, largest: variation, end: next };
            return variation;
        }
        self.largest = self.largest.max(deviation);
        self.variation = self.variation.max(self.largest);
        if una > self.end {
            self.variation -= (self.variation - self.largest) >> 2;
            self.end = next;
            self.largest = min;
        }
        self.variation
    }
}
