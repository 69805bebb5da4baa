//! The scenario as a driver reads it: every name resolved, every count expanded, every default filled.
//!
//! `ScenarioFile` is what was written; `Scenario` is what it means. Indices are positions in the vectors here.

use std::ops::Deref;
use std::sync::Arc;

use perhop_core::ack_marking::AckMarking;
use perhop_core::classify::{FlowTable, Pattern};
use perhop_core::dscp::{ColorMap, Dscp};
use perhop_core::gilbert_elliott::GilbertElliottParams;
use perhop_core::marker::Marker;
use perhop_core::meter::{
    SrTcmParams, TcpFriendlyParams, TokenBucketParams, TrTcmDiffServParams, TrTcmParams, TswParams,
};
use perhop_core::packet::Color;
use perhop_core::queue::{
    AckFilter, CakeParams, CobaltParams, CodelParams, DocsisPieParams, DualPi2Params, FqParams, GredParams,
    LinuxDualPi2Params, LinuxPieParams, PieParams, RedParams, RioParams, Thresholds,
};
use perhop_core::rate_trace::RateTrace;
use perhop_core::sched::{CbqClass, HtbClass, ShapedParams};
use perhop_core::shaper::ShaperParams;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};

pub use crate::meant::applications::{Application, ApplicationKind, Call, Video};
pub use crate::meant::code::Code;
pub use crate::meant::flows::{AckPolicy, Capture, CustomControl, Flow, Tcp, Udp, UdpPattern};
pub use crate::words::choices::{Clock, Endpoint, MoreSeries, NodeKind, Per};
pub use crate::words::congestion::KernelControl;
use crate::words::files::FileName;
use crate::words::setting::SettingsTable;

/// A complete, valid scenario.
#[derive(Clone, Debug)]
pub struct Scenario {
    /// Settings of the run as a whole.
    pub run: Run,
    /// Hosts and routers, in file order, counts expanded.
    pub nodes: Vec<Node>,
    /// Links, one entry per direction; the two directions of a `[[link]]` follow one another.
    pub links: Vec<Link>,
    /// The conditioners of edges, in file order, one for each router.
    pub conditioners: Vec<Conditioner>,
    /// TCP flows, in file order, pairs and transfers expanded. Their `FlowId`s are their positions.
    pub flows: Vec<Flow>,
    /// UDP flows, in file order, pairs expanded. Their `FlowId`s follow those of the TCP flows.
    pub udp: Vec<Udp>,
    /// Applications over TCP flows, in file order.
    pub applications: Vec<Application>,
    /// Applications over UDP flows, in file order.
    pub calls: Vec<Call>,
    /// Addresses, ports and classes of all flows, by `FlowId`.
    pub flow_table: Arc<FlowTable>,
}

/// Settings of the run as a whole.
#[derive(Clone, Debug)]
pub struct Run {
    /// Key of every random stream.
    pub seed: u64,
    /// Second key of every random stream: which repetition of the same scenario this is.
    pub replication: u64,
    /// When the run ends.
    pub duration: Span,
    /// Measured results start here; earlier ones are left out of `flows` and `links`.
    pub warmup: Span,
    /// Spacing of the samples in the series.
    pub interval: Span,
    /// A packet that a host sends leaves later by a uniform draw from zero up to this.
    pub processing_jitter: Span,
    /// The length that a number of packets means where bytes are needed.
    pub packet_size: Option<Bytes>,
    /// The mover of packets.
    pub clock: Clock,
    /// The opener of TCP connections where the clock is live.
    pub endpoint: Endpoint,
    /// Series beyond those that every run has.
    pub series: Vec<MoreSeries>,
}

impl Run {
    /// Whether `series` are asked for.
    #[must_use]
    pub fn has(&self, series: MoreSeries) -> bool {
        self.series.contains(&series)
    }
}

/// A host or a router.
#[derive(Clone, Debug)]
pub struct Node {
    /// `s[3]`, or the plain name where there is no count.
    pub name: String,
    /// Host or router.
    pub kind: NodeKind,
}

