//! The meters against exact references: no rounding, no drift.

use perhop_core::meter::{
    Meter, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams, TrTcm, TrTcmDiffServ, TrTcmDiffServParams,
    TrTcmParams,
};
use perhop_core::packet::{Color, Meta};
use perhop_core::time::Instant;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::exact_meters::{
    DiffServByClocks, DiffServInBytes, SrTcmByClocks, SrTcmInBytes, TrTcmByClocks, TrTcmInBytes,
};
use proptest::prelude::*;

const PACKETS: usize = 10_000_000;
const CIR: u64 = 333_333_333;
const PIR: u64 = 444_444_443;
const CBS: u64 = 4567;
const EBS: u64 = 30_011;
const PBS: u64 = 7919;

const COLORS: [Color; 4] = [Color::Green, Color::Green, Color::Yellow, Color::Red];

fn rate(bits_per_sec: u64) -> BitRate {
    BitRate::new(bits_per_sec).expect("not zero")
}

fn sr_tcm(cir: u64, cbs: u64, ebs: u64, color_aware: bool) -> SrTcm {
    SrTcm::new(SrTcmParams { cir: rate(cir), cbs: Bytes(cbs), ebs: Bytes(ebs), color_aware }).expect("sound")
}

fn tr_tcm(cir: u64, cbs: u64, pir: u64, pbs: u64, color_aware: bool) -> TrTcm {
    let (cir, cbs, pir, pbs) = (rate(cir), Bytes(cbs), rate(pir), Bytes(pbs));
    TrTcm::new(TrTcmParams { cir, cbs, pir, pbs, color_aware }).expect("sound")
}

fn diffserv(cir: u64, cbs: u64, eir: u64, ebs: u64, color_aware: bool) -> TrTcmDiffServ {
    let (cir, cbs, eir, ebs) = (rate(cir), Bytes(cbs), rate(eir), Bytes(ebs));
    TrTcmDiffServ::new(TrTcmDiffServParams { cir, cbs, eir, ebs, color_aware }).expect("sound")
}

/// Runs ten million packets of up to 1500 bytes, about 490 Mbit/s, their gaps uneven to the nanosecond, and says how
/// many there were of each colour.
fn compare(
    mut measure: impl FnMut(Instant, &Meta) -> Color,
    mut exact: impl FnMut(u64, &Meta) -> Color,
) -> [u64; 3] {
    let (mut state, mut at, mut counts) = (0x9e37_79b9_7f4a_7c15_u64, 0, [0; 3]);
    for number in 0..PACKETS {
        // Knuth's generator; its high bits will do
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let draw = state >> 32;
        let len = 40 + (draw & 0xffff) * 1461 / 65_536;
        at += ((draw >> 16) & 0x7fff) * 25_000 / 32_768;
        let color = COLORS[(draw & 3) as usize];
        let meta = Meta { len: Bytes(len), color, ..Meta::default() };
        let verdict = measure(Instant::from_nanos(at), &meta);
        assert_eq!(verdict, exact(at, &meta), "packet {number} of {len} bytes, {color:?}, at {at} ns");
        counts[verdict as usize] += 1;
    }
    counts
}

/// Every colour is common, so that neither reference nor meter is idle.
fn all_common(counts: [u64; 3]) {
    assert!(counts.iter().all(|count| *count > PACKETS as u64 / 50), "{counts:?}");
}

//= test rfc2697-3-other-form
#[test]
fn single_rate_does_not_drift_in_ten_million_packets() {
    let (mut meter, mut exact) = (sr_tcm(CIR, CBS, EBS, true), SrTcmByClocks::new(CIR, CBS, EBS));
    all_common(compare(
        |now, meta| meter.measure(now, meta),
        |at, meta| exact.measure(at, meta.len.0, meta.color),
    ));
}

//= test rfc2698-3-other-form
#[test]
fn two_rates_do_not_drift_in_ten_million_packets() {
    let (mut meter, mut exact) = (tr_tcm(CIR, CBS, PIR, PBS, false), TrTcmByClocks::new(CIR, CBS, PIR, PBS));
    all_common(compare(
        |now, meta| meter.measure(now, meta),
        |at, meta| exact.measure(at, meta.len.0, Color::Green),
    ));
}

