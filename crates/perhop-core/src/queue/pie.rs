//! Proportional integral controller enhanced: arrivals are dropped, or marked, by chance, with a probability that is set anew every
//! few milliseconds by how long packets wait and by whether that grows.
//!
//! Source: RFC 8033 (Pan, Natarajan, Baker and White 2017): sections 4 and 5, Appendix A; the departure rate as in Appendix B.
//! Different: an empty queue has no delay, where Appendix A keeps that of the last departure and lets the probability grow while
//! nothing comes. Where Appendix B says otherwise than the sections, they count. A limit stands behind, as in Appendix B. With
//! `byte_mode`, which the RFC leaves open, the bound is RFC 8034's.
//! Units: delays in seconds; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of a FIFO, some comparisons and a conversion for each packet, a draw for each drop; an update for each `t_update`.

use super::early::{EarlyState, not_empty, some_bytes, some_time, within_one};
use super::{Backlog, Fifo, FlowQueue, Queue, float, mark};
use crate::packet::{Ecn, Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::{Chance, Stream};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{Bytes, QueueSize};

/// The bytes that must have left before the time that it took counts: `DQ_THRESHOLD` (section 5.2).
const DQ_THRESHOLD: Bytes = Bytes(1 << 14);
/// The weight of a new measurement: `DQ_THRESHOLD / 2^16`.
const DQ_WEIGHT: f64 = 0.25;

/// Where a queue with PIE knows its delay from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DelayFrom {
    /// How long the packet waited that left last (section 4.3).
    Timestamps,
    /// The backlog over the rate at which packets leave (section 5.2).
    DepartureRate,
}

/// Parameters of [`Pie`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct PieParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// The delay to hold: `QDELAY_REF`.
    pub target: Span,
    /// Time between updates of the probability.
    pub t_update: Span,
    /// How long a queue may grow after a calm before anything is dropped by chance (section 4.4).
    pub max_burst: Span,
    /// The amount that a second above the target adds to the probability in an update, where it is 0.1 or more.
    pub alpha: f64,
    /// The amount that a second of growth since the last update adds.
    pub beta: f64,
    /// Where the delay is known from.
    pub delay_from: DelayFrom,
    /// The backlog that the controller needs to become active (section 5.3); without it, it always is.
    pub active_from: Option<QueueSize>,
    /// Whether drops are kept from coming too close together and too far apart (section 5.4).
    pub derandomize: bool,
    /// Whether a probability of 0.1 or more rises by at most 0.02 in an update (section 5.5).
    pub cap_adjustment: bool,
    /// Whether the probability is proportional to the length of the packet, up to 0.85.
    pub byte_mode: bool,
    /// Whether packets that can carry a congestion mark are marked instead of dropped by chance (section 5.1).
    pub ecn: bool,
    /// From this probability on they are dropped all the same.
    pub mark_ecnth: f64,
    /// Nothing is dropped by chance where two of these or less wait; also the measure of `byte_mode`.
    pub mean_packet: Bytes,
}

/// A queue with the controller of RFC 8033.
#[derive(Clone, Debug)]
pub struct Pie<P> {
    fifo: Fifo<P>,
    params: PieParams,
    target: f64,
    short: Bytes,
    chance: Chance,
    probability: f64,
    /// Sum of the probabilities since the last drop.
    accumulated: f64,
    /// The delay, and what it was at the last update.
    current: f64,
    old: f64,
    /// The rest of the burst that may pass, in nanoseconds.
    burst: u64,
    /// When the probability is set anew; none while the controller is inactive.
    update: Option<Instant>,
    rate: DepartureRate,
}

