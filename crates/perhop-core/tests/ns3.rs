//! Against recordings of ns-3.44 (`oracles/ns3-3.44-queues`), where no chance is involved: every drop and departure, and PIE's
//! probabilities.

use perhop_core::packet::{Ecn, Meta, Packet};
use perhop_core::queue::{
    Cobalt, CobaltParams, Codel, CodelConventions, CodelParams, Fifo, Fq, FqConventions, FqParams, Pie,
    PieParams, Queue,
};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../oracles/ns3-3.44-queues/", $name, ".csv"))
    };
}

/// A line of a recording.
#[derive(Clone, Copy, Debug)]
struct Line<'a> {
    now: Instant,
    what: &'a str,
    flow: u32,
    /// The number of the packet, or a probability.
    id: &'a str,
    len: u64,
    ecn: Ecn,
}

impl Line<'_> {
    fn number(&self) -> u32 {
        self.id.parse().expect("a number")
    }
}

fn lines(recording: &str) -> Vec<Line<'_>> {
    recording
        .lines()
        .skip(1)
        .map(|line| {
            let [ns, what, flow, id, len, ecn] = line.split(',').collect::<Vec<_>>()[..] else {
                panic!("{line}")
            };
            let [ns, flow, len] = [ns, flow, len].map(|number| number.parse::<u64>().expect("a number"));
            let ecn = crate::recorded::ecn(ecn);
            Line { now: Instant::from_nanos(ns), what, flow: flow as u32, id, len, ecn }
        })
        .collect()
}

/// The number of the first line that `queue` does not repeat, of `recording`; packets came as `ecn`.
fn first_difference(recording: &str, mut queue: impl Queue<TestPacket>, ecn: Ecn) -> Option<usize> {
    let all = lines(recording);
    let numbers = |sink: &Recorder, why: DropReason| -> Vec<u32> {
        sink.of(Event::Dropped(why)).map(|meta: &Meta| meta.tcp.expect("a number").seq_end).collect()
    };
    let mut at = 0;
    while at < all.len() {
        let (line, first) = (all[at], at);
        let mut sink = Recorder::default();
        // what a call pushes out or drops stands below or above it
        let others = |what: &str, at: &mut usize| {
            let from = *at;
            *at += all[from..].iter().take_while(|line| line.what == what).count();
            all[from..*at].iter().map(Line::number).collect::<Vec<_>>()
        };
        let same = match line.what {
            "in" | "full" => {
                at += 1;
                let over = others("over", &mut at);
                let pkt = TestPacket::data(line.number()).flow(line.flow).len(line.len).ecn(ecn);
                queue.enqueue(line.now, pkt, &mut sink);
                let expected = if line.what == "full" { vec![line.number()] } else { over };
                numbers(&sink, DropReason::Overflow) == expected
            }
            _ => {
                let dropped = others("drop", &mut at);
                let out = all.get(at).filter(|line| line.what == "out").copied();
                at += usize::from(all.get(at).is_some_and(|line| matches!(line.what, "out" | "none")));
                let left = queue.dequeue(line.now, &mut sink).map(|pkt| (pkt.id(), pkt.meta().ecn));
                numbers(&sink, DropReason::Sojourn) == dropped
                    && left == out.map(|out| (out.number(), out.ecn))
            }
        };
        if !same {
            return Some(first + 2);
        }
    }
    None
}

/// ns-3 looks whether less than 1500 bytes are left; otherwise its `CoDel` is Linux's.
const CODEL: CodelParams = CodelParams {
    limit: QueueSize::Packets(1000),
    target: Span::from_millis(5),
    interval: Span::from_millis(100),
    ecn: false,
    ce_threshold: None,
    conventions: CodelConventions::linux(Bytes(1499)),
    ack_filter: None,
};
const SHORT_CODEL: CodelParams = CodelParams {
    limit: QueueSize::Packets(60),
    target: Span::from_millis(2),
    interval: Span::from_millis(20),
    ..CODEL
};

