//! A token bucket: green while there are tokens for the whole packet, otherwise red.
//!
//! Source: RFC 3290 section 5.2 and its appendix A (a packet conforms only if all of its tokens are there). Different:
//! nothing. It is colour-blind. Two-colour papers say IN for green and OUT for red.
//! Units: rates in bit/s, depths in bytes. Cost: a multiplication and a few comparisons.

use super::bucket::{Bucket, Cost, Inflow};
use super::{BucketName, Meter};
use crate::packet::{Color, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::timed::Timed;
use crate::units::{BitRate, Bytes};

/// The parameters of a [`TokenBucket`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TokenBucketParams {
    /// Committed information rate.
    pub cir: BitRate,
    /// Committed burst size: the depth.
    pub cbs: Bytes,
}

/// Two colours by one rate.
#[derive(Clone, Debug)]
pub struct TokenBucket {
    inflow: Inflow,
    committed: Bucket,
}

impl TokenBucket {
    /// A full bucket.
    ///
    /// # Errors
    /// Refuses a `cbs` of zero, or beyond 2.3 GB.
    pub fn new(params: TokenBucketParams) -> Result<Self, ParamError> {
        Ok(Self { inflow: Inflow::new(params.cir), committed: Bucket::new("cbs", params.cbs)? })
    }

    #[inline]
    fn fill(&mut self, now: Instant) {
        self.committed.pour(self.inflow.take(now));
    }
}

impl Timed for TokenBucket {}

impl Meter for TokenBucket {
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.fill(now);
        if self.committed.spend(Cost::of(meta.len)) { Color::Green } else { Color::Red }
    }

    fn levels(&self, now: Instant) -> Vec<(BucketName, f64)> {
        let mut then = self.clone();
        then.fill(now);
        vec![(BucketName::Committed, then.committed.bytes())]
    }
}
