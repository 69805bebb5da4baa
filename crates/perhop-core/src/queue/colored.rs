//! One FIFO for packets of several colours, each with early detection of its own: what RIO and GRED share.
//!
//! Source: Clark and Fang 1998 (RIO); the modes of Linux `sch_gred`. See `rio.rs` and `gred.rs`.
//! An average is updated by the arrivals it counts, and is idle while nothing of what it counts waits. Which those are says
//! [`Averaging`]. Counts of drops are for each colour in every mode.
//! Units: as RED. Cost: that of RED, and the sums of two or three counters.

use super::average::{Average, Ewma, MeanPacket, Unit};
use super::conventions::Conventions;
use super::early::{Early, EarlyState, admit};
use super::{Backlog, Fifo, Queue};
use crate::dscp::ColorMap;
use crate::packet::{Color, Meta, Packet};
use crate::rng::Chance;
use crate::sink::{DropReason, Sink};
use crate::time::Instant;
use crate::units::{Bytes, QueueSize};

/// The packets in the average by which a colour is dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Averaging {
    /// Packets of the colour and of all better ones (RIO-C).
    #[default]
    Coupled,
    /// Packets of the colour alone (RIO-D, GRED).
    Decoupled,
    /// All packets; there is one average (WRED).
    Shared,
    /// Packets of the colour alone, and to its average are added those of the better ones of which something waits (Linux
    /// `grio`).
    Summed,
}

/// Early detection for one colour. Whole cache lines; a position is found by a shift.
#[derive(Clone, Copy, Debug)]
#[repr(align(128))]
pub(super) struct Level {
    pub ewma: Ewma,
    pub early: Early,
    /// Most of this colour that may wait, besides the limit of the whole queue.
    most: Backlog,
    average: Average,
    /// The backlog of this colour.
    waiting: Backlog,
}

impl Level {
    pub fn new(ewma: Ewma, early: Early, limit: Option<QueueSize>) -> Self {
        let most = match limit {
            Some(QueueSize::Packets(packets)) => Backlog { packets, bytes: Bytes(u64::MAX) },
            Some(QueueSize::Bytes(bytes)) => Backlog { packets: u64::MAX, bytes: Bytes(bytes) },
            None => Backlog { packets: u64::MAX, bytes: Bytes(u64::MAX) },
        };
        Self { ewma, early, most, average: Average::default(), waiting: Backlog::default() }
    }

    #[inline]
    fn has_room_for(&self, len: Bytes) -> bool {
        self.waiting.packets < self.most.packets && self.waiting.bytes + len <= self.most.bytes
    }
}

/// A queue whose packets have `N` colours. Build it as [`Rio`](super::Rio) or [`Gred`](super::Gred).
#[derive(Clone, Debug)]
pub struct Colored<P, const N: usize> {
    //= clark1998-rio-fifo
    pub(super) fifo: Fifo<P>,
    pub(super) colors: ColorMap,
    pub(super) averaging: Averaging,
    pub(super) mean: MeanPacket,
    pub(super) unit: Unit,
    pub(super) ecn: bool,
    /// None are the paper's.
    pub(super) conventions: Option<Conventions>,
    /// Best colour first. Where the average is shared, it is the first's.
    pub(super) levels: [Level; N],
    /// With the convention `idle_color`: since when an average that is shared is idle, if it is.
    pub(super) color_idle: Option<Instant>,
    pub(super) chance: Chance,
}

impl<P: Packet, const N: usize> Colored<P, N> {
    /// The averages by which each colour is dropped, best colour first, in the unit of the thresholds, as the latest arrival
    /// left them.
    #[must_use]
    pub fn averages(&self) -> [f64; N] {
        core::array::from_fn(|level| match self.averaging {
            Averaging::Coupled | Averaging::Decoupled => self.levels[level].average.value(),
            Averaging::Shared => self.levels[0].average.value(),
            Averaging::Summed => self.summed(level),
        })
    }

    /// The average of level `at` and of the better ones that are not idle.
    fn summed(&self, at: usize) -> f64 {
        let (own, better) = (&self.levels[at], &self.levels[..at]);
        let busy = better.iter().filter(|level| level.waiting.packets > 0);
        own.average.value() + busy.map(|level| level.average.value()).sum::<f64>()
    }

    /// The backlog of each colour, best first.
    #[must_use]
    pub fn backlogs(&self) -> [Backlog; N] {
        self.levels.map(|level| level.waiting)
    }

