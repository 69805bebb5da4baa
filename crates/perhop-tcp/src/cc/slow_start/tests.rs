//! Both kinds of `HyStart` by hand, in segments of 1000 bytes and rounds of ten segments.

use perhop_core::units::Bytes;

use super::*;
use crate::cc::testing::{self, MSS};

const WINDOWS: Windows = Windows { mss: 1000.0, cwnd: 16_000.0, ssthresh: f64::INFINITY };

fn ms(ms: f64) -> Span {
    Span::from_nanos((ms * 1e6).round() as u64)
}

/// The acknowledgment of segment `n` (from 1) of `round` (from 0), which took `rtt` ms: with the last one of a round ten
/// more have been sent.
fn sample(round: u64, n: u64, rtt: f64) -> AckSample {
    let una = (10 * round + n) * MSS;
    let sent = (10 * round + if n == 10 { 20 } else { 10 }) * MSS;
    AckSample { una, in_flight: Bytes(sent - una + MSS), rtt: Some(ms(rtt)), ..testing::sample(MSS) }
}

#[test]
fn what_has_been_sent_follows_from_what_was_outstanding() {
    assert_eq!(sample(0, 3, 40.0).sent(), 10 * MSS);
    assert_eq!(sample(2, 10, 40.0).sent(), 40 * MSS);
}

mod hystart_plus_plus {
    use super::*;

    fn first_slow_start() -> SlowStart {
        SlowStart::new(
            &TcpParams { slow_start: SlowStartKind::HystartPlusPlus, ..testing::PARAMS },
            f64::INFINITY,
        )
    }

    /// The segments that each acknowledgment of a round adds, all round trips taking `rtt` ms; 0 where slow start ends.
    fn round(slow_start: &mut SlowStart, round: u64, rtt: f64) -> Vec<f64> {
        let ack = |n| slow_start.on_ack(Instant::ZERO, &sample(round, n, rtt), &WINDOWS);
        (1..=10).map(ack).map(|growth| growth.unwrap_or(0.0) / WINDOWS.mss).collect()
    }

    const FAST: [f64; 10] = [1.0; 10];
    const SLOW: [f64; 10] = [0.25; 10];
    /// Becomes slow with the eighth sample, whose own acknowledgment still counts in full.
    const SLOWER: [f64; 10] = [1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.25, 0.25];
    const FASTER: [f64; 10] = [0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 0.25, 1.0, 1.0];

    //= test rfc9406-4.2-delay
    //= test rfc9406-4.2-threshold
    //= test rfc9406-4.3-constants
    //= test rfc9406-4.2-infinity
    #[test]
    fn an_eighth_more_within_4_and_16_ms_slows_it_down() {
        for (last, threshold) in [(10.0, 4.0), (40.0, 5.0), (200.0, 16.0)] {
            for (rtt, want) in [(last + threshold, SLOWER), (last + threshold - 0.001, FAST)] {
                let mut slow_start = first_slow_start();
                assert_eq!(round(&mut slow_start, 0, last), FAST, "there is no last round yet");
                assert_eq!(round(&mut slow_start, 1, rtt), want, "{last} ms, then {rtt} ms");
            }
        }
    }

    //= test rfc9406-4.2-shortest
    //= test rfc9406-4.2-new-round
    #[test]
    fn the_shortest_round_trip_of_a_round_is_what_counts() {
        let mut slow_start = first_slow_start();
        round(&mut slow_start, 0, 40.0);
        // one of the second round is as short as before, all of the third are longer than it
        assert_eq!(slow_start.on_ack(Instant::ZERO, &sample(1, 1, 41.0), &WINDOWS), Some(1000.0));
        for n in 2..=10 {
            assert_eq!(slow_start.on_ack(Instant::ZERO, &sample(1, n, 90.0), &WINDOWS), Some(1000.0));
        }
        assert_eq!(round(&mut slow_start, 2, 46.0), FAST, "41 + 5.125 ms");
        assert_eq!(round(&mut slow_start, 3, 52.0), SLOWER, "46 + 5.75 ms");
    }

