//! Fast retransmit and fast recovery: the first acknowledgment of new data ends it.
//!
//! Source: RFC 5681 section 3.2. Different: when another recovery may begin is a setting (`guard`); inflation is kept
//! apart from `cwnd`.

use super::duplicates::Duplicates;
use super::{Flight, LossRecovery, Next, OnDuplicate, OnNewAck};
use crate::settings::TcpParams;

/// State of loss recovery.
#[derive(Clone, Debug)]
pub struct Reno(Duplicates);

impl Reno {
    /// No duplicates yet.
    #[must_use]
    pub const fn new(params: &TcpParams) -> Self {
        Self(Duplicates::new(params))
    }
}

impl LossRecovery for Reno {
    //= rfc5681-3.2-retransmit
    fn on_duplicate(&mut self, flight: &Flight, _fresh: u64) -> OnDuplicate {
        if self.0.count(flight) { OnDuplicate::Recover } else { OnDuplicate::Wait }
    }

    fn on_entered(&mut self, flight: &Flight) {
        self.0.enter(flight);
    }

    //= rfc5681-3.2-deflate
    fn on_new_ack(&mut self, _flight: &Flight, _ack: u64) -> OnNewAck {
        let ended = self.0.recovering;
        self.0.clear();
        if ended { OnNewAck::Exit } else { OnNewAck::Grow }
    }

    fn on_timeout(&mut self, flight: &Flight) {
        self.0.on_timeout(flight);
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

    fn inflation(&self) -> u64 {
        self.0.inflation
    }

    fn limited(&self) -> u64 {
        self.0.limited
    }

    fn recovering(&self) -> bool {
        self.0.recovering
    }
}
