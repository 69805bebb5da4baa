//! Loads what coming events will touch while the present one is served (decisions 0038 and 0135).
//!
//! In a run that is larger than the caches near the processor a hop waits for memory several times, one read after the
//! other. Nothing here changes what a run does. Cost: some hundred instructions for each arrival, in large runs only.

use perhop_core::packet::Packet;
use perhop_prefetch::prefetch;

use super::{AnyNode, Engine};
use crate::engine::carried::Carried;
use crate::engine::link::Link;
use crate::engine::seam::HostNode;

/// Bytes of nodes and links from which looking ahead pays: a second cache of today.
const NEAR: usize = 1 << 20;

/// How far ahead each step is done, in buckets of the calendar, of which one in four or so holds an event: each step needs what
/// the one before has loaded.
const DISTANCES: [u64; 4] = [192, 96, 32, 8];

/// How far each step of looking ahead has come, in a large run.
pub(super) struct Ahead {
    routers: Vec<bool>,
    cursors: [u64; 4],
}

/// The state of looking ahead, if the run is a large one.
pub(super) fn ahead<H: HostNode>(nodes: &[AnyNode<H>], links: &[Link<H::Packet>]) -> Option<Ahead> {
    let large = size_of_val(nodes) + size_of_val(links) > NEAR;
    large.then(|| Ahead {
        routers: nodes.iter().map(|node| matches!(node, AnyNode::Router(_))).collect(),
        cursors: [0; 4],
    })
}

impl<H: HostNode> Engine<H> {
    /// Begins to load: for events far off, their entries of the calendar; nearer, their links; nearer, the packet, the host and
    /// the link by which it answers; for the next ones, the way out of a router.
    #[inline]
    pub(super) fn look_ahead(&mut self) {
        let Self { ahead: Some(Ahead { routers, cursors }), events, links, nodes, node_timers, .. } = self
        else {
            return;
        };
        let [entries, lines, packets, ways] = cursors;
        events.load_ahead(entries, DISTANCES[0]);
        events.show_ahead(lines, DISTANCES[1], |event| {
            prefetch(&links[event.link()].in_flight);
        });
        events.show_ahead(packets, DISTANCES[2], |event| {
            if !event.is_arrival() {
                return;
            }
            let link = &links[event.link()];
            if let Some((_, pkt)) = link.in_flight.front() {
                pkt.prefetch();
            }
            let to = link.to as usize;
            if !routers[to] {
                prefetch(&nodes[to]);
                prefetch(&links[node_timers[to].first_link as usize]);
            }
        });
        events.show_ahead(ways, DISTANCES[3], |event| {
            // the way out of a router, for the packet that arrives there
            if event.is_arrival()
                && let link = &links[event.link()]
                && let to = link.to as usize
                && routers[to]
                && let AnyNode::Router(router) = &nodes[to]
                && let Some((_, pkt)) = link.in_flight.front()
                && let Some((port, outgoing)) = router.way_out(pkt.meta())
            {
                prefetch(outgoing);
                prefetch(&links[(node_timers[to].first_link + port) as usize]);
            }
        });
    }
}