/// One direction of a link, with the port that feeds it.
#[derive(Clone, Debug)]
pub struct Link {
    /// `slow->fast`.
    pub name: String,
    /// Node index of the sending end.
    pub from: usize,
    /// Node index of the receiving end.
    pub to: usize,
    /// Serialisation rate; with a trace its mean.
    pub rate: BitRate,
    /// The trace that the rate follows, and the file that has it.
    pub trace: Option<(FileName, Arc<RateTrace>)>,
    /// Propagation delay.
    pub delay: Span,
    /// Length of a pure ACK on this link where headers are compressed.
    pub pure_ack_size: Option<Bytes>,
    /// Probability that a packet is lost on arrival at the port, inside [0, 1).
    pub loss: f64,
    /// Losses in bursts on arrival at the port.
    pub burst_loss: Option<GilbertElliottParams>,
    /// Packets that are lost or marked on arrival at the port: those to be dropped first, each in file order.
    pub losses: Vec<ListedLoss>,
    /// The outgoing interface at `from`.
    pub port: Port,
}

/// One transmission of a flow's packet that a link drops or marks. No two of a link are the same transmission.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListedLoss {
    /// Index of the flow.
    pub flow: usize,
    /// Which packet of it, in units of mss from 0; with a handshake 0 is the SYN and data begins with 1.
    pub packet: u64,
    /// Which transmission of it, from 1.
    pub transmission: u32,
    /// Whether it is marked (CE) instead of dropped.
    pub mark: bool,
}

/// An outgoing interface.
#[derive(Clone, Debug)]
pub struct Port {
    /// Path of the port in errors, traces, statistics and random streams: `port.slow-fast`.
    pub path: String,
    /// Shared by ports that are alike, as those of a thousand subscribers are.
    pub settings: Arc<PortSettings>,
}

impl Deref for Port {
    type Target = PortSettings;

    fn deref(&self) -> &PortSettings {
        &self.settings
    }
}

/// Classifier, queues and scheduler of an outgoing interface.
#[derive(Clone, Debug)]
pub struct PortSettings {
    /// Classes in file order; at least one.
    pub classes: Vec<Class>,
    /// Which class is served next.
    pub scheduler: Scheduler,
    /// The rate below the link's that holds it, if there is one.
    pub shaper: Option<ShapedParams>,
    /// Backpressure threshold in data packets per connection; hosts only.
    pub backpressure: Option<u32>,
}

/// A class of a port: which packets, and the queue they wait in.
#[derive(Clone, Debug)]
pub struct Class {
    /// Name within the port.
    pub name: String,
    /// Selectors of which any one suffices; the first class that matches takes the packet.
    pub matches: Vec<Selector>,
    /// The queue.
    pub queue: Queue,
}

/// A packet that a class takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selector {
    /// Packets with this mark.
    Mark(Dscp),
    /// Every packet.
    Any,
    /// ACKs without data.
    PureAck,
    /// Segments with data.
    Data,
}

/// The packets that one of `selectors` matches: the marks of data, and those of ACKs without data, one bit each.
pub(crate) fn cells(selectors: impl IntoIterator<Item = Selector>) -> [u64; 2] {
    let matched = selectors.into_iter().map(|selector| match selector {
        Selector::Any => [u64::MAX; 2],
        Selector::Data => [u64::MAX, 0],
        Selector::PureAck => [0, u64::MAX],
        Selector::Mark(dscp) => [1 << dscp.value(); 2],
    });
    matched.fold([0; 2], |all, one| [all[0] | one[0], all[1] | one[1]])
}

/// A queue and its drop policy.
#[derive(Clone, Debug, PartialEq)]
pub enum Queue {
    /// First in, first out; an arrival that would exceed `limit` is dropped.
    Fifo {
        /// Most that may wait.
        limit: QueueSize,
        /// The ACK filter, if it has one.
        ack_filter: Option<AckFilter>,
    },
    /// Random early detection.
    Red(RedParams),
    /// RED with IN and OUT.
    Rio(RioParams),
    /// Generalised RED: a virtual queue for each colour.
    Gred(GredParams),
    /// Controlled delay.
    Codel(CodelParams),
    /// Controlled delay that leaves off step by step, and BLUE.
    Cobalt(CobaltParams),
    /// A queue for each flow.
    Fq {
        /// Parameters of all of them.
        params: FqParams,
        /// Each of them.
        queue: Box<Self>,
    },
    /// Proportional integral controller enhanced.
    Pie(PieParams),
    /// The same as Linux has it.
    LinuxPie(LinuxPieParams),
    /// The same as cable modems have it.
    DocsisPie(DocsisPieParams),
    /// Two coupled queues.
    DualPi2(DualPi2Params),
    /// The same as Linux has them.
    LinuxDualPi2(LinuxDualPi2Params),
    /// A shaper, tins and flows.
    Cake(CakeParams),
    /// A queue from outside.
    Custom(CustomQueue),
}

