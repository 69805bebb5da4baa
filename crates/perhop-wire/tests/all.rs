//! Laws of reading and writing packets, on packets that are right and on bytes that are anything.

mod ack_filter;

use perhop_core::classify::{Address, Protocol};
use perhop_core::packet::{Dscp, Ecn, Kind};
use perhop_testkit::fuzz;
use perhop_wire::{Headers, Tcp, Transport, build, build_headers, pcapng};
use perhop_wire::{WireError, checksums, parse, rewrite_ds, set_window, window_scale};
use proptest::prelude::*;
use std::cell::Cell;
use std::net::Ipv4Addr;

const ECNS: [Ecn; 4] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce];

/// RFC 1071, as written there: words added, carries folded.
fn internet_checksum(parts: &[&[u8]]) -> u16 {
    let mut sum = 0u32;
    for part in parts {
        for pair in part.chunks(2) {
            sum += u32::from(pair[0]) << 8 | pair.get(1).copied().map_or(0, u32::from);
            sum = (sum & 0xffff) + (sum >> 16);
        }
    }
    !u16::try_from((sum & 0xffff) + (sum >> 16)).unwrap()
}

/// An IPv4 packet with TCP, its options in `options`, whose length is a multiple of four.
fn tcp_packet(
    tos: u8,
    seq: u32,
    ack: u32,
    flags: u8,
    window: u16,
    options: &[u8],
    payload: &[u8],
) -> Vec<u8> {
    let header = 20 + options.len();
    let total = u16::try_from(20 + header + payload.len()).unwrap();
    let mut ip = vec![0x45, tos, 0, 0, 0x12, 0x34, 0x40, 0, 64, 6, 0, 0, 10, 64, 0, 1, 10, 64, 0, 2];
    ip[2..4].copy_from_slice(&total.to_be_bytes());
    let sum = internet_checksum(&[&ip]);
    ip[10..12].copy_from_slice(&sum.to_be_bytes());
    let mut tcp = vec![0x27, 0x10, 0x13, 0x89];
    tcp.extend(seq.to_be_bytes());
    tcp.extend(ack.to_be_bytes());
    tcp.extend([u8::try_from(header / 4).unwrap() << 4, flags]);
    tcp.extend(window.to_be_bytes());
    tcp.extend([0; 4]);
    tcp.extend(options);
    tcp.extend(payload);
    let length = u16::try_from(tcp.len()).unwrap().to_be_bytes();
    let sum = internet_checksum(&[&ip[12..20], &[0, 6], &length, &tcp]);
    tcp[16..18].copy_from_slice(&sum.to_be_bytes());
    ip.extend(tcp);
    ip
}

#[test]
fn a_segment_is_read_as_it_was_written() {
    let packet = tcp_packet(0x2a, 1000, 77, 0x18, 500, &[], &[7; 512]);
    let view = parse(&packet).unwrap();
    assert_eq!((view.source, view.destination), (Address(0x0a40_0001), Address(0x0a40_0002)));
    assert_eq!((view.source_port, view.destination_port, view.protocol), (10_000, 5001, 6));
    assert_eq!((view.dscp.value(), view.ecn), (10, Ecn::Ect0));
    assert_eq!((view.total_len, view.ip_header_len, view.transport_header_len), (552, 20, 20));
    assert_eq!((view.options_len, view.payload_len, view.kind()), (0, 512, Kind::Data));
    let tcp = view.tcp.unwrap();
    assert_eq!((tcp.seq, tcp.ack, tcp.flags, tcp.window), (1000, 77, 0x18, 500));
    assert_eq!(view.tcp_view().unwrap().seq_end, 1512);
    assert!(checksums(&packet).good());
}

