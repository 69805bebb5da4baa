//! From a scenario to nodes and links.

use std::sync::Arc;

use perhop_core::ack_marking::AckMarker;
use perhop_core::classify::FlowTable;
use perhop_core::classify::{
    BehaviorAggregate, Classifier, KindClassifier, KindSet, MarkSet, MultiField, Pattern, Selector,
};
use perhop_core::conditioner::{Conditioner, ConditionerParts};
use perhop_core::dscp::Dscp;
use perhop_core::meter::{Meter, MeterBank, SrTcm, TcpFriendly, TokenBucket, TrTcm};
use perhop_core::packet::{ClassId, Dir, FlowId, Kind, PortId};
use perhop_core::param_error::ParamError;
use perhop_core::port::{Class, Port};
use perhop_core::queue::{AnyQueue, Fifo, Gred, Red, Rio};
use perhop_core::rng::Stream;
use perhop_core::sched::{Cbq, Drr, PairedCounter, Scheduler, StrictPriority, Wrr};
use perhop_core::shaper::Shaper;
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_scenario::elements::ElementError;
use perhop_scenario::model;
use perhop_scenario::routes::{Route, routes};
use perhop_tcp::ack::{AckPolicy, Delayed, EverySegment};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::TIMESTAMPS;
use perhop_tcp::sender::Sender;

use crate::Registry;
use crate::datagrams::{Drain, Source};
use crate::engine::{AnyNode, Engine};
use crate::fill::Wire;
use crate::host::{self, Connection, Host, HostMarking, ReceivingEnd, SendingEnd};
use crate::link::Link;
use crate::marks::MarkCounts;
use crate::observe::{Recorder, TraceKinds};
use crate::packet::SimPacket;
use crate::sample::Ends;
use perhop_core::losses::Losses;
use perhop_core::outgoing::{Outgoing, Special};
use perhop_core::range_table::RangeTable;
use perhop_core::router::{Router, Seat, route_key};

/// A run before its first event.
pub struct Built {
    /// The engine.
    pub engine: Engine,
    /// Hosts of each TCP flow.
    pub ends: Vec<Ends>,
    /// Hosts of each UDP flow.
    pub udp_ends: Vec<Ends>,
    /// Start of each flow, TCP and then UDP, jitter drawn.
    pub starts: Vec<Instant>,
    /// Name of each link, in the engine's order.
    pub link_names: Vec<String>,
    /// Path of each site.
    pub sites: Vec<String>,
}

/// Builds the run of a valid scenario; it fails if an element from outside cannot be built.
pub fn build(
    scenario: &model::Scenario,
    trace: TraceKinds,
    elements: &Registry,
) -> Result<Built, ElementError> {
    let plan = Plan::new(scenario);
    let run = &scenario.run;
    let tcp = scenario.flows.iter().map(|f| start(run, "flow", &f.name, f.start, f.start_jitter));
    let udp = scenario.udp.iter().map(|f| start(run, "udp", &f.name, f.start, f.start_jitter));
    let starts: Vec<Instant> = tcp.chain(udp).collect();
    let routes = routes(scenario).expect("the scenario was checked: every flow has its routes");
    let mut sites = Sites::default();
    let mut parts: Vec<NodeParts> = scenario.nodes.iter().map(|_| NodeParts::default()).collect();
    let mut port_sites = Vec::with_capacity(plan.order.len());
    for &l in &plan.order {
        let link = &scenario.links[l];
        port_sites.push(sites.intern(link.port.path.clone()));
        parts[link.from].ports.push(outgoing(scenario, link, elements, &mut sites)?);
    }
    let mut placing = Placing { scenario, plan: &plan, routes: &routes, starts: &starts, parts: &mut parts };
    for i in 0..starts.len() {
        placing.flow(i);
    }
    let mut shared: Option<(&Arc<Pattern>, Arc<MultiField>)> = None;
    for conditioner in &scenario.conditioners {
        let pattern = &conditioner.pattern;
        let classifier = match &shared {
            Some((known, classifier)) if Arc::ptr_eq(known, pattern) => Arc::clone(classifier),
            _ => Arc::new(MultiField::new(&[(ClassId(0), (**pattern).clone())], &scenario.flow_table)),
        };
        shared = Some((pattern, Arc::clone(&classifier)));
        let seat = seat(scenario, &plan, conditioner, classifier, elements, &mut sites)?;
        parts[conditioner.node].seats.push(seat);
    }
    let nodes = parts
        .into_iter()
        .zip(&scenario.nodes)
        .map(|(p, node)| p.build(node, &mut sites, trace.tcp))
        .collect();
    let links = plan.order.iter().map(|&l| plan.link(scenario, l)).collect();
    let link_names = plan.order.iter().map(|&l| scenario.links[l].name.clone()).collect();
    let ends = scenario.flows.iter().map(|f| (f.from, f.to)).collect();
    let udp_ends = scenario.udp.iter().map(|f| (f.from, f.to)).collect();
    let senders = if trace.tcp { scenario.flows.iter().map(|f| small(f.from)).collect() } else { Vec::new() };
    let engine = Engine::new(nodes, links, plan.first_link, senders, port_sites, Recorder::new(trace));
    Ok(Built { engine, ends, udp_ends, starts, link_names, sites: sites.0 })
}

