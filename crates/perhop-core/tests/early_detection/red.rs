//! RED by the clauses of its paper, with numbers worked by hand. 1250 bytes take 10 ms.

use perhop_core::packet::Ecn;
use perhop_core::queue::average::MeanPacket;
use perhop_core::queue::early::{Curve, Early, Verdict, Zone, p_a};
use perhop_core::queue::{Conventions, Queue, Red, RedParams};
use perhop_core::rng::Chance;
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{self, RATE, RED, bytes, packets, stream};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::stats::chi_square;

use super::lab::{EARLY, FORCED, IN, Lab, OVERFLOW, Outcome, SITE, close};

const PAPER: Conventions = Conventions::FLOYD1993;
const MS: Span = Span::from_millis(1);
const OUT_OF_REACH: RedParams =
    RedParams { limit: QueueSize::Packets(1000), thresholds: packets(900, 999, 0.1), ..RED };
/// Of one packet of 100 bytes the average is too high already.
const NARROW: RedParams = RedParams { thresholds: bytes(1, 2, 0.1), w_q: 0.5, ..RED };
/// With 1000 bytes waiting chance drops for certain, with 2000 force.
const CERTAIN: RedParams =
    RedParams { thresholds: bytes(1, 1000, 1.0), gentle: true, w_q: 1.0, ecn: true, ..RED };

fn chance() -> Chance {
    Chance::new(stream())
}

/// A packet of 1000 bytes.
fn mean(byte_mode: bool) -> MeanPacket {
    MeanPacket::new(Bytes(1000), RATE, byte_mode)
}

fn lab(params: RedParams) -> Lab<Red<TestPacket>> {
    Lab::new(aqm::red(SITE, params))
}

//= test floyd1993-4-average
//= test rfc2597-4-long-term
#[test]
fn the_average_follows_the_queue_that_each_arrival_finds() {
    let mut lab = lab(OUT_OF_REACH);
    // w_q = 1/4; queues found: 0, 1, 2, 3
    for average in [0.0, 0.25, 0.6875, 1.265_625] {
        assert_eq!(lab.arrive(1250), IN);
        close(&lab.queue.averages(), &[average]);
    }
    // departures leave it alone: the next arrival finds 2
    lab.depart();
    lab.depart();
    close(&lab.queue.averages(), &[1.265_625]);
    lab.arrive(1250);
    close(&lab.queue.averages(), &[1.449_218_75]);
}

//= test floyd1993-4-average
//= test floyd1993-4-above
#[test]
fn arrivals_that_are_dropped_count_in_the_average_too() {
    let mut lab = lab(NARROW);
    assert_eq!(lab.arrive(100), IN);
    for average in [50.0, 75.0, 87.5] {
        assert_eq!(lab.arrive(100), FORCED);
        close(&lab.queue.averages(), &[average]);
    }
}

//= test floyd1993-4-idle
//= test floyd1993-4-idle-start
#[test]
fn the_average_decays_by_the_packets_that_idle_time_had_room_for() {
    let mut lab = lab(OUT_OF_REACH);
    for _ in 0..4 {
        lab.arrive(1250);
    }
    lab.pass(MS);
    lab.empty();
    lab.pass(Span::from_millis(30));
    lab.arrive(1250);
    // three packets: 1.265625 x 0.75^3
    close(&lab.queue.averages(), &[0.533_935_546_875]);
    lab.pass(MS);
    assert!(lab.depart().is_some());
    lab.pass(Span::from_millis(15));
    lab.arrive(1250);
    // one and a half: x 0.75^1.5, from the moment at which the last left
    close(&lab.queue.averages(), &[0.533_935_546_875 * 0.649_519_052_838_328_9]);
    // no time at all
    lab.empty();
    lab.arrive(1250);
    close(&lab.queue.averages(), &[0.533_935_546_875 * 0.649_519_052_838_328_9]);
}

//= test floyd1993-4-idle
#[test]
fn a_dropped_arrival_at_an_empty_queue_does_not_count_its_idle_time_twice() {
    let mut lab = lab(NARROW);
    lab.arrive(100);
    lab.arrive(100);
    lab.empty();
    for average in [25.0, 12.5, 6.25] {
        lab.pass(Span::from_millis(10));
        assert_eq!(lab.arrive(100), FORCED);
        close(&lab.queue.averages(), &[average]);
    }
}

//= test floyd1993-4-bytes
#[test]
fn thresholds_in_bytes_average_bytes() {
    let mut lab = lab(RedParams { thresholds: bytes(90_000, 99_000, 0.1), ..RED });
    for (len, average) in [(1000, 0.0), (40, 250.0), (1, 447.5)] {
        lab.arrive(len);
        close(&lab.queue.averages(), &[average]);
    }
}

