//! The laws of meters refuse what a meter may not do.

use perhop_core::meter::Meter;
use perhop_core::packet::{Color, Meta};
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::laws::meter::{
    Bound, Mode, Op, Per, clones_agree, idle_time_may_be_split, keeps_bounds, red_leaves_no_trace, repeats,
    respects_colors,
};

/// What is wrong with a [`Faulty`] meter.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    /// Everything is green.
    Generous,
    /// Every packet gets one colour better.
    Improves,
    /// Every packet keeps its colour.
    Trusting,
    /// Red once `on_timeout` was called, due or not.
    CountsCalls,
    /// Red once it measured anything.
    CountsPackets,
    /// A met deadline stays.
    StuckDeadline,
    /// Nobody is told that there is a deadline.
    SilentDeadline,
}

#[derive(Clone)]
struct Faulty {
    flaw: Flaw,
    count: u32,
}

impl Timed for Faulty {
    fn next_timeout(&self) -> Option<Instant> {
        let due = match self.flaw {
            Flaw::StuckDeadline => true,
            Flaw::SilentDeadline => self.count == 0,
            _ => false,
        };
        due.then_some(Instant::ZERO + Span::from_nanos(1))
    }

    fn on_timeout(&mut self, _now: Instant) {
        self.count += u32::from(matches!(self.flaw, Flaw::CountsCalls | Flaw::SilentDeadline));
    }
}

impl Meter for Faulty {
    fn measure(&mut self, _now: Instant, meta: &Meta) -> Color {
        if meta.len == Bytes(u64::MAX) {
            self.count += 1;
            return Color::Red;
        }
        match self.flaw {
            Flaw::Improves if meta.color == Color::Red => Color::Yellow,
            Flaw::Trusting => meta.color,
            _ if self.count > 0 => Color::Red,
            _ => Color::Green,
        }
    }
}

const NS: Op = Op::Wait(10);

fn packet(color: Color) -> Op {
    Op::Measure(Meta { len: Bytes(1500), color, ..Meta::default() })
}

fn build(flaw: Flaw) -> impl Fn() -> Faulty {
    move || Faulty { flaw, count: 0 }
}

fn bound(burst: u64) -> [Bound; 1] {
    [Bound { worst: Color::Green, rate: BitRate::new(8000).expect("not zero"), burst: Bytes(burst) }]
}

/// 3000 bytes within a millisecond, at a byte a millisecond: 2999 bytes of burst just suffice.
#[test]
fn a_bound_is_kept_to_the_byte() {
    let ops = [packet(Color::Green), Op::Wait(1_000_000), packet(Color::Green)];
    keeps_bounds(build(Flaw::Generous), Per::Aggregate, &bound(2999), &ops);
}

#[test]
#[should_panic(expected = "3000 bytes from 0.000000000s to 0.000999999s exceed")]
fn a_bound_must_be_kept_to_the_nanosecond() {
    let ops = [packet(Color::Green), Op::Wait(999_999), packet(Color::Green)];
    keeps_bounds(build(Flaw::Generous), Per::Aggregate, &bound(2999), &ops);
}

#[test]
#[should_panic(expected = "1500 bytes from 0.000000010s")]
fn a_window_may_begin_anywhere() {
    keeps_bounds(build(Flaw::Generous), Per::Flow, &bound(1499), &[NS, packet(Color::Red)]);
}

#[test]
#[should_panic(expected = "Red became Yellow")]
fn a_colour_must_not_improve() {
    respects_colors(build(Flaw::Improves), Mode::Aware, &[packet(Color::Red)]);
}

#[test]
#[should_panic(expected = "colours made a difference")]
fn a_blind_meter_must_not_see_colours() {
    respects_colors(build(Flaw::Trusting), Mode::Blind, &[packet(Color::Yellow)]);
}

#[test]
#[should_panic(expected = "a call before its time made a difference")]
fn an_early_call_must_change_nothing() {
    idle_time_may_be_split(build(Flaw::CountsCalls), &[NS, packet(Color::Green)]);
}

#[test]
#[should_panic(expected = "a deadline at Some(Instant(1)) after 0.000000001s")]
fn a_deadline_must_lie_ahead() {
    repeats(build(Flaw::StuckDeadline), &[NS]);
}

#[test]
#[should_panic(expected = "a deadline of a meter that has none")]
fn a_deadline_must_not_come_as_a_surprise() {
    repeats(build(Flaw::SilentDeadline), &[NS]);
}

#[test]
#[should_panic(expected = "a red packet made a difference")]
fn a_red_packet_must_take_nothing() {
    red_leaves_no_trace(build(Flaw::CountsPackets), &[NS, packet(Color::Green)]);
}

/// Its clones start anew.
struct Forgetful(u32);

impl Clone for Forgetful {
    fn clone(&self) -> Self {
        Self(0)
    }
}

impl Timed for Forgetful {}

impl Meter for Forgetful {
    fn measure(&mut self, _now: Instant, _meta: &Meta) -> Color {
        self.0 += 1;
        if self.0 > 1 { Color::Red } else { Color::Green }
    }
}

#[test]
#[should_panic(expected = "a clone went astray")]
fn a_clone_must_know_what_its_original_knew() {
    clones_agree(|| Forgetful(0), 1, &[packet(Color::Green); 2]);
}
