//! Against recordings of Linux (`oracles/linux-cake`): every drop, every mark and every departure.

use std::sync::Arc;

use perhop_core::classify::{Flow, FlowKey, FlowTable, Protocol};
use perhop_core::framing::Framing;
use perhop_core::packet::{Address, Dscp, Ecn, FlowId, Meta, Packet, TrafficClass};
use perhop_core::queue::{Cake, CakeParams, Isolation, Queue, Tins};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::sink::{Event, Recorder};

use super::PARAMS;
use crate::recorded::ecn;

macro_rules! recording {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../oracles/linux-cake/", $name, ".csv")))
    };
}

type Recording = ((&'static str, &'static str), CakeParams);

fn recordings() -> [Recording; 8] {
    let limited = |bytes| CakeParams { limit: QueueSize::Bytes(bytes), ..PARAMS };
    let shaped = |kbit: u64, of| CakeParams { rate: BitRate::new(kbit * 1000), ..of };
    let framed = |overhead, mpu, of| CakeParams {
        framing: Framing { overhead: Bytes(overhead), mpu: Bytes(mpu) },
        ..of
    };
    let long = limited(4_000_000);
    let (isolation, tins) = (Isolation::Flows, Tins::Besteffort);
    let flows = CakeParams { isolation, tins, ..long };
    let srchost = CakeParams { isolation: Isolation::DualSrchost, tins: Tins::Diffserv4, ..long };
    let dsthost = CakeParams {
        isolation: Isolation::DualDsthost,
        tins: Tins::Diffserv8,
        rtt: Span::from_millis(50),
        ..limited(200_000)
    };
    let hosts = CakeParams { isolation: Isolation::Hosts, tins: Tins::Diffserv4, ..limited(200_000) };
    let diffserv8 = CakeParams { tins: Tins::Diffserv8, rtt: Span::from_millis(30), ..limited(1_000_000) };
    [
        (recording!("flows"), flows),
        (recording!("triple"), shaped(10_000, long)),
        (recording!("srchost"), shaped(2_000, framed(38, 84, srchost))),
        (recording!("dsthost"), framed(18, 64, dsthost)),
        (recording!("full"), shaped(10_000, CakeParams { rtt: Span::from_millis(20), ..limited(40_000) })),
        (recording!("hosts"), shaped(5_000, hosts)),
        (recording!("crowd"), shaped(40_000, CakeParams { tins, ..long })),
        (recording!("diffserv8"), shaped(10_000, framed(4, 60, diffserv8))),
    ]
}

/// The fields of a line.
fn fields(line: &str) -> [&str; 10] {
    line.split(',').collect::<Vec<_>>().try_into().unwrap_or_else(|_| panic!("{line}"))
}

/// The hosts of the flows of a recording.
fn hosts(recording: &str) -> Arc<FlowTable> {
    let mut table = FlowTable::new();
    for line in recording.lines().skip(1) {
        let [_, _, _, _, _, _, flow, _, src, dst] = fields(line);
        let (Ok(flow), Ok(src), Ok(dst)) = (flow.parse(), src.parse(), dst.parse()) else { continue };
        let (src, dst) = (Address(src), Address(dst));
        let key = FlowKey { src, dst, src_port: 0, dst_port: 0, protocol: Protocol::TCP };
        table.insert(FlowId(flow), Flow { key, class: TrafficClass::default() });
    }
    Arc::new(table)
}

/// What became of a packet, its number, its length, its ECN field.
type Line<'a> = (&'a str, u32, u64, Ecn);

fn line<'a>(what: &'a str, meta: &Meta) -> Line<'a> {
    (what, id(meta), meta.len.0, meta.ecn)
}

