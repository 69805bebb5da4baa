//! BBR, version 3: a model of the path by rates and round trips, with bounds by losses.
//!
//! Source: draft-ietf-ccwg-bbr-06 (6 July 2026), sections 5.1 to 5.6; names of the state are the draft's. Different: pacing is the
//! sender's (`pacing`), as Linux has it; of two maxima over time the one of round trips is K. Nichols' (`max_filter`); in ProbeBW_UP
//! what counts is what was in the network before the acknowledgment, to a segment, for after it there is always less than the
//! window. A mark is noted like a loss: the draft leaves open what becomes of it. Of the conventions in `TcpParams` only
//! `initial_window` and `timeout_window` count here. Units: bytes, bytes per second, hundredths for gains.

mod aggregation;
mod bandwidth;
mod losses;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use super::rates::per_second;
use super::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use crate::rate::{LostSegment, RateSample, Repair};
use crate::settings::TcpParams;
use aggregation::Aggregation;
use bandwidth::TwoCycles;
use losses::{Signals, Undo};
use probe_bw::Cycle;
use probe_rtt::RoundTrips;
use startup::FullPipe;

/// Infinity: a bound that is not set.
const UNSET: u64 = u64::MAX;
/// A gain of one, and the whole of hundredths.
const UNIT: u64 = 100;
/// The part of a bound that a loss leaves (`Beta`).
const BETA: u64 = 70;
/// Most bytes lost of those in the network, while the bandwidth is probed (`LossThresh`): one of so many.
const LOSS_THRESHOLD: u64 = 50;
/// Segments that the window does not go below (`MinPipeCwnd`).
const LEAST_WINDOW: u64 = 4;

/// The state of the search for bandwidth and round trip (`BBR.state`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Looking for the bandwidth.
    Startup,
    /// Emptying the queue that this has made.
    Drain,
    /// ProbeBW: below the bandwidth, so that queues drain and room is left to others.
    Down,
    /// ProbeBW: at the bandwidth.
    Cruise,
    /// ProbeBW: at the bandwidth, to fill the path before it is probed.
    Refill,
    /// ProbeBW: above the bandwidth.
    Up,
    /// Looking for the least round trip.
    ProbeRtt,
}

impl State {
    const fn is_probe_bw(self) -> bool {
        matches!(self, Self::Down | Self::Cruise | Self::Refill | Self::Up)
    }

    /// Whether more is sent than before, so that losses are expected (`IsProbingBW`).
    const fn is_probing(self) -> bool {
        matches!(self, Self::Startup | Self::Refill | Self::Up)
    }

    //= draft-ietf-ccwg-bbr-5.6.1-gains
    //= draft-ietf-ccwg-bbr-5.3.4.3-enter
    /// Gains of pacing and of the window.
    const fn gains(self) -> (u64, u64) {
        match self {
            Self::Startup => (277, 200),
            Self::Drain => (50, 200),
            Self::Down => (90, 200),
            Self::Cruise | Self::Refill => (UNIT, 200),
            Self::Up => (125, 225),
            Self::ProbeRtt => (UNIT, 50),
        }
    }
}

//= draft-ietf-ccwg-bbr-5.1-include
/// Window and pacing by BBR version 3.
#[derive(Clone, Debug)]
pub struct Bbr3 {
    mss: u64,
    /// The initial window (`C.InitialCwnd`).
    initial: u64,
    /// Draws how long ProbeBW waits.
    stream: Stream,
    state: State,
    cwnd: u64,
    /// The window before a recovery or ProbeRTT.
    prior_cwnd: u64,
    pacing_rate: u64,
    /// Whether the pacing follows a round trip that was measured.
    has_rtt: bool,
    /// Data has begun to leave after an idle time.
    idle_restart: bool,
    /// The repair that went on at the last acknowledgment.
    repair: Repair,
    /// All bytes delivered (`C.delivered`), and the rate of the last sample (`RS.delivery_rate`), 0 for none.
    delivered: u64,
    delivery_rate: u64,
    /// Round trips: how many, whether one begins, and bytes delivered at which the next one begins.
    round_count: u64,
    round_start: bool,
    next_round_delivered: u64,
    /// The greatest bandwidth (`BBR.max_bw`), and what of it is used (`BBR.bw`).
    max_bw: TwoCycles,
    bw: u64,
    /// Bounds of the long and the short term.
    inflight_longterm: u64,
    inflight_shortterm: u64,
    bw_shortterm: u64,
    /// Whether the path has ever been full, and the search for that.
    full_bw_reached: bool,
    full: FullPipe,
    /// The round trip in which Drain began.
    drain_start_round: u64,
    signals: Signals,
    undo: Undo,
    cycle: Cycle,
    rtt: RoundTrips,
    aggregation: Aggregation,
}

