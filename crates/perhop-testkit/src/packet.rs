//! Packets without bytes, told apart by a number.

use perhop_core::packet::{Color, Dir, Dscp, Ecn, FlowId, Kind, Meta, OnWire, Packet, TcpView, TrafficClass};
use perhop_core::units::Bytes;

/// Assured forwarding, class 1, least likely to be dropped.
pub const AF11: Dscp = af1(1);
/// Likelier.
pub const AF12: Dscp = af1(2);
/// Likeliest.
pub const AF13: Dscp = af1(3);

const fn af1(precedence: u8) -> Dscp {
    match Dscp::af(1, precedence) {
        Some(dscp) => dscp,
        None => Dscp::DEFAULT,
    }
}

/// A packet that is nothing but its [`Meta`].
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct TestPacket(Meta);

impl TestPacket {
    /// A 1500-byte data packet; `id` travels in `tcp.seq_end`, where observers of the meta find it.
    #[must_use]
    pub fn data(id: u32) -> Self {
        let tcp = Some(TcpView { seq_end: id, ..TcpView::default() });
        Self(Meta { len: Bytes(1500), tcp, ..Meta::default() })
    }

    /// A 28-byte pure ACK.
    #[must_use]
    pub fn pure_ack(id: u32) -> Self {
        let mut pkt = Self::data(id).len(28);
        pkt.0.kind = Kind::PureAck;
        pkt
    }

    /// With `bytes` on the wire.
    #[must_use]
    pub const fn len(mut self, bytes: u64) -> Self {
        self.0.len = Bytes(bytes);
        self
    }

    /// Of another flow than 0.
    #[must_use]
    pub const fn flow(mut self, flow: u32) -> Self {
        self.0.flow = FlowId(flow);
        self
    }

    /// On the way back.
    #[must_use]
    pub const fn back(mut self) -> Self {
        self.0.dir = Dir::Reverse;
        self
    }

    /// Of another traffic class than 0.
    #[must_use]
    pub const fn class(mut self, class: u8) -> Self {
        self.0.class = TrafficClass(class);
        self
    }

    /// Of another colour than green.
    #[must_use]
    pub const fn color(mut self, color: Color) -> Self {
        self.0.color = color;
        self
    }

    /// With another code point than the default.
    #[must_use]
    pub const fn dscp(mut self, dscp: Dscp) -> Self {
        self.0.dscp = dscp;
        self
    }

    /// With an ECN field.
    #[must_use]
    pub const fn ecn(mut self, ecn: Ecn) -> Self {
        self.0.ecn = ecn;
        self
    }

    /// The number it was built with.
    #[must_use]
    pub fn id(&self) -> u32 {
        id(&self.0)
    }
}

impl Packet for TestPacket {
    fn meta(&self) -> &Meta {
        &self.0
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0
    }
}

impl OnWire for TestPacket {
    fn full_len(&self) -> u32 {
        u32::try_from(self.0.len.0).unwrap_or(u32::MAX)
    }
}

/// The number that a [`TestPacket`] was built with.
#[must_use]
pub fn id(meta: &Meta) -> u32 {
    meta.tcp.map_or(0, |tcp| tcp.seq_end)
}
