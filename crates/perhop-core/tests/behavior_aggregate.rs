//! Which class takes which code point.

use perhop_core::classify::{BehaviorAggregate, Classifier};
use perhop_core::packet::{ClassId, Dir, Dscp, Ecn, FlowId, Kind, Meta, TcpView, TrafficClass};
use perhop_core::units::Bytes;

fn named(name: &str) -> Dscp {
    Dscp::named(name).expect("a name of the RFCs")
}

/// The classes of all 64 code points.
fn classes(classifier: &BehaviorAggregate) -> Vec<Option<u16>> {
    let marks = (0..64).filter_map(Dscp::new);
    marks
        .map(|dscp| classifier.classify(&Meta { dscp, ..Meta::default() }).map(|ClassId(class)| class))
        .collect()
}

/// All six bits count: of the code points that differ from EF in one bit, none is taken with it.
//= test rfc2474-3-whole-field
//= test rfc2474-3-configurable
#[test]
fn a_code_point_is_taken_as_a_whole() {
    let premium = classes(&BehaviorAggregate::new(&[(ClassId(3), Dscp::EF)]));
    for (mark, class) in premium.iter().enumerate() {
        assert_eq!(*class, (mark == 46).then_some(3), "{mark}");
    }
    let local = Dscp::new(0b00_0011).expect("below 64");
    assert_eq!(classes(&BehaviorAggregate::new(&[(ClassId(1), local)]))[3], Some(1));
}

//= test rfc2474-2-several
#[test]
fn several_code_points_go_to_one_class_and_the_first_that_lists_one_has_it() {
    let [af11, af12, af13] = ["AF11", "AF12", "AF13"].map(named);
    let assured = ClassId(0);
    let marks =
        [(assured, af11), (assured, af12), (assured, af13), (ClassId(1), af13), (ClassId(1), Dscp::DEFAULT)];
    let found = classes(&BehaviorAggregate::new(&marks));
    assert_eq!([10, 12, 14, 0].map(|mark| found[mark]), [Some(0), Some(0), Some(0), Some(1)]);
    assert_eq!(found.iter().flatten().count(), 4);
}

//= test rfc2474-3-unrecognized
//= test rfc2474-3-no-malfunction
#[test]
fn what_is_not_recognised_goes_where_it_is_told() {
    let listed = BehaviorAggregate::new(&[(ClassId(0), Dscp::EF), (ClassId(1), Dscp::DEFAULT)]);
    let found = classes(&listed.clone().otherwise(ClassId(1)));
    assert_eq!((found[46], found.iter().filter(|class| **class == Some(1)).count()), (Some(0), 63));
    assert_eq!(classes(&listed).iter().filter(|class| class.is_none()).count(), 62);
}

/// The other two bits of the octet are the ECN field of today.
//= test rfc2474-3-other-bits
//= test rfc2475-2.3.1-behavior-aggregate
#[test]
fn nothing_but_the_code_point_counts() {
    let classifier = BehaviorAggregate::new(&[(ClassId(5), Dscp::EF)]);
    let one = Meta { dscp: Dscp::EF, ..Meta::default() };
    let other = Meta {
        len: Bytes(28),
        flow: FlowId(9),
        tcp: Some(TcpView { ack: 77, ..TcpView::default() }),
        dir: Dir::Reverse,
        class: TrafficClass(3),
        ecn: Ecn::Ce,
        kind: Kind::PureAck,
        ..one
    };
    assert_eq!(classifier.classify(&one), Some(ClassId(5)));
    assert_eq!(classifier.classify(&other), Some(ClassId(5)));
    assert_eq!(classifier.classify(&Meta { dscp: Dscp::DEFAULT, ..other }), None);
}
