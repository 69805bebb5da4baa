//! Laws of [`AckPolicy`].

use perhop_core::time::{Instant, Span};
use perhop_tcp::ack::{AckAction, AckPolicy, Arrival};
use proptest::prelude::*;

/// A segment after some time, in ns.
pub type Op = (u32, Arrival);

/// Random arrivals: in order, beyond a hole, or nothing new.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let arrival = prop_oneof![
        3 => Just(Arrival { in_order: true, duplicate: false }),
        1 => Just(Arrival { in_order: false, duplicate: false }),
        1 => Just(Arrival { in_order: false, duplicate: true }),
    ];
    prop::collection::vec((0u32..1_000_000_000, arrival), 0..200)
}

/// What arrives out of order or again is acknowledged at once, and of two segments in a row at least one (RFC 5681
/// section 4.2).
///
/// Returns the answers.
pub fn acknowledges_in_time(build: impl Fn() -> Box<dyn AckPolicy>, ops: &[Op]) -> Vec<AckAction> {
    let mut policy = build();
    let mut now = Instant::ZERO;
    let mut actions = Vec::new();
    for (wait, arrival) in ops {
        now += Span::from_nanos(u64::from(*wait));
        let action = policy.on_arrival(now, arrival);
        if action == AckAction::Now {
            policy.on_ack_sent(now);
        } else {
            assert!(arrival.in_order, "{arrival:?} must be acknowledged at once");
            assert_eq!(actions.last().unwrap_or(&AckAction::Now), &AckAction::Now, "the second left waiting");
        }
        actions.push(action);
    }
    actions
}

/// Two policies built alike and told alike answer alike.
pub fn repeats(build: impl Fn() -> Box<dyn AckPolicy>, ops: &[Op]) {
    assert_eq!(acknowledges_in_time(&build, ops), acknowledges_in_time(&build, ops));
}

/// Makes the ACK policy laws tests of one element, in a module `$name`.
///
/// `ack_policy_laws!(every_segment, || Box::new(EverySegment));`
#[macro_export]
macro_rules! ack_policy_laws {
    ($name:ident, $build:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn acknowledges_in_time() {
                $crate::check(&$crate::laws::ack_policy::ops(), |ops| {
                    $crate::laws::ack_policy::acknowledges_in_time($build, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::ack_policy::ops(), |ops| {
                    $crate::laws::ack_policy::repeats($build, &ops);
                });
            }
        }
    };
}
