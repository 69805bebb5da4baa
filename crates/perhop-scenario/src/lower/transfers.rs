//! Random transfers: when each begins and how much data it has.
//!
//! Variates by inversion from the random stream `flow.name.arrivals`, two draws for each transfer: the distance to it, its
//! size. So a change of the sizes leaves the times alone.

use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};

use crate::words::units::{Size, Time};
use crate::written::sources::{Arrivals, SizeDistribution};

/// Mean time between two transfers, ns; `rate` is that of the link whose load they are.
pub(crate) fn mean_interval(arrivals: &Arrivals, rate: Option<BitRate>) -> Option<f64> {
    if let Some(Time(interval)) = arrivals.mean_interval {
        return Some(interval.as_secs_f64() * 1e9);
    }
    let (load, rate) = arrivals.load.zip(rate)?;
    Some(8e9 * mean_size(&arrivals.size) / (load * rate_of(rate)))
}

/// Mean data of a transfer, bytes, before it is rounded.
fn mean_size(distribution: &SizeDistribution) -> f64 {
    match *distribution {
        SizeDistribution::Fixed { size } => float(size),
        SizeDistribution::Exponential { mean } => float(mean),
        // the integral of x times the density between min and max
        SizeDistribution::Pareto { shape, min, max } => {
            let (min, max) = (float(min), float(max));
            let rest = 1.0 - libm::pow(min / max, shape);
            let scaled = libm::pow(min, shape) * shape / rest;
            let power = 1.0 - shape;
            if libm::fabs(power) < 1e-9 {
                scaled * libm::log(max / min)
            } else {
                scaled * (libm::pow(max, power) - libm::pow(min, power)) / power
            }
        }
    }
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
    let mut at = start.as_nanos();
    let mut drawn = Vec::new();
    while drawn.len() <= most {
        at = at.saturating_add(whole(mean * exponential(stream)));
        if at >= end.as_nanos() {
            break;
        }
        let size = size(&arrivals.size, stream);
        drawn.push((Span::from_nanos(at), size));
    }
    drawn
}

/// A draw from the exponential distribution with mean 1.
fn exponential(stream: &mut Stream) -> f64 {
    -libm::log1p(-stream.unit())
}

fn size(distribution: &SizeDistribution, stream: &mut Stream) -> Bytes {
    let unit = stream.unit();
    let bytes = match *distribution {
        SizeDistribution::Fixed { size } => return size.0,
        SizeDistribution::Exponential { mean } => -float(mean) * libm::log1p(-unit),
        // F(x) = (1 - (min/x)^shape) / (1 - (min/max)^shape), solved for x
        SizeDistribution::Pareto { shape, min, max } => {
            let rest = libm::pow(float(min) / float(max), shape);
            float(min) * libm::pow(1.0 - unit * (1.0 - rest), -1.0 / shape)
        }
    };
    Bytes(whole(bytes).max(1))
}

#[expect(clippy::cast_precision_loss, reason = "a random draw follows; sizes stay below 10^15")]
const fn float(size: Size) -> f64 {
    size.0.0 as f64
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

        let (shape, min, max) = (1.2_f64, 2_000.0_f64, 5e6_f64);
        let pareto = many(SizeDistribution::Pareto { shape, min: size(2_000), max: size(5_000_000) });
        assert!(pareto.iter().all(|t| (2_000..=5_000_000).contains(&t.1.0)));
        // E[X] = min^a / (1 - (min/max)^a) * a / (a - 1) * (min^(1-a) - max^(1-a))
        let expected = min.powf(shape) / (1.0 - (min / max).powf(shape)) * shape / (shape - 1.0)
            * (min.powf(1.0 - shape) - max.powf(1.0 - shape));
        let measured = mean(pareto.iter().map(|t| t.1.0));
        assert!((measured / expected - 1.0).abs() < 0.06, "mean {measured}, expected {expected}");
        // the median is where F is a half
        let mut sizes: Vec<u64> = pareto.iter().map(|t| t.1.0).collect();
        sizes.sort_unstable();
        let median = min * (1.0 - 0.5 * (1.0 - (min / max).powf(shape))).powf(-1.0 / shape);
        let middle = mean([sizes[sizes.len() / 2]].into_iter());
        assert!((middle / median - 1.0).abs() < 0.02, "median {middle}, expected {median}");
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
            let load = float(Size(Bytes(bits))) / 3000.0 / 1e7;
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
