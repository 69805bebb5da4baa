//! Captures as bytes.

use arbitrary::Arbitrary;
use perhop_wire::capture::{ip_packet, read};
use perhop_wire::pcapng;

/// Input of [`capture`]: a capture of three packets with damage in it.
#[derive(Clone, PartialEq, Eq, Debug, Arbitrary)]
pub struct CaptureBytes {
    /// Which: 0 pcapng, 1 and 2 the older format in either order, else nothing at all; modulo 4.
    pub kind: u8,
    /// The length that is left of it, modulo one more than it has.
    pub left: u16,
    /// Bytes that are another: where, modulo its length, and what.
    pub damage: Vec<(u16, u8)>,
    /// Bytes that follow.
    pub more: Vec<u8>,
}

impl CaptureBytes {
    /// The bytes that [`capture`] is about.
    #[must_use]
    pub fn file(&self) -> Vec<u8> {
        let packet = [0x45, 0, 0, 40, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2, 0, 1, 0, 2];
        let mut file = Vec::new();
        let is_big = self.kind % 4 == 2;
        let word = |n: u32| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
        match self.kind % 4 {
            0 => {
                pcapng::section("fuzz", &mut file);
                pcapng::interface("a->b", "", &mut file);
                for time in 0..3 {
                    let packet =
                        pcapng::Packet { interface: 0, time, bytes: &packet, original: 40, comment: "" };
                    pcapng::packet(&packet, &mut file);
                }
            }
            1 | 2 => {
                file.extend([0xa1b2_c3d4, 0x0002_0004, 0, 0, 65535, 101].map(word).concat());
                for time in 0..3 {
                    file.extend([0, time, 24, 40].map(word).concat());
                    file.extend(packet);
                }
            }
            _ => {}
        }
        if !file.is_empty() {
            for &(at, byte) in &self.damage {
                let at = usize::from(at) % file.len();
                file[at] = byte;
            }
            file.truncate(usize::from(self.left) % (file.len() + 1));
        }
        file.extend(&self.more);
        file
    }
}

/// Whatever a file holds, reading it ends, and no packet has more bytes than the file.
///
/// # Panics
/// When that is not so.
pub fn capture(input: &CaptureBytes) {
    let file = input.file();
    let mut bytes = 0;
    let done = read(&file, &mut |one| {
        bytes += one.bytes.len() + 1;
        let _ = ip_packet(&one);
    });
    assert!(bytes <= file.len(), "{bytes} bytes of packets in {}", file.len());
    if let Err(error) = done {
        assert!(error.at <= file.len() && !error.rule.is_empty());
    }
}
