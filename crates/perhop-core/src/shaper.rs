//! Delays packets to a rate.
//!
//! Source: RFC 2475 section 2.3.3.3 (shapers: a finite buffer, drops where it is full). Different: the profile is a token
//! bucket of `rate` and `burst` that starts full. A packet longer than `burst` never conforms and is dropped at once: to
//! hold it would close the shaper for ever, to pass it would break the profile.
//! Units: the limit is in packets or in bytes, as a queue's. Cost: one multiplication and a ring-buffer push or pop; per
//! shaper, the packets that wait.

use crate::inline_queue::InlineQueue;
use crate::meter::bucket::{Bucket, Cost, Inflow};
use crate::packet::{Packet, PortId};
use crate::param_error::ParamError;
use crate::queue::Backlog;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::units::{BitRate, Bytes, QueueSize};

/// The profile that a shaper lets through: over any time, `burst` and `rate` times that time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShaperParams {
    /// The rate in the long run.
    pub rate: BitRate,
    /// How much may leave at once after a pause; at least as long as the longest packet.
    pub burst: Bytes,
    /// How much may wait.
    pub limit: QueueSize,
}

/// The outcome for a packet that came to a conditioner or a shaper.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Passage<P> {
    /// It goes on.
    On(P),
    /// It waits; it will be asked for.
    Held,
    /// It was dropped.
    Gone,
}

impl<P> Passage<P> {
    /// The packet, if it goes on.
    pub fn on(self) -> Option<P> {
        match self {
            Self::On(pkt) => Some(pkt),
            Self::Held | Self::Gone => None,
        }
    }
}

/// A queue that lets packets go as its token bucket fills.
///
/// A packet is held if one is held already or the tokens do not suffice. Its driver asks [`Shaper::pop`] at
/// [`Shaper::next_timeout`] until that gives nothing.
#[derive(Clone, Debug)]
pub struct Shaper<P> {
    site: SiteId,
    limit: QueueSize,
    inflow: Inflow,
    bucket: Bucket,
    /// Each with the port by which it came.
    packets: InlineQueue<(PortId, P)>,
    bytes: Bytes,
}

impl<P: Packet> Shaper<P> {
    /// An empty shaper with a full bucket; its drops are reported as from `site`.
    ///
    /// # Errors
    /// Refuses a burst of nothing, with which no packet ever conforms, and one that cannot be counted.
    pub fn new(site: SiteId, params: ShaperParams) -> Result<Self, ParamError> {
        let ShaperParams { rate, burst, limit } = params;
        let (inflow, bucket) = (Inflow::new(rate), Bucket::new("burst", burst)?);
        Ok(Self { site, limit, inflow, bucket, packets: InlineQueue::new(), bytes: Bytes(0) })
    }

    //= rfc2475-2.3.3.3-finite
    //= rfc2475-2.3.3.4-shaper-of-nothing
    /// `pkt`, which came by `from`, goes on at once, or is held, or is handed to `sink` where there is no room.
    pub fn push(&mut self, now: Instant, from: PortId, pkt: P, sink: &mut dyn Sink<P>) -> Passage<P> {
        let len = pkt.meta().len;
        if self.packets.is_empty() && self.conforms(now, len) {
            return Passage::On(pkt);
        }
        if self.bucket.lacks(Cost::of(len)).is_none() || !self.backlog().has_room(self.limit, len) {
            sink.dropped(now, self.site, pkt, DropReason::Shaper);
            return Passage::Gone;
        }
        self.bytes += len;
        self.packets.push_back((from, pkt));
        Passage::Held
    }

    //= rfc2475-2.3.3.3-delay
    /// The first packet that waits, if it may go on by now, and the port by which it came.
    pub fn pop(&mut self, now: Instant) -> Option<(PortId, P)> {
        let len = self.packets.front()?.1.meta().len;
        if !self.conforms(now, len) {
            return None;
        }
        self.bytes -= len;
        self.packets.pop_front()
    }

    /// The first nanosecond at which [`Shaper::pop`] gives a packet.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        let cost = Cost::of(self.packets.front()?.1.meta().len);
        self.bucket.lacks(cost).map(|tokens| self.inflow.when(tokens))
    }

    /// The backlog.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    /// Whether a packet of `len` conforms; if so, it is paid for.
    fn conforms(&mut self, now: Instant, len: Bytes) -> bool {
        self.bucket.pour(self.inflow.take(now));
        self.bucket.spend(Cost::of(len))
    }
}
