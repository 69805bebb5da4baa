//! Marks of ACKs by hand, at the host and at an edge; and the edge against a reference that keeps every segment.

use perhop_core::ack_marking::{AckMarker, AckMarking, ClassMarks, CopyRule, Covered, MarkMap};
use perhop_core::packet::{Dir, Dscp, FlowId, Kind, Meta, TcpView, TrafficClass};
use proptest::prelude::*;

use CopyRule::{BestOfCovered, TriggeringSegment, WorstOfCovered};

const RULES: [CopyRule; 3] = [TriggeringSegment, BestOfCovered, WorstOfCovered];

fn named(name: &str) -> Dscp {
    Dscp::named(name).expect("a name of the RFCs")
}

fn copy(rule: CopyRule) -> AckMarking {
    AckMarking::PerMark { map: MarkMap::identity(), rule }
}

fn data(end: u32, mark: Dscp) -> Meta {
    let tcp = Some(TcpView { seq_end: end, ..TcpView::default() });
    Meta { tcp, dscp: mark, ..Meta::default() }
}

fn ack(ack: u32) -> Meta {
    let tcp = Some(TcpView { ack, ..TcpView::default() });
    Meta { tcp, kind: Kind::PureAck, dir: Dir::Reverse, ..Meta::default() }
}

/// Segments that pass an edge, as `(end, name of mark)`, and then ACKs; their marks.
fn marks(rule: CopyRule, segments: &[(u32, &str)], acks: &[Meta]) -> Vec<String> {
    let mut edge = AckMarker::new(copy(rule));
    segments.iter().for_each(|(end, mark)| edge.on_data(&data(*end, named(mark))));
    acks.iter().map(|meta| edge.mark(meta).to_string()).collect()
}

#[test]
fn the_default_is_best_effort() {
    let mut edge = AckMarker::new(AckMarking::default());
    edge.on_data(&data(100, Dscp::EF));
    assert_eq!(edge.mark(&ack(100)), Dscp::DEFAULT);
}

/// Any class to any mark, whatever the data carried; a class that is not named has best effort.
#[test]
fn by_class_the_data_has_no_say() {
    let marks = ClassMarks::new().with(TrafficClass(2), named("AF11")).with(TrafficClass(0), Dscp::EF);
    let marking = AckMarking::PerClass(marks);
    let mut edge = AckMarker::new(marking.clone());
    edge.on_data(&data(100, named("AF33")));
    let of = |class| Meta { class: TrafficClass(class), ..ack(100) };
    let marks = [0, 1, 2, 3, 255].map(|class| edge.mark(&of(class)).to_string());
    assert_eq!(marks, ["EF", "BE", "AF11", "BE", "BE"]);
    assert_eq!(marking.mark(TrafficClass(2), Dscp::EF), named("AF11"));
}

#[test]
fn by_mark_a_map_translates_what_was_received() {
    let map = MarkMap::all(Dscp::DEFAULT).with(Dscp::EF, named("AF11")).with(named("AF12"), Dscp::EF);
    let marking = AckMarking::PerMark { map, rule: TriggeringSegment };
    let mut edge = AckMarker::new(marking);
    let marks = [(1, "EF"), (2, "AF12"), (3, "AF11")].map(|(end, mark)| {
        edge.on_data(&data(end, named(mark)));
        edge.mark(&ack(end)).to_string()
    });
    assert_eq!(marks, ["AF11", "EF", "BE"]);
}

#[test]
fn the_identity_copies_all_64() {
    let map = MarkMap::identity();
    assert!((0..64).filter_map(Dscp::new).all(|dscp| map.mark(dscp) == dscp));
}

/// A delayed ACK for a green, a red and a yellow segment.
#[test]
fn a_delayed_ack_copies_by_its_rule() {
    let segments = [(100, "AF11"), (200, "AF13"), (300, "AF12")];
    for (rule, mark) in RULES.into_iter().zip(["AF12", "AF11", "AF13"]) {
        assert_eq!(marks(rule, &segments, &[ack(300)]), [mark], "at an edge, {rule:?}");
        let mut host = Covered::new(rule);
        segments.iter().for_each(|(_, mark)| host.on_data(named(mark)));
        assert_eq!(host.take().to_string(), mark, "at the host, {rule:?}");
    }
}

