//! The sender by hand: RFC 5681 and RFC 6298, step by step, in segments of 1000 bytes.

use std::sync::{Arc, Mutex};

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::cc::{AckSample, AfterIdle, AnyControl, CongestionControl, CongestionSignal, Load, Reno};
use perhop_tcp::segment::Ack;
use perhop_tcp::sender::{Sender, SenderStats};
use perhop_tcp::settings::{Growth, Guard, RtoParams, TcpParams};
use perhop_testkit::tcp::RFC;

const MSS: u64 = 1000;
const START: u64 = 500;

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn kilobytes(segments: u64) -> Bytes {
    Bytes(segments * MSS)
}

/// Settings for data alone, in segments of 1000 bytes, with a window of `initial` segments and 100 at the receiver.
fn params(initial: u32) -> TcpParams {
    TcpParams {
        mss: Bytes(MSS),
        window: kilobytes(100),
        initial_window: initial,
        handshake: false,
        limited_transmit: false,
        rto: RtoParams { min: Span::from_millis(200), ..RFC.rto },
        ..RFC
    }
}

/// A sender that starts at 500 ms with a window of `initial` segments.
fn sender(initial: u32) -> Sender {
    Sender::new(&params(initial), at(START))
}

/// The numbers of the segments that the sender sends now.
fn send(sender: &mut Sender, ms: u64) -> Vec<u64> {
    std::iter::from_fn(|| sender.poll_transmit(at(ms))).map(|s| s.seq / MSS).collect()
}

/// Acknowledges every segment below `segment`, `times` times.
fn ack(sender: &mut Sender, ms: u64, segment: u64, times: usize) {
    for _ in 0..times {
        let ack = Ack { ack: segment * MSS, window: kilobytes(100), echo: at(ms), ..Ack::default() };
        sender.on_ack(at(ms), &ack);
    }
}

/// cwnd, ssthresh and what is outstanding, in segments.
fn windows(sender: &Sender) -> (u64, u64, u64) {
    (sender.cwnd().0 / MSS, sender.ssthresh().0 / MSS, sender.in_flight().0 / MSS)
}

/// A sender that began with ten segments at its start; none is acknowledged yet.
fn ten_outstanding() -> Sender {
    ten_outstanding_with(&params(10))
}

fn ten_outstanding_with(params: &TcpParams) -> Sender {
    let mut s = Sender::new(params, at(START));
    s.on_timeout(at(START));
    assert_eq!(send(&mut s, START), (0..10).collect::<Vec<_>>());
    s
}

#[test]
fn nothing_leaves_before_the_start() {
    let mut s = sender(3);
    assert_eq!(s.next_timeout(), Some(at(START)));
    s.on_timeout(at(START - 1));
    assert!(send(&mut s, START - 1).is_empty());
    s.on_timeout(at(START));
    assert_eq!((s.next_timeout(), s.stats()), (None, &SenderStats::default()));
    assert_eq!(send(&mut s, START), [0, 1, 2]);
    assert_eq!(s.next_timeout(), Some(at(START + 1000)));
}

#[test]
fn a_driver_may_ask_for_segments_before_it_tells_of_the_start() {
    let mut s = sender(3);
    assert_eq!(send(&mut s, START + 10), [0, 1, 2]);
    assert_eq!(s.next_timeout(), Some(at(START + 1010)));
    s.on_timeout(at(START + 10));
    assert_eq!(s.stats().timeouts, 0);
}

/// Two segments and a bit, and a FIN: packets 0 to 3, and one more in front with a SYN.
#[test]
fn packets_are_numbered_from_the_syn_or_from_the_first_data() {
    let numbers = |handshake| {
        let params = TcpParams { handshake, size: Some(Bytes(2500)), close: true, ..params(4) };
        let mut s = Sender::new(&params, at(START));
        let mut sent = Vec::new();
        if handshake {
            let syn = s.poll_transmit(at(START)).expect("a SYN");
            sent.push(s.packet_number(&syn));
            let answer = Ack { syn: true, window: kilobytes(100), echo: at(START), ..Ack::default() };
            s.on_ack(at(START + 100), &answer);
        }
        while let Some(segment) = s.poll_transmit(at(START + 100)) {
            sent.push(s.packet_number(&segment));
        }
        let acknowledged =
            [0, 999, 1000, 2000, 2500, 2501].map(|ack| s.packet_acknowledged(&Ack { ack, ..Ack::default() }));
        (sent, acknowledged, s.packet_expired())
    };
    assert_eq!(numbers(false), (vec![0, 1, 2, 3], [-1, -1, 0, 1, 2, 3], 0));
    assert_eq!(numbers(true), (vec![0, 1, 2, 3, 4], [0, 0, 1, 2, 3, 4], 1));
}

