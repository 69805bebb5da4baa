//! PIE as DOCSIS cable modems have it: the delay is what waits over the configured rate, long packets are dropped more often, and the
//! controller sleeps while the queue is short.
//!
//! Source: RFC 8034 (White and Pan 2017), Appendix A.
//! Different: the rate is one, without a peak rate and the tokens that allow it (`msrtokens` is 0). Lengths of packets are not
//! rounded to those of the RFC's list, which it allows.
//! Units: delays in seconds; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of a FIFO, some comparisons and a division for each packet, a draw for each drop; an update every 16 ms.

use super::early::{EarlyState, not_empty, some_time};
use super::pie::{LOW, Spread, after, scale, seconds, spread};
use super::{Backlog, Fifo, Queue, float};
use crate::packet::{Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::{Chance, Stream};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes, QueueSize};

const A: f64 = 0.25;
const B: f64 = 2.5;
const INTERVAL: Span = Span::from_millis(16);
const MAX_BURST: Span = Span::from_millis(142);
const BURST_RESET_TIMEOUT: Span = Span::from_secs(1);
const MEAN_PACKET: f64 = 1024.0;
const SHORT: Bytes = Bytes(2 * 1024);
const SHORTEST_PACKET: f64 = 64.0;
const LATENCY_LOW: f64 = 0.005;
const LATENCY_HIGH: f64 = 0.2;

/// Parameters of [`DocsisPie`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DocsisPieParams {
    /// Most that may wait: `BUFFER_SIZE`. The controller sleeps until a third of it waits.
    pub limit: QueueSize,
    /// The delay to hold: `LATENCY_TARGET`.
    pub target: Span,
    /// The rate at which packets leave: `MSR`.
    pub rate: BitRate,
}

/// A queue with the controller of RFC 8034.
#[derive(Clone, Debug)]
pub struct DocsisPie<P> {
    fifo: Fifo<P>,
    /// A third of the limit.
    third: QueueSize,
    target: f64,
    /// Seconds for a byte.
    byte: f64,
    chance: Chance,
    /// For a packet of 1024 bytes; a shorter one has its part of it, so that this may exceed 1.
    probability: f64,
    /// Sum of the packets' probabilities since the last drop.
    accumulated: f64,
    /// The delay at the last update.
    old: f64,
    state: State,
    /// The rest of the burst that may pass.
    burst: Span,
    /// How long all has been quiet.
    quiet: Span,
    update: Instant,
}

/// Whether the controller drops.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum State {
    /// Nothing before a third of the limit waits.
    Inactive,
    /// Its next drop begins the time in which a burst may pass.
    Quiescent,
    Active,
}

impl<P: Packet> DocsisPie<P> {
    /// An empty queue; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: DocsisPieParams, stream: Stream) -> Result<Self, ParamError> {
        let DocsisPieParams { limit, target, rate } = params;
        not_empty("limit", limit)?;
        some_time("target", target)?;
        Ok(Self {
            fifo: Fifo::new(site, limit),
            third: match limit {
                QueueSize::Packets(most) => QueueSize::Packets(most / 3),
                QueueSize::Bytes(most) => QueueSize::Bytes(most / 3),
            },
            target: seconds(target),
            byte: 8.0 / float(rate.bits_per_sec()),
            chance: Chance::new(stream),
            probability: 0.0,
            accumulated: 0.0,
            old: 0.0,
            state: State::Inactive,
            burst: Span::ZERO,
            quiet: Span::ZERO,
            update: Instant::ZERO + INTERVAL,
        })
    }

    /// The probability of a drop of a packet of 1024 bytes, as the last update left it; above 1 where shorter ones are likely to be.
    #[must_use]
    pub const fn probability(&self) -> f64 {
        self.probability
    }

    /// Whether chance, or its guard, takes the packet of `len` that arrives.
    #[inline]
    fn takes(&mut self, len: Bytes) -> bool {
        //= rfc8034-A-burst
        if self.burst > Span::ZERO {
            return false;
        }
        if self.probability == 0.0 {
            self.accumulated = 0.0;
        }
        let waiting = self.fifo.backlog();
        //= rfc8034-A-inactive
        if self.state == State::Inactive {
            if !waiting.reaches(self.third) {
                return false;
            }
            self.state = State::Quiescent;
        }
        //= rfc8034-A-length
        let p = (self.probability * float(len.0) / MEAN_PACKET).min(LOW);
        let verdict = spread(&mut self.accumulated, p);
        //= rfc8034-A-safeguard
        let short = self.old < self.target / 2.0 && self.probability < 0.2;
        if short || waiting.bytes <= SHORT {
            return false;
        }
        //= rfc8034-A-derandomization
        let taken = match verdict {
            Spread::TooSoon => false,
            Spread::Overdue => true,
            Spread::ByChance => self.chance.happens(p),
        };
        if taken {
            self.accumulated = 0.0;
            if self.state == State::Quiescent {
                self.state = State::Active;
                self.burst = MAX_BURST;
            }
        }
        taken
    }

    fn set_probability(&mut self) {
        //= rfc8034-A-delay
        let delay = float(self.fifo.backlog().bytes.0) * self.byte;
        if self.burst > Span::ZERO {
            self.probability = 0.0;
            self.burst = Span::from_nanos(self.burst.as_nanos().saturating_sub(INTERVAL.as_nanos()));
        } else {
            self.control(delay);
        }
        let half = self.target / 2.0;
        let quiet = delay < half && self.old < half && self.probability == 0.0 && self.burst == Span::ZERO;
        //= rfc8034-A-quiet
        match (self.state, quiet) {
            (State::Active, true) => {
                self.state = State::Quiescent;
                self.quiet = Span::ZERO;
            }
            (State::Quiescent, true) => {
                self.quiet = self.quiet + INTERVAL;
                if self.quiet > BURST_RESET_TIMEOUT {
                    self.quiet = Span::ZERO;
                    self.state = State::Inactive;
                }
            }
            (State::Quiescent, false) => self.quiet = Span::ZERO,
            (State::Inactive, _) | (State::Active, false) => {}
        }
        self.old = delay;
    }

    fn control(&mut self, delay: f64) {
        //= rfc8034-A-controller
        let mut p = A * (delay - self.target) + B * (delay - self.old);
        p /= match self.probability {
            low if low < 0.1 => scale(low),
            high if high < 1.0 => 0.5,
            high if high < 10.0 => 0.125,
            _ => 0.03125,
        };
        if self.probability >= 0.1 {
            p = p.min(0.02);
        }
        self.probability += p;
        //= rfc8034-A-special
        if delay < LATENCY_LOW && self.old < LATENCY_LOW {
            self.probability *= 0.98;
        } else if delay > LATENCY_HIGH {
            self.probability += 0.02;
        }
        self.probability = self.probability.clamp(0.0, LOW * MEAN_PACKET / SHORTEST_PACKET);
    }
}

impl<P: Packet> Queue<P> for DocsisPie<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let why = if !self.fifo.has_room_for(pkt.meta().len) {
            DropReason::Overflow
        } else if self.takes(pkt.meta().len) {
            DropReason::Early
        } else {
            self.fifo.push(now, pkt, sink);
            return;
        };
        sink.dropped(now, self.fifo.site(), pkt, why);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        self.fifo.dequeue(now, sink)
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
            self.update = after(self.update, INTERVAL, now);
            self.set_probability();
        }
    }

    fn early_states(&self) -> Vec<EarlyState> {
        vec![EarlyState { color: None, average: None, probability: self.probability.min(LOW) }]
    }
}
