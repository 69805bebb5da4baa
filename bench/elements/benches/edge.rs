//! What the elements of an edge cost, one operation at a time: `cargo bench -p perhop-bench-elements --bench edge`.

use std::hint::black_box;

use perhop_bench_elements::{Bench, Pkt, run, timed};
use perhop_core::ack_marking::{AckMarker, AckMarking, ClassMarks, CopyRule, Covered, MarkMap};
use perhop_core::classify::{
    Address, BehaviorAggregate, Classifier, Flow, FlowKey, FlowTable, KindSet, MultiField, Pattern, Protocol,
};
use perhop_core::conditioner::{Conditioner, ConditionerParts};
use perhop_core::marker::{Action, Marker};
use perhop_core::meter::{TrTcm, TrTcmParams};
use perhop_core::packet::{ClassId, Dir, Dscp, FlowId, Kind, Meta, Packet, PortId, TcpView, TrafficClass};
use perhop_core::shaper::{Shaper, ShaperParams};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes, QueueSize};

const FLOWS: u32 = 10_000;
/// 1500 bytes at 10 Mbit/s.
const GAP: Span = Span::from_micros(1200);

/// Forgets what it hears.
struct Deaf;

impl Sink<Pkt> for Deaf {
    fn dropped(&mut self, _now: Instant, _site: SiteId, _pkt: Pkt, _why: DropReason) {}
}

fn data() -> Meta {
    Meta { len: Bytes(1500), ..Meta::default() }
}

fn rate(bits: u64) -> BitRate {
    BitRate::new(bits).expect("not zero")
}

/// Flows between a hundred sources and a hundred destinations.
fn flows() -> FlowTable {
    let mut table = FlowTable::new();
    for id in 0..FLOWS {
        let (src, dst) = (Address(u128::from(id % 100)), Address(u128::from(100 + id / 100)));
        let key = FlowKey { src, dst, src_port: 1000, dst_port: 80, protocol: Protocol::TCP };
        table.insert(FlowId(id), Flow { key, class: TrafficClass(0) });
    }
    table
}

/// For each source its own class of data; ACKs apart.
fn rules() -> Vec<(ClassId, Pattern)> {
    let acks = Pattern { kinds: Some(KindSet::NONE.with(Kind::PureAck)), ..Pattern::default() };
    let from = |source| Pattern { src: Some(vec![Address(source)]), ..Pattern::default() };
    let sources = (1..).map(ClassId).zip((0..100).map(from));
    [(ClassId(0), acks)].into_iter().chain(sources).collect()
}

fn classifiers(c: &mut Bench) {
    let by_mark = BehaviorAggregate::new(&[(ClassId(0), Dscp::EF), (ClassId(1), Dscp::DEFAULT)]);
    c.operation("behavior aggregate: classify", || by_mark.classify(black_box(&data())));
    let (rules, table) = (rules(), flows());
    let by_fields = MultiField::new(&rules, &table);
    let mut flow = 0;
    c.operation("multi-field: classify, 101 rules, 10000 flows in turn", || {
        // far apart, as flows of a fast link are
        flow = (flow + 7919) % FLOWS;
        by_fields.classify(black_box(&Meta { flow: FlowId(flow), ..data() }))
    });
    c.batch("multi-field: compile 101 rules, for each of 10000 flows", u64::from(FLOWS), || {
        timed(|| drop(black_box(MultiField::new(&rules, &table))))
    });
}

/// A segment passes and its ACK comes back, with 32 others on the way.
fn acks(c: &mut Bench) {
    let mut pair = |name: &str, marking: AckMarking| {
        let (mut edge, mut end) = (AckMarker::new(marking), 0u32);
        c.operation(name, || {
            end = end.wrapping_add(1448);
            let tcp = TcpView { seq_end: end, ack: end.wrapping_sub(32 * 1448), ..TcpView::default() };
            let segment = Meta { tcp: Some(tcp), ..data() };
            edge.on_data(black_box(&segment));
            edge.mark(black_box(&Meta { kind: Kind::PureAck, dir: Dir::Reverse, ..segment }))
        });
    };
    let copy = AckMarking::PerMark { map: MarkMap::identity(), rule: CopyRule::WorstOfCovered };
    pair("ack marking: a segment and its ACK at an edge, copied", copy);
    let by_class = AckMarking::PerClass(ClassMarks::new().with(TrafficClass(0), Dscp::EF));
    pair("ack marking: a segment and its ACK at an edge, by class", by_class);
    let mut host = Covered::new(CopyRule::WorstOfCovered);
    c.operation("ack marking: a segment and its ACK at the host", || {
        host.on_data(black_box(Dscp::EF));
        host.take()
    });
}

fn shaper(limit: u64) -> Shaper<Pkt> {
    let limit = QueueSize::Packets(limit);
    let params = ShaperParams { rate: rate(10_000_000), burst: Bytes(15_000), limit };
    Shaper::new(SiteId(0), params).expect("a burst")
}

fn shapers(c: &mut Bench) {
    let (mut waits, mut now) = (shaper(1000), Instant::ZERO);
    for _ in 0..100 {
        drop(waits.push(now, PortId(0), Pkt(Box::new(data())), &mut Deaf).on());
    }
    c.operation("shaper: release and hold, 90 packets waiting", || {
        now = waits.next_timeout().unwrap_or(now);
        let (_, pkt) = waits.pop(now).expect("one waits");
        waits.push(now, PortId(0), black_box(pkt), &mut Deaf).on()
    });
    let (mut passes, mut now, mut pkt) = (shaper(1000), Instant::ZERO, Some(Pkt(Box::new(data()))));
    c.operation("shaper: a packet that conforms", || {
        now += GAP;
        pkt = pkt.take().and_then(|pkt| passes.push(now, PortId(0), black_box(pkt), &mut Deaf).on());
    });
    assert!(pkt.is_some(), "10 Mbit/s through 10 Mbit/s: none is held");
}

fn conditioners(c: &mut Bench) {
    let mut pass = |name: &str, parts: ConditionerParts<Pkt>| {
        let mut edge = Conditioner::new(SiteId(0), parts).expect("no shaper is needed");
        let (mut now, mut pkt, mut flow) = (Instant::ZERO, Some(Pkt(Box::new(data()))), 0);
        c.operation(name, || {
            now += GAP;
            flow = (flow + 7919) % FLOWS;
            pkt.iter_mut().for_each(|pkt| pkt.meta_mut().flow = FlowId(flow));
            pkt = pkt.take().and_then(|pkt| edge.push(now, PortId(0), black_box(pkt), &mut Deaf).on());
        });
        assert!(pkt.is_some() && edge.conserved(), "it marks and drops nothing");
    };
    pass("conditioner: of nothing", ConditionerParts::default());
    let af = |precedence| Action::Remark(Dscp::af(1, precedence).expect("1 to 3"));
    let (cir, pir) = (rate(5_000_000), rate(8_000_000));
    let meter =
        TrTcm::new(TrTcmParams { cir, cbs: Bytes(15_000), pir, pbs: Bytes(18_000), color_aware: false });
    let parts = ConditionerParts {
        classifier: Some(Box::new(MultiField::new(&rules(), &flows()))),
        meter: Some(Box::new(meter.expect("rates in order"))),
        marker: Marker { green: af(1), yellow: af(2), red: af(3) },
        ..ConditionerParts::default()
    };
    pass("conditioner: multi-field, two rates, three marks", parts);
}

fn main() {
    run(&[classifiers, acks, shapers, conditioners]);
}
