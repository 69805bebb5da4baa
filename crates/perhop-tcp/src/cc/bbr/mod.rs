//! BBR, version 1: the window and the pacing follow a model of the path, its bandwidth and its least round trip.
//!
//! Source: draft-cardwell-iccrg-bbr-congestion-control-00 section 4, with what Linux's `tcp_bbr.c` adds: `policer` and
//! `aggregation`, the filter of the bandwidth (`max_filter`), windows in whole segments with room for three bursts. Different
//! from the kernel: time is exact instead of in jiffies and microseconds; a lone acknowledgment that the receiver has held back is
//! not told apart. A mark changes nothing, as there. Of the conventions in `TcpParams` only `initial_window` counts here. Units:
//! segments, bytes per second, 1/256 for gains.

mod aggregation;
mod policer;

use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use super::max_filter::MaxFilter;
use super::rates::{bytes_in, per_second};
use super::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use crate::pacing;
use crate::rate::{RateSample, Repair};
use crate::settings::TcpParams;
use aggregation::Aggregation;
use policer::{Policer, Verdict};

/// A gain of one.
const UNIT: u64 = 256;
/// Of pacing and window in Startup: the least that doubles the rate each round trip, 2/ln 2.
//= draft-bbr-00-4.3.2.1-gains
const HIGH_GAIN: u64 = UNIT * 2885 / 1000 + 1;
/// Of pacing in Drain: its inverse.
const DRAIN_GAIN: u64 = UNIT * 1000 / 2885;
/// Of the window in ProbeBW.
//= draft-bbr-00-4.3.4.1-cycle
const CWND_GAIN: u64 = UNIT * 2;
/// Of pacing in each phase of ProbeBW.
const CYCLE: [u64; 8] = [UNIT * 5 / 4, UNIT * 3 / 4, UNIT, UNIT, UNIT, UNIT, UNIT, UNIT];
/// The first phase is any but the second.
//= draft-bbr-00-4.3.4.2-random
const FIRST_PHASES: u64 = 7;
/// Round trips that the greatest bandwidth is of.
//= draft-bbr-00-4.1.1.2-filter
const BANDWIDTH_ROUNDS: u64 = 10;
/// How long the least round trip counts, and how long ProbeRTT lasts.
//= draft-bbr-00-4.3.5-window
//= draft-bbr-00-4.3.5-interval
//= draft-bbr-00-4.3.5-both
const LEAST_RTT: Span = Span::from_secs(10);
const PROBE_RTT: Span = Span::from_millis(200);
/// Segments that the window does not go below, and in ProbeRTT not above.
//= draft-bbr-00-4.2.3.6-floor
//= draft-bbr-00-4.2.3.5-probe-rtt
const LEAST_WINDOW: u64 = 4;
/// The pipe is full when three round trips have not raised the bandwidth by a quarter.
//= draft-bbr-00-4.3.2.2-full
const FULL_ROUNDS: u32 = 3;
/// The window before there is a round trip.
const FIRST_WINDOW: u64 = 10;
/// Hundredths of the bandwidth at which ProbeBW paces: below it, so that queues drain.
const PACED_PERCENT: u64 = 99;
/// Bursts for which the window has room beside what the path holds.
//= draft-bbr-00-4.2.3.2-target
const BURSTS: u64 = 3;
/// Most segments of a burst that this counts.
const MOST_OF_BURST: u64 = 127;
/// The round trip at which pacing begins where none is known.
const UNKNOWN_RTT: Span = Span::from_millis(1);

/// The state of the search for bandwidth and round trip.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    /// Looking for the bandwidth.
    Startup,
    /// Emptying the queue that this has made.
    Drain,
    /// At the bandwidth, and at times above and below it.
    ProbeBw,
    /// Looking for the least round trip.
    ProbeRtt,
}

