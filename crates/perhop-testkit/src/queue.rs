//! A queue that drops at departure, as CoDel does: what a port and a scheduler must be able to live with.

use perhop_core::packet::{Color, Meta, Packet};
use perhop_core::queue::{Backlog, Fifo, Queue};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use perhop_core::units::QueueSize;

use crate::packet::TestPacket;

/// A [`Fifo`] that drops red packets when their turn comes.
#[derive(Clone, Debug)]
pub struct DropsRed {
    site: SiteId,
    fifo: Fifo<TestPacket>,
}

impl DropsRed {
    /// An empty queue that holds up to `limit`.
    #[must_use]
    pub const fn new(site: SiteId, limit: QueueSize) -> Self {
        Self { site, fifo: Fifo::new(site, limit) }
    }
}

impl Timed for DropsRed {}

impl Queue<TestPacket> for DropsRed {
    fn enqueue(&mut self, now: Instant, pkt: TestPacket, sink: &mut dyn Sink<TestPacket>) {
        self.fifo.enqueue(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<TestPacket>) -> Option<TestPacket> {
        loop {
            let pkt = self.fifo.dequeue(now, sink)?;
            if pkt.meta().color != Color::Red {
                return Some(pkt);
            }
            sink.dropped(now, self.site, pkt, DropReason::Sojourn);
        }
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn take(&mut self, now: Instant, pred: &mut dyn FnMut(&Meta) -> bool) -> Option<TestPacket> {
        self.fifo.take(now, pred)
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }
}
