//! PIE by the clauses of RFC 8033, with numbers worked by hand.

use perhop_core::packet::{Ecn, Packet};
use perhop_core::queue::{DelayFrom, Pie, PieParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::Event;

use super::{Bench, PARAMS, ms};

const MANY: QueueSize = QueueSize::Packets(100_000);

fn bench(params: PieParams) -> Bench<Pie<TestPacket>> {
    Bench::new(Pie::new(SiteId(3), params, Stream::new(1, 0, "pie")).expect("sound"))
}

/// After a burst at `from`, a packet leaves a millisecond before each update, of which there are `updates`: at the k-th the delay
/// is 15 k - 1 ms.
fn drive(bench: &mut Bench<Pie<TestPacket>>, from: u64, updates: u64) {
    bench.until(ms(from));
    assert_eq!(bench.arrive(1000), 1000);
    go_on(bench, from, 1..=updates);
}

fn go_on(bench: &mut Bench<Pie<TestPacket>>, from: u64, updates: std::ops::RangeInclusive<u64>) {
    for k in updates {
        bench.until(ms(from + 15 * k - 1));
        bench.leave().expect("many wait");
        bench.until(ms(from + 15 * k));
    }
}

fn drain(bench: &mut Bench<Pie<TestPacket>>, left: u64) {
    while bench.queue.backlog().packets > left {
        bench.leave();
    }
}

fn near(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 1e-12, "{ours} is not {theirs}");
}

/// By how much the probability rises at each update of [`drive`], before it is scaled, and by what it is scaled.
const RISES: [(f64, f64); 14] = [
    (0.017_375, 2048.0),
    (0.020_5, 512.0),
    (0.022_375, 128.0),
    (0.024_25, 32.0),
    (0.026_125, 32.0),
    (0.028, 8.0),
    (0.029_875, 8.0),
    (0.031_75, 8.0),
    (0.033_625, 2.0),
    (0.035_5, 2.0),
    (0.037_375, 2.0),
    (0.039_25, 2.0),
    (0.041_125, 2.0),
    (0.043, 1.0),
];

//= test rfc8033-4.2-controller
//= test rfc8033-4.2-autotune
//= test rfc8033-4.2-period
//= test rfc8033-4.3-timestamps
#[test]
fn the_probability_follows_the_delay_and_its_growth() {
    let mut bench = bench(PARAMS);
    bench.arrive(1000);
    let mut expected = 0.0;
    for (k, (rise, scale)) in (1..).zip(RISES) {
        go_on(&mut bench, 0, k..=k);
        expected += rise / scale;
        near(bench.queue.probability(), expected);
        assert_eq!(bench.queue.early_states()[0].probability.to_bits(), bench.queue.probability().to_bits());
    }
    assert!(expected > 0.14, "{expected}");
}

//= test rfc8033-5.5-cap
#[test]
fn with_a_cap_a_high_probability_rises_by_two_percent() {
    let mut bench = bench(PieParams { cap_adjustment: true, ..PARAMS });
    drive(&mut bench, 0, 13);
    let before = bench.queue.probability();
    go_on(&mut bench, 0, 14..=14);
    near(bench.queue.probability(), before + 0.02);
}

//= test rfc8033-4.4-burst
//= test rfc8033-4.4-round
//= test rfc8033-4.1-random-drop
#[test]
fn a_burst_passes_and_what_follows_is_dropped_with_the_probability() {
    for max_burst in [Span::from_millis(150), Span::from_micros(135_001)] {
        let mut bench = bench(PieParams { limit: MANY, max_burst, ..PARAMS });
        drive(&mut bench, 0, 9);
        assert_eq!(bench.arrive(10_000), 10_000);
        go_on(&mut bench, 0, 10..=10);
        let p = bench.queue.probability();
        let dropped = 10_000 - bench.arrive(10_000);
        // within four deviations of 475
        assert!((dropped as f64 - 10_000.0 * p).abs() < 85.0, "{dropped} at {p}");
    }
}

//= test rfc8033-4.4-reset
#[test]
fn after_a_calm_a_burst_passes_again() {
    let mut bench = bench(PARAMS);
    drive(&mut bench, 0, 14);
    drain(&mut bench, 0);
    bench.until(ms(3000));
    assert!(bench.queue.probability() <= 0.0);
    drive(&mut bench, 3000, 9);
    assert_eq!((bench.arrive(500), bench.early()), (500, 0));
    go_on(&mut bench, 3000, 10..=10);
    assert!(bench.arrive(500) < 500);
}

//= test rfc8033-4.1-safeguard
#[test]
fn a_short_queue_is_spared() {
    let mut bench = bench(PARAMS);
    drive(&mut bench, 0, 14);
    for (waiting, spared) in [(3, false), (2, true)] {
        let mut accepted = 0;
        for _ in 0..200 {
            drain(&mut bench, waiting);
            accepted += bench.arrive(1);
            bench.arrive(3);
        }
        assert_eq!(accepted == 200, spared, "{accepted} where {waiting} wait");
    }
}

