//! Laws of [`Classifier`].

use perhop_core::classify::Classifier;
use perhop_core::packet::{Color, Dir, Dscp, Ecn, FlowId, Kind, Meta, TcpView, TrafficClass};
use perhop_core::time::Instant;
use perhop_core::units::Bytes;
use proptest::prelude::*;

/// Random packets, as a classifier sees them.
pub fn metas() -> impl Strategy<Value = Vec<Meta>> {
    let kind = prop::sample::select(vec![Kind::Data, Kind::PureAck, Kind::Syn, Kind::Other]);
    let dir = prop::sample::select(vec![Dir::Forward, Dir::Reverse]);
    let ecn = prop::sample::select(vec![Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce]);
    let color = prop::sample::select(vec![Color::Green, Color::Yellow, Color::Red]);
    let tcp = prop::option::of((any::<u32>(), any::<u32>(), any::<u8>()));
    let numbers = (1u64..9000, any::<u64>(), any::<u32>(), any::<u8>(), 0u8..64);
    let meta = (kind, dir, ecn, color, tcp, numbers).prop_map(|(kind, dir, ecn, color, tcp, numbers)| {
        let (len, at, flow, class, dscp) = numbers;
        Meta {
            len: Bytes(len),
            enqueued_at: Instant::from_nanos(at),
            flow: FlowId(flow),
            tcp: tcp.map(|(seq_end, ack, flags)| TcpView { seq_end, ack, flags, ..TcpView::default() }),
            dir,
            class: TrafficClass(class),
            dscp: Dscp::new(dscp).unwrap_or_default(),
            ecn,
            color,
            kind,
        }
    });
    prop::collection::vec(meta, 1..50)
}

/// The class is one of the port's and depends on the packet alone: not on what was asked before.
pub fn is_a_function_of_the_packet(build: impl Fn() -> Box<dyn Classifier>, classes: u16, metas: &[Meta]) {
    let (forward, backward) = (build(), build());
    let mut answers: Vec<_> = metas.iter().map(|m| forward.classify(m)).collect();
    for class in answers.iter().flatten() {
        assert!(class.0 < classes, "{class:?} of {classes}");
    }
    answers.reverse();
    let again: Vec<_> = metas.iter().rev().map(|m| backward.classify(m)).collect();
    assert_eq!(answers, again);
}

/// Makes the classifier laws tests of one element, in a module `$name`.
///
/// `classifier_laws!(by_kind, || Box::new(KindClassifier::new(selectors)), classes = 2);`
#[macro_export]
macro_rules! classifier_laws {
    ($name:ident, $build:expr, classes = $classes:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn is_a_function_of_the_packet() {
                $crate::check(&$crate::laws::classifier::metas(), |metas| {
                    $crate::laws::classifier::is_a_function_of_the_packet($build, $classes, &metas);
                });
            }
        }
    };
}
