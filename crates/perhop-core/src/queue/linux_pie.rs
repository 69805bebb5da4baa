//! PIE as Linux has it: probabilities and times in whole numbers, always derandomised, and a start half a second late.
//!
//! Source: `sch_pie.c` and `pie.h` of Linux 6 (Subramanian and Prabhu 2013, and those after them).
//! Different: `limit` may be in bytes; `t_update` is not rounded to the kernel's ticks, and times do not wrap after 275 s.
//! Units: times in 64 ns, probabilities in 2^-56 of 1; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of a FIFO, some comparisons for each packet; a draw for each that is left to chance; an update for each `t_update`.

use super::early::{EarlyState, not_empty, some_bytes, some_time};
use super::pie::{DelayFrom, after, mark_instead};
use super::{Backlog, Fifo, FlowQueue, Queue};
use crate::packet::{Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::Stream;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{Bytes, QueueSize};

/// A probability of 1.
const ONE: u64 = u64::MAX >> 8;
/// The first update comes then.
const START: Span = Span::from_millis(500);
/// The bytes that must wait for the rate to be measured, and have left for it to count.
const DQ_THRESHOLD: u64 = 1 << 14;
const TICKS_PER_SECOND: u64 = 1_000_000_000 >> 6;
/// Above this delay the probability rises by 0.02 more.
const LONG: u64 = 250_000_000 >> 6;

/// Parameters of [`LinuxPie`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinuxPieParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// The delay to hold.
    pub target: Span,
    /// Time between updates of the probability.
    pub t_update: Span,
    /// How long a queue may grow after a calm before anything is dropped by chance.
    pub max_burst: Span,
    /// The amount that a second above the target adds to the probability in an update, where it is 0.1 or more; a multiple of 1/16.
    pub alpha: f64,
    /// The amount that a second of growth since the last update adds; a multiple of 1/16.
    pub beta: f64,
    /// Where the delay is known from.
    pub delay_from: DelayFrom,
    /// Whether the probability is proportional to the length of the packet.
    pub byte_mode: bool,
    /// Whether packets that can carry a congestion mark are marked instead of dropped by chance, up to a probability of 0.1.
    pub ecn: bool,
    /// The longest packet of the interface with its header: nothing is dropped by chance where less than two of these wait; also
    /// the measure of `byte_mode`.
    pub mtu: Bytes,
}

/// A queue with the controller of Linux.
#[derive(Clone, Debug)]
pub struct LinuxPie<P> {
    fifo: Fifo<P>,
    stream: Stream,
    delay_from: DelayFrom,
    byte_mode: bool,
    ecn: bool,
    mtu: u64,
    t_update: Span,
    /// In ticks of 64 ns, as all times here.
    target: u64,
    max_burst: u64,
    alpha: u64,
    beta: u64,
    probability: u64,
    accumulated: u64,
    delay: u64,
    old: u64,
    burst: u64,
    /// The last departure; with the rate, when its measurement began.
    departed: Option<u64>,
    /// Bytes gone since then.
    gone: Option<u64>,
    /// 2^8 times the bytes that leave in a tick; zero before the first measurement.
    rate: u32,
    update: Instant,
}

