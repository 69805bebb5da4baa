//! The seam between elements and whatever moves time: the event engine or a live loop.

use crate::packet::{Meta, Packet, PortId};
use crate::sink::Sink;
use crate::time::Instant;

/// What a port answers when asked for a packet.
#[derive(Debug)]
pub enum Departure<P> {
    /// Transmit this.
    Packet(P),
    /// Something waits but may not leave before this time, which lies in the future.
    NotBefore(Instant),
    /// Nothing waits.
    Empty,
}

/// What a driver offers a node during a call.
pub trait Io<P: Packet>: Sink<P> {
    /// `port` may now have something to transmit; the driver will ask it.
    fn ready(&mut self, port: PortId);
    /// A packet to fill in; its contents are unspecified.
    fn fresh(&mut self) -> P;
    /// A packet that reached its destination and is no longer needed.
    fn consumed(&mut self, pkt: P);
}

/// A host or a router, as its driver sees it. `now` never decreases between calls.
pub trait Node<P: Packet> {
    /// A packet arrived by `from`.
    fn on_packet(&mut self, now: Instant, from: PortId, pkt: P, io: &mut dyn Io<P>);
    /// The next packet for the idle link behind `to`.
    fn poll_transmit(&mut self, now: Instant, to: PortId, io: &mut dyn Io<P>) -> Departure<P>;
    /// Whether anything waits at `to`.
    fn waits(&self, to: PortId) -> bool;
    /// Whether [`Node::on_transmitted`] must be called for `to`.
    fn watches_transmission(&self, _to: PortId) -> bool {
        false
    }
    /// The last bit of a packet has left by `to`.
    fn on_transmitted(&mut self, _now: Instant, _to: PortId, _meta: &Meta, _io: &mut dyn Io<P>) {}
    /// A time not later than the node's first deadline, if it has one.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    /// Deals with every deadline up to `now`. An extra call changes nothing.
    fn on_timeout(&mut self, _now: Instant, _io: &mut dyn Io<P>) {}
}
