//! A queue on a bench: packets in, what became of them out.

use perhop_core::packet::{Color, Dscp, Ecn, Packet};
use perhop_core::queue::Queue;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, RecordedEvent, Recorder};

pub const SITE: SiteId = SiteId(7);

/// What became of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Outcome {
    Accepted(Ecn),
    Dropped(DropReason),
}

pub const IN: Outcome = Outcome::Accepted(Ecn::NotEct);
pub const EARLY: Outcome = Outcome::Dropped(DropReason::Early);
pub const FORCED: Outcome = Outcome::Dropped(DropReason::Forced);
pub const OVERFLOW: Outcome = Outcome::Dropped(DropReason::Overflow);

pub struct Lab<Q> {
    pub queue: Box<Q>,
    pub now: Instant,
    sink: Recorder,
    arrivals: u32,
}

impl<Q: Queue<TestPacket>> Lab<Q> {
    pub fn new(queue: Box<Q>) -> Self {
        Self { queue, now: Instant::ZERO, sink: Recorder::default(), arrivals: 0 }
    }

    pub fn pass(&mut self, span: Span) {
        self.now += span;
    }

    /// A packet arrives; its outcome, and its colour as observers saw it.
    pub fn arrival(&mut self, pkt: impl FnOnce(u32) -> TestPacket) -> (Outcome, Color) {
        let pkt = pkt(self.arrivals);
        let ecn = pkt.meta().ecn;
        self.arrivals += 1;
        self.queue.enqueue(self.now, pkt, &mut self.sink);
        let (recorded, marked) = match self.sink.events[..] {
            [recorded] => (recorded, false),
            [RecordedEvent { event: Event::Marked, .. }, recorded] => (recorded, true),
            _ => panic!("one end of one arrival: {:?}", self.sink),
        };
        assert_eq!((recorded.at, recorded.site), (self.now, SITE));
        assert_eq!(
            marked,
            recorded.meta.ecn == Ecn::Ce && ecn != Ecn::Ce,
            "of every mark it tells, and of no other"
        );
        self.sink.events.clear();
        let outcome = match recorded.event {
            Event::Enqueued => Outcome::Accepted(recorded.meta.ecn),
            Event::Dropped(why) => Outcome::Dropped(why),
            other => panic!("{other:?}"),
        };
        (outcome, recorded.meta.color)
    }

    /// A packet of `len` bytes arrives.
    pub fn arrive(&mut self, len: u64) -> Outcome {
        self.arrival(|id| TestPacket::data(id).len(len)).0
    }

    /// A packet of `len` bytes with this mark arrives.
    pub fn arrive_as(&mut self, dscp: Dscp, len: u64) -> Outcome {
        self.arrival(|id| TestPacket::data(id).len(len).dscp(dscp)).0
    }

    /// A packet of `len` bytes with this ECN field arrives.
    pub fn arrive_with(&mut self, ecn: Ecn, len: u64) -> Outcome {
        self.arrival(|id| TestPacket::data(id).len(len).ecn(ecn)).0
    }

    pub fn depart(&mut self) -> Option<TestPacket> {
        self.queue.dequeue(self.now, &mut self.sink)
    }

    pub fn empty(&mut self) {
        while self.depart().is_some() {}
    }
}

/// Whether `measured` is `expected` but for rounding.
#[track_caller]
pub fn close(measured: &[f64], expected: &[f64]) {
    let near = |(a, b): (&f64, &f64)| (a - b).abs() <= 1e-12 * b.abs().max(1.0);
    assert!(
        measured.len() == expected.len() && measured.iter().zip(expected).all(near),
        "{measured:?} is not {expected:?}"
    );
}
