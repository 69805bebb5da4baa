//! Bounds by losses, for the short term and the long.

use super::*;
use crate::cc::bbr3::losses::{inflight_at_loss, is_too_high};

//= test draft-ietf-ccwg-bbr-5.5.10.2-answer
//= test draft-ietf-ccwg-bbr-5.2.4-lost
//= test draft-ietf-ccwg-bbr-5.5.11.2-state
#[test]
fn too_many_losses_end_a_probe_and_bound_what_is_in_the_network() {
    let mut path = probing();
    path.lose(2_400, 120_000);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::Up, UNSET), "2 % are not too many");
    path.lose(3_000, 120_000);
    assert_eq!((path.bbr.state, path.bbr.cycle.prev_probe_too_high), (State::Down, true));
    // (0.02 * 119000 - 2000) / 0.98 of the last 1000 bytes
    assert_eq!(path.bbr.inflight_longterm, 119_000 + 387);
    path.lose(60_000, 120_000);
    assert_eq!(path.bbr.inflight_longterm, 119_387, "once for a probe");
    path.bbr.on_spurious_timeout(path.now);
    assert_eq!(path.bbr.state, State::Down, "another loss has saved the state anew: {:?}", path.bbr.undo);
}

//= test draft-ietf-ccwg-bbr-5.5.11.2-restore
//= test draft-ietf-ccwg-bbr-5.5.11.2-state
//= test draft-ietf-ccwg-bbr-5.5.11.1-save
#[test]
fn a_spurious_loss_gives_back_bounds_window_and_probe() {
    let mut path = probing();
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(path.now, CongestionSignal::Timeout, &LOAD);
    path.lose(30_000, 120_000);
    assert_eq!((path.bbr.state, path.bbr.cwnd()), (State::Down, Bytes(8 * MSS)));
    assert!(path.bbr.inflight_longterm < UNSET);
    path.bbr.on_spurious_timeout(path.now);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::Refill, UNSET));
    assert_eq!((path.bbr.cwnd(), path.bbr.signals.is_loss), (before, false));
}

//= test draft-ietf-ccwg-bbr-5.5.10.2-answer
#[test]
fn the_bound_is_no_lower_than_cubic_would_go_and_the_applications_losses_set_none() {
    let mut path = probing();
    path.lose(40_000, 50_000);
    assert_eq!(path.bbr.inflight_longterm, BDP * 7 / 10);
    let mut path = probing();
    path.app_limited = true;
    path.lose(40_000, 50_000);
    assert_eq!((path.bbr.state, path.bbr.inflight_longterm), (State::Down, UNSET));
}

//= test draft-ietf-ccwg-bbr-5.5.10.2-too-high
//= test draft-ietf-ccwg-bbr-5.5.10.2-prefix
#[test]
fn what_was_in_the_network_as_two_percent_were_lost() {
    assert!(!is_too_high(Bytes(100_000), Bytes(2_000)) && is_too_high(Bytes(100_000), Bytes(2_001)));
    let at = |len: u64, in_flight: u64, lost: u64| {
        let (tx_in_flight, lost_since) = (Bytes(in_flight), Bytes(lost));
        inflight_at_loss(&LostSegment { end: len, tx_in_flight, lost_since, ..LostSegment::default() })
    };
    // 100 of 5000 are 2 %: nothing of the last 1000 bytes but 1000 / 0.98 * 0.02 * 49 ... of a burst of 10000
    assert_eq!(at(1_000, 50_000, 1_000), 49_000 + 1_000);
    assert_eq!(at(10_000, 50_000, 10_000), 40_000 + 816);
    assert_eq!(at(1_000, 50_000, 3_000), 49_000 - 1_040, "it was before this segment");
    assert_eq!(at(1_000, 2_000, 60_000), 0);
}

//= test draft-ietf-ccwg-bbr-5.5.10.3-adapt
//= test draft-ietf-ccwg-bbr-5.5.10.3-latest
//= test draft-ietf-ccwg-bbr-5.5.10.2-note
//= test draft-ietf-ccwg-bbr-5.6.4.7-bounds
#[test]
fn a_round_trip_with_losses_brings_the_bounds_of_the_short_term_towards_what_arrives() {
    let mut path = cruising();
    path.round();
    let before = path.bbr.cwnd().0;
    path.lose(MSS, BDP);
    assert_eq!(path.bbr.bw_shortterm, UNSET, "not before the round trip ends");
    path.run(RATE / 2, MS(150));
    assert_eq!(path.bbr.bw_shortterm, RATE, "that rate came in it");
    assert_eq!(path.bbr.inflight_shortterm, (before * 7 / 10).max(BDP));
    path.lose(MSS, BDP);
    path.run(RATE / 2, MS(150));
    assert_eq!((path.bbr.bw_shortterm, path.bbr.bw), (RATE * 7 / 10, RATE * 7 / 10));
    assert!(path.bbr.cwnd().0 <= path.bbr.inflight_shortterm);
    assert_eq!(path.bbr.pacing_rate(), Some(RATE * 7 / 10 * 99 / 100));
    let lower = path.bbr.inflight_shortterm;
    path.run(RATE / 2, MS(250));
    assert_eq!(path.bbr.inflight_shortterm, lower, "a round trip without losses changes nothing");
}

//= test draft-ietf-ccwg-bbr-5.5.10.3-probing
#[test]
fn while_the_bandwidth_is_probed_losses_set_no_bound_of_the_short_term() {
    let mut path = Path::new(1);
    path.lose(MSS, BDP);
    path.run(RATE, MS(250));
    assert_eq!((path.bbr.state, path.bbr.bw_shortterm), (State::Startup, UNSET));
    let mut path = probing();
    path.lose(MSS, BDP);
    path.run(RATE, MS(150));
    assert_eq!((path.bbr.state, path.bbr.inflight_shortterm), (State::Up, UNSET));
}
