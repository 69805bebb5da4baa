//! Conventions of early detection, of `CoDel`, of flow queueing, of PIE and of `DualPI2` as they are written.

use perhop_core::queue;
use perhop_core::units::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::units::Size;

/// Differences of early detection from its paper. A setting that is left out is as in `like`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Conventions {
    /// Source of the conventions not set here.
    pub like: Like,
    /// After a drop none comes by chance before `1/p_b` arrivals, and then one within another `1/p_b` (`wait_` of ns-2).
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub wait: Option<bool>,
    /// An arrival that finds at most one packet waiting (or one byte) is not dropped by the average, which counts as below
    /// `min_th`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub spare_short: Option<bool>,
    /// The arrival with which the average passes `min_th` is not dropped by chance, and counts as the first since a drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub spare_first: Option<bool>,
    /// Where `count p_b` has passed 1 the probability is negative instead of 1: chance drops nothing there.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub unclamped: Option<bool>,
    /// An arrival at a full queue is dropped before it is averaged and counted.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub skip_full: Option<bool>,
    /// Idle time begins when the last packet has been sent, not when it leaves the queue.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub idle_sent: Option<bool>,
    /// Idle time counts whole packets, and the arrival that ends it takes one step more.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub idle_whole: Option<bool>,
    /// A dropped arrival does not end the idle time: the next one counts all of it again.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub idle_again: Option<bool>,
    /// With `averaging = "shared"`: the average is idle, too, from when the last packet of a colour has left until a packet
    /// is accepted, whatever else waits.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub idle_color: Option<bool>,
}

/// Source of the conventions of early detection.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Like {
    /// The paper's (Floyd and Jacobson 1993): every setting false.
    #[default]
    Floyd1993,
    /// RED of ns-2.35 (`queue/red.cc`): `wait`, `spare_short`, `spare_first`, `idle_sent` and `idle_whole`.
    Ns2Red,
    /// The queue of ns-2.35's DiffServ module: `unclamped`, `skip_full`, `idle_whole`, `idle_again` and `idle_color`.
    Dsred,
}

impl Conventions {
    /// Whether nothing but the default is asked for.
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }

    /// The conventions as the elements take them.
    pub(crate) fn model(self) -> queue::Conventions {
        let like = match self.like {
            Like::Floyd1993 => queue::Conventions::FLOYD1993,
            Like::Ns2Red => queue::Conventions::NS2_RED,
            Like::Dsred => queue::Conventions::DSRED,
        };
        queue::Conventions {
            wait: self.wait.unwrap_or(like.wait),
            spare_short: self.spare_short.unwrap_or(like.spare_short),
            spare_first: self.spare_first.unwrap_or(like.spare_first),
            unclamped: self.unclamped.unwrap_or(like.unclamped),
            skip_full: self.skip_full.unwrap_or(like.skip_full),
            idle_sent: self.idle_sent.unwrap_or(like.idle_sent),
            idle_whole: self.idle_whole.unwrap_or(like.idle_whole),
            idle_again: self.idle_again.unwrap_or(like.idle_again),
            idle_color: self.idle_color.unwrap_or(like.idle_color),
        }
    }
}

/// Differences of `CoDel` from RFC 8289. A setting that is left out is as in `like`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct CodelConventions {
    /// Source of the conventions not set here.
    pub like: LikeCodel,
    /// The root of the count is Newton's, in 16 bits, one step for each drop.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub newton: Option<bool>,
    /// Time is counted in units of 1,024 ns.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub coarse_clock: Option<bool>,
    /// The first drop comes later than an interval above the target, not at its end.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub strictly_after: Option<bool>,
    /// A packet that leaves no more than this behind is kept. Without it the longest packet so far, or 1500B with `like = "linux"`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub mtu: Option<Size>,
}

/// Source of the conventions of `CoDel`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LikeCodel {
    /// The RFC's pseudo-code: every setting false.
    #[default]
    Rfc8289,
    /// Those of Linux: `newton`, `coarse_clock`, `strictly_after` and `mtu`.
    Linux,
}

impl CodelConventions {
    /// Whether nothing but the default is asked for.
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }

    /// The conventions as the element takes them.
    pub(crate) fn model(self) -> queue::CodelConventions {
        let like = match self.like {
            LikeCodel::Rfc8289 => queue::CodelConventions::RFC8289,
            LikeCodel::Linux => queue::CodelConventions::linux(Bytes(1500)),
        };
        queue::CodelConventions {
            newton: self.newton.unwrap_or(like.newton),
            coarse_clock: self.coarse_clock.unwrap_or(like.coarse_clock),
            strictly_after: self.strictly_after.unwrap_or(like.strictly_after),
            mtu: self.mtu.map(|Size(mtu)| mtu).or(like.mtu),
        }
    }
}

/// Differences of flow queueing from RFC 8290. A setting that is left out is as in `like`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct FqConventions {
    /// Source of the conventions not set here.
    pub like: LikeFq,
    /// A batch of drops ends with half the bytes of the longest queue, not with half its packets.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub half_bytes: Option<bool>,
    /// A packet that is dropped for the limit counts as a drop of its queue's `CoDel`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub overflow_counts: Option<bool>,
    /// `CoDel` keeps a packet where no more than a packet is left in all queues together, not in its own; and one that runs empty
    /// does not begin its interval anew.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub common_backlog: Option<bool>,
    /// A new queue that has run empty is forgotten at once where there is no old one, instead of becoming old itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub forget_new: Option<bool>,
}

/// Source of the conventions of flow queueing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LikeFq {
    /// The RFC's text: every setting false.
    #[default]
    Rfc8290,
    /// Those of Linux's `fq_codel`: every setting true.
    Linux,
}

impl FqConventions {
    /// Whether nothing but the default is asked for.
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }

    /// The conventions as the element takes them.
    pub(crate) fn model(self) -> queue::FqConventions {
        let like = match self.like {
            LikeFq::Rfc8290 => queue::FqConventions::RFC8290,
            LikeFq::Linux => queue::FqConventions::LINUX,
        };
        queue::FqConventions {
            half_bytes: self.half_bytes.unwrap_or(like.half_bytes),
            overflow_counts: self.overflow_counts.unwrap_or(like.overflow_counts),
            common_backlog: self.common_backlog.unwrap_or(like.common_backlog),
            forget_new: self.forget_new.unwrap_or(like.forget_new),
        }
    }
}

/// Conventions of PIE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct PieConventions {
    /// Source of the conventions.
    pub like: LikePie,
}

/// Source of the conventions of PIE.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LikePie {
    /// The RFC's: sections 4 and 5.
    #[default]
    Rfc8033,
    /// Those of Linux, `sch_pie`: whole numbers, always derandomised and capped, a start half a second late.
    Linux,
}

impl PieConventions {
    /// Whether nothing but the default is asked for.
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }
}

/// Conventions of `DualPI2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct DualPi2Conventions {
    /// Source of the conventions.
    pub like: LikeDualPi2,
    /// By chance nothing is dropped or marked that leaves less than two of these behind, with `like = "linux"` alone. Without it 1514B.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub mtu: Option<Size>,
}

/// Source of the conventions of `DualPI2`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum LikeDualPi2 {
    /// The RFC's: appendix A.
    #[default]
    Rfc9332,
    /// Those of Linux, `sch_dualpi2`: whole numbers, events by chance, a step in place of the ramp.
    Linux,
}

impl DualPi2Conventions {
    /// Whether nothing but the default is asked for.
    pub(crate) fn are_default(&self) -> bool {
        *self == Self::default()
    }
}
