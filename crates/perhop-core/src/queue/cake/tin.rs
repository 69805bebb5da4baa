//! A tin of CAKE: its flows, each with COBALT, in turn.

use std::cmp::Reverse;
use std::collections::VecDeque;

use super::hash::{Hasher, Hosts, Isolation, PLACES, ways};
use super::tins::{Pace, Part};
use crate::packet::{Ecn, Meta, Packet};
use crate::queue::cobalt::{Law, State};
use crate::queue::{AckFilter, Backlog, Fifo, Queue, mark};
use crate::rng::Stream;
use crate::sink::{Sink, SiteId};
use crate::time::Instant;
use crate::units::{Bytes, QueueSize};

/// The knowledge of a flow's rate.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Set {
    /// Nothing: it is in no list.
    Idle,
    /// It began with this turn.
    Sparse,
    /// It began, used up its turn and has nothing to send.
    SparseWaiting,
    /// It takes turn after turn.
    Bulk,
    /// It is empty, and the state of its COBALT not yet at rest.
    Decaying,
}

#[derive(Debug)]
struct Flow<P> {
    fifo: Fifo<P>,
    state: State,
    set: Set,
    credit: i64,
    source: u16,
    destination: u16,
}

/// A list of flows by position, of which the first is served.
#[derive(Clone, Copy, Debug)]
enum List {
    New,
    Old,
    Decaying,
}

/// The hash of the flow that a queue is kept for, and the queue's position, one more; zero where none was made yet.
type Place = (u32, u32);

/// The tin.
#[derive(Debug)]
pub(super) struct Tin<P> {
    site: SiteId,
    ack_filter: Option<AckFilter>,
    law: Law,
    /// Bytes of a flow's turn.
    flow_quantum: u64,
    /// Bytes of its own turn, and what is left of it.
    quantum: i64,
    credit: i64,
    pace: Option<Pace>,
    /// When its part of the rate lets the next packet go.
    next: Instant,
    places: Box<[Place]>,
    flows: Vec<Flow<P>>,
    sources: Hosts,
    destinations: Hosts,
    new: VecDeque<u32>,
    old: VecDeque<u32>,
    decaying: VecDeque<u32>,
    backlog: Backlog,
}

impl<P: Packet> Tin<P> {
    pub(super) fn new(
        site: SiteId,
        ack_filter: Option<AckFilter>,
        part: Part,
        pace: Option<Pace>,
        law: Law,
    ) -> Self {
        Self {
            site,
            ack_filter,
            law,
            //= cake-set_rate-quantum
            flow_quantum: part.rate.map_or(1514, |rate| (rate >> 12).clamp(300, 1514)),
            quantum: part.quantum,
            credit: 0,
            pace,
            next: Instant::ZERO,
            places: vec![(0, 0); PLACES].into(),
            flows: Vec::new(),
            sources: Hosts::default(),
            destinations: Hosts::default(),
            new: VecDeque::new(),
            old: VecDeque::new(),
            decaying: VecDeque::new(),
            backlog: Backlog::default(),
        }
    }

    pub(super) const fn backlog(&self) -> Backlog {
        self.backlog
    }

    pub(super) const fn next(&self) -> Instant {
        self.next
    }

    /// Whether no flow is served in turn.
    pub(super) fn is_idle(&self) -> bool {
        self.new.is_empty() && self.old.is_empty()
    }

    /// Whether it may be served; if not, its turn is over, and the next one begins.
    pub(super) fn is_in_turn(&mut self) -> bool {
        if self.credit >= 0 && !self.is_idle() {
            return true;
        }
        if self.credit <= 0 {
            self.credit += self.quantum;
        }
        false
    }

    /// It held nothing until `now`.
    pub(super) fn wake(&mut self, now: Instant) {
        self.next = self.next.max(now);
    }

    /// A packet of `flow` that counts as `length` left.
    //= cake-advance_shaper-tin
    pub(super) fn charge(&mut self, now: Instant, flow: usize, length: Bytes) {
        self.flows[flow].credit -= length.0.cast_signed();
        self.credit -= length.0.cast_signed();
        if let Some(pace) = self.pace {
            let time = pace.time(length);
            self.next = if self.next < now { self.next + time } else { self.next.max(now + time) };
        }
    }