impl Queue {
    /// Thresholds by which early detection drops, best colour first; one from outside tells of none before it is built.
    #[must_use]
    pub fn thresholds(&self) -> Vec<(Option<Color>, Thresholds)> {
        use Color::{Green, Red, Yellow};
        match self {
            Self::Red(red) => vec![(None, red.thresholds)],
            Self::Rio(rio) => vec![(Some(Green), rio.green), (Some(Red), rio.red)],
            Self::Gred(gred) => [(Green, &gred.green), (Yellow, &gred.yellow), (Red, &gred.red)]
                .map(|(color, own)| (Some(color), own.thresholds))
                .to_vec(),
            Self::Fifo { .. }
            | Self::Codel(_)
            | Self::Cobalt(_)
            | Self::Fq { .. }
            | Self::Pie(_)
            | Self::LinuxPie(_)
            | Self::DocsisPie(_)
            | Self::DualPi2(_)
            | Self::LinuxDualPi2(_)
            | Self::Cake(_)
            | Self::Custom(_) => Vec::new(),
        }
    }

    /// Its name in a file; of one from outside, its name in the program that brings it.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::Fifo { .. } => "fifo",
            Self::Red(_) => "red",
            Self::Rio(_) => "rio",
            Self::Gred(_) => "gred",
            Self::Codel(_) => "codel",
            Self::Cobalt(_) => "cobalt",
            Self::Fq { .. } => "fq",
            Self::Pie(_) | Self::LinuxPie(_) => "pie",
            Self::DocsisPie(_) => "docsis-pie",
            Self::DualPi2(_) | Self::LinuxDualPi2(_) => "dualpi2",
            Self::Cake(_) => "cake",
            Self::Custom(given) => &given.name,
        }
    }

    /// Most that may wait.
    #[must_use]
    pub const fn limit(&self) -> QueueSize {
        match self {
            Self::Fifo { limit, .. } => *limit,
            Self::Red(params) => params.limit,
            Self::Rio(params) => params.limit,
            Self::Gred(params) => params.limit,
            Self::Codel(params) => params.limit,
            Self::Cobalt(params) => params.limit,
            Self::Fq { params, .. } => params.limit,
            Self::Pie(params) => params.limit,
            Self::LinuxPie(params) => params.limit,
            Self::DocsisPie(params) => params.limit,
            Self::DualPi2(params) => params.limit,
            Self::LinuxDualPi2(params) => params.limit,
            Self::Cake(params) => params.limit,
            Self::Custom(given) => given.limit,
        }
    }

    /// Whether it drops acknowledgments that others make redundant.
    #[must_use]
    pub fn filters_acks(&self) -> bool {
        match self {
            Self::Fifo { ack_filter, .. } => ack_filter.is_some(),
            Self::Codel(params) => params.ack_filter.is_some(),
            Self::Cobalt(params) => params.ack_filter.is_some(),
            Self::Cake(params) => params.ack_filter.is_some(),
            Self::Fq { queue, .. } => queue.filters_acks(),
            _ => false,
        }
    }

    /// Whether it is known to drop or mark before it is full.
    #[must_use]
    pub fn drops_early(&self) -> bool {
        match self {
            Self::Fifo { .. } | Self::Custom(_) => false,
            Self::Fq { queue, .. } => queue.drops_early(),
            _ => true,
        }
    }

    /// Whether it may mark packets instead of dropping them; what one from outside does is known to those who bring it.
    #[must_use]
    pub fn may_mark(&self) -> bool {
        match self {
            Self::Fifo { .. } | Self::DocsisPie(_) => false,
            Self::Red(params) => params.ecn,
            Self::Rio(params) => params.ecn,
            Self::Gred(params) => params.ecn,
            Self::Codel(params) => params.ecn || params.ce_threshold.is_some(),
            Self::Cobalt(params) => params.ecn,
            Self::Fq { queue, .. } => queue.may_mark(),
            Self::Pie(params) => params.ecn,
            Self::LinuxPie(params) => params.ecn,
            Self::DualPi2(_) | Self::LinuxDualPi2(_) | Self::Cake(_) | Self::Custom(_) => true,
        }
    }
}

/// A queue from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomQueue {
    /// Its name in the program that brings it.
    pub name: String,
    /// Most that may wait.
    pub limit: QueueSize,
    /// Rate of the link it is in front of.
    pub rate: BitRate,
    /// Further settings.
    pub settings: SettingsTable,
    /// The program text that it is a class of, if it is in Python.
    pub code: Option<Code>,
}

