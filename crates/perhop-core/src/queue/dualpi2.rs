//! Two coupled queues: one that is kept short by many marks, for senders that ask for it, and a classic one, so that all get like rates.
//!
//! Source: RFC 9332 (De Schepper, Briscoe and White 2023), appendix A: `DualPI2`, with the overload of A.2. `time_shift` is the
//! scheduler of A.1 that shifts the time of one queue, without it a weighted round robin.
//! Different: the limit counts the arrival itself, not an MTU; `p_CL` is at most 1; the delay of the L4S queue at a departure is
//! that of the packet that leaves; the round robin, which the RFC leaves open, is one of bytes. Updates are at the multiples of
//! `t_update`, and are made up for at the next call: between two calls nothing that they look at moves.
//! Units: nanoseconds, gains in Hz, probabilities from 0 to 1; the limit of both queues together in packets or in bytes.
//! Cost: that of a FIFO, the choice between two, a sum and a comparison for each packet; two products for each update.

use super::early::{not_empty, some_time, within_one};
use super::{Backlog, Fifo, Queue, mark};
use crate::packet::{Ecn, Meta, Packet};
use crate::param_error::ParamError;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::QueueSize;

/// Parameters of [`DualPi2`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DualPi2Params {
    /// Most that may wait in both queues.
    pub limit: QueueSize,
    /// The wait in the classic queue that the controller aims at.
    pub target: Span,
    /// Time between updates of the base probability.
    pub t_update: Span,
    /// Gain by the distance from the target, in Hz.
    pub alpha: f64,
    /// Gain by the change since the last update, in Hz.
    pub beta: f64,
    /// How much more likely a mark in the L4S queue is than the base probability: `k`.
    pub coupling: f64,
    /// The wait in the L4S queue from which it marks by itself.
    pub l4s_threshold: Span,
    /// How much longer the wait is at which it marks every packet; zero for a step.
    pub l4s_range: Span,
    /// It marks so only packets that leave more than this many behind there.
    pub l4s_packets: u32,
    /// Part of the bytes that the classic queue may send while both wait, with the weighted round robin.
    pub classic_share: f64,
    /// By how much longer a packet of the classic queue must have waited to be served before one of the L4S queue; without it there
    /// is a weighted round robin.
    pub time_shift: Option<Span>,
}

impl DualPi2Params {
    /// The defaults of the RFC, for round trips of up to 100 ms.
    pub const RFC9332: Self = Self {
        limit: QueueSize::Packets(1000),
        target: Span::from_millis(15),
        t_update: Span::from_millis(15),
        alpha: 0.15,
        beta: 3.0,
        coupling: 2.0,
        l4s_threshold: Span::from_micros(800),
        l4s_range: Span::from_micros(400),
        l4s_packets: 1,
        classic_share: 1.0 / 16.0,
        time_shift: None,
    };
}

/// The base probability, and what follows from it.
#[derive(Clone, Copy, Debug)]
struct Controller {
    target: f64,
    alpha: f64,
    beta: f64,
    coupling: f64,
    /// `p'`, and the wait at the last update, in seconds.
    base: f64,
    before: f64,
    /// `p_C`, and from where on it disables ECN.
    classic: f64,
    classic_most: f64,
    /// `p_CL`.
    coupled: f64,
}

impl Controller {
    /// `dualpi2_update` of the RFC.
    //= rfc9332-A.1-base
    //= rfc9332-A.1-coupled
    //= rfc9332-A.1-squared
    fn update(&mut self, wait: f64) {
        let base = self.base + self.alpha * (wait - self.target) + self.beta * (wait - self.before);
        self.base = base.clamp(0.0, 1.0);
        self.coupled = (self.coupling * self.base).min(1.0);
        self.classic = self.base * self.base;
        self.before = wait;
    }

    /// Whether an update without a wait changes nothing.
    fn rests(&self) -> bool {
        self.base <= 0.0 && self.before <= 0.0
    }
}

/// The verdict on a packet at its turn.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum AqmVerdict {
    Pass,
    Mark,
    Drop,
}

/// The L4S queue and the classic one, with a limit for both and the times of updates.
#[derive(Clone, Debug)]
pub(super) struct Pair<P> {
    limit: QueueSize,
    pub l4s: Fifo<P>,
    pub classic: Fifo<P>,
    t_update: Span,
    next_update: Instant,
}