/// Where each link of the scenario goes in the engine: grouped by sending node, so that a node's ports are a range.
struct Plan {
    /// Scenario links in the engine's order.
    order: Vec<usize>,
    /// First engine link of each node.
    first_link: Vec<u32>,
    /// The sending node's port of each scenario link.
    port: Vec<PortId>,
}

impl Plan {
    fn new(scenario: &model::Scenario) -> Self {
        let mut order: Vec<usize> = (0..scenario.links.len()).collect();
        order.sort_by_key(|&l| scenario.links[l].from);
        let mut first_link = vec![0; scenario.nodes.len()];
        let mut port = vec![PortId(0); scenario.links.len()];
        let mut node = None;
        for (at, &l) in order.iter().enumerate() {
            let from = scenario.links[l].from;
            if node != Some(from) {
                first_link[from] = small(at);
                node = Some(from);
            }
            port[l] = PortId(small(at) - first_link[from]);
        }
        Self { order, first_link, port }
    }

    fn link(&self, scenario: &model::Scenario, l: usize) -> Link {
        let link = &scenario.links[l];
        // the two directions of a link follow one another
        let back = l ^ 1;
        Link::new(link.rate, link.delay, (small(link.from), self.port[l]), (small(link.to), self.port[back]))
    }
}

/// A node under construction.
#[derive(Default)]
struct NodeParts {
    ports: Vec<Outgoing<SimPacket>>,
    ends: host::Ends,
    routes: Vec<(u32, u32)>,
    seats: Vec<Seat<SimPacket>>,
}

impl NodeParts {
    fn build(self, node: &model::Node, sites: &mut Sites, log: bool) -> AnyNode {
        let site = sites.intern(format!("node.{}", node.name));
        match node.kind {
            model::NodeKind::Host => AnyNode::Host(Host::new(site, self.ports, self.ends, log)),
            model::NodeKind::Router => {
                AnyNode::Router(Router::new(site, self.ports, RangeTable::new(&self.routes), self.seats))
            }
        }
    }
}

#[derive(Default)]
struct Sites(Vec<String>);

impl Sites {
    fn intern(&mut self, path: String) -> SiteId {
        self.0.push(path);
        SiteId(small(self.0.len() - 1))
    }
}

/// Puts the ends of flows at their hosts, and their routes into routers.
struct Placing<'a> {
    scenario: &'a model::Scenario,
    plan: &'a Plan,
    routes: &'a [Route],
    starts: &'a [Instant],
    parts: &'a mut [NodeParts],
}

