//! Packets as bytes.

use arbitrary::{Arbitrary, Unstructured};
use perhop_core::packet::{Dscp, Ecn};
use perhop_wire::{checksums, parse, rewrite_ds, set_window, window_scale};

/// Input of [`wire`]: bytes that may be made to look like a packet, for few of those by chance do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PacketBytes {
    /// Which fields are made right: bit 0 the IP version and its header, bit 1 the IP length, bit 2 no fragment, bit 3 TCP,
    /// bit 4 a length of 120 bytes at most, bit 5 IPv6 for IPv4, bit 6 UDP and its length where it is
    /// not TCP, bit 7 the checksums of what can be read.
    pub right: u8,
    /// The new DS and ECN fields.
    pub traffic_class: u8,
    /// The new window.
    pub window: u16,
    /// The packet.
    pub bytes: Vec<u8>,
}

/// The packet is all that is left: a derived list tosses a coin before each element, and of random bytes has one on average.
impl<'a> Arbitrary<'a> for PacketBytes {
    fn arbitrary(u: &mut Unstructured<'a>) -> arbitrary::Result<Self> {
        let (right, traffic_class, window) = u.arbitrary()?;
        let bytes = u.bytes(u.len())?.to_vec();
        Ok(Self { right, traffic_class, window, bytes })
    }
}

impl PacketBytes {
    /// The bytes that [`wire`] is about.
    #[must_use]
    pub fn packet(&self) -> Vec<u8> {
        let has = |bit: u8| self.right >> bit & 1 == 1;
        let mut bytes = self.bytes.clone();
        if has(4) {
            bytes.truncate(usize::from(self.window) % 121);
        }
        let len = u16::try_from(bytes.len()).unwrap_or(u16::MAX);
        let (first, length, protocol, header) = if has(5) { (0x60, 4, 6, 40) } else { (0x45, 2, 9, 20) };
        let above = len.saturating_sub(header).to_be_bytes();
        let mut set = |right: bool, at: usize, value: &[u8]| {
            if right && let Some(place) = bytes.get_mut(at..at + value.len()) {
                place.copy_from_slice(value);
            }
        };
        set(has(0), 0, &[first]);
        set(has(1), length, &if has(5) { above } else { len.to_be_bytes() });
        set(has(2) && !has(5), 6, &[0x40, 0]);
        set(has(6), protocol, &[17]);
        set(has(6) && !has(3), usize::from(header) + 4, &above);
        set(has(3), protocol, &[6]);
        if has(7) {
            right_checksums(&mut bytes);
        }
        bytes
    }
}

/// Puts right checksums into a packet that can be read.
fn right_checksums(bytes: &mut [u8]) {
    let Ok(view) = parse(bytes) else { return };
    let (ip, total) = (view.ip_header_len as usize, view.total_len as usize);
    let v4 = bytes[0] >> 4 == 4;
    if v4 {
        bytes[10..12].fill(0);
        let sum = internet_checksum(&[&bytes[..ip]]);
        bytes[10..12].copy_from_slice(&sum.to_be_bytes());
    }
    let at = ip
        + match view.protocol {
            6 => 16,
            17 => 6,
            _ => return,
        };
    bytes[at..at + 2].fill(0);
    let [high, low] = u16::try_from(total - ip).unwrap_or_default().to_be_bytes();
    let addresses = if v4 { &bytes[12..20] } else { &bytes[8..40] };
    let sum = internet_checksum(&[addresses, &[0, view.protocol, high, low], &bytes[ip..total]]);
    // of UDP zero means none (RFC 768), and the other zero is as right
    let sum = if sum == 0 { 0xffff } else { sum };
    bytes[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}

/// RFC 1071, as written there: words added, carries folded.
fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0;
    for pair in parts.iter().flat_map(|part| part.chunks(2)) {
        sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap_or_default()
}

/// Whatever bytes come: nothing panics, what is refused stays as it is, and what is written is read again, with the checksums
/// as right as before.
///
/// # Panics
/// When that is not so.
pub fn wire(input: &PacketBytes) {
    let mut bytes = input.packet();
    let (given, sums, before) = (bytes.clone(), checksums(&bytes), parse(&bytes));
    let _ = window_scale(&bytes);
    let dscp = Dscp::new(input.traffic_class >> 2).unwrap_or_default();
    let ecn = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce][usize::from(input.traffic_class & 3)];
    match rewrite_ds(&mut bytes, dscp, ecn) {
        Err(_) => {
            assert!(before.is_err(), "a packet that can be read can be marked");
            assert_eq!(bytes, given, "what is refused stays as it is");
        }
        Ok(changed) => assert_eq!(changed, bytes != given, "a change is told"),
    }
    let Ok(mut view) = before else { return };
    (view.dscp, view.ecn) = (dscp, ecn);
    assert_eq!(parse(&bytes), Ok(view), "nothing but the mark is another");
    set_window(&mut bytes, &view, input.window);
    if let Some(tcp) = &mut view.tcp {
        tcp.window = input.window;
    }
    assert_eq!(parse(&bytes), Ok(view), "nothing but the window is another");
    assert_eq!(checksums(&bytes), sums, "a checksum stays as right as it was");
}
