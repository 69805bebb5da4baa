//! A class of a port: a queue, and the counting of what passes through it.

use core::array;

use crate::packet::{Color, Kind, Meta, Packet};
use crate::queue::{AnyQueue, Backlog, EarlyState, Queue};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::units::Bytes;
use crate::waits::Waits;

/// Counters of one class since the start of the run; the largest backlogs since [`Port::restart`](super::Port::restart).
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct ClassStats {
    /// Offered to the queue.
    pub offered: Backlog,
    /// Handed to the link.
    pub sent: Backlog,
    /// Dropped by the queue, at arrival or later.
    pub dropped: Backlog,
    /// Largest backlog in packets.
    pub max_packets: u64,
    /// Packets with data that wait now.
    pub data_packets: u64,
    /// Largest number of packets with data that waited.
    pub max_data_packets: u64,
}

/// Packets that a queue dropped, by colour and by reason. A queue that looks at no colours leaves them as the last meter or
/// queue said, or green.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DropStats {
    /// Dropped while green, yellow, red.
    pub by_color: [u64; 3],
    /// Dropped for each reason, by its number; see [`DropStats::of`].
    by_reason: [u64; DropReason::COUNT],
    /// Not dropped: marked by the queue instead (CE, RFC 3168 section 5).
    pub marked: u64,
}

impl DropStats {
    /// Dropped for this reason.
    #[must_use]
    pub const fn of(&self, why: DropReason) -> u64 {
        self.by_reason[why as usize]
    }

    /// Dropped for any reason.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.by_reason.iter().sum()
    }

    /// Dropped for a reason that no queue of perhop has.
    #[must_use]
    pub fn other(&self) -> u64 {
        use DropReason::{AckFilter, Early, Forced, Overflow, Sojourn};
        let ours = [Early, Forced, Overflow, Sojourn, AckFilter];
        self.dropped() - ours.map(|why| self.of(why)).iter().sum::<u64>()
    }

    /// The counts after `before`.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            by_color: array::from_fn(|color| self.by_color[color] - before.by_color[color]),
            by_reason: array::from_fn(|why| self.by_reason[why] - before.by_reason[why]),
            marked: self.marked - before.marked,
        }
    }

    /// Whether every one of `dropped` packets has a colour and a reason.
    #[must_use]
    pub fn conserved(&self, dropped: Backlog) -> bool {
        self.dropped() == dropped.packets && self.by_color.iter().sum::<u64>() == dropped.packets
    }

    /// Counts a drop.
    pub const fn count(&mut self, color: Color, why: DropReason) {
        self.by_color[color as usize] += 1;
        self.by_reason[why as usize] += 1;
    }
}

impl ClassStats {
    /// The counts after `before`; the backlog and the largest ones stay as they are.
    #[must_use]
    pub fn since(&self, before: &Self) -> Self {
        Self {
            offered: self.offered - before.offered,
            sent: self.sent - before.sent,
            dropped: self.dropped - before.dropped,
            ..*self
        }
    }

    /// Whether offered = sent + dropped + `backlog`, in packets and in bytes.
    #[must_use]
    pub fn conserved(&self, backlog: Backlog) -> bool {
        let sum = [self.sent, self.dropped, backlog].iter().fold(Backlog::default(), |a, b| Backlog {
            packets: a.packets + b.packets,
            bytes: a.bytes + b.bytes,
        });
        sum == self.offered
    }
}

/// The counters of [`ClassStats`] that packets change on their way.
#[derive(Default)]
struct Passed {
    offered: Backlog,
    sent: Backlog,
    max_packets: u64,
    data_packets: u64,
    max_data_packets: u64,
}

impl Passed {
    fn left(&mut self, meta: &Meta) {
        self.data_packets -= u64::from(meta.kind == Kind::Data);
    }
}

/// Counters that a packet which finds queue and link idle does not change.
#[derive(Default)]
struct Waiting {
    waits: Waits,
    dropped: Backlog,
    drops: DropStats,
}

