//! Acknowledgments that arrive together: how much more of them than the bandwidth explains. Units: bytes.

use perhop_core::time::Instant;

use super::Bbr3;
use crate::cc::max_filter::MaxFilter;
use crate::cc::rates::bytes_in;
use crate::rate::RateSample;

/// Round trips that the greatest is of (`ExtraAckedFilterLen`), and before the path has been full.
const ROUNDS: u64 = 10;
const STARTUP_ROUNDS: u64 = 1;

/// Acknowledged bytes that the bandwidth does not explain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    greatest: MaxFilter,
    /// Since when what is acknowledged is counted, and how much that is.
    began: Instant,
    acked: u64,
}

impl Aggregation {
    /// Counts from `now` on.
    pub(super) const fn restart(&mut self, now: Instant) {
        self.began = now;
    }

    /// Bytes by which the window is wider (`BBR.extra_acked`).
    pub(super) const fn extra(&self) -> u64 {
        self.greatest.greatest()
    }
}

impl Bbr3 {
    //= draft-ietf-ccwg-bbr-5.5.9-extra
    pub(super) fn update_aggregation(&mut self, now: Instant, sample: &RateSample) {
        let one = &mut self.aggregation;
        let mut expected = bytes_in(self.bw, now - one.began);
        if one.acked <= expected {
            (one.began, one.acked, expected) = (now, 0, 0);
        }
        one.acked += sample.acked.0;
        let extra = one.acked.saturating_sub(expected).min(self.cwnd);
        let window = if self.full_bw_reached { ROUNDS } else { STARTUP_ROUNDS };
        one.greatest.update(self.round_count, window, extra);
    }
}