/// How a port chooses among its classes.
#[derive(Clone, Debug, PartialEq)]
pub enum Scheduler {
    /// The earliest class in file order that has a packet. With one class: plain FIFO.
    StrictPriority,
    /// Two classes share by two byte counters (Kalampoukas et al. 1997, Figure 6.1).
    PairedCounter {
        /// Index of the class that is guaranteed `share`.
        data: usize,
        /// Guaranteed fraction of the link for `data`, inside (0, 1).
        share: f64,
    },
    /// Weighted round robin in packets: the weight of each class.
    Wrr(Vec<u32>),
    /// Deficit round robin: the quantum of each class.
    Drr(Vec<Bytes>),
    /// Weighted fair queueing: the weight of each class.
    Wfq(Vec<u32>),
    /// Class-based queueing: what each class may use.
    Cbq(Vec<CbqClass>),
    /// Hierarchical token buckets.
    Htb {
        /// Rate of the parent of all classes.
        rate: BitRate,
        /// Burst of that.
        burst: Bytes,
        /// The rates that each class may use.
        classes: Vec<HtbClass>,
    },
    /// A scheduler from outside.
    Custom(CustomScheduler),
}

/// A scheduler from outside; so far there are those in Python.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomScheduler {
    /// Its class.
    pub name: String,
    /// Its settings.
    pub settings: SettingsTable,
    /// Rate of the link behind the port, or of its shaper.
    pub rate: BitRate,
    /// Names of the classes of the port, in order.
    pub classes: Vec<String>,
    /// The program text that it is a class of.
    pub code: Code,
}

/// An edge's treatment of packets that arrive at a router.
#[derive(Clone, Debug)]
pub struct Conditioner {
    /// Path in errors, traces and statistics: `conditioner.customer`, or `conditioner.customer[3]` of several.
    pub path: String,
    /// Node index of the router.
    pub node: usize,
    /// Links by which the packets come in.
    pub from: Vec<usize>,
    /// Which of them it treats.
    pub pattern: Arc<Pattern>,
    /// Which mark acknowledgments get.
    pub ack_marking: Option<AckMarking>,
    /// The colour of a packet by its mark, for a colour-aware meter.
    pub colors: Option<ColorMap>,
    /// The meter; without one every packet is green.
    pub meter: Option<Meter>,
    /// The packets that one meter measures.
    pub per: Per,
    /// The action for each colour.
    pub marker: Marker,
    /// Where packets wait that are to be shaped.
    pub shaper: Option<ShaperParams>,
}

/// A meter.
#[derive(Clone, Debug)]
pub enum Meter {
    /// One rate, one burst.
    TokenBucket(TokenBucketParams),
    /// Single rate three colour marker.
    SrTcm(SrTcmParams),
    /// Two rate three colour marker.
    TrTcm(TrTcmParams),
    /// Two rate three colour marker of differentiated service.
    TrTcmDiffServ(TrTcmDiffServParams),
    /// Time sliding window marker of two colours or three.
    Tsw(TswParams),
    /// TCP-friendly marker.
    TcpFriendly(TcpFriendlyParams),
    /// A meter from outside.
    Custom(CustomMeter),
}

impl Meter {
    /// Its name in a file; of one from outside, its name in the program that brings it.
    #[must_use]
    pub fn kind(&self) -> &str {
        match self {
            Self::TokenBucket(_) => "token-bucket",
            Self::SrTcm(_) => "sr-tcm",
            Self::TrTcm(_) => "tr-tcm",
            Self::TrTcmDiffServ(_) => "tr-tcm-diffserv",
            Self::Tsw(TswParams { pir: None, .. }) => "tsw2cm",
            Self::Tsw(_) => "tsw3cm",
            Self::TcpFriendly(_) => "tcp-friendly",
            Self::Custom(given) => &given.name,
        }
    }

    /// The rate that it commits, where it is known: the tokens of the TCP-friendly one are for packets of any length.
    #[must_use]
    pub const fn committed(&self) -> Option<BitRate> {
        match self {
            Self::TokenBucket(params) => Some(params.cir),
            Self::SrTcm(params) => Some(params.cir),
            Self::TrTcm(params) => Some(params.cir),
            Self::TrTcmDiffServ(params) => Some(params.cir),
            Self::Tsw(params) => Some(params.cir),
            Self::TcpFriendly(_) | Self::Custom(_) => None,
        }
    }
}

/// A meter from outside.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomMeter {
    /// Its name in the program that brings it.
    pub name: String,
    /// Its settings.
    pub settings: SettingsTable,
    /// The program text that it is a class of, if it is in Python.
    pub code: Option<Code>,
}
