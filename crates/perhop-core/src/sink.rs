//! Where packets go that are not returned, and what observers hear.

use crate::packet::{Meta, Packet};
use crate::time::Instant;

/// Path of an element, interned by whoever built it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SiteId(pub u32);

/// Why a packet was dropped.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum DropReason {
    /// No room.
    Overflow,
    /// Chosen by an AQM by chance.
    Early,
    /// Chosen by an AQM because its average is above the upper threshold.
    Forced,
    /// Waited too long.
    Sojourn,
    /// Out of profile at a policer.
    Policed,
    /// No class takes it.
    Unclassified,
    /// On a link's list of losses.
    LossList,
    /// Lost by a link by chance.
    Loss,
    /// No room in a shaper.
    Shaper,
    /// An acknowledgment that a later one made redundant.
    AckFilter,
}

impl DropReason {
    /// Its name, for files and people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Overflow => "overflow",
            Self::Early => "early",
            Self::Forced => "forced",
            Self::Sojourn => "sojourn",
            Self::Policed => "policed",
            Self::Unclassified => "unclassified",
            Self::LossList => "loss-list",
            Self::Loss => "loss",
            Self::Shaper => "shaper",
            Self::AckFilter => "ack-filter",
        }
    }

    /// How many reasons there are.
    pub const COUNT: usize = 10;

    /// Every reason, by its number.
    pub const ALL: [Self; Self::COUNT] = [
        Self::Overflow,
        Self::Early,
        Self::Forced,
        Self::Sojourn,
        Self::Policed,
        Self::Unclassified,
        Self::LossList,
        Self::Loss,
        Self::Shaper,
        Self::AckFilter,
    ];
}

/// Receives dropped packets, and hears of every step.
///
/// Nothing flows back: no element can learn whether anybody listens. The provided methods do nothing.
pub trait Sink<P: Packet> {
    /// `pkt` ends here.
    fn dropped(&mut self, now: Instant, site: SiteId, pkt: P, why: DropReason);
    /// A meter coloured a packet; `meta.color` is the verdict.
    fn coloured(&mut self, _now: Instant, _site: SiteId, _meta: &Meta) {}
    /// A queue marked a packet that was not marked (CE, RFC 3168 section 5), as it arrived or at its turn.
    fn marked(&mut self, _now: Instant, _site: SiteId, _meta: &Meta) {}
    /// A queue accepted a packet.
    fn enqueued(&mut self, _now: Instant, _site: SiteId, _meta: &Meta) {}
    /// A packet left its queue for the link.
    fn sent(&mut self, _now: Instant, _site: SiteId, _meta: &Meta) {}
}
