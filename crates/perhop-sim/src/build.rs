//! From a scenario to nodes and links.

use std::sync::Arc;

use perhop_core::dscp::Dscp;
use perhop_core::outgoing::Outgoing;
use perhop_core::packet::{Ecn, FlowId, Packet, PortId};
use perhop_core::rate_trace::Traced;
use perhop_core::rng::Stream;
use perhop_core::serializer::Serializer;
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_scenario::build::{Network, Sites};
use perhop_scenario::elements::ElementError;
use perhop_scenario::model::{self, NodeKind};
use perhop_scenario::routes::Route;
use perhop_tcp::ack::{AckPolicy, EverySegment};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::TIMESTAMPS;
use perhop_tcp::sender::Sender;

use crate::Registry;
use crate::applications::application::Application;
use crate::applications::call::CallReceiver;
use crate::engine::delays::Delays;
use crate::engine::link::{Link, Transmitter};
use crate::engine::marks::MarkCounts;
use crate::engine::observe::{Recorder, TraceKinds};
use crate::engine::seam::HostNode;
use crate::engine::{AnyNode, Engine};
use crate::hosts::connection::{Connection, Wire};
use crate::hosts::datagrams::{Departures, Drain, Source};
use crate::hosts::ends::{self, HostMarking, ReceivingEnd, SendingEnd};
use crate::hosts::host::Host;
use crate::hosts::processing::Processing;
use crate::results::by_class::Contracts;
use crate::results::sample::Ends;

/// A run before its first event.
pub struct Built<H: HostNode> {
    /// The engine.
    pub engine: Engine<H>,
    /// Hosts of each TCP flow.
    pub ends: Vec<Ends>,
    /// Hosts of each UDP flow.
    pub udp_ends: Vec<Ends>,
    /// Start of each flow, TCP and then UDP, jitter drawn.
    pub starts: Vec<Instant>,
    /// Classes of the flows.
    pub contracts: Contracts,
    /// Name of each link, in the engine's order.
    pub link_names: Vec<String>,
    /// Path of each site.
    pub sites: Sites,
}

/// Builds the run of a valid scenario; it fails if an element from outside cannot be built.
pub fn build(
    scenario: &model::Scenario,
    trace: TraceKinds,
    elements: &Registry,
) -> Result<Built<Host>, ElementError> {
    let starts = starts(scenario);
    let network = Network::new(scenario, elements)?;
    let mut ends = ends_with_capacity(scenario);
    let mut placing = Placing { scenario, elements, ports: &network.port, starts: &starts, ends: &mut ends };
    for (node, application) in applications_of(scenario, &starts) {
        placing.ends[node].applications.push(application);
    }
    for (i, route) in network.routes.iter().enumerate() {
        placing.flow(i, route)?;
    }
    let used: Vec<bool> = ends.iter().map(|ends| !ends.is_empty()).collect();
    let host = |node: usize, site, outgoing| {
        let processing = Processing::new(&scenario.run, &scenario.nodes[node].name);
        Host::new(site, outgoing, std::mem::take(&mut ends[node]), processing, trace.tcp)
    };
    Ok(assemble(scenario, network, trace, starts, |node| used[node], host))
}

/// No ends yet at any node, with room for its connections: without it a list of one has room for four.
fn ends_with_capacity(scenario: &model::Scenario) -> Vec<ends::Ends> {
    let mut counts = vec![(0, 0); scenario.nodes.len()];
    for flow in &scenario.flows {
        counts[flow.from].0 += 1;
        counts[flow.to].1 += 1;
    }
    let empty = |(senders, receivers)| ends::Ends {
        senders: Vec::with_capacity(senders),
        receivers: Vec::with_capacity(receivers),
        ..ends::Ends::default()
    };
    counts.into_iter().map(empty).collect()
}

