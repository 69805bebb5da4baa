//! Promises to classes of flows.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A promise to a class of flows: a quantity of what it gets, and its bound. A run is as it would be without.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sla {
    /// The class of flows.
    pub class: String,
    /// Quantity that is bounded.
    pub quantity: Promised,
    /// The bound: a rate that is the least, else the most: a time, or for `loss` a percentage.
    #[schemars(extend("examples" = ["150ms", "2Mbit/s", "1%"]))]
    pub bound: String,
}

/// A quantity that a class may be promised, as `classes` has it of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Promised {
    /// At least so much goodput, all flows together.
    Goodput,
    /// At most such a part of the packets is lost.
    Loss,
    /// The median one-way delay is at most this.
    DelayP50,
    /// 95 % of one-way delays are at most this.
    DelayP95,
    /// 99 % are.
    DelayP99,
    /// 99.9 % are.
    DelayP999,
    /// 95 % of delay variations between packets (IPDV, RFC 5481 section 4.1) are at most this.
    IpdvP95,
    /// The mean time of a transfer is at most this.
    TransferMean,
    /// 95 % of the times of transfers are at most this.
    TransferP95,
}
