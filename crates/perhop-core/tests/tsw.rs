//! The time sliding window markers beside two other forms of them, and both beside ns-2 (`oracles/ns2-2.35-tsw`).

use perhop_core::meter::{Meter, MeterBank, Tsw, TswParams};
use perhop_core::packet::Color::{self, Green, Red, Yellow};
use perhop_core::packet::{Dir, FlowId, Meta};
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::stats::chi_square;
use perhop_testkit::tsw::{TswByNs2, TswByRfc};
use proptest::prelude::*;

const MS: u64 = 1_000_000;

fn stream() -> Stream {
    Stream::new(1, 0, "conditioner.customer.meter")
}

fn tsw(cir: u64, pir: Option<u64>, window: Span) -> Tsw {
    let rate = |bits_per_sec| BitRate::new(bits_per_sec).expect("not zero");
    Tsw::new(TswParams { cir: rate(cir), pir: pir.map(rate), window }, stream()).expect("sound")
}

fn measured(meter: &mut impl Meter, ns: u64, len: u64, flow: u32) -> Color {
    let meta = Meta { len: Bytes(len), flow: FlowId(flow), ..Meta::default() };
    meter.measure(Instant::from_nanos(ns), &meta)
}

/// Holds a policer of ns-2 to a recording: tick of 1/512 s, length, draw and code point of each packet.
fn recorded(rows: &str, mut policer: TswByNs2, color: impl Fn(&TswByNs2, f64) -> Color) -> [usize; 3] {
    let mut counts = [0; 3];
    for row in rows.lines().skip(1) {
        let mut columns = row.split(',');
        let mut next = || columns.next().and_then(|text| text.parse::<f64>().ok()).expect("a number");
        let (tick, length, draw, code_point) = (next(), next(), next(), next());
        policer.meter(tick / 512.0, length);
        let verdict = color(&policer, draw);
        let recorded = [(10.0, Green), (12.0, Yellow), (14.0, Red)];
        assert!(recorded.contains(&(code_point, verdict)), "{verdict:?} and not {row}");
        counts[verdict as usize] += 1;
    }
    counts
}

#[test]
fn the_step_by_step_form_colours_as_ns2_does() {
    let two = include_str!("../../../oracles/ns2-2.35-tsw/two.csv");
    let quarter = include_str!("../../../oracles/ns2-2.35-tsw/two_quarter.csv");
    let three = include_str!("../../../oracles/ns2-2.35-tsw/three.csv");
    let by_two = |window| TswByNs2::new(3e5, 3e5, window);
    let counts = [
        recorded(two, by_two(1.0), TswByNs2::two_colors),
        recorded(quarter, by_two(0.25), TswByNs2::two_colors),
        recorded(three, TswByNs2::new(2e5, 4.5e5, 1.0), TswByNs2::three_colors),
    ];
    assert_eq!(counts, [[2180, 0, 820], [1740, 0, 1260], [1570, 1006, 424]]);
}

/// Gaps in ns, and lengths.
fn packets() -> impl Strategy<Value = Vec<(u64, u64)>> {
    let gap = prop_oneof![4 => 0u64..10 * MS, 2 => 0u64..1000, 1 => 0u64..3000 * MS];
    prop::collection::vec((gap, 1u64..2000), 0..400)
}

/// Feeds a stream to the meter and, with the draws of a twin, to both other forms; counts the colours.
fn agree(cir: u64, pir: Option<u64>, window: u64, packets: &[(u64, u64)]) -> [usize; 3] {
    let as_f64 = |rate: u64| f64::from(u32::try_from(rate).expect("small"));
    let seconds = Span::from_nanos(window * MS).as_secs_f64();
    let (committed, peak) = (as_f64(cir), as_f64(pir.unwrap_or(cir)));
    let mut meter = tsw(cir, pir, Span::from_nanos(window * MS));
    let (mut ns2, mut rfc) =
        (TswByNs2::new(committed, peak, seconds), TswByRfc::new(committed, peak, seconds));
    let (mut twin, mut at, mut counts) = (stream(), 0, [0; 3]);
    for &(gap, len) in packets {
        at += gap;
        let (now, size) = (Instant::from_nanos(at).as_secs_f64(), as_f64(len));
        rfc.estimate(now, 8.0 * size);
        // where nothing is left to chance the meter draws nothing, and the largest rate that ns-2 could draw is green
        let draw = if ns2.meter(now, size) { twin.unit() } else { 0.0 };
        let by_ns2 = if pir.is_some() { ns2.three_colors(draw) } else { ns2.two_colors(draw) };
        let verdict = measured(&mut meter, at, len, 0);
        assert_eq!((verdict, verdict), (by_ns2, rfc.color(draw)), "{len} bytes at {at} ns");
        counts[verdict as usize] += 1;
    }
    counts
}

