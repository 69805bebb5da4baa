//! A node that forwards by a table from (flow, direction) to port, or else by destination, and conditions what comes in.

use crate::classify::{Address, Flow};
use crate::conditioner::Conditioner;
use crate::node::{Departure, Io, Node};
use crate::outgoing::Outgoing;
use crate::packet::{Dir, FlowId, Meta, OnWire, PortId};
use crate::range_table::RangeTable;
use crate::shaper::Passage;
use crate::sink::{DropReason, SiteId};
use crate::time::Instant;

/// Key of a packet's route.
pub fn route_key(flow: FlowId, dir: Dir) -> u32 {
    2 * flow.0 + u32::from(dir == Dir::Reverse)
}

/// A conditioner and where it stands.
pub struct IngressConditioner<P> {
    /// The conditioner.
    pub conditioner: Conditioner<P>,
    /// The ports whose packets it treats.
    ports: Vec<PortId>,
}

impl<P> IngressConditioner<P> {
    /// `conditioner` for what comes in by `ports`.
    pub const fn new(conditioner: Conditioner<P>, ports: Vec<PortId>) -> Self {
        Self { conditioner, ports }
    }
}

/// A router.
pub struct Router<P: OnWire> {
    site: SiteId,
    /// Outgoing interfaces, by port.
    pub outgoing: Vec<Outgoing<P>>,
    routes: RangeTable,
    /// Ports towards hosts, by address: for flows that have no route.
    hosts: Vec<(Address, PortId)>,
    /// Its conditioners of arriving packets; each passes through those of its port, in this order.
    pub conditioners: Vec<IngressConditioner<P>>,
    /// By port: which of `conditioners` treat what comes in there; nothing where there are no conditioners.
    treating: Vec<Vec<usize>>,
    /// Which of `conditioners` have deadlines, those that shape among them. The others are never asked.
    timed_conditioners: Vec<usize>,
    /// Ports whose queues have deadlines.
    timed_ports: Vec<usize>,
}

impl<P: OnWire> Router<P> {
    /// A router that reports packets that have no way out as dropped at `site`. A packet's way is that of its flow in
    /// `routes`, by [`route_key`], or else of its destination in `hosts`.
    pub fn new(
        site: SiteId,
        outgoing: Vec<Outgoing<P>>,
        routes: RangeTable,
        mut hosts: Vec<(Address, PortId)>,
        conditioners: Vec<IngressConditioner<P>>,
    ) -> Self {
        hosts.sort_unstable();
        let mut treating = vec![Vec::new(); if conditioners.is_empty() { 0 } else { outgoing.len() }];
        for (at, one) in conditioners.iter().enumerate() {
            for port in &one.ports {
                treating[port.0 as usize].push(at);
            }
        }
        let timed_conditioners =
            (0..conditioners.len()).filter(|&at| conditioners[at].conditioner.has_deadlines()).collect();
        let timed_ports = (0..outgoing.len()).filter(|&port| outgoing[port].port.has_deadlines()).collect();
        Self { site, outgoing, routes, hosts, conditioners, treating, timed_conditioners, timed_ports }
    }

    /// Takes note of a flow that came after this was built: its conditioners classify its packets from now on.
    pub fn learn(&mut self, id: FlowId, flow: &Flow) {
        for one in &mut self.conditioners {
            one.conditioner.learn(id, flow);
        }
    }

    fn towards(&self, host: Address) -> Option<u32> {
        let at = self.hosts.binary_search_by_key(&host, |known| known.0).ok()?;
        Some(self.hosts[at].1.0)
    }

    /// The port by which a packet leaves, if its flow has a route that need not be searched for.
    pub fn way_out(&self, meta: &Meta) -> Option<(u32, &Outgoing<P>)> {
        let port = self.routes.at(route_key(meta.flow, meta.dir))?;
        Some((port, &self.outgoing[port as usize]))
    }

