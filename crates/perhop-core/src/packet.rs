//! The facts of a packet that an element may know.

use core::fmt::Debug;

pub use crate::color::Color;
pub use crate::dscp::Dscp;
use crate::time::Instant;
use crate::units::Bytes;

/// A connection; both directions share it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct FlowId(pub u32);

/// A class of a port, by its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct ClassId(pub u16);

/// A port of a node, by its position.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct PortId(pub u32);

/// The class that a flow was contracted as, whatever mark its packets carry now.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct TrafficClass(pub u8);

/// Where a packet comes from or goes to: the number of a node, or an IP address.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Address(pub u128);

/// The ECN field (RFC 3168 section 5).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Ecn {
    /// Not ECN-capable.
    #[default]
    NotEct,
    /// ECN-capable, code point 01.
    Ect1,
    /// ECN-capable, code point 10.
    Ect0,
    /// Congestion experienced.
    Ce,
}

/// Data or pure ACK.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Kind {
    /// Payload.
    #[default]
    Data,
    /// An acknowledgment and no payload.
    PureAck,
    /// A connection's first segment in either direction.
    Syn,
    /// Anything else.
    Other,
}

/// Direction within the connection.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum Dir {
    /// From the sender of the data to its receiver.
    #[default]
    Forward,
    /// Back.
    Reverse,
}

/// The fields of a TCP header that an element may see; sequence numbers modulo 2^32 as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpView {
    /// One past the last payload byte.
    pub seq_end: u32,
    /// Cumulative acknowledgment.
    pub ack: u32,
    /// One past the highest selectively acknowledged byte.
    pub sack_top: u32,
    /// Flag bits as in the header.
    pub flags: u8,
    /// Number of SACK blocks.
    pub sack_blocks: u8,
}

/// The news of an acknowledgment, for who asks whether another says as much; numbers as on the wire.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Acknowledgment {
    /// Cumulative acknowledgment.
    pub number: u32,
    /// Value and echo of a timestamps option (RFC 7323 section 3.2).
    pub timestamps: Option<(u32, u32)>,
    /// Whether it says nothing else that a receiver must hear: no data, no flag but ACK, ECE and CWR, no option but SACK,
    /// timestamps and a signature (RFC 2385).
    pub alone: bool,
    sack: [(u32, u32); 4],
    sack_blocks: u8,
}

impl Acknowledgment {
    /// Of `number`, without timestamps and SACK blocks so far.
    #[must_use]
    pub const fn new(number: u32, alone: bool) -> Self {
        Self { number, timestamps: None, alone, sack: [(0, 0); 4], sack_blocks: 0 }
    }

    /// Adds a block of a SACK option (RFC 2018 section 3), its first byte and one past its last; one too many is left out.
    pub fn add_sack(&mut self, start: u32, end: u32) {
        if let Some(place) = self.sack.get_mut(usize::from(self.sack_blocks)) {
            *place = (start, end);
            self.sack_blocks += 1;
        }
    }

    /// The blocks of a SACK option.
    #[must_use]
    pub fn sack(&self) -> &[(u32, u32)] {
        &self.sack[..usize::from(self.sack_blocks)]
    }
}

/// All an element may know about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Meta {
    /// Length on the link it is queued for.
    pub len: Bytes,
    /// When the packet joined the queue that holds it; set by the port, and by a queue for itself.
    pub enqueued_at: Instant,
    /// The connection.
    pub flow: FlowId,
    /// TCP header fields, where it is TCP.
    pub tcp: Option<TcpView>,
    /// Direction within the connection.
    pub dir: Dir,
    /// The class that the flow was contracted as.
    pub class: TrafficClass,
    /// The DS field.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    /// Set by a meter or by a queue that looks at colours, and kept until the next one.
    pub color: Color,
    /// Data or pure ACK.
    pub kind: Kind,
}

/// A packet as an element handles it: something that owns a [`Meta`].
///
/// A simulated packet has no bytes; a live one writes the DS field back when it leaves.
/// Implement it for a pointer: what elements hand on should be eight bytes.
pub trait Packet: Debug + Send + 'static {
    /// The facts that an element may read.
    fn meta(&self) -> &Meta;
    /// The facts that an element may change.
    fn meta_mut(&mut self) -> &mut Meta;
    /// Its acknowledgment, where it is a TCP segment with the flag ACK and without SYN. `None` if it cannot say: no ACK filter
    /// drops it then, or another for it.
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        None
    }
}

/// Further demands of an outgoing interface on a packet.
pub trait OnWire: Packet {
    /// Bytes where no link compresses it.
    fn full_len(&self) -> u32;
    /// Bytes of it that no link compresses: TCP options.
    fn options(&self) -> u32 {
        0
    }
    /// By what a list of losses names it: its first byte, and whether it is the SYN. `None` for what none can name.
    fn numbered(&self) -> Option<(u64, bool)> {
        None
    }
    /// Where it goes, if it says so itself: by this a router forwards a packet whose flow has no route.
    fn destination(&self) -> Option<Address> {
        None
    }
}
