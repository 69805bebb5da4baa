//! Segments that a TCP may send next, kept apart from it by the definitions of the sources.

use perhop_tcp::recovery::DUPLICATE_THRESHOLD;
use perhop_tcp::segment::{Ack, Segment};
use perhop_tcp::settings::{Guard, RecoveryKind, TcpParams};

use crate::prr::{AckInfo, Prr};
use crate::rack::{Outstanding, Rack};
use crate::sack::Reported;

/// A segment that must be the next to leave, and the first outstanding one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Nothing,
    /// Sent again by a recovery.
    Repair,
    /// Sent after the timer has expired, or in Tahoe's fast retransmit.
    Restart,
    /// A probe of a closed window, then what a recovery sends again.
    ProbeThenRepair,
}

/// Steps of F-RTO (RFC 5682 section 2.1).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Frto {
    Off,
    First { recover: u64 },
    Second { budget: u32 },
}

/// A recovery under way.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// The inflated congestion window (RFC 5681 section 3.2, RFC 6582 section 3.2).
    window: u64,
    /// One past `RescueRxt`; 0 before that is defined.
    rescued: u64,
    /// Segments in the network as Fall and Floyd 1996 count them.
    counted: i64,
    prr: Prr,
    /// Bytes delivered when the last acknowledgment came.
    before: u64,
}

/// The state that decides what may leave.
#[derive(Clone, Debug)]
pub struct Permit {
    params: TcpParams,
    mss: u64,
    reported: Reported,
    duplicates: u64,
    /// One past the highest byte sent when the last recovery or time-out began.
    point: Option<u64>,
    recovery: Option<Repair>,
    /// Bytes outstanding that limited transmit has added.
    limited: u64,
    due: Due,
    frto: Frto,
    /// The timer has expired since data was last acknowledged.
    timed_out: bool,
    /// With SACK: what a time-out found outstanding is being sent again.
    refilling: bool,
    /// RFC 5682 looks at a time-out once this is acknowledged.
    expired_to: u64,
    /// The last acknowledgment told of a loss that was not known.
    losses: bool,
    /// In place of the rest, where losses are found by time.
    pub rack: Option<Rack>,
}

