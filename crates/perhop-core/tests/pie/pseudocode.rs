//! The pseudo-code of RFC 8033, Appendix A, with the options of section 5 and Appendix B, line by line, against the queue; `random()
//! < p` is the same draw in both.

use std::collections::VecDeque;

use perhop_core::packet::Ecn;
use perhop_core::queue::{DelayFrom, Pie, PieParams, Queue};
use perhop_core::rng::{Chance, Stream};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

use super::PARAMS;

/// What becomes of an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Enqueued,
    Marked,
    Dropped,
    Full,
}

/// Which options are taken, and the values of the constants; times in seconds.
#[derive(Clone, Copy)]
struct Options {
    qdelay_ref: f64,
    t_update: f64,
    max_burst: f64,
    tail_drop: usize,
    timestamps: bool,
    derandomize: bool,
    cap: bool,
    ecn: bool,
    active_third: bool,
}

struct Pseudocode {
    of: Options,
    queue: VecDeque<(u32, f64, f64)>,
    bytes: f64,
    random: Chance,
    drop_prob: f64,
    accu_prob: f64,
    current_qdelay: f64,
    qdelay_old: f64,
    burst_allowance: f64,
    active: bool,
    last_timestamp: f64,
    in_measurement: bool,
    measurement_start: f64,
    dq_count: f64,
    avg_dq_time: f64,
}

impl Pseudocode {
    fn new(of: Options, random: Chance) -> Self {
        Self {
            of,
            queue: VecDeque::new(),
            bytes: 0.0,
            random,
            drop_prob: 0.0,
            accu_prob: 0.0,
            current_qdelay: 0.0,
            qdelay_old: 0.0,
            burst_allowance: of.max_burst,
            active: !of.active_third,
            last_timestamp: 0.0,
            in_measurement: false,
            measurement_start: 0.0,
            dq_count: 0.0,
            avg_dq_time: 0.0,
        }
    }

    fn byte_length(&self) -> f64 {
        self.bytes
    }

    fn congestion_went_away(&self) -> bool {
        self.drop_prob == 0.0
            && self.current_qdelay < self.of.qdelay_ref / 2.0
            && self.qdelay_old < self.of.qdelay_ref / 2.0
    }

    fn enque(&mut self, now: f64, id: u32, size: f64, ecn_capable: bool) -> Outcome {
        if self.queue.len() + 1 > self.of.tail_drop {
            self.accu_prob = 0.0;
            return Outcome::Full;
        }
        if !self.active && self.queue.len() >= self.of.tail_drop / 3 {
            self.active = true;
            self.qdelay_old = 0.0;
            self.drop_prob = 0.0;
            self.in_measurement = true;
            self.dq_count = 0.0;
            self.avg_dq_time = 0.0;
            self.last_timestamp = now;
            self.burst_allowance = self.of.max_burst;
            self.accu_prob = 0.0;
            self.measurement_start = now;
        }
        if self.congestion_went_away() {
            self.burst_allowance = self.of.max_burst;
        }
        let mut outcome = Outcome::Enqueued;
        if self.active && self.burst_allowance <= 0.0 && self.drop_early() {
            self.accu_prob = 0.0;
            let mark = self.of.ecn && self.drop_prob < 0.1 && ecn_capable;
            outcome = if mark { Outcome::Marked } else { Outcome::Dropped };
        }
        if outcome != Outcome::Dropped {
            self.queue.push_back((id, size, now));
            self.bytes += size;
        }
        outcome
    }

    fn drop_early(&mut self) -> bool {
        if (self.qdelay_old < self.of.qdelay_ref / 2.0 && self.drop_prob < 0.2)
            || self.byte_length() <= 2.0 * 1000.0
        {
            return false;
        }
        if self.of.derandomize {
            if self.drop_prob == 0.0 {
                self.accu_prob = 0.0;
            }
            self.accu_prob += self.drop_prob;
            if self.accu_prob < 0.85 {
                return false;
            }
            if self.accu_prob >= 8.5 {
                return true;
            }
        }
        self.random.happens(self.drop_prob)
    }

    fn calculate_drop_prob(&mut self, now: f64) {
        // the last of these may be a nanosecond early in floats
        if now - self.last_timestamp < self.of.t_update - 1e-9 || !self.active {
            return;
        }
        if !self.of.timestamps {
            self.current_qdelay = self.byte_length() * self.avg_dq_time / 16384.0;
        }
        let mut p = 0.125 * (self.current_qdelay - self.of.qdelay_ref)
            + 1.25 * (self.current_qdelay - self.qdelay_old);
        if self.drop_prob < 0.000_001 {
            p /= 2048.0;
        } else if self.drop_prob < 0.000_01 {
            p /= 512.0;
        } else if self.drop_prob < 0.000_1 {
            p /= 128.0;
        } else if self.drop_prob < 0.001 {
            p /= 32.0;
        } else if self.drop_prob < 0.01 {
            p /= 8.0;
        } else if self.drop_prob < 0.1 {
            p /= 2.0;
        }
        if self.of.cap && self.drop_prob >= 0.1 && p > 0.02 {
            p = 0.02;
        }
        self.drop_prob += p;
        if self.current_qdelay == 0.0 && self.qdelay_old == 0.0 {
            self.drop_prob *= 0.98;
        }
        self.drop_prob = self.drop_prob.clamp(0.0, 1.0);
        if self.of.active_third && self.congestion_went_away() {
            self.active = false;
        }
        self.qdelay_old = self.current_qdelay;
        self.last_timestamp = now;
        self.burst_allowance = f64::max(0.0, self.burst_allowance - self.of.t_update);
        if self.burst_allowance < 1e-9 {
            self.burst_allowance = 0.0;
        }
    }