/// Assured data of which the edge demoted the second segment: EF > AF > BE, and of AF11 and AF21, which tie, the later.
#[test]
fn marks_are_compared_by_rank() {
    let table = [
        (["AF11", "BE"], ["BE", "AF11", "BE"]),
        (["BE", "AF11"], ["AF11", "AF11", "BE"]),
        (["EF", "AF11"], ["AF11", "EF", "AF11"]),
        (["CS7", "AF43"], ["AF43", "AF43", "CS7"]),
        (["CS1", "CS2"], ["CS2", "CS2", "CS1"]),
        (["AF11", "AF21"], ["AF21", "AF21", "AF21"]),
        (["AF21", "AF11"], ["AF11", "AF11", "AF11"]),
    ];
    for (segments, wanted) in table {
        for (rule, mark) in RULES.into_iter().zip(wanted) {
            let [first, second] = segments;
            assert_eq!(marks(rule, &[(1, first), (2, second)], &[ack(2)]), [mark], "{segments:?} {rule:?}");
            let mut host = Covered::new(rule);
            segments.iter().for_each(|name| host.on_data(named(name)));
            assert_eq!(host.take(), named(mark), "{segments:?} {rule:?} at the host");
        }
    }
}

/// The red segment has passed the edge and is not yet at the receiver when the ACK for the green one comes back.
#[test]
fn data_beyond_the_ack_does_not_count() {
    for rule in RULES {
        let marks = marks(rule, &[(100, "AF11"), (200, "AF13")], &[ack(100), ack(200)]);
        assert_eq!(marks, ["AF11", "AF13"], "{rule:?}");
    }
    // and an ACK into the middle of a segment does not cover it
    assert_eq!(
        marks(WorstOfCovered, &[(100, "AF11"), (200, "AF13")], &[ack(150), ack(199)]),
        ["AF11", "AF11"]
    );
}

#[test]
fn before_any_data_an_ack_is_best_effort() {
    assert_eq!(marks(BestOfCovered, &[], &[ack(0)]), ["BE"]);
    assert_eq!(marks(BestOfCovered, &[(100, "EF")], &[ack(0), ack(100)]), ["BE", "EF"]);
    let mut host = Covered::new(BestOfCovered);
    assert_eq!(host.take(), Dscp::DEFAULT);
}

/// Segment 200 is lost behind the edge: three duplicates, the repair, and an ACK for all.
#[test]
fn a_duplicate_is_marked_as_the_ack_before_it() {
    let lost = [(100, "AF12"), (200, "AF13"), (300, "AF11"), (400, "AF11"), (500, "AF11")];
    let mut edge = AckMarker::new(copy(WorstOfCovered));
    lost.iter().for_each(|(end, mark)| edge.on_data(&data(*end, named(mark))));
    let duplicates = [100, 100, 100, 100].map(|number| edge.mark(&ack(number)).to_string());
    assert_eq!(duplicates, ["AF12"; 4]);
    // the repair passes with a mark of its own; the lost segment's no longer counts, and an old ACK changes nothing
    edge.on_data(&data(200, named("AF12")));
    assert_eq!(edge.mark(&ack(100)), named("AF12"));
    assert_eq!(edge.mark(&ack(500)), named("AF12"));
    assert_eq!(edge.mark(&ack(300)), named("AF12"));
}

/// The repair came last, though its number is not the highest.
#[test]
fn the_triggering_segment_is_the_last_to_pass() {
    let segments = [(100, "AF11"), (200, "AF11"), (300, "AF12"), (400, "AF12"), (200, "AF13")];
    assert_eq!(marks(TriggeringSegment, &segments, &[ack(100), ack(400)]), ["AF11", "AF13"]);
}

/// With SACK a duplicate says what caused it: the segment at the top of the highest block.
#[test]
fn a_duplicate_with_sack_is_marked_for_what_it_reports() {
    let segments = [(100, "AF11"), (200, "AF13"), (300, "AF12"), (400, "EF")];
    let sack = |top| {
        let mut meta = ack(100);
        meta.tcp.iter_mut().for_each(|tcp| (tcp.sack_top, tcp.sack_blocks) = (top, 1));
        meta
    };
    let acks = [ack(100), sack(300), sack(400), sack(450), ack(400)];
    assert_eq!(marks(TriggeringSegment, &segments, &acks), ["AF11", "AF12", "EF", "EF", "EF"]);
    assert_eq!(marks(WorstOfCovered, &segments, &acks), ["AF11", "AF12", "EF", "EF", "AF13"]);
}