#[test]
fn the_meter_colours_as_ns2_and_the_rfc_do() {
    let rates = (1000u64..10_000_000, prop::option::of(0u64..10_000_000));
    perhop_testkit::check(&(rates, 1u64..3000, packets()), |((cir, more), window, packets)| {
        agree(cir, more.map(|more| cir + more), window, &packets);
    });
}

/// 200,000 packets of up to 1500 bytes, on average 6 Mbit/s, in which every colour is common.
#[test]
fn the_meter_colours_as_ns2_does_for_long() {
    let mut state = 1u64;
    let mut draw = |bound: u64| {
        // Knuth's generator; its high bits will do
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % bound
    };
    let packets: Vec<_> = (0..200_000).map(|_| (draw(2 * MS), 1 + draw(1500))).collect();
    let three = agree(2_000_000, Some(4_000_000), 100, &packets);
    assert!(three.iter().all(|count| *count > 40_000), "{three:?}");
    let [green, yellow, red] = agree(2_000_000, None, 1000, &packets);
    assert_eq!(yellow, 0);
    assert!(green.min(red) > 40_000, "{green} {red}");
}

/// A steady 8 Mbit/s beside targets of 2 and 4: a quarter green, a quarter yellow, half red.
#[test]
fn a_steady_stream_is_coloured_in_proportion() {
    let mut meter = tsw(2_000_000, Some(4_000_000), Span::from_millis(100));
    let mut counts = [0; 3];
    for packet in 1..=41_000u64 {
        let color = measured(&mut meter, packet * MS, 1000, 0);
        // ten windows long the estimate has come from 2 to 8
        if packet > 1000 {
            counts[color as usize] += 1;
        }
    }
    let expected = [10_000.0, 10_000.0, 20_000.0];
    // 0.999 quantile at two degrees of freedom
    assert!(chi_square(&counts, &expected) < 13.8, "{counts:?}");
}

/// Two flows that send alike are coloured by chance each, and neither by who came before it.
#[test]
fn each_flow_of_a_bank_draws_apart() {
    let bank = || MeterBank::new(tsw(2_000_000, Some(4_000_000), Span::from_millis(100)));
    let colors = |flows: [u32; 2]| -> [Vec<Color>; 2] {
        let (mut bank, mut seen) = (bank(), [Vec::new(), Vec::new()]);
        for packet in 1..=500 {
            for flow in flows {
                let color = measured(&mut bank, packet * MS, 1000, flow);
                seen[flow as usize].push(color);
            }
        }
        seen
    };
    let [first, second] = colors([0, 1]);
    assert_eq!([first.clone(), second.clone()], colors([1, 0]));
    let alike = first.iter().zip(&second).filter(|(a, b)| a == b).count();
    assert!((150..300).contains(&alike), "{alike} of 500 alike, where 3/8 is what chance gives");

    let (mut bank, mut ways) = (bank(), [Vec::new(), Vec::new()]);
    for packet in 1..=500 {
        for dir in [Dir::Forward, Dir::Reverse] {
            let meta = Meta { len: Bytes(1000), dir, ..Meta::default() };
            ways[dir as usize].push(bank.measure(Instant::from_nanos(packet * MS), &meta));
        }
    }
    assert_eq!(ways[0], first, "which directions there are makes no difference to one");
    assert_ne!(ways[0], ways[1]);
}
