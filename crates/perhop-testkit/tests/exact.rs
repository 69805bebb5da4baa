//! The exact references, by hand.

use perhop_testkit::exact::{Ratio, Served, TwoCounters};
use perhop_testkit::exact_schedulers::{DeficitRounds, LinkClass, LinkShares, Permitted};

#[test]
fn fractions_reduce_and_compare() {
    assert_eq!(Ratio::new(6, -4), Ratio::new(-3, 2));
    assert_eq!(Ratio::new(1, 2) + Ratio::new(1, 3), Ratio::new(5, 6));
    assert_eq!(Ratio::new(1, 2) - Ratio::new(1, 3), Ratio::new(1, 6));
    assert_eq!(Ratio::new(2, 3) * Ratio::new(3, 4), Ratio::new(1, 2));
    assert!(Ratio::new(1, 3) < Ratio::new(334, 1000));
}

/// Data 100, ACKs 30, f = 1/2, by hand: D brings 100:0, four ACKs 100:120 which becomes 0:20, and so on.
#[test]
fn the_two_counters_by_hand() {
    let mut rule = TwoCounters::new(1, 2);
    let order: String = (0..13)
        .map(|_| if rule.serve(Some(100), Some(30)) == Some(Served::Data) { 'D' } else { 'a' })
        .collect();
    assert_eq!(order, "DaaaaDaaaDaaa");
}

/// The example in the paper's figures: quantum 500, packets of 200, 750, 20 wait in the first of four queues.
#[test]
fn rounds_by_hand() {
    let mut rounds = DeficitRounds::new(&[500; 2]);
    for len in [200, 750, 20] {
        rounds.enqueue(0, len);
    }
    for len in [500, 500] {
        rounds.enqueue(1, len);
    }
    // 200 leaves 300; 750 waits for 800, then 20 fits into the 50 that are left
    let order: Vec<_> = core::iter::from_fn(|| rounds.send()).collect();
    assert_eq!(order, [(0, 200), (1, 500), (0, 750), (0, 20), (1, 500)]);
}

#[test]
fn shares_by_hand() {
    let class = |tenths, bounded| LinkClass {
        tenths,
        bounded,
        isolated: false,
        priority: 0,
        maxidle: 0,
        minidle: 0,
        offtime: 0,
    };
    // 1500 bytes take 1.2 ms on the link, 6 ms at two tenths of it
    let mut shares = LinkShares::new(10_000_000, &[class(2, true), class(8, false)]);
    assert_eq!(shares.permitted(0), Permitted::Idle);
    shares.arrived(0, 0);
    shares.served(0, 0, 1500);
    assert_eq!(shares.permitted(1_200_000), Permitted::Wait(6_000_000));
    shares.arrived(4_900_000, 1);
    assert_eq!(shares.permitted(4_900_000), Permitted::OneOf(vec![1]));
    shares.served(5_000_000, 1, 1500);
    assert_eq!(
        shares.permitted(6_200_000),
        Permitted::OneOf(vec![0]),
        "the other was served 1.2 of 1.5 ms ago"
    );
}
