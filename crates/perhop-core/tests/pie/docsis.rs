//! DOCSIS-PIE by the clauses of RFC 8034 and, line by line, against its pseudo-code; `random() < p` is the same draw in both.

use std::collections::VecDeque;

use perhop_core::packet::Ecn;
use perhop_core::queue::{DocsisPie, DocsisPieParams, Queue};
use perhop_core::rng::{Chance, Stream};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

use super::{Bench, ms};

const RATE: BitRate = match BitRate::new(8_000_000) {
    Some(rate) => rate,
    None => panic!("a rate"),
};

/// A packet of 1000 bytes takes a millisecond.
const PARAMS: DocsisPieParams =
    DocsisPieParams { limit: QueueSize::Bytes(300_000), target: Span::from_millis(10), rate: RATE };

fn bench(params: DocsisPieParams) -> Bench<DocsisPie<TestPacket>> {
    Bench::new(DocsisPie::new(SiteId(3), params, Stream::new(1, 0, "pie")).expect("sound"))
}

/// At each of `updates`, counted from 1, so many packets wait; nothing is dropped to get there.
fn hold(bench: &mut Bench<DocsisPie<TestPacket>>, waiting: u64, updates: std::ops::RangeInclusive<u64>) {
    for k in updates {
        while bench.queue.backlog().packets < waiting {
            bench.arrive(1);
        }
        while bench.queue.backlog().packets > waiting {
            bench.leave();
        }
        bench.until(ms(16 * k));
    }
}

fn near(ours: f64, theirs: f64) {
    assert!((ours - theirs).abs() < 1e-12, "{ours} is not {theirs}");
}

//= test rfc8034-A-delay
//= test rfc8034-A-controller
#[test]
fn the_probability_follows_what_waits_over_the_rate() {
    let mut bench = bench(PARAMS);
    // 90 ms: 0.25 (90 - 10) ms + 2.5 90 ms, then 0.02 at a time
    hold(&mut bench, 90, 1..=1);
    let mut expected = 0.245 / 2048.0;
    near(bench.queue.probability(), expected);
    for (k, scale) in (2..).zip([32.0, 32.0, 8.0, 8.0, 8.0, 8.0, 2.0]) {
        hold(&mut bench, 90, k..=k);
        expected += 0.02 / scale;
        near(bench.queue.probability(), expected);
    }
}

//= test rfc8034-A-special
//= test rfc8034-A-controller
#[test]
fn a_long_delay_adds_and_changes_grow_above_one() {
    let mut bench = bench(DocsisPieParams { limit: QueueSize::Packets(10_000), ..PARAMS });
    hold(&mut bench, 250, 1..=40);
    // 0.25 (250 - 10) ms is 0.06: at most 0.02 once the probability has reached 0.1, and 0.02 for more than 200 ms
    let before = bench.queue.probability();
    hold(&mut bench, 250, 41..=41);
    assert!(before > 0.1, "{before}");
    near(bench.queue.probability(), before + 0.04);
    hold(&mut bench, 250, 42..=2000);
    let most = 0.85 * 16.0;
    near(bench.queue.probability(), most);
    // scaled up by 32 above 10, by 8 above 1
    hold(&mut bench, 200, 2001..=2001);
    near(bench.queue.probability(), most + 32.0 * (0.25 * 0.19 - 2.5 * 0.05));
    hold(&mut bench, 150, 2002..=2002);
    let before = bench.queue.probability();
    assert!((1.0..10.0).contains(&before), "{before}");
    hold(&mut bench, 130, 2003..=2003);
    near(bench.queue.probability(), before + 8.0 * (0.25 * 0.12 - 2.5 * 0.02));
}

//= test rfc8034-A-special
#[test]
fn a_short_delay_lets_the_probability_decay() {
    let mut bench = bench(PARAMS);
    hold(&mut bench, 90, 1..=8);
    let before = bench.queue.probability();
    // a fall from 90 ms would take it all: 17 ms less at a time
    assert!(before > 0.01, "{before}");
    let mut expected = before;
    hold(&mut bench, 4, 9..=9);
    expected = f64::max(0.0, expected + (0.25 * -0.006 - 2.5 * 0.086) / 2.0);
    near(bench.queue.probability(), expected);
    hold(&mut bench, 4, 10..=10);
    near(bench.queue.probability(), f64::max(0.0, (expected - 0.25 * 0.006 / 2.0) * 0.98));
}

