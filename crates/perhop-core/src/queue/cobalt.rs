//! COBALT: `CoDel` that leaves off step by step, and BLUE beside it for flows that do not listen.
//!
//! Source: Hoeiland-Joergensen, Taht and Morton 2018, section III; `sch_cake.c` in Linux, decision by decision.
//! Different: an empty queue is looked at when its state is due to change, not when somebody asks; a packet longer than the
//! limit is dropped alone; a fresh queue is as one of Linux that has dropped before, whose first drop is an interval late.
//! Units: nanoseconds; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of a FIFO and about ten comparisons for each packet, twice what CoDel takes; while BLUE drops, a random number each.

use core::cmp::Ordering;

use super::codel::newton;
use super::early::{not_empty, some_time};
use super::{AckFilter, Backlog, Fifo, FlowQueue, Queue, mark};
use crate::packet::{Ecn, Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::Stream;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{Bytes, QueueSize};

/// Parameters of [`Cobalt`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CobaltParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// The wait that may stand. BLUE's probability changes at most once in so long.
    pub target: Span,
    /// How long packets must have waited longer before one is dropped.
    pub interval: Span,
    /// How long the longest packet takes on the link, zero to leave it out: `target` is at least one and a half of it, and
    /// no packet is late that waited for less than four.
    pub packet_time: Span,
    /// Whether packets that can carry a congestion mark are marked where they would be dropped for their wait.
    pub ecn: bool,
    /// The step that an overflow adds to BLUE's probability.
    pub p_inc: f64,
    /// The step that an empty queue takes from it.
    pub p_dec: f64,
    /// The ACK filter, if it has one.
    pub ack_filter: Option<AckFilter>,
}

/// A queue with COBALT.
#[derive(Clone, Debug)]
pub struct Cobalt<P> {
    fifo: Fifo<P>,
    ecn: bool,
    law: Law,
    state: State,
    stream: Stream,
}

impl<P: Packet> Cobalt<P> {
    /// An empty queue; drops are reported as from `site`, BLUE's chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: CobaltParams, stream: Stream) -> Result<Self, ParamError> {
        not_empty("limit", params.limit)?;
        let law = Law::new(&params)?;
        Ok(Self {
            fifo: Fifo::new(site, params.limit).filtering(params.ack_filter),
            ecn: params.ecn,
            law,
            state: State::default(),
            stream,
        })
    }
}

impl<P: Packet> Queue<P> for Cobalt<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let ns = now.as_nanos();
        if self.fifo.peek().is_none() {
            self.state.rest(&self.law, ns);
        }
        self.fifo.filter(now, &pkt, sink);
        let Meta { len, .. } = *pkt.meta();
        while !self.fifo.has_room_for(len) {
            self.state.overflow(&self.law, ns);
            //= cobalt-drop-head
            let first = if self.fifo.ever_has_room_for(len) { self.fifo.dequeue(now, sink) } else { None };
            match first {
                Some(first) => sink.dropped(now, self.fifo.site(), first, DropReason::Overflow),
                None => return sink.dropped(now, self.fifo.site(), pkt, DropReason::Overflow),
            }
        }
        self.fifo.push(now, pkt, sink);
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

impl<P: Packet> FlowQueue<P> for Cobalt<P> {
    fn dequeue_beside(&mut self, now: Instant, _others: Option<Bytes>, sink: &mut dyn Sink<P>) -> Option<P> {
        let ns = now.as_nanos();
        loop {
            let mut pkt = self.fifo.pop()?;
            let Meta { enqueued_at, ecn, .. } = *pkt.meta();
            let can_mark = self.ecn && ecn != Ecn::NotEct;
            let draw = || self.stream.below(1 << 32);
            let verdict = self.state.verdict(&self.law, ns, ns - enqueued_at.as_nanos(), can_mark, draw);
            let last = self.fifo.peek().is_none();
            //= cobalt-dequeue-last
            if let Some(why) = verdict.drop
                && !last
            {
                sink.dropped(now, self.fifo.site(), pkt, why);
                continue;
            }
            if verdict.mark {
                mark(now, self.fifo.site(), &mut pkt, sink);
            }
            if last {
                self.state.empty(&self.law, ns);
            }
            return Some(pkt);
        }
    }

    fn evict(&mut self, now: Instant, _counts: bool) -> Option<P> {
        let pkt = self.fifo.pop()?;
        self.state.overflow(&self.law, now.as_nanos());
        Some(pkt)
    }
}

/// Parameters of the decisions of [`State`]; times in nanoseconds, probabilities in units of 2^-32.
#[derive(Clone, Copy, Debug)]
pub(super) struct Law {
    target: u64,
    interval: u64,
    /// A wait that is not late even if it is longer than the target.
    short: u64,
    p_inc: u32,
    p_dec: u32,
}

impl Law {
    pub(super) fn new(params: &CobaltParams) -> Result<Self, ParamError> {
        let [target, interval, packet] =
            [params.target, params.interval, params.packet_time].map(Span::as_nanos);
        some_time("target", params.target)?;
        if interval <= target {
            return Err(ParamError::new("interval", "must exceed target"));
        }
        let fixed = |field, p: f64, least: f64| {
            let within = (least..=1.0).contains(&p);
            within
                .then(|| u32::try_from((p * 2f64.powi(32)).round() as u64).unwrap_or(u32::MAX))
                .ok_or_else(|| ParamError::new(field, format!("must be from {least} to 1")))
        };
        let (p_inc, p_dec) = (fixed("p_inc", params.p_inc, 0.0)?, fixed("p_dec", params.p_dec, 1e-6)?);
        //= cobalt-set_rate-target
        let longer = target.max(packet.saturating_mul(3) / 2);
        let interval = interval.saturating_add(longer - target).max(longer.saturating_mul(2));
        Ok(Self { target: longer, interval, short: packet.saturating_mul(4), p_inc, p_dec })
    }

