//! The acknowledgment of a segment, for an ACK filter.

use perhop_core::classify::Protocol;
use perhop_core::packet::Acknowledgment;

use crate::u32_at;
use crate::view::{flag, ip};

const PUSH: u8 = 0x08;
const ACK: u8 = 0x10;
const URGENT: u8 = 0x20;

/// Kinds of TCP options.
mod kind {
    pub const END: u8 = 0;
    pub const NOTHING: u8 = 1;
    pub const SACK: u8 = 5;
    pub const TIMESTAMPS: u8 = 8;
    pub const SIGNATURE: u8 = 19;
}

/// The acknowledgment of a packet; `None` where it is no TCP, has no ACK or is a SYN.
#[must_use]
pub fn acknowledgment(bytes: &[u8]) -> Option<Acknowledgment> {
    let ip = ip(bytes).ok()?;
    if ip.protocol != Protocol::TCP.0 {
        return None;
    }
    let segment = bytes.get(ip.header..ip.total)?;
    let (offset, flags) = (*segment.get(12)?, *segment.get(13)?);
    if flags & (ACK | flag::SYN) != ACK {
        return None;
    }
    let header = usize::from(offset >> 4) * 4;
    let others = flag::FIN | flag::RST | PUSH | URGENT;
    let alone = segment.len() == header && flags & others == 0 && offset & 0x0f == 0;
    let mut ack = Acknowledgment::new(u32_at(segment, 8)?, alone);
    let mut rest = segment.get(20..header)?;
    while let Some((option, content, behind)) = first_option(rest) {
        match option {
            kind::TIMESTAMPS => match (u32_at(content, 0), u32_at(content, 4), content.len()) {
                (Some(value), Some(echo), 8) => ack.timestamps = Some((value, echo)),
                _ => ack.alone = false,
            },
            kind::SACK => {
                ack.alone &= content.len() % 8 == 0;
                for block in content.chunks_exact(8) {
                    ack.add_sack(u32_at(block, 0)?, u32_at(block, 4)?);
                }
            }
            kind::SIGNATURE => {}
            _ => ack.alone = false,
        }
        rest = behind;
    }
    Some(ack)
}

/// The first option that is not padding: its kind, its content, and what lies behind it. `None` at the end of all, or where
/// an option says a length that cannot be.
fn first_option(mut options: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    loop {
        match *options.first()? {
            kind::END => return None,
            kind::NOTHING => options = &options[1..],
            option => {
                let len = usize::from(*options.get(1)?);
                return Some((option, options.get(2..len)?, options.get(len..)?));
            }
        }
    }
}
