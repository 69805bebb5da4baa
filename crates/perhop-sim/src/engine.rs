//! The event loop: links deliver packets to nodes, nodes fill links, timers expire.
//!
//! Order of events: time first; at equal times departures, then arrivals, then timers; then first in, first out.
//! The phase sits in the top bits of the sequence number, so the event list knows (time, sequence number) alone.
//! A link that falls idle with nothing waiting schedules nothing: a packet that finds it idle is transmitted at
//! once, which costs one event per hop; a packet that must wait costs two.

use perhop_core::node::{Departure, Node};
use perhop_core::packet::{Kind, PortId};
use perhop_core::port::Class;
use perhop_core::sink::SiteId;
use perhop_core::time::Instant;

use crate::event::{Due, EventList};
use crate::host::Host;
use crate::link::Link;
use crate::observe::{PacketEvent, QueueRecord, Recorder, TcpEvent, WindowRecord};
use crate::outgoing::Outgoing;
use crate::packet::{Contents, SimPacket};
use crate::router::Router;

const PHASE_BITS: u32 = 62;

/// Phases of one instant, in their order.
#[derive(Clone, Copy)]
enum Phase {
    Departure = 0,
    Arrival = 1,
    Timer = 2,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The first packet in flight on a link reaches the other end.
    Arrival(u32),
    /// A link may transmit again.
    Departure(u32),
}

/// A host or a router.
#[expect(clippy::large_enum_variant, reason = "hosts are many and lie in place; routers are few")]
pub enum AnyNode {
    /// Ends connections.
    Host(Host),
    /// Forwards.
    Router(Router),
}

impl AnyNode {
    fn as_node(&mut self) -> &mut dyn Node<SimPacket> {
        match self {
            Self::Host(host) => host,
            Self::Router(router) => router,
        }
    }

    /// The outgoing interface `port`.
    pub fn outgoing(&self, port: PortId) -> &Outgoing {
        match self {
            Self::Host(host) => &host.ports[port.0 as usize],
            Self::Router(router) => &router.outgoing[port.0 as usize],
        }
    }

    fn outgoing_mut(&mut self, port: PortId) -> &mut Outgoing {
        match self {
            Self::Host(host) => &mut host.ports[port.0 as usize],
            Self::Router(router) => &mut router.outgoing[port.0 as usize],
        }
    }
}

/// Where a link is: beside the interface that feeds it.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// Sending node.
    pub node: u32,
    /// Its port.
    pub port: PortId,
    /// The port as observers know it.
    pub site: SiteId,
}

/// What the engine keeps about a node, read after each of its calls.
struct Desk {
    /// The node's timer event that counts; others are stale.
    armed: Instant,
    /// The link of the node's port 0.
    first_link: u32,
}

/// Nodes, links and the events between them.
pub struct Engine {
    /// Nodes, in the scenario's order.
    pub nodes: Vec<AnyNode>,
    /// Of each link, grouped by sending node and in the order of its ports.
    places: Vec<Place>,
    /// One for each node.
    desks: Vec<Desk>,
    /// The node of each flow's sender, where connections are traced.
    senders: Vec<u32>,
    events: EventList<Event>,
    timers: EventList<u32>,
    seq: u64,
    /// What nodes call, and what observers get.
    pub recorder: Recorder,
    /// Events processed.
    pub processed: u64,
    /// Packets that finished a link.
    pub hops: u64,
    /// Running digest of all arrivals.
    pub digest: u64,
}

impl Engine {
    /// An engine at time zero; `first_link[n]` is the index of node n's port 0 in `places`.
    pub fn new(
        nodes: Vec<AnyNode>,
        places: Vec<Place>,
        first_link: Vec<u32>,
        senders: Vec<u32>,
        recorder: Recorder,
    ) -> Self {
        let desk = |first_link| Desk { armed: Instant::MAX, first_link };
        let desks = first_link.into_iter().map(desk).collect();
        let mut engine = Self {
            nodes,
            places,
            desks,
            senders,
            events: EventList::new(),
            timers: EventList::new(),
            seq: 0,
            recorder,
            processed: 0,
            hops: 0,
            digest: 0,
        };
        for node in 0..engine.nodes.len() {
            engine.arm(node);
        }
        engine
    }

    /// Every class of every port, in the order of links.
    pub fn classes(&self) -> impl Iterator<Item = &Class<SimPacket>> {
        self.interfaces().flat_map(|outgoing| outgoing.port.classes())
    }

