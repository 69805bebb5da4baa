//! ProbeBW: when it probes for bandwidth, and what ends a probe.

use super::*;

//= test draft-ietf-ccwg-bbr-5.3.3.1-leave
//= test draft-ietf-ccwg-bbr-5.3.3.1-headroom
#[test]
fn down_ends_once_the_queue_is_empty_and_room_is_left_to_others() {
    let mut path = Path::new(1);
    path.in_flight = 2 * BDP;
    path.until(State::Down);
    path.in_flight = BDP + 1;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Down);
    path.bbr.inflight_longterm = BDP;
    assert_eq!(path.bbr.inflight_with_headroom(), BDP * 85 / 100);
    path.in_flight = BDP * 85 / 100 + 1;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Down);
    path.in_flight = BDP * 85 / 100;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Cruise);
    path.bbr.inflight_longterm = 5 * MSS;
    assert_eq!(path.bbr.inflight_with_headroom(), 4 * MSS, "a segment at least, and four are left");
    path.bbr.inflight_longterm = UNSET;
    assert_eq!(path.bbr.inflight_with_headroom(), UNSET);
}

//= test draft-ietf-ccwg-bbr-5.3.3.4.4-time
//= test draft-ietf-ccwg-bbr-5.3.3.4.4-random
#[test]
fn a_probe_comes_two_to_three_seconds_after_the_last_by_the_seed() {
    let mut waits = Vec::new();
    let mut firsts = [0; 2];
    for seed in 0..16 {
        let mut path = Path::new(seed);
        path.in_flight = 2 * BDP;
        path.until(State::Down);
        let began = path.now;
        firsts[usize::try_from(path.bbr.cycle.rounds_since_probe_up).expect("0 or 1")] += 1;
        path.until(State::Refill);
        let wait = path.now - began;
        assert!(wait > Span::from_secs(2) && wait <= Span::from_millis(3002), "{wait}");
        waits.push(wait);
    }
    waits.sort_unstable();
    waits.dedup();
    assert_eq!(waits.len(), 16, "each seed has its own");
    assert!(waits[15].as_nanos() - waits[0].as_nanos() > 500_000_000, "{waits:?}");
    assert!(firsts.iter().all(|&count| count > 2), "{firsts:?}");
}

//= test draft-ietf-ccwg-bbr-5.3.3.4.4-rounds
#[test]
fn a_small_window_is_probed_as_often_as_reno_would_grow_it() {
    let mut path = cruising();
    path.in_flight = BDP;
    path.bbr.cwnd = 10 * MSS;
    path.bbr.inflight_shortterm = 10 * MSS;
    path.bbr.cycle.rounds_since_probe_up = 0;
    for round in 1..10 {
        path.round();
        assert_eq!((path.bbr.cwnd(), path.bbr.state), (Bytes(10 * MSS), State::Cruise), "round {round}");
    }
    path.round();
    assert_eq!(path.bbr.state, State::Refill);
    let mut path = cruising();
    path.bbr.cycle.rounds_since_probe_up = 62;
    path.round();
    assert_eq!(path.bbr.state, State::Refill, "and each 63 round trips at least");
}

