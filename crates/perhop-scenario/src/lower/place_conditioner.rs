//! Conditioners of the file put on the links by which their packets come in.

use std::collections::BTreeSet;

use perhop_core::classify::{KindSet, MarkSet, Pattern, Protocol as Above};
use perhop_core::packet::{Dir, FlowId, Kind, TrafficClass};

use crate::lower::Network;
use crate::lower::check::conditioner;
use crate::lower::conditioner::parts;
use crate::lower::flows::Made;
use crate::lower::programs;
use crate::lower::queue::refuse_element;
use crate::meant::elements::Elements;
use crate::meant::model;
use crate::meant::routes::address;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::NodeKind;
use crate::words::marks::Mark;
use crate::words::names::End;
use crate::words::suggest;
use crate::written::conditioner::{Carries, Conditioner, Direction, Match, OneOrMany, Ports, Protocol};
use crate::written::file::ScenarioFile;

/// Most nodes and flows that the patterns of all conditioners name, each counted at every router: 160 MB.
const MOST_HELD: usize = 10_000_000;

/// How many nodes and flows `pattern` names.
fn entries(pattern: &Pattern) -> usize {
    let nodes = [&pattern.src, &pattern.dst].into_iter().flatten().map(Vec::len).sum::<usize>();
    nodes + pattern.flows.as_ref().map_or(0, Vec::len)
}

/// The conditioners that `file` means, and for each its number in the file.
pub(crate) fn place(
    file: &ScenarioFile,
    network: &Network,
    flows: &Made,
    elements: &dyn Elements,
    report: &mut Report,
) -> (Vec<model::Conditioner>, Vec<usize>) {
    let mut into: Vec<Vec<usize>> = Vec::new();
    if !file.conditioner.is_empty() {
        into.resize(network.nodes.len(), Vec::new());
        for (l, link) in network.links.iter().enumerate() {
            into[link.to].push(l);
        }
    }
    let (mut made, mut from_file, mut held) = (Vec::new(), Vec::new(), 0usize);
    for (i, conditioner) in file.conditioner.iter().enumerate() {
        let mut placing = Placing { i, conditioner, file, network, into: &into, report };
        let places = placing.places();
        let pattern = placing.pattern(flows);
        let (Some(places), Some(pattern)) = (places, pattern) else { continue };
        held += places.len().saturating_mul(1 + entries(&pattern));
        if held > MOST_HELD {
            let hint = "match by `class` or `mark`, or leave out what `from` says already".to_owned();
            let rule = format!("the conditioners hold more than {MOST_HELD} nodes and flows to compare with");
            report.error(&steps!["conditioner", i, "match"], rule, Some(hint));
            return (made, from_file);
        }
        let mut parts = parts(conditioner, pattern, file.run.packet_size, &flows.classes);
        if let Some(model::Meter::Custom(meter)) = &mut parts.meter
            && programs::give(meter.code.as_mut(), file.run.clock, &steps!["conditioner", i, "meter"], report)
            && let Err(error) = elements.check_meter(meter, parts.per != model::Per::Aggregate)
        {
            refuse_element(error, &steps!["conditioner", i, "meter"], report);
        }
        let several = places.len() > 1 || conditioner.at.is_several();
        for (k, (node, from)) in places.into_iter().enumerate() {
            let member = if several { format!("[{k}]") } else { String::new() };
            let path = format!("conditioner.{}{member}", conditioner.name);
            made.push(model::Conditioner { path, node, from, ..parts.clone() });
            from_file.push(i);
        }
    }
    (made, from_file)
}

/// One conditioner on its way to its routers.
struct Placing<'a, 'b, 'c> {
    i: usize,
    conditioner: &'a Conditioner,
    file: &'a ScenarioFile,
    network: &'a Network<'a>,
    /// Links that lead into each node.
    into: &'a [Vec<usize>],
    report: &'b mut Report<'c>,
}

