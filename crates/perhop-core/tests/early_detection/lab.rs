//! A queue on a bench: packets in, what became of them out.

use perhop_core::packet::{Color, Dscp, Ecn, Packet};
use perhop_core::queue::Queue;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Heard, Recorder};

pub const SITE: SiteId = SiteId(7);

/// What became of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fate {
    Accepted(Ecn),
    Dropped(DropReason),
}

pub const IN: Fate = Fate::Accepted(Ecn::NotEct);
pub const EARLY: Fate = Fate::Dropped(DropReason::Early);
pub const FORCED: Fate = Fate::Dropped(DropReason::Forced);
pub const OVERFLOW: Fate = Fate::Dropped(DropReason::Overflow);

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

    /// A packet arrives; its fate, and its colour as observers saw it.
    pub fn arrival(&mut self, pkt: impl FnOnce(u32) -> TestPacket) -> (Fate, Color) {
        let pkt = pkt(self.arrivals);
        let ecn = pkt.meta().ecn;
        self.arrivals += 1;
        self.queue.enqueue(self.now, pkt, &mut self.sink);
        let (heard, marked) = match self.sink.heard[..] {
            [heard] => (heard, false),
            [Heard { event: Event::Marked, .. }, heard] => (heard, true),
            _ => panic!("one end of one arrival: {:?}", self.sink),
        };
        assert_eq!((heard.at, heard.site), (self.now, SITE));
        assert_eq!(
            marked,
            heard.meta.ecn == Ecn::Ce && ecn != Ecn::Ce,
            "of every mark it tells, and of no other"
        );
        self.sink.heard.clear();
        let fate = match heard.event {
            Event::Enqueued => Fate::Accepted(heard.meta.ecn),
            Event::Dropped(why) => Fate::Dropped(why),
            other => panic!("{other:?}"),
        };
        (fate, heard.meta.color)
    }

    /// A packet of `len` bytes arrives.
    pub fn arrive(&mut self, len: u64) -> Fate {
        self.arrival(|id| TestPacket::data(id).len(len)).0
    }

    /// A packet of `len` bytes with this mark arrives.
    pub fn arrive_as(&mut self, dscp: Dscp, len: u64) -> Fate {
        self.arrival(|id| TestPacket::data(id).len(len).dscp(dscp)).0
    }

    /// A packet of `len` bytes with this ECN field arrives.
    pub fn arrive_with(&mut self, ecn: Ecn, len: u64) -> Fate {
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
