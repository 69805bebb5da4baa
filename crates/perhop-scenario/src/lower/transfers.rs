//! Random transfers: when each begins and how much data it has.
//!
//! Variates by inversion from the random stream `flow.name.arrivals`, two draws for each transfer: the distance to it, its
//! size. So a change of the sizes leaves the times alone.

use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};

use crate::words::units::Time;
use crate::written::sources::Arrivals;

impl Arrivals {
    /// Mean time between two transfers, ns; `rate` is that of the link whose load they are.
    #[must_use]
    pub fn mean_interval_ns(&self, rate: Option<BitRate>) -> Option<f64> {
        if let Some(Time(interval)) = self.mean_interval {
            return Some(interval.as_secs_f64() * 1e9);
        }
        let (load, rate) = self.load.zip(rate)?;
        Some(8e9 * self.size.variate().mean() / (load * rate_of(rate)))
    }

    /// Beginning and size of every transfer from `start` to `end`, at most `most` and one more; `mean_ns` is the mean time
    /// between two.
    #[must_use]
    pub fn draw(
        &self,
        mean_ns: f64,
        start: Span,
        end: Span,
        most: usize,
        stream: &mut Stream,
    ) -> Vec<(Span, Bytes)> {
        let (mut at, size) = (start.as_nanos(), self.size.variate());
        let mut drawn = Vec::new();
        while drawn.len() <= most {
            at = at.saturating_add(whole(mean_ns * exponential(stream)));
            if at >= end.as_nanos() {
                break;
            }
            drawn.push((Span::from_nanos(at), Bytes(size.draw(stream).max(1))));
        }
        drawn
    }
}

/// A draw from the exponential distribution with mean 1.
fn exponential(stream: &mut Stream) -> f64 {
    -libm::log1p(-stream.unit())
}

#[expect(clippy::cast_precision_loss, reason = "a random draw follows")]
const fn rate_of(rate: BitRate) -> f64 {
    rate.bits_per_sec() as f64
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "rounded, not negative; saturates"
)]
fn whole(value: f64) -> u64 {
    libm::round(value) as u64
}
