//! The results of a finished run, as plain tables.

pub mod by_class;
pub mod e_model;
pub mod sample;
pub mod tables;
pub mod totals;

use std::ops::Deref;
use std::sync::Arc;

use perhop_core::conditioner::ConditionerStats;
use perhop_core::packet::{Dscp, FlowId};
use perhop_core::port::{Class, ClassStats, DropStats};
use perhop_core::queue::Backlog;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_scenario::build::Sites;
use perhop_tcp::sender::SenderStats;

use crate::applications::application::{Application, Load};
use crate::applications::call::CallReceiver;
use crate::engine::delays::{DelayRange, Delays};
use crate::engine::link::{Link, LinkStats};
use crate::engine::observe::Trace;
use crate::engine::seam::HostNode;
use crate::engine::{AnyNode, Engine};
use crate::results::by_class::ClassResult;
use crate::results::sample::{Ends, Series, conditioners, used_between};
use crate::results::totals::{QueueTotals, Totals, UdpTotals};
use perhop_core::router::IngressConditioner;

/// A flow's row, of the measured time: from the end of the warm-up to the end of the run.
#[derive(Clone, Debug)]
pub struct FlowResult {
    /// When its first segment could leave.
    pub start: Instant,
    /// Counters, and when in the run the transfer was over.
    pub stats: SenderStats,
    /// Acknowledgments that its receiver sent.
    pub acks: u64,
    /// Payload delivered in order.
    pub delivered: Bytes,
    /// The same as a rate, bit/s.
    pub goodput_bit_s: f64,
    /// Data packets that arrived, repeats and headers included, bit/s.
    pub throughput_bit_s: f64,
    /// Smoothed round-trip time at the end.
    pub srtt: Option<Span>,
    /// Smallest and largest round-trip sample.
    pub rtt: Option<(Span, Span)>,
    /// Round-trip samples.
    pub rtt_samples: u64,
    /// From host to host, of the packets with data that arrived.
    pub delay: Option<DelayRange>,
}

/// A link's row, of the measured time.
#[derive(Clone, Debug)]
pub struct LinkResult {
    /// Counters.
    pub stats: LinkStats,
    /// Serialisation rate.
    pub rate: BitRate,
    /// Part of the time spent transmitting data.
    pub utilization_data: f64,
    /// Packets lost by the link's `loss` and `drop`, before they were queued.
    pub lost: u64,
    /// Part of the time spent transmitting pure ACKs.
    pub utilization_acks: f64,
}

/// A queue's row.
#[derive(Clone, Debug)]
pub struct QueueResult {
    /// Path of the class.
    pub path: String,
    /// Shared by the queues to which nothing ever came.
    pub counts: Arc<QueueCounts>,
}

impl Deref for QueueResult {
    type Target = QueueCounts;

    fn deref(&self) -> &QueueCounts {
        &self.counts
    }
}

/// Counters of a queue in the measured time, and what waits at its end.
#[derive(Clone, Debug)]
pub struct QueueCounts {
    /// Counters.
    pub stats: ClassStats,
    /// Dropped packets by colour and reason.
    pub drops: DropStats,
    /// The backlog when the measured time began.
    pub initial_backlog: Backlog,
    /// The backlog.
    pub backlog: Backlog,
    /// Packets and bytes that waited, averaged over time.
    pub mean_backlog: (f64, f64),
    /// Mean wait of the packets that were sent, s; NaN without any.
    pub wait_mean_s: f64,
    /// The longest.
    pub wait_max: Span,
}

/// A UDP flow's row, of the measured time; delays are of the packets that arrived in it.
#[derive(Clone, Debug)]
pub struct UdpResult {
    /// When its first packet could leave.
    pub start: Instant,
    /// Packets sent.
    pub sent: Backlog,
    /// Packets that arrived.
    pub arrived: Backlog,
    /// The same as a rate, bit/s.
    pub throughput_bit_s: f64,
    /// From host to host, of the packets that arrived.
    pub delay: Option<DelayRange>,
}

/// The arrivals of a flow with one mark, during the measured time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MarkResult {
    /// Number of the flow: TCP flows first, then UDP flows.
    pub flow: usize,
    /// The mark.
    pub mark: Dscp,
    /// Packets and their bytes on the wire, repeats included.
    pub arrived: Backlog,
}

/// A conditioner's row: counters of the measured time, and what its shaper holds at its end.
#[derive(Clone, Debug)]
pub struct ConditionerResult {
    /// Its path.
    pub path: String,
    /// Counters.
    pub stats: ConditionerStats,
    /// The packets that its shaper holds.
    pub held: Backlog,
}

/// An application's row, of the loads that were asked for in the measured time.
#[derive(Clone, Debug)]
pub struct ApplicationResult {
    /// Which of the scenario's it is.
    pub number: usize,
    /// The loads, the first first.
    pub loads: Vec<Load>,
    /// How long those took that are whole, the shortest first.
    pub took: Vec<Span>,
    /// Of video: how long the first chunk of the run took, how long it stood still, and how often.
    pub played: Option<Played>,
}

