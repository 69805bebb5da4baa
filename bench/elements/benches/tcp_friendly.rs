//! What a packet costs at the TCP-friendly marker, allocations and ACKs included:
//! `cargo bench -p perhop-bench-elements --bench tcp_friendly`.

use std::hint::black_box;

use perhop_bench_elements::{Bench, run, timed};
use perhop_core::meter::{Meter, TcpFriendly, TcpFriendlyParams};
use perhop_core::packet::{Dir, FlowId, Kind, Meta, TcpView};
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

const T: Span = Span::from_millis(250);
const PACKETS: u32 = 10;
const SIZE: u32 = 1000;

/// Each flow's packets of one interval, in turn, or their ACKs; every flow has another window.
fn packets(flows: u32, dir: Dir) -> Vec<Meta> {
    let kind = if dir == Dir::Forward { Kind::Data } else { Kind::PureAck };
    let meta = |packet: u32, flow: u32| {
        let (seq_end, window) = (packet * SIZE, flow % 12 * SIZE);
        let tcp = Some(TcpView { seq_end, ack: seq_end.wrapping_sub(window), ..TcpView::default() });
        Meta { flow: FlowId(flow), tcp, dir, kind, ..Meta::default() }
    };
    (1..=PACKETS).flat_map(|packet| (0..flows).map(move |flow| meta(packet, flow))).collect()
}

/// The same packet, after `sent` more bytes.
fn later(meta: &Meta, sent: u32) -> Meta {
    let tcp = meta.tcp.map(|tcp| TcpView {
        seq_end: tcp.seq_end.wrapping_add(sent),
        ack: tcp.ack.wrapping_add(sent),
        ..tcp
    });
    black_box(Meta { tcp, ..*meta })
}

fn tcp_friendly(c: &mut Bench) {
    for flows in [10, 1000] {
        let (data, acks) = (packets(flows, Dir::Forward), packets(flows, Dir::Reverse));
        let params = TcpFriendlyParams::new(T, flows * PACKETS / 2, Bytes(u64::from(SIZE)));
        for (name, with_acks) in [("data", false), ("data and an ACK for each packet", true)] {
            let mut meter = TcpFriendly::new(params).expect("sound parameters");
            let (mut now, mut sent) = (Instant::ZERO, 0);
            let mut interval = || {
                for (data, ack) in data.iter().zip(&acks) {
                    black_box(meter.measure(now, &later(data, sent)));
                    if with_acks {
                        meter.observe_reverse(now, &later(ack, sent));
                    }
                }
                now += T;
                sent = PACKETS.wrapping_mul(SIZE).wrapping_add(sent);
            };
            let name = format!("tcp-friendly, {flows} flows: {name}");
            c.batch(&name, u64::from(flows * PACKETS), || timed(&mut interval));
        }
    }
}

fn main() {
    run(&[tcp_friendly]);
}
