//! Random transfers: when each begins and how much data it has.

use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};
use perhop_scenario::units::{Size, Time};
use perhop_scenario::written::sizes::SizeDistribution;
use perhop_scenario::written::sources::Arrivals;

fn many(size: SizeDistribution) -> Vec<(Span, Bytes)> {
    let mean_interval = Some(Time(Span::from_millis(10)));
    let arrivals = Arrivals { mean_interval, load: None, link: None, size };
    let mut stream = Stream::new(3, 0, "flow.short.arrivals");
    arrivals.draw(1e7, Span::from_secs(5), Span::from_secs(1005), 1_000_000, &mut stream)
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
        assert_eq!(arrivals.mean_interval_ns(None), None);
        let mean = arrivals.mean_interval_ns(rate).expect("a load of a rate");
        let mut stream = Stream::new(5, 0, "flow.short.arrivals");
        let drawn = arrivals.draw(mean, Span::ZERO, Span::from_secs(3000), 1_000_000, &mut stream);
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