impl Bbr3 {
    /// Starts with the initial window.
    //= draft-ietf-ccwg-bbr-5.2.1-init
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        let initial = u64::from(params.initial_window) * params.mss.0;
        let mut bbr = Self {
            mss: params.mss.0,
            initial,
            stream: Stream::new(params.seed, 0, "bbr3"),
            state: State::Startup,
            cwnd: initial,
            prior_cwnd: 0,
            pacing_rate: 0,
            has_rtt: false,
            idle_restart: false,
            repair: Repair::None,
            delivered: 0,
            delivery_rate: 0,
            round_count: 0,
            round_start: false,
            next_round_delivered: 0,
            max_bw: TwoCycles::default(),
            bw: 0,
            inflight_longterm: UNSET,
            inflight_shortterm: UNSET,
            bw_shortterm: UNSET,
            full_bw_reached: false,
            full: FullPipe::default(),
            drain_start_round: 0,
            signals: Signals::default(),
            undo: Undo::default(),
            cycle: Cycle::default(),
            rtt: RoundTrips::default(),
            aggregation: Aggregation::default(),
        };
        bbr.init_pacing_rate(None);
        bbr
    }

    const fn start_round(&mut self) {
        self.next_round_delivered = self.delivered;
    }

    //= draft-ietf-ccwg-bbr-5.5.1-rounds
    fn update_round(&mut self, sample: &RateSample) {
        self.round_start = sample.prior_delivered.is_some_and(|prior| prior >= self.next_round_delivered);
        if self.round_start {
            self.start_round();
            self.round_count += 1;
            self.cycle.rounds_since_probe_up += 1;
        }
    }

    //= draft-ietf-ccwg-bbr-5.5.4-limited
    fn update_max_bw(&mut self, sample: &RateSample) {
        self.update_round(sample);
        let rate = self.delivery_rate;
        if rate > 0 && (rate >= self.max_bw.greatest() || !sample.app_limited) {
            self.max_bw.update(rate);
        }
    }

    fn save_cwnd(&mut self) {
        let intact = self.repair == Repair::None && self.state != State::ProbeRtt;
        self.prior_cwnd = if intact { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    fn restore_cwnd(&mut self) {
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    //= draft-ietf-ccwg-bbr-5.6.4.4-restore
    fn follow_repair(&mut self, repair: Repair) {
        if self.repair > Repair::None && repair == Repair::None {
            self.restore_cwnd();
        }
        self.repair = repair;
    }
}

impl CongestionControl for Bbr3 {
    fn on_established(&mut self, now: Instant, rtt: Option<Span>) {
        self.rtt.begin(now, rtt);
        self.has_rtt = rtt.is_some();
        self.init_pacing_rate(rtt);
        self.aggregation.restart(now);
    }

    fn on_ack(&mut self, _now: Instant, _ack: &AckSample) {}

    //= draft-ietf-ccwg-bbr-5.2.3-order
    fn on_rate(&mut self, now: Instant, sample: &RateSample) {
        self.delivered = sample.delivered_total;
        self.delivery_rate = sample.rate.map_or(0, |(delivered, span)| per_second(delivered.0, span));
        self.follow_repair(sample.repair);
        self.update_latest(sample);
        self.update_max_bw(sample);
        self.adapt_to_losses();
        self.update_aggregation(now, sample);
        self.check_full(sample);
        self.check_startup_done(sample);
        self.check_drain_done(now, sample);
        self.update_cycle(now, sample);
        self.update_min_rtt(now, sample);
        self.check_probe_rtt(now, sample);
        self.advance_latest(sample);
        self.bw = self.max_bw.greatest().min(self.bw_shortterm);
        if !self.has_rtt && sample.rtt.is_some() {
            self.has_rtt = true;
            self.init_pacing_rate(sample.rtt);
        }
        self.set_pacing_rate(self.state.gains().0);
        self.set_cwnd(sample);
    }

    fn on_lost(&mut self, now: Instant, lost: &LostSegment) {
        self.handle_lost(now, lost);
    }

    //= draft-ietf-ccwg-bbr-5.4.1-idle
    fn on_idle_end(&mut self, now: Instant) {
        self.idle_restart = true;
        self.aggregation.restart(now);
        if self.state.is_probe_bw() {
            self.set_pacing_rate(UNIT);
        } else if self.state == State::ProbeRtt {
            self.check_probe_rtt_done(now);
        }
    }

    //= draft-ietf-ccwg-bbr-5.6.4.4-timeout
    //= draft-ietf-ccwg-bbr-5.6.4.4-recovery
    /// A loss that a probe of the tail repaired is marked in no segment: it is noted here.
    fn on_congestion(&mut self, _now: Instant, signal: CongestionSignal, load: &Load) {
        self.save_state();
        match signal {
            CongestionSignal::Timeout | CongestionSignal::RepeatedTimeout => {
                self.cwnd = self.mss.saturating_add(load.kept.0);
                self.repair = Repair::Timeout;
            }
            CongestionSignal::FastRetransmit | CongestionSignal::EcnEcho => self.note_loss(),
        }
    }

    fn on_recovery_exit(&mut self, _now: Instant) {}

    fn on_spurious_timeout(&mut self, _now: Instant) {
        self.handle_spurious_loss();
    }

    fn on_restart_after_idle(&mut self, _now: Instant, _left: &AfterIdle) {}

    fn deflate(&mut self, by: Bytes) {
        self.cwnd = self.cwnd.saturating_sub(by.0).max(self.mss);
    }

    fn limit(&mut self, to: Bytes) {
        self.cwnd = self.cwnd.min(to.0).max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(u64::MAX)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate)
    }

    //= draft-ietf-ccwg-bbr-5.3.4.3-limited
    fn limits_itself(&self) -> bool {
        self.state == State::ProbeRtt
    }
}

/// `hundredths` of `bytes`.
fn part(bytes: u64, hundredths: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(hundredths) / u128::from(UNIT);
    u64::try_from(part).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
