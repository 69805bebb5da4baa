//! CUBIC by hand from the formulas of RFC 9438, in segments of 1000 bytes.

use super::*;
use crate::cc::testing::{self, MSS};
use crate::settings::{Counting, Growth, RecoveryKind, SlowStartKind};
use CongestionSignal::{EcnEcho, FastRetransmit, RepeatedTimeout, Timeout};

const PARAMS: TcpParams = TcpParams {
    cc: Growth::Cubic,
    recovery: RecoveryKind::Sack,
    window: Bytes(1000 * MSS),
    initial_window: 100,
    counting: Counting::Bytes,
    ..testing::PARAMS
};

fn cubic(initial_window: u32) -> Cubic {
    Cubic::new(&TcpParams { initial_window, ..PARAMS })
}

fn segments(n: u64) -> Bytes {
    Bytes(n * MSS)
}

fn congestion(cc: &mut Cubic, signal: CongestionSignal, in_flight: u64) {
    let load =
        Load { in_flight: segments(in_flight), inflation: Bytes(0), window: PARAMS.window, kept: Bytes(0) };
    cc.on_congestion(Instant::ZERO, signal, &load);
}

/// `acked` segments are acknowledged after `secs`, without a round-trip sample.
fn ack(cc: &mut Cubic, secs: f64, acked: u64) {
    cc.on_ack(at(secs), &sample(acked));
}

fn at(secs: f64) -> Instant {
    Instant::from_nanos((secs * 1e9).round() as u64)
}

fn sample(acked: u64) -> AckSample {
    testing::sample(segments(acked).0)
}

#[track_caller]
fn close(got: f64, want: f64) {
    assert!((got - want).abs() < 1e-5, "{got} is not {want}");
}

/// After a loss at 100 segments, and the first acknowledgment at 0 s: K = cbrt(30 / 0.4) = 4.21716 s.
fn after_a_loss_at_100() -> Cubic {
    let mut cc = cubic(100);
    congestion(&mut cc, FastRetransmit, 100);
    cc.on_recovery_exit(Instant::ZERO);
    ack(&mut cc, 0.0, 1);
    cc
}

#[test]
fn the_curve_starts_at_the_reduced_window_and_is_flat_at_the_old_one() {
    let stage = Stage::new(Instant::ZERO, 70.0, Some(100.0));
    close(stage.k, 4.217_163);
    close(stage.w_cubic(0.0), 70.0);
    close(stage.w_cubic(stage.k), 100.0);
    close(stage.w_cubic(stage.k - 1.0), 99.6);
    close(stage.w_cubic(stage.k + 5.0), 150.0);
}

#[test]
fn a_loss_leaves_seven_tenths_of_what_is_in_flight() {
    let mut cc = cubic(100);
    congestion(&mut cc, FastRetransmit, 90);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (segments(63), segments(63)));
    assert_eq!(cc.state.w_max, Some(100.0), "cwnd, not what is in flight");
}

#[test]
fn a_loss_leaves_two_segments_and_a_mark_one() {
    for (signal, left) in [(FastRetransmit, 2), (EcnEcho, 1)] {
        let mut cc = cubic(1);
        congestion(&mut cc, signal, 1);
        assert_eq!((cc.cwnd(), cc.ssthresh()), (segments(left), segments(2)), "{signal:?}");
    }
}

#[test]
fn slow_start_adds_at_most_a_segment_for_each_ack() {
    let mut cc = cubic(2);
    ack(&mut cc, 0.0, 1);
    ack(&mut cc, 0.0, 2);
    cc.on_ack(Instant::ZERO, &AckSample { acked: Bytes(300), ..sample(1) });
    assert_eq!(cc.cwnd(), Bytes(4300));
}

#[test]
fn below_the_old_window_each_ack_adds_its_share_of_the_way_to_the_target() {
    let mut cc = after_a_loss_at_100();
    // W_est after one segment: 70 + 0.52941 / 70; W(0) = 70 is below it.
    close(cc.state.cwnd, 70.007_563);
    cc.on_ack(at(0.1), &AckSample { srtt: Some(Span::from_millis(100)), ..sample(1) });
    // W(0.1) = 72.084 is above W_est. The target is W(0.2) = 0.4 * (0.2 - 4.21716)^3 + 100 = 74.06856.
    close(cc.state.cwnd, 70.007_563 + (74.068_56 - 70.007_563) / 70.007_563);
}

