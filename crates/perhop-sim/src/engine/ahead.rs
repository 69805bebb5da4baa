//! Loads what coming events will touch while the present one is served (decision 0038).
//!
//! In a run that is larger than the caches near the processor a hop waits for memory several times, one read after the
//! other. Nothing here changes what a run does. Cost: some hundred instructions for each arrival, in large runs only.

use perhop_core::packet::Packet;
use perhop_prefetch::prefetch;

use super::{AnyNode, Engine, Event};
use crate::engine::carried::Carried;
use crate::engine::link::Link;
use crate::engine::seam::HostNode;

/// Bytes of nodes and links from which looking ahead pays: a second cache of today.
const NEAR: usize = 1 << 20;

/// Which nodes are routers, if the run is a large one.
pub(super) fn routers<H: HostNode>(nodes: &[AnyNode<H>], links: &[Link<H::Packet>]) -> Option<Vec<bool>> {
    let large = size_of_val(nodes) + size_of_val(links) > NEAR;
    large.then(|| nodes.iter().map(|node| matches!(node, AnyNode::Router(_))).collect())
}

impl<H: HostNode> Engine<H> {
    /// Begins to load: for events that are some way off, the link; for those that may be next, whose link has been loaded
    /// by now, the packet, the host and the link by which it answers; for the next, the way out of a router.
    #[inline]
    pub(super) fn look_ahead(&self, routers: &[bool]) {
        for event in self.events.soon() {
            let (Event::Arrival(link) | Event::Departure(link)) = event;
            prefetch(&self.links[link as usize].in_flight);
        }
        for event in self.events.next() {
            let Event::Arrival(link) = event else { continue };
            let link = &self.links[link as usize];
            if let Some((_, pkt)) = link.in_flight.front() {
                pkt.prefetch();
            }
            let to = link.to as usize;
            if !routers[to] {
                prefetch(&self.nodes[to]);
                prefetch(&self.links[self.node_timers[to].first_link as usize]);
            }
        }
        if let Some(Event::Arrival(link)) = self.events.second() {
            self.look_out(&self.links[link as usize], routers);
        }
    }

    /// The way out of the router at the end of `link`, for the packet that arrives there next.
    fn look_out(&self, link: &Link<H::Packet>, routers: &[bool]) {
        let to = link.to as usize;
        if routers[to]
            && let AnyNode::Router(router) = &self.nodes[to]
            && let Some((_, pkt)) = link.in_flight.front()
            && let Some((port, outgoing)) = router.way_out(pkt.meta())
        {
            prefetch(outgoing);
            prefetch(&self.links[(self.node_timers[to].first_link + port) as usize]);
        }
    }
}
