//! Traffic beside lasting TCP flows, as it is written: short transfers and UDP.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::words::files::FileName;
use crate::words::labels::Labels;
use crate::words::marks::Mark;
use crate::words::names::{End, Label};
use crate::words::units::{Rate, Size, Time};
use crate::written::application::Application;
use crate::written::defaults;
use crate::written::sizes::SizeDistribution;

/// Transfers that begin at the times of a Poisson process, from `start` to the end of the run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Arrivals {
    /// Mean time between two beginnings.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Time")]
    pub mean_interval: Option<Time>,
    /// Instead of `mean_interval`: the data of the transfers as a part of the rate of `link`. Above 0.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "f64", extend("exclusiveMinimum" = 0, "maximum" = 100))]
    pub load: Option<f64>,
    /// The direction of a link that `load` is of, `r->d`; of a link with members one of them, `r->d[0]`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub link: Option<String>,
    /// How much data each has.
    pub size: SizeDistribution,
}

/// A UDP flow from a node to another, or one for each pair.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Udp {
    /// Name in paths and results; with several members at an end the flows are `name[0]`, `name[1]`, ...
    pub name: Label,
    /// The sending host. Several members at both ends are connected pairwise, at one end each of them to the other end.
    pub from: End,
    /// The receiving host.
    pub to: End,
    /// Makes this many flows of each pair: `name[0]`, `name[1]`, ..., all of the first pair before those of the next. Each has a
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
    /// The mark that the sending host gives its packets: a code point by name or number.
    #[serde(default = "defaults::mark")]
    pub mark: Mark,
    /// Port numbers: of the sender, of the receiver.
    #[serde(default = "defaults::ports")]
    pub ports: [u16; 2],
    /// First packet.
    #[serde(default = "defaults::no_time")]
    pub start: Time,
    /// The start is moved later by a uniform draw from zero up to this.
    #[serde(default = "defaults::no_time")]
    pub start_jitter: Time,
    /// Application over it: a call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Application")]
    pub application: Option<Application>,
    /// Rate on the wire; with `on-off` while it sends. Needed but for a capture, which has its own, and a call, which has G.711's
    /// 80 kbit/s in packets of 200 bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Rate")]
    pub rate: Option<Rate>,
    /// Length of every packet on the wire. Without it `run.packet_size`, or else 1000B.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Size")]
    pub packet_size: Option<Size>,
    /// When packets leave.
    #[serde(default = "pattern")]
    pub pattern: Pattern,
}

fn pattern() -> Pattern {
    Pattern::Cbr
}

/// When the packets of a UDP flow leave.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "kebab-case", deny_unknown_fields)]
pub enum Pattern {
    /// At a constant bit rate.
    Cbr,
    /// At exponential distances whose mean makes the rate.
    Poisson,
    /// At a constant bit rate during times of exponential length, and not at all in between.
    OnOff {
        /// Mean length of a time in which it sends.
        on: Time,
        /// Mean length of a time in which it does not send.
        off: Time,
    },
    /// As the packets of one flow in a capture, each with its length and its distance from the one before.
    Capture {
        /// The capture: pcapng or pcap.
        file: FileName,
        /// Protocol of the flow: `"udp"`, `"tcp"`, or any number. What is left out here and below is as in the first packet
        /// that fits the rest.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        protocol: Option<String>,
        /// Its source address, IPv4 or IPv6.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        src: Option<String>,
        /// Its destination address.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "String")]
        dst: Option<String>,
        /// Its source port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u16")]
        src_port: Option<u16>,
        /// Its destination port.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(with = "u16")]
        dst_port: Option<u16>,
        /// Whether it begins again after the last packet, at the mean distance.
        #[serde(default)]
        repeat: bool,
    },
}
