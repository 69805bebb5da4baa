//! Against recordings of Linux (`oracles/linux-dualpi2`), which was given the same random numbers: every drop, mark and departure, and
//! the base probability.

use crate::recorded::ecn;
use perhop_core::packet::Packet;
use perhop_core::queue::{DualPi2, DualPi2Params, LinuxDualPi2, LinuxDualPi2Params, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../oracles/linux-dualpi2/", $name, ".csv"))
    };
}

const LINUX: LinuxDualPi2Params = LinuxDualPi2Params::LINUX;

fn recordings() -> [(&'static str, &'static str, LinuxDualPi2Params); 4] {
    let settings = LinuxDualPi2Params {
        limit: QueueSize::Packets(60),
        target: Span::from_millis(5),
        t_update: Span::from_millis(10),
        alpha: 2.0,
        beta: 10.0,
        coupling: 3.0,
        l4s_threshold: Span::from_millis(3),
        classic_share: 0.25,
        ..LINUX
    };
    let strong = LinuxDualPi2Params {
        limit: QueueSize::Packets(300),
        target: Span::from_millis(20),
        t_update: Span::from_millis(20),
        alpha: 1000.0,
        beta: 1000.0,
        coupling: 1.0,
        l4s_threshold: Span::from_millis(5),
        classic_share: 0.6,
        ..LINUX
    };
    let overload = LinuxDualPi2Params { limit: QueueSize::Packets(120), ..LINUX };
    [
        ("default", recording!("default"), LINUX),
        ("overload", recording!("overload"), overload),
        ("settings", recording!("settings"), settings),
        ("strong", recording!("strong"), strong),
    ]
}

fn stream() -> Stream {
    Stream::new(1, 0, "linux-dualpi2")
}

/// The first line that `queue` does not repeat; `base` is its base probability, if that is compared.
fn first_difference<Q: Queue<TestPacket>>(
    recording: &str,
    mut queue: Q,
    base: impl Fn(&Q) -> Option<f64>,
) -> Option<String> {
    let (mut dropped, mut theirs) = (Vec::new(), 0.0);
    for line in recording.lines().skip(1) {
        let [ns, what, id, len, mark] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let now = Instant::from_nanos(ns.parse().expect("nanoseconds"));
        let id: u32 = id.parse().expect("a number");
        let mut sink = Recorder::default();
        let same = match what {
            "update" => {
                theirs = f64::from(id) / f64::from(u32::MAX);
                continue;
            }
            "drop" => {
                dropped.push(id);
                continue;
            }
            "in" | "full" => {
                let ecn = ecn(mark);
                let pkt = TestPacket::data(id).len(len.parse().expect("bytes")).ecn(ecn);
                queue.enqueue(now, pkt, &mut sink);
                let expected =
                    if what == "in" { Event::Enqueued } else { Event::Dropped(DropReason::Overflow) };
                sink.events.iter().map(|recorded| recorded.event).eq([expected])
            }
            _ => {
                let left = queue.dequeue(now, &mut sink).map(|pkt| (pkt.id(), pkt.meta().ecn));
                let ours = sink.of(Event::Dropped(DropReason::Early));
                let ours = ours.map(|meta| meta.tcp.expect("a number").seq_end);
                let out = (what == "out").then(|| (id, ecn(mark)));
                ours.eq(dropped.drain(..)) && left == out
            }
        };
        if !same || base(&queue).is_some_and(|ours| ours.to_bits() != theirs.to_bits()) {
            return Some(line.to_owned());
        }
    }
    None
}

fn linux(recording: &str, params: LinuxDualPi2Params) -> Option<String> {
    let queue = LinuxDualPi2::new(SiteId(0), params, stream()).expect("sound parameters");
    first_difference(recording, queue, |queue| Some(queue.base_probability()))
}

//= test sch_dualpi2-calculate_probability-change
//= test sch_dualpi2-dequeue_packet-credit
//= test sch_dualpi2-must_drop-short
//= test sch_dualpi2-do_step_aqm-step
//= test sch_dualpi2-scalable_marking-overload
//= test sch_dualpi2-classic_marking-twice
#[test]
fn drops_marks_departures_and_probabilities_are_those_of_linux() {
    for (name, recording, params) in recordings() {
        assert_eq!(linux(recording, params), None, "{name}");
    }
}

