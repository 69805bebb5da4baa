//! Queues as they are written, with their drop policies.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use perhop_core::units::QueueSize;

use crate::words::choices::{AckFilter, Averaging, DelayFrom, Isolation, Tins};
use crate::words::conventions::{
    CodelConventions, Conventions, DualPi2Conventions, FqConventions, PieConventions,
};
use crate::words::files::FileName;
use crate::words::marks::Colors;
use crate::words::names::Label;
use crate::words::setting::SettingsTable;
use crate::words::units::{Limit, Rate, Size, Time};
use crate::written::defaults;

/// `CoDel` that marks: RFC 8290 section 5.2.6.
fn queue_of_a_flow() -> Box<Queue> {
    //= rfc8290-5.2-defaults
    Box::new(Queue::Codel {
        limit: defaults::fq_limit(),
        target: defaults::codel_target(),
        interval: defaults::codel_interval(),
        ecn: true,
        ce_threshold: None,
        conventions: CodelConventions::default(),
        ack_filter: AckFilter::Off,
    })
}

/// Declares the queues: those that drop early with what is their own, and once what all of these have.
macro_rules! queues {
    (
        first { $($first:tt)* }
        early { $($(#[$about:meta])* $kind:ident { $($own:tt)* })+ }
        last { $($last:tt)* }
    ) => {
        /// A queue and its drop policy.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
        pub enum Queue {
            $($first)*
            $(
                $(#[$about])*
                $kind {
                    $($own)*
                    /// Weight of the newest sample in the average, above 0 and at most 1.
                    #[serde(default = "defaults::w_q")]
                    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
                    w_q: f64,
                    /// Between `max_th` and twice that, the probability of a drop rises to 1 instead of jumping there.
                    #[serde(default)]
                    gentle: bool,
                    /// The probability is proportional to the length of the packet against `mean_packet`.
                    #[serde(default)]
                    byte_mode: bool,
                    /// Packets of flows with ECN are marked where they would be dropped by chance (RFC 3168 section 5).
                    #[serde(default)]
                    ecn: bool,
                    /// Differences from RED's paper.
                    #[serde(default, skip_serializing_if = "Conventions::are_default")]
                    conventions: Conventions,
                    /// The packet that sets the pace of the average while the queue is empty; also the reference of `byte_mode`.
                    /// Without it `run.packet_size`, or else 500B.
                    #[serde(default, skip_serializing_if = "Option::is_none")]
                    #[schemars(with = "Size")]
                    mean_packet: Option<Size>,
                },
            )+
            $($last)*
        }

        impl Queue {
            /// Settings common to all that drop early; `None` of one that does not.
            pub(crate) const fn early_detection(&self) -> Option<EarlyDetection> {
                match *self {
                    $(Self::$kind { w_q, gentle, byte_mode, ecn, conventions, mean_packet, .. } => {
                        Some(EarlyDetection { w_q, gentle, byte_mode, ecn, conventions, mean_packet })
                    })+
                    _ => None,
                }
            }
        }
    };
}

/// Settings common to all queues that drop early.
pub(crate) struct EarlyDetection {
    pub w_q: f64,
    pub gentle: bool,
    pub byte_mode: bool,
    pub ecn: bool,
    pub conventions: Conventions,
    pub mean_packet: Option<Size>,
}

queues! {
    first {
        /// First in, first out; an arrival that would exceed the limit is dropped.
        Fifo {
            /// Most that may wait, in packets or in bytes; the packet being transmitted does not count.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// Pure ACKs that a later one of their connection makes redundant are dropped.
            #[serde(default, skip_serializing_if = "AckFilter::is_off")]
            #[schemars(extend("default" = "off"))]
            ack_filter: AckFilter,
        },
    }
    early {
        /// Random early detection (Floyd and Jacobson 1993).
        Red {
            /// Most that may wait, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// Below this average nothing is dropped by chance. In packets or in bytes, which is also how the average counts.
            min_th: Limit,
            /// From this average on every arrival is dropped; with `gentle`, from twice this.
            max_th: Limit,
            /// Probability of a drop where the average reaches `max_th`.
            #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
            max_p: f64,
        }
        /// RED for two colours in one queue (Clark and Fang 1998): green is IN, red is OUT, and yellow counts as red.
        Rio {
            /// Most that may wait, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// Colour by mark. Without an entry the drop precedence of AF decides, and other marks are red.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            colors: Colors,
            /// Which packets the average of a colour counts.
            #[serde(default = "defaults::averaging")]
            averaging: Averaging,
            /// IN packets.
            green: Curve,
            /// OUT packets.
            red: Curve,
        }
        /// Generalised RED: a virtual queue for each of three colours in one queue (Linux `gred`).
        Gred {
            /// Most that may wait, in packets or in bytes. Without it there is no limit but those of the colours, if each
            /// has one and all are in packets or all in bytes; else 1000p.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Limit")]
            limit: Option<Limit>,
            /// Colour by mark. Without an entry the drop precedence of AF decides, and other marks are red.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            colors: Colors,
            /// Which packets the average of a colour counts.
            #[serde(default = "defaults::gred_averaging")]
            averaging: Averaging,
            /// In profile.
            green: VirtualQueue,
            /// In excess of the committed profile.
            yellow: VirtualQueue,
            /// Out of profile.
            red: VirtualQueue,
        }
    }
    last {
        /// Controlled delay (RFC 8289): packets are dropped at their turn once all of an interval have waited above a target.
        Codel {
            /// Most that may wait, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// The wait that may stand.
            #[serde(default = "defaults::codel_target")]
            target: Time,
            /// How long every packet must have waited for the target or longer before one is dropped; about the longest
            /// usual round trip.
            #[serde(default = "defaults::codel_interval")]
            interval: Time,
            /// Packets of flows with ECN are marked where they would be dropped for their wait.
            #[serde(default)]
            ecn: bool,
            /// A packet that has waited longer than this is marked if it can carry a mark. Without it none is marked so.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Time")]
            ce_threshold: Option<Time>,
            /// Differences from the RFC.
            #[serde(default, skip_serializing_if = "CodelConventions::are_default")]
            conventions: CodelConventions,
            /// Pure ACKs that a later one of their connection makes redundant are dropped.
            #[serde(default, skip_serializing_if = "AckFilter::is_off")]
            #[schemars(extend("default" = "off"))]
            ack_filter: AckFilter,
        },
        /// COBALT (Linux `cake`): controlled delay that leaves off step by step, and BLUE for flows that do not listen.
        Cobalt {
            /// Most that may wait, in packets or in bytes. Where it is passed, those that waited longest are dropped.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// The wait that may stand; at least one and a half times what a packet of `mtu` takes on the link. BLUE's probability
            /// changes at most once in so long.
            #[serde(default = "defaults::codel_target")]
            target: Time,
            /// How long packets must have waited for longer than the target before one is dropped; about the longest usual round
            /// trip.
            #[serde(default = "defaults::codel_interval")]
            interval: Time,
            /// The longest packet: a wait shorter than four of these take on the link is never too long. `0B` leaves this out.
            #[serde(default = "defaults::cobalt_mtu")]
            mtu: Size,
            /// Packets of flows with ECN are marked where they would be dropped for their wait.
            #[serde(default)]
            ecn: bool,
            /// Amount that an overflow adds to BLUE's probability, from 0, which leaves BLUE out, to 1.
            #[serde(default = "defaults::p_inc")]
            #[schemars(extend("minimum" = 0, "maximum" = 1))]
            p_inc: f64,
            /// Amount that an empty queue takes from BLUE's probability, from 0.000001 to 1.
            #[serde(default = "defaults::p_dec")]
            #[schemars(extend("minimum" = 0.000001, "maximum" = 1))]
            p_dec: f64,
            /// Pure ACKs that a later one of their connection makes redundant are dropped.
            #[serde(default, skip_serializing_if = "AckFilter::is_off")]
            #[schemars(extend("default" = "off"))]
            ack_filter: AckFilter,
        },
        /// Flow queueing (RFC 8290): a queue for each flow and direction. They are served in turn, those that have just begun first.
        Fq {
            /// Most that may wait in all queues together, in packets or in bytes. Past it the first packets of the longest queue
            /// are dropped.
            #[serde(default = "defaults::fq_limit")]
            limit: Limit,
            /// How many queues there are. Flows that a random number puts into the same one share it.
            #[serde(default = "defaults::fq_queues")]
            #[schemars(range(min = 1, max = 65_536))]
            queues: u32,
            /// Bytes that a queue may send in its turn.
            #[serde(default = "defaults::fq_quantum")]
            quantum: Size,
            /// Most packets that are dropped at once where the limit is passed: half of those of the longest queue, up to this.
            #[serde(default = "defaults::fq_drop_batch")]
            #[schemars(range(min = 1))]
            drop_batch: u32,
            /// The queue of each flow, `fifo`, `codel`, `cobalt` or `pie`. Its `limit` is that of one flow, and without it that of all.
            #[serde(default = "queue_of_a_flow")]
            queue: Box<Self>,
            /// Differences from the RFC.
            #[serde(default, skip_serializing_if = "FqConventions::are_default")]
            conventions: FqConventions,
        },
        /// Proportional integral controller enhanced (RFC 8033): arrivals are dropped by chance, with a probability that follows
        /// how long packets wait.
        Pie {
            /// Most that may wait, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// The delay to hold.
            #[serde(default = "defaults::pie_target")]
            target: Time,
            /// Time between updates of the probability.
            #[serde(default = "defaults::pie_target")]
            t_update: Time,
            /// How long a queue may grow after a calm before anything is dropped by chance.
            #[serde(default = "defaults::pie_max_burst")]
            max_burst: Time,
            /// Amount that a second above the target adds to the probability in an update, where it is 0.1 or more; below it is scaled down.
            #[serde(default = "defaults::pie_alpha")]
            #[schemars(extend("exclusiveMinimum" = 0))]
            alpha: f64,
            /// Amount that a second of growth since the last update adds.
            #[serde(default = "defaults::pie_beta")]
            #[schemars(extend("exclusiveMinimum" = 0))]
            beta: f64,
            /// Where the delay is known from.
            #[serde(default = "defaults::delay_from")]
            delay_from: DelayFrom,
            /// Below this nothing is reckoned or dropped by chance after a calm; the RFC speaks of a third of the limit (section 5.3).
            /// Without it the controller is always active.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Limit")]
            active_from: Option<Limit>,
            /// Drops are kept from coming too close together and too far apart (section 5.4). Without it false.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "bool")]
            derandomize: Option<bool>,
            /// A probability of 0.1 or more rises by at most 0.02 in an update (section 5.5). Without it false.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "bool")]
            cap_adjustment: Option<bool>,
            /// The probability is proportional to the length of the packet against `mean_packet`, up to 0.85.
            #[serde(default)]
            byte_mode: bool,
            /// Packets of flows with ECN are marked where they would be dropped by chance.
            #[serde(default)]
            ecn: bool,
            /// From this probability on they are dropped all the same. Without it 0.1.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1))]
            mark_ecnth: Option<f64>,
            /// Nothing is dropped by chance where two of these or less wait; also the reference of `byte_mode`. Without it
            /// `run.packet_size`, or else 1000B; with `like = "linux"` 1514B.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Size")]
            mean_packet: Option<Size>,
            /// Differences from the RFC.
            #[serde(default, skip_serializing_if = "PieConventions::are_default")]
            conventions: PieConventions,
        },
        /// PIE of DOCSIS cable modems (RFC 8034).
        DocsisPie {
            /// Most that may wait, in packets or in bytes. Nothing is dropped by chance before a third of it waits, and again after a
            /// second of quiet.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// The delay to hold.
            #[serde(default = "defaults::docsis_target")]
            target: Time,
            /// The rate that the delay is reckoned from. Without it the link's.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Rate")]
            rate: Option<Rate>,
        },
        /// Two coupled queues (RFC 9332): one kept short by many marks, for data that is ECT(1) or marked, and a classic one; long flows of
        /// both get like rates.
        #[serde(rename = "dualpi2")]
        DualPi2 {
            /// Most that may wait in both, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// The wait in the classic queue that the controller aims at.
            #[serde(default = "defaults::dualpi2_target")]
            target: Time,
            /// Time between updates of the base probability. Without it 15ms; with `like = "linux"` 16ms.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Time")]
            t_update: Option<Time>,
            /// By how much the base probability rises with each update, for each second beyond `target`; Hz. Without it 0.15; with
            /// `like = "linux"` 0.16015625, and a multiple of 1/256.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1000))]
            alpha: Option<f64>,
            /// By how much, for each second by which the wait has grown since the last update; Hz. Without it 3; with `like = "linux"`
            /// 3.19921875, and a multiple of 1/256.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1000))]
            beta: Option<f64>,
            /// A mark in the L4S queue is so many times as likely as the base probability, whose square is the classic queue's.
            #[serde(default = "defaults::dualpi2_coupling")]
            #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1000))]
            coupling: f64,
            /// The wait in the L4S queue from which it marks by itself. Without it 800us; with `like = "linux"` 1ms, where a longer wait
            /// marks every packet.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Time")]
            l4s_threshold: Option<Time>,
            /// How much longer the wait is at which it marks every packet; `0s` for a step. Without it 400us.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Time")]
            l4s_range: Option<Time>,
            /// It marks by itself only packets that leave more than this many behind in the L4S queue. Without it 1.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "u32")]
            l4s_packets: Option<u32>,
            /// The classic queue's part of the bytes while packets wait in both. Without it 0.0625; with `like = "linux"` 0.1, and a multiple
            /// of 0.01.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1))]
            classic_share: Option<f64>,
            /// The packet that has waited longest is served first, those of the classic queue as if they had waited this much less,
            /// whatever `classic_share` is. Without it the queues are served by turns.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Time")]
            time_shift: Option<Time>,
            /// Differences from the RFC.
            #[serde(default, skip_serializing_if = "DualPi2Conventions::are_default")]
            conventions: DualPi2Conventions,
        },
        /// CAKE (Linux `cake`): a shaper, tins by DS field, and in each a queue with COBALT for each flow, with fairness among hosts.
        Cake {
            /// Most that may wait in all queues together, in packets or in bytes. Past it the first packets of the longest queue
            /// are dropped.
            #[serde(default = "defaults::fq_limit")]
            limit: Limit,
            /// The rate of the shaper, below the link's for CAKE to hold the queue; tins have their parts of it. Without it nothing is
            /// held back, and tins share the link by turns.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Rate")]
            rate: Option<Rate>,
            /// Bytes that the shaper and the turns count for each packet beyond its length.
            #[serde(default = "defaults::no_bytes")]
            overhead: Size,
            /// The least that they count for a packet then.
            #[serde(default = "defaults::no_bytes")]
            mpu: Size,
            /// Which tins there are.
            #[serde(default = "defaults::tins")]
            tins: Tins,
            /// Units that each have a queue of their own, and among which CAKE is fair.
            #[serde(default = "defaults::isolation")]
            isolation: Isolation,
            /// About the longest usual round trip: COBALT's `interval`, and 20 times its `target`.
            #[serde(default = "defaults::codel_interval")]
            rtt: Time,
            /// The longest packet: COBALT waits longer where a few of these take long at the rate of a tin.
            #[serde(default = "defaults::cobalt_mtu")]
            mtu: Size,
            /// Pure ACKs that a later one of their connection makes redundant are dropped.
            #[serde(default, skip_serializing_if = "AckFilter::is_off")]
            #[schemars(extend("default" = "off"))]
            ack_filter: AckFilter,
        },
        /// A queue from outside of perhop, for the program that brings it.
        Custom {
            /// Its name in that program.
            name: Label,
            /// Most that may wait, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// Other settings that it is built from.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            settings: SettingsTable,
        },
        /// A queue in Python: a class of a file beside the scenario.
        Python {
            /// The file.
            file: FileName,
            /// The class.
            name: Label,
            /// Most that may wait, in packets or in bytes.
            #[serde(default = "defaults::queue_limit")]
            limit: Limit,
            /// Other settings that the class is given, by name.
            #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
            settings: SettingsTable,
        },
    }
}

/// The thresholds of one colour of a queue: the name of the colour, empty where there is but one; `min_th`, `max_th`, and
/// a limit of its own.
pub(crate) type ColourOf = (&'static str, Limit, Limit, Option<Limit>);

impl Queue {
    /// Most that may wait.
    pub(crate) fn limit(&self) -> Limit {
        match self {
            Self::Fifo { limit, .. }
            | Self::Red { limit, .. }
            | Self::Rio { limit, .. }
            | Self::Codel { limit, .. }
            | Self::Cobalt { limit, .. }
            | Self::Fq { limit, .. }
            | Self::Pie { limit, .. }
            | Self::DocsisPie { limit, .. }
            | Self::DualPi2 { limit, .. }
            | Self::Cake { limit, .. }
            | Self::Custom { limit, .. }
            | Self::Python { limit, .. } => *limit,
            Self::Gred { limit, green, yellow, red, .. } => limit
                .or_else(|| together([green.limit?, yellow.limit?, red.limit?]))
                .unwrap_or_else(defaults::queue_limit),
        }
    }

    /// Most that may wait, to be changed, of a queue that can be that of one flow; `None` of another.
    pub(crate) const fn limit_of_a_flow(&mut self) -> Option<&mut Limit> {
        match self {
            Self::Fifo { limit, .. }
            | Self::Codel { limit, .. }
            | Self::Cobalt { limit, .. }
            | Self::Pie { limit, .. } => Some(limit),
            _ => None,
        }
    }

    /// Whether it can be the queue of one flow.
    pub(crate) const fn fits_a_flow(&self) -> bool {
        matches!(self, Self::Fifo { .. } | Self::Codel { .. } | Self::Cobalt { .. } | Self::Pie { .. })
    }

    /// The colours of marks, where it looks at them.
    pub(crate) const fn colors(&self) -> Option<&Colors> {
        if let Self::Rio { colors, .. } | Self::Gred { colors, .. } = self { Some(colors) } else { None }
    }

    /// Which packets the average of a colour counts, where there are several.
    pub(crate) const fn averaging(&self) -> Option<Averaging> {
        if let Self::Rio { averaging, .. } | Self::Gred { averaging, .. } = self {
            Some(*averaging)
        } else {
            None
        }
    }

    /// The thresholds of its colours, the best first; none where nothing is dropped early.
    pub(crate) fn thresholds(&self) -> Vec<ColourOf> {
        let curve = |name, curve: &Curve| (name, curve.min_th, curve.max_th, None);
        let own = |name, own: &VirtualQueue| (name, own.min_th, own.max_th, own.limit);
        match self {
            Self::Red { min_th, max_th, .. } => vec![("", *min_th, *max_th, None)],
            Self::Rio { green, red, .. } => vec![curve("green", green), curve("red", red)],
            Self::Gred { green, yellow, red, .. } => {
                vec![own("green", green), own("yellow", yellow), own("red", red)]
            }
            _ => Vec::new(),
        }
    }
}

/// Limit of these together, if all count the same.
fn together([a, b, c]: [Limit; 3]) -> Option<Limit> {
    let sum = |a: u64, b: u64, c: u64| a.saturating_add(b).saturating_add(c);
    match (a.0, b.0, c.0) {
        (QueueSize::Packets(a), QueueSize::Packets(b), QueueSize::Packets(c)) => {
            Some(Limit(QueueSize::Packets(sum(a, b, c))))
        }
        (QueueSize::Bytes(a), QueueSize::Bytes(b), QueueSize::Bytes(c)) => {
            Some(Limit(QueueSize::Bytes(sum(a, b, c))))
        }
        _ => None,
    }
}

/// When packets of a colour are dropped by chance.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Curve {
    /// Below this average nothing is dropped by chance.
    pub min_th: Limit,
    /// From this average on every arrival is dropped.
    pub max_th: Limit,
    /// Probability of a drop where the average reaches `max_th`.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub max_p: f64,
}

/// A virtual queue of GRED.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct VirtualQueue {
    /// Below this average nothing is dropped by chance.
    pub min_th: Limit,
    /// From this average on every arrival is dropped.
    pub max_th: Limit,
    /// Probability of a drop where the average reaches `max_th`.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub max_p: f64,
    /// Weight of the newest sample in its average; without it the queue's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub w_q: Option<f64>,
    /// Most packets or bytes of this colour that may wait; without it only the queue's `limit` counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Limit")]
    pub limit: Option<Limit>,
}
