//! A port: what it counts, what it tells its scheduler, what it does with packets that no class takes.

use std::sync::{Arc, Mutex};

use perhop_core::classify::{KindClassifier, Selector};
use perhop_core::node::Departure;
use perhop_core::packet::{ClassId, Color, Ecn, Meta};
use perhop_core::port::{Class, Port};
use perhop_core::queue::{Backlog, Fifo, Fq, FqConventions, FqParams};
use perhop_core::rng::Stream;
use perhop_core::sched::{Heads, Scheduler, Select, StrictPriority};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::published;
use perhop_testkit::queue::{AtItsTurn, PATIENCE};
use perhop_testkit::sink::{Event, Recorder};

const NOW: Instant = Instant::ZERO;
const PORT: SiteId = SiteId(9);
const LIMIT: QueueSize = QueueSize::Packets(2);

/// What a scheduler was told.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SchedulerCall {
    Enqueued(u16, u32),
    Emptied(u16),
    Served(u16, u32),
}

/// Strict priority that notes what it is told.
struct Noting(Arc<Mutex<Vec<SchedulerCall>>>);

impl Noting {
    fn note(&self, call: SchedulerCall) {
        self.0.lock().expect("no test panics while it notes").push(call);
    }
}

impl Scheduler for Noting {
    fn on_enqueued(&mut self, _now: Instant, class: ClassId, meta: &Meta) {
        self.note(SchedulerCall::Enqueued(class.0, id(meta)));
    }

    fn on_emptied(&mut self, _now: Instant, class: ClassId) {
        self.note(SchedulerCall::Emptied(class.0));
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        StrictPriority.select(now, heads)
    }

    fn on_served(&mut self, _now: Instant, class: ClassId, served: &Meta) {
        self.note(SchedulerCall::Served(class.0, id(served)));
    }
}

fn departure(port: &mut Port<TestPacket>, sink: &mut Recorder) -> Option<u32> {
    match port.dequeue(NOW, sink) {
        Departure::Packet(pkt) => Some(pkt.id()),
        Departure::Empty => None,
        Departure::NotBefore(at) => panic!("waits until {at}"),
    }
}

#[test]
fn the_scheduler_hears_of_every_arrival_departure_and_emptying() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let class = |site| Class::new(SiteId(site), Box::new(AtItsTurn::new(SiteId(site), LIMIT)));
    let selectors: [&[Selector]; 2] = [&[Selector::PureAck], &[Selector::Data]];
    let classifier = Box::new(KindClassifier::new(selectors));
    let mut port = Port::new(PORT, classifier, vec![class(0), class(1)], Box::new(Noting(Arc::clone(&log))));
    let mut sink = Recorder::default();
    let calls = || std::mem::take(&mut *log.lock().expect("no test panics while it notes"));

    for number in 1..=3 {
        port.enqueue(NOW, TestPacket::data(number), &mut sink);
    }
    assert_eq!(
        calls(),
        [SchedulerCall::Enqueued(1, 1), SchedulerCall::Enqueued(1, 2)],
        "the third found no room"
    );

    port.enqueue(NOW, TestPacket::pure_ack(4).color(Color::Red), &mut sink);
    assert_eq!(departure(&mut port, &mut sink), Some(1));
    assert_eq!(
        calls(),
        [SchedulerCall::Enqueued(0, 4), SchedulerCall::Emptied(0), SchedulerCall::Served(1, 1)]
    );

    let late = NOW + PATIENCE;
    assert_eq!(port.next_timeout(), Some(late));
    port.on_timeout(late, &mut sink);
    assert_eq!(calls(), [SchedulerCall::Emptied(1)], "2 was dropped at its deadline");
    port.on_timeout(late, &mut sink);
    assert_eq!((calls(), port.next_timeout()), (vec![], None));
    assert!(port.is_empty());
    assert_eq!(departure(&mut port, &mut sink), None);

    port.enqueue(NOW, TestPacket::pure_ack(5), &mut sink);
    assert_eq!(departure(&mut port, &mut sink), Some(5));
    assert_eq!(
        calls(),
        [SchedulerCall::Enqueued(0, 5), SchedulerCall::Served(0, 5), SchedulerCall::Emptied(0)],
        "the last one left"
    );
}

