//! A link whose rate follows a trace, exactly.
//!
//! Sources: the packet-delivery traces of mahimahi (Netravali et al., USENIX ATC 2015, section 3.2), in which each time is an
//! opportunity to deliver so many bytes, and rates that change in steps. Both say how many bits the link has offered until a
//! time; a packet is sent when the offer has grown by its bits. What nobody takes of an opportunity is lost.
//!
//! Different from mahimahi: the link takes a packet from its queue when it is idle and not when an opportunity comes, so that
//! one packet more than the queue holds may wait.
//!
//! Units: ns; what is offered in bits * 10^9, as rate * ns gives it, so that nothing is rounded but the end of a
//! transmission, down to the nanosecond. Cost: two binary searches for a packet.

use std::sync::Arc;

use crate::param_error::ParamError;
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes};

const NS_PER_S: u128 = 1_000_000_000;

/// Bits * 10^9.
type Nanobits = u128;

/// From here to the next point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Point {
    at: u64,
    /// Offered before `at`.
    before: Nanobits,
    /// Offered at `at`, at once.
    at_once: Nanobits,
    /// Bits per second afterwards.
    rate: u64,
}

impl Point {
    fn until(&self, at: u64) -> Nanobits {
        self.before + self.at_once + u128::from(self.rate) * u128::from(at - self.at)
    }
}

/// The offer of a link over time.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct RateTrace {
    /// From 0 on, later ones later.
    points: Vec<Point>,
    /// When it begins again, and how much it has offered until then.
    period: Option<(u64, Nanobits)>,
}

impl RateTrace {
    /// An opportunity of `bytes` at each of `times`, which begin again at the last of them.
    ///
    /// # Errors
    /// There is none, the last is at 0, or one is before the one that precedes it.
    pub fn opportunities(times: &[Span], bytes: Bytes) -> Result<Self, ParamError> {
        let each = u128::from(bytes.bits()) * NS_PER_S;
        let mut points = vec![Point { at: 0, before: 0, at_once: 0, rate: 0 }];
        for time in times {
            let last = points[points.len() - 1];
            match time.as_nanos() {
                at if at < last.at => return Err(ParamError::new("times", "must not go back")),
                at if at == last.at => points.last_mut().into_iter().for_each(|point| point.at_once += each),
                at => points.push(Point { at, before: last.until(at), at_once: each, rate: 0 }),
            }
        }
        let last = points[points.len() - 1];
        let period = Some((last.at, last.until(last.at)));
        if last.at == 0 || bytes.0 == 0 {
            return Err(ParamError::new("times", "must offer something, the last after 0"));
        }
        Ok(Self { points, period })
    }

    /// Bits per second from each time on; with `period` all begins again then, without it the last rate stays.
    ///
    /// # Errors
    /// The first time is not 0, one is not after the one that precedes it or not before the period, or nothing is offered for ever.
    pub fn steps(steps: &[(Span, u64)], period: Option<Span>) -> Result<Self, ParamError> {
        let mut points: Vec<Point> = Vec::with_capacity(steps.len());
        for &(time, rate) in steps {
            let at = time.as_nanos();
            let before = match points.last() {
                None if at > 0 => return Err(ParamError::new("steps", "must begin at 0")),
                None => 0,
                Some(last) if at <= last.at => return Err(ParamError::new("steps", "must go on in time")),
                Some(last) => last.until(at),
            };
            points.push(Point { at, before, at_once: 0, rate });
        }
        let Some(last) = points.last() else { return Err(ParamError::new("steps", "must have a step")) };
        let period = match period.map(Span::as_nanos) {
            Some(end) if end <= last.at => {
                return Err(ParamError::new("period", "must be after the last step"));
            }
            Some(end) => Some((end, last.until(end))),
            None => None,
        };
        if period.map_or(last.rate == 0, |(_, offered)| offered == 0) {
            return Err(ParamError::new("steps", "must not end with a rate of 0"));
        }
        Ok(Self { points, period })
    }

    /// The mean rate over a period, or over `run` where it does not begin again; in whole bit/s, `None` for 0.
    #[must_use]
    pub fn mean(&self, run: Span) -> Option<BitRate> {
        let (span, offered) = match self.period {
            Some((end, offered)) => (end, offered),
            None => (run.as_nanos(), self.before(run.as_nanos())),
        };
        BitRate::new(u64::try_from(offered / u128::from(span.max(1))).unwrap_or(u64::MAX))
    }

