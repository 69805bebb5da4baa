//! A scenario file as it is written. The comments here are the reference text of every setting.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value as Json;

use crate::read::schema::schema_of;
use crate::words::choices::{Clock, Endpoint, MoreSeries, NodeKind};
use crate::words::files::FileName;
use crate::words::labels::Labels;
use crate::words::link_rate::LinkRate;
use crate::words::marks::Mark;
use crate::words::names::{End, Label, NodeName};
use crate::words::setting::SettingsTable;
use crate::words::units::{Probability, Size, Time};
pub use crate::written::application::Application;
pub use crate::written::conditioner::{AckMarking, Conditioner};
use crate::written::defaults;
pub use crate::written::port::{Class, Port, Scheduler};
pub use crate::written::promises::{Promised, Sla};
pub use crate::written::sources::{Arrivals, Udp};
pub use crate::written::tcp::{Profile, Tcp};

/// A scenario: nodes, links, ports, flows, and how long to run them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScenarioFile {
    /// Settings of the run as a whole.
    pub run: Run,
    /// Hosts and routers.
    #[schemars(length(min = 1))]
    pub node: Vec<Node>,
    /// Links between nodes, both directions each.
    #[schemars(length(min = 1))]
    pub link: Vec<Link>,
    /// Sets of TCP settings that flows can name.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 100))]
    pub profile: Vec<Profile>,
    /// Outgoing interfaces; one that is not listed has a single class `all` with the default queue.
    #[serde(default)]
    pub port: Vec<Port>,
    /// Conditioners of edge routers, for packets that arrive: meter, mark, drop, delay.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub conditioner: Vec<Conditioner>,
    /// TCP connections.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flow: Vec<Flow>,
    /// UDP flows.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub udp: Vec<Udp>,
    /// Promises to classes of flows: runs are judged by them.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(max = 1000))]
    pub sla: Vec<Sla>,
    /// SHA-256, in hexadecimal, of files that the scenario names: with another hash a file is refused. A resolved scenario has
    /// that of each.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub files: BTreeMap<FileName, String>,
}

static SCHEMA: LazyLock<Json> = LazyLock::new(schema_of::<ScenarioFile>);

/// The JSON Schema of a scenario file.
#[must_use]
pub fn schema() -> &'static Json {
    &SCHEMA
}

/// Settings of the run as a whole.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Key of every random stream.
    #[serde(default = "defaults::seed")]
    pub seed: u64,
    /// Which repetition of the scenario this is: a second key of every random stream.
    #[serde(default)]
    pub replication: u64,
    /// When the run ends.
    pub duration: Time,
    /// Measured results leave out what happens before this time.
    #[serde(default = "defaults::no_time")]
    pub warmup: Time,
    /// Spacing of the samples in the series.
    #[serde(default = "defaults::interval")]
    pub interval: Time,
    /// Each packet that a host sends leaves later by a uniform draw from zero up to this, in order: the time that hosts take to
    /// process packets. One packet time of the bottleneck keeps equal flows from falling into step.
    #[serde(default = "defaults::no_time", skip_serializing_if = "Time::is_none")]
    pub processing_jitter: Time,
    /// The packet that a number of packets means where bytes are needed: a burst of `15p`, the mean packet of RED.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub packet_size: Option<Size>,
    /// Whether perhop's TCP runs in virtual time, which it does if nothing is said, or the kernel's on real packets.
    #[serde(default = "defaults::clock", skip_serializing_if = "Clock::is_virtual")]
    pub clock: Clock,
    /// Program that opens the TCP connections of a run on real packets: perhop if nothing is said. The simulator's are its own.
    #[serde(default = "defaults::endpoint", skip_serializing_if = "Endpoint::is_own")]
    pub endpoint: Endpoint,
    /// Series beyond those that every run has.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub series: Vec<MoreSeries>,
}

/// A host or a router, or `count` of them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Node {
    /// Name in the file, in paths and in results.
    pub name: NodeName,
    /// Makes this many nodes: `name[0]`, `name[1]`, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 1_000_000))]
    pub count: Option<u32>,
    /// Role in the network.
    #[serde(default = "defaults::node_kind")]
    pub kind: NodeKind,
}

