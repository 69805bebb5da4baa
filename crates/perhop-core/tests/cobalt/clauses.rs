//! COBALT by its clauses, with times worked by hand. Packets of 1000 bytes; the link asks each millisecond.

use perhop_core::packet::{Ecn, Packet};
use perhop_core::queue::{Cobalt, CobaltParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

/// Without BLUE.
const PARAMS: CobaltParams =
    CobaltParams { limit: QueueSize::Packets(2000), p_inc: 0.0, p_dec: 0.5, ..published::COBALT };

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A queue, and what it told.
struct Bench {
    queue: Cobalt<TestPacket>,
    sink: Recorder,
    next: u32,
}

impl Bench {
    fn new(params: CobaltParams) -> Self {
        let queue = Cobalt::new(SiteId(3), params, Stream::new(1, 0, "queue")).expect("sound");
        Self { queue, sink: Recorder::default(), next: 0 }
    }

    /// `n` packets of 1000 bytes arrive.
    fn arrive(&mut self, at: Instant, n: u32) {
        self.arrive_as(at, n, Ecn::NotEct);
    }

    fn arrive_as(&mut self, at: Instant, n: u32, ecn: Ecn) {
        for _ in 0..n {
            self.queue.enqueue(at, TestPacket::data(self.next).len(1000).ecn(ecn), &mut self.sink);
            self.next += 1;
        }
    }

    /// The link asks: how many were dropped for this reason, and whether one left.
    fn ask(&mut self, at: Instant, why: DropReason) -> (usize, bool) {
        self.sink.events.clear();
        let left = self.queue.dequeue(at, &mut self.sink).is_some();
        (self.sink.of(Event::Dropped(why)).count(), left)
    }

    /// The link asks at each of these milliseconds; those at which packets were dropped for their wait.
    fn drops(&mut self, at: impl IntoIterator<Item = u64>) -> Vec<u64> {
        at.into_iter().filter(|at| self.ask(ms(*at), DropReason::Sojourn).0 > 0).collect()
    }

    /// The link takes all that waits.
    fn drain(&mut self, at: Instant) {
        while self.queue.backlog().packets > 0 {
            self.queue.dequeue(at, &mut self.sink);
        }
    }
}

//= test cobalt-should_drop-first
//= test cobalt-should_drop-next
#[test]
fn the_first_signal_is_an_interval_after_the_first_late_packet_and_they_come_closer() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 1500);
    // late from 6 ms on; then 100 ms, 100/sqrt 2, 100/sqrt 3 ...: 106, 176.7, 234.4, 284.4, 329.2, 370
    assert_eq!(bench.drops(0..=370), [106, 177, 235, 285, 330, 370]);
}

//= test cobalt-should_drop-late
//= test cobalt-set_rate-target
#[test]
fn on_a_slow_link_longer_waits_may_stand() {
    let mut bench = Bench::new(CobaltParams { packet_time: Span::from_millis(10), ..PARAMS });
    bench.arrive(ms(0), 500);
    // the target is 15 ms and the interval 110 ms, and 40 ms are not late
    assert_eq!(bench.drops(0..=220), [151]);
    let mut bench = Bench::new(CobaltParams { packet_time: Span::from_millis(60), ..PARAMS });
    bench.arrive(ms(0), 700);
    // 90 ms and 185 ms; 240 ms are not late
    assert_eq!(bench.drops(0..=540), [241 + 185]);
    let mut bench = Bench::new(CobaltParams { packet_time: Span::from_millis(100), ..PARAMS });
    bench.arrive(ms(0), 1000);
    // 150 ms, and twice that; 400 ms are not late
    assert_eq!(bench.drops(0..=900), [401 + 300]);
}

/// After six signals the seventh would be due at 370 ms (and 40.8 ms later): the count is 6, and falls at 370, 414.7, 464.7,
/// 522.4, 593.1 and 693.1 ms. What it is shows in the first gap of the next burst.
//= test cobalt-should_drop-less
#[test]
fn it_leaves_off_step_by_step() {
    let first_drop = |burst: u64, light: bool| {
        let mut bench = Bench::new(PARAMS);
        bench.arrive(ms(0), 1500);
        bench.drops(0..=330);
        bench.drain(ms(330));
        for at in (331..burst).filter(|_| light) {
            bench.arrive(ms(at), 1);
            assert_eq!(bench.ask(ms(at), DropReason::Sojourn), (0, true));
        }
        bench.arrive(ms(burst), 500);
        bench.drops(burst..burst + 120)[0] - burst
    };
    for light in [false, true] {
        let found = [360, 400, 420, 500, 550, 600, 700].map(|burst| first_drop(burst, light));
        // 6 ms and 100 ms over the root of 6, 5, 4, 3, 2, 1 and 0, which is as 1
        assert_eq!(found, [47, 51, 56, 64, 77, 106, 106], "light: {light}");
    }
}

//= test cobalt-dequeue-last
//= test cobalt-queue_full-up
#[test]
fn the_last_packet_is_kept_however_late_it_is() {
    let mut bench = Bench::new(CobaltParams { limit: QueueSize::Packets(2), ..PARAMS });
    // the third finds no room: a signal is due at 0 ms, one more at 70.7 ms
    bench.arrive(ms(0), 3);
    assert_eq!(bench.ask(ms(500), DropReason::Sojourn), (1, true));
    assert_eq!(bench.ask(ms(500), DropReason::Sojourn), (0, false));
    let mut bench = Bench::new(CobaltParams { limit: QueueSize::Packets(9), p_inc: 1.0, ..PARAMS });
    bench.arrive(ms(0), 10);
    assert_eq!(bench.ask(ms(0), DropReason::Early), (8, true));
}