//= test rfc5681-3.1-both
//= test rfc5681-3.1-slow-start
#[test]
fn slow_start_doubles_the_window_each_round_trip() {
    let mut s = sender(2);
    let mut next = 0;
    for (round, want) in [2, 4, 8, 16, 32].into_iter().enumerate() {
        let ms = START + 100 * round as u64;
        let sent = send(&mut s, ms);
        assert_eq!(sent, (next..next + want).collect::<Vec<_>>(), "round {round}");
        for &segment in &sent {
            ack(&mut s, ms + 100, segment + 1, 1);
        }
        next += want;
    }
    assert_eq!(windows(&s), (64, u64::MAX / MSS, 0));
    assert_eq!(s.next_timeout(), None, "nothing is outstanding");
}

//= test rfc5681-2-window
#[test]
fn the_receiver_window_bounds_what_is_outstanding() {
    let mut s = sender(200);
    assert_eq!(send(&mut s, START).len(), 100);
    assert_eq!(s.in_flight(), kilobytes(100));
    ack(&mut s, 600, 3, 1);
    assert_eq!(send(&mut s, 600), [100, 101, 102]);
    assert_eq!(s.cwnd(), kilobytes(200), "the window does not grow when it is not what bounds");
}

//= test rfc5681-3.2-third-duplicate
//= test rfc5681-3.2-retransmit
//= test rfc5681-3.2-window-on-entry
//= test rfc5681-3.2-ssthresh
//= test rfc3042-2-threshold
#[test]
fn the_third_duplicate_retransmits_and_halves() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 2);
    assert!(send(&mut s, 600).is_empty());
    assert_eq!(windows(&s), (10, u64::MAX / MSS, 10));
    ack(&mut s, 600, 0, 1);
    // ssthresh = flight / 2, window = ssthresh + 3 (RFC 5681 section 3.2, steps 2 and 3): 8 < 10 outstanding
    assert_eq!(windows(&s), (5, 5, 10));
    assert_eq!(send(&mut s, 600), [0]);
    let stats =
        SenderStats { segments: 11, retransmissions: 1, fast_retransmits: 1, ..SenderStats::default() };
    assert_eq!(s.stats(), &stats);
}

//= test rfc5681-3.2-inflate
//= test rfc5681-3.2-send-new
#[test]
fn each_further_duplicate_widens_the_window_by_a_segment() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 3);
    assert_eq!(send(&mut s, 600), [0]);
    // the window is 8 and grows by one each time: 9 and 10 are still full, 11 and 12 let one segment out (step 4, 5)
    for sent in [vec![], vec![], vec![10], vec![11]] {
        ack(&mut s, 600, 0, 1);
        assert_eq!(send(&mut s, 600), sent);
    }
    assert_eq!(windows(&s), (5, 5, 12));
}

//= test rfc5681-3.2-deflate
#[test]
fn new_data_acknowledged_ends_recovery_and_deflates() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 9);
    assert_eq!(send(&mut s, 600), [0, 10, 11, 12, 13]);
    ack(&mut s, 700, 10, 1);
    // cwnd = ssthresh (step 6): 4 outstanding, 1 more
    assert_eq!(windows(&s), (5, 5, 4));
    assert_eq!(send(&mut s, 700), [14]);
    // congestion avoidance: 1000 * 1000 / cwnd for each ACK
    ack(&mut s, 800, 11, 1);
    assert_eq!(s.cwnd(), Bytes(5200));
}

#[test]
fn duplicates_of_what_was_sent_before_the_last_recovery_start_no_other() {
    let mut s = ten_outstanding_with(&TcpParams { guard: Guard::LessCareful, ..params(10) });
    ack(&mut s, 600, 0, 3);
    assert_eq!(send(&mut s, 600), [0]);
    ack(&mut s, 700, 4, 1);
    ack(&mut s, 700, 4, 9);
    assert_eq!(windows(&s), (5, 5, 6));
    assert!(send(&mut s, 700).is_empty());
    assert_eq!(s.stats().fast_retransmits, 1);

    // everything outstanding at the third duplicate is acknowledged: duplicates count again
    ack(&mut s, 800, 10, 1);
    assert_eq!(send(&mut s, 800), (10..15).collect::<Vec<_>>());
    ack(&mut s, 900, 10, 3);
    assert_eq!(s.stats().fast_retransmits, 2);
    assert_eq!(send(&mut s, 900)[0], 10);
}

