//! Packets of IPv4 with TCP or UDP, from what is to be in them. The payload is zeros.
//!
//! Zeros add nothing to a checksum, so the headers alone have the right ones whether the payload follows or not.
//!
//! Source: RFC 791 section 3.1, RFC 9293 section 3.1, RFC 768; options RFC 9293 section 3.2, RFC 2018 section 3 and RFC 7323
//! appendix A, each padded in front to four bytes.

use std::net::Ipv4Addr;

use perhop_core::classify::Protocol;
use perhop_core::packet::{Dscp, Ecn};

use crate::checksum::{folded, sum};
use crate::fields::traffic_class;
use crate::view::WireError;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
/// Most bytes of TCP options.
const MOST_OPTIONS: usize = 40;

/// The headers of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Headers<'a> {
    /// Where it comes from.
    pub source: Ipv4Addr,
    /// Where it goes.
    pub destination: Ipv4Addr,
    /// Port at its source.
    pub source_port: u16,
    /// Port at its destination.
    pub destination_port: u16,
    /// The DS field.
    pub dscp: Dscp,
    /// The ECN field.
    pub ecn: Ecn,
    /// Bytes of payload.
    pub payload: u32,
    /// The transport header.
    pub transport: Transport<'a>,
}

/// A transport protocol with the fields of its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Transport<'a> {
    /// Ports and lengths are all it has.
    Udp,
    /// TCP.
    Tcp(Tcp<'a>),
}

/// Fields and options of a TCP header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tcp<'a> {
    /// Sequence number of the first byte.
    pub seq: u32,
    /// Acknowledgment number.
    pub ack: u32,
    /// Flags, as in byte 13.
    pub flags: u8,
    /// The window field, not scaled.
    pub window: u16,
    /// Maximum segment size option.
    pub mss: Option<u16>,
    /// Window scale option: the shift.
    pub window_scale: Option<u8>,
    /// Timestamps option: value and echo.
    pub timestamps: Option<(u32, u32)>,
    /// Blocks of the SACK option: first byte and one past the last.
    pub sack: &'a [(u32, u32)],
}

impl Tcp<'_> {
    fn options_len(&self) -> usize {
        let sack = if self.sack.is_empty() { 0 } else { 4 + 8 * self.sack.len() };
        let syn = self.mss.map_or(0, |_| 4) + self.window_scale.map_or(0, |_| 4);
        syn + self.timestamps.map_or(0, |_| 12) + sack
    }

    fn write_options(&self, out: &mut Vec<u8>) {
        if let Some(mss) = self.mss {
            out.extend([2, 4]);
            out.extend(mss.to_be_bytes());
        }
        if let Some(shift) = self.window_scale {
            out.extend([1, 3, 3, shift]);
        }
        if let Some((value, echo)) = self.timestamps {
            out.extend([1, 1, 8, 10]);
            out.extend(value.to_be_bytes());
            out.extend(echo.to_be_bytes());
        }
        if !self.sack.is_empty() {
            out.extend([1, 1, 5, low_byte(2 + 8 * self.sack.len())]);
            for (start, end) in self.sack {
                out.extend(start.to_be_bytes());
                out.extend(end.to_be_bytes());
            }
        }
    }
}

/// Appends a whole packet to `out`.
///
/// # Errors
/// [`WireError::Length`] where the options are more than 40 bytes or the packet more than 65,535; nothing is appended.
pub fn build(headers: &Headers<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
    build_headers(headers, out)?;
    let payload = usize::try_from(headers.payload).map_err(|_| WireError::Length)?;
    out.resize(out.len() + payload, 0);
    Ok(())
}

/// Appends the headers of a packet to `out`: as [`build`], without the payload that they announce.
///
/// # Errors
/// As of [`build`].
pub fn build_headers(headers: &Headers<'_>, out: &mut Vec<u8>) -> Result<(), WireError> {
    let (protocol, above) = match &headers.transport {
        Transport::Udp => (Protocol::UDP.0, UDP_HEADER),
        Transport::Tcp(tcp) if tcp.options_len() > MOST_OPTIONS => return Err(WireError::Length),
        Transport::Tcp(tcp) => (Protocol::TCP.0, TCP_HEADER + tcp.options_len()),
    };
    let payload = usize::try_from(headers.payload).map_err(|_| WireError::Length)?;
    let segment = above.checked_add(payload).ok_or(WireError::Length)?;
    let total = segment.checked_add(IP_HEADER).ok_or(WireError::Length)?;
    let total = u16::try_from(total).map_err(|_| WireError::Length)?;
    let segment = total - 20;
    let start = out.len();
    // no identification, for nothing is in parts: "don't fragment" is set (RFC 6864 section 4.1); a time to live of 64
    out.extend([0x45, traffic_class(headers.dscp, headers.ecn)]);
    out.extend(total.to_be_bytes());
    out.extend([0, 0, 0x40, 0, 64, protocol, 0, 0]);
    out.extend(headers.source.octets());
    out.extend(headers.destination.octets());
    let check = !folded(sum(&out[start..]));
    put(out, start + 10, check);
    let above = out.len();
    out.extend(headers.source_port.to_be_bytes());
    out.extend(headers.destination_port.to_be_bytes());
    let check_at = match &headers.transport {
        Transport::Udp => {
            out.extend(segment.to_be_bytes());
            6
        }
        Transport::Tcp(tcp) => {
            out.extend(tcp.seq.to_be_bytes());
            out.extend(tcp.ack.to_be_bytes());
            out.extend([low_byte((TCP_HEADER + tcp.options_len()) / 4) << 4, tcp.flags]);
            out.extend(tcp.window.to_be_bytes());
            16
        }
    };
    out.extend([0, 0]);
    if let Transport::Tcp(tcp) = &headers.transport {
        out.extend([0, 0]);
        tcp.write_options(out);
    }
    let pseudo = sum(&out[start + 12..above]) + u64::from(protocol) + u64::from(segment);
    let check = !folded(pseudo + sum(&out[above..]));
    // of UDP zero means none (RFC 768)
    let check = if check == 0 && protocol == Protocol::UDP.0 { 0xffff } else { check };
    put(out, above + check_at, check);
    Ok(())
}

fn put(out: &mut [u8], at: usize, word: u16) {
    out[at..at + 2].copy_from_slice(&word.to_be_bytes());
}

/// Of lengths that have been found to fit.
fn low_byte(len: usize) -> u8 {
    u8::try_from(len).unwrap_or(u8::MAX)
}