#[test]
fn numbers_wrap_around() {
    let start = u32::MAX - 150;
    let ends = [100, 200, 300].map(|offset: u32| start.wrapping_add(offset));
    assert_eq!(ends, [u32::MAX - 50, 49, 149]);
    let segments = [(ends[0], "AF11"), (ends[1], "AF13"), (ends[2], "AF12")];
    assert_eq!(
        marks(WorstOfCovered, &segments, &[ack(ends[0]), ack(ends[1]), ack(ends[2])]),
        ["AF11", "AF13", "AF12"]
    );
    assert_eq!(marks(WorstOfCovered, &segments, &[ack(start), ack(ends[2])]), ["BE", "AF13"]);
    assert_eq!(marks(BestOfCovered, &segments, &[ack(ends[2])]), ["AF11"]);
}

#[test]
fn flows_and_directions_are_apart() {
    let mut edge = AckMarker::new(copy(TriggeringSegment));
    let flow = |meta: Meta, flow| Meta { flow: FlowId(flow), ..meta };
    edge.on_data(&flow(data(100, Dscp::EF), 3));
    edge.on_data(&flow(data(100, named("AF11")), 0));
    edge.on_data(&flow(Meta { dir: Dir::Reverse, ..data(100, named("AF41")) }, 3));
    assert_eq!(edge.mark(&flow(ack(100), 3)), Dscp::EF);
    assert_eq!(edge.mark(&flow(ack(100), 0)), named("AF11"));
    assert_eq!(edge.mark(&flow(Meta { dir: Dir::Forward, ..ack(100) }, 3)), named("AF41"));
    assert_eq!(edge.mark(&flow(ack(100), 7)), Dscp::DEFAULT);
}

/// ACKs that pass in the direction of data say nothing of it, and a SYN begins a connection anew.
#[test]
fn only_data_over_tcp_is_remembered() {
    let mut edge = AckMarker::new(copy(TriggeringSegment));
    edge.on_data(&Meta { kind: Kind::PureAck, ..data(100, Dscp::EF) });
    edge.on_data(&Meta { tcp: None, ..data(100, Dscp::EF) });
    assert_eq!(edge.mark(&ack(100)), Dscp::DEFAULT);
    edge.on_data(&data(4_000_000_000, Dscp::EF));
    edge.on_data(&Meta { kind: Kind::Syn, ..data(1, Dscp::DEFAULT) });
    edge.on_data(&data(100, named("AF11")));
    assert_eq!(edge.mark(&ack(100)), named("AF11"));
    assert_eq!(edge.mark(&Meta { tcp: None, ..ack(0) }), named("AF11"), "no number: as the ACK before");
}

/// A packet of a connection without data: its SYN or FIN, by which way it goes.
fn bare(kind: Kind, dir: Dir) -> Meta {
    Meta { kind, dir, ..ack(0) }
}

/// ACKs without data go either way; of SYN and FIN only those of the receiver are answers.
#[test]
fn what_comes_back_without_data_is_marked() {
    let taken = |kind| [Dir::Reverse, Dir::Forward].map(|dir| AckMarker::takes(&bare(kind, dir)));
    assert_eq!(taken(Kind::PureAck), [true, true]);
    assert_eq!(taken(Kind::Syn), [true, false]);
    assert_eq!(taken(Kind::Other), [true, false]);
    assert_eq!(taken(Kind::Data), [false, false]);
    assert!(!AckMarker::takes(&Meta { tcp: None, ..bare(Kind::Other, Dir::Reverse) }), "not of TCP");
}

#[test]
fn by_class_a_syn_ack_and_a_fin_have_the_mark_of_an_ack() {
    let mut edge =
        AckMarker::new(AckMarking::PerClass(ClassMarks::new().with(TrafficClass(1), named("AF11"))));
    for kind in [Kind::Syn, Kind::PureAck, Kind::Other] {
        let of = |class| Meta { class: TrafficClass(class), ..bare(kind, Dir::Reverse) };
        assert_eq!([0, 1].map(|class| edge.mark(&of(class)).to_string()), ["BE", "AF11"], "{kind:?}");
    }
}