/// Of a packet of 100 bytes and one of 1500, which pass the limit, half the bytes is both.
#[test]
fn the_scheduler_hears_of_a_queue_that_an_arrival_empties() {
    let log = Arc::new(Mutex::new(Vec::new()));
    let params = FqParams {
        limit: QueueSize::Packets(1),
        queues: 1,
        conventions: FqConventions::LINUX,
        ..published::FQ
    };
    let fifo = |_| Ok(Fifo::new(SiteId(0), QueueSize::Packets(u64::MAX)));
    let queue = Fq::new(SiteId(0), params, Stream::new(1, 0, "queue"), fifo).expect("sound parameters");
    let classifier = Box::new(KindClassifier::new([[Selector::Any].as_slice()]));
    let class = Class::new(SiteId(0), Box::new(queue));
    let mut port = Port::new(PORT, classifier, vec![class], Box::new(Noting(Arc::clone(&log))));
    let mut sink = Recorder::default();
    port.enqueue(NOW, TestPacket::data(1).len(100), &mut sink);
    port.enqueue(NOW, TestPacket::data(2), &mut sink);
    let calls = std::mem::take(&mut *log.lock().expect("no test panics while it notes"));
    assert_eq!(
        calls,
        [SchedulerCall::Enqueued(0, 1), SchedulerCall::Enqueued(0, 2), SchedulerCall::Emptied(0)]
    );
    let stats = port.classes()[0].stats();
    assert_eq!((stats.dropped.packets, port.is_empty()), (2, true));
}

#[test]
fn counts_what_passes_and_the_longest_queue() {
    let mut port = Port::single(Class::new(SiteId(0), Box::new(Fifo::new(SiteId(0), LIMIT))));
    let mut sink = Recorder::default();
    let arrivals =
        [TestPacket::pure_ack(1), TestPacket::data(2), TestPacket::data(3), TestPacket::pure_ack(4)];
    for pkt in arrivals {
        port.enqueue(NOW, pkt, &mut sink);
    }
    assert_eq!(departure(&mut port, &mut sink), Some(1));
    assert_eq!(departure(&mut port, &mut sink), Some(2));

    let count = |packets, bytes| Backlog { packets, bytes: Bytes(bytes) };
    let stats = port.classes()[0].stats();
    assert_eq!(stats.offered, count(4, 3056));
    assert_eq!((stats.sent, stats.dropped), (count(2, 1528), count(2, 1528)));
    assert_eq!((stats.max_packets, stats.max_data_packets, stats.data_packets), (2, 1, 0));
    assert!(stats.conserved(port.classes()[0].backlog()));
    assert!(!stats.conserved(count(1, 28)));

    let recorded: Vec<_> = sink.events.iter().map(|h| (h.event, id(&h.meta), h.site.0)).collect();
    let dropped = Event::Dropped(DropReason::Overflow);
    let expected = [
        (Event::Enqueued, 1, 0),
        (Event::Enqueued, 2, 0),
        (dropped, 3, 0),
        (dropped, 4, 0),
        (Event::Sent, 1, 0),
        (Event::Sent, 2, 0),
    ];
    assert_eq!(recorded, expected);
}

/// Two that can be marked, one that came marked and a red one: what the queue does at their turn is counted as it is told.
#[test]
fn what_is_marked_and_dropped_at_departure_is_counted() {
    let queue = Box::new(AtItsTurn::new(SiteId(0), QueueSize::Packets(5)));
    let mut port = Port::single(Class::new(SiteId(0), queue));
    let mut sink = Recorder::default();
    assert!(port.has_deadlines());
    let arrivals = [
        TestPacket::data(1).ecn(Ecn::Ect0),
        TestPacket::data(2).color(Color::Red),
        TestPacket::data(3).ecn(Ecn::Ce),
        TestPacket::data(4).ecn(Ecn::Ect1),
        TestPacket::data(5).color(Color::Yellow),
    ];
    for pkt in arrivals {
        port.enqueue(NOW, pkt, &mut sink);
    }
    let left: Vec<_> = (0..3).filter_map(|_| departure(&mut port, &mut sink)).collect();
    assert_eq!(left, [1, 3, 4]);
    port.on_timeout(NOW + PATIENCE, &mut sink);

    let (stats, drops) = (port.classes()[0].stats(), port.classes()[0].drops());
    assert_eq!((drops.marked, drops.by_color), (2, [0, 1, 1]));
    assert_eq!((drops.of(DropReason::Sojourn), stats.dropped.packets), (2, 2));
    assert!(drops.conserved(stats.dropped) && !drops.conserved(Backlog::default()));
    assert!(DropReason::ALL.iter().enumerate().all(|(number, &why)| why as usize == number));
    assert_eq!(sink.of(Event::Marked).map(id).collect::<Vec<_>>(), [1, 4]);
}

#[test]
fn a_packet_that_no_class_takes_is_dropped_at_the_port() {
    let selectors: [&[Selector]; 1] = [&[Selector::PureAck]];
    let class = Class::new(SiteId(0), Box::new(Fifo::new(SiteId(0), LIMIT)));
    let classifier = Box::new(KindClassifier::new(selectors));
    let mut port = Port::new(PORT, classifier, vec![class], Box::new(StrictPriority));
    let mut sink = Recorder::default();
    port.enqueue(NOW, TestPacket::data(1), &mut sink);
    assert_eq!(sink.events.len(), 1);
    assert_eq!((sink.events[0].event, sink.events[0].site), (Event::Dropped(DropReason::Unclassified), PORT));
    assert_eq!(port.classes()[0].stats().offered, Backlog::default());
}