    /// The outgoing interface of each link, in the order of links.
    pub fn interfaces(&self) -> impl Iterator<Item = &Outgoing> {
        self.places.iter().map(|place| self.nodes[place.node as usize].outgoing(place.port))
    }

    fn link(&mut self, id: usize) -> &mut Link {
        let place = self.places[id];
        &mut self.nodes[place.node as usize].outgoing_mut(place.port).link
    }

    /// The time of the next event.
    pub fn next_time(&self) -> Instant {
        let at = |first: Option<Due>| first.map_or(Instant::MAX, Due::at);
        at(self.events.first().map(|e| e.0)).min(at(self.timers.first().map(|e| e.0)))
    }

    /// Processes every event before `end`.
    pub fn run_until(&mut self, end: Instant) {
        loop {
            let timer_first = match (self.events.first(), self.timers.first()) {
                (None, None) => return,
                (Some(_), None) => false,
                (None, Some(_)) => true,
                (Some(event), Some(timer)) => timer.0 < event.0,
            };
            if timer_first {
                let Some((due, node)) = self.timers.first() else { return };
                if due.at() >= end {
                    return;
                }
                self.processed += 1;
                self.timers.pop();
                self.expire(due.at(), node as usize);
            } else {
                let Some((due, event)) = self.events.first() else { return };
                if due.at() >= end {
                    return;
                }
                self.processed += 1;
                match event {
                    Event::Arrival(link) => self.arrive(due.at(), link as usize),
                    Event::Departure(link) => {
                        self.events.pop();
                        self.depart(due.at(), link as usize);
                    }
                }
            }
        }
    }

    fn arrive(&mut self, now: Instant, id: usize) {
        let link = self.link(id);
        let Some(pkt) = link.deliver() else { return };
        let (to, to_port) = (link.to as usize, link.to_port);
        match link.in_flight.front().map(|(due, _)| *due) {
            Some(due) => self.events.replace_first(due, Event::Arrival(index(id))),
            None => self.events.pop(),
        }
        self.hops += 1;
        let contents = pkt.get();
        self.digest = self.digest_of(now, id, contents);
        self.recorder.packet(now, self.places[id].site, PacketEvent::Delivered, &contents.meta);
        let acked =
            (self.recorder.kinds().cwnd && contents.meta.kind == Kind::PureAck).then_some(contents.meta.flow);
        self.nodes[to].as_node().on_packet(now, to_port, pkt, &mut self.recorder);
        if let Some(flow) = acked {
            self.record_window(now, to, flow);
        }
        self.after_call(now, to);
    }

    fn depart(&mut self, now: Instant, id: usize) {
        let link = self.link(id);
        if link.poll_due != now {
            return;
        }
        link.poll_due = Instant::MAX;
        let sent =
            if link.busy_until == now { link.in_flight.back().map(|(_, pkt)| pkt.get().meta) } else { None };
        let Place { node, port, .. } = self.places[id];
        let node = node as usize;
        if let Some(meta) = sent
            && self.nodes[node].as_node().watches_transmission(port)
        {
            self.nodes[node].as_node().on_transmitted(now, port, &meta, &mut self.recorder);
            self.after_call(now, node);
        }
        self.transmit(now, id);
    }

    fn expire(&mut self, now: Instant, node: usize) {
        if self.desks[node].armed != now {
            return;
        }
        self.desks[node].armed = Instant::MAX;
        self.nodes[node].as_node().on_timeout(now, &mut self.recorder);
        self.after_call(now, node);
    }

    /// Serves the ports that a call made ready, and arms the node's timer.
    fn after_call(&mut self, now: Instant, node: usize) {
        let mut ready = std::mem::take(&mut self.recorder.ready);
        for port in ready.drain(..) {
            let link = (self.desks[node].first_link + port.0) as usize;
            self.record_backlog(now, link);
            self.transmit(now, link);
        }
        self.recorder.ready = ready;
        if self.recorder.kinds().tcp {
            self.record_connections(now, node);
        }
        self.arm(node);
    }

    fn arm(&mut self, node: usize) {
        if let Some(at) = self.nodes[node].as_node().next_timeout()
            && at < self.desks[node].armed
        {
            self.desks[node].armed = at;
            let seq = self.next_seq(Phase::Timer);
            self.timers.push(Due::new(at, seq), index(node));
        }
    }

