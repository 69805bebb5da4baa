//! Finding out whether a time-out was spurious, by sending new data after it.
//!
//! Source: RFC 5682 section 2.1; the response is to restore the state before the time-out, as RFC 4015 does at most.
//! Different: a recovery that was going on does not keep it from beginning, with SACK or without.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use super::Sender;
use crate::cc::CongestionControl;
use crate::recovery::{Flight, LossRecovery};

/// Steps of the algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) enum Frto {
    /// Nothing to find out.
    #[default]
    Off,
    /// The first segment has been sent again; the next acknowledgment decides.
    First,
    /// New data was sent; the next acknowledgment decides.
    Second {
        /// New segments that may still leave.
        budget: u32,
    },
}

const NEW_SEGMENTS: u32 = 2;

impl Sender {
    /// The timer expired; called before anything of the recovery changes.
    //= rfc5682-2.1-1-already
    //= rfc5682-2.1-1-restart
    pub(super) fn begin_frto(&mut self) {
        // not while what an earlier time-out found outstanding is being repaired, unless nothing has been heard since
        let silent = self.timed_out && self.frto == Frto::First;
        let begins = self.rules.frto && (silent || self.una >= self.expired_to);
        self.frto = if begins { Frto::First } else { Frto::Off };
        self.expired_to = self.max;
    }

    /// An acknowledgment arrived: of new data, or a duplicate.
    //= rfc9438-4.9.1-detect
    //= rfc5682-2.1-2a-ordinary
    //= rfc5682-2.1-3a-limit
    //= rfc5682-2.1-3b-spurious
    //= rfc5682-2.1-3b-recover
    pub(super) fn follow_frto(&mut self, now: Instant, new_data: bool) {
        match self.frto {
            Frto::Off => {}
            Frto::First if new_data && self.una < self.expired_to && self.new_data_fits() => {
                self.nxt = self.max;
                self.frto = Frto::Second { budget: NEW_SEGMENTS };
            }
            Frto::First => self.frto = Frto::Off,
            Frto::Second { .. } if new_data => {
                self.cc.on_spurious_timeout(now);
                self.stats.undone_timeouts += 1;
                self.expired_to = self.una + 1;
                let flight = self.flight();
                self.recovery.on_spurious_timeout(&flight);
                self.frto = Frto::Off;
            }
            Frto::Second { .. } => {
                self.nxt = self.una;
                self.cc.limit(Bytes(3 * self.rules.mss().0));
                self.frto = Frto::Off;
            }
        }
    }

    /// A mark that comes with the proof that a time-out was spurious shrinks the window from before the time-out.
    pub(super) fn take_back_spurious(&mut self, now: Instant) {
        if matches!(self.frto, Frto::Second { .. }) {
            self.cc.on_spurious_timeout(now);
        }
    }

    /// Whether there is new data that the receiver's window allows.
    //= rfc5682-2.1-2b-nothing-new
    fn new_data_fits(&self) -> bool {
        let end = self.end_of(self.max);
        end > self.max && end <= self.una + self.window
    }

    /// Whether the segment of new data in `flight` may leave; `None` where the algorithm does not decide.
    //= rfc5682-2.1-2b-new
    pub(super) fn frto_permits(&mut self, flight: &Flight) -> Option<bool> {
        let Frto::Second { budget } = &mut self.frto else { return None };
        let permitted = *budget > 0 && flight.offered();
        *budget -= u32::from(permitted);
        Some(permitted)
    }
}