/// When each flow begins, TCP and then UDP, jitter drawn.
#[must_use]
pub fn starts(scenario: &model::Scenario) -> Vec<Instant> {
    let run = &scenario.run;
    let tcp = scenario.flows.iter().map(|f| start(run, "flow", &f.name, f.start, f.start_jitter));
    let udp = scenario.udp.iter().map(|f| start(run, "udp", &f.name, f.start, f.start_jitter));
    let mut starts: Vec<Instant> = tcp.chain(udp).collect();
    for application in &scenario.applications {
        // its connections open together
        let first = starts[application.flows.start];
        starts[application.flows.clone()].fill(first);
    }
    starts
}

/// The applications over TCP in the order of the scenario, each with the node where its connections begin.
pub fn applications_of<'a>(
    scenario: &'a model::Scenario,
    starts: &'a [Instant],
) -> impl Iterator<Item = (usize, Application)> + 'a {
    let run = &scenario.run;
    scenario.applications.iter().enumerate().map(move |(number, application)| {
        let path = format!("flow.{}.application", application.name);
        let stream = Stream::new(run.seed, run.replication, &path);
        let first = application.flows.start;
        (
            scenario.flows[first].from,
            Application::new(number, application.kind.clone(), stream, starts[first]),
        )
    })
}

/// The listener of UDP flow `k`, which begins at `start`, if it is one way of a call.
#[must_use]
pub fn call_receiver_of(scenario: &model::Scenario, k: usize, start: Instant) -> Option<Box<CallReceiver>> {
    let flow = &scenario.udp[k];
    let buffer = scenario.calls[flow.call?].jitter_buffer;
    Some(Box::new(CallReceiver::new(&scenario.run, flow, start, buffer)))
}

/// Puts a run together: `host` makes the host of a node from its number, its site and its outgoing interfaces. A host that is
/// not `used` needs none: packets neither begin nor end there.
pub fn assemble<H: HostNode>(
    scenario: &model::Scenario,
    network: Network<H::Packet>,
    trace: TraceKinds,
    starts: Vec<Instant>,
    used: impl Fn(usize) -> bool,
    mut host: impl FnMut(usize, SiteId, Vec<Outgoing<H::Packet>>) -> H,
) -> Built<H> {
    let Network { nodes: parts, order, mut first_link, port, port_sites, routes, mut sites } = network;
    let timed = |node: usize| parts[node].outgoing.iter().any(|out| out.port.has_deadlines());
    let is_idle = |(i, node): (usize, &model::Node)| node.kind == NodeKind::Host && !used(i) && !timed(i);
    let is_idle: Vec<bool> = scenario.nodes.iter().enumerate().map(is_idle).collect();
    let number = numbers(&is_idle);
    let mut nodes = Vec::with_capacity(is_idle.iter().filter(|idle| !**idle).count());
    let mut idle = Vec::with_capacity(is_idle.len() - nodes.capacity());
    for (i, (node, parts)) in scenario.nodes.iter().zip(parts).enumerate() {
        let site = sites.intern(&format!("node.{}", node.name));
        match node.kind {
            _ if is_idle[i] => idle.push(parts.outgoing.into_boxed_slice()),
            NodeKind::Host => nodes.push(AnyNode::Host(host(i, site, parts.outgoing))),
            NodeKind::Router => nodes.push(AnyNode::Router(parts.router(site))),
        }
    }
    let mut busy = is_idle.iter().map(|idle| !idle);
    first_link.retain(|_| busy.next().unwrap_or_default());
    let links = order.iter().map(|&l| link(scenario, &port, &number, l)).collect();
    let link_names = order.iter().map(|&l| scenario.links[l].name.clone()).collect();
    let place = |node: usize| number[node] as usize;
    let ends = scenario.flows.iter().map(|f| (place(f.from), place(f.to))).collect();
    let udp_ends = scenario.udp.iter().map(|f| (place(f.from), place(f.to))).collect();
    let senders =
        if trace.tcp { scenario.flows.iter().map(|f| number[f.from]).collect() } else { Vec::new() };
    let contracts = Contracts::new(scenario);
    let recorder = Recorder::new(trace, contracts.names.len());
    let links_of = routes.iter().map(|route| route.forward.iter().map(|&l| scenario.links[l].delay));
    let propagation = links_of.map(|links| links.fold(Span::ZERO, |sum, delay| sum + delay));
    let delays = Delays::new(contracts.class_of.iter().copied().zip(propagation));
    let engine = Engine::new((nodes, idle), links, first_link, senders, port_sites, recorder, delays);
    Built { engine, ends, udp_ends, starts, contracts, link_names, sites }
}

