//! The engine's demands on hosts where flows end, simulated or real.

use perhop_core::node::Node;
use perhop_core::outgoing::Outgoing;
use perhop_core::packet::FlowId;
use perhop_core::queue::Backlog;
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_tcp::segment::Segment;
use perhop_tcp::sender::SenderStats;

use crate::applications::application::Application;
use crate::applications::call::CallReceiver;
use crate::engine::carried::Carried;
use crate::engine::marks::MarkCounts;
use crate::engine::observe::{Recorder, TcpRecord, WindowRecord};

/// A TCP sender's state for observers.
#[derive(Clone, Copy, Debug, Default)]
pub struct SenderReading {
    /// Counters.
    pub stats: SenderStats,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Span>,
    /// Smallest and largest round-trip sample since the measured time began.
    pub rtt: Option<(Span, Span)>,
    /// Round-trip samples.
    pub rtt_samples: u64,
}

/// A TCP receiver's state for observers.
#[derive(Clone, Copy, Debug)]
pub struct ReceiverReading<'a> {
    /// Payload delivered in order.
    pub delivered: Bytes,
    /// Packets that arrived.
    pub arrived: &'a MarkCounts,
    /// Acknowledgments sent.
    pub acks: u64,
}

/// A host: where flows begin and end.
pub trait HostNode: Node<Self::Packet> {
    /// Its packets.
    type Packet: Carried;
    /// The driver's side of a call, as this host takes it.
    fn io(recorder: &mut Recorder<Self::Packet>) -> &mut Self::Io;
    /// Outgoing interfaces, by port.
    fn ports(&self) -> &[Outgoing<Self::Packet>];
    /// The same, to begin and to end a measurement.
    fn ports_mut(&mut self) -> &mut [Outgoing<Self::Packet>];
    /// A measurement begins: largest and smallest values are from here on those of what follows, and waits count from here.
    fn restart(&mut self, now: Instant);
    /// The sending end of a TCP flow, if it is here.
    fn sender(&self, flow: FlowId) -> Option<SenderReading>;
    /// The receiving end of a TCP flow, if it is here.
    fn receiver(&self, flow: FlowId) -> Option<ReceiverReading<'_>>;
    /// The packets that a UDP flow has sent from here.
    fn source(&self, flow: FlowId) -> Option<Backlog>;
    /// The arrivals of a UDP flow here.
    fn drain(&self, flow: FlowId) -> Option<&MarkCounts>;
    /// The part heard here of a UDP flow that is one way of a call.
    fn call_receiver(&self, _flow: FlowId) -> Option<&CallReceiver> {
        None
    }
    /// Applications over connections that begin here.
    fn applications(&self) -> &[Application] {
        &[]
    }
    /// How many packets are between their flow and a port.
    fn held(&self) -> u64 {
        0
    }
    /// The sender's state, for a trace of windows.
    fn window(&self, _now: Instant, _flow: FlowId) -> Option<WindowRecord> {
        None
    }
    /// Moves what was logged of connections to the end of `trace`.
    fn take_log(&mut self, _trace: &mut Vec<TcpRecord>) {}
    /// The sender's state when `segment` of its was dropped, for a trace of connections.
    fn dropped(&self, _now: Instant, _flow: FlowId, _segment: &Segment) -> Option<TcpRecord> {
        None
    }
}
