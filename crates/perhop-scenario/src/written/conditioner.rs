//! Traffic conditioners as they are written: classifier, meter, marker, shaper, and the marks of ACKs.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::read::tree::{Step, steps};
use crate::words::choices::{BeyondTokens, CarrySpacing, CopyRule, Fraction, NewFlow, Per, Shortage};
use crate::words::files::FileName;
use crate::words::marks::{Colors, Mark, MarkerAction};
use crate::words::names::{End, Label};
use crate::words::setting::SettingsTable;
use crate::words::units::{Limit, Rate, Size, Time};
use crate::written::defaults;

/// Conditioner of an edge router, for packets that arrive from some of its neighbours (RFC 2475 section 2.3). Where several
/// take a packet, it passes through them in file order.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Conditioner {
    /// Name in paths and results: `conditioner.name`.
    pub name: Label,
    /// The router. Of several members each has a conditioner of its own.
    pub at: End,
    /// The neighbours whose packets it treats; with `[*]` or `[0..3]` each of those.
    pub from: OneOrMany<End>,
    /// Which of these packets; without it all.
    #[serde(rename = "match", default)]
    pub matches: Match,
    /// Which mark acknowledgments get, and what else comes back without data. It comes before the meter.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AckMarking")]
    pub ack_marking: Option<AckMarking>,
    /// Traffic that one meter measures.
    #[serde(default = "per")]
    pub per: Per,
    /// Gives each packet a colour; without it every packet is green.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Meter")]
    pub meter: Option<Meter>,
    /// Action for each colour.
    #[serde(default)]
    pub marker: Marker,
    /// Where packets wait whose colour says `shape`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Shaper")]
    pub shaper: Option<Shaper>,
}

fn per() -> Per {
    Per::Aggregate
}

/// One value, or a list of which any suffices.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{T}OrMany")]
pub enum OneOrMany<T> {
    /// One.
    One(T),
    /// Any of these.
    Many(#[schemars(length(min = 1, max = 1000))] Vec<T>),
}

impl<T> OneOrMany<T> {
    /// The values.
    pub(crate) fn as_slice(&self) -> &[T] {
        match self {
            Self::One(value) => std::slice::from_ref(value),
            Self::Many(values) => values,
        }
    }

    /// Where number `k` of the values is written, if they are written at `at`.
    pub(crate) fn entry(&self, at: &[Step], k: usize) -> Vec<Step> {
        match self {
            Self::One(_) => at.to_vec(),
            Self::Many(_) => [at, &steps![k]].concat(),
        }
    }
}

/// Which packets: every setting that is given must hold (a multi-field classifier, RFC 2475 section 2.3.1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Match {
    /// The node that sends the packet: the receiver of a flow, for its ACKs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<End>")]
    pub src: Option<OneOrMany<End>>,
    /// The node that the packet goes to.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<End>")]
    pub dst: Option<OneOrMany<End>>,
    /// Port number at `src`: one, or the first and the last of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ports")]
    pub src_port: Option<Ports>,
    /// Port number at `dst`: one, or the first and the last of a range.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Ports")]
    pub dst_port: Option<Ports>,
    /// The transport protocol.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Protocol")]
    pub protocol: Option<Protocol>,
    /// Flows by name: each of `bulk`, or `bulk[3]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<String>")]
    pub flow: Option<OneOrMany<String>>,
    /// Class that the flow was contracted as.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<String>")]
    pub class: Option<OneOrMany<String>>,
    /// Direction within the flow.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Direction")]
    pub direction: Option<Direction>,
    /// Content of the packet.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Carries")]
    pub kind: Option<Carries>,
    /// The mark with which it arrives at this conditioner.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMany<Mark>")]
    pub mark: Option<OneOrMany<Mark>>,
}

/// A port number, or the first and the last of a range.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ports {
    /// This one.
    One(u16),
    /// From the first to the last.
    Range([u16; 2]),
}

/// A transport protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Protocol {
    /// The flows of `[[flow]]`.
    Tcp,
    /// The flows of `[[udp]]`.
    Udp,
}

/// Direction within a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Direction {
    /// From the sender of data to its receiver.
    Forward,
    /// Back: acknowledgments.
    Reverse,
}

/// Content of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Carries {
    /// Anything but an ACK without data.
    Data,
    /// An acknowledgment and no data.
    PureAck,
}