impl Placing<'_, '_, '_> {
    /// The routers, each with the links by which its packets come in.
    fn places(&mut self) -> Option<Vec<(usize, Vec<usize>)>> {
        let (i, conditioner) = (self.i, self.conditioner);
        let at = steps!["conditioner", i, "at"];
        let nodes = self.network.names.nodes(&conditioner.at, &at, self.report);
        let at_host = matches!(nodes, Some((_, Some(NodeKind::Host))));
        if at_host {
            let hint = "a host marks its own packets: `mark` and `ack.marking` of a flow".to_owned();
            let rule = format!("`{}` is a host; a conditioner treats what a router forwards", conditioner.at);
            self.report.error(&at, rule, Some(hint));
        }
        let at = steps!["conditioner", i, "from"];
        let from = self.ends(&conditioner.from, &at)?;
        let (nodes, _) = nodes.filter(|_| !at_host)?;
        let every: BTreeSet<usize> = from.iter().flatten().copied().collect();
        let comes_in = |l: &usize| every.contains(&self.network.links[*l].from);
        let place =
            |node: usize| (node, self.into[node].iter().copied().filter(comes_in).collect::<Vec<usize>>());
        let places: Vec<_> = nodes.map(place).collect();
        let used: BTreeSet<usize> =
            places.iter().flat_map(|(_, links)| links).map(|l| self.network.links[*l].from).collect();
        let ends = conditioner.from.as_slice().iter();
        if let Some(k) = from.iter().position(|nodes| nodes.is_disjoint(&used)) {
            let at = conditioner.from.entry(&at, k);
            let from = conditioner.from.as_slice()[k].to_string();
            self.no_link(&from, &conditioner.at.to_string(), places[0].0, &at);
            return None;
        }
        if let Some((node, _)) = places.iter().find(|(_, links)| links.is_empty()) {
            let from = ends.map(ToString::to_string).collect::<Vec<_>>().join("` or `");
            self.no_link(&from, &self.network.nodes[*node].name, *node, &at);
            return None;
        }
        Some(places)
    }

    /// Reports that no link leads from `from` to the router `to`, for one number `node`.
    fn no_link(&mut self, from: &str, to: &str, node: usize, at: &[Step]) {
        if !self.network.complete {
            return;
        }
        let group = |l: &usize| {
            let name = &self.network.nodes[self.network.links[*l].from].name;
            name.split_once('[').map_or_else(|| name.clone(), |(group, _)| format!("{group}[*]"))
        };
        let neighbours: BTreeSet<String> = self.into[node].iter().map(group).collect();
        let neighbours = neighbours.into_iter().take(20).collect::<Vec<_>>().join(", ");
        let hint = (!neighbours.is_empty())
            .then(|| format!("packets come in from neighbours, and its neighbours are {neighbours}"));
        self.report.error(at, format!("no link leads from `{from}` to `{to}`"), hint);
    }

    /// The nodes that each of `ends`, written at `at`, means.
    fn ends(&mut self, ends: &OneOrMany<End>, at: &[Step]) -> Option<Vec<BTreeSet<usize>>> {
        let mut every = Some(Vec::new());
        for (k, end) in ends.as_slice().iter().enumerate() {
            let at = ends.entry(at, k);
            match (self.network.names.nodes(end, &at, self.report), &mut every) {
                (Some((nodes, _)), Some(every)) => every.push(nodes.collect()),
                _ => every = None,
            }
        }
        every
    }

    /// Which packets the conditioner treats; the lists are in ascending order.
    fn pattern(&mut self, flows: &Made) -> Option<Pattern> {
        let matches: &Match = &self.conditioner.matches;
        let at = |key: &'static str| steps!["conditioner", self.i, "match", key];
        let (at_src, at_dst, at_flow, at_class) = (at("src"), at("dst"), at("flow"), at("class"));
        let addresses = |nodes: Vec<BTreeSet<usize>>| {
            let nodes: BTreeSet<usize> = nodes.into_iter().flatten().collect();
            nodes.into_iter().map(address).collect::<Vec<_>>()
        };
        let src = matches.src.as_ref().map(|ends| self.ends(ends, &at_src).map(addresses));
        let dst = matches.dst.as_ref().map(|ends| self.ends(ends, &at_dst).map(addresses));
        let pattern = Pattern {
            src: src.clone().flatten(),
            dst: dst.clone().flatten(),
            src_port: matches.src_port.map(range),
            dst_port: matches.dst_port.map(range),
            protocol: matches.protocol.map(|protocol| match protocol {
                Protocol::Tcp => Above::TCP,
                Protocol::Udp => Above::UDP,
            }),
            flows: matches.flow.as_ref().map(|names| self.flows(names, flows, &at_flow)),
            classes: matches.class.as_ref().map(|names| self.classes(names, flows, &at_class)),
            dir: matches.direction.map(|direction| match direction {
                Direction::Forward => Dir::Forward,
                Direction::Reverse => Dir::Reverse,
            }),
            kinds: matches.kind.map(|kind| match kind {
                Carries::Data => KindSet::ALL.without(Kind::PureAck),
                Carries::PureAck => KindSet::NONE.with(Kind::PureAck),
            }),
            marks: matches
                .mark
                .as_ref()
                .map(|marks| marks.as_slice().iter().fold(MarkSet::NONE, |set, Mark(dscp)| set.with(*dscp))),
        };
        (src != Some(None) && dst != Some(None)).then_some(pattern)
    }

    /// The flows that `names` mean, in order: each of a `[[flow]]` or `[[udp]]`, or one of its members.
    fn flows(&mut self, names: &OneOrMany<String>, made: &Made, at: &[Step]) -> Vec<FlowId> {
        let known = || made.flows.iter().map(|flow| &flow.name).chain(made.udp.iter().map(|flow| &flow.name));
        let mut ids = BTreeSet::new();
        for (k, name) in names.as_slice().iter().enumerate() {
            let is_meant = |full: &str| {
                full.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
            };
            let meant = (0u32..).zip(known()).filter(|(_, full)| is_meant(full)).map(|(id, _)| FlowId(id));
            let meant: Vec<_> = meant.collect();
            if meant.is_empty() {
                self.no_flow(name, made, &names.entry(at, k));
            }
            ids.extend(meant);
        }
        ids.into_iter().collect()
    }

    /// Reports the name of a flow that there is not, unless it may be missing only because of another mistake.
    fn no_flow(&mut self, name: &str, made: &Made, at: &[Step]) {
        let (tcp, udp) = (self.file.flow.iter().enumerate(), self.file.udp.iter().enumerate());
        let tcp = tcp.map(|(i, flow)| ("flow", i, flow.name.as_str()));
        let all = tcp.chain(udp.map(|(i, flow)| ("udp", i, flow.name.as_str())));
        if !all.clone().all(|(list, i, _)| self.report.is_sound(&steps![list, i, "name"])) {
            return;
        }
        let group = name.split('[').next().unwrap_or_default();
        let Some((list, i, group)) = all.clone().find(|(.., known)| *known == group) else {
            let hint = suggest::among(name, all.map(|(.., known)| known));
            return self.report.error(at, format!("there is no flow `{}`", suggest::short(name)), hint);
        };
        let members = if list == "flow" { &made.from_file } else { &made.udp_from_file };
        let count = members.iter().filter(|of| **of == i).count();
        let random = list == "flow" && self.file.flow[i].arrivals.is_some();
        if name == group || (count == 0 && !random) {
            // No transfer begins in this run, or the flow has a mistake of its own.
            return;
        }
        let hint = match count {
            0 => format!("write `{group}`: none of its transfers begins in this run"),
            1 if !random => format!("write `{group}`"),
            _ => format!("write `{group}` for all of them; the last one is `{group}[{}]`", count - 1),
        };
        self.report.error(at, format!("there is no flow `{}`", suggest::short(name)), Some(hint));
    }

    /// The traffic classes that `names` mean, in order.
    fn classes(&mut self, names: &OneOrMany<String>, made: &Made, at: &[Step]) -> Vec<TrafficClass> {
        let mut classes = BTreeSet::new();
        let known = conditioner::traffic_classes(self.file, self.report);
        for (k, name) in names.as_slice().iter().enumerate() {
            match (made.classes.get(name), &known) {
                (Some(class), _) => {
                    classes.insert(*class);
                }
                (None, Some(known)) => {
                    let hint = suggest::among(name, known.iter().copied());
                    let rule = format!("no flow has the class `{}`", suggest::short(name));
                    self.report.error(&names.entry(at, k), rule, hint);
                }
                (None, None) => {}
            }
        }
        classes.into_iter().collect()
    }
}

fn range(ports: Ports) -> std::ops::RangeInclusive<u16> {
    match ports {
        Ports::One(port) => port..=port,
        Ports::Range([first, last]) => first..=last,
    }
}
