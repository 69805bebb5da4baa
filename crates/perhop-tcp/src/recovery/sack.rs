//! Recovery by selective acknowledgments.
//!
//! Source: RFC 6675 sections 4 and 5; RFC 9937 (proportional rate reduction) as an option. After a time-out
//! what had been reported is forgotten (RFC 2018 sections 5 and 5.1), and what is reported since is not sent again; what
//! was outstanding counts as lost, and what has left since as the pipe, which cwnd bounds (RFC 6675 section 5.1 leaves
//! that open).
//! Different: every time-out moves the recovery point, not only one in a recovery (as RFC 6582 section 4 has it).

use super::duplicates::Recover;
use super::prr::{AckInfo, Prr};
use super::scoreboard::Scoreboard;
use super::{DUPLICATE_THRESHOLD, Flight, LossRecovery, Next, OnDuplicate, OnNewAck};
use crate::settings::{Guard, TcpParams};

/// State of loss recovery.
#[derive(Clone, Debug)]
pub struct Sack {
    board: Scoreboard,
    duplicates: u32,
    recovering: bool,
    /// One past the highest byte sent when the last recovery or time-out began (RecoveryPoint).
    recover: Recover,
    /// The first outstanding segment is to be sent again at once.
    repair: bool,
    /// Data that a time-out found outstanding is being sent again.
    refilling: bool,
    /// The rescue retransmission waits until more than this is acknowledged (RescueRxt).
    rescued: Option<u64>,
    limited_transmit: bool,
    /// Bytes that limited transmit has added to what is outstanding.
    limited: u64,
    prr: Option<Prr>,
    use_prr: bool,
    /// Bytes that the present acknowledgment delivers.
    fresh: u64,
    /// It tells of a loss that was not known.
    losses: bool,
    /// `una` and bytes reported at the last acknowledgment, for what the next one delivers.
    delivered: u64,
}

impl Sack {
    /// No duplicates yet.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            board: Scoreboard::default(),
            duplicates: 0,
            recovering: false,
            //= rfc6675-5.1-no-recovery-before-recovery-point
            recover: Recover::new(Guard::LessCareful),
            repair: false,
            refilling: false,
            rescued: None,
            limited_transmit: params.limited_transmit,
            limited: 0,
            prr: None,
            use_prr: params.prr,
            fresh: 0,
            losses: false,
            delivered: 0,
        }
    }

    /// An acknowledgment has arrived; its blocks follow.
    pub const fn begin_ack(&mut self) {
        (self.fresh, self.losses) = (0, false);
    }

    /// The next data to send in recovery (NextSeg).
    //= rfc6675-4-next-seg-1
    //= rfc6675-4-next-seg-2
    //= rfc6675-4-next-seg-3
    fn next_seg(&self, flight: &Flight) -> Next {
        let hole = self.board.hole(flight.una);
        match hole {
            Some((start, end)) if self.board.is_lost(start) => Next::Resend(start, end),
            _ if flight.offered() => Next::Segment,
            Some((start, end)) => Next::Resend(start, end),
            None => self.rescue(flight),
        }
    }

    //= rfc6675-4-next-seg-5
    //= rfc6675-4-next-seg-4
    fn rescue(&self, flight: &Flight) -> Next {
        if self.rescued.is_some_and(|point| flight.una <= point) {
            return Next::Nothing;
        }
        let hole = self.board.last_hole(flight.una, flight.max);
        //= rfc6675-4-next-seg-4-highest
        hole.map_or(Next::Nothing, |(start, end)| {
            let last = start + (end - start - 1) / flight.mss * flight.mss;
            Next::Resend(if flight.fin < end { flight.fin } else { last }, end)
        })
    }

    //= rfc5681-4.3-half-rate
    fn cwnd_allows(&self, flight: &Flight) -> bool {
        match &self.prr {
            Some(prr) => prr.permits(self.board.pipe(flight.una, flight.max)),
            None => self.pipe_permits(flight),
        }
    }

    //= rfc6675-5-c-send
    fn pipe_permits(&self, flight: &Flight) -> bool {
        flight.cwnd >= self.board.pipe(flight.una, flight.max) + flight.mss
    }

    /// An acknowledgment in a recovery, a safe one or not.
    fn feed_prr(&mut self, flight: &Flight, una: u64, safe: bool) {
        let total = una + self.board.sacked();
        let delivered = total - self.delivered.min(total);
        self.delivered = total;
        let ack_info = AckInfo { delivered, pipe: self.board.pipe(una, flight.max), safe };
        if let Some(prr) = &mut self.prr {
            prr.on_ack(ack_info, flight.cwnd, flight.mss);
        }
    }
}

impl LossRecovery for Sack {
    //= rfc6675-5-b-update
    //= rfc6675-5.1-update
    fn on_sack(&mut self, flight: &Flight, blocks: &[(u64, u64)]) -> u64 {
        let news = self.board.update(flight.una, flight.max, flight.mss, blocks);
        (self.fresh, self.losses) = (news.fresh, news.losses);
        news.fresh
    }

