//! Controlled delay: packets are dropped, or marked, at their turn once every packet of an interval has waited above a target.
//!
//! Source: RFC 8289 (Nichols, Jacobson, McGregor and Iyengar 2018), the pseudo-code of section 5; marks, `ce_threshold` and
//! [`CodelConventions::LINUX`] are those of `codel_impl.h` in Linux.
//! Different: nothing without conventions, but that the gap between drops is rounded down to a nanosecond. With
//! `coarse_clock`, times do not wrap after 73 minutes.
//! Units: nanoseconds; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of a FIFO, two comparisons for each packet; for each drop a square root of integers, or Newton's step.

use super::early::not_empty;
use super::{AckFilter, Backlog, Fifo, FlowQueue, Queue, mark};
use crate::packet::{Ecn, Meta, Packet};
use crate::param_error::ParamError;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{Bytes, QueueSize};

/// Departures of Linux's `CoDel` from RFC 8289. The default is the RFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct CodelConventions {
    /// The root of the count is Newton's, one step for each drop, in 16 bits.
    pub newton: bool,
    /// Time is counted in 1,024 ns.
    pub coarse_clock: bool,
    /// The first drop comes after an interval above the target, not at its end.
    pub strictly_after: bool,
    /// A backlog of this many bytes is short, instead of one of the longest packet so far.
    pub mtu: Option<Bytes>,
}

impl CodelConventions {
    /// The RFC's: none of them.
    pub const RFC8289: Self = Self { newton: false, coarse_clock: false, strictly_after: false, mtu: None };

    /// Those of Linux, behind an interface whose packets have up to `mtu`.
    #[must_use]
    pub const fn linux(mtu: Bytes) -> Self {
        Self { newton: true, coarse_clock: true, strictly_after: true, mtu: Some(mtu) }
    }
}

/// Parameters of [`Codel`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CodelParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// The wait that may stand (section 4.4).
    pub target: Span,
    /// How long every packet must have waited longer before one is dropped; about the longest usual round trip (4.3).
    pub interval: Span,
    /// Whether packets that can carry a congestion mark are marked where they would be dropped for their wait.
    pub ecn: bool,
    /// A packet that has waited longer is marked if it can carry a mark.
    pub ce_threshold: Option<Span>,
    /// Departures from the RFC.
    pub conventions: CodelConventions,
    /// The ACK filter, if it has one.
    pub ack_filter: Option<AckFilter>,
}

/// A queue with controlled delay.
#[derive(Clone, Debug)]
pub struct Codel<P> {
    fifo: Fifo<P>,
    ecn: bool,
    law: Law,
    /// In units of the clock, as all times here.
    target: u64,
    ce_threshold: u64,
    longest: Bytes,
    conventions: CodelConventions,
    /// When every packet will have waited above the target for an interval.
    first_above: Option<u64>,
    dropping: bool,
    drop_next: u64,
    /// Drops since dropping began; and what this was then.
    count: u32,
    last_count: u32,
}

/// A packet at its turn, how long it has waited, and whether it may be dropped for that.
struct Turn<P> {
    pkt: P,
    waited: u64,
    late: bool,
}