fn codel(params: CodelParams) -> Codel<TestPacket> {
    Codel::new(SiteId(0), params).expect("sound parameters")
}

#[test]
fn codel_drops_what_ns3_drops() {
    assert_eq!(first_difference(recording!("codel"), codel(CODEL), Ecn::NotEct), None);
    assert_eq!(first_difference(recording!("codel-short"), codel(SHORT_CODEL), Ecn::NotEct), None);
    let conventions = CodelConventions::RFC8289;
    assert!(
        first_difference(recording!("codel"), codel(CodelParams { conventions, ..CODEL }), Ecn::NotEct)
            .is_some()
    );
}

/// The mark after the first is due a gap after that was made, not after it was due.
#[test]
fn marks_of_ns3_are_a_little_later() {
    let queue = codel(CodelParams { ecn: true, ..CODEL });
    let differs = first_difference(recording!("codel-marks"), queue, Ecn::Ect0).expect("a difference");
    let before =
        lines(recording!("codel-marks"))[..differs - 2].iter().filter(|line| line.ecn == Ecn::Ce).count();
    assert!(before >= 2, "{before}");
}

const COBALT: CobaltParams =
    CobaltParams { limit: QueueSize::Packets(1000), p_inc: 0.0, p_dec: 0.1, ..published::COBALT };
const SHORT_COBALT: CobaltParams =
    CobaltParams { target: Span::from_millis(2), interval: Span::from_millis(20), ..COBALT };

fn stream() -> Stream {
    Stream::new(1, 0, "ns3")
}

fn cobalt(params: CobaltParams) -> Cobalt<TestPacket> {
    Cobalt::new(SiteId(0), params, stream()).expect("sound parameters")
}

#[test]
fn cobalt_drops_what_ns3_drops() {
    assert_eq!(first_difference(recording!("cobalt"), cobalt(COBALT), Ecn::NotEct), None);
    assert_eq!(first_difference(recording!("cobalt-short"), cobalt(SHORT_COBALT), Ecn::NotEct), None);
}

/// A batch of drops ends with half the bytes; the rest is the RFC's.
const FQ: FqParams = FqParams {
    limit: QueueSize::Packets(10_240),
    conventions: FqConventions { half_bytes: true, ..FqConventions::RFC8290 },
    ..published::FQ
};

#[test]
fn flow_queueing_serves_and_drops_as_ns3() {
    let everything = QueueSize::Packets(u64::MAX);
    let inside = CodelParams { limit: everything, ..CODEL };
    let fq_codel = |params| Fq::new(SiteId(0), params, stream(), move |_| Codel::new(SiteId(0), inside));
    let full = FqParams { limit: QueueSize::Packets(80), ..FQ };
    let queue = fq_codel(FQ).expect("sound parameters");
    assert_eq!(first_difference(recording!("fq-codel"), queue, Ecn::NotEct), None);
    let queue = fq_codel(full).expect("sound parameters");
    assert_eq!(first_difference(recording!("fq-codel-full"), queue, Ecn::NotEct), None);
    let by_packets =
        fq_codel(FqParams { conventions: FqConventions::RFC8290, ..full }).expect("sound parameters");
    assert!(first_difference(recording!("fq-codel-full"), by_packets, Ecn::NotEct).is_some());

    let [target, interval] = [30, 60].map(Span::from_millis);
    let inside = CobaltParams { limit: everything, target, interval, ..COBALT };
    let queue = Fq::new(SiteId(0), FQ, stream(), move |_| Cobalt::new(SiteId(0), inside, stream()));
    assert_eq!(
        first_difference(recording!("fq-cobalt"), queue.expect("sound parameters"), Ecn::NotEct),
        None
    );

    // PIE has a target of 1,000 s there, and never drops
    let params = FqParams { limit: QueueSize::Packets(100), ..FQ };
    let queue = Fq::new(SiteId(0), params, stream(), move |_| Ok(Fifo::new(SiteId(0), everything)));
    assert_eq!(first_difference(recording!("fq-pie"), queue.expect("sound parameters"), Ecn::NotEct), None);
}

