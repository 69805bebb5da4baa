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

#[cfg(test)]
mod tests {
    use super::*;
    use OnDuplicate::{Inflate, Retransmit, Wait};

    const MSS: u64 = 1000;

    fn duplicates(reno: &mut Reno, una: u64, max: u64, times: usize) -> Vec<OnDuplicate> {
        (0..times).map(|_| reno.on_duplicate(una, max, MSS)).collect()
    }

    #[test]
    fn the_third_duplicate_begins_and_new_data_ends_a_recovery() {
        let mut reno = Reno::default();
        assert_eq!(duplicates(&mut reno, 0, 8000, 5), [Wait, Wait, Retransmit, Inflate, Inflate]);
        assert_eq!(reno.inflation(), 5 * MSS);
        assert!(reno.on_new_ack());
        assert_eq!(reno.inflation(), 0);
        assert!(!reno.on_new_ack());
    }

    #[test]
    fn duplicates_must_follow_each_other() {
        let mut reno = Reno::default();
        assert_eq!(duplicates(&mut reno, 0, 8000, 2), [Wait, Wait]);
        assert!(!reno.on_new_ack());
        assert_eq!(duplicates(&mut reno, 1000, 8000, 2), [Wait, Wait]);
        assert_eq!(reno.inflation(), 0);
    }

    #[test]
    fn the_next_recovery_waits_for_all_that_was_outstanding() {
        let mut reno = Reno::default();
        assert_eq!(duplicates(&mut reno, 0, 8000, 3)[2], Retransmit);
        assert!(reno.on_new_ack());
        assert_eq!(duplicates(&mut reno, 7000, 9000, 4), [Wait; 4]);
        reno.on_new_ack();
        assert_eq!(duplicates(&mut reno, 8000, 9000, 3), [Wait, Wait, Retransmit]);
    }

    #[test]
    fn a_timeout_ends_recovery_and_bars_another_until_all_is_acknowledged() {
        let mut reno = Reno::default();
        assert_eq!(duplicates(&mut reno, 0, 8000, 4)[3], Inflate);
        reno.on_timeout(9000);
        assert_eq!(reno.inflation(), 0);
        assert_eq!(duplicates(&mut reno, 0, 9000, 4), [Wait; 4]);
        assert!(!reno.on_new_ack());
        assert_eq!(duplicates(&mut reno, 9000, 12_000, 3), [Wait, Wait, Retransmit]);
    }
}
