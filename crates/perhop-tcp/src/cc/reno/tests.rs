//! RFC 5681 by hand, setting by setting, in segments of 1000 bytes.

use super::*;
use crate::cc::testing::{MSS, PARAMS, sample};
use crate::settings::SlowStartKind;
use CongestionSignal::{EcnEcho, FastRetransmit, RepeatedTimeout, Timeout};
use perhop_core::time::Span;

const NOW: Instant = Instant::ZERO;

fn reno(params: TcpParams) -> Reno {
    Reno::new(&params)
}

/// Begins in congestion avoidance with a window of `segments`.
fn avoiding(params: TcpParams, segments: u64) -> Reno {
    let window = real(segments * MSS);
    Reno { cwnd: window, ssthresh: window, ..reno(params) }
}

fn windows(cc: &Reno) -> (u64, u64) {
    (cc.cwnd().0, cc.ssthresh().0)
}

fn ack(cc: &mut Reno, acked: u64) {
    cc.on_ack(NOW, &sample(acked));
}

/// Congestion with so much in flight and so much inflation, the receiver's window being 100 segments.
fn congestion(cc: &mut Reno, signal: CongestionSignal, in_flight: u64, inflation: u64) {
    let load = Load {
        in_flight: Bytes(in_flight),
        inflation: Bytes(inflation),
        window: Bytes(100 * MSS),
        kept: Bytes(0),
    };
    cc.on_congestion(NOW, signal, &load);
}

//= test rfc5681-3.1-initial-ssthresh
//= test rfc5681-3.1-ssthresh-reacts
#[test]
fn slow_start_first_ends_where_the_settings_say() {
    assert_eq!(windows(&reno(PARAMS)), (3000, u64::MAX));
    let window = TcpParams { initial_ssthresh: InitialSsthresh::Window, ..PARAMS };
    assert_eq!(reno(window).ssthresh(), Bytes(100_000));
    let small = TcpParams { window: Bytes(500), ..window };
    assert_eq!(reno(small).ssthresh(), Bytes(2000), "never below two segments");
    let mut cc = reno(TcpParams { initial_window: 8, ..PARAMS });
    congestion(&mut cc, FastRetransmit, 8000, 0);
    assert_eq!(cc.ssthresh(), Bytes(4000));
}

//= test rfc5681-3.1-slow-start
//= test rfc5681-3.1-slow-start-bytes
#[test]
fn slow_start_adds_what_is_acknowledged_up_to_a_segment() {
    let mut cc = reno(PARAMS);
    for (acked, cwnd) in [(1000, 4000), (400, 4400), (2000, 5400)] {
        ack(&mut cc, acked);
        assert_eq!(cc.cwnd().0, cwnd);
    }
}

#[test]
fn a_slow_start_that_ends_by_itself_leaves_ssthresh_at_the_window() {
    let params = TcpParams { initial_window: 20, slow_start: SlowStartKind::Hystart, ..PARAMS };
    let mut cc = reno(params);
    for n in 1..=4 {
        // 1 ms apart with round trips of 4 ms: with the fourth the train is longer than 2 ms
        assert_eq!(windows(&cc), ((19 + n) * MSS, u64::MAX));
        let rtt = Some(Span::from_millis(4));
        let ack = AckSample { rtt, una: n * MSS, in_flight: Bytes(20 * MSS), ..sample(MSS) };
        cc.on_ack(Instant::from_nanos(n * 1_000_000), &ack);
    }
    assert_eq!(windows(&cc), (23_043, 23_000), "1000 / 23 more");
    cc.cwnd = 56_000.0;
    cc.on_congestion(
        NOW,
        Timeout,
        &Load { in_flight: Bytes(56 * MSS), inflation: Bytes(0), window: Bytes(0), kept: Bytes(0) },
    );
    for n in 5..=23 {
        cc.on_ack(NOW, &AckSample { una: n * MSS, ..sample(MSS) });
    }
    assert_eq!(windows(&cc), (20_000, 28_000));
    for n in 1..=4 {
        let rtt = Some(Span::from_millis(4));
        let ack = AckSample { rtt, una: (23 + n) * MSS, in_flight: Bytes(20 * MSS), ..sample(MSS) };
        cc.on_ack(Instant::from_nanos(n * 1_000_000), &ack);
    }
    assert_eq!(cc.ssthresh(), Bytes(23_000), "a time-out forgets what was found");
}

//= test rfc9406-4.2-congestion
#[test]
fn a_loss_or_a_mark_ends_hystart_plus_plus() {
    for signal in [FastRetransmit, EcnEcho] {
        let slow_start = SlowStartKind::HystartPlusPlus;
        let mut cc = reno(TcpParams { initial_window: 10, slow_start, ..PARAMS });
        ack(&mut cc, 2000);
        congestion(&mut cc, signal, 12_000, 0);
        assert_eq!(windows(&cc), (6000, 6000), "{signal:?}");
        ack(&mut cc, 2000);
        assert_eq!(windows(&cc), (6166, 6000), "congestion avoidance");
    }
}