impl<P: Packet> Pie<P> {
    /// An empty queue; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: PieParams, stream: Stream) -> Result<Self, ParamError> {
        let PieParams { target, t_update, alpha, beta, mean_packet, .. } = params;
        not_empty("limit", params.limit)?;
        for (field, span) in [("target", target), ("t_update", t_update)] {
            some_time(field, span)?;
        }
        for (field, weight) in [("alpha", alpha), ("beta", beta)] {
            if !(weight.is_finite() && weight > 0.0) {
                return Err(ParamError::new(field, "must exceed 0"));
            }
        }
        if let Some(from) = params.active_from {
            not_empty("active_from", from)?;
        }
        within_one("mark_ecnth", params.mark_ecnth)?;
        some_bytes("mean_packet", mean_packet)?;
        Ok(Self {
            fifo: Fifo::new(site, params.limit),
            params,
            target: seconds(target),
            short: Bytes(mean_packet.0.saturating_mul(2)),
            chance: Chance::new(stream),
            probability: 0.0,
            accumulated: 0.0,
            current: 0.0,
            old: 0.0,
            burst: params.max_burst.as_nanos(),
            update: params.active_from.is_none().then(|| Instant::ZERO + t_update),
            rate: DepartureRate::default(),
        })
    }

    /// The probability of a drop, as the last update left it.
    #[must_use]
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Whether the latest delays are short and nothing would be dropped.
    fn is_calm(&self) -> bool {
        let half = self.target / 2.0;
        self.probability == 0.0 && self.current < half && self.old < half
    }

    /// Whether chance, or its guard, takes the packet of `len` that arrives.
    #[inline]
    fn takes(&mut self, len: Bytes) -> bool {
        //= rfc8033-4.4-burst
        if self.burst > 0 {
            return false;
        }
        //= rfc8033-4.1-safeguard
        let short = self.old < self.target / 2.0 && self.probability < 0.2;
        if short || self.fifo.backlog().bytes <= self.short {
            return false;
        }
        let mut p = self.probability;
        if self.params.byte_mode {
            p = (p * float(len.0) / float(self.params.mean_packet.0)).min(LOW);
        }
        //= rfc8033-5.4-derandomization
        if self.params.derandomize {
            match spread(&mut self.accumulated, p) {
                Spread::TooSoon => return false,
                Spread::Overdue => return true,
                Spread::ByChance => {}
            }
        }
        //= rfc8033-4.1-random-drop
        self.chance.happens(p)
    }

    /// An arrival finds the controller inactive.
    #[cold]
    fn wake(&mut self, now: Instant) {
        //= rfc8033-5.3-active
        if self.params.active_from.is_none_or(|from| self.fifo.backlog().reaches(from)) {
            self.update = Some(now + self.params.t_update);
            (self.probability, self.accumulated, self.old) = (0.0, 0.0, 0.0);
            self.burst = self.params.max_burst.as_nanos();
            self.rate = DepartureRate { cycle: Some((now, Bytes(0))), taken: 0.0 };
        }
    }

    fn set_probability(&mut self) {
        if self.params.delay_from == DelayFrom::DepartureRate {
            self.current = self.rate.delay(self.fifo.backlog().bytes);
        }
        //= rfc8033-4.2-controller
        let mut p =
            self.params.alpha * (self.current - self.target) + self.params.beta * (self.current - self.old);
        p /= scale(self.probability);
        //= rfc8033-5.5-cap
        if self.params.cap_adjustment && self.probability >= 0.1 {
            p = p.min(0.02);
        }
        self.probability += p;
        //= rfc8033-4.2-decay
        if self.current == 0.0 && self.old == 0.0 {
            self.probability *= 0.98;
        }
        //= rfc8033-4.2-bounds
        self.probability = self.probability.clamp(0.0, 1.0);
        //= rfc8033-5.3-inactive
        if self.params.active_from.is_some() && self.is_calm() {
            self.update = None;
        }
        self.old = self.current;
        //= rfc8033-4.4-burst
        //= rfc8033-4.4-round
        self.burst = self.burst.saturating_sub(self.params.t_update.as_nanos());
    }
}