#[test]
fn without_a_sample_the_target_is_that_of_the_moment() {
    let mut cc = after_a_loss_at_100();
    ack(&mut cc, 0.2, 1);
    close(cc.state.cwnd, 70.007_563 + (74.068_56 - 70.007_563) / 70.007_563);
}

//= test rfc9438-4.2-target-bounds
//= test rfc9438-4.5-convex
#[test]
fn beyond_the_old_window_the_curve_steepens_up_to_half_a_segment_for_each_ack() {
    for (after_plateau, target) in [(2.0, 103.2), (5.0, 1.5 * 70.007_563)] {
        let mut cc = after_a_loss_at_100();
        ack(&mut cc, 4.217_163_327 + after_plateau, 1);
        close(cc.state.cwnd, 70.007_563 + (target - 70.007_563) / 70.007_563);
    }
}

#[test]
fn a_curve_behind_the_window_adds_nothing() {
    let mut cc = after_a_loss_at_100();
    cc.state.cwnd = 90.0;
    ack(&mut cc, 0.2, 1);
    close(cc.state.cwnd, 90.0);
}

#[test]
fn small_windows_follow_the_estimate_of_reno() {
    let mut cc = cubic(10);
    congestion(&mut cc, FastRetransmit, 10);
    ack(&mut cc, 0.0, 1);
    close(cc.state.cwnd, 7.0 + 0.529_411_765 / 7.0);
    ack(&mut cc, 0.0, 2);
    close(cc.state.cwnd, 7.075_630 + 2.0 * 0.529_411_765 / 7.075_630);
    assert_eq!(cc.cwnd(), Bytes(7225));
}

//= test rfc9438-4.3-alpha-one
//= test rfc9438-4.6-prior
#[test]
fn the_estimate_grows_as_reno_once_it_has_the_old_window() {
    let mut cc = cubic(10);
    congestion(&mut cc, FastRetransmit, 10);
    ack(&mut cc, 0.0, 40);
    close(cc.state.cwnd, 7.0 + 40.0 * 0.529_411_765 / 7.0);
    ack(&mut cc, 0.0, 1);
    close(cc.state.cwnd, 10.025_210 + 1.0 / 10.025_210);
}

#[test]
fn the_estimate_does_not_lower_the_window() {
    let mut cc = cubic(10);
    congestion(&mut cc, FastRetransmit, 10);
    ack(&mut cc, 0.0, 1);
    cc.state.cwnd = 8.0;
    ack(&mut cc, 0.0, 1);
    close(cc.state.cwnd, 8.0);
}

//= test rfc9438-4.7-fast-convergence
#[test]
fn a_loss_below_the_old_window_lowers_the_plateau_further() {
    let mut cc = after_a_loss_at_100();
    congestion(&mut cc, FastRetransmit, 70);
    close(cc.state.w_max.unwrap(), 70.007_563 * 0.85);
    ack(&mut cc, 1.0, 1);
    // K = cbrt((59.50643 - 49) / 0.4) = cbrt(26.26607)
    close(cc.state.stage.unwrap().k, 2.972_567);
}

#[test]
fn a_loss_at_a_new_height_puts_the_plateau_there() {
    let mut cc = after_a_loss_at_100();
    cc.state.cwnd = 120.0;
    congestion(&mut cc, EcnEcho, 120);
    assert_eq!(cc.state.w_max, Some(120.0));
}

//= test rfc9438-4.8-timeout-curve
//= test rfc9438-4.8-timeout-estimate
#[test]
fn after_a_timeout_the_curve_starts_on_its_plateau() {
    let mut cc = cubic(20);
    congestion(&mut cc, Timeout, 20);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (segments(1), segments(14)));
    for _ in 1..14 {
        ack(&mut cc, 0.0, 1);
    }
    assert_eq!((cc.cwnd(), cc.state.stage), (segments(14), None));
    ack(&mut cc, 5.0, 1);
    let stage = cc.state.stage.unwrap();
    assert_eq!((stage.k, stage.w_max, stage.elapsed), (0.0, 14.0, Span::ZERO));
    close(stage.w_est, 14.0 + 0.529_411_765 / 14.0);
    close(stage.w_cubic(1.0), 14.4);
}

