//! Against recordings of Linux (`oracles/linux-cobalt`): every drop, every mark and every departure.

use crate::recorded::ecn;
use perhop_core::packet::{Ecn, Meta, Packet};
use perhop_core::queue::{Cobalt, CobaltParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

macro_rules! recording {
    ($name:literal) => {
        ($name, include_str!(concat!("../../../../oracles/linux-cobalt/", $name, ".csv")))
    };
}

type Recording = ((&'static str, &'static str), CobaltParams);

const DEFAULT: CobaltParams =
    CobaltParams { limit: QueueSize::Packets(1000), ecn: true, ..published::COBALT };

fn recordings() -> [Recording; 5] {
    let micros = Span::from_micros;
    let overflow = CobaltParams { limit: QueueSize::Packets(40), packet_time: micros(1_200), ..DEFAULT };
    let blue = CobaltParams {
        limit: QueueSize::Bytes(30_000),
        target: micros(2_000),
        interval: micros(20_000),
        p_inc: 0.05,
        p_dec: 0.01,
        ..DEFAULT
    };
    let idle = CobaltParams {
        limit: QueueSize::Packets(12),
        target: micros(1_000),
        interval: micros(4_000),
        ..DEFAULT
    };
    let slow = CobaltParams { limit: QueueSize::Bytes(60_000), packet_time: micros(12_000), ..DEFAULT };
    [
        (recording!("default"), DEFAULT),
        (recording!("slow"), slow),
        (recording!("overflow"), overflow),
        (recording!("blue"), blue),
        (recording!("idle"), idle),
    ]
}

/// What became of a packet, its number, its length, its ECN field.
type Line<'a> = (&'a str, u32, u64, Ecn);

fn line<'a>(what: &'a str, meta: &Meta) -> Line<'a> {
    (what, id(meta), meta.len.0, meta.ecn)
}

/// The first line that perhop's queue does not repeat.
fn first_difference(recording: &str, params: CobaltParams) -> Option<String> {
    let mut queue = Cobalt::new(SiteId(0), params, Stream::new(1, 0, "cobalt")).expect("sound parameters");
    let mut sink = Recorder::default();
    // what perhop did, of which the recording has not told yet
    let mut ours: Vec<Line> = Vec::new();
    for text in recording.lines().skip(1) {
        let [ns, what, id, len, mark] = text.split(',').collect::<Vec<_>>()[..] else { panic!("{text}") };
        let now = Instant::from_nanos(ns.parse().expect("nanoseconds"));
        let theirs = || (what, id.parse().expect("a number"), len.parse().expect("bytes"), ecn(mark));
        let answers_this = matches!(what, "drop" | "out" | "full");
        if ours.is_empty() && matches!(what, "drop" | "out" | "none") {
            sink.events.clear();
            let left = queue.dequeue(now, &mut sink);
            let chosen = sink.events.iter().filter(|recorded| matches!(recorded.event, Event::Dropped(_)));
            ours.extend(chosen.map(|recorded| line("drop", &recorded.meta)));
            ours.extend(left.iter().map(|pkt| line("out", pkt.meta())));
        }
        if answers_this == ours.is_empty() || answers_this && ours.remove(0) != theirs() {
            return Some(text.to_owned());
        }
        if what == "in" {
            sink.events.clear();
            let (_, id, len, ecn) = theirs();
            queue.enqueue(now, TestPacket::data(id).len(len).ecn(ecn), &mut sink);
            ours.extend(sink.of(Event::Dropped(DropReason::Overflow)).map(|meta| line("full", meta)));
        }
    }
    None
}

#[test]
fn drops_marks_and_departures_are_those_of_linux() {
    for ((name, recording), params) in recordings() {
        assert_eq!(first_difference(recording, params), None, "{name}");
    }
}

/// Drops, marks, overflows and calls that find nothing are all there often enough.
#[test]
fn the_recordings_say_something() {
    for (what, least) in [(",drop,", 1000), (",full,", 500), (",none,", 5000), (",out,", 10_000)] {
        let met: usize = recordings().iter().map(|((_, text), _)| text.matches(what).count()).sum();
        assert!(met >= least, "{what} {met}");
    }
}

#[test]
fn each_parameter_makes_a_difference() {
    type Change = fn(&mut CobaltParams);
    let changes: [(&str, Change); 6] = [
        ("target", |of| of.target = Span::from_nanos(of.target.as_nanos() * 9 / 10)),
        ("interval", |of| of.interval = Span::from_nanos(of.interval.as_nanos() * 9 / 10)),
        ("packet_time", |of| of.packet_time = Span::ZERO),
        ("ecn", |of| of.ecn = false),
        ("p_inc", |of| of.p_inc *= 0.9),
        ("p_dec", |of| of.p_dec *= 0.5),
    ];
    for (name, change) in changes {
        let differs = recordings().into_iter().any(|((_, recording), mut params)| {
            change(&mut params);
            first_difference(recording, params).is_some()
        });
        assert!(differs, "{name}");
    }
}

/// A state of Linux that never dropped has a root of 0: the second late packet is dropped, an interval too early.
#[test]
fn a_fresh_queue_of_linux_drops_the_second_late_packet() {
    let (_, fresh) = recording!("fresh");
    let first_drop = fresh.lines().find(|line| line.contains(",drop,"));
    assert_eq!(first_difference(fresh, DEFAULT).as_deref(), first_drop);
}
