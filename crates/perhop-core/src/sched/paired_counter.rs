//! Shares a link between data and ACKs by two byte counters.
//!
//! Source: Kalampoukas, Varma, Ramakrishnan 1997, Figure 6.1 and section 6.
//! Different: the paper scales the ACK counter by f/(1-f); here data counts (1-f) and ACKs f per byte, in integer
//! parts of 10^9, which keeps the ratio and never rounds. A packet is charged when it leaves, by its own length.
//! Units: counters in bytes times 10^9. Cost: two comparisons and at most three additions.

use core::fmt;

use super::{Heads, Scheduler, Select};
use crate::packet::{ClassId, Meta};
use crate::time::Instant;

const PARTS: f64 = 1e9;

/// Guarantees the data class a share of the link while both classes wait.
#[derive(Clone, Debug)]
pub struct PairedCounter {
    data: Side,
    acks: Side,
    /// Whether both classes waited at the last decision.
    contended: bool,
}

#[derive(Clone, Debug)]
struct Side {
    class: ClassId,
    weight: u64,
    sent: u64,
}

/// A share outside (0, 1), or so close to its ends that it rounds to one of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ShareError(pub f64);

impl fmt::Display for ShareError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "share {} must lie between 0.000000001 and 0.999999999", self.0)
    }
}

impl core::error::Error for ShareError {}

impl PairedCounter {
    /// `share` is the paper's f: the fraction of the link that `data` is sure of.
    ///
    /// # Errors
    /// Refuses a share outside (0, 1): one class would never be served.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "inside 0..=10^9, checked")]
    pub fn new(data: ClassId, acks: ClassId, share: f64) -> Result<Self, ShareError> {
        let parts = (share * PARTS).round();
        if !(1.0..PARTS).contains(&parts) {
            return Err(ShareError(share));
        }
        let (share, rest) = (parts as u64, (PARTS - parts) as u64);
        Ok(Self {
            data: Side { class: data, weight: rest, sent: 0 },
            acks: Side { class: acks, weight: share, sent: 0 },
            contended: false,
        })
    }
}

impl Scheduler for PairedCounter {
    fn select(&mut self, _now: Instant, heads: &dyn Heads) -> Select {
        let waits = |side: &Side| heads.head(side.class).is_some();
        let (data, acks) = (waits(&self.data), waits(&self.acks));
        self.contended = data && acks;
        match (data, acks) {
            (false, false) => Select::Idle,
            (true, true) if self.acks.sent >= self.data.sent => Select::Serve(self.data.class),
            (true, false) => Select::Serve(self.data.class),
            (_, true) => Select::Serve(self.acks.class),
        }
    }

    fn on_served(&mut self, _now: Instant, class: ClassId, served: &Meta) {
        let (mine, other) = if class == self.data.class {
            (&mut self.data, &mut self.acks)
        } else {
            (&mut self.acks, &mut self.data)
        };
        let charge = served.len.0 * mine.weight;
        if !self.contended {
            mine.sent = charge;
            other.sent = 0;
            return;
        }
        mine.sent += charge;
        if mine.sent > other.sent {
            mine.sent -= other.sent;
            other.sent = 0;
        }
    }
}
