//! Rates of delivery against their definition, looked up in a log of everything that happened.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::cc::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use perhop_tcp::rate::{Leaving, LostSegment, RateEstimator, RateSample};
use perhop_tcp::segment::Ack;
use perhop_tcp::sender::Sender;
use perhop_tcp::settings::{Growth, RecoveryKind, TcpParams};
use proptest::prelude::*;

const LEN: u64 = 1000;

/// Something that happens to a connection.
#[derive(Clone, Copy, Debug)]
enum Op {
    /// A new segment leaves.
    Send,
    /// The outstanding segment of this number, from the first, leaves again.
    Again(u8),
    /// Those of these bits arrive, from the first, in order or against it.
    Arrive(u8, bool),
    /// The application has nothing to send.
    Limit,
    /// So many bytes are taken for lost.
    Lose(u8),
    /// The congestion window is full.
    Fill,
    /// Time passes, in microseconds.
    Wait(u32),
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => Just(Op::Send),
        1 => (0u8..8).prop_map(Op::Again),
        4 => (any::<u8>(), any::<bool>()).prop_map(|(bits, back)| Op::Arrive(bits, back)),
        1 => Just(Op::Limit),
        1 => any::<u8>().prop_map(Op::Lose),
        1 => Just(Op::Fill),
        4 => (0u32..50_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..150)
}

/// An entry of the log.
#[derive(Clone, Debug)]
enum Entry {
    /// The segment of this number left at a time; nothing was outstanding.
    Sent { segment: u64, at: Instant, idle: bool, again: bool },
    /// These segments arrived at a time, each by the entry of its last sending.
    Arrived { at: Instant, sendings: Vec<usize> },
    /// The application had nothing to send, with so much in the network.
    Limited { in_flight: u64 },
    /// So many bytes were taken for lost.
    Lost { bytes: u64 },
    /// The congestion window was full.
    Filled,
}

#[derive(Default)]
struct Log(Vec<Entry>);

impl Log {
    fn delivered_before(&self, entry: usize) -> u64 {
        let arrived =
            |entry: &Entry| if let Entry::Arrived { sendings, .. } = entry { sendings.len() } else { 0 };
        self.0[..entry].iter().map(arrived).sum::<usize>() as u64 * LEN
    }

    fn lost_before(&self, entry: usize) -> u64 {
        let lost = |entry: &Entry| if let Entry::Lost { bytes } = entry { *bytes } else { 0 };
        self.0[..entry].iter().map(lost).sum()
    }

    /// Bytes that had left and had not arrived as this sending was made, itself included.
    fn in_network(&self, sending: usize) -> u64 {
        let mut there = BTreeSet::new();
        for entry in &self.0[..=sending] {
            match entry {
                Entry::Sent { segment, .. } => drop(there.insert(*segment)),
                Entry::Arrived { sendings, .. } => {
                    there.retain(|segment| sendings.iter().all(|&one| self.sending(one).1 != *segment));
                }
                _ => {}
            }
        }
        there.len() as u64 * LEN
    }

    /// Whether the window was full after what had been delivered as this sending was made.
    fn filled_since(&self, sending: usize) -> bool {
        let before = self.delivered_before(sending);
        let filled = self.0.iter().rposition(|entry| matches!(entry, Entry::Filled));
        filled.is_some_and(|entry| self.delivered_before(entry) >= before)
    }

    fn sending(&self, entry: usize) -> (Instant, u64) {
        let Entry::Sent { segment, at, .. } = self.0[entry] else { panic!("no sending") };
        (at, segment)
    }

    /// When something was delivered last before this sending, and when the newest of that had left; a sending into an empty network counts
    /// as both.
    fn began(&self, sending: usize) -> (Instant, Instant) {
        for entry in self.0[..=sending].iter().rev() {
            match entry {
                Entry::Sent { at, idle: true, .. } => return (*at, *at),
                Entry::Arrived { at, sendings } if !sendings.is_empty() => {
                    let newest = sendings.iter().map(|&one| self.sending(one)).max().expect("some");
                    return (*at, newest.0);
                }
                _ => {}
            }
        }
        panic!("the first sending finds nothing outstanding")
    }

    /// Whether the application's want of data still counted when this entry was made.
    fn limited(&self, entry: usize) -> bool {
        let mut until = 0;
        for (i, one) in self.0[..entry].iter().enumerate() {
            match one {
                Entry::Limited { in_flight } => until = (self.delivered_before(i) + in_flight).max(1),
                Entry::Arrived { .. } if self.delivered_before(i + 1) > until => until = 0,
                _ => {}
            }
        }
        until > 0
    }

