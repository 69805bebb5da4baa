//! Random early detection: arrivals are dropped by chance before the queue is full, by its average length.
//!
//! Source: Floyd and Jacobson 1993, "Random Early Detection Gateways for Congestion Avoidance", Figure 2.
//! Different: see `average.rs` and `early.rs`, which do it. The paper's queue is never full; here a limit stands behind the
//! thresholds, and what it drops is an overflow. Units: thresholds and average in packets or in bytes; the limit in either.
//! Cost: that of a FIFO, and a step of the average; between the thresholds a division; for each drop by chance a draw.

use super::average::{Average, Ewma, MeanPacket, Unit};
use super::conventions::Conventions;
use super::early::{Curve, Early, EarlyState, Thresholds, admit, names, not_empty, some_bytes, within_one};
use super::{Backlog, Fifo, Queue};
use crate::packet::{Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::{Chance, Stream};
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::Instant;
use crate::units::{BitRate, Bytes, QueueSize};

/// Parameters of [`Red`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct RedParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// Where early drops begin and end; the average counts what they count.
    pub thresholds: Thresholds,
    /// Weight of an arrival in the average.
    pub w_q: f64,
    /// Whether the probability rises to 1 between `max_th` and twice that, instead of jumping there.
    pub gentle: bool,
    /// Whether longer packets are dropped more often.
    pub byte_mode: bool,
    /// Whether packets that can carry a congestion mark are marked instead of dropped by chance.
    pub ecn: bool,
    /// Departures from the paper.
    pub conventions: Conventions,
    /// Mean length of a packet: the clock of the average while nothing waits, and the measure of the byte mode.
    pub mean_packet: Bytes,
    /// Rate of the link behind the queue.
    pub rate: BitRate,
}

/// A queue with random early detection.
#[derive(Clone, Debug)]
pub struct Red<P> {
    fifo: Fifo<P>,
    unit: Unit,
    ecn: bool,
    /// None are the paper's.
    conventions: Option<Conventions>,
    mean: MeanPacket,
    ewma: Ewma,
    average: Average,
    early: Early,
    chance: Chance,
}

impl<P: Packet> Red<P> {
    /// An empty queue; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: RedParams, stream: Stream) -> Result<Self, ParamError> {
        let RedParams { thresholds, mean_packet, .. } = params;
        not_empty("limit", params.limit)?;
        thresholds.check(&names!(""), ("min_th", thresholds.min_th))?;
        within_one("w_q", params.w_q)?;
        some_bytes("mean_packet", mean_packet)?;
        Ok(Self {
            fifo: Fifo::new(site, params.limit),
            unit: Unit::of(thresholds.min_th),
            ecn: params.ecn,
            conventions: params.conventions.kept(),
            mean: MeanPacket::new(mean_packet, params.rate, params.byte_mode),
            ewma: Ewma::new(params.w_q),
            average: Average::default(),
            early: Early::new(Curve::new(&thresholds, params.gentle)),
            chance: Chance::new(stream),
        })
    }

    /// The average length, in the unit of the thresholds, as the latest arrival left it.
    #[must_use]
    pub const fn averages(&self) -> [f64; 1] {
        [self.average.value()]
    }

    /// A packet arrives. Compiled once for the paper's conventions, so that those cost nothing, and once for any.
    #[inline(always)]
    fn arrive(&mut self, conventions: &Conventions, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let len = pkt.meta().len;
        if conventions.skip_full && !self.fifo.has_room_for(len) {
            return sink.dropped(now, self.fifo.site(), pkt, DropReason::Overflow);
        }
        let waiting = self.unit.count(self.fifo.backlog());
        self.average.on_arrival(now, waiting, &self.ewma, &self.mean, conventions);
        let verdict = if conventions.spare_short && waiting <= 1 {
            self.early.spare()
        } else {
            self.early.decide(self.average.value(), len, &self.mean, conventions, &mut self.chance)
        };
        if !admit(&mut self.fifo, verdict, self.ecn, || true, now, pkt, sink) {
            self.early.on_dropped(conventions);
        }
    }

    #[inline(never)]
    fn arrive_otherwise(&mut self, conventions: Conventions, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        self.arrive(&conventions, now, pkt, sink);
    }

    fn left(&mut self, now: Instant, meta: &Meta) {
        if self.fifo.backlog().packets == 0 {
            self.average.on_emptied(self.mean.idle_from(now, meta.len, &Conventions::of(self.conventions)));
        }
    }
}

impl<P: Packet> Queue<P> for Red<P> {
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
        vec![self.early.state(None, self.unit, self.average.value())]
    }
}