/// Drops, overflows and updates are all there often enough, and marks beside packets that came with one.
#[test]
fn the_recordings_say_something() {
    let all = recordings();
    let count =
        |what: &str| all.iter().map(|(_, recording, _)| recording.matches(what).count()).sum::<usize>();
    for (what, least) in [(",drop,", 1000), (",full,", 500), (",out,", 8000), (",update,", 2500)] {
        assert!(count(what) >= least, "{what} {}", count(what));
    }
    let with_ce = |what: &str| {
        let lines = all.iter().flat_map(|(_, recording, _)| recording.lines());
        lines.filter(|line| line.contains(what) && line.ends_with(",3")).count()
    };
    assert!(with_ce(",out,") > 3000 + with_ce(",in,"));
}

#[test]
fn each_setting_makes_a_difference() {
    let all = recordings();
    let others = [
        (0, LinuxDualPi2Params { mtu: Bytes(1500), ..all[0].2 }),
        (0, LinuxDualPi2Params { t_update: Span::from_millis(15), ..all[0].2 }),
        (0, LinuxDualPi2Params { alpha: 42.0 / 256.0, ..all[0].2 }),
        (0, LinuxDualPi2Params { beta: 3.0, ..all[0].2 }),
        (0, LinuxDualPi2Params { target: Span::from_millis(14), ..all[0].2 }),
        (0, LinuxDualPi2Params { coupling: 3.0, ..all[0].2 }),
        (0, LinuxDualPi2Params { l4s_threshold: Span::from_micros(900), ..all[0].2 }),
        (0, LinuxDualPi2Params { classic_share: 0.11, ..all[0].2 }),
        (1, LinuxDualPi2Params { limit: QueueSize::Packets(121), ..all[1].2 }),
    ];
    for (of, params) in others {
        assert!(linux(all[of].1, params).is_some(), "{params:?}");
    }
}

/// Linux is not the RFC with a step and Linux's numbers.
#[test]
fn the_queue_of_the_rfc_is_another() {
    let LinuxDualPi2Params {
        limit,
        target,
        t_update,
        alpha,
        beta,
        coupling,
        l4s_threshold,
        classic_share,
        ..
    } = LINUX;
    let params = DualPi2Params {
        limit,
        target,
        t_update,
        alpha,
        beta,
        coupling,
        l4s_threshold,
        l4s_range: Span::ZERO,
        l4s_packets: 0,
        classic_share,
        time_shift: None,
    };
    let queue = DualPi2::new(SiteId(0), params).expect("sound parameters");
    assert!(first_difference(recording!("default"), queue, |_| None).is_some());
}

/// A rest without packets is passed over, not counted out.
#[test]
fn after_a_rest_it_begins_anew() {
    let mut queue = LinuxDualPi2::new(SiteId(0), LINUX, stream()).expect("sound parameters");
    for year in 1..100u32 {
        let now = Instant::ZERO + Span::from_secs(u64::from(year) * 31_536_000);
        queue.enqueue(now, TestPacket::data(year), &mut Recorder::default());
        assert!(queue.dequeue(now, &mut Recorder::default()).is_some());
    }
    assert_eq!(queue.base_probability().to_bits(), 0.0f64.to_bits());
}

#[test]
fn what_cannot_be_is_refused() {
    for (params, field) in [
        (LinuxDualPi2Params { limit: QueueSize::Bytes(0), ..LINUX }, "limit"),
        (LinuxDualPi2Params { target: Span::ZERO, ..LINUX }, "target"),
        (LinuxDualPi2Params { t_update: Span::ZERO, ..LINUX }, "t_update"),
        (LinuxDualPi2Params { alpha: 0.15, ..LINUX }, "alpha"),
        (LinuxDualPi2Params { beta: f64::NAN, ..LINUX }, "beta"),
        (LinuxDualPi2Params { beta: 1000.5, ..LINUX }, "beta"),
        (LinuxDualPi2Params { coupling: 1.5, ..LINUX }, "coupling"),
        (LinuxDualPi2Params { coupling: 256.0, ..LINUX }, "coupling"),
        (LinuxDualPi2Params { classic_share: 1.0 / 16.0, ..LINUX }, "classic_share"),
        (LinuxDualPi2Params { mtu: Bytes(0), ..LINUX }, "mtu"),
    ] {
        let refused =
            LinuxDualPi2::<TestPacket>::new(SiteId(0), params, stream()).map(drop).expect_err(field);
        assert_eq!(refused.field, field);
    }
}
