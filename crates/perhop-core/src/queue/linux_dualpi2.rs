//! `DualPI2` as Linux has it: probabilities in whole numbers, events by chance, a step in place of the ramp.
//!
//! Source: `sch_dualpi2.c` of Linux 6.17 and later (De Schepper, Albisser, Steen, Tilmans and Chang 2024).
//! Different: `limit` may be in bytes, and there is none of memory; times are not rounded to microseconds, and updates never late. A
//! link that has taken the last packet asks at once for another, as the kernel does while its driver has room.
//! Units: nanoseconds, probabilities in parts of 2^32 - 1; the limit of both queues together in packets or in bytes.
//! Cost: that of a FIFO, the choice between two, a draw for each packet and two for a drop; two products for each update.

use super::dualpi2::{AqmVerdict, Pair};
use super::early::some_time;
use super::{Backlog, Queue, mark};
use crate::packet::{Ecn, Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::Stream;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{Bytes, QueueSize};

/// Parameters of [`LinuxDualPi2`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct LinuxDualPi2Params {
    /// Most that may wait in both queues.
    pub limit: QueueSize,
    /// The wait in the classic queue that the controller aims at.
    pub target: Span,
    /// Time between updates of the base probability.
    pub t_update: Span,
    /// Gain by the distance from the target, in Hz; a multiple of 1/256.
    pub alpha: f64,
    /// Gain by the change since the last update, in Hz; a multiple of 1/256.
    pub beta: f64,
    /// How much more likely a mark in the L4S queue is than the base probability; a whole number up to 255.
    pub coupling: f64,
    /// The wait in the L4S queue above which it marks every packet.
    pub l4s_threshold: Span,
    /// Part of the bytes that the classic queue may send while both wait; a multiple of 1/100.
    pub classic_share: f64,
    /// The longest packet of the interface with its header: by chance nothing is dropped or marked that leaves less than two of these.
    pub mtu: Bytes,
}

impl LinuxDualPi2Params {
    /// The defaults of Linux behind Ethernet.
    pub const LINUX: Self = Self {
        limit: QueueSize::Packets(10_000),
        target: Span::from_millis(15),
        t_update: Span::from_millis(16),
        alpha: 41.0 / 256.0,
        beta: 819.0 / 256.0,
        coupling: 2.0,
        l4s_threshold: Span::from_millis(1),
        classic_share: 0.1,
        mtu: Bytes(1514),
    };
}

/// An L4S queue and a classic one, coupled as in Linux.
#[derive(Clone, Debug)]
pub struct LinuxDualPi2<P> {
    pair: Pair<P>,
    stream: Stream,
    target: i64,
    alpha: i64,
    beta: i64,
    coupling: u64,
    threshold: Span,
    short: Bytes,
    /// The part that a byte of the L4S queue and of the classic one adds to the credit while both wait.
    credits: [i64; 2],
    credit_at_first: i64,
    /// The classic queue is served while it is above zero.
    credit: i64,
    base: u32,
    /// The wait at the last update.
    before: i64,
}

