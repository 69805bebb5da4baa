//! Every default of a scenario file, and who chose it.

use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};

use crate::file::{
    Ack, AckPolicy, Class, CongestionControl, NodeKind, Queue, Recovery, Scheduler, Selector, Tcp,
};
use crate::names::Label;
use crate::units::{Limit, Size, Time};

/// Seed 1: ours.
pub(crate) fn seed() -> u64 {
    1
}

/// A host: ours; most nodes of a scenario end connections.
pub(crate) fn node_kind() -> NodeKind {
    NodeKind::Host
}

/// No time: ours. For the delay of a link, the warm-up, the start of a flow and its jitter.
pub(crate) fn no_time() -> Time {
    Time(Span::ZERO)
}

/// A sample of every series each second: ours.
pub(crate) fn interval() -> Time {
    Time(Span::from_secs(1))
}

/// 1000 packets: ours, as Linux's default `txqueuelen`.
pub(crate) fn queue() -> Queue {
    Queue::Fifo { limit: queue_limit() }
}

/// 1000 packets: ours, as Linux's default `txqueuelen`.
pub(crate) fn queue_limit() -> Limit {
    Limit(QueueSize::Packets(1000))
}

/// A class takes any packet: ours.
pub(crate) fn matches() -> Vec<Selector> {
    vec![Selector::Any]
}

/// One class for all packets: ours.
pub(crate) fn classes() -> Vec<Class> {
    vec![Class { name: Label::fixed("all"), matches: matches(), queue: queue() }]
}

/// Earlier classes first, which with one class is plain FIFO: ours.
pub(crate) fn scheduler() -> Scheduler {
    Scheduler::StrictPriority
}

/// The traffic class of a flow: `default`, after the default PHB of RFC 2474 section 4.1.
pub(crate) fn traffic_class() -> String {
    "default".to_owned()
}

/// 1460 bytes: what fits a 1500-byte Ethernet frame beside 40 bytes of headers (RFC 6691).
pub(crate) fn mss() -> Size {
    Size(Bytes(1460))
}

/// 40 bytes: IPv4 (RFC 791) and TCP (RFC 9293) headers without options.
pub(crate) fn header() -> Size {
    Size(Bytes(40))
}

/// 64 KiB: ours, about the most that a window without scaling can be (RFC 9293 section 3.1 has 16 bits).
pub(crate) fn window() -> Size {
    Size(Bytes(65_536))
}

/// 3 segments: upper bound for 1095 < SMSS <= 2190 in RFC 5681 section 3.1.
pub(crate) fn initial_window() -> u32 {
    3
}

/// 1 second: RFC 6298 section 2.1.
pub(crate) fn initial_rto() -> Time {
    Time(Span::from_secs(1))
}

/// 1 second: RFC 6298 section 2.4.
pub(crate) fn min_rto() -> Time {
    Time(Span::from_secs(1))
}

/// 60 seconds: the least upper bound that RFC 6298 section 2.5 allows.
pub(crate) fn max_rto() -> Time {
    Time(Span::from_secs(60))
}

/// A sender with every default of this file.
pub(crate) fn tcp() -> Tcp {
    Tcp {
        cc: cc(),
        recovery: recovery(),
        mss: mss(),
        header: header(),
        window: window(),
        initial_window: initial_window(),
        initial_rto: initial_rto(),
        min_rto: min_rto(),
        max_rto: max_rto(),
    }
}

/// Reno, RFC 5681 section 3.1: ours, the algorithm of the papers that perhop reproduces.
pub(crate) fn cc() -> CongestionControl {
    CongestionControl::Reno
}

/// Reno, RFC 5681 section 3.2: ours, as for `cc`.
pub(crate) fn recovery() -> Recovery {
    Recovery::Reno
}

/// An ACK for every segment: ours, as in the papers that perhop reproduces; RFC 5681 section 4.2 allows fewer.
pub(crate) fn ack() -> Ack {
    Ack { policy: AckPolicy::EverySegment }
}
