//! A port with what its link does to packets on the way in: compression of headers, and losses.

use crate::losses::{LossVerdict, Losses};
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
    options: Option<Box<LinkOptions>>,
}

/// Settings of a link that most interfaces do not have.
#[derive(Default)]
pub struct LinkOptions {
    /// Length of a pure ACK on the link without its options, where headers are compressed.
    pub pure_ack_size: Option<Bytes>,
    /// Backpressure threshold in packets per connection; at hosts only.
    pub backpressure: Option<u32>,
    /// The losses of the link, if it loses anything.
    pub losses: Option<Losses>,
}

impl<P: OnWire> Outgoing<P> {
    /// An interface that sends what `port` gives it.
    pub fn new(port: Port<P>, options: LinkOptions) -> Self {
        let LinkOptions { pure_ack_size, backpressure, losses } = &options;
        let plain = pure_ack_size.is_none() && backpressure.is_none() && losses.is_none();
        Self { port, options: (!plain).then(|| Box::new(options)) }
    }

    /// Backpressure threshold in packets per connection.
    pub fn backpressure(&self) -> Option<u32> {
        self.options.as_ref()?.backpressure
    }

    /// Packets that the link has lost.
    pub fn lost(&self) -> u64 {
        let losses = self.options.as_ref().and_then(|options| options.losses.as_ref());
        losses.map_or(0, |losses| losses.lost)
    }

    /// Queues `pkt` at the length it will have on the link, unless the link loses it.
    #[inline]
    pub fn enqueue(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        let full = Bytes(pkt.full_len().into());
        pkt.meta_mut().len = full;
        if let Some(set) = &mut self.options {
            let options = Bytes(pkt.options().into());
            let meta = pkt.meta_mut();
            // what is counted without headers and carries no data has no length of its own
            if let Some(len) = set.pure_ack_size
                && (meta.kind == Kind::PureAck || full == options)
            {
                meta.len = len + options;
            }
            if let Some(losses) = &mut set.losses
                && let LossVerdict::Lost(why) = losses.decide(&mut pkt)
            {
                sink.dropped(now, losses.site, pkt, why);
                return;
            }
        }
        self.port.enqueue(now, pkt, sink);
    }

    /// [`Self::enqueue`] and the port's `dequeue` in one, of a packet that finds the link idle and may pass
    /// ([`Port::pass`]). Returns whether it did; otherwise nothing has changed.
    #[inline]
    pub fn pass(&mut self, now: Instant, pkt: &mut P) -> bool {
        let len = Bytes(pkt.full_len().into());
        if self.options.is_some() || !self.port.pass(len, pkt.meta().kind) {
            return false;
        }
        let meta = pkt.meta_mut();
        (meta.len, meta.enqueued_at) = (len, now);
        true
    }
}
