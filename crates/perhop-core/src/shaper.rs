//! Delays packets to a rate.
//!
//! Source: RFC 2475 section 2.3.3.3 (shapers: a finite buffer, drops where it is full). Different: the profile is a token
//! bucket of `rate` and `burst` that starts full. A packet longer than `burst` never conforms and is dropped at once: to
//! hold it would close the shaper for ever, to pass it would break the profile.
//! Units: the limit is in packets or in bytes, as a queue's. Cost: one multiplication and a ring-buffer push or pop; per
//! shaper, the packets that wait.

use crate::lane::Lane;
use crate::packet::Packet;
use crate::param_error::ParamError;
use crate::queue::Backlog;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes, QueueSize};

/// What a shaper lets through: over any time, `burst` and `rate` times that time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShaperParams {
    /// The rate in the long run.
    pub rate: BitRate,
    /// How much may leave at once after a pause; at least as long as the longest packet.
    pub burst: Bytes,
    /// How much may wait.
    pub limit: QueueSize,
}

/// A queue that lets packets go as its token bucket fills.
///
/// A packet is held if one is held already or the tokens do not suffice. Its driver asks [`Shaper::pop`] at
/// [`Shaper::next_timeout`] until that gives nothing.
#[derive(Clone, Debug)]
pub struct Shaper<P> {
    site: SiteId,
    limit: QueueSize,
    bucket: Bucket,
    packets: Lane<P>,
    bytes: Bytes,
}

impl<P: Packet> Shaper<P> {
    /// An empty shaper with a full bucket; its drops are reported as from `site`.
    ///
    /// # Errors
    /// Refuses a burst of nothing, with which no packet ever conforms, and one of more than 2^32 bytes.
    pub fn new(site: SiteId, params: ShaperParams) -> Result<Self, ParamError> {
        if params.burst.0 == 0 {
            return Err(ParamError::new("burst", "must be at least one byte"));
        }
        if params.burst.0 > 1 << 32 {
            return Err(ParamError::new("burst", "must be at most 4294967296 bytes"));
        }
        let bucket = Bucket::new(params.rate, params.burst);
        Ok(Self { site, limit: params.limit, bucket, packets: Lane::new(), bytes: Bytes(0) })
    }

    /// Gives `pkt` back if it may go on at once; else holds it, or hands it to `sink` where there is no room.
    pub fn push(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) -> Option<P> {
        let len = pkt.meta().len;
        if self.packets.is_empty() && self.bucket.take(now, len) {
            return Some(pkt);
        }
        if len > self.bucket.burst() || !self.has_room_for(len) {
            sink.dropped(now, self.site, pkt, DropReason::Shaper);
            return None;
        }
        self.bytes += len;
        self.packets.push_back(pkt);
        None
    }

    /// The first packet that waits, if it may go on by now.
    pub fn pop(&mut self, now: Instant) -> Option<P> {
        let len = self.packets.front()?.meta().len;
        if !self.bucket.take(now, len) {
            return None;
        }
        self.bytes -= len;
        self.packets.pop_front()
    }

    /// The first nanosecond at which [`Shaper::pop`] gives a packet.
    #[must_use]
    pub fn next_timeout(&self) -> Option<Instant> {
        self.packets.front().map(|pkt| self.bucket.when(pkt.meta().len))
    }

    /// What waits.
    #[must_use]
    pub fn backlog(&self) -> Backlog {
        Backlog { packets: self.packets.len() as u64, bytes: self.bytes }
    }

    fn has_room_for(&self, len: Bytes) -> bool {
        match self.limit {
            QueueSize::Packets(limit) => (self.packets.len() as u64) < limit,
            QueueSize::Bytes(limit) => (self.bytes + len).0 <= limit,
        }
    }
}

/// One bit in tokens: bits per second times nanoseconds, so that filling never rounds.
const BIT: u128 = 1_000_000_000;

#[derive(Clone, Debug)]
struct Bucket {
    rate: BitRate,
    burst: Bytes,
    tokens: u128,
    at: Instant,
}

impl Bucket {
    const fn new(rate: BitRate, burst: Bytes) -> Self {
        Self { rate, burst, tokens: burst.bits() as u128 * BIT, at: Instant::ZERO }
    }

    const fn burst(&self) -> Bytes {
        self.burst
    }

    fn take(&mut self, now: Instant, len: Bytes) -> bool {
        let passed = now.saturating_since(self.at).as_nanos();
        let filled = self.tokens + u128::from(self.rate.bits_per_sec()) * u128::from(passed);
        self.tokens = filled.min(cost(self.burst));
        self.at = self.at.max(now);
        let enough = self.tokens >= cost(len);
        if enough {
            self.tokens -= cost(len);
        }
        enough
    }

    /// When there will be enough for `len`, which is no longer than the burst.
    fn when(&self, len: Bytes) -> Instant {
        let lacking = cost(len).saturating_sub(self.tokens);
        let wait = lacking.div_ceil(u128::from(self.rate.bits_per_sec()));
        let wait = u64::try_from(wait).unwrap_or(u64::MAX - self.at.as_nanos());
        self.at + Span::from_nanos(wait)
    }
}

fn cost(len: Bytes) -> u128 {
    u128::from(len.bits()) * BIT
}