//= test cobalt-drop-head
#[test]
fn an_arrival_takes_the_room_of_those_that_waited_longest() {
    let mut bench = Bench::new(CobaltParams { limit: QueueSize::Bytes(2500), ..PARAMS });
    bench.arrive(ms(0), 2);
    bench.queue.enqueue(ms(0), TestPacket::data(2).len(1600), &mut bench.sink);
    let dropped: Vec<u32> = bench.sink.of(Event::Dropped(DropReason::Overflow)).map(id).collect();
    assert_eq!((dropped, bench.queue.peek().map(id)), (vec![0, 1], Some(2)));
    // what never fits drives nothing out
    bench.sink.events.clear();
    bench.queue.enqueue(ms(0), TestPacket::data(3).len(2501), &mut bench.sink);
    let dropped: Vec<u32> = bench.sink.of(Event::Dropped(DropReason::Overflow)).map(id).collect();
    assert_eq!((dropped, bench.queue.peek().map(id)), (vec![3], Some(2)));
}

/// At 0 ms and later an arrival finds no room; at its turn each packet is dropped with one half, or with certainty.
//= test cobalt-queue_full-up
//= test cobalt-should_drop-blue
#[test]
fn overflows_raise_the_probability_once_in_a_target() {
    let dropped = |second: u64, ecn: Ecn| {
        let params = CobaltParams { limit: QueueSize::Packets(64), p_inc: 0.5, ecn: true, ..PARAMS };
        let mut bench = Bench::new(params);
        bench.arrive_as(ms(0), 65, ecn);
        let second = Instant::from_nanos(second);
        bench.arrive_as(second, 1, ecn);
        bench.sink.events.clear();
        bench.queue.dequeue(second, &mut bench.sink).expect("the last at least");
        bench.sink.events.iter().filter(|recorded| matches!(recorded.event, Event::Dropped(_))).count()
    };
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        assert!(dropped(5_000_000, ecn) < 63, "one half");
        assert_eq!(dropped(5_000_001, ecn), 63, "all but the last");
    }
}

//= test cobalt-queue_empty-down
#[test]
fn an_empty_queue_lowers_the_probability_once_in_a_target() {
    let dropped = |at: u64| {
        let params = CobaltParams { limit: QueueSize::Packets(64), p_inc: 1.0, ..PARAMS };
        let mut bench = Bench::new(params);
        bench.arrive(ms(0), 65);
        assert_eq!(bench.ask(ms(0), DropReason::Early), (63, true));
        let at = Instant::from_nanos(at);
        bench.arrive(at, 64);
        bench.sink.events.clear();
        bench.drain(at);
        bench.sink.of(Event::Dropped(DropReason::Early)).count()
    };
    assert_eq!(dropped(5_000_000), 63, "certainty");
    assert!((20..44).contains(&dropped(5_000_001)), "one half");
    assert_eq!(dropped(10_000_002), 0, "none");
}

//= test cobalt-should_drop-next
#[test]
fn a_packet_that_can_carry_a_mark_is_marked_instead() {
    for (ecn, dropped, left) in [
        (Ecn::NotEct, 1, Ecn::NotEct),
        (Ecn::Ect0, 0, Ecn::Ce),
        (Ecn::Ect1, 0, Ecn::Ce),
        (Ecn::Ce, 0, Ecn::Ce),
    ] {
        let mut bench = Bench::new(CobaltParams { ecn: true, ..PARAMS });
        bench.arrive_as(ms(0), 500, ecn);
        bench.drops(0..=105);
        bench.sink.events.clear();
        let out = bench.queue.dequeue(ms(106), &mut bench.sink).expect("a packet");
        let marks = bench.sink.of(Event::Marked).count();
        assert_eq!(bench.sink.of(Event::Dropped(DropReason::Sojourn)).count(), dropped);
        let marked = usize::from(matches!(ecn, Ecn::Ect0 | Ecn::Ect1));
        assert_eq!((out.meta().ecn, marks), (left, marked), "{ecn:?}");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params| {
        let built = Cobalt::<TestPacket>::new(SiteId(0), params, Stream::new(1, 0, "queue"));
        built.expect_err("refused").to_string()
    };
    for (params, why) in [
        (CobaltParams { limit: QueueSize::Packets(0), ..PARAMS }, "limit: must exceed 0"),
        (CobaltParams { target: Span::ZERO, ..PARAMS }, "target: must exceed 0s"),
        (CobaltParams { interval: Span::from_millis(5), ..PARAMS }, "interval: must exceed target"),
        (CobaltParams { p_inc: -0.1, ..PARAMS }, "p_inc: must be from 0 to 1"),
        (CobaltParams { p_inc: f64::NAN, ..PARAMS }, "p_inc: must be from 0 to 1"),
        (CobaltParams { p_dec: 0.0, ..PARAMS }, "p_dec: must be from 0.000001 to 1"),
    ] {
        assert_eq!(refused(params), why);
    }
}
