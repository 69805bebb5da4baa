//! What a finished run leaves, as plain tables.

use perhop_core::conditioner::ConditionerStats;
use perhop_core::packet::{Dscp, FlowId};
use perhop_core::port::{ClassStats, DropStats};
use perhop_core::queue::Backlog;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_tcp::sender::SenderStats;

use crate::datagrams::{Drain, Source};
use crate::engine::{AnyNode, Engine};
use crate::link::LinkStats;
use crate::observe::Trace;
use crate::router::Seat;
use crate::sample::{Ends, Reading, Series, both_ends, busy_between, udp_ends};

/// A flow's row. Rates are over the measured time, from the end of the warm-up to the end of the run.
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// When its first segment could leave.
    pub start: Instant,
    /// Counters since the start of the run.
    pub stats: SenderStats,
    /// Payload delivered in order during the measured time.
    pub delivered: Bytes,
    /// The same as a rate, bit/s.
    pub goodput_bit_s: f64,
    /// Data packets that arrived, repeats and headers included, bit/s.
    pub throughput_bit_s: f64,
    /// Smoothed round-trip time at the end.
    pub srtt: Option<Span>,
    /// Smallest and largest round-trip sample.
    pub rtt: Option<(Span, Span)>,
    /// Round-trip samples since the start of the run.
    pub rtt_samples: u64,
}

/// A link's row.
#[derive(Clone, Debug)]
pub struct LinkResult {
    /// Counters since the start of the run.
    pub stats: LinkStats,
    /// Serialisation rate.
    pub rate: BitRate,
    /// Part of the measured time spent transmitting data.
    pub utilization_data: f64,
    /// Packets lost by the link's `loss` and `drop`, before they were queued, since the start of the run.
    pub lost: u64,
    /// Part of the measured time spent transmitting pure ACKs.
    pub utilization_acks: f64,
}

/// A queue's row: counters since the start of the run, and what waits at its end.
#[derive(Clone, Debug)]
pub struct QueueResult {
    /// Path of the class.
    pub path: String,
    /// Counters.
    pub stats: ClassStats,
    /// Dropped packets by colour and reason.
    pub drops: DropStats,
    /// What waits.
    pub backlog: Backlog,
}

/// A UDP flow's row. Throughput is over the measured time, the rest since the start of the run.
#[derive(Clone, Debug)]
pub struct UdpResult {
    /// When its first packet could leave.
    pub start: Instant,
    /// What it sent.
    pub sent: Backlog,
    /// What arrived.
    pub arrived: Backlog,
    /// What arrived during the measured time, bit/s.
    pub throughput_bit_s: f64,
    /// Mean time from host to host, s; NaN where nothing arrived.
    pub delay_mean_s: f64,
    /// Shortest and longest.
    pub delays: Option<(Span, Span)>,
}

/// What arrived of a flow with one mark, during the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkResult {
    /// Number of the flow: TCP flows first, then UDP flows.
    pub flow: usize,
    /// The mark.
    pub mark: Dscp,
    /// Packets and their bytes on the wire, repeats included.
    pub arrived: Backlog,
}

/// A conditioner's row: counters since the start of the run, and what its shaper holds at its end.
#[derive(Clone, Debug)]
pub struct ConditionerResult {
    /// Its path.
    pub path: String,
    /// Counters.
    pub stats: ConditionerStats,
    /// What its shaper holds.
    pub held: Backlog,
}

/// Totals of the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Counts {
    /// Events processed.
    pub events: u64,
    /// Packets that finished transmission and propagation on a link.
    pub packet_hops: u64,
    /// Packets ever allocated.
    pub packets_created: u64,
}