const PIE: PieParams = PieParams {
    limit: QueueSize::Packets(1000),
    max_burst: Span::ZERO,
    cap_adjustment: true,
    ..published::PIE
};

/// Plays what `recording` admits, and of what it drops what `plays`; the number of the first line that differs.
fn pie_differs(recording: &str, params: PieParams, plays_drops: bool) -> Option<usize> {
    let mut queue = Pie::new(SiteId(0), params, stream()).expect("sound parameters");
    for (at, line) in lines(recording).into_iter().enumerate() {
        let mut sink = Recorder::default();
        let same = match line.what {
            "update" => {
                queue.on_timeout(line.now, &mut sink);
                let theirs: f64 = line.id.parse().expect("a probability");
                (queue.probability() - theirs).abs() < 1e-12
            }
            "out" | "none" => {
                let out = (line.what == "out").then(|| line.number());
                queue.dequeue(line.now, &mut sink).map(|pkt| pkt.id()) == out
            }
            "early" if !plays_drops => queue.probability() > 0.0,
            what => {
                queue.enqueue(line.now, TestPacket::data(line.number()).len(line.len), &mut sink);
                let expected = match what {
                    "in" => Event::Enqueued,
                    "early" => Event::Dropped(DropReason::Early),
                    "full" => Event::Dropped(DropReason::Overflow),
                    _ => panic!("{line:?}"),
                };
                sink.events.iter().map(|recorded| recorded.event).eq([expected])
            }
        };
        if !same {
            return Some(at + 2);
        }
    }
    None
}

/// Chance decides otherwise, so that only what it spared is played, to a queue that never drops.
#[test]
fn probabilities_of_pie_are_those_of_ns3() {
    let params = PieParams { mean_packet: Bytes(1 << 40), ..PIE };
    assert_eq!(pie_differs(recording!("pie"), params, false), None);
    let params = PieParams { cap_adjustment: false, ..params };
    assert!(pie_differs(recording!("pie"), params, false).is_some());
    let most = lines(recording!("pie"))
        .iter()
        .filter(|line| line.what == "update")
        .map(|line| line.id.parse::<f64>().expect("a number"))
        .fold(0.0, f64::max);
    assert!(most > 0.2, "{most}");
}

/// With gains so great the probability is 0 or 1, and nothing is left to chance.
#[test]
fn pie_drops_what_ns3_drops_where_it_is_certain() {
    let limit = QueueSize::Packets(14);
    let params = PieParams { limit, alpha: 1e7, beta: 1e8, cap_adjustment: false, ..PIE };
    assert_eq!(pie_differs(recording!("pie-certain"), params, true), None);
    assert!(
        pie_differs(
            recording!("pie-certain"),
            PieParams { max_burst: Span::from_millis(150), ..params },
            true
        )
        .is_some()
    );
}

#[test]
fn the_recordings_say_something() {
    for (recording, what, least) in [
        (recording!("codel"), ",drop,", 50),
        (recording!("codel-short"), ",drop,", 200),
        (recording!("codel-short"), ",full,", 10),
        (recording!("cobalt"), ",drop,", 40),
        (recording!("cobalt-short"), ",drop,", 150),
        (recording!("fq-codel"), ",drop,", 50),
        (recording!("fq-codel-full"), ",over,", 400),
        (recording!("fq-pie"), ",over,", 400),
        (recording!("fq-cobalt"), ",drop,", 100),
        (recording!("pie"), ",early,", 250),
        (recording!("pie-certain"), ",early,", 200),
    ] {
        let met = recording.matches(what).count();
        assert!(met >= least, "{what} {met}");
    }
}
