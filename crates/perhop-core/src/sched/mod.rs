//! Schedulers: which class of a port is served next.

mod cbq;
mod drr;
mod htb;
mod paired_counter;
mod shaped;
mod strict_priority;
mod wfq;
mod wrr;

pub use cbq::{Cbq, CbqClass};
pub use drr::Drr;
pub use htb::{Htb, HtbClass};
pub use paired_counter::{PairedCounter, ShareError};
pub use shaped::{Shaped, ShapedParams};
pub use strict_priority::StrictPriority;
pub use wfq::Wfq;
pub use wrr::Wrr;

use crate::packet::{ClassId, Meta};
use crate::time::Instant;

/// The packets at the heads of a port's queues.
pub trait Heads {
    /// Number of classes; they are `0..classes()`.
    fn classes(&self) -> u16;
    /// The packet that `class` would send first, or `None` where it has nothing.
    fn head(&self, class: ClassId) -> Option<&Meta>;
}

/// A scheduler's decision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Select {
    /// Serve this class; it has a head.
    Serve(ClassId),
    /// Nothing may be sent before this time, which lies in the future (a regulated class).
    NotBefore(Instant),
    /// Nothing waits.
    Idle,
}

/// Chooses a class and never touches a packet.
///
/// It decides on the heads and is charged for what really left. `now` never decreases between calls.
/// Laws: `perhop_testkit::laws::scheduler`.
pub trait Scheduler: Send {
    /// `class` accepted a packet.
    fn on_enqueued(&mut self, _now: Instant, _class: ClassId, _meta: &Meta) {}
    /// `class` ran empty: its last packet was served (after `on_served`), its queue dropped the rest, or an ACK filter
    /// took it.
    fn on_emptied(&mut self, _now: Instant, _class: ClassId) {}
    /// The class to serve. Asking again without serving gives the same answer.
    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select;
    /// `class` was served: `served` leaves now.
    fn on_served(&mut self, _now: Instant, _class: ClassId, _served: &Meta) {}
}