impl Placing<'_> {
    /// Flow number `i`; TCP flows come first, then UDP flows.
    fn flow(&mut self, i: usize) {
        let (id, route) = (FlowId(small(i)), &self.routes[i]);
        for (path, dir) in [(&route.forward, Dir::Forward), (&route.reverse, Dir::Reverse)] {
            for &l in &path[1..] {
                let routes = &mut self.parts[self.scenario.links[l].from].routes;
                routes.push((route_key(id, dir), self.plan.port[l].0));
            }
        }
        let out = self.plan.port[route.forward[0]];
        let back = self.plan.port[route.reverse[0]];
        match i.checked_sub(self.scenario.flows.len()) {
            None => self.tcp(i, id, out, back),
            Some(k) => self.udp(i, k, id, out, back),
        }
    }

    fn connection(&self, id: FlowId, wire: Wire, port: PortId, mark: Dscp) -> Connection {
        let class = self.scenario.flow_table.get(id).map_or_else(Default::default, |known| known.class);
        Connection { flow: id, class, wire, port, mark }
    }

    fn tcp(&mut self, i: usize, id: FlowId, out: PortId, back: PortId) {
        let flow = &self.scenario.flows[i];
        let connection = |port| self.connection(id, wire(&flow.tcp), port, flow.mark);
        let (sending, receiving) = (connection(out), connection(back));
        self.parts[flow.from].ends.senders.push(SendingEnd {
            connection: sending,
            sender: Sender::new(&flow.tcp.params, self.starts[i]),
            in_port: 0,
        });
        self.parts[flow.to].ends.receivers.push(ReceivingEnd {
            connection: receiving,
            receiver: Receiver::new(ReceiverParams::from(&flow.tcp.params), ack_policy(flow.ack)),
            arrived: MarkCounts::default(),
            marking: HostMarking::new(&flow.ack_marking),
        });
    }

    fn udp(&mut self, i: usize, k: usize, id: FlowId, out: PortId, back: PortId) {
        let (flow, run) = (&self.scenario.udp[k], &self.scenario.run);
        let wire = Wire { header: flow.packet_size, options: Bytes(0), sack_overhead: Bytes(0) };
        let connection = |port| self.connection(id, wire, port, flow.mark);
        let (sending, receiving) = (connection(out), connection(back));
        let stream = Stream::new(run.seed, run.replication, &format!("udp.{}.pattern", flow.name));
        let start = self.starts[i];
        let source = Source::new(sending, flow.rate, flow.packet_size, flow.pattern, start, stream);
        self.parts[flow.from].ends.sources.push(source);
        self.parts[flow.to].ends.drains.push(Drain::new(receiving));
    }
}

/// A conditioner for the router it is at.
fn seat(
    scenario: &model::Scenario,
    plan: &Plan,
    given: &model::Conditioner,
    classifier: Arc<MultiField>,
    elements: &Registry,
    sites: &mut Sites,
) -> Result<Seat<SimPacket>, ElementError> {
    let site = sites.intern(given.path.clone());
    // a packet that comes in by a link leaves towards its other end by the link back
    let ports: Vec<PortId> = given.from.iter().map(|l| plan.port[l ^ 1]).collect();
    let path = format!("{}.meter", given.path);
    let stream = Stream::new(scenario.run.seed, scenario.run.replication, &path);
    let meter = given.meter.as_ref().map(|params| meter(params, given.per_flow, stream, elements));
    let parts = ConditionerParts {
        classifier: Some(Box::new(classifier)),
        ack_marker: given.ack_marking.clone().map(AckMarker::new),
        colors: given.colors.clone(),
        meter: meter.transpose().map_err(|error| error.at(&path))?,
        marker: given.marker,
        shaper: given.shaper.map(|params| checked(Shaper::new(site, params))),
    };
    Ok(Seat::new(checked(Conditioner::new(site, parts)), ports))
}

fn meter(
    params: &model::Meter,
    per_flow: bool,
    stream: Stream,
    elements: &Registry,
) -> Result<Box<dyn Meter>, ElementError> {
    fn seated<M: Meter + Clone + 'static>(meter: M, per_flow: bool) -> Box<dyn Meter> {
        if per_flow { Box::new(MeterBank::new(meter)) } else { Box::new(meter) }
    }
    Ok(match params {
        model::Meter::TokenBucket(params) => seated(checked(TokenBucket::new(*params)), per_flow),
        model::Meter::SrTcm(params) => seated(checked(SrTcm::new(*params)), per_flow),
        model::Meter::TrTcm(params) => seated(checked(TrTcm::new(*params)), per_flow),
        model::Meter::TcpFriendly(params) => Box::new(checked(TcpFriendly::new(*params))),
        model::Meter::Custom(given) => elements.build_meter(given, per_flow, stream)?,
    })
}

