//! A connection as both of its ends know it.

use perhop_core::packet::{Dscp, Ecn, FlowId, PortId, TrafficClass};
use perhop_core::units::Bytes;

/// Lengths of headers and options.
#[derive(Clone, Copy, Debug)]
pub struct Wire {
    /// Added to the payload of every segment.
    pub header: Bytes,
    /// Of the options of every segment: timestamps (RFC 7323 section 3.2, with its padding).
    pub options: Bytes,
    /// Of the SACK option beside eight bytes for each block.
    pub sack_overhead: Bytes,
}

/// A connection as both of its ends know it.
#[derive(Clone, Copy, Debug)]
pub struct Connection {
    /// The connection.
    pub flow: FlowId,
    /// Its traffic class.
    pub class: TrafficClass,
    /// Lengths of headers and options.
    pub wire: Wire,
    /// The host's port towards the other end.
    pub port: PortId,
    /// The mark of the packets that go forward.
    pub mark: Dscp,
    /// The ECN field of data that can be marked.
    pub ect: Ecn,
}
