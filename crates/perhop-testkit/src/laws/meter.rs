//! Laws of [`Meter`].

use perhop_core::meter::Meter;
use perhop_core::packet::{Color, Dir, FlowId, Meta};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use proptest::prelude::*;

const FLOWS: u32 = 3;

/// Something done to a meter.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A packet is measured.
    Measure(Meta),
    /// A packet passes the other way.
    Observe(Meta),
    /// Time passes, in ns.
    Wait(u64),
}

/// Random operations: bursts, gaps, and now and then an idle time that fills every bucket.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let wait = prop_oneof![1u64..1000, 0u64..200_000_000, 0u64..3_000_000_000];
    let op = prop_oneof![
        6 => metas().prop_map(Op::Measure),
        1 => metas().prop_map(Op::Observe),
        4 => wait.prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..150)
}

fn metas() -> impl Strategy<Value = Meta> {
    let len = prop_oneof![Just(40), Just(1500), 1u64..3000];
    let dir = prop::sample::select(vec![Dir::Forward, Dir::Forward, Dir::Reverse]);
    let color = prop::sample::select(vec![Color::Green, Color::Green, Color::Yellow, Color::Red]);
    (len, 0..FLOWS, dir, color).prop_map(|(len, flow, dir, color)| Meta {
        len: Bytes(len),
        flow: FlowId(flow),
        dir,
        color,
        ..Meta::default()
    })
}

/// Of what is measured, the packets no worse than `worst` fit a rate and a burst.
#[derive(Clone, Copy, Debug)]
pub struct Bound {
    /// Counts, and all better ones.
    pub worst: Color,
    /// Rate.
    pub rate: BitRate,
    /// Burst.
    pub burst: Bytes,
}

/// Whether the colour that a packet comes with counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Mode {
    /// It does not.
    Blind,
    /// It does.
    Aware,
}

/// Traffic that a meter is for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Per {
    /// All packets together.
    Aggregate,
    /// Each flow and direction apart.
    Flow,
}

impl Per {
    fn key(self, meta: &Meta) -> Option<(FlowId, Dir)> {
        (self == Self::Flow).then_some((meta.flow, meta.dir))
    }
}

/// A packet, when it was measured, and the verdict.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Measured {
    /// When.
    pub at: Instant,
    /// The packet as it came.
    pub meta: Meta,
    /// The verdict.
    pub color: Color,
}

/// The bytes of each bound's colours that pass in any window of time fit the bound: burst + rate * time.
pub fn keeps_bounds<M: Meter>(build: impl Fn() -> M, per: Per, bounds: &[Bound], ops: &[Op]) {
    let measured = walk(&mut build(), ops);
    for bound in bounds {
        let counted: Vec<_> = measured.iter().filter(|one| one.color <= bound.worst).collect();
        for (index, first) in counted.iter().enumerate() {
            let mut bytes = 0;
            for last in counted[index..].iter().filter(|one| per.key(&one.meta) == per.key(&first.meta)) {
                bytes += last.meta.len.0;
                let span = u128::from((last.at - first.at).as_nanos());
                let most = u128::from(bound.burst.bits()) * 1_000_000_000
                    + u128::from(bound.rate.bits_per_sec()) * span;
                assert!(
                    u128::from(Bytes(bytes).bits()) * 1_000_000_000 <= most,
                    "{bytes} bytes from {} to {} exceed {bound:?}",
                    first.at,
                    last.at
                );
            }
        }
    }
}

/// A colour-aware meter never improves a colour; to a colour-blind one it makes no difference.
pub fn respects_colors<M: Meter>(build: impl Fn() -> M, mode: Mode, ops: &[Op]) {
    let measured = walk(&mut build(), ops);
    match mode {
        Mode::Aware => {
            for one in measured {
                assert!(one.color >= one.meta.color, "{:?} became {:?}", one.meta.color, one.color);
            }
        }
        Mode::Blind => {
            let bleached: Vec<_> = ops
                .iter()
                .map(|op| match *op {
                    Op::Measure(meta) => Op::Measure(Meta { color: Color::Green, ..meta }),
                    op => op,
                })
                .collect();
            assert_eq!(
                colors(&measured),
                colors(&walk(&mut build(), &bleached)),
                "colours made a difference"
            );
        }
    }
}

/// However idle time is split by calls that are not due, the verdicts are the same; deadlines lie ahead.
pub fn idle_time_may_be_split<M: Meter>(build: impl Fn() -> M, ops: &[Op]) {
    let (mut meter, mut now, mut split) = (build(), Instant::ZERO, Vec::new());
    for op in ops {
        if let Op::Wait(ns) = *op {
            let until = now + Span::from_nanos(ns);
            for parts in [ns / 7, ns / 3] {
                wait(&mut meter, &mut now, Span::from_nanos(parts));
                pester(&mut meter, now);
            }
            let rest = until - now;
            wait(&mut meter, &mut now, rest);
        } else {
            split.extend(step(&mut meter, &mut now, op));
        }
        pester(&mut meter, now);
    }
    assert_eq!(split, walk(&mut build(), ops), "a call before its time made a difference");
}

