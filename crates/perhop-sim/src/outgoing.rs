//! A port with what its link does to packet lengths.

use perhop_core::packet::{Kind, Packet};
use perhop_core::port::Port;
use perhop_core::sink::Sink;
use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use crate::packet::SimPacket;

/// The outgoing interface of a node, towards one link.
pub struct Outgoing {
    /// Queues and scheduler.
    pub port: Port<SimPacket>,
    /// Length of a pure ACK on the link, where headers are compressed.
    pub pure_ack_size: Option<Bytes>,
}

impl Outgoing {
    /// Queues `pkt` at the length it will have on the link.
    pub fn enqueue(&mut self, now: Instant, mut pkt: SimPacket, sink: &mut dyn Sink<SimPacket>) {
        let full = pkt.get().full_len;
        let meta = pkt.meta_mut();
        meta.len = match self.pure_ack_size {
            Some(len) if meta.kind == Kind::PureAck => len,
            _ => full,
        };
        self.port.enqueue(now, pkt, sink);
    }
}
