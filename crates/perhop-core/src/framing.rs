//! Lengths as they count on a line that perhop does not have: `overhead` and `mpu`, as Linux's shapers have them.

use crate::units::Bytes;

/// The bytes that a packet takes on a line.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Framing {
    /// Added to each packet.
    pub overhead: Bytes,
    /// The least that a packet takes, `overhead` included.
    pub mpu: Bytes,
}

impl Framing {
    /// The bytes that a packet of `len` takes.
    #[inline]
    #[must_use]
    pub fn on_line(self, len: Bytes) -> Bytes {
        Bytes(len.0.saturating_add(self.overhead.0).max(self.mpu.0))
    }
}
