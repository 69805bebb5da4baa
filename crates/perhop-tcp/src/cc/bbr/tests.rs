use super::*;
use crate::cc::testing::{MSS, PARAMS};

const MS: fn(u64) -> Span = Span::from_millis;

fn started(rtt: Span) -> Bbr {
    let mut bbr = Bbr::new(&TcpParams { initial_window: 10, ..PARAMS });
    bbr.on_established(Instant::ZERO, Some(rtt));
    bbr
}

/// A path of `rate` bytes per second and 100 ms, which the sender keeps full: a segment is acknowledged each time it takes.
struct Path {
    bbr: Bbr,
    now: Instant,
    delivered: u64,
    rtt: Span,
    in_flight: u64,
    /// How long after each acknowledgment the next segment may leave.
    ahead: Span,
}

impl Path {
    fn new(rtt: Span) -> Self {
        Self {
            bbr: started(rtt),
            now: Instant::ZERO + rtt,
            delivered: 0,
            rtt,
            in_flight: 0,
            ahead: Span::ZERO,
        }
    }

    /// A segment is acknowledged that a round trip has brought at `rate`.
    fn ack(&mut self, rate: u64) {
        self.now += Span::from_nanos(MSS * 1_000_000_000 / rate);
        self.delivered += MSS;
        let trip = bytes_in(rate, self.rtt).min(self.delivered);
        let interval = Span::from_nanos(trip * 1_000_000_000 / rate);
        let sample = RateSample {
            rate: Some((Bytes(trip), interval)),
            prior_delivered: Some(self.delivered - trip),
            rtt: Some(self.rtt),
            acked: Bytes(MSS),
            prior_in_flight: Bytes(self.in_flight),
            in_flight: Bytes(self.in_flight),
            delivered_total: self.delivered,
            departs: self.now + self.ahead,
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
}

//= test draft-bbr-00-4.2.1-first
//= test draft-bbr-00-4.3.2.1-gains
//= test tcp_bbr-bbr_rate_bytes_per_sec-margin
#[test]
fn pacing_begins_with_the_first_window_in_a_round_trip_times_the_high_gain() {
    // 10 segments in 100 ms, 739/256, less 1 %
    assert_eq!(started(MS(100)).pacing_rate(), Some(100_000 * 739 * 99 / 25_600));
    assert_eq!((started(MS(100)).mode, started(MS(100)).cwnd_gain), (Mode::Startup, HIGH_GAIN));
}

//= test draft-bbr-00-4.3.2.2-full
//= test draft-bbr-00-4.1.1.3-rounds
//= test draft-bbr-00-3.5.2-order
//= test draft-bbr-00-4.3.3-drain
//= test draft-bbr-00-4.3.4.2-random
#[test]
fn three_round_trips_without_growth_end_startup_and_an_empty_queue_ends_drain() {
    let mut path = Path::new(MS(100));
    path.in_flight = 1_000_000;
    path.run(1_000_000, MS(250));
    assert_eq!((path.bbr.mode, path.bbr.is_full), (Mode::Startup, false));
    path.run(1_000_000, MS(250));
    assert_eq!((path.bbr.mode, path.bbr.pacing_gain), (Mode::Drain, DRAIN_GAIN));
    assert_eq!(
        path.bbr.pacing_rate(),
        Some(1_000_000 * 88 * 99 / 25_600),
        "paced so by the same acknowledgment"
    );
    path.in_flight = 100_000;
    path.ack(1_000_000);
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    assert_ne!(path.bbr.phase, 1, "it does not begin with the phase that drains");
}

//= test draft-bbr-00-4.3.4.1-cycle
//= test draft-bbr-00-4.2.3.6-filled
//= test draft-bbr-00-4.2.3.6-unfilled
//= test tcp_bbr-bbr_quantization_budget-even
//= test tcp_bbr-bbr_ack_aggregation_cwnd-cap
#[test]
fn the_window_is_two_products_of_the_path_and_three_bursts() {
    let mut path = Path::new(MS(100));
    path.in_flight = 100_000;
    path.run(1_000_000, MS(3000));
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    let bursts = 3 * path.bbr.burst();
    let extra = path.bbr.aggregation.extra(1_000_000) / MSS;
    let target = path.bbr.with_bursts(200 + extra);
    assert!(target >= 200 + bursts);
    assert_eq!(path.bbr.cwnd(), Bytes(target * MSS));
}

//= test draft-bbr-00-4.3.4.1-cycle
//= test draft-bbr-00-4.3.4.3-one
//= test tcp_bbr-bbr_packets_in_net_at_edt-edt
#[test]
fn a_phase_lasts_a_round_trip_and_that_of_a_quarter_more_until_the_path_holds_it() {
    let mut path = Path::new(MS(100));
    path.in_flight = 100_000;
    path.run(1_000_000, MS(1000));
    path.in_flight = 110_000;
    while path.bbr.phase != 0 {
        path.ack(1_000_000);
    }
    path.run(1_000_000, MS(500));
    assert_eq!(
        (path.bbr.phase, path.bbr.pacing_gain),
        (0, 320),
        "a path that holds 110 segments is not full"
    );
    // 125 segments, three bursts of two, to be even, and two more; the burst that leaves counts, and what arrives before that does not
    path.in_flight = 132_000;
    path.ahead = MS(1);
    path.ack(1_000_000);
    assert_eq!(path.bbr.phase, 0);
    path.ahead = Span::ZERO;
    path.ack(1_000_000);
    assert_eq!((path.bbr.phase, path.bbr.pacing_gain), (1, 192));
    path.in_flight = 100_000;
    path.ack(1_000_000);
    assert_eq!((path.bbr.phase, path.bbr.pacing_gain), (2, 256), "an empty queue ends the phase that drains");
    path.run(1_000_000, MS(99));
    assert_eq!(path.bbr.phase, 2);
    path.run(1_000_000, MS(5));
    assert_eq!(path.bbr.phase, 3);
}

//= test draft-bbr-00-4.3.5-enter
//= test draft-bbr-00-4.3.5-limited
//= test draft-bbr-00-4.3.5-duration
//= test draft-bbr-00-4.3.5-leave
//= test draft-bbr-00-4.3.5-window
//= test draft-bbr-00-4.3.5-interval
//= test draft-bbr-00-4.3.5-both
//= test draft-bbr-00-4.2.3.6-floor
//= test draft-bbr-00-4.2.3.5-probe-rtt
#[test]
fn after_ten_seconds_without_a_lower_round_trip_it_sends_four_segments_for_a_fifth_of_one() {
    let mut path = Path::new(MS(100));
    path.in_flight = 100_000;
    path.run(1_000_000, MS(9_850));
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    let before = path.bbr.cwnd();
    path.rtt = MS(120);
    path.run(1_000_000, MS(200));
    assert_eq!(
        (path.bbr.mode, path.bbr.cwnd(), path.bbr.limits_itself()),
        (Mode::ProbeRtt, Bytes(4 * MSS), true)
    );
    assert_eq!(path.bbr.least, Some(MS(120)), "what it knew is older than ten seconds");
    assert!(path.bbr.limits_itself());
    path.in_flight = 4 * MSS;
    path.run(1_000_000, MS(199));
    assert_eq!(path.bbr.mode, Mode::ProbeRtt);
    path.run(1_000_000, MS(100));
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    assert!(path.bbr.cwnd() >= before, "{} of {before}", path.bbr.cwnd());
}

//= test draft-bbr-00-4.1.1.4-limited
#[test]
fn a_sample_that_the_application_bounds_counts_only_if_it_is_greater() {
    let mut path = Path::new(MS(100));
    path.run(1_000_000, MS(1000));
    let sample = |rate: u64, now: Instant| RateSample {
        rate: Some((Bytes(rate / 10), MS(100))),
        prior_delivered: Some(0),
        app_limited: true,
        acked: Bytes(MSS),
        departs: now,
        delivered_total: 1_000_000,
        ..RateSample::default()
    };
    path.bbr.on_rate(path.now, &sample(500_000, path.now));
    assert_eq!(path.bbr.bandwidth.greatest(), 1_000_000);
    path.bbr.on_rate(path.now, &sample(1_500_000, path.now));
    assert_eq!(path.bbr.bandwidth.greatest(), 1_500_000);
}

//= test draft-bbr-00-4.1.1.2-filter
#[test]
fn the_greatest_is_never_older_than_its_window() {
    let mut filter = MaxFilter::default();
    let values = [50, 90, 20, 30, 60, 10, 10, 40, 10, 10, 10, 10, 10, 10, 10, 10, 10, 70, 10];
    for (time, &value) in (0..).zip(&values) {
        filter.update(time, 5, value);
        let first = usize::try_from(time.saturating_sub(5)).expect("small");
        let most = values[first..].iter().take(6).max().expect("some");
        assert!(filter.greatest() <= *most && filter.greatest() >= value, "{time}: {}", filter.greatest());
    }
}

//= test tcp_bbr-bbr_lt_bw_sampling-interval
//= test tcp_bbr-bbr_lt_bw_interval_done-policed
#[test]
fn two_intervals_of_heavy_loss_at_one_rate_are_a_policer() {
    let mut policer = Policer::default();
    let at = |round: u64, lost: u64| policer::Moment {
        now: Instant::ZERO + MS(100 * round),
        delivered: 10_000 * round,
        lost,
        round_start: true,
    };
    let mut lost = 0;
    let mut found = None;
    for round in 1..20 {
        lost += 3_000;
        if policer.watch(&at(round, lost), true, false, false) == Verdict::Found {
            found = found.or(Some(round));
        }
    }
    // rounds 1 to 4, which begin with the first loss, then 5 to 8
    assert_eq!((found, policer.rate()), (Some(8), Some(100_000)));
    let mut light = Policer::default();
    for round in 1..40 {
        assert_eq!(light.watch(&at(round, 1_000 * round), true, false, false), Verdict::Nothing);
    }
    assert_eq!(light.rate(), None, "a tenth is lost, of which a fifth would be needed");
}

/// A full path in ProbeBW, with the window that goes with it.
fn steady() -> Path {
    let mut path = Path::new(MS(100));
    path.in_flight = 100_000;
    path.run(1_000_000, MS(1000));
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    path
}

/// An acknowledgment of a segment that tells of no rate, of so many lost segments and of a repair.
fn report_losses(path: &mut Path, lost: u64, repair: Repair) {
    path.delivered += MSS;
    let sample = RateSample {
        acked: Bytes(MSS),
        lost: Bytes(lost * MSS),
        lost_total: lost * MSS,
        prior_in_flight: Bytes(path.in_flight),
        in_flight: Bytes(path.in_flight),
        delivered_total: path.delivered,
        repair,
        departs: path.now,
        ..RateSample::default()
    };
    path.bbr.on_rate(path.now, &sample);
}

const LOAD: Load = Load { in_flight: Bytes(0), inflation: Bytes(0), window: Bytes(0), kept: Bytes(7 * MSS) };

//= test draft-bbr-00-4.2.3.4-enter
//= test draft-bbr-00-4.2.3.4-conservation
//= test draft-bbr-00-4.2.3.4-restore
//= test draft-bbr-00-4.2.3.4-save
#[test]
fn a_recovery_sends_what_arrives_for_a_round_trip_and_gives_the_window_back() {
    let mut path = steady();
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(path.now, CongestionSignal::FastRetransmit, &LOAD);
    path.in_flight = 60_000;
    report_losses(&mut path, 5, Repair::Recovery);
    assert_eq!(path.bbr.cwnd(), Bytes(61 * MSS), "in flight and delivered");
    path.in_flight = 61_000;
    report_losses(&mut path, 0, Repair::Recovery);
    assert_eq!(path.bbr.cwnd(), Bytes(62 * MSS));
    path.bbr.on_congestion(path.now, CongestionSignal::FastRetransmit, &LOAD);
    report_losses(&mut path, 0, Repair::None);
    // the phase of 5/4 has two segments more, and a loss ends it; a lower window is not saved over the one before
    assert!(path.bbr.cwnd().0 + 2 * MSS >= before.0, "{} of {before}", path.bbr.cwnd());
}

//= test draft-bbr-00-4.2.3.4-losses
//= test tcp_bbr-bbr_set_cwnd_to_recover_or_restore-losses
#[test]
fn each_loss_takes_a_segment_in_a_recovery_or_not_and_leaves_four() {
    let mut path = steady();
    let before = path.bbr.cwnd().0;
    report_losses(&mut path, 30, Repair::None);
    assert_eq!(path.bbr.cwnd(), Bytes(before - 29 * MSS), "30 lost, one acknowledged");
    report_losses(&mut path, 1000, Repair::None);
    assert_eq!(path.bbr.cwnd(), Bytes(4 * MSS));
}

//= test draft-bbr-00-4.2.3.4-timeout
//= test tcp_bbr-bbr_set_state-loss
//= test tcp_bbr-bbr_undo_cwnd-full
#[test]
fn a_time_out_leaves_what_is_in_the_network_and_a_segment_until_it_proves_spurious() {
    let mut path = steady();
    let before = path.bbr.cwnd();
    path.bbr.on_congestion(path.now, CongestionSignal::Timeout, &LOAD);
    assert_eq!((path.bbr.cwnd(), path.bbr.full, path.bbr.round_start), (Bytes(8 * MSS), 0, true));
    assert!(path.bbr.policer.is_sampling());
    path.bbr.on_spurious_timeout(path.now);
    assert_eq!(path.bbr.cwnd(), before);
    assert!(!path.bbr.policer.is_sampling());
}

//= test draft-bbr-00-4.3.4.4-idle
//= test tcp_bbr-bbr_update_min_rtt-idle
#[test]
fn after_an_idle_time_it_paces_at_the_bandwidth_and_does_not_probe_for_the_round_trip() {
    let mut path = steady();
    path.now += Span::from_secs(20);
    let before = path.bbr.cwnd();
    path.bbr.on_idle_end(path.now);
    let probing = CYCLE[path.bbr.phase];
    assert_eq!(
        (path.bbr.cwnd(), path.bbr.pacing_rate()),
        (before, Some(990_000)),
        "gain 1, whatever the phase has: {probing}"
    );
    report_losses(&mut path, 0, Repair::None);
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
    assert!(path.bbr.restarts, "an acknowledgment without a rate does not end the exemption");
    path.ack(1_000_000);
    assert_eq!((path.bbr.mode, path.bbr.restarts), (Mode::ProbeBw, false));
}

//= test tcp_bbr-bbr_cwnd_event-probe-rtt
#[test]
fn a_flow_that_idled_through_probe_rtt_leaves_it_as_it_sends() {
    let mut path = steady();
    path.rtt = MS(120);
    path.run(1_000_000, MS(10_100));
    assert_eq!(path.bbr.mode, Mode::ProbeRtt);
    path.in_flight = 0;
    path.ack(1_000_000);
    path.now += Span::from_secs(1);
    path.bbr.on_idle_end(path.now);
    assert_eq!(path.bbr.mode, Mode::ProbeBw);
}

//= test tcp_bbr-bbr_init_pacing_rate_from_rtt-again
#[test]
fn the_first_round_trip_sets_the_pace_where_the_handshake_gave_none() {
    let mut bbr = Bbr::new(&TcpParams { initial_window: 10, ..PARAMS });
    bbr.on_established(Instant::ZERO, None);
    assert_eq!(bbr.pacing_rate(), Some(10_000_000 * 739 * 99 / 25_600), "a millisecond is assumed");
    let sample = RateSample { rtt: Some(MS(100)), acked: Bytes(MSS), ..RateSample::default() };
    bbr.on_rate(Instant::ZERO + MS(100), &sample);
    assert_eq!(bbr.pacing_rate(), Some(100_000 * 739 * 99 / 25_600));
}

//= test tcp_bbr-bbr_update_ack_aggregation-extra
#[test]
fn what_comes_at_once_beyond_the_bandwidth_counts_for_five_to_ten_round_trips() {
    let mut one = Aggregation::default();
    let at = |ms: u64| Instant::ZERO + MS(ms);
    one.restart(at(0));
    // 10 kB in 10 ms at 1 MB/s explain themselves, 5 kB more do not
    one.update(at(10), 10_000, 1_000_000, true, 100_000);
    let first = one.extra(1_000_000);
    one.update(at(10), 5_000, 1_000_000, false, 100_000);
    assert_eq!(one.extra(1_000_000), first.max(5_000) + if first > 0 { 5_000 } else { 0 });
    let most = one.extra(1_000_000);
    for round in 1..10 {
        assert_eq!(one.extra(1_000_000), most, "round {round}");
        one.update(at(10 + 100 * round), 1, 1_000_000, true, 100_000);
    }
    assert!(one.extra(1_000_000) < most);
    one.update(at(2000), 90_000, 1_000, true, 60_000);
    assert_eq!((one.extra(10_000_000), one.extra(1_000)), (60_000, 100), "a window, and 100 ms, at most");
}
