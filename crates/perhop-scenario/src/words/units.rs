//! Quantities as they are written in a scenario: a decimal number, an optional blank, a unit.
//!
//! Every value is exact: it is an integer of the base unit, and what is not a whole number of it is refused, not
//! rounded. Upper and lower case matter, as they do in the units themselves (`b` is a bit, `B` a byte).
//!
//! | Quantity | Base unit | Accepted units | Prefixes | Largest |
//! |---|---|---|---|---|
//! | [`Rate`] | bit/s | `bit/s` = `bps`, `B/s` (8 bit/s) | `k M G T`, `Ki Mi Gi Ti` | 1 Pbit/s |
//! | [`Time`] | ns | `s`, `ms`, `us` = `µs`, `ns` | in the unit | 10^9 s |
//! | [`Size`] | byte | `B` | `k M G T`, `Ki Mi Gi Ti` | 1 PB |
//! | [`Limit`] | packet or byte | `p` (packets), `B` | `p`: none; `B`: as for a size | 10^15 packets, 1 PB |
//!
//! `k M G T` are powers of 1000, `Ki Mi Gi Ti` powers of 1024. Printing takes the unit that needs the fewest digits
//! and is exact (decimal prefix on a tie), and what is printed reads back as the same value.

use std::fmt;
use std::str::FromStr;

use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};

pub use crate::words::quantity::UnitError;
use crate::words::quantity::{MAX, MAX_TIME, PACKETS, RATE, SIZE, TIME, shortest};

/// A text newtype: serde through `FromStr` and `Display`, JSON Schema with a `format`.
macro_rules! text {
    ($name:ident, $format:literal, $about:literal, $examples:expr) => {
        impl TryFrom<String> for $name {
            type Error = UnitError;
            fn try_from(text: String) -> Result<Self, UnitError> {
                text.parse()
            }
        }

        impl From<$name> for String {
            fn from(value: $name) -> Self {
                value.to_string()
            }
        }

        impl schemars::JsonSchema for $name {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }
            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!({
                    "type": "string", "format": $format, "description": $about, "examples": $examples
                })
            }
        }
    };
}
pub(crate) use text;

/// A newtype written as text with a unit: serde, JSON Schema and conversions.
macro_rules! quantity {
    ($(#[$doc:meta])* $name:ident($inner:ty), $format:literal, $spec:expr, $about:literal, $examples:expr) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $name(pub $inner);

        text!($name, $format, $about, $examples);

        impl $name {
            /// The error for `number` written without a unit.
            pub(crate) fn bare(number: &str) -> UnitError {
                $spec.bare(number)
            }
        }
    };
}

quantity!(
    /// A rate above zero.
    Rate(BitRate), "rate-with-unit", RATE, "A rate with its unit, above zero.", ["100kbit/s", "10Mbps", "1.25MB/s"]
);
quantity!(
    /// A length of time, zero included.
    Time(Span), "time-with-unit", TIME, "A length of time with its unit.", ["60s", "5ms", "20us"]
);
quantity!(
    /// A number of bytes, zero included.
    Size(Bytes), "size-with-unit", SIZE, "A number of bytes with its unit.", ["1460B", "64kB", "64KiB"]
);
quantity!(
    /// A limit in packets or in bytes.
    Limit(QueueSize), "limit-with-unit", PACKETS, "A number of packets (`p`) or of bytes, with its unit.", ["88p", "64kB"]
);

/// A length of time that may be drawn instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Phase {
    /// This one.
    Fixed(Time),
    /// Drawn for each flow.
    Random,
}

text!(Phase, "phase-with-unit", "A length of time with its unit, or `random`.", ["120ms", "random"]);

impl FromStr for Phase {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let or_random =
            |error: UnitError| UnitError { hint: format!("{}, or write `random`", error.hint), ..error };
        if text == "random" { Ok(Self::Random) } else { text.parse().map(Self::Fixed).map_err(or_random) }
    }
}

impl fmt::Display for Phase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fixed(time) => time.fmt(f),
            Self::Random => f.pad("random"),
        }
    }
}

/// A probability below 1; written as a number, not as text.
#[derive(Clone, Copy, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct Probability(pub f64);

impl schemars::JsonSchema for Probability {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Probability".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "type": "number", "description": "A probability below 1.", "minimum": 0, "exclusiveMaximum": 1
        })
    }
}

impl FromStr for Rate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let zero = || RATE.error("a rate must be above zero: at zero nothing is ever sent".to_owned(), None);
        BitRate::new(RATE.parse(text, MAX)?).map(Self).ok_or_else(zero)
    }
}

impl FromStr for Time {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        TIME.parse(text, MAX_TIME).map(|ns| Self(Span::from_nanos(ns)))
    }
}

impl Time {
    /// Whether it is none: of a scenario that says nothing, nothing is written.
    #[must_use]
    pub fn is_none(&self) -> bool {
        self.0 == Span::ZERO
    }
}

impl FromStr for Size {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        SIZE.parse(text, MAX).map(|n| Self(Bytes(n)))
    }
}

impl FromStr for Limit {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let unit = text.trim().trim_start_matches(|c: char| c.is_ascii_digit() || c == '.').trim_start();
        if SIZE.factor(unit).is_some() {
            return SIZE.parse(text, MAX).map(|n| Self(QueueSize::Bytes(n)));
        }
        PACKETS.parse(text, MAX).map(|n| Self(QueueSize::Packets(n)))
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&shortest(self.0.bits_per_sec(), "bit/s"))
    }
}

impl fmt::Display for Time {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.as_nanos();
        let units = [("s", 1_000_000_000), ("ms", 1_000_000), ("us", 1_000), ("ns", 1)];
        let (unit, by) = units.into_iter().find(|(_, by)| ns.is_multiple_of(*by)).unwrap_or(("ns", 1));
        f.pad(&format!("{}{unit}", ns / by))
    }
}

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&shortest(self.0.0, "B"))
    }
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            QueueSize::Packets(n) => f.pad(&format!("{n}p")),
            QueueSize::Bytes(n) => f.pad(&shortest(n, "B")),
        }
    }
}