/// The SYN-ACK has no data packet; a FIN that comes back acknowledges as an ACK does.
#[test]
fn a_copy_leaves_a_syn_ack_best_effort() {
    for rule in RULES {
        let mut edge = AckMarker::new(copy(rule));
        edge.on_data(&Meta { kind: Kind::Syn, dscp: Dscp::EF, ..data(0, Dscp::EF) });
        assert_eq!(edge.mark(&bare(Kind::Syn, Dir::Reverse)), Dscp::DEFAULT);
        edge.on_data(&data(100, Dscp::EF));
        edge.on_data(&data(200, named("AF11")));
        assert_eq!(edge.mark(&ack(100)), Dscp::EF);
        assert_eq!(edge.mark(&bare(Kind::Syn, Dir::Reverse)), Dscp::DEFAULT, "one that comes late");
        assert_eq!(edge.mark(&ack(100)), Dscp::EF, "which changes nothing");
        let fin = Meta { kind: Kind::Other, ..ack(200) };
        assert_eq!(edge.mark(&fin), named("AF11"));
    }
    let map = MarkMap::all(Dscp::EF).with(Dscp::DEFAULT, named("AF21"));
    let mut edge = AckMarker::new(AckMarking::PerMark { map, rule: TriggeringSegment });
    assert_eq!(edge.mark(&bare(Kind::Syn, Dir::Reverse)), named("AF21"), "as for best-effort data");
}

/// A number of a flow that is used again: the marks of its last connection are forgotten.
#[test]
fn a_syn_begins_anew() {
    let mut edge = AckMarker::new(copy(TriggeringSegment));
    edge.on_data(&data(100, Dscp::EF));
    assert_eq!(edge.mark(&ack(100)), Dscp::EF);
    edge.on_data(&Meta { kind: Kind::Syn, ..data(0, Dscp::DEFAULT) });
    assert_eq!(edge.mark(&ack(0)), Dscp::DEFAULT);
}

/// Of 2000 segments without an ACK the newest 1024 are remembered; the worst mark is not lost with the others.
#[test]
fn memory_is_bounded() {
    let segments: Vec<_> = (1..=2000).map(|end| (end, if end == 500 { "AF13" } else { "AF11" })).collect();
    assert_eq!(marks(WorstOfCovered, &segments, &[ack(976), ack(977), ack(2000)]), ["BE", "AF13", "AF11"]);
    assert_eq!(marks(TriggeringSegment, &segments, &[ack(977)]), ["AF11"]);
    // one that was overtaken finds no room
    let with_a_late_one: Vec<_> =
        segments.iter().copied().map(|(end, mark)| (end * 2, mark)).chain([(3999, "EF")]).collect();
    assert_eq!(marks(BestOfCovered, &with_a_late_one, &[ack(4000)]), ["AF11"]);
}

#[test]
fn a_host_s_ack_without_new_data_repeats_the_mark() {
    let mut host = Covered::new(WorstOfCovered);
    host.on_data(named("AF13"));
    assert_eq!((host.take(), host.take()), (named("AF13"), named("AF13")));
    host.on_data(named("AF11"));
    assert_eq!(host.take(), named("AF11"), "what an ACK has answered counts no more");
}

/// Segments by number in any order, some twice; ACKs of any number.
#[derive(Clone, Debug)]
enum Op {
    Data(u32, &'static str),
    Ack(u32),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let mark = || prop::sample::select(vec!["EF", "AF11", "AF21", "AF13", "CS3", "BE"]);
    let op = prop_oneof![
        3 => (1u32..40, mark()).prop_map(|(end, mark)| Op::Data(end, mark)),
        1 => (0u32..42).prop_map(Op::Ack),
    ];
    prop::collection::vec(op, 0..80)
}

proptest! {
    /// Against a list in order of passing, searched from end to end; with numbers anywhere in the space.
    #[test]
    fn an_edge_equals_a_list_of_all_segments(ops in ops(), base in any::<u32>(), rule in prop::sample::select(RULES.to_vec())) {
        let mut edge = AckMarker::new(copy(rule));
        let (mut passed, mut last) = (Vec::<(u32, Dscp)>::new(), Dscp::DEFAULT);
        for op in ops {
            match op {
                Op::Data(end, mark) => {
                    edge.on_data(&data(base.wrapping_add(end * 1448), named(mark)));
                    passed.retain(|(known, _)| *known != end);
                    passed.push((end, named(mark)));
                }
                Op::Ack(number) => {
                    let covered: Vec<_> = passed.iter().filter(|(end, _)| *end <= number).map(|(_, mark)| *mark).collect();
                    passed.retain(|(end, _)| *end > number);
                    let wanted = match rule {
                        TriggeringSegment => covered.last().copied(),
                        // of several equals `min_by_key` gives the first and `max_by_key` the last
                        BestOfCovered => covered.iter().copied().rev().min_by_key(|mark| mark.rank()),
                        WorstOfCovered => covered.iter().copied().max_by_key(|mark| mark.rank()),
                    };
                    last = wanted.unwrap_or(last);
                    prop_assert_eq!(edge.mark(&ack(base.wrapping_add(number * 1448))), last);
                }
            }
        }
    }
}
