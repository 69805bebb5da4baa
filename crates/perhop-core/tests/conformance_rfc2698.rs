//! RFC 2698, clause by clause, with numbers worked by hand. A committed byte comes every millisecond, peak bytes two.

use perhop_core::meter::{TrTcm, TrTcmParams};
use perhop_core::packet::Color::{Green, Red, Yellow};
use perhop_core::param_error::ParamError;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::meter::{decides_the_mark, hold};

fn build(cir: u64, cbs: u64, pir: u64, pbs: u64, color_aware: bool) -> Result<TrTcm, ParamError> {
    let rate = |bits_per_sec| BitRate::new(bits_per_sec).expect("not zero");
    let (cir, cbs, pir, pbs) = (rate(cir), Bytes(cbs), rate(pir), Bytes(pbs));
    TrTcm::new(TrTcmParams { cir, cbs, pir, pbs, color_aware })
}

fn blind(cbs: u64, pbs: u64) -> TrTcm {
    build(8000, cbs, 16_000, pbs, false).expect("sound")
}

fn aware(cbs: u64, pbs: u64) -> TrTcm {
    build(8000, cbs, 16_000, pbs, true).expect("sound")
}

//= test rfc2698-1-modes
#[test]
fn colours_count_in_one_mode_only() {
    let came = |verdicts: [_; 3]| {
        let [first, second, third] = verdicts;
        [(0, 500, Red, first), (0, 500, Yellow, second), (0, 500, Green, third)]
    };
    hold(&mut blind(1000, 2000), &came([Green, Green, Yellow]));
    hold(&mut aware(1000, 2000), &came([Red, Yellow, Green]));
}

//= test rfc2698-1-recolor
//= test rfc2698-4-drop-precedence
#[test]
fn the_verdict_decides_the_mark_whatever_the_packet_carried() {
    decides_the_mark(&mut blind(500, 1000), 4);
}

//= test rfc2698-2-peak-above-committed
#[test]
fn the_peak_rate_is_not_below_the_committed_one() {
    let refused = build(8000, 1000, 7999, 1000, false).expect_err("a peak below the rate");
    assert_eq!((refused.field, refused.rule.as_str()), ("pir", "must not be below cir (8000bit/s)"));
    assert!(build(8000, 1000, 8000, 1000, false).is_ok());
}

//= test rfc2698-2-both-buckets
#[test]
fn both_bursts_exceed_zero() {
    let refused = |cbs, pbs| build(8000, cbs, 8000, pbs, false).expect_err("no burst").to_string();
    assert_eq!(refused(0, 1000), "cbs: must exceed 0B");
    assert_eq!(refused(1000, 0), "pbs: must exceed 0B");
    assert_eq!(refused(1000, u64::MAX), "pbs: must not exceed 2305843009B");
    assert!(build(8000, 1, 8000, 1, false).is_ok());
}

/// P begins with 1500 and C with 1000: 1000 are green and leave 500 to yellow.
//= test rfc2698-3-begins-full
#[test]
fn both_buckets_begin_full() {
    hold(&mut blind(1000, 1500), &[(0, 1000, Green, Green), (0, 500, Green, Yellow), (0, 1, Green, Red)]);
    hold(&mut blind(2000, 1500), &[(0, 1501, Green, Red), (0, 1500, Green, Green)]);
}

/// Both buckets hold 1000 and are emptied at 0. C then has the milliseconds that went by in bytes, P twice that.
//= test rfc2698-3-fill
#[test]
fn each_rate_fills_its_own_bucket() {
    let run = |rest: &[_]| hold(&mut blind(1000, 1000), &[&[(0, 1000, Green, Green)], rest].concat());
    // C 300, P 600: 300 green, then 300 yellow
    run(&[
        (300, 601, Green, Red),
        (300, 300, Green, Green),
        (300, 301, Green, Red),
        (300, 300, Green, Yellow),
    ]);
    // P was full at 500 ms and C still fills: 800 of 1000
    run(&[(800, 801, Green, Yellow), (800, 200, Green, Red), (800, 199, Green, Green), (800, 1, Green, Red)]);
    // both full since 1000 ms, and neither beyond its burst
    run(&[(9000, 1001, Green, Red), (9000, 1000, Green, Green), (9000, 1, Green, Red)]);
}

/// C has 2000 and more than enough; P decides.
//= test rfc2698-3-blind-red
#[test]
fn blind_red_is_decided_by_p_and_takes_nothing() {
    hold(
        &mut blind(2000, 1000),
        &[
            (0, 1001, Green, Red),
            (0, 1000, Green, Green), // C 1000, P 0
            (0, 1, Green, Red),
            (500, 1000, Green, Green), // C 1500 - 1000, P 1000 - 1000: nothing went for the red ones
            (750, 500, Green, Green),  // C 750 - 500, P 500 - 500
        ],
    );
}

/// The 700 find 600 in C. P gives them; C keeps its 600.
//= test rfc2698-3-blind-yellow
#[test]
fn blind_yellow_takes_from_p_alone() {
    hold(
        &mut blind(1000, 2000),
        &[
            (0, 400, Green, Green),  // C 600, P 1600
            (0, 700, Green, Yellow), // P 900
            (0, 600, Green, Green),  // C 0, P 300
            (0, 301, Green, Red),
            (0, 300, Green, Yellow), // P 0
        ],
    );
}

//= test rfc2698-3-blind-green
#[test]
fn blind_green_takes_from_both() {
    hold(
        &mut blind(1000, 1600),
        &[
            (0, 600, Yellow, Green), // C 400, P 1000
            (0, 401, Red, Yellow),   // P 599
            (0, 400, Red, Green),    // C 0, P 199
            (0, 200, Green, Red),
            (0, 199, Green, Yellow),
        ],
    );
}

/// What came red is red beside full buckets, and leaves them full.
//= test rfc2698-3-aware-red
#[test]
fn aware_red_takes_nothing() {
    hold(
        &mut aware(1000, 1500),
        &[
            (0, 1, Red, Red),
            (0, 1501, Green, Red),
            (0, 1501, Yellow, Red),
            (0, 1000, Green, Green),
            (0, 501, Yellow, Red),
            (0, 500, Yellow, Yellow),
        ],
    );
}

//= test rfc2698-3-aware-yellow
#[test]
fn aware_yellow_takes_from_p_alone() {
    hold(
        &mut aware(1000, 2500),
        &[
            (0, 700, Yellow, Yellow), // although C has 1000: P 1800
            (0, 1001, Green, Yellow), // more than C has: P 799
            (0, 800, Yellow, Red),
            (0, 799, Green, Green), // C 201, P 0
            (200, 401, Green, Red), // C 401, P 400
            (200, 400, Green, Green),
        ],
    );
}

//= test rfc2698-3-aware-green
#[test]
fn aware_green_takes_from_both() {
    hold(
        &mut aware(1000, 1500),
        &[
            (0, 600, Green, Green),  // C 400, P 900
            (0, 401, Green, Yellow), // P 499
            (0, 400, Green, Green),  // C 0, P 99
            (0, 100, Green, Red),    // P too has given
            (0, 99, Green, Yellow),
        ],
    );
}