impl<P: Packet> LinuxDualPi2<P> {
    /// Two empty queues; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: LinuxDualPi2Params, stream: Stream) -> Result<Self, ParamError> {
        let LinuxDualPi2Params { limit, target, t_update, l4s_threshold, mtu, .. } = params;
        let pair = Pair::new(site, limit, t_update)?;
        some_time("target", target)?;
        let gain = |name, value| {
            let parts = parts(
                name,
                value,
                256.0,
                256_000,
                "must be a multiple of 1/256 up to 1000, as in tc-dualpi2",
            )?;
            // units of 1/256 Hz to parts of a probability in 64 ns
            Ok(((parts * i64::from(u32::MAX)) >> 2) / 1_000_000_000)
        };
        let whole = parts(
            "coupling",
            params.coupling,
            1.0,
            255,
            "must be a whole number up to 255, as in tc-dualpi2",
        )?;
        let percent = "must be a multiple of 0.01 up to 1, as in tc-dualpi2";
        let classic = parts("classic_share", params.classic_share, 100.0, 100, percent)?;
        let mtu = match u32::try_from(mtu.0) {
            Ok(mtu @ 1..) => mtu,
            _ => return Err(ParamError::new("mtu", "must be from 1B to 4294967295B")),
        };
        let credit_at_first = i64::from(mtu) * (2 * classic - 100);
        Ok(Self {
            pair,
            stream,
            target: nanos(target),
            alpha: gain("alpha", params.alpha)?,
            beta: gain("beta", params.beta)?,
            coupling: whole.unsigned_abs(),
            threshold: l4s_threshold,
            short: Bytes(2 * u64::from(mtu)),
            credits: [classic, classic - 100],
            credit_at_first,
            credit: credit_at_first,
            base: 0,
            before: 0,
        })
    }

    /// The base probability, as of the last call.
    #[must_use]
    pub fn base_probability(&self) -> f64 {
        f64::from(self.base) / f64::from(u32::MAX)
    }

    /// Makes the updates that were due before `now`.
    #[inline]
    fn catch_up(&mut self, now: Instant) {
        while let Some(longest) = self.pair.update_due(now) {
            self.update(nanos(longest));
            if self.base == 0 && self.before == 0 {
                self.pair.skip_updates(now);
            }
        }
    }

    //= sch_dualpi2-calculate_probability-change
    #[expect(
        clippy::cast_possible_truncation,
        reason = "32 bits are what Linux keeps, also of a change that has more"
    )]
    fn update(&mut self, wait: i64) {
        let change = (wait - self.target).wrapping_mul(self.alpha);
        let change = change.wrapping_add((wait - self.before).wrapping_mul(self.beta));
        self.before = wait;
        let step = (change.unsigned_abs() / 64) as u32;
        self.base = if change > 0 { self.base.saturating_add(step) } else { self.base.saturating_sub(step) };
    }

    /// Whether the L4S queue is served next; `None` where nothing waits.
    //= sch_dualpi2-dequeue_packet-credit
    fn serves_l4s(&self) -> Option<bool> {
        match (self.pair.l4s.peek(), self.pair.classic.peek()) {
            (None, None) => None,
            (Some(_), Some(_)) => Some(self.credit <= 0),
            (l4s, _) => Some(l4s.is_some()),
        }
    }

    fn roll(&mut self, probability: u32) -> bool {
        self.stream.below(1 << 32) <= probability.into()
    }

    /// An event with the square of the base probability.
    //= sch_dualpi2-classic_marking-twice
    fn roll_twice(&mut self) -> bool {
        self.roll(self.base) && self.roll(self.base)
    }

    /// A packet that has been taken out.
    fn verdict(&mut self, l4s: bool, ecn: Ecn, wait: Span) -> AqmVerdict {
        //= sch_dualpi2-must_drop-short
        let by_chance = self.pair.backlog().bytes >= self.short;
        let coupled = u32::try_from(u64::from(self.base) * self.coupling);
        if l4s {
            //= sch_dualpi2-do_step_aqm-step
            let mut marks = wait > self.threshold;
            //= sch_dualpi2-scalable_marking-overload
            match coupled {
                _ if !by_chance => {}
                Ok(coupled) => marks |= self.roll(coupled),
                Err(_) if self.roll_twice() => return AqmVerdict::Drop,
                Err(_) => marks = true,
            }
            return if marks { AqmVerdict::Mark } else { AqmVerdict::Pass };
        }
        if !by_chance || !self.roll_twice() {
            AqmVerdict::Pass
        } else if ecn == Ecn::NotEct || coupled.is_err() {
            AqmVerdict::Drop
        } else {
            AqmVerdict::Mark
        }
    }
}

impl<P: Packet> Queue<P> for LinuxDualPi2<P> {
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
            let (ecn, wait) = (pkt.meta().ecn, now - pkt.meta().enqueued_at);
            let verdict = self.verdict(l4s, ecn, wait);
            if self.pair.backlog().packets == 0 {
                self.credit = self.credit_at_first;
            } else if both && verdict != AqmVerdict::Drop {
                let len = i64::try_from(pkt.meta().len.0).unwrap_or(i64::MAX / 100);
                self.credit += len * self.credits[usize::from(!l4s)];
            }
            match verdict {
                AqmVerdict::Drop => {
                    sink.dropped(now, self.pair.site(), pkt, DropReason::Early);
                    continue;
                }
                AqmVerdict::Mark => mark(now, self.pair.site(), &mut pkt, sink),
                AqmVerdict::Pass => {}
            }
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

fn nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

/// `value` in units of one over `unit`, from one unit to `most`; `rule` says so.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a whole number up to `most`, which is small"
)]
fn parts(
    name: &'static str,
    value: f64,
    unit: f64,
    most: i64,
    rule: &'static str,
) -> Result<i64, ParamError> {
    let parts = (value * unit).round();
    let exact = (value * unit - parts).abs() < 1e-9;
    if exact && (1.0..=most as f64).contains(&parts) {
        Ok(parts as i64)
    } else {
        Err(ParamError::new(name, rule))
    }
}
