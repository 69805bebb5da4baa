//! Sources from captures, and transfers given by a load.

use crate::common::{DOMAIN, domain, lines, valid};
use insta::assert_snapshot;
use perhop_core::time::Span;
use perhop_core::units::Bytes;
use perhop_scenario::elements::NoElements;
use perhop_scenario::model::{Capture, UdpPattern};
use perhop_scenario::{Diagnostic, FileName, Files, Loaded, NamedFile, load_with};

struct One(Vec<u8>);

impl Files for One {
    fn read(&self, _: &FileName) -> Result<NamedFile, String> {
        Ok(NamedFile { bytes: self.0.as_slice().into(), sha256: "0".repeat(64) })
    }
}

const UDP: &str = "rate = \"240kbit/s\"\npacket_size = \"200B\"";

fn with(capture: &[u8], settings: &str) -> Result<Loaded, Vec<Diagnostic>> {
    assert!(DOMAIN.contains(UDP));
    let text = DOMAIN.replacen(UDP, settings, 1);
    load_with(text.as_bytes(), "test.toml", &[], &NoElements, &One(capture.to_vec()))
}

fn pattern(more: &str) -> String {
    format!("pattern = {{ kind = \"capture\", file = \"call.pcap\"{more} }}")
}

/// A packet of IPv4: ms, length, protocol, last byte of both addresses, ports.
type Sent = (u32, u16, u8, [u8; 2], [u16; 2]);

/// A classic capture of raw IP in nanoseconds.
fn capture(packets: &[Sent]) -> Vec<u8> {
    let words = |words: &[u32]| words.iter().flat_map(|word| word.to_le_bytes()).collect::<Vec<u8>>();
    let mut file = words(&[0xa1b2_3c4d, 0x0004_0002, 0, 0, 65535, 101]);
    for &(ms, len, protocol, [src, dst], ports) in packets {
        file.extend(words(&[1_700_000_000 + ms / 1000, ms % 1000 * 1_000_000, 28, len.into()]));
        file.extend([0x45, 0]);
        file.extend(len.to_be_bytes());
        file.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, src, 10, 0, 0, dst]);
        file.extend(ports.iter().flat_map(|port| port.to_be_bytes()));
        file.extend([0; 4]);
    }
    file
}

/// A call both ways, a web page, and a ping.
fn call() -> Vec<u8> {
    capture(&[
        (0, 84, 1, [1, 2], [0, 0]),
        (10, 200, 17, [1, 2], [5004, 5005]),
        (13, 60, 17, [2, 1], [5005, 5004]),
        (30, 180, 17, [1, 2], [5004, 5005]),
        (31, 1500, 6, [1, 3], [4000, 80]),
        (50, 220, 17, [1, 2], [5004, 5005]),
    ])
}

fn read(settings: &str) -> Capture {
    let loaded = with(&call(), settings).unwrap_or_else(|found| panic!("{}", lines(Err(found))));
    let udp = loaded.scenario.udp.iter().find(|udp| udp.name == "cbr").expect("the flow");
    assert_eq!(udp.pattern, UdpPattern::Capture);
    let again = load_with(loaded.resolved_toml().as_bytes(), "resolved.toml", &[], &NoElements, &One(call()));
    assert_eq!(valid(again).resolved_toml(), loaded.resolved_toml());
    let capture = udp.capture.as_deref().expect("a capture");
    assert_eq!(udp.packet_size, capture.packets.iter().map(|(_, len)| *len).max().expect("a packet"));
    capture.clone()
}

fn of(packets: &[(u64, u64)], period: Option<u64>) -> Capture {
    let packets = packets.iter().map(|&(ms, len)| (Span::from_millis(ms), Bytes(len))).collect();
    Capture { packets, period: period.map(Span::from_millis) }
}

#[test]
fn a_flow_is_that_of_the_first_packet_that_fits() {
    assert_eq!(read(&pattern("")), of(&[(0, 84)], None));
    let there = of(&[(0, 200), (20, 180), (40, 220)], None);
    assert_eq!(read(&pattern(", protocol = \"udp\"")), there);
    assert_eq!(read(&pattern(", src_port = 5004")), there);
    assert_eq!(read(&pattern(", src = \"10.0.0.2\"")), of(&[(0, 60)], None));
    assert_eq!(read(&pattern(", protocol = \"6\"")), of(&[(0, 1500)], None));
    assert_eq!(read(&pattern(", dst = \"10.0.0.3\", dst_port = 80")), of(&[(0, 1500)], None));
    let again = read(&pattern(", protocol = \"udp\", repeat = true"));
    assert_eq!(again, of(&[(0, 200), (20, 180), (40, 220)], Some(60)));
    assert_eq!(again.packet(7), Some((Span::from_millis(140), Bytes(180))));
    assert_eq!(again.count(Span::from_millis(141)), 8);
    assert_eq!((there.packet(3), there.count(Span::from_secs(9))), (None, 3));
}