/// How video was played.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Played {
    /// From the start to the first chunk.
    pub startup: Option<Span>,
    /// How long it stood still in the measured time, after it had begun.
    pub stood: Span,
    /// How often.
    pub stalls: u64,
}

/// Totals of the run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Events processed.
    pub events: u64,
    /// Packets that finished transmission and propagation on a link.
    pub packet_hops: u64,
    /// Packets ever allocated.
    pub packets_created: u64,
}

/// Everything a run leaves.
#[derive(Debug, Default)]
pub struct Results {
    /// In the scenario's order.
    pub flows: Vec<FlowResult>,
    /// In the scenario's order.
    pub udp: Vec<UdpResult>,
    /// By class of flows, in the order in which flows first name them.
    pub classes: Vec<ClassResult>,
    /// In the scenario's order.
    pub applications: Vec<ApplicationResult>,
    /// The packets heard of calls: the UDP flow, and what came of it; in the scenario's order.
    pub call_receivers: Vec<(usize, CallReceiver)>,
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
    /// The records.
    pub trace: Trace,
    /// Path of each site in the trace.
    pub sites: Sites,
    /// Totals.
    pub counts: Counts,
    /// Broken invariants, in words; empty when all hold.
    pub invariants: Vec<String>,
    /// Digest of every arrival of the run.
    pub event_digest: u64,
}

