//! Spreads a flow's OUT packets evenly between its IN packets.
//!
//! Source: Feroz, Kalyanaraman, Rao 2000, Algorithm 2, (10)-(16).
//! Different: what goes over into the next interval is a choice ([`CarrySpacing`]), and no more OUT packets go over than
//! the new spacing asks for. Otherwise the correction of (12) would repay old packets with a burst of IN packets.
//! Units: parts of 10^6 packets. Cost: a comparison and an addition.
//!
//! After an IN packet, what `count` had beyond S is in [0, 1) and is taken off the next S. So the first n gaps of one
//! spacing S add up to ceil(n S), exactly, and each gap is floor(S) or ceil(S).

use super::CarrySpacing;
use super::estimate::ONE;

/// The largest spacing: so few tokens that no interval sees an end of it.
const MOST: i64 = i64::MAX / 4;

/// Algorithm 2's S(i), `default_spacing(i)` and `count(i)`.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Spacing {
    /// S as the allocation set it.
    default: i64,
    /// S as the last gap corrected it.
    current: i64,
    /// OUT packets since the last IN packet.
    count: i64,
}

impl Spacing {
    /// `millionths` of a packet between two IN packets, from the start.
    #[must_use]
    pub fn new(millionths: u32) -> Self {
        let mut spacing = Self::default();
        spacing.set(i64::from(millionths), CarrySpacing::Nothing);
        spacing
    }

    /// Whether the next packet may be IN.
    //= feroz2000-3-in-when-due
    #[must_use]
    pub const fn due(&self) -> bool {
        self.count >= self.current
    }

    /// An OUT packet, while none is due.
    //= feroz2000-3-gap
    pub const fn put_out(&mut self) {
        self.count += ONE;
    }

    /// An IN packet.
    //= feroz2000-3-correction
    pub const fn put_in(&mut self) {
        self.current = self.default - (self.count - self.current);
        self.count = 0;
    }

    /// A new interval with S = `default`.
    //= feroz2000-3-default-spacing
    pub(super) fn set(&mut self, default: i64, carry: CarrySpacing) {
        let correction = match carry {
            CarrySpacing::CountAndCorrection => self.default - self.current,
            CarrySpacing::Nothing | CarrySpacing::Count => 0,
        };
        self.default = default.clamp(0, MOST);
        self.current = self.default - correction;
        self.count = match carry {
            CarrySpacing::Nothing => 0,
            _ => self.count.min(whole_above(self.current)),
        };
    }

    /// S as the allocation set it, in parts of 10^6.
    pub(super) const fn allocated(&self) -> i64 {
        self.default
    }
}

/// The whole packets at or above `parts`, and at least none.
const fn whole_above(parts: i64) -> i64 {
    if parts <= 0 { 0 } else { (parts + ONE - 1) / ONE * ONE }
}
