//! Conditioners made of different parts, by hand; and their books under random operations.

use perhop_core::ack_marking::{AckMarker, AckMarking, ClassMarks, CopyRule, MarkMap};
use perhop_core::classify::BehaviorAggregate;
use perhop_core::conditioner::{Conditioner, ConditionerParts};
use perhop_core::dscp::ColorMap;
use perhop_core::marker::{Action, Marker};
use perhop_core::meter::{Meter, TokenBucket, TokenBucketParams};
use perhop_core::packet::{ClassId, Color, Dir, Dscp, Meta, Packet, PortId, TrafficClass};
use perhop_core::queue::Backlog;
use perhop_core::shaper::{Passage, Shaper, ShaperParams};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};
use proptest::prelude::*;

const SITE: SiteId = SiteId(3);
const SHAPER: SiteId = SiteId(4);
const NOW: Instant = Instant::from_nanos(5);

/// Colours packets green, yellow, red in turn, but never better than they came.
struct InTurn(usize);

impl Timed for InTurn {}

impl Meter for InTurn {
    fn measure(&mut self, _now: Instant, meta: &Meta) -> Color {
        self.0 += 1;
        meta.color.max([Color::Green, Color::Yellow, Color::Red][(self.0 - 1) % 3])
    }
}

fn af(drop_precedence: u8) -> Dscp {
    Dscp::af(1, drop_precedence).expect("a drop precedence of 1 to 3")
}

fn marked(id: u32, dscp: Dscp) -> TestPacket {
    let mut pkt = TestPacket::data(id);
    pkt.meta_mut().dscp = dscp;
    pkt
}

fn conditioner(parts: ConditionerParts<TestPacket>) -> Conditioner<TestPacket> {
    Conditioner::new(SITE, parts).expect("a shaper where one is needed")
}

/// 8 Mbit/s: a byte in a microsecond.
fn shaper(burst: u64, limit: u64) -> Shaper<TestPacket> {
    let rate = BitRate::new(8_000_000).expect("not zero");
    Shaper::new(SHAPER, ShaperParams { rate, burst: Bytes(burst), limit: QueueSize::Packets(limit) })
        .expect("a burst of a byte and more")
}

fn packets(packets: u64) -> Backlog {
    Backlog { packets, bytes: Bytes(1500 * packets) }
}

//= test rfc2475-2.3.3-parts
#[test]
fn a_conditioner_of_nothing_passes_and_counts() {
    let mut nothing = conditioner(ConditionerParts::default());
    let mut sink = Recorder::default();
    let pkt = marked(1, Dscp::EF).color(Color::Yellow);
    assert_eq!(
        nothing.push(NOW, PortId(0), pkt.clone(), &mut sink).on(),
        Some(pkt),
        "neither mark nor colour changes"
    );
    assert_eq!((nothing.stats().green, nothing.stats().passed), (packets(1), packets(1)));
    assert!(nothing.conserved());
    assert_eq!(sink, Recorder::default());
    assert_eq!(nothing.next_timeout(), None);
}

//= test rfc2475-2.3.3.1-verdict
//= test rfc2475-2.3.3.2-mark
//= test rfc2475-2.3.3.2-one-or-many
//= test rfc2475-2.3.3.4-drop
//= test rfc2597-3-conditioning
#[test]
fn colours_are_remarked_or_dropped() {
    let marker = Marker { green: Action::Remark(af(1)), yellow: Action::Remark(af(2)), red: Action::Drop };
    let mut edge = conditioner(ConditionerParts {
        meter: Some(Box::new(InTurn(0))),
        marker,
        ..ConditionerParts::default()
    });
    let mut sink = Recorder::default();
    let out: Vec<_> =
        (0..6).map(|id| edge.push(NOW, PortId(0), TestPacket::data(id), &mut sink).on()).collect();
    let marks: Vec<_> = out.iter().map(|pkt| pkt.as_ref().map(|pkt| pkt.meta().dscp)).collect();
    let thrice = [Some(af(1)), Some(af(2)), None];
    assert_eq!(marks, [thrice, thrice].concat());

    // observers hear the verdict with the mark that was measured
    let colors: Vec<_> = sink.of(Event::Coloured).map(|meta| (meta.color, meta.dscp)).collect();
    let verdicts = [Color::Green, Color::Yellow, Color::Red].map(|color| (color, Dscp::DEFAULT));
    assert_eq!(colors, [verdicts, verdicts].concat());
    assert_eq!(sink.of(Event::Dropped(DropReason::Policed)).count(), 2);
    assert!(sink.events.iter().all(|recorded| (recorded.at, recorded.site) == (NOW, SITE)));

    let stats = *edge.stats();
    assert_eq!((stats.green, stats.yellow, stats.red), (packets(2), packets(2), packets(2)));
    assert_eq!((stats.passed, stats.dropped, stats.released), (packets(4), packets(2), packets(0)));
    assert!(edge.conserved());
}