/// A class of a port: its queue and what passed through it.
pub struct Class<P: Packet> {
    site: SiteId,
    pub(super) queue: AnyQueue<P>,
    passed: Passed,
    /// Made when the first packet waits, or is dropped or marked; apart, so that the rest touches fewer cache lines.
    waiting: Option<Box<Waiting>>,
}

impl<P: Packet> Class<P> {
    /// A class whose packets wait in `queue`, known to observers as `site`.
    #[must_use]
    pub fn new(site: SiteId, queue: impl Into<AnyQueue<P>>) -> Self {
        Self { site, queue: queue.into(), passed: Passed::default(), waiting: None }
    }

    /// The class as observers know it.
    #[must_use]
    pub const fn site(&self) -> SiteId {
        self.site
    }

    /// Counters since the start of the run.
    #[must_use]
    pub fn stats(&self) -> ClassStats {
        let Passed { offered, sent, max_packets, data_packets, max_data_packets } = self.passed;
        let dropped = self.waiting.as_ref().map(|waiting| waiting.dropped).unwrap_or_default();
        ClassStats { offered, sent, dropped, max_packets, data_packets, max_data_packets }
    }

    /// The state of its queue's early detection.
    #[must_use]
    pub fn early_states(&self) -> Vec<EarlyState> {
        self.queue.early_states()
    }

    /// Dropped packets by colour and reason, since the start of the run.
    #[must_use]
    pub fn drops(&self) -> DropStats {
        self.waiting.as_ref().map(|waiting| waiting.drops).unwrap_or_default()
    }

