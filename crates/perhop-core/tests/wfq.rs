//! Self-clocked fair queueing against tags for each packet as fractions, its bounds on unfairness and delay, and sequences by hand.

use perhop_core::sched::Wfq;
use perhop_core::time::Instant;
use perhop_core::units::BitRate;
use perhop_testkit::check;
use perhop_testkit::exact::Ratio;
use perhop_testkit::exact_schedulers::SelfClocked;
use perhop_testkit::link::{Passage, departures};
use proptest::prelude::*;

use crate::queues::Queues;

const NOW: Instant = Instant::ZERO;
/// A byte takes 8 us.
const MBIT: BitRate = BitRate::new(1_000_000).expect("not zero");
const BYTE: u64 = 8000;
const LONGEST: u64 = 1500;

fn wfq(weights: &[u32]) -> Wfq {
    Wfq::new(weights).expect("weights of at least 1")
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Enqueue(u16, u64),
    Serve,
}

//= test golestani1994-3-tag
//= test golestani1994-3-order
//= test golestani1994-3-clock
#[test]
fn equals_a_tag_for_each_packet_for_any_arrivals() {
    let len = prop_oneof![3 => Just(LONGEST), 2 => 1..=LONGEST];
    let op = prop_oneof![5 => (0u16..4, len).prop_map(|(c, l)| Op::Enqueue(c, l)), 5 => Just(Op::Serve)];
    let weights = prop::collection::vec(1u32..100, 4);
    check(&(weights, prop::collection::vec(op, 0..400)), |(weights, ops)| {
        let (mut wfq, mut tagged) = (wfq(&weights), SelfClocked::new(&weights));
        let mut queues = Queues::new(4);
        for (at, op) in ops.into_iter().enumerate() {
            match op {
                Op::Enqueue(class, len) => {
                    queues.enqueue(&mut wfq, class, len);
                    tagged.enqueue(usize::from(class), len);
                }
                Op::Serve => assert_eq!(queues.serve(&mut wfq, None), tagged.send(), "decision {at}"),
            }
        }
    });
}

/// While two classes wait, `S_i / w_i` and `S_j / w_j` never part by more than `L / w_i + L / w_j`, with L the longest packet:
/// over any interval, so the range of `S_i w_j - S_j w_i` is bounded.
//= test golestani1994-4-fair
#[test]
fn shares_of_classes_that_wait_stay_within_the_papers_bound() {
    let weights = prop::collection::vec(1u32..1000, 4);
    let lens = prop::collection::vec(1..=LONGEST, 1..50);
    check(&(weights, prop::collection::vec(lens, 4)), |(weights, lens)| {
        let mut wfq = wfq(&weights);
        let mut queues = Queues::new(4);
        let mut lens: Vec<_> = lens.iter().map(|l| l.iter().copied().cycle()).collect();
        for class in [0, 1, 2, 3, 0, 1, 2, 3] {
            let len = lens[usize::from(class)].next().expect("a cycle");
            queues.enqueue(&mut wfq, class, len);
        }
        let mut served = [0i64; 4];
        let mut range = [[(0i64, 0i64); 4]; 4];
        for _ in 0..2000 {
            let (class, len) = queues.serve(&mut wfq, None).expect("all wait");
            let next = lens[class].next().expect("a cycle");
            queues.enqueue(&mut wfq, u16::try_from(class).expect("few"), next);
            served[class] += len.cast_signed();
            for (i, j) in (0..4).flat_map(|i| (0..i).map(move |j| (i, j))) {
                let (w_i, w_j) = (i64::from(weights[i]), i64::from(weights[j]));
                let apart = served[i] * w_j - served[j] * w_i;
                let (low, high) = range[i][j];
                range[i][j] = (low.min(apart), high.max(apart));
                let bound = LONGEST.cast_signed() * (w_i + w_j);
                assert!(range[i][j].1 - range[i][j].0 <= bound, "{i} and {j}: {range:?}");
            }
        }
    });
}

