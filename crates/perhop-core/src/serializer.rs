//! How long a link takes to send a packet, exactly.
//!
//! Serialisation takes bits * 10^9 / rate ns; the remainder of each division is carried to the next packet, so the
//! long-run rate is exact. Units: ns, bits, bytes. Cost: a multiplication and a division.

use crate::time::Span;
use crate::units::{BitRate, Bytes};

const NS_PER_S: u64 = 1_000_000_000;

/// The transmitter of a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Serializer {
    rate: BitRate,
    /// Of the last division, in units of 1/rate ns.
    remainder: u64,
}

impl Serializer {
    /// Sends at `rate`.
    #[must_use]
    pub const fn new(rate: BitRate) -> Self {
        Self { rate, remainder: 0 }
    }

    /// How long the next packet takes, of length `len`.
    #[inline]
    pub fn time(&mut self, len: Bytes) -> Span {
        let scaled = len.bits() * NS_PER_S + self.remainder;
        let rate = self.rate.bits_per_sec();
        self.remainder = scaled % rate;
        Span::from_nanos(scaled / rate)
    }

    /// The sum of all times so far, of packets of `bytes` together: each takes over the remainder of the one before.
    #[must_use]
    pub fn total(&self, bytes: Bytes) -> Span {
        let scaled = u128::from(bytes.bits()) * u128::from(NS_PER_S) - u128::from(self.remainder);
        Span::from_nanos(u64::try_from(scaled / u128::from(self.rate.bits_per_sec())).unwrap_or(u64::MAX))
    }

    /// Serialisation rate.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        self.rate
    }
}
