//! The default of every value of a scenario file, and who chose it. One that is a table stands beside the table's struct, those
//! of a TCP are in `profiles/`.

use perhop_core::dscp::Dscp;
use perhop_core::queue::DualPi2Params;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};

use crate::words::choices::{
    Averaging, BeyondTokens, CarrySpacing, Clock, CopyRule, DelayFrom, Endpoint, Fraction, Isolation,
    NewFlow, NodeKind, Shortage, Tins,
};
use crate::words::marks::{Mark, Selector};
use crate::words::units::{Limit, Rate, Size, Time};

/// Seed 1: ours.
pub(crate) fn seed() -> u64 {
    1
}

pub(crate) fn once() -> u32 {
    1
}

/// Virtual time: ours; real time needs a machine that lets packets through.
pub(crate) fn clock() -> Clock {
    Clock::Virtual
}

/// perhop's own sockets: ours; iperf3 must be installed.
pub(crate) fn endpoint() -> Endpoint {
    Endpoint::Own
}

/// A host: ours; most nodes of a scenario end connections.
pub(crate) fn node_kind() -> NodeKind {
    NodeKind::Host
}

/// No time: ours. For the delay of a link, the warm-up, the start of a flow and its jitter, the time in which a host processes a packet.
pub(crate) fn no_time() -> Time {
    Time(Span::ZERO)
}

/// The rate of a call: G.711 every 20 ms, 160 bytes and the headers of IPv4, UDP and RTP.
pub(crate) fn call_rate() -> Rate {
    Rate(BitRate::new(80_000).unwrap_or_else(|| unreachable!("a rate above zero")))
}

/// Its packet.
pub(crate) fn call_packet() -> Size {
    Size(Bytes(200))
}

/// A sample of every series each second: ours.
pub(crate) fn interval() -> Time {
    Time(Span::from_secs(1))
}

/// 1000 packets: ours, as Linux's default `txqueuelen`.
pub(crate) fn queue_limit() -> Limit {
    Limit(QueueSize::Packets(1000))
}

/// A class takes any packet: ours.
pub(crate) fn matches() -> Vec<Selector> {
    vec![Selector::Any]
}

/// The traffic class of a flow: `default`, after the default PHB of RFC 2474 section 4.1.
pub(crate) fn traffic_class() -> String {
    "default".to_owned()
}

/// 200 ms: 4.4BSD's fast timer (Wright and Stevens 1995, section 25.5); RFC 1122 section 4.2.3.2 allows 500 ms.
pub(crate) fn delayed_timeout() -> Time {
    Time(Span::from_millis(200))
}

/// Best effort (RFC 2474 section 4.1).
pub(crate) fn mark() -> Mark {
    Mark(Dscp::DEFAULT)
}

/// 49152, the first dynamic port (RFC 6335 section 6), to 5001, where iperf listens: ours.
pub(crate) fn ports() -> [u16; 2] {
    [49152, 5001]
}

/// 0.002: Floyd and Jacobson 1993, section 6.
pub(crate) fn w_q() -> f64 {
    0.002
}

/// OUT counts all packets: Clark and Fang 1998, section III.
pub(crate) fn averaging() -> Averaging {
    Averaging::Coupled
}

/// Each virtual queue by itself: Linux `gred` without `grio` and `wred`.
pub(crate) fn gred_averaging() -> Averaging {
    Averaging::Decoupled
}

/// 5 ms: RFC 8289 section 4.4.
pub(crate) fn codel_target() -> Time {
    Time(Span::from_millis(5))
}

/// 100 ms: RFC 8289 section 4.3.
pub(crate) fn codel_interval() -> Time {
    Time(Span::from_millis(100))
}

/// 1500 bytes: an Ethernet frame's payload.
pub(crate) fn cobalt_mtu() -> Size {
    Size(Bytes(1500))
}

/// 1/256: Linux `cake`.
pub(crate) fn p_inc() -> f64 {
    1.0 / 256.0
}

/// 1/4096: Linux `cake`.
pub(crate) fn p_dec() -> f64 {
    1.0 / 4096.0
}

/// Bulk, best effort and voice: Linux `cake`.
pub(crate) fn tins() -> Tins {
    Tins::Diffserv3
}

/// Fair among hosts on both sides: Linux `cake`.
pub(crate) fn isolation() -> Isolation {
    Isolation::TripleIsolate
}

/// 10240 packets in all queues together: RFC 8290 section 5.2.3.
pub(crate) fn fq_limit() -> Limit {
    Limit(QueueSize::Packets(10_240))
}

