//! Duplicate acknowledgments counted up to a loss: what Tahoe, Reno and NewReno share.
//!
//! Source: RFC 5681 section 3.2, RFC 3042 (limited transmit), RFC 2582 section 5 and RFC 6582 section 3.2 (when another
//! recovery may begin). Inflation is kept apart from `cwnd`.

use super::{DUPLICATE_THRESHOLD, Flight, Next};
use crate::settings::{Guard, TcpParams};

/// The guard of a recovery against duplicates of what was outstanding before.
//= rfc6582-2-recover
#[derive(Clone, Copy, Debug)]
pub(super) struct Recover {
    guard: Guard,
    /// One past the highest byte sent when the last recovery or time-out began.
    pub(super) point: Option<u64>,
}

impl Recover {
    pub(super) const fn new(guard: Guard) -> Self {
        Self { guard, point: None }
    }

    /// Whether duplicates of `una` may begin a recovery.
    //= rfc6582-4-after-timeout
    //= rfc6582-3.2-check-recover
    pub(super) fn allows(&self, una: u64) -> bool {
        match (self.guard, self.point) {
            (Guard::Off, _) | (_, None) => true,
            (Guard::LessCareful, Some(point)) => una >= point,
            (Guard::Careful, Some(point)) => una > point,
        }
    }
}

/// A count of duplicates and what it permits.
//= rfc6582-6-flag
#[derive(Clone, Copy, Debug)]
pub(super) struct Duplicates {
    pub(super) count: u32,
    pub(super) recovering: bool,
    pub(super) recover: Recover,
    pub(super) inflation: u64,
    limited_transmit: bool,
    limited_transmit_resends: bool,
    /// A duplicate has permitted one new segment that has not left yet.
    allowance: bool,
    /// Bytes that limited transmit has added to what is outstanding.
    pub(super) limited: u64,
    /// The first outstanding segment is to be sent again at once.
    pub(super) repair: bool,
}

impl Duplicates {
    pub(super) const fn new(params: &TcpParams) -> Self {
        Self {
            count: 0,
            recovering: false,
            recover: Recover::new(params.guard),
            inflation: 0,
            limited_transmit: params.limited_transmit,
            limited_transmit_resends: params.limited_transmit_resends,
            allowance: false,
            limited: 0,
            repair: false,
        }
    }

    /// Counts a duplicate; returns whether it is the one that means a loss.
    //= rfc5681-3.2-third-duplicate
    pub(super) fn count(&mut self, flight: &Flight) -> bool {
        self.count += 1;
        self.allowance = self.limited_transmit && self.count < DUPLICATE_THRESHOLD;
        if self.recovering {
            //= rfc5681-3.2-inflate
            self.inflation += flight.mss;
            return false;
        }
        self.count == DUPLICATE_THRESHOLD && self.recover.allows(flight.una)
    }

    /// Recovery begins, with the segments that the duplicates stand for out of the network.
    //= rfc5681-3.2-window-on-entry
    pub(super) fn enter(&mut self, flight: &Flight) {
        self.recovering = true;
        self.repair = true;
        self.allowance = false;
        self.recover.point = Some(flight.max);
        self.inflation = u64::from(DUPLICATE_THRESHOLD) * flight.mss;
    }

    /// Forgets duplicates and recovery, at an acknowledgment of new data.
    pub(super) fn clear(&mut self) {
        self.count = 0;
        self.recovering = false;
        self.inflation = 0;
        self.allowance = false;
        self.limited = 0;
        self.repair = false;
    }

    //= rfc6582-3.2-timeout
    pub(super) fn on_timeout(&mut self, flight: &Flight) {
        self.clear();
        self.recover.point = Some(flight.max);
    }

    //= rfc3042-2-receiver-window
    //= rfc3042-2-two-beyond
    //= rfc5681-3.2-limited-transmit
    //= rfc5681-3.2-send-new
    pub(super) fn next(&self, flight: &Flight) -> Next {
        if self.repair {
            flight.first()
        } else if flight.fits(self.inflation)
            || self.allowance
                && (flight.nxt == flight.max || self.limited_transmit_resends)
                && flight.fits(u64::from(self.count) * flight.mss)
        {
            Next::Segment
        } else {
            Next::Nothing
        }
    }

    //= rfc5681-3.2-cwnd-unchanged
    //= rfc3042-2-one-segment
    //= rfc3042-2-cwnd-unchanged
    pub(super) fn on_sent(&mut self, flight: &Flight) {
        if self.allowance && !flight.fits(self.inflation) {
            self.limited += flight.len;
        }
        self.repair = false;
        self.allowance = false;
    }
}
