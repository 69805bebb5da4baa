//! Conditioners of the file put on the links by which their packets come in.

use std::collections::{BTreeMap, BTreeSet};

use perhop_core::ack_marking::{self, ClassMarks, MarkMap};
use perhop_core::classify::{KindSet, MarkSet, Pattern, Protocol as Above};
use perhop_core::dscp::Dscp;
use perhop_core::marker;
use perhop_core::meter::{SrTcmParams, TcpFriendlyParams, TokenBucketParams, TrTcmParams};
use perhop_core::packet::{Dir, FlowId, Kind, TrafficClass};
use perhop_core::shaper::ShaperParams;
use perhop_core::units::Bytes;

use crate::conditioner::{
    AckMarking, Carries, Conditioner, Direction, Marker, Match, Meter, OneOrMany, Per, Ports, Protocol,
    Shaper,
};
use crate::file::ScenarioFile;
use crate::lower::Network;
use crate::lower_flows::{Made, address};
use crate::lower_queue::{by_mark, bytes, color_map};
use crate::marks::Mark;
use crate::model;
use crate::names::End;
use crate::report::Report;
use crate::suggest;
use crate::tree::{Step, steps};
use crate::units::{Limit, Size};

/// The conditioners that `file` means.
pub(crate) fn place(
    file: &ScenarioFile,
    network: &Network,
    flows: &Made,
    report: &mut Report,
) -> Vec<model::Conditioner> {
    let mut into: Vec<Vec<usize>> = Vec::new();
    if !file.conditioner.is_empty() {
        into.resize(network.nodes.len(), Vec::new());
        for (l, link) in network.links.iter().enumerate() {
            into[link.to].push(l);
        }
    }
    let mut made = Vec::new();
    for (i, conditioner) in file.conditioner.iter().enumerate() {
        let mut placing = Placing { i, conditioner, network, into: &into, report };
        let Some(seats) = placing.seats() else { continue };
        let Some(pattern) = placing.pattern(flows) else { continue };
        let parts = parts(conditioner, pattern, file.run.packet_size, flows);
        let several = seats.len() > 1 || conditioner.at.is_each();
        for (k, (node, from)) in seats.into_iter().enumerate() {
            let member = if several { format!("[{k}]") } else { String::new() };
            let path = format!("conditioner.{}{member}", conditioner.name);
            made.push(model::Conditioner { path, node, from, ..parts.clone() });
        }
    }
    made
}

/// One conditioner on its way to its routers.
struct Placing<'a, 'b, 'c> {
    i: usize,
    conditioner: &'a Conditioner,
    network: &'a Network<'a>,
    /// Links that lead into each node.
    into: &'a [Vec<usize>],
    report: &'b mut Report<'c>,
}

