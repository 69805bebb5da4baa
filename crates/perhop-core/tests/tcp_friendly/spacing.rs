//! Algorithm 2: OUT packets spread evenly between IN packets.

use perhop_core::meter::{Spacing, TcpFriendlyParams};
use perhop_testkit::check;
use proptest::prelude::*;

use super::common::{Lab, params};

/// OUT packets before each IN packet.
fn gaps(marks: &str) -> Vec<u64> {
    let mut gaps: Vec<_> = marks.split('I').map(|gap| gap.len() as u64).collect();
    gaps.pop();
    gaps
}

/// One flow with a large window that sends `packets` in its first interval, when there are tokens for some.
fn spaced(tokens: u32, packets: u32) -> Lab {
    let mut lab = Lab::new(params(tokens));
    lab.send(0, packets, 10);
    lab.next();
    lab
}

//= test feroz2000-3-gap
//= test feroz2000-3-in-when-due
//= test feroz2000-3-correction
//= test feroz2000-3-default-spacing
//= test feroz2000-3-run-out
//= test feroz2000-3-decrement
#[test]
fn figure_1() {
    let mut lab = spaced(4, 10);
    assert_eq!(lab.grant(0), (4_000_000, 1_500_000), "(9), where the figure prints S = 1");
    assert_eq!(lab.send(0, 10, 10), "--I-I--I-I");
    assert_eq!(lab.send(0, 10, 10), "----------", "no tokens");
}

#[test]
fn small_fractions() {
    assert_eq!(spaced(8, 10).send(0, 12, 10), "-IIII-IIII--", "S = 0.25: every fourth gap is one packet");
    assert_eq!(spaced(3, 10).send(0, 12, 10), "---I--I--I--", "S = 2.333333: 3, 2, 2");
    assert_eq!(spaced(5, 10).send(0, 12, 10), "-I-I-I-I-I--", "S = 1");
}

/// Claim F10, in exact numbers: of any spacing S, the first n gaps add up to ceil(n S), and so each is floor(S) or ceil(S).
#[test]
fn gaps_of_any_spacing_are_its_floor_or_ceiling_and_average_it() {
    let spacing =
        prop_oneof![0u32..3_000_000, 0u32..50_000_000, (0u32..40).prop_map(|whole| whole * 1_000_000)];
    check(&(spacing, 1u64..400), |(millionths, gaps)| {
        let mut spacing = Spacing::new(millionths);
        let (s, one, mut total) = (u64::from(millionths), 1_000_000, 0);
        for n in 1..=gaps {
            let mut gap = 0;
            while !spacing.due() {
                spacing.put_out();
                gap += 1;
            }
            spacing.put_in();
            total += gap;
            assert!((s / one..=s.div_ceil(one)).contains(&gap), "gap {n} is {gap} for {s} millionths");
            assert_eq!(total, (n * s).div_ceil(one), "{n} gaps for {s} millionths");
        }
    });
}

/// The same on packets: E packets and M tokens, S = E/M - 1.
//= test feroz2000-3-identify
#[test]
fn gaps_of_a_flow_average_what_its_tokens_allow() {
    check(&(1u32..60, 0u32..200), |(tokens, more)| {
        let packets = (tokens + more).max(2); // a flow that sent one packet has a small window, not a spacing
        let mut lab = spaced(tokens, packets);
        let mut marks = String::new();
        for _ in 0..packets {
            marks += &lab.send(0, 1, 10);
            lab.send(1, 1, 10); // another flow, to be told apart
        }
        let (more, tokens) = (u64::from(packets - tokens), u64::from(tokens));
        let mut total = 0;
        for (n, gap) in (1..).zip(gaps(&marks)) {
            total += gap;
            assert!((more / tokens..=more.div_ceil(tokens)).contains(&gap), "gap {n} of {marks}");
            assert!(total * tokens < n * more + tokens && n * more <= total * tokens, "{n} gaps of {marks}");
        }
        assert_eq!(gaps(&marks).len() as u64, tokens, "E packets bring out every token: {marks}");
    });
}

#[test]
fn the_first_gap_of_a_smaller_spacing_is_not_repaid_by_a_burst() {
    let mut lab = spaced(2, 22);
    assert_eq!(lab.grant(0).1, 10_000_000);
    assert_eq!(lab.send(0, 6, 10), "------");
    lab.next();
    assert_eq!(lab.grant(0).1, 2_000_000, "S = 6/2 - 1");
    assert_eq!(lab.send(0, 6, 10), "I--I--", "one IN at once, then two OUT: not `II`");
}

#[test]
fn a_spacing_beyond_all_numbers_is_no_trouble() {
    let sparse = TcpFriendlyParams { small_window: 0.0, ..params(1) };
    let mut lab = Lab::new(sparse);
    for flow in 0..3000 {
        lab.send(flow, if flow == 0 { 5000 } else { 1 }, 10);
    }
    lab.next();
    assert_eq!(lab.grant(0), (333, 15_015_014_015_015), "S = 5000 / 0.000333 - 1");
}
