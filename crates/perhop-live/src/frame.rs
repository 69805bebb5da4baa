//! A packet with bytes, as the engine carries it.

use perhop_core::packet::{Acknowledgment, Meta, OnWire, Packet};
use perhop_core::time::Instant;
use perhop_sim::{Carried, FlowOnWire};

/// The contents of a [`Frame`].
#[derive(Debug, Default)]
pub struct Contents {
    /// The facts that elements see.
    pub meta: Meta,
    /// When it was read from its host.
    pub sent: Instant,
    /// Bytes where no link compresses it, as the scenario counts them.
    pub full_len: u32,
    /// Bytes of it that no link compresses: TCP options.
    pub options: u32,
    /// First byte of the flow's data in it and whether it is the SYN, where it goes forward.
    pub numbered: Option<(u64, bool)>,
    /// Its acknowledgment, where it is TCP.
    pub acknowledgment: Option<Acknowledgment>,
    /// The packet from its IP header on.
    pub bytes: Vec<u8>,
}

/// A packet of a live run. It is one pointer; its buffer is used again.
#[derive(Debug, Default)]
pub struct Frame(Box<Contents>);

impl Frame {
    /// Its contents.
    #[must_use]
    pub const fn get(&self) -> &Contents {
        &self.0
    }

    /// Its contents, to fill in.
    pub const fn get_mut(&mut self) -> &mut Contents {
        &mut self.0
    }
}

impl Packet for Frame {
    fn meta(&self) -> &Meta {
        &self.0.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0.meta
    }

    fn acknowledgment(&self) -> Option<Acknowledgment> {
        self.0.acknowledgment
    }
}

impl OnWire for Frame {
    fn full_len(&self) -> u32 {
        self.0.full_len
    }

    fn options(&self) -> u32 {
        self.0.options
    }

    fn numbered(&self) -> Option<(u64, bool)> {
        self.0.numbered
    }
}

impl Carried for Frame {
    fn sent(&self) -> Instant {
        self.0.sent
    }

    /// The packet as it is, with the mark that it has now.
    fn bytes(&self, _flow: &FlowOnWire, into: &mut Vec<u8>) -> u32 {
        into.clone_from(&self.0.bytes);
        // what was read once is IP still
        let _ = perhop_wire::rewrite_ds(into, self.0.meta.dscp, self.0.meta.ecn);
        u32::try_from(into.len()).unwrap_or(u32::MAX)
    }
}