/// Window and pacing by BBR.
#[derive(Clone, Debug)]
pub struct Bbr {
    mss: u64,
    /// Draws the first phase of ProbeBW.
    stream: Stream,
    mode: Mode,
    cwnd: u64,
    /// Bytes per second.
    pacing_rate: u64,
    /// Gains of pacing and of the window.
    pacing_gain: u64,
    cwnd_gain: u64,
    /// The window before a recovery or ProbeRTT.
    prior_cwnd: u64,
    /// Greatest bandwidth (`BtlBw`), in bytes per second.
    bandwidth: MaxFilter,
    /// The least round trip (`RTprop`), and when it was.
    least: Option<Span>,
    least_at: Instant,
    /// Round trips: how many, whether one begins, and bytes delivered at which the next one begins.
    rounds: u64,
    round_start: bool,
    next_round: u64,
    /// Whether the pacing follows a round trip that was measured.
    has_rtt: bool,
    /// Bandwidth that was full last, round trips without more of it, and whether that is enough.
    full: u64,
    full_rounds: u32,
    is_full: bool,
    /// The phase of ProbeBW and when it began.
    phase: usize,
    phase_at: Instant,
    /// When ProbeRTT ends, once the window is small enough, and whether a round trip has passed since.
    probe_ends: Option<Instant>,
    probe_round: bool,
    /// Data has begun to leave after an idle time.
    restarts: bool,
    /// The repair that went on at the last acknowledgment, and whether what leaves is no more than what arrives.
    repair: Repair,
    conserves: bool,
    policer: Policer,
    aggregation: Aggregation,
    /// Bytes delivered, and lost, since the start.
    delivered: u64,
    lost: u64,
    /// The last delivery.
    delivered_at: Instant,
}

