//! The words of settings, each with what it means and the value that it stands for.

use perhop_tcp::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// An enumeration of a file whose words are those of `$of` in kebab case.
macro_rules! word {
    ($(#[$doc:meta])* $name:ident => $of:ty { $($(#[$about:meta])* $variant:ident,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(rename_all = "kebab-case")]
        pub enum $name {
            $($(#[$about])* $variant,)+
        }

        impl From<$name> for $of {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => Self::$variant,)+
                }
            }
        }
    };
}
pub(crate) use word;

/// Which acknowledgments are dropped where they wait behind one another.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum AckFilter {
    /// None.
    #[default]
    Off,
    /// The first of two that a later one makes redundant.
    Conservative,
    /// Also the only one, if the later one comes directly after it and says the same of congestion.
    Aggressive,
}

impl AckFilter {
    /// Whether there is none: of a queue that says nothing, nothing is written.
    pub(crate) fn is_off(&self) -> bool {
        *self == Self::Off
    }

    /// The filter as the elements take it.
    pub(crate) const fn model(self) -> Option<perhop_core::queue::AckFilter> {
        match self {
            Self::Off => None,
            Self::Conservative => Some(perhop_core::queue::AckFilter::Conservative),
            Self::Aggressive => Some(perhop_core::queue::AckFilter::Aggressive),
        }
    }
}

/// Clock that packets move by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Clock {
    /// The simulator: perhop's TCP, in virtual time.
    Virtual,
    /// The kernel's TCP and real packets, in real time: `perhop emulate`.
    Live,
}

impl Clock {
    /// Whether it is the simulator: of a scenario that says nothing, nothing is written.
    #[must_use]
    pub fn is_virtual(&self) -> bool {
        *self == Self::Virtual
    }
}

/// Program that opens the TCP connections of a run on real packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Endpoint {
    /// perhop, with sockets of its own.
    Own,
    /// A client and a server of iperf3 for each flow.
    Iperf3,
}

impl Endpoint {
    /// Whether it is perhop: of a scenario that says nothing, nothing is written.
    #[must_use]
    pub fn is_own(&self) -> bool {
        *self == Self::Own
    }
}

/// Series that a run has only where they are asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum MoreSeries {
    /// Of each queue with early detection, by colour: the average, and the probability of a drop at it. Of PIE the probability.
    Averages,
    /// Of each meter with token buckets for all of its packets: what is in each bucket.
    Tokens,
}

/// Role of a node in the network.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum NodeKind {
    /// Ends connections; passes nothing on.
    Host,
    /// Forwards packets between its links.
    Router,
}

/// Traffic that one meter measures.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Per {
    /// Everything that the conditioner treats.
    Aggregate,
    /// One direction of one flow.
    Flow,
    /// All that goes from one node to another, of whichever flows: data and acknowledgments alike.
    Addresses,
}

impl Per {
    /// Its name in scenarios.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Aggregate => "aggregate",
            Self::Flow => "flow",
            Self::Addresses => "addresses",
        }
    }
}

word! {
    /// The tins of CAKE, each for the marks of a kind of traffic (`tc-cake(8)`).
    Tins => perhop_core::queue::Tins {
        /// One for all.
        Besteffort,
        /// Bulk (LE, CS1), best effort, and voice (VA, EF, CS6, CS7) with a quarter of the rate.
        Diffserv3,
        /// Bulk, best effort, video (AF2x, AF3x, AF4x, CS2, CS3) with half of the rate, and voice (CS4 to CS7, VA, EF) with a quarter.
        Diffserv4,
        /// Eight: LE, bulk (CS1, AF1x), best effort, video (CS3, AF3x, AF4x), transactions (AF2x), shells (CS2), voice (CS4, CS5, VA, EF) and
        /// control (CS6, CS7), each with seven eighths of the one before.
        Diffserv8,
    }
}

word! {
    /// Units that each have a queue of their own in CAKE, and among which it is fair (`tc-cake(8)`).
    Isolation => perhop_core::queue::Isolation {
        /// Nothing: all share one queue.
        Flowblind,
        /// Each host that sends.
        Srchost,
        /// Each host that receives.
        Dsthost,
        /// Each pair of hosts.
        Hosts,
        /// Each flow and direction.
        Flows,
        /// Each flow, and hosts that send share fairly, however many flows they have.
        DualSrchost,
        /// Each flow, and hosts that receive share fairly.
        DualDsthost,
        /// Each flow, and no host gets more for many flows, whether it sends or receives.
        TripleIsolate,
    }
}

