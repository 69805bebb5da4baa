//! Series: what flows, links and queues did in each interval.

use perhop_core::meter::BucketName;
use perhop_core::packet::{Color, FlowId, Packet};
use perhop_core::port::Class;
use perhop_core::queue::Backlog;
use perhop_core::queue::average::Unit;
use perhop_core::router::IngressConditioner;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_scenario::model::{MoreSeries, Run};

use crate::engine::link::LinkUse;
use crate::engine::marks::MarkCounts;
use crate::engine::seam::{HostNode, ReceiverReading, SenderReading};
use crate::engine::{AnyNode, Engine};

/// The subject of a series, by its position in the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Subject {
    /// A TCP flow.
    Flow(usize),
    /// A UDP flow.
    Udp(usize),
    /// One direction of a link.
    Link(usize),
    /// A class of a port.
    Queue(usize),
    /// A colour in a class of a port.
    Color(usize, Color),
    /// A conditioner.
    Conditioner(usize),
}

/// A measured quantity.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Quantity {
    /// Payload delivered in order during the interval, bit/s.
    Goodput,
    /// Arrivals during the interval, headers included, bit/s.
    Throughput,
    /// Congestion window at the end of the interval, bytes.
    Cwnd,
    /// Smoothed round-trip time at the end of the interval, s; NaN before the first sample.
    Srtt,
    /// Segments sent again during the interval.
    Retransmissions,
    /// Part of the interval spent transmitting.
    Utilization,
    /// Part of the interval spent transmitting data.
    UtilizationData,
    /// Packets waiting at the end of the interval.
    Backlog,
    /// Packets dropped during the interval.
    Dropped,
    /// The backlog at the end of the interval, bytes: beside an average in bytes.
    BacklogBytes,
    /// The average of early detection at the end of the interval, packets.
    AveragePackets,
    /// The same where thresholds are in bytes.
    AverageBytes,
    /// The probability of a drop at this average, before it is spread by the count.
    DropProbability,
    /// Tokens at the end of the interval, bytes.
    Tokens(BucketName),
}

impl Quantity {
    /// Its name in tables, with the unit where it has one.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Goodput => "goodput_bit_s",
            Self::Throughput => "throughput_bit_s",
            Self::Cwnd => "cwnd_bytes",
            Self::Srtt => "srtt_s",
            Self::Retransmissions => "retransmissions",
            Self::Utilization => "utilization",
            Self::UtilizationData => "utilization_data",
            Self::Backlog => "backlog_packets",
            Self::Dropped => "dropped_packets",
            Self::BacklogBytes => "backlog_bytes",
            Self::AveragePackets => "average_packets",
            Self::AverageBytes => "average_bytes",
            Self::DropProbability => "drop_probability",
            Self::Tokens(BucketName::Committed) => "tokens_committed_bytes",
            Self::Tokens(BucketName::Excess) => "tokens_excess_bytes",
            Self::Tokens(BucketName::Peak) => "tokens_peak_bytes",
        }
    }
}

/// Values at the same times for every subject and quantity.
#[derive(Clone, Debug, Default)]
pub struct Series {
    /// Ends of the intervals.
    pub times: Vec<Instant>,
    /// The subject and the quantity of each column.
    pub columns: Vec<(Subject, Quantity)>,
    /// Column after column, with room for all `intervals` of the run.
    values: Vec<f64>,
    intervals: usize,
}

/// The counters of a flow.
#[derive(Clone, Copy, Debug)]
pub struct FlowReading {
    /// Payload delivered in order.
    pub delivered: Bytes,
    /// Packets that arrived, on the wire.
    pub arrived: Bytes,
    /// Acknowledgments that its receiver sent.
    pub acks: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Span>,
}

/// A reading of what series show.
#[derive(Clone, Debug)]
pub struct Reading {
    /// When.
    pub at: Instant,
    /// TCP flows.
    pub flows: Vec<FlowReading>,
    /// For each UDP flow: what arrived.
    pub udp: Vec<Bytes>,
    /// For each link: its use.
    pub links: Vec<LinkUse>,
    /// For each queue: packets dropped, packets waiting.
    pub queues: Vec<(u64, u64)>,
    /// Values that only [`Self::with`] reads: always of the same subjects and quantities, in one order.
    pub more: Vec<(Subject, Quantity, f64)>,
}

/// Where the sending and the receiving end of a flow are.
pub type Ends = (usize, usize);

