//! Token buckets in exact arithmetic: what meters, shapers and schedulers count with.
//!
//! Source: RFC 2697 section 3 and RFC 2698 section 3. Different: tokens come continuously, not a byte at a time. A token
//! is 10^-9 bit, so that a rate in bit/s times a time in ns is a whole number of tokens. Nothing is ever rounded: levels
//! do not drift, and do not depend on how often they were brought up to date.
//! Units: tokens; a `u64` holds 2.3 GB of them. Cost: a multiplication and a few comparisons.

use crate::param_error::ParamError;
use crate::time::Instant;
use crate::units::{BitRate, Bytes};

const TOKENS_PER_BYTE: u64 = 8_000_000_000;
const MOST: Bytes = Bytes(u64::MAX / TOKENS_PER_BYTE);

//= rfc2697-3-other-form
//= rfc2698-3-other-form
/// Tokens that come at a constant rate.
#[derive(Clone, Debug)]
pub struct Inflow {
    rate: u64,
    taken_at: Instant,
}

impl Inflow {
    /// Tokens for `rate`, from the start of the run.
    #[must_use]
    pub const fn new(rate: BitRate) -> Self {
        Self { rate: rate.bits_per_sec(), taken_at: Instant::ZERO }
    }

    /// The tokens that came since the last call.
    #[inline]
    pub fn take(&mut self, now: Instant) -> u128 {
        let since = now.saturating_since(self.taken_at);
        self.taken_at = self.taken_at.max(now);
        u128::from(self.rate) * u128::from(since.as_nanos())
    }

    /// The first nanosecond at which [`Inflow::take`] gives `tokens`; the end of time where it is later.
    #[must_use]
    pub fn when(&self, tokens: u64) -> Instant {
        let wait = tokens.div_ceil(self.rate);
        Instant::from_nanos(self.taken_at.as_nanos().saturating_add(wait))
    }
}

/// The cost of a packet, or `None` where no bucket could hold so much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cost(Option<u64>);

impl Cost {
    /// The tokens for every bit of `len`.
    #[must_use]
    pub const fn of(len: Bytes) -> Self {
        Self(len.0.checked_mul(TOKENS_PER_BYTE))
    }
}

/// Tokens, up to a depth.
#[derive(Clone, Debug)]
pub struct Bucket {
    level: u64,
    depth: u64,
}

impl Bucket {
    /// A bucket of no depth: it holds nothing that has a length.
    pub const NONE: Self = Self { level: 0, depth: 0 };

    /// A full bucket for `depth`; `field` is the name of that parameter.
    ///
    /// # Errors
    /// Refuses a depth of zero, and one whose tokens cannot be counted.
    pub fn new(field: &'static str, depth: Bytes) -> Result<Self, ParamError> {
        match depth.0.checked_mul(TOKENS_PER_BYTE) {
            Some(0) => Err(ParamError::new(field, "must exceed 0B")),
            Some(depth) => Ok(Self { level: depth, depth }),
            None => Err(ParamError::new(field, format!("must not exceed {MOST}"))),
        }
    }

    /// Adds `tokens`, and returns those that found no room.
    pub fn pour(&mut self, tokens: u128) -> u128 {
        let free = self.depth - self.level;
        match u64::try_from(tokens) {
            Ok(tokens) if tokens <= free => {
                self.level += tokens;
                0
            }
            _ => {
                self.level = self.depth;
                tokens - u128::from(free)
            }
        }
    }

    /// Takes all of `cost` or, where it is not there, nothing; returns whether it was.
    pub fn spend(&mut self, cost: Cost) -> bool {
        match cost.0.and_then(|cost| self.level.checked_sub(cost)) {
            Some(left) => {
                self.level = left;
                true
            }
            None => false,
        }
    }

    /// How many bytes it holds tokens for.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "exact to 2^-53 of the level")]
    pub fn bytes(&self) -> f64 {
        self.level as f64 / TOKENS_PER_BYTE as f64
    }

    /// How many tokens must come before [`Bucket::spend`] takes `cost`; `None` if the bucket has not the depth.
    #[must_use]
    pub fn lacks(&self, cost: Cost) -> Option<u64> {
        let cost = cost.0.filter(|cost| *cost <= self.depth)?;
        Some(cost.saturating_sub(self.level))
    }
}

