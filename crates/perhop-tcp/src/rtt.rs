//! The retransmission time-out.
//!
//! Source: RFC 6298 sections 2 and 5; with `RttArithmetic::Scaled` Jacobson 1988, appendix A, as BSD and ns-2 have it; with
//! `RttArithmetic::Linux` `tcp_rtt_estimator` of Linux.
//! Different: gains truncate to a nanosecond. Units: ns, or ticks with 3 (srtt) and 2 (rttvar) fraction bits.

use perhop_core::time::{Instant, Span};

use crate::settings::{MinRtoBounds, RtoParams, RttArithmetic};
use crate::wheel::expiry;

mod linux;

use linux::WindowedVariation;

/// Smoothed round-trip time and the time-out that follows from it.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    params: RtoParams,
    /// Smoothed value and variation, once there is a sample that counts.
    smoothed: Option<(u64, u64)>,
    /// The further state of `RttArithmetic::Linux`.
    windowed: WindowedVariation,
    /// The time-out before back-off.
    base: Span,
    /// Time-outs since the last sample.
    backoff: u32,
    samples: u64,
    extremes: Option<(Span, Span)>,
}

/// The time-out of RFC 6298, 5.7, when a SYN was lost.
const AFTER_LOST_SYN: Span = Span::from_secs(3);

impl RttEstimator {
    /// An estimator without samples.
    //= rfc6298-2.1-initial
    //= rfc6298-2.1-larger
    #[must_use]
    pub const fn new(params: RtoParams) -> Self {
        Self {
            params,
            smoothed: None,
            windowed: WindowedVariation::NONE,
            base: params.initial,
            backoff: 0,
            samples: 0,
            extremes: None,
        }
    }

    /// Takes a sample from a segment that was sent once (Karn's rule is the caller's), and ends the back-off.
    ///
    /// `per_window` is how many samples a window gives; more than one lowers the gains as RFC 7323 appendix G says. `outstanding` are
    /// the first byte that is not acknowledged and the next one to be sent.
    //= rfc6298-5-collapse
    pub fn sample(&mut self, sent: Instant, now: Instant, per_window: u64, outstanding: (u64, u64)) {
        let rtt = now - sent;
        self.smoothed = Some(match self.params.arithmetic {
            RttArithmetic::Exact => self.exact(sent, now, per_window.max(1)),
            RttArithmetic::Scaled => self.scaled(sent, now),
            RttArithmetic::Linux => self.linux(rtt, outstanding),
        });
        self.backoff = 0;
        self.samples += 1;
        self.extremes = Some(self.extremes.map_or((rtt, rtt), |(lo, hi)| (lo.min(rtt), hi.max(rtt))));
    }

    //= rfc6298-2.3-gains
    //= rfc6298-2.3-rto
    //= rfc6298-4-granularity
    //= rfc6298-2.2-first-sample
    //= rfc6298-2.3-later-samples
    //= rfc6298-2.3-order
    //= rfc7323-4.2-history
    //= rfc7323-G-gains
    fn exact(&mut self, sent: Instant, now: Instant, per_window: u64) -> (u64, u64) {
        let tick = self.params.tick.as_nanos();
        let r = if tick == 0 { (now - sent).as_nanos() } else { self.ticks(sent, now) * tick };
        let (srtt, rttvar) = match self.smoothed {
            None => (r, r / 2),
            Some((srtt, rttvar)) => {
                let (a, b) = (8 * per_window, 4 * per_window);
                (((a - 1) * srtt + r) / a, ((b - 1) * rttvar + srtt.abs_diff(r)) / b)
            }
        };
        self.base = self.bounded(srtt, tick.max(4 * rttvar));
        (srtt, rttvar)
    }

    fn scaled(&mut self, sent: Instant, now: Instant) -> (u64, u64) {
        let r = self.ticks(sent, now);
        let (srtt, rttvar) = match self.smoothed {
            None => (r << 3, r << 1),
            Some((srtt, rttvar)) => {
                let old = srtt >> 3;
                let deviation = old.abs_diff(r);
                ((srtt + r - old).max(1), (rttvar + deviation - (rttvar >> 2)).max(1))
            }
        };
        let tick = self.params.tick.as_nanos();
        self.base = self.bounded((srtt >> 3) * tick, rttvar * tick);
        (srtt, rttvar)
    }