//= test rfc5681-3.1-regimes
#[test]
fn slow_start_lasts_until_the_window_has_reached_the_threshold() {
    let mut cc = reno(PARAMS);
    congestion(&mut cc, Timeout, 4000, 0);
    assert_eq!(windows(&cc), (1000, 2000));
    ack(&mut cc, 1000);
    assert_eq!(cc.cwnd(), Bytes(2000), "slow start");
    ack(&mut cc, 1000);
    assert_eq!(cc.cwnd(), Bytes(2500), "congestion avoidance");
}

//= test rfc5681-3.1-avoidance-acks
//= test rfc5681-3.1-congestion-avoidance
//= test rfc5681-3.1-avoidance-no-constant
#[test]
fn counted_in_acknowledgments_each_adds_its_part_of_a_segment() {
    let mut cc = avoiding(PARAMS, 4);
    // 1000 * 1000 / 4000, then / 4250, / 4485.29, / 4708.24: as much for few bytes as for many
    for (acked, cwnd) in [(1000, 4250), (2000, 4485), (1, 4708), (1000, 4920)] {
        ack(&mut cc, acked);
        assert_eq!(cc.cwnd().0, cwnd);
    }
}

//= test rfc5681-3.1-avoidance-one-byte
#[test]
fn counted_in_acknowledgments_a_byte_is_added_at_least() {
    let mut cc = avoiding(PARAMS, 2_000);
    ack(&mut cc, 1000);
    assert_eq!(cc.cwnd(), Bytes(2_000_001));
}

//= test rfc5681-3.1-avoidance-bytes
//= test rfc5681-3.1-avoidance-cap
#[test]
fn counted_in_bytes_a_window_adds_a_segment() {
    let mut cc = avoiding(TcpParams { counting: Counting::Bytes, ..PARAMS }, 4);
    for (acked, cwnd) in [(2000, 4000), (1999, 4000), (1, 5000), (4999, 5000), (1, 6000)] {
        ack(&mut cc, acked);
        assert_eq!(cc.cwnd().0, cwnd);
    }
    // what is beyond a window counts towards the next: 500 of 7000
    for (acked, cwnd) in [(6500, 7000), (6499, 7000), (1, 8000)] {
        ack(&mut cc, acked);
        assert_eq!(cc.cwnd().0, cwnd);
    }
}

#[test]
fn bytes_counted_before_a_congestion_do_not_count_after_it() {
    let mut cc = avoiding(TcpParams { counting: Counting::Bytes, ..PARAMS }, 4);
    ack(&mut cc, 3999);
    congestion(&mut cc, FastRetransmit, 4000, 0);
    ack(&mut cc, 1999);
    assert_eq!(cc.cwnd(), Bytes(2000));
}

#[test]
fn a_window_that_does_not_bound_stands_still_unless_it_may_grow_beyond() {
    for grow_beyond_window in [false, true] {
        let mut cc = reno(TcpParams { grow_beyond_window, ..PARAMS });
        cc.on_ack(NOW, &AckSample { cwnd_limited: false, ..sample(1000) });
        assert_eq!(cc.cwnd().0, if grow_beyond_window { 4000 } else { 3000 });
    }
}

//= test rfc5681-3.1-ssthresh
//= test rfc5681-3.1-loss-window
#[test]
fn a_timeout_leaves_one_segment_and_half_of_what_was_in_flight() {
    let mut cc = reno(TcpParams { initial_window: 10, ..PARAMS });
    congestion(&mut cc, Timeout, 9001, 0);
    assert_eq!(windows(&cc), (1000, 4500));
    congestion(&mut cc, Timeout, 3000, 0);
    assert_eq!(windows(&cc), (1000, 2000), "two segments at least");
}

//= test rfc5681-3.1-repeated-timeout
#[test]
fn a_repeated_timeout_leaves_the_threshold() {
    let mut cc = reno(TcpParams { initial_window: 8, ..PARAMS });
    congestion(&mut cc, Timeout, 8000, 0);
    ack(&mut cc, 1000);
    congestion(&mut cc, RepeatedTimeout, 2000, 0);
    assert_eq!(windows(&cc), (1000, 4000));
}

