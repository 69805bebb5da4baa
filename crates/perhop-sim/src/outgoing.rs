//! A port with what its link does to packets on the way in: compression of headers, and losses.

use perhop_core::packet::{Kind, Packet};
use perhop_core::port::Port;
use perhop_core::sink::Sink;
use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use crate::losses::{Fate, Losses};
use crate::packet::SimPacket;

/// The outgoing interface of a node, towards one link: three cache lines.
#[repr(align(64))]
pub struct Outgoing {
    /// Queues and scheduler.
    pub port: Port<SimPacket>,
    /// Length of a pure ACK on the link without its options, where headers are compressed.
    pub pure_ack_size: Option<Bytes>,
    /// Backpressure threshold in packets per connection; at hosts only.
    pub backpressure: Option<u32>,
    /// What the link loses, if it loses anything.
    pub losses: Option<Box<Losses>>,
}

impl Outgoing {
    /// Queues `pkt` at the length it will have on the link, unless the link loses it.
    pub fn enqueue(&mut self, now: Instant, mut pkt: SimPacket, sink: &mut dyn Sink<SimPacket>) {
        let (full, options) = (Bytes(pkt.get().full_len.into()), Bytes(pkt.get().options.into()));
        let meta = pkt.meta_mut();
        meta.len = match self.pure_ack_size {
            // what is counted without headers and carries no data has no length of its own
            Some(len) if meta.kind == Kind::PureAck || full == options => len + options,
            _ => full,
        };
        if let Some(losses) = &mut self.losses
            && let Fate::Lost(why) = losses.decide(&mut pkt)
        {
            sink.dropped(now, losses.site, pkt, why);
            return;
        }
        self.port.enqueue(now, pkt, sink);
    }
}