    /// Offered before `at`.
    fn before(&self, at: u64) -> Nanobits {
        match self.period {
            None => self.sum(|point| point.at < at, at),
            Some((end, offered)) if at > 0 => {
                // the end of a period belongs to it, and what comes at once there with it
                let (whole, rest) = ((at - 1) / end, (at - 1) % end + 1);
                u128::from(whole) * offered + self.sum(|point| point.at < rest, rest)
            }
            Some(_) => 0,
        }
    }

    /// Offered before `at` and at once at `at`.
    fn until(&self, at: u64) -> Nanobits {
        let (end, offered) = self.period.unwrap_or((u64::MAX, 0));
        let (whole, rest) = (at / end, at % end);
        u128::from(whole) * offered + self.sum(|point| point.at <= rest, rest)
    }

    /// Offered until `at` by the points that have `begun`.
    fn sum(&self, begun: impl Fn(&Point) -> bool, at: u64) -> Nanobits {
        let begun = self.points.partition_point(begun);
        begun.checked_sub(1).map_or(0, |last| self.points[last].until(at))
    }

    /// When the offer has grown to `offered`, which is above 0; rounded down.
    fn when(&self, offered: Nanobits) -> u64 {
        match self.period {
            None => self.when_within(offered),
            Some((end, each)) => {
                let (whole, rest) = ((offered - 1) / each, (offered - 1) % each + 1);
                let whole = u64::try_from(whole).unwrap_or(u64::MAX);
                whole.saturating_mul(end).saturating_add(self.when_within(rest))
            }
        }
    }

    fn when_within(&self, offered: Nanobits) -> u64 {
        // the first point is before any offer
        let last = self.points.partition_point(|point| point.before < offered).saturating_sub(1);
        let point = &self.points[last];
        let more = offered.saturating_sub(point.before + point.at_once);
        let after = more.checked_div(u128::from(point.rate)).unwrap_or(0);
        point.at.saturating_add(u64::try_from(after).unwrap_or(u64::MAX))
    }
}

/// The transmitter of a link whose rate follows a trace.
#[derive(Clone, Debug)]
pub struct Traced {
    trace: Arc<RateTrace>,
    rate: BitRate,
    /// The offer at the end of the last transmission.
    taken: Nanobits,
    /// Bits of all packets, and of pure ACKs among them.
    bits: [u64; 2],
    on_ack: bool,
}

/// Bits that a link was offered and has sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Taken {
    /// By the trace.
    pub offered: u64,
    /// Of data.
    pub data: u64,
    /// Of pure ACKs.
    pub acks: u64,
}

impl Traced {
    /// Sends as `trace` says; `rate` is what the link is said to have where one number is asked for.
    #[must_use]
    pub const fn new(trace: Arc<RateTrace>, rate: BitRate) -> Self {
        Self { trace, rate, taken: 0, bits: [0; 2], on_ack: false }
    }

    /// How long the next packet takes, of length `len`, from `now` on, when the one before it is sent.
    pub fn time(&mut self, now: Instant, len: Bytes, is_ack: bool) -> Span {
        let from = self.taken.max(self.trace.before(now.as_nanos()));
        self.taken = from + u128::from(len.bits()) * NS_PER_S;
        self.bits[0] += len.bits();
        self.bits[1] += if is_ack { len.bits() } else { 0 };
        self.on_ack = is_ack;
        // a packet of no bits takes no time
        let end = if self.taken == from { now.as_nanos() } else { self.trace.when(self.taken) };
        Span::from_nanos(end.saturating_sub(now.as_nanos()))
    }

    /// Bits offered and sent until `now`.
    #[must_use]
    pub fn taken(&self, now: Instant) -> Taken {
        let until = self.trace.until(now.as_nanos());
        let whole = |nanobits: Nanobits| u64::try_from(nanobits / NS_PER_S).unwrap_or(u64::MAX);
        let [all, acks] = self.bits;
        // of the packet under way
        let ahead = whole(self.taken.saturating_sub(until));
        let (data_ahead, acks_ahead) = if self.on_ack { (0, ahead) } else { (ahead, 0) };
        Taken { offered: whole(until), data: all - acks - data_ahead, acks: acks - acks_ahead }
    }

    /// The mean rate.
    #[must_use]
    pub const fn rate(&self) -> BitRate {
        self.rate
    }
}

#[cfg(test)]
mod tests;
