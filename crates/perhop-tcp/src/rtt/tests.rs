use super::*;
use crate::settings::TcpParams;

const PARAMS: RtoParams = RtoParams { min: Span::from_millis(200), ..TcpParams::RFC.rto };

/// Jacobson's arithmetic with ticks of 500 ms, as BSD had it.
const COARSE: RtoParams = RtoParams {
    tick: Span::from_millis(500),
    arithmetic: RttArithmetic::Scaled,
    min: Span::from_secs(1),
    ..PARAMS
};

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn sample(e: &mut RttEstimator, ms: u64) {
    e.sample(Instant::ZERO, at(ms), 1, (0, 0));
}

//= test rfc6298-2.1-initial
//= test rfc6298-2.2-first-sample
//= test rfc6298-2.3-later-samples
//= test rfc6298-2.3-order
//= test rfc6298-2.3-gains
//= test rfc6298-2.3-rto
#[test]
fn follows_section_2_by_hand() {
    let mut e = RttEstimator::new(PARAMS);
    assert_eq!(e.rto(), Span::from_secs(1));
    sample(&mut e, 100);
    // srtt 100, rttvar 50: 100 + 4*50
    assert_eq!(e.rto(), Span::from_millis(300));
    sample(&mut e, 180);
    // rttvar = (3*50 + 80)/4 = 57.5 with the srtt of before, then srtt = (7*100 + 180)/8 = 110: 110 + 230
    assert_eq!(e.rto(), Span::from_millis(340));
    assert_eq!(e.extremes(), Some((Span::from_millis(100), Span::from_millis(180))));
    assert_eq!(e.samples(), 2);
}

//= test rfc6298-5.5-back-off
//= test rfc6298-2.5-maximum
//= test rfc6298-2.4-minimum
#[test]
fn backs_off_to_the_maximum_and_recovers_on_a_sample() {
    let mut e = RttEstimator::new(PARAMS);
    for want in [2, 4, 8, 16, 32, 60, 60] {
        e.back_off();
        assert_eq!(e.rto(), Span::from_secs(want));
    }
    for _ in 0..100 {
        e.back_off();
    }
    assert_eq!(e.rto(), Span::from_secs(60));
    sample(&mut e, 10);
    assert_eq!(e.rto(), Span::from_millis(200));
}

//= test rfc6298-2.2-first-sample
#[test]
fn the_clock_granularity_is_a_floor_of_the_variation() {
    let mut e = RttEstimator::new(RtoParams { tick: Span::from_millis(100), ..PARAMS });
    sample(&mut e, 340);
    // 3 ticks: srtt 300, rttvar 150
    assert_eq!(e.rto(), Span::from_millis(900));
    for _ in 0..60 {
        sample(&mut e, 340);
    }
    // rttvar has died away: 300 + G
    assert_eq!(e.rto(), Span::from_millis(400));
}

#[test]
fn scaled_arithmetic_by_hand() {
    let mut e = RttEstimator::new(COARSE);
    sample(&mut e, 1_700);
    // 3 ticks: srtt 24/8, rttvar 6/4: 3 + 6 ticks
    assert_eq!((e.rto(), e.srtt()), (Span::from_millis(4_500), Some(Span::from_millis(1_500))));
    sample(&mut e, 2_600);
    // 5 ticks: deviation 2, srtt 24 + 2 = 26 (3 in whole ticks), rttvar 6 + 2 - 1 = 7: 3 + 7
    assert_eq!(e.rto(), Span::from_millis(5_000));
    sample(&mut e, 10);
    // less than a tick counts as one: 1 - 3 = -2: srtt 24, rttvar 7 + 2 - 1 = 8: 3 + 8
    assert_eq!(e.rto(), Span::from_millis(5_500));
}

#[test]
fn a_sample_counts_the_ticks_between_two_times() {
    let phase = RtoParams { phase: Span::from_millis(499), ..COARSE };
    let mut e = RttEstimator::new(phase);
    // ticks at 1 ms and 501 ms: 502 ms hold two of them
    e.sample(Instant::ZERO, at(502), 1, (0, 0));
    assert_eq!(e.srtt(), Some(Span::from_secs(1)));
}

#[test]
fn a_coarse_timer_expires_on_a_tick() {
    let mut e = RttEstimator::new(RtoParams { on_tick: true, ..COARSE });
    sample(&mut e, 400);
    // 1 tick: 1 + 2 = 3 ticks
    assert_eq!(e.rto(), Span::from_millis(1_500));
    assert_eq!(e.deadline(at(0)), at(1_500));
    assert_eq!(e.deadline(at(499)), at(1_500));
    assert_eq!(e.deadline(at(500)), at(2_000));
}

#[test]
fn the_multiplier_may_have_a_limit_of_its_own() {
    let mut e = RttEstimator::new(RtoParams { backoff_limit: 4, ..PARAMS });
    for want in [2, 4, 4] {
        e.back_off();
        assert_eq!(e.rto(), Span::from_secs(want));
    }
}

