//! Packets as the engine needs them, and headers that the packets of a flow share.

use std::net::Ipv4Addr;

use perhop_core::packet::OnWire;
use perhop_core::time::Instant;
use perhop_tcp::segment::Segment;

/// Addresses and ports of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Ends {
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Where it goes.
    pub destination: Ipv4Addr,
    /// Port at its source.
    pub source_port: u16,
    /// Port at its destination.
    pub destination_port: u16,
}

impl Ends {
    /// Those of a packet that goes back.
    #[must_use]
    pub const fn reversed(self) -> Self {
        let Self { source, destination, source_port, destination_port } = self;
        Self {
            source: destination,
            destination: source,
            source_port: destination_port,
            destination_port: source_port,
        }
    }
}

/// The headers that a flow's packets share, beside what elements see.
#[derive(Clone, Copy, Debug)]
pub struct FlowOnWire {
    /// Addresses and ports of the packets that go forward.
    pub ends: Ends,
    /// Payload of a full segment.
    pub mss: u16,
    /// Shift of the window field.
    pub window_scale: u8,
    /// Whether segments carry timestamps.
    pub timestamps: bool,
}

/// A packet that the engine can move.
pub trait Carried: OnWire + Default {
    /// When its flow sent it.
    fn sent(&self) -> Instant;
    /// The segment in it, where TCP is simulated.
    fn segment(&self) -> Option<&Segment> {
        None
    }
    /// Begins to load what an arrival will touch.
    fn prefetch(&self) {}
    /// Writes it as it is on the wire, its headers at least; returns the bytes that it has there.
    fn bytes(&self, flow: &FlowOnWire, into: &mut Vec<u8>) -> u32;
}
