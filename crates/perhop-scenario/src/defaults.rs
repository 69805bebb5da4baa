//! Every default of a scenario file but those of a TCP, and who chose it; a TCP's are in `profiles/`.

use perhop_core::time::Span;
use perhop_core::units::QueueSize;

use crate::file::{Ack, AckPolicy, Class, NodeKind, PerDirection, Queue, Scheduler, Selector};
use crate::names::Label;
use crate::units::{Limit, Probability, Time};

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

/// An ACK for every segment: ours, as in the papers that perhop reproduces; RFC 5681 section 4.2 allows fewer.
pub(crate) fn ack() -> Ack {
    Ack { policy: AckPolicy::EverySegment, timeout: None }
}

/// 200 ms: 4.4BSD's fast timer (Wright and Stevens 1995, section 25.5); RFC 1122 section 4.2.3.2 allows 500 ms.
pub(crate) fn delayed_timeout() -> Time {
    Time(Span::from_millis(200))
}

/// Nothing is lost: ours.
pub(crate) fn no_loss() -> PerDirection<Probability> {
    PerDirection::Both(Probability(0.0))
}
