//! What holds for every setting, whatever is sent.

use perhop_core::meter::{
    BeyondTokens, CarrySpacing, Fraction, Meter, NewFlow, Shortage, TcpFriendly, TcpFriendlyParams,
};
use perhop_core::packet::{Color, Meta};
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_testkit::check;
use proptest::prelude::*;
use proptest::sample::select;

use super::common::{T, ack, data, params};

/// A wait in ns, then a packet.
type Step = (u64, Meta);

const FLOWS: u32 = 4;

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let t = T.as_nanos();
    let wait = prop_oneof![12 => Just(0), 6 => 0..t / 5, 2 => 0..3 * t, 1 => 0..40 * t, 1 => (0u64..4).prop_map(move |n| n * t)];
    let flow = 0..FLOWS;
    let meta = prop_oneof![
        4 => (flow.clone(), 0u32..30).prop_map(|(flow, packet)| data(flow, packet * 1000)),
        1 => (flow, 0u32..30).prop_map(|(flow, packet)| ack(flow, packet * 1000)),
    ];
    prop::collection::vec((wait, meta), 1..400)
}

fn settings() -> impl Strategy<Value = TcpFriendlyParams> {
    let readings = (
        select(vec![Shortage::Equal, Shortage::MaxMin]),
        select(vec![Fraction::Carry, Fraction::Floor, Fraction::RoundUp]),
        select(vec![NewFlow::SmallWindow, NewFlow::Out]),
        select(vec![BeyondTokens::Out, BeyondTokens::Surplus, BeyondTokens::SmallWindowIn]),
        select(vec![CarrySpacing::Count, CarrySpacing::CountAndCorrection, CarrySpacing::Nothing]),
    );
    let numbers = (0u32..12, 0.0f64..8.0, 0.01f64..1.0, 0.01f64..1.0, 0u32..6, 1u32..12);
    (readings, numbers).prop_map(|((shortage, fraction, new_flow, beyond_tokens, carry_spacing), numbers)| {
        let (tokens, small_window, gain_window, gain_packets, carry_tokens, forget_after) = numbers;
        TcpFriendlyParams {
            small_window,
            gain_window,
            gain_packets,
            shortage,
            fraction,
            new_flow,
            beyond_tokens,
            carry_spacing,
            carry_tokens,
            forget_after,
            ..params(tokens)
        }
    })
}

/// Who calls the marker besides the packets.
#[derive(Clone, Copy, Debug)]
enum Timers {
    Never,
    OnTime,
    /// At every boundary, asked for or not, and between boundaries.
    Often,
    /// Only every third time it is due.
    Late,
}

fn build(params: TcpFriendlyParams) -> TcpFriendly {
    TcpFriendly::new(params).expect("sound parameters")
}

fn call(meter: &mut TcpFriendly, timers: Timers, from: Instant, until: Instant) {
    match timers {
        Timers::Never => {}
        Timers::OnTime => {
            while let Some(at) = meter.next_timeout().filter(|&at| at <= until) {
                meter.on_timeout(at);
                assert!(meter.next_timeout().is_none_or(|next| next > at), "a deadline that stays");
            }
        }
        Timers::Often => {
            let mut at = from;
            while at < until {
                at += Span::from_nanos(T.as_nanos() / 2);
                meter.on_timeout(at.min(until));
            }
        }
        Timers::Late => {
            if meter.next_timeout().is_some_and(|at| at <= until) && until.as_nanos().is_multiple_of(3) {
                meter.on_timeout(until);
                meter.on_timeout(until);
            }
        }
    }
}

/// Each verdict on data, and when.
fn walk(meter: &mut TcpFriendly, timers: Timers, mut now: Instant, steps: &[Step]) -> Vec<(Instant, Color)> {
    let mut verdicts = Vec::new();
    for (wait, meta) in steps {
        let until = now + Span::from_nanos(*wait);
        call(meter, timers, now, until);
        now = until;
        if meta.dir == perhop_core::packet::Dir::Forward {
            verdicts.push((now, meter.measure(now, meta)));
        } else {
            meter.observe_reverse(now, meta);
        }
    }
    verdicts
}

