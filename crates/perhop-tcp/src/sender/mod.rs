//! The sending end of a connection.
//!
//! Source: RFC 5681 sections 3 and 4, RFC 6298 section 5, RFC 9293 sections 3.5 (opening) and 3.8.6.1 (zero window). Growth
//! is `cc`'s matter, loss recovery `recovery`'s. Different: a connection carries data one way; the other way only
//! acknowledges. Units: bytes, ns.

mod frto;
mod pace;
mod params;
mod tail;
mod transmit;
mod validation;
mod view;

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;

use crate::cc::{AckSample, AnyControl, CongestionControl, CongestionSignal, Echo, Load};
use crate::pacing::Pacer;
use crate::recovery::{Flight, LossRecovery, OnDuplicate, OnNewAck, Recovery};
use crate::rtt::RttEstimator;
use crate::segment::Ack;
use crate::settings::{IdleRestart, RecoveryExit, TcpParams};
use frto::Frto;
use params::Rules;
use tail::Tail;
use validation::Validation;

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderStats {
    /// Segments sent: SYN, FIN and retransmissions included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Recoveries begun by duplicate acknowledgments.
    pub fast_retransmits: u64,
    /// Probes of the tail (RFC 8985 section 7.3).
    pub probes: u64,
    /// Expiries of the retransmission timer that cut the window.
    pub timeouts: u64,
    /// Expiries while the SYN was out.
    pub syn_timeouts: u64,
    /// Series of time-outs after which the original turned out to have arrived: the first acknowledgment of new data
    /// echoed a segment sent before them (RFC 3522, measured whether the stack looks or not).
    pub spurious_timeouts: u64,
    /// Time-outs that F-RTO found spurious and took back.
    pub undone_timeouts: u64,
    /// When everything of a finite transfer was acknowledged.
    pub completed: Option<Instant>,
}

/// Where the count of marks begins.
//= draft-accecn-34-3.2.1-initial
const FIRST_COUNT: u64 = 5;

/// The marks that an acknowledgment tells of.
#[derive(Clone, Copy, Debug, Default)]
struct Marked {
    /// There are such.
    any: bool,
    /// How much of what it is the first to acknowledge they are of.
    bytes: u64,
}

/// Where the connection stands.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Stage {
    /// Before the start.
    Waiting,
    /// A SYN is to be sent, again if the flag is set.
    Opening { again: bool },
    /// A SYN is out, sent at this time; more than once if the flag is set.
    SynSent { at: Instant, again: bool },
    /// Data flows.
    Open,
}

/// A TCP sender.
pub struct Sender {
    /// First byte not acknowledged.
    una: u64,
    /// Next byte to send; behind `max` after a time-out.
    nxt: u64,
    /// One past the highest byte ever sent.
    max: u64,
    /// One past the last byte to send, the FIN's number included; `u64::MAX` for endless data.
    limit: u64,
    /// The receiver's window.
    window: u64,
    /// The retransmission timer; before the start, the start.
    timer: Option<Instant>,
    /// The segment whose round trip is being timed: its end, and when it left.
    timed: Option<(u64, Instant)>,
    stage: Stage,
    /// The first outstanding segment is to be sent whatever the windows are.
    restart: bool,
    /// The timer has expired since data was last acknowledged.
    timed_out: bool,
    rules: Rules,
    cc: AnyControl,
    recovery: Recovery,
    rtt: RttEstimator,
    /// When the last segment left.
    last_sent: Instant,
    /// When the timer of the last unexamined time-out expired.
    expired_at: Option<Instant>,
    frto: Frto,
    tail: Tail,
    /// Where segments are paced.
    pacer: Option<Box<Pacer>>,
    /// One past the highest byte sent when the timer last expired.
    expired_to: u64,
    /// Packets that had a mark, as the receiver counts them (`s.cep`), and those of them that no acknowledgment of new data has told of.
    marks: u64,
    untold: u64,
    /// Congestion marks are answered once for the data sent up to here.
    marks_answered: u64,
    /// A mark has shrunk the window for the data sent up to here; a loss of it is no further sign.
    marked: u64,
    /// The next new segment says that the window was reduced.
    cwr: bool,
    /// A mark at a window of one segment: nothing leaves before the timer expires.
    held: bool,
    /// How much of cwnd is used, where that counts.
    validation: Option<Box<Validation>>,
    stats: SenderStats,
    /// Expiries of the retransmission timer, the SYN's included.
    expiries: u64,
}

