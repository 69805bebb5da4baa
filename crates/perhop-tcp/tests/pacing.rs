//! Laws of pacing.

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::pacing::{Pacer, quantum};
use perhop_tcp::segment::Ack;
use perhop_tcp::sender::Sender;
use perhop_tcp::settings::TcpParams;
use perhop_testkit::tcp::RFC;
use proptest::prelude::*;

const MSS: u64 = 1000;
/// Segments that do not wait.
const UNPACED: u64 = 10;

/// Asks for segments at these times, after pauses in microseconds and as often each; returns when the ones that are paced left.
fn leave(rate: u64, asks: &[(u32, u8)]) -> Vec<Instant> {
    let (mut pacer, mut now, mut left) = (Pacer::default(), Instant::ZERO, Vec::new());
    for &(pause, times) in asks {
        now += Span::from_micros(pause.into());
        for _ in 0..times {
            if !pacer.permits(now) {
                assert!(pacer.deadline().is_some_and(|at| at > now), "a segment waits without a deadline");
                break;
            }
            pacer.on_sent(now, MSS, Some(rate), MSS, None);
            left.push(now);
        }
    }
    left.drain(..left.len().min(usize::try_from(UNPACED).expect("small") - 1));
    left
}

//= test draft-bbr-00-4.2.1-pacing
/// In any interval no more leaves than the rate sends in it, a quantum, and half a quantum that was late.
#[test]
fn no_more_than_a_quantum_leaves_at_once_and_no_more_than_the_rate_on_the_whole() {
    let rates = prop_oneof![20_000u64..200_000, 200_000u64..5_000_000, 5_000_000u64..200_000_000];
    let asks = prop::collection::vec((0u32..30_000, 0u8..80), 0..120);
    perhop_testkit::check(&(rates, asks), |(rate, asks)| {
        let left = leave(rate, &asks);
        let most = quantum(rate, MSS, 0);
        for (i, from) in left.iter().enumerate() {
            let at_once = left[i..].iter().take_while(|at| *at == from).count() as u64;
            assert!(at_once <= most, "{at_once} segments at {from}, a quantum has {most}");
            for (count, to) in (1u64..).zip(&left[i..]) {
                let allowed = u128::from((*to - *from).as_nanos()) * u128::from(rate) / 1_000_000_000;
                let bound = allowed + u128::from(3 * most * MSS / 2 + MSS);
                assert!(u128::from(count * MSS) <= bound, "{count} segments from {from} to {to} at {rate}");
            }
        }
    });
}

#[test]
fn a_segment_asked_for_in_time_leaves_exactly_at_the_rate() {
    // two segments of 1000 bytes a burst at 200 kB/s: 10 ms
    let mut pacer = Pacer::default();
    let mut now = Instant::ZERO;
    let mut left = Vec::new();
    while left.len() < 30 {
        if pacer.permits(now) {
            pacer.on_sent(now, MSS, Some(200_000), MSS, None);
            left.push(now.as_nanos() / 1_000_000);
        } else {
            now = pacer.deadline().expect("it waits");
        }
    }
    let expected = [
        0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 10, 20, 20, 30, 30, 40, 40, 50, 50, 60, 60, 70, 70, 80, 80, 90,
        90, 100,
    ];
    assert_eq!(left, expected);
}

//= test draft-bbr-00-4.2.2-smallest
//= test draft-ietf-ccwg-bbr-5.6.3-smallest
//= test tcp_bbr-bbr_tso_segs_goal-size
#[test]
fn short_round_trips_lengthen_a_burst_as_in_linux() {
    // a quantum of 2 ms of round trip: 65536 >> (2000 >> 9) = 8192 bytes, and 1 MB/s >> 10 = 976
    assert_eq!(quantum(1_000_000, 1460, 65_536 >> 3), 6);
    assert_eq!([quantum(149_999, 1460, 0), quantum(150_000, 1460, 0), quantum(1 << 40, 1460, 0)], [1, 2, 44]);
}

/// When each segment leaves of a window of 30 that is paced, and whether it has PSH; round trips take 40 ms.
fn paced(burst_push: bool) -> Vec<(Instant, bool)> {
    let params = TcpParams {
        mss: Bytes(MSS),
        initial_window: 30,
        handshake: false,
        pacing: true,
        burst_push,
        size: Some(Bytes(40 * MSS)),
        ..RFC
    };
    let mut sender = Sender::new(&params, Instant::ZERO);
    let mut now = Instant::ZERO;
    let first = std::iter::from_fn(|| sender.poll_transmit(now)).count();
    assert_eq!(first, 30, "what leaves before there is a round trip does not wait");
    now += Span::from_millis(40);
    sender.on_ack(now, &Ack { ack: 13 * MSS, window: Bytes(100 * MSS), ..Ack::default() });
    let mut left = Vec::new();
    for _ in 0..20 {
        left.extend(std::iter::from_fn(|| sender.poll_transmit(now)).map(|segment| (now, segment.push)));
        now = sender.next_timeout().expect("what is out has a timer");
        sender.on_timeout(now);
    }
    left.truncate(10);
    left
}

/// Linux: `__tcp_transmit_skb` sets PSH on what is cut into several.
#[test]
fn the_last_segment_of_a_burst_of_several_has_psh() {
    let left = paced(true);
    let bursts: Vec<Vec<bool>> = left
        .chunk_by(|a, b| a.0 == b.0)
        .map(|burst| burst.iter().map(|segment| segment.1).collect())
        .collect();
    assert_eq!(left.len(), 10);
    assert!(bursts.iter().any(|burst| burst.len() > 1), "{bursts:?}");
    for burst in &bursts {
        let (last, others) = burst.split_last().expect("a burst has a segment");
        assert!(others.iter().all(|push| !push) && *last == (burst.len() > 1), "{bursts:?}");
    }
    assert!(paced(false).iter().all(|segment| !segment.1), "none has without `burst_push`");
}