word! {
    /// Which packets the average of a colour counts.
    Averaging => perhop_core::queue::Averaging {
        /// Those of its own and of every better colour (Clark and Fang 1998: OUT counts all): RIO-C.
        Coupled,
        /// Its own: RIO-D.
        Decoupled,
        /// All, one average for every colour: WRED.
        Shared,
        /// Its own; a colour is dropped by the sum of its average and those of better colours of which some wait: Linux `grio`.
        Summed,
    }
}

word! {
    /// Where PIE knows the delay of its queue from.
    DelayFrom => perhop_core::queue::DelayFrom {
        /// How long the packet waited that left last (RFC 8033 section 4.3).
        Timestamps,
        /// The backlog, over the rate at which packets leave (section 5.2).
        DepartureRate,
    }
}

word! {
    /// Which of the data packets that an ACK covers gives it its mark.
    CopyRule => perhop_core::ack_marking::CopyRule {
        /// The one whose arrival triggered the ACK.
        TriggeringSegment,
        /// The one with the best mark.
        BestOfCovered,
        /// The one with the worst mark.
        WorstOfCovered,
    }
}

word! {
    /// Tokens that small-window flows get from the TCP-friendly marker if together they ask for all or more.
    Shortage => perhop_core::meter::Shortage {
        /// The same number each, whatever they ask for.
        Equal,
        /// Max-min fair shares: what a flow does not ask for goes to the others.
        MaxMin,
    }
}

word! {
    /// Use of a part of a token at the TCP-friendly marker.
    Fraction => perhop_core::meter::Fraction {
        /// An IN packet takes a whole token; a flow keeps what it has left, at most one token, for the next interval.
        Carry,
        /// Allocations are whole: the parts stay in the pool.
        Floor,
        /// Any part of a token makes a packet IN; more tokens may be used than there are.
        RoundUp,
    }
}

word! {
    /// Treatment of a flow by the TCP-friendly marker before its first allocation.
    NewFlow => perhop_core::meter::NewFlow {
        /// It is a flow with a small window: IN while tokens are left that no flow was allocated.
        SmallWindow,
        /// OUT.
        Out,
    }
}

word! {
    /// Treatment of a packet by the TCP-friendly marker when its flow's tokens are gone.
    BeyondTokens => perhop_core::meter::BeyondTokens {
        /// OUT.
        Out,
        /// IN while tokens are left that no flow was allocated, then OUT.
        Surplus,
        /// A packet of a flow with a small window is IN, always; others are OUT.
        SmallWindowIn,
    }
}

word! {
    /// Part of a flow's spacing that the TCP-friendly marker keeps from one interval to the next.
    CarrySpacing => perhop_core::meter::CarrySpacing {
        /// The OUT packets since its last IN packet, but no more than the new spacing asks for.
        Count,
        /// These, and the correction of the fraction.
        CountAndCorrection,
        /// Nothing.
        Nothing,
    }
}

/// Whether a flow has explicit congestion notification, and what its data says of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Ecn {
    /// With `true` as `ect0`.
    Flag(bool),
    /// With it, and so is its data.
    CodePoint(EcnCodePoint),
}

/// The ECN field of data that may be marked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(extend("type" = "string"))]
pub enum EcnCodePoint {
    /// ECT(0) (RFC 3168 section 5, RFC 8257 section 3).
    Ect0,
    /// ECT(1), which asks for low latency, low loss and scalable throughput (L4S, RFC 9331 section 4.1).
    Ect1,
}

impl Ecn {
    /// Whether there is any.
    pub(crate) fn is_on(self) -> bool {
        self != Self::Flag(false)
    }
}

/// Part of cwnd that is left after an idle time of more than a retransmission time-out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Idle {
    /// With `true` as `initial-window`, with `false` as `off`.
    Flag(bool),
    /// By a rule.
    Rule(IdleRestart),
}

impl From<Idle> for settings::IdleRestart {
    fn from(given: Idle) -> Self {
        match given {
            Idle::Flag(false) => Self::Off,
            Idle::Flag(true) => Self::InitialWindow,
            Idle::Rule(rule) => rule.into(),
        }
    }
}