/// The number of each node in the engine: in order, those that are idle after the others.
fn numbers(is_idle: &[bool]) -> Vec<u32> {
    let busy = is_idle.iter().filter(|idle| !**idle).count();
    let (mut next, mut next_idle) = (0, busy);
    let number = |&idle: &bool| {
        let next = if idle { &mut next_idle } else { &mut next };
        *next += 1;
        small(*next - 1)
    };
    is_idle.iter().map(number).collect()
}

fn link<P: Packet>(scenario: &model::Scenario, ports: &[PortId], number: &[u32], l: usize) -> Link<P> {
    let link = &scenario.links[l];
    // the two directions of a link follow one another
    let back = l ^ 1;
    let transmitter = match &link.trace {
        None => Transmitter::Constant(Serializer::new(link.rate)),
        Some((_, trace)) => Transmitter::Traced(Box::new(Traced::new(Arc::clone(trace), link.rate))),
    };
    Link::new(transmitter, link.delay, (number[link.from], ports[l]), (number[link.to], ports[back]))
}

/// Puts the ends of flows at their hosts.
struct Placing<'a> {
    scenario: &'a model::Scenario,
    elements: &'a Registry,
    ports: &'a [PortId],
    starts: &'a [Instant],
    ends: &'a mut [ends::Ends],
}

