//! From a scenario to nodes and links.

use perhop_core::classify::{KindClassifier, Selector};
use perhop_core::packet::{ClassId, FlowId, PortId, TrafficClass};
use perhop_core::port::{Class, Port};
use perhop_core::queue::{AnyQueue, Fifo};
use perhop_core::rng::Stream;
use perhop_core::sched::{PairedCounter, Scheduler, StrictPriority};
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_scenario::model;
use perhop_scenario::routes::{Route, routes};
use perhop_tcp::ack::{AckPolicy, Delayed, EverySegment};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::TIMESTAMPS;
use perhop_tcp::sender::Sender;

use crate::engine::{AnyNode, Engine};
use crate::fill::Wire;
use crate::flow_table::FlowTable;
use crate::host::{Connection, Host, ReceivingEnd, SendingEnd};
use crate::link::Link;
use crate::losses::Losses;
use crate::observe::{Recorder, TraceKinds};
use crate::outgoing::Outgoing;
use crate::packet::SimPacket;
use crate::router::{Router, route_key};
use crate::sample::Ends;

/// A run before its first event.
pub struct Built {
    /// The engine.
    pub engine: Engine,
    /// Hosts of each flow.
    pub ends: Vec<Ends>,
    /// Start of each flow, jitter drawn.
    pub starts: Vec<Instant>,
    /// Name of each link, in the engine's order.
    pub link_names: Vec<String>,
    /// Path of each site.
    pub sites: Vec<String>,
}

/// Builds the run of a valid scenario.
pub fn build(scenario: &model::Scenario, trace: TraceKinds) -> Built {
    let plan = Plan::new(scenario);
    let starts: Vec<Instant> = scenario.flows.iter().map(|flow| start(&scenario.run, flow)).collect();
    let routes = routes(scenario).expect("the scenario was checked: every flow has its routes");
    let mut sites = Sites::default();
    let mut parts: Vec<NodeParts> = scenario.nodes.iter().map(|_| NodeParts::default()).collect();
    let mut port_sites = Vec::with_capacity(plan.order.len());
    for &l in &plan.order {
        let link = &scenario.links[l];
        port_sites.push(sites.intern(link.port.path.clone()));
        parts[link.from].ports.push(outgoing(scenario, link, &mut sites));
    }
    let mut classes: Vec<&str> = Vec::new();
    for (i, (flow, route)) in scenario.flows.iter().zip(&routes).enumerate() {
        let class = class_of(&mut classes, &flow.class);
        place_flow(scenario, &plan, FlowId(small(i)), class, flow, route, starts[i], &mut parts);
    }
    let nodes = parts
        .into_iter()
        .zip(&scenario.nodes)
        .map(|(p, node)| p.build(node, &mut sites, trace.tcp))
        .collect();
    let links = plan.order.iter().map(|&l| plan.link(scenario, l)).collect();
    let link_names = plan.order.iter().map(|&l| scenario.links[l].name.clone()).collect();
    let ends = scenario.flows.iter().map(|f| (f.from, f.to)).collect();
    let senders = if trace.tcp { scenario.flows.iter().map(|f| small(f.from)).collect() } else { Vec::new() };
    let engine = Engine::new(nodes, links, plan.first_link, senders, port_sites, Recorder::new(trace));
    Built { engine, ends, starts, link_names, sites: sites.0 }
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
    ports: Vec<Outgoing>,
    senders: Vec<SendingEnd>,
    receivers: Vec<ReceivingEnd>,
    routes: Vec<(u32, u32)>,
}