    /// The rate that the last entry, of arrivals, tells of.
    fn rate(&self, now: Instant, min_rtt: Option<Span>) -> RateSample {
        let Some(Entry::Arrived { sendings, .. }) = self.0.last() else { panic!("no arrivals") };
        let total = self.delivered_before(self.0.len());
        let acked = Bytes(sendings.len() as u64 * LEN);
        let blank = RateSample { acked, delivered_total: total, departs: now, ..RateSample::default() };
        let Some(newest) = sendings.iter().copied().max_by_key(|&one| self.sending(one)) else {
            return blank;
        };
        let (left, before) = (self.sending(newest).0, self.delivered_before(newest));
        let (delivery, first) = self.began(newest);
        let interval = (now - delivery).max(left - first);
        let sound = interval > Span::ZERO && min_rtt.is_none_or(|least| interval >= least);
        let once = |&&one: &&usize| matches!(self.0[one], Entry::Sent { again: false, .. });
        let latest = sendings.iter().filter(once).map(|&one| self.sending(one)).max();
        RateSample {
            rate: sound.then_some((Bytes(total - before), interval)),
            prior_delivered: Some(before),
            app_limited: self.limited(newest),
            rtt: latest.map(|(left, _)| now - left),
            tx_in_flight: Bytes(self.in_network(newest)),
            lost_since: Bytes(self.lost_before(self.0.len()) - self.lost_before(newest)),
            cwnd_limited: self.filled_since(newest),
            ..blank
        }
    }
}

/// A connection, and the log of what happens to it.
#[derive(Default)]
struct Books {
    rate: RateEstimator,
    log: Log,
    now: Instant,
    /// By segment: the entry of its last sending, or none once it has arrived.
    outstanding: BTreeMap<u64, Option<usize>>,
    next: u64,
    /// Segments that have left at this time.
    left: Vec<u64>,
    /// Bytes lost so far, and at the last arrival.
    lost: u64,
    lost_known: u64,
}

impl Books {
    /// Segments outstanding that have not arrived.
    fn waiting(&self) -> Vec<u64> {
        self.outstanding.iter().filter(|(_, entry)| entry.is_some()).map(|(&segment, _)| segment).collect()
    }

    fn in_flight(&self) -> u64 {
        self.waiting().len() as u64 * LEN
    }

    /// A segment leaves, unless it has left at this very time.
    fn leave(&mut self, again: Option<u64>) {
        let segment = again.unwrap_or(self.next);
        if self.left.contains(&segment) {
            return;
        }
        self.left.push(segment);
        self.next += u64::from(again.is_none());
        let (idle, again) = (self.outstanding.is_empty(), again.is_some());
        self.outstanding.insert(segment, Some(self.log.0.len()));
        let leaving = Leaving { again, idle, in_flight: self.in_flight(), lost: self.lost };
        self.rate.on_sent(self.now, (segment + 1) * LEN, leaving);
        self.log.0.push(Entry::Sent { segment, at: self.now, idle, again });
    }

    fn arrive(&mut self, arriving: &[u64], min_rtt: Option<Span>) {
        let in_flight = self.in_flight();
        self.rate.begin(in_flight, self.lost_known);
        let mut sendings = Vec::new();
        for &segment in arriving {
            let entry = self.outstanding.insert(segment, None).flatten().expect("it waits");
            self.rate.arrived(self.now, self.log.sending(entry).0, (segment + 1) * LEN, LEN);
            sendings.push(entry);
        }
        while self.outstanding.first_key_value().is_some_and(|(_, entry)| entry.is_none()) {
            self.outstanding.pop_first();
        }
        let una = self.outstanding.first_key_value().map_or(self.next, |(&segment, _)| segment) * LEN;
        self.log.0.push(Entry::Arrived { at: self.now, sendings });
        let left = self.in_flight();
        let expected = RateSample {
            prior_in_flight: Bytes(in_flight),
            in_flight: Bytes(left),
            lost: Bytes(self.lost - std::mem::replace(&mut self.lost_known, self.lost)),
            lost_total: self.lost,
            ..self.log.rate(self.now, min_rtt)
        };
        assert_eq!(self.rate.sample(self.now, min_rtt, self.lost, left, una), expected, "{:?}", self.log.0);
    }
}

