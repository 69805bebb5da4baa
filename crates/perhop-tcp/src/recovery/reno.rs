//! Fast retransmit and fast recovery.
//!
//! Source: RFC 5681 section 3.2. Different: a second fast retransmit waits until an acknowledgment passes the
//! highest byte sent when the last recovery or time-out began (the rule of RFC 6582 section 4.1), since duplicates
//! of go-back-N would otherwise halve the window again. Inflation is kept apart from `cwnd`.

use super::OnDuplicate;

const DUPLICATE_THRESHOLD: u32 = 3;

/// State of loss recovery.
#[derive(Clone, Debug, Default)]
pub struct Reno {
    duplicates: u32,
    recovering: bool,
    /// Duplicates of an acknowledgment below this start no recovery.
    recover: u64,
    inflation: u64,
}

impl Reno {
    /// A duplicate of the acknowledgment for `una` arrived, with everything below `max` sent.
    pub fn on_duplicate(&mut self, una: u64, max: u64, mss: u64) -> OnDuplicate {
        self.duplicates += 1;
        if self.recovering {
            self.inflation += mss;
            return OnDuplicate::Inflate;
        }
        if self.duplicates < DUPLICATE_THRESHOLD || una < self.recover {
            return OnDuplicate::Wait;
        }
        self.recovering = true;
        self.recover = max;
        self.inflation = u64::from(DUPLICATE_THRESHOLD) * mss;
        OnDuplicate::Retransmit
    }

    /// New data was acknowledged. Returns whether that ended a recovery.
    pub fn on_new_ack(&mut self) -> bool {
        self.duplicates = 0;
        self.inflation = 0;
        core::mem::take(&mut self.recovering)
    }

    /// The retransmission timer expired, with everything below `max` sent.
    pub fn on_timeout(&mut self, max: u64) {
        *self = Self { recover: max, ..Self::default() };
    }

    /// Bytes by which duplicates, segments that have left the network, widen the window.
    #[must_use]
    pub const fn inflation(&self) -> u64 {
        self.inflation
    }
}