impl Placing<'_, '_, '_> {
    /// The routers, each with the links by which its packets come in.
    fn seats(&mut self) -> Option<Vec<(usize, Vec<usize>)>> {
        let (i, conditioner) = (self.i, self.conditioner);
        let at = steps!["conditioner", i, "at"];
        let (nodes, router) = self.network.names.nodes(&conditioner.at, &at, self.report)?;
        if !router {
            let hint = "a host marks its own packets: `mark` and `ack.marking` of a flow".to_owned();
            let rule = format!("`{}` is a host; a conditioner treats what a router forwards", conditioner.at);
            self.report.error(&at, rule, Some(hint));
            return None;
        }
        let from = self.ends(&conditioner.from, &steps!["conditioner", i, "from"])?;
        let mut seats = Vec::new();
        for node in nodes {
            let comes_in = |l: &&usize| from.contains(&self.network.links[**l].from);
            let links: Vec<usize> = self.into[node].iter().filter(comes_in).copied().collect();
            if links.is_empty() {
                if self.network.complete {
                    let router = &self.network.nodes[node].name;
                    let ends = conditioner.from.as_slice().iter().map(|end| format!("`{end}`"));
                    let ends = ends.collect::<Vec<_>>().join(" or ");
                    let hint = "a conditioner treats packets that come by a link from these neighbours";
                    let rule = format!("no link leads from {ends} to `{router}`");
                    self.report.error(&steps!["conditioner", i, "from"], rule, Some(hint.to_owned()));
                }
                return None;
            }
            seats.push((node, links));
        }
        Some(seats)
    }

    /// The nodes that `ends`, written at `at`, mean.
    fn ends(&mut self, ends: &OneOrMany<End>, at: &[Step]) -> Option<BTreeSet<usize>> {
        let mut nodes = BTreeSet::new();
        for (k, end) in ends.as_slice().iter().enumerate() {
            let at = match ends {
                OneOrMany::One(_) => at.to_vec(),
                OneOrMany::Many(_) => [at, &steps![k]].concat(),
            };
            nodes.extend(self.network.names.nodes(end, &at, self.report)?.0);
        }
        Some(nodes)
    }

    /// Which packets the conditioner treats.
    fn pattern(&mut self, flows: &Made) -> Option<Pattern> {
        let matches: &Match = &self.conditioner.matches;
        let at = |key: &'static str| steps!["conditioner", self.i, "match", key];
        let (at_src, at_dst, at_flow, at_class) = (at("src"), at("dst"), at("flow"), at("class"));
        let addresses = |nodes: BTreeSet<usize>| nodes.into_iter().map(address).collect::<Vec<_>>();
        let src = match &matches.src {
            Some(ends) => Some(addresses(self.ends(ends, &at_src)?)),
            None => None,
        };
        let dst = match &matches.dst {
            Some(ends) => Some(addresses(self.ends(ends, &at_dst)?)),
            None => None,
        };
        Some(Pattern {
            src,
            dst,
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
        })
    }

    /// The flows that `names` mean: each of a `[[flow]]` or `[[udp]]`, or one of its members.
    fn flows(&mut self, names: &OneOrMany<String>, made: &Made, at: &[Step]) -> Vec<FlowId> {
        let known = made.flows.iter().map(|flow| &flow.name).chain(made.udp.iter().map(|flow| &flow.name));
        let known: Vec<&String> = known.collect();
        let mut ids = Vec::new();
        for name in names.as_slice() {
            let before = ids.len();
            let is_meant = |full: &str| {
                full.strip_prefix(name.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('['))
            };
            ids.extend((0u32..).zip(&known).filter(|(_, full)| is_meant(full)).map(|(id, _)| FlowId(id)));
            if ids.len() == before && self.network.complete {
                let plain = known.iter().map(|full| full.split('[').next().unwrap_or(full));
                let hint = suggest::among(name, plain);
                self.report.error(at, format!("there is no flow `{}`", suggest::short(name)), hint);
            }
        }
        ids
    }

    fn classes(&mut self, names: &OneOrMany<String>, made: &Made, at: &[Step]) -> Vec<TrafficClass> {
        let mut classes = Vec::new();
        for name in names.as_slice() {
            match made.classes.get(name) {
                Some(class) => classes.push(*class),
                None => {
                    let hint = suggest::among(name, made.classes.keys().map(String::as_str));
                    let rule = format!("no flow has the class `{}`", suggest::short(name));
                    self.report.error(at, rule, hint);
                }
            }
        }
        classes
    }
}

fn range(ports: Ports) -> std::ops::RangeInclusive<u16> {
    match ports {
        Ports::One(port) => port..=port,
        Ports::Range([first, last]) => first..=last,
    }
}

/// The conditioner without its seat.
fn parts(
    conditioner: &Conditioner,
    pattern: Pattern,
    packet_size: Option<Size>,
    flows: &Made,
) -> model::Conditioner {
    let colors = match &conditioner.meter {
        Some(
            Meter::SrTcm { color_aware: true, colors, .. } | Meter::TrTcm { color_aware: true, colors, .. },
        ) => Some(color_map(colors)),
        _ => None,
    };
    model::Conditioner {
        path: String::new(),
        node: 0,
        from: Vec::new(),
        pattern,
        ack_marking: conditioner.ack_marking.as_ref().map(|marking| ack_marking(marking, &flows.classes)),
        colors,
        meter: conditioner.meter.as_ref().map(|meter| model_meter(meter, packet_size)),
        per_flow: conditioner.per == Per::Flow,
        marker: model_marker(conditioner.marker),
        shaper: conditioner.shaper.map(|shaper| model_shaper(shaper, packet_size)),
    }
}