#[test]
fn a_repeated_timeout_leaves_the_threshold() {
    let mut cc = cubic(20);
    congestion(&mut cc, Timeout, 20);
    congestion(&mut cc, RepeatedTimeout, 1);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (segments(1), segments(14)));
}

#[test]
fn a_spurious_timeout_is_forgotten() {
    let mut cc = after_a_loss_at_100();
    let before = cc.state;
    congestion(&mut cc, Timeout, 70);
    congestion(&mut cc, RepeatedTimeout, 70);
    ack(&mut cc, 0.1, 1);
    cc.on_spurious_timeout(at(0.1));
    assert_eq!(cc.state, before);
    // The curve goes on as if there had been no time-out: W(0.2) as above.
    ack(&mut cc, 0.2, 1);
    close(cc.state.cwnd, 70.007_563 + (74.068_56 - 70.007_563) / 70.007_563);
}

#[test]
fn a_timeout_that_proves_spurious_too_late_stays() {
    let mut cc = cubic(20);
    congestion(&mut cc, Timeout, 20);
    cc.before.as_mut().unwrap().cwnd = 2.0;
    ack(&mut cc, 0.0, 1);
    ack(&mut cc, 0.0, 1);
    cc.on_spurious_timeout(Instant::ZERO);
    assert_eq!((cc.cwnd(), cc.ssthresh()), (segments(3), segments(14)));
}

#[test]
fn congestion_after_a_timeout_is_not_forgotten() {
    let mut cc = cubic(20);
    congestion(&mut cc, Timeout, 20);
    congestion(&mut cc, EcnEcho, 10);
    cc.on_spurious_timeout(Instant::ZERO);
    // a mark lowers the threshold to the least that it has and does not raise the window of one segment
    assert_eq!((cc.cwnd(), cc.ssthresh()), (segments(1), segments(2)));
}

//= test rfc9438-4.10-exit-without-loss
#[test]
fn a_slow_start_that_ends_without_loss_starts_the_curve_on_its_plateau() {
    let mut cc =
        Cubic::new(&TcpParams { window: segments(20), initial_ssthresh: InitialSsthresh::Window, ..PARAMS });
    assert_eq!(cc.ssthresh(), segments(20));
    ack(&mut cc, 0.0, 1);
    let stage = cc.state.stage.unwrap();
    assert_eq!((stage.k, stage.w_max), (0.0, 100.0));
    close(stage.w_est, 100.01);
}

#[test]
fn a_slow_start_that_ends_by_itself_leaves_ssthresh_at_the_window() {
    let params = TcpParams { initial_window: 20, slow_start: SlowStartKind::Hystart, ..PARAMS };
    let mut cc = Cubic::new(&params);
    for n in 1..=4 {
        // 1 ms apart with round trips of 4 ms: with the fourth the train is longer than 2 ms
        let rtt = Some(Span::from_millis(4));
        let ack = AckSample { rtt, una: n * MSS, in_flight: segments(20), ..sample(1) };
        assert_eq!(cc.ssthresh(), Bytes(u64::MAX));
        cc.on_ack(Instant::from_nanos(n * 1_000_000), &ack);
    }
    assert_eq!(cc.ssthresh(), segments(23));
    close(cc.state.stage.unwrap().w_max, 23.0);
    close(cc.state.cwnd, 23.0 + 1.0 / 23.0);
    // a time-out forgets what was found, so that a later slow start can end by itself, too
    cc.state.cwnd = 40.0;
    congestion(&mut cc, Timeout, 40);
    assert_eq!(cc.ssthresh(), segments(28));
    for n in 5..=23 {
        cc.on_ack(at(5.0), &AckSample { una: n * MSS, ..sample(1) });
    }
    assert_eq!(cc.cwnd(), segments(20));
    for n in 1..=4 {
        let rtt = Some(Span::from_millis(4));
        let ack = AckSample { rtt, una: (23 + n) * MSS, in_flight: segments(20), ..sample(1) };
        cc.on_ack(at(6.0 + n as f64 / 1000.0), &ack);
    }
    assert_eq!(cc.ssthresh(), segments(23));
}

