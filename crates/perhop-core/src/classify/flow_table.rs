//! The facts of each flow: its addresses, ports and protocol, and its contracted class.
//!
//! Source: RFC 3290 section 4.2.2 (the fields of a multi-field filter); RFC 2475 section 2.3.1. Different: a simulator has
//! no addresses, so that an address may be a node's number. Cost: an entry per flow; nothing for a packet.

use crate::packet::{Address, Dir, FlowId, TrafficClass};

/// The protocol above IP, by its IANA number.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Protocol(pub u8);

impl Protocol {
    /// TCP.
    pub const TCP: Self = Self(6);
    /// UDP.
    pub const UDP: Self = Self(17);
}

/// The five-tuple that the packets of one direction of a flow share.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct FlowKey {
    /// The sender.
    pub src: Address,
    /// The receiver.
    pub dst: Address,
    /// The sending port.
    pub src_port: u16,
    /// The receiving port.
    pub dst_port: u16,
    /// The protocol above IP.
    pub protocol: Protocol,
}

impl FlowKey {
    /// The key of the packets that go back.
    #[must_use]
    pub const fn reversed(self) -> Self {
        Self {
            src: self.dst,
            dst: self.src,
            src_port: self.dst_port,
            dst_port: self.src_port,
            protocol: self.protocol,
        }
    }

    /// The key of the packets that go in direction `dir` of a flow whose forward key this is.
    #[must_use]
    pub const fn towards(self, dir: Dir) -> Self {
        match dir {
            Dir::Forward => self,
            Dir::Reverse => self.reversed(),
        }
    }
}

/// The facts of a flow.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Its forward direction.
    pub key: FlowKey,
    /// The class that it was contracted as.
    pub class: TrafficClass,
}

/// Every flow that is known, by its number. Numbers should be dense: memory grows with the largest.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct FlowTable(Vec<Option<Flow>>);

impl FlowTable {
    /// A table that knows no flow.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// Enters a flow, or changes what is known of it.
    pub fn insert(&mut self, id: FlowId, flow: Flow) {
        let at = id.0 as usize;
        if at >= self.0.len() {
            self.0.resize(at + 1, None);
        }
        self.0[at] = Some(flow);
    }

    /// The facts of flow `id`.
    #[must_use]
    pub fn get(&self, id: FlowId) -> Option<&Flow> {
        self.0.get(id.0 as usize)?.as_ref()
    }

    /// The known flows, by number.
    pub fn iter(&self) -> impl Iterator<Item = (FlowId, &Flow)> {
        (0u32..).map(FlowId).zip(&self.0).filter_map(|(id, flow)| Some((id, flow.as_ref()?)))
    }
}
