//! A simulated packet: what elements see, and what the ends of the connection say to each other. It has no bytes.

use perhop_core::packet::{Dir, Meta, OnWire, Packet};
use perhop_core::time::Instant;
use perhop_prefetch::prefetch;
use perhop_tcp::segment::{Ack, Segment};

use crate::seam::Carried;

/// The contents behind a [`SimPacket`].
///
/// In this order, on lines of the cache, a data packet touches two of them and an acknowledgment without SACK blocks no
/// third.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Contents {
    /// What elements see; `meta.len` is the length on the link the packet is on.
    pub meta: Meta,
    /// Bytes where no link compresses it.
    pub full_len: u32,
    /// Bytes of it that no link compresses: TCP options.
    pub options: u32,
    /// What it carries if it goes forward.
    pub segment: Segment,
    /// What it carries if it goes back.
    pub ack: Ack,
}

/// A packet of a simulation. It is one pointer, so that handing it on moves eight bytes.
#[derive(Debug, Default)]
pub struct SimPacket(Box<Contents>);

impl SimPacket {
    /// The contents.
    pub(crate) const fn get(&self) -> &Contents {
        &self.0
    }

    /// The contents, to fill in.
    pub(crate) const fn get_mut(&mut self) -> &mut Contents {
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

impl OnWire for SimPacket {
    fn full_len(&self) -> u32 {
        self.0.full_len
    }

    fn options(&self) -> u32 {
        self.0.options
    }

    fn numbered(&self) -> Option<(u64, bool)> {
        self.segment().map(|segment| (segment.seq, segment.syn))
    }
}

impl Carried for SimPacket {
    fn sent(&self) -> Instant {
        self.0.segment.sent
    }

    fn segment(&self) -> Option<&Segment> {
        (self.0.meta.dir == Dir::Forward).then_some(&self.0.segment)
    }

    fn prefetch(&self) {
        prefetch(&*self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perhop_core::outgoing::Outgoing;
    use std::mem::{offset_of, size_of};

    #[test]
    fn what_most_packets_need_lies_on_two_lines() {
        assert_eq!(size_of::<Meta>(), 48);
        assert!(offset_of!(Contents, ack) + offset_of!(Ack, sack) < 128);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_interface_is_two_lines() {
        assert_eq!(size_of::<Outgoing<SimPacket>>(), 128);
    }
}
