//! The receiving end: what has arrived, and what to acknowledge.
//!
//! Source: RFC 9293 section 3.10.7.4 (reassembly), RFC 2018 section 4 (SACK), RFC 7323 sections 2.2 and 4.3 (window of
//! a SYN, timestamps), RFC 3168 section 6.1.3 (congestion marks); when to acknowledge is `ack`'s matter. Different: the
//! application reads at once, so the window offered never shrinks; what lies beyond it is taken all the same; duplicates
//! are not reported (RFC 2883); a mark counts on a segment outside the window too (RFC 3168 section 6.1.5), and hurries an
//! acknowledgment with the exact echo alone (RFC 8257 section 3.2).

mod reassembly;

use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;

use self::reassembly::Reassembly;
use crate::ack::{AckAction, AckPolicy};
use crate::segment::{Ack, Segment};
use crate::settings::{Growth, TcpParams};

/// Largest window without a scale: the field has 16 bits (RFC 9293 section 3.1).
const MAX_UNSCALED_WINDOW: u64 = 65_535;

/// Where the count of marks begins.
//= draft-accecn-34-3.2.1-initial
const FIRST_COUNT: u64 = 5;
/// Marks that an acknowledgment tells of at most before the next one is due.
//= draft-accecn-34-3.2.2.5.1-increment
const MOST_UNSAID: u32 = 2;

/// Settings of a receiver.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ReceiverParams {
    /// Window offered.
    pub window: Bytes,
    /// Most SACK blocks in an acknowledgment; 0 for none of that option.
    pub sack_blocks: u8,
    /// Whether blocks that no longer fit are forgotten.
    pub sack_forgets: bool,
    /// Whether congestion marks are echoed.
    pub ecn: bool,
    /// Whether each acknowledgment says of what it is the first to cover whether it was marked (RFC 8257 section 3.2), with `ecn`.
    pub exact_echo: bool,
    /// Whether marks are counted instead, with `ecn` (RFC 9768).
    pub accurate: bool,
}

impl From<&TcpParams> for ReceiverParams {
    //= rfc2018-4-permitted
    fn from(tcp: &TcpParams) -> Self {
        Self {
            window: tcp.window,
            sack_blocks: if tcp.recovery.uses_sack() { tcp.sack_blocks } else { 0 },
            sack_forgets: tcp.sack_forgets,
            ecn: tcp.ecn,
            exact_echo: tcp.cc == Growth::Dctcp,
            accurate: tcp.ecn && tcp.cc == Growth::Prague,
        }
    }
}

/// An acknowledgment to come.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Due {
    Nothing,
    At(Instant),
    Now,
}

/// A TCP receiver.
pub struct Receiver {
    params: ReceiverParams,
    policy: Box<dyn AckPolicy>,
    arrived: Reassembly,
    /// The number that the FIN took.
    fin: Option<u64>,
    /// A SYN waits for its answer.
    syn: bool,
    due: Due,
    /// The last acknowledgment sent.
    last_ack: u64,
    /// TS.Recent (RFC 7323 section 4.3).
    echo: Instant,
    /// DCTCP.CE of RFC 8257, with the exact echo.
    ece: bool,
    /// An acknowledgment of what came before the echo changed, with the timestamp that it echoes.
    earlier: Option<(u64, Instant)>,
    /// With counted marks: how many packets had one, and how many since the last acknowledgment; whether the last packet had one.
    marks: Marks,
}

/// The marks that a receiver counts.
#[derive(Clone, Copy, Debug)]
struct Marks {
    /// `r.cep`.
    count: u64,
    unsaid: u32,
    last: bool,
}

impl Receiver {
    /// A receiver to which nothing has been sent.
    #[must_use]
    pub fn new(params: ReceiverParams, policy: Box<dyn AckPolicy>) -> Self {
        Self {
            params,
            policy,
            arrived: Reassembly::new(params.sack_blocks, params.sack_forgets),
            fin: None,
            syn: false,
            due: Due::Nothing,
            last_ack: 0,
            echo: Instant::ZERO,
            ece: false,
            earlier: None,
            marks: Marks { count: FIRST_COUNT, unsaid: 0, last: false },
        }
    }

