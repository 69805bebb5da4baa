//! Flow queueing: a queue for each flow, served in turn, those that have just begun first.
//!
//! Source: RFC 8290 (Hoeiland-Joergensen, McKenney, Taht, Gettys and Dumazet 2018), sections 4.1 and 4.2, over any queue that
//! is a [`FlowQueue`] as in RFC 7806 (Baker and Pan 2016); [`FqConventions::LINUX`] is `sch_fq_codel.c` of Linux.
//! Different: a queue is made when its first packet comes. One that has used up its quantum exactly has no credit left, as in
//! every program of the RFC, whose text has it both ways.
//! Units: bytes; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of the queue inside, a hash, and a step in a ring; where packets are longer than the quantum, one step for each turn
//! that passes. A batch of drops, or a deadline, looks at every queue once.

use std::cmp::Reverse;
use std::collections::VecDeque;
use std::fmt;
use std::marker::PhantomData;

use super::early::not_empty;
use super::{Backlog, FlowQueue, Queue};
use crate::packet::{Dir, Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::Stream;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::units::{Bytes, QueueSize};

/// Departures of Linux's `fq_codel` from RFC 8290. The default is the RFC.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct FqConventions {
    /// A batch of drops ends with half the bytes of the longest queue, not with half its packets.
    pub half_bytes: bool,
    /// A packet that is dropped for the limit counts as a drop of its queue's own policy.
    pub overflow_counts: bool,
    /// The policy of a queue looks at what waits in all queues, not at what waits in its own.
    pub common_backlog: bool,
    /// A new queue that has run empty is forgotten at once where there is no old one.
    pub forget_new: bool,
}

impl FqConventions {
    /// The RFC's: none of them.
    pub const RFC8290: Self =
        Self { half_bytes: false, overflow_counts: false, common_backlog: false, forget_new: false };
    /// Those of Linux: all.
    pub const LINUX: Self =
        Self { half_bytes: true, overflow_counts: true, common_backlog: true, forget_new: true };
}

/// Parameters of [`Fq`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FqParams {
    /// Most that may wait in all queues together.
    pub limit: QueueSize,
    /// Number of queues, at most 65,536.
    pub queues: u32,
    /// Bytes of a queue's turn.
    pub quantum: Bytes,
    /// Most packets that are dropped at once where the limit is passed.
    pub drop_batch: u32,
    /// Departures from the RFC.
    pub conventions: FqConventions,
}

impl FqParams {
    /// The limit of a queue inside whose own is `limit`: none if all together may not be longer, as these drop elsewhere then.
    #[must_use]
    pub fn limit_inside(&self, limit: QueueSize) -> QueueSize {
        match (limit, self.limit) {
            (QueueSize::Packets(own), QueueSize::Packets(all)) if own >= all => QueueSize::Packets(u64::MAX),
            (QueueSize::Bytes(own), QueueSize::Bytes(all)) if own >= all => QueueSize::Bytes(u64::MAX),
            _ => limit,
        }
    }
}

/// A queue for each flow.
pub struct Fq<P, Q> {
    site: SiteId,
    params: FqParams,
    quantum: i64,
    salt: u64,
    make: Box<dyn Fn(u32) -> Q + Send>,
    /// The position in `flows` of a queue, one more; zero where no packet came yet.
    places: Box<[u32]>,
    flows: Vec<Flow<Q>>,
    /// Positions in `flows`.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    total: Backlog,
    has_deadlines: bool,
    /// The first of the queues'.
    deadline: Option<Instant>,
    packets: PhantomData<fn(P)>,
}

struct Flow<Q> {
    queue: Q,
    /// Which of the queues it is.
    number: u32,
    listed: bool,
    credit: i64,
}

impl<P, Q> fmt::Debug for Fq<P, Q> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Fq").field("params", &self.params).field("total", &self.total).finish_non_exhaustive()
    }
}

impl<P: Packet, Q: FlowQueue<P>> Fq<P, Q> {
    /// Empty queues, each made by `make` from its number; they must report as from `site`, too. One number is drawn.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it, of a queue inside as that says it.
    pub fn new(
        site: SiteId,
        params: FqParams,
        mut stream: Stream,
        make: impl Fn(u32) -> Result<Q, ParamError> + Send + 'static,
    ) -> Result<Self, ParamError> {
        let FqParams { limit, queues, quantum, drop_batch, .. } = params;
        not_empty("limit", limit)?;
        if !(1..=1 << 16).contains(&queues) {
            return Err(ParamError::new("queues", "must be from 1 to 65536"));
        }
        let quantum = match i32::try_from(quantum.0) {
            Ok(0) => return Err(ParamError::new("quantum", "must be at least 1B")),
            Ok(bytes) => i64::from(bytes),
            Err(_) => return Err(ParamError::new("quantum", "must be less than 2^31 B")),
        };
        if drop_batch == 0 {
            return Err(ParamError::new("drop_batch", "must be at least 1"));
        }
        let has_deadlines = make(0)?.has_deadlines();
        let make = move |number| make(number).unwrap_or_else(|error| unreachable!("one was made: {error}"));
        Ok(Self {
            site,
            params,
            quantum,
            salt: stream.below(u64::MAX),
            make: Box::new(make),
            places: vec![0; queues as usize].into(),
            flows: Vec::new(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            total: Backlog::default(),
            has_deadlines,
            deadline: None,
            packets: PhantomData,
        })
    }

    /// The position in `flows` of the queue of a packet.
    #[inline]
    fn place(&mut self, meta: &Meta) -> u32 {
        //= rfc8290-4.1-hash
        let key = u64::from(meta.flow.0) << 1 | u64::from(meta.dir == Dir::Reverse);
        let number = (u128::from(mixed(key ^ self.salt)) * self.places.len() as u128) >> 64;
        let place = &mut self.places[number as usize];
        if *place == 0 {
            let number = number as u32;
            self.flows.push(Flow { queue: (self.make)(number), number, listed: false, credit: 0 });
            *place = self.flows.len() as u32;
        }
        *place - 1
    }

    /// Drops the first packets of the longest queue.
    #[cold]
    fn shed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        //= rfc8290-4.1-overload
        let FqConventions { half_bytes, overflow_counts, .. } = self.params.conventions;
        let length = |flow: &&mut Flow<Q>| (flow.queue.backlog().bytes, Reverse(flow.number));
        let Some(flow) = self.flows.iter_mut().max_by_key(length) else { return };
        let before = flow.queue.backlog();
        let most = if half_bytes { u64::MAX } else { before.packets / 2 }.min(self.params.drop_batch.into());
        let mut gone = Backlog::default();
        while let Some(pkt) = flow.queue.evict(now, overflow_counts) {
            gone.add(pkt.meta().len);
            sink.dropped(now, self.site, pkt, DropReason::Overflow);
            if gone.packets >= most || half_bytes && gone.bytes.0 >= before.bytes.0 / 2 {
                break;
            }
        }
        self.total = self.total - gone;
    }

