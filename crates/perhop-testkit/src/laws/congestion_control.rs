//! Laws of [`CongestionControl`].

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_tcp::cc::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Echo, Load};
use perhop_tcp::rate::{LostSegment, RateSample, Repair};
use perhop_tcp::settings::TcpParams;
use proptest::prelude::*;

use crate::tcp::RFC;

/// Settings to start from: what the RFCs recommend, without options, in segments of 1000 bytes.
pub const PARAMS: TcpParams = TcpParams {
    mss: Bytes(1000),
    window: Bytes(100_000),
    window_scale: 1,
    handshake: false,
    close: false,
    fast_retransmit_restarts_timer: false,
    limited_transmit: false,
    ..RFC
};

/// Something a congestion control hears.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// New data was acknowledged.
    Ack(AckSample),
    /// An acknowledgment of so many bytes more, with so many more outstanding after it than before, and whether it echoes a mark.
    Echo(u32, u32, bool),
    /// The connection is open, with this round trip.
    Established(Option<Span>),
    /// An acknowledgment of so many bytes, and losses of so many, with so many outstanding, and the repair that goes on.
    Rate(u32, u32, u32, Repair),
    /// A segment of so many bytes is lost, of so many in the network, and whether the application had nothing to send.
    Lost(u32, u32, bool),
    /// Data leaves after an idle time.
    IdleEnd,
    /// Congestion, with this much outstanding.
    Congestion(CongestionSignal, Load),
    /// Loss recovery ended.
    RecoveryExit,
    /// The last time-out, if any, proved spurious.
    SpuriousTimeout,
    /// The sender was idle.
    RestartAfterIdle,
    /// A partial acknowledgment.
    Deflate(Bytes),
    /// The window is bounded.
    Limit(Bytes),
    /// Time passes, in ns.
    Wait(u32),
}

fn amount() -> impl Strategy<Value = Bytes> {
    prop_oneof![4 => 1u64..100_000, 1 => Just(0), 1 => Just(u64::MAX)].prop_map(Bytes)
}

fn span() -> impl Strategy<Value = Option<Span>> {
    let nanos = prop_oneof![3 => 0u64..1_000_000_000, 1 => any::<u64>()];
    prop::option::of(nanos.prop_map(Span::from_nanos))
}

/// Random loads, extreme numbers among them, of which a time-out leaves nothing.
pub fn loads() -> impl Strategy<Value = Load> {
    (amount(), amount(), amount()).prop_map(|(in_flight, inflation, window)| Load {
        in_flight,
        inflation,
        window,
        kept: Bytes(0),
    })
}

/// Random operations, extreme numbers among them.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let ack = (amount(), amount(), any::<bool>(), span(), span(), any::<u64>()).prop_map(
        |(acked, in_flight, cwnd_limited, rtt, srtt, una)| {
            Op::Ack(AckSample { acked, in_flight, cwnd_limited, rtt, srtt, una })
        },
    );
    let signal = prop::sample::select(vec![
        CongestionSignal::FastRetransmit,
        CongestionSignal::Timeout,
        CongestionSignal::RepeatedTimeout,
        CongestionSignal::EcnEcho,
    ]);
    let repair = prop::sample::select(vec![Repair::None, Repair::Recovery, Repair::Timeout]);
    let op = prop_oneof![
        16 => ack,
        4 => span().prop_map(Op::Established),
        8 => (any::<(u32, u32, u32)>(), repair).prop_map(|((acked, lost, out), repair)| Op::Rate(acked, lost, out, repair)),
        4 => any::<(u32, u32, bool)>().prop_map(|(len, others, limited)| Op::Lost(len, others, limited)),
        1 => Just(Op::IdleEnd),
        8 => any::<(u32, u32, bool)>().prop_map(|(acked, more, marked)| Op::Echo(acked, more, marked)),
        4 => (signal, loads()).prop_map(|(signal, load)| Op::Congestion(signal, load)),
        2 => Just(Op::RecoveryExit),
        1 => Just(Op::SpuriousTimeout),
        1 => Just(Op::RestartAfterIdle),
        2 => amount().prop_map(Op::Deflate),
        1 => amount().prop_map(Op::Limit),
        4 => any::<u32>().prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..200)
}

