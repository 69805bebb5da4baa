//! Captures read: pcapng and the pcap before it, in either byte order; and the IP packet in what a link carried.
//!
//! Sources: draft-ietf-opsawg-pcapng sections 3, 4.1 to 4.4 and appendix A, draft-ietf-opsawg-pcap section 4 (both magic numbers); link
//! types of the registry beside it; RFC 791 section 3.1, RFC 8200 sections 3 and 4. A capture may hold the beginning of each packet alone.
//! Nothing panics, whatever the bytes (tested with any), and all that is read is inside them.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::pcapng::{ENHANCED_PACKET, IF_TSRESOL, INTERFACE, SECTION};
use crate::u16_at;

/// A packet as it is in a capture.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Captured<'a> {
    /// When, in ns since the epoch of the capture.
    pub time: u64,
    /// How its bytes begin (LINKTYPE).
    pub link_type: u16,
    /// Its captured bytes.
    pub bytes: &'a [u8],
}

/// The place where a capture cannot be read, and why as the end of a sentence.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CaptureError {
    /// Byte of the file, from 0.
    pub at: usize,
    /// The reason.
    pub rule: String,
}

impl CaptureError {
    fn new(at: usize, rule: impl Into<String>) -> Self {
        Self { at, rule: rule.into() }
    }
}

/// Gives every packet of a capture to `take`, in the order of the file.
///
/// # Errors
/// The first byte from which the file cannot be read.
pub fn read<'a>(file: &'a [u8], take: &mut dyn FnMut(Captured<'a>)) -> Result<(), CaptureError> {
    let magic = file.get(..4).ok_or_else(|| CaptureError::new(0, "is too short for a capture"))?;
    match magic {
        [0x0a, 0x0d, 0x0d, 0x0a] => pcapng(file, take),
        [0xd4, 0xc3, 0xb2, 0xa1] => pcap(file, Order::Little, 1000, take),
        [0xa1, 0xb2, 0xc3, 0xd4] => pcap(file, Order::Big, 1000, take),
        [0x4d, 0x3c, 0xb2, 0xa1] => pcap(file, Order::Little, 1, take),
        [0xa1, 0xb2, 0x3c, 0x4d] => pcap(file, Order::Big, 1, take),
        [0x1f, 0x8b, ..] | [0x28, 0xb5, 0x2f, 0xfd] => {
            Err(CaptureError::new(0, "is compressed: unpack it first"))
        }
        _ => Err(CaptureError::new(0, "is neither pcapng nor pcap")),
    }
}

/// Order of the bytes of a number.
#[derive(Clone, Copy)]
enum Order {
    Little,
    Big,
}

impl Order {
    fn u16(self, bytes: &[u8], at: usize) -> Option<u16> {
        let two = bytes.get(at..at.checked_add(2)?)?.try_into().ok()?;
        Some(match self {
            Self::Little => u16::from_le_bytes(two),
            Self::Big => u16::from_be_bytes(two),
        })
    }

    fn u32(self, bytes: &[u8], at: usize) -> Option<u32> {
        let four = bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(match self {
            Self::Little => u32::from_le_bytes(four),
            Self::Big => u32::from_be_bytes(four),
        })
    }

    /// A length.
    fn len(self, bytes: &[u8], at: usize) -> Option<usize> {
        self.u32(bytes, at).and_then(|len| usize::try_from(len).ok())
    }
}

/// The older format: a header of 24 bytes, then 16 bytes before each packet. `tick` is the unit of fractions of a second, ns.
fn pcap<'a>(
    file: &'a [u8],
    order: Order,
    tick: u64,
    take: &mut dyn FnMut(Captured<'a>),
) -> Result<(), CaptureError> {
    let cut = |at: usize| CaptureError::new(at, "ends within a packet: it is cut off or damaged");
    // the upper bits say whether a frame check sequence follows
    let link_type = order.u32(file, 20).ok_or_else(|| cut(0))? & 0xffff;
    let mut at = 24;
    while at < file.len() {
        let word = |k: usize| order.u32(file, at + 4 * k).ok_or_else(|| cut(at));
        let (seconds, fraction) = (u64::from(word(0)?), u64::from(word(1)?));
        if fraction * tick >= 1_000_000_000 {
            return Err(CaptureError::new(at, "has a packet with a time that is none: it is damaged"));
        }
        let start = at + 16;
        let end = order.len(file, at + 8).and_then(|len| start.checked_add(len)).ok_or_else(|| cut(at))?;
        let bytes = file.get(start..end).ok_or_else(|| cut(at))?;
        let time = seconds * 1_000_000_000 + fraction * tick;
        take(Captured { time, link_type: u16::try_from(link_type).unwrap_or(u16::MAX), bytes });
        at = end;
    }
    Ok(())
}

