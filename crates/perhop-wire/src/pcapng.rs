//! Captures in the format pcapng: packets that begin with their IP header, times in nanoseconds.
//!
//! Blocks are appended to a buffer; who has it writes it where it belongs.
//!
//! Source: draft-ietf-opsawg-pcapng (PCAP Now Generic), sections 3.5, 4.1, 4.2 and 4.3; little endian. Not used: name resolution,
//! statistics and other blocks.

/// Packets of the interface begin with an IPv4 or IPv6 header (LINKTYPE_RAW).
const LINKTYPE_RAW: u16 = 101;
pub(crate) const SECTION: u32 = 0x0a0d_0d0a;
pub(crate) const INTERFACE: u32 = 1;
pub(crate) const ENHANCED_PACKET: u32 = 6;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_DESCRIPTION: u16 = 3;
pub(crate) const IF_TSRESOL: u16 = 9;

/// Begins a file: the section header of the program `application`.
pub fn section(application: &str, out: &mut Vec<u8>) {
    block(SECTION, out, |out| {
        out.extend(0x1a2b_3c4d_u32.to_le_bytes());
        // version 1.0, of a length that is not told
        out.extend([1, 0, 0, 0]);
        out.extend([0xff; 8]);
        option(SHB_USERAPPL, application.as_bytes(), out);
        end_of_options(out);
    });
}

/// Adds an interface; the first has number 0.
pub fn interface(name: &str, description: &str, out: &mut Vec<u8>) {
    block(INTERFACE, out, |out| {
        out.extend(LINKTYPE_RAW.to_le_bytes());
        // reserved; no limit of a packet's captured length
        out.extend([0; 6]);
        option(IF_NAME, name.as_bytes(), out);
        option(IF_DESCRIPTION, description.as_bytes(), out);
        option(IF_TSRESOL, &[9], out);
        end_of_options(out);
    });
}

/// A packet as it is written.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Packet<'a> {
    /// Number of its interface.
    pub interface: u32,
    /// When, in ns since the epoch of the capture.
    pub time: u64,
    /// Its captured bytes.
    pub bytes: &'a [u8],
    /// Bytes that it had; less than `bytes` has is written as what `bytes` has, as the format demands.
    pub original: u32,
    /// For people; empty for none.
    pub comment: &'a str,
}

/// Adds a packet.
pub fn packet(packet: &Packet<'_>, out: &mut Vec<u8>) {
    let captured = len(packet.bytes.len());
    block(ENHANCED_PACKET, out, |out| {
        let [low, high] = [packet.time & 0xffff_ffff, packet.time >> 32];
        let words =
            [u64::from(packet.interface), high, low, captured.into(), packet.original.max(captured).into()];
        for word in words {
            out.extend(&word.to_le_bytes()[..4]);
        }
        padded(packet.bytes, out);
        if !packet.comment.is_empty() {
            option(OPT_COMMENT, packet.comment.as_bytes(), out);
            end_of_options(out);
        }
    });
}

/// A block with its length before and after.
fn block(kind: u32, out: &mut Vec<u8>, body: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend(kind.to_le_bytes());
    out.extend([0; 4]);
    body(out);
    let total = len(out.len() - start + 4).to_le_bytes();
    out[start + 4..start + 8].copy_from_slice(&total);
    out.extend(total);
}

/// An option; of a value that has no place in it as much as has.
fn option(code: u16, value: &[u8], out: &mut Vec<u8>) {
    let size = u16::try_from(value.len()).unwrap_or(u16::MAX);
    out.extend(code.to_le_bytes());
    out.extend(size.to_le_bytes());
    padded(&value[..size.into()], out);
}

fn end_of_options(out: &mut Vec<u8>) {
    out.extend([0; 4]);
}

fn padded(bytes: &[u8], out: &mut Vec<u8>) {
    out.extend(bytes);
    out.resize(out.len() + bytes.len().wrapping_neg() % 4, 0);
}

/// Lengths within a capture are below 4 GB.
fn len(bytes: usize) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}
