//! The average length of a queue: exponentially weighted, and decaying while nothing waits.
//!
//! Source: Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion Avoidance", sections 4 and 6, Figure 2.
//! Different: idle time counts packets of a mean length, as in ns-2, where the paper suggests small ones. An arrival at an
//! empty queue ends one idle time and, if it is not accepted, begins the next; Figure 2 read to the letter would count the
//! time before it again. m need not be whole. A step is computed as avg + w_q (q - avg). What ns-2 does otherwise with idle
//! time is a setting ([`Conventions`]). Units: the average counts packets or bytes, as its thresholds do. Cost: a product for
//! each arrival, and a power for one that finds the queue empty after it was not.

use super::{Backlog, Conventions, float};
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes, QueueSize};

/// The unit of a length.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Unit {
    /// Packets.
    Packets,
    /// Bytes.
    Bytes,
}

impl Unit {
    /// The unit of `size`.
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
    /// Of an arrival that does not count, and of one that does.
    weights: [f64; 2],
}

impl Ewma {
    /// Steps of weight `w_q`.
    #[must_use]
    pub const fn new(w_q: f64) -> Self {
        Self { weights: [0.0, w_q] }
    }
}

/// The mean length of a packet: the clock of an average while nothing waits, and the measure of the byte mode.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct MeanPacket {
    /// Time to send it, in ns.
    time: f64,
    /// Time to send a byte, in ns.
    byte: f64,
    /// Its length, where lengths matter.
    len: Option<f64>,
}

impl MeanPacket {
    /// A packet of `len` on a link of `rate`.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "lengths and rates far below 2^53")]
    pub const fn new(len: Bytes, rate: BitRate, byte_mode: bool) -> Self {
        let len_bytes = len.0 as f64;
        Self {
            time: len_bytes * 8e9 / rate.bits_per_sec() as f64,
            byte: 8e9 / rate.bits_per_sec() as f64,
            len: if byte_mode { Some(len_bytes) } else { None },
        }
    }

    //= floyd1993-4-byte-mode
    /// `p_b` for a packet of `len`: in byte mode one twice as long as the mean is dropped twice as often.
    #[inline]
    #[must_use]
    pub fn measure(&self, p_b: f64, len: Bytes) -> f64 {
        self.len.map_or(p_b, |mean| p_b * float(len.0) / mean)
    }

    //= floyd1993-4-idle-start
    /// When idle time begins if the last packet, of `len`, leaves the queue `now`.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a time below 2^53 ns, and above 0"
    )]
    pub(super) fn idle_from(&self, now: Instant, len: Bytes, conventions: &Conventions) -> Instant {
        if conventions.idle_sent { now + Span::from_nanos((float(len.0) * self.byte) as u64) } else { now }
    }

    /// The steps that an average takes in idle time that ends `now` with an arrival at an empty queue.
    #[expect(clippy::cast_precision_loss, reason = "an idle time below 2^53 ns, or hardly rounded")]
    fn idle_steps(&self, since: Instant, now: Instant, conventions: &Conventions) -> f64 {
        let exact = now.saturating_since(since).as_nanos() as f64 / self.time;
        if conventions.idle_whole { libm::floor(exact) + 1.0 } else { exact }
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
    pub fn on_arrival(
        &mut self,
        now: Instant,
        waiting: u64,
        ewma: &Ewma,
        mean: &MeanPacket,
        conventions: &Conventions,
    ) {
        self.on_arrival_if(true, now, waiting, ewma, mean, conventions);
    }

    /// A packet arrives and finds `waiting`; the average takes a step if it `counts` the packet. Written without a branch on
    /// that, because colours come in no order that a processor could foresee.
    #[inline]
    pub fn on_arrival_if(
        &mut self,
        counts: bool,
        now: Instant,
        waiting: u64,
        ewma: &Ewma,
        mean: &MeanPacket,
        conventions: &Conventions,
    ) {
        if waiting > 0 {
            //= floyd1993-4-average
            //= rfc2597-4-long-term
            self.value += ewma.weights[usize::from(counts)] * (float(waiting) - self.value);
        } else if counts {
            self.decay(now, ewma, mean, conventions);
        }
    }

    /// Idle time has ended; if the arrival is not accepted, the next begins, but where the conventions say otherwise.
    #[cold]
    fn decay(&mut self, now: Instant, ewma: &Ewma, mean: &MeanPacket, conventions: &Conventions) {
        if self.value > 0.0 {
            //= floyd1993-4-idle
            let steps = mean.idle_steps(self.empty_since, now, conventions);
            self.value *= libm::pow(1.0 - ewma.weights[1], steps);
        }
        if !conventions.idle_again {
            self.empty_since = self.empty_since.max(now);
        }
    }

    /// Idle time that began at `since` has ended though something waits: one of its steps is still to come.
    #[cold]
    pub(super) fn decay_beside(
        &mut self,
        since: Instant,
        now: Instant,
        ewma: &Ewma,
        mean: &MeanPacket,
        conventions: &Conventions,
    ) {
        let steps = mean.idle_steps(since, now, conventions) - if conventions.idle_whole { 1.0 } else { 0.0 };
        self.value *= libm::pow(1.0 - ewma.weights[1], steps);
    }

    //= floyd1993-4-idle-start
    /// The last packet it counts has left; idle time begins at `from`.
    pub const fn on_emptied(&mut self, from: Instant) {
        self.empty_since = from;
    }
}