    /// A segment arrived, in a packet with a congestion mark if `ce`.
    //= rfc2018-4-each-segment
    //= rfc7323-2.4-honor
    pub fn on_segment(&mut self, now: Instant, segment: &Segment, ce: bool) {
        let changes = self.params.ecn && self.params.exact_echo && self.change_echo(now, segment, ce)
            || self.params.accurate && self.count_mark(ce);
        //= rfc7323-4.3-update
        //= rfc7323-4.3-delayed
        //= rfc7323-4.3-gap
        //= rfc7323-4.3-filler
        if segment.seq <= self.last_ack && segment.sent >= self.echo {
            self.echo = segment.sent;
        }
        if self.params.ecn && !self.params.exact_echo && !self.params.accurate {
            //= rfc3168-6.1.3-echo
            //= rfc3168-6.1.3-again
            self.ece = ce || self.ece && !segment.cwr;
        }
        if segment.syn {
            // once data has arrived the connection stands, and a late SYN gets a plain acknowledgment
            self.syn = self.arrived.next() == 0;
            self.due = Due::Now;
            return;
        }
        // What takes no number is not acknowledged, unless it lies outside the window.
        if segment.seq == segment.end && segment.seq >= self.arrived.next() {
            return;
        }
        let arrival = self.arrived.insert(segment.seq, segment.end);
        if segment.fin {
            self.fin = Some(segment.end - 1);
            self.due = Due::Now;
            return;
        }
        self.due = match (self.policy.on_arrival(now, &arrival), self.due) {
            _ if changes => Due::Now,
            (AckAction::Now, _) | (_, Due::Now) => Due::Now,
            (AckAction::Delay(at), Due::At(before)) => Due::At(at.min(before)),
            (AckAction::Delay(at), Due::Nothing) => Due::At(at),
            (AckAction::None, due) => due,
        };
    }

    /// Counts a mark; whether it hurries the acknowledgment: the first after a packet without one, and each second.
    //= draft-prague-02-2.3.1.1-accecn
    //= draft-accecn-34-3.2.2-count
    //= draft-accecn-34-3.2.2.5.1-change
    //= draft-accecn-34-3.2.2.5.1-increment
    fn count_mark(&mut self, ce: bool) -> bool {
        let first = ce && !std::mem::replace(&mut self.marks.last, ce);
        self.marks.count += u64::from(ce);
        self.marks.unsaid += u32::from(ce);
        first || self.marks.unsaid >= MOST_UNSAID
    }

    /// Whether a segment with data changes what is echoed: it is acknowledged at once then, and what waits for its acknowledgment gets one
    /// of its own, with the echo that it came with.
    //= rfc8257-3.2-changes
    //= rfc8257-3.2-two
    //= rfc8257-3.2-cwr
    //= rfc8257-3.6-syn-ce
    fn change_echo(&mut self, now: Instant, segment: &Segment, ce: bool) -> bool {
        let changes = ce != self.ece && !segment.syn && segment.seq < segment.end;
        if changes {
            if matches!(self.due, Due::At(_)) {
                self.due = Due::Nothing;
                self.policy.on_ack_sent(now);
                self.last_ack = self.arrived.next();
                self.earlier = Some((self.last_ack, self.echo));
            }
            self.ece = ce;
        }
        changes
    }

    /// The acknowledgment to send now, if any. Asked after each segment and each time-out, and again where another [is
    /// due](Self::owes) at once.
    //= rfc2018-4-may
    //= rfc5681-4.2-one-per-segment
    //= rfc2018-3-cumulative
    //= rfc2018-4-always
    //= rfc7323-2.2-unscaled-syn
    //= rfc7323-4.3-recent
    //= rfc7323-4.3-echo
    //= rfc8257-3.2-ece
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Ack> {
        if let Some((ack, echo)) = self.earlier.take() {
            return Some(Ack { ack, echo, ece: !self.ece, ..self.ack_now(false) });
        }
        match self.due {
            Due::Now => {}
            Due::At(at) if at <= now => {}
            Due::At(_) | Due::Nothing => return None,
        }
        self.due = Due::Nothing;
        self.marks.unsaid = 0;
        self.policy.on_ack_sent(now);
        self.last_ack = self.arrived.next();
        let syn = core::mem::take(&mut self.syn);
        Some(self.ack_now(syn))
    }

    /// An acknowledgment of all that has arrived.
    fn ack_now(&self, syn: bool) -> Ack {
        Ack {
            ack: self.last_ack,
            window: if syn { self.params.window.min(Bytes(MAX_UNSCALED_WINDOW)) } else { self.params.window },
            echo: self.echo,
            syn,
            ece: self.ece,
            ace: if self.params.accurate { (self.marks.count % 8) as u8 } else { 0 },
            sack: self.arrived.blocks(),
        }
    }

    /// An acknowledgment that waits is due at once: its application has something to send, which carries it.
    pub const fn hurry(&mut self) {
        if matches!(self.due, Due::At(_)) {
            self.due = Due::Now;
        }
    }

    /// Whether another acknowledgment is due at once.
    #[must_use]
    pub const fn owes(&self) -> bool {
        matches!(self.due, Due::Now)
    }

    /// The cumulative acknowledgment: every number below it has arrived.
    #[must_use]
    pub const fn ack(&self) -> u64 {
        self.arrived.next()
    }

    /// Data handed to the application.
    #[must_use]
    pub fn delivered(&self) -> Bytes {
        let next = self.arrived.next();
        Bytes(self.fin.map_or(next, |fin| fin.min(next)))
    }
}

impl Timed for Receiver {
    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        match self.due {
            Due::At(at) => Some(at),
            Due::Nothing | Due::Now => None,
        }
    }

    fn on_timeout(&mut self, now: Instant) {
        if matches!(self.due, Due::At(at) if at <= now) {
            self.due = Due::Now;
        }
    }
}