/// So many arrive, one by one as another leaves; how many are dropped.
fn knock(bench: &mut Bench<DocsisPie<TestPacket>>, n: usize) -> usize {
    (0..n).filter(|_| bench.arrive(1) == 0 || bench.leave().is_none()).count()
}

//= test rfc8034-A-inactive
//= test rfc8034-A-burst
#[test]
fn nothing_is_dropped_before_a_third_waits_and_the_first_drop_lets_a_burst_pass() {
    let mut bench = bench(PARAMS);
    hold(&mut bench, 99, 1..=200);
    // the probability is high, and a packet that finds 99 000 bytes is accepted
    assert!(bench.queue.probability() > 0.5);
    assert_eq!(knock(&mut bench, 500), 0);
    bench.arrive(1);
    assert_eq!(knock(&mut bench, 500), 1);
    // 142 ms are nine updates of 16 ms
    for k in 201..=209 {
        assert_eq!(knock(&mut bench, 10), 0, "{k}");
        bench.until(ms(16 * k));
        assert_eq!(bench.queue.probability().to_bits(), 0, "{k}");
    }
    hold(&mut bench, 140, 210..=400);
    assert!(knock(&mut bench, 500) > 1);
}

//= test rfc8034-A-quiet
#[test]
fn after_a_second_of_quiet_the_controller_sleeps() {
    // the first empty update follows one with a delay, the next is quiet, and 63 more make 1.008 s
    for (empty, sleeps) in [(64, false), (65, true)] {
        let mut bench = bench(PARAMS);
        hold(&mut bench, 110, 1..=100);
        assert_eq!(knock(&mut bench, 500), 1);
        hold(&mut bench, 110, 101..=200);
        assert!(knock(&mut bench, 500) > 1);
        hold(&mut bench, 0, 201..=200 + empty);
        hold(&mut bench, 99, 201 + empty..=300 + empty);
        assert_eq!(knock(&mut bench, 500) == 0, sleeps, "{empty}");
    }
}

//= test rfc8034-A-length
//= test rfc8034-A-derandomization
#[test]
fn long_packets_are_dropped_more_often_and_drops_are_spread() {
    // what waits, a little above a third of the limit, is 20 ms long
    let rate = BitRate::new(13_600_000_000).expect("a rate");
    let gaps = |len: u64| {
        let mut bench = bench(DocsisPieParams { limit: QueueSize::Packets(100_000), rate, ..PARAMS });
        bench.arrive(34_000);
        (1..=200).for_each(|k| bench.until(ms(16 * k)));
        while bench.arrive(1) == 1 {}
        (201..=440).for_each(|k| bench.until(ms(16 * k)));
        let p = bench.queue.probability() * len as f64 / 1024.0;
        let (mut gaps, mut since) = (Vec::new(), 0);
        for _ in 0..20_000 {
            since += 1;
            if bench.arrive_as(1, len, Ecn::NotEct) == 0 {
                gaps.push(f64::from(since) * p);
                since = 0;
            }
        }
        gaps
    };
    for len in [64, 512, 1024] {
        // the first began before
        let found = &gaps(len)[1..];
        assert!(
            found.len() > 50 && found.iter().all(|gap| (0.85..8.5 + 0.85).contains(gap)),
            "{len}: {}",
            found.len()
        );
        // what is left to chance comes after 0.85, and 1 more on average
        let mean = found.iter().sum::<f64>() / found.len() as f64;
        assert!((1.6..2.2).contains(&mean), "{len}: {mean}");
    }
}