//= test draft-ietf-ccwg-bbr-4.1.2.2-sent
//= test draft-ietf-ccwg-bbr-2.4-tx-in-flight
//= test draft-ietf-ccwg-bbr-2.2-cwnd-limited
//= test draft-dre-00-2.2-units
//= test draft-dre-00-2.2.1-data
//= test draft-dre-00-2.2.1-ack-elapsed
//= test draft-dre-00-2.2.3-send-elapsed
//= test draft-dre-00-2.2.4-rate
//= test draft-dre-00-2.3-round
//= test draft-dre-00-3.1.1-state
//= test draft-dre-00-3.1.2-state
//= test draft-dre-00-3.2-every
//= test draft-dre-00-3.2-idle
//= test draft-dre-00-3.3-each
//= test draft-dre-00-3.3-once
//= test draft-dre-00-3.3-delivered
//= test draft-dre-00-3.3-newest
//= test draft-dre-00-3.3-first-sent
//= test draft-dre-00-3.3-limited
//= test draft-dre-00-3.3-clear
//= test draft-dre-00-3.3-none
//= test draft-dre-00-3.3-min-rtt
//= test draft-dre-00-3.4-mark
//= test draft-dre-00-4.3-reordering
//= test draft-dre-00-4.4-implausible
//= test draft-bbr-00-4.1.2.1-retransmitted
//= test draft-ietf-ccwg-bbr-4.2-ambiguity
//= test draft-bbr-00-4.1.2.1-latest
#[test]
fn a_rate_is_what_its_definition_says_of_the_whole_past() {
    perhop_testkit::check(&(ops(), prop::option::of(0u64..30_000)), |(ops, least)| {
        let mut books = Books::default();
        for op in ops {
            match op {
                Op::Send => books.leave(None),
                Op::Again(which) => books.leave(books.waiting().get(usize::from(which)).copied()),
                Op::Arrive(bits, back) => {
                    let waiting = books.waiting();
                    let chosen = (0..8).filter(|bit| bits >> bit & 1 == 1);
                    let mut arriving: Vec<u64> = chosen.filter_map(|bit| waiting.get(bit)).copied().collect();
                    if back {
                        arriving.reverse();
                    }
                    books.arrive(&arriving, least.map(Span::from_micros));
                }
                Op::Limit => {
                    let in_flight = books.in_flight();
                    books.rate.limit(in_flight);
                    books.log.0.push(Entry::Limited { in_flight });
                }
                Op::Lose(bytes) => {
                    books.lost += u64::from(bytes);
                    books.log.0.push(Entry::Lost { bytes: bytes.into() });
                }
                Op::Fill => {
                    books.rate.fill();
                    books.log.0.push(Entry::Filled);
                }
                Op::Wait(us) => {
                    books.now += Span::from_micros(us.into());
                    if us > 0 {
                        books.left.clear();
                    }
                }
            }
        }
    });
}

//= test draft-ietf-ccwg-bbr-2.4-tx-in-flight
#[test]
fn a_lost_segment_has_the_state_of_its_last_sending() {
    let at = |ms: u64| Instant::ZERO + Span::from_millis(ms);
    let mut rate = RateEstimator::default();
    let leaving = |in_flight: u64, lost: u64| Leaving { again: false, idle: false, in_flight, lost };
    rate.on_sent(at(0), LEN, leaving(1000, 0));
    rate.on_sent(at(1), 2 * LEN, leaving(2000, 70));
    rate.begin(2000, 70);
    rate.arrived(at(9), at(0), LEN, LEN);
    rate.limit(LEN);
    rate.on_sent(at(10), 2 * LEN, Leaving { again: true, ..leaving(1000, 90) });
    rate.lose(at(1), (1200, 2 * LEN), 870);
    rate.lose(at(10), (LEN, 2 * LEN), 1890);
    rate.lose(at(5), (LEN, 2 * LEN), 1890);
    let lost: Vec<_> = rate.take_losses().collect();
    let one = LostSegment {
        start: 1200,
        end: 2000,
        tx_in_flight: Bytes(2000),
        lost_since: Bytes(800),
        app_limited: false,
        delivered_total: 1000,
    };
    let other = LostSegment {
        start: 1000,
        tx_in_flight: Bytes(1000),
        lost_since: Bytes(1800),
        app_limited: true,
        ..one
    };
    assert_eq!(lost, [one, other], "nothing left at 5 ms");
    assert_eq!(rate.take_losses().count(), 0, "it is told once");
}

/// A control that notes what it hears, with a window of eight segments.
struct Noting(Arc<Mutex<(Vec<RateSample>, u32)>>);

impl CongestionControl for Noting {
    fn on_ack(&mut self, _now: Instant, _ack: &AckSample) {}
    fn on_rate(&mut self, _now: Instant, sample: &RateSample) {
        self.0.lock().expect("one thread").0.push(*sample);
    }
    fn on_idle_end(&mut self, _now: Instant) {
        self.0.lock().expect("one thread").1 += 1;
    }
    fn on_congestion(&mut self, _now: Instant, _signal: CongestionSignal, _load: &Load) {}
    fn on_recovery_exit(&mut self, _now: Instant) {}
    fn on_spurious_timeout(&mut self, _now: Instant) {}
    fn on_restart_after_idle(&mut self, _now: Instant, _left: &AfterIdle) {}
    fn deflate(&mut self, _by: Bytes) {}
    fn limit(&mut self, _to: Bytes) {}
    fn cwnd(&self) -> Bytes {
        Bytes(8 * LEN)
    }
    fn ssthresh(&self) -> Bytes {
        Bytes(u64::MAX)
    }
    fn pacing_rate(&self) -> Option<u64> {
        Some(1_000_000_000)
    }
}

