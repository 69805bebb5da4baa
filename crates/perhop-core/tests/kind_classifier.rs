//! Which packets each selector takes.

use perhop_core::classify::{Classifier, KindClassifier, Selector};
use perhop_core::packet::{ClassId, Kind, Meta};

/// The classes of a data segment, a pure ACK and a SYN.
fn classes(selectors: &[&[Selector]]) -> [Option<u16>; 3] {
    let classifier = KindClassifier::new(selectors.iter().copied());
    [Kind::Data, Kind::PureAck, Kind::Syn]
        .map(|kind| classifier.classify(&Meta { kind, ..Meta::default() }).map(|ClassId(class)| class))
}

#[test]
fn the_first_class_with_a_matching_selector_takes_the_packet() {
    use Selector::{Any, Data, PureAck};
    assert_eq!(classes(&[&[Any]]), [Some(0), Some(0), Some(0)]);
    assert_eq!(classes(&[&[PureAck], &[Data]]), [Some(1), Some(0), Some(1)]);
    assert_eq!(classes(&[&[Data], &[PureAck]]), [Some(0), Some(1), Some(0)]);
    assert_eq!(classes(&[&[PureAck], &[Any]]), [Some(1), Some(0), Some(1)]);
    assert_eq!(classes(&[&[Any], &[PureAck]]), [Some(0), Some(0), Some(0)]);
    assert_eq!(classes(&[&[], &[PureAck, Data]]), [Some(1), Some(1), Some(1)]);
    assert_eq!(classes(&[&[PureAck]]), [None, Some(0), None]);
    assert_eq!(classes(&[]), [None, None, None]);
}
