//! Laws of [`Queue`].

use arbitrary::Arbitrary;
use perhop_core::packet::{Color, Dscp, Ecn, Meta, Packet};
use perhop_core::port::{Class, Port};
use perhop_core::queue::{AnyQueue, Backlog, Queue};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use proptest::prelude::*;

use crate::packet::{AF11, AF12, AF13, TestPacket, id};
use crate::sink::{Event, Recorder, count};

const SITE: SiteId = SiteId(7);
const FLOWS: u8 = 4;
const LARGEST: u16 = 1500;
const MARKS: [Dscp; 4] = [Dscp::DEFAULT, AF11, AF12, AF13];
const ECN: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// Something done to a queue.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub enum Op {
    /// A packet arrives.
    Enqueue {
        /// Modulo 4.
        flow: u8,
        /// Modulo 1500, plus one byte.
        len: u16,
        /// Whether a meter found it out of profile.
        red: bool,
        /// Two bits choose the DS field among the default and AF11 to AF13, the next two the ECN field.
        mark: u8,
    },
    /// The link is idle.
    Dequeue,
    /// Time passes, in ns.
    Wait(u32),
}

/// Random operations, arrivals a little more frequent than departures.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let len = prop_oneof![Just(27), Just(LARGEST - 1), 0..LARGEST];
    let op = prop_oneof![
        5 => (0..FLOWS, len, prop::bool::weighted(0.1), 0u8..16)
            .prop_map(|(flow, len, red, mark)| Op::Enqueue { flow, len, red, mark }),
        3 => Just(Op::Dequeue),
        2 => (0u32..200_000_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..200)
}

/// The packet of an [`Op::Enqueue`].
fn packet(number: u32, flow: u8, len: u16, red: bool, mark: u8) -> TestPacket {
    TestPacket::data(number)
        .flow(u32::from(flow % FLOWS))
        .len(u64::from(len % LARGEST) + 1)
        .color(if red { Color::Red } else { Color::Green })
        .dscp(MARKS[usize::from(mark) % 4])
        .ecn(ECN[usize::from(mark) / 4 % 4])
}

/// State that a queue let an outsider see after an operation.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Seen {
    out: Option<Meta>,
    head: Option<Meta>,
    backlog: Backlog,
    deadline: Option<Instant>,
}

/// All that a queue answered and told its sink.
pub type Transcript = (Vec<Seen>, Recorder);

/// The promises that a queue is held to.
#[derive(Clone, Copy, Debug)]
pub struct Keeps {
    /// Most that waits in it.
    pub limit: QueueSize,
    /// The queue within it that takes a packet, as it arrives: there a flow stays in order.
    pub within: fn(&Meta) -> u8,
    /// Whether `peek` names the packet that leaves if none is dropped.
    pub peeks: bool,
}

/// Of a queue that is but one.
impl From<QueueSize> for Keeps {
    fn from(limit: QueueSize) -> Self {
        Self { limit, within: |_| 0, peeks: true }
    }
}

/// Packets and bytes are conserved, flows stay in order, the limit holds, times are right, every packet is accounted
/// for by the sink, marks are told, `peek` keeps its word, deadlines lie ahead and are known of from the start.
pub fn books_balance(
    build: impl Fn(SiteId) -> Box<dyn Queue<TestPacket>>,
    keeps: impl Into<Keeps>,
    ops: &[Op],
) -> Transcript {
    Walk::new(build(SITE), keeps.into(), false).run(ops)
}

/// Two queues built alike and treated alike answer alike.
pub fn repeats(build: impl Fn(SiteId) -> Box<dyn Queue<TestPacket>>, keeps: impl Into<Keeps>, ops: &[Op]) {
    let keeps = keeps.into();
    assert_eq!(books_balance(&build, keeps, ops), books_balance(&build, keeps, ops));
}

/// Calling `on_timeout` before its time changes nothing, then or later.
pub fn early_timeouts_change_nothing(
    build: impl Fn(SiteId) -> Box<dyn Queue<TestPacket>>,
    keeps: impl Into<Keeps>,
    ops: &[Op],
) {
    let keeps = keeps.into();
    let disturbed = Walk::new(build(SITE), keeps, true).run(ops);
    assert_eq!(disturbed, books_balance(build, keeps, ops));
}

