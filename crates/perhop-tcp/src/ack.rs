//! When a receiver acknowledges.
//!
//! Source: RFC 5681 section 4.2, RFC 1122 section 4.2.3.2. Different: segments are counted whatever their size, since
//! what is full-sized is the sender's secret; so short ones are acknowledged sooner than they must be. [`Adaptive`] is
//! `net/ipv4/tcp_input.c` of Linux 6.x (`tcp_event_data_recv`, `__tcp_ack_snd_check`, `tcp_grow_window`) with `tcp_send_delayed_ack`
//! and `tcp_delack_timer_handler`, without the slack of its timers; PSH is for whoever has the receiver ([`crate::receiver::Receiver::hurry`]).

mod buffer;

use perhop_core::time::{Instant, Span};

use crate::wheel::expiry;
use buffer::Buffer;
pub use buffer::BufferParams;

/// Longest time for which an acknowledgment may wait (RFC 1122 section 4.2.3.2).
pub const MAX_DELAY: Span = Span::from_millis(500);

/// A segment as the receiver saw it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Arrival {
    /// It filled the next expected byte.
    pub in_order: bool,
    /// It filled the next expected byte, in front of bytes that had come before it.
    pub fills_gap: bool,
    /// All of it had arrived before.
    pub old: bool,
    /// Bytes that are in order now and were not before.
    pub delivered: u64,
}

impl Arrival {
    /// Whether its acknowledgment may wait.
    //= rfc5681-3.2-duplicate-at-once
    //= rfc5681-3.2-gap-at-once
    //= rfc6582-5-receiver-at-once
    #[must_use]
    pub const fn may_wait(&self) -> bool {
        self.in_order && !self.fills_gap
    }
}

/// The action on an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckAction {
    /// Acknowledge at once.
    Now,
    /// Acknowledge then, if nothing causes an acknowledgment before.
    Delay(Instant),
    /// Acknowledge with what has been decided already.
    None,
}

/// Decides when to acknowledge. `now` never decreases between calls. A receiver asks about segments with data alone.
///
/// Laws: what may not wait is acknowledged at once, what may wait within 500 ms and with the next segment at the latest.
pub trait AckPolicy: Send {
    /// A segment arrived.
    fn on_arrival(&mut self, now: Instant, seg: &Arrival) -> AckAction;
    /// An acknowledgment left for whatever reason.
    fn on_ack_sent(&mut self, _now: Instant) {}
}

/// One acknowledgment for each segment, at once (Kalampoukas et al. 1997, section 4.2).
#[derive(Clone, Copy, Debug, Default)]
pub struct EverySegment;

impl AckPolicy for EverySegment {
    fn on_arrival(&mut self, _now: Instant, _seg: &Arrival) -> AckAction {
        AckAction::Now
    }
}

/// One acknowledgment for two segments in order, and after a time-out for one.
#[derive(Clone, Copy, Debug)]
pub struct Delayed {
    timeout: Span,
    /// A segment waits for its acknowledgment.
    waiting: bool,
}

impl Delayed {
    /// Lets the first segment wait for `timeout`, at most [`MAX_DELAY`].
    #[must_use]
    pub const fn new(timeout: Span) -> Self {
        Self {
            timeout: if timeout.as_nanos() < MAX_DELAY.as_nanos() { timeout } else { MAX_DELAY },
            waiting: false,
        }
    }
}

impl AckPolicy for Delayed {
    //= rfc5681-4.2-delayed
    //= rfc5681-4.2-every-second
    //= rfc5681-4.2-half-second
    fn on_arrival(&mut self, now: Instant, seg: &Arrival) -> AckAction {
        if self.waiting || !seg.may_wait() {
            return AckAction::Now;
        }
        self.waiting = true;
        AckAction::Delay(now + self.timeout)
    }

    fn on_ack_sent(&mut self, _now: Instant) {
        self.waiting = false;
    }
}

/// Reports of what lies beyond a gap that are sent at once (`TCP_FASTRETRANS_THRESH`).
const REPORTS_AT_ONCE: u8 = 3;
/// Most reports that wait for each other (`net.ipv4.tcp_comp_sack_nr`).
const REPORTS_TOGETHER: u8 = 44;
/// Part of the round trip that a report waits at most.
const REPORT_DIVISOR: u64 = 20;
/// The pause that counts as a time-out before the round trip is known (`TCP_TIMEOUT_INIT`), and the least beside it (`TCP_RTO_MIN`).
const FIRST_PAUSE: Span = Span::from_secs(1);
const LEAST_PAUSE: Span = Span::from_millis(200);
/// The longest that an acknowledgment waits whose wait adapts (`TCP_DELACK_MAX`).
const LONGEST_WAIT: Span = Span::from_millis(200);

/// Settings of [`Adaptive`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AdaptiveParams {
    /// How long the first of two segments in order waits.
    pub timeout: Span,
    /// Acknowledgments sent at once at the start, after a pause and after a duplicate.
    pub quick: u8,
    /// How long a report may wait for others; zero for no time.
    pub compression: Span,
    /// The jiffy of the wheel that `timeout` is on; zero for none.
    pub jiffy: Span,
    /// Whether the wait grows beyond `timeout` where segments come seldom.
    pub adapts: bool,
    /// The buffer, if it grows.
    pub buffer: Option<BufferParams>,
}

impl AdaptiveParams {
    /// Every second segment is acknowledged at once, and another after `timeout`.
    #[must_use]
    pub const fn delayed(timeout: Span) -> Self {
        Self { timeout, quick: 0, compression: Span::ZERO, jiffy: Span::ZERO, adapts: false, buffer: None }
    }

