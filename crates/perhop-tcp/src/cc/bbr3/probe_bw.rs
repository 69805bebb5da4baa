//! ProbeBW: down, cruise, refill, up, and how far the bound of the long term rises. Units: bytes, round trips.

use perhop_core::time::{Instant, Span};

use super::losses::is_too_high;
use super::{Bbr3, State, UNSET, part};
use crate::rate::RateSample;

/// The time from one probe to the next, at least, and what is drawn to it.
const WAIT: Span = Span::from_secs(2);
const MORE_WAIT: u64 = 1_000_000_000;
/// Round trips to the next probe, at most: as long as Reno would need.
const MOST_ROUNDS: u64 = 63;
/// Hundredths of the bound of the long term that are left to others (`Headroom`).
const HEADROOM: u64 = 15;
/// The step of that bound doubles in so many round trips at most.
const MOST_DOUBLINGS: u32 = 30;

/// Where ProbeBW stands.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cycle {
    /// When it began, how long it waits, and round trips since then.
    began: Instant,
    wait: Span,
    pub(super) rounds_since_probe_up: u64,
    /// Samples are still of a probe that has ended (`ACKS_PROBE_STOPPING`, the one phase of acknowledgments that decides anything).
    pub(super) is_stopping: bool,
    /// Samples are of a probe.
    pub(super) is_bw_probe_sample: bool,
    /// The last probe lost too much, and it ended early because the one before had.
    pub(super) prev_probe_too_high: bool,
    prev_probe_precautionary: bool,
    /// Round trips of the rise, bytes acknowledged since the last step, and bytes for each step.
    up_rounds: u32,
    up_acked: u64,
    acked_per_step: u64,
}

impl Default for Cycle {
    fn default() -> Self {
        Self {
            began: Instant::ZERO,
            wait: Span::ZERO,
            rounds_since_probe_up: 0,
            is_stopping: false,
            is_bw_probe_sample: false,
            prev_probe_too_high: false,
            prev_probe_precautionary: false,
            up_rounds: 0,
            up_acked: 0,
            acked_per_step: UNSET,
        }
    }
}

