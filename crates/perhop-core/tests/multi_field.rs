//! The compiled multi-field classifier against its rules read one by one, and by hand.

use std::ops::RangeInclusive;

use perhop_core::classify::{
    Address, Classifier, Flow, FlowKey, FlowTable, KindSet, MarkSet, MultiField, Pattern, Protocol,
};
use perhop_core::packet::{ClassId, Dir, Dscp, FlowId, Kind, Meta, TrafficClass};
use proptest::collection::vec;
use proptest::option::of;
use proptest::prelude::*;
use proptest::sample::select;

const KINDS: [Kind; 4] = [Kind::Data, Kind::PureAck, Kind::Syn, Kind::Other];
const DIRS: [Dir; 2] = [Dir::Forward, Dir::Reverse];

/// A rule as a person reads it: lists of what may be, and nothing prepared.
#[derive(Clone, Debug)]
struct Rule {
    class: u16,
    addresses: [Option<Vec<u128>>; 2],
    ports: [Option<RangeInclusive<u16>>; 2],
    protocol: Option<u8>,
    flows: Option<Vec<u32>>,
    classes: Option<Vec<u8>>,
    dir: Option<Dir>,
    kinds: Option<Vec<Kind>>,
    marks: Option<Vec<u8>>,
}

impl Rule {
    /// Whether it holds for a packet of a flow that is known, or not.
    fn holds(&self, meta: &Meta, flow: Option<&Flow>) -> bool {
        let on_flow = match flow {
            None => {
                self.addresses == [None, None]
                    && self.ports == [None, None]
                    && (self.protocol.is_none() && self.flows.is_none() && self.classes.is_none())
            }
            Some(Flow { key, class }) => {
                let mut ends = [(key.src, key.src_port), (key.dst, key.dst_port)];
                if meta.dir == Dir::Reverse {
                    ends.reverse();
                }
                let [from, to] = &self.addresses;
                let [from_port, to_port] = &self.ports;
                from.as_ref().is_none_or(|list| list.iter().any(|a| Address(*a) == ends[0].0))
                    && to.as_ref().is_none_or(|list| list.iter().any(|a| Address(*a) == ends[1].0))
                    && from_port.as_ref().is_none_or(|r| *r.start() <= ends[0].1 && ends[0].1 <= *r.end())
                    && to_port.as_ref().is_none_or(|r| *r.start() <= ends[1].1 && ends[1].1 <= *r.end())
                    && self.protocol.is_none_or(|number| key.protocol == Protocol(number))
                    && self.flows.as_ref().is_none_or(|list| list.iter().any(|id| FlowId(*id) == meta.flow))
                    && self
                        .classes
                        .as_ref()
                        .is_none_or(|list| list.iter().any(|c| TrafficClass(*c) == *class))
            }
        };
        on_flow
            && self.dir.is_none_or(|dir| dir == meta.dir)
            && self.kinds.as_ref().is_none_or(|list| list.contains(&meta.kind))
            && self.marks.as_ref().is_none_or(|list| list.contains(&meta.dscp.value()))
    }

    fn pattern(&self) -> (ClassId, Pattern) {
        let addresses =
            |list: &Option<Vec<u128>>| list.as_ref().map(|l| l.iter().copied().map(Address).collect());
        let kinds = |list: &Vec<Kind>| list.iter().fold(KindSet::NONE, |set, kind| set.with(*kind));
        let marks =
            |list: &Vec<u8>| list.iter().filter_map(|m| Dscp::new(*m)).fold(MarkSet::NONE, MarkSet::with);
        let pattern = Pattern {
            src: addresses(&self.addresses[0]),
            dst: addresses(&self.addresses[1]),
            src_port: self.ports[0].clone(),
            dst_port: self.ports[1].clone(),
            protocol: self.protocol.map(Protocol),
            flows: self.flows.as_ref().map(|l| l.iter().copied().map(FlowId).collect()),
            classes: self.classes.as_ref().map(|l| l.iter().copied().map(TrafficClass).collect()),
            dir: self.dir,
            kinds: self.kinds.as_ref().map(kinds),
            marks: self.marks.as_ref().map(marks),
        };
        (ClassId(self.class), pattern)
    }
}

/// Three values of each field, so that rules hold, fail and overlap often.
fn rules() -> impl Strategy<Value = Vec<Rule>> {
    let addresses = || of(vec(0u128..3, 0..3));
    let ports = || prop::option::weighted(0.3, (0u16..3, 0u16..3).prop_map(|(low, more)| low..=low + more));
    let flow =
        (of(vec(0u32..6, 0..4)), of(vec(0u8..3, 0..3)), prop::option::weighted(0.3, select(vec![6u8, 17])));
    let packet = (
        of(select(DIRS.to_vec())),
        of(vec(select(KINDS.to_vec()), 0..3)),
        of(vec(select(vec![0u8, 46, 10, 63]), 0..3)),
    );
    let rule = (0u16..5, [addresses(), addresses()], [ports(), ports()], flow, packet).prop_map(
        |(class, addresses, ports, (flows, classes, protocol), (dir, kinds, marks))| Rule {
            class,
            addresses,
            ports,
            protocol,
            flows,
            classes,
            dir,
            kinds,
            marks,
        },
    );
    vec(rule, 0..6)
}

fn flows() -> impl Strategy<Value = Vec<Option<Flow>>> {
    let key = (0u128..3, 0u128..3, 0u16..4, 0u16..4, select(vec![6u8, 17]), 0u8..3);
    let flow = key.prop_map(|(src, dst, src_port, dst_port, protocol, class)| {
        let (src, dst, protocol) = (Address(src), Address(dst), Protocol(protocol));
        Flow { key: FlowKey { src, dst, src_port, dst_port, protocol }, class: TrafficClass(class) }
    });
    vec(of(flow), 0..6)
}