//= test floyd1993-4-p-b
//= test rfc2597-4-gradual
#[test]
fn the_probability_rises_from_0_to_max_p_and_then_jumps_or_rises_to_1() {
    let plain = Curve::new(&packets(5, 15, 0.1), false);
    let gentle = Curve::new(&packets(5, 15, 0.1), true);
    let p_b = |curve: Curve, average| match curve.at(average) {
        Zone::Between(p_b) => p_b,
        zone => panic!("{average} is {zone:?}"),
    };
    for curve in [plain, gentle] {
        assert_eq!(curve.at(4.999), Zone::Below);
        close(&[5.0, 7.5, 10.0, 15.0 - 1e-13].map(|average| p_b(curve, average)), &[0.0, 0.025, 0.05, 0.1]);
    }
    close(&[15.0, 22.5, 28.5, 30.0 - 1e-13].map(|average| p_b(gentle, average)), &[0.1, 0.55, 0.91, 1.0]);
    assert_eq!((plain.at(15.0), gentle.at(30.0)), (Zone::Above, Zone::Above));

    let verdict =
        |curve, average| Early::new(curve).decide(average, Bytes(1), &mean(false), &PAPER, &mut chance());
    assert_eq!((verdict(plain, 4.999), verdict(plain, 15.0)), (Verdict::Accept, Verdict::Forced));
    assert_ne!(verdict(gentle, 29.999), Verdict::Forced);
    assert_eq!(verdict(gentle, 30.0), Verdict::Forced);
}

//= test floyd1993-4-p-a
#[test]
fn the_probability_is_spread_by_the_count() {
    close(&[0.0, 1.0, 5.0, 8.0].map(|count| p_a(0.1, count, &PAPER)), &[0.1, 0.1 / 0.9, 0.2, 0.5]);
    // certain where it would reach or exceed 1, or have no sign
    close(&[9.0, 10.0, 11.0, 1000.0].map(|count| p_a(0.1, count, &PAPER)), &[1.0; 4]);
    let extremes = [(0.0, 0.0), (0.0, 1e6), (1.0, 0.0), (1.7, 3.0)];
    close(&extremes.map(|(p_b, count)| p_a(p_b, count, &PAPER)), &[0.0, 0.0, 1.0, 1.0]);
}

#[test]
fn waiting_spreads_drops_over_a_second_interval_and_without_a_clamp_what_is_overdue_is_spared() {
    let wait = Conventions { wait: true, ..PAPER };
    // nothing before ten packets, then one among ten
    let waited = [0.0, 9.0, 10.0, 11.0, 15.0, 18.0, 19.0, 25.0].map(|count| p_a(0.1, count, &wait));
    close(&waited, &[0.0, 0.0, 0.1, 1.0 / 9.0, 0.2, 0.5, 1.0, 1.0]);
    let unclamped = Conventions { unclamped: true, ..PAPER };
    close(&[8.0, 9.5, 10.5, 1000.0].map(|count| p_a(0.1, count, &unclamped)), &[0.5, 1.0, 0.0, 0.0]);
    let both = Conventions { wait: true, ..unclamped };
    close(&[10.0, 19.5, 20.5].map(|count| p_a(0.1, count, &both)), &[0.1, 1.0, 0.0]);
}

/// How far from a uniform distribution over `counts`.
fn unevenness<const N: usize>(counts: &[u32; N]) -> f64 {
    chi_square(counts, &[f64::from(counts.iter().sum::<u32>()) / N as f64; N])
}

//= test floyd1993-7-uniform
//= test floyd1993-4-restart
#[test]
fn packets_between_two_drops_are_uniform_in_number() {
    // the average is the queue, 10 packets: p_b = 1/10. The count is 1 at the first packet after a drop, so that the
    // ninth is dropped at the latest.
    let thresholds = packets(0, 20, 0.2);
    let mut lab = lab(RedParams { limit: QueueSize::Packets(20), thresholds, w_q: 1.0, ..RED });
    while lab.queue.backlog().packets < 10 {
        lab.arrive(1250);
    }
    let (mut counts, mut gap) = ([0; 9], None);
    for _ in 0..300_000 {
        gap = gap.map(|gap| gap + 1);
        match lab.arrive(1250) {
            IN => drop(lab.depart()),
            outcome => {
                assert_eq!(outcome, EARLY);
                if let Some(gap) = gap.replace(0_usize) {
                    counts[gap - 1] += 1;
                }
            }
        }
    }
    // 8 degrees of freedom: 26.12 is the 0.999 quantile
    assert!(counts.iter().sum::<u32>() > 50_000 && unevenness(&counts) < 26.12, "{counts:?}");
}