    fn set_of(&self, place: usize) -> Set {
        match self.places[place].1 {
            0 => Set::Idle,
            made => self.flows[made as usize - 1].set,
        }
    }

    /// The position of the flow of a packet.
    pub(super) fn place(&mut self, hasher: &Hasher, meta: &Meta) -> usize {
        let Some(hash) = hasher.queue(meta) else { return self.made(0) };
        let own = hash as usize % PLACES;
        if self.places[own].0 == hash && self.set_of(own) != Set::Idle {
            return self.made(own);
        }
        //= cake-hash-ways
        let kept = ways(hash).find(|&at| self.places[at].0 == hash);
        let free = || ways(hash).find(|&at| self.set_of(at) == Set::Idle);
        let place = kept.or_else(free).unwrap_or(own);
        let renamed = kept.is_none() || self.set_of(place) == Set::Idle;
        self.places[place].0 = hash;
        let at = self.made(place);
        let by = hasher.isolation();
        //= cake-hash-hosts
        if renamed && (by.dual_source() || by.dual_destination()) {
            let long = self.flows[at].set == Set::Bulk;
            if long {
                self.count(at, by, false);
            }
            let [source, destination] = hasher.hosts(meta);
            if by.dual_source() {
                self.flows[at].source = self.sources.place(source);
            }
            if by.dual_destination() {
                self.flows[at].destination = self.destinations.place(destination);
            }
            if long {
                self.count(at, by, true);
            }
        }
        at
    }

    /// The position of the flow of a place, which is made if there is none.
    fn made(&mut self, place: usize) -> usize {
        if self.places[place].1 == 0 {
            let fifo = Fifo::new(self.site, QueueSize::Packets(u64::MAX)).filtering(self.ack_filter);
            let state = State::default();
            self.flows.push(Flow { fifo, state, set: Set::Idle, credit: 0, source: 0, destination: 0 });
            self.places[place].1 = self.flows.len() as u32;
        }
        self.places[place].1 as usize - 1
    }

    /// Its hosts have one long flow more, or one less.
    fn count(&mut self, flow: usize, by: Isolation, more: bool) {
        let Flow { source, destination, .. } = self.flows[flow];
        if by.dual_source() {
            self.sources.count(source, more);
        }
        if by.dual_destination() {
            self.destinations.count(destination, more);
        }
    }

    /// A turn of `flow`: its quantum, shared among the long flows of whichever of its hosts has more of them, in 2^-16 of a byte.
    //= cake-dequeue-load
    fn turn(&self, flow: usize, by: Isolation) -> u64 {
        let Flow { source, destination, .. } = self.flows[flow];
        let sending = if by.dual_source() { self.sources.long(source) } else { 0 };
        let receiving = if by.dual_destination() { self.destinations.long(destination) } else { 0 };
        self.flow_quantum * u64::from(u16::MAX / sending.max(receiving).max(1))
    }

    /// `pkt` joins `flow`, and may take the place of an ACK there.
    pub(super) fn enqueue(
        &mut self,
        now: Instant,
        flow: usize,
        pkt: P,
        by: Isolation,
        sink: &mut dyn Sink<P>,
    ) {
        let fifo = &mut self.flows[flow].fifo;
        let before = fifo.backlog();
        fifo.filter(now, &pkt, sink);
        fifo.push(now, pkt, sink);
        self.backlog += fifo.backlog();
        self.backlog = self.backlog - before;
        let set = self.flows[flow].set;
        match set {
            //= cake-enqueue-sparse
            Set::Idle | Set::Decaying => {
                if set == Set::Decaying {
                    self.decaying.retain(|&at| at as usize != flow);
                }
                self.new.push_back(flow as u32);
                self.flows[flow].set = Set::Sparse;
                self.flows[flow].credit = (self.turn(flow, by) >> 16).cast_signed();
            }
            Set::SparseWaiting => {
                self.flows[flow].set = Set::Bulk;
                self.count(flow, by, true);
            }
            Set::Sparse | Set::Bulk => {}
        }
    }