/// Enumerations of a file whose variants are those of the enumeration of the same name in [`settings`].
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ })+) => {$(
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        $(#[$doc])*
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)+
        }

        impl From<$name> for settings::$name {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => Self::$variant,)+
                }
            }
        }
    )+};
}

words! {
    /// How the congestion window grows.
    Growth {
        /// Slow start, then a segment per round trip (RFC 5681 section 3.1).
        Reno = "reno",
        /// Slow start, then a cubic function of the time since the last congestion (RFC 9438 section 4).
        Cubic = "cubic",
        /// As `reno`, but a mark takes as much of the window as half of the part that was marked of late; the receiver echoes each mark
        /// exactly (RFC 8257). Needs `ecn`.
        Dctcp = "dctcp",
        /// As `dctcp`, but what was not marked lets the window grow on, segments are paced, flows with short round trips grow slower after a
        /// while, and the receiver counts marks (AccECN; draft-briscoe-iccrg-prague-congestion-control-02). Needs `ecn`, best `"ect1"`.
        Prague = "prague",
        /// The window and the pace follow the bandwidth and the least round trip of the path, whatever is lost or marked: version 1, as
        /// Linux has it (draft-cardwell-iccrg-bbr-congestion-control-00). Needs `rack`; `prr` does not count.
        Bbr = "bbr",
        /// BBR, version 3 (draft-ietf-ccwg-bbr-06, July 2026): as `bbr`, with bounds on what is in the network that losses set, and with
        /// longer waits before it probes. Needs `rack`; `prr` does not count. Not with `ecn`: the draft has no response to marks.
        Bbr3 = "bbr3",
    }

    /// How losses are found and repaired.
    RecoveryKind {
        /// Fast retransmit, then slow start from one segment (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast retransmit and fast recovery (RFC 5681 section 3.2).
        Reno = "reno",
        /// As Reno, and a partial ACK goes on with the recovery (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgments (RFC 2018) with the scoreboard of RFC 6675.
        Sack = "sack",
        /// Selective acknowledgments with a pipe that is counted down and up (Fall and Floyd 1996, section 3.2).
        Sack1996 = "sack-1996",
    }

    /// Where slow start first ends.
    InitialSsthresh {
        /// Not before the first congestion (RFC 5681 section 3.1: arbitrarily high).
        Unbounded = "unbounded",
        /// At the receiver's window.
        Window = "window",
    }

    /// How slow start grows, and whether it ends before a loss.
    SlowStartKind {
        /// Each ACK adds a segment at most, until ssthresh or a loss (RFC 5681 section 3.1).
        Standard = "standard",
        /// HyStart++: round trips that take longer slow the first slow start down, and end it if they stay long (RFC 9406).
        HystartPlusPlus = "hystart++",
        /// HyStart of the Linux kernel: a long train of ACKs, or round trips that take longer, end a slow start (Ha and
        /// Rhee 2011).
        Hystart = "hystart",
        /// `hystart` with `cubic` alone; with either growth each ACK adds all that it brings, up to ssthresh, after a congestion
        /// too (Linux).
        CubicHystart = "cubic-hystart",
    }

    /// How CUBIC counts, and what it does before the first loss.
    CubicForm {
        /// In fractions of a segment, at a segment a window beyond where the last loss was (RFC 9438 section 4).
        Rfc9438 = "rfc9438",
        /// In whole segments and credits of acknowledged ones, by 8/15 of a segment a window at least, by 5 % a round trip at
        /// least before the first loss and after a time-out, and towards where the curve is after the least round trip
        /// (Linux, `tcp_cubic.c`).
        Linux = "linux",
    }

    /// Bytes that an ACK of new data lets cwnd grow by.
    GrowthBy {
        /// The bytes that it acknowledges (RFC 5681 section 3.1).
        Acknowledged = "acknowledged",
        /// The bytes that it acknowledges or reports for the first time (Linux).
        Delivered = "delivered",
    }

    /// Unit that congestion avoidance counts.
    Counting {
        /// ACKs: each adds `mss * mss / cwnd` (RFC 5681 section 3.1, equation (3)).
        Acks = "acks",
        /// Bytes acknowledged: a segment for each window of them (RFC 5681 section 3.1, the recommended way).
        Bytes = "bytes",
    }

    /// Window that is halved on congestion.
    LossWindow {
        /// The bytes in flight, and at most cwnd (RFC 5681 section 3.1, equation (4)).
        Flight = "flight",
        /// The smaller of the congestion window, inflation included, and the receiver's window.
        Window = "window",
        /// The congestion window (Linux).
        Cwnd = "cwnd",
    }

    /// How halves are rounded.
    Halving {
        /// To the byte: ssthresh and cwnd are the half.
        Bytes = "bytes",
        /// ssthresh down to whole segments, cwnd not at all.
        Fractional = "fractional",
        /// Window, ssthresh and cwnd down to whole segments.
        Integer = "integer",
    }

    /// Part of cwnd that is left after an idle time of more than a retransmission time-out.
    #[schemars(extend("type" = "string"))]
    IdleRestart {
        /// All of it.
        Off = "off",
        /// The initial window (RFC 5681 section 4.1).
        InitialWindow = "initial-window",
        /// Half of it for each time-out that has passed, the initial window at least; ssthresh is then at least three quarters of what cwnd
        /// was. Of what the application leaves unused for a time-out, half goes too, and slow start goes on while half of cwnd is used
        /// (RFC 2861 section 3, as Linux has it).
        Validation = "validation",
    }

    /// When duplicate ACKs may start another fast retransmit.
    Guard {
        /// Always.
        Off = "off",
        /// Once all that was outstanding at the last one or at a time-out is acknowledged (RFC 2582 section 5, the less
        /// careful variant).
        LessCareful = "less-careful",
        /// Once more than that is acknowledged (RFC 6582 section 3.2, step 1).
        Careful = "careful",
    }

    /// Window at the end of a recovery.
    RecoveryExit {
        /// ssthresh (RFC 5681 section 3.2, step 6; RFC 6582 section 3.2, step 3, the second option).
        Ssthresh = "ssthresh",
        /// The smaller of ssthresh and a segment more than what is in flight (RFC 6582 section 3.2, step 3, the first
        /// option).
        Flight = "flight",
        /// The window without its inflation; Reno and NewReno let it grow by the ACK that ends the recovery, SACK does not.
        Grow = "grow",
        /// ssthresh; SACK lets it grow at once by what the ACK that ends the recovery acknowledges or reports for the first
        /// time (Linux).
        SsthreshGrow = "ssthresh-grow",
    }

    /// Counting of proportional rate reduction.
    PrrForm {
        /// Against what may be delivered in the recovery; a reordering timer delivers nothing (RFC 9937 section 6).
        Rfc9937 = "rfc9937",
        /// Against cwnd before the recovery; one that a reordering timer begins has a segment to send (Linux).
        Linux = "linux",
    }

    /// Part of cwnd that a time-out leaves.
    TimeoutWindow {
        /// A segment (RFC 5681 section 3.1).
        Segment = "segment",
        /// A segment more than what `rack` holds to be in the network still (Linux).
        InFlight = "in-flight",
    }

    /// Events that start the retransmission timer anew.
    TimerRestart {
        /// An ACK of new data (RFC 6298 section 5, rule 5.3).
        NewData = "new-data",
        /// Also each retransmission of the first outstanding segment, and a report of what had left before that (Linux).
        First = "first",
    }

    /// Which partial ACKs restart the retransmission timer.
    PartialAckTimer {
        /// The first of a recovery (RFC 6582 section 4, impatient).
        First = "first",
        /// Each (RFC 6582 section 4, slow but steady).
        Every = "every",
    }

    /// Time that the lower bound of the retransmission time-out holds for.
    MinRtoBounds {
        /// The whole time-out (RFC 6298 section 2, rule 2.4).
        Timeout = "timeout",
        /// The term that is added to srtt for the variation, `4 * rttvar`: the time-out is always that much above srtt, as in Linux.
        Variation = "variation",
    }

    /// How the smoothed round-trip time and its variation are kept.
    RttArithmetic {
        /// In nanoseconds (RFC 6298 section 2).
        Exact = "exact",
        /// In clock ticks with 3 and 2 fraction bits (Jacobson 1988, appendix A); the time-out is in whole ticks.
        Scaled = "scaled",
        /// In nanoseconds as Linux does (`tcp_rtt_estimator`): each sample counts 1/8; the variation is the largest deviation of a window of
        /// data and falls by a quarter at most from one to the next; a shorter round trip hardly raises it. With `timestamps` the answer to a
        /// SYN that was sent again gives a sample, where RFC 6298 section 5.7 asks for 3 s.
        Linux = "linux",
    }
}
