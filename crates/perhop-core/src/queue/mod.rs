//! Queues with their drop policy.

mod ack_filter;
mod any;
pub mod average;
mod cake;
mod cobalt;
mod codel;
mod colored;
mod conventions;
mod docsis_pie;
mod dualpi2;
pub mod early;
mod fifo;
mod fq;
mod gred;
mod linux_dualpi2;
mod linux_pie;
mod pie;
mod red;
mod rio;

pub use ack_filter::AckFilter;
pub use any::AnyQueue;
pub use cake::{Cake, CakeParams, Isolation, Tins};
pub use cobalt::{Cobalt, CobaltParams};
pub use codel::{Codel, CodelConventions, CodelParams};
pub use colored::{Averaging, Colored};
pub use conventions::Conventions;
pub use docsis_pie::{DocsisPie, DocsisPieParams};
pub use dualpi2::{DualPi2, DualPi2Params};
pub use early::{EarlyState, Thresholds};
pub use fifo::Fifo;
pub use fq::{Fq, FqConventions, FqParams};
pub use gred::{Gred, GredParams, VirtualQueue};
pub use linux_dualpi2::{LinuxDualPi2, LinuxDualPi2Params};
pub use linux_pie::{LinuxPie, LinuxPieParams};
pub use pie::{DelayFrom, Pie, PieParams};
pub use red::{Red, RedParams};
pub use rio::{Rio, RioParams};

use crate::packet::{Ecn, Meta, Packet};
use crate::sink::{Sink, SiteId};
use crate::time::Instant;
use crate::units::{Bytes, QueueSize};

/// The packets that wait in a queue; the packet being transmitted is not in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Backlog {
    /// Packets.
    pub packets: u64,
    /// Their length.
    pub bytes: Bytes,
}

impl std::ops::Sub for Backlog {
    type Output = Self;

    /// The difference from an earlier count.
    fn sub(self, before: Self) -> Self {
        Self { packets: self.packets - before.packets, bytes: self.bytes - before.bytes }
    }
}

impl std::ops::AddAssign for Backlog {
    fn add_assign(&mut self, more: Self) {
        self.packets += more.packets;
        self.bytes += more.bytes;
    }
}

impl Backlog {
    /// Counts a packet of `len`.
    pub fn add(&mut self, len: Bytes) {
        self.packets += 1;
        self.bytes += len;
    }

    /// Counts a packet of `len` no more.
    pub(crate) fn remove(&mut self, len: Bytes) {
        self.packets -= 1;
        self.bytes -= len;
    }

    /// Whether a packet of `len` may join where at most `limit` may wait.
    #[inline]
    #[must_use]
    pub fn has_room(self, limit: QueueSize, len: Bytes) -> bool {
        !Self { packets: self.packets + 1, bytes: self.bytes + len }.exceeds(limit)
    }

    /// Whether as much waits as `size`.
    #[inline]
    #[must_use]
    pub const fn reaches(self, size: QueueSize) -> bool {
        match size {
            QueueSize::Packets(least) => self.packets >= least,
            QueueSize::Bytes(least) => self.bytes.0 >= least,
        }
    }

    /// Whether more waits than `limit`.
    #[inline]
    #[must_use]
    pub const fn exceeds(self, limit: QueueSize) -> bool {
        match limit {
            QueueSize::Packets(most) => self.packets > most,
            QueueSize::Bytes(most) => self.bytes.0 > most,
        }
    }
}

/// Marks `pkt`, which can carry a mark; one that carries it already stays as it is (RFC 3168 section 5).
//= rfc3168-5-mark
//= rfc3168-5-ce-stays
#[inline]
fn mark<P: Packet>(now: Instant, site: SiteId, pkt: &mut P, sink: &mut dyn Sink<P>) {
    let meta = pkt.meta_mut();
    if meta.ecn != Ecn::Ce {
        meta.ecn = Ecn::Ce;
        sink.marked(now, site, pkt.meta());
    }
}

/// The length of a queue or a packet as a float, exact below 2^52, as lengths are: they are the last bits of 2^52 + `length`.
/// The conversion of x86-64 would wait for whatever its register held before.
#[inline]
const fn float(length: u64) -> f64 {
    const BEFORE: f64 = (1u64 << 52) as f64;
    debug_assert!(length >> 52 == 0, "a length that does not fit");
    f64::from_bits(BEFORE.to_bits() | length) - BEFORE
}

/// A queue with its drop policy. It may drop and mark at arrival (RED), at departure (CoDel) and at deadlines of its own.
///
/// It hands `sink` every packet that it drops, and tells it of each that it marks. `now` never decreases between calls. Laws:
/// `perhop_testkit::laws::queue`.
pub trait Queue<P: Packet>: Send {
    /// Accepts `pkt` and tells `sink` so, or hands it to `sink` as dropped. It may drop others for it, and then `pkt` too.
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>);
    /// The next packet to transmit. `None` does not promise an empty queue: the policy may have dropped the rest.
    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P>;
    /// The packet that `dequeue` considers first; a policy that drops at departure, or draws whose turn it is, may return another.
    fn peek(&self) -> Option<&Meta>;
    /// The backlog.
    fn backlog(&self) -> Backlog;
    /// The time before which `dequeue` gives nothing although something waits, of a queue with a shaper of its own. Such a queue is its
    /// port's only class.
    fn not_before(&self) -> Option<Instant> {
        None
    }
    /// Whether it ever has a deadline. Who owns the queue asks once, and asks a queue that has none for nothing more.
    fn has_deadlines(&self) -> bool {
        false
    }
    /// When [`Queue::on_timeout`] should next be called, if ever.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    /// The deadline has come. An extra call changes nothing.
    fn on_timeout(&mut self, _now: Instant, _sink: &mut dyn Sink<P>) {}
    /// The states of its early detection, best colour first: always as many. None where there is none.
    fn early_states(&self) -> Vec<EarlyState> {
        Vec::new()
    }
}

/// A queue that [`Fq`] may hold, one for each flow. `dequeue` finds nothing only where nothing waits, and a deadline changes only when
/// a packet comes or when it has come itself.
pub trait FlowQueue<P: Packet>: Queue<P> {
    /// [`Queue::dequeue`] of one queue among others; with `others`, bytes that wait in those, its policy judges all by what waits
    /// in all: it need not begin anew because nothing waits in this one.
    fn dequeue_beside(&mut self, now: Instant, others: Option<Bytes>, sink: &mut dyn Sink<P>) -> Option<P>;
    /// Takes out the first packet, for which all queues together have no room. A policy that cares for overflows hears of one;
    /// for another it `counts` as a drop of its own.
    fn evict(&mut self, now: Instant, counts: bool) -> Option<P>;
}
