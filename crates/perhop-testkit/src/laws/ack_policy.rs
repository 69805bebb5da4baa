//! Laws of [`AckPolicy`].

use perhop_core::time::{Instant, Span};
use perhop_tcp::ack::{AckAction, AckPolicy, Arrival};
use proptest::prelude::*;

/// A segment after some time, in ns.
pub type Op = (u32, Arrival);

/// Random arrivals: in order, into a gap, or neither; some together, some a second apart.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let arrival = |in_order, fills_gap, old| {
        Just(Arrival { in_order, fills_gap, old, delivered: if in_order { 1460 } else { 0 } })
    };
    let arrival = prop_oneof![
        6 => arrival(true, false, false),
        1 => arrival(true, true, false),
        3 => arrival(false, false, false),
        1 => arrival(false, false, true),
    ];
    let wait = prop_oneof![Just(0), 0u32..1_000_000, 0u32..1_000_000_000];
    prop::collection::vec((wait, arrival), 0..200)
}

/// Reports beyond a gap that are sent at once whatever the policy.
const REPORTS_AT_ONCE: u32 = 3;

/// How long acknowledgments may wait.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Bounds {
    /// That of a segment in order.
    pub within: Span,
    /// That of a segment beyond a gap, where three have been reported since the last in order; zero for none.
    pub reports: Span,
}

/// A segment in order is acknowledged within a time and with the one after it at the latest, all else at once (RFC 5681
/// section 4.2), but for later reports of what lies beyond a gap.
///
/// Returns the answers.
pub fn acknowledges_in_time(
    build: impl Fn() -> Box<dyn AckPolicy>,
    bounds: Bounds,
    ops: &[Op],
) -> Vec<AckAction> {
    let mut policy = build();
    let mut now = Instant::ZERO;
    let mut deadline: Option<Instant> = None;
    let (mut waiting, mut reports) = (false, 0);
    let mut actions = Vec::new();
    for (wait, arrival) in ops {
        now += Span::from_nanos(u64::from(*wait));
        if let Some(at) = deadline.take_if(|at| *at <= now) {
            policy.on_ack_sent(at);
            waiting = false;
        }
        let action = policy.on_arrival(now, arrival);
        reports = if arrival.in_order { 0 } else { reports + u32::from(!arrival.old) };
        let held =
            !arrival.in_order && !arrival.old && reports > REPORTS_AT_ONCE && bounds.reports > Span::ZERO;
        if action == AckAction::Now {
            policy.on_ack_sent(now);
            (deadline, waiting) = (None, false);
        } else if held && action == AckAction::None {
            assert!(deadline.is_some(), "{arrival:?} is never acknowledged");
        } else {
            assert!(arrival.may_wait() || held, "{arrival:?} must be acknowledged at once");
            assert!(!waiting, "the second left waiting");
            waiting = arrival.in_order;
            let AckAction::Delay(at) = action else { panic!("{arrival:?} is never acknowledged") };
            let within = if held { bounds.reports } else { bounds.within };
            assert!(at <= now + within, "waits until {at}, not {within} from {now}");
            deadline = Some(deadline.map_or(at, |before| before.min(at)));
        }
        actions.push(action);
    }
    actions
}

/// Two policies built alike and told alike answer alike.
pub fn repeats(build: impl Fn() -> Box<dyn AckPolicy>, bounds: Bounds, ops: &[Op]) {
    assert_eq!(acknowledges_in_time(&build, bounds, ops), acknowledges_in_time(&build, bounds, ops));
}

/// Makes the ACK policy laws tests of one element, in a module `$name`.
///
/// `ack_policy_laws!(every_segment, || Box::new(EverySegment), within = Span::ZERO);`, with `reports = ` behind it for a policy that lets
/// reports wait.
#[macro_export]
macro_rules! ack_policy_laws {
    ($name:ident, $build:expr, within = $within:expr) => {
        $crate::ack_policy_laws!($name, $build, within = $within, reports = Span::ZERO);
    };
    ($name:ident, $build:expr, within = $within:expr, reports = $reports:expr) => {
        mod $name {
            use super::*;

            const BOUNDS: $crate::laws::ack_policy::Bounds =
                $crate::laws::ack_policy::Bounds { within: $within, reports: $reports };

            #[test]
            fn acknowledges_in_time() {
                $crate::check(&$crate::laws::ack_policy::ops(), |ops| {
                    $crate::laws::ack_policy::acknowledges_in_time($build, BOUNDS, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::ack_policy::ops(), |ops| {
                    $crate::laws::ack_policy::repeats($build, BOUNDS, &ops);
                });
            }
        }
    };
}
