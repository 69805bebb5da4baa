//! Early detection: whether an arrival is dropped, or marked, by the average length of the queue it finds.
//!
//! Source: Floyd and Jacobson 1993, sections 4 and 7, Figure 2; `gentle` as in ns-2 (Floyd 2000); marking by ECN as RFC 3168
//! section 7 has it: instead of a drop by chance, never instead of a forced one.
//! Different: `byte_mode` measures a packet against the mean length, as ns-2 does, where the paper takes the largest; the
//! paper's order is kept, length first and then the count, in packets. A drop for want of room restarts the count too (as
//! in ns-2). What ns-2 does otherwise with the count and a short queue is a setting ([`Conventions`]).
//! Note that Figure 2 counts the packet at hand: after a drop the next comes within 1/p_b - 1 packets, uniformly; only
//! the first above `min_th` within 1/p_b, the number that section 7 derives.
//! Units: thresholds and average in packets or in bytes. Cost: a division for each arrival between the thresholds, two
//! comparisons otherwise; a draw for each drop by chance.

use super::average::{MeanPacket, Unit};
use super::conventions::Conventions;
use super::fifo::Fifo;
use super::mark;
use crate::packet::{Color, Ecn, Packet};
use crate::param_error::ParamError;
use crate::rng::Chance;
use crate::sink::{DropReason, Sink};
use crate::time::{Instant, Span};
use crate::units::{Bytes, QueueSize};

/// Where dropping begins, where it becomes certain, and how likely it is in between.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Thresholds {
    /// Nothing is dropped early while the average is below.
    pub min_th: QueueSize,
    /// Everything is dropped from here on, or from twice as much with `gentle`.
    pub max_th: QueueSize,
    /// Probability of a drop as the average approaches `max_th`, before it is spread by the count.
    pub max_p: f64,
}

/// The probability of a drop over the average.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Curve {
    min_th: f64,
    max_th: f64,
    /// From here on every arrival is dropped: `max_th`, or twice as much.
    end: f64,
    max_p: f64,
    /// Probability for each unit of average between the thresholds.
    slope: f64,
    /// And between `max_th` and `end`.
    gentle_slope: f64,
}

impl Curve {
    /// The curve through `thresholds`; with `gentle` it goes on from `max_p` at `max_th` to 1 at twice `max_th`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "a queue of fewer than 2^53 bytes")]
    pub const fn new(thresholds: &Thresholds, gentle: bool) -> Self {
        let (min_th, max_th) = (amount(thresholds.min_th) as f64, amount(thresholds.max_th) as f64);
        let max_p = thresholds.max_p;
        Self {
            min_th,
            max_th,
            end: if gentle { 2.0 * max_th } else { max_th },
            max_p,
            slope: max_p / (max_th - min_th),
            gentle_slope: (1.0 - max_p) / max_th,
        }
    }

    /// The zone in which `average` lies.
    #[inline]
    #[must_use]
    pub fn at(&self, average: f64) -> Zone {
        if average < self.min_th {
            Zone::Below
        //= floyd1993-4-p-b
        } else if average < self.max_th {
            Zone::Between((average - self.min_th) * self.slope)
        } else if average < self.end {
            Zone::Between(self.max_p + (average - self.max_th) * self.gentle_slope)
        } else {
            Zone::Above
        }
    }
}

/// The zones of a [`Curve`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Zone {
    /// Nothing is dropped.
    Below,
    /// p_b: the probability of a drop before it is spread.
    Between(f64),
    /// Everything is dropped.
    Above,
}

//= floyd1993-4-p-a
//= floyd1993-7-uniform
/// p_a: the probability of a drop, spread so that the packets between two drops are uniform in number. `count` is whole.
#[inline]
#[must_use]
pub fn p_a(p_b: f64, count: f64, conventions: &Conventions) -> f64 {
    let left = if conventions.wait { 2.0 } else { 1.0 } - count * p_b;
    if left > p_b {
        // with `wait` nothing is dropped before 1 / p_b arrivals
        if conventions.wait && left > 1.0 { 0.0 } else { p_b / left }
    } else if left < 0.0 && conventions.unclamped {
        0.0
    } else {
        1.0
    }
}

/// The state of early detection, for observers of a queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct EarlyState {
    /// Its colour; none where all packets are treated alike.
    pub color: Option<Color>,
    /// The average as the latest arrival that it counts left it, and its unit; none where drops go by no average.
    pub average: Option<(Unit, f64)>,
    /// The probability of a drop now, for a packet of mean length: p_b at this average; 1 where every arrival is dropped.
    pub probability: f64,
}

/// The verdict of early detection on an arrival.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it in.
    Accept,
    /// Chance chose it: to be dropped, or marked.
    Early,
    /// The average is too high: to be dropped.
    Forced,
}

/// A curve with the count of packets since the last drop.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Early {
    curve: Curve,
    /// Packets since the last drop, a whole number; -1 while the average is below `min_th`.
    count: f64,
}

impl Early {
    /// No packet has come yet.
    #[must_use]
    pub const fn new(curve: Curve) -> Self {
        Self { curve, count: -1.0 }
    }

