//! A queue that drops and marks when a packet's turn comes, as CoDel does, and drops at a deadline: what a port and a
//! scheduler must be able to live with.

use perhop_core::packet::{Color, Ecn, Meta, Packet};
use perhop_core::queue::{Backlog, Fifo, Queue};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;

use crate::packet::TestPacket;

/// How long the first packet may wait.
pub const PATIENCE: Span = Span::from_millis(300);

/// A [`Fifo`] that drops red packets when their turn comes, marks the capable ones among the others, and drops all that
/// wait once the first has waited for [`PATIENCE`].
#[derive(Clone, Debug)]
pub struct AtItsTurn {
    site: SiteId,
    fifo: Fifo<TestPacket>,
}

impl AtItsTurn {
    /// An empty queue that holds up to `limit`.
    #[must_use]
    pub const fn new(site: SiteId, limit: QueueSize) -> Self {
        Self { site, fifo: Fifo::new(site, limit) }
    }
}

impl Queue<TestPacket> for AtItsTurn {
    fn enqueue(&mut self, now: Instant, pkt: TestPacket, sink: &mut dyn Sink<TestPacket>) {
        self.fifo.enqueue(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<TestPacket>) -> Option<TestPacket> {
        let mut pkt = self.fifo.dequeue(now, sink)?;
        if pkt.meta().color == Color::Red {
            sink.dropped(now, self.site, pkt, DropReason::Sojourn);
            return None;
        }
        if matches!(pkt.meta().ecn, Ecn::Ect0 | Ecn::Ect1) {
            pkt.meta_mut().ecn = Ecn::Ce;
            sink.marked(now, self.site, pkt.meta());
        }
        Some(pkt)
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn has_deadlines(&self) -> bool {
        true
    }

    fn next_timeout(&self) -> Option<Instant> {
        Some(self.fifo.peek()?.enqueued_at + PATIENCE)
    }

    fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<TestPacket>) {
        if self.next_timeout().is_some_and(|at| at <= now) {
            while let Some(pkt) = self.fifo.dequeue(now, sink) {
                sink.dropped(now, self.site, pkt, DropReason::Sojourn);
            }
        }
    }
}
