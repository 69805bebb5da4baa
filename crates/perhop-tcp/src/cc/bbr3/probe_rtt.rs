//! The least round trip, and ProbeRTT, which looks for it.

use perhop_core::time::{Instant, Span};

use super::{Bbr3, State};
use crate::rate::RateSample;

/// How long the least round trip counts (`MinRTTFilterLen`).
const LEAST_FOR: Span = Span::from_secs(10);
/// The time without a lower one after which it is looked for (`ProbeRTTInterval`), and for how long (`ProbeRTTDuration`).
//= draft-ietf-ccwg-bbr-5.3.4.2-interval
const INTERVAL: Span = Span::from_secs(5);
const DURATION: Span = Span::from_millis(200);

/// The least round trips of the two windows.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct RoundTrips {
    /// Of the last ten seconds (`min_rtt`), and when it was.
    pub(super) least: Option<Span>,
    least_at: Instant,
    /// Of the last five (`probe_rtt_min_delay`), and when it was.
    recent: Option<Span>,
    recent_at: Instant,
    /// The latter is old (`probe_rtt_expired`).
    expired: bool,
    /// When ProbeRTT ends, once the window is small enough, and whether a round trip has passed since.
    done_at: Option<Instant>,
    round_done: bool,
}

impl RoundTrips {
    /// The connection is open.
    pub(super) fn begin(&mut self, now: Instant, rtt: Option<Span>) {
        (self.least, self.recent) = (rtt, rtt);
        (self.least_at, self.recent_at) = (now, now);
    }
}

impl Bbr3 {
    //= draft-ietf-ccwg-bbr-5.5.7.2-filter
    //= draft-ietf-ccwg-bbr-5.3.4.3-recent
    pub(super) fn update_min_rtt(&mut self, now: Instant, sample: &RateSample) {
        let one = &mut self.rtt;
        one.expired = now > one.recent_at + INTERVAL;
        let lower = |rtt: &Span| one.expired || one.recent.is_none_or(|recent| *rtt < recent);
        if let Some(rtt) = sample.rtt.filter(lower) {
            (one.recent, one.recent_at) = (Some(rtt), now);
        }
        let old = now > one.least_at + LEAST_FOR;
        if let Some(recent) = one.recent.filter(|recent| old || one.least.is_none_or(|least| *recent < least))
        {
            (one.least, one.least_at) = (Some(recent), one.recent_at);
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.4.3-enter
    //= draft-ietf-ccwg-bbr-5.3.4.2-idle
    pub(super) fn check_probe_rtt(&mut self, now: Instant, sample: &RateSample) {
        if self.state != State::ProbeRtt && self.rtt.expired && !self.idle_restart {
            self.save_cwnd();
            self.state = State::ProbeRtt;
            self.rtt.done_at = None;
            self.cycle.is_stopping = true;
            self.start_round();
        }
        if self.state == State::ProbeRtt {
            self.handle_probe_rtt(now, sample);
        }
        if sample.prior_delivered.is_some() {
            self.idle_restart = false;
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.4.1-duration
    fn handle_probe_rtt(&mut self, now: Instant, sample: &RateSample) {
        if self.rtt.done_at.is_none() {
            if sample.in_flight.0 <= self.probe_rtt_cwnd() {
                (self.rtt.done_at, self.rtt.round_done) = (Some(now + DURATION), false);
                self.start_round();
            }
            return;
        }
        self.rtt.round_done |= self.round_start;
        if self.rtt.round_done {
            self.check_probe_rtt_done(now);
        }
    }

    //= draft-ietf-ccwg-bbr-5.3.4.4-leave
    pub(super) fn check_probe_rtt_done(&mut self, now: Instant) {
        if self.rtt.done_at.is_none_or(|at| now <= at) {
            return;
        }
        self.rtt.recent_at = now;
        self.restore_cwnd();
        self.reset_shortterm();
        if self.full_bw_reached {
            self.start_down(now);
            self.start_cruise();
        } else {
            self.state = State::Startup;
        }
    }
}
