//! The laws of the classifiers of an edge: one line for each way to configure one.

use perhop_core::classify::{
    Address, BehaviorAggregate, Flow, FlowKey, FlowTable, KindSet, MarkSet, MultiField, Pattern, Protocol,
};
use perhop_core::packet::{ClassId, Dir, Dscp, FlowId, Kind, TrafficClass};
use perhop_testkit::classifier_laws;

const MARKS: [(ClassId, Dscp); 2] = [(ClassId(0), Dscp::EF), (ClassId(1), Dscp::DEFAULT)];

classifier_laws!(by_mark, || Box::new(BehaviorAggregate::new(&MARKS)), classes = 2);
classifier_laws!(
    by_mark_or_else,
    || Box::new(BehaviorAggregate::new(&MARKS).otherwise(ClassId(2))),
    classes = 3
);

fn no_flows() -> FlowTable {
    FlowTable::new()
}

fn some_flows() -> FlowTable {
    let mut table = FlowTable::new();
    for id in 0..200 {
        let (src, dst) = (Address(u128::from(id % 7)), Address(u128::from(id % 5)));
        let key = FlowKey { src, dst, src_port: 1000, dst_port: 80, protocol: Protocol::TCP };
        table.insert(FlowId(id), Flow { key, class: TrafficClass(0) });
    }
    table
}

fn rules() -> Vec<(ClassId, Pattern)> {
    let from_three = Pattern { src: Some(vec![Address(3)]), ..Pattern::default() };
    let acks = Pattern { kinds: Some(KindSet::NONE.with(Kind::PureAck)), ..Pattern::default() };
    let back = Pattern { dir: Some(Dir::Reverse), ..Pattern::default() };
    let premium = Pattern { marks: Some(MarkSet::NONE.with(Dscp::EF)), ..Pattern::default() };
    vec![(ClassId(0), from_three), (ClassId(1), acks), (ClassId(2), back), (ClassId(3), premium)]
}

classifier_laws!(no_rules, || Box::new(MultiField::new(&[], &some_flows())), classes = 0);
classifier_laws!(by_kind_way_and_mark, || Box::new(MultiField::new(&rules()[1..], &no_flows())), classes = 4);
classifier_laws!(by_address_too, || Box::new(MultiField::new(&rules(), &some_flows())), classes = 4);
classifier_laws!(by_address_unknown, || Box::new(MultiField::new(&rules(), &no_flows())), classes = 4);
