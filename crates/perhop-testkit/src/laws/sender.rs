//! Laws of a TCP sender with any congestion control: alone, and with a receiver across a lossy network.

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use perhop_core::queue::Timed;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_tcp::cc::CongestionControl;
use perhop_tcp::receiver::Receiver;
use perhop_tcp::rtt::RtoParams;
use perhop_tcp::sender::{Segment, SenderParams, SenderStats};
use proptest::prelude::*;

use crate::channel::Line;
use crate::probe::Probe;

const MSS: u64 = 1000;

/// Settings of the senders under test: 20 segments of 1000 bytes, start after a second, RTO from 200 ms.
pub const PARAMS: SenderParams = SenderParams {
    mss: Bytes(MSS),
    window: Bytes(20 * MSS + MSS / 2),
    rto: RtoParams { initial: Span::from_secs(1), min: Span::from_millis(200), max: Span::from_secs(60) },
    start: Instant::from_nanos(1_000_000_000),
};

/// Something that happens to a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub enum Op {
    /// It is asked for segments, at most so many.
    Poll(u8),
    /// An acknowledgment so many bytes beyond the first outstanding one, or before it; perhaps of nothing sent.
    Ack(i16),
    /// A duplicate acknowledgment.
    Duplicate,
    /// Time passes, in multiples of 64 us; deadlines are met on the way.
    Wait(u16),
}

/// Random operations.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        4 => any::<u8>().prop_map(Op::Poll),
        3 => (0i16..8).prop_map(|segments| Op::Ack(segments * 1000)),
        1 => any::<i16>().prop_map(Op::Ack),
        4 => Just(Op::Duplicate),
        2 => any::<u16>().prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..300)
}

/// Whatever acknowledgments come, sensible or not, the books and windows of [`Probe`] hold.
pub fn survives(cc: Box<dyn CongestionControl>, ops: &[Op]) -> SenderStats {
    let mut probe = Probe::new(PARAMS, cc);
    let mut now = Instant::ZERO;
    for op in ops {
        match *op {
            Op::Poll(most) => {
                let _ = (0..most).take_while(|_| probe.poll(now).is_some()).count();
            }
            Op::Ack(by) => {
                if let Some(ack) = probe.una().checked_add_signed(i64::from(by)) {
                    probe.ack(now, ack);
                }
            }
            Op::Duplicate => probe.ack(now, probe.una()),
            Op::Wait(ticks) => {
                let until = now + Span::from_micros(64 * u64::from(ticks));
                while let Some(at) = probe.sender().next_timeout().filter(|&at| at <= until) {
                    now = now.max(at);
                    probe.on_timeout(now);
                }
                now = until;
            }
        }
    }
    *probe.sender().stats()
}

/// Losses of both directions: segments, acknowledgments.
pub type Losses = (Vec<bool>, Vec<bool>);

/// Random losses, a third of everything for up to 150 packets each way.
pub fn losses() -> impl Strategy<Value = Losses> {
    let list = || prop::collection::vec(prop::bool::weighted(0.33), 0..150);
    (list(), list())
}

/// `segments` arrive whatever is lost on the way, each byte is delivered once and in order, nothing is acknowledged
/// that did not arrive, and no data waits without a deadline.
pub fn delivers(cc: Box<dyn CongestionControl>, segments: u64, losses: &Losses) -> SenderStats {
    let delay = Span::from_millis(50);
    let mut there: Line<Segment> = Line::new(delay, &losses.0);
    let mut back: Line<u64> = Line::new(delay, &losses.1);
    let mut probe = Probe::new(PARAMS, cc);
    let mut receiver = Receiver::default();
    let mut arrived = BTreeSet::new();
    // Each step delivers a packet or lets a timer expire; every loss costs at most one expiry and the segments that
    // go-back-N then sends again.
    for _ in 0..200 * (segments + losses.0.len() as u64 + losses.1.len() as u64) {
        let next = [there.next_arrival(), back.next_arrival(), probe.sender().next_timeout()];
        let now = *next.iter().flatten().min().expect("something is always due");
        probe.on_timeout(now);
        if let Some(segment) = there.receive(now) {
            arrived.extend((segment.seq..segment.end).step_by(1000));
            let before = receiver.ack();
            receiver.on_segment(segment.seq, segment.end);
            let contiguous = (0..).step_by(1000).find(|seq| !arrived.contains(seq)).unwrap_or(u64::MAX);
            assert_eq!(receiver.ack(), contiguous, "delivered is what arrived without a gap");
            assert!(receiver.ack() >= before, "delivered twice");
            back.send(now, receiver.ack());
        }
        if let Some(ack) = back.receive(now) {
            probe.ack(now, ack);
        }
        while let Some(segment) = probe.poll(now) {
            there.send(now, segment);
        }
        if probe.una() >= segments * MSS {
            return *probe.sender().stats();
        }
    }
    panic!("no progress: {} bytes acknowledged, {} delivered", probe.una(), receiver.ack());
}

/// Makes the sender laws tests of a congestion control, in a module `$name`.
///
/// `sender_laws!(reno, |mss| Box::new(Reno::new(mss, 3)));`
#[macro_export]
macro_rules! sender_laws {
    ($name:ident, $build:expr) => {
        mod $name {
            use super::*;
            use $crate::laws::sender;

            fn cc() -> Box<dyn perhop_tcp::cc::CongestionControl> {
                ($build)(sender::PARAMS.mss)
            }

            #[test]
            fn survives() {
                $crate::check(&sender::ops(), |ops| {
                    sender::survives(cc(), &ops);
                });
            }

            #[test]
            fn delivers_under_any_losses() {
                $crate::check(&sender::losses(), |losses| {
                    sender::delivers(cc(), 100, &losses);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&sender::losses(), |losses| {
                    assert_eq!(sender::delivers(cc(), 50, &losses), sender::delivers(cc(), 50, &losses));
                });
            }

            #[test]
            fn sends_nothing_twice_without_losses() {
                let stats = sender::delivers(cc(), 1000, &(vec![], vec![]));
                assert_eq!((stats.retransmissions, stats.fast_retransmits, stats.timeouts), (0, 0, 0));
            }
        }
    };
}