/// A link: a wire in each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The two nodes. `s[*]` and `s[0..3]` make one link per member; with several members at both ends they are joined
    /// pairwise.
    pub ends: [End; 2],
    /// Serialisation rate, one for both directions or one for each: `{ "a->b" = "1Mbit/s", "b->a" = "5Mbit/s" }`.
    /// `trace:FILE` follows a trace: a packet-delivery trace of mahimahi, or a CSV of times and rates.
    pub rate: PerDirection<LinkRate>,
    /// Propagation delay: one for both directions, one for each, or a list whose values the links of `[*]` take in turn,
    /// for groups of round-trip times.
    #[serde(default = "no_delay")]
    pub delay: Delay,
    /// Length of an ACK without data on this link, where its headers are compressed; for both directions, for each, or
    /// for one only. Without it such an ACK is as long as the flow's `header`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "PerDirection<Size>")]
    pub pure_ack_size: Option<PerDirection<Size>>,
    /// Probability that a packet is lost on arrival at the port, before it is queued; at least 0 and below 1, for both
    /// directions, for each, or for one only. Drawn from the random stream `link.a->b.loss`.
    #[serde(default = "no_loss")]
    pub loss: PerDirection<Probability>,
    /// Losses in bursts, beside `loss`: a chain of Gilbert and Elliott for both directions, each with a state of its own, or a
    /// list of chains for one direction each. Drawn from the random stream `link.a->b.burst_loss`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "BurstLosses")]
    pub burst_loss: Option<BurstLosses>,
    /// Chosen packets of a flow that are dropped on arrival at the port, before they are queued, in the direction that
    /// the flow's data takes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMore")]
    pub drop: Option<OneOrMore>,
    /// Chosen packets of a flow with `ecn` that are marked there instead (CE, RFC 3168 section 5).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "OneOrMore")]
    pub mark: Option<OneOrMore>,
}

/// One chain, or one for each direction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum BurstLosses {
    /// For both directions, unless it names one.
    One(BurstLoss),
    /// Of directions.
    More(Vec<BurstLoss>),
}

/// A chain of a good and a bad state that loses packets in bursts (Gilbert 1960, Elliott 1963; netem's `loss gemodel`).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BurstLoss {
    /// The direction, `a->b`. Without it both.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub direction: Option<String>,
    /// Probability that the good state ends with a packet; above 0, at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub p: f64,
    /// Probability that the bad state ends with a packet; above 0, at most 1.
    #[schemars(extend("exclusiveMinimum" = 0, "maximum" = 1))]
    pub r: f64,
    /// Probability that a packet is lost in the bad state: 1-h of netem.
    #[serde(default = "certain")]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_bad: f64,
    /// Probability that a packet is lost in the good state: 1-k of netem.
    #[serde(default)]
    #[schemars(range(min = 0.0, max = 1.0))]
    pub loss_good: f64,
}

/// All of the bad state is lost: as netem.
fn certain() -> f64 {
    1.0
}

/// Packets of one flow, or a table for each of several.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum OneOrMore {
    /// Of one flow.
    One(Chosen),
    /// Of several.
    More(Vec<Chosen>),
}

/// Packets of a flow.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Chosen {
    /// The flow: `up`, or `bulk[3]` for one of several.
    pub flow: String,
    /// Pairs `[n, k]`: the k-th transmission, from 1, of packet n. Packets count from 0 in units of `mss`; where the flow
    /// has a handshake, 0 is the SYN and data begins with 1.
    pub packets: Vec<[u64; 2]>,
}

/// One value for both directions of a link, or one for each under `a->b` and `b->a`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
#[schemars(rename = "{T}PerDirection")]
pub enum PerDirection<T> {
    /// For both directions.
    Both(T),
    /// By direction.
    Each(BTreeMap<String, T>),
}

/// A propagation delay for both directions of a link, one for each under `a->b` and `b->a`, or a list of delays.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Delay {
    /// For both directions.
    Both(Time),
    /// For both directions of the first, the second, ... of the links that `[*]` makes, and over again.
    Turn(#[schemars(length(min = 1, max = 10_000))] Vec<Time>),
    /// By direction.
    Each(BTreeMap<String, Time>),
}

