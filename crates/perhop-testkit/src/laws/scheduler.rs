//! Laws of [`Scheduler`], checked where it works: inside a [`Port`].

use arbitrary::Arbitrary;
use perhop_core::node::Departure;
use perhop_core::packet::{ClassId, Color, Ecn, Meta, Packet};
use perhop_core::port::{Class, Port};
use perhop_core::queue::Backlog;
use perhop_core::sched::{Heads, Scheduler, Select};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use proptest::prelude::*;

use crate::link::ByTrafficClass;
use crate::packet::{TestPacket, id};
use crate::queue::AtItsTurn;
use crate::sink::{Event, Recorder, count};

const LIMIT: QueueSize = QueueSize::Packets(8);
const LARGEST: u16 = 1500;

/// Something done to a port.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub enum Op {
    /// A packet arrives.
    Enqueue {
        /// Modulo the number of classes.
        class: u8,
        /// Modulo 1500, plus one byte.
        len: u16,
        /// Its queue will drop it when its turn comes.
        red: bool,
        /// Else it will mark it.
        capable: bool,
    },
    /// The link is idle.
    Dequeue,
    /// Time passes, in ns.
    Wait(u32),
}

/// Random operations, arrivals a little more frequent than departures.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let len = prop_oneof![Just(27), Just(LARGEST - 1), 0..LARGEST];
    let red = prop::bool::weighted(0.1);
    let op = prop_oneof![
        5 => (any::<u8>(), len, red, any::<bool>())
            .prop_map(|(class, len, red, capable)| Op::Enqueue { class, len, red, capable }),
        4 => Just(Op::Dequeue),
        1 => (0u32..200_000_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..200)
}

/// Packets that left the port, in order, and all events at its sink.
pub type Transcript = (Vec<Meta>, Recorder);

/// Only a class with a head is served; the link idles only if nothing waits or until a time ahead; packets are
/// conserved and stay in order within their class; asking twice gives the same answer; a time to wait for is kept to,
/// neither put off nor brought forward while the heads stay the same.
pub fn serves_what_waits(build: impl Fn() -> Box<dyn Scheduler>, classes: u16, ops: &[Op]) -> Transcript {
    Walk::new(build(), classes, true).run(ops)
}

/// Two schedulers built alike and treated alike answer alike, even if one is asked more often.
pub fn repeats(build: impl Fn() -> Box<dyn Scheduler>, classes: u16, ops: &[Op]) {
    let once = Walk::new(build(), classes, false).run(ops);
    assert_eq!(once, Walk::new(build(), classes, false).run(ops));
    assert_eq!(once, serves_what_waits(build, classes, ops), "asking without serving changed something");
}

/// Stands between port and scheduler and checks what passes.
struct Watched {
    inner: Box<dyn Scheduler>,
    ask_twice: bool,
    chosen: Option<ClassId>,
    /// Whether each class has a packet, by what was told.
    waits: Vec<bool>,
    /// The time that was named, and the heads then.
    promise: Option<(Instant, Vec<Option<Meta>>)>,
}

impl Watched {
    fn new(inner: Box<dyn Scheduler>, classes: u16, ask_twice: bool) -> Self {
        Self { inner, ask_twice, chosen: None, waits: vec![false; usize::from(classes)], promise: None }
    }

    /// A time that was named is held: until then the same answer, and from then on a class to serve.
    fn keeps_its_promise(&mut self, now: Instant, answer: Select, heads: Vec<Option<Meta>>) {
        if let Some((at, before)) = self.promise.take()
            && before == heads
        {
            match answer {
                Select::NotBefore(again) => assert!(now < at && again == at, "waits for {again}, not {at}"),
                _ => assert!(now >= at, "serves at {now}, not at {at}"),
            }
        }
        if let Select::NotBefore(at) = answer {
            self.promise = Some((at, heads));
        }
    }
}

impl Scheduler for Watched {
    fn on_enqueued(&mut self, now: Instant, class: ClassId, meta: &Meta) {
        self.waits[usize::from(class.0)] = true;
        self.inner.on_enqueued(now, class, meta);
    }

    fn on_emptied(&mut self, now: Instant, class: ClassId) {
        self.waits[usize::from(class.0)] = false;
        self.inner.on_emptied(now, class);
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let answer = self.inner.select(now, heads);
        if self.ask_twice {
            assert_eq!(self.inner.select(now, heads), answer, "asked twice");
        }
        let all: Vec<Option<Meta>> = (0..heads.classes()).map(|c| heads.head(ClassId(c)).copied()).collect();
        assert!(all.iter().map(Option::is_some).eq(self.waits.iter().copied()), "not told of every change");
        let waits = self.waits.contains(&true);
        self.keeps_its_promise(now, answer, all);
        match answer {
            Select::Serve(class) => assert!(heads.head(class).is_some(), "{class:?} has no packet"),
            Select::NotBefore(at) => assert!(waits && at > now, "waits until {at} at {now}"),
            Select::Idle => assert!(!waits, "idle although packets wait"),
        }
        self.chosen = if let Select::Serve(class) = answer { Some(class) } else { None };
        answer
    }

    fn on_served(&mut self, now: Instant, class: ClassId, served: &Meta) {
        assert_eq!(self.chosen.take(), Some(class), "another class is served than was chosen");
        self.inner.on_served(now, class, served);
    }
}

#[derive(Default)]
struct Books {
    waiting: Vec<Meta>,
    offered: Backlog,
    sent: Backlog,
    dropped: Backlog,
    overflows: u64,
    marked: u64,
}