    /// One of the queues held `before` and holds `after`.
    #[inline]
    fn count(&mut self, before: Backlog, after: Backlog) {
        self.total += after;
        self.total = self.total - before;
    }

    /// The queue in turn has no credit left, or nothing to send: it goes to the end of the old ones, or is `forgotten`.
    #[inline]
    fn pass_on(&mut self, is_new: bool, forgotten: bool) {
        let list = if is_new { &mut self.new } else { &mut self.old };
        let Some(at) = list.pop_front() else { return };
        if forgotten {
            self.flows[at as usize].listed = false;
        } else {
            self.old.push_back(at);
        }
    }
}

impl<P: Packet, Q: FlowQueue<P>> Queue<P> for Fq<P, Q> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let at = self.place(pkt.meta());
        let flow = &mut self.flows[at as usize];
        // of a queue that was just made deadlines may have passed
        if self.has_deadlines && flow.queue.next_timeout().is_some_and(|at| at < now) {
            flow.queue.on_timeout(now, sink);
        }
        let before = flow.queue.backlog();
        flow.queue.enqueue(now, pkt, sink);
        let after = flow.queue.backlog();
        if self.has_deadlines {
            self.deadline = self.deadline.into_iter().chain(flow.queue.next_timeout()).min();
        }
        //= rfc8290-4.1-new
        if !flow.listed && after.packets > 0 {
            (flow.listed, flow.credit) = (true, self.quantum);
            self.new.push_back(at);
        }
        self.count(before, after);
        while self.total.exceeds(self.params.limit) {
            self.shed(now, sink);
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        loop {
            //= rfc8290-4.2-select
            let (is_new, at) = match self.new.front() {
                Some(&at) => (true, at),
                None => (false, *self.old.front()?),
            };
            let flow = &mut self.flows[at as usize];
            if flow.credit <= 0 {
                flow.credit += self.quantum;
                self.pass_on(is_new, false);
                continue;
            }
            let before = flow.queue.backlog();
            let common = self.params.conventions.common_backlog;
            let others = common.then(|| self.total.bytes - before.bytes);
            //= rfc8290-4.2-aqm
            let pkt = flow.queue.dequeue_beside(now, others, sink);
            let after = flow.queue.backlog();
            //= rfc8290-4.2-charge
            flow.credit -= pkt.as_ref().map_or(0, |pkt| pkt.meta().len.0.cast_signed());
            self.count(before, after);
            if pkt.is_some() {
                return pkt;
            }
            //= rfc8290-4.2-empty
            let forgotten = !is_new || self.params.conventions.forget_new && self.old.is_empty();
            self.pass_on(is_new, forgotten);
        }
    }

    fn peek(&self) -> Option<&Meta> {
        // how many more turns a queue needs until it has credit
        let turns = |credit: i64| if credit > 0 { 0 } else { 1 - credit / self.quantum };
        let flow = |at: &u32| &self.flows[*at as usize];
        let new = self.new.iter().map(flow);
        let first = new.clone().filter(|flow| flow.credit > 0).map(|flow| (0, flow));
        let old = self.old.iter().map(flow).map(|flow| (turns(flow.credit), flow));
        let last = new.filter(|flow| flow.credit <= 0).map(|flow| (turns(flow.credit + self.quantum), flow));
        let mut best: Option<(i64, &Meta)> = None;
        for (turns, flow) in first.chain(old).chain(last) {
            if best.is_none_or(|(least, _)| turns < least)
                && let Some(meta) = flow.queue.peek()
            {
                best = Some((turns, meta));
                if turns == 0 {
                    break;
                }
            }
        }
        best.map(|(_, meta)| meta)
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    fn has_deadlines(&self) -> bool {
        self.has_deadlines
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        if self.deadline.is_none_or(|at| at > now) {
            return;
        }
        for at in 0..self.flows.len() {
            let queue = &mut self.flows[at].queue;
            let before = queue.backlog();
            queue.on_timeout(now, sink);
            let after = queue.backlog();
            self.count(before, after);
        }
        self.deadline = self.flows.iter().filter_map(|flow| flow.queue.next_timeout()).min();
    }
}

/// A number that looks drawn, another for each `key` (the last step of `SplitMix64`; Steele, Lea and Flood 2014).
#[inline]
pub(super) const fn mixed(key: u64) -> u64 {
    let key = (key ^ key >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let key = (key ^ key >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    key ^ key >> 31
}
