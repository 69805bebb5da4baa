//! A node that forwards by a table from (flow, direction) to port.

use perhop_core::node::{Departure, Io, Node};
use perhop_core::packet::{Dir, FlowId, Meta, Packet, PortId};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::Instant;

use crate::flow_table::FlowTable;
use crate::outgoing::Outgoing;
use crate::packet::SimPacket;

/// Key of a packet's route.
pub fn route_key(flow: FlowId, dir: Dir) -> u32 {
    2 * flow.0 + u32::from(dir == Dir::Reverse)
}

/// A router.
pub struct Router {
    site: SiteId,
    /// Outgoing interfaces, by port.
    pub outgoing: Vec<Outgoing>,
    routes: FlowTable,
}

impl Router {
    /// A router that reports packets without a route as dropped at `site`.
    pub const fn new(site: SiteId, outgoing: Vec<Outgoing>, routes: FlowTable) -> Self {
        Self { site, outgoing, routes }
    }

    fn route(&self, meta: &Meta) -> Option<u32> {
        self.routes.get(route_key(meta.flow, meta.dir))
    }
}

impl Node<SimPacket> for Router {
    fn on_packet(&mut self, now: Instant, _from: PortId, pkt: SimPacket, io: &mut dyn Io<SimPacket>) {
        match self.route(pkt.meta()) {
            Some(port) => {
                self.outgoing[port as usize].enqueue(now, pkt, io);
                io.ready(PortId(port));
            }
            None => io.dropped(now, self.site, pkt, DropReason::Unclassified),
        }
    }

    fn poll_transmit(
        &mut self,
        now: Instant,
        to: PortId,
        io: &mut dyn Io<SimPacket>,
    ) -> Departure<SimPacket> {
        self.outgoing[to.0 as usize].port.dequeue(now, io)
    }

    fn waits(&self, to: PortId) -> bool {
        !self.outgoing[to.0 as usize].port.is_empty()
    }
}
