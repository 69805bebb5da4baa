//! The headers of a packet.

use core::fmt;

use perhop_core::classify::{Address, Protocol};
use perhop_core::packet::{Dscp, Ecn, Kind, TcpView};

use crate::{u16_at, u32_at};

/// Why bytes are no packet that perhop reads.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WireError {
    /// Neither IPv4 nor IPv6.
    Version,
    /// A header says that there is more than there is, or less than it needs.
    Length,
    /// A part of a packet.
    Fragment,
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Version => "neither IPv4 nor IPv6",
            Self::Length => "a length in a header does not fit",
            Self::Fragment => "a fragment",
        })
    }
}

impl core::error::Error for WireError {}

/// Fields of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpHeader {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags, as in byte 13.
    pub flags: u8,
    /// The window field, not scaled.
    pub window: u16,
    /// SACK blocks.
    pub sack_blocks: u8,
    /// The highest right edge of them; 0 without any.
    pub sack_top: u32,
}

/// Flags of a TCP header.
pub(crate) mod flag {
    pub const FIN: u8 = 0x01;
    pub const SYN: u8 = 0x02;
    pub const RST: u8 = 0x04;
}

/// The headers of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct View {
    /// Where it comes from; of IPv4 the 32 bits.
    pub source: Address,
    /// Where it goes.
    pub destination: Address,
    /// The protocol above IP.
    pub protocol: u8,
    /// Of TCP and UDP; else 0.
    pub source_port: u16,
    /// Of TCP and UDP; else 0.
    pub destination_port: u16,
    /// The DS field.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    /// Bytes of the whole packet.
    pub total_len: u32,
    /// Bytes of the IP header.
    pub ip_header_len: u32,
    /// Bytes of the TCP header with its options, or of that of UDP; else 0.
    pub transport_header_len: u32,
    /// Bytes of the TCP options, padding included.
    pub options_len: u32,
    /// Bytes after the headers.
    pub payload_len: u32,
    /// Where it is TCP.
    pub tcp: Option<TcpHeader>,
}

impl View {
    /// Data or pure ACK.
    #[must_use]
    pub const fn kind(&self) -> Kind {
        match self.tcp {
            Some(tcp) if tcp.flags & flag::SYN != 0 => Kind::Syn,
            Some(tcp) if self.payload_len == 0 && tcp.flags & (flag::FIN | flag::RST) == 0 => Kind::PureAck,
            _ if self.payload_len > 0 => Kind::Data,
            _ => Kind::Other,
        }
    }

    /// The TCP header as elements see it.
    #[must_use]
    pub fn tcp_view(&self) -> Option<TcpView> {
        let TcpHeader { seq, ack, flags, sack_blocks, sack_top, .. } = self.tcp?;
        let in_sequence_space =
            self.payload_len + u32::from(flags & flag::FIN != 0) + u32::from(flags & flag::SYN != 0);
        Some(TcpView { seq_end: seq.wrapping_add(in_sequence_space), ack, sack_top, flags, sack_blocks })
    }
}

/// The IP header of a packet.
pub(crate) struct Ip {
    pub source: Address,
    pub destination: Address,
    pub protocol: u8,
    pub traffic_class: u8,
    pub header: usize,
    pub total: usize,
}

pub(crate) fn ip(bytes: &[u8]) -> Result<Ip, WireError> {
    let first = *bytes.first().ok_or(WireError::Length)?;
    let ip = match first >> 4 {
        4 => ipv4(bytes, first),
        6 => ipv6(bytes),
        _ => return Err(WireError::Version),
    };
    let ip = ip.ok_or(WireError::Length)?;
    if ip.header > ip.total || ip.total > bytes.len() || ip.header < 20 {
        return Err(WireError::Length);
    }
    if first >> 4 == 4 && u16_at(bytes, 6).is_some_and(|fragment| fragment & 0x3fff != 0) {
        return Err(WireError::Fragment);
    }
    Ok(ip)
}

fn ipv4(bytes: &[u8], first: u8) -> Option<Ip> {
    Some(Ip {
        source: Address(u32_at(bytes, 12)?.into()),
        destination: Address(u32_at(bytes, 16)?.into()),
        protocol: *bytes.get(9)?,
        traffic_class: *bytes.get(1)?,
        header: usize::from(first & 0x0f) * 4,
        total: u16_at(bytes, 2)?.into(),
    })
}

