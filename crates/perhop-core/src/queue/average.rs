//! The average length of a queue: exponentially weighted, and decaying while nothing waits.
//!
//! Source: Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion Avoidance", sections 4 and 6, Figure 2.
//! Different: an arrival at an empty queue ends one idle time and, if it is not accepted, begins the next; Figure 2 read to
//! the letter would count the time before it again. m need not be whole. ns-2 (`red.cc`) rounds m down and adds a step with
//! q = 0 for the arrival itself; its idle time begins when the last packet has been transmitted, ours when it leaves the
//! queue, as in Figure 2. Units: the average counts packets or bytes, as its thresholds do. Cost: two products for each
//! arrival, and a power for one that finds the queue empty after it was not.

use super::{Backlog, float};
use crate::time::Instant;
use crate::units::{BitRate, Bytes, QueueSize};

/// What a length counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// What `size` counts.
    #[must_use]
    pub const fn of(size: QueueSize) -> Self {
        match size {
            QueueSize::Packets(_) => Self::Packets,
            QueueSize::Bytes(_) => Self::Bytes,
        }
    }

    //= floyd1993-4-bytes
    /// How long `backlog` is in this unit.
    #[must_use]
    pub const fn count(self, backlog: Backlog) -> u64 {
        match self {
            Self::Packets => backlog.packets,
            Self::Bytes => backlog.bytes.0,
        }
    }

    /// Its name, for people.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Packets => "packets",
            Self::Bytes => "bytes",
        }
    }
}

/// How an average follows its queue.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Ewma {
    w_q: f64,
    /// What is kept of the average at each step.
    kept: f64,
    /// Time to send a packet of the mean length, in ns.
    packet_ns: f64,
}

impl Ewma {
    /// Steps of weight `w_q`; over idle time one for each packet of `mean_packet` that `rate` could have sent.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "lengths and rates far below 2^53")]
    pub const fn new(w_q: f64, mean_packet: Bytes, rate: BitRate) -> Self {
        let packet_ns = mean_packet.0 as f64 * 8e9 / rate.bits_per_sec() as f64;
        Self { w_q, kept: 1.0 - w_q, packet_ns }
    }
}

/// The average length of a queue, as its arrivals find it.
#[derive(Clone, Copy, PartialEq, Debug, Default)]
pub struct Average {
    value: f64,
    /// Since when nothing waits, where nothing does.
    empty_since: Instant,
}

impl Average {
    /// Its present value.
    #[must_use]
    pub const fn value(&self) -> f64 {
        self.value
    }

    /// A packet arrives and finds `waiting`, in the unit of the average.
    #[inline]
    pub fn on_arrival(&mut self, now: Instant, waiting: u64, ewma: &Ewma) {
        self.on_arrival_if(true, now, waiting, ewma);
    }

    /// A packet arrives and finds `waiting`; the average takes a step if it `counts` the packet. Written without a branch on
    /// that, because colours come in no order that a processor could foresee.
    #[inline]
    pub fn on_arrival_if(&mut self, counts: bool, now: Instant, waiting: u64, ewma: &Ewma) {
        if waiting > 0 {
            //= floyd1993-4-average
            let next = ewma.kept * self.value + ewma.w_q * float(waiting);
            self.value = if counts { next } else { self.value };
        } else if counts {
            self.decay(now, ewma);
        }
    }

    /// Idle time has ended; if the arrival is not accepted, the next begins.
    #[expect(clippy::cast_precision_loss, reason = "an idle time below 2^53 ns, or hardly rounded")]
    fn decay(&mut self, now: Instant, ewma: &Ewma) {
        if self.value > 0.0 {
            //= floyd1993-4-idle
            let idle = now.saturating_since(self.empty_since).as_nanos() as f64;
            self.value *= libm::pow(ewma.kept, idle / ewma.packet_ns);
        }
        self.empty_since = now;
    }

    //= floyd1993-4-idle-start
    /// The last packet it counts has left.
    pub const fn on_emptied(&mut self, now: Instant) {
        self.empty_since = now;
    }
}