    fn deque(&mut self, now: f64) -> Option<u32> {
        let (id, size, came) = self.queue.pop_front()?;
        self.bytes -= size;
        if self.of.timestamps {
            self.current_qdelay = if self.queue.is_empty() { 0.0 } else { now - came };
            return Some(id);
        }
        if self.in_measurement {
            self.dq_count += size;
            if self.dq_count >= 16384.0 {
                let dq_time = now - self.measurement_start;
                if self.avg_dq_time == 0.0 {
                    self.avg_dq_time = dq_time;
                } else {
                    let weight = 16384.0 / 65536.0;
                    self.avg_dq_time = dq_time * weight + self.avg_dq_time * (1.0 - weight);
                }
                self.in_measurement = false;
            }
        }
        if self.byte_length() >= 16384.0 && !self.in_measurement {
            self.in_measurement = true;
            self.measurement_start = now;
            self.dq_count = 0.0;
        }
        Some(id)
    }
}

fn variants() -> [(&'static str, Options); 8] {
    let basic = Options {
        qdelay_ref: 0.015,
        t_update: 0.015,
        max_burst: 0.15,
        tail_drop: 300,
        timestamps: true,
        derandomize: false,
        cap: false,
        ecn: false,
        active_third: false,
    };
    [
        ("basic", basic),
        ("derandomized", Options { derandomize: true, ..basic }),
        ("capped", Options { cap: true, tail_drop: 100_000, ..basic }),
        ("marking", Options { ecn: true, ..basic }),
        ("by rate", Options { timestamps: false, ..basic }),
        ("active", Options { active_third: true, tail_drop: 90, ..basic }),
        ("quick", Options { qdelay_ref: 0.002, t_update: 0.003, max_burst: 0.01, ..basic }),
        (
            "all",
            Options {
                timestamps: false,
                derandomize: true,
                cap: true,
                ecn: true,
                active_third: true,
                tail_drop: 120,
                ..basic
            },
        ),
    ]
}

fn params(of: Options) -> PieParams {
    let span = |seconds: f64| Span::from_nanos((seconds * 1e9).round() as u64);
    PieParams {
        limit: QueueSize::Packets(of.tail_drop as u64),
        target: span(of.qdelay_ref),
        t_update: span(of.t_update),
        max_burst: span(of.max_burst),
        delay_from: if of.timestamps { DelayFrom::Timestamps } else { DelayFrom::DepartureRate },
        active_from: of.active_third.then_some(QueueSize::Packets(of.tail_drop as u64 / 3)),
        derandomize: of.derandomize,
        cap_adjustment: of.cap,
        ecn: of.ecn,
        ..PARAMS
    }
}

/// Phases of light and of heavy load, and of silence; every outcome, departure and probability is compared.
#[test]
fn the_queue_decides_as_the_pseudocode() {
    let mut counts = [0; 4];
    for (variant, (name, of)) in (0..).zip(variants()) {
        let stream = || Stream::new(5, variant, "chances");
        let mut queue = Pie::new(SiteId(0), params(of), stream()).expect("sound parameters");
        let mut paper = Pseudocode::new(of, Chance::new(stream()));
        let mut draws = Stream::new(6, variant, "operations");
        let mut sink = Recorder::default();
        let mut now = 0;
        let before = counts;
        for step in 0..30_000 {
            let busy = [40, 56, 52, 20, 75, 51][step as usize / 2500 % 6];
            now += draws.below(600_000) + if step % 15_000 == 9_999 { 900_000_000 } else { 0 };
            while let Some(due) = queue.next_timeout().filter(|due| due.as_nanos() <= now) {
                queue.on_timeout(due, &mut sink);
                paper.calculate_drop_prob(due.as_nanos() as f64 / 1e9);
            }
            assert_eq!(queue.next_timeout().is_some(), paper.active, "{name}, operation {step}");
            let (at, seconds) = (Instant::from_nanos(now), now as f64 / 1e9);
            sink.events.clear();
            if draws.below(100) < busy {
                let len = [40, 576, 1250, 1500, 1 + draws.below(1500)][draws.below(5) as usize];
                let ecn = if draws.below(2) == 0 { Ecn::Ect0 } else { Ecn::NotEct };
                queue.enqueue(at, TestPacket::data(step).len(len).ecn(ecn), &mut sink);
                let ours = match sink.events[0].event {
                    Event::Enqueued => Outcome::Enqueued,
                    Event::Marked => Outcome::Marked,
                    Event::Dropped(DropReason::Early) => Outcome::Dropped,
                    Event::Dropped(DropReason::Overflow) => Outcome::Full,
                    other => panic!("{other:?}"),
                };
                let theirs = paper.enque(seconds, step, len as f64, ecn == Ecn::Ect0);
                assert_eq!(ours, theirs, "{name}, operation {step}");
                counts[theirs as usize] += 1;
            } else {
                let ours = queue.dequeue(at, &mut sink).map(|pkt| pkt.id());
                assert_eq!(ours, paper.deque(seconds), "{name}, operation {step}");
            }
            let apart = (queue.probability() - paper.drop_prob).abs();
            assert!(apart < 1e-9, "{name}, operation {step}: {} {}", queue.probability(), paper.drop_prob);
        }
        let dropped = counts[Outcome::Dropped as usize] - before[Outcome::Dropped as usize];
        assert!(dropped > 300, "{name}: {dropped} drops say little");
    }
    let enough = counts.iter().zip([10_000, 20, 5000, 1000]).all(|(met, least)| *met >= least);
    assert!(enough, "{counts:?} says little");
}