impl Reading {
    /// Reads every counter of `engine` at `at`.
    pub fn take<H: HostNode>(engine: &Engine<H>, ends: &[Ends], udp: &[Ends], at: Instant) -> Self {
        let both = senders(engine, ends).zip(receivers(engine, ends));
        let flows = both.map(|(sender, receiver)| FlowReading {
            delivered: receiver.delivered,
            arrived: receiver.arrived.total().bytes,
            acks: receiver.acks,
            retransmissions: sender.stats.retransmissions,
            cwnd: sender.cwnd,
            srtt: sender.srtt,
        });
        let queues = engine.of_classes(|class| (class.stats().dropped.packets, class.backlog().packets));
        let first = FlowId(u32::try_from(ends.len()).unwrap_or(u32::MAX));
        Self {
            at,
            flows: flows.collect(),
            udp: udp_ends(engine, first, udp).map(|(_, arrived)| arrived.total().bytes).collect(),
            links: engine.links.iter().map(|link| link.used(at)).collect(),
            queues,
            more: Vec::new(),
        }
    }

    /// Reads what `run` asks for beyond that.
    #[must_use]
    pub fn with<H: HostNode>(mut self, run: &Run, engine: &Engine<H>) -> Self {
        if run.has(MoreSeries::Averages) {
            for (i, class) in engine.classes().enumerate() {
                averages(i, class, &mut self.more);
            }
        }
        if run.has(MoreSeries::Tokens) {
            for (i, one) in conditioners(engine).enumerate() {
                let levels = one.conditioner.token_levels(self.at).into_iter();
                self.more
                    .extend(levels.map(|(of, level)| (Subject::Conditioner(i), Quantity::Tokens(of), level)));
            }
        }
        self
    }
}

/// Adds what the early detection of class number `i` goes by.
#[expect(clippy::cast_precision_loss, reason = "a queue of fewer than 2^53 bytes")]
fn averages<P: Packet>(i: usize, class: &Class<P>, more: &mut Vec<(Subject, Quantity, f64)>) {
    let states = class.early_states();
    if states.iter().any(|state| matches!(state.average, Some((Unit::Bytes, _)))) {
        more.push((Subject::Queue(i), Quantity::BacklogBytes, class.backlog().bytes.0 as f64));
    }
    for state in states {
        let subject = state.color.map_or(Subject::Queue(i), |color| Subject::Color(i, color));
        if let Some((unit, average)) = state.average {
            let quantity = match unit {
                Unit::Packets => Quantity::AveragePackets,
                Unit::Bytes => Quantity::AverageBytes,
            };
            more.push((subject, quantity, average));
        }
        more.push((subject, Quantity::DropProbability, state.probability));
    }
}

/// The host at `node`, where a flow has an end: the scenario was checked and the build put it there.
fn host<H: HostNode>(engine: &Engine<H>, node: usize) -> &H {
    match &engine.nodes[node] {
        AnyNode::Host(host) => host,
        AnyNode::Router(_) => unreachable!("flows end at hosts"),
    }
}

/// The sending ends of the TCP flows.
pub fn senders<H: HostNode>(engine: &Engine<H>, ends: &[Ends]) -> impl Iterator<Item = SenderReading> {
    let sender = |(flow, &(from, _)): (FlowId, &Ends)| {
        host(engine, from).sender(flow).expect("a flow's sender is at its host")
    };
    (0u32..).map(FlowId).zip(ends).map(sender)
}

/// The receiving ends of the TCP flows.
pub fn receivers<'a, H: HostNode>(
    engine: &'a Engine<H>,
    ends: &[Ends],
) -> impl Iterator<Item = ReceiverReading<'a>> {
    let receiver = |(flow, &(_, to)): (FlowId, &Ends)| {
        host(engine, to).receiver(flow).expect("a flow's receiver is at its host")
    };
    (0u32..).map(FlowId).zip(ends).map(receiver)
}

/// The ends of the UDP flows from number `first` on: what was sent, what has arrived.
pub fn udp_ends<'a, H: HostNode>(
    engine: &'a Engine<H>,
    first: FlowId,
    ends: &[Ends],
) -> impl Iterator<Item = (Backlog, &'a MarkCounts)> {
    (first.0..).map(FlowId).zip(ends).map(|(flow, &(from, to))| {
        let sent = host(engine, from).source(flow);
        sent.zip(host(engine, to).drain(flow)).expect("a flow has its two ends at hosts")
    })
}

impl Series {
    /// Nothing yet of a run.
    pub fn new(run: &Run) -> Self {
        let intervals = run.duration.as_nanos() / run.interval.as_nanos();
        Self { intervals: usize::try_from(intervals).unwrap_or(usize::MAX), ..Self::default() }
    }

    /// Adds the values of the interval between two readings; with `only`, goodputs of these TCP flows and nothing else.
    pub fn push(&mut self, before: &Reading, now: &Reading, only: Option<&[usize]>) {
        if self.times.is_empty() {
            let goodput = |flow: &usize| (Subject::Flow(*flow), Quantity::Goodput);
            self.columns = only.map_or_else(|| layout(now), |flows| flows.iter().map(goodput).collect());
            self.values = vec![0.0; self.columns.len() * self.intervals];
        }
        let always = &self.columns[..self.columns.len() - now.more.len()];
        let always = always.iter().map(|&(subject, quantity)| value(before, now, subject, quantity));
        let places = self.values.iter_mut().skip(self.times.len()).step_by(self.intervals);
        for (place, value) in places.zip(always.chain(now.more.iter().map(|more| more.2))) {
            *place = value;
        }
        self.times.push(now.at);
    }

