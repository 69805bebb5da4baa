//! Steps that a sender that finds losses by time may take next: RFC 8985, segment by segment as it is written there; slow, for comparison.

use perhop_core::time::{Instant, Span};
use perhop_tcp::recovery::DUPLICATE_THRESHOLD;
use perhop_tcp::segment::{Ack, Segment};
use perhop_tcp::settings::TcpParams;

use crate::prr::{AckInfo, Prr};

/// Bytes outstanding, and how many more may be.
#[derive(Clone, Copy, Debug)]
pub struct Outstanding {
    /// First byte not acknowledged.
    pub una: u64,
    /// One past the highest byte sent.
    pub max: u64,
    /// One past the last byte to send.
    pub limit: u64,
    /// The receiver's window.
    pub window: u64,
}

/// An outstanding segment (section 5.2).
#[derive(Clone, Copy, Debug)]
struct Left {
    start: u64,
    end: u64,
    xmit_ts: Instant,
    retransmitted: bool,
    lost: bool,
    /// It was lost, and perhaps left again, and has not arrived.
    missing: bool,
    sacked: bool,
}

/// State of the segments, and what follows from it.
#[derive(Clone, Debug)]
pub struct Rack {
    params: TcpParams,
    segments: Vec<Left>,
    /// `RACK.xmit_ts` and `RACK.end_seq`.
    latest: (Instant, u64),
    rtt: Span,
    min_rtt: Option<Span>,
    fack: u64,
    reordering_seen: bool,
    /// One past the highest byte sent when a recovery or time-out began that goes on.
    point: Option<u64>,
    recovering: bool,
    /// The next to leave is the first lost segment, whatever the window is.
    repair: bool,
    prr: Option<Prr>,
    /// Bytes delivered when that was last counted.
    before: u64,
    /// When the reordering timer expires.
    look: Option<Instant>,
    /// `TLP.end_seq` and `TLP.is_retrans`.
    probe: Option<(u64, bool)>,
    /// The connection's clock and smoothed round-trip time.
    pub now: Instant,
    /// As the sender has it now.
    pub srtt: Option<Span>,
    /// Bytes outstanding that limited transmit has added.
    pub limited: u64,
}