impl Sender {
    /// A sender with the growth that `params` names, which wakes at `start`.
    #[must_use]
    pub fn new(params: &TcpParams, start: Instant) -> Self {
        Self::with_control(params, start, params::control(params))
    }

    /// A sender with any growth.
    #[must_use]
    pub fn with_control(params: &TcpParams, start: Instant, cc: AnyControl) -> Self {
        let rated = cc.pacing_rate().is_some();
        let mut recovery = Recovery::new(params);
        if let (Recovery::Rack(rack), true) = (&mut recovery, rated) {
            rack.estimate_rates();
        }
        Self {
            una: 0,
            nxt: 0,
            max: 0,
            limit: params.size.map_or(u64::MAX, |size| size.0 + u64::from(params.close)),
            window: params.window.0,
            timer: Some(start),
            timed: None,
            stage: Stage::Waiting,
            restart: false,
            timed_out: false,
            rules: Rules::new(params),
            cc,
            recovery,
            rtt: RttEstimator::new(params.rto),
            last_sent: start,
            expired_at: None,
            frto: Frto::default(),
            tail: Tail::default(),
            pacer: Pacer::of(params, rated).map(Box::new),
            expired_to: 0,
            marks: FIRST_COUNT,
            untold: 0,
            marks_answered: 0,
            marked: 0,
            cwr: false,
            held: false,
            validation: (params.idle_restart == IdleRestart::Validation).then(Box::default),
            stats: SenderStats::default(),
            expiries: 0,
        }
    }

    /// More data of the application, behind what a finite transfer has; without effect on an endless one.
    pub fn write(&mut self, more: Bytes) {
        if self.pacer.is_some() {
            self.check_app_limited();
        }
        self.limit = self.limit.saturating_add(more.0);
    }

    /// An acknowledgment arrived.
    //= rfc6675-5-scoreboard-first
    pub fn on_ack(&mut self, now: Instant, ack: &Ack) {
        if let Stage::SynSent { at, again } = self.stage {
            if ack.syn {
                self.on_syn_ack(now, at, again, ack.window.0);
            }
            return;
        }
        if self.stage != Stage::Open || ack.syn {
            return;
        }
        let before = self.una;
        let known = self.una + self.recovery.sacked();
        if self.pacer.is_some() {
            self.follow_limit();
            self.begin_rate();
        }
        self.begin_ack(now, ack);
        let same_window = self.window == ack.window.0;
        let blocks = ack.sack.as_slice();
        let fresh = if self.rules.sack && !blocks.is_empty() {
            let mut flight = self.flight();
            flight.una = ack.ack.clamp(self.una, self.max);
            self.recovery.on_sack(&flight, blocks)
        } else {
            0
        };
        if ack.ack >= self.una && ack.ack <= self.max {
            self.window = ack.window.0;
        }
        let marked = if self.rules.ecn { self.hear_echo(now, ack) } else { Marked::default() };
        let hold = marked.any && self.on_mark(now, ack.ack);
        if ack.ack > self.una && ack.ack <= self.max {
            self.on_new_ack(now, ack, known, marked);
            if fresh > 0 && self.recovery.counts_news() {
                self.on_duplicate(now, fresh);
            }
        } else if ack.ack == self.una && self.max > self.una && self.window > 0 && (same_window || fresh > 0)
        {
            self.follow_frto(now, false);
            self.sample_report(now);
            //= rfc5681-2-duplicate-ack
            self.on_duplicate(now, fresh);
        }
        //= rfc3168-6.1.2-one-segment
        //= rfc9438-4.6-mark-slower
        if hold && self.una < self.limit && !self.restart && !self.recovery.recovering() {
            self.held = true;
            self.timer = Some(self.rtt.deadline(now));
        }
        self.end_ack(now, before);
        if self.pacer.is_some() {
            self.end_rate(now, ack, before);
        }
    }

