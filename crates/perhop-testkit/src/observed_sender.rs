//! A TCP sender under observation: every call is checked against books kept from the outside.

use std::collections::BTreeMap;

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::segment::{Ack, Segment};
use perhop_tcp::sender::{Sender, SenderStats};
use perhop_tcp::settings::{
    CubicForm, Growth, Halving, LossWindow, RecoveryKind, SlowStartKind, TcpParams, TimeoutWindow,
};

use crate::permit::Permit;
use crate::rack::Outstanding;
use crate::rack::Rack;

/// How far the opening of a connection has come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Opening {
    /// No SYN is out.
    Silent,
    SynSent,
    Open,
}

/// A [`Sender`] whose calls panic when it breaks a law.
pub struct ObservedSender {
    sender: Sender,
    params: TcpParams,
    start: Instant,
    opening: Opening,
    at: Outstanding,
    permit: Permit,
    /// When each outstanding byte last left, and how often it has.
    left: BTreeMap<u64, (Instant, u32)>,
    sent: u64,
    sent_again: u64,
    /// The congestion mark answered last stood for data up to here.
    answered: u64,
    /// A mark was answered for the data sent up to here.
    marked: u64,
    completed: Option<Instant>,
    /// Marked packets, as AccECN counts them from 5.
    marks: u64,
}

impl ObservedSender {
    /// Watches a new sender.
    #[must_use]
    pub fn new(params: &TcpParams, start: Instant) -> Self {
        let limit = params.size.map_or(u64::MAX, |size| size.0 + u64::from(params.close));
        Self {
            sender: Sender::new(params, start),
            params: *params,
            start,
            opening: Opening::Silent,
            at: Outstanding { una: 0, max: 0, limit, window: params.window.0 },
            permit: Permit::new(params),
            left: BTreeMap::new(),
            sent: 0,
            sent_again: 0,
            answered: 0,
            marked: 0,
            completed: None,
            marks: 5,
        }
    }

