//! Acknowledgments that arrive together: how much more of them than the bandwidth explains.
//!
//! Source: Linux's `tcp_bbr.c` (`bbr_update_ack_aggregation`, `bbr_ack_aggregation_cwnd`); not in the draft. Units: bytes.

use perhop_core::time::{Instant, Span};

use super::bytes_in;

/// Round trips of a window; the greatest of two windows counts.
const ROUNDS: u32 = 5;
/// Most time that the window bridges.
const MOST: Span = Span::from_millis(100);
/// Bytes after which an epoch begins anew: about a million segments in the kernel.
const EPOCH: u64 = 1 << 30;

/// Acknowledged bytes that the bandwidth does not explain.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Aggregation {
    /// The greatest in the last two windows, which of them is the present one, and its round trips.
    extra: [u64; 2],
    present: usize,
    rounds: u32,
    /// Since when what is acknowledged is counted, and how much that is.
    began: Instant,
    acked: u64,
}

impl Aggregation {
    /// Counts from `now` on.
    pub(super) const fn restart(&mut self, now: Instant) {
        (self.began, self.acked) = (now, 0);
    }

    //= tcp_bbr-bbr_update_ack_aggregation-extra
    /// Takes an acknowledgment of `acked` bytes at `bandwidth`, with a window of `cwnd` bytes.
    pub(super) fn update(&mut self, now: Instant, acked: u64, bandwidth: u64, round_start: bool, cwnd: u64) {
        if round_start {
            self.rounds += 1;
            if self.rounds >= ROUNDS {
                (self.rounds, self.present) = (0, 1 - self.present);
                self.extra[self.present] = 0;
            }
        }
        let mut expected = bytes_in(bandwidth, now - self.began);
        if self.acked <= expected || self.acked + acked >= EPOCH {
            self.restart(now);
            expected = 0;
        }
        self.acked += acked;
        let extra = self.acked.saturating_sub(expected).min(cwnd);
        self.extra[self.present] = self.extra[self.present].max(extra);
    }

    //= tcp_bbr-bbr_ack_aggregation_cwnd-cap
    /// Bytes by which the window is wider.
    pub(super) fn extra(&self, bandwidth: u64) -> u64 {
        let [one, other] = self.extra;
        one.max(other).min(bytes_in(bandwidth, MOST))
    }
}