/// A port with this queue counts what the queue tells: every drop under its reason and its colour, every mark.
pub fn a_port_counts_it_all(build: impl Fn(SiteId) -> Box<dyn Queue<TestPacket>>, ops: &[Op]) {
    let mut port = Port::single(Class::new(SITE, AnyQueue::Other(build(SITE))));
    let (mut now, mut number, mut sink) = (Instant::ZERO, 0, Recorder::default());
    for op in ops {
        match *op {
            Op::Enqueue { flow, len, red, mark } => {
                number += 1;
                port.enqueue(now, packet(number, flow, len, red, mark), &mut sink);
            }
            Op::Dequeue => drop(port.dequeue(now, &mut sink)),
            Op::Wait(ns) => {
                now += Span::from_nanos(u64::from(ns));
                port.on_timeout(now, &mut sink);
            }
        }
    }
    let (stats, drops) = (port.classes()[0].stats(), port.classes()[0].drops());
    let recorded = |event| sink.of(event).count() as u64;
    assert_eq!(
        (stats.sent.packets, drops.marked),
        (recorded(Event::Sent), recorded(Event::Marked)),
        "sent, marked"
    );
    for why in DropReason::ALL {
        assert_eq!(drops.of(why), recorded(Event::Dropped(why)), "dropped: {why:?}");
    }
    assert!(drops.conserved(stats.dropped) && stats.conserved(port.classes()[0].backlog()));
}

struct Walk {
    queue: Box<dyn Queue<TestPacket>>,
    keeps: Keeps,
    /// Call `on_timeout` after every operation, due or not.
    pester: bool,
    now: Instant,
    /// Packets that must be in the queue, in order of arrival.
    waiting: Vec<Meta>,
    /// In which queue within it each waits.
    places: Vec<u8>,
    offered: Backlog,
    gone: Backlog,
    seen: Vec<Seen>,
    sink: Recorder,
}

impl Walk {
    fn new(queue: Box<dyn Queue<TestPacket>>, keeps: Keeps, pester: bool) -> Self {
        Self {
            queue,
            keeps,
            pester,
            now: Instant::ZERO,
            waiting: Vec::new(),
            places: Vec::new(),
            offered: Backlog::default(),
            gone: Backlog::default(),
            seen: Vec::new(),
            sink: Recorder::default(),
        }
    }

    fn run(mut self, ops: &[Op]) -> Transcript {
        for op in ops {
            let out = match *op {
                Op::Enqueue { flow, len, red, mark } => self.enqueue(flow, len, red, mark),
                Op::Dequeue => self.dequeue(),
                Op::Wait(ns) => self.wait(Span::from_nanos(u64::from(ns))),
            };
            self.look(out);
        }
        while self.queue.backlog().packets > 0 {
            self.now = self.queue.not_before().map_or(self.now, |at| at.max(self.now));
            let out = self.dequeue();
            self.look(out);
        }
        (self.seen, self.sink)
    }

    fn enqueue(&mut self, flow: u8, len: u16, red: bool, mark: u8) -> Option<Meta> {
        let number = u32::try_from(self.offered.packets).expect("fewer operations than 2^32");
        let pkt = packet(number, flow, len, red, mark);
        let mut meta = Meta { enqueued_at: self.now, ..*pkt.meta() };
        count(&mut self.offered, &meta);
        let before = self.sink.events.len();
        self.queue.enqueue(self.now, pkt, &mut self.sink);
        let recorded = &self.sink.events[before..];
        let announced: Vec<Meta> =
            recorded.iter().filter(|h| h.event == Event::Enqueued).map(|h| h.meta).collect();
        // the queue may colour what arrives
        if let Some(first) = recorded.iter().find(|h| id(&h.meta) == number).map(|h| h.meta) {
            meta.color = first.color;
        }
        self.waiting.push(meta);
        self.places.push((self.keeps.within)(&meta));
        self.hear(before);
        if self.waiting.last().is_some_and(|last| id(last) == number) {
            assert_eq!(
                &announced[..],
                &self.waiting[self.waiting.len() - 1..],
                "an accepted packet is announced once, as it waits"
            );
        } else {
            assert!(announced.iter().all(|m| id(m) == number), "announced a packet that did not arrive");
        }
        None
    }

    fn dequeue(&mut self) -> Option<Meta> {
        let (head, opened) = (self.queue.peek().copied(), self.queue.not_before());
        let before = self.sink.events.len();
        let out = self.queue.dequeue(self.now, &mut self.sink);
        let dropped = self.hear(before);
        let Some(pkt) = out else {
            let held = self.queue.not_before().is_some_and(|at| at > self.now);
            assert!(
                held || dropped > 0 || self.waiting.is_empty(),
                "dequeue did nothing although packets wait"
            );
            return None;
        };
        let meta = *pkt.meta();
        assert!(opened.is_none_or(|at| at <= self.now), "a packet left before {opened:?}");
        if dropped == 0 && self.keeps.peeks {
            assert_eq!(head.as_ref().map(id), Some(id(&meta)), "dequeue and peek disagree");
        }
        assert_eq!(self.first_of(&meta).map(id), Some(id(&meta)), "a flow was reordered");
        self.strike(&meta);
        Some(meta)
    }

    /// The first of the packets that wait where `meta` does, and are of its flow.
    fn first_of(&self, meta: &Meta) -> Option<&Meta> {
        let place = self.places[self.waiting.iter().position(|m| id(m) == id(meta))?];
        let mut waiting = self.waiting.iter().zip(&self.places);
        waiting.find(|(m, at)| m.flow == meta.flow && **at == place).map(|(m, _)| m)
    }