    //= rfc5681-3.1-handshake-no-growth
    fn on_syn_ack(&mut self, now: Instant, sent: Instant, again: bool, window: u64) {
        self.stage = Stage::Open;
        self.timer = None;
        self.window = window;
        if again {
            //= rfc5681-3.1-lost-syn
            self.cc.limit(self.rules.mss());
        }
        if again && !self.rules.repeated_syn_samples {
            self.rtt.begin_after_lost_syn();
        } else {
            self.rtt.sample(sent, now, 1, (0, 0));
        }
        self.cc.on_established(now, (!again).then(|| now - sent));
    }

    /// `known` bytes had arrived by all that was heard before.
    fn on_new_ack(&mut self, now: Instant, ack: &Ack, known: u64, marked: Marked) {
        let flight = self.flight();
        let acked = ack.ack - self.una;
        //= rfc7323-4.1-new-data
        self.sample_round_trip(now, ack);
        self.examine_timeout(ack);
        let outcome = self.recovery.on_new_ack(&flight, ack.ack);
        let delivered = (ack.ack + self.recovery.sacked()).saturating_sub(known);
        let counted = if self.rules.grows_by_delivered { delivered } else { acked };
        let sample = AckSample {
            acked: Bytes(counted),
            in_flight: Bytes(self.max - ack.ack + counted),
            cwnd_limited: self.cwnd_limited(),
            rtt: self.round_trip(now, ack),
            srtt: self.rtt.srtt(),
            una: ack.ack,
        };
        self.una = ack.ack;
        self.nxt = self.nxt.max(ack.ack);
        self.restart = false;
        self.timed_out = false;
        let mut restart_timer = true;
        match outcome {
            //= rfc3168-6.1.2-no-growth
            OnNewAck::Grow if self.rules.grows_by_unmarked => {
                let unmarked = Bytes(sample.acked.0.saturating_sub(marked.bytes));
                self.cc.on_ack(now, &AckSample { acked: unmarked, ..sample });
            }
            OnNewAck::Grow if marked.any => {}
            OnNewAck::Grow => self.cc.on_ack(now, &sample),
            OnNewAck::Exit => {
                self.leave_recovery(now, &sample, if marked.any { 0 } else { delivered });
            }
            OnNewAck::Partial { deflate, restart_timer: restart } => {
                if deflate > 0 {
                    self.cc.deflate(Bytes(deflate));
                }
                restart_timer = restart;
            }
        }
        self.follow_frto(now, true);
        //= rfc6298-5.2-stop
        //= rfc6298-5.3-restart
        self.held &= self.una < self.limit;
        if self.una == self.max {
            self.timer = self.timer.filter(|_| self.held);
            if self.una == self.limit && self.stats.completed.is_none() {
                self.stats.completed = Some(now);
                self.recovery.release();
            }
        } else if restart_timer {
            self.timer = Some(self.rtt.deadline(now));
        }
    }

    //= rfc5681-4.3-after
    //= rfc6582-3.2-full-window
    //= rfc6582-6-exit-event
    //= rfc9937-6.4-end
    /// `delivered` bytes have arrived that nothing was heard of before.
    fn leave_recovery(&mut self, now: Instant, sample: &AckSample, delivered: u64) {
        match self.rules.recovery_exit {
            RecoveryExit::Ssthresh => self.cc.on_recovery_exit(now),
            RecoveryExit::Flight => {
                self.cc.on_recovery_exit(now);
                let mss = self.rules.mss().0;
                self.cc.limit(Bytes(self.in_flight().0.max(mss) + mss));
            }
            RecoveryExit::Grow if self.rules.sack => {}
            RecoveryExit::Grow => self.cc.on_ack(now, sample),
            RecoveryExit::SsthreshGrow => {
                self.cc.on_recovery_exit(now);
                if self.rules.sack && delivered > 0 {
                    self.cc.on_ack(now, &AckSample { acked: Bytes(delivered), ..*sample });
                }
            }
        }
    }

    //= rfc6298-3-timestamps
    //= rfc6298-3-karn
    //= rfc6298-3-once-per-round-trip
    //= rfc7323-4.1-difference
    //= rfc7323-G-samples
    fn sample_round_trip(&mut self, now: Instant, ack: &Ack) {
        if self.rules.timestamps {
            let per_window = self.in_flight().0.div_ceil(2 * self.rules.mss().0);
            self.rtt.sample(ack.echo, now, per_window, (ack.ack, self.max));
        } else if let Some((end, sent)) = self.timed
            && end <= ack.ack
        {
            self.timed = None;
            self.rtt.sample(sent, now, 1, (ack.ack, self.max));
        }
    }

