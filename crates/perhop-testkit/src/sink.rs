//! A sink that remembers all it hears.

use perhop_core::packet::{Meta, Packet};
use perhop_core::queue::Backlog;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;

use crate::packet::TestPacket;

/// Event at a sink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Event {
    /// A packet ended.
    Dropped(DropReason),
    /// A meter gave its verdict.
    Coloured,
    /// A queue marked a packet.
    Marked,
    /// A queue accepted a packet.
    Enqueued,
    /// A packet left for the link.
    Sent,
}

/// An event with its circumstances.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RecordedEvent {
    /// When.
    pub at: Instant,
    /// Where.
    pub site: SiteId,
    /// The event.
    pub event: Event,
    /// The packet as it then was.
    pub meta: Meta,
}

/// Remembers every event, in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Recorder {
    /// The events.
    pub events: Vec<RecordedEvent>,
}

impl Recorder {
    /// The packets that met with `event`, in order.
    pub fn of(&self, event: Event) -> impl Iterator<Item = &Meta> {
        self.events.iter().filter(move |h| h.event == event).map(|h| &h.meta)
    }

    fn note(&mut self, at: Instant, site: SiteId, event: Event, meta: Meta) {
        self.events.push(RecordedEvent { at, site, event, meta });
    }
}

impl Sink<TestPacket> for Recorder {
    fn dropped(&mut self, now: Instant, site: SiteId, pkt: TestPacket, why: DropReason) {
        self.note(now, site, Event::Dropped(why), *pkt.meta());
    }

    fn coloured(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.note(now, site, Event::Coloured, *meta);
    }

    fn marked(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.note(now, site, Event::Marked, *meta);
    }

    fn enqueued(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.note(now, site, Event::Enqueued, *meta);
    }

    fn sent(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.note(now, site, Event::Sent, *meta);
    }
}

/// Adds one packet to a count of packets and bytes.
pub fn count(total: &mut Backlog, meta: &Meta) {
    total.packets += 1;
    total.bytes += meta.len;
}