    //= test rfc9406-4.2-delay
    #[test]
    fn seven_samples_tell_nothing() {
        let mut slow_start = first_slow_start();
        round(&mut slow_start, 0, 40.0);
        for n in 1..=10 {
            let rtt = Some(ms(90.0)).filter(|_| n > 3);
            let ack = AckSample { rtt, ..sample(1, n, 90.0) };
            assert_eq!(slow_start.on_ack(Instant::ZERO, &ack, &WINDOWS), Some(1000.0));
        }
    }

    //= test rfc9406-4.2-conservative
    //= test rfc9406-4.2-css-rounds
    //= test rfc9406-4.2-exit
    //= test rfc9406-4.3-divisor
    #[test]
    fn five_slow_rounds_end_it_the_first_part_of_one_included() {
        let mut slow_start = first_slow_start();
        round(&mut slow_start, 0, 40.0);
        assert_eq!(round(&mut slow_start, 1, 45.0), SLOWER);
        for n in 2..=4 {
            assert_eq!(round(&mut slow_start, n, 45.0), SLOW);
        }
        let last = round(&mut slow_start, 5, 45.0);
        assert_eq!((&last[..9], last[9]), (&SLOW[..9], 0.0), "ends with the round");
    }

    //= test rfc9406-4.2-premature
    #[test]
    fn shorter_round_trips_take_the_slowness_back() {
        let mut slow_start = first_slow_start();
        round(&mut slow_start, 0, 40.0);
        round(&mut slow_start, 1, 45.0);
        assert_eq!(round(&mut slow_start, 2, 44.0), FASTER);
        assert_eq!(round(&mut slow_start, 3, 44.0), FAST);
        // it looks for delay as before, and counts its rounds from the beginning
        assert_eq!(round(&mut slow_start, 4, 49.5), SLOWER);
        for n in 5..=7 {
            assert_eq!(round(&mut slow_start, n, 49.5), SLOW);
        }
        assert_eq!(round(&mut slow_start, 8, 49.5)[9..], [0.0]);
    }

    //= test rfc9406-4.2-limit
    //= test rfc9406-4.2-slow-start
    //= test rfc9406-4.3-unpaced
    #[test]
    fn eight_segments_of_an_acknowledgment_count() {
        let mut slow_start = first_slow_start();
        for (acked, growth) in [(300, 300.0), (8000, 8000.0), (9000, 8000.0)] {
            let ack = AckSample { acked: Bytes(acked), ..sample(0, 1, 40.0) };
            assert_eq!(slow_start.on_ack(Instant::ZERO, &ack, &WINDOWS), Some(growth));
        }
        let mut slow_start = first_slow_start();
        round(&mut slow_start, 0, 40.0);
        round(&mut slow_start, 1, 45.0);
        let ack = AckSample { acked: Bytes(9000), ..sample(2, 1, 45.0) };
        assert_eq!(slow_start.on_ack(Instant::ZERO, &ack, &WINDOWS), Some(2000.0));
    }

    //= test rfc9406-4.3-first-only
    #[test]
    fn a_slow_start_after_the_first_is_standard() {
        let mut slow_start = first_slow_start();
        let later = Windows { ssthresh: 90_000.0, ..WINDOWS };
        for (n, rtt) in [(0, 40.0), (1, 80.0)] {
            for segment in 1..=10 {
                let ack = AckSample { acked: Bytes(2000), ..sample(n, segment, rtt) };
                assert_eq!(slow_start.on_ack(Instant::ZERO, &ack, &later), Some(1000.0));
            }
        }
    }
}

mod hystart {
    use super::*;

    fn slow_start() -> SlowStart {
        SlowStart::new(&TcpParams { slow_start: SlowStartKind::Hystart, ..testing::PARAMS }, f64::INFINITY)
    }

