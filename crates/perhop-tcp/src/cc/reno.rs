//! Slow start, congestion avoidance and halving.
//!
//! Source: RFC 5681 section 3.1, equations (2), (3) and (4). Different: unless `grow_beyond_window` is set the window
//! stands still while the receiver's window or the application bounds the sender; what is halved and how it is rounded
//! are settings; the flight that is halved counts up to cwnd (decision 0021). Units: bytes, with fractions, since old stacks count in fractions of a segment.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use super::slow_start::{SlowStart, Windows};
use super::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use crate::settings::{Counting, Halving, InitialSsthresh, LossWindow, TcpParams};

/// Window growth by RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    mss: f64,
    cwnd: f64,
    ssthresh: f64,
    /// Bytes acknowledged towards the next segment of growth (`Counting::Bytes`).
    counted: f64,
    /// cwnd and ssthresh before the last time-out, until anything else shrinks the window.
    before: Option<(f64, f64)>,
    counting: Counting,
    grow_beyond_window: bool,
    loss_window: LossWindow,
    halving: Halving,
    slow_start: SlowStart,
    /// A mark takes a fifth (RFC 8511).
    abe: bool,
}

/// The rest of a window after a mark.
//= rfc8511-3-ssthresh
const BETA_ECN: f64 = 0.8;

#[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
pub(super) const fn real(bytes: u64) -> f64 {
    bytes as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "saturates, and is never negative"
)]
const fn whole(bytes: f64) -> Bytes {
    Bytes(bytes as u64)
}

impl Reno {
    /// Starts with the initial window.
    //= rfc5681-3.1-initial-ssthresh
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        let cwnd = real(params.mss.0 * u64::from(params.initial_window));
        let ssthresh = match params.initial_ssthresh {
            InitialSsthresh::Unbounded => f64::INFINITY,
            InitialSsthresh::Window => real(params.window.0),
        };
        let mss = real(params.mss.0);
        let ssthresh = ssthresh.max(2.0 * mss);
        Self {
            mss,
            cwnd,
            ssthresh,
            counted: 0.0,
            before: None,
            counting: params.counting,
            grow_beyond_window: params.grow_beyond_window,
            loss_window: params.loss_window,
            halving: params.halving,
            slow_start: SlowStart::new(params, ssthresh),
            abe: params.abe,
        }
    }

    /// Leaves this part of cwnd, and two segments at least where cwnd had so much; ssthresh becomes cwnd.
    pub(super) fn keep(&mut self, part: f64) {
        self.counted = 0.0;
        self.before = None;
        self.cwnd = (self.cwnd * part).max(2.0 * self.mss).min(self.cwnd);
        self.ssthresh = self.cwnd.max(2.0 * self.mss);
    }

    /// Whether slow start goes on.
    pub(super) fn in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// Adds to cwnd.
    pub(super) fn widen(&mut self, by: f64) {
        self.cwnd += by;
    }

    fn segments(&self, bytes: f64) -> f64 {
        (bytes / self.mss).floor() * self.mss
    }

    /// New ssthresh, and the window that goes with it where that is not below `least`.
    //= rfc5681-3.2-ssthresh
    //= rfc5681-4.3-first-loss
    //= rfc5681-3.1-ssthresh
    //= rfc5681-3.1-ssthresh-flight
    fn halved(&self, load: &Load, least: f64) -> (f64, f64) {
        let window = match self.loss_window {
            LossWindow::Flight => real(load.in_flight.0).min(self.cwnd),
            LossWindow::Cwnd => self.cwnd,
            LossWindow::Window => (self.cwnd + real(load.inflation.0)).min(real(load.window.0)),
        };
        let half = match self.halving {
            Halving::Integer => self.segments(self.segments(window) / 2.0),
            Halving::Bytes | Halving::Fractional => window / 2.0,
        };
        let ssthresh = if self.halving == Halving::Bytes { half } else { self.segments(half) };
        (ssthresh.max(2.0 * self.mss), half.max(least))
    }
}

