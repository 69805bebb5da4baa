//! Serves the first class that has a packet; a packet in service is never interrupted.
//!
//! Source: Kalampoukas, Varma, Ramakrishnan 1997, section 4 (ACKs first, non-preemptive).
//! Different: any number of classes, the first the most urgent. Cost: a scan of the heads.

use super::{Heads, Scheduler, Select};
use crate::packet::ClassId;
use crate::time::Instant;

/// The earliest class with a packet wins.
#[derive(Clone, Debug, Default)]
pub struct StrictPriority;

impl Scheduler for StrictPriority {
    fn select(&mut self, _now: Instant, heads: &dyn Heads) -> Select {
        (0..heads.classes())
            .map(ClassId)
            .find(|&c| heads.head(c).is_some())
            .map_or(Select::Idle, Select::Serve)
    }
}