impl<P: Packet> LinuxPie<P> {
    /// An empty queue; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: LinuxPieParams, stream: Stream) -> Result<Self, ParamError> {
        let LinuxPieParams { limit, target, t_update, max_burst, delay_from, byte_mode, ecn, mtu, .. } =
            params;
        not_empty("limit", limit)?;
        some_time("target", target)?;
        some_time("t_update", t_update)?;
        some_bytes("mean_packet", mtu)?;
        let max_burst = ticks(max_burst.as_nanos());
        Ok(Self {
            fifo: Fifo::new(site, limit),
            stream,
            delay_from,
            byte_mode,
            ecn,
            mtu: mtu.0,
            t_update,
            target: ticks(target.as_nanos()),
            max_burst,
            alpha: weight("alpha", params.alpha)?,
            beta: weight("beta", params.beta)?,
            probability: 0,
            accumulated: 0,
            delay: 0,
            old: 0,
            burst: max_burst,
            departed: None,
            gone: None,
            rate: 0,
            update: Instant::ZERO + START,
        })
    }

    /// The probability of a drop, as the last update left it.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "for observers")]
    pub fn probability(&self) -> f64 {
        self.probability as f64 / ONE as f64
    }

    /// Whether chance, or its guard, takes the packet of `len` that arrives.
    #[inline]
    fn takes(&mut self, len: Bytes) -> bool {
        if self.burst > 0 || self.delay < self.target / 2 && self.probability < ONE / 5 {
            return false;
        }
        if self.fifo.backlog().bytes.0 < 2 * self.mtu {
            return false;
        }
        let p = match self.byte_mode && len.0 <= self.mtu {
            true => len.0 * (self.probability / self.mtu),
            false => self.probability,
        };
        self.accumulated = if p == 0 { 0 } else { self.accumulated.wrapping_add(p) };
        if self.accumulated < ONE / 100 * 85 {
            return false;
        }
        if self.accumulated >= ONE / 2 * 17 {
            return true;
        }
        let taken = self.stream.below(1 << 56) < p;
        if taken {
            self.accumulated = 0;
        }
        taken
    }

    /// A packet of `len` that came at `came` leaves `left` behind; returns how much of the burst has passed.
    fn departed(&mut self, now: u64, came: u64, len: u64, left: u64) -> u64 {
        if self.delay_from == DelayFrom::Timestamps {
            self.delay = if left == 0 { 0 } else { now - came };
            return self.departed.replace(now).map_or(0, |before| now - before);
        }
        if left >= DQ_THRESHOLD && self.gone.is_none() {
            (self.departed, self.gone) = (Some(now), Some(0));
        }
        let (Some(start), Some(gone)) = (self.departed, &mut self.gone) else { return 0 };
        *gone += len;
        let taken = now - start;
        if *gone < DQ_THRESHOLD || taken == 0 {
            return 0;
        }
        let rate = u32::try_from((*gone << 8) / taken).unwrap_or(u32::MAX);
        self.rate = if self.rate == 0 { rate } else { self.rate - (self.rate >> 3) + (rate >> 3) };
        (self.departed, self.gone) =
            if left < DQ_THRESHOLD { (Some(start), None) } else { (Some(now), Some(0)) };
        taken
    }

    fn set_probability(&mut self) {
        let waiting = self.fifo.backlog().bytes.0;
        if self.delay_from == DelayFrom::DepartureRate {
            self.old = self.delay;
            self.delay = (waiting << 8).checked_div(u64::from(self.rate)).unwrap_or(0);
        }
        let (mut alpha, mut beta) = (self.alpha, self.beta);
        if self.probability < ONE / 10 {
            (alpha, beta) = (alpha >> 1, beta >> 1);
            let mut power = 100;
            while power <= 1_000_000 && self.probability < ONE / power {
                (alpha, beta, power) = (alpha >> 2, beta >> 2, power * 10);
            }
        }
        let mut change =
            times(alpha, self.delay, self.target).wrapping_add(times(beta, self.delay, self.old));
        if self.probability >= ONE / 10 && change > (ONE / 50).cast_signed() {
            change = (ONE / 100 * 2).cast_signed();
        }
        if self.delay > LONG {
            change += (ONE / 50).cast_signed();
        }
        // it may exceed 1, and begins again there once 64 bits do not hold it
        let full = if change > 0 { ONE } else { 0 };
        self.probability = self.probability.checked_add_signed(change).unwrap_or(full);
        // a short queue has no delay, but is none
        if self.delay == 0 && self.old == 0 && waiting == 0 {
            self.probability -= self.probability / 64;
        }
        let half = self.target / 2;
        let measured = self.delay_from == DelayFrom::Timestamps || self.rate > 0;
        if self.delay < half && self.old < half && self.probability == 0 && measured {
            (self.burst, self.accumulated) = (self.max_burst, 0);
            (self.departed, self.gone, self.rate) = (None, None, 0);
        }
        if self.delay_from == DelayFrom::Timestamps {
            self.old = self.delay;
        }
    }
}

impl<P: Packet> Queue<P> for LinuxPie<P> {
    fn enqueue(&mut self, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        let mut why = None;
        if !self.fifo.has_room_for(pkt.meta().len) {
            why = Some(DropReason::Overflow);
        } else if self.takes(pkt.meta().len) {
            let marks = self.ecn && self.probability <= ONE / 10;
            if !mark_instead(marks, now, self.fifo.site(), &mut pkt, sink) {
                why = Some(DropReason::Early);
            }
        }
        match why {
            None => self.fifo.push(now, pkt, sink),
            Some(why) => {
                self.accumulated = 0;
                sink.dropped(now, self.fifo.site(), pkt, why);
            }
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        let pkt = self.fifo.dequeue(now, sink)?;
        let came = ticks(pkt.meta().enqueued_at.as_nanos());
        let left = self.fifo.backlog().bytes.0;
        let passed = self.departed(ticks(now.as_nanos()), came, pkt.meta().len.0, left);
        self.burst = self.burst.saturating_sub(passed);
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
        Some(self.update)
    }

    fn on_timeout(&mut self, now: Instant, _sink: &mut dyn Sink<P>) {
        if self.update <= now {
            self.update = after(self.update, self.t_update, now);
            self.set_probability();
        }
    }

    fn early_states(&self) -> Vec<EarlyState> {
        vec![EarlyState { color: None, average: None, probability: self.probability().min(1.0) }]
    }
}

impl<P: Packet> FlowQueue<P> for LinuxPie<P> {
    fn dequeue_beside(&mut self, now: Instant, _others: Option<Bytes>, sink: &mut dyn Sink<P>) -> Option<P> {
        self.dequeue(now, sink)
    }

    fn evict(&mut self, _now: Instant, _counts: bool) -> Option<P> {
        let pkt = self.fifo.pop()?;
        self.accumulated = 0;
        Some(pkt)
    }
}

/// Whole ticks of 64 ns.
#[inline]
const fn ticks(nanos: u64) -> u64 {
    nanos >> 6
}

/// The amount that a tick adds, by `weight` for a second.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a whole number up to 32")]
fn weight(field: &'static str, weight: f64) -> Result<u64, ParamError> {
    let sixteenths = weight * 16.0;
    if sixteenths.fract() != 0.0 || !(1.0..=32.0).contains(&sixteenths) {
        return Err(ParamError::new(field, "must be a multiple of 0.0625, and at most 2, as in tc-pie"));
    }
    Ok((sixteenths as u64 * (ONE / TICKS_PER_SECOND)) >> 4)
}

/// `weight * (delay - from)`, as 64 bits hold it.
const fn times(weight: u64, delay: u64, from: u64) -> i64 {
    weight.wrapping_mul(delay.wrapping_sub(from)).cast_signed()
}
