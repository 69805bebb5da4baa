//! Algorithm 1.

use perhop_core::meter::{Fraction, Shortage, TcpFriendlyParams};
use perhop_testkit::check;
use perhop_testkit::exact::Ratio;
use proptest::prelude::*;

use super::common::{Lab, millionths, params};

const SMALL: u32 = 2;
const LARGE: u32 = 10;

/// A marker after an interval in which flow i sent `flows[i].0` packets with a window of `flows[i].1`.
fn allocated(params: TcpFriendlyParams, flows: &[(u32, u32)]) -> Lab {
    let mut lab = Lab::new(params);
    for (flow, &(packets, window)) in (0..).zip(flows) {
        lab.send(flow, packets, window);
    }
    lab.next();
    lab
}

//= test feroz2000-3-small-windows-first
//= test feroz2000-3-available
//= test feroz2000-3-max-min
//= test feroz2000-3-spacing
#[test]
fn small_windows_get_what_they_ask_for_and_the_others_share_the_rest() {
    // 17 of 20 are available: 4 for the first, and 6.5 for each of the others.
    let lab = allocated(params(20), &[(3, SMALL), (4, LARGE), (10, LARGE), (30, LARGE)]);
    assert_eq!(lab.grant(0), (3_000_000, 0));
    assert_eq!(lab.grant(1), (4_000_000, 0));
    assert_eq!(lab.grant(2), (6_500_000, 538_461), "S = 10/6.5 - 1");
    assert_eq!(lab.grant(3), (6_500_000, 3_615_384), "S = 30/6.5 - 1");
}

#[test]
fn nobody_gets_more_than_it_asks_for() {
    let lab = allocated(params(100), &[(3, SMALL), (4, LARGE), (10, LARGE)]);
    assert_eq!([0, 1, 2].map(|flow| lab.grant(flow)), [(3_000_000, 0), (4_000_000, 0), (10_000_000, 0)]);
}

//= test feroz2000-3-shortage-equal
//= test feroz2000-3-shortage-others
#[test]
fn when_nothing_is_left_small_windows_get_equal_parts() {
    let lab = allocated(params(5), &[(3, SMALL), (2, SMALL), (10, LARGE)]);
    assert_eq!(lab.grant(0), (2_500_000, 200_000), "S = 3/2.5 - 1");
    assert_eq!(lab.grant(1), (2_500_000, 0), "more than it asks for: no spacing");
    assert_eq!(lab.grant(2), (0, 0));
}

#[test]
fn when_less_than_nothing_is_left_it_is_the_same() {
    let lab = allocated(params(5), &[(6, SMALL), (2, SMALL), (10, LARGE)]);
    assert_eq!([0, 1].map(|flow| lab.grant(flow)), [(2_500_000, 1_400_000), (2_500_000, 0)]);
    assert_eq!(lab.grant(2), (0, 0));
}

#[test]
fn or_what_one_does_not_ask_for_goes_to_the_others() {
    let fair = TcpFriendlyParams { shortage: Shortage::MaxMin, ..params(5) };
    let lab = allocated(fair, &[(6, SMALL), (2, SMALL), (10, LARGE)]);
    assert_eq!([0, 1].map(|flow| lab.grant(flow)), [(3_000_000, 1_000_000), (2_000_000, 0)]);
    assert_eq!(lab.grant(2), (0, 0));
}

#[test]
fn no_tokens_and_no_small_windows() {
    let lab = allocated(params(0), &[(6, LARGE), (2, LARGE)]);
    assert_eq!([0, 1].map(|flow| lab.grant(flow)), [(0, 0), (0, 0)]);
}

//= test feroz2000-3-small-window
#[test]
fn a_window_of_k_is_not_small() {
    assert!((params(0).small_window - 4.0).abs() < 1e-12, "the paper's k");
    let tokens = |window| allocated(params(7), &[(5, window), (10, LARGE)]).grant(0).0;
    assert_eq!([3, 4].map(tokens), [5_000_000, 3_500_000]);
}

