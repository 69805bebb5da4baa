//! The average queue against recordings of ns-2 (`oracles/ns2-2.35-red`), without drops.

use perhop_core::queue::{Queue, Red, RedParams};
use perhop_core::rng::Stream;
use perhop_core::sink::SiteId;
use perhop_core::time::Instant;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::aqm::{RED, packets};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::Recorder;

/// Ticks of 1/1024 s to send a packet.
const PACKET: u64 = 8;

fn at(tick: u64) -> Instant {
    Instant::from_nanos(tick * (1_000_000_000 / 512) / 2)
}

/// The link: sends while something waits, and each packet takes its time.
struct Link {
    queue: Red<TestPacket>,
    /// When the packet on the wire has left, if there is one.
    busy_until: Option<u64>,
    sink: Recorder,
}

impl Link {
    fn next(&mut self, tick: u64) {
        let sent = self.queue.dequeue(at(tick), &mut self.sink).is_some();
        self.busy_until = sent.then_some(tick + PACKET);
    }

    fn arrive(&mut self, tick: u64) {
        // what arrives as a packet ends to be sent comes first, as in ns-2
        while let Some(end) = self.busy_until.filter(|&end| end < tick) {
            self.next(end);
        }
        self.queue.enqueue(at(tick), TestPacket::data(0).len(1024), &mut self.sink);
        if self.busy_until.is_none() {
            self.next(tick);
        }
    }
}

fn equals(w_q: f64, recording: &str) {
    let params = RedParams {
        limit: QueueSize::Packets(1000),
        thresholds: packets(100_000, 200_000, 0.1),
        w_q,
        mean_packet: Bytes(1024),
        rate: BitRate::new(1_048_576).expect("more than zero"),
        ..RED
    };
    let queue = Red::new(SiteId(0), params, Stream::new(1, 0, "red")).expect("sound parameters");
    let mut link = Link { queue, busy_until: None, sink: Recorder::default() };
    let lines: Vec<&str> = recording.lines().skip(1).collect();
    assert!(lines.len() > 1500, "{} arrivals", lines.len());
    for line in lines {
        let (tick, average) = line.split_once(',').expect("two columns");
        let (tick, average): (u64, f64) = (tick.parse().expect("a tick"), average.parse().expect("a number"));
        link.arrive(tick);
        let [ours] = link.queue.averages();
        // ns-2 prints six digits
        assert!((ours - average).abs() <= 6e-6 * average, "tick {tick}: {ours} and {average}");
    }
}

#[test]
fn the_average_equals_that_of_ns2() {
    equals(0.002, include_str!("../../../../oracles/ns2-2.35-red/average_0.002.csv"));
    equals(0.125, include_str!("../../../../oracles/ns2-2.35-red/average_0.125.csv"));
}
