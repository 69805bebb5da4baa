//! ProbeRTT and idle times.

use super::*;

//= test draft-ietf-ccwg-bbr-5.3.4.2-interval
//= test draft-ietf-ccwg-bbr-5.3.4.3-enter
//= test draft-ietf-ccwg-bbr-5.3.4.3-recent
//= test draft-ietf-ccwg-bbr-5.3.4.3-limited
//= test draft-ietf-ccwg-bbr-5.3.4.1-duration
//= test draft-ietf-ccwg-bbr-5.3.4.4-leave
//= test draft-ietf-ccwg-bbr-5.6.4.5-window
//= test draft-ietf-ccwg-bbr-5.5.7.2-filter
#[test]
fn after_five_seconds_without_a_lower_round_trip_it_sends_half_of_what_the_path_holds() {
    let mut path = cruising();
    path.run(RATE, Span::from_secs(2));
    path.rtt = MS(120);
    while path.bbr.state != State::ProbeRtt {
        let before = path.bbr.cwnd();
        path.ack(RATE);
        if path.bbr.state == State::ProbeRtt {
            assert!(path.now > Instant::ZERO + Span::from_secs(5), "{}", path.now);
            assert!(path.now < Instant::ZERO + Span::from_millis(7500), "{}", path.now);
            assert_eq!(path.bbr.prior_cwnd, before.0);
        }
    }
    assert_eq!(path.bbr.rtt.least, Some(RTT), "what it knew is younger than ten seconds");
    assert_eq!((path.bbr.cwnd(), path.bbr.limits_itself()), (Bytes(BDP / 2), true));
    let before = path.bbr.prior_cwnd;
    path.run(RATE, MS(50));
    assert_eq!(path.bbr.state, State::ProbeRtt);
    path.in_flight = BDP / 2;
    path.run(RATE, MS(199));
    assert_eq!(path.bbr.state, State::ProbeRtt);
    (path.bbr.bw_shortterm, path.bbr.inflight_shortterm) = (RATE / 2, BDP / 2);
    path.run(RATE, MS(5));
    assert_eq!((path.bbr.state, path.bbr.limits_itself()), (State::Cruise, false));
    assert_eq!((path.bbr.bw_shortterm, path.bbr.inflight_shortterm), (UNSET, UNSET));
    assert!(path.bbr.cwnd().0 >= before, "{} of {before}", path.bbr.cwnd());
    path.run(RATE, Span::from_secs(6));
    assert_eq!(path.bbr.rtt.least, Some(MS(120)), "that is older now");
}

//= test draft-ietf-ccwg-bbr-5.3.4.4-leave
#[test]
fn probe_rtt_leads_back_to_startup_if_the_path_was_never_full() {
    let mut path = Path::new(1);
    path.app_limited = true;
    path.rtt = MS(150);
    path.until(State::ProbeRtt);
    path.in_flight = 0;
    path.run(RATE, MS(500));
    assert_eq!(path.bbr.state, State::Startup);
}

//= test draft-ietf-ccwg-bbr-5.4.1-idle
//= test draft-ietf-ccwg-bbr-5.3.4.2-idle
#[test]
fn after_an_idle_time_it_paces_at_the_bandwidth_and_does_not_probe_for_the_round_trip() {
    let mut path = cruising();
    path.until(State::Down);
    assert_eq!(path.bbr.pacing_rate(), Some(RATE * 9 / 10 * 99 / 100));
    path.rtt = MS(120);
    path.now += Span::from_secs(20);
    let before = path.bbr.cwnd();
    path.bbr.on_idle_end(path.now);
    assert_eq!((path.bbr.cwnd(), path.bbr.pacing_rate()), (before, Some(RATE * 99 / 100)));
    path.bbr.on_rate(path.now, &RateSample { delivered_total: path.delivered, ..RateSample::default() });
    assert!(path.bbr.idle_restart && path.bbr.state != State::ProbeRtt, "{:?}", path.bbr.state);
    path.ack(RATE);
    assert!(!path.bbr.idle_restart && path.bbr.state != State::ProbeRtt, "{:?}", path.bbr.state);
}

//= test draft-ietf-ccwg-bbr-5.4.1-idle
#[test]
fn a_flow_that_idled_through_probe_rtt_leaves_it_as_it_sends() {
    let mut path = cruising();
    path.rtt = MS(120);
    path.until(State::ProbeRtt);
    path.in_flight = 0;
    path.ack(RATE);
    path.now += Span::from_secs(1);
    path.bbr.on_idle_end(path.now);
    assert_eq!(path.bbr.state, State::Cruise);
}
