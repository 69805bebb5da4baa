use perhop_testkit::fuzz::{CaptureBytes, capture, replay};

use super::*;
use crate::pcapng;

/// IPv4, UDP from 10.0.0.1:5004 to 10.0.0.2:5005, of `len` bytes, its headers alone.
fn v4(len: u16) -> Vec<u8> {
    let [high, low] = len.to_be_bytes();
    let mut packet = vec![0x45, 0, high, low, 0, 0, 0, 0, 64, 17, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
    packet.extend([0x13, 0x8c, 0x13, 0x8d, 0, 0, 0, 0]);
    packet
}

fn all(file: &[u8]) -> Vec<(u64, u16, Vec<u8>)> {
    let mut found = Vec::new();
    read(file, &mut |one| found.push((one.time, one.link_type, one.bytes.to_vec()))).expect("a capture");
    found
}

fn refused(file: &[u8]) -> String {
    let error = read(file, &mut |_| ()).expect_err("damage");
    format!("{}: {}", error.at, error.rule)
}

/// A classic capture of raw IP: seconds, fractions, packets.
fn classic(is_big: bool, magic: u32, packets: &[(u32, u32, Vec<u8>)]) -> Vec<u8> {
    let word = |n: u32| if is_big { n.to_be_bytes() } else { n.to_le_bytes() };
    let mut file = Vec::new();
    // version 2.4
    let version = if is_big { [0, 2, 0, 4] } else { [2, 0, 4, 0] };
    for part in [word(magic), version, word(0), word(0), word(65535), word(101)] {
        file.extend(part);
    }
    for (seconds, fraction, bytes) in packets {
        let len = u32::try_from(bytes.len()).expect("short");
        for n in [*seconds, *fraction, len, 1000] {
            file.extend(word(n));
        }
        file.extend(bytes);
    }
    file
}

#[test]
fn classic_captures_of_both_orders_and_units() {
    for is_big in [false, true] {
        let packets = [(7, 999_999, v4(200)), (8, 0, v4(60))];
        let of_us = all(&classic(is_big, 0xa1b2_c3d4, &packets));
        assert_eq!(of_us, [(7_999_999_000, 101, v4(200)), (8_000_000_000, 101, v4(60))]);
        let of_ns = all(&classic(is_big, 0xa1b2_3c4d, &packets));
        assert_eq!(of_ns[0].0, 7_000_999_999);
    }
    assert_eq!(all(&classic(false, 0xa1b2_c3d4, &[])), []);
}

#[test]
fn what_perhop_writes_is_read() {
    let mut file = Vec::new();
    pcapng::section("test", &mut file);
    pcapng::interface("a->b", "1 Mbit/s", &mut file);
    for (time, bytes, comment) in [(5, v4(40), ""), (u64::MAX, v4(1500), "dropped")] {
        let packet = pcapng::Packet { interface: 0, time, bytes: &bytes, original: 1500, comment };
        pcapng::packet(&packet, &mut file);
    }
    assert_eq!(all(&file), [(5, 101, v4(40)), (u64::MAX, 101, v4(1500))]);
}

/// A block in big endian.
fn block(kind: u32, body: &[u8]) -> Vec<u8> {
    let total = u32::try_from(body.len() + 12).expect("short").to_be_bytes();
    [&kind.to_be_bytes()[..], &total, body, &total].concat()
}

const SECTION_BODY: &[u8] = &[0x1a, 0x2b, 0x3c, 0x4d, 0, 1, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255];

#[test]
fn sections_of_the_other_order_have_interfaces_and_units_of_their_own() {
    // Ethernet; 2^-10 s, an hour later
    let ethernet = [
        0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 0, 1, 0x8a, 0, 0, 0, 0, 14, 0, 8, 0, 0, 0, 0, 0, 0, 0x0e, 0x10, 0, 0,
        0, 0,
    ];
    // raw IP, microseconds
    let raw = [0, 101, 0, 0, 0, 0, 0, 0];
    let enhanced = |interface: u8, ticks: u8| {
        block(
            6,
            &[[0, 0, 0, interface, 0, 0, 0, 0, 0, 0, 0, ticks, 0, 0, 0, 4, 0, 0, 0, 4].as_slice(), b"abcd"]
                .concat(),
        )
    };
    // an older packet block: its interface has two bytes, and what was lost two more
    let obsolete = block(
        2,
        &[[0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 3, 0, 0, 0, 3].as_slice(), b"xyz\0"].concat(),
    );
    let unknown = block(0x0bad, &[1, 2, 3, 4]);
    let file = [
        block(0x0a0d_0d0a, SECTION_BODY),
        block(1, &ethernet),
        block(1, &raw),
        unknown,
        enhanced(0, 1),
        obsolete,
        enhanced(1, 255),
    ];
    let expected = [
        (3_600_000_976_562, 1, b"abcd".to_vec()),
        (3_000, 101, b"xyz".to_vec()),
        (255_000, 101, b"abcd".to_vec()),
    ];
    assert_eq!(all(&file.concat()), expected);
    let again = [file.concat(), block(0x0a0d_0d0a, SECTION_BODY), enhanced(0, 1)].concat();
    assert!(refused(&again).contains("of an interface that it has not"), "{}", refused(&again));
}

#[test]
fn damage_is_told_with_its_byte() {
    let packets = [(7, 999_999, v4(200))];
    let file = classic(false, 0xa1b2_c3d4, &packets);
    assert_eq!(refused(b"abc"), "0: is too short for a capture");
    assert_eq!(refused(b"time,len\n"), "0: is neither pcapng nor pcap");
    assert_eq!(refused(&[0x1f, 0x8b, 8, 0]), "0: is compressed: unpack it first");
    assert_eq!(refused(&file[..10]), "0: ends within a packet: it is cut off or damaged");
    assert_eq!(refused(&file[..file.len() - 1]), "24: ends within a packet: it is cut off or damaged");
    let wrong = classic(false, 0xa1b2_c3d4, &[(7, 1_000_000, v4(200))]);
    assert_eq!(refused(&wrong), "24: has a packet with a time that is none: it is damaged");
    let section = block(0x0a0d_0d0a, SECTION_BODY);
    assert_eq!(refused(&section[..20]), "0: ends within a block: it is cut off or damaged");
    let mut unequal = section.clone();
    unequal[27] = 32;
    assert_eq!(refused(&unequal), "0: has a block whose two lengths are not one: it is damaged");
    let mut orderless = section.clone();
    orderless[8] = 9;
    assert_eq!(refused(&orderless), "0: has a section without its byte order: it is damaged");
    let simple = [section, block(3, &[0, 0, 0, 4, 1, 2, 3, 4])].concat();
    assert_eq!(refused(&simple), "28: has packets without times (simple packet blocks)");
}

fn packet(link_type: u16, bytes: &[u8]) -> Option<IpPacket> {
    ip_packet(&Captured { time: 0, link_type, bytes })
}

#[test]
fn the_ip_packet_is_found_behind_every_kind_of_link() {
    let expected = packet(101, &v4(200)).expect("IPv4");
    assert_eq!((expected.len, expected.protocol, expected.ports), (200, 17, Some([5004, 5005])));
    assert_eq!(expected.addresses.map(|one| one.to_string()), ["10.0.0.1", "10.0.0.2"]);
    let behind = |head: &[u8]| [head, &v4(200)].concat();
    let (mut ethernet, mut sll, mut sll2) = (vec![0; 12], vec![0; 14], vec![0x08, 0]);
    ethernet.extend([0x08, 0]);
    sll.extend([0x08, 0]);
    sll2.resize(20, 0);
    let tagged = [&[0; 12][..], &[0x88, 0xa8, 0, 7, 0x81, 0, 0, 9, 0x08, 0]].concat();
    for (link_type, head) in [(1, &ethernet), (1, &tagged), (113, &sll), (276, &sll2), (0, &vec![2, 0, 0, 0])]
    {
        assert_eq!(packet(link_type, &behind(head)), Some(expected), "{link_type}");
    }
    // an ARP request, a link that is not known, and the beginning of a packet
    ethernet[13] = 6;
    assert_eq!(packet(1, &behind(&ethernet)), None);
    assert_eq!(packet(147, &v4(200)), None);
    assert_eq!(packet(101, &v4(200)[..19]), None);
    assert_eq!(packet(101, &v4(200)[..20]).map(|one| one.ports), Some(None));
}

#[test]
fn ports_are_in_first_fragments_and_behind_extension_headers() {
    let mut fragment = v4(200);
    fragment[7] = 1;
    assert_eq!(packet(101, &fragment).map(|one| one.ports), Some(None));
    let mut six = vec![0x60, 0, 0, 0, 0, 160, 0, 64];
    six.extend([0xfd; 32]);
    // hop-by-hop of 8 bytes, then a fragment header
    six.extend([44, 0, 0, 0, 0, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0, 0, 0x13, 0x8c, 0x13, 0x8d]);
    let found = packet(229, &six).expect("IPv6");
    assert_eq!((found.len, found.protocol, found.ports), (200, 17, Some([5004, 5005])));
    six[51] = 8;
    assert_eq!(packet(229, &six).map(|one| one.ports), Some(None));
    six[5] = 0;
    assert_eq!(packet(229, &six).map(|one| one.len), Some(0));
}

#[test]
fn nothing_that_is_no_capture_does_harm() {
    replay::<CaptureBytes>(20_000, capture);
}
