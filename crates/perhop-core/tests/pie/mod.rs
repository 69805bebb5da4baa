//! PIE: by the clauses of RFC 8033 and 8034, against their pseudo-code, against Linux.

mod clauses;
mod docsis;
pub mod linux;
mod pseudocode;

use perhop_core::packet::Ecn;
use perhop_core::queue::{PieParams, Queue};
use perhop_core::sink::DropReason;
use perhop_core::time::Instant;
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

/// The RFC's defaults; packets of these tests have 1000 bytes.
const PARAMS: PieParams = PieParams { limit: QueueSize::Packets(2000), ..published::PIE };

fn ms(ms: u64) -> Instant {
    Instant::from_nanos(ms * 1_000_000)
}

/// A queue, what it told, and a clock that serves its deadlines.
struct Bench<Q> {
    queue: Q,
    sink: Recorder,
    now: Instant,
    next: u32,
}

impl<Q: Queue<TestPacket>> Bench<Q> {
    fn new(queue: Q) -> Self {
        Self { queue, sink: Recorder::default(), now: Instant::ZERO, next: 0 }
    }

    /// Time passes; updates that are due by then are made.
    fn until(&mut self, at: Instant) {
        while let Some(due) = self.queue.next_timeout().filter(|due| *due <= at) {
            self.queue.on_timeout(due, &mut self.sink);
        }
        self.now = at;
    }

    /// `n` packets arrive; how many of them were accepted.
    fn arrive(&mut self, n: u32) -> usize {
        self.arrive_as(n, 1000, Ecn::NotEct)
    }

    fn arrive_as(&mut self, n: u32, len: u64, ecn: Ecn) -> usize {
        let before = self.queue.backlog().packets;
        for _ in 0..n {
            self.queue.enqueue(self.now, TestPacket::data(self.next).len(len).ecn(ecn), &mut self.sink);
            self.next += 1;
        }
        (self.queue.backlog().packets - before) as usize
    }

    fn leave(&mut self) -> Option<TestPacket> {
        self.queue.dequeue(self.now, &mut self.sink)
    }

    fn early(&self) -> usize {
        self.sink.of(Event::Dropped(DropReason::Early)).count()
    }
}
