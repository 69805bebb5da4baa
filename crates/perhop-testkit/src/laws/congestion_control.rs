//! Laws of [`CongestionControl`].

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_tcp::cc::{AckSample, CongestionControl, CongestionSignal};
use proptest::prelude::*;

/// Something a congestion control hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// New data was acknowledged.
    Ack(AckSample),
    /// Congestion, with this much outstanding.
    Congestion(CongestionSignal, Bytes),
    /// Loss recovery ended.
    RecoveryExit,
    /// The sender was idle.
    RestartAfterIdle,
    /// Time passes, in ns.
    Wait(u32),
}

/// Random operations, extreme numbers among them.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let amount = || prop_oneof![4 => 1u64..100_000, 1 => Just(0), 1 => Just(u64::MAX)].prop_map(Bytes);
    let rtt = prop::option::of(any::<u64>().prop_map(Span::from_nanos));
    let ack = (amount(), amount(), any::<bool>(), rtt).prop_map(|(acked, in_flight, cwnd_limited, rtt)| {
        Op::Ack(AckSample { acked, in_flight, cwnd_limited, rtt })
    });
    let signal = prop::sample::select(vec![
        CongestionSignal::FastRetransmit,
        CongestionSignal::Timeout,
        CongestionSignal::EcnEcho,
    ]);
    let op = prop_oneof![
        8 => ack,
        2 => (signal, amount()).prop_map(|(signal, in_flight)| Op::Congestion(signal, in_flight)),
        1 => Just(Op::RecoveryExit),
        1 => Just(Op::RestartAfterIdle),
        1 => any::<u32>().prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..200)
}

/// `cwnd` is at least one segment, `ssthresh` at least two (RFC 5681 section 3.1), and nothing overflows.
///
/// Returns both after every operation.
pub fn keeps_its_floors(
    build: impl Fn(Bytes) -> Box<dyn CongestionControl>,
    mss: Bytes,
    ops: &[Op],
) -> Vec<(Bytes, Bytes)> {
    let mut cc = build(mss);
    let mut now = Instant::ZERO;
    let mut windows = vec![(cc.cwnd(), cc.ssthresh())];
    for op in ops {
        match op {
            Op::Ack(sample) => cc.on_ack(now, sample),
            Op::Congestion(signal, in_flight) => cc.on_congestion(now, *signal, *in_flight),
            Op::RecoveryExit => cc.on_recovery_exit(now),
            Op::RestartAfterIdle => cc.on_restart_after_idle(now),
            Op::Wait(ns) => now += Span::from_nanos(u64::from(*ns)),
        }
        windows.push((cc.cwnd(), cc.ssthresh()));
    }
    for (cwnd, ssthresh) in &windows {
        assert!(*cwnd >= mss, "cwnd {cwnd} below one segment of {mss}");
        assert!(ssthresh.0 >= 2 * mss.0, "ssthresh {ssthresh} below two segments of {mss}");
    }
    windows
}

/// Two congestion controls built alike and told alike answer alike.
pub fn repeats(build: impl Fn(Bytes) -> Box<dyn CongestionControl>, mss: Bytes, ops: &[Op]) {
    assert_eq!(keeps_its_floors(&build, mss, ops), keeps_its_floors(&build, mss, ops));
}

/// Makes the congestion control laws tests of one element, in a module `$name`.
///
/// `congestion_control_laws!(reno, |mss| Box::new(Reno::new(mss, 3)), mss = Bytes(1460));`
#[macro_export]
macro_rules! congestion_control_laws {
    ($name:ident, $build:expr, mss = $mss:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn keeps_its_floors() {
                $crate::check(&$crate::laws::congestion_control::ops(), |ops| {
                    $crate::laws::congestion_control::keeps_its_floors($build, $mss, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::congestion_control::ops(), |ops| {
                    $crate::laws::congestion_control::repeats($build, $mss, &ops);
                });
            }
        }
    };
}