fn table(flows: &[Option<Flow>]) -> FlowTable {
    let mut table = FlowTable::new();
    for (id, flow) in (0..).map(FlowId).zip(flows) {
        flow.iter().for_each(|flow| table.insert(id, *flow));
    }
    table
}

/// Every kind of packet of flows 0 to 7.
fn packets() -> impl Iterator<Item = Meta> {
    let marks = [0u8, 46, 10, 63, 9].map(|mark| Dscp::new(mark).expect("below 64"));
    (0..8).flat_map(move |flow| {
        DIRS.into_iter().flat_map(move |dir| {
            KINDS.into_iter().flat_map(move |kind| {
                marks.into_iter().map(move |dscp| Meta {
                    flow: FlowId(flow),
                    dir,
                    kind,
                    dscp,
                    ..Meta::default()
                })
            })
        })
    })
}

proptest! {
    /// Compiled tables give what the rules give one by one, for known and unknown flows.
    //= test rfc2475-2.3.1-multi-field
    #[test]
    fn equals_its_rules_read_one_by_one(rules in rules(), flows in flows()) {
        let patterns: Vec<_> = rules.iter().map(Rule::pattern).collect();
        let compiled = MultiField::new(&patterns, &table(&flows));
        for meta in packets() {
            let flow = flows.get(meta.flow.0 as usize).and_then(Option::as_ref);
            let wanted = rules.iter().find(|rule| rule.holds(&meta, flow)).map(|rule| ClassId(rule.class));
            prop_assert_eq!(compiled.classify(&meta), wanted, "{:?}", meta);
        }
    }

    /// A flow that is learned later is classified as if it had been known from the start, and so is one that changes.
    #[test]
    fn learns_flows(rules in rules(), first in flows(), then in flows()) {
        let patterns: Vec<_> = rules.iter().map(Rule::pattern).collect();
        let mut grown = MultiField::new(&patterns, &table(&first));
        let mut whole = table(&first);
        for (id, flow) in table(&then).iter() {
            grown.learn(id, flow);
            whole.insert(id, *flow);
        }
        let compiled = MultiField::new(&patterns, &whole);
        for meta in packets() {
            prop_assert_eq!(grown.classify(&meta), compiled.classify(&meta), "{:?}", meta);
        }
    }
}

/// One flow from node 1, port 1000, to node 2, port 80, over TCP.
fn web() -> FlowTable {
    let key =
        FlowKey { src: Address(1), dst: Address(2), src_port: 1000, dst_port: 80, protocol: Protocol::TCP };
    table(&[Some(Flow { key, class: TrafficClass(4) })])
}

/// Where data of the flow, its ACKs and data of an unknown flow go.
fn ways(rules: &[(ClassId, Pattern)]) -> [Option<u16>; 3] {
    let classifier = MultiField::new(rules, &web());
    let data = Meta::default();
    let ack = Meta { kind: Kind::PureAck, dir: Dir::Reverse, ..data };
    [data, ack, Meta { flow: FlowId(1), ..data }].map(|meta| classifier.classify(&meta).map(|class| class.0))
}

#[test]
fn a_flow_s_acks_come_from_its_destination() {
    let from_one = Pattern { src: Some(vec![Address(1)]), ..Pattern::default() };
    let from_two = Pattern { src: Some(vec![Address(2)]), ..Pattern::default() };
    let to_80 = Pattern { dst_port: Some(80..=80), ..Pattern::default() };
    assert_eq!(ways(&[(ClassId(0), from_one.clone())]), [Some(0), None, None]);
    assert_eq!(ways(&[(ClassId(0), from_two), (ClassId(1), from_one)]), [Some(1), Some(0), None]);
    assert_eq!(ways(&[(ClassId(0), to_80)]), [Some(0), None, None]);
}

//= test rfc3290-4.1.2-precedence
#[test]
fn the_first_rule_that_holds_wins() {
    let all = Pattern::default();
    let class_4 = Pattern { classes: Some(vec![TrafficClass(4)]), ..Pattern::default() };
    assert_eq!(
        ways(&[(ClassId(0), class_4.clone()), (ClassId(1), all.clone())]),
        [Some(0), Some(0), Some(1)]
    );
    assert_eq!(ways(&[(ClassId(1), all), (ClassId(0), class_4)]), [Some(1), Some(1), Some(1)]);
}

//= test rfc3290-4.1.1-all-fields
#[test]
fn every_field_that_is_given_must_hold_and_an_empty_list_never_does() {
    let udp_from_one =
        Pattern { src: Some(vec![Address(1)]), protocol: Some(Protocol::UDP), ..Pattern::default() };
    assert_eq!(ways(&[(ClassId(0), udp_from_one)]), [None, None, None]);
    let from_nobody = Pattern { src: Some(vec![]), ..Pattern::default() };
    assert_eq!(ways(&[(ClassId(0), from_nobody)]), [None, None, None]);
    let nothing = Pattern { kinds: Some(KindSet::NONE), ..Pattern::default() };
    assert_eq!(ways(&[(ClassId(0), nothing)]), [None, None, None]);
    let all_but_acks = Pattern { kinds: Some(KindSet::ALL.without(Kind::PureAck)), ..Pattern::default() };
    assert_eq!(ways(&[(ClassId(0), all_but_acks)]), [Some(0), None, Some(0)]);
}