#[test]
fn packets_without_a_class_are_neither_treated_nor_counted() {
    let classifier = BehaviorAggregate::new(&[(ClassId(0), Dscp::EF)]);
    let marker = Marker { green: Action::Drop, ..Marker::default() };
    let mut edge = conditioner(ConditionerParts {
        classifier: Some(Box::new(classifier)),
        marker,
        ..ConditionerParts::default()
    });
    let mut sink = Recorder::default();
    assert_eq!(edge.push(NOW, PortId(0), marked(1, af(1)), &mut sink).on(), Some(marked(1, af(1))));
    assert_eq!(edge.push(NOW, PortId(0), marked(2, Dscp::EF), &mut sink).on(), None);
    assert_eq!((edge.stats().green, edge.stats().passed), (packets(1), packets(0)));
}

#[test]
fn a_map_of_colours_is_what_a_colour_aware_meter_sees() {
    let colors = Some(ColorMap::af(Color::Red));
    let build = |colors| {
        conditioner(ConditionerParts {
            colors,
            meter: Some(Box::new(InTurn(0))),
            ..ConditionerParts::default()
        })
    };
    let verdicts = |mut edge: Conditioner<TestPacket>| {
        // came red from elsewhere: only the mark counts, or nothing
        let came = [marked(1, af(2)), marked(2, af(1)), marked(3, af(1))].map(|pkt| pkt.color(Color::Red));
        came.map(|pkt| {
            edge.push(NOW, PortId(0), pkt, &mut Recorder::default()).on().map(|pkt| pkt.meta().color)
        })
    };
    let (green, yellow, red) = (Some(Color::Green), Some(Color::Yellow), Some(Color::Red));
    assert_eq!(verdicts(build(colors)), [yellow, yellow, red]);
    assert_eq!(verdicts(build(None)), [green, yellow, red]);
}

#[test]
fn without_a_meter_the_map_decides() {
    let marker = Marker { red: Action::Drop, yellow: Action::Remark(Dscp::DEFAULT), ..Marker::default() };
    let colors = Some(ColorMap::af(Color::Red));
    let mut edge = conditioner(ConditionerParts { colors, marker, ..ConditionerParts::default() });
    let mut sink = Recorder::default();
    let out = [af(1), af(2), af(3)].map(|mark| edge.push(NOW, PortId(0), marked(0, mark), &mut sink).on());
    assert_eq!(out.map(|pkt| pkt.map(|pkt| pkt.meta().dscp)), [Some(af(1)), Some(Dscp::DEFAULT), None]);
    assert_eq!(sink.of(Event::Coloured).count(), 0, "no meter, no verdict");
}

#[test]
fn a_marker_that_shapes_needs_a_shaper() {
    let marker = Marker { yellow: Action::Shape, ..Marker::default() };
    let refused =
        Conditioner::<TestPacket>::new(SITE, ConditionerParts { marker, ..ConditionerParts::default() });
    assert_eq!(refused.err().map(|error| error.field), Some("marker"));
}

#[test]
fn shaped_packets_wait_their_turn_and_the_others_go_on() {
    let marker = Marker { green: Action::Shape, yellow: Action::Remark(af(2)), red: Action::Shape };
    let mut edge = conditioner(ConditionerParts {
        meter: Some(Box::new(InTurn(0))),
        marker,
        shaper: Some(shaper(1500, 2)),
        ..ConditionerParts::default()
    });
    let mut sink = Recorder::default();
    // colours in turn: 0 green takes the whole burst, 2 red and 3 green wait, 5 red finds no room
    let out: Vec<_> = (0..6)
        .map(|id| match edge.push(Instant::ZERO, PortId(id), TestPacket::data(id), &mut sink) {
            Passage::On(pkt) => Passage::On(pkt.id()),
            Passage::Held => Passage::Held,
            Passage::Gone => Passage::Gone,
        })
        .collect();
    let (held, gone) = (Passage::Held, Passage::Gone);
    assert_eq!(out, [Passage::On(0), Passage::On(1), held, held, Passage::On(4), gone]);
    let dropped: Vec<_> =
        sink.events.iter().filter(|h| h.event == Event::Dropped(DropReason::Shaper)).collect();
    assert_eq!(dropped.iter().map(|h| h.site).collect::<Vec<_>>(), [SHAPER]);
    assert_eq!((edge.held(), edge.stats().dropped, edge.conserved()), (packets(2), packets(1), true));

    // 1500 bytes in 1.5 ms
    let due = |ms| Some(Instant::from_nanos(ms));
    assert_eq!(edge.next_timeout(), due(1_500_000));
    assert_eq!(edge.pop(Instant::from_nanos(1_499_999)), None);
    assert_eq!(edge.pop(Instant::from_nanos(1_500_000)).map(|(from, pkt)| (from.0, pkt.id())), Some((2, 2)));
    assert_eq!(edge.next_timeout(), due(3_000_000));
    assert_eq!(edge.pop(Instant::from_nanos(3_000_000)).map(|(from, pkt)| (from.0, pkt.id())), Some((3, 3)));
    assert_eq!((edge.next_timeout(), edge.pop(Instant::from_nanos(9_000_000))), (None, None));
    assert_eq!((edge.stats().released, edge.held(), edge.conserved()), (packets(2), packets(0), true));
}

