//! Distributions of amounts of data, as they are written.

use perhop_core::variate::Variate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::units::Size;

/// How the data of transfers is distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum SizeDistribution {
    /// All alike.
    Fixed {
        /// The data of each.
        size: Size,
    },
    /// Exponential, rounded to whole bytes, at least one.
    Exponential {
        /// Mean, before it is rounded.
        mean: Size,
    },
    /// Bounded Pareto: `P[X > x]` falls as `x^-shape` between `min` and `max` (Harchol-Balter 2013, section 20.4).
    Pareto {
        /// Tail index: the smaller, the heavier the tail. Above 0.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
        shape: f64,
        /// Least data.
        min: Size,
        /// Most data.
        max: Size,
    },
    /// Lognormal, rounded to whole bytes, at least one.
    Lognormal {
        /// Half of them are below.
        median: Size,
        /// Standard deviation of the logarithm. Above 0.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 10))]
        sigma: f64,
    },
    /// Weibull, rounded to whole bytes, at least one: `P[X > x]` is `exp(-(x/scale)^shape)`.
    Weibull {
        /// The smaller, the heavier the tail; 1 is exponential. Above 0.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
        shape: f64,
        /// 63 % of them are below.
        scale: Size,
    },
}

impl SizeDistribution {
    /// Bytes of this distribution; those that are to be sent are one at least.
    #[expect(clippy::cast_precision_loss, reason = "of a random draw; sizes stay below 10^15")]
    pub(crate) fn variate(&self) -> Variate {
        let float = |size: Size| size.0.0 as f64;
        match *self {
            Self::Fixed { size } => Variate::Fixed(size.0.0),
            Self::Exponential { mean } => Variate::Exponential { mean: float(mean) },
            Self::Pareto { shape, min, max } => Variate::Pareto { shape, min: float(min), max: float(max) },
            Self::Lognormal { median, sigma } => Variate::Lognormal { median: float(median), sigma },
            Self::Weibull { shape, scale } => Variate::Weibull { shape, scale: float(scale) },
        }
    }
}