/// `marker` as the elements have it.
pub(crate) fn model_marker(marker: Marker) -> marker::Marker {
    marker::Marker { green: marker.green.0, yellow: marker.yellow.0, red: marker.red.0 }
}

/// `meter` as the elements have it; a burst whose bytes are not known is one byte, and reported by the check.
pub(crate) fn model_meter(meter: &Meter, packet_size: Option<Size>) -> model::Meter {
    let burst = |limit: Limit| bytes(limit, packet_size).unwrap_or(Bytes(1));
    match meter {
        Meter::TokenBucket { cir, cbs } => {
            model::Meter::TokenBucket(TokenBucketParams { cir: cir.0, cbs: burst(*cbs) })
        }
        Meter::SrTcm { cir, cbs, ebs, color_aware, .. } => model::Meter::SrTcm(SrTcmParams {
            cir: cir.0,
            cbs: burst(*cbs),
            ebs: burst(*ebs),
            color_aware: *color_aware,
        }),
        Meter::TrTcm { cir, cbs, pir, pbs, color_aware, .. } => model::Meter::TrTcm(TrTcmParams {
            cir: cir.0,
            cbs: burst(*cbs),
            pir: pir.0,
            pbs: burst(*pbs),
            color_aware: *color_aware,
        }),
        Meter::TcpFriendly {
            interval,
            tokens,
            packet_size: own,
            small_window,
            gain_window,
            gain_packets,
            shortage,
            fraction,
            new_flow,
            beyond_tokens,
            carry_spacing,
            carry_tokens,
            forget_after,
        } => model::Meter::TcpFriendly(TcpFriendlyParams {
            interval: interval.0,
            tokens: *tokens,
            packet_size: own.or(packet_size).map_or(Bytes(1), |size| size.0),
            small_window: *small_window,
            gain_window: *gain_window,
            gain_packets: *gain_packets,
            shortage: (*shortage).into(),
            fraction: (*fraction).into(),
            new_flow: (*new_flow).into(),
            beyond_tokens: (*beyond_tokens).into(),
            carry_spacing: (*carry_spacing).into(),
            carry_tokens: *carry_tokens,
            forget_after: *forget_after,
        }),
    }
}

/// `shaper` as the elements have it.
pub(crate) fn model_shaper(shaper: Shaper, packet_size: Option<Size>) -> ShaperParams {
    let burst = bytes(shaper.burst, packet_size).unwrap_or(Bytes(1));
    ShaperParams { rate: shaper.rate.0, burst, limit: shaper.limit.0 }
}

/// `marking` as the elements have it.
pub(crate) fn ack_marking(
    marking: &AckMarking,
    classes: &BTreeMap<String, TrafficClass>,
) -> ack_marking::AckMarking {
    match marking {
        AckMarking::BestEffort => ack_marking::AckMarking::BestEffort,
        AckMarking::PerClass { marks } => {
            let known = marks.iter().filter_map(|(name, mark)| Some((*classes.get(name)?, mark.0)));
            let marks = known.fold(ClassMarks::new(), |marks, (class, dscp)| marks.with(class, dscp));
            ack_marking::AckMarking::PerClass(marks)
        }
        AckMarking::PerMark { marks, rule } => {
            let given = by_mark(marks).into_iter();
            let map = given
                .fold(MarkMap::all(Dscp::DEFAULT), |map, (of_data, Mark(of_ack))| map.with(of_data, of_ack));
            ack_marking::AckMarking::PerMark { map, rule: (*rule).into() }
        }
        AckMarking::Copy { rule } => {
            ack_marking::AckMarking::PerMark { map: MarkMap::identity(), rule: (*rule).into() }
        }
    }
}

/// Every mark that `marking` may give.
pub(crate) fn marks_given(marking: &AckMarking, data: &BTreeSet<Dscp>) -> BTreeSet<Dscp> {
    let mut given = BTreeSet::from([Dscp::DEFAULT]);
    match marking {
        AckMarking::BestEffort => {}
        AckMarking::PerClass { marks } | AckMarking::PerMark { marks, .. } => {
            given.extend(marks.values().map(|mark| mark.0));
        }
        AckMarking::Copy { .. } => given.extend(data),
    }
    given
}
