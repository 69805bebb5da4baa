//! RFC 4115, clause by clause, with numbers worked by hand. A committed byte comes every millisecond, excess bytes two.

use perhop_core::meter::{TrTcmDiffServ, TrTcmDiffServParams};
use perhop_core::packet::Color::{Green, Red, Yellow};
use perhop_core::param_error::ParamError;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::meter::{decides_the_mark, hold};

fn build(cir: u64, cbs: u64, eir: u64, ebs: u64, color_aware: bool) -> Result<TrTcmDiffServ, ParamError> {
    let rate = |bits_per_sec| BitRate::new(bits_per_sec).expect("not zero");
    let (cir, cbs, eir, ebs) = (rate(cir), Bytes(cbs), rate(eir), Bytes(ebs));
    TrTcmDiffServ::new(TrTcmDiffServParams { cir, cbs, eir, ebs, color_aware })
}

fn blind(cbs: u64, ebs: u64) -> TrTcmDiffServ {
    build(8000, cbs, 16_000, ebs, false).expect("sound")
}

fn aware(cbs: u64, ebs: u64) -> TrTcmDiffServ {
    build(8000, cbs, 16_000, ebs, true).expect("sound")
}

/// An excess rate below the committed one is one like any other: 250 yellow bytes a second, 1000 green ones.
//= test rfc4115-2-rates-apart
#[test]
fn the_excess_rate_may_be_below_the_committed_one() {
    let mut meter = build(8000, 1000, 2000, 1000, false).expect("sound");
    hold(
        &mut meter,
        &[
            (0, 1000, Green, Green),
            (0, 1000, Green, Yellow),
            (1000, 1000, Green, Green),
            (1000, 251, Green, Red),
            (1000, 250, Green, Yellow),
        ],
    );
}

#[test]
fn both_bursts_exceed_zero() {
    let refused = |cbs, ebs| build(8000, cbs, 8000, ebs, false).expect_err("no burst").to_string();
    assert_eq!(refused(0, 1000), "cbs: must exceed 0B");
    assert_eq!(refused(1000, 0), "ebs: must exceed 0B");
    assert_eq!(refused(1000, u64::MAX), "ebs: must not exceed 2305843009B");
    assert!(build(8000, 1, 1, 1, false).is_ok());
}

#[test]
fn the_verdict_decides_the_mark_whatever_the_packet_carried() {
    decides_the_mark(&mut blind(500, 500), 4);
}

//= test rfc4115-3-begins-full
#[test]
fn both_buckets_begin_full() {
    hold(
        &mut blind(1000, 1500),
        &[(0, 1501, Green, Red), (0, 1000, Green, Green), (0, 1500, Green, Yellow), (0, 1, Green, Red)],
    );
}

/// Both buckets hold 1000 and are emptied at 0. C then has the milliseconds that went by in bytes, E twice that.
//= test rfc4115-3-fill
#[test]
fn each_rate_fills_its_own_bucket() {
    let emptied = [(0, 1000, Green, Green), (0, 1000, Green, Yellow)];
    let run = |rest: &[_]| hold(&mut blind(1000, 1000), &[&emptied[..], rest].concat());
    // C 300, E 600
    run(&[(300, 601, Green, Red), (300, 600, Green, Yellow), (300, 300, Green, Green), (300, 1, Green, Red)]);
    // E was full at 500 ms and C still fills; what E cannot hold is lost to C too
    run(&[
        (800, 801, Green, Yellow),
        (800, 800, Green, Green),
        (800, 200, Green, Red),
        (800, 199, Green, Yellow),
    ]);
    // both full since 1000 ms, and neither beyond its burst
    run(&[(9000, 1001, Green, Red), (9000, 1000, Green, Green), (9000, 1000, Green, Yellow)]);
}

/// What is in profile is green however much went in excess of it: this is the difference to RFC 2698.
//= test rfc4115-3-aware-green
#[test]
fn what_came_green_is_green_by_c_alone() {
    hold(
        &mut aware(1000, 1000),
        &[
            (0, 1000, Yellow, Yellow), // E 0
            (0, 600, Green, Green),    // C 400
            (0, 401, Green, Red),
            (0, 400, Green, Green),    // C 0
            (250, 500, Green, Yellow), // C 250, E 500 - 500
            (250, 250, Green, Green),
        ],
    );
}

//= test rfc4115-3-aware-yellow
#[test]
fn what_came_yellow_is_tried_with_e_alone() {
    hold(
        &mut aware(1000, 1500),
        &[
            (0, 900, Yellow, Yellow), // although C has 1000: E 600
            (0, 601, Yellow, Red),
            (0, 600, Yellow, Yellow),
            (0, 1000, Green, Green), // C gave nothing for them
        ],
    );
}

//= test rfc4115-3-aware-red
#[test]
fn what_came_red_takes_nothing() {
    hold(
        &mut aware(1000, 1500),
        &[(0, 1, Red, Red), (0, 1000, Red, Red), (0, 1000, Green, Green), (0, 1500, Green, Yellow)],
    );
}

//= test rfc4115-3-blind
#[test]
fn colours_count_in_one_mode_only() {
    let came = |verdicts: [_; 3]| {
        let [first, second, third] = verdicts;
        [(0, 500, Red, first), (0, 500, Yellow, second), (0, 1000, Green, third)]
    };
    hold(&mut blind(1000, 1000), &came([Green, Green, Yellow]));
    hold(&mut aware(1000, 1000), &came([Red, Yellow, Green]));
}
