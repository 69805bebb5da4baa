//! The fields that perhop writes into packets, with the checksums that cover them.

use perhop_core::packet::{Dscp, Ecn};

use crate::checksum::updated;
use crate::u16_at;
use crate::view::{View, WireError, ip, option};

/// Writes DS and ECN field; returns whether they were others before. An IPv4 header's checksum stays right if it was.
///
/// # Errors
/// Where the bytes are no IP packet; nothing is written.
pub fn rewrite_ds(bytes: &mut [u8], dscp: Dscp, ecn: Ecn) -> Result<bool, WireError> {
    let old = ip(bytes)?.traffic_class;
    let new = traffic_class(dscp, ecn);
    if old == new {
        return Ok(false);
    }
    if bytes[0] >> 4 == 4 {
        let first = bytes[0];
        bytes[1] = new;
        let word = |class: u8| u16::from_be_bytes([first, class]);
        update(bytes, 10, word(old), word(new));
    } else {
        bytes[0] = bytes[0] & 0xf0 | new >> 4;
        bytes[1] = bytes[1] & 0x0f | new << 4;
    }
    Ok(true)
}

/// DS and ECN field together (RFC 3168 section 5).
pub(crate) const fn traffic_class(dscp: Dscp, ecn: Ecn) -> u8 {
    dscp.value() << 2
        | match ecn {
            Ecn::NotEct => 0,
            Ecn::Ect1 => 1,
            Ecn::Ect0 => 2,
            Ecn::Ce => 3,
        }
}

/// The shift that a SYN offers (RFC 7323 section 2.2), if it has the option.
#[must_use]
pub fn window_scale(bytes: &[u8]) -> Option<u8> {
    let ip = ip(bytes).ok()?;
    let above = bytes.get(ip.header..ip.total)?;
    let header = usize::from(above.get(12)? >> 4) * 4;
    option(above.get(20..header)?, 3)?.first().copied()
}

/// Writes the window field of the TCP packet whose `view` this is; its checksum stays right if it was.
pub fn set_window(bytes: &mut [u8], view: &View, window: u16) {
    let at = usize::try_from(view.ip_header_len).unwrap_or(usize::MAX);
    if view.tcp.is_none() {
        return;
    }
    if let Some(old) = at.checked_add(14).and_then(|field| u16_at(bytes, field))
        && let Some(field) = bytes.get_mut(at + 14..at + 16)
    {
        field.copy_from_slice(&window.to_be_bytes());
        update(bytes, at + 16, old, window);
    }
}

/// Mends the checksum at `at` for a word that has changed.
fn update(bytes: &mut [u8], at: usize, old: u16, new: u16) {
    if let Some(field) = u16_at(bytes, at)
        && let Some(place) = bytes.get_mut(at..at + 2)
    {
        place.copy_from_slice(&updated(field, old, new).to_be_bytes());
    }
}