/// Tokens by the paper's rules in exact fractions. Fills up round by round: whoever asks for no more than an equal part
/// of what is left has it.
fn reference(pool: u32, shortage: Shortage, flows: &[(u32, u32)]) -> Vec<Ratio> {
    let small = |flow: &(u32, u32)| flow.1 < 4 || flow.0 == 1;
    let wanted: u32 = flows.iter().filter(|flow| small(flow)).map(|flow| flow.0).sum();
    let count = flows.iter().filter(|flow| small(flow)).count() as i128;
    let plenty = wanted < pool;
    let filled = |chosen: &dyn Fn(&(u32, u32)) -> bool, pool: u32| {
        let mut got: Vec<_> = flows.iter().map(|_| Ratio::from(0)).collect();
        let mut open: Vec<_> = (0..flows.len()).filter(|&flow| chosen(&flows[flow])).collect();
        let mut left = i128::from(pool);
        while !open.is_empty() {
            let part = Ratio::new(left, open.len() as i128);
            let (met, rest): (Vec<_>, Vec<_>) =
                open.iter().partition(|&&flow| Ratio::from(u64::from(flows[flow].0)) <= part);
            if met.is_empty() {
                rest.iter().for_each(|&flow: &usize| got[flow] = part);
                break;
            }
            for flow in met {
                got[flow] = Ratio::from(u64::from(flows[flow].0));
                left -= i128::from(flows[flow].0);
            }
            open = rest;
        }
        got
    };
    let large = if plenty { filled(&|flow| !small(flow), pool - wanted) } else { filled(&|_| false, 0) };
    let fair = filled(&small, pool);
    let one = |at: usize| match (small(&flows[at]), plenty, shortage) {
        (false, ..) => large[at],
        (true, true, _) => Ratio::from(u64::from(flows[at].0)),
        (true, false, Shortage::Equal) => Ratio::new(i128::from(pool), count),
        (true, false, Shortage::MaxMin) => fair[at],
    };
    (0..flows.len()).map(one).collect()
}

#[test]
fn is_max_min_fair_in_exact_fractions() {
    let flow = (1u32..60, prop_oneof![1u32..4, 4u32..20]);
    let shortage = prop::sample::select(vec![Shortage::Equal, Shortage::MaxMin]);
    check(&(0u32..300, shortage, prop::collection::vec(flow, 1..30)), |(pool, shortage, flows)| {
        let lab = allocated(TcpFriendlyParams { shortage, ..params(pool) }, &flows);
        let exact = reference(pool, shortage, &flows);
        let mut total = 0;
        for (flow, exact) in (0..).zip(exact) {
            let tokens = lab.grant(flow).0;
            total += tokens;
            let short = exact - Ratio::new(i128::from(tokens), 1_000_000);
            assert!(
                Ratio::from(0) <= short && short < Ratio::new(1, 1_000_000),
                "flow {flow} has {tokens} millionths, not {exact:?}"
            );
        }
        assert!(total <= i64::from(pool) * 1_000_000, "more than there is");
    });
}

#[test]
fn does_not_depend_on_the_order_of_flows() {
    let flow = (1u32..60, 1u32..20);
    let flows = prop::collection::vec(flow, 1..30);
    check(&(0u32..300, flows), |(pool, flows)| {
        let backwards: Vec<_> = flows.iter().rev().copied().collect();
        let (one, other) = (allocated(params(pool), &flows), allocated(params(pool), &backwards));
        for (flow, mirrored) in (0..).zip((0..flows.len() as u32).rev()) {
            assert_eq!(one.grant(flow), other.grant(mirrored));
        }
    });
}

#[test]
fn whole_tokens_leave_the_parts_in_the_pool() {
    let whole = TcpFriendlyParams { fraction: Fraction::Floor, ..params(20) };
    let lab = allocated(whole, &[(3, SMALL), (4, LARGE), (10, LARGE), (30, LARGE)]);
    assert_eq!(lab.grant(2), (6_000_000, 666_666), "S = 10/6 - 1");
    assert_eq!(lab.grant(3), (6_000_000, 4_000_000), "S = 30/6 - 1");
    assert_eq!(millionths(lab.flow(3).packets), 30_000_000);
}