    /// The sample of slow start with every ACK: with timestamps, or as a stack that keeps the time at which each
    /// segment left. Such a stack cannot tell which copy of a segment is meant while it sends again after a time-out.
    //= rfc9406-4.3-samples
    fn round_trip(&self, now: Instant, ack: &Ack) -> Option<Span> {
        let certain = self.rules.timestamps || self.una >= self.expired_to;
        (certain && ack.echo <= now).then(|| now - ack.echo)
    }

    fn examine_timeout(&mut self, ack: &Ack) {
        if let Some(expired) = self.expired_at.take()
            && ack.echo < expired
        {
            self.stats.spurious_timeouts += 1;
        }
    }

    //= rfc5681-4.3-two-windows
    fn on_duplicate(&mut self, now: Instant, fresh: u64) {
        let flight = self.flight();
        let outcome = self.recovery.on_duplicate(&flight, fresh);
        let signal = match outcome {
            OnDuplicate::Wait => return,
            OnDuplicate::Recover => CongestionSignal::FastRetransmit,
            OnDuplicate::Restart => CongestionSignal::Timeout,
        };
        self.stats.fast_retransmits += 1;
        self.held = false;
        if self.una >= self.marked {
            self.reduce(now, signal);
        }
        self.timed = None;
        if self.rules.fast_retransmit_restarts_timer {
            self.timer = Some(self.rtt.deadline(now));
        }
        if outcome == OnDuplicate::Restart {
            self.nxt = self.una;
            self.restart = true;
        } else {
            self.restart = false;
            let flight = self.flight();
            self.recovery.on_entered(&flight);
        }
    }

    /// Lets the growth hear of marks, beside answering them.
    //= rfc8257-3.3-acceptable
    fn hear_echo(&mut self, now: Instant, ack: &Ack) -> Marked {
        let acked = ack.ack.clamp(self.una, self.max) - self.una;
        let marked = if self.rules.counted_marks {
            self.count_marks(ack, acked)
        } else {
            Marked { any: ack.ece, bytes: if ack.ece { acked } else { 0 } }
        };
        if (self.una..=self.max).contains(&ack.ack) {
            let (acked, bytes) = (Bytes(acked), Bytes(marked.bytes));
            let srtt = self.rtt.srtt();
            self.cc.on_echo(&Echo { ack: ack.ack, acked, marked: bytes, sent: self.max, now, srtt });
        }
        marked
    }

    /// The marks that the ACE field tells of: as few as it allows, but where more than seven full segments are acknowledged as
    /// many as fit. Those that a duplicate tells of wait for an acknowledgment of new data.
    //= draft-accecn-34-3.2.2.5.2-safest
    //= draft-accecn-34-3.2.2-count
    fn count_marks(&mut self, ack: &Ack, acked: u64) -> Marked {
        if ack.ack < self.una || ack.ack > self.max {
            return Marked::default();
        }
        let mss = self.rules.mss().0;
        let (packets, least) = (acked.div_ceil(mss), (u64::from(ack.ace) + 8 - self.marks % 8) % 8);
        let new = if packets > 7 { packets - (packets - least) % 8 } else { least };
        self.marks += new;
        self.untold += new;
        let bytes = (self.untold * mss).min(acked);
        self.untold -= bytes.div_ceil(mss);
        Marked { any: new > 0, bytes }
    }

    /// A congestion mark is answered like a loss, once for each window. Returns whether the window has no segment to give.
    //= rfc3168-6.1.2-like-loss
    //= rfc3168-6.1.2-once
    //= rfc8257-3.3-once
    //= rfc8511-4.2-once
    //= draft-prague-02-2.4.2-once
    fn on_mark(&mut self, now: Instant, ack: u64) -> bool {
        if ack <= self.marks_answered && self.marks_answered > 0 || self.recovery.recovering() {
            return false;
        }
        if ack > self.una {
            self.take_back_spurious(now);
        }
        let least = self.cc.cwnd() <= self.rules.mss();
        self.reduce(now, CongestionSignal::EcnEcho);
        if self.rules.marks_like_losses {
            self.marked = self.max;
        }
        least
    }

