//! RFC 2859, clause by clause, with numbers worked by hand: targets of 8 and 16 kbit/s (1 and 2 bytes each millisecond), a
//! window of one second. What a probability is shows in how many of many meters, each with draws of its own, say so.

use perhop_core::meter::{Meter, Tsw, TswParams};
use perhop_core::packet::{Color, Meta};
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::stats::chi_square;

const METERS: u32 = 4000;
const SECOND: Span = Span::from_secs(1);

fn build(ctr: u64, ptr: Option<u64>, window: Span, which: u32) -> Result<Tsw, String> {
    let rate = |bits_per_sec| BitRate::new(bits_per_sec).expect("not zero");
    let params = TswParams { cir: rate(ctr), pir: ptr.map(rate), window };
    let stream = Stream::new(u64::from(which), 0, "conditioner.customer.meter");
    Tsw::new(params, stream).map_err(|error| error.to_string())
}

/// How many meters of three colours say green, yellow and red of the last packet: times in ms, lengths in bytes.
fn counts(packets: &[(u64, u64)]) -> [u32; 3] {
    colors(Some(16_000), packets)
}

fn colors(ptr: Option<u64>, packets: &[(u64, u64)]) -> [u32; 3] {
    let mut counts = [0; 3];
    for which in 0..METERS {
        let mut meter = build(8000, ptr, SECOND, which).expect("sound");
        let mut last = Color::Green;
        for &(ms, len) in packets {
            let now = Instant::ZERO + Span::from_millis(ms);
            last = meter.measure(now, &Meta { len: Bytes(len), ..Meta::default() });
        }
        counts[last as usize] += 1;
    }
    counts
}

/// The parts are those of 1.
fn in_parts(counts: [u32; 3], parts: [f64; 3]) {
    let meant = parts.map(|part| part * f64::from(METERS));
    let (seen, meant): (Vec<u32>, Vec<f64>) =
        counts.into_iter().zip(meant).filter(|(count, meant)| *count > 0 || *meant > 0.0).unzip();
    // the 0.999 quantile at two degrees of freedom, more than that at one
    assert!(chi_square(&seen, &meant) < 13.8, "{counts:?} and not {parts:?} of {METERS}");
}

const ALL: [u32; 3] = [METERS, 0, 0];

/// The window holds 1000 bytes at 0. Nothing more may come at once, and after half a second 500 bytes.
//= test rfc2859-3-begins
#[test]
fn the_estimate_begins_at_the_committed_rate() {
    assert_eq!(counts(&[(0, 0)]), ALL);
    assert_ne!(counts(&[(0, 40)]), ALL);
    assert_eq!(counts(&[(500, 500)]), ALL);
    assert_ne!(counts(&[(500, 540)]), ALL);
}

/// 2000 bytes after a second: 3000 in two seconds are 12 kbit/s, of which a third is beyond 8. Half a second on with 250
/// bytes: the window holds 1500, so that 1750 in 1.5 s are 9.33 kbit/s and a seventh is beyond.
//= test rfc2859-3-estimate
#[test]
fn the_estimate_is_what_a_window_holds_over_the_time() {
    in_parts(counts(&[(1000, 2000)]), [2.0 / 3.0, 1.0 / 3.0, 0.0]);
    in_parts(counts(&[(1000, 2000), (1500, 250)]), [6.0 / 7.0, 1.0 / 7.0, 0.0]);
    // idle: 1500 bytes over four seconds and 40 more are below 8 kbit/s, and even 2500 are no more than that
    assert_eq!(counts(&[(1000, 2000), (4000, 40)]), ALL);
    assert_eq!(counts(&[(1000, 2000), (4000, 2500)]), ALL);
    assert_ne!(counts(&[(1000, 2000), (4000, 2600)]), ALL);
}

//= test rfc2859-4-green
#[test]
fn below_the_committed_rate_all_is_green() {
    let packets: Vec<_> = (1..200).map(|packet| (packet * 10, 10)).collect();
    for to in 1..packets.len() {
        let mut meter = build(8000, Some(8000), SECOND, 0).expect("sound");
        for &(ms, len) in &packets[..to] {
            let now = Instant::ZERO + Span::from_millis(ms);
            assert_eq!(meter.measure(now, &Meta { len: Bytes(len), ..Meta::default() }), Color::Green);
        }
    }
}

/// At 0 a packet brings the estimate to 8 kbit/s and its own bits: 250 bytes to 10, 1000 to 16.
//= test rfc2859-4-yellow
#[test]
fn between_the_rates_the_excess_is_yellow() {
    in_parts(counts(&[(0, 250)]), [0.8, 0.2, 0.0]);
    in_parts(counts(&[(0, 1000)]), [0.5, 0.5, 0.0]);
}

/// 3000 bytes bring it to 32 kbit/s: half is beyond 16, a quarter between 8 and 16. Two colours have no yellow.
//= test rfc2859-4-red
#[test]
fn beyond_the_peak_rate_the_excess_is_red() {
    in_parts(counts(&[(0, 3000)]), [0.25, 0.25, 0.5]);
    in_parts(counts(&[(0, 1500)]), [0.4, 0.4, 0.2]);
    in_parts(colors(None, &[(0, 3000)]), [0.25, 0.0, 0.75]);
    in_parts(colors(Some(8000), &[(0, 3000)]), [0.25, 0.0, 0.75]);
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |ctr, ptr, window| build(ctr, ptr, window, 0).expect_err("refused");
    assert_eq!(refused(8000, Some(7999), SECOND), "pir: must not be below cir (8000bit/s)");
    assert_eq!(refused(8000, None, Span::ZERO), "window: must exceed 0s");
    assert!(build(8000, Some(8000), Span::from_nanos(1), 0).is_ok());
}
