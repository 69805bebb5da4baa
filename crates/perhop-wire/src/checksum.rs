//! The Internet checksum.

use perhop_core::classify::Protocol;

use crate::u16_at;
use crate::view::ip;

/// Which checksums of a packet are right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Checksums {
    /// Of the IPv4 header; `None` where there is none.
    pub ip: Option<bool>,
    /// Of TCP or UDP; `None` where there is none.
    pub transport: Option<bool>,
}

impl Checksums {
    /// Whether none is wrong.
    #[must_use]
    pub fn good(&self) -> bool {
        self.ip != Some(false) && self.transport != Some(false)
    }
}

/// Sums up a packet. Bytes that are no packet have no checksums.
#[must_use]
pub fn checksums(bytes: &[u8]) -> Checksums {
    let mut sums = Checksums { ip: None, transport: None };
    let Ok(ip) = ip(bytes) else { return sums };
    let version4 = bytes[0] >> 4 == 4;
    if version4 {
        sums.ip = Some(folded(sum(&bytes[..ip.header])) == 0xffff);
    }
    let above = &bytes[ip.header..ip.total];
    let field = match Protocol(ip.protocol) {
        Protocol::TCP => u16_at(above, 16),
        // zero is none (RFC 768)
        Protocol::UDP => u16_at(above, 6).filter(|&field| field != 0),
        _ => None,
    };
    if field.is_some() {
        let addresses = if version4 { &bytes[12..20] } else { &bytes[8..40] };
        let pseudo = sum(addresses) + u64::from(ip.protocol) + above.len() as u64;
        sums.transport = Some(folded(pseudo + sum(above)) == 0xffff);
    }
    sums
}

/// The sum of the 16-bit words of `bytes`, an odd one at the end filled with zero (RFC 1071).
pub(crate) fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks_exact(2);
    let last = words.remainder().first().map_or(0, |&byte| u64::from(byte) << 8);
    words.map(|word| u64::from(u16::from_be_bytes([word[0], word[1]]))).sum::<u64>() + last
}

/// The sum as 16 bits, carries added at the end.
pub(crate) fn folded(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    #[expect(clippy::cast_possible_truncation, reason = "below 2^16 now")]
    let folded = sum as u16;
    folded
}

/// The checksum field after a word that it covers has changed from `old` to `new`.
// RFC 1624 section 3, equation 3
pub(crate) fn updated(field: u16, old: u16, new: u16) -> u16 {
    !folded(u64::from(!field) + u64::from(!old) + u64::from(new))
}