    /// The values of column number `column`.
    #[must_use]
    pub fn values(&self, column: usize) -> &[f64] {
        &self.values[column * self.intervals..][..self.times.len()]
    }

    /// Every column with its values.
    pub fn iter(&self) -> impl Iterator<Item = (Subject, Quantity, &[f64])> {
        let columns = self.columns.iter().enumerate();
        columns.map(|(column, &(subject, quantity))| (subject, quantity, self.values(column)))
    }
}

fn layout(reading: &Reading) -> Vec<(Subject, Quantity)> {
    use Quantity::{
        Backlog, Cwnd, Dropped, Goodput, Retransmissions, Srtt, Throughput, Utilization, UtilizationData,
    };
    let flows = (0..reading.flows.len()).map(Subject::Flow);
    let udp = (0..reading.udp.len()).map(Subject::Udp);
    let links = (0..reading.links.len()).map(Subject::Link);
    let queues = (0..reading.queues.len()).map(Subject::Queue);
    let with = |quantities: &'static [Quantity]| {
        move |subject: Subject| quantities.iter().map(move |&quantity| (subject, quantity))
    };
    let more = reading.more.iter().map(|&(subject, quantity, _)| (subject, quantity));
    let count = 4 * flows.len() + udp.len() + 2 * links.len() + 2 * queues.len() + more.len();
    let mut columns = Vec::with_capacity(count);
    columns.extend(flows.flat_map(with(&[Goodput, Cwnd, Srtt, Retransmissions])));
    columns.extend(udp.flat_map(with(&[Throughput])));
    columns.extend(links.flat_map(with(&[Utilization, UtilizationData])));
    columns.extend(queues.flat_map(with(&[Backlog, Dropped])));
    columns.extend(more);
    columns
}

#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
fn value(before: &Reading, now: &Reading, subject: Subject, quantity: Quantity) -> f64 {
    let secs = (now.at - before.at).as_secs_f64();
    match subject {
        Subject::Flow(i) => {
            let (before, now) = (&before.flows[i], &now.flows[i]);
            match quantity {
                Quantity::Goodput => (now.delivered - before.delivered).bits() as f64 / secs,
                Quantity::Cwnd => now.cwnd.0 as f64,
                Quantity::Srtt => now.srtt.map_or(f64::NAN, Span::as_secs_f64),
                _ => (now.retransmissions - before.retransmissions) as f64,
            }
        }
        Subject::Udp(i) => (now.udp[i] - before.udp[i]).bits() as f64 / secs,
        Subject::Link(i) => {
            let ([data, acks], of) = used_between(before.links[i], now.links[i], secs);
            if quantity == Quantity::UtilizationData { data / of } else { (data + acks) / of }
        }
        Subject::Queue(i) => match quantity {
            Quantity::Dropped => (now.queues[i].0 - before.queues[i].0) as f64,
            _ => now.queues[i].1 as f64,
        },
        Subject::Color(..) | Subject::Conditioner(_) => unreachable!("they are in `more` alone"),
    }
}

/// The use of a link for data and for pure ACKs between two readings, and of how much: seconds of `secs`, or bits of those
/// that were offered; where nothing was, of one.
#[expect(clippy::cast_precision_loss, reason = "bits of a run, far below 2^53")]
pub fn used_between(before: LinkUse, now: LinkUse, secs: f64) -> ([f64; 2], f64) {
    let spent = |before: Span, now: Span| Span::from_nanos(now.as_nanos() - before.as_nanos()).as_secs_f64();
    match (before, now) {
        (LinkUse::Busy(data, acks), LinkUse::Busy(more_data, more_acks)) => {
            ([spent(data, more_data), spent(acks, more_acks)], secs)
        }
        (LinkUse::Taken(before), LinkUse::Taken(now)) => {
            let offered = (now.offered - before.offered).max(1);
            let of_kind = [now.data.saturating_sub(before.data), now.acks.saturating_sub(before.acks)];
            (of_kind.map(|bits| bits as f64), offered as f64)
        }
        _ => unreachable!("two readings of one link"),
    }
}

/// Every conditioner, by node.
pub fn conditioners<H: HostNode>(engine: &Engine<H>) -> impl Iterator<Item = &IngressConditioner<H::Packet>> {
    engine.nodes.iter().flat_map(|node| match node {
        AnyNode::Router(router) => &router.conditioners[..],
        AnyNode::Host(_) => &[],
    })
}
