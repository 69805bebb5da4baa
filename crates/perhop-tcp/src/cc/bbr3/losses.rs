//! The answer to losses: bounds of the short term while the bandwidth is not probed, a bound of the long term while it is, and how both are
//! taken back. Units: bytes, bytes per second.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use super::{BETA, Bbr3, LOSS_THRESHOLD, State, UNSET, part};
use crate::rate::{LostSegment, RateSample};

/// The round trip that is watched for losses.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Signals {
    /// The greatest rate and the most bytes delivered in it (`bw_latest`, `inflight_latest`).
    pub(super) bw_latest: u64,
    pub(super) inflight_latest: u64,
    /// Bytes delivered at which the next one begins, and whether it begins now.
    pub(super) round_delivered: u64,
    pub(super) round_start: bool,
    /// Something was lost in it (`is_loss_in_round`), in so many ranges, of which the last ends before this byte.
    pub(super) is_loss: bool,
    ranges: u32,
    range_end: Option<u64>,
}

impl Signals {
    /// Forgets them (`ResetCongestionSignals`).
    pub(super) const fn reset(&mut self) {
        (self.is_loss, self.bw_latest, self.inflight_latest) = (false, 0, 0);
    }

    fn count(&mut self, lost: &LostSegment) {
        if self.range_end != Some(lost.start) {
            self.ranges = self.ranges.saturating_add(1);
        }
        self.range_end = Some(lost.end);
    }

    /// Ranges lost in the round trip that ends.
    pub(super) fn take_ranges(&mut self) -> u32 {
        self.range_end = None;
        std::mem::take(&mut self.ranges)
    }
}

/// The state that a spurious recovery gives back.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Undo {
    /// The state that losses have ended.
    pub(super) state: Option<State>,
    bw_shortterm: u64,
    inflight_shortterm: u64,
    inflight_longterm: u64,
}

//= draft-ietf-ccwg-bbr-5.5.10.2-too-high
/// Whether more than 2 % was lost of what was in the network. SACK is always there.
pub(super) const fn is_too_high(tx_in_flight: Bytes, lost: Bytes) -> bool {
    lost.0.saturating_mul(LOSS_THRESHOLD) > tx_in_flight.0
}

//= draft-ietf-ccwg-bbr-5.5.10.2-prefix
/// Bytes in the network at which the losses became too many (`InflightAtLoss`).
pub(super) fn inflight_at_loss(lost: &LostSegment) -> u64 {
    let size = i128::from(lost.end - lost.start);
    let before = i128::from(lost.tx_in_flight.0) - size;
    let lost_before = i128::from(lost.lost_since.0) - size;
    // (before / 50 - lost_before) / (1 - 1 / 50)
    let threshold = i128::from(LOSS_THRESHOLD);
    let prefix = (before - threshold * lost_before) / (threshold - 1);
    u64::try_from((before + prefix).max(0)).unwrap_or(UNSET)
}

impl Bbr3 {
    //= draft-ietf-ccwg-bbr-5.5.10.3-latest
    pub(super) fn update_latest(&mut self, sample: &RateSample) {
        let delivered = sample.prior_delivered.map_or(0, |prior| self.delivered - prior);
        let one = &mut self.signals;
        one.bw_latest = one.bw_latest.max(self.delivery_rate);
        one.inflight_latest = one.inflight_latest.max(delivered);
        one.round_start = sample.prior_delivered.is_some_and(|prior| prior >= one.round_delivered);
        if one.round_start {
            one.round_delivered = self.delivered;
        }
    }

    pub(super) fn advance_latest(&mut self, sample: &RateSample) {
        if self.signals.round_start {
            self.signals.bw_latest = self.delivery_rate;
            self.signals.inflight_latest = sample.prior_delivered.map_or(0, |prior| self.delivered - prior);
        }
    }

    //= draft-ietf-ccwg-bbr-5.5.10.3-adapt
    //= draft-ietf-ccwg-bbr-5.5.10.3-probing
    /// Once in a round trip the bounds of the short term follow its losses.
    pub(super) fn adapt_to_losses(&mut self) {
        if !self.signals.round_start {
            return;
        }
        let losses = std::mem::take(&mut self.signals.is_loss);
        if !losses || self.state.is_probing() {
            return;
        }
        if self.bw_shortterm == UNSET {
            self.bw_shortterm = self.max_bw.greatest();
        }
        if self.inflight_shortterm == UNSET {
            self.inflight_shortterm = self.cwnd;
        }
        self.bw_shortterm = self.signals.bw_latest.max(part(self.bw_shortterm, BETA));
        self.inflight_shortterm = self.signals.inflight_latest.max(part(self.inflight_shortterm, BETA));
    }

    /// Forgets the bounds of the short term (`ResetShortTermModel`).
    pub(super) const fn reset_shortterm(&mut self) {
        (self.bw_shortterm, self.inflight_shortterm) = (UNSET, UNSET);
    }

    //= draft-ietf-ccwg-bbr-5.5.10.2-note
    pub(super) fn note_loss(&mut self) {
        if !self.signals.is_loss {
            self.signals.round_delivered = self.delivered;
            self.save_state();
        }
        self.signals.is_loss = true;
    }

    pub(super) fn handle_lost(&mut self, now: Instant, lost: &LostSegment) {
        self.delivered = lost.delivered_total;
        self.note_loss();
        self.signals.count(lost);
        if self.cycle.is_bw_probe_sample && is_too_high(lost.tx_in_flight, lost.lost_since) {
            self.handle_too_high(now, inflight_at_loss(lost), lost.app_limited);
        }
    }

    //= draft-ietf-ccwg-bbr-5.5.10.2-answer
    fn handle_too_high(&mut self, now: Instant, in_flight: u64, app_limited: bool) {
        self.cycle.prev_probe_too_high = true;
        self.cycle.is_bw_probe_sample = false;
        if !app_limited {
            self.inflight_longterm = in_flight.max(part(self.target_inflight(), BETA));
        }
        if self.state == State::Up {
            self.undo.state = Some(State::Up);
            self.start_down(now);
        }
    }

    //= draft-ietf-ccwg-bbr-5.5.11.1-save
    pub(super) fn save_state(&mut self) {
        self.save_cwnd();
        self.undo = Undo {
            state: None,
            bw_shortterm: self.bw_shortterm,
            inflight_shortterm: self.inflight_shortterm,
            inflight_longterm: self.inflight_longterm,
        };
    }

    //= draft-ietf-ccwg-bbr-5.5.11.2-restore
    //= draft-ietf-ccwg-bbr-5.5.11.2-state
    pub(super) fn handle_spurious_loss(&mut self) {
        self.restore_cwnd();
        self.signals.is_loss = false;
        self.full.reset(0);
        self.bw_shortterm = self.bw_shortterm.max(self.undo.bw_shortterm);
        self.inflight_shortterm = self.inflight_shortterm.max(self.undo.inflight_shortterm);
        self.inflight_longterm = self.inflight_longterm.max(self.undo.inflight_longterm);
        let back = self.undo.state.take().filter(|state| *state != self.state);
        if back == Some(State::Startup) {
            self.full_bw_reached = false;
        }
        match back.filter(|_| self.state != State::ProbeRtt) {
            Some(State::Startup) => self.state = State::Startup,
            Some(_) => self.start_refill(),
            None => {}
        }
    }
}
