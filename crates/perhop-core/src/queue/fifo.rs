//! First in, first out; an arrival that would exceed the limit is dropped (drop-tail).
//!
//! Source: Kalampoukas, Varma, Ramakrishnan 1997, section 2 (the common queue of the IP layer).
//! Different: nothing. Units: the limit is in packets or in bytes, the packet on the wire not counted.
//! Cost: one ring-buffer push or pop.

use super::{AckFilter, Backlog, FlowQueue, Queue};
use crate::inline_queue::InlineQueue;
use crate::packet::{Meta, Packet};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::units::{Bytes, QueueSize};

/// A drop-tail queue.
#[derive(Clone, Debug)]
pub struct Fifo<P> {
    site: SiteId,
    ack_filter: Option<AckFilter>,
    limit: QueueSize,
    packets: InlineQueue<P>,
    bytes: Bytes,
}

impl<P: Packet> Fifo<P> {
    /// An empty queue that holds up to `limit`; drops are reported as from `site`.
    #[must_use]
    pub const fn new(site: SiteId, limit: QueueSize) -> Self {
        Self { site, ack_filter: None, limit, packets: InlineQueue::new(), bytes: Bytes(0) }
    }

    /// With an ACK filter, or without.
    #[must_use]
    pub fn filtering(self, ack_filter: Option<AckFilter>) -> Self {
        Self { ack_filter, ..self }
    }

    /// Where drops are reported.
    pub(super) const fn site(&self) -> SiteId {
        self.site
    }

    /// Drops an acknowledgment that `arrival` makes redundant, if that has room then.
    #[inline]
    pub(super) fn filter(&mut self, now: Instant, arrival: &P, sink: &mut dyn Sink<P>) {
        if let Some(filter) = self.ack_filter {
            self.drop_redundant(now, filter, arrival, sink);
        }
    }

    #[cold]
    fn drop_redundant(&mut self, now: Instant, filter: AckFilter, arrival: &P, sink: &mut dyn Sink<P>) {
        let Some(at) = filter.redundant(self.packets.iter(), arrival) else { return };
        let mut left = self.backlog();
        if let Some(older) = self.packets.iter().nth(at) {
            left.remove(older.meta().len);
        }
        if left.has_room(self.limit, arrival.meta().len)
            && let Some(older) = self.packets.remove(at)
        {
            self.bytes = left.bytes;
            sink.dropped(now, self.site, older, DropReason::AckFilter);
        }
    }

    /// Accepts `pkt`, for which there is room.
    // inlined with its `push_back`, it saves five instructions a hop of dumbbell-100
    #[inline(always)]
    pub(crate) fn push(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        pkt.meta_mut().enqueued_at = now;
        sink.enqueued(now, self.site, pkt.meta());
        self.bytes += pkt.meta().len;
        self.packets.push_back(pkt);
    }

    /// Takes out the first packet.
    #[inline]
    pub(crate) fn pop(&mut self) -> Option<P> {
        let pkt = self.packets.pop_front()?;
        self.bytes -= pkt.meta().len;
        Some(pkt)
    }

    /// Whether nothing waits.
    #[inline]
    pub(crate) const fn is_empty(&self) -> bool {
        self.packets.is_empty()
    }

    /// Whether nothing waits and a packet of length `len` would be accepted: there is nothing to drop for it.
    #[inline]
    pub(crate) fn takes_at_once(&self, len: Bytes) -> bool {
        self.packets.is_empty() && self.ever_has_room_for(len)
    }

    /// Whether a packet of length `len` would be accepted.
    #[inline]
    pub(super) fn has_room_for(&self, len: Bytes) -> bool {
        self.backlog().has_room(self.limit, len)
    }

    /// Whether a packet of length `len` would be accepted where nothing else waits.
    #[inline]
    pub(super) fn ever_has_room_for(&self, len: Bytes) -> bool {
        Backlog::default().has_room(self.limit, len)
    }
}

impl<P: Packet> Queue<P> for Fifo<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        self.filter(now, &pkt, sink);
        if !self.has_room_for(pkt.meta().len) {
            sink.dropped(now, self.site, pkt, DropReason::Overflow);
            return;
        }
        self.push(now, pkt, sink);
    }

    fn dequeue(&mut self, _now: Instant, _sink: &mut dyn Sink<P>) -> Option<P> {
        self.pop()
    }

    fn peek(&self) -> Option<&Meta> {
        self.packets.front().map(Packet::meta)
    }

    fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

impl<P: Packet> FlowQueue<P> for Fifo<P> {
    fn dequeue_beside(
        &mut self,
        _now: Instant,
        _others: Option<Bytes>,
        _sink: &mut dyn Sink<P>,
    ) -> Option<P> {
        self.pop()
    }

    fn evict(&mut self, _now: Instant, _counts: bool) -> Option<P> {
        self.pop()
    }
}