#[test]
fn two_rates_apart_do_not_drift_in_ten_million_packets() {
    let eir = PIR - CIR;
    let (mut meter, mut exact) =
        (diffserv(CIR, CBS, eir, PBS, false), DiffServByClocks::new(CIR, CBS, eir, PBS));
    all_common(compare(
        |now, meta| meter.measure(now, meta),
        |at, meta| exact.measure(at, meta.len.0, Color::Green),
    ));
}

/// A bucket without a second one is RFC 2697 with an excess burst of zero.
#[test]
fn a_token_bucket_does_not_drift_in_ten_million_packets() {
    let params = TokenBucketParams { cir: rate(CIR), cbs: Bytes(CBS) };
    let (mut meter, mut exact) = (TokenBucket::new(params).expect("sound"), SrTcmByClocks::new(CIR, CBS, 0));
    let [green, yellow, red] =
        compare(|now, meta| meter.measure(now, meta), |at, meta| exact.measure(at, meta.len.0, Color::Green));
    assert_eq!(yellow, 0);
    assert!(green.min(red) > PACKETS as u64 / 50, "{green} {red}");
}

/// Gaps in ns, lengths and colours.
fn streams() -> impl Strategy<Value = Vec<(u64, u64, Color)>> {
    let gap = prop_oneof![0u64..1000, 0u64..10_000_000, 0u64..2_000_000_000];
    prop::collection::vec((gap, 0u64..2000, prop::sample::select(COLORS.to_vec())), 0..60)
}

/// Feeds a stream to a meter and to what judges by the time waited, twice: with and without regard to colours.
fn agree<M: Meter>(
    stream: &[(u64, u64, Color)],
    meter: impl Fn(bool) -> M,
    exact: impl Fn() -> Box<dyn FnMut(u64, u64, Color) -> Color>,
) {
    for color_aware in [false, true] {
        let (mut meter, mut exact, mut at) = (meter(color_aware), exact(), 0);
        for &(gap, len, color) in stream {
            at += gap;
            let meta = Meta { len: Bytes(len), color, ..Meta::default() };
            let came = if color_aware { color } else { Color::Green };
            assert_eq!(meter.measure(Instant::from_nanos(at), &meta), exact(gap, len, came), "at {at} ns");
        }
    }
}

#[test]
fn single_rate_judges_as_the_wording_does() {
    let cases = (1u64..100_000_000, 0u64..5000, 1u64..5000, streams());
    perhop_testkit::check(&cases, |(cir, cbs, ebs, stream)| {
        agree(
            &stream,
            |aware| sr_tcm(cir, cbs, ebs, aware),
            || {
                let mut exact = SrTcmInBytes::new(cir, cbs, ebs);
                Box::new(move |gap, len, color| exact.measure(gap, len, color))
            },
        );
    });
}

#[test]
fn two_rates_judge_as_the_wording_does() {
    let cases = (1u64..100_000_000, 1u64..5000, 0u64..100_000_000, 1u64..5000, streams());
    perhop_testkit::check(&cases, |(cir, cbs, more, pbs, stream)| {
        let pir = cir + more;
        agree(
            &stream,
            |aware| tr_tcm(cir, cbs, pir, pbs, aware),
            || {
                let mut exact = TrTcmInBytes::new(cir, cbs, pir, pbs);
                Box::new(move |gap, len, color| exact.measure(gap, len, color))
            },
        );
    });
}

#[test]
fn two_rates_apart_judge_as_the_wording_does() {
    let cases = (1u64..100_000_000, 1u64..5000, 1u64..100_000_000, 1u64..5000, streams());
    perhop_testkit::check(&cases, |(cir, cbs, eir, ebs, stream)| {
        agree(
            &stream,
            |aware| diffserv(cir, cbs, eir, ebs, aware),
            || {
                let mut exact = DiffServInBytes::new(cir, cbs, eir, ebs);
                Box::new(move |gap, len, color| exact.measure(gap, len, color))
            },
        );
    });
}
