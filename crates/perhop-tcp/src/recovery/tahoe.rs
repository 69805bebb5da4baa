//! Fast retransmit without fast recovery: a loss restarts slow start.
//!
//! Source: Jacobson 1988; Fall and Floyd 1996, section 2. Different: the guard against a second fast retransmit, a
//! setting, is younger than Tahoe. A time-out leaves the count of duplicates, as in ns-2.

use super::duplicates::Duplicates;
use super::{Flight, LossRecovery, Next, OnDuplicate, OnNewAck};
use crate::settings::TcpParams;

/// State of loss recovery.
#[derive(Clone, Debug)]
pub struct Tahoe(Duplicates);

impl Tahoe {
    /// No duplicates yet.
    #[must_use]
    pub const fn new(params: &TcpParams) -> Self {
        Self(Duplicates::new(params))
    }
}

impl LossRecovery for Tahoe {
    fn on_duplicate(&mut self, flight: &Flight, _fresh: u64) -> OnDuplicate {
        if !self.0.count(flight) {
            return OnDuplicate::Wait;
        }
        self.0.recover.point = Some(flight.max);
        OnDuplicate::Restart
    }

    fn on_new_ack(&mut self, _flight: &Flight, _ack: u64) -> OnNewAck {
        self.0.clear();
        OnNewAck::Grow
    }

    fn on_timeout(&mut self, flight: &Flight) {
        let count = self.0.count;
        self.0.on_timeout(flight);
        self.0.count = count;
    }

    fn on_spurious_timeout(&mut self, flight: &Flight) {
        self.0.recover.point = Some(flight.una + 1);
    }

    fn next(&self, flight: &Flight) -> Next {
        self.0.next(flight)
    }

    fn on_sent(&mut self, flight: &Flight, _seq: u64, _end: u64) {
        self.0.on_sent(flight);
    }

    fn limited(&self) -> u64 {
        self.0.limited
    }

    fn recovering(&self) -> bool {
        false
    }
}