#[test]
fn other_flows_that_fit_are_told() {
    let warned = |settings: &str| warnings(&with(&call(), settings));
    assert_snapshot!(
        [
            warned(&pattern("")),
            warned(&pattern(", protocol = \"udp\"")),
            warned(&pattern(", src = \"10.0.0.1\", protocol = \"udp\"")),
        ]
        .join("\n"),
        @r#"
    udp.cbr.pattern.file: `call.pcap` has more flows that fit than one: protocol 1 10.0.0.1 > 10.0.0.2 is sent, the first, and not udp 10.0.0.1:5004 > 10.0.0.2:5005, udp 10.0.0.2:5005 > 10.0.0.1:5004, tcp 10.0.0.1:4000 > 10.0.0.3:80 (write `protocol = "1", src = "10.0.0.1", dst = "10.0.0.2"` for the first, or what another has)
    udp.cbr.pattern.file: `call.pcap` has more flows that fit than one: udp 10.0.0.1:5004 > 10.0.0.2:5005 is sent, the first, and not udp 10.0.0.2:5005 > 10.0.0.1:5004 (write `src = "10.0.0.1", dst = "10.0.0.2", src_port = 5004, dst_port = 5005` for the first, or what another has)
    no warning
    "#
    );
    // the rest of a cut packet has no ports, and does not say of which flow it is
    let mut cut = capture(&[(0, 200, 17, [1, 2], [7, 7]), (1, 200, 17, [1, 2], [7, 7])]);
    let second = 24 + 16 + 28 + 16;
    cut[second + 7] = 9;
    assert_eq!(warnings(&with(&cut, &pattern(""))), "no warning");
}

fn warnings(result: &Result<Loaded, Vec<Diagnostic>>) -> String {
    let Ok(loaded) = result else { return "a mistake".to_owned() };
    let of = |one: &Diagnostic| format!("{one} ({})", one.hint.as_deref().unwrap_or_default());
    let found: Vec<_> = loaded.warnings.iter().filter(|one| one.path.contains("pattern")).map(of).collect();
    if found.is_empty() { "no warning".to_owned() } else { found.join("\n") }
}

#[test]
fn what_cannot_be_a_source_is_told() {
    let wrong = |file: &[u8], settings: &str| lines(with(file, settings));
    let udp = pattern(", protocol = \"udp\"");
    let mut cut = call();
    cut.truncate(100);
    let back = capture(&[(5, 100, 17, [1, 2], [1, 2]), (4, 100, 17, [1, 2], [1, 2])]);
    let offloaded = capture(&[(5, 0, 17, [1, 2], [1, 2])]);
    let alone = pattern(", repeat = true");
    assert_snapshot!(
        [
            wrong(b"time,len\n1,2\n", &udp),
            wrong(&cut, &udp),
            wrong(&capture(&[]), &udp),
            wrong(&back, &udp),
            wrong(&offloaded, &udp),
            wrong(&call(), &alone),
            wrong(&call(), &pattern(", protocol = \"udp\", dst_port = 80")),
            wrong(&call(), &pattern(", protocol = \"sctp\", src = \"10.0.0\", dst = \"::g\"")),
            wrong(&call(), &pattern(", src_port = 70000")),
            wrong(&call(), &format!("{UDP}\n{udp}")),
            wrong(&call(), "pattern = { kind = \"capture\" }"),
        ]
        .join("\n")
    );
}

#[test]
fn transfers_may_be_given_by_a_load() {
    let size = "size = { kind = \"fixed\", size = \"25kB\" }";
    let arrivals = |given: &str| {
        let old = "arrivals = { mean_interval = \"20s\", size = { kind = \"pareto\", shape = 1.2, min = \"4kB\", max = \"400kB\" } }";
        domain(&[(old, &format!("arrivals = {{ {given} }}"))])
    };
    // 200 kbit of 3 Mbit/s: 7.5 a second at a load of a half, in 60 s; the deviation is 21
    let loaded = valid(arrivals(&format!("load = 0.5, link = \"r2->r3\", {size}")));
    let made = loaded.scenario.flows.iter().filter(|flow| flow.name.starts_with("web[")).count();
    assert!((380..520).contains(&made), "{made}");
    let changed = perhop_scenario::load(
        loaded.resolved_toml().as_bytes(),
        "resolved.toml",
        &["flow.web.arrivals.load=0.25".to_owned()],
    );
    let fewer = valid(changed).scenario.flows.iter().filter(|flow| flow.name.starts_with("web[")).count();
    assert!((175..275).contains(&fewer), "{fewer}");
    let wrong = |given: &str| lines(arrivals(&format!("{given}{size}")));
    assert_snapshot!(
        [
            wrong(""),
            wrong("load = 0.5, "),
            wrong("link = \"r2->r3\", "),
            wrong("mean_interval = \"1s\", load = 0.5, link = \"r2->r3\", "),
            wrong("mean_interval = \"1s\", link = \"r2->r3\", "),
            wrong("load = 0, link = \"r2->r3\", "),
            wrong("load = 0.5, link = \"r2->r4\", "),
        ]
        .join("\n")
    );
}
