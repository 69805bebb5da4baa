//! The seam between elements and whatever moves time: the event engine or a live loop.

use crate::packet::{Meta, Packet, PortId};
use crate::sink::Sink;
use crate::time::Instant;

/// A port's answer when asked for a packet.
#[derive(Debug)]
pub enum Departure<P> {
    /// Transmit this.
    Packet(P),
    /// Something waits but may not leave before this time, which lies in the future.
    NotBefore(Instant),
    /// Nothing waits.
    Empty,
}

/// A driver's services to a node during a call.
pub trait Io<P: Packet>: Sink<P> {
    /// `port` may now have something to transmit; the driver will ask it.
    fn ready(&mut self, port: PortId);
}

/// A host or a router, as its driver sees it.
///
/// What it expects of its driver; laws of both: `perhop_testkit::laws::node`.
/// - `now` never decreases from one call to the next, over all methods.
/// - A link is asked for its next packet before a packet arrives: every departure that is due at or before t comes before
///   an arrival at t, and timers of t come after both (decision 0001).
/// - A packet that arrives has its length (`meta.len`, on the link that it came by), its flow and its class: conditioners
///   measure by them. Its marks are those that it carries.
/// - After each call the driver asks the ports that [`Io::ready`] named, if their links are idle; after
///   [`Departure::Packet`] it asks again when the link is, while [`Node::waits`]; after [`Departure::NotBefore`] then.
/// - It calls [`Node::on_timeout`] at [`Node::next_timeout`] or later; a call that is not due changes nothing.
///
/// Every packet that a node takes in leaves by [`Node::poll_transmit`], is handed to the `Sink`, waits, or ends there.
pub trait Node<P: Packet> {
    /// The services that it needs of its driver.
    type Io: Io<P> + ?Sized;
    /// A packet arrived by `from`.
    fn on_packet(&mut self, now: Instant, from: PortId, pkt: P, io: &mut Self::Io);
    /// The next packet for the idle link behind `to`.
    fn poll_transmit(&mut self, now: Instant, to: PortId, io: &mut Self::Io) -> Departure<P>;
    /// Whether anything waits at `to`.
    fn waits(&self, to: PortId) -> bool;
    /// Whether [`Node::on_transmitted`] must be called for `to`.
    fn watches_transmission(&self, _to: PortId) -> bool {
        false
    }
    /// The last bit of a packet has left by `to`.
    fn on_transmitted(&mut self, _now: Instant, _to: PortId, _meta: &Meta, _io: &mut Self::Io) {}
    /// A time not later than the node's first deadline, if it has one.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    /// Deals with every deadline up to `now`. An extra call changes nothing.
    fn on_timeout(&mut self, _now: Instant, _io: &mut Self::Io) {}
}