    /// The sender itself.
    #[must_use]
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The highest acknowledgment that the sender has accepted.
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.at.una
    }

    /// The window that the sender has accepted last.
    #[must_use]
    pub const fn window(&self) -> u64 {
        self.at.window
    }

    /// The application has more to send.
    pub fn write(&mut self, more: Bytes) {
        self.sender.write(more);
        self.at.limit = self.at.limit.saturating_add(more.0);
    }

    /// Asks for a segment: it must be permitted, leave no gap, and say truly what it is.
    pub fn poll(&mut self, now: Instant) -> Option<Segment> {
        let probes = self.sender.stats().probes;
        let segment = self.sender.poll_transmit(now);
        self.begin(now);
        self.tell_time(now);
        match &segment {
            Some(segment) => {
                assert!(now >= self.start, "sent at {now} before the start");
                assert_eq!(segment.sent, now);
                if segment.syn {
                    self.check_syn(segment)
                } else {
                    self.check_data(now, segment, self.sender.stats().probes > probes)
                }
                self.sent += 1;
                self.sent_again += u64::from(segment.retransmission);
            }
            None => self.check_silence(),
        }
        self.check(now);
        segment
    }

    fn tell_time(&mut self, now: Instant) {
        let srtt = self.sender.rtt().srtt();
        if let Some(rack) = &mut self.permit.rack {
            (rack.now, rack.srtt) = (now, srtt);
        }
    }

    /// Without a handshake the connection is open from its start.
    fn begin(&mut self, now: Instant) {
        if self.opening == Opening::Silent && !self.params.handshake && now >= self.start {
            self.opening = Opening::Open;
        }
    }

    fn check_syn(&mut self, segment: &Segment) {
        assert_eq!((self.opening, segment.seq, segment.end), (Opening::Silent, 0, 0));
        assert_eq!(segment.retransmission, self.sent > 0);
        assert!(self.params.handshake && !segment.fin && !segment.ect && !segment.cwr, "{segment:?}");
        self.opening = Opening::SynSent;
    }

    fn check_data(&mut self, now: Instant, segment: &Segment, probe: bool) {
        let Segment { seq, end, .. } = *segment;
        let Outstanding { una, max, limit, window } = self.at;
        assert_eq!(self.opening, Opening::Open, "{segment:?} before the connection is open");
        assert!((una..=max).contains(&seq), "{segment:?} leaves a gap after {max}");
        assert!(seq < end && end <= limit.min(seq + self.params.mss.0), "{segment:?} of {limit}");
        let close = self.params.close && self.params.size.is_some();
        assert_eq!(segment.fin, close && end == limit, "{segment:?} of {limit}");
        assert!(!segment.fin || seq + 1 == end, "a FIN goes by itself: {segment:?}");
        let whole = end - seq == self.params.mss.0 || end >= limit - u64::from(close);
        assert!(whole || seq < max || window < self.params.mss.0, "{segment:?} is cut short");
        assert!(end <= max.max(una + window.max(1)), "{segment:?} beyond a window of {window} from {una}");
        assert_eq!(segment.retransmission, seq < max, "{segment:?} of {max} sent");
        let markable = seq >= max && window > 0 && !segment.fin;
        assert_eq!(segment.ect, self.params.ecn && markable, "{segment:?}");
        assert!(!segment.cwr || segment.ect, "{segment:?}");
        let new_data = self.permit.new_data(&self.at);
        match &mut self.permit.rack {
            Some(rack) if probe => rack.send_probe(&self.at, segment, new_data),
            _ => self.permit.send(&self.at, segment, self.sender.cwnd().0),
        }
        if let Some(rack) = &mut self.permit.rack {
            rack.left(segment);
        }
        self.at.max = max.max(end);
        for byte in seq..end {
            let times = self.left.get(&byte).map_or(0, |(_, times)| *times);
            self.left.insert(byte, (now, times + 1));
        }
    }

    /// Nothing leaves: what waits or is outstanding has a deadline.
    fn check_silence(&self) {
        let paced =
            self.params.pacing || matches!(self.params.cc, Growth::Bbr | Growth::Bbr3 | Growth::Prague);
        assert!(paced || !self.permit.is_due(), "what must be sent at once is not sent");
        let done = self.opening == Opening::Open && self.at.una == self.at.limit;
        assert!(done || self.sender.next_timeout().is_some(), "no deadline at {:?}", self.at);
    }

    /// Delivers an acknowledgment, sensible or not.
    pub fn ack(&mut self, now: Instant, ack: &Ack) {
        let (before, recovering) = (*self.sender.stats(), self.sender.recovering());
        let windows = (self.sender.cwnd().0, self.sender.ssthresh().0);
        let at = self.at;
        self.sender.on_ack(now, ack);
        self.tell_time(now);
        match (self.opening, ack.syn) {
            (Opening::SynSent, true) => {
                self.opening = Opening::Open;
                self.at.window = ack.window.0;
            }
            (Opening::Open, false) => {
                let repaired = self.repaired_by_probe(ack);
                let marked = self.answers(ack, recovering);
                let undone = self.sender.stats().undone_timeouts > before.undone_timeouts;
                let expected = self.permit.hear(&mut self.at, ack, self.sender.cwnd().0, undone);
                let entered = self.sender.stats().fast_retransmits - before.fast_retransmits;
                assert_eq!(entered, u64::from(expected), "fast retransmits after {ack:?}");
                if entered == 0 && !recovering && !self.params.frto && !repaired {
                    self.check_growth(ack, self.at.una - at.una, marked, windows);
                }
                if entered > 0 {
                    // a loss of what a mark has shrunk the window for shrinks it no further
                    if self.at.una >= self.marked {
                        self.answered = self.at.max;
                        let alone = self.at.una == at.una && !marked;
                        self.check_ssthresh(&at, alone.then_some(windows.0));
                    }
                }
            }
            _ => {}
        }
        self.left = self.left.split_off(&self.at.una);
        if self.at.una == self.at.limit && self.opening == Opening::Open {
            self.completed = self.completed.or(Some(now));
        }
        self.check(now);
    }

    /// Whether `ack` tells that a probe repaired a loss, for which the window shrinks unless a mark has shrunk it.
    fn repaired_by_probe(&mut self, ack: &Ack) -> bool {
        let Some(rack) = &mut self.permit.rack else { return false };
        let repaired = rack.hear_of_probe(&self.at, ack) && self.at.una >= self.marked;
        if repaired {
            self.answered = self.at.max;
            self.marked = self.at.max;
        }
        repaired
    }

    /// Whether `ack` says that packets were marked; the most that the ACE field allows where more than seven segments are acknowledged.
    fn tells_of_marks(&mut self, ack: &Ack) -> bool {
        if self.params.cc != Growth::Prague {
            return ack.ece;
        }
        if ack.ack < self.at.una || ack.ack > self.at.max {
            return false;
        }
        let packets = (ack.ack - self.at.una).div_ceil(self.params.mss.0);
        let least = (u64::from(ack.ace) + 8 - self.marks % 8) % 8;
        let new = (least..=packets.max(7)).step_by(8).last().unwrap_or(0);
        self.marks += new;
        new > 0
    }

    /// Whether `ack` brings a congestion mark that is to be answered: once for a window, and not in a recovery.
    fn answers(&mut self, ack: &Ack, recovering: bool) -> bool {
        let news = ack.ack > self.answered || self.answered == 0;
        let answers = self.params.ecn && self.tells_of_marks(ack) && !recovering && news;
        if answers {
            self.answered = self.at.max;
            if !self.params.cc.is_scalable() {
                self.marked = self.at.max;
            }
        }
        answers
    }

    /// An acknowledgment without a loss adds what its slow start permits at most, a segment in congestion avoidance, and
    /// takes nothing unless it is marked. It moves ssthresh only where a slow start may end by itself, to cwnd.
    fn check_growth(&self, ack: &Ack, acked: u64, marked: bool, (cwnd, ssthresh): (u64, u64)) {
        if self.params.cc.is_bbr() {
            return;
        }
        let (now, mss) = (self.sender.cwnd().0, self.params.mss.0);
        let slow_start = if cwnd < ssthresh { self.params.slow_start } else { SlowStartKind::Standard };
        let most = match slow_start {
            SlowStartKind::HystartPlusPlus if ssthresh == u64::MAX => acked.min(8 * mss),
            SlowStartKind::Hystart if ssthresh == u64::MAX => acked,
            SlowStartKind::CubicHystart => {
                let reported = |(start, end): &(u64, u64)| end.saturating_sub(*start);
                acked + ack.sack.as_slice().iter().map(reported).sum::<u64>()
            }
            _ => mss,
        };
        if !matches!(self.params.cc, Growth::Cubic | Growth::Prague) {
            assert!(now <= cwnd + most.max(mss), "cwnd grew from {cwnd} to {now} by {ack:?}");
        }
        if !marked {
            assert!(now >= cwnd, "cwnd fell from {cwnd} to {now} by {ack:?}");
            let ended =
                slow_start != SlowStartKind::Standard && self.sender.ssthresh().0 == cwnd.max(2 * mss);
            let same = self.sender.ssthresh().0 == ssthresh;
            assert!(same || ended, "ssthresh moved without a reason by {ack:?}");
        }
    }

    /// RFC 5681 equation (4), without what limited transmit has added, or RFC 9438 section 4.6: of what is outstanding, and at
    /// most of `cwnd`, the window before, where that is known.
    fn check_ssthresh(&self, at: &Outstanding, cwnd: Option<u64>) {
        let TcpParams { cc, recovery, loss_window, halving, mss, .. } = self.params;
        if cc == Growth::Cubic && self.params.cubic_form == CubicForm::Linux {
            let most = cwnd.map_or(u64::MAX, |cwnd| (cwnd * 717 / 1024 / mss.0).max(2) * mss.0);
            assert!(self.sender.ssthresh().0 <= most, "ssthresh {} of {cwnd:?}", self.sender.ssthresh());
            return;
        }
        let tenths = match cc {
            Growth::Reno | Growth::Dctcp | Growth::Prague if loss_window == LossWindow::Flight => 5,
            Growth::Reno | Growth::Dctcp | Growth::Prague | Growth::Bbr | Growth::Bbr3 => return,
            Growth::Cubic => 7,
        };
        let (ssthresh, flight) = (self.sender.ssthresh().0, at.max - self.at.una);
        let in_use = |flight: u64| cwnd.map_or(flight, |cwnd| cwnd.min(flight));
        let most = |flight: u64| (in_use(flight) * tenths / 10).max(2 * mss.0);
        if cc != Growth::Cubic
            && halving == Halving::Bytes
            && recovery != RecoveryKind::Sack1996
            && cwnd.is_some()
        {
            let limited = self.permit.limited();
            assert_eq!(ssthresh, most(flight - limited), "{limited} of {flight} by limited transmit");
        }
        // CUBIC counts in fractions of segments and is asked in bytes
        let rounding = u64::from(cc == Growth::Cubic);
        assert!(
            ssthresh <= most(flight) + rounding,
            "ssthresh {ssthresh}, {flight} outstanding, cwnd {cwnd:?}"
        );
    }

    /// Passes the time to the sender; its next deadline must lie ahead.
    pub fn on_timeout(&mut self, now: Instant) {
        let before = *self.sender.stats();
        let recovering = self.sender.recovering();
        let (mut cwnd, mut ssthresh, rto) =
            (self.sender.cwnd(), self.sender.ssthresh(), self.sender.rtt().rto());
        let mut due = self.sender.retransmission_deadline().is_some_and(|at| at <= now);
        let begun = self.opening != Opening::Silent;
        self.sender.on_timeout(now);
        self.begin(now);
        self.tell_time(now);
        let quiet = self.permit.rack.as_ref().is_some_and(Rack::quiet);
        let begins = self.check_tick(&before);
        if begins {
            (cwnd, ssthresh) = (self.sender.cwnd(), self.sender.ssthresh());
        }
        // a probe or a recovery that is due with a time-out takes its place
        due &= !((quiet || begins) && self.sender.retransmission_deadline().is_some());
        assert!(self.sender.next_timeout().is_none_or(|at| at > now), "a deadline in the past");
        let lost = due && self.opening == Opening::Open && self.at.max > self.at.una && self.at.window > 0;
        let expired = self.sender.stats().timeouts - before.timeouts;
        assert_eq!(expired, u64::from(lost), "an expiry counts if it stands for a loss");
        if lost {
            if !recovering && !self.params.sack_samples {
                self.check_patience(now, rto);
            }
            let again = self.permit.timed_out() && !self.params.repeat_timeout_cuts
                || recovering && !self.params.recovery_timeout_cuts;
            self.permit.expire(&self.at);
            self.check_expiry(again.then_some(ssthresh), cwnd);
            // a recovery of what a mark has shrunk the window for sets nothing
            if recovering && cwnd <= ssthresh {
                let most = ssthresh.max(Bytes(2 * self.params.mss.0));
                assert!(self.sender.ssthresh() <= most, "raised above the {ssthresh} of the recovery");
            }
            self.answered = self.at.max;
        } else if due && self.opening == Opening::SynSent {
            self.opening = Opening::Silent;
        } else {
            assert_eq!((self.sender.cwnd(), self.sender.ssthresh()), (cwnd, ssthresh), "cut by no time-out");
            if due && begun && self.opening == Opening::Open && self.at.una < self.at.limit {
                self.permit.probe_window();
            }
        }
        self.check(now);
    }

    /// Whether the reordering timer began a recovery.
    fn check_tick(&mut self, before: &SenderStats) -> bool {
        let begins = self.permit.tick(&self.at, self.sender.cwnd().0);
        let entered = self.sender.stats().fast_retransmits - before.fast_retransmits;
        assert_eq!(entered, u64::from(begins), "fast retransmits by time");
        if begins && self.at.una >= self.marked {
            self.answered = self.at.max;
            self.check_ssthresh(&self.at, None);
        }
        begins
    }

    /// A time-out leaves one segment, or one more than what is in the network; where it has expired before for the same one, ssthresh is as it was `before`.
    fn check_expiry(&self, before: Option<Bytes>, cwnd: Bytes) {
        let kept = match &self.permit.rack {
            Some(rack) if self.params.timeout_window == TimeoutWindow::InFlight => rack.pipe(),
            _ => 0,
        };
        let least = self.params.mss.0 + kept / self.params.mss.0 * self.params.mss.0;
        let cwnd_now = self.sender.cwnd().0;
        assert!((least..=self.params.mss.0 + kept).contains(&cwnd_now), "cwnd after a time-out: {cwnd_now}");
        match before {
            Some(before) => assert_eq!(self.sender.ssthresh(), before, "lowered again for the same segment"),
            None => self.check_ssthresh(&self.at, Some(cwnd.0)),
        }
    }

    /// A segment sent once is not sent again sooner than a time-out later (RFC 6298 section 5). A sample from a report changes the
    /// time-out of a timer that runs on.
    fn check_patience(&self, now: Instant, rto: Span) {
        let slack = if self.params.rto.on_tick { self.params.rto.tick } else { Span::ZERO };
        if let Some((left, 1)) = self.left.get(&self.at.una) {
            assert!(
                now + slack >= *left + rto,
                "the timer expired at {now} for what left at {left}, RTO {rto}"
            );
        }
    }

    fn check(&self, now: Instant) {
        assert_eq!(
            (self.sender.una(), self.sender.in_flight()),
            (self.at.una, Bytes(self.at.max - self.at.una))
        );
        assert!(self.sender.cwnd() >= self.params.mss, "cwnd {} at {now}", self.sender.cwnd());
        assert!(self.sender.ssthresh().0 >= 2 * self.params.mss.0, "ssthresh {}", self.sender.ssthresh());
        assert_eq!(self.sender.recovering(), self.permit.recovering(), "a recovery goes on at {now}");
        let SenderStats { segments, retransmissions, completed, .. } = *self.sender.stats();
        assert_eq!((segments, retransmissions), (self.sent, self.sent_again));
        assert_eq!(completed, self.completed, "completed once everything is acknowledged");
        assert!(self.sender.stats().spurious_timeouts <= self.sender.stats().timeouts);
    }
}