fn seconds(from: &Totals, to: &Totals) -> f64 {
    (to.reading.at - from.reading.at).as_secs_f64()
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn rate(bytes: Bytes, secs: f64) -> f64 {
    bytes.bits() as f64 / secs
}

/// The flows' rows.
pub fn flow_results(delays: &Delays, starts: &[Instant], from: &Totals, to: &Totals) -> Vec<FlowResult> {
    let secs = seconds(from, to);
    let row = |(i, &start): (usize, &Instant)| {
        let sender = &to.flows[i];
        let (before, after) = (&from.reading.flows[i], &to.reading.flows[i]);
        let delivered = after.delivered - before.delivered;
        FlowResult {
            start,
            stats: sender.stats.since(&from.flows[i].stats),
            acks: after.acks - before.acks,
            delivered,
            goodput_bit_s: rate(delivered, secs),
            throughput_bit_s: rate(after.arrived - before.arrived, secs),
            srtt: sender.srtt,
            rtt: sender.rtt,
            rtt_samples: sender.rtt_samples - from.flows[i].rtt_samples,
            delay: delays.of_flow(i),
        }
    };
    starts.iter().take(to.flows.len()).enumerate().map(row).collect()
}

/// The UDP flows' rows.
pub fn udp_results(delays: &Delays, starts: &[Instant], from: &Totals, to: &Totals) -> Vec<UdpResult> {
    let secs = seconds(from, to);
    let first = starts.len() - to.udp.len();
    let row = |(i, (before, after)): (usize, (&UdpTotals, &UdpTotals))| {
        let arrived = after.arrived - before.arrived;
        UdpResult {
            start: starts[first + i],
            sent: after.sent - before.sent,
            arrived,
            throughput_bit_s: rate(arrived.bytes, secs),
            delay: delays.of_flow(first + i),
        }
    };
    from.udp.iter().zip(&to.udp).enumerate().map(row).collect()
}

/// The applications' rows.
pub fn application_results<H: HostNode>(
    engine: &Engine<H>,
    from: &Totals,
    to: &Totals,
) -> Vec<ApplicationResult> {
    let hosts = engine.nodes.iter().filter_map(|node| match node {
        AnyNode::Host(host) => Some(host),
        AnyNode::Router(_) => None,
    });
    let row = |application: &Application| {
        let measured = application.loads().iter().filter(|load| load.requested >= from.reading.at);
        let loads: Vec<Load> = measured.copied().collect();
        let mut took: Vec<Span> = loads.iter().filter_map(Load::took).collect();
        took.sort_unstable();
        let played = application.player().map(|player| {
            let (stood, stalls) = player.stood(from.reading.at, to.reading.at);
            Played { startup: application.loads().first().and_then(Load::took), stood, stalls }
        });
        ApplicationResult { number: application.number(), loads, took, played }
    };
    let mut rows: Vec<ApplicationResult> = hosts.flat_map(HostNode::applications).map(row).collect();
    rows.sort_unstable_by_key(|row| row.number);
    rows
}

/// The packets heard of calls.
pub fn call_results<H: HostNode>(engine: &Engine<H>, tcp: usize, udp: &[Ends]) -> Vec<(usize, CallReceiver)> {
    let row = |(i, (_, to)): (usize, &Ends)| match &engine.nodes[*to] {
        AnyNode::Host(host) => {
            let flow = FlowId(u32::try_from(tcp + i).unwrap_or(u32::MAX));
            host.call_receiver(flow).map(|receiver| (i, *receiver))
        }
        AnyNode::Router(_) => None,
    };
    udp.iter().enumerate().filter_map(row).collect()
}

/// The arrivals by flow and mark.
pub fn mark_results(from: &Totals, to: &Totals) -> Vec<MarkResult> {
    let mut rows = Vec::new();
    for (flow, marks) in to.marks.iter().enumerate() {
        let before = from.marks.get(flow).map_or(&[][..], Vec::as_slice);
        for (mark, total) in marks {
            let earlier = before.iter().find(|(known, _)| known == mark).map_or(Backlog::default(), |m| m.1);
            let arrived = *total - earlier;
            if arrived.packets > 0 {
                rows.push(MarkResult { flow, mark: *mark, arrived });
            }
        }
    }
    rows
}

/// The conditioners' rows; `sites` are the paths of elements.
pub fn conditioner_results<H: HostNode>(
    engine: &Engine<H>,
    sites: &Sites,
    from: &Totals,
    to: &Totals,
) -> Vec<ConditionerResult> {
    let counted = from.conditioners.iter().zip(&to.conditioners);
    let row =
        |(one, (before, after)): (&IngressConditioner<H::Packet>, (&ConditionerStats, &ConditionerStats))| {
            ConditionerResult {
                path: sites[one.conditioner.site()].to_owned(),
                stats: after.since(before),
                held: one.conditioner.held(),
            }
        };
    conditioners(engine).zip(counted).map(row).collect()
}

/// The rows of every class of every port, which has been closed; `sites` are the paths of elements.
pub fn queue_results<H: HostNode>(
    engine: &Engine<H>,
    sites: &Sites,
    from: &Totals,
    to: &Totals,
) -> Vec<QueueResult> {
    let counts = |class: &Class<H::Packet>, before: QueueTotals, after: QueueTotals| {
        let (stats, waits) = (after.0.since(&before.0), class.waits());
        Arc::new(QueueCounts {
            stats,
            drops: after.1.since(&before.1),
            initial_backlog: before.2,
            backlog: after.2,
            mean_backlog: waits.mean_backlog(from.reading.at, to.reading.at),
            wait_mean_s: waits.mean_s(stats.sent.packets),
            wait_max: waits.longest(),
        })
    };
    let mut unused = None;
    let mut counted = from.queues.iter().zip(&to.queues);
    engine.of_classes(|class| {
        let (before, after) = counted.next().expect("every class was counted");
        let path = sites[class.site()].to_owned();
        let counts = match after {
            Some(after) => counts(class, before.as_deref().copied().unwrap_or_default(), **after),
            None => {
                let none = || counts(class, QueueTotals::default(), QueueTotals::default());
                Arc::clone(unused.get_or_insert_with(none))
            }
        };
        QueueResult { path, counts }
    })
}

/// The links' rows.
pub fn link_results<H: HostNode>(engine: &Engine<H>, from: &Totals, to: &Totals) -> Vec<LinkResult> {
    let secs = seconds(from, to);
    let row = |(i, link): (usize, &Link<H::Packet>)| {
        let ([data, acks], of) = used_between(from.reading.links[i], to.reading.links[i], secs);
        LinkResult {
            stats: to.links[i].0.since(&from.links[i].0),
            rate: link.rate(),
            lost: to.links[i].1 - from.links[i].1,
            utilization_data: data / of,
            utilization_acks: acks / of,
        }
    };
    engine.links.iter().enumerate().map(row).collect()
}

/// Conservation of packets and bytes over the whole run: in each queue, from each port to its link, on each link, and of all packets.
pub fn broken_invariants<H: HostNode>(engine: &Engine<H>, names: &[String], sites: &Sites) -> Vec<String> {
    let mut broken = Vec::new();
    for class in engine.classes() {
        let (path, stats, backlog) = (&sites[class.site()], class.stats(), class.backlog());
        if !stats.conserved(backlog) {
            broken.push(format!("{path}: offered != sent + dropped + backlog: {stats:?}, {backlog:?}"));
        }
        let drops = class.drops();
        if !drops.conserved(stats.dropped) {
            let dropped = stats.dropped.packets;
            broken.push(format!("{path}: {dropped} packets dropped, by colour and reason {drops:?}"));
        }
    }
    let mut held = engine.recorder.idle_packets();
    for one in conditioners(engine) {
        let conditioner = &one.conditioner;
        let (path, stats, kept) = (&sites[conditioner.site()], conditioner.stats(), conditioner.held());
        if !stats.conserved(kept) {
            broken.push(format!("{path}: in != passed + released + dropped + held: {stats:?}, {kept:?}"));
        }
        held += kept.packets;
    }
    held += engine.nodes.iter().map(AnyNode::held).sum::<u64>();
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
            "{} packets were created, {held} are idle, at hosts, queued or in flight",
            engine.recorder.created
        ));
    }
    broken
}