/// Bytes delivered and lost, as samples tell it.
#[derive(Default)]
struct Path {
    delivered: u64,
    lost: u64,
    last: Instant,
}

impl Path {
    /// A sample of `acked`, `lost` and outstanding bytes.
    fn sample(&mut self, now: Instant, [acked, lost, out]: [u32; 3], repair: Repair) -> RateSample {
        let prior = self.delivered;
        self.delivered += u64::from(acked);
        self.lost += u64::from(lost);
        let interval = now - std::mem::replace(&mut self.last, now);
        RateSample {
            rate: (acked > 0 && interval > Span::ZERO).then_some((Bytes(acked.into()), interval)),
            prior_delivered: (acked > 0).then_some(prior),
            app_limited: lost % 5 == 1,
            rtt: (acked % 3 > 0).then_some(interval),
            acked: Bytes(acked.into()),
            lost: Bytes(lost.into()),
            prior_in_flight: Bytes(u64::from(out) + u64::from(acked)),
            in_flight: Bytes(out.into()),
            delivered_total: self.delivered,
            lost_total: self.lost,
            repair,
            tx_in_flight: Bytes(u64::from(out) * 2),
            lost_since: Bytes(u64::from(lost) / 8),
            cwnd_limited: out % 2 == 0,
            departs: now + Span::from_nanos(lost.into()),
        }
    }

    /// A segment of so many bytes is lost, of so many more in the network.
    fn lose(&mut self, len: u32, others: u32, app_limited: bool) -> LostSegment {
        let start = self.delivered + self.lost;
        self.lost += u64::from(len);
        LostSegment {
            start,
            end: start + u64::from(len),
            tx_in_flight: Bytes(u64::from(len) + u64::from(others)),
            lost_since: Bytes(u64::from(len) * 3),
            app_limited,
            delivered_total: self.delivered,
        }
    }
}

/// Does the operations and returns the time; `each` hears of the window before one and of the control after it.
///
/// Left out are ends of recoveries that have not begun, and spurious time-outs without a time-out.
fn walk(
    cc: &mut dyn CongestionControl,
    ops: &[Op],
    mut each: impl FnMut(&Op, Bytes, &dyn CongestionControl),
) -> Instant {
    let mut now = Instant::ZERO;
    let mut last = None;
    let (mut acked_to, mut sent) = (0, 0);
    let mut path = Path::default();
    for op in ops {
        let before = cc.cwnd();
        match op {
            Op::Ack(sample) => cc.on_ack(now, sample),
            &Op::Echo(acked, more, marked) => {
                acked_to += u64::from(acked);
                sent = acked_to.max(sent) + u64::from(more);
                let marked = Bytes(if marked { acked.into() } else { 0 });
                cc.on_echo(&Echo {
                    ack: acked_to,
                    acked: Bytes(acked.into()),
                    marked,
                    sent,
                    now,
                    srtt: None,
                });
            }
            Op::Established(rtt) => cc.on_established(now, *rtt),
            &Op::Rate(acked, lost, out, repair) => {
                cc.on_rate(now, &path.sample(now, [acked, lost, out], repair))
            }
            &Op::Lost(len, others, limited) => cc.on_lost(now, &path.lose(len, others, limited)),
            Op::IdleEnd => cc.on_idle_end(now),
            Op::Congestion(signal, load) => {
                cc.on_congestion(now, *signal, load);
                last = Some(*signal).filter(|signal| *signal != CongestionSignal::RepeatedTimeout).or(last);
            }
            Op::RecoveryExit if last == Some(CongestionSignal::FastRetransmit) => cc.on_recovery_exit(now),
            Op::SpuriousTimeout if last == Some(CongestionSignal::Timeout) => {
                cc.on_spurious_timeout(now);
                last = None;
            }
            Op::RecoveryExit | Op::SpuriousTimeout => {}
            Op::RestartAfterIdle => {
                let left = AfterIdle { since: now, cwnd: Bytes(cc.cwnd().0 / 2), ssthresh: cc.ssthresh() };
                cc.on_restart_after_idle(now, &left);
            }
            Op::Deflate(by) => cc.deflate(*by),
            Op::Limit(to) => cc.limit(*to),
            Op::Wait(ns) => now += Span::from_nanos(u64::from(*ns)),
        }
        each(op, before, cc);
    }
    now
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
    let mut windows = vec![(cc.cwnd(), cc.ssthresh())];
    walk(&mut *cc, ops, |_, _, cc| windows.push((cc.cwnd(), cc.ssthresh())));
    for (cwnd, ssthresh) in &windows {
        assert!(*cwnd >= mss, "cwnd {cwnd} below one segment of {mss}");
        assert!(ssthresh.0 >= 2 * mss.0, "ssthresh {ssthresh} below two segments of {mss}");
    }
    windows
}