/// A bucket that fills as time passes, and of which more may be taken than it holds.
#[derive(Clone, Debug)]
pub struct Credit {
    inflow: Inflow,
    /// Below zero where something is owed.
    level: i128,
    depth: i128,
}

impl Credit {
    /// A full one for `depth`, filled at `rate`; `field` is the name of the depth.
    ///
    /// # Errors
    /// As [`Bucket::new`].
    pub fn new(field: &'static str, rate: BitRate, depth: Bytes) -> Result<Self, ParamError> {
        let depth = i128::from(Bucket::new(field, depth)?.depth);
        Ok(Self { inflow: Inflow::new(rate), level: depth, depth })
    }

    /// Fills it up to `now`.
    #[inline]
    pub fn refill(&mut self, now: Instant) {
        if now == self.inflow.taken_at {
            return;
        }
        let more = i128::try_from(self.inflow.take(now)).unwrap_or(i128::MAX);
        self.level = self.level.saturating_add(more).min(self.depth);
    }

    /// Takes the tokens for `len`, also those that are not there.
    pub fn charge(&mut self, len: Bytes) {
        self.level -= tokens(len);
    }

    /// Whether it holds the tokens for `len`, or is full.
    #[must_use]
    pub fn covers(&self, len: Bytes) -> bool {
        self.level >= tokens(len).min(self.depth)
    }

    /// Whether it owes nothing: it covers a packet of no length.
    #[inline]
    #[must_use]
    pub const fn is_even(&self) -> bool {
        self.level >= 0
    }

    /// The first nanosecond in which [`Credit::covers`] `len`, but not before the last [`Credit::refill`].
    #[must_use]
    pub fn when(&self, len: Bytes) -> Instant {
        let lacking = (tokens(len).min(self.depth) - self.level).max(0);
        self.inflow.when(u64::try_from(lacking).unwrap_or(u64::MAX))
    }
}

