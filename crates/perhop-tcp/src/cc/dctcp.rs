//! Reno's growth, and a window that falls by how much of it was marked.
//!
//! Source: RFC 8257 sections 3.3 to 3.5, on RFC 5681 (`Reno`, with its settings). Different: the gain is 1/16, which the RFC
//! leaves open; a window is reduced at the first echo of a mark in it, as RFC 3168 has it, and an acknowledgment with an echo lets
//! nothing grow; a mark leaves two segments, as in Linux; SND.NXT is one past the highest byte sent, also after a time-out;
//! ssthresh follows cwnd. Units: bytes, as floating-point numbers; alpha is a part of a window.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use super::reno::{as_reno, real};
use super::{AckSample, CongestionControl, CongestionSignal, Echo, Load, Reno};
use crate::settings::TcpParams;

/// How much the last window counts in the estimate: `g` of RFC 8257 section 3.3.
const GAIN: f64 = 1.0 / 16.0;

/// Window growth by RFC 8257.
#[derive(Clone, Debug)]
pub struct Dctcp {
    reno: Reno,
    /// The estimate of the part of a window that is marked: DCTCP.Alpha.
    alpha: f64,
    /// Where the present window of observation ends: DCTCP.WindowEnd.
    window_end: u64,
    /// Bytes acknowledged in it, and those of them that were marked: DCTCP.BytesAcked and DCTCP.BytesMarked.
    acked: u64,
    marked: u64,
}

impl Dctcp {
    /// Starts with the initial window, and as if all of the last one had been marked.
    //= rfc8257-3.3-alpha-first
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self { reno: Reno::new(params), alpha: 1.0, window_end: 0, acked: 0, marked: 0 }
    }

    /// The estimate of the part of a window that is marked, from 0 to 1.
    #[must_use]
    pub const fn alpha(&self) -> f64 {
        self.alpha
    }
}

//= rfc8257-3.4-growth
//= rfc8257-3.5-loss
//= rfc8257-3.5-state
//= rfc8257-3.5-timeout
impl CongestionControl for Dctcp {
    //= rfc8257-3.3-bytes
    //= rfc8257-3.3-window
    //= rfc8257-3.3-alpha
    fn on_echo(&mut self, echo: &Echo) {
        self.acked += echo.acked.0;
        self.marked += echo.marked.0;
        if echo.ack <= self.window_end {
            return;
        }
        let part = real(self.marked) / real(self.acked);
        self.alpha = self.alpha * (1.0 - GAIN) + GAIN * part;
        (self.window_end, self.acked, self.marked) = (echo.sent, 0, 0);
    }

    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        self.reno.on_ack(now, ack);
    }

    //= rfc8257-3.3-cwnd
    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, load: &Load) {
        if signal == CongestionSignal::EcnEcho {
            self.reno.keep(1.0 - self.alpha / 2.0);
        } else {
            self.reno.on_congestion(now, signal, load);
        }
    }

    as_reno!();
}
