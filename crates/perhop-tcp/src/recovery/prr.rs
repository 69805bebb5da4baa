//! Proportional rate reduction: what may leave during a recovery follows what has been delivered.
//!
//! Source: RFC 6937 section 3, with the slow start reduction bound. Units: bytes.

/// Counters of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    delivered: u64,
    out: u64,
    /// In flight when the recovery began (RecoverFS).
    flight: u64,
    /// What the last acknowledgment permits and has not left (sndcnt).
    pub(super) budget: u64,
}

impl Prr {
    //= rfc6937-3-begin
    pub(super) fn new(flight: u64) -> Self {
        Self { flight: flight.max(1), ..Self::default() }
    }

    /// An acknowledgment delivered `fresh` bytes; `pipe` bytes are in the network.
    //= rfc6937-3-delivered
    //= rfc6937-3-proportion
    //= rfc6937-3-slow-start-bound
    //= rfc6937-3-up-to-ssthresh
    pub(super) fn on_ack(&mut self, fresh: u64, pipe: u64, ssthresh: u64, mss: u64) {
        self.delivered += fresh;
        self.budget = if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let share = u64::try_from(share.div_ceil(u128::from(self.flight))).unwrap_or(u64::MAX);
            share.saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(fresh) + mss;
            limit.min(ssthresh - pipe)
        };
    }

    //= rfc6937-3-out
    pub(super) const fn on_sent(&mut self, len: u64) {
        self.out += len;
        self.budget = self.budget.saturating_sub(len);
    }
}
