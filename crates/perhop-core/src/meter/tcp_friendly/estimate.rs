//! Running averages in fixed point.
//!
//! Source: Feroz, Kalyanaraman, Rao 2000, the definitions of W(i) and E(i). The paper names no gains.

/// Parts of one: tokens, packets and spacings are integers of this unit.
pub(super) const ONE: i64 = 1_000_000;

/// Bits of a [`Gain`].
const BITS: u32 = 32;

/// The weight of a new sample, in parts of 2^32.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Gain(u64);

impl Gain {
    /// `None` outside (0, 1], or so close to 0 that it rounds to it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside 1..=2^32, checked")]
    #[expect(clippy::cast_precision_loss, reason = "a power of two")]
    pub(super) fn new(gain: f64) -> Option<Self> {
        let one = (1_u64 << BITS) as f64;
        let parts = (gain * one).round();
        (1.0..=one).contains(&parts).then_some(Self(parts as u64))
    }
}

/// An average that its first sample begins.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Average(Option<i64>);

impl Average {
    /// Moves by the gain's part of the distance, rounded away from zero: it reaches a constant sample exactly and
    /// never passes it.
    pub(super) fn add(&mut self, sample: i64, Gain(gain): Gain) {
        let value = self.0.get_or_insert(sample);
        let distance = i128::from(sample) - i128::from(*value);
        let step = (distance.unsigned_abs() * u128::from(gain)).div_ceil(1 << BITS);
        let step = i64::try_from(step).unwrap_or(i64::MAX);
        *value = if distance < 0 { *value - step } else { *value + step };
    }

    /// Whether there has been no sample.
    pub(super) const fn is_empty(self) -> bool {
        self.0.is_none()
    }

    /// The average; 0 before the first sample.
    pub(super) fn get(self) -> i64 {
        self.0.unwrap_or(0)
    }
}

/// The bytes from `ack` to `seq_end` on the circle of 2^32, or `None` where `seq_end` is not ahead.
pub(super) fn outstanding(seq_end: u32, ack: u32) -> Option<i64> {
    let bytes = seq_end.wrapping_sub(ack).cast_signed();
    (bytes > 0).then(|| i64::from(bytes))
}