/// A flow of each class: 0 premium, 1 assured, 2 best effort.
fn by_class() -> AckMarker {
    let marks = ClassMarks::new().with(TrafficClass(0), Dscp::EF).with(TrafficClass(1), af(1));
    AckMarker::new(AckMarking::PerClass(marks))
}

/// ACKs get the class's mark in one conditioner, and in the next are policed with everything that has this mark.
#[test]
fn acks_are_policed_with_their_new_class() {
    let mut acks =
        conditioner(ConditionerParts { ack_marker: Some(by_class()), ..ConditionerParts::default() });
    // a data packet and an ACK fit into the bucket, and nothing comes for a long time
    let cir = BitRate::new(1).expect("not zero");
    let meter = TokenBucket::new(TokenBucketParams { cir, cbs: Bytes(1528) }).expect("a depth");
    let mut premium = conditioner(ConditionerParts {
        classifier: Some(Box::new(BehaviorAggregate::new(&[(ClassId(0), Dscp::EF)]))),
        meter: Some(Box::new(meter)),
        marker: Marker { red: Action::Drop, ..Marker::default() },
        ..ConditionerParts::default()
    });
    let mut sink = Recorder::default();
    let came = [
        marked(0, Dscp::EF).class(0),
        TestPacket::pure_ack(1).class(0),
        TestPacket::pure_ack(2).class(0),
        TestPacket::pure_ack(3).class(1),
        TestPacket::pure_ack(4).class(2),
        TestPacket::data(5).class(0),
    ];
    let went: Vec<_> = came
        .into_iter()
        .filter_map(|pkt| {
            let pkt = acks.push(NOW, PortId(0), pkt, &mut sink).on()?;
            premium.push(NOW, PortId(0), pkt, &mut sink).on()
        })
        .map(|pkt| (pkt.id(), pkt.meta().dscp.to_string()))
        .collect();
    let wanted = [(0, "EF"), (1, "EF"), (3, "AF11"), (4, "BE"), (5, "BE")];
    assert_eq!(
        went,
        wanted.map(|(id, mark)| (id, mark.to_owned())),
        "2 is out of profile; data keeps its mark"
    );
    assert_eq!((premium.stats().green.packets, premium.stats().red.packets), (2, 1));
    assert_eq!(acks.stats().passed.packets, 6);
    assert!(premium.conserved() && acks.conserved());
}

/// Hears what passes the other way.
struct Listens(u64);

impl Timed for Listens {
    fn next_timeout(&self) -> Option<Instant> {
        (self.0 > 0).then_some(Instant::from_nanos(self.0))
    }

    fn on_timeout(&mut self, now: Instant) {
        self.0 += if Some(now) == self.next_timeout() { 1_000_000 } else { 0 };
    }
}

impl Meter for Listens {
    fn measure(&mut self, _now: Instant, _meta: &Meta) -> Color {
        if self.0 > 2_000_000 { Color::Red } else { Color::Green }
    }

    fn observe_reverse(&mut self, _now: Instant, meta: &Meta) {
        self.0 += meta.len.0;
    }

    fn has_deadlines(&self) -> bool {
        true
    }
}

/// Data that leaves by the port is told to the meter, and its mark to the ACK that comes back.
#[test]
fn both_ways_are_watched() {
    let copy = AckMarking::PerMark { map: MarkMap::identity(), rule: CopyRule::WorstOfCovered };
    let mut edge = conditioner(ConditionerParts {
        ack_marker: Some(AckMarker::new(copy)),
        meter: Some(Box::new(Listens(0))),
        marker: Marker { red: Action::Drop, ..Marker::default() },
        ..ConditionerParts::default()
    });
    let mut sink = Recorder::default();
    assert_eq!(edge.next_timeout(), None);
    for (end, mark) in [(100, af(1)), (200, af(3)), (300, af(1))] {
        edge.observe_reverse(NOW, marked(end, mark).meta());
    }
    let mut ack = TestPacket::pure_ack(0);
    let meta = ack.meta_mut();
    meta.dir = Dir::Reverse;
    meta.tcp.iter_mut().for_each(|tcp| tcp.ack = 200);
    let marks = edge.push(NOW, PortId(0), ack.clone(), &mut sink).on().map(|pkt| pkt.meta().dscp);
    assert_eq!(marks, Some(af(3)));
    // the meter measured the ACK with its new mark, after three packets the other way
    assert_eq!(sink.of(Event::Coloured).map(|meta| meta.dscp).collect::<Vec<_>>(), [af(3)]);

    // the meter's deadlines are the conditioner's; an early call changes nothing
    for now in [4_499, 4_500, 1_004_500] {
        edge.on_timeout(Instant::from_nanos(now));
    }
    assert_eq!(edge.next_timeout(), Some(Instant::from_nanos(2_004_500)));
    assert!(edge.push(Instant::from_nanos(1_004_501), PortId(0), ack, &mut sink).on().is_none());
}