impl Books {
    /// Removes `meta` from what waits and returns how many of its class were in front of it.
    fn strike(&mut self, meta: &Meta) -> usize {
        let found = self.waiting.iter().position(|m| id(m) == id(meta));
        let at = found.unwrap_or_else(|| panic!("a packet left that did not wait: {meta:?}"));
        self.waiting.remove(at);
        at
    }
}

struct Walk {
    port: Port<TestPacket>,
    books: Vec<Books>,
    now: Instant,
    number: u32,
    left: Vec<Meta>,
    sink: Recorder,
}

impl Walk {
    fn new(inner: Box<dyn Scheduler>, classes: u16, ask_twice: bool) -> Self {
        let queue = |c: u16| {
            let site = SiteId(u32::from(c));
            Class::new(site, Box::new(AtItsTurn::new(site, LIMIT)))
        };
        let scheduler = Box::new(Watched::new(inner, classes, ask_twice));
        let port = Port::new(
            SiteId(u32::MAX),
            Box::new(ByTrafficClass),
            (0..classes).map(queue).collect(),
            scheduler,
        );
        Self {
            port,
            books: (0..classes).map(|_| Books::default()).collect(),
            now: Instant::ZERO,
            number: 0,
            left: Vec::new(),
            sink: Recorder::default(),
        }
    }

    fn run(mut self, ops: &[Op]) -> Transcript {
        let classes = self.books.len();
        for op in ops {
            match *op {
                Op::Enqueue { class, len, red, capable } => {
                    self.enqueue(usize::from(class) % classes, len, red, capable);
                }
                Op::Dequeue => {
                    self.dequeue();
                }
                Op::Wait(ns) => self.wait(Span::from_nanos(u64::from(ns))),
            }
            self.balance();
        }
        while !self.port.is_empty() {
            if let Some(at) = self.dequeue() {
                self.wait(at.saturating_since(self.now));
            }
            self.balance();
        }
        (self.left, self.sink)
    }

    fn enqueue(&mut self, class: usize, len: u16, red: bool, capable: bool) {
        let color = if red { Color::Red } else { Color::Green };
        let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
        let number = u8::try_from(class).expect("fewer than 256 classes");
        let len = u64::from(len % LARGEST) + 1;
        let pkt = TestPacket::data(self.number).class(number).len(len).color(color).ecn(ecn);
        self.number += 1;
        let books = &mut self.books[class];
        count(&mut books.offered, pkt.meta());
        books.waiting.push(*pkt.meta());
        let before = self.sink.events.len();
        self.port.enqueue(self.now, pkt, &mut self.sink);
        self.hear(before);
    }

    /// Returns the time to wait for, if the port named one.
    fn dequeue(&mut self) -> Option<Instant> {
        let before = self.sink.events.len();
        let departure = self.port.dequeue(self.now, &mut self.sink);
        self.hear(before);
        match departure {
            Departure::Packet(pkt) => {
                let books = &mut self.books[usize::from(pkt.meta().class.0)];
                assert_eq!(books.strike(pkt.meta()), 0, "a class was reordered");
                count(&mut books.sent, pkt.meta());
                self.left.push(*pkt.meta());
                None
            }
            Departure::NotBefore(at) => Some(at),
            Departure::Empty => {
                assert!(self.books.iter().all(|b| b.waiting.is_empty()), "empty although packets wait");
                None
            }
        }
    }

    /// As a node does: it serves the deadlines of its ports as they come.
    fn wait(&mut self, span: Span) {
        let until = self.now + span;
        while let Some(at) = self.port.next_timeout().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            let before = self.sink.events.len();
            self.port.on_timeout(self.now, &mut self.sink);
            self.hear(before);
            assert!(self.port.next_timeout().is_none_or(|at| at > self.now), "a deadline was not served");
        }
        self.now = until;
    }

    /// Writes down what the sink was told since it had heard `before` events.
    fn hear(&mut self, before: usize) {
        for recorded in &self.sink.events[before..] {
            let books = &mut self.books[usize::from(recorded.meta.class.0)];
            match recorded.event {
                Event::Dropped(why) => {
                    books.strike(&recorded.meta);
                    count(&mut books.dropped, &recorded.meta);
                    books.overflows += u64::from(why == DropReason::Overflow);
                }
                Event::Marked => books.marked += 1,
                Event::Coloured | Event::Enqueued | Event::Sent => {}
            }
        }
    }

    fn balance(&self) {
        for (class, books) in self.port.classes().iter().zip(&self.books) {
            let (stats, drops) = (class.stats(), class.drops());
            assert!(stats.conserved(class.backlog()), "in = out + dropped + backlog: {stats:?}");
            assert!(drops.conserved(stats.dropped), "a drop without a reason: {drops:?}");
            assert_eq!(class.backlog().packets, books.waiting.len() as u64);
            assert_eq!(
                (stats.offered, stats.sent, stats.dropped),
                (books.offered, books.sent, books.dropped)
            );
            let late = books.dropped.packets - books.overflows;
            assert_eq!(
                (drops.of(DropReason::Overflow), drops.of(DropReason::Sojourn), drops.marked),
                (books.overflows, late, books.marked),
                "dropped for want of room, for waiting, and marked at their turn"
            );
        }
    }
}

/// Makes the scheduler laws tests of one element, in a module `$name`.
///
/// `scheduler_laws!(strict_priority, || Box::new(StrictPriority), classes = 3);`
#[macro_export]
macro_rules! scheduler_laws {
    ($name:ident, $build:expr, classes = $classes:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn serves_what_waits() {
                $crate::check(&$crate::laws::scheduler::ops(), |ops| {
                    $crate::laws::scheduler::serves_what_waits($build, $classes, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::scheduler::ops(), |ops| {
                    $crate::laws::scheduler::repeats($build, $classes, &ops);
                });
            }
        }
    };
}