impl Bbr {
    /// Starts with the initial window.
    //= draft-bbr-00-4.3.2.1-gains
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        let mut bbr = Self {
            mss: params.mss.0,
            stream: Stream::new(params.seed, 0, "bbr"),
            mode: Mode::Startup,
            cwnd: params.initial_window.into(),
            pacing_rate: 0,
            pacing_gain: HIGH_GAIN,
            cwnd_gain: HIGH_GAIN,
            prior_cwnd: 0,
            bandwidth: MaxFilter::default(),
            least: None,
            least_at: Instant::ZERO,
            rounds: 0,
            round_start: false,
            next_round: 0,
            has_rtt: false,
            full: 0,
            full_rounds: 0,
            is_full: false,
            phase: 0,
            phase_at: Instant::ZERO,
            probe_ends: None,
            probe_round: false,
            restarts: false,
            repair: Repair::None,
            conserves: false,
            policer: Policer::default(),
            aggregation: Aggregation::default(),
            delivered: 0,
            lost: 0,
            delivered_at: Instant::ZERO,
        };
        bbr.pace_by(UNKNOWN_RTT);
        bbr
    }

    /// The bandwidth of the model: that of a policer where one was found, else the greatest.
    fn bandwidth(&self) -> u64 {
        self.policer.rate().unwrap_or(self.bandwidth.greatest())
    }

    /// The rate of pacing at `bandwidth` with `gain`.
    //= draft-bbr-00-4.2.1-rate
    //= tcp_bbr-bbr_rate_bytes_per_sec-margin
    fn rate(bandwidth: u64, gain: u64) -> u64 {
        let rate = u128::from(bandwidth) * u128::from(gain * PACED_PERCENT) / u128::from(UNIT * 100);
        u64::try_from(rate).unwrap_or(u64::MAX)
    }

    /// The rate that sends the present window in `rtt`.
    //= draft-bbr-00-4.2.1-first
    fn pace_by(&mut self, rtt: Span) {
        self.pacing_rate = Self::rate(per_second(self.cwnd * self.mss, rtt), HIGH_GAIN);
    }

    //= draft-bbr-00-4.2.1-rate
    fn set_pacing_rate(&mut self, bandwidth: u64, gain: u64) {
        let rate = Self::rate(bandwidth, gain);
        if self.is_full || rate > self.pacing_rate {
            self.pacing_rate = rate;
        }
    }

    /// Segments of a burst (`send_quantum`).
    //= tcp_bbr-bbr_tso_segs_goal-size
    fn burst(&self) -> u64 {
        pacing::quantum(self.pacing_rate, self.mss, 0).min(MOST_OF_BURST)
    }

    /// Segments that a path of `bandwidth` holds, times `gain`.
    //= draft-bbr-00-4.2.3.2-target
    fn product(&self, bandwidth: u64, gain: u64) -> u64 {
        let Some(least) = self.least else { return FIRST_WINDOW };
        let bytes = u128::from(bytes_in(bandwidth, least)) * u128::from(gain);
        u64::try_from(bytes.div_ceil(u128::from(UNIT * self.mss))).unwrap_or(u64::MAX)
    }

    /// A window with room for bursts at both ends and on the way, in pairs of segments.
    //= tcp_bbr-bbr_quantization_budget-even
    fn with_bursts(&self, window: u64) -> u64 {
        let even = window.saturating_add(BURSTS * self.burst()).saturating_add(1) & !1;
        even.saturating_add(if self.mode == Mode::ProbeBw && self.phase == 0 { 2 } else { 0 })
    }

    fn inflight(&self, bandwidth: u64, gain: u64) -> u64 {
        self.with_bursts(self.product(bandwidth, gain))
    }

    fn segments(&self, bytes: Bytes) -> u64 {
        bytes.0.div_ceil(self.mss)
    }

    /// Segments that will be in the network when the pacing lets the next burst leave.
    //= tcp_bbr-bbr_packets_in_net_at_edt-edt
    fn in_network_then(&self, now: Instant, sample: &RateSample, in_flight: Bytes) -> u64 {
        let delivered = bytes_in(self.bandwidth(), sample.departs.saturating_since(now)) / self.mss;
        let bursts = if self.pacing_gain > UNIT { self.burst() } else { 0 };
        (self.segments(in_flight) + bursts).saturating_sub(delivered)
    }

    //= draft-bbr-00-4.1.1.3-rounds
    fn update_bandwidth(&mut self, sample: &RateSample) {
        self.round_start = false;
        let (Some((delivered, interval)), Some(prior)) = (sample.rate, sample.prior_delivered) else {
            return;
        };
        if prior >= self.next_round {
            self.next_round = self.delivered;
            self.rounds += 1;
            self.round_start = true;
            self.conserves = false;
        }
        self.watch_policer(sample.lost.0 > 0, sample.app_limited);
        let bandwidth = per_second(delivered.0, interval);
        //= draft-bbr-00-4.1.1.4-limited
        if !sample.app_limited || bandwidth >= self.bandwidth.greatest() {
            self.bandwidth.update(self.rounds, BANDWIDTH_ROUNDS, bandwidth);
        }
    }

    /// Looks whether a policer bounds the rate; once its estimate is old, probes anew.
    fn watch_policer(&mut self, losses: bool, app_limited: bool) {
        let probing = self.mode == Mode::ProbeBw;
        let at = policer::Moment {
            now: self.delivered_at,
            delivered: self.delivered,
            lost: self.lost,
            round_start: self.round_start,
        };
        match self.policer.watch(&at, losses, app_limited, probing) {
            Verdict::Nothing => {}
            Verdict::Found => self.pacing_gain = UNIT,
            Verdict::Old => self.enter_probe_bw(),
        }
    }

    /// Goes to the next phase of ProbeBW where it is time.
    //= draft-bbr-00-4.3.4.3-one
    //= draft-bbr-00-4.3.4.3-up
    //= draft-bbr-00-4.3.4.3-down
    fn update_phase(&mut self, now: Instant, sample: &RateSample) {
        if self.mode != Mode::ProbeBw {
            return;
        }
        let long = self.least.is_some_and(|least| self.delivered_at - self.phase_at > least);
        let inflight = self.in_network_then(now, sample, sample.prior_in_flight);
        let greatest = self.bandwidth.greatest();
        let next = match self.pacing_gain {
            UNIT => long,
            gain if gain > UNIT => long && (sample.lost.0 > 0 || inflight >= self.inflight(greatest, gain)),
            _ => long || inflight <= self.inflight(greatest, UNIT),
        };
        if next {
            self.advance_phase();
        }
    }

    fn advance_phase(&mut self) {
        self.phase = (self.phase + 1) % CYCLE.len();
        self.phase_at = self.delivered_at;
    }

    //= draft-bbr-00-4.3.4.2-random
    fn enter_probe_bw(&mut self) {
        self.mode = Mode::ProbeBw;
        let drawn = usize::try_from(self.stream.below(FIRST_PHASES)).unwrap_or(0);
        self.phase = CYCLE.len() - 1 - drawn;
        self.advance_phase();
    }

    //= draft-bbr-00-4.3.2.2-full
    fn check_full(&mut self, app_limited: bool) {
        if self.is_full || !self.round_start || app_limited {
            return;
        }
        let greatest = self.bandwidth.greatest();
        if greatest >= self.full.saturating_mul(5) / 4 {
            (self.full, self.full_rounds) = (greatest, 0);
        } else {
            self.full_rounds += 1;
            self.is_full = self.full_rounds >= FULL_ROUNDS;
        }
    }

    //= draft-bbr-00-4.3.3-drain
    //= draft-bbr-00-4.3.3-leave
    fn check_drain(&mut self, now: Instant, sample: &RateSample) {
        if self.mode == Mode::Startup && self.is_full {
            self.mode = Mode::Drain;
        }
        let drained = |bbr: &Self| {
            bbr.in_network_then(now, sample, sample.in_flight) <= bbr.inflight(bbr.bandwidth.greatest(), UNIT)
        };
        if self.mode == Mode::Drain && drained(self) {
            self.enter_probe_bw();
        }
    }

    //= draft-bbr-00-4.1.2.3-filter
    //= draft-bbr-00-4.3.5-enter
    //= draft-bbr-00-4.3.5-duration
    fn update_least(&mut self, now: Instant, sample: &RateSample) {
        let old = now > self.least_at + LEAST_RTT;
        if let Some(rtt) = sample.rtt.filter(|&rtt| old || self.least.is_none_or(|least| rtt < least)) {
            (self.least, self.least_at) = (Some(rtt), now);
        }
        if old && !self.restarts && self.mode != Mode::ProbeRtt {
            self.mode = Mode::ProbeRtt;
            self.save_window();
            self.probe_ends = None;
        }
        if self.mode == Mode::ProbeRtt {
            if self.probe_ends.is_none() {
                if self.segments(sample.in_flight) <= LEAST_WINDOW {
                    self.probe_ends = Some(now + PROBE_RTT);
                    self.probe_round = false;
                    self.next_round = self.delivered;
                }
            } else {
                self.probe_round |= self.round_start;
                if self.probe_round {
                    self.check_probe_ends(now);
                }
            }
        }
        //= tcp_bbr-bbr_update_min_rtt-idle
        if sample.rate.is_some() {
            self.restarts = false;
        }
    }

    //= draft-bbr-00-4.3.5-leave
    fn check_probe_ends(&mut self, now: Instant) {
        if self.probe_ends.is_some_and(|at| now > at) {
            self.least_at = now;
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            if self.is_full {
                self.enter_probe_bw();
            } else {
                self.mode = Mode::Startup;
            }
        }
    }

    fn set_gains(&mut self) {
        let probing = if self.policer.rate().is_some() { UNIT } else { CYCLE[self.phase] };
        (self.pacing_gain, self.cwnd_gain) = match self.mode {
            Mode::Startup => (HIGH_GAIN, HIGH_GAIN),
            Mode::Drain => (DRAIN_GAIN, HIGH_GAIN),
            Mode::ProbeBw => (probing, CWND_GAIN),
            Mode::ProbeRtt => (UNIT, UNIT),
        };
    }

    //= draft-bbr-00-4.2.3.4-save
    fn save_window(&mut self) {
        let intact = self.repair < Repair::Recovery && self.mode != Mode::ProbeRtt;
        self.prior_cwnd = if intact { self.cwnd } else { self.prior_cwnd.max(self.cwnd) };
    }

    /// The window in a recovery, and whether that is all there is to it.
    //= draft-bbr-00-4.2.3.4-enter
    //= draft-bbr-00-4.2.3.4-losses
    //= draft-bbr-00-4.2.3.4-conservation
    //= draft-bbr-00-4.2.3.4-restore
    //= tcp_bbr-bbr_set_cwnd_to_recover_or_restore-losses
    fn follow_repair(&mut self, sample: &RateSample, acked: u64) -> bool {
        let (before, repair) = (self.repair, sample.repair);
        let lost = self.segments(sample.lost);
        let in_flight = self.segments(sample.in_flight);
        self.cwnd = self.cwnd.saturating_sub(lost).max(1);
        if repair == Repair::Recovery && before != Repair::Recovery {
            self.conserves = true;
            self.next_round = self.delivered;
            self.cwnd = in_flight + acked;
        } else if before >= Repair::Recovery && repair < Repair::Recovery {
            self.cwnd = self.cwnd.max(self.prior_cwnd);
            self.conserves = false;
        }
        self.repair = repair;
        if self.conserves {
            self.cwnd = self.cwnd.max(in_flight + acked);
        }
        self.conserves
    }

    //= draft-bbr-00-4.2.3.6-filled
    //= draft-bbr-00-4.2.3.6-unfilled
    fn set_window(&mut self, sample: &RateSample) {
        let acked = self.segments(sample.acked);
        if acked > 0 && !self.follow_repair(sample, acked) {
            let bandwidth = self.bandwidth();
            let extra = if self.is_full { self.aggregation.extra(bandwidth) } else { 0 };
            let target =
                self.with_bursts(self.product(bandwidth, self.cwnd_gain).saturating_add(extra / self.mss));
            if self.is_full {
                self.cwnd = (self.cwnd + acked).min(target);
            } else if self.cwnd < target || self.delivered < FIRST_WINDOW * self.mss {
                self.cwnd += acked;
            }
            self.cwnd = self.cwnd.max(LEAST_WINDOW);
        }
        if self.mode == Mode::ProbeRtt {
            self.cwnd = self.cwnd.min(LEAST_WINDOW);
        }
    }
}

