//! Fast recovery that goes on until everything outstanding at its start is acknowledged.
//!
//! Source: RFC 6582 section 3.2; RFC 2582 for the variants that are settings (`guard`, `partial_ack_timer`). Different:
//! inflation is kept apart from `cwnd`, so a partial acknowledgment takes from the inflation first; the number of new
//! segments for one acknowledgment can be bounded (`recovery_burst`).

use super::duplicates::Duplicates;
use super::{Flight, LossRecovery, Next, OnDuplicate, OnNewAck};
use crate::settings::{PartialAckTimer, TcpParams};

/// State of loss recovery.
#[derive(Clone, Debug)]
pub struct NewReno {
    duplicates: Duplicates,
    partial_ack_timer: PartialAckTimer,
    /// A partial acknowledgment has arrived in this recovery.
    partial: bool,
    burst: u32,
    /// New segments that may still follow the last acknowledgment.
    budget: u32,
}

impl NewReno {
    /// No duplicates yet.
    #[must_use]
    pub const fn new(params: &TcpParams) -> Self {
        let burst = if params.recovery_burst == 0 { u32::MAX } else { params.recovery_burst };
        Self {
            duplicates: Duplicates::new(params),
            partial_ack_timer: params.partial_ack_timer,
            partial: false,
            burst,
            budget: 0,
        }
    }

    /// Bytes by which a partial acknowledgment of `acked` bytes shrinks the congestion window.
    //= rfc6582-3.2-partial-add-back
    //= rfc6582-3.2-partial-deflate
    fn deflate(&mut self, acked: u64, mss: u64) -> u64 {
        let back = if acked >= mss { mss } else { 0 };
        let inflation = &mut self.duplicates.inflation;
        let more = acked.saturating_sub(*inflation);
        *inflation = inflation.saturating_sub(acked) + back;
        more
    }
}

impl LossRecovery for NewReno {
    fn on_duplicate(&mut self, flight: &Flight, _fresh: u64) -> OnDuplicate {
        self.budget = self.burst;
        if self.duplicates.count(flight) { OnDuplicate::Recover } else { OnDuplicate::Wait }
    }

    //= rfc6582-3.2-enter
    fn on_entered(&mut self, flight: &Flight) {
        self.duplicates.enter(flight);
        self.partial = false;
    }

    //= rfc6582-3.1-extent
    //= rfc6582-3.2-partial-stay
    //= rfc6582-3.2-partial-timer
    //= rfc6582-3.2-full-ack
    fn on_new_ack(&mut self, flight: &Flight, ack: u64) -> OnNewAck {
        if !self.duplicates.recovering {
            self.duplicates.clear();
            return OnNewAck::Grow;
        }
        if self.duplicates.recover.point.is_none_or(|point| ack >= point) {
            self.duplicates.clear();
            return OnNewAck::Exit;
        }
        //= rfc6582-3.2-partial-retransmit
        self.duplicates.repair = true;
        self.budget = self.burst;
        let first = !std::mem::replace(&mut self.partial, true);
        let deflate = self.deflate(ack - flight.una, flight.mss);
        OnNewAck::Partial {
            deflate,
            restart_timer: first || self.partial_ack_timer == PartialAckTimer::Every,
        }
    }

    fn on_timeout(&mut self, flight: &Flight) {
        self.duplicates.on_timeout(flight);
    }

    //= rfc6582-3.2-partial-send
    fn on_spurious_timeout(&mut self, flight: &Flight) {
        self.duplicates.recover.point = Some(flight.una + 1);
    }

    fn next(&self, flight: &Flight) -> Next {
        match self.duplicates.next(flight) {
            Next::Segment if self.duplicates.recovering && self.budget == 0 => Next::Nothing,
            next => next,
        }
    }

    fn on_sent(&mut self, flight: &Flight, _seq: u64, _end: u64) {
        if !std::mem::take(&mut self.duplicates.repair) {
            self.budget = self.budget.saturating_sub(1);
        }
        self.duplicates.on_sent(flight);
    }

    fn inflation(&self) -> u64 {
        self.duplicates.inflation
    }

    fn limited(&self) -> u64 {
        self.duplicates.limited
    }

    fn recovering(&self) -> bool {
        self.duplicates.recovering
    }
}
