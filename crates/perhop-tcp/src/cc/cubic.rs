//! Slow start and a window that follows a cubic function of time.
//!
//! Source: RFC 9438 section 4, with fast convergence. Units: segments, as floating-point numbers, and seconds.
//! Different: slow start is a setting; a stage of congestion avoidance begins with its first acknowledgment; it begins at `K = 0` wherever cwnd is not below `W_max`; Reno's estimate never lowers cwnd; without
//! a round-trip sample the target is that of the moment. Of the conventions in `TcpParams` only `initial_window`,
//! `initial_ssthresh`, `slow_start` and `grow_beyond_window` count here.

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use super::slow_start::{SlowStart, Windows};
use super::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use crate::settings::{InitialSsthresh, TcpParams};

/// Part of the window that a reduction leaves.
//= rfc9438-4.6-beta
const BETA: f64 = 0.7;
/// The same after a mark, with less backoff for it.
//= rfc8511-3.1-cubic
const BETA_ECN: f64 = 0.85;
/// How fast the window grows, in segments per cubic second.
//= rfc9438-5.1-c
const C: f64 = 0.4;
/// Growth of Reno's estimate per window, such that it has the average of halving with one segment per window.
//= rfc9438-4.3-alpha
const ALPHA: f64 = 3.0 * (1.0 - BETA) / (1.0 + BETA);

/// A stage of congestion avoidance.
#[derive(Clone, Copy, PartialEq, Debug)]
struct Stage {
    w_max: f64,
    k: f64,
    w_est: f64,
    /// Time in which the window could grow.
    elapsed: Span,
    /// The last acknowledgment.
    last_ack: Instant,
}

impl Stage {
    //= rfc9438-4.2-k
    //= rfc9438-4.3-start
    //= rfc9438-4.8-timeout-curve
    //= rfc9438-4.8-timeout-estimate
    //= rfc9438-4.10-exit-without-loss
    fn new(now: Instant, cwnd: f64, w_max: Option<f64>) -> Self {
        let w_max = w_max.unwrap_or(cwnd).max(cwnd);
        let k = libm::cbrt((w_max - cwnd) / C);
        Self { w_max, k, w_est: cwnd, elapsed: Span::ZERO, last_ack: now }
    }

    /// The cubic function, `t` seconds after the beginning.
    //= rfc9438-4.2-curve
    fn w_cubic(&self, t: f64) -> f64 {
        let from_plateau = t - self.k;
        C * from_plateau * from_plateau * from_plateau + self.w_max
    }
}

/// The state that a spurious time-out brings back.
#[derive(Clone, Copy, PartialEq, Debug)]
struct State {
    cwnd: f64,
    ssthresh: f64,
    /// cwnd when ssthresh was set.
    cwnd_prior: f64,
    /// cwnd at the last reduction, or less with fast convergence; none before the first and after a time-out.
    w_max: Option<f64>,
    /// None in slow start and recovery.
    stage: Option<Stage>,
}

/// Window growth by RFC 9438.
#[derive(Clone, Debug)]
pub struct Cubic {
    mss: f64,
    grow_beyond_window: bool,
    /// The part of the window that a mark leaves.
    beta_ecn: f64,
    slow_start: SlowStart,
    state: State,
    /// State before the last time-out.
    before: Option<State>,
}

#[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
const fn real(bytes: Bytes) -> f64 {
    bytes.0 as f64
}

