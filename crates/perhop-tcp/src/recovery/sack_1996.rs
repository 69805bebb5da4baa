//! Recovery by selective acknowledgments with a counted pipe, as first simulated.
//!
//! Source: Fall and Floyd 1996, section 3.2, and what ns-2 makes of it. It differs from RFC 6675: the pipe is counted
//! down by every acknowledgment instead of being computed, a hole is sent again once and before new data whether
//! enough has arrived above it or not, and a segment lost twice waits for the timer. Units: bytes.

use super::duplicates::Recover;
use super::scoreboard::Scoreboard;
use super::{DUPLICATE_THRESHOLD, Flight, LossRecovery, Next, OnDuplicate, OnNewAck};
use crate::settings::TcpParams;

/// State of loss recovery.
#[derive(Clone, Debug)]
pub struct Sack1996 {
    board: Scoreboard,
    duplicates: u32,
    recovering: bool,
    recover: Recover,
    /// The first outstanding segment is to be sent again at once.
    repair: bool,
    /// Nothing more leaves before the next acknowledgment.
    held: bool,
    /// Duplicates say nothing between a time-out and the next acknowledgment of new data.
    deaf: bool,
    /// Segments taken to be in the network; a late acknowledgment may take it below zero.
    pipe: i64,
    limited_transmit: bool,
    limited_transmit_resends: bool,
    /// A duplicate has permitted one new segment that has not left yet.
    allowance: bool,
}

impl Sack1996 {
    /// No duplicates yet.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            board: Scoreboard::default(),
            duplicates: 0,
            recovering: false,
            recover: Recover::new(params.guard),
            repair: false,
            held: false,
            deaf: false,
            pipe: 0,
            limited_transmit: params.limited_transmit,
            limited_transmit_resends: params.limited_transmit_resends,
            allowance: false,
        }
    }

    fn clear(&mut self) {
        self.board.clear();
        self.duplicates = 0;
        self.recovering = false;
        self.repair = false;
        self.held = false;
        self.allowance = false;
    }

    fn cwnd_allows(&self, flight: &Flight) -> bool {
        self.pipe < i64::try_from(flight.cwnd / flight.mss).unwrap_or(i64::MAX)
    }
}

impl LossRecovery for Sack1996 {
    fn on_sack(&mut self, flight: &Flight, blocks: &[(u64, u64)]) -> u64 {
        if self.deaf { 0 } else { self.board.update(flight.una, flight.max, flight.mss, blocks).fresh }
    }

    fn on_duplicate(&mut self, flight: &Flight, fresh: u64) -> OnDuplicate {
        self.allowance = false;
        self.held = false;
        if self.recovering {
            self.pipe -= 1;
            return OnDuplicate::Wait;
        }
        if fresh == 0 {
            return OnDuplicate::Wait;
        }
        self.duplicates += 1;
        self.allowance = self.limited_transmit && self.duplicates < DUPLICATE_THRESHOLD;
        if self.duplicates == DUPLICATE_THRESHOLD && self.recover.allows(flight.una) {
            OnDuplicate::Recover
        } else {
            OnDuplicate::Wait
        }
    }

    fn on_entered(&mut self, flight: &Flight) {
        let outstanding = i64::try_from((flight.max - flight.una) / flight.mss).unwrap_or(i64::MAX);
        self.pipe = outstanding - i64::from(DUPLICATE_THRESHOLD);
        self.recovering = true;
        self.repair = true;
        self.held = true;
        self.recover.point = Some(flight.max);
        self.board.begin(flight.una);
    }

    fn on_new_ack(&mut self, _flight: &Flight, ack: u64) -> OnNewAck {
        self.deaf = false;
        self.held = false;
        if !self.recovering {
            self.clear();
            return OnNewAck::Grow;
        }
        if self.recover.point.is_none_or(|point| ack >= point) {
            self.clear();
            self.recover.point = None;
            return OnNewAck::Exit;
        }
        self.pipe -= 2;
        self.repair = false;
        self.board.advance(ack);
        OnNewAck::Partial { deflate: 0, restart_timer: true }
    }

    fn on_timeout(&mut self, flight: &Flight) {
        self.clear();
        self.deaf = true;
        self.recover.point = Some(flight.max);
    }

    fn on_spurious_timeout(&mut self, flight: &Flight) {
        self.recover.point = Some(flight.una + 1);
    }

    fn next(&self, flight: &Flight) -> Next {
        if self.repair {
            return flight.first();
        }
        if self.recovering {
            return match self.board.hole(flight.una) {
                _ if self.held || !self.cwnd_allows(flight) => Next::Nothing,
                Some((start, end)) => Next::Resend(start, end),
                None if flight.offered() => Next::Segment,
                None => Next::Nothing,
            };
        }
        let new = flight.nxt == flight.max || self.limited_transmit_resends;
        let limited = self.allowance && new && flight.fits(u64::from(self.duplicates) * flight.mss);
        if flight.fits(0) || limited { Next::Segment } else { Next::Nothing }
    }

    fn on_sent(&mut self, flight: &Flight, seq: u64, end: u64) {
        self.allowance = false;
        if !self.recovering {
            return;
        }
        if !std::mem::take(&mut self.repair) {
            self.pipe += 1;
        }
        if seq < flight.max {
            self.board.mark_resent(end);
        }
    }

    fn sacked(&self) -> u64 {
        self.board.sacked()
    }

    fn recovering(&self) -> bool {
        self.recovering
    }
}
