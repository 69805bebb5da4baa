//! Weighted fair queueing, self-clocked: of the packets that wait the one is sent that would be the first to end if each class
//! had its part of the link.
//!
//! Source: Golestani 1994, section III; the tags of Demers, Keshav and Shenker 1989 with the clock taken from the packet
//! on the link. Different: a packet is tagged when it comes to the head of its class, not as it arrives: the tags are the
//! same, since what waits behind a packet starts where that one ends. What really left is charged. Equal tags go by the
//! order of the classes.
//! Units: weights are parts of the link; tags in bytes over weight, as whole numbers of a common denominator, so that
//! nothing is ever rounded. Cost: a head and an addition for each class.

use super::{Heads, Scheduler, Select};
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;
use crate::units::Bytes;

/// Serves each class its weight in bytes, packet by packet.
#[derive(Clone, Debug)]
pub struct Wfq {
    classes: Box<[Class]>,
    /// The tag of the packet that was served last: while it is on the link, the system's virtual time.
    clock: u128,
}

#[derive(Clone, Debug)]
struct Class {
    /// The tag of a byte: the common denominator over the weight.
    byte: u64,
    /// Where the packet at the head begins; where the class has none, where its last one ended.
    start: u128,
    waits: bool,
}

impl Class {
    fn end(&self, len: Bytes) -> u128 {
        self.start.saturating_add(u128::from(self.byte) * u128::from(len.0))
    }
}

impl Wfq {
    /// `weights` are parts of the link, by position of the class.
    ///
    /// # Errors
    /// Refuses a weight of zero, at which a class is never served, weights without a common multiple below 2^64, and an
    /// empty list.
    pub fn new(weights: &[u32]) -> Result<Self, ParamError> {
        let refuse = |rule| ParamError::new("weight", rule);
        if weights.is_empty() {
            return Err(refuse("must be given for one class at least"));
        }
        if weights.contains(&0) {
            return Err(refuse("must be at least 1"));
        }
        let all = weights.iter().try_fold(1, |all, &weight| common_multiple(all, u64::from(weight)));
        let all = all.ok_or_else(|| refuse("must have a common multiple below 2^64 with those before it"))?;
        let class = |&weight: &u32| Class { byte: all / u64::from(weight), start: 0, waits: false };
        Ok(Self { classes: weights.iter().map(class).collect(), clock: 0 })
    }
}

/// The least common multiple, if it is below 2^64.
fn common_multiple(a: u64, b: u64) -> Option<u64> {
    let (mut divisor, mut rest) = (a, b);
    while rest != 0 {
        (divisor, rest) = (rest, divisor % rest);
    }
    (a / divisor).checked_mul(b)
}

impl Scheduler for Wfq {
    fn on_enqueued(&mut self, _now: Instant, id: ClassId, _meta: &Meta) {
        let class = &mut self.classes[usize::from(id.0)];
        if !class.waits {
            //= golestani1994-3-tag
            class.start = class.start.max(self.clock);
            class.waits = true;
        }
    }

    fn on_emptied(&mut self, _now: Instant, id: ClassId) {
        self.classes[usize::from(id.0)].waits = false;
    }

    //= golestani1994-3-order
    //= golestani1994-4-fair
    fn select(&mut self, _now: Instant, heads: &dyn Heads) -> Select {
        let tagged = self.classes.iter().zip((0..).map(ClassId)).filter_map(|(class, id)| {
            let head = heads.head(id)?;
            Some((class.end(head.len), id))
        });
        tagged.min().map_or(Select::Idle, |(_, id)| Select::Serve(id))
    }

    //= golestani1994-3-clock
    fn on_served(&mut self, _now: Instant, id: ClassId, served: &Meta) {
        let class = &mut self.classes[usize::from(id.0)];
        class.start = class.end(served.len);
        // a queue that drops at departure may send a shorter packet than it showed: the clock never goes back
        self.clock = self.clock.max(class.start);
    }
}