impl<P: Packet> Pair<P> {
    /// Two empty queues; what is wrong with `limit` or `t_update`.
    pub fn new(site: SiteId, limit: QueueSize, t_update: Span) -> Result<Self, ParamError> {
        not_empty("limit", limit)?;
        some_time("t_update", t_update)?;
        let each = || Fifo::new(site, QueueSize::Packets(u64::MAX));
        let next_update = Instant::ZERO + t_update;
        Ok(Self { limit, l4s: each(), classic: each(), t_update, next_update })
    }

    /// Where drops are reported.
    pub const fn site(&self) -> SiteId {
        self.l4s.site()
    }

    /// An update that was due before `now`: the longer wait of the two first packets then.
    //= rfc9332-A.2-greatest
    #[inline]
    pub fn update_due(&mut self, now: Instant) -> Option<Span> {
        let at = self.next_update;
        if at >= now {
            return None;
        }
        self.next_update = at + self.t_update;
        let wait = |head: Option<&Meta>| head.map_or(Span::ZERO, |meta| at - meta.enqueued_at);
        Some(wait(self.l4s.peek()).max(wait(self.classic.peek())))
    }

    /// Leaves out the updates before `now`, where nothing waits.
    pub fn skip_updates(&mut self, now: Instant) {
        if self.backlog().packets == 0 {
            let left = now.saturating_since(self.next_update).as_nanos();
            let period = self.t_update.as_nanos();
            self.next_update += Span::from_nanos(left.div_ceil(period) * period);
        }
    }

    //= rfc9332-A.1-classifier
    //= rfc9332-A.1-limit
    pub fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let meta = pkt.meta();
        if !self.backlog().has_room(self.limit, meta.len) {
            return sink.dropped(now, self.site(), pkt, DropReason::Overflow);
        }
        let l4s = matches!(meta.ecn, Ecn::Ect1 | Ecn::Ce);
        if l4s { self.l4s.push(now, pkt, sink) } else { self.classic.push(now, pkt, sink) }
    }

    /// Takes out the first packet of one of them.
    #[inline]
    pub fn pop(&mut self, l4s: bool) -> Option<P> {
        if l4s { self.l4s.pop() } else { self.classic.pop() }
    }

    /// Whether packets wait in both.
    #[inline]
    pub fn both_wait(&self) -> bool {
        self.l4s.peek().is_some() && self.classic.peek().is_some()
    }

    /// The backlog of both.
    #[inline]
    pub fn backlog(&self) -> Backlog {
        let mut all = self.l4s.backlog();
        all += self.classic.backlog();
        all
    }
}

/// Units of a share.
const WHOLE: i64 = 1 << 16;

/// An L4S queue and a classic one, with coupled marks and drops.
#[derive(Clone, Debug)]
pub struct DualPi2<P> {
    pair: Pair<P>,
    controller: Controller,
    threshold: Span,
    range: Span,
    packets: u64,
    /// Likelihood that has not become an event, of each queue (`q.count`).
    l4s_count: f64,
    classic_count: f64,
    time_shift: Option<Span>,
    classic_share: i64,
    /// Bytes, in parts of [`WHOLE`], that the L4S queue has sent beyond its share.
    ahead: i64,
}

