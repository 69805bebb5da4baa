//! The ACK filter against recordings of Linux (`oracles/linux-ack-filter`), on the bytes of packets: what is dropped for each
//! arrival.

use perhop_core::packet::{Acknowledgment, FlowId, Meta, Packet};
use perhop_core::queue::{AckFilter, Fifo, Queue};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};
use perhop_wire::{acknowledgment, parse};

macro_rules! recording {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../oracles/linux-ack-filter/", $name, ".csv")))
    };
}

fn recordings() -> [((&'static str, &'static str), AckFilter); 6] {
    [
        (recording!("conservative"), AckFilter::Conservative),
        (recording!("aggressive"), AckFilter::Aggressive),
        (recording!("odd"), AckFilter::Conservative),
        (recording!("odd-aggressive"), AckFilter::Aggressive),
        (recording!("shared"), AckFilter::Conservative),
        (recording!("plain"), AckFilter::Aggressive),
    ]
}

#[derive(Debug)]
struct Bytewise {
    id: u32,
    meta: Meta,
    bytes: Vec<u8>,
}

impl Packet for Bytewise {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }

    fn acknowledgment(&self) -> Option<Acknowledgment> {
        acknowledgment(&self.bytes)
    }
}

impl Bytewise {
    fn read(id: u32, hex: &str) -> Self {
        let byte = |at: usize| u8::from_str_radix(&hex[2 * at..2 * at + 2], 16).expect("hexadecimal");
        let bytes: Vec<u8> = (0..hex.len() / 2).map(byte).collect();
        let view = parse(&bytes).expect("a packet");
        let meta = Meta {
            len: Bytes(view.total_len.into()),
            flow: FlowId(view.destination_port.into()),
            kind: view.kind(),
            tcp: view.tcp_view(),
            ..Meta::default()
        };
        Self { id, meta, bytes }
    }
}

struct Filtered(Vec<u32>);

impl Sink<Bytewise> for Filtered {
    fn dropped(&mut self, _now: Instant, _site: SiteId, pkt: Bytewise, why: DropReason) {
        assert_eq!(why, DropReason::AckFilter);
        self.0.push(pkt.id);
    }
}

/// The first line that perhop's queue does not repeat.
fn first_difference(recording: &str, filter: AckFilter) -> Option<String> {
    let mut queue = Fifo::new(SiteId(0), QueueSize::Packets(1000)).filtering(Some(filter));
    let mut sink = Filtered(Vec::new());
    for line in recording.lines().skip(1) {
        let [what, id, hex] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let id = id.parse().expect("a number");
        let same = match what {
            "drop" => sink.0.pop() == Some(id),
            _ if !sink.0.is_empty() => false,
            "in" => {
                queue.enqueue(Instant::ZERO, Bytewise::read(id, hex), &mut sink);
                true
            }
            _ => queue.dequeue(Instant::ZERO, &mut sink).map(|pkt| pkt.id) == Some(id),
        };
        if !same {
            return Some(line.to_owned());
        }
    }
    None
}

#[test]
fn what_is_dropped_is_what_linux_drops() {
    for ((name, recording), filter) in recordings() {
        assert_eq!(first_difference(recording, filter), None, "{name}");
    }
}

#[test]
fn the_two_filters_differ_in_each_recording() {
    for ((name, recording), filter) in recordings() {
        let other = match filter {
            AckFilter::Conservative => AckFilter::Aggressive,
            AckFilter::Aggressive => AckFilter::Conservative,
        };
        assert!(first_difference(recording, other).is_some(), "{name}");
        assert!(recording.matches("drop,").count() > 100, "{name} says little");
    }
}