/// An element of a checked scenario.
fn checked<T>(built: Result<T, ParamError>) -> T {
    built.unwrap_or_else(|error| unreachable!("the scenario was checked: {error}"))
}

fn wire(tcp: &model::Tcp) -> Wire {
    let options = if tcp.params.timestamps { TIMESTAMPS } else { Bytes(0) };
    Wire { header: tcp.header, options, sack_overhead: tcp.params.sack_overhead }
}

fn ack_policy(policy: model::AckPolicy) -> Box<dyn AckPolicy> {
    match policy {
        model::AckPolicy::EverySegment => Box::new(EverySegment),
        model::AckPolicy::Delayed { timeout } => Box::new(Delayed::new(timeout)),
    }
}

fn start(run: &model::Run, list: &str, name: &str, start: Span, jitter: Span) -> Instant {
    let path = format!("{list}.{name}.start");
    let jitter = Stream::new(run.seed, run.replication, &path).below(jitter.as_nanos());
    Instant::ZERO + start + Span::from_nanos(jitter)
}

fn outgoing(
    scenario: &model::Scenario,
    link: &model::Link,
    elements: &Registry,
    sites: &mut Sites,
) -> Result<Outgoing<SimPacket>, ElementError> {
    let port = &link.port;
    let site = sites.intern(port.path.clone());
    let run = &scenario.run;
    let mut classes: Vec<Class<SimPacket>> = Vec::with_capacity(port.classes.len());
    for class in &port.classes {
        let path = format!("{}.class.{}", port.path, class.name);
        let queue_path = format!("{path}.queue");
        let stream = Stream::new(run.seed, run.replication, &queue_path);
        let site = sites.intern(path);
        let queue = queue(&class.queue, site, stream, elements).map_err(|error| error.at(&queue_path))?;
        classes.push(Class::new(site, queue));
    }
    let built = match (classes.len(), classes.pop()) {
        (1, Some(class)) if takes_all(&port.classes[0]) && !regulates(&port.scheduler) => Port::single(class),
        (_, last) => {
            classes.extend(last);
            Port::new(site, classifier(&port.classes), classes, scheduler(&port.scheduler, link.rate))
        }
    };
    let losses = losses(scenario, link, site);
    Ok(Outgoing::new(
        built,
        Special { pure_ack_size: link.pure_ack_size, backpressure: port.backpressure, losses },
    ))
}

fn losses(scenario: &model::Scenario, link: &model::Link, site: SiteId) -> Option<Losses> {
    if link.loss <= 0.0 && link.losses.is_empty() {
        return None;
    }
    let listed = link.losses.iter().map(|loss| {
        let tcp = &scenario.flows[loss.flow].tcp.params;
        let syn = tcp.handshake && loss.packet == 0;
        let data = loss.packet - u64::from(tcp.handshake && !syn);
        let key = (FlowId(small(loss.flow)), if syn { 0 } else { data * tcp.mss.0 }, syn);
        (key, loss.transmission, loss.mark)
    });
    let stream =
        Stream::new(scenario.run.seed, scenario.run.replication, &format!("link.{}.loss", link.name));
    Some(Losses::new(site, link.loss, stream, &listed.collect::<Vec<_>>()))
}

/// Whether no packet is left out by a port whose only class this is.
fn takes_all(class: &model::Class) -> bool {
    !class.matches.iter().any(|selector| matches!(selector, model::Selector::Mark(_)))
}

/// Whether a scheduler may keep its only class waiting.
fn regulates(scheduler: &model::Scheduler) -> bool {
    matches!(scheduler, model::Scheduler::Cbq(_))
}

