//! Weighted round robin: sequences by hand.

use perhop_core::sched::Wrr;
use perhop_core::time::Instant;
use perhop_core::units::BitRate;
use perhop_testkit::link::{Passage, departures};

const MBIT: BitRate = BitRate::new(1_000_000).expect("not zero");

/// Bytes per millisecond are 125: a packet of that size keeps the link busy for one.
fn order(weights: &[u32], arrivals: &[(u64, u8)]) -> String {
    let scheduler = Wrr::new(weights).expect("weights of at least 1");
    let classes = u8::try_from(weights.len()).expect("few classes");
    let arrival =
        |&(ms, class): &(u64, u8)| Passage { at: Instant::from_nanos(ms * 1_000_000), class, len: 125 };
    let arrivals: Vec<Passage> = arrivals.iter().map(arrival).collect();
    let left = departures(Box::new(scheduler), classes, MBIT, &arrivals, Instant::from_nanos(1_000_000_000));
    left.iter().map(|p| char::from(b'a' + p.class)).collect()
}

fn waiting(class: u8, packets: usize) -> Vec<(u64, u8)> {
    vec![(0, class); packets]
}

#[test]
fn each_class_sends_its_weight_in_a_row() {
    let all = [waiting(0, 6), waiting(1, 2), waiting(2, 4)].concat();
    assert_eq!(order(&[3, 1, 2], &all), "aaabccaaabcc");
}

#[test]
fn a_class_without_packets_is_passed_over_and_its_turn_is_not_kept() {
    // b has nothing; a's second turn ends early, and c goes on alone
    let two = [waiting(0, 4), waiting(2, 5)].concat();
    assert_eq!(order(&[3, 1, 2], &two), "aaaccaccc");
    // a comes back while b's first packet leaves; its second turn ends early as well
    let refill = [vec![(0, 0)], waiting(1, 3), vec![(1, 0)]].concat();
    assert_eq!(order(&[3, 1], &refill), "ababb");
}

#[test]
fn a_class_alone_has_the_link() {
    assert_eq!(order(&[1, 1], &waiting(1, 5)), "bbbbb");
}

#[test]
fn a_turn_ends_when_its_class_runs_empty_even_if_the_link_then_idles() {
    // of a's turn of two one packet is sent; at 5 ms it is b's turn
    let again = [waiting(0, 1), vec![(5, 0); 4], vec![(5, 1); 1]].concat();
    assert_eq!(order(&[2, 1], &again), "abaaaa");
}

#[test]
fn refuses_weights_that_starve_a_class() {
    for weights in [&[][..], &[0], &[1, 0]] {
        let refused = Wrr::new(weights).expect_err("starves a class");
        assert_eq!(refused.field, "weight");
    }
}