    /// The list that is served next: once in a call one that decays.
    //= cake-dequeue-select
    fn list(&self, first: bool) -> List {
        if first && !self.decaying.is_empty() {
            List::Decaying
        } else if !self.new.is_empty() {
            List::New
        } else if !self.old.is_empty() {
            List::Old
        } else {
            List::Decaying
        }
    }

    const fn of(&mut self, list: List) -> &mut VecDeque<u32> {
        match list {
            List::New => &mut self.new,
            List::Old => &mut self.old,
            List::Decaying => &mut self.decaying,
        }
    }

    /// The next packet and the position of its flow; `None` once a flow was found empty.
    pub(super) fn serve(
        &mut self,
        now: Instant,
        first: &mut bool,
        by: Isolation,
        stream: &mut Stream,
        sink: &mut dyn Sink<P>,
    ) -> Option<(usize, P)> {
        let (list, at) = loop {
            let list = self.list(std::mem::take(first));
            let at = *self.of(list).front()? as usize;
            if self.flows[at].credit > 0 {
                break (list, at);
            }
            self.next_turn(at, by, stream);
            self.of(list).pop_front();
            self.old.push_back(at as u32);
        };
        loop {
            let Some(pkt) = self.pop(at) else {
                self.of(list).pop_front();
                self.rest(now, at, by);
                return None;
            };
            let flow = &mut self.flows[at];
            let Meta { enqueued_at, ecn, .. } = *pkt.meta();
            let draw = || stream.below(1 << 32);
            let waited = now.as_nanos() - enqueued_at.as_nanos();
            let verdict = flow.state.verdict(&self.law, now.as_nanos(), waited, ecn != Ecn::NotEct, draw);
            //= cake-dequeue-last
            if let Some(why) = verdict.drop
                && flow.fifo.peek().is_some()
            {
                sink.dropped(now, self.site, pkt, why);
                continue;
            }
            let mut pkt = pkt;
            if verdict.mark {
                mark(now, self.site, &mut pkt, sink);
            }
            return Some((at, pkt));
        }
    }

    /// `flow` has used up its credit and gets that of another turn.
    //= cake-dequeue-bulk
    fn next_turn(&mut self, flow: usize, by: Isolation, stream: &mut Stream) {
        if self.flows[flow].set == Set::Sparse {
            if self.flows[flow].fifo.peek().is_some() {
                self.flows[flow].set = Set::Bulk;
                self.count(flow, by, true);
            } else {
                self.flows[flow].set = Set::SparseWaiting;
            }
        }
        //= cake-dequeue-dither
        let turn = self.turn(flow, by) + stream.below(1 << 16);
        self.flows[flow].credit += (turn >> 16).cast_signed();
    }

    /// `flow` was in turn and is empty.
    //= cake-dequeue-decay
    fn rest(&mut self, now: Instant, flow: usize, by: Isolation) {
        if self.flows[flow].set == Set::Bulk {
            self.count(flow, by, false);
        }
        let Flow { state, set, .. } = &mut self.flows[flow];
        state.empty(&self.law, now.as_nanos());
        *set = if state.is_at_rest(now.as_nanos()) { Set::Idle } else { Set::Decaying };
        if *set == Set::Decaying {
            self.decaying.push_back(flow as u32);
        }
    }

    fn pop(&mut self, flow: usize) -> Option<P> {
        let pkt = self.flows[flow].fifo.pop()?;
        self.backlog.remove(pkt.meta().len);
        Some(pkt)
    }

    /// The flow with most bytes, of several the one that came first: how many, and its position.
    pub(super) fn longest(&self) -> Option<(Bytes, Reverse<usize>)> {
        let flows = self.flows.iter().enumerate();
        flows.map(|(at, flow)| (flow.fifo.backlog().bytes, Reverse(at))).max()
    }

    /// Takes out the first packet of a flow, for which there is no room.
    pub(super) fn evict(&mut self, now: Instant, Reverse(flow): Reverse<usize>) -> Option<P> {
        let pkt = self.pop(flow)?;
        self.flows[flow].state.overflow(&self.law, now.as_nanos());
        Some(pkt)
    }

    /// A packet that may be next.
    pub(super) fn peek(&self) -> Option<&Meta> {
        self.new.iter().chain(&self.old).find_map(|&at| self.flows[at as usize].fifo.peek())
    }
}
