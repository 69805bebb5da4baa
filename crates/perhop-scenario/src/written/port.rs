//! Outgoing interfaces as they are written: ports, classes, schedulers.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::choices::AckFilter;
use crate::words::files::FileName;
use crate::words::marks::Selector;
use crate::words::names::{End, Label};
use crate::words::setting::SettingsTable;
use crate::words::units::{Rate, Size, Time};
use crate::written::defaults;
use crate::written::queue::Queue;

/// An outgoing interface: the queues in front of the direction `at -> to` of a link, or of both directions.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Port {
    /// The sending node. With several members the port is made at each; a port that names one goes before one with some of
    /// them, and that before one with `[*]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "End")]
    pub at: Option<End>,
    /// The receiving node.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "End")]
    pub to: Option<End>,
    /// Instead of `at` and `to`: the two nodes of a link whose directions are to have the same settings; each has queues of its
    /// own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "[End; 2]")]
    pub between: Option<[End; 2]>,
    /// Hosts only: a connection with this many data packets handed to the port and not yet fully transmitted hands over
    /// no more.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1))]
    pub backpressure: Option<u32>,
    /// Holds the port to a rate below the link's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PortShaper")]
    pub shaper: Option<PortShaper>,
    /// Which class is served next.
    #[serde(default = "scheduler")]
    pub scheduler: Scheduler,
    /// The classes in order; a packet belongs to the first that matches it.
    #[serde(default = "classes")]
    #[schemars(length(min = 1, max = 256))]
    pub class: Vec<Class>,
}

/// Holds a port to a rate (`tc-tbf(8)`).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PortShaper {
    /// Packets leave at this rate at most.
    pub rate: Rate,
    /// Bytes that may leave at once after a pause, at the link's rate.
    #[serde(default = "defaults::burst")]
    pub burst: Size,
    /// Bytes that each packet counts more than it has.
    #[serde(default = "defaults::no_bytes")]
    pub overhead: Size,
    /// The least that a packet counts, `overhead` included.
    #[serde(default = "defaults::no_bytes")]
    pub mpu: Size,
}

/// Earlier classes first, which with one class is plain FIFO: ours.
pub(crate) fn scheduler() -> Scheduler {
    Scheduler::StrictPriority
}

/// One class for all packets: ours.
pub(crate) fn classes() -> Vec<Class> {
    vec![Class {
        name: Label::fixed("all"),
        matches: defaults::matches(),
        weight: None,
        quantum: None,
        share: None,
        bounded: None,
        isolated: None,
        priority: None,
        maxidle: None,
        minidle: None,
        offtime: None,
        gain: None,
        rate: None,
        ceil: None,
        burst: None,
        cburst: None,
        queue: queue(),
    }]
}

/// A class of a port: which packets, the queue they wait in, and what the scheduler gives it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Name within the port.
    pub name: Label,
    /// Which packets: any one of these suffices.
    #[serde(rename = "match", default = "defaults::matches")]
    #[schemars(length(min = 1))]
    pub matches: Vec<Selector>,
    /// With `wrr`: packets that the class may send in each round. With `wfq`: its part of the link's bytes. At least 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1))]
    pub weight: Option<u32>,
    /// With `drr`: bytes that the class may send in each round. With `htb`: bytes of its turn among classes of its priority; without
    /// it what its `rate` is in a tenth of a second, from 1000B to 200000B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub quantum: Option<Size>,
    /// With `cbq`: the fraction of the link that is allocated to the class, above 0 and at most 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub share: Option<f64>,
    /// With `cbq`: the class never sends more than its share. Without it, what others leave may be borrowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub bounded: Option<bool>,
    /// With `cbq`: what the class leaves of its share is not lent to others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "bool")]
    pub isolated: Option<bool>,
    /// With `cbq`: classes with a smaller number are served first, as far as their shares go; 0 to 7. With `htb` as far as their
    /// rates go, and they borrow first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(max = 7))]
    pub priority: Option<u8>,
    /// With `cbq`: most idle time that the class may save up while it has nothing to send. A burst of n packets, each
    /// taking t on the link, needs `n t (1/share - 1)`. Without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub maxidle: Option<Time>,
    /// With `cbq`: most debt that borrowing leaves. Without it none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub minidle: Option<Time>,
    /// With `cbq` and `bounded`: how much longer the class waits once its share is used up, to send in bursts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub offtime: Option<Time>,
    /// With `cbq`: each packet makes the estimator forget `2^-gain` of what it knew; without it, it forgets nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u8", range(min = 1, max = 16))]
    pub gain: Option<u8>,
    /// With `htb`: what the class has for itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate")]
    pub rate: Option<Rate>,
    /// With `htb`: the most that the class gets, with what others leave. Without it its `rate`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate")]
    pub ceil: Option<Rate>,
    /// With `htb`: what the class may send of its own at once after a pause. Without it 1600B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub burst: Option<Size>,
    /// With `htb`: what the class may send at once after a pause, with what it borrows. Without it 1600B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub cburst: Option<Size>,
    /// The queue.
    #[serde(default = "queue")]
    pub queue: Queue,
}

/// 1000 packets: ours, as Linux's default `txqueuelen`.
fn queue() -> Queue {
    Queue::Fifo { limit: defaults::queue_limit(), ack_filter: AckFilter::Off }
}

/// How a port chooses among its classes.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Scheduler {
    /// The first class in order that has a packet. With one class: plain FIFO.
    StrictPriority,
    /// Two classes share the link by two byte counters (Kalampoukas, Varma and Ramakrishnan 1997, Figure 6.1).
    PairedCounter {
        /// The class that is guaranteed `share`.
        data: Label,
        /// The fraction of the link guaranteed to it, between 0 and 1.
        #[schemars(extend("exclusiveMinimum" = 0, "exclusiveMaximum" = 1))]
        share: f64,
    },
    /// Weighted round robin: each class sends up to `weight` packets in its turn.
    Wrr,
    /// Deficit round robin (Shreedhar and Varghese 1995): each class sends up to `quantum` bytes in its turn, and what it
    /// cannot use of it later.
    Drr,
    /// Weighted fair queueing, self-clocked (Golestani 1994): each class has its `weight` of the link, packet by packet.
    Wfq,
    /// Class-based queueing (Floyd and Van Jacobson 1995): each class has its `share` of the link, and what others leave.
    Cbq,
    /// Hierarchical token buckets (`tc-htb(8)`): each class has its `rate`, and up to its `ceil` what others leave.
    Htb {
        /// Rate of the classes together. Without it the rate of the port's `shaper`, or else the link's.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Rate")]
        rate: Option<Rate>,
        /// Bytes that they may send together at once after a pause, as far as they borrow them.
        #[serde(default = "defaults::burst")]
        burst: Size,
    },
    /// A scheduler in Python: a class of a file beside the scenario.
    Python {
        /// The file.
        file: FileName,
        /// The class.
        name: Label,
        /// Settings that it is given, by name.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        settings: SettingsTable,
    },
}