    /// The next signal after one at `at`, where one over the root of the count is `root`.
    fn after(&self, at: u64, root: u32) -> u64 {
        let gap = (u128::from(self.interval) * u128::from(root)) >> 32;
        at.saturating_add(u64::try_from(gap).unwrap_or(u64::MAX))
    }
}

/// The verdict on a packet at its turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Verdict {
    /// Why it is dropped, unless it is the last.
    pub drop: Option<DropReason>,
    /// Whether it is marked if it leaves.
    pub mark: bool,
}

/// The state of `CoDel` and of BLUE.
#[derive(Clone, Copy, Debug)]
pub(super) struct State {
    /// How hard `CoDel` signals: the gap between signals is the interval over the root of this.
    count: u32,
    /// One over the root of `count`, in units of 2^-32.
    root: u32,
    dropping: bool,
    /// While it drops or leaves off, the next step; with a count of 0, when a long wait may begin to count.
    drop_next: u64,
    p_drop: u32,
    /// From here on `p_drop` may change.
    blue_next: u64,
}

impl Default for State {
    fn default() -> Self {
        Self { count: 0, root: ROOTS[0], dropping: false, drop_next: 0, p_drop: 0, blue_next: 0 }
    }
}

impl State {
    /// A packet had to be dropped for want of room.
    pub(super) fn overflow(&mut self, law: &Law, now: u64) {
        //= cobalt-queue_full-up
        if now >= self.blue_next {
            self.p_drop = self.p_drop.saturating_add(law.p_inc);
            self.blue_next = now.saturating_add(law.target + 1);
        }
        self.dropping = true;
        self.drop_next = now;
        self.count = self.count.max(1);
    }

    /// The queue was served, and nothing is left in it.
    pub(super) fn empty(&mut self, law: &Law, now: u64) {
        //= cobalt-queue_empty-down
        if self.p_drop > 0 && now >= self.blue_next {
            self.p_drop = self.p_drop.saturating_sub(law.p_dec);
            self.blue_next = now.saturating_add(law.target + 1);
        }
        self.dropping = false;
        if self.count > 0 && now >= self.drop_next {
            self.fewer(law);
        }
    }

    /// It has been empty until `now`.
    fn rest(&mut self, law: &Law, now: u64) {
        loop {
            let blue = if self.p_drop > 0 { self.blue_next } else { u64::MAX };
            let codel = if self.count > 0 { self.drop_next } else { u64::MAX };
            let due = blue.min(codel);
            if due > now || due == u64::MAX {
                break;
            }
            self.empty(law, due);
        }
    }

    /// Whether an empty queue would change nothing any more.
    pub(super) const fn is_at_rest(&self, now: u64) -> bool {
        self.p_drop == 0 && self.count == 0 && now >= self.drop_next
    }

    /// Decides on a packet that has `waited`; BLUE's draw is below 2^32.
    pub(super) fn verdict(
        &mut self,
        law: &Law,
        now: u64,
        waited: u64,
        can_mark: bool,
        draw: impl FnOnce() -> u64,
    ) -> Verdict {
        let mut due = now.cmp(&self.drop_next);
        let signal_due = self.count > 0 && due.is_ge();
        //= cobalt-should_drop-late
        let late = waited > law.target && waited > law.short;
        if late {
            //= cobalt-should_drop-first
            if !self.dropping {
                self.drop_next = law.after(now, self.root);
            }
            self.count = self.count.max(1);
        }
        self.dropping = late;
        let signal = signal_due && late;
        //= cobalt-should_drop-next
        if signal {
            self.count = self.count.saturating_add(1);
            self.step();
            self.drop_next = law.after(self.drop_next, self.root);
            due = now.cmp(&self.drop_next);
        } else if signal_due {
            //= cobalt-should_drop-less
            while self.count > 0 && due.is_ge() {
                self.fewer(law);
                due = now.cmp(&self.drop_next);
            }
        }
        //= cobalt-should_drop-blue
        let chosen = self.p_drop > 0 && draw() < u64::from(self.p_drop);
        let drop = match (signal && !can_mark, chosen) {
            (true, _) => Some(DropReason::Sojourn),
            (false, true) => Some(DropReason::Early),
            (false, false) => None,
        };
        if self.count == 0 {
            self.drop_next = now.saturating_add(law.interval);
        } else if due == Ordering::Greater && drop.is_none() {
            self.drop_next = now;
        }
        Verdict { drop, mark: signal && can_mark }
    }

    /// One step of leaving off.
    fn fewer(&mut self, law: &Law) {
        self.count -= 1;
        self.step();
        self.drop_next = law.after(self.drop_next, self.root);
    }

    /// The root follows the count: from a table, or by one step of Newton's.
    fn step(&mut self) {
        let from_table = usize::try_from(self.count).ok().and_then(|count| ROOTS.get(count));
        self.root = from_table.copied().unwrap_or_else(|| newton(self.count, self.root));
    }
}

/// One over the root of 0 (as of 1) to 15, in units of 2^-32: each four of Newton's steps from the one before.
const ROOTS: [u32; 16] = {
    let (mut roots, mut count) = ([u32::MAX; 16], 1);
    while count < 16 {
        let (mut root, mut steps) = (roots[count as usize - 1], 0);
        while steps < 4 {
            root = newton(count, root);
            steps += 1;
        }
        roots[count as usize] = root;
        count += 1;
    }
    roots
};
