use super::losses::{inflight_at_loss, is_too_high};
use super::*;
use crate::cc::testing::{MSS, PARAMS};

const MS: fn(u64) -> Span = Span::from_millis;
/// A path of 1 MB/s and 100 ms holds 100 segments.
const RATE: u64 = 1_000_000;
const RTT: Span = Span::from_millis(100);
const BDP: u64 = 100 * MSS;

fn started(seed: u64, rtt: Option<Span>) -> Bbr3 {
    let mut bbr = Bbr3::new(&TcpParams { initial_window: 10, seed, ..PARAMS });
    bbr.on_established(Instant::ZERO, rtt);
    bbr
}

/// A path on which a segment is acknowledged each time it takes at the rate.
struct Path {
    bbr: Bbr3,
    now: Instant,
    delivered: u64,
    lost: u64,
    rtt: Span,
    /// After each acknowledgment.
    in_flight: u64,
    app_limited: bool,
    cwnd_limited: bool,
    repair: Repair,
    /// Bytes of a round trip that are lost.
    lost_since: u64,
}

impl Path {
    fn new(seed: u64) -> Self {
        Self {
            bbr: started(seed, Some(RTT)),
            now: Instant::ZERO + RTT,
            delivered: 0,
            lost: 0,
            rtt: RTT,
            in_flight: BDP,
            app_limited: false,
            cwnd_limited: false,
            repair: Repair::None,
            lost_since: 0,
        }
    }

    /// A segment is acknowledged that a round trip has brought at `rate`.
    fn ack(&mut self, rate: u64) {
        self.now += Span::from_nanos(MSS * 1_000_000_000 / rate);
        self.delivered += MSS;
        let trip = super::super::rates::bytes_in(rate, self.rtt).min(self.delivered);
        let interval = Span::from_nanos(trip * 1_000_000_000 / rate);
        let sample = RateSample {
            rate: Some((Bytes(trip), interval)),
            prior_delivered: Some(self.delivered - trip),
            app_limited: self.app_limited,
            rtt: Some(self.rtt),
            acked: Bytes(MSS),
            prior_in_flight: Bytes(self.in_flight + MSS),
            in_flight: Bytes(self.in_flight),
            delivered_total: self.delivered,
            lost_total: self.lost,
            repair: self.repair,
            tx_in_flight: Bytes(self.in_flight),
            lost_since: Bytes(self.lost_since),
            cwnd_limited: self.cwnd_limited,
            departs: self.now,
            ..RateSample::default()
        };
        self.bbr.on_rate(self.now, &sample);
    }

    fn run(&mut self, rate: u64, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.ack(rate);
        }
    }

    /// Acknowledgments until a round trip begins.
    fn round(&mut self) {
        self.ack(RATE);
        while !self.bbr.round_start {
            self.ack(RATE);
        }
    }

    fn until(&mut self, state: State) {
        for _ in 0..20_000 {
            if self.bbr.state == state {
                return;
            }
            self.ack(RATE);
        }
        panic!("{:?} does not lead to {state:?}", self.bbr.state);
    }

    /// A segment is lost, with so many bytes lost since it left, of so many then in the network.
    fn lose(&mut self, lost_since: u64, tx_in_flight: u64) {
        self.lost += MSS;
        let start = self.delivered + 2 * self.lost;
        let lost = LostSegment {
            start,
            end: start + MSS,
            tx_in_flight: Bytes(tx_in_flight),
            lost_since: Bytes(lost_since),
            app_limited: self.app_limited,
            delivered_total: self.delivered,
        };
        self.bbr.on_lost(self.now, &lost);
    }
}

/// A full path in ProbeBW_CRUISE.
fn cruising() -> Path {
    let mut path = Path::new(1);
    path.until(State::Cruise);
    path
}

/// In ProbeBW_UP.
fn probing() -> Path {
    let mut path = cruising();
    path.until(State::Up);
    path
}

const LOAD: Load = Load { in_flight: Bytes(0), inflation: Bytes(0), window: Bytes(0), kept: Bytes(7 * MSS) };

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