#[test]
fn acknowledgments_syns_and_fins_are_told_apart() {
    // timestamps, then two SACK blocks: what a receiver with holes sends
    let mut options = vec![1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2, 1, 1, 5, 18];
    for edge in [5000u32, 6000, 3000, 4000] {
        options.extend(edge.to_be_bytes());
    }
    let view = parse(&tcp_packet(0, 1, 2000, 0x10, 9, &options, &[])).unwrap();
    let tcp = view.tcp.unwrap();
    assert_eq!((view.kind(), view.options_len, tcp.sack_blocks, tcp.sack_top), (Kind::PureAck, 32, 2, 6000));
    // numbers beyond 2^32: 16 is ahead of 2^32 - 16
    let mut wrapped = vec![1, 1, 5, 18];
    for edge in [0xffff_fff4_u32, 0xffff_fff8, 4, 16] {
        wrapped.extend(edge.to_be_bytes());
    }
    let view = parse(&tcp_packet(0, 1, 0xffff_fff0, 0x10, 9, &wrapped, &[])).unwrap();
    assert_eq!(view.tcp.unwrap().sack_top, 16);
    let syn = tcp_packet(0, 1, 0, 0x02, 9, &[2, 4, 5, 180, 1, 3, 3, 7], &[]);
    assert_eq!((parse(&syn).unwrap().kind(), window_scale(&syn)), (Kind::Syn, Some(7)));
    let fin = parse(&tcp_packet(0, 8, 0, 0x11, 9, &[], &[])).unwrap();
    assert_eq!((fin.kind(), fin.tcp_view().unwrap().seq_end), (Kind::Other, 9));
}

#[test]
fn what_is_no_packet_is_refused_with_its_reason() {
    let good = tcp_packet(0, 1, 2, 0x10, 9, &[], &[1; 100]);
    assert_eq!(parse(&[]), Err(WireError::Length));
    assert_eq!(parse(&[0x55; 60]), Err(WireError::Version));
    assert_eq!(parse(&good[..good.len() - 1]), Err(WireError::Length));
    let changed = |at: usize, value: u8| {
        let mut bytes = good.clone();
        bytes[at] = value;
        parse(&bytes)
    };
    assert_eq!(changed(0, 0x44), Err(WireError::Length), "a header of 16 bytes");
    assert_eq!(changed(32, 0x40), Err(WireError::Length), "a TCP header of 16 bytes");
    assert_eq!(changed(32, 0xf0).map(|view| view.options_len), Ok(40));
    assert_eq!(changed(6, 0x20), Err(WireError::Fragment), "more fragments");
    assert_eq!(changed(7, 1), Err(WireError::Fragment), "not the first");
}

#[test]
fn every_mark_is_written_and_the_checksum_stays_right() {
    for dscp in (0..64).map(|value| Dscp::new(value).unwrap()) {
        for ecn in ECNS {
            for from in 0..=255 {
                let before = tcp_packet(from, 1, 2, 0x10, 9, &[], &[3; 5]);
                let mut after = before.clone();
                let wrote = rewrite_ds(&mut after, dscp, ecn).unwrap();
                assert_eq!(after, tcp_packet(after[1], 1, 2, 0x10, 9, &[], &[3; 5]));
                let view = parse(&after).unwrap();
                assert_eq!((view.dscp, view.ecn, wrote), (dscp, ecn, before != after));
            }
        }
    }
}

#[test]
fn a_checksum_of_all_ones_is_not_taken_for_zero() {
    // RFC 1624 section 4: the field is 0xdd2f, a word goes from 0x5555 to 0x3285 and the new field is 0x0000, not 0xffff
    let mut packet = tcp_packet(0, 1, 2, 0x10, 0x5555, &[], &[]);
    // an identification with which the TCP sum comes out as in the example
    let view = parse(&packet).unwrap();
    let field = u16::from_be_bytes([packet[36], packet[37]]);
    let urgent = u32::from(field) + 0xffff - 0xdd2f;
    let urgent = u16::try_from(urgent % 0xffff).unwrap();
    packet[38..40].copy_from_slice(&urgent.to_be_bytes());
    packet[36..38].copy_from_slice(&0xdd2f_u16.to_be_bytes());
    assert!(checksums(&packet).good());
    set_window(&mut packet, &view, 0x3285);
    assert_eq!(packet[36..38], [0, 0]);
    assert!(checksums(&packet).good());
}

