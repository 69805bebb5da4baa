//! Sources from captures: the packets of one flow, their lengths and their distances.

use std::net::{IpAddr, SocketAddr};

use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};
use perhop_wire::capture::{Captured, IpPacket, ip_packet, read as read_capture};

use crate::meant::model::Capture;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::files::FileName;
use crate::words::suggest;
use crate::written::sources::Pattern;

/// The fields that a packet must have; others are as in the first packet that fits.
#[derive(Default)]
struct PacketFilter {
    protocol: Option<u8>,
    addresses: [Option<IpAddr>; 2],
    ports: [Option<u16>; 2],
}

impl PacketFilter {
    fn fits(&self, packet: &IpPacket) -> bool {
        let port = |k: usize| packet.ports.map(|ports| ports[k]);
        self.protocol.is_none_or(|protocol| protocol == packet.protocol)
            && (0..2).all(|k| self.addresses[k].is_none_or(|address| address == packet.addresses[k]))
            && (0..2).all(|k| self.ports[k].is_none_or(|given| port(k) == Some(given)))
    }

    /// Whether a packet is of this flow, which is whole.
    fn is_of(&self, packet: &IpPacket) -> bool {
        self.fits(packet) && self.ports[0].is_some() == packet.ports.is_some()
    }
}

/// The packets that a pattern `capture` means.
pub(crate) fn read(pattern: &Pattern, at: &[Step], report: &mut Report) -> Option<Capture> {
    let Pattern::Capture { file: name, repeat, .. } = pattern else { return None };
    let key = [at, &steps!["file"]].concat();
    let filter = read_filter(pattern, at, report)?;
    let file = report.file(&key, name)?;
    let found = packets(&file.bytes, &filter)
        .and_then(|(flow, packets, others)| Ok((flow, others, repeated(packets, *repeat)?)));
    match found {
        Err((rule, hint)) => {
            report.error(&key, format!("`{name}` {rule}"), hint);
            None
        }
        Ok((flow, others, capture)) => {
            if !others.is_empty() {
                warn_of(&flow, &others, &filter, name, &key, report);
            }
            Some(capture)
        }
    }
}

/// Most other flows that are named.
const NAMED: usize = 3;

/// Warns that of several flows that fit the first is sent, and names what would choose it alone.
fn warn_of(
    flow: &IpPacket,
    others: &[IpPacket],
    filter: &PacketFilter,
    file: &FileName,
    key: &[Step],
    report: &mut Report,
) {
    let mut named: Vec<_> = others.iter().take(NAMED).map(flow_in_words).collect();
    if others.len() > NAMED {
        named.push("others".to_owned());
    }
    let rule = format!(
        "`{file}` has more flows that fit than one: {} is sent, the first, and not {}",
        flow_in_words(flow),
        named.join(", ")
    );
    let ports = [0, 1].map(|k| flow.ports.map(|ports| ports[k].to_string()));
    let fields = [
        ("protocol", filter.protocol.is_some(), Some(format!("\"{}\"", protocol(flow)))),
        ("src", filter.addresses[0].is_some(), Some(format!("\"{}\"", flow.addresses[0]))),
        ("dst", filter.addresses[1].is_some(), Some(format!("\"{}\"", flow.addresses[1]))),
        ("src_port", filter.ports[0].is_some(), ports[0].clone()),
        ("dst_port", filter.ports[1].is_some(), ports[1].clone()),
    ];
    let left = fields.into_iter().filter(|(_, given, _)| !given);
    let left: Vec<_> = left.filter_map(|(key, _, value)| Some(format!("{key} = {}", value?))).collect();
    report.warn(key, rule, Some(format!("write `{}` for the first, or what another has", left.join(", "))));
}

/// The flow of a packet in words.
fn flow_in_words(packet: &IpPacket) -> String {
    let end = |k: usize| match packet.ports {
        Some(ports) => SocketAddr::new(packet.addresses[k], ports[k]).to_string(),
        None => packet.addresses[k].to_string(),
    };
    let number = if packet.ports.is_none() { "protocol " } else { "" };
    format!("{number}{} {} > {}", protocol(packet), end(0), end(1))
}

/// The protocol of a packet, as a setting has it.
fn protocol(packet: &IpPacket) -> String {
    match packet.protocol {
        6 => "tcp".to_owned(),
        17 => "udp".to_owned(),
        number => number.to_string(),
    }
}

/// The mean rate of a capture, of one that ends from its first packet to its last.
pub(crate) fn rate(capture: &Capture) -> BitRate {
    let bits: u128 = capture.packets.iter().map(|(_, len)| u128::from(len.bits())).sum();
    let last = capture.packets.last().map_or(Span::ZERO, |(after, _)| *after);
    let time = u128::from(capture.period.unwrap_or(last).as_nanos().max(1));
    let rate = u64::try_from(bits * 1_000_000_000 / time).unwrap_or(u64::MAX);
    BitRate::new(rate.max(1)).unwrap_or_else(|| unreachable!("it is not 0"))
}

/// The longest packet of a capture.
pub(crate) fn longest(capture: &Capture) -> Bytes {
    capture.packets.iter().map(|(_, len)| *len).max().unwrap_or_default()
}

