//! The event loop: links deliver packets to nodes, nodes fill links, timers expire.
//!
//! Order of events: time first; at equal times departures, then arrivals, then timers; then first in, first out.
//! The phase sits in the top bits of the sequence number, so the event list knows (time, sequence number) alone.
//! A link that falls idle with nothing waiting schedules nothing: a packet that finds it idle is transmitted at
//! once, which costs one event per hop; a packet that must wait costs two.

mod ahead;
pub mod calendar;
pub mod capture;
pub mod carried;
pub mod delays;
pub mod event;
pub mod link;
pub mod marks;
pub mod observe;
pub mod seam;

use perhop_core::node::{Departure, Node};
use perhop_core::packet::{Kind, Meta, Packet, PortId};
use perhop_core::port::Class;
use perhop_core::sink::SiteId;
use perhop_core::time::Instant;

use crate::engine::ahead::Ahead;
use crate::engine::calendar::Calendar;
use crate::engine::carried::Carried;
use crate::engine::delays::Delays;
use crate::engine::event::{Due, EventList};
use crate::engine::link::Link;
use crate::engine::observe::{PacketEvent, QueueRecord, Recorder};
use crate::engine::seam::HostNode;
use perhop_core::outgoing::Outgoing;
use perhop_core::router::Router;

const PHASE_BITS: u32 = 62;

/// Phases of one instant, in their order.
#[derive(Clone, Copy)]
enum Phase {
    Departure = 0,
    Arrival = 1,
    Timer = 2,
}

/// An event at a link, in one word.
#[derive(Clone, Copy, Default, Debug)]
struct Event(u32);

impl Event {
    /// The first packet in flight on link number `link` reaches the other end.
    const fn arrival(link: usize) -> Self {
        Self(index(link) << 1)
    }

    /// The link may transmit again.
    const fn departure(link: usize) -> Self {
        Self(index(link) << 1 | 1)
    }

    const fn link(self) -> usize {
        (self.0 >> 1) as usize
    }

    const fn is_arrival(self) -> bool {
        self.0 & 1 == 0
    }
}

/// A host or a router.
pub enum AnyNode<H: HostNode> {
    /// Ends connections.
    Host(H),
    /// Forwards.
    Router(Router<H::Packet>),
}

impl<H: HostNode> AnyNode<H> {
    /// The outgoing interface `port`.
    pub fn outgoing(&self, port: PortId) -> &Outgoing<H::Packet> {
        match self {
            Self::Host(host) => &host.ports()[port.0 as usize],
            Self::Router(router) => &router.outgoing[port.0 as usize],
        }
    }

    /// The next packet for the idle link behind `port`, and whether the link asks again once it has sent that.
    #[inline]
    fn next_packet(
        &mut self,
        now: Instant,
        port: PortId,
        io: &mut Recorder<H::Packet>,
    ) -> (Departure<H::Packet>, bool) {
        match self {
            Self::Host(host) => next_packet(host, now, port, H::io(io)),
            Self::Router(router) => next_packet(router, now, port, io),
        }
    }

    fn watches_transmission(&self, to: PortId) -> bool {
        match self {
            Self::Host(host) => host.watches_transmission(to),
            Self::Router(router) => router.watches_transmission(to),
        }
    }

    fn on_transmitted(&mut self, now: Instant, to: PortId, meta: &Meta, io: &mut Recorder<H::Packet>) {
        match self {
            Self::Host(host) => host.on_transmitted(now, to, meta, H::io(io)),
            Self::Router(router) => router.on_transmitted(now, to, meta, io),
        }
    }

    fn next_timeout(&self) -> Option<Instant> {
        match self {
            Self::Host(host) => host.next_timeout(),
            Self::Router(router) => router.next_timeout(),
        }
    }

    fn on_timeout(&mut self, now: Instant, io: &mut Recorder<H::Packet>) {
        match self {
            Self::Host(host) => host.on_timeout(now, H::io(io)),
            Self::Router(router) => router.on_timeout(now, io),
        }
    }

    /// How many packets are between their flow and a port.
    pub fn held(&self) -> u64 {
        if let Self::Host(host) = self { host.held() } else { 0 }
    }
}