    /// Shrinks the window, and says so in the next new segment; a mark in the same window is answered by that.
    //= rfc3168-6.1.2-cwr
    //= rfc8257-3.3-cwr
    fn reduce(&mut self, now: Instant, signal: CongestionSignal) {
        self.cc.on_congestion(now, signal, &self.load());
        self.marks_answered = self.max;
        self.cwr = self.rules.ecn && !self.rules.counted_marks;
    }

    /// Whether the congestion window, not the receiver's or the application, bounds what is outstanding.
    fn cwnd_limited(&self) -> bool {
        let cwnd = self.cc.cwnd().0;
        if let Some(validation) = &self.validation {
            return validation.limits(cwnd / self.rules.mss().0, cwnd < self.cc.ssthresh().0);
        }
        cwnd < self.window && (self.max < self.limit || self.max - self.una + self.rules.mss().0 > cwnd)
    }

    /// Whether a SYN has not been answered.
    const fn opening(&self) -> bool {
        matches!(self.stage, Stage::Opening { .. } | Stage::SynSent { .. })
    }

    //= rfc5681-3.2-without-limited
    fn load(&self) -> Load {
        Load {
            in_flight: Bytes(self.in_flight().0 - self.recovery.limited().min(self.in_flight().0)),
            inflation: Bytes(self.recovery.inflation()),
            window: Bytes(self.window),
            kept: Bytes(if self.rules.timeout_keeps { self.recovery.in_network(&self.flight()) } else { 0 }),
        }
    }

    /// The state that recovery looks at.
    fn flight(&self) -> Flight {
        Flight {
            una: self.una,
            nxt: self.nxt,
            max: self.max,
            mss: self.rules.mss().0,
            len: self.end_of(self.nxt) - self.nxt,
            cwnd: self.cc.cwnd().0,
            window: self.window,
            fin: if self.rules.close && self.max == self.limit { self.limit - 1 } else { u64::MAX },
        }
    }
}

impl Timed for Sender {
    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        let own = [self.timer, self.tail.deadline()].into_iter().flatten().min();
        let Some(pacer) = &self.pacer else { return own };
        own.into_iter().chain(pacer.deadline()).min()
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.pacer.is_some() {
            self.follow_limit();
        }
        self.on_early_timeout(now);
        if let Some(pacer) = &mut self.pacer {
            pacer.on_timeout(now);
        }
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.timer = None;
        match self.stage {
            Stage::Waiting => {
                self.stage = if self.rules.handshake { Stage::Opening { again: false } } else { Stage::Open };
                if self.stage == Stage::Open {
                    self.cc.on_established(now, None);
                }
            }
            Stage::Opening { .. } => {}
            Stage::SynSent { .. } => {
                self.stats.syn_timeouts += 1;
                self.expiries += 1;
                self.rtt.back_off();
                self.stage = Stage::Opening { again: true };
                if self.rules.every_timeout_cuts {
                    self.cc.on_congestion(now, CongestionSignal::Timeout, &self.load());
                }
            }
            Stage::Open if self.max > self.una && self.window > 0 => self.on_loss_timeout(now),
            // a closed window is probed (RFC 9293 section 3.8.6.1), and what a mark held back leaves
            Stage::Open => {
                if !std::mem::take(&mut self.held) {
                    self.rtt.back_off();
                }
                self.restart = self.una < self.limit;
            }
        }
    }
}

impl Sender {
    //= rfc2018-5.1-timeout-fallback
    //= rfc6298-5.6-start-doubled
    //= rfc6298-5.4-retransmit-first
    fn on_loss_timeout(&mut self, now: Instant) {
        self.stats.timeouts += 1;
        self.expiries += 1;
        self.held = false;
        let repeated = self.timed_out && !self.rules.every_timeout_cuts
            || self.recovery.recovering() && !self.rules.recovery_timeout_cuts;
        let signal = if repeated { CongestionSignal::RepeatedTimeout } else { CongestionSignal::Timeout };
        self.begin_frto();
        self.mark_expired(now);
        let flight = self.flight();
        self.recovery.on_timeout(&flight);
        self.reduce(now, signal);
        self.tell_losses(now);
        if !self.timed_out {
            self.expired_at = Some(now);
        }
        self.timed_out = true;
        self.rtt.back_off();
        self.nxt = self.una;
        self.restart = true;
        self.timed = None;
    }
}
