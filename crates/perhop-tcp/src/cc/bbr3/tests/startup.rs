//! The first window, Startup and Drain.

use super::*;

//= test draft-ietf-ccwg-bbr-5.2.1-init
//= test draft-ietf-ccwg-bbr-5.6.2-first
#[test]
fn it_begins_in_startup_with_the_first_window_paced_over_the_round_trip() {
    let bbr = started(0, Some(RTT));
    assert_eq!((bbr.state, bbr.cwnd(), bbr.pacing_rate()), (State::Startup, Bytes(10 * MSS), Some(277_000)));
    assert_eq!((bbr.inflight_longterm, bbr.inflight_shortterm, bbr.bw_shortterm), (UNSET, UNSET, UNSET));
    let mut bbr = started(0, None);
    assert_eq!(bbr.pacing_rate(), Some(27_700_000), "a millisecond is assumed");
    let sample = RateSample { rtt: Some(RTT), acked: Bytes(MSS), ..RateSample::default() };
    bbr.on_rate(Instant::ZERO + RTT, &sample);
    assert_eq!(bbr.pacing_rate(), Some(277_000));
}

//= test draft-ietf-ccwg-bbr-5.6.1-gains
#[test]
fn gains_are_those_of_the_table() {
    let states = [State::Startup, State::Drain, State::Down, State::Cruise, State::Refill, State::Up];
    let gains = states.map(State::gains);
    assert_eq!(gains, [(277, 200), (50, 200), (90, 200), (100, 200), (100, 200), (125, 225)]);
    assert_eq!(State::ProbeRtt.gains(), (100, 50));
}

//= test draft-ietf-ccwg-bbr-5.3.1.2-full
//= test draft-ietf-ccwg-bbr-5.5.1-rounds
//= test draft-ietf-ccwg-bbr-5.2.3-order
//= test draft-ietf-ccwg-bbr-5.1-include
//= test draft-ietf-ccwg-bbr-5.6.2-rate
//= test draft-ietf-ccwg-bbr-5.3.2-leave
#[test]
fn three_round_trips_without_growth_end_startup_and_an_empty_queue_ends_drain() {
    let mut path = Path::new(1);
    path.in_flight = 2 * BDP;
    for round in 1..=3 {
        path.round();
        assert_eq!(
            (path.bbr.state, path.bbr.full.count, path.bbr.round_count),
            (State::Startup, round - 1, round.into())
        );
    }
    path.round();
    assert_eq!((path.bbr.state, path.bbr.full_bw_reached, path.bbr.full.now), (State::Drain, true, true));
    assert_eq!(path.bbr.max_bw.greatest(), RATE);
    assert_eq!(path.bbr.pacing_rate(), Some(RATE / 2 * 99 / 100), "paced so by the same acknowledgment");
    path.in_flight = BDP + 1;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Drain);
    path.in_flight = BDP;
    path.ack(RATE);
    assert_eq!(
        path.bbr.state,
        State::Cruise,
        "the same acknowledgment finds nothing to drain in ProbeBW_DOWN"
    );
}

//= test draft-ietf-ccwg-bbr-5.3.1.2-full
#[test]
fn a_quarter_more_bandwidth_begins_the_count_anew() {
    let mut path = Path::new(1);
    for _ in 0..3 {
        path.round();
    }
    assert_eq!(path.bbr.full.count, 2);
    while path.bbr.full.count > 0 {
        path.ack(RATE * 5 / 4);
    }
    assert_eq!((path.bbr.state, path.bbr.full.bw), (State::Startup, RATE * 5 / 4));
}

//= test draft-ietf-ccwg-bbr-5.3.1.2-limited
//= test draft-ietf-ccwg-bbr-5.5.4-limited
#[test]
fn while_the_application_bounds_the_rate_startup_goes_on_and_only_more_bandwidth_counts() {
    let mut path = Path::new(1);
    path.app_limited = true;
    path.run(RATE, Span::from_secs(2));
    assert_eq!((path.bbr.state, path.bbr.max_bw.greatest()), (State::Startup, RATE));
    path.run(RATE / 2, MS(300));
    assert_eq!(path.bbr.max_bw.greatest(), RATE);
    path.run(RATE * 2, MS(300));
    assert_eq!(path.bbr.max_bw.greatest(), 2 * RATE);
}

//= test draft-ietf-ccwg-bbr-5.3.1.3-losses
//= test draft-ietf-ccwg-bbr-5.3.1.3-answer
#[test]
fn six_lost_ranges_and_two_percent_in_a_round_trip_of_recovery_end_startup() {
    // ranges, bytes lost of the 200000 in the network, the repair, and whether that ends it
    let cases = [
        (6, 4_001, Repair::Recovery, true),
        (5, 4_001, Repair::Recovery, false),
        (6, 4_000, Repair::Recovery, false),
        (6, 4_001, Repair::Timeout, false),
    ];
    for (ranges, lost, repair, ends) in cases {
        let mut path = Path::new(1);
        (path.in_flight, path.app_limited) = (2 * BDP, true);
        path.run(RATE, MS(150));
        (path.repair, path.lost_since) = (repair, lost);
        for _ in 0..ranges {
            path.lose(MSS, 2 * BDP);
        }
        path.run(RATE, MS(99));
        assert_eq!(path.bbr.state, State::Startup, "the round trip has not ended");
        path.run(RATE, MS(5));
        let state = if ends { State::Drain } else { State::Startup };
        assert_eq!((path.bbr.state, path.bbr.full_bw_reached), (state, ends), "{ranges} {lost} {repair:?}");
        if ends {
            assert_eq!(path.bbr.inflight_longterm, BDP, "what a round trip brings");
            path.bbr.on_spurious_timeout(path.now);
            assert_eq!((path.bbr.state, path.bbr.full_bw_reached), (State::Startup, false));
        }
    }
}

#[test]
fn segments_lost_in_a_row_are_one_range() {
    let mut signals = Signals::default();
    let mut lost = |start: u64| {
        let one = LostSegment { start, end: start + MSS, ..LostSegment::default() };
        let mut bbr = started(0, Some(RTT));
        bbr.signals = signals;
        bbr.on_lost(Instant::ZERO, &one);
        signals = bbr.signals;
    };
    for start in [0, 1, 2, 5, 9, 10] {
        lost(start * MSS);
    }
    assert_eq!(signals.take_ranges(), 3);
    assert_eq!(signals.take_ranges(), 0);
}

//= test draft-ietf-ccwg-bbr-5.3.2-leave
#[test]
fn drain_ends_after_three_round_trips_at_the_latest() {
    let mut path = Path::new(1);
    path.in_flight = 2 * BDP;
    path.until(State::Drain);
    for _ in 0..3 {
        path.round();
        assert_eq!(path.bbr.state, State::Drain);
    }
    path.round();
    assert_eq!(path.bbr.state, State::Down);
}
