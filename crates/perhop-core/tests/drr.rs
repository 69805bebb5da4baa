//! Deficit round robin against the paper's algorithm line by line, and its bound on unfairness.

use perhop_core::sched::Drr;
use perhop_core::time::Instant;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::check;
use perhop_testkit::exact_schedulers::DeficitRounds;
use perhop_testkit::link::{Passage, departures};
use proptest::prelude::*;

use crate::queues::Queues;

const NOW: Instant = Instant::ZERO;

fn drr(quanta: &[u64]) -> Drr {
    let quanta: Vec<Bytes> = quanta.iter().map(|&q| Bytes(q)).collect();
    Drr::new(&quanta).expect("quanta of at least 1 byte")
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Enqueue(u16, u64),
    Serve,
}

//= test shreedhar1995-3-active
//= test shreedhar1995-3-turn
//= test shreedhar1995-3-fits
//= test shreedhar1995-3-charge
//= test shreedhar1995-3-keep
//= test shreedhar1995-3-empty
#[test]
fn equals_the_printed_algorithm_for_any_arrivals() {
    let len = prop_oneof![3 => Just(1500u64), 2 => 1u64..2000];
    let op = prop_oneof![5 => (0u16..3, len).prop_map(|(c, l)| Op::Enqueue(c, l)), 4 => Just(Op::Serve)];
    let quanta = prop::collection::vec(prop_oneof![Just(1500u64), 1u64..4000], 3);
    check(&(quanta, prop::collection::vec(op, 0..300)), |(quanta, ops)| {
        let (mut drr, mut rounds) = (drr(&quanta), DeficitRounds::new(&quanta));
        let mut queues = Queues::new(3);
        for (at, op) in ops.into_iter().enumerate() {
            match op {
                Op::Enqueue(class, len) => {
                    queues.enqueue(&mut drr, class, len);
                    rounds.enqueue(usize::from(class), len);
                }
                Op::Serve => assert_eq!(queues.serve(&mut drr, None), rounds.send(), "decision {at}"),
            }
        }
    });
}

/// While two classes wait, S_i / Q_i and S_j / Q_j never part by more than 1 + L / Q_i + L / Q_j, with L the longest
/// packet: over any interval, so the range of S_i Q_j - S_j Q_i is bounded.
//= test shreedhar1995-4-fair
#[test]
fn shares_of_classes_that_wait_stay_within_the_papers_bound() {
    const LONGEST: u64 = 1500;
    let quanta = prop::collection::vec(1u64..5000, 4);
    let lens = prop::collection::vec(1..=LONGEST, 1..50);
    check(&(quanta, prop::collection::vec(lens, 4)), |(quanta, lens)| {
        let mut drr = drr(&quanta);
        let mut queues = Queues::new(4);
        let mut lens: Vec<_> = lens.iter().map(|l| l.iter().copied().cycle()).collect();
        for class in [0, 1, 2, 3, 0, 1, 2, 3] {
            let len = lens[usize::from(class)].next().expect("a cycle");
            queues.enqueue(&mut drr, class, len);
        }
        let mut served = [0i64; 4];
        let mut range = [[(0i64, 0i64); 4]; 4];
        for _ in 0..2000 {
            let (class, len) = queues.serve(&mut drr, None).expect("all wait");
            let next = lens[class].next().expect("a cycle");
            queues.enqueue(&mut drr, u16::try_from(class).expect("few"), next);
            served[class] += len.cast_signed();
            for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let (q_i, q_j) = (quanta[i].cast_signed(), quanta[j].cast_signed());
                let apart = served[i] * q_j - served[j] * q_i;
                let (low, high) = range[i][j];
                range[i][j] = (low.min(apart), high.max(apart));
                let bound = q_i * q_j + LONGEST.cast_signed() * (q_i + q_j);
                assert!(range[i][j].1 - range[i][j].0 <= bound, "{i} and {j}: {range:?}");
            }
        }
    });
}

#[test]
fn a_turn_of_packets_by_hand() {
    // quantum 500: 200 leaves 300, too little for 750; 800 next turn
    let lens = [(0, 200), (0, 750), (0, 20), (1, 500), (1, 500)];
    let arrivals: Vec<Passage> = lens.iter().map(|&(class, len)| Passage { at: NOW, class, len }).collect();
    let rate = BitRate::new(1_000_000).expect("not zero");
    let left = departures(Box::new(drr(&[500, 500])), 2, rate, &arrivals, Instant::from_nanos(1_000_000_000));
    let order: Vec<_> = left.iter().map(|p| (p.class, p.len)).collect();
    assert_eq!(order, [(0, 200), (1, 500), (0, 750), (0, 20), (1, 500)]);
}

//= test shreedhar1995-3-empty
#[test]
fn a_class_that_runs_empty_loses_what_its_turn_left() {
    let mut drr = drr(&[1500, 1500]);
    let mut queues = Queues::new(2);
    queues.enqueue(&mut drr, 0, 100);
    queues.enqueue(&mut drr, 1, 1500);
    assert_eq!(queues.serve(&mut drr, None), Some((0, 100)));
    // 1400 were left; kept, two packets of 1450 would fit into the next turn
    for class in [0, 0, 1] {
        queues.enqueue(&mut drr, class, 1450);
    }
    let order: Vec<_> = std::iter::from_fn(|| queues.serve(&mut drr, None)).map(|(c, _)| c).collect();
    assert_eq!(order, [1, 0, 1, 0]);
}

#[test]
fn a_packet_longer_than_the_head_is_made_up_for() {
    let mut drr = drr(&[1000, 1000]);
    let mut queues = Queues::new(2);
    for class in [0, 1, 0, 1, 0, 1, 0, 1, 0, 1] {
        queues.enqueue(&mut drr, class, 1000);
    }
    // 3000 bytes leave for a head of 1000: two turns pass until class 0 has a quantum again
    assert_eq!(queues.serve(&mut drr, Some(3000)), Some((0, 3000)));
    let order: Vec<_> = std::iter::from_fn(|| queues.serve(&mut drr, None)).map(|(c, _)| c).collect();
    assert_eq!(order, [1, 1, 1, 0, 1, 0, 1, 0, 0]);
}

#[test]
fn refuses_quanta_that_starve_a_class() {
    for quanta in [&[][..], &[Bytes(0)], &[Bytes(1), Bytes(0)], &[Bytes(1 << 31)]] {
        let refused = Drr::new(quanta).expect_err("no quantum");
        assert_eq!(refused.field, "quantum");
    }
}