    /// A packet of level `at` arrives: the averages that count it take a step. Returns the one it is dropped by.
    //= clark1998-rio-steps
    #[inline(always)]
    fn step(&mut self, conventions: &Conventions, now: Instant, at: usize) -> f64 {
        match self.averaging {
            Averaging::Coupled => {
                let mut waiting = 0;
                for (level, own) in self.levels.iter_mut().enumerate() {
                    waiting += self.unit.count(own.waiting);
                    let (average, ewma) = (&mut own.average, &own.ewma);
                    average.on_arrival_if(level >= at, now, waiting, ewma, &self.mean, conventions);
                }
                self.levels[at].average.value()
            }
            Averaging::Decoupled | Averaging::Summed => {
                let Level { average, waiting, ewma, .. } = &mut self.levels[at];
                average.on_arrival(now, self.unit.count(*waiting), ewma, &self.mean, conventions);
                if self.averaging == Averaging::Summed { self.summed(at) } else { average.value() }
            }
            Averaging::Shared => {
                let (ewma, waiting) = (self.levels[at].ewma, self.unit.count(self.fifo.backlog()));
                let average = &mut self.levels[0].average;
                if conventions.idle_color
                    && let Some(since) = self.color_idle
                {
                    if waiting > 0 {
                        average.decay_beside(since, now, &ewma, &self.mean, conventions);
                    }
                    self.color_idle = self.color_idle.filter(|_| conventions.idle_again);
                }
                average.on_arrival(now, waiting, &ewma, &self.mean, conventions);
                average.value()
            }
        }
    }

    /// Whether so little waits of what the average of level `at` counts that it has no say.
    #[cold]
    fn is_short(&self, at: usize) -> bool {
        let count = |own: &Level| self.unit.count(own.waiting);
        let waiting = match self.averaging {
            Averaging::Coupled | Averaging::Summed => self.levels.iter().take(at + 1).map(count).sum(),
            Averaging::Decoupled => count(&self.levels[at]),
            Averaging::Shared => self.unit.count(self.fifo.backlog()),
        };
        waiting <= 1
    }

    /// A packet arrives. Compiled once for the paper's conventions, so that those cost nothing, and once for any.
    #[inline(always)]
    fn arrive(&mut self, conventions: &Conventions, now: Instant, mut pkt: P, sink: &mut dyn Sink<P>) {
        let meta = pkt.meta_mut();
        meta.color = self.colors.color(meta.dscp);
        let (at, len) = (level::<N>(meta.color), meta.len);
        if conventions.skip_full && !self.fifo.has_room_for(len) {
            return sink.dropped(now, self.fifo.site(), pkt, DropReason::Overflow);
        }
        let average = self.step(conventions, now, at);
        let spared = conventions.spare_short && self.is_short(at);
        let level = &mut self.levels[at];
        //= clark1998-rio-in-average
        //= clark1998-rio-total-average
        //= clark1998-rio-forced
        let verdict = if spared {
            level.early.spare()
        } else {
            level.early.decide(average, len, &self.mean, conventions, &mut self.chance)
        };
        if admit(&mut self.fifo, verdict, self.ecn, || level.has_room_for(len), now, pkt, sink) {
            level.waiting.add(len);
            if conventions.idle_color {
                self.color_idle = None;
            }
        } else {
            level.early.on_dropped(conventions);
        }
    }

    #[inline(never)]
    fn arrive_otherwise(&mut self, conventions: Conventions, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        self.arrive(&conventions, now, pkt, sink);
    }

    /// A packet has left.
    #[inline]
    fn left(&mut self, now: Instant, meta: &Meta) {
        let at = level::<N>(meta.color);
        self.levels[at].waiting.remove(meta.len);
        if self.levels[at].waiting.packets == 0 {
            self.emptied(now, meta.len, at);
        }
    }

    /// The last packet of level `at` has left: the averages that count it may have nothing left to count, and their idle time
    /// begins.
    #[cold]
    fn emptied(&mut self, now: Instant, len: Bytes, at: usize) {
        let conventions = Conventions::of(self.conventions);
        let from = self.mean.idle_from(now, len, &conventions);
        self.color_idle = conventions.idle_color.then_some(from);
        match self.averaging {
            Averaging::Coupled => {
                let idle = self.levels.iter_mut().take_while(|own| own.waiting.packets == 0);
                idle.skip(at).for_each(|own| own.average.on_emptied(from));
            }
            Averaging::Decoupled | Averaging::Summed => self.levels[at].average.on_emptied(from),
            Averaging::Shared if self.fifo.backlog().packets == 0 => self.levels[0].average.on_emptied(from),
            Averaging::Shared => {}
        }
    }
}

//= rfc2597-2-two-levels
/// Where packets of `color` belong: the last level takes the colours that have none of their own.
const fn level<const N: usize>(color: Color) -> usize {
    let at = color as usize;
    if at < N { at } else { N - 1 }
}

impl<P: Packet, const N: usize> Queue<P> for Colored<P, N> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        match self.conventions {
            None => self.arrive(&Conventions::FLOYD1993, now, pkt, sink),
            Some(conventions) => self.arrive_otherwise(conventions, now, pkt, sink),
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        let pkt = self.fifo.dequeue(now, sink)?;
        self.left(now, pkt.meta());
        Some(pkt)
    }

    fn peek(&self) -> Option<&Meta> {
        self.fifo.peek()
    }

    fn backlog(&self) -> Backlog {
        self.fifo.backlog()
    }

    fn early_states(&self) -> Vec<EarlyState> {
        let best =
            if N == 2 { &[Color::Green, Color::Red][..] } else { &[Color::Green, Color::Yellow, Color::Red] };
        let own = self.levels.iter().zip(self.averages()).zip(best);
        own.map(|((level, average), color)| level.early.state(Some(*color), self.unit, average)).collect()
    }
}