impl Placing<'_> {
    /// Flow number `i`; TCP flows come first, then UDP flows.
    fn flow(&mut self, i: usize, route: &Route) -> Result<(), ElementError> {
        let id = FlowId(small(i));
        let out = self.ports[route.forward[0]];
        let back = self.ports[route.reverse[0]];
        match i.checked_sub(self.scenario.flows.len()) {
            None => self.tcp(i, id, out, back)?,
            Some(k) => self.udp(i, k, id, out, back),
        }
        Ok(())
    }

    fn connection(&self, id: FlowId, wire: Wire, port: PortId, mark: Dscp, ect: Ecn) -> Connection {
        let class = self.scenario.flow_table.get(id).map_or_else(Default::default, |known| known.class);
        Connection { flow: id, class, wire, port, mark, ect }
    }

    fn tcp(&mut self, i: usize, id: FlowId, out: PortId, back: PortId) -> Result<(), ElementError> {
        let flow = &self.scenario.flows[i];
        let ect = if flow.tcp.params.ect1 { Ecn::Ect1 } else { Ecn::Ect0 };
        let connection = |port| self.connection(id, wire(&flow.tcp), port, flow.mark, ect);
        let (sending, receiving) = (connection(out), connection(back));
        let at_host = |number: usize| {
            let applications = &self.ends[flow.from].applications;
            applications.binary_search_by_key(&number, Application::number).ok().map(small)
        };
        let application = flow.application.and_then(at_host);
        let sender = self.sender(flow, self.starts[i])?;
        self.ends[flow.from].senders.push(SendingEnd {
            connection: sending,
            sender,
            in_port: 0,
            application,
        });
        self.ends[flow.to].receivers.push(ReceivingEnd {
            connection: receiving,
            receiver: Receiver::new(ReceiverParams::from(&flow.tcp.params), self.ack_policy(flow)?),
            arrived: MarkCounts::default(),
            acks: 0,
            marking: HostMarking::new(&flow.ack_marking),
        });
        Ok(())
    }

    /// The ACK policy of the receiver of `flow`.
    fn ack_policy(&self, flow: &model::Flow) -> Result<Box<dyn AckPolicy>, ElementError> {
        let run = &self.scenario.run;
        let Some(given) = &flow.ack_control else { return Ok(ack_policy(flow.ack)) };
        let path = format!("flow.{}.ack.control", flow.name);
        let stream = Stream::new(run.seed, run.replication, &path);
        self.elements.build_ack_policy(given, stream).map_err(|error| error.at(&path))
    }

    /// The sender of `flow`, with its own congestion control if it has one.
    fn sender(&self, flow: &model::Flow, start: Instant) -> Result<Sender, ElementError> {
        let (params, run) = (&flow.tcp.params, &self.scenario.run);
        if let Some(named) = &flow.kernel {
            let rule = format!("`{named}` is a kernel's congestion control, and virtual time has none");
            return Err(ElementError { path: format!("flow.{}.tcp.cc", flow.name), rule, hint: None });
        }
        let Some(given) = &flow.control else { return Ok(Sender::new(params, start)) };
        let path = format!("flow.{}.control", flow.name);
        let stream = Stream::new(run.seed, run.replication, &path);
        let control = self.elements.build_control(given, params, stream).map_err(|error| error.at(&path))?;
        Ok(Sender::with_control(params, start, control.into()))
    }

    fn udp(&mut self, i: usize, k: usize, id: FlowId, out: PortId, back: PortId) {
        let (flow, run) = (&self.scenario.udp[k], &self.scenario.run);
        let wire = Wire { header: flow.packet_size, options: Bytes(0), sack_overhead: Bytes(0) };
        let connection = |port| self.connection(id, wire, port, flow.mark, Ecn::NotEct);
        let (sending, receiving) = (connection(out), connection(back));
        let departures = Departures::new(run, flow, self.starts[i]);
        let source = Source::new(sending, departures);
        self.ends[flow.from].sources.push(source);
        let receiver = call_receiver_of(self.scenario, k, self.starts[i]);
        self.ends[flow.to].drains.push(Drain::new(receiving, receiver));
    }
}

fn wire(tcp: &model::Tcp) -> Wire {
    let options = if tcp.params.timestamps { TIMESTAMPS } else { Bytes(0) };
    Wire { header: tcp.header, options, sack_overhead: tcp.params.sack_overhead }
}

fn ack_policy(policy: model::AckPolicy) -> Box<dyn AckPolicy> {
    match policy {
        model::AckPolicy::EverySegment => Box::new(EverySegment),
        model::AckPolicy::Delayed(params) => params.policy(),
    }
}

fn start(run: &model::Run, list: &str, name: &str, start: Span, jitter: Span) -> Instant {
    let path = format!("{list}.{name}.start");
    let jitter = Stream::new(run.seed, run.replication, &path).below(jitter.as_nanos());
    Instant::ZERO + start + Span::from_nanos(jitter)
}

/// An index as the engine keeps it; a scenario is checked to have fewer than 2^32 of anything.
fn small(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_kernels_congestion_control_is_built_by_nobody() {
        let text = r#"
node = [{ name = "a" }, { name = "b" }]
link = [{ ends = ["a", "b"], rate = "1Mbit/s" }]
flow = [{ name = "f", from = "a", to = "b", tcp = { cc = "kernel:bbr" } }]
[run]
duration = "1s"
"#;
        let loaded = perhop_scenario::load(text.as_bytes(), "a.toml", &[]).expect("a scenario");
        let refused =
            build(&loaded.scenario, TraceKinds::default(), &Registry::new()).err().expect("no simulation");
        assert_eq!(
            refused.to_string(),
            "flow.f.tcp.cc: `kernel:bbr` is a kernel's congestion control, and virtual time has none"
        );
    }
}
