//! Startup and Drain, and whether the path is full. Units: bytes per second.

use perhop_core::time::Instant;

use super::{Bbr3, State};
use crate::rate::{RateSample, Repair};

/// Round trips without a quarter more bandwidth after which the path is full.
const FULL_ROUNDS: u32 = 3;
/// Ranges of bytes lost in a round trip that end Startup (`StartupFullLossCnt`).
const FULL_LOSSES: u32 = 6;
/// Round trips after which Drain ends at the latest.
const DRAIN_ROUNDS: u64 = 3;

/// The search for a bandwidth that does not grow.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct FullPipe {
    /// The bandwidth last time it had grown (`full_bw`), and round trips since then.
    pub(super) bw: u64,
    pub(super) count: u32,
    /// It has not grown any more since the search began (`full_bw_now`).
    pub(super) now: bool,
}

impl FullPipe {
    /// Begins anew, from `bw` (`ResetFullBW`).
    pub(super) const fn reset(&mut self, bw: u64) {
        *self = Self { bw, count: 0, now: false };
    }
}

impl Bbr3 {
    //= draft-ietf-ccwg-bbr-5.3.1.2-full
    //= draft-ietf-ccwg-bbr-5.3.1.2-limited
    pub(super) fn check_full(&mut self, sample: &RateSample) {
        if self.full.now || !self.round_start || sample.app_limited {
            return;
        }
        if self.delivery_rate >= self.full.bw.saturating_mul(5) / 4 {
            self.full.reset(self.delivery_rate);
            return;
        }
        self.full.count += 1;
        self.full.now = self.full.count >= FULL_ROUNDS;
        self.full_bw_reached |= self.full.now;
    }

    pub(super) fn check_startup_done(&mut self, sample: &RateSample) {
        self.check_startup_losses(sample);
        if self.state == State::Startup && self.full_bw_reached {
            self.state = State::Drain;
            self.drain_start_round = self.round_count;
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.1.3-losses
    //= draft-ietf-ccwg-bbr-5.3.1.3-answer
    fn check_startup_losses(&mut self, sample: &RateSample) {
        if !self.signals.round_start {
            return;
        }
        let ranges = self.signals.take_ranges();
        if self.state == State::Startup
            && sample.repair == Repair::Recovery
            && ranges >= FULL_LOSSES
            && super::losses::is_too_high(sample.tx_in_flight, sample.lost_since)
        {
            self.undo.state = Some(State::Startup);
            (self.full.now, self.full_bw_reached) = (true, true);
            self.inflight_longterm = self.bdp().unwrap_or(0).max(self.signals.inflight_latest);
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.2-leave
    pub(super) fn check_drain_done(&mut self, now: Instant, sample: &RateSample) {
        let long = self.round_count > self.drain_start_round + DRAIN_ROUNDS;
        if self.state == State::Drain && (sample.in_flight.0 <= self.inflight(self.bw) || long) {
            self.start_down(now);
        }
    }
}