fn classifier(classes: &[model::Class]) -> Box<dyn Classifier> {
    if let Some(by_mark) = behavior_aggregate(classes) {
        return Box::new(by_mark);
    }
    if classes.iter().all(takes_all) {
        let kinds = |class: &model::Class| class.matches.iter().map(kind_selector).collect::<Vec<_>>();
        let selectors: Vec<Vec<Selector>> = classes.iter().map(kinds).collect();
        return Box::new(KindClassifier::new(selectors.iter().map(Vec::as_slice)));
    }
    let rule = |(id, class): (u16, &model::Class)| {
        class.matches.iter().map(|selector| (ClassId(id), pattern(*selector))).collect::<Vec<_>>()
    };
    let rules: Vec<(ClassId, Pattern)> = (0u16..).zip(classes).flat_map(rule).collect();
    Box::new(MultiField::new(&rules, &FlowTable::new()))
}

/// The classifier of a port whose classes ask for marks, or for anything: `None` where one asks for more, or none for marks.
fn behavior_aggregate(classes: &[model::Class]) -> Option<BehaviorAggregate> {
    if classes.iter().all(takes_all) {
        return None;
    }
    let mut pairs = Vec::new();
    for (id, class) in (0u16..).map(ClassId).zip(classes) {
        for selector in &class.matches {
            match selector {
                model::Selector::Mark(dscp) => pairs.push((id, *dscp)),
                model::Selector::Any => pairs.extend((0..64).filter_map(Dscp::new).map(|dscp| (id, dscp))),
                model::Selector::PureAck | model::Selector::Data => return None,
            }
        }
    }
    Some(BehaviorAggregate::new(&pairs))
}

fn kind_selector(selector: &model::Selector) -> Selector {
    match selector {
        model::Selector::PureAck => Selector::PureAck,
        model::Selector::Data => Selector::Data,
        model::Selector::Any | model::Selector::Mark(_) => Selector::Any,
    }
}

fn pattern(selector: model::Selector) -> Pattern {
    let (kinds, marks) = match selector {
        model::Selector::Any => (None, None),
        model::Selector::PureAck => (Some(KindSet::NONE.with(Kind::PureAck)), None),
        model::Selector::Data => (Some(KindSet::ALL.without(Kind::PureAck)), None),
        model::Selector::Mark(dscp) => (None, Some(MarkSet::NONE.with(dscp))),
    };
    Pattern { kinds, marks, ..Pattern::default() }
}

fn queue(
    queue: &model::Queue,
    site: SiteId,
    stream: Stream,
    elements: &Registry,
) -> Result<AnyQueue<SimPacket>, ElementError> {
    Ok(match queue {
        model::Queue::Fifo { limit } => Fifo::new(site, *limit).into(),
        model::Queue::Red(params) => Box::new(checked(Red::new(site, *params, stream))).into(),
        model::Queue::Rio(params) => Box::new(checked(Rio::new(site, params.clone(), stream))).into(),
        model::Queue::Gred(params) => Box::new(checked(Gred::new(site, params.clone(), stream))).into(),
        model::Queue::Custom(given) => elements.build_queue(given, site, stream)?,
    })
}

fn scheduler(scheduler: &model::Scheduler, rate: BitRate) -> Box<dyn Scheduler> {
    match scheduler {
        model::Scheduler::StrictPriority => Box::new(StrictPriority),
        model::Scheduler::PairedCounter { data, share } => {
            let id = |i: usize| ClassId(u16::try_from(i).unwrap_or(u16::MAX));
            let built = PairedCounter::new(id(*data), id(1 - data), *share);
            Box::new(built.expect("the scenario was checked: two classes, share inside (0, 1)"))
        }
        model::Scheduler::Wrr(weights) => Box::new(checked(Wrr::new(weights))),
        model::Scheduler::Drr(quanta) => Box::new(checked(Drr::new(quanta))),
        model::Scheduler::Cbq(classes) => Box::new(checked(Cbq::new(rate, classes))),
    }
}

/// An index as the engine keeps it; a scenario is checked to have fewer than 2^32 of anything.
fn small(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