#[test]
fn ipv6_is_read_and_marked() {
    let mut packet = vec![0x6a, 0x5b, 0xcd, 0xef, 0, 12, 17, 64];
    packet.extend([1; 16]);
    packet.extend([2; 16]);
    packet.extend([0x27, 0x10, 0x13, 0x89, 0, 12, 0, 0, 1, 2, 3, 4]);
    let sum = internet_checksum(&[&packet[8..40], &[0, 0, 0, 12, 0, 0, 0, 17], &packet[40..]]);
    packet[46..48].copy_from_slice(&sum.to_be_bytes());
    let view = parse(&packet).unwrap();
    assert_eq!(
        (view.dscp.value(), view.ecn, view.payload_len, view.kind()),
        (0xa5 >> 2, Ecn::Ect1, 4, Kind::Data)
    );
    assert!(checksums(&packet).good());
    assert!(rewrite_ds(&mut packet, Dscp::EF, Ecn::Ce).unwrap());
    assert_eq!(packet[..4], [0x6b, 0xbb, 0xcd, 0xef]);
    assert!(checksums(&packet).good());
}

proptest! {
    #[test]
    fn no_bytes_make_it_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..120), dscp in 0u8..64, window: u16) {
        // half of them look like IPv4 with TCP, so that what lies behind is reached
        for shape in [None, Some(0x45), Some(0x60)] {
            if let (Some(first), Some(byte)) = (shape, bytes.first_mut()) {
                *byte = first;
                if bytes.len() > 9 {
                    bytes[if first == 0x45 { 9 } else { 6 }] = 6;
                }
                if bytes.len() > 40 {
                    let len = u8::try_from(bytes.len() - if first == 0x45 { 0 } else { 40 }).unwrap();
                    bytes[if first == 0x45 { 2 } else { 4 }] = 0;
                    bytes[if first == 0x45 { 3 } else { 5 }] = len;
                    if first == 0x45 {
                        (bytes[6], bytes[7]) = (0, 0);
                    }
                }
            }
            let before = bytes.clone();
            if let Ok(view) = parse(&bytes) {
                let parts = view.ip_header_len + view.transport_header_len + view.payload_len;
                prop_assert_eq!(parts, view.total_len);
                let good = checksums(&bytes);
                prop_assert!(rewrite_ds(&mut bytes, Dscp::new(dscp).unwrap(), Ecn::Ce).is_ok());
                set_window(&mut bytes, &view, window);
                let again = parse(&bytes).unwrap();
                prop_assert_eq!((again.dscp.value(), again.ecn), (dscp, Ecn::Ce));
                // what was right stays right, what was wrong stays wrong
                prop_assert_eq!(checksums(&bytes).ip, good.ip);
                if view.tcp.is_some() {
                    prop_assert_eq!(checksums(&bytes).transport, good.transport);
                    prop_assert_eq!(again.tcp.map(|tcp| tcp.window), Some(window));
                }
            } else {
                let _ = checksums(&bytes);
                prop_assert_eq!(&before, &bytes);
            }
            let _ = window_scale(&bytes);
        }
    }
}

