//! A simulated packet: what elements see, and the TCP numbers in full width. It has no bytes.

use perhop_core::packet::{Meta, Packet};
use perhop_core::units::Bytes;

/// The contents behind [`SimPacket`].
#[derive(Debug, Default)]
pub struct Contents {
    /// What elements see; `meta.len` is the length on the link the packet is on.
    pub meta: Meta,
    /// Length where no link compresses it.
    pub full_len: Bytes,
    /// First payload byte.
    pub seq: u64,
    /// One past the last payload byte.
    pub end: u64,
    /// Cumulative acknowledgment.
    pub ack: u64,
}

/// One pointer, so that handing a packet on moves eight bytes.
#[derive(Debug, Default)]
pub struct SimPacket(Box<Contents>);

impl SimPacket {
    /// The contents.
    pub const fn get(&self) -> &Contents {
        &self.0
    }

    /// The contents, to fill in.
    pub const fn get_mut(&mut self) -> &mut Contents {
        &mut self.0
    }
}

impl Packet for SimPacket {
    fn meta(&self) -> &Meta {
        &self.0.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0.meta
    }
}
