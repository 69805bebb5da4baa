//! `CoDel` by the clauses of RFC 8289, with times worked by hand. A packet of 1000 bytes arrives each millisecond.

use perhop_core::packet::{Ecn, Packet};
use perhop_core::queue::{Codel, CodelConventions, CodelParams, Queue};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

const PARAMS: CodelParams = CodelParams { limit: QueueSize::Packets(2000), ..published::CODEL };

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A queue, and what it told.
struct Bench {
    queue: Codel<TestPacket>,
    sink: Recorder,
    next: u32,
}

impl Bench {
    fn new(params: CodelParams) -> Self {
        Self { queue: Codel::new(SiteId(3), params).expect("sound"), sink: Recorder::default(), next: 0 }
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

    /// The link asks; how many were dropped, and whether one left.
    fn ask(&mut self, at: Instant) -> (usize, bool) {
        self.sink.events.clear();
        let left = self.queue.dequeue(at, &mut self.sink).is_some();
        (self.sink.of(Event::Dropped(DropReason::Sojourn)).count(), left)
    }

    /// The link asks at each of these milliseconds; those at which packets were dropped, and how many.
    fn drops(&mut self, at: impl IntoIterator<Item = u64>) -> Vec<(u64, usize)> {
        at.into_iter().map(|at| (at, self.ask(ms(at)).0)).filter(|(_, dropped)| *dropped > 0).collect()
    }
}

//= test rfc8289-5.6-interval
//= test rfc8289-5.5-first
#[test]
fn the_first_drop_is_an_interval_after_the_first_long_wait() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 500);
    // from 5 ms on every packet has waited for the target; the drop of 105 ms takes two packets
    assert_eq!(bench.drops(0..=105), [(105, 1)]);
    assert_eq!(bench.queue.backlog().packets, 500 - 106 - 1);
}

//= test rfc8289-5.6-target
#[test]
fn one_short_wait_begins_the_interval_anew() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 61);
    assert_eq!(bench.drops(0..=60), []);
    bench.arrive(ms(61), 200);
    // at 61 ms to 65 ms they have waited less than 5 ms
    assert_eq!(bench.drops(61..=166), [(166, 1)]);
}

//= test rfc8289-5.6-target
#[test]
fn what_leaves_no_more_than_a_packet_behind_is_kept_however_long_it_waited() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 2);
    assert_eq!(bench.ask(ms(900)), (0, true));
    assert_eq!(bench.ask(ms(2000)), (0, true));
    // one longer packet, seen once, makes two of these short enough
    bench.queue.enqueue(ms(2000), TestPacket::data(9).len(2000), &mut bench.sink);
    bench.arrive(ms(2000), 3);
    assert_eq!(
        (bench.ask(ms(2500)), bench.ask(ms(2900)), bench.ask(ms(3400))),
        ((0, true), (0, true), (0, true))
    );
}

//= test rfc8289-5.6-law
//= test rfc8289-5.5-next
#[test]
fn drops_come_closer_by_the_root_of_their_number() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 1500);
    // 105, then 100/1, 100/sqrt 2, 100/sqrt 3 ... later: 205, 275.7, 333.4, 383.4, 428.2, 468.99
    let at: Vec<_> = bench.drops(0..=470).into_iter().map(|(at, _)| at).collect();
    assert_eq!(at, [105, 205, 276, 334, 384, 429, 469]);
}

//= test rfc8289-5.5-next
#[test]
fn a_link_that_was_away_makes_up_for_the_drops_that_were_due() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 1500);
    assert_eq!(bench.drops(0..=105), [(105, 1)]);
    // due at 205, 275.7, 333.4 and 383.4
    assert_eq!(bench.ask(ms(400)), (4, true));
}

//= test rfc8289-5.5-leave
#[test]
fn a_short_wait_ends_dropping() {
    let mut bench = Bench::new(PARAMS);
    bench.arrive(ms(0), 150);
    assert_eq!(bench.drops(0..=148), [(105, 1)]);
    assert_eq!(bench.ask(ms(149)), (0, false));
    // a new start: waits from 160 ms on, and the drop due at 205 ms is forgotten
    bench.arrive(ms(155), 150);
    assert_eq!(bench.drops(155..=259), []);
    assert_eq!(bench.drops(260..=260), [(260, 1)]);
}