fn any_headers(tcp: Option<Tcp<'_>>, words: [u32; 3], ports: [u16; 2], ds: u8, payload: u32) -> Headers<'_> {
    Headers {
        source: Ipv4Addr::from_bits(words[0]),
        destination: Ipv4Addr::from_bits(words[1]),
        source_port: ports[0],
        destination_port: ports[1],
        dscp: Dscp::new(ds >> 2).unwrap(),
        ecn: ECNS[usize::from(ds & 3)],
        payload,
        transport: tcp.map_or(Transport::Udp, Transport::Tcp),
    }
}

proptest! {
    #[test]
    fn what_is_built_is_read_again(
        (is_tcp, words, ports, ds, payload) in (any::<bool>(), any::<[u32; 3]>(), any::<[u16; 2]>(), any::<u8>(), 0u32..3000),
        (ack, flags, window, mss) in (any::<u32>(), any::<u8>(), any::<u16>(), any::<Option<u16>>()),
        timestamps in any::<Option<(u32, u32)>>(),
        sack in prop::collection::vec(any::<(u32, u32)>(), 0..=4),
    ) {
        let tcp = Tcp { seq: words[2], ack, flags, window, mss, timestamps, sack: &sack, ..Tcp::default() };
        let headers = any_headers(is_tcp.then_some(tcp), words, ports, ds, payload);
        let mut bytes = vec![0xee; 3];
        let options = if is_tcp {
            mss.map_or(0, |_| 4) + timestamps.map_or(0, |_| 12) + if sack.is_empty() { 0 } else { 4 + 8 * sack.len() }
        } else {
            0
        };
        if options > 40 {
            prop_assert_eq!(build(&headers, &mut bytes), Err(WireError::Length));
            prop_assert_eq!(bytes, vec![0xee; 3]);
            return Ok(());
        }
        build(&headers, &mut bytes).unwrap();
        let bytes = &bytes[3..];
        let view = parse(bytes).unwrap();
        prop_assert_eq!((view.source, view.destination), (Address(words[0].into()), Address(words[1].into())));
        prop_assert_eq!([view.source_port, view.destination_port], ports);
        prop_assert_eq!((view.dscp, view.ecn, view.payload_len), (headers.dscp, headers.ecn, payload));
        prop_assert_eq!(view.total_len as usize, bytes.len());
        prop_assert_eq!(view.options_len as usize, options);
        let sums = checksums(bytes);
        prop_assert_eq!((sums.ip, sums.transport), (Some(true), Some(true)));
        if is_tcp {
            let read = view.tcp.unwrap();
            prop_assert_eq!((read.seq, read.ack, read.flags, read.window), (words[2], ack, flags, window));
            prop_assert_eq!(usize::from(read.sack_blocks), sack.len());
            let top = sack.iter().map(|block| block.1).max_by_key(|edge| edge.wrapping_sub(ack)).unwrap_or(0);
            prop_assert_eq!(read.sack_top, top);
        } else {
            prop_assert_eq!(view.tcp, None);
        }
        let mut alone = Vec::new();
        build_headers(&headers, &mut alone).unwrap();
        prop_assert_eq!(&alone[..], &bytes[..bytes.len() - payload as usize]);
    }
}

#[test]
fn a_packet_too_long_for_ip_is_not_built() {
    let longest = 65_535 - 28;
    let mut bytes = Vec::new();
    build_headers(&any_headers(None, [1; 3], [1; 2], 0, longest), &mut bytes).unwrap();
    assert_eq!((bytes.len(), &bytes[2..4]), (28, &[0xff, 0xff][..]));
    for payload in [longest + 1, u32::MAX] {
        assert_eq!(build(&any_headers(None, [1; 3], [1; 2], 0, payload), &mut bytes), Err(WireError::Length));
    }
    assert_eq!(bytes.len(), 28);
}

#[test]
fn timestamps_and_blocks_are_where_a_receiver_looks_for_them() {
    let tcp = Tcp {
        mss: Some(1460),
        window_scale: Some(7),
        timestamps: Some((7, 9)),
        sack: &[(5, 6), (1, 2)],
        ..Tcp::default()
    };
    let mut bytes = Vec::new();
    build(&any_headers(Some(tcp), [1; 3], [2; 2], 0, 0), &mut bytes).unwrap();
    let expected = [
        2, 4, 5, 180, 1, 3, 3, 7, 1, 1, 8, 10, 0, 0, 0, 7, 0, 0, 0, 9, 1, 1, 5, 18, 0, 0, 0, 5, 0, 0, 0, 6,
        0, 0, 0, 1, 0, 0, 0, 2,
    ];
    assert_eq!(bytes[40..], expected);
}

/// Blocks of a capture: type and body; their two lengths agree.
fn blocks(mut file: &[u8]) -> Vec<(u32, Vec<u8>)> {
    let word = |bytes: &[u8], at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
    let mut found = Vec::new();
    while !file.is_empty() {
        let len = word(file, 4) as usize;
        assert_eq!((len % 4, word(file, len - 4) as usize), (0, len));
        found.push((word(file, 0), file[8..len - 4].to_vec()));
        file = &file[len..];
    }
    found
}

#[test]
fn a_capture_is_blocks_of_the_format() {
    let mut file = Vec::new();
    pcapng::section("perhop 1", &mut file);
    pcapng::interface("a->b", "10 Mbit/s", &mut file);
    let time = (3 << 32) + 5;
    let whole = pcapng::Packet { interface: 0, time, bytes: &[1, 2, 3, 4, 5], original: 9, comment: "AF11" };
    pcapng::packet(&whole, &mut file);
    pcapng::packet(&pcapng::Packet { original: 2, comment: "", ..whole }, &mut file);
    let blocks = blocks(&file);
    assert_eq!(blocks.iter().map(|block| block.0).collect::<Vec<_>>(), [0x0a0d_0d0a, 1, 6, 6]);
    assert_eq!(
        blocks[0].1[..16],
        [0x4d, 0x3c, 0x2b, 0x1a, 1, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255]
    );
    assert_eq!(blocks[1].1[..16], [101, 0, 0, 0, 0, 0, 0, 0, 2, 0, 4, 0, b'a', b'-', b'>', b'b']);
    assert_eq!(blocks[1].1[blocks[1].1.len() - 12..], [9, 0, 1, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
    let head = [0, 0, 0, 0, 3, 0, 0, 0, 5, 0, 0, 0, 5, 0, 0, 0, 9, 0, 0, 0, 1, 2, 3, 4, 5, 0, 0, 0];
    assert_eq!(blocks[2].1[..28], head);
    assert_eq!(blocks[2].1[28..], [1, 0, 4, 0, b'A', b'F', b'1', b'1', 0, 0, 0, 0]);
    // no shorter than what is captured of it, and no option without a comment
    assert_eq!((blocks[3].1.len(), blocks[3].1[16]), (28, 5));
}

#[test]
fn any_bytes() {
    fuzz::replay(3000, fuzz::wire);
}

/// A run of inputs that are all refused would show nothing of what is read and written.
#[test]
fn any_bytes_reach_what_is_tested() {
    let seen: [Cell<u32>; 7] = Default::default();
    fuzz::replay(3000, |input: &fuzz::PacketBytes| {
        let bytes = input.packet();
        let of = match parse(&bytes) {
            Err(_) => [false, false, false, false, false, false, true],
            Ok(view) => {
                let (v4, tcp) = (bytes[0] >> 4 == 4, view.tcp.is_some());
                let (udp, good) = (view.protocol == Protocol::UDP.0, checksums(&bytes).good());
                [v4, !v4, tcp, udp, view.options_len > 0, (tcp || udp) && good, false]
            }
        };
        seen.iter().zip(of).for_each(|(seen, of)| seen.set(seen.get() + u32::from(of)));
    });
    let of = "IPv4, IPv6, TCP, UDP, options, right checksums, refused";
    assert!(seen.iter().all(|seen| seen.get() >= 30), "{of}: {seen:?}");
}

#[test]
#[ignore = "takes the better part of an hour"]
fn a_hundred_million_of_any_bytes() {
    fuzz::replay(100_000_000, fuzz::wire);
}