/// Everything a run leaves.
#[derive(Debug)]
pub struct Results {
    /// In the scenario's order.
    pub flows: Vec<FlowResult>,
    /// In the scenario's order.
    pub udp: Vec<UdpResult>,
    /// By flow, then by mark.
    pub marks: Vec<MarkResult>,
    /// By node, then in the scenario's order.
    pub conditioners: Vec<ConditionerResult>,
    /// In the order of `link_names`.
    pub links: Vec<LinkResult>,
    /// Names of the links.
    pub link_names: Vec<String>,
    /// Every class of every port.
    pub queues: Vec<QueueResult>,
    /// Values for each interval.
    pub series: Series,
    /// What was recorded.
    pub trace: Trace,
    /// Path of each site in the trace.
    pub sites: Vec<String>,
    /// Totals.
    pub counts: Counts,
    /// Broken invariants, in words; empty when all hold.
    pub invariants: Vec<String>,
    /// Digest of every arrival of the run.
    pub event_digest: u64,
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn rate(bytes: Bytes, secs: f64) -> f64 {
    bytes.bits() as f64 / secs
}

/// A flow's row from two readings and its sender.
pub fn flow_results(
    engine: &Engine,
    ends: &[Ends],
    starts: &[Instant],
    from: &Reading,
    to: &Reading,
) -> Vec<FlowResult> {
    let secs = (to.at - from.at).as_secs_f64();
    let row = |(i, &start): (usize, &Instant)| {
        let flow = FlowId(u32::try_from(i).unwrap_or(u32::MAX));
        let sender = &both_ends(engine, flow, ends[i]).0.sender;
        let delivered = to.flows[i].delivered - from.flows[i].delivered;
        FlowResult {
            start,
            stats: *sender.stats(),
            delivered,
            goodput_bit_s: rate(delivered, secs),
            throughput_bit_s: rate(to.flows[i].arrived - from.flows[i].arrived, secs),
            srtt: sender.rtt().srtt(),
            rtt: sender.rtt().extremes(),
            rtt_samples: sender.rtt().samples(),
        }
    };
    starts.iter().take(ends.len()).enumerate().map(row).collect()
}

/// The UDP flows' rows from two readings.
pub fn udp_results(
    engine: &Engine,
    ends: &[Ends],
    starts: &[Instant],
    from: &Reading,
    to: &Reading,
) -> Vec<UdpResult> {
    let secs = (to.at - from.at).as_secs_f64();
    let first = starts.len() - ends.len();
    let flows = udp_ends(engine, FlowId(u32::try_from(first).unwrap_or(u32::MAX)), ends);
    let row = |(i, (source, drain)): (usize, (&Source, &Drain))| {
        let arrived = drain.arrived.total();
        #[expect(clippy::cast_precision_loss, reason = "a mean for people and tables")]
        let delay_mean_s = drain.delay_sum as f64 / arrived.packets as f64 / 1e9;
        UdpResult {
            start: starts[first + i],
            sent: source.sent,
            arrived,
            throughput_bit_s: rate(to.udp[i] - from.udp[i], secs),
            delay_mean_s,
            delays: drain.delays,
        }
    };
    flows.enumerate().map(row).collect()
}

/// What arrived by flow and mark between two readings.
pub fn mark_results(from: &Reading, to: &Reading) -> Vec<MarkResult> {
    let mut rows = Vec::new();
    for (flow, marks) in to.marks.iter().enumerate() {
        let before = from.marks.get(flow).map_or(&[][..], Vec::as_slice);
        for (mark, total) in marks {
            let earlier = before.iter().find(|(known, _)| known == mark).map_or(Backlog::default(), |m| m.1);
            let packets = total.packets - earlier.packets;
            if packets > 0 {
                let arrived = Backlog { packets, bytes: total.bytes - earlier.bytes };
                rows.push(MarkResult { flow, mark: *mark, arrived });
            }
        }
    }
    rows
}

/// The conditioners' rows; `sites` are the paths of elements.
pub fn conditioner_results(engine: &Engine, sites: &[String]) -> Vec<ConditionerResult> {
    let routers = engine.nodes.iter().filter_map(|node| match node {
        AnyNode::Router(router) => Some(router),
        AnyNode::Host(_) => None,
    });
    let row = |seat: &Seat| ConditionerResult {
        path: sites[seat.conditioner.site().0 as usize].clone(),
        stats: *seat.conditioner.stats(),
        held: seat.conditioner.held(),
    };
    routers.flat_map(|router| router.seats.iter().map(row)).collect()
}

/// The links' rows from two readings.
pub fn link_results(engine: &Engine, from: &Reading, to: &Reading) -> Vec<LinkResult> {
    let secs = (to.at - from.at).as_secs_f64();
    let row = |(i, link): (usize, &crate::link::Link)| {
        let (data, acks) = busy_between(from.links[i], to.links[i]);
        LinkResult {
            stats: link.stats(),
            rate: link.rate(),
            lost: engine.outgoing(link).lost(),
            utilization_data: data / secs,
            utilization_acks: acks / secs,
        }
    };
    engine.links.iter().enumerate().map(row).collect()
}

/// Conservation of packets and bytes: in each queue, from each port to its link, on each link, and of all packets.
pub fn broken_invariants(
    engine: &Engine,
    names: &[String],
    queues: &[QueueResult],
    conditioners: &[ConditionerResult],
) -> Vec<String> {
    let mut broken: Vec<String> = queues
        .iter()
        .filter(|q| !q.stats.conserved(q.backlog))
        .map(|q| {
            format!("{}: offered != sent + dropped + taken + backlog: {:?}, {:?}", q.path, q.stats, q.backlog)
        })
        .collect();
    let unsound = conditioners.iter().filter(|c| !c.stats.conserved(c.held));
    broken.extend(unsound.map(|c| {
        format!("{}: in != passed + released + dropped + held: {:?}, {:?}", c.path, c.stats, c.held)
    }));
    let mut held = engine.recorder.idle_packets();
    held += conditioners.iter().map(|c| c.held.packets).sum::<u64>();
    let mut delivered = 0;
    for (link, name) in engine.links.iter().zip(names) {
        if !link.conserved() {
            broken.push(format!("link {name}: bytes sent != delivered + in flight: {:?}", link.stats()));
        }
        let mut handed = Backlog::default();
        for class in engine.outgoing(link).port.classes() {
            handed.packets += class.stats().sent.packets;
            handed.bytes += class.stats().sent.bytes;
            held += class.backlog().packets;
        }
        let sent = Backlog { packets: link.stats().packets, bytes: link.stats().bytes };
        if handed != sent {
            broken.push(format!("link {name}: its port handed over {handed:?}, it transmitted {sent:?}"));
        }
        held += link.in_flight.len() as u64;
        delivered += link.stats().delivered;
    }
    if delivered != engine.hops {
        broken.push(format!("links delivered {delivered} packets, nodes received {}", engine.hops));
    }
    if held != engine.recorder.created {
        broken.push(format!(
            "{} packets were created, {held} are idle, queued or in flight",
            engine.recorder.created
        ));
    }
    broken
}
