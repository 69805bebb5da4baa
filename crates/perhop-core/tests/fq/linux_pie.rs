//! Against recordings of Linux (`oracles/linux-fq-pie`), which was given the same random numbers: every drop, mark and departure.

use std::sync::atomic::{AtomicU64, Ordering};

use perhop_core::packet::{Meta, Packet};
use perhop_core::queue::{DelayFrom, Fq, FqConventions, FqParams, LinuxPie, LinuxPieParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

use super::PARAMS;
use crate::pie::linux;
use crate::recorded::ecn;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../oracles/linux-fq-pie/", $name, ".csv"))
    };
}

const FQ: FqParams = FqParams { conventions: FqConventions::LINUX, ..PARAMS };

const LINUX: LinuxPieParams = LinuxPieParams { limit: QueueSize::Packets(u64::MAX), ..linux::LINUX };

type Recording = (&'static str, &'static str, FqParams, LinuxPieParams);

fn recordings() -> [Recording; 3] {
    let short = FqParams { quantum: Bytes(300), ..FQ };
    let rate = LinuxPieParams { delay_from: DelayFrom::DepartureRate, byte_mode: true, ..LINUX };
    [
        ("default", recording!("default"), FQ, LINUX),
        (
            "ecn",
            recording!("ecn"),
            FQ,
            LinuxPieParams { ecn: true, target: Span::from_millis(2), beta: 0.5, ..LINUX },
        ),
        (
            "dq_rate_estimator",
            recording!("dq_rate_estimator"),
            short,
            LinuxPieParams { alpha: 0.25, beta: 2.0, ..rate },
        ),
    ]
}

/// Queues that draw in the order in which their flows begin, as those of the recordings did.
fn fq_pie(params: FqParams, inside: LinuxPieParams) -> Fq<TestPacket, LinuxPie<TestPacket>> {
    let made = AtomicU64::new(0);
    let make = move |_| {
        // the first is made to see whether one can be
        let number = made.fetch_add(1, Ordering::Relaxed).saturating_sub(1);
        let mut stream = Stream::new(1, 0, "linux-fq-pie");
        stream.turn_to(number);
        LinuxPie::new(SiteId(3), inside, stream)
    };
    Fq::new(SiteId(3), params, super::stream(1), make).expect("sound parameters")
}

/// The first line that perhop's queue does not repeat.
fn first_difference((_, recording, params, inside): Recording) -> Option<String> {
    let mut queue = fq_pie(params, inside);
    for line in recording.lines().skip(1) {
        let [ns, what, flow, id, len, mark] = line.split(',').collect::<Vec<_>>()[..] else {
            panic!("{line}")
        };
        let now = Instant::from_nanos(ns.parse().expect("nanoseconds"));
        let number = |id: &str| id.parse::<u32>().expect("a number");
        let mut sink = Recorder::default();
        while let Some(due) = queue.next_timeout().filter(|due| *due <= now) {
            queue.on_timeout(due, &mut sink);
        }
        let of = |meta: &Meta| (meta.tcp.expect("a number").seq_end, meta.ecn);
        let same = match what {
            "none" => queue.dequeue(now, &mut sink).is_none(),
            "out" => {
                let left = queue.dequeue(now, &mut sink);
                left.is_some_and(|pkt| of(pkt.meta()) == (number(id), ecn(mark)))
            }
            _ => {
                let pkt = TestPacket::data(number(id)).flow(number(flow)).len(len.parse().expect("bytes"));
                queue.enqueue(now, pkt.ecn(ecn(mark)), &mut sink);
                let recorded: Vec<_> = sink.events.iter().map(|recorded| recorded.event).collect();
                recorded
                    == match what {
                        "in" => vec![Event::Enqueued],
                        "mark" => vec![Event::Marked, Event::Enqueued],
                        "drop" => vec![Event::Dropped(DropReason::Early)],
                        _ => panic!("{line}"),
                    }
            }
        };
        if !same {
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

/// Drops, marks and calls that find nothing are all there often enough.
#[test]
fn the_recordings_say_something() {
    for (what, least) in [(",drop,", 1000), (",mark,", 10), (",none,", 100), (",out,", 8000)] {
        let met: usize = recordings().iter().map(|(_, recording, ..)| recording.matches(what).count()).sum();
        assert!(met >= least, "{what} {met}");
    }
}

#[test]
fn each_setting_makes_a_difference() {
    let all = recordings();
    let others = [
        (0, FqParams { quantum: Bytes(1000), ..all[0].2 }, all[0].3),
        (0, all[0].2, LinuxPieParams { target: Span::from_millis(16), ..all[0].3 }),
        (0, all[0].2, LinuxPieParams { t_update: Span::from_millis(16), ..all[0].3 }),
        (1, all[1].2, LinuxPieParams { ecn: false, ..all[1].3 }),
        (2, all[2].2, LinuxPieParams { byte_mode: false, ..all[2].3 }),
        (2, all[2].2, LinuxPieParams { delay_from: DelayFrom::Timestamps, ..all[2].3 }),
    ];
    for (of, params, inside) in others {
        assert!(first_difference((all[of].0, all[of].1, params, inside)).is_some(), "{params:?} {inside:?}");
    }
}