//= test rfc8033-4.1-safeguard
#[test]
fn a_short_delay_spares_while_the_probability_is_below_a_fifth() {
    // growth counts for nothing, so that the probability stays when the delay falls
    let slow = PieParams { limit: MANY, alpha: 1.0, beta: 1e-12, max_burst: Span::ZERO, ..PARAMS };
    for (delay, updates, spared) in [(7, 8, true), (8, 8, false), (7, 10, false)] {
        let mut bench = bench(slow);
        drive(&mut bench, 0, updates);
        drain(&mut bench, 0);
        bench.until(ms(15 * (updates + 1) - delay));
        bench.arrive(1000);
        bench.now = ms(15 * (updates + 1));
        bench.leave();
        bench.until(ms(15 * (updates + 1)));
        let p = bench.queue.probability();
        assert_eq!(p < 0.2, updates == 8, "{p}");
        assert_eq!(bench.arrive(500) == 500, spared, "{delay} ms at {p}");
    }
}

//= test rfc8033-4.2-decay
//= test rfc8033-4.2-bounds
#[test]
fn without_delay_the_probability_decays_and_ends_at_zero() {
    let mut bench = bench(PieParams { beta: 1e-12, alpha: 1.0, ..PARAMS });
    drive(&mut bench, 0, 12);
    drain(&mut bench, 0);
    let before = bench.queue.probability();
    bench.until(ms(195));
    // the delay is gone, but was there at the update before
    let after = before - 0.015 - 1e-12 * 0.179;
    near(bench.queue.probability(), after);
    bench.until(ms(210));
    near(bench.queue.probability(), (after - 0.015) * 0.98);
    bench.until(ms(2000));
    assert_eq!(bench.queue.probability().to_bits(), 0);
}

//= test rfc8033-4.2-bounds
#[test]
fn the_probability_ends_at_one() {
    let mut bench = bench(PieParams { alpha: 1e6, ..PARAMS });
    drive(&mut bench, 0, 12);
    assert_eq!(bench.queue.probability().to_bits(), 1.0_f64.to_bits());
    assert_eq!(bench.arrive(100), 0);
}

//= test rfc8033-5.1-mark
#[test]
fn below_mark_ecnth_a_packet_that_can_carry_a_mark_is_marked_instead() {
    for (updates, ecn, drops, marks) in [
        (12, Ecn::NotEct, true, false),
        (12, Ecn::Ect0, false, true),
        (12, Ecn::Ect1, false, true),
        (12, Ecn::Ce, false, false),
        (13, Ecn::Ect0, true, false),
    ] {
        let mut bench = bench(PieParams { ecn: true, ..PARAMS });
        drive(&mut bench, 0, updates);
        bench.arrive_as(500, 1000, ecn);
        let marked: Vec<_> = bench.sink.of(Event::Marked).map(|meta| meta.ecn).collect();
        assert_eq!((bench.early() > 0, !marked.is_empty()), (drops, marks), "{ecn:?} after {updates}");
        assert!(marked.iter().all(|ecn| *ecn == Ecn::Ce));
        let left = std::iter::from_fn(|| bench.leave());
        let carried = left.filter(|pkt| pkt.meta().ecn == Ecn::Ce).count();
        assert!(ecn == Ecn::Ce || carried == marked.len());
    }
    let mut without = bench(PARAMS);
    drive(&mut without, 0, 12);
    assert!(without.arrive_as(500, 1000, Ecn::Ect0) < 500);
}

//= test rfc8033-5.2-rate
#[test]
fn the_delay_is_known_from_the_rate_of_departures() {
    let mut bench = bench(PieParams { delay_from: DelayFrom::DepartureRate, ..PARAMS });
    bench.arrive(100);
    // a cycle begins at 1 ms, and 17 packets, the first 16 KiB, leave by 18 ms; the next take 2 ms each, until 52 ms
    let mut expected = 0.0;
    let of = |packets: f64, taken: f64| packets * 1000.0 * taken / 16384.0;
    let delays = [0.0, of(77.0, 0.017), of(69.0, 0.017), of(62.0, 0.25 * 0.034 + 0.75 * 0.017)];
    for (k, at) in (1..=18).chain((20..=60).step_by(2)).enumerate() {
        bench.until(ms(at));
        bench.leave();
        let (update, scale) = match k + 1 {
            18 => (0, 2048.0),
            23 => (1, 2048.0),
            31 => (2, 128.0),
            38 => (3, 128.0),
            _ => continue,
        };
        bench.until(ms(15 * (update as u64 + 1)).max(ms(at)));
        let before = if update == 0 { 0.0 } else { delays[update - 1] };
        expected += (0.125 * (delays[update] - 0.015) + 1.25 * (delays[update] - before)) / scale;
        expected = f64::max(expected, 0.0);
        near(bench.queue.probability(), expected);
    }
    assert!(expected > 1e-4, "{expected}");
}