impl CongestionControl for Reno {
    //= rfc5681-3-aggressive
    //= rfc5681-3.1-both
    //= rfc5681-3.1-regimes
    //= rfc5681-3.1-slow-start-bytes
    //= rfc5681-3.1-avoidance-cap
    //= rfc5681-3.1-avoidance-bytes
    //= rfc5681-3.1-avoidance-acks
    //= rfc5681-3.1-avoidance-one-byte
    //= rfc5681-3.1-avoidance-no-constant
    //= rfc5681-3.1-timeout-slow-start
    //= rfc5681-3.1-slow-start
    //= rfc5681-3.1-congestion-avoidance
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        let grows = ack.cwnd_limited || self.grow_beyond_window;
        let mut acked = real(ack.acked.0);
        if self.cwnd < self.ssthresh {
            let windows = Windows { mss: self.mss, cwnd: self.cwnd, ssthresh: self.ssthresh };
            if let Some(growth) = self.slow_start.on_ack(now, ack, &windows) {
                let to_ssthresh = self.ssthresh - self.cwnd;
                let fits = if self.slow_start.ends_at_ssthresh() { growth.min(to_ssthresh) } else { growth };
                self.cwnd += if grows { fits } else { 0.0 };
                if fits >= growth {
                    return;
                }
                acked = growth - fits;
            } else {
                self.ssthresh = self.cwnd.max(2.0 * self.mss);
            }
        }
        if !grows {
            return;
        }
        match self.counting {
            Counting::Acks => self.cwnd += (self.mss * self.mss / self.cwnd).max(1.0),
            Counting::Bytes => {
                self.counted += acked;
                if self.counted >= self.cwnd {
                    // what is beyond a window counts towards the next (RFC 3465 section 2.1)
                    self.counted -= self.cwnd;
                    self.cwnd += self.mss;
                }
            }
        }
    }

    //= rfc5681-3.1-ssthresh-reacts
    fn on_congestion(&mut self, _now: Instant, signal: CongestionSignal, load: &Load) {
        self.counted = 0.0;
        if matches!(signal, CongestionSignal::Timeout | CongestionSignal::RepeatedTimeout) {
            self.slow_start.on_timeout();
        }
        match signal {
            //= rfc5681-3.1-loss-window
            CongestionSignal::Timeout => {
                self.before = Some((self.cwnd, self.ssthresh));
                self.ssthresh = self.halved(load, self.mss).0;
                self.cwnd = self.mss + real(load.kept.0);
            }
            //= rfc5681-3.1-repeated-timeout
            CongestionSignal::RepeatedTimeout => self.cwnd = self.mss + real(load.kept.0),
            CongestionSignal::FastRetransmit => {
                self.before = None;
                let least = if self.halving == Halving::Bytes { 2.0 * self.mss } else { self.mss };
                (self.ssthresh, self.cwnd) = self.halved(load, least);
            }
            //= rfc8511-3-cwnd
            CongestionSignal::EcnEcho if self.abe => {
                self.before = None;
                let kept = BETA_ECN * real(load.in_flight.0).min(self.cwnd);
                self.ssthresh = kept.max(2.0 * self.mss);
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
            CongestionSignal::EcnEcho => {
                self.before = None;
                let (ssthresh, cwnd) = self.halved(load, self.mss);
                (self.ssthresh, self.cwnd) = (ssthresh, cwnd.min(self.cwnd));
            }
        }
    }

    fn on_recovery_exit(&mut self, _now: Instant) {
        self.cwnd = self.ssthresh;
    }

    fn on_spurious_timeout(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), self.ssthresh.max(ssthresh));
        }
    }

    //= rfc5681-4.1-restart
    fn on_restart_after_idle(&mut self, _now: Instant, left: &AfterIdle) {
        self.cwnd = self.cwnd.min(real(left.cwnd.0)).max(self.mss);
        self.ssthresh = self.ssthresh.max(real(left.ssthresh.0));
    }

    fn deflate(&mut self, by: Bytes) {
        self.cwnd = (self.cwnd - real(by.0)).max(self.mss);
    }

    fn limit(&mut self, to: Bytes) {
        self.cwnd = self.cwnd.min(real(to.0)).max(self.mss);
    }

    fn cwnd(&self) -> Bytes {
        whole(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        whole(self.ssthresh)
    }
}

/// The part of a control with a `reno` that is as that does: all but acknowledgments and congestion.
macro_rules! as_reno {
    () => {
        fn on_recovery_exit(&mut self, now: Instant) {
            self.reno.on_recovery_exit(now);
        }

        fn on_spurious_timeout(&mut self, now: Instant) {
            self.reno.on_spurious_timeout(now);
        }

        fn on_restart_after_idle(&mut self, now: Instant, left: &$crate::cc::AfterIdle) {
            self.reno.on_restart_after_idle(now, left);
        }

        fn deflate(&mut self, by: Bytes) {
            self.reno.deflate(by);
        }

        fn limit(&mut self, to: Bytes) {
            self.reno.limit(to);
        }

        fn cwnd(&self) -> Bytes {
            self.reno.cwnd()
        }

        fn ssthresh(&self) -> Bytes {
            self.reno.ssthresh()
        }
    };
}
pub(super) use as_reno;

#[cfg(test)]
mod tests;