//= test rfc5681-3.1-ssthresh-flight
//= test rfc5681-3.2-ssthresh
#[test]
fn what_is_halved_is_the_flight_or_the_inflated_window_within_the_receivers() {
    let cases = [
        (LossWindow::Flight, 8000, 3000, 4000),
        // more in flight than cwnd is no measure of what the network takes
        (LossWindow::Flight, 30_000, 3000, 5000),
        (LossWindow::Window, 30_000, 3000, 6500),
        (LossWindow::Window, 30_000, 200_000, 50_000),
    ];
    for (loss_window, in_flight, inflation, half) in cases {
        let mut cc = reno(TcpParams { initial_window: 10, loss_window, ..PARAMS });
        congestion(&mut cc, FastRetransmit, in_flight, inflation);
        assert_eq!(windows(&cc), (half, half), "{loss_window:?}");
    }
}

#[test]
fn halves_are_rounded_as_the_settings_say() {
    let cases = [
        // to the byte; the threshold to segments; window, threshold and half to segments
        (Halving::Bytes, 9700, (4850, 4850)),
        (Halving::Fractional, 9700, (4850, 4000)),
        (Halving::Integer, 9700, (4000, 4000)),
        (Halving::Bytes, 3700, (2000, 2000)),
        (Halving::Fractional, 3700, (1850, 2000)),
        (Halving::Integer, 3700, (1000, 2000)),
        (Halving::Fractional, 1000, (1000, 2000)),
        (Halving::Integer, 500, (1000, 2000)),
    ];
    for (halving, in_flight, left) in cases {
        let mut cc = reno(TcpParams { halving, initial_window: 10, ..PARAMS });
        congestion(&mut cc, FastRetransmit, in_flight, 0);
        assert_eq!(windows(&cc), left, "{halving:?} of {in_flight}");
    }
}

#[test]
fn a_mark_halves_like_a_loss_and_never_widens() {
    let mut cc = reno(TcpParams { initial_window: 10, ..PARAMS });
    congestion(&mut cc, EcnEcho, 10_000, 0);
    assert_eq!(windows(&cc), (5000, 5000));
    congestion(&mut cc, Timeout, 5000, 0);
    congestion(&mut cc, EcnEcho, 8000, 0);
    assert_eq!(cc.cwnd(), Bytes(1000), "the window after the time-out");
    let mut cc = avoiding(PARAMS, 2);
    congestion(&mut cc, EcnEcho, 2000, 0);
    assert_eq!(windows(&cc), (1000, 2000), "down to one segment");
}

//= test rfc5681-3.2-deflate
#[test]
fn the_end_of_a_recovery_leaves_the_threshold() {
    let mut cc = avoiding(PARAMS, 5);
    cc.deflate(Bytes(2500));
    assert_eq!(windows(&cc), (2500, 5000));
    cc.on_recovery_exit(NOW);
    assert_eq!(windows(&cc), (5000, 5000));
}

#[test]
fn deflation_and_limits_leave_a_segment() {
    let mut cc = avoiding(PARAMS, 5);
    cc.limit(Bytes(7000));
    assert_eq!(cc.cwnd(), Bytes(5000), "a limit never widens");
    cc.limit(Bytes(4200));
    assert_eq!(cc.cwnd(), Bytes(4200));
    cc.limit(Bytes(0));
    assert_eq!(cc.cwnd(), Bytes(1000));
    cc.deflate(Bytes(u64::MAX));
    assert_eq!(windows(&cc), (1000, 5000));
}

#[test]
fn a_spurious_timeout_is_taken_back() {
    let mut cc = avoiding(PARAMS, 8);
    congestion(&mut cc, Timeout, 8000, 0);
    ack(&mut cc, 1000);
    assert_eq!(windows(&cc), (2000, 4000));
    cc.on_spurious_timeout(NOW);
    assert_eq!(windows(&cc), (8000, 8000));

    let mut cc = reno(TcpParams { initial_window: 8, ..PARAMS });
    congestion(&mut cc, Timeout, 8000, 0);
    cc.on_spurious_timeout(NOW);
    assert_eq!(windows(&cc), (8000, u64::MAX), "there was no threshold yet");
}

//= test rfc5681-4.1-restart
#[test]
fn an_idle_time_leaves_the_windows_that_it_says() {
    let mut cc = avoiding(PARAMS, 8);
    let left = |cwnd, ssthresh| AfterIdle { since: NOW, cwnd: Bytes(cwnd), ssthresh: Bytes(ssthresh) };
    cc.on_restart_after_idle(NOW, &left(3000, 0));
    assert_eq!(windows(&cc), (3000, 8000));
    cc.on_restart_after_idle(NOW, &left(4000, 9000));
    assert_eq!(windows(&cc), (3000, 9000));
    congestion(&mut cc, Timeout, 4000, 0);
    cc.on_restart_after_idle(NOW, &left(3000, 0));
    assert_eq!(cc.cwnd(), Bytes(1000));
}