//= test rfc5681-3.1-loss-window
//= test rfc5681-3.1-timeout-slow-start
//= test rfc6298-5.4-retransmit-first
//= test rfc6298-2.1-initial
#[test]
fn a_timeout_goes_back_to_the_first_outstanding_segment() {
    let mut s = ten_outstanding();
    s.on_timeout(at(START + 999));
    assert_eq!(s.stats().timeouts, 0);
    s.on_timeout(at(START + 1000));
    assert_eq!(windows(&s), (1, 5, 10));
    assert_eq!(send(&mut s, START + 1000), [0]);
    // slow start over the segments sent before, up to ssthresh
    ack(&mut s, 1600, 1, 1);
    assert_eq!(send(&mut s, 1600), [1, 2]);
    ack(&mut s, 1700, 2, 1);
    ack(&mut s, 1700, 3, 1);
    assert_eq!(send(&mut s, 1700), [3, 4, 5, 6]);
    // what the receiver had kept is not sent again
    ack(&mut s, 1800, 10, 1);
    assert_eq!(send(&mut s, 1800), (10..15).collect::<Vec<_>>());
    let stats = SenderStats { segments: 22, retransmissions: 7, timeouts: 1, ..SenderStats::default() };
    assert_eq!(s.stats(), &stats);
}

//= test rfc6298-5.3-restart
//= test rfc6298-5.2-stop
//= test rfc6298-2.2-first-sample
#[test]
fn the_timer_restarts_when_new_data_is_acknowledged_only() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 2);
    assert_eq!(s.next_timeout(), Some(at(START + 1000)));
    ack(&mut s, 600, 1, 1);
    // RTT 100 ms: srtt 100, rttvar 50, RTO 300 (RFC 6298, 2.2 and 5.3)
    assert_eq!(s.next_timeout(), Some(at(900)));
    ack(&mut s, 700, 10, 1);
    assert_eq!(s.next_timeout(), None);
}

//= test rfc6298-5.5-back-off
//= test rfc6298-5.6-start-doubled
//= test rfc6298-2.1-back-off
//= test rfc6298-5.5-bound
//= test rfc6298-2.5-maximum
//= test rfc5681-3.1-repeated-timeout
#[test]
fn the_timer_backs_off_and_the_threshold_is_set_once() {
    let mut s = ten_outstanding();
    let mut ms = START;
    for wait in [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000] {
        assert_eq!(s.next_timeout(), Some(at(ms + wait)));
        ms += wait;
        s.on_timeout(at(ms));
        assert_eq!(windows(&s), (1, 5, 10));
        assert_eq!(send(&mut s, ms), [0]);
    }
    assert_eq!(s.stats().timeouts, 8);
}

/// Signals of congestion, with the segments that were outstanding.
type Signals = Arc<Mutex<Vec<(CongestionSignal, u64)>>>;

/// Round trips of acknowledgments, in ms.
type RoundTrips = Arc<Mutex<Vec<Option<u64>>>>;

/// [`Reno`] that notes the signals and the round trips it gets.
struct Noting(Reno, Signals, RoundTrips);

impl CongestionControl for Noting {
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        let round_trip = ack.rtt.map(|rtt| rtt.as_nanos() / 1_000_000);
        self.2.lock().expect("no test panics while it notes").push(round_trip);
        self.0.on_ack(now, ack);
    }

    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, load: &Load) {
        self.1.lock().expect("no test panics while it notes").push((signal, load.in_flight.0 / MSS));
        self.0.on_congestion(now, signal, load);
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        self.0.on_recovery_exit(now);
    }

    fn on_spurious_timeout(&mut self, now: Instant) {
        self.0.on_spurious_timeout(now);
    }

    fn on_restart_after_idle(&mut self, now: Instant, left: &AfterIdle) {
        self.0.on_restart_after_idle(now, left);
    }

    fn deflate(&mut self, by: Bytes) {
        self.0.deflate(by);
    }

    fn limit(&mut self, to: Bytes) {
        self.0.limit(to);
    }

    fn cwnd(&self) -> Bytes {
        self.0.cwnd()
    }

    fn ssthresh(&self) -> Bytes {
        self.0.ssthresh()
    }
}