//= test rfc8033-5.3-active
//= test rfc8033-5.3-inactive
#[test]
fn the_controller_becomes_active_when_enough_waits_and_inactive_after_a_calm() {
    for active_from in [QueueSize::Packets(50), QueueSize::Bytes(50_000)] {
        let mut bench = bench(PieParams { limit: MANY, active_from: Some(active_from), ..PARAMS });
        bench.until(ms(7));
        bench.arrive(50);
        assert_eq!(bench.queue.next_timeout(), None);
        bench.arrive(1);
        assert_eq!(bench.queue.next_timeout(), Some(ms(22)));
        bench.arrive(900);
        // a burst may pass from then on
        for k in 1..=14 {
            bench.until(ms(7 + 15 * k - 1));
            bench.leave();
            bench.until(ms(7 + 15 * k));
            assert_eq!(bench.arrive(500) == 500, k < 10, "{k}");
        }
        drain(&mut bench, 0);
        bench.until(ms(3000));
        assert_eq!((bench.queue.next_timeout(), bench.queue.probability().to_bits()), (None, 0));
    }
}

//= test rfc8033-5.4-derandomization
#[test]
fn drops_come_neither_too_close_together_nor_too_far_apart() {
    for derandomize in [true, false] {
        let mut bench = bench(PieParams { limit: MANY, derandomize, ..PARAMS });
        drive(&mut bench, 0, 13);
        let p = bench.queue.probability();
        let mut gaps = Vec::new();
        let mut since = 0;
        for _ in 0..50_000 {
            since += 1;
            if bench.arrive(1) == 0 {
                gaps.push(since);
                since = 0;
            }
        }
        let within = |gap: &i32| (0.85..8.5 + p).contains(&(f64::from(*gap) * p));
        assert_eq!(gaps.iter().all(within), derandomize, "{p}");
        // 85 % of the mean gap pass without a drop: that makes it nearly twice as long
        assert!(gaps.len() > 2000, "{}", gaps.len());
    }
}

#[test]
fn in_byte_mode_short_packets_are_dropped_less_up_to_a_bound() {
    let dropped = |mean_packet, len, updates| {
        let params = PieParams { limit: MANY, byte_mode: true, mean_packet: Bytes(mean_packet), ..PARAMS };
        let mut bench = bench(params);
        drive(&mut bench, 0, updates);
        (10_000 - bench.arrive_as(10_000, len, Ecn::NotEct)) as f64 / 10_000.0 / bench.queue.probability()
    };
    for (len, part) in [(1000, 1.0), (100, 0.1), (1500, 1.5)] {
        let ratio = dropped(1000, len, 14);
        assert!((ratio / part - 1.0).abs() < 0.2, "{ratio} for {len}");
    }
    let most = dropped(10, 1000, 14) * RISES.iter().map(|(rise, scale)| rise / scale).sum::<f64>();
    assert!((most - 0.85).abs() < 0.02, "{most}");
}

#[test]
fn an_update_that_is_late_is_made_once() {
    let mut bench = bench(PARAMS);
    bench.queue.on_timeout(Instant::from_nanos(14_999_999), &mut bench.sink);
    assert_eq!(bench.queue.next_timeout(), Some(ms(15)));
    bench.arrive(100);
    bench.now = ms(100);
    bench.leave();
    bench.queue.on_timeout(ms(100), &mut bench.sink);
    assert_eq!(bench.queue.next_timeout(), Some(ms(105)));
    near(bench.queue.probability(), (0.125 * 0.085 + 1.25 * 0.1) / 2048.0);
}

/// By the letter of Appendix A the delay of the last departure would stand, and the probability rise to 1.
#[test]
fn an_empty_queue_has_no_delay() {
    let mut bench = bench(PARAMS);
    bench.arrive(1);
    bench.until(ms(10));
    bench.now = ms(200);
    bench.leave();
    bench.until(ms(60_000));
    assert_eq!(bench.queue.probability().to_bits(), 0);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params| {
        let built = Pie::<TestPacket>::new(SiteId(0), params, Stream::new(1, 0, ""));
        built.expect_err("refused").to_string()
    };
    for (params, why) in [
        (PieParams { limit: QueueSize::Packets(0), ..PARAMS }, "limit"),
        (PieParams { target: Span::ZERO, ..PARAMS }, "target: must exceed 0s"),
        (PieParams { t_update: Span::ZERO, ..PARAMS }, "t_update: must exceed 0s"),
        (PieParams { alpha: 0.0, ..PARAMS }, "alpha: must exceed 0"),
        (PieParams { beta: f64::INFINITY, ..PARAMS }, "beta: must exceed 0"),
        (PieParams { beta: f64::NAN, ..PARAMS }, "beta: must exceed 0"),
        (PieParams { active_from: Some(QueueSize::Bytes(0)), ..PARAMS }, "active_from"),
        (PieParams { mark_ecnth: 1.5, ..PARAMS }, "mark_ecnth"),
        (PieParams { mean_packet: Bytes(0), ..PARAMS }, "mean_packet"),
    ] {
        assert!(refused(params).contains(why), "{}", refused(params));
    }
}
