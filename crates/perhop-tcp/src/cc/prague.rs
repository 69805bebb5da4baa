//! TCP Prague: a window that falls by how much of it was marked, and grows on by what was not.
//!
//! Source: draft-briscoe-iccrg-prague-congestion-control-02 sections 2.3 to 2.5, on RFC 5681 (`Reno`, with its settings). Different:
//! alpha and windows are floating-point numbers; a loss in a round trip that a mark has reduced halves all the same; the feedback is
//! a count of packets (AccECN's ACE field), so that the last segment of a transfer counts as a full one; a sender whose marks
//! come from a classic queue does not fall back. Units: bytes; alpha is a part of a window.

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use super::reno::{as_reno, real};
use super::{AckSample, CongestionControl, CongestionSignal, Echo, Load, Reno};
use crate::settings::TcpParams;

/// How much the last window counts in the estimate.
const GAIN: f64 = 1.0 / 16.0;
/// The shortest round trip that growth, estimate and reductions go by (`RTT_VIRT_MIN`).
//= draft-prague-02-2.4.4-virtual
const LEAST_RTT: Span = Span::from_millis(25);
/// Round trips until they do (`D`).
//= draft-prague-02-2.4.4-rounds
const REGULAR_ROUNDS: u32 = 500;

/// Window growth by the draft.
#[derive(Clone, Debug)]
pub struct Prague {
    reno: Reno,
    mss: f64,
    /// The estimate of the part of a window that is marked; none before the first mark.
    alpha: Option<f64>,
    /// Where the present window of observation ends, and when it began.
    window_end: u64,
    window_began: Instant,
    /// Bytes acknowledged in it, and those of them that were marked.
    acked: u64,
    marked: u64,
    rounds: u32,
    srtt: Option<Span>,
    /// When a mark last reduced the window.
    reduced_at: Instant,
}

impl Prague {
    /// Starts with the initial window.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            reno: Reno::new(params),
            mss: real(params.mss.0),
            alpha: None,
            window_end: 0,
            window_began: Instant::ZERO,
            acked: 0,
            marked: 0,
            rounds: 0,
            srtt: None,
            reduced_at: Instant::ZERO,
        }
    }

    /// The estimate of the part of a window that is marked, from 0 to 1.
    #[must_use]
    pub fn alpha(&self) -> f64 {
        self.alpha.unwrap_or(0.0)
    }

    /// The round trip to go by, and how many round trips it is.
    fn virtual_rtt(&self) -> (Span, f64) {
        match self.srtt {
            Some(srtt) if self.rounds >= REGULAR_ROUNDS && srtt < LEAST_RTT => {
                (LEAST_RTT, LEAST_RTT.as_secs_f64() / srtt.as_secs_f64().max(1e-9))
            }
            srtt => (srtt.unwrap_or(Span::ZERO), 1.0),
        }
    }
}

//= draft-prague-02-2.4.1-loss
impl CongestionControl for Prague {
    //= draft-prague-02-2.3.2-average
    //= draft-prague-02-2.3.2-round
    //= draft-prague-02-2.3.2-first
    fn on_echo(&mut self, echo: &Echo) {
        self.srtt = echo.srtt.or(self.srtt);
        self.acked += echo.acked.0;
        self.marked += echo.marked.0;
        if echo.marked.0 > 0 && self.alpha.is_none() {
            self.alpha = Some(1.0);
        }
        let (round_trip, trips) = self.virtual_rtt();
        if echo.ack <= self.window_end || trips > 1.0 && echo.now - self.window_began < round_trip {
            return;
        }
        if let Some(alpha) = &mut self.alpha
            && self.acked > 0
        {
            *alpha += GAIN * (real(self.marked) / real(self.acked) - *alpha);
        }
        self.rounds = self.rounds.saturating_add(1);
        (self.window_end, self.window_began, self.acked, self.marked) = (echo.sent, echo.now, 0, 0);
    }

    //= draft-prague-02-2.4.3-increase
    //= draft-prague-02-2.4.3-reduced
    //= draft-prague-02-2.4.4-increase
    //= draft-prague-02-2.4.5-slow-start
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        if self.reno.in_slow_start() {
            self.reno.on_ack(now, ack);
        } else if ack.cwnd_limited {
            let trips = self.virtual_rtt().1;
            let window = real(self.reno.cwnd().0).max(self.mss);
            self.reno.widen(real(ack.acked.0) * self.mss / window / (trips * trips));
        }
    }

    //= draft-prague-02-2.4.2-decrease
    //= draft-prague-02-2.4.2-once
    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, load: &Load) {
        if signal != CongestionSignal::EcnEcho {
            self.reno.on_congestion(now, signal, load);
            return;
        }
        // in a real round trip the sender answers one mark; a virtual one is longer
        let (round_trip, trips) = self.virtual_rtt();
        if trips > 1.0 && now - self.reduced_at < round_trip {
            return;
        }
        self.reduced_at = now;
        self.reno.keep(1.0 - self.alpha() / 2.0);
    }

    as_reno!();
}

#[cfg(test)]
mod tests;
