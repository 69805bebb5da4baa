//! Random numbers of given distributions: bytes, lengths of time in ns, counts.
//!
//! By inversion, one uniform draw for each number but for a lognormal one, so that a change of one distribution leaves the draws of
//! others alone.

use crate::rng::Stream;

/// A distribution of whole numbers that are not negative.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Variate {
    /// Always this.
    Fixed(u64),
    /// Exponential, rounded.
    Exponential {
        /// Mean before it is rounded.
        mean: f64,
    },
    /// Bounded Pareto, rounded: `P[X > x]` falls as `x^-shape` between `min` and `max` (Harchol-Balter 2013, section 20.4).
    Pareto {
        /// Tail index.
        shape: f64,
        /// Least.
        min: f64,
        /// Most.
        max: f64,
    },
    /// Lognormal, rounded: its logarithm is normal. Two draws (Box and Muller 1958).
    Lognormal {
        /// Half of them are below.
        median: f64,
        /// Standard deviation of the logarithm.
        sigma: f64,
    },
    /// Weibull, rounded: `P[X > x]` is `exp(-(x/scale)^shape)`.
    Weibull {
        /// The smaller, the heavier the tail; 1 is exponential.
        shape: f64,
        /// Of it 63 % are below.
        scale: f64,
    },
}

impl Variate {
    /// A number of this distribution, from one draw of `stream`.
    #[must_use]
    pub fn draw(&self, stream: &mut Stream) -> u64 {
        let unit = stream.unit();
        match *self {
            Self::Fixed(value) => value,
            Self::Exponential { mean } => whole(-mean * libm::log1p(-unit)),
            // F(x) = (1 - (min/x)^shape) / (1 - (min/max)^shape), solved for x
            Self::Pareto { shape, min, max } => {
                let rest = libm::pow(min / max, shape);
                whole(min * libm::pow(1.0 - unit * (1.0 - rest), -1.0 / shape))
            }
            Self::Lognormal { median, sigma } => {
                let angle = 2.0 * core::f64::consts::PI * stream.unit();
                let normal = libm::sqrt(-2.0 * libm::log1p(-unit)) * libm::cos(angle);
                whole(median * libm::exp(sigma * normal))
            }
            Self::Weibull { shape, scale } => whole(scale * libm::pow(-libm::log1p(-unit), 1.0 / shape)),
        }
    }

    /// The mean, before numbers are rounded.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a mean of random draws")]
    pub fn mean(&self) -> f64 {
        match *self {
            Self::Fixed(value) => value as f64,
            Self::Exponential { mean } => mean,
            // the integral of x times the density between min and max
            Self::Pareto { shape, min, max } => {
                let rest = 1.0 - libm::pow(min / max, shape);
                let scaled = libm::pow(min, shape) * shape / rest;
                let power = 1.0 - shape;
                if libm::fabs(power) < 1e-9 {
                    scaled * libm::log(max / min)
                } else {
                    scaled * (libm::pow(max, power) - libm::pow(min, power)) / power
                }
            }
            Self::Lognormal { median, sigma } => median * libm::exp(sigma * sigma / 2.0),
            Self::Weibull { shape, scale } => scale * libm::tgamma(1.0 + 1.0 / shape),
        }
    }
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

    #[expect(clippy::cast_precision_loss, reason = "a mean for a test")]
    fn sample(variate: Variate) -> (f64, Vec<u64>) {
        let mut stream = Stream::new(3, 0, "a.test");
        let mut drawn: Vec<u64> = (0..100_000).map(|_| variate.draw(&mut stream)).collect();
        drawn.sort_unstable();
        let sum: f64 = drawn.iter().map(|value| *value as f64).sum();
        (sum / drawn.len() as f64, drawn)
    }

    /// Means from textbooks, beside samples of 100,000.
    #[test]
    fn samples_have_the_mean_and_the_median() {
        let (mean, drawn) = sample(Variate::Fixed(7));
        assert!((mean - 7.0).abs() < 1e-9 && drawn[50_000] == 7);
        let exponential = Variate::Exponential { mean: 20_000.0 };
        let (mean, drawn) = sample(exponential);
        assert!((mean / 20_000.0 - 1.0).abs() < 0.015, "mean {mean}");
        assert!((exponential.mean() - 20_000.0).abs() < 1e-9);
        let median = drawn[50_000];
        assert!((13_600..14_130).contains(&median), "median {median}, expected 20,000 ln 2");
        let pareto = Variate::Pareto { shape: 1.2, min: 2_000.0, max: 5e6 };
        let (mean, drawn) = sample(pareto);
        // E[X] = min^a / (1 - (min/max)^a) * a / (a - 1) * (min^(1-a) - max^(1-a))
        let expected = 2_000.0_f64.powf(1.2) / (1.0 - (2_000.0 / 5e6_f64).powf(1.2)) * 1.2 / 0.2
            * (2_000.0_f64.powf(-0.2) - 5e6_f64.powf(-0.2));
        assert!((pareto.mean() / expected - 1.0).abs() < 1e-9);
        assert!((mean / expected - 1.0).abs() < 0.06, "mean {mean}, expected {expected}");
        assert!(drawn[0] >= 2_000 && drawn[99_999] <= 5_000_000);
    }

    /// The pages of Pries, Magyari and Tran-Gia 2012 (NGI, doi 10.1109/NGI.2012.6252145): distributions fitted to a million pages,
    /// beside the means that were measured, 31,561 bytes of a main object and 23,915 of another. A fit need not have the mean
    /// of its data: that of the lognormal is 12 % below.
    #[test]
    fn fits_to_published_pages_have_about_their_means() {
        let main = Variate::Weibull { shape: 0.814_944, scale: 28_242.8 };
        let (mean, drawn) = sample(main);
        assert!((main.mean() / 31_561.0 - 1.0).abs() < 0.005, "mean {}", main.mean());
        assert!((mean / main.mean() - 1.0).abs() < 0.02, "mean {mean}");
        // the median of a Weibull is scale (ln 2)^(1/shape)
        #[expect(clippy::cast_precision_loss, reason = "a median for a test")]
        let median = drawn[50_000] as f64 / (28_242.8 * core::f64::consts::LN_2.powf(1.0 / 0.814_944));
        assert!((median - 1.0).abs() < 0.02, "median off by {median}");
        let other = Variate::Lognormal { median: 9_699.0, sigma: 1.246_46 };
        let (mean, drawn) = sample(other);
        assert!((other.mean() / 23_915.0 - 0.88).abs() < 0.01, "mean {}", other.mean());
        assert!((mean / other.mean() - 1.0).abs() < 0.03, "mean {mean}");
        assert!((9_500..9_900).contains(&drawn[50_000]), "median {}", drawn[50_000]);
        // one standard deviation above the median of the logarithms
        let above = drawn.iter().filter(|value| **value > 33_732).count();
        assert!((15_500..16_230).contains(&above), "{above} of 15,866");
    }
}