/// Nothing is lost: ours.
fn no_loss() -> PerDirection<Probability> {
    PerDirection::Both(Probability(0.0))
}

fn no_delay() -> Delay {
    Delay::Both(defaults::no_time())
}

/// TCP connections from a node to another, data one way and ACKs back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// Name in paths and results; with several members at an end the connections are `name[0]`, `name[1]`, ...
    pub name: Label,
    /// The sending host. Several members at both ends are connected pairwise, at one end each of them to the other end.
    pub from: End,
    /// The receiving host.
    pub to: End,
    /// Makes this many connections of each pair: `name[0]`, `name[1]`, ..., all of the first pair before those of the next. Each has a
    /// sender's port of its own, that of the first plus 1, 2, ...
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "u32", range(min = 1, max = 65_536))]
    pub count: Option<u32>,
    /// Class that the flow was contracted as; any word.
    #[serde(default = "defaults::traffic_class")]
    #[schemars(length(max = 64))]
    pub class: String,
    /// Further words for results to be grouped by, as in `{ congestion = "heavy" }`: each is a column of the table, null
    /// where a flow has none.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub labels: Labels,
    /// First transmission.
    #[serde(default = "defaults::no_time")]
    pub start: Time,
    /// The start is moved later by a uniform draw from zero up to this.
    #[serde(default = "defaults::no_time")]
    pub start_jitter: Time,
    /// The mark that the sending host gives its packets: a code point by name or number.
    #[serde(default = "defaults::mark")]
    pub mark: Mark,
    /// Port numbers: of the sender, of the receiver.
    #[serde(default = "defaults::ports")]
    pub ports: [u16; 2],
    /// Makes this flow many short transfers, `name[0]`, `name[1]`, ..., which begin at random times; those of `[*]` take
    /// turns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Arrivals")]
    pub arrivals: Option<Arrivals>,
    /// Application over it, in place of data that never ends. The connection stays open, whatever `tcp.close` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Application")]
    pub application: Option<Application>,
    /// Its TCP.
    #[serde(default)]
    pub tcp: Tcp,
    /// A congestion control in Python, in place of what `tcp.cc` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Control")]
    pub control: Option<Control>,
    /// The receiver.
    #[serde(default = "ack")]
    pub ack: Ack,
}

impl Flow {
    /// Whether the last segment of a burst has PSH; an ACK policy in Python alone decides on ACKs.
    pub(crate) fn pushes_bursts(&self) -> bool {
        self.tcp.burst_push && self.tcp.paces() && self.ack.control.is_none()
    }
}

/// A congestion control, or what decides when ACKs are sent, that is none of perhop's.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Control {
    /// A class of a file beside the scenario.
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

/// A TCP receiver.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ack {
    /// When an ACK is sent. Without it as the profile's `ack_delay` says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "AckPolicy")]
    pub policy: Option<AckPolicy>,
    /// With `delayed` only: the longest that an ACK waits, above zero and at most `500ms` (RFC 1122 section 4.2.3.2).
    /// Without it `ack_delay`, or `200ms` where that is zero.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub timeout: Option<Time>,
    /// An ACK policy in Python, in place of `policy`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Control")]
    pub control: Option<Control>,
    /// Which mark the host gives its ACKs.
    #[serde(default = "ack_marking")]
    pub marking: AckMarking,
}

/// When ACKs are sent is the profile's matter.
fn ack() -> Ack {
    Ack { policy: None, timeout: None, control: None, marking: ack_marking() }
}

/// Best effort: ours; a host that knows nothing of marks.
pub(crate) fn ack_marking() -> AckMarking {
    AckMarking::BestEffort
}

/// When a receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckPolicy {
    /// Each arriving segment at once.
    EverySegment,
    /// Every second full segment at once, another when `timeout` has passed; segments out of order at once (RFC 1122
    /// section 4.2.3.2, RFC 5681 section 4.2).
    Delayed,
}