/// The first line that perhop's queue does not repeat.
fn first_difference(recording: &str, params: CakeParams, table: &Arc<FlowTable>) -> Option<String> {
    let stream = Stream::new(1, 0, "cake");
    let mut queue = Cake::new(SiteId(0), params, Arc::clone(table), stream).expect("sound parameters");
    let mut sink = Recorder::default();
    // what perhop did, of which the recording has not told yet
    let mut ours: Vec<Line> = Vec::new();
    for text in recording.lines().skip(1) {
        let [ns, what, id, len, mark, dscp, flow, back, ..] = fields(text);
        let now = Instant::from_nanos(ns.parse().expect("nanoseconds"));
        let number = |field: &str| field.parse::<u32>().expect("a number");
        let theirs = || (what, number(id), u64::from(number(len)), ecn(mark));
        let answers = matches!(what, "drop" | "out" | "over");
        if ours.is_empty() && matches!(what, "drop" | "out" | "none") {
            sink.events.clear();
            let left = queue.dequeue(now, &mut sink);
            let dropped = sink.events.iter().filter(|recorded| matches!(recorded.event, Event::Dropped(_)));
            ours.extend(dropped.map(|recorded| line("drop", &recorded.meta)));
            ours.extend(left.iter().map(|pkt| line("out", pkt.meta())));
        }
        if answers == ours.is_empty() || answers && ours.remove(0) != theirs() {
            return Some(format!("{text}, but {ours:?}"));
        }
        if what == "in" {
            sink.events.clear();
            let dscp = dscp.parse().ok().and_then(Dscp::new).expect("a DS field");
            let mut pkt = TestPacket::data(number(id)).len(number(len).into()).flow(number(flow));
            pkt = pkt.ecn(ecn(mark)).dscp(dscp);
            if back == "1" {
                pkt = pkt.back();
            }
            queue.enqueue(now, pkt, &mut sink);
            ours.extend(sink.of(Event::Dropped(DropReason::Overflow)).map(|meta| line("over", meta)));
        }
    }
    None
}

//= test cake-set_rate-quantum
//= test cake-dequeue-dither
//= test cake-dequeue-decay
#[test]
fn drops_marks_and_departures_are_those_of_linux() {
    for ((name, recording), params) in recordings() {
        assert_eq!(first_difference(recording, params, &hosts(recording)), None, "{name}");
    }
}

/// Drops of all kinds, and calls that find nothing or are too early, are there often enough.
#[test]
fn the_recordings_say_something() {
    for (what, least) in [(",drop,", 1000), (",over,", 700), (",none,", 1500), (",out,", 15_000)] {
        let met: usize = recordings().iter().map(|((_, text), _)| text.matches(what).count()).sum();
        assert!(met >= least, "{what} {met}");
    }
}

#[test]
fn each_parameter_makes_a_difference() {
    type Change = fn(&mut CakeParams);
    let changes: [(&str, Change); 8] = [
        ("rate", |of| of.rate = of.rate.and_then(|rate| BitRate::new(rate.bits_per_sec() - 8))),
        ("overhead", |of| of.framing.overhead += Bytes(1)),
        ("mpu", |of| of.framing.mpu += Bytes(60)),
        ("mtu", |of| of.mtu = Bytes(1500)),
        ("rtt", |of| of.rtt = Span::from_nanos(of.rtt.as_nanos() * 99 / 100)),
        ("tins", |of| of.tins = if of.tins == Tins::Diffserv4 { Tins::Diffserv3 } else { Tins::Diffserv4 }),
        ("isolation", |of| of.isolation = Isolation::Srchost),
        ("limit", |of| of.limit = QueueSize::Bytes(30_000)),
    ];
    for (name, change) in changes {
        let differs = |((_, recording), mut params): Recording| {
            change(&mut params);
            first_difference(recording, params, &hosts(recording)).is_some()
        };
        assert!(recordings().into_iter().any(differs), "{name}");
    }
    for isolation in [Isolation::Flows, Isolation::DualSrchost, Isolation::DualDsthost] {
        let ((name, recording), params) = recordings().into_iter().nth(1).expect("the second");
        let params = CakeParams { isolation, ..params };
        assert!(first_difference(recording, params, &hosts(recording)).is_some(), "{name} {isolation:?}");
    }
}
