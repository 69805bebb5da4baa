//! Any queue: the common ones in place, others behind a pointer.
//!
//! A port that holds its queue in place touches two cache lines fewer for each packet, which is what a hop costs where
//! thousands of flows share the machine.

use super::{Backlog, EarlyState, Fifo, Queue};
use crate::packet::{Meta, Packet};
use crate::sink::Sink;
use crate::time::Instant;

/// A queue of any kind.
pub enum AnyQueue<P: Packet> {
    /// Drop-tail.
    Fifo(Fifo<P>),
    /// Any other.
    Other(Box<dyn Queue<P>>),
}

impl<P: Packet> From<Fifo<P>> for AnyQueue<P> {
    fn from(queue: Fifo<P>) -> Self {
        Self::Fifo(queue)
    }
}

impl<P: Packet, Q: Queue<P> + 'static> From<Box<Q>> for AnyQueue<P> {
    fn from(queue: Box<Q>) -> Self {
        Self::Other(queue)
    }
}

impl<P: Packet> AnyQueue<P> {
    fn get(&self) -> &dyn Queue<P> {
        match self {
            Self::Fifo(queue) => queue,
            Self::Other(queue) => &**queue,
        }
    }
}

impl<P: Packet> Queue<P> for AnyQueue<P> {
    #[inline]
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        match self {
            Self::Fifo(queue) => queue.enqueue(now, pkt, sink),
            Self::Other(queue) => queue.enqueue(now, pkt, sink),
        }
    }

    #[inline]
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        match self {
            Self::Fifo(queue) => queue.dequeue(now, sink),
            Self::Other(queue) => queue.dequeue(now, sink),
        }
    }

    fn peek(&self) -> Option<&Meta> {
        self.get().peek()
    }

    #[inline]
    fn backlog(&self) -> Backlog {
        match self {
            Self::Fifo(queue) => queue.backlog(),
            Self::Other(queue) => queue.backlog(),
        }
    }

    fn not_before(&self) -> Option<Instant> {
        self.get().not_before()
    }

    fn has_deadlines(&self) -> bool {
        self.get().has_deadlines()
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.get().next_timeout()
    }

    fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        match self {
            Self::Fifo(queue) => queue.on_timeout(now, sink),
            Self::Other(queue) => queue.on_timeout(now, sink),
        }
    }

    fn early_states(&self) -> Vec<EarlyState> {
        self.get().early_states()
    }
}
