//! The window and what it is bound by.

use super::*;

//= test draft-ietf-ccwg-bbr-5.6.4.4-timeout
//= test draft-ietf-ccwg-bbr-5.6.4.4-recovery
//= test draft-ietf-ccwg-bbr-5.6.4.4-restore
#[test]
fn a_recovery_leaves_the_window_and_a_time_out_a_segment_more_than_what_is_in_the_network() {
    let mut path = cruising();
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(path.now, CongestionSignal::FastRetransmit, &LOAD);
    assert_eq!(
        (path.bbr.cwnd(), path.bbr.signals.is_loss),
        (before, true),
        "a probe of the tail marks no segment"
    );
    path.bbr.on_congestion(path.now, CongestionSignal::Timeout, &LOAD);
    assert_eq!(path.bbr.cwnd(), Bytes(8 * MSS));
    path.bbr.on_congestion(path.now, CongestionSignal::RepeatedTimeout, &LOAD);
    path.repair = Repair::Timeout;
    path.ack(RATE);
    assert_eq!(path.bbr.cwnd(), Bytes(9 * MSS));
    path.repair = Repair::None;
    path.ack(RATE);
    assert_eq!(path.bbr.cwnd(), before, "a lower window is not saved over the one before");
}

//= test draft-ietf-ccwg-bbr-5.5.9-extra
#[test]
fn what_comes_at_once_beyond_the_bandwidth_widens_the_window_for_ten_round_trips() {
    let mut path = cruising();
    path.run(RATE, Span::from_secs(1));
    let at_once = |path: &mut Path, segments: u64| {
        for _ in 0..segments {
            let now = path.now;
            path.ack(RATE);
            path.now = now;
        }
    };
    assert!(path.bbr.aggregation.extra() <= 2 * MSS, "{}", path.bbr.aggregation.extra());
    at_once(&mut path, 20);
    path.now += MS(30);
    let extra = path.bbr.aggregation.extra();
    assert!((19 * MSS..=22 * MSS).contains(&extra), "{extra}");
    path.run(RATE, MS(900));
    let later = path.bbr.aggregation.extra();
    assert_eq!((path.bbr.state, path.bbr.cwnd()), (State::Cruise, Bytes(2 * BDP + later)));
    assert!((extra..=extra + 2 * MSS).contains(&later), "{later} of {extra}");
    path.run(RATE, MS(1500));
    assert!(path.bbr.aggregation.extra() < extra);
}

//= test draft-ietf-ccwg-bbr-5.6.3-quantum
//= test draft-ietf-ccwg-bbr-5.6.4.2-budget
//= test draft-ietf-ccwg-bbr-5.6.4.2-inflight
//= test draft-ietf-ccwg-bbr-5.6.4.3-floor
//= test draft-ietf-ccwg-bbr-5.6.4.6-filled
#[test]
fn the_window_is_two_products_three_quanta_or_four_segments() {
    let mut path = cruising();
    path.run(RATE, MS(300));
    let extra = path.bbr.aggregation.extra();
    assert_eq!(path.bbr.cwnd(), Bytes(2 * BDP + extra));
    path.until(State::Up);
    path.run(RATE, MS(90));
    assert_eq!(path.bbr.cwnd(), Bytes(BDP * 9 / 4 + 2 * MSS + path.bbr.aggregation.extra()));
    let mut bbr = started(0, Some(RTT));
    assert_eq!(bbr.inflight(0), 3 * 2 * MSS, "three quanta of two segments");
    assert_eq!(started(0, None).inflight(RATE), 3 * 27_700, "three quanta of 27700 bytes");
    bbr.pacing_rate = 1 << 40;
    assert_eq!(bbr.inflight(0), 3 * 65_536);
    (bbr.state, bbr.full_bw_reached, bbr.pacing_rate) = (State::Cruise, true, 0);
    bbr.set_cwnd(&RateSample::default());
    assert_eq!(bbr.cwnd(), Bytes(6 * MSS));
    bbr.inflight_shortterm = 0;
    bbr.set_cwnd(&RateSample::default());
    assert_eq!(bbr.cwnd(), Bytes(4 * MSS));
}

//= test draft-ietf-ccwg-bbr-5.6.4.6-unfilled
#[test]
fn before_the_path_was_full_the_window_grows_by_all_that_is_acknowledged() {
    let mut path = Path::new(1);
    for acked in 1..=5 {
        path.ack(RATE);
        assert_eq!(path.bbr.cwnd(), Bytes((10 + acked) * MSS));
    }
}

//= test draft-ietf-ccwg-bbr-5.6.4.7-bounds
#[test]
fn the_bound_of_the_long_term_holds_whole_or_less_its_headroom_by_the_state() {
    let mut path = cruising();
    path.bbr.inflight_longterm = BDP;
    for (state, most) in [
        (State::Startup, 2 * BDP),
        (State::Drain, 2 * BDP),
        (State::Down, BDP),
        (State::Refill, BDP),
        (State::Up, BDP),
        (State::Cruise, BDP * 85 / 100),
        (State::ProbeRtt, BDP / 2),
    ] {
        (path.bbr.state, path.bbr.cwnd) = (state, 3 * BDP);
        let sample = RateSample { delivered_total: path.delivered, ..RateSample::default() };
        path.bbr.set_cwnd(&sample);
        let extra = if most == 2 * BDP { path.bbr.aggregation.extra() } else { 0 };
        assert_eq!(path.bbr.cwnd(), Bytes(most + extra), "{state:?}");
    }
    path.bbr.state = State::ProbeRtt;
    path.bbr.inflight_longterm = BDP / 2;
    path.bbr.set_cwnd(&RateSample::default());
    assert_eq!(path.bbr.cwnd(), Bytes(BDP / 2 * 85 / 100));
    path.bbr.inflight_longterm = MSS;
    path.bbr.set_cwnd(&RateSample::default());
    assert_eq!(path.bbr.cwnd(), Bytes(4 * MSS));
}