    /// Lets `pkt` through at once, if nothing here conditions or has deadlines, the link of its way out is `idle` and it may
    /// pass there ([`Outgoing::pass`]). Returns by which port; `None` if nothing has changed.
    #[inline]
    pub fn pass(&mut self, now: Instant, pkt: &mut P, idle: impl FnOnce(PortId) -> bool) -> Option<PortId> {
        if !self.conditioners.is_empty() || !self.timed_ports.is_empty() {
            return None;
        }
        let port = self.routes.at(route_key(pkt.meta().flow, pkt.meta().dir))?;
        (idle(PortId(port)) && self.outgoing[port as usize].pass(now, pkt)).then_some(PortId(port))
    }

    /// Takes `pkt` through the conditioners from number `first` on, and forwards what comes out.
    fn condition(&mut self, now: Instant, from: PortId, first: usize, mut pkt: P, io: &mut dyn Io<P>) {
        let treating = self.treating.get(from.0 as usize).map_or(&[][..], Vec::as_slice);
        for &at in treating.iter().filter(|&&at| at >= first) {
            match self.conditioners[at].conditioner.push(now, from, pkt, io) {
                Passage::On(passed) => pkt = passed,
                Passage::Held | Passage::Gone => return,
            }
        }
        self.forward(now, pkt, io);
    }

    /// Lets go what shapers release by now.
    fn release(&mut self, now: Instant, io: &mut dyn Io<P>) {
        for timed in 0..self.timed_conditioners.len() {
            let at = self.timed_conditioners[timed];
            while let Some((from, pkt)) = self.conditioners[at].conditioner.pop(now) {
                self.condition(now, from, at + 1, pkt, io);
            }
        }
    }

    #[inline]
    fn forward(&mut self, now: Instant, pkt: P, io: &mut dyn Io<P>) {
        let key = route_key(pkt.meta().flow, pkt.meta().dir);
        match self.routes.at(key).or_else(|| self.search(key, &pkt)) {
            Some(port) => {
                self.outgoing[port as usize].enqueue(now, pkt, io);
                io.ready(PortId(port));
            }
            None => io.dropped(now, self.site, pkt, DropReason::Unclassified),
        }
    }

    #[cold]
    #[inline(never)]
    fn search(&self, key: u32, pkt: &P) -> Option<u32> {
        self.routes.search(key).or_else(|| self.towards(pkt.destination()?))
    }
}

impl<P: OnWire> Node<P> for Router<P> {
    type Io = dyn Io<P>;

    fn on_packet(&mut self, now: Instant, from: PortId, pkt: P, io: &mut Self::Io) {
        if self.conditioners.is_empty() {
            self.forward(now, pkt, io);
        } else {
            // what a shaper releases now makes room for what arrives now
            self.release(now, io);
            self.condition(now, from, 0, pkt, io);
        }
    }

    fn poll_transmit(&mut self, now: Instant, to: PortId, io: &mut Self::Io) -> Departure<P> {
        let departure = self.outgoing[to.0 as usize].port.dequeue(now, io);
        if let Departure::Packet(pkt) = &departure
            && let Some(treating) = self.treating.get(to.0 as usize)
        {
            for &at in treating {
                self.conditioners[at].conditioner.observe_reverse(now, pkt.meta());
            }
        }
        departure
    }

    fn waits(&self, to: PortId) -> bool {
        !self.outgoing[to.0 as usize].port.is_empty()
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        if self.timed_conditioners.is_empty() && self.timed_ports.is_empty() {
            return None;
        }
        let conditioners =
            self.timed_conditioners.iter().filter_map(|&at| self.conditioners[at].conditioner.next_timeout());
        let queues = self.timed_ports.iter().filter_map(|&port| self.outgoing[port].port.next_timeout());
        conditioners.chain(queues).min()
    }

    fn on_timeout(&mut self, now: Instant, io: &mut Self::Io) {
        for &port in &self.timed_ports {
            self.outgoing[port].port.on_timeout(now, io);
        }
        for &at in &self.timed_conditioners {
            self.conditioners[at].conditioner.on_timeout(now);
        }
        self.release(now, io);
    }
}
