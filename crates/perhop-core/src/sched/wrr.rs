//! Weighted round robin: the classes take turns, each of so many packets.
//!
//! Source: Katevenis, Sidiropoulos, Courcoubetis 1991, the plain form: a class sends its packets of a turn in a row.
//! Different: a class that is empty at its turn is passed over, so the link never waits.
//! Units: weights in packets, so shares of the link follow the lengths; `Drr` counts bytes. Cost: a scan from the
//! class in turn to the next with a packet, mostly one head.

use super::{Heads, Scheduler, Select};
use crate::packet::{ClassId, Meta};
use crate::param_error::ParamError;
use crate::time::Instant;

/// Serves each class `weight` packets in a row, then the next.
#[derive(Clone, Debug)]
pub struct Wrr {
    weights: Box<[u32]>,
    /// The class in turn.
    current: u16,
    /// Packets that it may still send.
    left: u32,
}

impl Wrr {
    /// `weights` are packets for each turn, by position of the class.
    ///
    /// # Errors
    /// Refuses a weight of zero, at which a class is never served, and an empty list.
    pub fn new(weights: &[u32]) -> Result<Self, ParamError> {
        let Some(&left) = weights.first() else {
            return Err(ParamError::new("weight", "must be given for one class at least"));
        };
        if weights.contains(&0) {
            return Err(ParamError::new("weight", "must be at least 1"));
        }
        Ok(Self { weights: weights.into(), current: 0, left })
    }
}

impl Scheduler for Wrr {
    fn on_emptied(&mut self, _now: Instant, class: ClassId) {
        if class.0 == self.current {
            self.left = 0;
        }
    }

    fn select(&mut self, _now: Instant, heads: &dyn Heads) -> Select {
        let waits = |class: &u16| heads.head(ClassId(*class)).is_some();
        if self.left > 0 && waits(&self.current) {
            return Select::Serve(ClassId(self.current));
        }
        // the class in turn comes last: it may be the only one
        let mut others = (self.current + 1..heads.classes()).chain(0..=self.current);
        others.find(waits).map_or(Select::Idle, |class| Select::Serve(ClassId(class)))
    }

    fn on_served(&mut self, _now: Instant, class: ClassId, _served: &Meta) {
        if class.0 != self.current || self.left == 0 {
            self.current = class.0;
            self.left = self.weights[usize::from(class.0)];
        }
        self.left -= 1;
    }
}