fn tokens(len: Bytes) -> i128 {
    i128::from(len.0) * i128::from(TOKENS_PER_BYTE)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time::Span;

    #[test]
    fn credit_goes_below_zero_and_comes_back_in_its_nanosecond() {
        let rate = BitRate::new(3).expect("not zero");
        let mut credit = Credit::new("burst", rate, Bytes(2)).expect("a depth");
        assert!(credit.covers(Bytes(2)) && credit.covers(Bytes(9)), "it is full");
        credit.charge(Bytes(3));
        assert!(!credit.covers(Bytes(0)));
        assert_eq!(credit.when(Bytes(0)), Instant::from_nanos(2_666_666_667));
        assert_eq!(credit.when(Bytes(9)), Instant::from_nanos(8_000_000_000));
        credit.refill(Instant::from_nanos(2_666_666_666));
        assert!(!credit.covers(Bytes(0)));
        credit.refill(Instant::from_nanos(2_666_666_667));
        assert!(credit.covers(Bytes(0)) && !credit.covers(Bytes(1)));
        credit.refill(Instant::MAX);
        assert!(credit.covers(Bytes(u64::MAX)));
        assert_eq!(credit.when(Bytes(1)), Instant::MAX);
    }

    fn inflow(bits_per_sec: u64) -> Inflow {
        Inflow::new(BitRate::new(bits_per_sec).expect("not zero"))
    }

    fn has(bucket: &Bucket, cost: Cost) -> bool {
        bucket.clone().spend(cost)
    }

    #[test]
    fn a_depth_must_be_there_and_fit() {
        let rule = |bytes| Bucket::new("cbs", Bytes(bytes)).map_err(|error| error.to_string());
        assert_eq!(rule(0).expect_err("no depth"), "cbs: must exceed 0B");
        assert!(rule(1).is_ok());
        assert!(rule(2_305_843_009).is_ok());
        assert_eq!(rule(2_305_843_010).expect_err("too deep"), "cbs: must not exceed 2305843009B");
    }

    #[test]
    fn a_bucket_begins_full_and_gives_all_or_nothing() {
        let mut bucket = Bucket::new("cbs", Bytes(1500)).expect("a depth");
        assert!(!bucket.spend(Cost::of(Bytes(1501))));
        assert!(has(&bucket, Cost::of(Bytes(1500))));
        assert!(bucket.spend(Cost::of(Bytes(1000))));
        assert!(!bucket.spend(Cost::of(Bytes(501))));
        assert!(bucket.spend(Cost::of(Bytes(500))));
        assert!(!bucket.spend(Cost::of(Bytes(1))));
        assert!(bucket.spend(Cost::of(Bytes(0))));
    }

    #[test]
    fn a_length_beyond_every_bucket_is_never_there() {
        let bucket = Bucket::new("cbs", MOST).expect("a depth");
        assert!(has(&bucket, Cost::of(MOST)));
        assert!(!has(&bucket, Cost::of(Bytes(MOST.0 + 1))));
        assert!(!has(&bucket, Cost::of(Bytes(u64::MAX))));
        assert!(!has(&Bucket::NONE, Cost::of(Bytes(1))));
    }

    /// 3 bit/s need 2 666 666 666.67 ns for a byte: one nanosecond more or less decides.
    #[test]
    fn a_byte_is_there_in_the_nanosecond_that_completes_it() {
        let mut inflow = inflow(3);
        let mut bucket = Bucket::new("cbs", Bytes(1)).expect("a depth");
        assert!(bucket.spend(Cost::of(Bytes(1))));
        assert_eq!(bucket.pour(inflow.take(Instant::from_nanos(2_666_666_666))), 0);
        assert!(!has(&bucket, Cost::of(Bytes(1))));
        assert_eq!(bucket.pour(inflow.take(Instant::from_nanos(2_666_666_667))), 1);
        assert!(has(&bucket, Cost::of(Bytes(1))));
    }

    /// A token a time: what lacks after each is what the next call has to bring, and the time for it is not late.
    #[test]
    fn what_lacks_comes_when_it_is_said_to() {
        let mut inflow = inflow(3);
        let mut bucket = Bucket::new("cbs", Bytes(2)).expect("a depth");
        assert!(bucket.spend(Cost::of(Bytes(2))));
        let byte = Cost::of(Bytes(1));
        assert_eq!(bucket.lacks(byte), Some(8_000_000_000));
        assert_eq!(inflow.when(8_000_000_000), Instant::from_nanos(2_666_666_667));
        bucket.pour(inflow.take(Instant::from_nanos(2_666_666_666)));
        assert_eq!((bucket.lacks(byte), inflow.when(2)), (Some(2), Instant::from_nanos(2_666_666_667)));
        bucket.pour(inflow.take(Instant::from_nanos(2_666_666_667)));
        assert_eq!((bucket.lacks(byte), inflow.when(0)), (Some(0), Instant::from_nanos(2_666_666_667)));
        assert_eq!(bucket.lacks(Cost::of(Bytes(3))), None, "deeper than the bucket");
        assert_eq!(bucket.lacks(Cost::of(Bytes(u64::MAX))), None);
        inflow.take(Instant::MAX);
        assert_eq!(inflow.when(1), Instant::MAX);
    }

    #[test]
    fn the_longest_time_at_the_highest_rate_fills_and_no_more() {
        let tokens = inflow(u64::MAX).take(Instant::MAX);
        assert_eq!(tokens, u128::from(u64::MAX) * u128::from(u64::MAX));
        let mut bucket = Bucket::new("cbs", Bytes(2)).expect("a depth");
        assert!(bucket.spend(Cost::of(Bytes(1))));
        assert_eq!(bucket.pour(tokens), tokens - u128::from(TOKENS_PER_BYTE));
        assert_eq!(bucket.level, bucket.depth);
    }

    #[test]
    fn time_brings_its_tokens_once() {
        let mut inflow = inflow(1000);
        let at = Instant::ZERO + Span::from_secs(2);
        assert_eq!(inflow.take(at), 2_000_000_000_000);
        assert_eq!(inflow.take(at), 0);
        assert_eq!(inflow.take(Instant::ZERO), 0);
        assert_eq!(inflow.take(at), 0);
    }
}
