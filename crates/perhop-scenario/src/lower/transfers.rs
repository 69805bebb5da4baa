//! Random transfers: when each begins and how much data it has.
//!
//! Variates by inversion from the random stream `flow.name.arrivals`, two draws for each transfer: the distance to it, its
//! size. So a change of the sizes leaves the times alone.

use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};

use crate::words::units::Time;
use crate::written::sources::Arrivals;

/// Mean time between two transfers, ns; `rate` is that of the link whose load they are.
pub(crate) fn mean_interval(arrivals: &Arrivals, rate: Option<BitRate>) -> Option<f64> {
    if let Some(Time(interval)) = arrivals.mean_interval {
        return Some(interval.as_secs_f64() * 1e9);
    }
    let (load, rate) = arrivals.load.zip(rate)?;
    Some(8e9 * arrivals.size.variate().mean() / (load * rate_of(rate)))
}

/// Beginning and size of every transfer from `start` to `end`, at most `most` and one more; `mean` is the mean time between
/// two, ns.
pub(crate) fn draw(
    arrivals: &Arrivals,
    mean: f64,
    start: Span,
    end: Span,
    most: usize,
    stream: &mut Stream,
) -> Vec<(Span, Bytes)> {
    let (mut at, size) = (start.as_nanos(), arrivals.size.variate());
    let mut drawn = Vec::new();
    while drawn.len() <= most {
        at = at.saturating_add(whole(mean * exponential(stream)));
        if at >= end.as_nanos() {
            break;
        }
        drawn.push((Span::from_nanos(at), Bytes(size.draw(stream).max(1))));
    }
    drawn
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::units::Size;
    use crate::written::sizes::SizeDistribution;

    fn many(size: SizeDistribution) -> Vec<(Span, Bytes)> {
        let mean_interval = Some(Time(Span::from_millis(10)));
        let arrivals = Arrivals { mean_interval, load: None, link: None, size };
        let mut stream = Stream::new(3, 0, "flow.short.arrivals");
        draw(&arrivals, 1e7, Span::from_secs(5), Span::from_secs(1005), 1_000_000, &mut stream)
    }

    #[expect(clippy::cast_precision_loss, reason = "a mean for a test")]
    fn mean(values: impl ExactSizeIterator<Item = u64>) -> f64 {
        let count = values.len() as f64;
        values.map(|v| v as f64).sum::<f64>() / count
    }

    #[test]
    fn distances_and_sizes_have_their_means() {
        let size = |n| Size(Bytes(n));
        let transfers = many(SizeDistribution::Exponential { mean: size(20_000) });
        // 100,000 expected; the standard deviation of a Poisson count is its root
        assert!((98_700..101_300).contains(&transfers.len()), "{} transfers", transfers.len());
        assert!(transfers.windows(2).all(|pair| pair[0].0 <= pair[1].0));
        assert!(transfers[0].0 >= Span::from_secs(5));
        let exponential = mean(transfers.iter().map(|t| t.1.0));
        assert!((exponential / 20_000.0 - 1.0).abs() < 0.015, "mean {exponential}");
    }

    #[test]
    fn a_load_is_the_data_of_all_transfers_over_the_rate() {
        let size = |n| Size(Bytes(n));
        let rate = BitRate::new(10_000_000);
        for (size, within) in [
            (SizeDistribution::Fixed { size: size(15_000) }, 0.006),
            (SizeDistribution::Exponential { mean: size(15_000) }, 0.01),
            (SizeDistribution::Pareto { shape: 1.6, min: size(4_000), max: size(1_000_000) }, 0.03),
            (SizeDistribution::Pareto { shape: 1.0, min: size(1_000), max: size(1_000_000) }, 0.05),
        ] {
            let arrivals = Arrivals { mean_interval: None, load: Some(0.7), link: None, size };
            assert_eq!(mean_interval(&arrivals, None), None);
            let mean = mean_interval(&arrivals, rate).expect("a load of a rate");
            let mut stream = Stream::new(5, 0, "flow.short.arrivals");
            let drawn = draw(&arrivals, mean, Span::ZERO, Span::from_secs(3000), 1_000_000, &mut stream);
            let bits: u64 = drawn.iter().map(|(_, data)| data.bits()).sum();
            #[expect(clippy::cast_precision_loss, reason = "a mean for a test")]
            let load = bits as f64 / 3000.0 / 1e7;
            assert!((load / 0.7 - 1.0).abs() < within, "{size:?}: {load}");
        }
    }

    #[test]
    fn the_sizes_leave_the_times_alone() {
        let fixed = many(SizeDistribution::Exponential { mean: Size(Bytes(1)) });
        let other = many(SizeDistribution::Exponential { mean: Size(Bytes(1_000_000)) });
        assert!(fixed.iter().map(|t| t.0).eq(other.iter().map(|t| t.0)));
    }
}