fn ipv6(bytes: &[u8]) -> Option<Ip> {
    let address = |at: usize| Some(Address(u128::from_be_bytes(bytes.get(at..at + 16)?.try_into().ok()?)));
    let [high, low] = u16_at(bytes, 0)?.to_be_bytes();
    Some(Ip {
        source: address(8)?,
        destination: address(24)?,
        protocol: *bytes.get(6)?,
        traffic_class: high << 4 | low >> 4,
        header: 40,
        total: 40 + usize::from(u16_at(bytes, 4)?),
    })
}

/// Reads a packet that begins with its IP header; bytes after its end are left alone.
///
/// # Errors
/// Why they are no packet.
pub fn parse(bytes: &[u8]) -> Result<View, WireError> {
    let ip = ip(bytes)?;
    let above = &bytes[ip.header..ip.total];
    let mut view = View {
        source: ip.source,
        destination: ip.destination,
        protocol: ip.protocol,
        source_port: 0,
        destination_port: 0,
        dscp: Dscp::new(ip.traffic_class >> 2).unwrap_or_default(),
        ecn: ecn(ip.traffic_class),
        total_len: short(ip.total),
        ip_header_len: short(ip.header),
        transport_header_len: 0,
        options_len: 0,
        payload_len: short(above.len()),
        tcp: None,
    };
    if ip.protocol == Protocol::TCP.0 {
        tcp(above, &mut view).ok_or(WireError::Length)?;
    } else if ip.protocol == Protocol::UDP.0 {
        udp(above, &mut view).ok_or(WireError::Length)?;
    }
    Ok(view)
}

fn ports(above: &[u8], view: &mut View) -> Option<()> {
    (view.source_port, view.destination_port) = (u16_at(above, 0)?, u16_at(above, 2)?);
    Some(())
}

fn udp(above: &[u8], view: &mut View) -> Option<()> {
    ports(above, view)?;
    let len = u16_at(above, 4)?;
    let fits = usize::from(len) == above.len() && len >= 8;
    view.transport_header_len = 8;
    view.payload_len = view.payload_len.checked_sub(8)?;
    fits.then_some(())
}

fn tcp(above: &[u8], view: &mut View) -> Option<()> {
    ports(above, view)?;
    let header = usize::from(above.get(12)? >> 4) * 4;
    let options = above.get(20..header)?;
    let mut tcp = TcpHeader {
        seq: u32_at(above, 4)?,
        ack: u32_at(above, 8)?,
        flags: *above.get(13)?,
        window: u16_at(above, 14)?,
        ..TcpHeader::default()
    };
    if let Some(blocks) = option(options, 5) {
        tcp.sack_blocks = u8::try_from(blocks.len() / 8).unwrap_or(u8::MAX);
        let edges = blocks.chunks_exact(8).filter_map(|block| u32_at(block, 4));
        // modulo 2^32: the one furthest ahead of what is acknowledged
        tcp.sack_top = edges.max_by_key(|edge| edge.wrapping_sub(tcp.ack)).unwrap_or(0);
    }
    view.transport_header_len = short(header);
    view.options_len = short(options.len());
    view.payload_len = view.payload_len.checked_sub(view.transport_header_len)?;
    view.tcp = Some(tcp);
    Some(())
}

/// The contents of the first TCP option of this kind.
pub(crate) fn option(mut options: &[u8], kind: u8) -> Option<&[u8]> {
    loop {
        match *options.first()? {
            0 => return None,
            1 => options = &options[1..],
            found => {
                let len = usize::from(*options.get(1)?);
                let content = options.get(2..len)?;
                if found == kind {
                    return Some(content);
                }
                options = &options[len..];
            }
        }
    }
}

const fn ecn(traffic_class: u8) -> Ecn {
    match traffic_class & 3 {
        0 => Ecn::NotEct,
        1 => Ecn::Ect1,
        2 => Ecn::Ect0,
        _ => Ecn::Ce,
    }
}

/// A length within a packet: below 65,576.
fn short(len: usize) -> u32 {
    u32::try_from(len).unwrap_or(u32::MAX)
}