    /// When acknowledgments like `ack`, `spacing` us apart, end slow start: us since the first.
    fn train(slow_start: &mut SlowStart, spacing: u64, ack: AckSample, windows: &Windows) -> Option<u64> {
        (0..300).map(|n| n * spacing).find(|at| {
            // nothing more is sent, so that it stays one round
            let una = ack.una + at / spacing * MSS;
            let sample = AckSample { una, in_flight: Bytes(900 * MSS - una), ..ack };
            slow_start.on_ack(Instant::from_nanos((1_000_000 + at) * 1000), &sample, windows).is_none()
        })
    }

    #[test]
    fn a_train_longer_than_half_the_shortest_round_trip_ends_it() {
        let ack = sample(0, 1, 40.0);
        assert_eq!(train(&mut slow_start(), 250, ack, &WINDOWS), Some(20_250));
        // four bursts of 64 KiB at two windows in 40 ms take 328 ms: the cushion is its most, 1 ms
        let ack = AckSample { srtt: Some(ms(40.0)), ..ack };
        assert_eq!(train(&mut slow_start(), 250, ack, &WINDOWS), Some(20_750));
        // at two windows of 16 MB they take 0.33 ms
        let wide = Windows { cwnd: 16e6, ..WINDOWS };
        assert_eq!(train(&mut slow_start(), 100, ack, &wide), Some(20_200));
    }

    #[test]
    fn a_gap_ends_the_train() {
        let ack = sample(0, 1, 40.0);
        assert_eq!(train(&mut slow_start(), 2000, ack, &WINDOWS), Some(22_000));
        assert_eq!(train(&mut slow_start(), 2001, ack, &WINDOWS), None);
    }

    #[test]
    fn below_sixteen_segments_nothing_is_found() {
        let small = Windows { cwnd: 15_999.0, ..WINDOWS };
        assert_eq!(train(&mut slow_start(), 1000, sample(0, 1, 40.0), &small), None);
    }

    /// The segments that each acknowledgment of a round adds, 3 ms apart so that there is no train.
    fn round(slow_start: &mut SlowStart, round: u64, rtt: f64) -> Vec<Option<f64>> {
        let at = |n| Instant::ZERO + ms(1000.0 + 3.0 * (10 * round + n) as f64);
        (1..=10).map(|n| slow_start.on_ack(at(n), &sample(round, n, rtt), &WINDOWS)).collect()
    }

    #[test]
    fn the_ninth_late_sample_of_a_round_ends_it() {
        for (rtt, ends) in [(45.0, None), (45.001, Some(8))] {
            let mut slow_start = slow_start();
            round(&mut slow_start, 0, 40.0);
            let growth = round(&mut slow_start, 1, rtt);
            assert_eq!(growth.iter().position(Option::is_none), ends, "{rtt} ms: {growth:?}");
        }
    }

    #[test]
    fn it_ends_slow_start_once_until_a_timeout() {
        let mut slow_start = slow_start();
        round(&mut slow_start, 0, 40.0);
        assert!(round(&mut slow_start, 1, 60.0).contains(&None));
        assert_eq!(round(&mut slow_start, 2, 60.0), [Some(1000.0); 10]);
        slow_start.on_timeout();
        assert_eq!(round(&mut slow_start, 3, 60.0), [Some(1000.0); 10], "the shortest is forgotten, too");
        assert!(round(&mut slow_start, 4, 80.0).contains(&None));
    }

    #[test]
    fn all_that_is_acknowledged_counts_before_the_first_congestion() {
        for (ssthresh, growth) in [(f64::INFINITY, 3000.0), (90_000.0, 1000.0)] {
            let ack = AckSample { acked: Bytes(3000), rtt: None, ..sample(0, 1, 40.0) };
            let windows = Windows { ssthresh, ..WINDOWS };
            assert_eq!(slow_start().on_ack(Instant::ZERO, &ack, &windows), Some(growth));
        }
    }
}
