//! Pacing rate, quantum and window by the model. Units: bytes, bytes per second.

use perhop_core::time::Span;

use super::{Bbr3, LEAST_WINDOW, State, UNSET, part};
use crate::cc::rates::{bytes_in, per_second};
use crate::rate::RateSample;

/// Hundredths of the bandwidth that are paced at a gain of one (`PacingMarginPercent`).
const PACED: u64 = 99;
/// The round trip at which pacing begins where none is known.
const UNKNOWN_RTT: Span = Span::from_millis(1);
/// A quantum is what leaves in this time, up to so many bytes, and at least so many segments.
const QUANTUM: Span = Span::from_millis(1);
const MOST_OF_QUANTUM: u64 = 65_536;
const LEAST_OF_QUANTUM: u64 = 2;
/// Quanta that the hosts at both ends hold, and segments by which the window is wider in ProbeBW_UP.
const QUANTA: u64 = 3;
const UP_SEGMENTS: u64 = 2;

impl Bbr3 {
    //= draft-ietf-ccwg-bbr-5.6.2-first
    pub(super) fn init_pacing_rate(&mut self, rtt: Option<Span>) {
        let nominal = per_second(self.initial, rtt.unwrap_or(UNKNOWN_RTT));
        self.pacing_rate = part(nominal, State::Startup.gains().0);
    }

    //= draft-ietf-ccwg-bbr-5.6.2-rate
    pub(super) fn set_pacing_rate(&mut self, gain: u64) {
        let rate = part(part(self.bw, gain), PACED);
        if self.full_bw_reached || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    //= draft-ietf-ccwg-bbr-5.6.3-quantum
    fn send_quantum(&self) -> u64 {
        bytes_in(self.pacing_rate, QUANTUM).min(MOST_OF_QUANTUM).max(LEAST_OF_QUANTUM * self.mss)
    }

    /// The window below which nothing is pipelined.
    pub(super) const fn least_window(&self) -> u64 {
        LEAST_WINDOW * self.mss
    }

    /// Bytes that a path of `bw` holds; `None` without a round trip.
    fn product(&self, bw: u64) -> Option<u64> {
        self.rtt.least.map(|least| bytes_in(bw, least))
    }

    /// Bytes that the path holds (`BBR.bdp`).
    pub(super) fn bdp(&self) -> Option<u64> {
        self.product(self.bw)
    }

    /// These, unless the window is smaller (`TargetInflight`).
    pub(super) fn target_inflight(&self) -> u64 {
        self.bdp().unwrap_or(self.initial).min(self.cwnd)
    }

    //= draft-ietf-ccwg-bbr-5.6.4.2-budget
    fn quantized(&self, bytes: u64) -> u64 {
        let up = if self.state == State::Up { UP_SEGMENTS * self.mss } else { 0 };
        bytes.max(QUANTA * self.send_quantum()).max(self.least_window()).saturating_add(up)
    }

    /// Bytes in flight on a path of `bw` without a queue (`Inflight(1.0)`).
    pub(super) fn inflight(&self, bw: u64) -> u64 {
        self.quantized(self.product(bw).unwrap_or(self.initial))
    }

    fn bdp_times(&self, gain: u64) -> u64 {
        self.bdp().map_or(self.initial, |bdp| part(bdp, gain))
    }

    //= draft-ietf-ccwg-bbr-5.6.4.5-window
    pub(super) fn probe_rtt_cwnd(&self) -> u64 {
        self.bdp_times(State::ProbeRtt.gains().1).max(self.least_window())
    }

    //= draft-ietf-ccwg-bbr-5.6.4.2-inflight
    //= draft-ietf-ccwg-bbr-5.6.4.6-filled
    //= draft-ietf-ccwg-bbr-5.6.4.6-unfilled
    //= draft-ietf-ccwg-bbr-5.6.4.3-floor
    pub(super) fn set_cwnd(&mut self, sample: &RateSample) {
        let held = self.bdp_times(self.state.gains().1).saturating_add(self.aggregation.extra());
        let max_inflight = self.quantized(held);
        let grown = self.cwnd.saturating_add(sample.acked.0);
        if self.full_bw_reached {
            self.cwnd = grown.min(max_inflight);
        } else if self.cwnd < max_inflight || self.delivered < self.initial {
            self.cwnd = grown;
        }
        self.cwnd = self.cwnd.max(self.least_window());
        if self.state == State::ProbeRtt {
            self.cwnd = self.cwnd.min(self.probe_rtt_cwnd());
        }
        self.bound_cwnd();
    }

    //= draft-ietf-ccwg-bbr-5.6.4.7-bounds
    fn bound_cwnd(&mut self) {
        let longterm = match self.state {
            State::Startup | State::Drain => UNSET,
            State::Down | State::Refill | State::Up => self.inflight_longterm,
            State::Cruise | State::ProbeRtt => self.inflight_with_headroom(),
        };
        self.cwnd = self.cwnd.min(longterm.min(self.inflight_shortterm).max(self.least_window()));
    }
}
