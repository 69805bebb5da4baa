//! The retransmission time-out.
//!
//! Source: RFC 6298 sections 2 and 5. Different: integer nanoseconds, so the clock granularity G is zero and the
//! smoothing gains 1/8 and 1/4 truncate to a nanosecond.

use perhop_core::time::Span;

/// Bounds of the retransmission time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoParams {
    /// Before the first sample (RFC 6298, 2.1).
    pub initial: Span,
    /// Lower bound (2.4).
    pub min: Span,
    /// Upper bound, also of the backed-off value (2.5).
    pub max: Span,
}

/// Smoothed round-trip time and the time-out that follows from it.
#[derive(Clone, Debug)]
pub struct RttEstimator {
    params: RtoParams,
    /// Smoothed value and variation, in ns, once there is a sample.
    smoothed: Option<(u64, u64)>,
    /// Time-outs since the last sample.
    backoff: u32,
    extremes: Option<(Span, Span)>,
}

impl RttEstimator {
    /// An estimator without samples.
    #[must_use]
    pub const fn new(params: RtoParams) -> Self {
        Self { params, smoothed: None, backoff: 0, extremes: None }
    }

    /// Takes a sample from a segment that was sent once (Karn's rule is the caller's), and ends the back-off.
    pub fn sample(&mut self, rtt: Span) {
        let r = rtt.as_nanos();
        self.smoothed = Some(match self.smoothed {
            None => (r, r / 2),
            Some((srtt, rttvar)) => ((7 * srtt + r) / 8, (3 * rttvar + srtt.abs_diff(r)) / 4),
        });
        self.backoff = 0;
        self.extremes = Some(self.extremes.map_or((rtt, rtt), |(lo, hi)| (lo.min(rtt), hi.max(rtt))));
    }

    /// Doubles the time-out (5.5).
    pub fn back_off(&mut self) {
        self.backoff += 1;
    }

    /// The time-out to arm a timer with.
    #[must_use]
    pub fn rto(&self) -> Span {
        let base = self.smoothed.map_or(self.params.initial, |(srtt, rttvar)| {
            Span::from_nanos(srtt + 4 * rttvar).max(self.params.min)
        });
        let doubled = base.as_nanos().saturating_mul(1u64.checked_shl(self.backoff).unwrap_or(u64::MAX));
        Span::from_nanos(doubled).min(self.params.max)
    }

    /// The smoothed round-trip time, once there is a sample.
    #[must_use]
    pub fn srtt(&self) -> Option<Span> {
        self.smoothed.map(|(srtt, _)| Span::from_nanos(srtt))
    }

    /// The smallest and the largest sample.
    #[must_use]
    pub const fn extremes(&self) -> Option<(Span, Span)> {
        self.extremes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PARAMS: RtoParams =
        RtoParams { initial: Span::from_secs(1), min: Span::from_millis(200), max: Span::from_secs(60) };

    #[test]
    fn follows_section_2_by_hand() {
        let mut e = RttEstimator::new(PARAMS);
        assert_eq!(e.rto(), Span::from_secs(1));
        e.sample(Span::from_millis(100));
        // srtt 100, rttvar 50: 100 + 4*50
        assert_eq!(e.rto(), Span::from_millis(300));
        e.sample(Span::from_millis(180));
        // rttvar = (3*50 + 80)/4 = 57.5, srtt = (7*100 + 180)/8 = 110: 110 + 230
        assert_eq!(e.rto(), Span::from_millis(340));
        assert_eq!(e.extremes(), Some((Span::from_millis(100), Span::from_millis(180))));
    }

    #[test]
    fn backs_off_to_the_maximum_and_recovers_on_a_sample() {
        let mut e = RttEstimator::new(PARAMS);
        for want in [2, 4, 8, 16, 32, 60, 60] {
            e.back_off();
            assert_eq!(e.rto(), Span::from_secs(want));
        }
        for _ in 0..100 {
            e.back_off();
        }
        assert_eq!(e.rto(), Span::from_secs(60));
        e.sample(Span::from_millis(10));
        assert_eq!(e.rto(), Span::from_millis(200));
    }
}
