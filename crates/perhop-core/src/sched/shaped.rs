//! A token bucket in front of a scheduler: a port sends at `rate` at most, whatever its link can.
//!
//! Source: `tc-tbf(8)` and `sch_tbf.c` of Linux 6, with one bucket; `overhead` and `mpu` as there.
//! Different (decision 0109): tokens are counted exactly. A packet longer than `burst` goes once the bucket is full, where Linux
//! drops it. The length of the head decides and what really left is charged: what a queue that drops at departure sends in its
//! place may be longer, and is owed.
//! Units: bytes, bit/s. Cost: that of the scheduler, through one more table of functions, and a multiplication.

use super::{Heads, Scheduler, Select};
use crate::framing::Framing;
use crate::meter::bucket::Credit;
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::units::{BitRate, Bytes};

/// Parameters of [`Shaped`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ShapedParams {
    /// The rate in the long run.
    pub rate: BitRate,
    /// How much may leave at once after a pause.
    pub burst: Bytes,
    /// How the length of a packet counts.
    pub framing: Framing,
}

/// A scheduler that is asked for no more than a token bucket lets through.
pub struct Shaped {
    scheduler: Box<dyn Scheduler>,
    framing: Framing,
    credit: Credit,
}

impl Shaped {
    /// `scheduler` behind a full bucket.
    ///
    /// # Errors
    /// Refuses a burst of nothing, and one that cannot be counted.
    pub fn new(params: ShapedParams, scheduler: Box<dyn Scheduler>) -> Result<Self, ParamError> {
        let ShapedParams { rate, burst, framing } = params;
        Ok(Self { scheduler, framing, credit: Credit::new("burst", rate, burst)? })
    }
}

impl Scheduler for Shaped {
    fn on_enqueued(&mut self, now: Instant, class: ClassId, meta: &Meta) {
        self.scheduler.on_enqueued(now, class, meta);
    }

    fn on_emptied(&mut self, now: Instant, class: ClassId) {
        self.scheduler.on_emptied(now, class);
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let answer = self.scheduler.select(now, heads);
        let Select::Serve(class) = answer else { return answer };
        let len = heads.head(class).map_or(Bytes(0), |head| self.framing.on_line(head.len));
        self.credit.refill(now);
        if self.credit.covers(len) { answer } else { Select::NotBefore(self.credit.when(len)) }
    }

    fn on_served(&mut self, now: Instant, class: ClassId, served: &Meta) {
        self.credit.refill(now);
        self.credit.charge(self.framing.on_line(served.len));
        self.scheduler.on_served(now, class, served);
    }
}
