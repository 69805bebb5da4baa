//! Against recordings of Linux (`oracles/linux-fq-codel`): every drop, every mark and every departure.

use perhop_core::packet::{Ecn, Meta, Packet};
use perhop_core::queue::{CodelConventions, CodelParams, FqConventions, FqParams, Queue};
use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

use super::{CODEL, PARAMS, fq_codel};
use crate::recorded::ecn;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../oracles/linux-fq-codel/", $name, ".csv"))
    };
}

type Recording = (&'static str, &'static str, FqParams, CodelParams);

fn recordings() -> [Recording; 4] {
    let fq = |limit, quantum, drop_batch| FqParams {
        limit: QueueSize::Packets(limit),
        quantum: Bytes(quantum),
        drop_batch,
        conventions: FqConventions::LINUX,
        ..PARAMS
    };
    let codel = |target, interval, ecn, ce_threshold: Option<u64>| CodelParams {
        target: Span::from_micros(target),
        interval: Span::from_micros(interval),
        ecn,
        ce_threshold: ce_threshold.map(Span::from_micros),
        conventions: CodelConventions::linux(Bytes(1514)),
        ..CODEL
    };
    [
        ("default", recording!("default"), fq(10_240, 1514, 64), codel(5000, 100_000, true, None)),
        ("short", recording!("short"), fq(60, 300, 8), codel(2000, 20_000, false, None)),
        (
            "ce_threshold",
            recording!("ce_threshold"),
            fq(200, 1514, 64),
            codel(3000, 30_000, true, Some(8000)),
        ),
        ("full", recording!("full"), fq(100, 3000, 64), codel(5000, 100_000, false, None)),
    ]
}

/// What a recording says of a packet: what became of it, its number, its ECN field.
type Line = (&'static str, u32, Ecn);

/// The first line that perhop's queue does not repeat.
fn first_difference((_, recording, params, inside): Recording) -> Option<String> {
    let mut queue = fq_codel(params, inside);
    let mut sink = Recorder::default();
    let mut lines = recording.lines().skip(1).peekable();
    while let Some(line) = lines.next() {
        let [ns, what, flow, id, len, mark] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let now = Instant::from_nanos(ns.parse().expect("nanoseconds"));
        let number = |id: &str| id.parse::<u32>().expect("a number");
        sink.events.clear();
        let (mut ours, mut expected) = (Vec::<Line>::new(), Vec::<Line>::new());
        let of = |meta: &Meta| (meta.tcp.expect("a number").seq_end, meta.ecn);
        if what == "in" {
            let pkt = TestPacket::data(number(id)).flow(number(flow)).len(len.parse().expect("bytes"));
            queue.enqueue(now, pkt.ecn(ecn(mark)), &mut sink);
            while let Some(over) = lines.next_if(|line| line.contains(",over,")) {
                let [_, _, _, id, _, mark] = over.split(',').collect::<Vec<_>>()[..] else {
                    panic!("{over}")
                };
                expected.push(("over", number(id), ecn(mark)));
            }
            let dropped = sink.of(Event::Dropped(DropReason::Overflow)).map(of);
            ours.extend(dropped.map(|(id, ecn)| ("over", id, ecn)));
        } else {
            let mut line = line;
            loop {
                let [_, what, _, id, _, mark] = line.split(',').collect::<Vec<_>>()[..] else {
                    panic!("{line}")
                };
                match what {
                    "none" => break,
                    "out" => break expected.push(("out", number(id), ecn(mark))),
                    "drop" => expected.push(("drop", number(id), ecn(mark))),
                    _ => panic!("{line}"),
                }
                line = lines.next().expect("what a call drops comes before what it returns");
            }
            let left = queue.dequeue(now, &mut sink);
            let dropped = sink.of(Event::Dropped(DropReason::Sojourn)).map(of);
            ours.extend(dropped.map(|(id, ecn)| ("drop", id, ecn)));
            ours.extend(left.iter().map(|pkt| of(pkt.meta())).map(|(id, ecn)| ("out", id, ecn)));
        }
        if ours != expected {
            return Some(line.to_owned());
        }
    }
    None
}

#[test]
fn drops_marks_and_departures_are_those_of_linux() {
    for recording in recordings() {
        assert_eq!(first_difference(recording), None, "{}", recording.0);
    }
}

/// Drops of both kinds, and calls that find nothing, are all there often enough.
#[test]
fn the_recordings_say_something() {
    for (what, least) in [(",drop,", 1000), (",over,", 500), (",none,", 300), (",out,", 10_000)] {
        let met: usize = recordings().iter().map(|(_, recording, ..)| recording.matches(what).count()).sum();
        assert!(met >= least, "{what} {met}");
    }
}

#[test]
fn each_convention_makes_a_difference() {
    type TurnOff = fn(&mut FqConventions);
    let without: [(&str, TurnOff); 4] = [
        ("half_bytes", |of| of.half_bytes = false),
        ("overflow_counts", |of| of.overflow_counts = false),
        ("common_backlog", |of| of.common_backlog = false),
        ("forget_new", |of| of.forget_new = false),
    ];
    for (name, turn_off) in without {
        let differs = recordings().into_iter().any(|mut recording| {
            turn_off(&mut recording.2.conventions);
            first_difference(recording).is_some()
        });
        assert!(differs, "{name}");
    }
}