/// An interface of a section.
#[derive(Clone, Copy)]
struct Interface {
    link_type: u16,
    /// Ticks of a second.
    ticks: u128,
    /// Added to times, s.
    offset: i64,
}

const OBSOLETE_PACKET: u32 = 2;
const SIMPLE_PACKET: u32 = 3;
const IF_TSOFFSET: u16 = 14;

fn pcapng<'a>(file: &'a [u8], take: &mut dyn FnMut(Captured<'a>)) -> Result<(), CaptureError> {
    let mut order = Order::Little;
    let mut interfaces: Vec<Interface> = Vec::new();
    let mut at = 0;
    while at < file.len() {
        let wrong = |rule: &str| CaptureError::new(at, rule);
        let cut = || wrong("ends within a block: it is cut off or damaged");
        // the type of a section's block is the same in either order
        if file[at..].starts_with(&SECTION.to_be_bytes()) {
            order = match file.get(at + 8..at + 12) {
                Some([0x4d, 0x3c, 0x2b, 0x1a]) => Order::Little,
                Some([0x1a, 0x2b, 0x3c, 0x4d]) => Order::Big,
                Some(_) => return Err(wrong("has a section without its byte order: it is damaged")),
                None => return Err(cut()),
            };
            interfaces.clear();
        }
        let kind = order.u32(file, at).ok_or_else(cut)?;
        let total = order.len(file, at + 4).ok_or_else(cut)?;
        let end = at.checked_add(total).filter(|end| *end <= file.len()).ok_or_else(cut)?;
        if total < 12 || total % 4 != 0 || order.len(file, end - 4) != Some(total) {
            return Err(wrong("has a block whose two lengths are not one: it is damaged"));
        }
        let body = &file[at + 8..end - 4];
        match kind {
            INTERFACE => interfaces.push(interface(body, order).ok_or_else(cut)?),
            ENHANCED_PACKET | OBSOLETE_PACKET => {
                let number = if kind == ENHANCED_PACKET {
                    order.u32(body, 0)
                } else {
                    order.u16(body, 0).map(u32::from)
                };
                let number = number.ok_or_else(cut)?;
                let on = usize::try_from(number).ok().and_then(|number| interfaces.get(number));
                let on =
                    on.ok_or_else(|| wrong("has a packet of an interface that it has not: it is damaged"))?;
                let (high, low) = order.u32(body, 4).zip(order.u32(body, 8)).ok_or_else(cut)?;
                let time = time(on, u64::from(high) << 32 | u64::from(low));
                let time =
                    time.ok_or_else(|| wrong("has a packet with a time that is none: it is damaged"))?;
                let captured =
                    order.len(body, 12).and_then(|len| 20_usize.checked_add(len)).ok_or_else(cut)?;
                let bytes = body.get(20..captured).ok_or_else(cut)?;
                take(Captured { time, link_type: on.link_type, bytes });
            }
            SIMPLE_PACKET => return Err(wrong("has packets without times (simple packet blocks)")),
            _ => {}
        }
        at = end;
    }
    Ok(())
}

/// The interface that a block describes.
fn interface(body: &[u8], order: Order) -> Option<Interface> {
    let mut found = Interface { link_type: order.u16(body, 0)?, ticks: 1_000_000, offset: 0 };
    let mut at = 8;
    while let (Some(code), Some(len)) = (order.u16(body, at), order.u16(body, at + 2)) {
        let value = body.get(at + 4..at + 4 + usize::from(len))?;
        match (code, value) {
            (0, _) => break,
            (IF_TSRESOL, [power]) => {
                let base: u128 = if power & 0x80 == 0 { 10 } else { 2 };
                found.ticks = base.checked_pow(u32::from(power & 0x7f))?;
            }
            (IF_TSOFFSET, _) if len == 8 => {
                let (first, second) = (order.u32(value, 0)?, order.u32(value, 4)?);
                let (high, low) = match order {
                    Order::Little => (second, first),
                    Order::Big => (first, second),
                };
                found.offset = i64::from_be_bytes((u64::from(high) << 32 | u64::from(low)).to_be_bytes());
            }
            _ => {}
        }
        at += 4 + usize::from(len).next_multiple_of(4);
    }
    Some(found)
}

