//! `HyStart++`: round trips that take longer slow the slow start down, and end it if they stay long.
//!
//! Source: RFC 9406 section 4. Different: what a loss or a mark leaves is the growth's matter; nothing is paced, so L is 8;
//! a restart after an idle time is a standard slow start. Units: bytes, ns.

use perhop_core::time::Span;

use super::{Windows, acked, one_segment, risen};
use crate::cc::AckSample;

/// Samples that a round needs (`N_RTT_SAMPLE`).
//= rfc9406-4.3-constants
const SAMPLES: u32 = 8;
/// How much slower cwnd grows in conservative slow start (`CSS_GROWTH_DIVISOR`).
//= rfc9406-4.3-constants
//= rfc9406-4.3-divisor
const DIVISOR: f64 = 4.0;
/// Rounds of conservative slow start (`CSS_ROUNDS`).
//= rfc9406-4.3-constants
const ROUNDS: u32 = 5;
/// Segments that count of an acknowledgment (`L`).
//= rfc9406-4.3-unpaced
const SEGMENTS: f64 = 8.0;

/// Conservative slow start (CSS).
#[derive(Clone, Copy, PartialEq, Debug)]
struct Conservative {
    /// The round trip that began it; a shorter one proves it premature.
    baseline: Span,
    /// Rounds that have ended in it.
    rounds: u32,
}

/// The state of the first slow start.
#[derive(Clone, Debug)]
pub(in crate::cc) struct HystartPlusPlus {
    initial_ssthresh: f64,
    /// Its acknowledgment ends the round (windowEnd).
    end: Option<u64>,
    /// Shortest round trip of the last round (lastRoundMinRTT), and of this one (currentRoundMinRTT).
    last: Option<Span>,
    current: Option<Span>,
    /// Samples of this round.
    samples: u32,
    conservative: Option<Conservative>,
}

impl HystartPlusPlus {
    //= rfc9406-4.2-infinity
    pub(super) const fn new(initial_ssthresh: f64) -> Self {
        Self { initial_ssthresh, end: None, last: None, current: None, samples: 0, conservative: None }
    }

    //= rfc9406-4.2-limit
    //= rfc9406-4.2-slow-start
    //= rfc9406-4.2-conservative
    //= rfc9406-4.2-rounds
    //= rfc9406-4.2-congestion
    //= rfc9406-4.3-first-only
    pub(super) fn on_ack(&mut self, ack: &AckSample, windows: &Windows) -> Option<f64> {
        if windows.ssthresh < self.initial_ssthresh {
            return Some(one_segment(ack, windows));
        }
        let counted = acked(ack).min(SEGMENTS * windows.mss);
        let growth = if self.conservative.is_some() { counted / DIVISOR } else { counted };
        let end = *self.end.get_or_insert(ack.sent());
        if let Some(rtt) = ack.rtt {
            self.sample(rtt);
        }
        if ack.una >= end && self.end_round(ack.sent()) {
            return None;
        }
        Some(growth)
    }

    //= rfc9406-4.2-shortest
    //= rfc9406-4.2-delay
    //= rfc9406-4.2-premature
    fn sample(&mut self, rtt: Span) {
        let current = self.current.map_or(rtt, |current| current.min(rtt));
        self.current = Some(current);
        self.samples = self.samples.saturating_add(1);
        if self.samples < SAMPLES {
            return;
        }
        self.conservative = match self.conservative {
            Some(css) if current < css.baseline => None,
            None if self.last.is_some_and(|last| current >= risen(last)) => {
                Some(Conservative { baseline: current, rounds: 0 })
            }
            same => same,
        };
    }

    /// Whether slow start ends with this round.
    //= rfc9406-4.2-new-round
    //= rfc9406-4.2-css-rounds
    //= rfc9406-4.2-exit
    fn end_round(&mut self, sent: u64) -> bool {
        self.end = Some(sent);
        self.last = self.current.take();
        self.samples = 0;
        self.conservative.as_mut().is_some_and(|css| {
            css.rounds += 1;
            css.rounds >= ROUNDS
        })
    }
}