impl Cubic {
    /// Starts with the initial window.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        let mss = real(params.mss);
        let initial_window = f64::from(params.initial_window);
        let ssthresh = match params.initial_ssthresh {
            InitialSsthresh::Unbounded => f64::INFINITY,
            InitialSsthresh::Window => (real(params.window) / mss).max(2.0),
        };
        let state = State { cwnd: initial_window, ssthresh, cwnd_prior: 0.0, w_max: None, stage: None };
        let slow_start = SlowStart::new(params, ssthresh * mss);
        let grow_beyond_window = params.grow_beyond_window;
        let beta_ecn = if params.abe { BETA_ECN } else { BETA };
        Self { mss, grow_beyond_window, beta_ecn, slow_start, state, before: None }
    }

    fn segments(&self, bytes: Bytes) -> f64 {
        real(bytes) / self.mss
    }

    /// To the nearest byte: a rounding error must not cost a whole segment.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
    fn bytes(&self, segments: f64) -> Bytes {
        Bytes((segments * self.mss + 0.5) as u64)
    }

    /// Takes an acknowledgment in congestion avoidance.
    //= rfc9438-4.2-larger
    //= rfc9438-4.3-bytes
    //= rfc9438-4.1.2-rtt
    //= rfc9438-4.2-application-limited
    //= rfc9438-4.3-use
    //= rfc9438-4.4-concave
    //= rfc9438-4.5-convex
    fn avoid(&mut self, now: Instant, ack: &AckSample, grows: bool) {
        let acked = self.segments(ack.acked);
        let State { cwnd, cwnd_prior, w_max, stage, .. } = self.state;
        let mut stage = stage.unwrap_or_else(|| Stage::new(now, cwnd, w_max));
        let passed = now - stage.last_ack;
        stage.last_ack = now;
        if grows {
            stage.elapsed = stage.elapsed + passed;
            //= rfc9438-4.3-growth
            //= rfc9438-4.3-alpha-one
            let alpha = if stage.w_est < cwnd_prior { ALPHA } else { 1.0 };
            stage.w_est += alpha * acked / cwnd;
            let t = stage.elapsed.as_secs_f64();
            let rtt = ack.srtt.unwrap_or(Span::ZERO).as_secs_f64();
            self.state.cwnd = if stage.w_cubic(t) < stage.w_est {
                cwnd.max(stage.w_est)
            } else {
                //= rfc9438-4.2-target
                //= rfc9438-4.2-target-bounds
                let target = stage.w_cubic(t + rtt).clamp(cwnd, 1.5 * cwnd);
                cwnd + (target - cwnd) / cwnd
            };
        }
        self.state.w_max = Some(stage.w_max);
        self.state.stage = Some(stage);
    }

    /// ssthresh, what the curve aims at, and cwnd after a reduction; `floor` is the least cwnd, `beta` the part that is left. What is reduced is the flight,
    /// and at most cwnd (decision 0021).
    //= rfc9438-4.6-ssthresh
    //= rfc9438-4.6-prior
    //= rfc9438-4.7-fast-convergence
    fn reduce(&mut self, load: &Load, floor: f64, beta: f64) {
        let State { cwnd, w_max, .. } = self.state;
        let left = beta * self.segments(load.in_flight).min(cwnd);
        let w_max = if w_max.is_some_and(|w_max| cwnd < w_max) { cwnd * (1.0 + BETA) / 2.0 } else { cwnd };
        self.state = State {
            cwnd: left.max(floor),
            ssthresh: left.max(2.0),
            cwnd_prior: cwnd,
            w_max: Some(w_max),
            stage: None,
        };
    }

    //= rfc9438-4.8-timeout-cwnd
    fn restart(&mut self, load: &Load) {
        self.slow_start.on_timeout();
        let cwnd = 1.0 + self.segments(load.kept);
        self.state = State { cwnd, w_max: None, stage: None, ..self.state };
    }
}

impl CongestionControl for Cubic {
    //= rfc9438-4.2-new-acks
    //= rfc9438-4.10-reno
    //= rfc9438-5.8-application-limited
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        let grows = ack.cwnd_limited || self.grow_beyond_window;
        if self.state.cwnd < self.state.ssthresh {
            self.state.stage = None;
            let (cwnd, ssthresh) = (self.state.cwnd * self.mss, self.state.ssthresh * self.mss);
            let windows = Windows { mss: self.mss, cwnd, ssthresh };
            //= rfc9438-4.10-hystart
            if let Some(growth) = self.slow_start.on_ack(now, ack, &windows) {
                let to_ssthresh =
                    if self.slow_start.ends_at_ssthresh() { ssthresh - cwnd } else { f64::INFINITY };
                self.state.cwnd += if grows { growth.min(to_ssthresh) / self.mss } else { 0.0 };
                return;
            }
            self.state.ssthresh = self.state.cwnd.max(2.0);
        }
        self.avoid(now, ack, grows);
    }

    //= rfc9438-4.6-at-once
    fn on_congestion(&mut self, _now: Instant, signal: CongestionSignal, load: &Load) {
        let before = self.state;
        match signal {
            //= rfc9438-4.6-cwnd-loss
            CongestionSignal::FastRetransmit => self.reduce(load, 2.0, BETA),
            //= rfc9438-4.6-cwnd-mark
            //= rfc9438-4.6-mark-floor
            CongestionSignal::EcnEcho => {
                self.reduce(load, 1.0, self.beta_ecn);
                self.state.cwnd = self.state.cwnd.min(before.cwnd);
            }
            //= rfc9438-4.8-timeout-ssthresh
            CongestionSignal::Timeout => {
                self.reduce(load, 1.0, BETA);
                self.restart(load);
                self.before = Some(before);
                return;
            }
            CongestionSignal::RepeatedTimeout => {
                self.restart(load);
                return;
            }
        }
        self.before = None;
    }

    fn on_recovery_exit(&mut self, _now: Instant) {
        self.state.cwnd = self.state.ssthresh;
    }

    //= rfc9438-4.9.1-respond
    fn on_spurious_timeout(&mut self, _now: Instant) {
        if let Some(before) = self.before.take().filter(|before| self.state.cwnd <= before.cwnd) {
            self.state = before;
        }
    }

    fn on_restart_after_idle(&mut self, _now: Instant, left: &AfterIdle) {
        self.state.cwnd = self.state.cwnd.min(self.segments(left.cwnd)).max(1.0);
        self.state.ssthresh = self.state.ssthresh.max(self.segments(left.ssthresh));
        self.state.stage = None;
    }

    fn deflate(&mut self, by: Bytes) {
        self.state.cwnd = (self.state.cwnd - self.segments(by)).max(1.0);
    }

    fn limit(&mut self, to: Bytes) {
        let to = self.segments(to).max(1.0);
        if to < self.state.cwnd {
            self.state.cwnd = to;
            self.state.stage = None;
        }
    }

    fn cwnd(&self) -> Bytes {
        self.bytes(self.state.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        self.bytes(self.state.ssthresh)
    }
}

#[cfg(test)]
mod tests;