/// The earlier of the meter's deadline and the shaper's.
#[test]
fn the_next_deadline_is_the_earlier() {
    let shape = Marker { green: Action::Shape, ..Marker::default() };
    let build = |first| {
        let mut edge = conditioner(ConditionerParts {
            meter: Some(Box::new(Listens(first))),
            marker: shape,
            shaper: Some(shaper(1500, 2)),
            ..ConditionerParts::default()
        });
        for id in 0..2 {
            edge.push(Instant::ZERO, PortId(0), TestPacket::data(id), &mut Recorder::default()).on();
        }
        edge.next_timeout().map(Instant::as_nanos)
    };
    assert_eq!([1, 1_499_999, 1_600_000].map(build), [Some(1), Some(1_499_999), Some(1_500_000)]);
}

#[derive(Clone, Debug)]
enum Op {
    Push { treated: bool, len: u64 },
    Pop,
    Wait(u64),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => (prop::bool::weighted(0.8), 1u64..2000).prop_map(|(treated, len)| Op::Push { treated, len }),
        2 => Just(Op::Pop),
        2 => (0u64..3_000_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..200)
}

fn actions() -> impl Strategy<Value = Marker> {
    let action = || {
        prop::sample::select(vec![
            Action::Pass,
            Action::Remark(Dscp::EF),
            Action::Drop,
            Action::Shape,
            Action::Shape,
        ])
    };
    (action(), action(), action()).prop_map(|(green, yellow, red)| Marker { green, yellow, red })
}

proptest! {
    /// In = out + dropped + held after each step, as counted by the conditioner and by whoever drives it; what is shaped
    /// stays in order.
    #[test]
    fn books_balance(ops in ops(), marker in actions(), burst in 1u64..3000, limit in 0u64..5) {
        let unmarked = BehaviorAggregate::new(&[(ClassId(0), Dscp::DEFAULT)]);
        let mut edge = conditioner(ConditionerParts {
            classifier: Some(Box::new(unmarked)),
            meter: Some(Box::new(InTurn(0))),
            marker,
            shaper: Some(shaper(burst, limit)),
            ..ConditionerParts::default()
        });
        let (mut now, mut sink) = (Instant::ZERO, Recorder::default());
        let (mut came, mut gone, mut shaped) = ((0, 0), (0, 0), Vec::new());
        for (id, op) in (0..).zip(ops) {
            let out = match op {
                Op::Push { treated: false, len } => {
                    let pkt = marked(id, Dscp::EF).len(len);
                    prop_assert_eq!(edge.push(now, PortId(0), pkt.clone(), &mut sink).on(), Some(pkt));
                    None
                }
                Op::Push { treated: true, len } => {
                    came = (came.0 + 1, came.1 + len);
                    let out = edge.push(now, PortId(0), TestPacket::data(id).len(len), &mut sink).on();
                    let shaped_now = out.as_ref().filter(|pkt| marker.action(pkt.meta().color) == Action::Shape);
                    shaped.extend(shaped_now.map(TestPacket::id));
                    out
                }
                Op::Pop => {
                    let out = edge.pop(now).map(|(_, pkt)| pkt);
                    shaped.extend(out.as_ref().map(TestPacket::id));
                    out
                }
                Op::Wait(ns) => {
                    now += Span::from_nanos(ns);
                    None
                }
            };
            gone = out.map_or(gone, |pkt| (gone.0 + 1, gone.1 + pkt.meta().len.0));
            let lost = sink.events.iter().filter(|recorded| matches!(recorded.event, Event::Dropped(_)));
            let lost = lost.fold((0, 0), |(packets, bytes), recorded| (packets + 1, bytes + recorded.meta.len.0));
            let held = edge.held();
            prop_assert_eq!(came, (gone.0 + lost.0 + held.packets, gone.1 + lost.1 + held.bytes.0));
            prop_assert!(edge.conserved(), "{:?} with {:?}", edge.stats(), held);
            prop_assert!(shaped.is_sorted(), "{shaped:?}");
        }
    }
}