/// [`AnyNode::next_packet`] of a node of one kind.
#[inline]
fn next_packet<P: Packet, N: Node<P>>(
    node: &mut N,
    now: Instant,
    port: PortId,
    io: &mut N::Io,
) -> (Departure<P>, bool) {
    let departure = node.poll_transmit(now, port, io);
    (departure, node.waits(port) || node.watches_transmission(port))
}

/// The engine's record of a node, read after each of its calls.
struct NodeTimer {
    /// The node's timer event that counts; others are stale.
    armed: Instant,
    /// The link of the node's port 0.
    first_link: u32,
}

/// The outgoing interfaces of each host to which no packet ever comes.
pub type Idle<H> = Vec<Box<[Outgoing<<H as HostNode>::Packet>]>>;

/// Nodes, links and the events between them.
pub struct Engine<H: HostNode> {
    /// Nodes where something can happen, in the scenario's order.
    pub nodes: Vec<AnyNode<H>>,
    /// The others, whose numbers follow those of `nodes`.
    idle: Idle<H>,
    /// Links, grouped by sending node and in the order of its ports.
    pub links: Vec<Link<H::Packet>>,
    /// One for each node.
    node_timers: Vec<NodeTimer>,
    /// The node of each flow's sender, where connections are traced.
    senders: Vec<u32>,
    /// Site of each link's port.
    port_sites: Vec<SiteId>,
    events: Calendar<Event>,
    timers: EventList<u32>,
    seq: u64,
    /// The receiver of nodes' calls, and of observations.
    pub recorder: Recorder<H::Packet>,
    /// Of the packets with data.
    pub delays: Delays,
    /// Events processed.
    pub processed: u64,
    /// Packets that finished a link.
    pub hops: u64,
    /// Running digest of all arrivals.
    pub digest: u64,
    /// Where looking ahead pays.
    ahead: Option<Ahead>,
}

