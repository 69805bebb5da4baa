//! Quantities with their unit in the type.

use core::fmt;
use core::num::NonZeroU64;
use core::ops::{Add, AddAssign, Sub, SubAssign};

/// A number of bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Bytes(pub u64);

/// A rate in bits per second; never zero.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct BitRate(NonZeroU64);

/// A limit on a queue, in packets or in bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum QueueSize {
    /// At most this many packets.
    Packets(u64),
    /// At most this many bytes.
    Bytes(u64),
}

impl BitRate {
    /// `bits` per second, or `None` for a rate of zero, at which nothing would ever be sent.
    #[must_use]
    pub const fn new(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            None => None,
            Some(bits) => Some(Self(bits)),
        }
    }

    /// Bits per second.
    #[must_use]
    pub const fn bits_per_sec(self) -> u64 {
        self.0.get()
    }
}

impl Bytes {
    /// The same length in bits.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0 * 8
    }
}

impl Add for Bytes {
    type Output = Self;
    fn add(self, rhs: Self) -> Self {
        Self(self.0 + rhs.0)
    }
}

impl AddAssign for Bytes {
    fn add_assign(&mut self, rhs: Self) {
        self.0 += rhs.0;
    }
}

impl Sub for Bytes {
    type Output = Self;
    fn sub(self, rhs: Self) -> Self {
        Self(self.0 - rhs.0)
    }
}

impl SubAssign for Bytes {
    fn sub_assign(&mut self, rhs: Self) {
        self.0 -= rhs.0;
    }
}

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}B", self.0)
    }
}

impl fmt::Display for BitRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}bit/s", self.0)
    }
}

impl fmt::Display for QueueSize {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Packets(n) => write!(f, "{n}p"),
            Self::Bytes(n) => write!(f, "{n}B"),
        }
    }
}
