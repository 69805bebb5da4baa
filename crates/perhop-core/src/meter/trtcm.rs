//! The two-rate three-colour marker: a committed rate and a peak rate, each with its burst.
//!
//! Source: RFC 2698. Different: tokens come continuously, where section 3 adds them a byte at a time; the levels differ
//! by less than a byte. Lengths are those on the link.
//! Units: rates in bit/s, bursts in bytes. Cost: two multiplications and a few comparisons.

use super::bucket::{Bucket, Cost, Inflow};
use super::{BucketName, Meter};
use crate::packet::{Color, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::timed::Timed;
use crate::units::{BitRate, Bytes};

/// The parameters of a [`TrTcm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrTcmParams {
    /// Committed information rate.
    pub cir: BitRate,
    /// Committed burst size.
    pub cbs: Bytes,
    /// Peak information rate.
    pub pir: BitRate,
    /// Peak burst size.
    pub pbs: Bytes,
    /// Whether a packet's colour counts.
    pub color_aware: bool,
}

/// Three colours by two rates.
#[derive(Clone, Debug)]
pub struct TrTcm {
    committed_inflow: Inflow,
    committed: Bucket,
    peak_inflow: Inflow,
    peak: Bucket,
    color_aware: bool,
}

impl TrTcm {
    /// Full buckets.
    ///
    /// # Errors
    /// Refuses a `pir` below `cir`, and a burst of zero, or beyond 2.3 GB.
    //= rfc2698-2-peak-above-committed
    //= rfc2698-2-both-buckets
    pub fn new(params: TrTcmParams) -> Result<Self, ParamError> {
        let TrTcmParams { cir, cbs, pir, pbs, color_aware } = params;
        if pir < cir {
            return Err(ParamError::new("pir", format!("must not be below cir ({cir})")));
        }
        //= rfc2698-3-begins-full
        Ok(Self {
            committed_inflow: Inflow::new(cir),
            committed: Bucket::new("cbs", cbs)?,
            peak_inflow: Inflow::new(pir),
            peak: Bucket::new("pbs", pbs)?,
            color_aware,
        })
    }

    //= rfc2698-3-fill
    #[inline]
    fn fill(&mut self, now: Instant) {
        self.committed.pour(self.committed_inflow.take(now));
        self.peak.pour(self.peak_inflow.take(now));
    }
}

impl Timed for TrTcm {}

impl Meter for TrTcm {
    //= rfc2698-3-blind-red
    //= rfc2698-3-blind-yellow
    //= rfc2698-3-blind-green
    //= rfc2698-3-aware-red
    //= rfc2698-3-aware-yellow
    //= rfc2698-3-aware-green
    #[inline]
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.fill(now);
        //= rfc2698-1-modes
        let at_best = if self.color_aware { meta.color } else { Color::Green };
        let cost = Cost::of(meta.len);
        if at_best == Color::Red || !self.peak.spend(cost) {
            Color::Red
        } else if at_best == Color::Yellow || !self.committed.spend(cost) {
            Color::Yellow
        } else {
            Color::Green
        }
    }

    fn levels(&self, now: Instant) -> Vec<(BucketName, f64)> {
        let mut then = self.clone();
        then.fill(now);
        vec![(BucketName::Committed, then.committed.bytes()), (BucketName::Peak, then.peak.bytes())]
    }
}