impl CongestionControl for Bbr {
    fn on_established(&mut self, now: Instant, rtt: Option<Span>) {
        (self.least, self.least_at) = (rtt, now);
        (self.delivered_at, self.phase_at) = (now, now);
        self.has_rtt = rtt.is_some();
        if let Some(rtt) = rtt {
            self.pace_by(rtt);
        }
        self.aggregation.restart(now);
    }

    fn on_ack(&mut self, _now: Instant, _ack: &AckSample) {}

    //= draft-bbr-00-3.5.2-order
    fn on_rate(&mut self, now: Instant, sample: &RateSample) {
        (self.delivered, self.lost) = (sample.delivered_total, sample.lost_total);
        if sample.acked.0 > 0 {
            self.delivered_at = now;
        }
        self.update_bandwidth(sample);
        if sample.rate.is_some() && sample.acked.0 > 0 {
            let cwnd = self.cwnd * self.mss;
            let bandwidth = self.bandwidth();
            self.aggregation.update(now, sample.acked.0, bandwidth, self.round_start, cwnd);
        }
        self.update_phase(now, sample);
        self.check_full(sample.app_limited);
        self.check_drain(now, sample);
        self.update_least(now, sample);
        self.set_gains();
        //= tcp_bbr-bbr_init_pacing_rate_from_rtt-again
        if !self.has_rtt
            && let Some(rtt) = sample.rtt
        {
            self.has_rtt = true;
            self.pace_by(rtt);
        }
        self.set_pacing_rate(self.bandwidth(), self.pacing_gain);
        self.set_window(sample);
    }