impl Permit {
    /// Nothing has been sent.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            params: *params,
            mss: params.mss.0,
            reported: Reported::default(),
            duplicates: 0,
            point: None,
            recovery: None,
            limited: 0,
            due: Due::Nothing,
            frto: Frto::Off,
            timed_out: false,
            refilling: false,
            expired_to: 0,
            losses: false,
            rack: params.rack.then(|| Rack::new(params)),
        }
    }

    /// Whether a recovery goes on.
    #[must_use]
    pub const fn recovering(&self) -> bool {
        match &self.rack {
            Some(rack) => rack.recovering(),
            None => self.recovery.is_some(),
        }
    }

    /// Whether something must leave now.
    #[must_use]
    pub fn is_due(&self) -> bool {
        self.due != Due::Nothing
    }

    /// Whether the timer has expired since data was last acknowledged.
    #[must_use]
    pub const fn timed_out(&self) -> bool {
        self.timed_out
    }

    /// Bytes outstanding that limited transmit has added.
    #[must_use]
    pub const fn limited(&self) -> u64 {
        match &self.rack {
            Some(rack) => rack.limited,
            None => self.limited,
        }
    }

    fn sack(&self) -> bool {
        self.params.recovery.uses_sack()
    }

    /// The sender heard `ack`, after which its window is `cwnd`. Returns whether a fast retransmit must follow.
    pub fn hear(&mut self, at: &mut Outstanding, ack: &Ack, cwnd: u64, undone: bool) -> bool {
        if let Some(mut rack) = self.rack.take() {
            let una = at.una;
            let begins = rack.hear(at, ack, cwnd, undone);
            if at.una > una {
                self.advance(&Outstanding { una, ..*at }, at.una, cwnd);
            }
            if undone {
                self.expired_to = at.una + 1;
            }
            self.rack = Some(rack);
            if begins {
                self.due = Due::Nothing;
            }
            return begins;
        }
        if ack.ack > at.max {
            return false;
        }
        let same_window = at.window == ack.window.0;
        let deaf = self.params.recovery == RecoveryKind::Sack1996 && self.timed_out;
        let blocks = if self.sack() && !deaf { ack.sack.as_slice() } else { &[] };
        let (before, known) = (at.una + self.reported.len(), self.reported.lost().max(ack.ack));
        let news = self.reported.update(at.una, at.max, self.mss, blocks);
        self.losses = (known..self.reported.lost()).any(|byte| !self.reported.contains(byte));
        if ack.ack < at.una {
            return false;
        }
        at.window = ack.window.0;
        let fresh = news.iter().filter(|&&byte| byte >= ack.ack).count();
        if ack.ack > at.una {
            self.reported.advance(ack.ack);
            self.advance(at, ack.ack, cwnd);
            at.una = ack.ack;
            let news = self.params.recovery == RecoveryKind::Sack && self.recovery.is_none() && fresh > 0;
            return news && self.duplicate(at, fresh, before, cwnd);
        }
        let duplicate = at.max > at.una && at.window > 0 && (same_window || fresh > 0);
        if duplicate {
            self.frto = Frto::Off;
        }
        duplicate && self.duplicate(at, fresh, before, cwnd)
    }

    /// `ack` acknowledges new data.
    fn advance(&mut self, at: &Outstanding, ack: u64, cwnd: u64) {
        self.due = Due::Nothing;
        self.limited = 0;
        self.timed_out = false;
        self.refilling &= self.point.is_some_and(|point| ack < point);
        let after = Outstanding { una: ack, ..*at };
        self.frto = match self.frto {
            Frto::First { recover } if ack < recover && self.new_data(&after) => Frto::Second { budget: 2 },
            Frto::Second { .. } if self.params.rack => Frto::Off,
            Frto::Second { .. } => {
                self.forgive(&after);
                Frto::Off
            }
            _ => Frto::Off,
        };
        let partial = self.point.is_some_and(|point| ack < point)
            && !matches!(self.params.recovery, RecoveryKind::Tahoe | RecoveryKind::Reno);
        if let Some(recovery) = self.recovery.as_mut().filter(|_| partial) {
            match self.params.recovery {
                RecoveryKind::NewReno => {
                    let acked = ack - at.una;
                    let back = if acked >= self.mss { self.mss } else { 0 };
                    recovery.window = recovery.window.saturating_sub(acked).max(self.mss) + back;
                    self.due = Due::Repair;
                }
                RecoveryKind::Sack => {
                    self.proportion(&Outstanding { una: ack, ..*at }, !self.losses, cwnd);
                }
                _ => recovery.counted -= 2,
            }
            return;
        }
        self.duplicates = 0;
        if self.params.recovery == RecoveryKind::Sack1996 {
            self.reported.clear();
            self.point = self.point.filter(|_| self.recovery.is_none());
        }
        if self.recovery.take().is_some() {
            self.reported.begin(ack);
        }
    }

    /// The last time-out was spurious (RFC 5682 section 2.1, step 3).
    fn forgive(&mut self, at: &Outstanding) {
        (self.point, self.expired_to) = (Some(at.una + 1), at.una + 1);
        if std::mem::take(&mut self.refilling) {
            self.reported.find(at.una, at.max, self.mss);
        }
    }

    /// A duplicate arrived with `fresh` bytes of news, and `before` had been delivered. Returns whether a recovery begins.
    fn duplicate(&mut self, at: &Outstanding, fresh: usize, before: u64, cwnd: u64) -> bool {
        if let Some(recovery) = &mut self.recovery {
            recovery.window += self.mss;
            recovery.counted -= 1;
            self.proportion(at, false, cwnd);
            return false;
        }
        if self.sack() && fresh == 0 {
            return false;
        }
        self.duplicates += 1;
        let threshold = u64::from(DUPLICATE_THRESHOLD);
        let lost = match self.params.recovery {
            RecoveryKind::Sack => self.duplicates >= threshold || self.reported.is_lost(at.una),
            _ => self.duplicates == threshold,
        };
        let enters = lost && self.allowed(at.una);
        if enters {
            self.enter(at, before, cwnd);
        }
        enters
    }

    /// RFC 6582 section 3.2, step 2, where that is set; RFC 6675 section 5.1 always.
    fn allowed(&self, una: u64) -> bool {
        let Some(point) = self.point else { return true };
        match (self.params.recovery, self.params.guard) {
            (RecoveryKind::Sack, _) | (_, Guard::LessCareful) => una >= point,
            (_, Guard::Careful) => una > point,
            (_, Guard::Off) => true,
        }
    }

    fn enter(&mut self, at: &Outstanding, before: u64, cwnd: u64) {
        self.point = Some(at.max);
        if self.params.recovery == RecoveryKind::Tahoe {
            self.due = Due::Restart;
            return;
        }
        self.due = Due::Repair;
        self.reported.begin(at.una);
        let outstanding = i64::try_from((at.max - at.una) / self.mss).unwrap_or(i64::MAX);
        self.recovery = Some(Repair {
            window: cwnd + u64::from(DUPLICATE_THRESHOLD) * self.mss,
            rescued: 0,
            counted: outstanding - i64::from(DUPLICATE_THRESHOLD),
            prr: Prr::new(at.max - before),
            before,
        });
        self.proportion(at, false, cwnd);
    }

    /// An acknowledgment in a recovery, a safe one or not.
    fn proportion(&mut self, at: &Outstanding, safe: bool, ssthresh: u64) {
        let Some(recovery) = &mut self.recovery else { return };
        let total = at.una + self.reported.len();
        let delivered = total.saturating_sub(std::mem::replace(&mut recovery.before, total));
        let inflight = self.reported.pipe(at.una, at.max);
        recovery.prr.on_ack(AckInfo { delivered, safe }, inflight, ssthresh, self.mss);
    }

    /// Time passes. Returns whether the reordering timer begins a recovery.
    pub fn tick(&mut self, at: &Outstanding, cwnd: u64) -> bool {
        let begins = self.rack.as_mut().is_some_and(|rack| rack.tick(at, cwnd));
        if begins {
            self.due = Due::Nothing;
        }
        begins
    }

    /// The retransmission timer expired and cut the window.
    pub fn expire(&mut self, at: &Outstanding) {
        if let Some(rack) = &mut self.rack {
            rack.expire(at);
        }
        let silent = self.timed_out && matches!(self.frto, Frto::First { .. });
        let first = self.params.frto && (silent || at.una >= self.expired_to);
        self.expired_to = at.max;
        self.frto = if first { Frto::First { recover: at.max } } else { Frto::Off };
        self.timed_out = true;
        self.recovery = None;
        self.limited = 0;
        if self.params.recovery != RecoveryKind::Tahoe {
            self.duplicates = 0;
        }
        self.reported.clear();
        self.refilling = self.params.recovery == RecoveryKind::Sack && self.rack.is_none();
        if self.refilling {
            self.reported.lose(at.max, at.max.min(at.una + self.mss));
        }
        self.point = Some(at.max);
        self.due = Due::Restart;
    }

    /// The timer expired with a closed window, or with nothing outstanding.
    pub fn probe_window(&mut self) {
        let repairs = matches!(self.due, Due::Repair | Due::ProbeThenRepair);
        self.due = if repairs { Due::ProbeThenRepair } else { Due::Restart };
    }

    /// `segment` is about to count as sent.
    ///
    /// # Panics
    /// When it was not permitted.
    pub fn send(&mut self, at: &Outstanding, segment: &Segment, cwnd: u64) {
        let Segment { seq, end, .. } = *segment;
        match std::mem::replace(&mut self.due, Due::Nothing) {
            Due::Nothing => {}
            Due::Restart => return assert_eq!(seq, at.una, "after the timer the first outstanding leaves"),
            Due::ProbeThenRepair => {
                self.due = Due::Repair;
                return assert_eq!(seq, at.una, "a probe begins with the first outstanding");
            }
            Due::Repair => {
                assert_eq!(seq, at.una, "the first outstanding is repaired first");
                self.reported.mark_resent(end);
                if let Some(recovery) = &mut self.recovery {
                    recovery.rescued = end;
                    recovery.prr.sent(end - seq);
                }
                return;
            }
        }
        if let Frto::Second { budget } = &mut self.frto
            && *budget > 0
            && seq == at.max
        {
            *budget -= 1;
            return;
        }
        if let Some(rack) = &mut self.rack {
            return rack.send(at, segment, cwnd);
        }
        match (self.recovery, self.params.recovery) {
            (None, _) if self.refilling => self.refill(at, segment, cwnd),
            (None, _) if end <= at.una + cwnd => {}
            (None, _) => {
                let Self { duplicates, .. } = *self;
                let limited = self.limited_transmit(at, segment, cwnd);
                assert!(limited, "{segment:?} beyond {cwnd} from {}, after {duplicates} duplicates", at.una);
                self.limited += end - seq;
            }
            (Some(recovery), RecoveryKind::Sack) => self.send_by_pipe(at, segment, cwnd, &recovery),
            (Some(recovery), RecoveryKind::Sack1996) => self.send_by_count(at, segment, cwnd, &recovery),
            (Some(Repair { window, .. }), _) => {
                assert!(end <= at.una + window, "{segment:?} beyond an inflated {window} from {}", at.una);
            }
        }
    }

    /// After a time-out cwnd bounds the pipe, of which nothing is that was outstanding then (RFC 6675 section 5.1).
    fn refill(&mut self, at: &Outstanding, segment: &Segment, cwnd: u64) {
        let pipe = self.reported.pipe(at.una, at.max);
        assert!(cwnd >= pipe + self.mss, "{segment:?} with {pipe} in the network of {cwnd}");
        let arrived = (segment.seq..segment.end).find(|&byte| self.reported.contains(byte));
        assert!(segment.seq == at.max || arrived != Some(segment.seq), "{segment:?} has been reported");
        if segment.seq < at.max {
            self.reported.mark_resent(segment.end);
        }
    }

    /// Whether limited transmit lets new data leave (RFC 3042; RFC 6675 section 5, step 3).
    fn limited_transmit(&self, at: &Outstanding, segment: &Segment, cwnd: u64) -> bool {
        let new = segment.seq == at.max;
        let beyond = self.duplicates * self.mss;
        self.params.limited_transmit
            && match self.params.recovery {
                RecoveryKind::Sack => {
                    new && self.duplicates > 0 && cwnd >= self.reported.pipe(at.una, at.max) + self.mss
                }
                _ => {
                    (new || self.params.limited_transmit_resends)
                        && (1..3).contains(&self.duplicates)
                        && segment.end <= at.una + cwnd + beyond
                }
            }
    }

    /// RFC 6675 section 5, step C, and `NextSeg` of section 4.
    fn send_by_pipe(&mut self, at: &Outstanding, segment: &Segment, cwnd: u64, recovery: &Repair) {
        let Segment { seq, end, .. } = *segment;
        let pipe = self.reported.pipe(at.una, at.max);
        if self.params.prr {
            assert!(recovery.prr.permits(pipe), "{segment:?} without a share of {recovery:?}, pipe {pipe}");
        } else {
            assert!(cwnd >= pipe + self.mss, "{segment:?} with {pipe} in the network of {cwnd}");
        }
        let hole = self.reported.hole(at.una);
        let lost = hole.filter(|(start, _)| self.reported.is_lost(*start));
        let mut rescued = recovery.rescued;
        if seq == at.max {
            assert_eq!(lost, None, "{segment:?} before a lost one");
        } else if let Some((start, stop)) = hole {
            assert!(lost.is_some() || !self.new_data(at), "{segment:?} before new data");
            assert_eq!(seq, start, "the next hole is {hole:?}");
            assert!(end <= stop, "{segment:?} past the hole {hole:?}");
            self.reported.mark_resent(end);
        } else {
            assert!(!self.new_data(at), "{segment:?} before new data");
            assert!(at.una > rescued, "{segment:?} is a rescue before progress or a second one");
            let highest = (at.una..at.max).rev().find(|&byte| !self.reported.contains(byte));
            assert_eq!(Some(end - 1), highest, "a rescue holds the highest byte that has not been reported");
            rescued = u64::MAX;
        }
        let arrived = (seq..end).find(|&byte| self.reported.contains(byte));
        assert_eq!(arrived, None, "{segment:?} has been reported");
        if let Some(recovery) = &mut self.recovery {
            recovery.rescued = rescued;
            recovery.prr.sent(end - seq);
        }
    }

    /// Whether there is new data that the receiver's window takes.
    pub fn new_data(&self, at: &Outstanding) -> bool {
        let data = at.limit - u64::from(self.params.close && self.params.size.is_some());
        let len = if at.max < data { self.mss.min(data - at.max) } else { at.limit - at.max };
        len > 0 && at.max + len <= at.una + at.window
    }

    /// Fall and Floyd 1996, section 3.2.
    fn send_by_count(&mut self, at: &Outstanding, segment: &Segment, cwnd: u64, recovery: &Repair) {
        let Segment { seq, end, .. } = *segment;
        let window = i64::try_from(cwnd / self.mss).unwrap_or(i64::MAX);
        assert!(recovery.counted < window, "{segment:?} with {} in a network of {window}", recovery.counted);
        if let Some((start, stop)) = self.reported.hole(at.una) {
            assert!(seq == start && end <= stop, "{segment:?} instead of the hole {start}..{stop}");
            self.reported.mark_resent(end);
        } else {
            assert_eq!(seq, at.max, "nothing but new data is left");
        }
        if let Some(recovery) = &mut self.recovery {
            recovery.counted += 1;
        }
    }
}