    fn linux(&mut self, rtt: Span, outstanding: (u64, u64)) -> (u64, u64) {
        let smoothed = linux::smoothed(self.smoothed, rtt.as_nanos());
        let first = self.smoothed.is_none();
        let variation = self.windowed.update(smoothed.1, first, self.params.min.as_nanos(), outstanding);
        self.base = self.bounded(smoothed.0 >> 3, variation);
        smoothed
    }

    /// The time-out of a smoothed round-trip time and what is added for its variation, in nanoseconds.
    //= rfc6298-2.4-minimum
    fn bounded(&self, srtt: u64, variation: u64) -> Span {
        let min = self.params.min;
        match self.params.min_bounds {
            MinRtoBounds::Timeout => Span::from_nanos(srtt + variation).max(min),
            MinRtoBounds::Variation => Span::from_nanos(srtt) + Span::from_nanos(variation).max(min),
        }
    }

    /// Ticks of the clock between two times, at least one.
    fn ticks(&self, from: Instant, to: Instant) -> u64 {
        (self.tick_at(to) - self.tick_at(from)).max(1)
    }

    const fn tick_at(&self, at: Instant) -> u64 {
        (at.as_nanos() + self.params.phase.as_nanos()) / self.params.tick.as_nanos()
    }

    /// Doubles the time-out, within its bounds.
    //= rfc6298-5-clear
    //= rfc6298-5.5-back-off
    pub fn back_off(&mut self) {
        self.backoff += 1;
        if self.params.forget_after > 0 && self.backoff > self.params.forget_after {
            self.smoothed = None;
        }
    }

    /// Data transmission begins after a SYN that had to be repeated.
    //= rfc6298-5.7-syn
    pub fn begin_after_lost_syn(&mut self) {
        if self.params.initial < AFTER_LOST_SYN {
            self.base = AFTER_LOST_SYN;
            self.backoff = 0;
        }
    }

    /// The time-out to arm a timer with.
    //= rfc6298-1-aggressive
    //= rfc6298-2.1-back-off
    //= rfc6298-2.5-maximum
    //= rfc6298-5.5-bound
    #[must_use]
    pub fn rto(&self) -> Span {
        let limit = if self.params.backoff_limit == 0 { u64::MAX } else { self.params.backoff_limit.into() };
        let multiplier = 1u64.checked_shl(self.backoff).unwrap_or(u64::MAX).min(limit);
        Span::from_nanos(self.base.as_nanos().saturating_mul(multiplier)).min(self.params.max)
    }

    /// When a timer armed at `now` expires.
    #[must_use]
    #[inline]
    pub fn deadline(&self, now: Instant) -> Instant {
        if !self.params.on_tick {
            return expiry(now, self.rto(), self.params.jiffy);
        }
        let tick = self.params.tick.as_nanos();
        let since_tick = (now.as_nanos() + self.params.phase.as_nanos()) % tick;
        let whole = self.rto().as_nanos().div_ceil(tick) * tick;
        Instant::from_nanos(now.as_nanos() + whole - since_tick)
    }

    /// The smoothed round-trip time, once there is a sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| match self.params.arithmetic {
            RttArithmetic::Exact => Span::from_nanos(srtt),
            RttArithmetic::Linux => Span::from_nanos(srtt >> 3),
            RttArithmetic::Scaled => Span::from_nanos(srtt * self.params.tick.as_nanos() / 8),
        })
    }

    /// A measurement begins: the extremes are from here on those of what follows.
    pub const fn restart_extremes(&mut self) {
        self.extremes = None;
    }

    /// The smallest and the largest sample since the start, or since [`Self::restart_extremes`].
    #[must_use]
    pub const fn extremes(&self) -> Option<(Span, Span)> {
        self.extremes
    }

    /// Samples taken.
    #[must_use]
    pub const fn samples(&self) -> u64 {
        self.samples
    }
}

#[cfg(test)]
mod tests;