//= test rfc9438-4.2-application-limited
#[test]
fn time_in_which_something_else_bounds_the_sender_does_not_count() {
    let mut cc = after_a_loss_at_100();
    cc.on_ack(at(3.0), &AckSample { cwnd_limited: false, ..sample(1) });
    close(cc.state.cwnd, 70.007_563);
    ack(&mut cc, 3.2, 1);
    close(cc.state.cwnd, 70.007_563 + (74.068_56 - 70.007_563) / 70.007_563);
}

#[test]
fn the_window_grows_beyond_the_receivers_where_the_settings_say_so() {
    let limited = AckSample { cwnd_limited: false, ..sample(1) };
    for (grow_beyond_window, want) in [(false, 100), (true, 101)] {
        let mut cc = Cubic::new(&TcpParams { grow_beyond_window, ..PARAMS });
        cc.on_ack(Instant::ZERO, &limited);
        assert_eq!(cc.cwnd(), segments(want));
    }
}

#[test]
fn idleness_leaves_the_windows_that_it_says_and_a_new_stage() {
    let mut cc = cubic(100);
    congestion(&mut cc, FastRetransmit, 100);
    ack(&mut cc, 0.0, 1);
    let left = AfterIdle { since: at(0.0), cwnd: segments(10), ssthresh: Bytes(0) };
    cc.on_restart_after_idle(at(9.0), &left);
    assert_eq!((cc.cwnd(), cc.ssthresh(), cc.state.stage), (segments(10), segments(70), None));
}

#[test]
fn a_limit_ends_the_stage_if_it_lowers_the_window() {
    let mut cc = after_a_loss_at_100();
    cc.limit(segments(80));
    assert!(cc.state.stage.is_some());
    cc.limit(segments(60));
    assert_eq!((cc.cwnd(), cc.state.stage), (segments(60), None));
    cc.deflate(segments(50));
    cc.deflate(segments(50));
    assert_eq!(cc.cwnd(), segments(1));
    cc.on_recovery_exit(Instant::ZERO);
    assert_eq!(cc.cwnd(), segments(70));
}

/// The average window where each `period`-th segment is lost, a round trip takes 100 ms, and the plateau is where the
/// last loss was.
fn average_window(period: u64, start: u32) -> f64 {
    const CYCLES: u32 = 300;
    let rtt = Span::from_millis(100);
    let mut cc = cubic(start);
    congestion(&mut cc, FastRetransmit, start.into());
    let (mut now, mut left) = (Instant::ZERO, period);
    let (mut cycle, mut rounds, mut segments) = (0, 0, 0);
    while cycle < CYCLES {
        let window = cc.cwnd().0 / MSS;
        if cycle >= CYCLES / 2 {
            (rounds, segments) = (rounds + 1, segments + window);
        }
        now += rtt;
        if window < left {
            left -= window;
            (0..window).for_each(|_| cc.on_ack(now, &AckSample { srtt: Some(rtt), ..sample(1) }));
        } else {
            left = period;
            cycle += 1;
            congestion(&mut cc, FastRetransmit, window);
            cc.state.w_max = Some(cc.state.cwnd_prior);
        }
    }
    segments as f64 / f64::from(rounds)
}

/// RFC 9438 section 5.1 with C = 0.4: 1.054 (RTT^3 / p^3)^(1/4) segments.
#[test]
fn long_run_average_of_the_cubic_function() {
    let (got, want) = (average_window(10_000, 200), 1.054 * (0.1_f64 * 10_000.0).powf(0.75));
    assert!((got / want - 1.0).abs() < 0.03, "{got} of {want}");
}

/// The average of halving with one segment per window: sqrt(3 / (2 p)).
#[test]
fn long_run_average_of_the_estimate_of_reno() {
    let (got, want) = (average_window(1000, 40), 1500.0_f64.sqrt());
    assert!((got / want - 1.0).abs() < 0.03, "{got} of {want}");
}