/// The flow that is asked for.
fn read_filter(pattern: &Pattern, at: &[Step], report: &mut Report) -> Option<PacketFilter> {
    let Pattern::Capture { protocol, src, dst, src_port, dst_port, .. } = pattern else { return None };
    let mut filter = PacketFilter { ports: [*src_port, *dst_port], ..PacketFilter::default() };
    let mut sound = report.is_sound(at);
    let mut refuse = |key: &'static str, rule: String, hint: &str| {
        report.error(&[at, &steps![key]].concat(), rule, Some(hint.to_owned()));
        sound = false;
    };
    if let Some(word) = protocol {
        filter.protocol = match word.as_str() {
            "tcp" => Some(6),
            "udp" => Some(17),
            number => number.parse().ok(),
        };
        if filter.protocol.is_none() {
            let rule = format!("`{}` is not a protocol", suggest::short(word));
            refuse("protocol", rule, "write `udp`, `tcp`, or its number from 0 to 255 in quotes");
        }
    }
    for (k, (key, address)) in [("src", src), ("dst", dst)].into_iter().enumerate() {
        let Some(text) = address else { continue };
        match text.parse() {
            Ok(address) => filter.addresses[k] = Some(address),
            Err(_) => {
                let rule = format!("`{}` is not an address of IPv4 or IPv6", suggest::short(text));
                refuse(key, rule, "write it as in `10.0.0.1` or `fd00::1`");
            }
        }
    }
    sound.then_some(filter)
}

/// A rule that a capture breaks, as the end of a sentence, and a hint.
type Refusal = (String, Option<String>);

/// The first packet of the flow that `filter` chooses, times in ns and lengths of all of them, and the first packets of
/// some other flows that fit.
type CapturedFlow = (IpPacket, Vec<(u64, Bytes)>, Vec<IpPacket>);

/// Finds the packets of the flow that `filter` chooses.
fn packets(file: &[u8], filter: &PacketFilter) -> Result<CapturedFlow, Refusal> {
    let mut flow: Option<(PacketFilter, IpPacket)> = None;
    let mut others: Vec<(PacketFilter, IpPacket)> = Vec::new();
    let (mut found, mut all, mut wrong): (Vec<(u64, Bytes)>, u64, Option<Refusal>) = (Vec::new(), 0, None);
    let mut take = |captured: Captured<'_>| {
        all += 1;
        let Some(packet) = ip_packet(&captured).filter(|packet| wrong.is_none() && filter.fits(packet))
        else {
            return;
        };
        let (own, _) = flow.get_or_insert_with(|| (same_flow(&packet), packet));
        if !own.is_of(&packet) {
            // a fragment but the first does not say of which flow it is
            let whole = packet.ports.is_some() || !matches!(packet.protocol, 6 | 17);
            if whole && others.len() <= NAMED && !others.iter().any(|(other, _)| other.is_of(&packet)) {
                others.push((same_flow(&packet), packet));
            }
            return;
        }
        if packet.len == 0 {
            let hint =
                "capture with segmentation offload turned off: `ethtool -K DEV tso off gso off gro off`";
            let rule = format!("has a packet without a length, number {all}: its device was to cut it up");
            wrong = Some((rule, Some(hint.to_owned())));
        }
        if found.last().is_some_and(|(before, _)| captured.time < *before) {
            let hint = "`reordercap IN OUT` puts packets in order";
            wrong = Some((format!("goes back in time at packet {all}"), Some(hint.to_owned())));
        }
        found.push((captured.time, Bytes(packet.len.into())));
    };
    read_capture(file, &mut take).map_err(|error| (format!("{} (byte {})", error.rule, error.at), None))?;
    match (wrong, flow) {
        (Some(refusal), _) => Err(refusal),
        (None, None) => {
            let rule = match all {
                0 => "has no packets".to_owned(),
                _ => format!("has no IP packet of this flow among {all}"),
            };
            Err((rule, Some("`tcpdump -nr FILE` shows what it has".to_owned())))
        }
        (None, Some((_, first))) => {
            Ok((first, found, others.into_iter().map(|(_, packet)| packet).collect()))
        }
    }
}

/// The flow of a packet, whole.
fn same_flow(packet: &IpPacket) -> PacketFilter {
    PacketFilter {
        protocol: Some(packet.protocol),
        addresses: packet.addresses.map(Some),
        ports: packet.ports.map_or([None; 2], |ports| ports.map(Some)),
    }
}

/// A capture from times and lengths; one that is repeated begins again at the mean distance from its last packet.
fn repeated(packets: Vec<(u64, Bytes)>, repeat: bool) -> Result<Capture, Refusal> {
    let (first, last) = (packets[0].0, packets[packets.len() - 1].0);
    let period = match (repeat, (packets.len() as u64).checked_sub(1)) {
        (false, _) => None,
        (true, Some(distances)) if distances > 0 && last > first => {
            Some(Span::from_nanos(last - first + (last - first) / distances))
        }
        (true, _) => {
            let rule = "has no time between its packets, so that it cannot be repeated".to_owned();
            return Err((rule, Some("write `repeat = false`".to_owned())));
        }
    };
    let packets = packets.into_iter().map(|(time, len)| (Span::from_nanos(time - first), len)).collect();
    Ok(Capture { packets, period })
}