    /// Starts the next transmission on a link, now or when it is free.
    fn transmit(&mut self, now: Instant, id: usize) {
        let link = self.link(id);
        if link.poll_due == now {
            // a transmission that took less than a nanosecond has its departure still to come
            return;
        }
        if now < link.busy_until {
            let free = link.busy_until;
            self.poll_at(free, id);
            return;
        }
        let Place { node: from, port, .. } = self.places[id];
        let node = self.nodes[from as usize].as_node();
        match node.poll_transmit(now, port, &mut self.recorder) {
            Departure::Empty => {}
            Departure::NotBefore(at) => self.poll_at(at, id),
            Departure::Packet(pkt) => {
                let again = node.waits(port) || node.watches_transmission(port);
                let seq = self.next_seq(Phase::Arrival);
                let link = self.link(id);
                let due = link.transmit(now, pkt, seq);
                let (alone, free) = (link.in_flight.len() == 1, link.busy_until);
                if alone {
                    self.events.push(due, Event::Arrival(index(id)));
                }
                if again {
                    self.poll_at(free, id);
                }
                self.record_backlog(now, id);
            }
        }
    }

    /// Asks the port again at `at`; an event for an earlier time makes a later one stale.
    fn poll_at(&mut self, at: Instant, id: usize) {
        let link = self.link(id);
        if link.poll_due <= at {
            return;
        }
        link.poll_due = at;
        let seq = self.next_seq(Phase::Departure);
        self.events.push(Due::new(at, seq), Event::Departure(index(id)));
    }

    /// The digest with one more arrival: when, on which link, of which packet.
    fn digest_of(&self, now: Instant, id: usize, contents: &Contents) -> u64 {
        let meta = &contents.meta;
        let who = (id as u64) << 32 | u64::from(meta.flow.0);
        // as elements see it: the line of the packet that is read anyway
        let tcp = meta.tcp.unwrap_or_default();
        let what = u64::from(tcp.seq_end) ^ u64::from(tcp.ack) << 32;
        mix(mix(self.digest, now.as_nanos(), who), what, meta.len.0 << 8 | meta.kind as u64)
    }

    const fn next_seq(&mut self, phase: Phase) -> u64 {
        self.seq += 1;
        (phase as u64) << PHASE_BITS | self.seq
    }

    #[inline]
    fn record_backlog(&mut self, time: Instant, id: usize) {
        if self.recorder.kinds().queue {
            self.push_backlog(time, id);
        }
    }

    #[cold]
    fn push_backlog(&mut self, time: Instant, id: usize) {
        let Place { node, port, .. } = self.places[id];
        for class in self.nodes[node as usize].outgoing(port).port.classes() {
            let (site, backlog) = (class.site(), class.backlog());
            self.recorder.trace.queue.push(QueueRecord { time, site, backlog });
        }
    }

    /// Takes what a host logged, and adds the segments that were dropped meanwhile.
    #[cold]
    fn record_connections(&mut self, time: Instant, node: usize) {
        if let AnyNode::Host(host) = &mut self.nodes[node] {
            host.take_log(&mut self.recorder.trace.tcp);
        }
        for (flow, segment) in self.recorder.lost.drain(..) {
            if let AnyNode::Host(host) = &self.nodes[self.senders[flow.0 as usize] as usize]
                && let Some(end) = host.sending(flow)
            {
                let packet = end.sender.packet_number(&segment);
                self.recorder.trace.tcp.push(end.record(time, TcpEvent::Drop, packet));
            }
        }
    }

    #[cold]
    fn record_window(&mut self, time: Instant, node: usize, flow: perhop_core::packet::FlowId) {
        if let AnyNode::Host(host) = &self.nodes[node]
            && let Some(end) = host.sending(flow)
        {
            let sender = &end.sender;
            self.recorder.trace.cwnd.push(WindowRecord {
                time,
                flow,
                cwnd: sender.cwnd(),
                ssthresh: sender.ssthresh(),
                in_flight: sender.in_flight(),
                rto_s: sender.rtt().rto().as_secs_f64(),
            });
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a scenario has fewer than 2^32 nodes and links")]
const fn index(i: usize) -> u32 {
    i as u32
}

/// One step of a 64-bit digest: a folded 128-bit product, as in wyhash.
#[expect(clippy::cast_possible_truncation, reason = "the two halves of a product")]
fn mix(digest: u64, first: u64, second: u64) -> u64 {
    let a = digest ^ first.wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let product = u128::from(a ^ 0xa076_1d64_78bd_642f) * u128::from(second ^ 0xe703_7ed1_a0b4_28db);
    (product as u64) ^ ((product >> 64) as u64)
}