/// Gives a packet its colour.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Meter {
    /// Green while tokens last, else red.
    TokenBucket {
        /// Committed information rate: tokens come at this rate.
        cir: Rate,
        /// Committed burst size: the depth of the bucket. Packets are those of `run.packet_size`.
        cbs: Limit,
    },
    /// Single rate three color marker (RFC 2697).
    SrTcm {
        /// Committed information rate.
        cir: Rate,
        /// Committed burst size.
        cbs: Limit,
        /// Excess burst size; zero is allowed if the committed one is not.
        ebs: Limit,
        /// The meter never gives a better colour than the packet's mark stands for.
        #[serde(default)]
        color_aware: bool,
        /// With `color_aware`: colour by mark. Without an entry the drop precedence of AF decides, and other marks are red.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        colors: Colors,
    },
    /// Two rate three color marker (RFC 2698).
    TrTcm {
        /// Committed information rate.
        cir: Rate,
        /// Committed burst size.
        cbs: Limit,
        /// Peak information rate, at least `cir`.
        pir: Rate,
        /// Peak burst size.
        pbs: Limit,
        /// The meter never gives a better colour than the packet's mark stands for.
        #[serde(default)]
        color_aware: bool,
        /// With `color_aware`: colour by mark. Without an entry the drop precedence of AF decides, and other marks are red.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        colors: Colors,
    },
    /// Two rate three color marker of differentiated service (RFC 4115): what is within `cir` is green whatever went beyond it.
    TrTcmDiffserv {
        /// Committed information rate.
        cir: Rate,
        /// Committed burst size.
        cbs: Limit,
        /// Excess information rate, on top of `cir`.
        eir: Rate,
        /// Excess burst size.
        ebs: Limit,
        /// The meter never gives a better colour than the packet's mark stands for.
        #[serde(default)]
        color_aware: bool,
        /// With `color_aware`: colour by mark. Without an entry the drop precedence of AF decides, and other marks are red.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        colors: Colors,
    },
    /// Time sliding window two colour marker (Clark and Fang 1998, ns-2): red by chance, so much of the stream as exceeds `cir`.
    Tsw2cm {
        /// Committed target rate.
        cir: Rate,
        /// How long the estimate of the rate remembers.
        #[serde(default = "defaults::rate_window")]
        window: Time,
    },
    /// Time sliding window three colour marker (RFC 2859): yellow and red by chance, so much of the stream as exceeds `cir` and
    /// `pir`.
    Tsw3cm {
        /// Committed target rate, CTR of the RFC.
        cir: Rate,
        /// Peak target rate, PTR of the RFC; at least `cir`.
        pir: Rate,
        /// How long the estimate of the rate remembers, AVG_INTERVAL of the RFC.
        #[serde(default = "defaults::rate_window")]
        window: Time,
    },
    /// TCP-friendly marker (Feroz, Kalyanaraman and Rao 2000): a pool of tokens for all flows of the conditioner, spread
    /// over their packets.
    TcpFriendly {
        /// The marking interval, T.
        interval: Time,
        /// Tokens for all flows together in each interval, M; one is worth one packet.
        tokens: u32,
        /// Payload of a full segment, which turns sequence numbers into packets. Without it `run.packet_size`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "Size")]
        packet_size: Option<Size>,
        /// Flows whose window estimate is below this many packets have a small window, k.
        #[serde(default = "defaults::small_window")]
        #[schemars(range(min = 0, max = 1_000_000))]
        small_window: f64,
        /// Weight of a new sample in the running average of the window, W(i); above 0 and at most 1.
        #[serde(default = "defaults::gain_window")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        gain_window: f64,
        /// Weight of the last interval in the running average of packets sent, E(i); above 0 and at most 1.
        #[serde(default = "defaults::gain_packets")]
        #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
        gain_packets: f64,
        /// Tokens that small-window flows get if together they ask for all or more.
        #[serde(default = "defaults::shortage")]
        shortage: Shortage,
        /// Use of a part of a token.
        #[serde(default = "defaults::fraction")]
        fraction: Fraction,
        /// Treatment of a flow before its first allocation.
        #[serde(default = "defaults::new_flow")]
        new_flow: NewFlow,
        /// Treatment of a packet when its flow's tokens are gone.
        #[serde(default = "defaults::beyond_tokens")]
        beyond_tokens: BeyondTokens,
        /// Part of a flow's spacing that is kept from one interval to the next.
        #[serde(default = "defaults::carry_spacing")]
        carry_spacing: CarrySpacing,
        /// At most this many tokens that nobody used go over into the next interval.
        #[serde(default)]
        carry_tokens: u32,
        /// A flow is forgotten after this many intervals without a packet.
        #[serde(default = "defaults::forget_after")]
        #[schemars(range(min = 1, max = 10_000))]
        forget_after: u32,
    },
    /// A meter from outside of perhop, for the program that brings it. Packets come to it with the colour of their drop
    /// precedence of AF, others red.
    Custom {
        /// Its name in that program.
        name: Label,
        /// Settings that it is built from.
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        settings: SettingsTable,
    },
    /// A meter in Python: a class of a file beside the scenario. Packets come to it with the colour of
    /// their drop precedence of AF, others red.
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

/// Action for the packets of each colour: a mark, `pass`, `drop` or `shape`.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Marker {
    /// In profile.
    pub green: MarkerAction,
    /// In excess of the committed profile.
    pub yellow: MarkerAction,
    /// Out of profile.
    pub red: MarkerAction,
}

impl Default for Marker {
    fn default() -> Self {
        let pass = MarkerAction(perhop_core::marker::Action::Pass);
        Self { green: pass, yellow: pass, red: pass }
    }
}

/// Delays packets to a rate.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Shaper {
    /// Packets leave at this rate at most.
    pub rate: Rate,
    /// Burst that passes without delay. Packets are those of `run.packet_size`.
    pub burst: Limit,
    /// Most that may wait.
    #[serde(default = "defaults::queue_limit")]
    pub limit: Limit,
}

/// Which mark an acknowledgment gets.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum AckMarking {
    /// `BE`, whatever the data was.
    BestEffort,
    /// By what the flow was contracted as.
    PerClass {
        /// Mark by traffic class; a class without an entry has `BE`.
        marks: BTreeMap<String, Mark>,
    },
    /// By the mark of the data.
    PerMark {
        /// Mark of the ACK by mark of the data; a mark without an entry has `BE`.
        marks: BTreeMap<String, Mark>,
        /// Which packet counts where an ACK covers several.
        #[serde(default = "defaults::copy_rule")]
        rule: CopyRule,
    },
    /// The mark of the data.
    Copy {
        /// Which packet counts where an ACK covers several.
        #[serde(default = "defaults::copy_rule")]
        rule: CopyRule,
    },
}
