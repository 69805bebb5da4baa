//! The two-rate three-colour marker of differentiated service: green by the committed bucket alone, yellow by the excess one.
//!
//! Source: RFC 4115. Different: tokens come continuously, where section 3 adds them a byte at a time; the levels differ by
//! less than a byte. A packet passes that takes the last token, as with the other meters, where section 3 wants one
//! left: its `cbs` and `ebs` are a byte more than ours. Lengths are those on the link.
//! Units: rates in bit/s, bursts in bytes. Cost: two multiplications and a few comparisons.

use super::bucket::{Bucket, Cost, Inflow};
use super::{BucketName, Meter};
use crate::packet::{Color, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::timed::Timed;
use crate::units::{BitRate, Bytes};

/// The parameters of a [`TrTcmDiffServ`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TrTcmDiffServParams {
    /// Committed information rate.
    pub cir: BitRate,
    /// Committed burst size.
    pub cbs: Bytes,
    /// Excess information rate: what is yellow comes on top of what is green.
    pub eir: BitRate,
    /// Excess burst size.
    pub ebs: Bytes,
    /// Whether a packet's colour counts.
    pub color_aware: bool,
}

/// Three colours by two rates of which neither takes from the other.
#[derive(Clone, Debug)]
pub struct TrTcmDiffServ {
    committed_inflow: Inflow,
    committed: Bucket,
    excess_inflow: Inflow,
    excess: Bucket,
    color_aware: bool,
}

impl TrTcmDiffServ {
    /// Full buckets.
    ///
    /// # Errors
    /// Refuses a burst of zero, or beyond 2.3 GB.
    //= rfc4115-2-rates-apart
    //= rfc4115-3-begins-full
    pub fn new(params: TrTcmDiffServParams) -> Result<Self, ParamError> {
        let TrTcmDiffServParams { cir, cbs, eir, ebs, color_aware } = params;
        Ok(Self {
            committed_inflow: Inflow::new(cir),
            committed: Bucket::new("cbs", cbs)?,
            excess_inflow: Inflow::new(eir),
            excess: Bucket::new("ebs", ebs)?,
            color_aware,
        })
    }

    //= rfc4115-3-fill
    #[inline]
    fn fill(&mut self, now: Instant) {
        self.committed.pour(self.committed_inflow.take(now));
        self.excess.pour(self.excess_inflow.take(now));
    }
}

impl Timed for TrTcmDiffServ {}

impl Meter for TrTcmDiffServ {
    //= rfc4115-3-aware-green
    //= rfc4115-3-aware-yellow
    //= rfc4115-3-aware-red
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.fill(now);
        //= rfc4115-3-blind
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