//= test rfc8034-A-safeguard
#[test]
fn a_short_queue_is_spared() {
    let mut bench =
        bench(DocsisPieParams { limit: QueueSize::Bytes(7000), target: Span::from_micros(100), ..PARAMS });
    let accepted = |bench: &mut Bench<DocsisPie<TestPacket>>, waiting: u64| {
        (0..2000).all(|_| {
            while bench.queue.backlog().packets > waiting {
                bench.leave();
            }
            while bench.queue.backlog().packets < waiting {
                bench.arrive(1);
            }
            bench.arrive(1) == 1
        })
    };
    hold(&mut bench, 5, 1..=100);
    assert_eq!(knock(&mut bench, 500), 1);
    hold(&mut bench, 5, 101..=200);
    // two of 1000 bytes are no more than two of 1024
    assert!(accepted(&mut bench, 2));
    assert!(!accepted(&mut bench, 3));
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params| {
        let built = DocsisPie::<TestPacket>::new(SiteId(0), params, Stream::new(1, 0, ""));
        built.expect_err("refused").to_string()
    };
    assert!(refused(DocsisPieParams { limit: QueueSize::Bytes(0), ..PARAMS }).contains("limit"));
    assert!(refused(DocsisPieParams { target: Span::ZERO, ..PARAMS }).contains("target: must exceed 0s"));
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum AqmState {
    Inactive,
    Quiescent,
    Active,
}

/// The queue of the RFC's appendix; times in seconds, what waits in bytes.
struct Pseudocode {
    latency_target: f64,
    msr: f64,
    buffer_size: f64,
    queue: VecDeque<(u32, f64)>,
    random: Chance,
    drop_prob: f64,
    accu_prob: f64,
    qdelay_old: f64,
    burst_allowance: i64,
    burst_reset: i64,
    aqm_state: AqmState,
}

impl Pseudocode {
    fn byte_length(&self) -> f64 {
        self.queue.iter().map(|(_, size)| size).sum::<f64>()
    }

    fn enque(&mut self, id: u32, size: f64) -> Option<DropReason> {
        if self.byte_length() + size > self.buffer_size {
            return Some(DropReason::Overflow);
        }
        if self.drop_early(size) {
            return Some(DropReason::Early);
        }
        self.queue.push_back((id, size));
        None
    }

    fn drop_early(&mut self, size: f64) -> bool {
        if self.burst_allowance > 0 {
            return false;
        }
        if self.drop_prob == 0.0 {
            self.accu_prob = 0.0;
        }
        if self.aqm_state == AqmState::Inactive {
            if self.byte_length() < self.buffer_size / 3.0 {
                return false;
            }
            self.aqm_state = AqmState::Quiescent;
        }
        let p1 = (self.drop_prob * size / 1024.0).min(0.85);
        self.accu_prob += p1;
        if (self.qdelay_old < 0.5 * self.latency_target && self.drop_prob < 0.2)
            || self.byte_length() <= 2.0 * 1024.0
        {
            return false;
        }
        if self.accu_prob < 0.85 {
            return false;
        }
        if self.accu_prob < 8.5 && !self.random.happens(p1) {
            return false;
        }
        self.accu_prob = 0.0;
        if self.aqm_state == AqmState::Quiescent {
            self.aqm_state = AqmState::Active;
            self.burst_allowance = 142;
        }
        true
    }

    fn calculate_drop_prob(&mut self) {
        let qdelay = self.byte_length() / self.msr;
        if self.burst_allowance > 0 {
            self.drop_prob = 0.0;
            self.burst_allowance = i64::max(0, self.burst_allowance - 16);
        } else {
            let mut p = 0.25 * (qdelay - self.latency_target) + 2.5 * (qdelay - self.qdelay_old);
            for (below, by) in [
                (0.000_001, 2048.0),
                (0.000_01, 512.0),
                (0.000_1, 128.0),
                (0.001, 32.0),
                (0.01, 8.0),
                (0.1, 2.0),
                (1.0, 0.5),
                (10.0, 0.125),
                (f64::INFINITY, 0.03125),
            ] {
                if self.drop_prob < below {
                    p /= by;
                    break;
                }
            }
            if self.drop_prob >= 0.1 && p > 0.02 {
                p = 0.02;
            }
            self.drop_prob += p;
            if qdelay < 0.005 && self.qdelay_old < 0.005 {
                self.drop_prob *= 0.98;
            } else if qdelay > 0.2 {
                self.drop_prob += 0.02;
            }
            self.drop_prob = self.drop_prob.clamp(0.0, 0.85 * 1024.0 / 64.0);
        }
        let quiet = qdelay < 0.5 * self.latency_target
            && self.qdelay_old < 0.5 * self.latency_target
            && self.drop_prob == 0.0
            && self.burst_allowance == 0;
        if self.aqm_state == AqmState::Active && quiet {
            self.aqm_state = AqmState::Quiescent;
            self.burst_reset = 0;
        } else if self.aqm_state == AqmState::Quiescent {
            if quiet {
                self.burst_reset += 16;
                if self.burst_reset > 1000 {
                    self.burst_reset = 0;
                    self.aqm_state = AqmState::Inactive;
                }
            } else {
                self.burst_reset = 0;
            }
        }
        self.qdelay_old = qdelay;
    }
}

/// Phases of light and of heavy load, and of silence; every drop, departure and probability is compared.
#[test]
fn the_queue_decides_as_the_pseudocode() {
    let (mut early, mut full, mut slept) = (0, 0, 0);
    for (variant, (target, rate, buffer)) in
        (0..).zip([(10, 12_000_000, 150_000), (10, 4_000_000, 60_000), (40, 12_000_000, 60_000)])
    {
        let stream = || Stream::new(5, variant, "chances");
        let params = DocsisPieParams {
            limit: QueueSize::Bytes(buffer),
            target: Span::from_millis(target),
            rate: BitRate::new(rate).expect("a rate"),
        };
        let mut queue = DocsisPie::new(SiteId(0), params, stream()).expect("sound parameters");
        let mut paper = Pseudocode {
            latency_target: target as f64 / 1e3,
            msr: rate as f64 / 8.0,
            buffer_size: buffer as f64,
            queue: VecDeque::new(),
            random: Chance::new(stream()),
            drop_prob: 0.0,
            accu_prob: 0.0,
            qdelay_old: 0.0,
            burst_allowance: 0,
            burst_reset: 0,
            aqm_state: AqmState::Inactive,
        };
        let mut draws = Stream::new(6, variant, "operations");
        let mut sink = Recorder::default();
        let mut now = 0;
        for step in 0..30_000 {
            let busy = [40, 58, 52, 20, 75, 51][step as usize / 2500 % 6];
            now += draws.below(600_000) + if step % 15_000 == 9_999 { 1_900_000_000 } else { 0 };
            while let Some(due) = queue.next_timeout().filter(|due| due.as_nanos() <= now) {
                queue.on_timeout(due, &mut sink);
                let before = paper.aqm_state;
                paper.calculate_drop_prob();
                slept += usize::from(before != paper.aqm_state && paper.aqm_state == AqmState::Inactive);
            }
            let at = Instant::from_nanos(now);
            sink.events.clear();
            if draws.below(100) < busy {
                let len = [40, 576, 1250, 1500, 1 + draws.below(1500)][draws.below(5) as usize];
                queue.enqueue(at, TestPacket::data(step).len(len), &mut sink);
                let theirs = paper.enque(step, len as f64);
                let expected = theirs.map_or(Event::Enqueued, Event::Dropped);
                assert_eq!(sink.events[0].event, expected, "operation {step}");
                early += usize::from(theirs == Some(DropReason::Early));
                full += usize::from(theirs == Some(DropReason::Overflow));
            } else {
                let ours = queue.dequeue(at, &mut sink).map(|pkt| pkt.id());
                assert_eq!(ours, paper.queue.pop_front().map(|(id, _)| id), "operation {step}");
            }
            let apart = (queue.probability() - paper.drop_prob).abs();
            assert!(apart < 1e-9, "operation {step}: {} {}", queue.probability(), paper.drop_prob);
        }
    }
    assert!(early > 500 && full > 100 && slept > 2, "{early} drops, {full} overflows, {slept} sleeps");
}