//= test rfc8289-5.5-resume
#[test]
fn dropping_resumes_at_its_rate_if_it_ended_lately() {
    // seven drops by 470 ms; the next would be due at 506.8 ms
    let again = |pause: u64| {
        let mut bench = Bench::new(PARAMS);
        bench.arrive(ms(0), 1500);
        bench.drops(0..=470);
        while bench.queue.backlog().packets > 0 {
            bench.queue.dequeue(ms(470), &mut bench.sink);
        }
        assert_eq!(bench.ask(ms(470)), (0, false));
        bench.arrive(ms(pause), 1500);
        // the first drop is 105 ms after the burst
        let found = bench.drops(pause..=pause + 250);
        assert_eq!(found[0], (pause + 105, 1));
        found[1].0 - found[0].0
    };
    // the count went from 1 to 7: 6 since, 100 / sqrt 6 = 40.8 ms; 16 intervals after 506.8 ms it is 1 again
    assert_eq!((again(600), again(2001), again(2002)), (41, 41, 100));
}

#[test]
fn a_packet_that_can_carry_a_mark_is_marked_instead() {
    for (ecn, dropped, left) in [
        (Ecn::NotEct, 1, Ecn::NotEct),
        (Ecn::Ect0, 0, Ecn::Ce),
        (Ecn::Ect1, 0, Ecn::Ce),
        (Ecn::Ce, 0, Ecn::Ce),
    ] {
        let mut bench = Bench::new(CodelParams { ecn: true, ..PARAMS });
        bench.arrive_as(ms(0), 500, ecn);
        bench.drops(0..=104);
        bench.sink.events.clear();
        let out = bench.queue.dequeue(ms(105), &mut bench.sink).expect("a packet");
        let marks = bench.sink.of(Event::Marked).count();
        assert_eq!(bench.sink.of(Event::Dropped(DropReason::Sojourn)).count(), dropped);
        assert_eq!(
            (out.meta().ecn, marks),
            (left, usize::from(matches!(ecn, Ecn::Ect0 | Ecn::Ect1))),
            "{ecn:?}"
        );
    }
}

#[test]
fn a_wait_above_ce_threshold_is_marked_at_once() {
    let threshold = Some(Span::from_millis(1));
    let mut bench = Bench::new(CodelParams { ce_threshold: threshold, ..PARAMS });
    bench.arrive_as(ms(0), 3, Ecn::Ect0);
    let mut leaves = |at| bench.queue.dequeue(at, &mut bench.sink).map(|pkt| pkt.meta().ecn);
    assert_eq!(leaves(ms(0)), Some(Ecn::Ect0));
    assert_eq!(leaves(ms(1)), Some(Ecn::Ect0));
    assert_eq!(leaves(ms(2)), Some(Ecn::Ce));
}

#[test]
fn strictly_after_is_one_packet_later() {
    let first = |conventions| {
        let mut bench = Bench::new(CodelParams { conventions, ..PARAMS });
        bench.arrive(ms(0), 500);
        bench.drops(0..=110)
    };
    let after = CodelConventions { strictly_after: true, ..CodelConventions::RFC8289 };
    assert_eq!((first(CodelConventions::RFC8289), first(after)), (vec![(105, 1)], vec![(106, 1)]));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params| Codel::<TestPacket>::new(SiteId(0), params).expect_err("refused").to_string();
    let coarse = CodelConventions { coarse_clock: true, ..CodelConventions::RFC8289 };
    for (params, why) in [
        (CodelParams { limit: QueueSize::Packets(0), ..PARAMS }, "limit"),
        (CodelParams { target: Span::ZERO, ..PARAMS }, "target: must exceed 0s"),
        (CodelParams { target: Span::from_nanos(1023), conventions: coarse, ..PARAMS }, "1024ns"),
        (CodelParams { interval: Span::from_millis(5), ..PARAMS }, "interval: must exceed target"),
    ] {
        assert!(refused(params).contains(why), "{}", refused(params));
    }
}
