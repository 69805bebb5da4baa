//! Every counter of a run at an instant. A row of a table is the difference of two, so that it is of the measured time.

use perhop_core::conditioner::ConditionerStats;
use perhop_core::dscp::Dscp;
use perhop_core::packet::{FlowId, Packet};
use perhop_core::port::{Class, ClassStats, DropStats};
use perhop_core::queue::Backlog;
use perhop_core::time::Instant;

use crate::engine::link::LinkStats;
use crate::engine::marks::MarkCounts;
use crate::engine::seam::{HostNode, SenderReading};
use crate::engine::{AnyNode, Engine};
use crate::results::sample::{Ends, Reading, conditioners, receivers, senders, udp_ends};

/// The packets that a UDP flow has sent, and its arrivals.
#[derive(Clone, Copy, Debug)]
pub struct UdpTotals {
    /// Sent.
    pub sent: Backlog,
    /// Arrived.
    pub arrived: Backlog,
}

/// Counters of a class of a port, and what waits in it.
pub type QueueTotals = (ClassStats, DropStats, Backlog);

/// Every counter since the start of the run.
#[derive(Clone, Debug)]
pub struct Totals {
    /// The values that series have too.
    pub reading: Reading,
    /// TCP flows.
    pub flows: Vec<SenderReading>,
    /// UDP flows.
    pub udp: Vec<UdpTotals>,
    /// For each flow, TCP and then UDP: what arrived by mark.
    pub marks: Vec<Vec<(Dscp, Backlog)>>,
    /// Links, and what each has lost.
    pub links: Vec<(LinkStats, u64)>,
    /// Classes of ports, and what waits in each; nothing of those to which nothing ever came.
    pub queues: Vec<Option<Box<QueueTotals>>>,
    /// Conditioners, by node.
    pub conditioners: Vec<ConditionerStats>,
    /// By class of flows: what was dropped and marked on the way, and where it could not leave.
    pub classes: Vec<DropStats>,
}

impl Totals {
    /// Reads every counter of `engine` at `at`.
    pub fn take<H: HostNode>(engine: &Engine<H>, ends: &[Ends], udp: &[Ends], at: Instant) -> Self {
        let first = FlowId(u32::try_from(ends.len()).unwrap_or(u32::MAX));
        let drains = || udp_ends(engine, first, udp).map(|(_, arrived)| arrived);
        let marks = receivers(engine, ends).map(|receiver| receiver.arrived.by_mark());
        Self {
            reading: Reading::take(engine, ends, udp, at),
            flows: senders(engine, ends).collect(),
            udp: udp_ends(engine, first, udp)
                .map(|(sent, arrived)| UdpTotals { sent, arrived: arrived.total() })
                .collect(),
            marks: marks.chain(drains().map(MarkCounts::by_mark)).collect(),
            links: engine.links.iter().map(|link| (link.stats(), engine.outgoing(link).lost())).collect(),
            queues: engine.of_classes(queue),
            conditioners: conditioners(engine).map(|one| *one.conditioner.stats()).collect(),
            classes: engine.recorder.by_class.clone(),
        }
    }
}

fn queue<P: Packet>(class: &Class<P>) -> Option<Box<QueueTotals>> {
    let stats = class.stats();
    (stats.offered.packets > 0).then(|| Box::new((stats, class.drops(), class.backlog())))
}

impl Totals {
    /// The arrivals of flow number `flow`.
    pub fn arrived(&self, flow: usize) -> Backlog {
        let mut sum = Backlog::default();
        self.marks[flow].iter().for_each(|(_, count)| sum += *count);
        sum
    }
}

/// The measured time begins `now`: what no difference gives starts anew, such as the smallest and the largest of anything.
pub fn restart<H: HostNode>(engine: &mut Engine<H>, now: Instant) {
    engine.delays.restart();
    for node in &mut engine.nodes {
        match node {
            AnyNode::Host(host) => host.restart(now),
            AnyNode::Router(router) => router.outgoing.iter_mut().for_each(|out| out.port.restart(now)),
        }
    }
}

/// The run ends `now`: what waits leaves its queue, so that its waits count.
pub fn close<H: HostNode>(engine: &mut Engine<H>, now: Instant) {
    for node in &mut engine.nodes {
        match node {
            AnyNode::Host(host) => host.ports_mut().iter_mut().for_each(|out| out.port.close(now)),
            AnyNode::Router(router) => router.outgoing.iter_mut().for_each(|out| out.port.close(now)),
        }
    }
}