//= test floyd1993-7-uniform
//= test floyd1993-4-below
#[test]
fn the_first_drop_above_min_th_is_uniform_over_one_packet_more() {
    // 2000 bytes wait: p_b = 1/10. Below min_th the count is -1, and 0 at the first packet above.
    let mut lab = lab(RedParams { thresholds: bytes(1000, 3000, 0.2), w_q: 1.0, ..RED });
    let mut counts = [0; 10];
    for _ in 0..20_000 {
        lab.empty();
        lab.pass(MS);
        assert_eq!(lab.arrive(2000), IN);
        let survivors = core::iter::from_fn(|| {
            // of no length: still 2000 bytes wait
            let outcome = lab.arrive(0);
            (outcome == IN).then_some(outcome)
        });
        counts[survivors.count()] += 1;
    }
    // 9 degrees of freedom: 27.88 is the 0.999 quantile
    assert!(unevenness(&counts) < 27.88, "{counts:?}");
}

//= test floyd1993-4-byte-mode
//= test floyd1993-4-between
#[test]
fn a_longer_packet_is_dropped_more_often() {
    let curve = Curve::new(&packets(0, 10, 0.2), false);
    let mut early = Early::new(curve);
    let (mut theirs, mut mine) = (chance(), chance());
    let mut count = -1.0;
    for step in 0..10_000u32 {
        // p_b = 0.1 for 1000 bytes, 0.15 for 1500, 0.004 for 40, and 3 for 30 000: certain
        let (len, p_b) = [(1000, 0.1), (1500, 0.15), (40, 0.004), (30_000, 3.0)]
            [if step % 50 == 0 { 3 } else { step as usize % 3 }];
        count += 1.0;
        let spread = p_b / (1.0 - count * p_b);
        let expected = mine.happens(if (0.0..1.0).contains(&spread) { spread } else { 1.0 });
        let verdict = early.decide(5.0, Bytes(len), &mean(true), &PAPER, &mut theirs);
        assert_eq!(verdict, if expected { Verdict::Early } else { Verdict::Accept }, "step {step}");
        if expected {
            count = 0.0;
        }
    }
}

#[test]
fn decisions_outside_the_thresholds_use_up_no_chance() {
    let mut early = Early::new(Curve::new(&packets(5, 15, 0.1), false));
    let (mut theirs, mut mine) = (chance(), chance());
    for step in 0..10_000 {
        let average = [0.0, 4.999, 15.0, 1000.0][step % 4];
        let _ = early.decide(average, Bytes(1), &mean(false), &PAPER, &mut theirs);
        assert_eq!(theirs.happens(0.05), mine.happens(0.05), "step {step}");
    }
}

//= test floyd1993-4-mark-or-drop
//= test rfc3168-5-alike
//= test rfc3168-5-instead
//= test rfc3168-5-mark
//= test rfc3168-5-ce-stays
//= test rfc3168-7-drop-above
#[test]
fn chance_marks_what_can_be_marked_and_force_drops_it() {
    let mut lab = lab(CERTAIN);
    assert_eq!(lab.arrive_with(Ecn::Ect0, 1000), Outcome::Accepted(Ecn::Ect0));
    assert_eq!(lab.arrive_with(Ecn::NotEct, 100), EARLY);
    assert_eq!(lab.arrive_with(Ecn::Ect0, 100), Outcome::Accepted(Ecn::Ce));
    assert_eq!(lab.arrive_with(Ecn::Ect1, 100), Outcome::Accepted(Ecn::Ce));
    assert_eq!(lab.arrive_with(Ecn::Ce, 900), Outcome::Accepted(Ecn::Ce));
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        assert_eq!(lab.arrive_with(ecn, 100), FORCED);
    }
    let left = core::iter::from_fn(|| lab.depart()).map(|pkt| perhop_core::packet::Packet::meta(&pkt).ecn);
    assert_eq!(left.collect::<Vec<_>>(), [Ecn::Ect0, Ecn::Ce, Ecn::Ce, Ecn::Ce]);
}

#[test]
fn without_ecn_nothing_is_marked() {
    let mut lab = lab(RedParams { ecn: false, ..CERTAIN });
    lab.arrive(1000);
    for ecn in [Ecn::NotEct, Ecn::Ect0, Ecn::Ect1, Ecn::Ce] {
        assert_eq!(lab.arrive_with(ecn, 100), EARLY);
    }
}

//= test rfc3168-5-full-queue
#[test]
fn a_full_queue_overflows_whatever_the_average() {
    let mut plain = lab(RedParams { limit: QueueSize::Packets(2), thresholds: packets(5, 9, 0.1), ..RED });
    assert_eq!([1, 1, 1].map(|len| plain.arrive(len)), [IN, IN, OVERFLOW]);
    // what would be marked finds no room either; what is dropped by chance says so
    let mut marking = lab(RedParams { limit: QueueSize::Bytes(1000), ..CERTAIN });
    assert_eq!(marking.arrive(1000), IN);
    assert_eq!(marking.arrive_with(Ecn::Ect0, 1), OVERFLOW);
    assert_eq!(marking.arrive_with(Ecn::NotEct, 1), EARLY);
}