//= test rfc5681-2-flight-size
#[test]
fn congestion_is_told_with_what_is_outstanding_and_once_for_a_segment_that_times_out_again() {
    let signals = Signals::default();
    let noting = Noting(Reno::new(&params(10)), Arc::clone(&signals), RoundTrips::default());
    let noting: Box<dyn CongestionControl> = Box::new(noting);
    let mut s = Sender::with_control(&params(10), at(START), AnyControl::from(noting));
    let expire = |s: &mut Sender| {
        let due = s.next_timeout().expect("a running timer");
        s.on_timeout(due);
        let ms = due.as_nanos() / 1_000_000;
        (ms, send(s, ms))
    };
    assert_eq!(expire(&mut s), (START, (0..10).collect()));
    ack(&mut s, 600, 2, 1);
    ack(&mut s, 600, 2, 3);
    assert_eq!(send(&mut s, 600), [2], "window 4 + 3 of 8 outstanding");
    for _ in 0..3 {
        assert_eq!(expire(&mut s).1, [2]);
    }
    ack(&mut s, 10_000, 5, 1);
    assert_eq!(send(&mut s, 10_000), [5, 6]);
    assert_eq!(expire(&mut s).1, [5]);
    let noted = signals.lock().expect("no test panics while it notes").clone();
    let (timeout, again) = (CongestionSignal::Timeout, CongestionSignal::RepeatedTimeout);
    assert_eq!(
        noted,
        [(CongestionSignal::FastRetransmit, 8), (timeout, 8), (again, 8), (again, 8), (timeout, 5)]
    );
}

//= test rfc9406-4.3-samples
#[test]
fn every_acknowledgment_tells_growth_a_round_trip_unless_what_it_means_was_sent_twice() {
    for (timestamps, unclear) in [(false, [None; 2]), (true, [Some(100), Some(50)])] {
        let params = TcpParams { timestamps, ..params(10) };
        let round_trips = RoundTrips::default();
        let noting = Noting(Reno::new(&params), Signals::default(), Arc::clone(&round_trips));
        let noting: Box<dyn CongestionControl> = Box::new(noting);
        let mut s = Sender::with_control(&params, at(START), AnyControl::from(noting));
        s.on_timeout(at(START));
        assert_eq!(send(&mut s, START).len(), 10);
        let hear = |s: &mut Sender, ms, segment: u64, sent| {
            let ack = Ack { ack: segment * MSS, window: kilobytes(100), echo: at(sent), ..Ack::default() };
            s.on_ack(at(ms), &ack);
            send(s, ms)
        };
        hear(&mut s, 600, 1, START);
        hear(&mut s, 610, 2, START);
        let due = s.next_timeout().expect("a running timer").as_nanos() / 1_000_000 + 1;
        s.on_timeout(at(due));
        assert_eq!(send(&mut s, due), [2]);
        hear(&mut s, due + 100, 5, due);
        let end = s.una() / MSS + s.in_flight().0 / MSS;
        hear(&mut s, due + 150, end, due + 100);
        hear(&mut s, due + 250, end + 1, due + 150);
        let noted = round_trips.lock().expect("no test panics while it notes").clone();
        assert_eq!(
            noted,
            [Some(100), Some(110), unclear[0], unclear[1], Some(100)],
            "timestamps: {timestamps}"
        );
    }
}

/// A host under backpressure asks for segments late: what it was about to repair may be settled by then.
#[test]
fn a_repair_not_yet_sent_is_forgotten_when_it_is_acknowledged_or_the_timer_expires() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 3);
    ack(&mut s, 650, 8, 1);
    assert_eq!(send(&mut s, 650), [10, 11, 12]);

    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 3);
    s.on_timeout(at(START + 1000));
    assert_eq!(send(&mut s, START + 1000), [0], "once, not twice");
}

#[test]
fn what_was_being_timed_when_the_timer_expired_gives_no_sample() {
    let mut s = ten_outstanding();
    s.on_timeout(at(START + 1000));
    ack(&mut s, START + 1001, 1, 1);
    assert_eq!(s.rtt().srtt(), None);
}

//= test rfc6298-3-karn
//= test rfc6298-5-collapse
#[test]
fn a_segment_sent_twice_gives_no_round_trip_sample() {
    let mut s = ten_outstanding();
    s.on_timeout(at(START + 1000));
    assert_eq!(send(&mut s, START + 1000), [0]);
    ack(&mut s, 1600, 10, 1);
    assert_eq!(s.rtt().srtt(), None);
    // the back-off stays until a segment sent once has been timed
    assert_eq!(send(&mut s, 1600), [10, 11]);
    assert_eq!(s.next_timeout(), Some(at(1600 + 2000)));
    ack(&mut s, 1650, 11, 1);
    assert_eq!(s.rtt().srtt(), Some(Span::from_millis(50)));
    assert_eq!(s.next_timeout(), Some(at(1650 + 200)), "50 + 4 * 25 ms, raised to the minimum");
}

