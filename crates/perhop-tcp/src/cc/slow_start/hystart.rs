//! `HyStart` of the Linux kernel: slow start ends once the acknowledgments of a round make a long train, or come late.
//!
//! Source: `net/ipv4/tcp_cubic.c` of Linux 5.15 and later (`hystart_update`), without pacing; the idea is that of S. Ha and
//! I. Rhee, Taming the elephants: new TCP slow start, Computer Networks 55(9), 2011. Before the first congestion an
//! acknowledgment adds all that it acknowledges, as in the kernel. Different: after it, a segment at most with `hystart`; samples during a
//! recovery and in congestion avoidance do not count; the rate of which the kernel's cushion is made is that of slow start.
//! Units: bytes, ns.

use perhop_core::time::{Instant, Span};

use super::{Windows, acked, one_segment, risen};
use crate::cc::AckSample;

/// Samples of a round before the next is judged (`HYSTART_MIN_SAMPLES`).
const SAMPLES: u32 = 8;
/// Segments of cwnd below which nothing is judged (`hystart_low_window`).
const LOW_WINDOW: f64 = 16.0;
/// Longest time between acknowledgments of a train (`hystart_ack_delta_us`).
const SPACING: Span = Span::from_millis(2);
/// Longest time by which a train may be longer for segments sent and taken together (`hystart_ack_delay`).
const CUSHION: Span = Span::from_millis(1);
/// Bytes that the sender hands down at once, at most (`sk_gso_max_size`).
const BURST: f64 = 65_536.0;

/// The state since the start or the last time-out.
#[derive(Clone, Debug, Default)]
pub(in crate::cc) struct Hystart {
    /// All that an acknowledgment brings is added after a congestion too.
    all: bool,
    /// It has ended a slow start.
    found: bool,
    /// More than this must be acknowledged for a new round.
    end: u64,
    /// When the round began, and the last acknowledgment of its train.
    began: Instant,
    last_ack: Instant,
    /// Shortest round trip of the round.
    current: Option<Span>,
    /// Its samples, up to [`SAMPLES`].
    samples: u32,
    /// Shortest round trip.
    least: Option<Span>,
}

impl Hystart {
    pub(super) fn new(all: bool) -> Self {
        Self { all, ..Self::default() }
    }

    pub(super) const fn always_all(&self) -> bool {
        self.all
    }

    pub(super) fn on_ack(&mut self, now: Instant, ack: &AckSample, windows: &Windows) -> Option<f64> {
        if let Some(rtt) = ack.rtt.filter(|_| !self.found) {
            let least = self.least.map_or(rtt, |least| least.min(rtt));
            self.least = Some(least);
            if ack.una > self.end {
                let (all, least) = (self.all, self.least);
                *self = Self { all, end: ack.sent(), began: now, last_ack: now, least, ..Self::default() };
            }
            if windows.cwnd >= LOW_WINDOW * windows.mss {
                let train = self.is_long_train(now, longest_train(least, ack.srtt, windows.cwnd));
                self.found = self.is_late(rtt, least) || train;
            }
            if self.found {
                return None;
            }
        }
        // after a congestion an acknowledgment passes over data that had arrived before, unless what is delivered counts
        let all = self.all || windows.ssthresh == f64::INFINITY;
        Some(if all { acked(ack) } else { one_segment(ack, windows) })
    }

    fn is_long_train(&mut self, now: Instant, longest: Span) -> bool {
        if now - self.last_ack > SPACING {
            return false;
        }
        self.last_ack = now;
        now - self.began > longest
    }

    fn is_late(&mut self, rtt: Span, least: Span) -> bool {
        let current = self.current.map_or(rtt, |current| current.min(rtt));
        self.current = Some(current);
        if self.samples < SAMPLES {
            self.samples += 1;
            return false;
        }
        current > risen(least)
    }
}

/// Half of the shortest round trip and a cushion: four bursts at the rate of slow start, which is two windows in a round
/// trip.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
fn longest_train(least: Span, srtt: Option<Span>, cwnd: f64) -> Span {
    let secs = srtt.map_or(0.0, |srtt| 4.0 * BURST * srtt.as_secs_f64() / (2.0 * cwnd));
    let cushion = Span::from_nanos((secs * 1e9) as u64).min(CUSHION);
    Span::from_nanos(least.as_nanos().saturating_add(cushion.as_nanos()) / 2)
}