impl<P: Packet> Queue<P> for Pie<P> {
    fn enqueue(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        if !self.fifo.has_room_for(pkt.meta().len) {
            self.accumulated = 0.0;
            sink.dropped(now, self.fifo.site(), pkt, DropReason::Overflow);
            return;
        }
        if self.update.is_none() {
            self.wake(now);
        }
        //= rfc8033-4.4-reset
        if self.is_calm() {
            self.burst = self.params.max_burst.as_nanos();
        }
        if self.update.is_some() && self.takes(pkt.meta().len) {
            self.accumulated = 0.0;
            //= rfc8033-5.1-mark
            let marks = self.params.ecn && self.probability < self.params.mark_ecnth;
            if !mark_instead(marks, now, self.fifo.site(), &mut pkt, sink) {
                sink.dropped(now, self.fifo.site(), pkt, DropReason::Early);
                return;
            }
        }
        self.fifo.push(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        let pkt = self.fifo.dequeue(now, sink)?;
        let left = self.fifo.backlog();
        match self.params.delay_from {
            //= rfc8033-4.3-timestamps
            DelayFrom::Timestamps if left.packets == 0 => self.current = 0.0,
            DelayFrom::Timestamps => self.current = seconds(now - pkt.meta().enqueued_at),
            DelayFrom::DepartureRate => self.rate.departed(now, pkt.meta().len, left.bytes),
        }
        Some(pkt)
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn has_deadlines(&self) -> bool {
        true
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.update
    }

    fn on_timeout(&mut self, now: Instant, _sink: &mut dyn Sink<P>) {
        if let Some(due) = self.update.filter(|due| *due <= now) {
            //= rfc8033-4.2-period
            self.update = Some(after(due, self.params.t_update, now));
            self.set_probability();
        }
    }

    fn early_states(&self) -> Vec<EarlyState> {
        vec![EarlyState { color: None, average: None, probability: self.probability }]
    }
}

impl<P: Packet> FlowQueue<P> for Pie<P> {
    fn dequeue_beside(&mut self, now: Instant, _others: Option<Bytes>, sink: &mut dyn Sink<P>) -> Option<P> {
        self.dequeue(now, sink)
    }

    fn evict(&mut self, _now: Instant, _counts: bool) -> Option<P> {
        let pkt = self.fifo.pop()?;
        self.accumulated = 0.0;
        if self.fifo.backlog().packets == 0 {
            self.current = 0.0;
        }
        Some(pkt)
    }
}

/// The rate at which packets leave, as the time that `DQ_THRESHOLD` takes.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
struct DepartureRate {
    /// Since when is measured, and what has left since.
    cycle: Option<(Instant, Bytes)>,
    /// The average in seconds; zero before the first measurement.
    taken: f64,
}

impl DepartureRate {
    /// A packet of `len` leaves `left` behind.
    fn departed(&mut self, now: Instant, len: Bytes, left: Bytes) {
        //= rfc8033-5.2-rate
        if let Some((start, gone)) = &mut self.cycle {
            *gone += len;
            if *gone >= DQ_THRESHOLD {
                let taken = seconds(now - *start);
                let average = taken * DQ_WEIGHT + self.taken * (1.0 - DQ_WEIGHT);
                self.taken = if self.taken == 0.0 { taken } else { average };
                self.cycle = None;
            }
        }
        if self.cycle.is_none() && left >= DQ_THRESHOLD {
            self.cycle = Some((now, Bytes(0)));
        }
    }

    /// How long `bytes` take to leave.
    fn delay(&self, bytes: Bytes) -> f64 {
        float(bytes.0) * self.taken / float(DQ_THRESHOLD.0)
    }
}

/// The first end of a `period` after `now`; `due` was one.
pub(super) fn after(due: Instant, period: Span, now: Instant) -> Instant {
    let missed = (now - due).as_nanos() / period.as_nanos();
    due + Span::from_nanos(period.as_nanos() * (missed + 1))
}

/// In seconds, where the delays of the controllers are reckoned.
#[inline]
pub(super) const fn seconds(span: Span) -> f64 {
    float(span.as_nanos()) / 1e9
}

/// By how much a change of the probability is scaled down (section 4.2).
pub(super) fn scale(probability: f64) -> f64 {
    //= rfc8033-4.2-autotune
    match probability {
        p if p < 0.000_001 => 2048.0,
        p if p < 0.000_01 => 512.0,
        p if p < 0.000_1 => 128.0,
        p if p < 0.001 => 32.0,
        p if p < 0.01 => 8.0,
        p if p < 0.1 => 2.0,
        _ => 1.0,
    }
}

/// Below this sum of probabilities since the last drop none comes.
pub(super) const LOW: f64 = 0.85;
/// From this sum on one comes.
const HIGH: f64 = 8.5;

/// The answer of the sum of probabilities since the last drop.
pub(super) enum Spread {
    TooSoon,
    ByChance,
    Overdue,
}

/// Adds `p` to what has `accumulated`.
pub(super) fn spread(accumulated: &mut f64, p: f64) -> Spread {
    *accumulated = if p == 0.0 { 0.0 } else { *accumulated + p };
    match *accumulated {
        sum if sum < LOW => Spread::TooSoon,
        sum if sum >= HIGH => Spread::Overdue,
        _ => Spread::ByChance,
    }
}

/// Marks `pkt` if that is done here and it can carry a mark; returns whether it does.
pub(super) fn mark_instead<P: Packet>(
    marks: bool,
    now: Instant,
    site: SiteId,
    pkt: &mut P,
    sink: &mut dyn Sink<P>,
) -> bool {
    let marked = marks && pkt.meta().ecn != Ecn::NotEct;
    if marked {
        mark(now, site, pkt, sink);
    }
    marked
}
