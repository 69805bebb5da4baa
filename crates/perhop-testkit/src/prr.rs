//! Proportional rate reduction as RFC 9937 section 6 writes it, for comparison.

/// What the acknowledgment at hand says of a recovery.
#[derive(Clone, Copy, Debug, Default)]
pub struct AckInfo {
    /// `DeliveredData`.
    pub delivered: u64,
    /// `SafeACK`.
    pub safe: bool,
}

/// The variables of RFC 9937 section 6.
#[derive(Clone, Copy, Debug)]
pub struct Prr {
    delivered: u64,
    out: u64,
    recover_fs: u64,
    /// cwnd.
    window: u64,
}

impl Prr {
    /// A recovery begins.
    #[must_use]
    pub const fn new(recover_fs: u64) -> Self {
        Self { delivered: 0, out: 0, recover_fs, window: 0 }
    }

    /// An acknowledgment, section 6.2.
    pub fn on_ack(&mut self, ack: AckInfo, inflight: u64, ssthresh: u64, smss: u64) {
        if ack.delivered == 0 {
            return;
        }
        self.delivered += ack.delivered;
        let mut sndcnt = if inflight > ssthresh {
            (self.delivered * ssthresh).div_ceil(self.recover_fs).saturating_sub(self.out)
        } else {
            let bound = self.delivered.saturating_sub(self.out).max(ack.delivered);
            (bound + u64::from(ack.safe) * smss).min(ssthresh - inflight)
        };
        if self.out == 0 && sndcnt == 0 {
            sndcnt = smss;
        }
        self.window = inflight + sndcnt;
    }

    /// `len` bytes leave, section 6.3.
    pub const fn sent(&mut self, len: u64) {
        self.out += len;
    }

    /// Whether more may leave.
    #[must_use]
    pub const fn permits(&self, inflight: u64) -> bool {
        inflight < self.window
    }
}
