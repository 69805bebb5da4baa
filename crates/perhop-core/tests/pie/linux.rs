//! Against recordings of Linux (`oracles/linux-pie`), which was given the same random numbers: every probability, drop, mark and
//! departure.

use perhop_core::queue::{DelayFrom, LinuxPie, LinuxPieParams, Pie, PieParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

use super::PARAMS;
use crate::recorded::ecn;

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../../oracles/linux-pie/", $name, ".csv"))
    };
}

/// The defaults of Linux.
pub const LINUX: LinuxPieParams = LinuxPieParams { limit: QueueSize::Packets(1000), ..published::LINUX_PIE };

fn recordings() -> [(&'static str, &'static str, LinuxPieParams); 5] {
    let rate = LinuxPieParams { delay_from: DelayFrom::DepartureRate, ..LINUX };
    let short = LinuxPieParams {
        limit: QueueSize::Packets(30),
        target: Span::from_millis(5),
        t_update: Span::from_millis(10),
        alpha: 0.25,
        beta: 2.0,
        ..LINUX
    };
    [
        ("default", recording!("default"), LINUX),
        ("ecn", recording!("ecn"), LinuxPieParams { ecn: true, beta: 0.5, ..LINUX }),
        ("bytemode", recording!("bytemode"), LinuxPieParams { byte_mode: true, ..LINUX }),
        ("dq_rate_estimator", recording!("dq_rate_estimator"), rate),
        ("short", recording!("short"), short),
    ]
}

fn stream() -> Stream {
    Stream::new(1, 0, "linux-pie")
}

/// The first line that `queue` does not repeat; `probability` says what it holds, in 2^-56, if it can.
fn first_difference<Q: Queue<TestPacket>>(
    recording: &str,
    mut queue: Q,
    probability: impl Fn(&Q) -> Option<f64>,
) -> Option<String> {
    for line in recording.lines().skip(1) {
        let [ns, what, id, len, mark] = line.split(',').collect::<Vec<_>>()[..] else { panic!("{line}") };
        let now = Instant::from_nanos(ns.parse().expect("nanoseconds"));
        let mut sink = Recorder::default();
        let same = match what {
            "update" => {
                queue.on_timeout(now, &mut sink);
                let theirs: u64 = id.parse().expect("a probability");
                let theirs = theirs as f64 / ((1u64 << 56) - 1) as f64;
                probability(&queue).is_none_or(|ours| ours.to_bits() == theirs.to_bits())
            }
            "out" => {
                let left = queue.dequeue(now, &mut sink).expect("a packet waits");
                left.id().to_string() == id
            }
            _ => {
                let pkt = TestPacket::data(id.parse().expect("a number"))
                    .len(len.parse().expect("bytes"))
                    .ecn(ecn(mark));
                queue.enqueue(now, pkt, &mut sink);
                let recorded: Vec<_> = sink.events.iter().map(|recorded| recorded.event).collect();
                recorded
                    == match what {
                        "in" => vec![Event::Enqueued],
                        "mark" => vec![Event::Marked, Event::Enqueued],
                        "drop" => vec![Event::Dropped(DropReason::Early)],
                        "full" => vec![Event::Dropped(DropReason::Overflow)],
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

fn linux(recording: &str, params: LinuxPieParams) -> Option<String> {
    let queue = LinuxPie::new(SiteId(0), params, stream()).expect("sound parameters");
    first_difference(recording, queue, |queue| Some(queue.probability()))
}

#[test]
fn probabilities_drops_marks_and_departures_are_those_of_linux() {
    for (name, recording, params) in recordings() {
        assert_eq!(linux(recording, params), None, "{name}");
    }
}

/// Drops, marks and refusals are all there often enough.
#[test]
fn the_recordings_say_something() {
    for (what, least) in
        [(",drop,", 1000), (",mark,", 15), (",full,", 100), (",out,", 10_000), (",update,", 10_000)]
    {
        let met: usize = recordings().iter().map(|(_, recording, _)| recording.matches(what).count()).sum();
        assert!(met >= least, "{what} {met}");
    }
}

#[test]
fn each_setting_makes_a_difference() {
    let all = recordings();
    let others = [
        (0, LinuxPieParams { max_burst: Span::from_millis(140), ..all[0].2 }),
        (2, LinuxPieParams { mtu: Bytes(1500), ..all[2].2 }),
        (1, LinuxPieParams { ecn: false, ..all[1].2 }),
        (2, LinuxPieParams { byte_mode: false, ..all[2].2 }),
        (3, LinuxPieParams { delay_from: DelayFrom::Timestamps, ..all[3].2 }),
        (4, LinuxPieParams { alpha: 0.125, ..all[4].2 }),
        (4, LinuxPieParams { beta: 1.9375, ..all[4].2 }),
        (4, LinuxPieParams { t_update: Span::from_millis(11), ..all[4].2 }),
        (4, LinuxPieParams { target: Span::from_millis(6), ..all[4].2 }),
    ];
    for (of, params) in others {
        assert!(linux(all[of].1, params).is_some(), "{params:?}");
    }
}

/// Linux is not the RFC with everything that the RFC leaves open turned on.
#[test]
fn the_queue_of_the_rfc_is_another() {
    let params = PieParams { derandomize: true, cap_adjustment: true, mean_packet: Bytes(1514), ..PARAMS };
    let queue = Pie::new(SiteId(0), params, stream()).expect("sound parameters");
    assert!(first_difference(recording!("default"), queue, |_| None).is_some());
}

#[test]
fn what_cannot_be_is_refused() {
    let refused =
        |params| LinuxPie::<TestPacket>::new(SiteId(0), params, stream()).expect_err("refused").to_string();
    for (params, why) in [
        (LinuxPieParams { limit: QueueSize::Bytes(0), ..LINUX }, "limit"),
        (LinuxPieParams { target: Span::ZERO, ..LINUX }, "target: must exceed 0s"),
        (LinuxPieParams { t_update: Span::ZERO, ..LINUX }, "t_update: must exceed 0s"),
        (LinuxPieParams { alpha: 0.1, ..LINUX }, "alpha: must be a multiple of 0.0625"),
        (LinuxPieParams { beta: 2.0625, ..LINUX }, "beta: must be a multiple of 0.0625"),
        (LinuxPieParams { beta: f64::NAN, ..LINUX }, "beta: must be a multiple of 0.0625"),
        (LinuxPieParams { mtu: Bytes(0), ..LINUX }, "mean_packet"),
    ] {
        assert!(refused(params).contains(why), "{}", refused(params));
    }
}
