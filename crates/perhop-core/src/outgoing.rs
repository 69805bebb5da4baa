//! A port with what its link does to packets on the way in: compression of headers, and losses.

use crate::losses::{Fate, Losses};
use crate::packet::{Kind, OnWire};
use crate::port::Port;
use crate::sink::Sink;
use crate::time::Instant;
use crate::units::Bytes;

/// The outgoing interface of a node, towards one link: two cache lines where a packet is one pointer.
#[repr(align(64))]
pub struct Outgoing<P: OnWire> {
    /// Queues and scheduler.
    pub port: Port<P>,
    /// `None` if nothing in it is set.
    special: Option<Box<Special>>,
}

/// What few interfaces have.
#[derive(Default)]
pub struct Special {
    /// Length of a pure ACK on the link without its options, where headers are compressed.
    pub pure_ack_size: Option<Bytes>,
    /// Backpressure threshold in packets per connection; at hosts only.
    pub backpressure: Option<u32>,
    /// What the link loses, if it loses anything.
    pub losses: Option<Losses>,
}

impl<P: OnWire> Outgoing<P> {
    /// An interface that sends what `port` gives it.
    pub fn new(port: Port<P>, special: Special) -> Self {
        let Special { pure_ack_size, backpressure, losses } = &special;
        let plain = pure_ack_size.is_none() && backpressure.is_none() && losses.is_none();
        Self { port, special: (!plain).then(|| Box::new(special)) }
    }

    /// Backpressure threshold in packets per connection.
    pub fn backpressure(&self) -> Option<u32> {
        self.special.as_ref()?.backpressure
    }

    /// Packets that the link has lost.
    pub fn lost(&self) -> u64 {
        let losses = self.special.as_ref().and_then(|special| special.losses.as_ref());
        losses.map_or(0, |losses| losses.lost)
    }

    /// Queues `pkt` at the length it will have on the link, unless the link loses it.
    pub fn enqueue(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        let full = Bytes(pkt.full_len().into());
        pkt.meta_mut().len = full;
        if let Some(special) = &mut self.special {
            let options = Bytes(pkt.options().into());
            let meta = pkt.meta_mut();
            // what is counted without headers and carries no data has no length of its own
            if let Some(len) = special.pure_ack_size
                && (meta.kind == Kind::PureAck || full == options)
            {
                meta.len = len + options;
            }
            if let Some(losses) = &mut special.losses
                && let Fate::Lost(why) = losses.decide(&mut pkt)
            {
                sink.dropped(now, losses.site, pkt, why);
                return;
            }
        }
        self.port.enqueue(now, pkt, sink);
    }
}
