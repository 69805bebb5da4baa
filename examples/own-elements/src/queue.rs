//! A FIFO that drops from the front: an arrival that finds no room pushes out those that have waited longest.
//!
//! Source: Lakshman, Neidhardt and Ott 1996, "The drop from front strategy in TCP and in TCP over ATM": a sender hears
//! of a loss earlier, by the time that the queue takes to empty. Different: the limit may be in bytes, and a packet that
//! is longer than the whole queue is dropped itself.
//! Units: the limit is in packets or in bytes, the packet on the wire not counted. Cost: one push, and a pop for each drop.

use std::collections::VecDeque;

use perhop_core::packet::{Meta, Packet};
use perhop_core::param_error::ParamError;
use perhop_core::queue::{Backlog, Queue};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};

/// What a [`DropFront`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct DropFrontParams {
    /// Most that may wait.
    pub limit: QueueSize,
}

/// A queue that drops its oldest packets.
#[derive(Clone, Debug)]
pub struct DropFront<P> {
    site: SiteId,
    limit: QueueSize,
    packets: VecDeque<P>,
    bytes: Bytes,
}

impl<P: Packet> DropFront<P> {
    /// An empty queue; drops are reported as from `site`.
    ///
    /// # Errors
    /// Refuses a limit of zero.
    pub fn new(site: SiteId, params: DropFrontParams) -> Result<Self, ParamError> {
        match params.limit {
            QueueSize::Packets(0) | QueueSize::Bytes(0) => Err(ParamError::new("limit", "must exceed 0")),
            limit => Ok(Self { site, limit, packets: VecDeque::new(), bytes: Bytes(0) }),
        }
    }

    /// Whether a packet of `len` fits beside `waiting`.
    fn fits(&self, len: Bytes, waiting: Backlog) -> bool {
        match self.limit {
            QueueSize::Packets(limit) => waiting.packets < limit,
            QueueSize::Bytes(limit) => (waiting.bytes + len).0 <= limit,
        }
    }
}

impl<P: Packet> Queue<P> for DropFront<P> {
    fn enqueue(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        let len = pkt.meta().len;
        if !self.fits(len, Backlog::default()) {
            return sink.dropped(now, self.site, pkt, DropReason::Overflow);
        }
        while !self.fits(len, self.backlog())
            && let Some(oldest) = self.dequeue(now, sink)
        {
            sink.dropped(now, self.site, oldest, DropReason::Overflow);
        }
        pkt.meta_mut().enqueued_at = now;
        sink.enqueued(now, self.site, pkt.meta());
        self.bytes += len;
        self.packets.push_back(pkt);
    }

    fn dequeue(&mut self, _now: Instant, _sink: &mut dyn Sink<P>) -> Option<P> {
        let pkt = self.packets.pop_front()?;
        self.bytes -= pkt.meta().len;
        Some(pkt)
    }

    fn peek(&self) -> Option<&Meta> {
        self.packets.front().map(Packet::meta)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}