/// A packet that is too long for every profile is red, and the verdicts on all others are as without it. So whatever
/// brings a bucket up to date, and how often, does not matter. For meters that count with token buckets alone.
pub fn red_leaves_no_trace<M: Meter>(build: impl Fn() -> M, ops: &[Op]) {
    let (mut meter, mut now, mut split) = (build(), Instant::ZERO, Vec::new());
    let too_long = |meter: &mut M, now| {
        for (flow, dir) in (0..FLOWS).flat_map(|flow| [(flow, Dir::Forward), (flow, Dir::Reverse)]) {
            let meta = Meta { len: Bytes(u64::MAX), flow: FlowId(flow), dir, ..Meta::default() };
            assert_eq!(meter.measure(now, &meta), Color::Red, "longer than any burst");
        }
    };
    for op in ops {
        if let Op::Wait(ns) = *op {
            let until = now + Span::from_nanos(ns);
            for parts in [ns / 7, ns / 3] {
                wait(&mut meter, &mut now, Span::from_nanos(parts));
                too_long(&mut meter, now);
            }
            let rest = until - now;
            wait(&mut meter, &mut now, rest);
        } else {
            split.extend(step(&mut meter, &mut now, op));
        }
    }
    assert_eq!(split, walk(&mut build(), ops), "a red packet made a difference");
}

/// A clone answers as its original, and each goes its own way.
pub fn clones_agree<M: Meter + Clone>(build: impl Fn() -> M, at: usize, ops: &[Op]) {
    let (before, after) = ops.split_at(at.min(ops.len()));
    let (mut meter, mut now) = (build(), Instant::ZERO);
    for op in before {
        step(&mut meter, &mut now, op);
    }
    let (mut clone, start) = (meter.clone(), now);
    let answers: Vec<_> = after.iter().filter_map(|op| step(&mut meter, &mut now, op)).collect();
    now = start;
    let cloned: Vec<_> = after.iter().filter_map(|op| step(&mut clone, &mut now, op)).collect();
    assert_eq!(cloned, answers, "a clone went astray");
}

/// Two meters built alike and treated alike answer alike.
pub fn repeats<M: Meter>(build: impl Fn() -> M, ops: &[Op]) {
    assert_eq!(walk(&mut build(), ops), walk(&mut build(), ops));
}

/// The verdicts of `meter`, which is called at its deadlines.
pub fn walk<M: Meter>(meter: &mut M, ops: &[Op]) -> Vec<Measured> {
    let mut now = Instant::ZERO;
    ops.iter().filter_map(|op| step(meter, &mut now, op)).collect()
}

fn step<M: Meter>(meter: &mut M, now: &mut Instant, op: &Op) -> Option<Measured> {
    match *op {
        Op::Measure(meta) => {
            return Some(Measured { at: *now, meta, color: meter.measure(*now, &meta) });
        }
        Op::Observe(meta) => meter.observe_reverse(*now, &meta),
        Op::Wait(ns) => wait(meter, now, Span::from_nanos(ns)),
    }
    None
}

fn wait<M: Meter>(meter: &mut M, now: &mut Instant, span: Span) {
    let until = *now + span;
    while let Some(at) = meter.next_timeout().filter(|&at| at <= until) {
        *now = (*now).max(at);
        meter.on_timeout(*now);
        let next = meter.next_timeout();
        assert!(next.is_none_or(|at| at > *now), "a deadline at {next:?} after {now}");
        assert!(meter.has_deadlines(), "a deadline of a meter that has none");
    }
    *now = until;
}

/// Calls `on_timeout` although nothing is due.
fn pester<M: Meter>(meter: &mut M, now: Instant) {
    if meter.next_timeout().is_none_or(|at| at > now) {
        meter.on_timeout(now);
        meter.on_timeout(now);
    }
}

fn colors(measured: &[Measured]) -> Vec<Color> {
    measured.iter().map(|one| one.color).collect()
}

/// Makes the meter laws tests of one element, in a module `$name`.
///
/// `meter_laws!(single_rate, || SrTcm::new(params).expect("sound"), mode = Mode::Blind, per = Per::Aggregate,
/// bounds = [green, yellow]);` with `, also = red_leaves_no_trace` for a meter that counts with token buckets alone.
#[macro_export]
macro_rules! meter_laws {
    ($name:ident, $build:expr, mode = $mode:expr, per = $per:expr, bounds = $bounds:expr $(, also = $also:ident)*) => {
        mod $name {
            use super::*;

            #[test]
            fn keeps_bounds() {
                $crate::check(&$crate::laws::meter::ops(), |ops| {
                    $crate::laws::meter::keeps_bounds($build, $per, &$bounds, &ops);
                });
            }

            #[test]
            fn respects_colors() {
                $crate::check(&$crate::laws::meter::ops(), |ops| {
                    $crate::laws::meter::respects_colors($build, $mode, &ops);
                });
            }

            #[test]
            fn idle_time_may_be_split() {
                $crate::check(&$crate::laws::meter::ops(), |ops| {
                    $crate::laws::meter::idle_time_may_be_split($build, &ops);
                });
            }

            #[test]
            fn clones_agree() {
                $crate::check(&(0usize..150, $crate::laws::meter::ops()), |(at, ops)| {
                    $crate::laws::meter::clones_agree($build, at, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::meter::ops(), |ops| {
                    $crate::laws::meter::repeats($build, &ops);
                });
            }

            $(#[test]
            fn $also() {
                $crate::check(&$crate::laws::meter::ops(), |ops| {
                    $crate::laws::meter::$also($build, &ops);
                });
            })*
        }
    };
}