    /// The verdict on an arrival of length `len`. Only between `min_th` and the end of the curve is it a matter of chance.
    // inlined, it costs nothing to ask for conventions that are off
    #[inline(always)]
    #[must_use]
    pub fn decide(
        &mut self,
        average: f64,
        len: Bytes,
        mean: &MeanPacket,
        conventions: &Conventions,
        chance: &mut Chance,
    ) -> Verdict {
        let p_b = match self.curve.at(average) {
            Zone::Below => {
                //= floyd1993-4-below
                self.count = -1.0;
                return Verdict::Accept;
            }
            Zone::Above => {
                //= floyd1993-4-above
                self.on_dropped(conventions);
                return Verdict::Forced;
            }
            Zone::Between(p_b) => mean.measure(p_b, len),
        };
        if conventions.spare_first && self.count < 0.0 {
            self.count = 1.0;
            return Verdict::Accept;
        }
        //= floyd1993-4-between
        self.count += 1.0;
        if chance.happens(p_a(p_b, self.count, conventions)) {
            //= floyd1993-4-restart
            self.count = 0.0;
            return Verdict::Early;
        }
        Verdict::Accept
    }

    /// The state for packets of `color` at `average`.
    pub(super) fn state(&self, color: Option<Color>, unit: Unit, average: f64) -> EarlyState {
        let probability = match self.curve.at(average) {
            Zone::Below => 0.0,
            Zone::Between(p_b) => p_b,
            Zone::Above => 1.0,
        };
        EarlyState { color, average: Some((unit, average)), probability }
    }

    /// The average has no say over this arrival: it counts as below `min_th`.
    pub(super) const fn spare(&mut self) -> Verdict {
        self.count = -1.0;
        Verdict::Accept
    }

    /// A packet was dropped: the count begins again, but where the first above `min_th` is yet to be spared.
    pub fn on_dropped(&mut self, conventions: &Conventions) {
        if self.count >= 0.0 || !conventions.spare_first {
            self.count = 0.0;
        }
    }
}

/// Carries out `verdict` on an arrival; `fits` says whether its own colour has room for it. Returns whether `fifo` has it now.
// not inlined, it takes a seventh of a decision to call
#[inline(always)]
#[must_use]
pub(super) fn admit<P: Packet>(
    fifo: &mut Fifo<P>,
    verdict: Verdict,
    ecn: bool,
    fits: impl FnOnce() -> bool,
    now: Instant,
    mut pkt: P,
    sink: &mut dyn Sink<P>,
) -> bool {
    let why = match verdict {
        //= rfc3168-7-drop-above
        Verdict::Forced => DropReason::Forced,
        //= rfc3168-5-alike
        Verdict::Early if !(ecn && pkt.meta().ecn != Ecn::NotEct) => DropReason::Early,
        //= rfc3168-5-full-queue
        _ if !(fits() && fifo.has_room_for(pkt.meta().len)) => DropReason::Overflow,
        _ => {
            if verdict == Verdict::Early {
                //= floyd1993-4-mark-or-drop
                //= rfc3168-5-instead
                mark(now, fifo.site(), &mut pkt, sink);
            }
            fifo.push(now, pkt, sink);
            return true;
        }
    };
    sink.dropped(now, fifo.site(), pkt, why);
    false
}

const fn amount(size: QueueSize) -> u64 {
    match size {
        QueueSize::Packets(amount) | QueueSize::Bytes(amount) => amount,
    }
}

/// The names of one colour's parameters.
pub(super) struct Names {
    pub min_th: &'static str,
    pub max_th: &'static str,
    pub max_p: &'static str,
    pub w_q: &'static str,
    pub limit: &'static str,
}

/// The names of the parameters inside `$prefix`.
macro_rules! names {
    ($prefix:literal) => {
        $crate::queue::early::Names {
            min_th: concat!($prefix, "min_th"),
            max_th: concat!($prefix, "max_th"),
            max_p: concat!($prefix, "max_p"),
            w_q: concat!($prefix, "w_q"),
            limit: concat!($prefix, "limit"),
        }
    };
}
pub(super) use names;

impl Thresholds {
    /// Refuses what no curve goes through, and what counts otherwise than `like`, the threshold of this name.
    pub(super) fn check(&self, names: &Names, (first, like): (&str, QueueSize)) -> Result<(), ParamError> {
        let unit = Unit::of(like);
        for (name, size) in [(names.min_th, self.min_th), (names.max_th, self.max_th)] {
            if Unit::of(size) != unit {
                let rule = format!("must be in {}, as {first} ({like}) is", unit.name());
                return Err(ParamError::new(name, rule));
            }
        }
        if amount(self.max_th) <= amount(self.min_th) {
            return Err(ParamError::new(names.max_th, format!("must exceed min_th ({})", self.min_th)));
        }
        within_one(names.max_p, self.max_p)
    }
}

/// Refuses a probability or a weight outside (0, 1].
pub(super) fn within_one(field: &'static str, value: f64) -> Result<(), ParamError> {
    if value > 0.0 && value <= 1.0 {
        return Ok(());
    }
    Err(ParamError::new(field, "must be above 0 and at most 1"))
}

/// Refuses a limit that nothing fits into.
pub(super) fn not_empty(field: &'static str, limit: QueueSize) -> Result<(), ParamError> {
    match amount(limit) {
        0 => Err(ParamError::new(field, "must exceed 0")),
        _ => Ok(()),
    }
}

/// Refuses a time that does not pass.
pub(super) fn some_time(field: &'static str, span: Span) -> Result<(), ParamError> {
    match span {
        Span::ZERO => Err(ParamError::new(field, "must exceed 0s")),
        _ => Ok(()),
    }
}

/// Refuses a packet that takes no time to send.
pub(super) fn some_bytes(field: &'static str, len: Bytes) -> Result<(), ParamError> {
    match len {
        Bytes(0) => Err(ParamError::new(field, "must exceed 0B")),
        _ => Ok(()),
    }
}