//= test draft-ietf-ccwg-bbr-5.3.3.3-round
//= test draft-ietf-ccwg-bbr-5.3.3.3-reset
//= test draft-ietf-ccwg-bbr-5.3.3.4.3-saturated
//= test draft-ietf-ccwg-bbr-5.5.3-window
//= test draft-ietf-ccwg-bbr-5.3.3.5-advance
#[test]
fn a_round_trip_of_refill_leads_up_and_three_without_growth_lead_down() {
    let mut path = cruising();
    (path.bbr.bw_shortterm, path.bbr.inflight_shortterm) = (RATE / 2, BDP / 2);
    path.until(State::Refill);
    assert_eq!((path.bbr.bw_shortterm, path.bbr.inflight_shortterm, path.bbr.bw), (UNSET, UNSET, RATE));
    let began = path.now;
    path.until(State::Up);
    assert!((MS(99)..MS(103)).contains(&(path.now - began)), "{}", path.now - began);
    assert_eq!((path.bbr.full.bw, path.bbr.full.now, path.bbr.cycle.is_bw_probe_sample), (RATE, false, true));
    assert_eq!(path.bbr.pacing_rate(), Some(RATE * 5 / 4 * 99 / 100));
    path.bbr.max_bw.update(3 * RATE);
    for _ in 0..3 {
        assert_eq!(path.bbr.state, State::Up);
        path.round();
    }
    assert_eq!((path.bbr.state, path.bbr.cycle.prev_probe_too_high), (State::Down, false));
    assert_eq!(path.bbr.pacing_rate(), Some(3 * RATE * 9 / 10 * 99 / 100));
    path.round();
    assert!(!path.bbr.cycle.is_bw_probe_sample, "what comes a round trip later is no sample of the probe");
    assert_eq!(path.bbr.max_bw.greatest(), 3 * RATE, "the cycle before counts too");
    path.until(State::Up);
    path.until(State::Down);
    path.round();
    assert_eq!(path.bbr.max_bw.greatest(), RATE, "the one before that does not");
}

#[test]
fn a_cycle_without_a_sample_does_not_count() {
    let mut cycles = TwoCycles::default();
    cycles.update(5);
    cycles.advance();
    cycles.advance();
    assert_eq!(cycles.greatest(), 5);
    cycles.update(3);
    cycles.advance();
    assert_eq!(cycles.greatest(), 3);
}

//= test draft-ietf-ccwg-bbr-5.3.3.4.1-double
//= test draft-ietf-ccwg-bbr-5.3.3.4.3-bounded
//= test draft-ietf-ccwg-bbr-5.3.3.5-longterm
#[test]
fn the_bound_rises_by_one_two_and_four_segments_in_successive_round_trips() {
    let mut path = cruising();
    path.bbr.inflight_longterm = BDP;
    path.until(State::Refill);
    path.cwnd_limited = true;
    path.in_flight = BDP / 2;
    path.until(State::Up);
    let mut bounds = vec![path.bbr.inflight_longterm / MSS];
    for _ in 0..5 {
        path.round();
        assert_eq!(
            path.bbr.state,
            State::Up,
            "a bandwidth that the bound holds down is no sign of a full path"
        );
        bounds.push(path.bbr.inflight_longterm / MSS);
    }
    let steps: Vec<_> = bounds.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert_eq!(bounds[0], 100);
    assert!(
        steps[0] <= 1
            && (1..=3).contains(&steps[1])
            && (3..=5).contains(&steps[2])
            && (6..=10).contains(&steps[3]),
        "{steps:?}"
    );
    path.in_flight = 2 * BDP;
    path.ack(RATE);
    assert_eq!(path.bbr.inflight_longterm, 2 * BDP, "more than the bound has arrived without loss");
}

//= test draft-ietf-ccwg-bbr-5.3.3.4.2-early
//= test draft-ietf-ccwg-bbr-5.3.3.4.2-again
#[test]
fn after_a_probe_that_lost_too_much_the_next_ends_at_the_bound_and_a_good_one_is_repeated_at_once() {
    let mut path = probing();
    path.lose(30_000, 120_000);
    path.bbr.inflight_longterm = 110_000;
    path.in_flight = 80_000;
    path.until(State::Cruise);
    // ProbeRTT would come in between
    path.bbr.rtt.begin(path.now, Some(RTT));
    path.until(State::Up);
    assert!(path.bbr.cycle.prev_probe_too_high);
    path.in_flight = 107_999;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Up);
    path.in_flight = 109_000 - 500;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Down, "another segment would not have fitted below the bound");
    assert!(!path.bbr.cycle.prev_probe_too_high);
    path.round();
    assert_eq!(path.bbr.state, State::Refill);
    path.until(State::Up);
    path.in_flight = 120_000;
    path.ack(RATE);
    assert_eq!(path.bbr.state, State::Up, "the next one does not end there");
}