    //= rfc5681-3.2-sack-news
    //= rfc3042-2-sack-news
    //= rfc2018-5.1-congestion
    //= rfc6675-5-dup-acks
    //= rfc6675-5-1-threshold
    //= rfc6675-5-2-is-lost
    fn on_duplicate(&mut self, flight: &Flight, fresh: u64) -> OnDuplicate {
        if self.recovering {
            self.feed_prr(flight, flight.una, false);
            return OnDuplicate::Wait;
        }
        if fresh == 0 {
            return OnDuplicate::Wait;
        }
        self.duplicates += 1;
        let lost = self.duplicates >= DUPLICATE_THRESHOLD || self.board.is_lost(flight.una);
        if lost && self.recover.allows(flight.una) { OnDuplicate::Recover } else { OnDuplicate::Wait }
    }

    //= rfc6675-5-4.2-halve
    //= rfc6675-5-4.1-recovery-point
    //= rfc6675-5-4.3-retransmit
    fn on_entered(&mut self, flight: &Flight) {
        self.recovering = true;
        self.repair = true;
        self.rescued = None;
        self.recover.point = Some(flight.max);
        self.board.begin(flight.una);
        let total = flight.una + self.board.sacked();
        self.delivered = total - self.fresh;
        self.prr = self.use_prr.then(|| Prr::new(flight.max - self.delivered));
        // the acknowledgment that begins a recovery is its first
        self.feed_prr(flight, flight.una, false);
    }

    //= rfc6675-5-a-end
    fn on_new_ack(&mut self, flight: &Flight, ack: u64) -> OnNewAck {
        let known = flight.una + self.board.sacked();
        self.board.advance(ack);
        self.fresh += ack + self.board.sacked() - known;
        //= rfc6675-5-reset-count
        self.duplicates = 0;
        self.limited = 0;
        self.repair = false;
        if !self.recovering {
            self.refilling &= self.recover.point.is_some_and(|point| ack < point);
            return OnNewAck::Grow;
        }
        if self.recover.point.is_none_or(|point| ack >= point) {
            self.recovering = false;
            self.prr = None;
            self.board.begin(ack);
            return OnNewAck::Exit;
        }
        self.feed_prr(flight, ack, !self.losses);
        OnNewAck::Partial { deflate: 0, restart_timer: true }
    }

    //= rfc2018-5.1-timeout-ignore
    //= rfc6675-5.1-timeout
    fn on_timeout(&mut self, flight: &Flight) {
        self.board.clear();
        self.duplicates = 0;
        self.limited = 0;
        self.recovering = false;
        self.repair = false;
        self.prr = None;
        self.recover.point = Some(flight.max);
        self.refilling = true;
        self.board.lose(flight.max, flight.max.min(flight.una + flight.mss));
    }

    fn on_spurious_timeout(&mut self, flight: &Flight) {
        self.recover.point = Some(flight.una + 1);
        self.refilling = false;
        self.board.find(flight.una, flight.mss);
    }

    //= rfc6675-5-3-may-send
    //= rfc6675-5-4.5-continue
    //= rfc6675-5-c1-next
    //= rfc6675-5-c5-repeat
    fn next(&self, flight: &Flight) -> Next {
        if self.repair {
            return flight.first();
        }
        if self.recovering {
            return if self.cwnd_allows(flight) { self.next_seg(flight) } else { Next::Nothing };
        }
        let by_pipe = flight.offered() && self.pipe_permits(flight);
        if self.refilling {
            return if by_pipe { Next::Segment } else { Next::Nothing };
        }
        //= rfc6675-5-3.3-limited-transmit
        let limited = self.limited_transmit && self.duplicates > 0 && flight.nxt == flight.max && by_pipe;
        if flight.fits(0) || limited { Next::Segment } else { Next::Nothing }
    }

    //= rfc6675-5-c2-mark
    fn on_sent(&mut self, flight: &Flight, seq: u64, end: u64) {
        if let Some(prr) = &mut self.prr {
            prr.on_sent(end - seq);
        }
        if self.refilling {
            if seq < flight.max {
                self.board.mark_resent(end);
            }
            return;
        }
        if !self.recovering {
            self.limited += if flight.fits(0) { 0 } else { end - seq };
            return;
        }
        //= rfc6675-5-4.3-marks
        if std::mem::take(&mut self.repair) {
            self.rescued = Some(end);
        }
        if seq >= flight.max {
            return;
        }
        if self.board.hole(flight.una).is_some_and(|(start, _)| seq <= start) {
            self.board.mark_resent(end);
        } else {
            //= rfc6675-4-next-seg-4-marks
            self.rescued = self.recover.point;
        }
    }

    fn sacked(&self) -> u64 {
        self.board.sacked()
    }

    fn skip_sacked(&self, at: u64) -> u64 {
        self.board.skip(at)
    }

    //= rfc6675-2-duplicate
    fn counts_news(&self) -> bool {
        !self.recovering
    }

    fn limited(&self) -> u64 {
        self.limited
    }

    fn recovering(&self) -> bool {
        self.recovering
    }
}
