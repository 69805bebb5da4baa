//! RFC 2697, clause by clause, with numbers worked by hand. At 8000 bit/s a byte comes every millisecond.

use perhop_core::meter::{SrTcm, SrTcmParams};
use perhop_core::packet::Color::{Green, Red, Yellow};
use perhop_core::param_error::ParamError;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::meter::{decides_the_mark, hold};

fn build(cbs: u64, ebs: u64, color_aware: bool) -> Result<SrTcm, ParamError> {
    let cir = BitRate::new(8000).expect("not zero");
    SrTcm::new(SrTcmParams { cir, cbs: Bytes(cbs), ebs: Bytes(ebs), color_aware })
}

fn blind(cbs: u64, ebs: u64) -> SrTcm {
    build(cbs, ebs, false).expect("a burst")
}

fn aware(cbs: u64, ebs: u64) -> SrTcm {
    build(cbs, ebs, true).expect("a burst")
}

//= test rfc2697-1-modes
#[test]
fn colours_count_in_one_mode_only() {
    hold(&mut blind(1000, 1000), &[(0, 500, Red, Green), (0, 500, Yellow, Green), (0, 500, Red, Yellow)]);
    hold(&mut aware(1000, 1000), &[(0, 500, Red, Red), (0, 500, Yellow, Yellow), (0, 500, Green, Green)]);
}

//= test rfc2697-1-recolor
//= test rfc2697-4-drop-precedence
#[test]
fn the_verdict_decides_the_mark_whatever_the_packet_carried() {
    decides_the_mark(&mut blind(500, 500), 1);
}

//= test rfc2697-2-one-bucket
#[test]
fn one_burst_may_be_zero_and_not_both() {
    let refused = build(0, 0, false).expect_err("nothing would ever pass");
    assert_eq!((refused.field, refused.rule.as_str()), ("cbs", "must exceed 0B where ebs is 0B"));
    hold(&mut blind(0, 500), &[(0, 500, Green, Yellow), (500, 501, Green, Red), (500, 500, Green, Yellow)]);
    hold(&mut blind(500, 0), &[(0, 500, Green, Green), (499, 500, Green, Red), (500, 500, Green, Green)]);
}

#[test]
fn a_burst_whose_tokens_cannot_be_counted_is_refused_by_name() {
    let field = |cbs, ebs| build(cbs, ebs, false).expect_err("too deep").field;
    assert_eq!((field(u64::MAX, 1), field(1, 3_000_000_000)), ("cbs", "ebs"));
}

//= test rfc2697-3-begins-full
#[test]
fn both_buckets_begin_full() {
    hold(&mut blind(1000, 2000), &[(0, 1000, Green, Green), (0, 2000, Green, Yellow), (0, 1, Green, Red)]);
}

/// C = 1000 is empty at 0, so that all that comes until 1000 ms goes there; only then E = 600 fills, until 1600 ms.
//= test rfc2697-3-fill
#[test]
fn one_rate_fills_c_then_e_then_nothing() {
    let drained = [(0, 1000, Green, Green), (0, 600, Green, Yellow)];
    let run = |rest: &[_]| hold(&mut blind(1000, 600), &[&drained[..], rest].concat());
    // C has 999: not enough, and E still has none
    run(&[
        (999, 1000, Green, Red),
        (999, 1, Yellow, Green),
        (999, 999, Green, Red),
        (999, 998, Green, Green),
    ]);
    // C is full and E has exactly 250
    run(&[(1250, 1000, Green, Green), (1250, 251, Green, Red), (1250, 250, Green, Yellow)]);
    // E is full at 1600 ms, and what comes until 5000 ms is lost
    run(&[(5000, 1000, Green, Green), (5000, 600, Green, Yellow), (5000, 1, Green, Red)]);
    // a packet in between: at 700 ms C gives 300 of 700, is full at 1300 ms, so that E has 200 at 1500 ms
    run(&[
        (700, 300, Green, Green),
        (1500, 1000, Green, Green),
        (1500, 201, Green, Red),
        (1500, 200, Green, Yellow),
    ]);
}

/// E is untouched by green packets: after C's 1000 it still has all of its 1000.
//= test rfc2697-3-blind-green
#[test]
fn blind_green_takes_from_c_alone() {
    hold(
        &mut blind(1000, 1000),
        &[(0, 400, Red, Green), (0, 600, Yellow, Green), (0, 1000, Green, Yellow), (0, 1, Green, Red)],
    );
}

/// The 700 find 600 in C and go to E. C keeps its 600.
//= test rfc2697-3-blind-yellow
#[test]
fn blind_yellow_takes_from_e_alone() {
    hold(
        &mut blind(1000, 1000),
        &[(0, 400, Green, Green), (0, 700, Green, Yellow), (0, 600, Green, Green), (0, 300, Green, Yellow)],
    );
}

/// C has 600 and E 300 throughout, whatever is refused.
//= test rfc2697-3-blind-red
#[test]
fn blind_red_takes_nothing() {
    hold(
        &mut blind(1000, 1000),
        &[
            (0, 400, Green, Green),
            (0, 700, Green, Yellow),
            (0, 601, Green, Red),
            (0, 5000, Green, Red),
            (0, 600, Green, Green),
            (0, 300, Green, Yellow),
        ],
    );
}

//= test rfc2697-3-aware-green
#[test]
fn aware_green_needs_a_green_packet_and_takes_from_c_alone() {
    hold(
        &mut aware(1000, 1000),
        &[
            (0, 200, Yellow, Yellow), // C is full, yet yellow stays yellow: E 800
            (0, 200, Red, Red),
            (0, 1000, Green, Green), // C had all of its 1000
            (0, 800, Green, Yellow), // and E its 800
        ],
    );
}

/// 500 ms after C was emptied it has 500 again; E has what yellow packets and a green one that C could not take left.
//= test rfc2697-3-aware-yellow
#[test]
fn aware_yellow_takes_from_e_alone() {
    hold(
        &mut aware(1000, 1000),
        &[
            (0, 1000, Green, Green),
            (0, 100, Yellow, Yellow),  // E 900
            (500, 600, Green, Yellow), // C 500, E 300
            (500, 301, Yellow, Red),
            (500, 300, Yellow, Yellow), // E 0
            (500, 1, Yellow, Red),      // although C has 500
            (500, 500, Green, Green),
        ],
    );
}

//= test rfc2697-3-aware-red
#[test]
fn aware_red_takes_nothing() {
    hold(
        &mut aware(1000, 1000),
        &[
            (0, 1, Red, Red), // full buckets do not help it
            (0, 1001, Green, Red),
            (0, 1001, Yellow, Red),
            (0, 1000, Green, Green),
            (0, 1000, Yellow, Yellow),
        ],
    );
}

/// 500 and 500 would hold 501 to 1000 bytes together.
//= test rfc2697-3-whole-packet
#[test]
fn two_buckets_do_not_pay_for_one_packet() {
    for mut meter in [blind(500, 500), aware(500, 500)] {
        hold(
            &mut meter,
            &[(0, 501, Green, Red), (0, 1000, Green, Red), (0, 500, Green, Green), (0, 500, Green, Yellow)],
        );
    }
}