    /// The policy of these settings.
    #[must_use]
    pub fn policy(self) -> Box<dyn AckPolicy> {
        let plain = self == Self::delayed(self.timeout);
        if plain { Box::new(Delayed::new(self.timeout)) } else { Box::new(Adaptive::new(self)) }
    }
}

const fn halved(span: Span) -> Span {
    Span::from_nanos(span.as_nanos() / 2)
}

/// As [`Delayed`], but quick where the sender may have a small window, and slower with reports that it does not need.
#[derive(Clone, Copy, Debug)]
pub struct Adaptive {
    params: AdaptiveParams,
    /// Acknowledgments that are still sent at once.
    quick: u8,
    /// A segment in order waits for its acknowledgment.
    waiting: bool,
    /// Reports since the last segment in order, up to [`REPORTS_AT_ONCE`], and those that wait.
    reports: u8,
    held: u8,
    /// Data has arrived.
    begun: bool,
    /// When the SYN was answered, the round trip from there to the first data, and when data last came in order.
    answered: Option<Instant>,
    rtt: Option<Span>,
    last_in_order: Option<Instant>,
    /// How long a segment in order would wait (`ato`), and until when one does.
    wait: Span,
    until: Option<Instant>,
    buffer: Option<Buffer>,
}

impl Adaptive {
    /// Nothing has arrived.
    #[must_use]
    pub fn new(params: AdaptiveParams) -> Self {
        Self {
            params: AdaptiveParams { timeout: params.timeout.min(MAX_DELAY), ..params },
            quick: 0,
            waiting: false,
            reports: 0,
            held: 0,
            begun: false,
            answered: None,
            rtt: None,
            last_in_order: None,
            wait: params.timeout.min(MAX_DELAY),
            until: None,
            buffer: params.buffer.map(Buffer::new),
        }
    }

    /// How long nothing in order must come for the sender to have timed out.
    fn pause(&self) -> Span {
        self.rtt.map_or(FIRST_PAUSE, |rtt| rtt + LEAST_PAUSE.max(rtt + rtt))
    }

    /// Whether the next acknowledgments are quick, at the start, after a pause, and while the window grows; else how long they may wait.
    fn hear(&mut self, now: Instant, seg: &Arrival) {
        if seg.in_order {
            let half = halved(self.params.timeout);
            match self.last_in_order.map(|last| now - last) {
                Some(gap) if gap <= half => self.adapt(halved(self.wait) + half),
                Some(gap) if gap < self.wait => self.adapt(halved(self.wait) + gap),
                Some(gap) if gap <= self.pause() => {}
                _ => self.quick = self.params.quick,
            }
            self.last_in_order = Some(now);
        }
        if let Some(buffer) = &mut self.buffer {
            // an even number becomes one more, which this acknowledgment takes
            self.quick |= u8::from(buffer.grow());
            if let Some(rtt) = self.rtt {
                buffer.read(now, seg.delivered, rtt);
            }
        }
    }

    /// The next segment waits so long, if the wait adapts.
    fn adapt(&mut self, wait: Span) {
        if self.params.adapts {
            self.wait = wait.min(self.pause());
        }
    }

    /// How long a segment waits now.
    fn delay(&self) -> Span {
        let most = self.rtt.map_or(LONGEST_WAIT, |rtt| rtt.max(self.params.timeout).min(LONGEST_WAIT));
        if self.params.adapts { self.wait.min(most) } else { self.params.timeout }
    }

    fn in_order(&mut self, now: Instant, seg: &Arrival) -> AckAction {
        self.reports = 0;
        if self.quick > 0 || self.waiting || seg.fills_gap {
            return AckAction::Now;
        }
        self.waiting = true;
        let at = expiry(now, self.delay(), self.params.jiffy);
        self.until = Some(at);
        AckAction::Delay(at)
    }

    fn beyond_gap(&mut self, now: Instant) -> AckAction {
        let at_once = self.reports < REPORTS_AT_ONCE;
        if self.quick > 0 || at_once || self.params.compression == Span::ZERO {
            self.reports += u8::from(at_once && self.quick == 0);
            return AckAction::Now;
        }
        if self.held == REPORTS_TOGETHER {
            return AckAction::Now;
        }
        self.held += 1;
        if self.held > 1 {
            return AckAction::None;
        }
        let part = self.rtt.map(|rtt| Span::from_nanos(rtt.as_nanos() / REPORT_DIVISOR));
        AckAction::Delay(now + part.map_or(self.params.compression, |part| part.min(self.params.compression)))
    }
}

impl AckPolicy for Adaptive {
    fn on_arrival(&mut self, now: Instant, seg: &Arrival) -> AckAction {
        if !std::mem::replace(&mut self.begun, true) {
            self.rtt = self.answered.map(|answered| now - answered);
        }
        self.until = None;
        if seg.old {
            (self.quick, self.wait) = (self.params.quick, self.params.timeout);
            return AckAction::Now;
        }
        self.hear(now, seg);
        if seg.in_order { self.in_order(now, seg) } else { self.beyond_gap(now) }
    }

    fn on_ack_sent(&mut self, now: Instant) {
        if !self.begun {
            self.answered = Some(now);
        }
        if self.until.take().is_some_and(|until| until <= now) {
            // it has waited in vain
            self.adapt(self.wait + self.wait);
        }
        if self.quick == 1 {
            self.wait = self.params.timeout;
        }
        self.quick = self.quick.saturating_sub(1);
        self.waiting = false;
        self.held = 0;
    }
}