/// 1024 queues: RFC 8290 section 5.2.5.
pub(crate) fn fq_queues() -> u32 {
    1024
}

/// 1514 bytes, a packet of Ethernet with its header: RFC 8290 section 5.2.4.
pub(crate) fn fq_quantum() -> Size {
    Size(Bytes(1514))
}

/// 1600 bytes: the burst that `tc` computes for an HTB class where the timer is fine enough.
pub(crate) fn burst() -> Size {
    Size(Bytes(1600))
}

/// Nothing: ours, as in `tc-tbf(8)`.
pub(crate) fn no_bytes() -> Size {
    Size(Bytes(0))
}

/// 64 packets: RFC 8290 section 4.1.
pub(crate) fn fq_drop_batch() -> u32 {
    64
}

//= rfc8033-4.2-target
//= rfc8033-4.2-period
/// 15 ms: RFC 8033 section 4.2, for the target and for the time between updates.
pub(crate) fn pie_target() -> Time {
    Time(Span::from_millis(15))
}

//= rfc8033-4.4-default
/// 150 ms: RFC 8033 section 4.4.
pub(crate) fn pie_max_burst() -> Time {
    Time(Span::from_millis(150))
}

/// 1/8: RFC 8033, Appendix A.
pub(crate) fn pie_alpha() -> f64 {
    0.125
}

/// 1 and 1/4: RFC 8033, Appendix A.
pub(crate) fn pie_beta() -> f64 {
    1.25
}

/// RFC 8033, Appendix A.
pub(crate) fn delay_from() -> DelayFrom {
    DelayFrom::Timestamps
}

//= rfc8033-5.1-default
/// 10 %: RFC 8033 section 5.1.
pub(crate) fn mark_ecnth() -> f64 {
    0.1
}

/// 1000 bytes: ours, as ns-3; RFC 8033 gives no number.
pub(crate) fn pie_mean_packet() -> Size {
    Size(Bytes(1000))
}

/// 1514 bytes: the MTU of Ethernet, and its header.
pub(crate) fn pie_mtu() -> Size {
    Size(Bytes(1514))
}

/// 10 ms: RFC 8034, Appendix A.
pub(crate) fn docsis_target() -> Time {
    Time(Span::from_millis(10))
}

/// RFC 9332 appendix A.1: 15 ms.
pub(crate) fn dualpi2_target() -> Time {
    Time(DualPi2Params::RFC9332.target)
}

/// RFC 9332 appendix A.1: 2.
pub(crate) fn dualpi2_coupling() -> f64 {
    DualPi2Params::RFC9332.coupling
}

/// 500 bytes: the mean packet of ns-2's RED.
pub(crate) fn mean_packet() -> Size {
    Size(Bytes(500))
}

/// The packet that triggered the ACK: ours; with an ACK for every segment there is no other.
pub(crate) fn copy_rule() -> CopyRule {
    CopyRule::TriggeringSegment
}

/// 1000 bytes: ours, as ns-2's CBR.
pub(crate) fn udp_packet() -> Size {
    Size(Bytes(1000))
}

/// 1 s: Clark and Fang 1998, and ns-2.
pub(crate) fn rate_window() -> Time {
    Time(Span::from_secs(1))
}

/// k = 4: Feroz, Kalyanaraman and Rao 2000, Algorithm 1.
pub(crate) fn small_window() -> f64 {
    4.0
}

/// A quarter: ours; the paper gives no gain.
pub(crate) fn gain_window() -> f64 {
    0.25
}

/// A half: ours; the paper gives no gain.
pub(crate) fn gain_packets() -> f64 {
    0.5
}

/// As the paper has it for exactly all tokens; for more, ours.
pub(crate) fn shortage() -> Shortage {
    Shortage::Equal
}

/// Ours; the paper does not say what a fraction is.
pub(crate) fn fraction() -> Fraction {
    Fraction::Carry
}

/// Ours; read literally the paper leaves a new flow without tokens.
pub(crate) fn new_flow() -> NewFlow {
    NewFlow::SmallWindow
}

/// OUT: Feroz, Kalyanaraman and Rao 2000, Algorithm 2, rule 17.
pub(crate) fn beyond_tokens() -> BeyondTokens {
    BeyondTokens::Out
}

/// The fraction that equation (12) owes goes over too: ours; the paper does not say.
pub(crate) fn carry_spacing() -> CarrySpacing {
    CarrySpacing::CountAndCorrection
}

/// 20 intervals: ours; the paper does not say when a flow is forgotten.
pub(crate) fn forget_after() -> u32 {
    20
}