impl<P: Packet> DualPi2<P> {
    /// Two empty queues; drops are reported as from `site`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: DualPi2Params) -> Result<Self, ParamError> {
        let DualPi2Params { limit, target, t_update, alpha, beta, coupling, .. } = params;
        let pair = Pair::new(site, limit, t_update)?;
        some_time("target", target)?;
        for (name, gain) in [("alpha", alpha), ("beta", beta), ("coupling", coupling)] {
            if !(gain > 0.0 && gain <= 1000.0) {
                return Err(ParamError::new(name, "must be above 0 and at most 1000"));
            }
        }
        within_one("classic_share", params.classic_share)?;
        let square = coupling * coupling;
        #[expect(clippy::cast_possible_truncation, reason = "it is between 0 and 1")]
        let share = (params.classic_share * WHOLE as f64).round() as i64;
        Ok(Self {
            pair,
            controller: Controller {
                target: target.as_secs_f64(),
                alpha,
                beta,
                coupling,
                base: 0.0,
                before: 0.0,
                classic: 0.0,
                classic_most: (1.0 / square).min(1.0),
                coupled: 0.0,
            },
            threshold: params.l4s_threshold,
            range: params.l4s_range,
            packets: params.l4s_packets.into(),
            l4s_count: 0.0,
            classic_count: 0.0,
            time_shift: params.time_shift,
            classic_share: share,
            ahead: 0,
        })
    }

    /// The base probability `p'`, as of the last call.
    #[must_use]
    pub const fn base_probability(&self) -> f64 {
        self.controller.base
    }

    /// Makes the updates that were due before `now`.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        while let Some(longest) = self.pair.update_due(now) {
            self.controller.update(longest.as_secs_f64());
            if self.controller.rests() {
                self.pair.skip_updates(now);
            }
        }
    }

    /// Whether the L4S queue is served next; `None` where nothing waits.
    //= rfc9332-A.1-time-shift
    fn serves_l4s(&self) -> Option<bool> {
        match (self.pair.l4s.peek(), self.pair.classic.peek()) {
            (None, None) => None,
            (Some(l4s), Some(classic)) => Some(match self.time_shift {
                Some(shift) => classic.enqueued_at + shift >= l4s.enqueued_at,
                None => self.ahead <= 0,
            }),
            (l4s, _) => Some(l4s.is_some()),
        }
    }

    /// A packet of the L4S queue that has waited for `wait`.
    //= rfc9332-A.1-l4s
    //= rfc9332-A.1-suppress
    //= rfc9332-A.2-saturation
    fn l4s_verdict(&mut self, wait: Span) -> AqmVerdict {
        let Controller { coupled, classic, .. } = self.controller;
        if coupled < 1.0 {
            let queued = self.pair.l4s.backlog().packets > self.packets;
            let native = if queued { self.native(wait) } else { 0.0 };
            return if recur(&mut self.l4s_count, native.max(coupled)) {
                AqmVerdict::Mark
            } else {
                AqmVerdict::Pass
            };
        }
        if recur(&mut self.l4s_count, classic) {
            return AqmVerdict::Drop;
        }
        if recur(&mut self.l4s_count, coupled) { AqmVerdict::Mark } else { AqmVerdict::Pass }
    }

    /// `laqm` of the RFC.
    //= rfc9332-A.1-ramp
    #[expect(clippy::cast_precision_loss, reason = "a range is far below 2^53 ns")]
    fn native(&self, wait: Span) -> f64 {
        if wait >= self.threshold + self.range {
            1.0
        } else if wait > self.threshold {
            (wait.as_nanos() - self.threshold.as_nanos()) as f64 / self.range.as_nanos() as f64
        } else {
            0.0
        }
    }

    //= rfc9332-A.1-classic
    //= rfc9332-A.2-no-ecn
    fn classic_verdict(&mut self, ecn: Ecn) -> AqmVerdict {
        let Controller { classic, classic_most, .. } = self.controller;
        if !recur(&mut self.classic_count, classic) {
            AqmVerdict::Pass
        } else if ecn == Ecn::NotEct || classic >= classic_most {
            AqmVerdict::Drop
        } else {
            AqmVerdict::Mark
        }
    }

    /// Counts a packet that left while both queues waited; where none waits any more, both begin anew.
    fn charge(&mut self, l4s: bool, both: bool, meta: &Meta) {
        if self.pair.backlog().packets == 0 {
            self.ahead = 0;
        } else if both {
            let len = i64::try_from(meta.len.0).unwrap_or(i64::MAX / WHOLE);
            self.ahead += len * if l4s { self.classic_share } else { self.classic_share - WHOLE };
        }
    }
}

/// Whether an event of this likelihood comes now: one for each whole that is passed.
//= rfc9332-A.1-recur
fn recur(count: &mut f64, likelihood: f64) -> bool {
    *count += likelihood;
    let comes = *count > 1.0;
    if comes {
        *count -= 1.0;
    }
    comes
}

impl<P: Packet> Queue<P> for DualPi2<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        self.catch_up(now);
        self.pair.enqueue(now, pkt, sink);
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        self.catch_up(now);
        loop {
            let l4s = self.serves_l4s()?;
            let both = self.pair.both_wait();
            let mut pkt = self.pair.pop(l4s)?;
            let meta = pkt.meta();
            let verdict =
                if l4s { self.l4s_verdict(now - meta.enqueued_at) } else { self.classic_verdict(meta.ecn) };
            match verdict {
                AqmVerdict::Drop => {
                    sink.dropped(now, self.pair.site(), pkt, DropReason::Early);
                    continue;
                }
                AqmVerdict::Mark => mark(now, self.pair.site(), &mut pkt, sink),
                AqmVerdict::Pass => {}
            }
            self.charge(l4s, both, pkt.meta());
            return Some(pkt);
        }
    }

    fn peek(&self) -> Option<&Meta> {
        if self.serves_l4s()? { self.pair.l4s.peek() } else { self.pair.classic.peek() }
    }

    fn backlog(&self) -> Backlog {
        self.pair.backlog()
    }
}