/// Four segments, of which the first alone arrives; what is sent again by the timer and then acknowledged tells whether the application had
/// more to send.
fn limited_by_a_timer(cc: Growth) -> bool {
    let params = TcpParams {
        cc,
        recovery: RecoveryKind::Sack,
        rack: true,
        mss: Bytes(LEN),
        window: Bytes(100 * LEN),
        size: Some(Bytes(4 * LEN)),
        handshake: false,
        close: false,
        ..TcpParams::RFC
    };
    let samples = Arc::new(Mutex::new((Vec::new(), 0)));
    let control: Box<dyn CongestionControl> = Box::new(Noting(Arc::clone(&samples)));
    let mut sender = Sender::with_control(&params, Instant::ZERO, control.into());
    while sender.poll_transmit(Instant::ZERO).is_some() {}
    let mut now = Instant::ZERO + Span::from_millis(100);
    sender.on_ack(now, &Ack { ack: LEN, window: Bytes(100 * LEN), ..Ack::default() });
    while sender.stats().timeouts == 0 {
        now = sender.next_timeout().expect("something is outstanding");
        sender.on_timeout(now);
        while sender.stats().timeouts == 0 && sender.poll_transmit(now).is_some() {}
    }
    while sender.poll_transmit(now).is_some() {}
    now += Span::from_millis(100);
    sender.on_ack(now, &Ack { ack: 2 * LEN, window: Bytes(100 * LEN), ..Ack::default() });
    let samples = samples.lock().expect("one thread");
    samples.0.last().expect("a sample").app_limited
}

//= test draft-ietf-ccwg-bbr-4.1.2.4-checks
#[test]
fn version_three_finds_the_connection_limited_at_acknowledgments_and_timers_too() {
    assert!(limited_by_a_timer(Growth::Bbr3));
    assert!(!limited_by_a_timer(Growth::Bbr), "nothing was written");
}

//= test draft-dre-00-3.4-write
//= test draft-dre-00-3.4-conditions
#[test]
fn a_write_finds_the_connection_limited_if_it_had_room_and_nothing_to_send() {
    let params = TcpParams {
        recovery: RecoveryKind::Sack,
        rack: true,
        mss: Bytes(LEN),
        window: Bytes(100 * LEN),
        size: Some(Bytes(12 * LEN)),
        handshake: false,
        close: false,
        ..TcpParams::RFC
    };
    let samples = Arc::new(Mutex::new((Vec::new(), 0)));
    let control: Box<dyn CongestionControl> = Box::new(Noting(Arc::clone(&samples)));
    let mut sender = Sender::with_control(&params, Instant::ZERO, control.into());
    let mut now = Instant::ZERO;
    let mut limited = |sender: &mut Sender, write: u64, ack: u64| {
        let mut left = 0;
        sender.write(Bytes(write * LEN));
        loop {
            sender.on_timeout(now);
            match sender.poll_transmit(now) {
                Some(_) => left += 1,
                None if left == 0
                    || sender.in_flight() >= Bytes(8 * LEN)
                    || sender.next_timeout().is_none() =>
                {
                    break;
                }
                None if sender.next_timeout().is_some_and(|at| at - now > Span::from_millis(1)) => break,
                None => now = sender.next_timeout().unwrap_or(now),
            }
        }
        now += Span::from_millis(100);
        sender.on_ack(now, &Ack { ack: ack * LEN, window: Bytes(100 * LEN), ..Ack::default() });
        (left, samples.lock().expect("one thread").0.last().expect("a sample").app_limited)
    };
    assert_eq!(limited(&mut sender, 0, 8), (8, false), "the window bounds it");
    assert_eq!(limited(&mut sender, 5, 12), (8, false), "four segments of the first data wait");
    assert_eq!(limited(&mut sender, 1, 17), (2, false), "one of the data before waits");
    assert_eq!(limited(&mut sender, 4, 18), (4, false), "what is acknowledged here left before the write");
    assert_eq!(limited(&mut sender, 4, 22), (4, true), "room for four segments and nothing to send");
    assert_eq!(limited(&mut sender, 0, 26), (0, true));
    assert_eq!(samples.lock().expect("one thread").1, 0, "something was outstanding all the time");
    assert_eq!(limited(&mut sender, 8, 34), (8, true), "nothing was");
    assert_eq!(samples.lock().expect("one thread").1, 1);
}