    fn wait(&mut self, span: Span) -> Option<Meta> {
        let until = self.now + span;
        while let Some(at) = self.queue.next_timeout().filter(|&at| at <= until) {
            self.now = self.now.max(at);
            self.timeout();
            let next = self.queue.next_timeout();
            assert!(next.is_none_or(|at| at > self.now), "a deadline at {next:?} after {}", self.now);
        }
        self.now = until;
        None
    }

    fn timeout(&mut self) {
        let before = self.sink.events.len();
        self.queue.on_timeout(self.now, &mut self.sink);
        self.hear(before);
    }

    /// Notes in the books what the sink was told since it had heard `before` events: marks, and drops, which it counts.
    fn hear(&mut self, before: usize) -> usize {
        let mut dropped = 0;
        for at in before..self.sink.events.len() {
            let recorded = self.sink.events[at];
            assert_eq!(
                (recorded.at, recorded.site),
                (self.now, SITE),
                "it is told when and where it happens"
            );
            match recorded.event {
                Event::Dropped(_) => {
                    self.strike(&recorded.meta);
                    dropped += 1;
                }
                Event::Marked => self.mark(&recorded.meta),
                Event::Coloured | Event::Enqueued | Event::Sent => {}
            }
        }
        dropped
    }

    /// Notes that a packet which waits, or has just come, is marked.
    fn mark(&mut self, meta: &Meta) {
        let found = self.waiting.iter_mut().find(|m| id(m) == id(meta));
        let known = found.unwrap_or_else(|| panic!("a packet was marked that did not wait: {meta:?}"));
        assert!(matches!(known.ecn, Ecn::Ect0 | Ecn::Ect1), "{:?} cannot be marked", known.ecn);
        known.ecn = Ecn::Ce;
    }

    /// Removes a packet from the books; it must leave as it came, but for a mark that was told and, if it never waited, the
    /// time at which it would have begun to.
    fn strike(&mut self, meta: &Meta) {
        let found = self.waiting.iter().position(|m| id(m) == id(meta));
        let at = found.unwrap_or_else(|| panic!("a packet left that did not wait: {meta:?}"));
        let known = self.waiting.remove(at);
        self.places.remove(at);
        let waited = known.enqueued_at < self.now;
        let enqueued_at = if waited { known.enqueued_at } else { meta.enqueued_at };
        assert_eq!(*meta, Meta { enqueued_at, ..known }, "a packet changed while it waited");
        count(&mut self.gone, meta);
    }

    fn look(&mut self, out: Option<Meta>) {
        let seen = Seen {
            out,
            head: self.queue.peek().copied(),
            backlog: self.queue.backlog(),
            deadline: self.queue.next_timeout(),
        };
        let total = Backlog {
            packets: self.gone.packets + seen.backlog.packets,
            bytes: self.gone.bytes + seen.backlog.bytes,
        };
        assert_eq!(self.offered, total, "in = out + dropped + backlog");
        assert_eq!(seen.backlog.packets, self.waiting.len() as u64);
        let silent = seen.deadline.is_some() && !self.queue.has_deadlines();
        assert!(!silent, "a deadline at {:?} of a queue that has none", seen.deadline);
        match self.keeps.limit {
            QueueSize::Packets(limit) => {
                assert!(seen.backlog.packets <= limit, "{} > limit", seen.backlog.packets)
            }
            QueueSize::Bytes(limit) => {
                assert!(seen.backlog.bytes <= Bytes(limit), "{} > limit", seen.backlog.bytes)
            }
        }
        match seen.head {
            None => assert!(self.waiting.is_empty(), "peek finds nothing although packets wait"),
            Some(head) => {
                assert_eq!(
                    self.first_of(&head),
                    Some(&head),
                    "peek finds the first of a flow, with the time it was enqueued"
                );
            }
        }
        self.seen.push(seen);
        if self.pester && seen.deadline.is_none_or(|at| at > self.now) {
            self.timeout();
        }
    }
}

/// Makes the queue laws tests of one element, in a module `$name`.
///
/// `queue_laws!(fifo, |site| Box::new(Fifo::new(site, QueueSize::Packets(8))), limit = QueueSize::Packets(8));`
#[macro_export]
macro_rules! queue_laws {
    ($name:ident, $build:expr, limit = $limit:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn books_balance() {
                $crate::check(&$crate::laws::queue::ops(), |ops| {
                    $crate::laws::queue::books_balance($build, $limit, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::queue::ops(), |ops| {
                    $crate::laws::queue::repeats($build, $limit, &ops);
                });
            }

            #[test]
            fn a_port_counts_it_all() {
                $crate::check(&$crate::laws::queue::ops(), |ops| {
                    $crate::laws::queue::a_port_counts_it_all($build, &ops);
                });
            }

            #[test]
            fn early_timeouts_change_nothing() {
                $crate::check(&$crate::laws::queue::ops(), |ops| {
                    $crate::laws::queue::early_timeouts_change_nothing($build, $limit, &ops);
                });
            }
        }
    };
}
