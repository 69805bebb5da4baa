//! Linux's CUBIC by hand from its formulas, in segments of 1000 bytes.

use super::*;
use crate::cc::testing::{self, MSS};
use crate::settings::{CubicForm, Growth, SlowStartKind};
use CongestionSignal::{EcnEcho, FastRetransmit, RepeatedTimeout, Timeout};

fn cubic(initial_window: u32) -> CubicLinux {
    CubicLinux::new(&TcpParams {
        cc: Growth::Cubic,
        cubic_form: CubicForm::Linux,
        slow_start: SlowStartKind::CubicHystart,
        window: Bytes(1000 * MSS),
        initial_window,
        ..testing::PARAMS
    })
}

fn congestion(cc: &mut CubicLinux, signal: CongestionSignal, kept: u64) {
    let (none, kept) = (Bytes(0), Bytes(kept * MSS));
    cc.on_congestion(Instant::ZERO, signal, &Load { in_flight: none, inflation: none, window: none, kept });
}

fn at(secs: f64) -> Instant {
    Instant::from_nanos((secs * 1e9).round() as u64)
}

/// `count` acknowledgments of a segment each, after `secs`; returns cwnd.
fn ack(cc: &mut CubicLinux, secs: f64, count: u64) -> u64 {
    for _ in 0..count {
        cc.on_ack(at(secs), &testing::sample(MSS));
    }
    cc.cwnd
}

/// In congestion avoidance at `cwnd` without a loss before.
fn avoiding(cwnd: u32) -> CubicLinux {
    let mut cc = cubic(cwnd);
    cc.ssthresh = u64::from(cwnd);
    cc
}

#[test]
fn a_loss_leaves_717_of_1024_in_whole_segments_and_two_at_least() {
    for (cwnd, left) in [(100, 70), (11, 7), (5, 3), (4, 2), (2, 2), (1, 2)] {
        let mut cc = cubic(cwnd);
        congestion(&mut cc, FastRetransmit, 0);
        assert_eq!((cc.cwnd, cc.ssthresh), (left, left), "of {cwnd}");
    }
}

#[test]
fn a_second_loss_below_the_first_aims_lower() {
    let mut cc = cubic(100);
    congestion(&mut cc, FastRetransmit, 0);
    assert_eq!(cc.last_max, 100);
    congestion(&mut cc, FastRetransmit, 0);
    assert_eq!(cc.last_max, 70 * 1741 / 2048);
}

#[test]
fn before_the_first_loss_it_grows_by_a_twentieth_a_window() {
    let mut cc = avoiding(100);
    assert_eq!(ack(&mut cc, 0.0, 100), 105);
}

#[test]
fn after_a_loss_it_waits_at_the_plateau_and_after_a_time_out_it_does_not() {
    let mut cc = avoiding(100);
    congestion(&mut cc, FastRetransmit, 0);
    cc.cwnd = 100;
    assert_eq!(ack(&mut cc, 0.0, 100), 100);
    congestion(&mut cc, Timeout, 0);
    (cc.cwnd, cc.ssthresh) = (100, 100);
    assert_eq!(ack(&mut cc, 0.0, 100), 105);
}

#[test]
fn reno_s_estimate_grows_by_eight_fifteenths_of_a_segment_a_window_wherever_it_is() {
    let mut cc = avoiding(8);
    congestion(&mut cc, FastRetransmit, 0);
    cc.last_max = 1;
    cc.cwnd = 8;
    cc.ssthresh = 8;
    // 8 * 15 / 8 = 15 acknowledged segments make one of the estimate, RFC 9438 would take 8 beyond where the loss was
    ack(&mut cc, 0.0, 15);
    assert_eq!(cc.epoch.map(|epoch| (epoch.estimate, epoch.acked)), Some((8, 15)));
    ack(&mut cc, 0.04, 1);
    assert_eq!(cc.epoch.map(|epoch| (epoch.estimate, epoch.acked)), Some((9, 1)));
    assert_eq!(cc.each, 8, "one more in a window");
}

#[test]
fn the_curve_is_that_of_the_least_round_trip_from_now() {
    let grown = |rtts: [f64; 2], srtt: f64| {
        let mut cc = avoiding(100);
        for rtt in rtts {
            let rtt = Some(Span::from_nanos((rtt * 1e9) as u64));
            cc.on_ack(Instant::ZERO, &AckSample { rtt, cwnd_limited: false, ..testing::sample(MSS) });
        }
        congestion(&mut cc, FastRetransmit, 0);
        let srtt = Some(Span::from_nanos((srtt * 1e9) as u64));
        cc.on_ack(at(1.0), &AckSample { srtt, ..testing::sample(MSS) });
        cc.each
    };
    // K = cbrt(30 * 1024 / 410) = 4.2154 s; at 0.5 s the curve is 0.400391 * 3.7154^3 = 20.53 below 100
    assert_eq!(grown([0.5, 2.0], 2.0), 70 / (100 - 20 - 70));
    // at 2 s it is 4.35 below
    assert_eq!(grown([2.0, 2.0], 0.5), 70 / (100 - 4 - 70));
}

#[test]
fn the_rate_of_growth_stands_for_a_32nd_of_a_second() {
    let mut cc = avoiding(100);
    congestion(&mut cc, FastRetransmit, 0);
    ack(&mut cc, 0.0, 1);
    let each = cc.each;
    ack(&mut cc, 0.031, 1);
    assert_eq!((cc.each, cc.set), (each, Some((70, at(0.0)))));
    ack(&mut cc, 0.032, 1);
    assert_eq!(cc.set, Some((70, at(0.032))));
}

#[test]
fn slow_start_ends_at_ssthresh_and_the_rest_counts() {
    let mut cc = cubic(10);
    cc.ssthresh = 14;
    cc.on_ack(Instant::ZERO, &testing::sample(6 * MSS));
    assert_eq!((cc.cwnd, cc.credit), (14, 2));
}

#[test]
fn a_time_out_leaves_a_segment_and_what_is_in_the_network() {
    let mut cc = cubic(100);
    congestion(&mut cc, Timeout, 3);
    assert_eq!((cc.cwnd, cc.ssthresh, cc.last_max), (4, 70, 0));
    congestion(&mut cc, RepeatedTimeout, 0);
    assert_eq!((cc.cwnd, cc.ssthresh), (1, 70));
    cc.on_spurious_timeout(Instant::ZERO);
    assert_eq!((cc.cwnd, cc.ssthresh), (1, 70), "the second has no state before it");
}

#[test]
fn a_mark_raises_nothing() {
    let mut cc = cubic(1);
    congestion(&mut cc, EcnEcho, 0);
    assert_eq!((cc.cwnd, cc.ssthresh), (1, 2));
}