    /// The backlog.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        self.queue.backlog()
    }

    /// The waits of packets since [`Port::restart`](super::Port::restart), or the start of the run.
    #[must_use]
    pub fn waits(&self) -> Waits {
        self.waiting.as_ref().map(|waiting| waiting.waits).unwrap_or_default()
    }

    /// The largest backlogs are from here on those of what follows, what waits now included; and waits count from here.
    pub(super) fn restart(&mut self, now: Instant) {
        if self.waiting.is_some() || self.backlog().packets > 0 {
            self.waiting.get_or_insert_default().waits = Waits::since(now);
        }
        self.passed.max_packets = self.queue.backlog().packets;
        self.passed.max_data_packets = self.passed.data_packets;
    }

    /// Takes out everything that waits, and counts its waits until now.
    pub(super) fn close(&mut self, now: Instant) {
        let mut left = self.backlog().packets;
        while left > 0 {
            let (passed, waiting) = (&mut self.passed, &mut self.waiting);
            let mut counting = CountingSink { passed, waiting, sink: &mut Nobody, accepted: false };
            let open = self.queue.not_before().map_or(now, |at| at.max(now));
            if let Some(pkt) = self.queue.dequeue(open, &mut counting) {
                let meta = pkt.meta();
                self.waiting.get_or_insert_default().waits.left(meta.enqueued_at, now, meta.len);
            }
            let before = std::mem::replace(&mut left, self.backlog().packets);
            if left == before {
                break;
            }
        }
    }

    /// Whether nothing waits.
    #[inline]
    pub(super) fn is_empty(&self) -> bool {
        match &self.queue {
            AnyQueue::Fifo(queue) => queue.is_empty(),
            AnyQueue::Other(queue) => queue.backlog().packets == 0,
        }
    }

    /// Returns whether the queue accepted `pkt`.
    #[inline]
    pub(super) fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) -> bool {
        let len = pkt.meta().len;
        self.passed.offered.add(len);
        self.passed.data_packets += u64::from(pkt.meta().kind == Kind::Data);
        if let AnyQueue::Fifo(queue) = &mut self.queue
            && queue.takes_at_once(len)
        {
            let passed = &mut self.passed;
            passed.max_packets = passed.max_packets.max(1);
            passed.max_data_packets = passed.max_data_packets.max(passed.data_packets);
            queue.push(now, pkt, sink);
            return true;
        }
        self.enqueue_watched(now, pkt, sink)
    }

    /// Counts a packet of length `len` as queued and sent at once, if the queue is a drop-tail one with nothing in it.
    #[inline]
    pub(super) fn pass(&mut self, len: Bytes, kind: Kind) -> bool {
        let AnyQueue::Fifo(queue) = &self.queue else { return false };
        if !queue.takes_at_once(len) {
            return false;
        }
        let passed = &mut self.passed;
        passed.offered.add(len);
        passed.sent.add(len);
        passed.max_packets = passed.max_packets.max(1);
        // nothing else waits
        passed.max_data_packets = passed.max_data_packets.max(u64::from(kind == Kind::Data));
        true
    }

    /// The rest of `enqueue`, for a queue that may drop or mark `pkt`, or what waits.
    #[inline(never)]
    fn enqueue_watched(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) -> bool {
        pkt.meta_mut().enqueued_at = now;
        let (passed, waiting) = (&mut self.passed, &mut self.waiting);
        let mut counting = CountingSink { passed, waiting, sink, accepted: false };
        self.queue.enqueue(now, pkt, &mut counting);
        let accepted = counting.accepted;
        let passed = &mut self.passed;
        passed.max_packets = passed.max_packets.max(self.queue.backlog().packets);
        passed.max_data_packets = passed.max_data_packets.max(passed.data_packets);
        accepted
    }

    /// `None` only where nothing waits, or where the queue does nothing with what does, or holds it back.
    #[inline]
    pub(super) fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        let pkt = match &mut self.queue {
            // drops nothing at departure
            AnyQueue::Fifo(queue) => queue.pop()?,
            AnyQueue::Other(_) => self.dequeue_watched(now, sink)?,
        };
        self.passed.sent.add(pkt.meta().len);
        self.passed.left(pkt.meta());
        if pkt.meta().enqueued_at < now {
            let waits = &mut self.waiting.get_or_insert_default().waits;
            waits.sent(pkt.meta().enqueued_at, now, pkt.meta().len);
        }
        sink.sent(now, self.site, pkt.meta());
        Some(pkt)
    }

    /// The queue may drop or mark what waits.
    fn dequeue_watched(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        loop {
            let waited = self.backlog().packets;
            let (passed, waiting) = (&mut self.passed, &mut self.waiting);
            let pkt = self.queue.dequeue(now, &mut CountingSink { passed, waiting, sink, accepted: false });
            // a queue may end its turn with a drop
            if pkt.is_some() || !(1..waited).contains(&self.backlog().packets) {
                return pkt;
            }
        }
    }

    /// Returns whether the queue ran empty.
    pub(super) fn on_timeout(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> bool {
        let waited = self.backlog().packets > 0;
        let (passed, waiting) = (&mut self.passed, &mut self.waiting);
        self.queue.on_timeout(now, &mut CountingSink { passed, waiting, sink, accepted: false });
        waited && self.backlog().packets == 0
    }
}

/// Where packets go once nothing counts any more.
struct Nobody;

impl<P: Packet> Sink<P> for Nobody {
    fn dropped(&mut self, _now: Instant, _site: SiteId, _pkt: P, _why: DropReason) {}
}

/// Hears what a queue does with packets, on the way to the observer.
struct CountingSink<'a, P> {
    passed: &'a mut Passed,
    waiting: &'a mut Option<Box<Waiting>>,
    sink: &'a mut dyn Sink<P>,
    accepted: bool,
}

impl<P: Packet> Sink<P> for CountingSink<'_, P> {
    fn dropped(&mut self, now: Instant, site: SiteId, pkt: P, why: DropReason) {
        let waiting = self.waiting.get_or_insert_default();
        waiting.waits.left(pkt.meta().enqueued_at, now, pkt.meta().len);
        waiting.dropped.add(pkt.meta().len);
        waiting.drops.count(pkt.meta().color, why);
        self.passed.left(pkt.meta());
        self.sink.dropped(now, site, pkt, why);
    }

    fn marked(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.waiting.get_or_insert_default().drops.marked += 1;
        self.sink.marked(now, site, meta);
    }

    fn enqueued(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.accepted = true;
        self.sink.enqueued(now, site, meta);
    }
}