/// A time in ns since the epoch.
fn time(on: &Interface, ticks: u64) -> Option<u64> {
    let ns = u128::from(ticks) * 1_000_000_000 / on.ticks;
    let ns = i128::try_from(ns).ok()? + i128::from(on.offset) * 1_000_000_000;
    u64::try_from(ns).ok()
}

/// An IP packet, of what a capture of its beginning says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct IpPacket {
    /// Length of header and data by its length field; 0 where a device was to fill it in.
    pub len: u32,
    /// The protocol of its data (6 TCP, 17 UDP).
    pub protocol: u8,
    /// Source and destination.
    pub addresses: [IpAddr; 2],
    /// Ports of TCP and UDP, of the source and of the destination; none in a fragment but the first.
    pub ports: Option<[u16; 2]>,
}

/// The IP packet in what was captured; `None` where there is none, or not enough of it.
#[must_use]
pub fn ip_packet(captured: &Captured<'_>) -> Option<IpPacket> {
    let bytes = captured.bytes;
    let at = match captured.link_type {
        // raw IP by its several names, IPv4, IPv6
        12 | 14 | 101 | 228 | 229 => 0,
        // the loopback of BSD: a word with the family
        0 | 108 => 4,
        1 => ethernet(bytes)?,
        113 => after(bytes, 14, 16)?,
        276 => after(bytes, 0, 20)?,
        _ => return None,
    };
    let packet = bytes.get(at..)?;
    match packet.first()? >> 4 {
        4 => v4(packet),
        6 => v6(packet),
        _ => None,
    }
}

/// `payload`, where the type at `at` says that it is IP.
fn after(bytes: &[u8], at: usize, payload: usize) -> Option<usize> {
    matches!(u16_at(bytes, at)?, 0x0800 | 0x86dd).then_some(payload)
}

/// Where the payload of a frame of Ethernet begins, behind tags of VLANs.
fn ethernet(bytes: &[u8]) -> Option<usize> {
    let mut at = 12;
    while matches!(u16_at(bytes, at)?, 0x8100 | 0x88a8 | 0x9100) {
        at += 4;
    }
    after(bytes, at, at + 2)
}

fn v4(packet: &[u8]) -> Option<IpPacket> {
    let header = usize::from(packet.first()? & 0xf) * 4;
    let address = |at: usize| {
        Some(IpAddr::from(<[u8; 4]>::try_from(packet.get(at..at + 4)?).map(Ipv4Addr::from).ok()?))
    };
    let protocol = *packet.get(9)?;
    let is_first = u16_at(packet, 6)? & 0x1fff == 0;
    Some(IpPacket {
        len: u16_at(packet, 2)?.into(),
        protocol,
        addresses: [address(12)?, address(16)?],
        ports: ports(packet, header, protocol).filter(|_| is_first),
    })
}

fn v6(packet: &[u8]) -> Option<IpPacket> {
    let address = |at: usize| {
        Some(IpAddr::from(<[u8; 16]>::try_from(packet.get(at..at + 16)?).map(Ipv6Addr::from).ok()?))
    };
    let payload = u16_at(packet, 4)?;
    let (mut protocol, mut at, mut is_first) = (*packet.get(6)?, 40, true);
    // hop-by-hop, routing, destination options, and the fragment header, which has 8 bytes
    while matches!(protocol, 0 | 43 | 60 | 44) {
        let Some(&[next, len]) = packet.get(at..at + 2) else { break };
        if protocol == 44 {
            is_first = u16_at(packet, at + 2)? & 0xfff8 == 0;
        }
        at += if protocol == 44 { 8 } else { 8 * (usize::from(len) + 1) };
        protocol = next;
    }
    Some(IpPacket {
        len: if payload == 0 { 0 } else { u32::from(payload) + 40 },
        protocol,
        addresses: [address(8)?, address(24)?],
        ports: ports(packet, at, protocol).filter(|_| is_first),
    })
}

fn ports(packet: &[u8], at: usize, protocol: u8) -> Option<[u16; 2]> {
    matches!(protocol, 6 | 17).then(|| Some([u16_at(packet, at)?, u16_at(packet, at + 2)?])).flatten()
}

#[cfg(test)]
mod tests;