impl<P: Packet> Codel<P> {
    /// An empty queue; drops are reported as from `site`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: CodelParams) -> Result<Self, ParamError> {
        let CodelParams { limit, target, interval, ecn, ce_threshold, conventions, ack_filter } = params;
        not_empty("limit", limit)?;
        let shift = if conventions.coarse_clock { 10 } else { 0 };
        let [units, interval_units] = [target, interval].map(|span| span.as_nanos() >> shift);
        if units == 0 {
            let rule =
                if shift == 0 { "must exceed 0s" } else { "must be at least 1024ns, the unit of its clock" };
            return Err(ParamError::new("target", rule));
        }
        if interval_units <= units {
            return Err(ParamError::new("interval", "must exceed target"));
        }
        Ok(Self {
            fifo: Fifo::new(site, limit).filtering(ack_filter),
            ecn,
            law: Law { interval: interval_units, newton: conventions.newton.then_some(u16::MAX), shift },
            target: units,
            ce_threshold: ce_threshold.map_or(u64::MAX, |span| span.as_nanos() >> shift),
            longest: conventions.mtu.unwrap_or_default(),
            conventions,
            first_above: None,
            dropping: false,
            drop_next: 0,
            count: 0,
            last_count: 0,
        })
    }

    /// Takes the first packet (`dodequeue` of the RFC); `others` wait beside those behind it.
    #[inline]
    fn turn(&mut self, now: Instant, others: Bytes) -> Option<Turn<P>> {
        let Some(pkt) = self.fifo.pop() else {
            //= rfc8289-5.6-target
            self.first_above = None;
            return None;
        };
        let now = self.law.clock(now);
        let waited = now - self.law.clock(pkt.meta().enqueued_at);
        //= rfc8289-5.6-target
        if waited < self.target || self.fifo.backlog().bytes + others <= self.longest {
            self.first_above = None;
            return Some(Turn { pkt, waited, late: false });
        }
        //= rfc8289-5.6-interval
        let late = match self.first_above {
            None => {
                self.first_above = Some(now + self.law.interval);
                false
            }
            Some(then) => now > then || now == then && !self.conventions.strictly_after,
        };
        Some(Turn { pkt, waited, late })
    }

    /// Marks `pkt` and gives it back, or drops it.
    fn refuse(&self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) -> Option<P> {
        if self.ecn && pkt.meta().ecn != Ecn::NotEct {
            mark(now, self.fifo.site(), &mut pkt, sink);
            return Some(pkt);
        }
        sink.dropped(now, self.fifo.site(), pkt, DropReason::Sojourn);
        None
    }

    /// Goes on dropping until the next drop lies ahead or a packet is not late.
    fn go_on(
        &mut self,
        now: Instant,
        mut turn: Turn<P>,
        others: Bytes,
        sink: &mut dyn Sink<P>,
    ) -> Option<Turn<P>> {
        //= rfc8289-5.5-leave
        self.dropping = turn.late;
        //= rfc8289-5.5-next
        while self.dropping && self.law.clock(now) >= self.drop_next {
            let waited = turn.waited;
            self.count = self.count.saturating_add(1);
            self.law.step(self.count);
            if let Some(pkt) = self.refuse(now, turn.pkt, sink) {
                self.drop_next = self.law.after(self.drop_next, self.count);
                return Some(Turn { pkt, waited, late: true });
            }
            let Some(next) = self.turn(now, others) else {
                self.dropping = false;
                return None;
            };
            self.dropping = next.late;
            if next.late {
                self.drop_next = self.law.after(self.drop_next, self.count);
            }
            turn = next;
        }
        Some(turn)
    }

    /// Begins to drop, at the rate where that left off if it did so lately.
    fn begin(
        &mut self,
        now: Instant,
        turn: Turn<P>,
        others: Bytes,
        sink: &mut dyn Sink<P>,
    ) -> Option<Turn<P>> {
        //= rfc8289-5.5-first
        let waited = turn.waited;
        let kept = self.refuse(now, turn.pkt, sink).map(|pkt| Turn { pkt, waited, late: true });
        let next = kept.or_else(|| self.turn(now, others));
        self.dropping = true;
        let (units, since) = (self.law.clock(now), self.count.saturating_sub(self.last_count));
        // before it ever dropped there is nothing to resume, though evictions may have counted
        //= rfc8289-5.5-resume
        if since > 1 && self.last_count > 0 && units.saturating_sub(self.drop_next) < 16 * self.law.interval {
            self.count = since;
            self.law.step(self.count);
        } else {
            self.count = 1;
            self.law.reset();
        }
        self.drop_next = self.law.after(units, self.count);
        self.last_count = self.count;
        next
    }
}

impl<P: Packet> Queue<P> for Codel<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        if self.conventions.mtu.is_none() {
            self.longest = self.longest.max(pkt.meta().len);
        }
        self.fifo.enqueue(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        self.dequeue_beside(now, None, sink)
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}

impl<P: Packet> FlowQueue<P> for Codel<P> {
    #[inline]
    fn dequeue_beside(&mut self, now: Instant, others: Option<Bytes>, sink: &mut dyn Sink<P>) -> Option<P> {
        let above = self.first_above.filter(|_| others.is_some());
        let others = others.unwrap_or_default();
        let Some(turn) = self.turn(now, others) else {
            (self.dropping, self.first_above) = (false, above);
            return None;
        };
        let mut turn = match (self.dropping, turn.late) {
            (true, _) => self.go_on(now, turn, others, sink),
            (false, true) => self.begin(now, turn, others, sink),
            (false, false) => Some(turn),
        }?;
        if turn.waited > self.ce_threshold && turn.pkt.meta().ecn != Ecn::NotEct {
            mark(now, self.fifo.site(), &mut turn.pkt, sink);
        }
        Some(turn.pkt)
    }

    fn evict(&mut self, _now: Instant, counts: bool) -> Option<P> {
        let pkt = self.fifo.pop()?;
        self.count = self.count.saturating_add(counts.into());
        Some(pkt)
    }
}

/// The control law, `t + interval / sqrt(count)` (RFC 8289 section 4.5), and the clock it is in.
#[derive(Clone, Copy, Debug)]
struct Law {
    interval: u64,
    /// One over the root of the count in units of 2^-16, where it is Newton's.
    newton: Option<u16>,
    shift: u32,
}

impl Law {
    #[inline]
    const fn clock(&self, at: Instant) -> u64 {
        at.as_nanos() >> self.shift
    }

    /// The next drop after one at `at`.
    fn after(&self, at: u64, count: u32) -> u64 {
        //= rfc8289-5.6-law
        let interval = u128::from(self.interval);
        let gap = match self.newton {
            Some(root) => (interval * u128::from(root)) >> 16,
            None => (interval * interval / u128::from(count)).isqrt(),
        };
        at.saturating_add(u64::try_from(gap).unwrap_or(u64::MAX))
    }

    /// The root follows the count, by one step of Newton's where it is that.
    fn step(&mut self, count: u32) {
        if let Some(root) = &mut self.newton {
            *root = (newton(count, u32::from(*root) << 16) >> 16) as u16;
        }
    }

    fn reset(&mut self) {
        if let Some(root) = &mut self.newton {
            *root = u16::MAX;
        }
    }
}

/// A step from `root` towards `1 / sqrt(count)`, both in units of 2^-32: `x (3 - count x^2) / 2`, rounded down as 32 bits do.
pub(super) const fn newton(count: u32, root: u32) -> u32 {
    let x = root as u64;
    let square = (x * x) >> 32;
    let rest = (3u64 << 32).wrapping_sub((count as u64).wrapping_mul(square)) >> 2;
    (rest.wrapping_mul(x) >> 31) as u32
}
