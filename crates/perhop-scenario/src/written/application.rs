//! Applications over flows, as they are written.

use perhop_core::time::Span;
use perhop_core::units::Bytes;
use perhop_core::variate::Variate;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::units::{Rate, Size, Time};
use crate::written::defaults;
use crate::written::sizes::SizeDistribution;

/// Application over a flow: it says what is sent and when, and has results of its own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Application {
    /// Of a `[[flow]]`: replies over one connection. The next is asked for once the one before is whole and a time to think
    /// has passed.
    Requests {
        /// How much data each reply has.
        size: SizeDistribution,
        /// From a reply to the next request.
        #[serde(default = "no_thought")]
        think: TimeDistribution,
    },
    /// Of a `[[flow]]`: pages. A page is one main object and, once that is there, others, which the connections fetch in turn. What
    /// is not written is as in Pries, Magyari and Tran-Gia 2012 (doi 10.1109/NGI.2012.6252145).
    Pages {
        /// How much data the main object of a page has.
        #[serde(default = "main_object")]
        main: SizeDistribution,
        /// How many other objects a page has.
        #[serde(default = "objects")]
        objects: CountDistribution,
        /// How much data each of these has.
        #[serde(default = "object")]
        object: SizeDistribution,
        /// How many connections fetch them, all of which open at the start: each is a flow, `name[0]`, `name[1]`, ...
        #[serde(default = "connections")]
        #[schemars(range(min = 1, max = 100))]
        connections: u32,
        /// From a page to the next.
        #[serde(default = "no_thought")]
        think: TimeDistribution,
    },
    /// Of a `[[flow]]`: video in chunks, one after the other over one connection, at the rate that BBA-0 chooses by how much video the
    /// buffer holds (Huang et al. 2014, doi 10.1145/2619239.2626296). Times are of video; without them as there.
    Video {
        /// The rates, the lowest first.
        #[schemars(length(min = 1, max = 100))]
        ladder: Vec<Rate>,
        /// Length of a chunk.
        #[serde(default = "chunk")]
        chunk: Time,
        /// The most that the buffer holds.
        #[serde(default = "buffer")]
        buffer: Time,
        /// With no more than this in the buffer the rate is the lowest.
        #[serde(default = "reservoir")]
        reservoir: Time,
        /// Over so much more the rate rises to the highest.
        #[serde(default = "cushion")]
        cushion: Time,
    },
    /// Of a `[[udp]]`: a call, a flow each way at a constant rate, and how good it is by the E-model (ITU-T G.107).
    Call {
        /// How long the first packet of the measured time waits to be played, and as late as it every other. What comes later is lost.
        #[serde(default = "jitter_buffer")]
        jitter_buffer: Time,
        /// Equipment impairment factor of the codec, Ie.
        #[serde(default)]
        #[schemars(range(min = 0.0, max = 95.0))]
        ie: f64,
        /// Packet-loss robustness factor of the codec, Bpl. Above 0.
        #[serde(default = "bpl")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100))]
        bpl: f64,
    },
}

/// Huang et al. 2014, section 2: chunks of four seconds.
fn chunk() -> Time {
    Time(Span::from_secs(4))
}

/// The same, section 4: four minutes.
fn buffer() -> Time {
    Time(Span::from_secs(240))
}

/// The same: 90 seconds.
fn reservoir() -> Time {
    Time(Span::from_secs(90))
}

/// The same: the highest rate from 90 % of the buffer on.
fn cushion() -> Time {
    Time(Span::from_secs(126))
}

/// 40 ms, two packets of 20 ms: ours.
fn jitter_buffer() -> Time {
    Time(Span::from_millis(40))
}

/// G.711 without concealment of losses: the default of G.107, table 2.
fn bpl() -> f64 {
    4.3
}

/// The next request at once: ours.
fn no_thought() -> TimeDistribution {
    TimeDistribution::Fixed { time: defaults::no_time() }
}

/// Pries et al. 2012, table 4: the fit to main objects.
fn main_object() -> SizeDistribution {
    SizeDistribution::Weibull { shape: 0.814_944, scale: Size(Bytes(28_243)) }
}

/// The same: the fit to inline objects, whose logarithm has a mean of 9.17979.
fn object() -> SizeDistribution {
    SizeDistribution::Lognormal { median: Size(Bytes(9_699)), sigma: 1.246_46 }
}

/// The same: the number of inline objects.
fn objects() -> CountDistribution {
    CountDistribution::Exponential { mean: 31.9291 }
}

/// Six: what browsers open to a host by HTTP/1.1.
fn connections() -> u32 {
    6
}

impl Application {
    /// Its kind as it is written.
    pub(crate) const fn kind(&self) -> &'static str {
        match self {
            Self::Requests { .. } => "requests",
            Self::Pages { .. } => "pages",
            Self::Video { .. } => "video",
            Self::Call { .. } => "call",
        }
    }
}

impl Application {
    /// How many connections it has.
    pub(crate) const fn connections(&self) -> u32 {
        match self {
            Self::Requests { .. } | Self::Video { .. } | Self::Call { .. } => 1,
            Self::Pages { connections, .. } => *connections,
        }
    }
}

/// How numbers of things are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum CountDistribution {
    /// Always the same.
    Fixed {
        /// It.
        count: u32,
    },
    /// Exponential, rounded; none is possible.
    Exponential {
        /// Mean, before it is rounded. Above 0.
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 100_000))]
        mean: f64,
    },
}

impl CountDistribution {
    /// Numbers of this distribution.
    pub(crate) fn variate(&self) -> Variate {
        match *self {
            Self::Fixed { count } => Variate::Fixed(count.into()),
            Self::Exponential { mean } => Variate::Exponential { mean },
        }
    }
}

/// How lengths of time are distributed.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum TimeDistribution {
    /// All alike.
    Fixed {
        /// Each of them.
        time: Time,
    },
    /// Exponential, to the nearest nanosecond.
    Exponential {
        /// Mean.
        mean: Time,
    },
}

impl TimeDistribution {
    /// Nanoseconds of this distribution.
    #[expect(clippy::cast_precision_loss, reason = "the mean of a random draw")]
    pub(crate) fn variate(&self) -> Variate {
        match *self {
            Self::Fixed { time } => Variate::Fixed(time.0.as_nanos()),
            Self::Exponential { mean } => Variate::Exponential { mean: mean.0.as_nanos() as f64 },
        }
    }
}
