//! The rate of a link as it is written: one number, or a file whose trace it follows.

use std::fmt;
use std::str::FromStr;

use crate::words::files::FileName;
use crate::words::units::{Rate, UnitError, text};

/// A rate, or a trace of rates.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum LinkRate {
    /// Always this.
    Constant(Rate),
    /// As the file says.
    Trace(FileName),
}

text!(
    LinkRate,
    "link-rate",
    "A rate with its unit, above zero; or `trace:` and a file whose trace it follows.",
    ["100kbit/s", "10Mbps", "1.25MB/s", "trace:lte.trace"]
);

/// How a trace begins.
const TRACE: &str = "trace:";

impl FromStr for LinkRate {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        match text.strip_prefix(TRACE) {
            Some(file) => file.parse().map(Self::Trace),
            None => text.parse().map(Self::Constant),
        }
    }
}

impl fmt::Display for LinkRate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Constant(rate) => rate.fmt(f),
            Self::Trace(file) => write!(f, "{TRACE}{file}"),
        }
    }
}