/// A packet has left by the time at which a link of its class's own rate would have sent it, and one packet of each other
/// class: Goyal, Lam and Vin 1995.
#[test]
fn a_packet_leaves_no_later_than_its_own_rate_and_one_packet_of_each_other_class_allow() {
    let gap = prop_oneof![3 => Just(0u64), 2 => 0u64..30_000_000];
    let arrival = (gap, 0u8..3, prop_oneof![Just(LONGEST), 40..=LONGEST]);
    let weights = prop::collection::vec(1u32..20, 3);
    check(&(weights, prop::collection::vec(arrival, 1..120)), |(weights, arrivals)| {
        let mut at = 0;
        let arrivals: Vec<Passage> = arrivals
            .iter()
            .map(|&(gap, class, len)| {
                at += gap;
                Passage { at: Instant::from_nanos(at), class, len }
            })
            .collect();
        let end = Instant::from_nanos(at + 1_000_000_000_000);
        let left = departures(Box::new(wfq(&weights)), 3, MBIT, &arrivals, end);
        assert_eq!(left.len(), arrivals.len());
        let ns = |instant: Instant| Ratio::from(instant.as_nanos());
        let all: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        for class in 0..3u8 {
            let weight = weights[usize::from(class)];
            let others = Ratio::from(2 * LONGEST * BYTE);
            let mut own_link = Ratio::from(0);
            let mine = |of: &[Passage]| of.iter().filter(|p| p.class == class).copied().collect::<Vec<_>>();
            for (came, went) in mine(&arrivals).iter().zip(mine(&left)) {
                assert_eq!(came.len, went.len, "in order");
                let takes = Ratio::new(i128::from(came.len * BYTE * all), i128::from(weight));
                own_link = own_link.max(ns(came.at)) + takes;
                let gone = ns(went.at) + Ratio::from(went.len * BYTE);
                assert!(gone <= own_link + others, "{class}: {came:?} left with {went:?}");
            }
        }
    });
}

/// 125 bytes keep the link busy for a millisecond.
fn order(weights: &[u32], arrivals: &[(u64, u8)]) -> String {
    let classes = u8::try_from(weights.len()).expect("few classes");
    let arrival =
        |&(ms, class): &(u64, u8)| Passage { at: Instant::from_nanos(ms * 1_000_000), class, len: 125 };
    let arrivals: Vec<Passage> = arrivals.iter().map(arrival).collect();
    let left =
        departures(Box::new(wfq(weights)), classes, MBIT, &arrivals, Instant::from_nanos(1_000_000_000));
    left.iter().map(|p| char::from(b'a' + p.class)).collect()
}

fn waiting(class: u8, packets: usize) -> Vec<(u64, u8)> {
    vec![(0, class); packets]
}

#[test]
fn weights_are_spread_over_the_link() {
    // tags of a: 1/2, 1, 3/2, ...; of b: 1, 2, ...; equal ones in the order of the classes
    assert_eq!(order(&[2, 1], &[waiting(0, 6), waiting(1, 4)].concat()), "aabaabaabb");
    assert_eq!(order(&[1, 2], &[waiting(0, 4), waiting(1, 6)].concat()), "babbabbaba");
    assert_eq!(order(&[1, 1, 1], &[waiting(2, 2), waiting(1, 2), waiting(0, 2)].concat()), "abcabc");
    assert_eq!(order(&[1, 1], &waiting(1, 5)), "bbbbb");
}

/// The one that had nothing to send has saved up nothing: at 4 ms b comes and takes turns from there on.
#[test]
fn a_class_that_was_idle_has_no_credit() {
    let late = [waiting(0, 8), vec![(4, 1); 4]].concat();
    assert_eq!(order(&[1, 1], &late), "aaaaababab".to_owned() + "ab");
}

#[test]
fn weights_are_of_bytes() {
    let passage = |class, len| Passage { at: NOW, class, len };
    let mut arrivals = vec![passage(0, 1500); 2];
    arrivals.extend(vec![passage(1, 500); 6]);
    let left = departures(Box::new(wfq(&[1, 1])), 2, MBIT, &arrivals, Instant::from_nanos(1_000_000_000));
    // tags of a: 1500, 3000; of b: 500, 1000, 1500, ...
    let order: Vec<u8> = left.iter().map(|p| p.class).collect();
    assert_eq!(order, [1, 1, 0, 1, 1, 1, 0, 1]);
}

#[test]
fn refuses_weights_that_starve_a_class_or_have_no_common_multiple() {
    for weights in [&[][..], &[0], &[1, 0]] {
        assert_eq!(Wfq::new(weights).expect_err("starves a class").field, "weight");
    }
    // three primes near 2^32
    let refused = Wfq::new(&[4_294_967_291, 4_294_967_279, 4_294_967_231]).expect_err("too many parts");
    assert_eq!(refused.to_string(), "weight: must have a common multiple below 2^64 with those before it");
    assert!(Wfq::new(&[4_294_967_291, 4_294_967_279]).is_ok());
    assert!(Wfq::new(&(1..=46).collect::<Vec<_>>()).is_ok());
}