/// A limit and a deflation leave no more than they say, or one segment; idleness never widens the window.
pub fn shrinks_as_told(build: impl Fn(Bytes) -> Box<dyn CongestionControl>, mss: Bytes, ops: &[Op]) {
    walk(&mut *build(mss), ops, |op, before, cc| {
        let most = match op {
            Op::Limit(to) => before.min(*to).max(mss),
            Op::Deflate(by) => Bytes(before.0.saturating_sub(by.0)).max(mss),
            Op::RestartAfterIdle => before,
            _ => return,
        };
        // far beyond any window, where a float no longer tells bytes apart
        if before.0 > 1 << 40 {
            return;
        }
        // the window that is told hides the fraction of a byte, which a deflation leaves
        let hidden = u64::from(matches!(op, Op::Deflate(_)));
        assert!(cc.cwnd().0 <= most.0 + hidden, "{op:?} left {} of {before}", cc.cwnd());
    });
}

/// A time-out that proves spurious at once takes nothing away (RFC 5682 section 4).
pub fn takes_a_timeout_back(
    build: impl Fn(Bytes) -> Box<dyn CongestionControl>,
    mss: Bytes,
    ops: &[Op],
    load: &Load,
) {
    let mut cc = build(mss);
    let now = walk(&mut *cc, ops, |_, _, _| ());
    let before = (cc.cwnd(), cc.ssthresh());
    cc.on_congestion(now, CongestionSignal::Timeout, load);
    cc.on_spurious_timeout(now);
    let after = (cc.cwnd(), cc.ssthresh());
    assert!(after.0 >= before.0 && after.1 >= before.1, "(cwnd, ssthresh) {after:?} of {before:?}");
}

/// Two congestion controls built alike and told alike answer alike.
pub fn repeats(build: impl Fn(Bytes) -> Box<dyn CongestionControl>, mss: Bytes, ops: &[Op]) {
    assert_eq!(keeps_its_floors(&build, mss, ops), keeps_its_floors(&build, mss, ops));
}

/// Makes the congestion control laws tests of one element, in a module `$name`.
///
/// `congestion_control_laws!(reno, |mss| Box::new(Reno::new(&TcpParams { mss, ..PARAMS })), mss = Bytes(1460));`
#[macro_export]
macro_rules! congestion_control_laws {
    ($name:ident, $build:expr, mss = $mss:expr) => {
        mod $name {
            use super::*;
            use $crate::laws::congestion_control;

            #[test]
            fn keeps_its_floors() {
                $crate::check(&congestion_control::ops(), |ops| {
                    congestion_control::keeps_its_floors($build, $mss, &ops);
                });
            }

            #[test]
            fn shrinks_as_told() {
                $crate::check(&congestion_control::ops(), |ops| {
                    congestion_control::shrinks_as_told($build, $mss, &ops);
                });
            }

            #[test]
            fn takes_a_timeout_back() {
                let cases = (congestion_control::ops(), congestion_control::loads());
                $crate::check(&cases, |(ops, load)| {
                    congestion_control::takes_a_timeout_back($build, $mss, &ops, &load);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&congestion_control::ops(), |ops| {
                    congestion_control::repeats($build, $mss, &ops);
                });
            }
        }
    };
}