#[test]
fn a_fast_retransmission_ends_the_measurement_under_way() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 0, 3);
    assert_eq!(send(&mut s, 600), [0]);
    ack(&mut s, 700, 10, 1);
    assert_eq!(s.rtt().srtt(), None);
}

//= test rfc5681-2-duplicate-ack
//= test rfc7323-3.2-tsval
#[test]
fn a_segment_says_when_it_left_each_time_that_it_does() {
    let mut s = sender(1);
    s.on_timeout(at(START));
    let first = s.poll_transmit(at(START + 7)).expect("the first segment");
    assert_eq!((first.seq, first.sent), (0, at(START + 7)));
    s.on_timeout(s.next_timeout().expect("a running timer"));
    let again = s.poll_transmit(at(START + 2000)).expect("the segment again");
    assert_eq!((again.seq, again.retransmission, again.sent), (0, true, at(START + 2000)));
}

#[test]
fn acknowledgments_of_the_past_and_of_nothing_sent_are_ignored() {
    let mut s = ten_outstanding();
    ack(&mut s, 600, 4, 1);
    let before = windows(&s);
    ack(&mut s, 600, 3, 5);
    ack(&mut s, 600, 11, 5);
    assert_eq!(windows(&s), before);
    assert_eq!(s.stats().fast_retransmits, 0);
    ack(&mut s, 600, 10, 1);
    ack(&mut s, 600, 10, 5);
    assert_eq!(s.stats().fast_retransmits, 0, "no duplicates while nothing is outstanding");
}

/// A sender of Prague with thirty segments of 1000 bytes outstanding, and the time, a round trip of 50 ms later.
fn prague() -> (Sender, Instant) {
    let params = TcpParams {
        cc: Growth::Prague,
        ecn: true,
        mss: Bytes(1000),
        window: Bytes(1_000_000),
        initial_window: 30,
        handshake: false,
        close: false,
        ..TcpParams::RFC
    };
    let mut sender = Sender::new(&params, Instant::ZERO);
    sender.on_timeout(Instant::ZERO);
    let mut now = Instant::ZERO;
    while sender.in_flight() < Bytes(30_000) {
        match sender.poll_transmit(now) {
            Some(_) => {}
            None => {
                now = sender.next_timeout().expect("it waits for its pace");
                sender.on_timeout(now);
            }
        }
    }
    (sender, now + Span::from_millis(50))
}

fn acked(segments: u64, ace: u8) -> Ack {
    Ack { ack: segments * 1000, window: Bytes(1_000_000), ace, ..Ack::default() }
}

//= test draft-accecn-34-3.2.2.5.2-safest
//= test draft-accecn-34-3.2.2-count
//= test draft-prague-02-2.3.1.1-accecn
#[test]
fn the_ace_field_is_taken_for_as_many_marks_as_may_be_where_it_may_have_gone_round() {
    let reduced = |segments: u64, ace: u8| {
        let (mut sender, now) = prague();
        let window = sender.cwnd();
        sender.on_ack(now, &acked(segments, ace));
        (sender.cwnd() < window, sender.cwnd().0)
    };
    assert!(!reduced(7, 5).0, "as many as before: no mark");
    assert!(reduced(7, 6).0, "one");
    assert!(reduced(8, 5).0, "eight segments, and the field may have gone round once");
    let (nine, ten) = (reduced(9, 7).1, reduced(10, 7).1);
    // two of nine: alpha 1 - 7/9/16, of 30 segments 15.73, and the other seven add 7/15.73
    assert_eq!((nine, ten), (16_174, 15_000), "two of nine, ten of ten");
}

//= test draft-prague-02-2.4.2-once
#[test]
fn of_the_marks_of_a_window_one_is_answered_however_long_a_round_trip_is_taken_for() {
    let (mut sender, now) = prague();
    let mut falls = Vec::new();
    // the first round trip is taken for 50 ms, and these acknowledgments are 40 ms apart
    for (step, (segments, ace)) in [(1, 6), (2, 7), (30, 0), (31, 1)].into_iter().enumerate() {
        let now = now + Span::from_millis(40 * step as u64);
        let before = sender.cwnd();
        sender.on_ack(now, &acked(segments, ace));
        falls.push(sender.cwnd() < before);
        while sender.poll_transmit(now).is_some() {}
    }
    assert_eq!(falls, [true, false, false, true], "30 is still of the first window");
}