impl Bbr3 {
    pub(super) fn update_cycle(&mut self, now: Instant, sample: &RateSample) {
        if !self.full_bw_reached || self.adapt_longterm(sample) {
            return;
        }
        let state = self.state;
        match state {
            State::Down if self.is_time_to_probe(now) => self.start_refill(),
            State::Down if self.is_time_to_cruise(sample) => self.start_cruise(),
            State::Cruise if self.is_time_to_probe(now) => self.start_refill(),
            //= draft-ietf-ccwg-bbr-5.3.3.3-round
            State::Refill if self.round_start => {
                self.cycle.is_bw_probe_sample = true;
                self.start_up();
            }
            State::Up if self.is_time_to_go_down(sample) => {
                self.cycle.prev_probe_too_high = false;
                self.start_down(now);
            }
            _ => {}
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.3.4.4-random
    pub(super) fn start_down(&mut self, now: Instant) {
        self.signals.reset();
        let cycle = &mut self.cycle;
        cycle.acked_per_step = UNSET;
        cycle.rounds_since_probe_up = self.stream.below(2);
        cycle.wait = WAIT + Span::from_nanos(self.stream.below(MORE_WAIT));
        cycle.began = now;
        cycle.is_stopping = true;
        self.start_round();
        self.state = State::Down;
    }

    pub(super) const fn start_cruise(&mut self) {
        self.state = State::Cruise;
    }

    //= draft-ietf-ccwg-bbr-5.3.3.3-reset
    pub(super) const fn start_refill(&mut self) {
        self.reset_shortterm();
        let cycle = &mut self.cycle;
        (cycle.up_rounds, cycle.up_acked) = (0, 0);
        cycle.prev_probe_precautionary = false;
        cycle.is_stopping = false;
        self.start_round();
        self.state = State::Refill;
    }

    fn start_up(&mut self) {
        self.cycle.is_stopping = false;
        self.start_round();
        self.full.reset(self.delivery_rate);
        self.state = State::Up;
        self.raise_slope();
    }

    //= draft-ietf-ccwg-bbr-5.3.3.4.4-time
    //= draft-ietf-ccwg-bbr-5.3.3.4.4-rounds
    fn is_time_to_probe(&self, now: Instant) -> bool {
        let reno = (self.target_inflight() / self.mss).min(MOST_ROUNDS);
        now > self.cycle.began + self.cycle.wait || self.cycle.rounds_since_probe_up >= reno
    }

    //= draft-ietf-ccwg-bbr-5.3.3.1-leave
    fn is_time_to_cruise(&self, sample: &RateSample) -> bool {
        let in_flight = sample.in_flight.0;
        in_flight <= self.inflight_with_headroom() && in_flight <= self.inflight(self.max_bw.greatest())
    }

    //= draft-ietf-ccwg-bbr-5.3.3.4.2-early
    //= draft-ietf-ccwg-bbr-5.3.3.4.3-saturated
    //= draft-ietf-ccwg-bbr-5.3.3.4.3-bounded
    fn is_time_to_go_down(&mut self, sample: &RateSample) -> bool {
        let reached = sample.prior_in_flight.0.saturating_add(self.mss) > self.inflight_longterm;
        if self.cycle.prev_probe_too_high && reached {
            self.cycle.prev_probe_precautionary = true;
            return true;
        }
        if sample.cwnd_limited && self.cwnd >= self.inflight_longterm {
            self.full.reset(self.delivery_rate);
            return false;
        }
        self.full.now
    }

    //= draft-ietf-ccwg-bbr-5.3.3.1-headroom
    /// The bound of the long term, less what is left to others.
    pub(super) fn inflight_with_headroom(&self) -> u64 {
        if self.inflight_longterm == UNSET {
            return UNSET;
        }
        let headroom = self.mss.max(part(self.inflight_longterm, HEADROOM));
        self.inflight_longterm.saturating_sub(headroom).max(self.least_window())
    }

    //= draft-ietf-ccwg-bbr-5.3.3.4.1-double
    /// In each round trip of the rise the bound grows by twice as many segments as in the one before.
    fn raise_slope(&mut self) {
        let growth = 1 << self.cycle.up_rounds;
        self.cycle.up_rounds = (self.cycle.up_rounds + 1).min(MOST_DOUBLINGS);
        self.cycle.acked_per_step = (self.cwnd / growth).max(self.mss);
    }

    fn raise_longterm(&mut self, sample: &RateSample) {
        if !sample.cwnd_limited || self.cwnd < self.inflight_longterm {
            return;
        }
        let cycle = &mut self.cycle;
        cycle.up_acked += sample.acked.0;
        let steps = cycle.up_acked / cycle.acked_per_step;
        cycle.up_acked %= cycle.acked_per_step;
        self.inflight_longterm = self.inflight_longterm.saturating_add(steps.saturating_mul(self.mss));
        if self.round_start {
            self.raise_slope();
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.3.5-advance
    //= draft-ietf-ccwg-bbr-5.3.3.4.2-again
    //= draft-ietf-ccwg-bbr-5.3.3.5-longterm
    /// Follows the end of a probe and the bound of the long term; true if that has changed the state.
    fn adapt_longterm(&mut self, sample: &RateSample) -> bool {
        if self.cycle.is_stopping && self.round_start {
            (self.cycle.is_bw_probe_sample, self.cycle.is_stopping) = (false, false);
            if self.state.is_probe_bw() {
                if !sample.app_limited {
                    self.max_bw.advance();
                }
                if self.cycle.prev_probe_precautionary && !self.cycle.prev_probe_too_high {
                    self.start_refill();
                    return true;
                }
            }
        }
        if self.inflight_longterm < UNSET && !is_too_high(sample.tx_in_flight, sample.lost_since) {
            self.inflight_longterm = self.inflight_longterm.max(sample.tx_in_flight.0);
            if self.state == State::Up {
                self.raise_longterm(sample);
            }
        }
        false
    }
}
