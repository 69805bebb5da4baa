//! Proportional rate reduction: what may leave during a recovery follows what has been delivered.
//!
//! Source: RFC 9937 section 6, with RFC 6675's pipe or RFC 8985's as inflight. A reordering timer delivers nothing, so it
//! moves no variable: what it finds lost may leave again as far as the window of the last acknowledgment goes. Units: bytes.

/// The contents of an acknowledgment.
#[derive(Clone, Copy, Debug)]
pub(super) struct AckInfo {
    /// Bytes acknowledged or reported for the first time (`DeliveredData`).
    pub(super) delivered: u64,
    /// Bytes in the network (inflight).
    pub(super) pipe: u64,
    /// It acknowledges new data and tells of no further loss (`SafeACK`).
    pub(super) safe: bool,
}

/// Variables of one recovery.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Prr {
    delivered: u64,
    out: u64,
    /// The data that may be delivered in the recovery (`RecoverFS`).
    flight: u64,
    /// How much may be in the network (cwnd in a recovery).
    window: u64,
}

impl Prr {
    //= rfc9937-6.1-begin
    //= rfc9937-6.1-recover-fs
    pub(super) fn new(flight: u64) -> Self {
        Self { flight: flight.max(1), ..Self::default() }
    }

    //= rfc9937-6.2-delivered
    //= rfc9937-6.2-nothing-delivered
    //= rfc9937-6.2-proportion
    //= rfc9937-6.2-conservative
    //= rfc9937-6.2-safe
    //= rfc9937-6.2-up-to-ssthresh
    //= rfc9937-6.2-first
    pub(super) fn on_ack(&mut self, ack: AckInfo, ssthresh: u64, mss: u64) {
        let AckInfo { delivered, pipe, safe } = ack;
        if delivered == 0 {
            return;
        }
        self.delivered += delivered;
        let count = if pipe > ssthresh {
            let share = u128::from(self.delivered) * u128::from(ssthresh);
            let share = u64::try_from(share.div_ceil(u128::from(self.flight))).unwrap_or(u64::MAX);
            share.saturating_sub(self.out)
        } else {
            let limit = self.delivered.saturating_sub(self.out).max(delivered) + if safe { mss } else { 0 };
            limit.min(ssthresh - pipe)
        };
        self.window = pipe + if self.out == 0 && count == 0 { mss } else { count };
    }

    /// Whether more may leave while `pipe` bytes are in the network.
    pub(super) const fn permits(&self, pipe: u64) -> bool {
        pipe < self.window
    }

    //= rfc9937-6.3-out
    pub(super) const fn on_sent(&mut self, len: u64) {
        self.out += len;
    }
}