//= test rfc6298-5-clear
#[test]
fn after_many_timeouts_the_next_sample_is_the_first() {
    let mut e = RttEstimator::new(RtoParams { forget_after: 3, ..PARAMS });
    sample(&mut e, 100);
    for _ in 0..3 {
        e.back_off();
    }
    assert!(e.srtt().is_some());
    e.back_off();
    assert_eq!((e.srtt(), e.rto()), (None, Span::from_millis(4_800)));
    sample(&mut e, 1_000);
    assert_eq!(e.rto(), Span::from_millis(3_000));
}

//= test rfc6298-5.7-syn
#[test]
fn a_lost_syn_leaves_three_seconds() {
    let mut e = RttEstimator::new(PARAMS);
    e.back_off();
    e.begin_after_lost_syn();
    assert_eq!(e.rto(), Span::from_secs(3));
    let mut e = RttEstimator::new(RtoParams { initial: Span::from_secs(3), ..PARAMS });
    e.back_off();
    e.begin_after_lost_syn();
    assert_eq!(e.rto(), Span::from_secs(6));
}

/// `tcp_rtt_estimator` by hand, in ms: srtt with three fraction bits, the deviation with two.
#[test]
fn linux_keeps_the_largest_deviation_of_a_window() {
    let params =
        RtoParams { arithmetic: RttArithmetic::Linux, min_bounds: MinRtoBounds::Variation, ..PARAMS };
    let mut e = RttEstimator::new(params);
    let mut sample = |micros: u64, outstanding: (u64, u64)| {
        e.sample(Instant::ZERO, Instant::ZERO + Span::from_micros(micros), 10, outstanding);
        e.rto().as_nanos()
    };
    // srtt 800, deviation 200: 100 + 200
    assert_eq!(sample(100_000, (1, 10)), 300_000_000);
    // 80 off, 30 more than 50: deviation 230; srtt 880: 110 + 230
    assert_eq!(sample(180_000, (5, 12)), 340_000_000);
    // 60 shorter, 2.5 more than 57.5, of which an eighth counts: deviation 230.3125; srtt 820: 102.5 + 230.3125
    assert_eq!(sample(50_000, (10, 15)), 332_812_500);
    // none off: deviation 172.734375; the first window ends, whose largest deviation stays
    assert_eq!(sample(102_500, (11, 20)), 332_812_500);
    // the second window ends with a largest of 200: a quarter of 30.3125 less
    assert_eq!(sample(102_500, (21, 30)), 325_234_375);
}

//= test rfc7323-4.2-history
//= test rfc7323-G-gains
#[test]
fn many_samples_in_a_window_weigh_less_each() {
    let mut e = RttEstimator::new(PARAMS);
    sample(&mut e, 100);
    e.sample(Instant::ZERO, at(200), 10, (0, 0));
    // srtt = (79*100 + 200)/80 = 101.25, rttvar = (39*50 + 100)/40 = 51.25
    assert_eq!(e.srtt(), Some(Span::from_nanos(101_250_000)));
    assert_eq!(e.rto(), Span::from_nanos(306_250_000));
}

#[test]
fn the_minimum_may_hold_for_the_variation_alone() {
    let mut e = RttEstimator::new(RtoParams { min_bounds: MinRtoBounds::Variation, ..PARAMS });
    sample(&mut e, 40);
    // srtt 40, rttvar 20: 40 + max(200, 4*20)
    assert_eq!(e.rto(), Span::from_millis(240));
    sample(&mut e, 340);
    // rttvar = (3*20 + 300)/4 = 90, srtt = (7*40 + 340)/8 = 77.5: 77.5 + max(200, 360)
    assert_eq!(e.rto(), Span::from_nanos(437_500_000));
    for _ in 0..200 {
        sample(&mut e, 340);
    }
    // rttvar has died away, srtt has come within a few nanoseconds of 340 ms
    assert!(Span::from_millis(540).as_nanos() - e.rto().as_nanos() < 10, "{}", e.rto());
    e.back_off();
    assert!(
        Span::from_millis(1080).as_nanos() - e.rto().as_nanos() < 20,
        "the whole is doubled: {}",
        e.rto()
    );
}

#[test]
fn the_minimum_may_hold_for_the_variation_in_ticks() {
    let mut e = RttEstimator::new(RtoParams { min_bounds: MinRtoBounds::Variation, ..COARSE });
    sample(&mut e, 400);
    // 1 tick: srtt 1, 4 * rttvar 2 ticks, which is the minimum of 1 s
    assert_eq!(e.rto(), Span::from_millis(1_500));
    for _ in 0..20 {
        sample(&mut e, 400);
    }
    // 4 * rttvar has fallen to 3 - (3 >> 2) = 3 ticks at most, and is 1 s at least
    assert!(e.rto() >= Span::from_millis(1_500), "{}", e.rto());
}