#[test]
fn timers_change_nothing() {
    check(&(settings(), steps()), |(params, steps)| {
        let answers = |timers| walk(&mut build(params), timers, Instant::ZERO, &steps);
        let expected = answers(Timers::OnTime);
        for timers in [Timers::Never, Timers::Often, Timers::Late] {
            assert_eq!(answers(timers), expected, "{timers:?}");
        }
    });
}

/// IN packets of any intervals in a row take no more than their tokens, what was carried over to the first of them,
/// and, where flows keep parts, one for each flow.
#[test]
fn tokens_bound_in_packets() {
    check(&(settings(), steps()), |(params, steps)| {
        let verdicts = walk(&mut build(params), Timers::OnTime, Instant::ZERO, &steps);
        let bounded =
            params.fraction != Fraction::RoundUp && params.beyond_tokens != BeyondTokens::SmallWindowIn;
        let kept = if params.fraction == Fraction::Carry { u64::from(FLOWS) } else { 0 };
        let ins: Vec<_> = verdicts
            .iter()
            .filter(|(_, color)| *color == Color::Green)
            .map(|(at, _)| at.as_nanos() / T.as_nanos())
            .collect();
        for (index, first) in ins.iter().enumerate().filter(|_| bounded) {
            for (packets, last) in (1..).zip(&ins[index..]) {
                let tokens = (last - first + 1) * u64::from(params.tokens);
                let most = tokens + if *first == 0 { 0 } else { u64::from(params.carry_tokens) + kept };
                assert!(packets <= most, "{packets} IN in intervals {first} to {last}, tokens for {most}");
            }
        }
    });
}

#[test]
fn a_clone_gives_the_same_answers() {
    check(&(settings(), steps(), 0usize..400), |(params, steps, at)| {
        let (before, after) = steps.split_at(at.min(steps.len()));
        let mut meter = build(params);
        walk(&mut meter, Timers::OnTime, Instant::ZERO, before);
        let now = before.iter().fold(Instant::ZERO, |now, (wait, _)| now + Span::from_nanos(*wait));
        let mut clone = meter.clone();
        let answers = walk(&mut meter, Timers::OnTime, now, after);
        assert_eq!(walk(&mut clone, Timers::OnTime, now, after), answers);
    });
}

#[test]
fn colours_make_no_difference() {
    check(&(settings(), steps()), |(params, steps)| {
        let painted: Vec<_> =
            steps.iter().map(|&(wait, meta)| (wait, Meta { color: Color::Yellow, ..meta })).collect();
        let answers = |steps: &[Step]| walk(&mut build(params), Timers::OnTime, Instant::ZERO, steps);
        assert_eq!(answers(&painted), answers(&steps));
    });
}

/// A constant load at which tokens are short uses all of them in the long run, to within one for each flow.
#[test]
fn parts_of_tokens_are_not_lost_in_the_long_run() {
    check(&(1u32..40, prop::collection::vec(1u32..20, 1..12)), |(tokens, flows)| {
        let wanted: u32 = flows.iter().sum();
        let mut meter = build(TcpFriendlyParams { small_window: 0.0, ..params(tokens) });
        let (mut now, mut ins, intervals) = (Instant::ZERO, 0, 200);
        for _ in 0..=intervals {
            for (flow, &packets) in (0..).zip(&flows) {
                for _ in 0..packets {
                    ins += u32::from(meter.measure(now, &data(flow, 20_000)) == Color::Green);
                }
            }
            now += T;
        }
        let (most, flows) = (intervals * tokens.min(wanted), flows.len() as u32);
        // A flow may wait a gap and a token at the end; a part of 10^6 is lost in each division.
        assert!(ins <= most && ins + 2 * flows + 1 >= most, "{ins} IN for {most} tokens");
    });
}

#[test]
fn years_of_silence_are_no_work() {
    let saving = TcpFriendlyParams { carry_tokens: 5, forget_after: 10_000, ..params(3) };
    let mut meter = build(saving);
    meter.measure(Instant::ZERO, &data(0, 1000));
    let late = Instant::from_nanos(u64::MAX / 2);
    let ins = (0..20).filter(|_| meter.measure(late, &data(1, 1000)) == Color::Green).count();
    assert_eq!(ins, 8, "the pool and what is carried");
    assert_eq!(meter.measure(Instant::MAX, &data(2, 1000)), Color::Green, "at the end of time");
}