impl Rack {
    /// Nothing has been sent.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        Self {
            params: *params,
            segments: Vec::new(),
            latest: (Instant::ZERO, 0),
            rtt: Span::ZERO,
            min_rtt: None,
            fack: 0,
            reordering_seen: false,
            point: None,
            recovering: false,
            repair: false,
            prr: None,
            before: 0,
            look: None,
            probe: None,
            now: Instant::ZERO,
            srtt: None,
            limited: 0,
        }
    }

    /// Whether a recovery goes on.
    #[must_use]
    pub const fn recovering(&self) -> bool {
        self.recovering
    }

    /// Whether a probe would be in place: something is outstanding, nothing reported or being repaired (section 7.2).
    #[must_use]
    pub fn quiet(&self) -> bool {
        self.point.is_none() && !self.segments.is_empty() && self.sacked() == 0
    }

    fn bytes(&self, counts: impl Fn(&Left) -> bool) -> u64 {
        self.segments.iter().filter(|left| counts(left)).map(|left| left.end - left.start).sum()
    }

    fn sacked(&self) -> u64 {
        self.bytes(|left| left.sacked)
    }

    /// Bytes in the network.
    #[must_use]
    pub fn pipe(&self) -> u64 {
        self.bytes(|left| !left.sacked && !left.lost)
    }

    fn cut(&mut self, at: u64) {
        if let Some(index) = self.segments.iter().position(|left| left.start < at && at < left.end) {
            let whole = self.segments[index];
            self.segments[index].start = at;
            self.segments.insert(index, Left { end: at, ..whole });
        }
    }

    fn sample(&mut self, rtt: Span) {
        self.min_rtt = Some(self.min_rtt.map_or(rtt, |least| least.min(rtt)));
    }

    /// Section 6.2, steps 1 to 3, for segments that have arrived with one acknowledgment, in order of sequence.
    fn arrived(&mut self, una: u64, echo: Option<Instant>, news: &[Left]) {
        let mut known = Vec::new();
        for left in news {
            self.reordering_seen |= left.end < self.fack && !left.retransmitted;
            self.fack = self.fack.max(left.end);
            let rtt = self.now - left.xmit_ts;
            if !left.retransmitted {
                self.sample(rtt);
            }
            // the echo is of what was in order
            let first = left.end <= una && echo.is_some_and(|echo| echo < left.xmit_ts);
            let original = first || self.min_rtt.is_some_and(|least| rtt < least);
            if !left.retransmitted || !original {
                known.push((left.xmit_ts, left.end));
            }
        }
        if let Some(latest) = known.into_iter().max() {
            self.rtt = self.now - latest.0;
            self.latest = self.latest.max(latest);
        }
    }

    /// Section 7.4.2. Returns whether a probe repaired a loss.
    pub fn hear_of_probe(&mut self, at: &Outstanding, ack: &Ack) -> bool {
        let Some((end, retransmitted)) = self.probe.filter(|(end, _)| (*end..=at.max).contains(&ack.ack))
        else {
            return false;
        };
        let duplicate = ack.ack == at.una && ack.sack.as_slice().is_empty();
        if !retransmitted || ack.ack > end || duplicate {
            self.probe = None;
        }
        retransmitted && ack.ack > end
    }

    /// The sender heard `ack` and has now `cwnd`; it took back a time-out if `undone`. Returns whether a recovery begins.
    pub fn hear(&mut self, at: &mut Outstanding, ack: &Ack, cwnd: u64, undone: bool) -> bool {
        let una = if ack.ack > at.max { at.una } else { ack.ack.max(at.una) };
        self.cut(una);
        let below = self.segments.iter().take_while(|left| left.end <= una).count();
        let mut news: Vec<Left> = self.segments.drain(..below).filter(|left| !left.sacked).collect();
        // a number beyond what was sent leaves nothing that could be reported
        let floor = if ack.ack > at.max { at.max } else { una };
        // which pieces a segment falls into, if blocks that overlap end within it, follows from their order
        let mut blocks = ack.sack.as_slice().to_vec();
        blocks.sort_unstable();
        for (start, end) in blocks {
            let mut start = start.max(floor);
            while start < end
                && end <= at.max
                && let Some(next) = self.segments.iter().find(|left| !left.sacked && left.end > start)
                && next.start < end
            {
                start = start.max(next.start);
                self.cut(start);
                self.cut(end);
                if let Some(left) = self.segments.iter_mut().find(|left| left.start == start) {
                    news.push(*left);
                    (left.sacked, left.lost, left.missing) = (true, false, false);
                    start = left.end;
                }
            }
        }
        news.sort_by_key(|left| left.start);
        let echo = self.params.timestamps.then_some(ack.echo);
        if let Some(echo) = echo.filter(|_| una > at.una) {
            self.sample(self.now - echo);
        }
        self.arrived(una, echo, &news);
        if una > at.una {
            self.limited = 0;
            if self.point.is_none_or(|point| una >= point) {
                (self.point, self.recovering, self.repair, self.prr) = (None, false, false, None);
            }
        }
        if undone {
            self.segments.iter_mut().for_each(|left| (left.lost, left.missing) = (false, false));
            self.point = None;
        }
        if (at.una..=at.max).contains(&ack.ack) {
            at.window = ack.window.0;
        }
        let advanced = una > std::mem::replace(&mut at.una, una);
        self.detect(at, cwnd, Some(advanced))
    }

    /// The reordering timer, if it has expired. Returns whether a recovery begins.
    pub fn tick(&mut self, at: &Outstanding, cwnd: u64) -> bool {
        self.look.is_some_and(|look| look <= self.now) && self.detect(at, cwnd, None)
    }

    /// Section 6.2, step 4, without DSACK.
    fn reo_wnd(&self) -> Span {
        let reported = self.segments.iter().filter(|left| left.sacked).count();
        if !self.reordering_seen && (self.point.is_some() || reported >= DUPLICATE_THRESHOLD as usize) {
            return Span::ZERO;
        }
        let quarter = Span::from_nanos(self.min_rtt.map_or(0, |least| least.as_nanos() / 4));
        self.srtt.map_or(quarter, |srtt| quarter.min(srtt))
    }

    /// Section 6.2, step 5; then the rate reduction counts what has been delivered.
    fn detect(&mut self, at: &Outstanding, cwnd: u64, acked: Option<bool>) -> bool {
        let wait = self.rtt + self.reo_wnd();
        let (mut losses, mut resent) = (false, false);
        self.look = None;
        for left in self.segments.iter_mut().filter(|left| !left.sacked && !left.lost) {
            if self.latest > (left.xmit_ts, left.end) {
                left.lost = left.xmit_ts + wait <= self.now;
                left.missing |= left.lost;
                losses |= left.lost;
                resent |= left.lost && left.retransmitted;
                if !left.lost {
                    self.look = self.look.max(Some(left.xmit_ts + wait + self.params.early_timer_margin));
                }
            }
        }
        if self.params.timeout_recovery && !self.recovering && (resent || acked.is_none() && losses) {
            self.point = None;
        }
        let begins = self.point.is_none() && self.segments.iter().any(|left| left.missing);
        if begins {
            let repair = self.segments.iter().any(|left| left.lost);
            (self.recovering, self.repair, self.point, self.probe) = (true, repair, Some(at.max), None);
            self.prr = Some(Prr::new(at.max - self.before));
        }
        if let Some(advanced) = acked {
            self.proportion(at, advanced && !losses, cwnd);
        }
        begins
    }

    /// An acknowledgment, a safe one or not.
    fn proportion(&mut self, at: &Outstanding, safe: bool, ssthresh: u64) {
        let total = at.una + self.sacked();
        let delivered = total.saturating_sub(std::mem::replace(&mut self.before, total));
        let inflight = self.pipe();
        let Some(prr) = &mut self.prr else { return };
        prr.on_ack(AckInfo { delivered, safe }, inflight, ssthresh, self.params.mss.0);
    }

    /// The retransmission timer expired and cut the window (section 6.3).
    pub fn expire(&mut self, at: &Outstanding) {
        if self.segments.first().is_some_and(|left| left.sacked) {
            self.segments.iter_mut().for_each(|left| left.sacked = false);
        }
        let wait = self.rtt + self.reo_wnd();
        for left in self.segments.iter_mut().filter(|left| !left.sacked) {
            left.lost |= left.start == at.una || left.xmit_ts + wait <= self.now;
            left.missing |= left.lost;
        }
        (self.recovering, self.repair, self.prr, self.probe) = (false, false, None, None);
        (self.point, self.look, self.limited) = (Some(at.max), None, 0);
    }

    /// `segment` leaves as a probe (section 7.3).
    ///
    /// # Panics
    /// When it may not.
    pub fn send_probe(&mut self, at: &Outstanding, segment: &Segment, new_data: bool) {
        assert!(self.quiet() && self.probe.is_none(), "{segment:?} is no time for a probe: {self:?}");
        if segment.seq < at.max {
            let last = self.segments.last().map(|left| (left.start, left.end));
            assert_eq!(Some((segment.seq, segment.end)), last, "a probe is the last that was sent");
            assert!(!new_data, "{segment:?} probes, and new data waits");
        }
        self.probe = Some((at.max.max(segment.end), segment.seq < at.max));
    }

    /// `segment` is about to count as sent, because losses or windows let it.
    ///
    /// # Panics
    /// When it was not permitted.
    pub fn send(&mut self, at: &Outstanding, segment: &Segment, cwnd: u64) {
        let (len, pipe) = (segment.end - segment.seq, self.pipe());
        let allowed = match &self.prr {
            Some(prr) if self.params.prr && !self.params.cc.is_bbr() => prr.permits(pipe),
            _ => cwnd >= pipe + self.params.mss.0,
        };
        let first = self.segments.iter().find(|left| left.lost).map(|left| (left.start, left.end));
        let allowed = allowed || self.repair && first.is_some();
        if segment.seq < at.max {
            assert_eq!(
                Some((segment.seq, segment.end)),
                first,
                "what leaves again is the first lost segment"
            );
            assert!(allowed, "{segment:?} with {pipe} in the network of {cwnd}");
        } else if self.point.is_some() {
            assert!(allowed, "{segment:?} with {pipe} in the network of {cwnd}");
            assert_eq!(first, None, "{segment:?} before a lost one");
        } else if segment.end > at.una + cwnd {
            let limited = self.params.limited_transmit && self.sacked() > 0 && allowed;
            assert!(limited, "{segment:?} beyond {cwnd} from {}", at.una);
            self.limited += len;
        }
        self.repair = false;
        if let Some(prr) = &mut self.prr {
            prr.sent(len);
        }
    }

    /// `segment` leaves, for whatever reason (section 6.1).
    pub fn left(&mut self, segment: &Segment) {
        let Segment { seq, end, .. } = *segment;
        self.cut(seq);
        self.cut(end);
        for left in self.segments.iter_mut().filter(|left| seq <= left.start && left.end <= end) {
            if !left.sacked {
                (left.xmit_ts, left.retransmitted, left.lost) = (self.now, true, false);
            }
        }
        let start = self.segments.last().map_or(seq, |left| left.end);
        if start < end {
            self.segments.push(Left {
                start,
                end,
                xmit_ts: self.now,
                retransmitted: false,
                lost: false,
                missing: false,
                sacked: false,
            });
        }
    }
}
