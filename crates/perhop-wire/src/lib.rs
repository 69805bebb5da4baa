//! Bytes of IPv4, IPv6, TCP and UDP: what elements need of a packet, and the few fields that perhop writes.
//!
//! Views of our own: what is read is a dozen fields, and it is read of every packet of a live run. Nothing here allocates, and
//! nothing panics, whatever the bytes (tested with any).
//!
//! Source: RFC 791 section 3.1, RFC 8200 section 3, RFC 9293 section 3.1, RFC 768, RFC 2018 section 3, RFC 7323 section 2;
//! checksums RFC 1071 and, as one field changes, RFC 1624 equation 3. Different: IPv6 extension headers are not followed, and a
//! fragment is refused, for it has no ports.
//! Cost: parsing is some 20 loads; a checksum is one pass over the packet.

mod acknowledgment;
pub mod addresses;
mod build;
pub mod capture;
mod checksum;
mod fields;
pub mod pcapng;
mod view;

pub use acknowledgment::acknowledgment;
pub use build::{Headers, Tcp, Transport, build, build_headers};
pub use checksum::{Checksums, checksums};
pub use fields::{rewrite_ds, set_window, window_scale};
pub use view::{TcpHeader, View, WireError, parse};

/// The two bytes at `at`, if they are there.
fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_be_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// The four bytes at `at`, if they are there.
fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_be_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}