    //= draft-bbr-00-4.3.4.4-idle
    fn on_idle_end(&mut self, now: Instant) {
        self.restarts = true;
        self.aggregation.restart(now);
        match self.mode {
            Mode::ProbeBw => self.set_pacing_rate(self.bandwidth(), UNIT),
            //= tcp_bbr-bbr_cwnd_event-probe-rtt
            Mode::ProbeRtt => self.check_probe_ends(now),
            Mode::Startup | Mode::Drain => {}
        }
    }

    //= draft-bbr-00-4.2.3.4-timeout
    //= tcp_bbr-bbr_set_state-loss
    fn on_congestion(&mut self, _now: Instant, signal: CongestionSignal, load: &Load) {
        if signal != CongestionSignal::RepeatedTimeout {
            self.save_window();
        }
        if matches!(signal, CongestionSignal::Timeout | CongestionSignal::RepeatedTimeout) {
            self.cwnd = 1 + load.kept.0 / self.mss;
            self.repair = Repair::Timeout;
            self.full = 0;
            self.round_start = true;
            self.watch_policer(true, false);
        }
    }

    fn on_recovery_exit(&mut self, _now: Instant) {}

    //= tcp_bbr-bbr_undo_cwnd-full
    fn on_spurious_timeout(&mut self, _now: Instant) {
        (self.full, self.full_rounds) = (0, 0);
        self.policer.forget(self.delivered_at, self.delivered, self.lost);
        self.cwnd = self.cwnd.max(self.prior_cwnd);
    }

    fn on_restart_after_idle(&mut self, _now: Instant, _left: &AfterIdle) {}

    fn deflate(&mut self, by: Bytes) {
        self.cwnd = self.cwnd.saturating_sub(by.0.div_ceil(self.mss)).max(1);
    }

    fn limit(&mut self, to: Bytes) {
        self.cwnd = self.cwnd.min(to.0 / self.mss).max(1);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd.saturating_mul(self.mss))
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(u64::MAX)
    }

    fn pacing_rate(&self) -> Option<u64> {
        Some(self.pacing_rate)
    }

    //= draft-bbr-00-4.3.5-limited
    fn limits_itself(&self) -> bool {
        self.mode == Mode::ProbeRtt
    }
}

#[cfg(test)]
mod tests;