impl<H: HostNode> Engine<H> {
    /// An engine at time zero; `first_link[n]` is the index of node n's port 0 in `links`.
    pub fn new(
        (nodes, idle): (Vec<AnyNode<H>>, Idle<H>),
        links: Vec<Link<H::Packet>>,
        first_link: Vec<u32>,
        senders: Vec<u32>,
        port_sites: Vec<SiteId>,
        recorder: Recorder<H::Packet>,
        delays: Delays,
    ) -> Self {
        let node_timer = |first_link| NodeTimer { armed: Instant::MAX, first_link };
        let node_timers = first_link.into_iter().map(node_timer).collect();
        let ahead = ahead::ahead(&nodes, &links);
        let mut engine = Self {
            ahead,
            nodes,
            idle,
            links,
            node_timers,
            senders,
            port_sites,
            events: Calendar::new(),
            timers: EventList::new(),
            seq: 0,
            recorder,
            delays,
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
    pub fn classes(&self) -> impl Iterator<Item = &Class<H::Packet>> {
        self.links.iter().flat_map(|link| self.outgoing(link).port.classes())
    }

    /// The value of `of` for each class of each port, in the order of links.
    pub fn of_classes<T>(&self, of: impl FnMut(&Class<H::Packet>) -> T) -> Vec<T> {
        // with the room that it takes: a list that grows into a large one takes three times as much on its way
        let mut all = Vec::with_capacity(self.classes().count());
        all.extend(self.classes().map(of));
        all
    }

    /// The outgoing interface that feeds `link`.
    pub fn outgoing(&self, link: &Link<H::Packet>) -> &Outgoing<H::Packet> {
        match self.nodes.get(link.from as usize) {
            Some(node) => node.outgoing(link.from_port),
            None => &self.idle[link.from as usize - self.nodes.len()][link.from_port.0 as usize],
        }
    }

    /// When the next event is due, if any is.
    pub fn next_event(&self) -> Option<Instant> {
        let (event, timer) = (self.events.first(), self.timers.first());
        event.map(|e| e.0.at()).into_iter().chain(timer.map(|t| t.0.at())).min()
    }

    /// Looks at the host `node`, where nothing happens.
    pub fn host(&mut self, node: usize, look: impl FnOnce(&mut H, &mut Recorder<H::Packet>)) {
        if let AnyNode::Host(host) = &mut self.nodes[node] {
            look(host, &mut self.recorder);
        }
    }

    /// Lets something happen at the host `node`.
    pub fn at_host(
        &mut self,
        now: Instant,
        node: usize,
        call: impl FnOnce(&mut H, &mut Recorder<H::Packet>),
    ) {
        if let AnyNode::Host(host) = &mut self.nodes[node] {
            call(host, &mut self.recorder);
            self.after_call(now, node);
        }
    }

    /// Processes every event before `end`.
    pub fn run_until(&mut self, end: Instant) {
        self.run_while(end, |_| true);
    }

    /// Processes events before `end` as long as `more`, and says whether none is left.
    pub fn run_while(&mut self, end: Instant, more: impl Fn(&Recorder<H::Packet>) -> bool) -> bool {
        while more(&self.recorder) {
            let timer_first = match (self.events.first(), self.timers.first()) {
                (None, None) => return true,
                (Some(_), None) => false,
                (None, Some(_)) => true,
                (Some(event), Some(timer)) => timer.0 < event.0,
            };
            if timer_first {
                let Some((due, node)) = self.timers.first() else { return true };
                if due.at() >= end {
                    return true;
                }
                self.processed += 1;
                self.timers.pop();
                self.expire(due.at(), node as usize);
            } else {
                let Some((due, event)) = self.events.first() else { return true };
                if due.at() >= end {
                    return true;
                }
                self.processed += 1;
                if event.is_arrival() {
                    self.arrive(due.at(), event.link());
                } else {
                    self.events.replace_first(None, event);
                    self.depart(due.at(), event.link());
                }
            }
        }
        false
    }

    fn arrive(&mut self, now: Instant, id: usize) {
        if self.ahead.is_some() {
            self.look_ahead();
        }
        let link = &mut self.links[id];
        let Some(mut pkt) = link.deliver() else { return };
        let (to, to_port) = (link.to as usize, link.to_port);
        self.events.replace_first(link.in_flight.front().map(|(due, _)| *due), Event::arrival(id));
        self.hops += 1;
        self.digest = self.digest_of(now, id, pkt.meta());
        if self.recorder.listens() {
            self.recorder.packet(now, self.port_sites[id], PacketEvent::Delivered, pkt.meta());
        }
        match &mut self.nodes[to] {
            AnyNode::Host(host) => {
                let (flow, kind) = (pkt.meta().flow, pkt.meta().kind);
                // hosts do not forward: data that reach one are at their end
                if kind == Kind::Data {
                    self.delays.arrived(flow, now - pkt.sent());
                }
                host.on_packet(now, to_port, pkt, H::io(&mut self.recorder));
                if kind == Kind::PureAck && self.recorder.kinds().cwnd {
                    self.record_window(now, to, flow);
                }
            }
            AnyNode::Router(router) => {
                // the short way, of which no observer hears: through an empty queue to an idle link
                let (links, first) = (&self.links, self.node_timers[to].first_link);
                let idle = |port: PortId| links[(first + port.0) as usize].is_idle(now);
                if !self.recorder.listens()
                    && let Some(port) = router.pass(now, &mut pkt, idle)
                {
                    self.start(now, (first + port.0) as usize, pkt);
                    return;
                }
                router.on_packet(now, to_port, pkt, &mut self.recorder);
            }
        }
        self.after_call(now, to);
    }

    fn depart(&mut self, now: Instant, id: usize) {
        if self.links[id].poll_due != now {
            return;
        }
        self.links[id].poll_due = Instant::MAX;
        let (node, port) = (self.links[id].from as usize, self.links[id].from_port);
        if now == self.links[id].busy_until
            && self.nodes[node].watches_transmission(port)
            && let Some((_, pkt)) = self.links[id].in_flight.back()
        {
            let meta = *pkt.meta();
            self.nodes[node].on_transmitted(now, port, &meta, &mut self.recorder);
            self.after_call(now, node);
        }
        self.transmit(now, id);
        // a queue may set its deadline as a packet leaves
        self.arm(node);
    }

    fn expire(&mut self, now: Instant, node: usize) {
        if self.node_timers[node].armed != now {
            return;
        }
        self.node_timers[node].armed = Instant::MAX;
        self.nodes[node].on_timeout(now, &mut self.recorder);
        self.after_call(now, node);
    }

    /// Serves the ports that a call made ready, and arms the node's timer.
    fn after_call(&mut self, now: Instant, node: usize) {
        match self.recorder.ready.as_slice() {
            [] => {}
            &[port] => {
                self.recorder.ready.clear();
                self.serve(now, node, port);
            }
            _ => self.serve_several(now, node),
        }
        if self.recorder.kinds().tcp {
            self.record_connections(now, node);
        }
        self.arm(node);
    }

    #[cold]
    fn serve_several(&mut self, now: Instant, node: usize) {
        let mut ready = std::mem::take(&mut self.recorder.ready);
        for port in ready.drain(..) {
            self.serve(now, node, port);
        }
        debug_assert!(self.recorder.ready.is_empty(), "serving a port makes none ready");
        self.recorder.ready = ready;
    }

    #[inline]
    fn serve(&mut self, now: Instant, node: usize, port: PortId) {
        let link = (self.node_timers[node].first_link + port.0) as usize;
        self.record_backlog(now, link);
        self.transmit(now, link);
    }

    fn arm(&mut self, node: usize) {
        if let Some(at) = self.nodes[node].next_timeout()
            && at < self.node_timers[node].armed
        {
            self.node_timers[node].armed = at;
            let seq = self.next_seq(Phase::Timer);
            self.timers.push(Due::new(at, seq), index(node));
        }
    }

    /// Starts the next transmission on a link, now or when it is free.
    fn transmit(&mut self, now: Instant, id: usize) {
        let link = &self.links[id];
        if link.poll_due == now {
            // a transmission that took less than a nanosecond has its departure still to come
            return;
        }
        if now < link.busy_until {
            self.poll_at(link.busy_until, id);
            return;
        }
        let (from, port) = (link.from as usize, link.from_port);
        let (departure, again) = self.nodes[from].next_packet(now, port, &mut self.recorder);
        match departure {
            Departure::Empty => {}
            Departure::NotBefore(at) => self.poll_at(at, id),
            Departure::Packet(pkt) => {
                self.recorder.begins(now, id, &pkt);
                let free = self.start(now, id, pkt);
                if again {
                    self.poll_at(free, id);
                }
                self.record_backlog(now, id);
            }
        }
    }

    /// Starts the transmission of `pkt` on an idle link; returns its end.
    #[inline]
    fn start(&mut self, now: Instant, id: usize, pkt: H::Packet) -> Instant {
        let seq = self.next_seq(Phase::Arrival);
        let link = &mut self.links[id];
        let alone = link.in_flight.is_empty();
        let due = link.transmit(now, pkt, seq);
        let free = link.busy_until;
        if alone {
            self.events.push(due, Event::arrival(id));
        }
        free
    }

    /// Asks the port again at `at`; an event for an earlier time makes a later one stale.
    fn poll_at(&mut self, at: Instant, id: usize) {
        if self.links[id].poll_due <= at {
            return;
        }
        self.links[id].poll_due = at;
        let seq = self.next_seq(Phase::Departure);
        self.events.push(Due::new(at, seq), Event::departure(id));
    }

    /// The digest with one more arrival: when, on which link, of which packet.
    fn digest_of(&self, now: Instant, id: usize, meta: &Meta) -> u64 {
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
        let link = &self.links[id];
        for class in self.nodes[link.from as usize].outgoing(link.from_port).port.classes() {
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
            if let AnyNode::Host(host) = &self.nodes[self.senders[flow.0 as usize] as usize] {
                self.recorder.trace.tcp.extend(host.dropped(time, flow, &segment));
            }
        }
    }

    #[cold]
    fn record_window(&mut self, time: Instant, node: usize, flow: perhop_core::packet::FlowId) {
        if let AnyNode::Host(host) = &self.nodes[node] {
            self.recorder.trace.cwnd.extend(host.window(time, flow));
        }
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a scenario has fewer than 2^31 nodes and links")]
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