impl NodeParts {
    fn build(self, node: &model::Node, sites: &mut Sites, log: bool) -> AnyNode {
        let site = sites.intern(format!("node.{}", node.name));
        match node.kind {
            model::NodeKind::Host => {
                AnyNode::Host(Host::new(site, self.ports, self.senders, self.receivers, log))
            }
            model::NodeKind::Router => {
                AnyNode::Router(Router::new(site, self.ports, FlowTable::new(&self.routes)))
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

#[expect(clippy::too_many_arguments, reason = "one call site; a struct would only rename the arguments")]
fn place_flow(
    scenario: &model::Scenario,
    plan: &Plan,
    id: FlowId,
    class: TrafficClass,
    flow: &model::Flow,
    route: &Route,
    start: Instant,
    parts: &mut [NodeParts],
) {
    let connection = |port: PortId| Connection { flow: id, class, wire: wire(&flow.tcp), port };
    for (path, dir) in [
        (&route.forward, perhop_core::packet::Dir::Forward),
        (&route.reverse, perhop_core::packet::Dir::Reverse),
    ] {
        for &l in &path[1..] {
            parts[scenario.links[l].from].routes.push((route_key(id, dir), plan.port[l].0));
        }
    }
    parts[flow.from].senders.push(SendingEnd {
        connection: connection(plan.port[route.forward[0]]),
        sender: Sender::new(&flow.tcp.params, start),
        in_port: 0,
    });
    parts[flow.to].receivers.push(ReceivingEnd {
        connection: connection(plan.port[route.reverse[0]]),
        receiver: Receiver::new(ReceiverParams::from(&flow.tcp.params), ack_policy(flow.ack)),
        arrived: Bytes(0),
    });
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

fn start(run: &model::Run, flow: &model::Flow) -> Instant {
    let path = format!("flow.{}.start", flow.name);
    let jitter = Stream::new(run.seed, run.replication, &path).below(flow.start_jitter.as_nanos());
    Instant::ZERO + flow.start + Span::from_nanos(jitter)
}

fn class_of<'a>(classes: &mut Vec<&'a str>, name: &'a str) -> TrafficClass {
    let at = classes.iter().position(|c| *c == name).unwrap_or_else(|| {
        classes.push(name);
        classes.len() - 1
    });
    TrafficClass(u8::try_from(at).unwrap_or(u8::MAX))
}

fn outgoing(scenario: &model::Scenario, link: &model::Link, sites: &mut Sites) -> Outgoing {
    let port = &link.port;
    let site = sites.intern(port.path.clone());
    let mut classes: Vec<Class<SimPacket>> = port
        .classes
        .iter()
        .map(|class| {
            let site = sites.intern(format!("{}.class.{}", port.path, class.name));
            Class::new(site, queue(class.queue, site))
        })
        .collect();
    let selectors: Vec<Vec<Selector>> =
        port.classes.iter().map(|class| class.matches.iter().map(selector).collect()).collect();
    let built = match (classes.len(), classes.pop()) {
        (1, Some(class)) => Port::single(class),
        (_, last) => {
            classes.extend(last);
            let classifier = KindClassifier::new(selectors.iter().map(Vec::as_slice));
            Port::new(site, Box::new(classifier), classes, scheduler(port.scheduler))
        }
    };
    Outgoing {
        port: built,
        pure_ack_size: link.pure_ack_size,
        backpressure: port.backpressure,
        losses: losses(scenario, link, site),
    }
}

fn losses(scenario: &model::Scenario, link: &model::Link, site: SiteId) -> Option<Box<Losses>> {
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
    Some(Box::new(Losses::new(site, link.loss, stream, &listed.collect::<Vec<_>>())))
}

const fn selector(selector: &model::Selector) -> Selector {
    match selector {
        model::Selector::Any => Selector::Any,
        model::Selector::PureAck => Selector::PureAck,
        model::Selector::Data => Selector::Data,
    }
}

fn queue(queue: model::Queue, site: SiteId) -> AnyQueue<SimPacket> {
    match queue {
        model::Queue::Fifo { limit } => Fifo::new(site, limit).into(),
    }
}

fn scheduler(scheduler: model::Scheduler) -> Box<dyn Scheduler> {
    match scheduler {
        model::Scheduler::StrictPriority => Box::new(StrictPriority),
        model::Scheduler::PairedCounter { data, share } => {
            let id = |i: usize| ClassId(u16::try_from(i).unwrap_or(u16::MAX));
            let built = PairedCounter::new(id(data), id(1 - data), share);
            Box::new(built.expect("the scenario was checked: two classes, share inside (0, 1)"))
        }
    }
}

/// An index as the engine keeps it; a scenario is checked to have fewer than 2^32 of anything.
fn small(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
