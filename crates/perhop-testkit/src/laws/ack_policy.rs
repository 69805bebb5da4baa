//! Laws of [`AckPolicy`].

use perhop_core::time::{Instant, Span};
use perhop_tcp::ack::{AckAction, AckPolicy, Arrival};
use proptest::prelude::*;

/// A segment after some time, in ns.
pub type Op = (u32, Arrival);

/// Random arrivals: in order, into a gap, or neither; some together, some a second apart.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let arrival = |in_order, fills_gap| Just(Arrival { in_order, fills_gap });
    let arrival = prop_oneof![
        6 => arrival(true, false),
        1 => arrival(true, true),
        2 => arrival(false, false),
    ];
    let wait = prop_oneof![Just(0), 0u32..1_000_000, 0u32..1_000_000_000];
    prop::collection::vec((wait, arrival), 0..200)
}

/// What arrives in order is acknowledged `within` a time and with the segment after it at the latest, all else at
/// once (RFC 5681 section 4.2).
///
/// Returns the answers.
pub fn acknowledges_in_time(
    build: impl Fn() -> Box<dyn AckPolicy>,
    within: Span,
    ops: &[Op],
) -> Vec<AckAction> {
    let mut policy = build();
    let mut now = Instant::ZERO;
    let mut deadline: Option<Instant> = None;
    let mut actions = Vec::new();
    for (wait, arrival) in ops {
        now += Span::from_nanos(u64::from(*wait));
        if let Some(at) = deadline.take_if(|at| *at <= now) {
            policy.on_ack_sent(at);
        }
        let action = policy.on_arrival(now, arrival);
        if action == AckAction::Now {
            policy.on_ack_sent(now);
            deadline = None;
        } else {
            assert!(arrival.may_wait(), "{arrival:?} must be acknowledged at once");
            assert_eq!(deadline, None, "the second left waiting");
            let AckAction::Delay(at) = action else { panic!("{arrival:?} is never acknowledged") };
            assert!(at <= now + within, "waits until {at}, not {within} from {now}");
            deadline = Some(at);
        }
        actions.push(action);
    }
    actions
}

/// Two policies built alike and told alike answer alike.
pub fn repeats(build: impl Fn() -> Box<dyn AckPolicy>, within: Span, ops: &[Op]) {
    assert_eq!(acknowledges_in_time(&build, within, ops), acknowledges_in_time(&build, within, ops));
}

/// Makes the ACK policy laws tests of one element, in a module `$name`.
///
/// `ack_policy_laws!(every_segment, || Box::new(EverySegment), within = Span::ZERO);`
#[macro_export]
macro_rules! ack_policy_laws {
    ($name:ident, $build:expr, within = $within:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn acknowledges_in_time() {
                $crate::check(&$crate::laws::ack_policy::ops(), |ops| {
                    $crate::laws::ack_policy::acknowledges_in_time($build, $within, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::ack_policy::ops(), |ops| {
                    $crate::laws::ack_policy::repeats($build, $within, &ops);
                });
            }
        }
    };
}
