//! The messages between the two ends of a connection, without headers or bytes.
//!
//! Sequence numbers are byte offsets of the application's data from 0; a FIN takes the number after the last byte
//! (RFC 9293 section 3.4), a SYN is told apart by its flag.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

/// A segment from the sender of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Segment {
    /// First byte.
    pub seq: u64,
    /// One past the last byte, the FIN's number included.
    pub end: u64,
    /// When it left; what a timestamps option carries (RFC 7323 section 3.2).
    pub sent: Instant,
    /// Opens the connection; carries no data.
    pub syn: bool,
    /// Ends the data.
    pub fin: bool,
    /// Some of it was sent before.
    pub retransmission: bool,
    /// The window has been reduced (RFC 3168 section 6.1.2).
    pub cwr: bool,
    /// May be marked instead of dropped (RFC 3168 section 6.1.2).
    pub ect: bool,
    /// Ends a burst whose sender says so (Linux: `__tcp_transmit_skb`).
    pub push: bool,
}

impl Segment {
    /// Application data in it.
    #[must_use]
    pub const fn payload(&self) -> Bytes {
        Bytes(self.end - self.seq - self.fin as u64)
    }
}

/// An acknowledgment from the receiver of data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
#[repr(C)]
pub struct Ack {
    /// Every number below it has arrived.
    pub ack: u64,
    /// Window offered beyond `ack`.
    pub window: Bytes,
    /// `sent` of the segment that a timestamps option echoes (RFC 7323 section 4.3).
    pub echo: Instant,
    /// Answers a SYN.
    pub syn: bool,
    /// A congestion mark has arrived and no CWR since (RFC 3168 section 6.1.3), or the last segment had one (RFC 8257 section 3.2).
    pub ece: bool,
    /// Of AccECN: the low three bits of the count of packets with a mark that have arrived (RFC 9768 section 3.2.2), and of 5 at the start.
    pub ace: u8,
    /// Ranges beyond `ack` that have arrived (RFC 2018).
    pub sack: SackBlocks,
}

impl Ack {
    /// Becomes equal to `other`, without writing the places of SACK blocks that it does not have.
    #[inline]
    pub fn copy_from(&mut self, other: &Self) {
        (self.ack, self.window, self.echo) = (other.ack, other.window, other.echo);
        (self.syn, self.ece, self.ace) = (other.syn, other.ece, other.ace);
        let blocks = other.sack.as_slice();
        self.sack.len = other.sack.len;
        self.sack.ranges[..blocks.len()].copy_from_slice(blocks);
    }
}

/// Bytes of a timestamps option with its padding (RFC 7323 appendix A).
//= rfc7323-A-padding
pub const TIMESTAMPS: Bytes = Bytes(12);

/// Bytes of a SACK block (RFC 2018 section 3).
pub const SACK_BLOCK: Bytes = Bytes(8);

/// Most blocks that fit beside nothing but a SACK option (RFC 2018 section 3).
pub const MAX_SACK_BLOCKS: usize = 4;

/// Ranges of a SACK option, in the order in which they are reported.
#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct SackBlocks {
    len: u8,
    ranges: [(u64, u64); MAX_SACK_BLOCKS],
}

impl PartialEq for SackBlocks {
    fn eq(&self, other: &Self) -> bool {
        self.as_slice() == other.as_slice()
    }
}

impl Eq for SackBlocks {}

impl SackBlocks {
    /// Adds a range; one too many is left out.
    pub fn push(&mut self, start: u64, end: u64) {
        if let Some(place) = self.ranges.get_mut(usize::from(self.len)) {
            *place = (start, end);
            self.len += 1;
        }
    }

    /// The first range, to lengthen.
    pub fn first_mut(&mut self) -> Option<&mut (u64, u64)> {
        self.ranges[..usize::from(self.len)].first_mut()
    }

    /// The ranges.
    #[must_use]
    #[inline]
    pub fn as_slice(&self) -> &[(u64, u64)] {
        &self.ranges[..usize::from(self.len)]
    }
}
