//! The single-rate three-colour marker: one rate, a committed burst and an excess burst.
//!
//! Source: RFC 2697. Different: tokens come continuously, where section 3 adds them a byte at a time; the levels differ
//! by less than a byte. Lengths are those on the link.
//! Units: rates in bit/s, bursts in bytes. Cost: a multiplication and a few comparisons.

use super::bucket::{Bucket, Cost, Inflow};
use super::{BucketName, Meter};
use crate::packet::{Color, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::timed::Timed;
use crate::units::{BitRate, Bytes};

/// The parameters of an [`SrTcm`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SrTcmParams {
    /// Committed information rate; it fills both buckets.
    pub cir: BitRate,
    /// Committed burst size.
    pub cbs: Bytes,
    /// Excess burst size.
    pub ebs: Bytes,
    /// Whether a packet's colour counts.
    pub color_aware: bool,
}

/// Three colours by the length of a burst.
#[derive(Clone, Debug)]
pub struct SrTcm {
    inflow: Inflow,
    committed: Bucket,
    excess: Bucket,
    color_aware: bool,
}

impl SrTcm {
    /// Full buckets.
    ///
    /// # Errors
    /// Refuses `cbs` and `ebs` that are both zero, and either beyond 2.3 GB.
    //= rfc2697-2-one-bucket
    pub fn new(params: SrTcmParams) -> Result<Self, ParamError> {
        let SrTcmParams { cir, cbs, ebs, color_aware } = params;
        if cbs == Bytes(0) && ebs == Bytes(0) {
            return Err(ParamError::new("cbs", "must exceed 0B where ebs is 0B"));
        }
        let full = |field, depth| {
            if depth == Bytes(0) { Ok(Bucket::NONE) } else { Bucket::new(field, depth) }
        };
        //= rfc2697-3-begins-full
        Ok(Self {
            inflow: Inflow::new(cir),
            committed: full("cbs", cbs)?,
            excess: full("ebs", ebs)?,
            color_aware,
        })
    }

    //= rfc2697-3-fill
    #[inline]
    fn fill(&mut self, now: Instant) {
        let surplus = self.committed.pour(self.inflow.take(now));
        self.excess.pour(surplus);
    }
}

impl Timed for SrTcm {}

impl Meter for SrTcm {
    //= rfc2697-3-blind-green
    //= rfc2697-3-blind-yellow
    //= rfc2697-3-blind-red
    //= rfc2697-3-aware-green
    //= rfc2697-3-aware-yellow
    //= rfc2697-3-aware-red
    //= rfc2697-3-whole-packet
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.fill(now);
        //= rfc2697-1-modes
        let at_best = if self.color_aware { meta.color } else { Color::Green };
        let cost = Cost::of(meta.len);
        if at_best == Color::Green && self.committed.spend(cost) {
            Color::Green
        } else if at_best != Color::Red && self.excess.spend(cost) {
            Color::Yellow
        } else {
            Color::Red
        }
    }

    fn levels(&self, now: Instant) -> Vec<(BucketName, f64)> {
        let mut then = self.clone();
        then.fill(now);
        vec![(BucketName::Committed, then.committed.bytes()), (BucketName::Excess, then.excess.bytes())]
    }
}
