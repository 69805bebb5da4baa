//! Generalised RED: one FIFO with a virtual queue for each of three drop precedences.
//!
//! Source: the queueing discipline `gred` of Linux (Almesberger, Hadi Salim, Kuznetsov 1999, "Differentiated Services on
//! Linux"), after RIO; WRED for a shared average. Green, yellow and red are its virtual queues.
//! Different: three of them, not up to sixteen, and chosen by code point. Probabilities and averages are numbers, not powers
//! of two. [`Averaging::Coupled`] averages the packets of a colour and of all better ones, as Clark and Fang do, where Linux
//! (`grio`, [`Averaging::Summed`]) adds up averages that were updated at different times. A packet is dropped by its virtual queue first and for
//! want of room last. With [`Averaging::Shared`] the one average takes a step with the `w_q` of the arrival's colour.
//! Units and cost: as RED.

use super::Fifo;
use super::average::{Ewma, MeanPacket, Unit};
use super::colored::{Averaging, Colored, Level};
use super::conventions::Conventions;
use super::early::{Curve, Early, Names, Thresholds, names, not_empty, some_bytes, within_one};
use crate::dscp::ColorMap;
use crate::packet::Packet;
use crate::param_error::ParamError;
use crate::rng::{Chance, Stream};
use crate::sink::SiteId;
use crate::units::{BitRate, Bytes, QueueSize};

/// Early detection for one colour.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct VirtualQueue {
    /// Where early drops begin and end.
    pub thresholds: Thresholds,
    /// Weight of an arrival in the average.
    pub w_q: f64,
    /// Most of this colour that may wait.
    pub limit: Option<QueueSize>,
}

/// Parameters of [`Gred`].
#[derive(Clone, PartialEq, Debug)]
pub struct GredParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// Which colour each code point has.
    pub colors: ColorMap,
    /// The packets in the averages.
    pub averaging: Averaging,
    /// The best treatment.
    pub green: VirtualQueue,
    /// The middle one.
    pub yellow: VirtualQueue,
    /// The worst.
    pub red: VirtualQueue,
    /// Whether the probability rises to 1 between `max_th` and twice that, instead of jumping there.
    pub gentle: bool,
    /// Whether longer packets are dropped more often.
    pub byte_mode: bool,
    /// Whether packets that can carry a congestion mark are marked instead of dropped by chance.
    pub ecn: bool,
    /// Departures from RED's paper.
    pub conventions: Conventions,
    /// Mean length of a packet: the clock of an average while nothing of it waits, and the measure of the byte mode.
    pub mean_packet: Bytes,
    /// Rate of the link behind the queue.
    pub rate: BitRate,
}

/// A queue of three drop precedences.
pub type Gred<P> = Colored<P, 3>;

impl VirtualQueue {
    fn check(&self, names: &Names, first: (&str, QueueSize)) -> Result<(), ParamError> {
        self.thresholds.check(names, first)?;
        within_one(names.w_q, self.w_q)?;
        self.limit.map_or(Ok(()), |limit| not_empty(names.limit, limit))
    }
}

impl<P: Packet> Gred<P> {
    /// An empty queue; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: GredParams, stream: Stream) -> Result<Self, ParamError> {
        let GredParams { green, yellow, red, mean_packet, .. } = params;
        let first = ("green.min_th", green.thresholds.min_th);
        not_empty("limit", params.limit)?;
        green.check(&names!("green."), first)?;
        yellow.check(&names!("yellow."), first)?;
        red.check(&names!("red."), first)?;
        some_bytes("mean_packet", mean_packet)?;
        let levels = [green, yellow, red].map(|queue| {
            let early = Early::new(Curve::new(&queue.thresholds, params.gentle));
            Level::new(Ewma::new(queue.w_q), early, queue.limit)
        });
        Ok(Self {
            fifo: Fifo::new(site, params.limit),
            colors: params.colors,
            averaging: params.averaging,
            mean: MeanPacket::new(mean_packet, params.rate, params.byte_mode),
            unit: Unit::of(green.thresholds.min_th),
            ecn: params.ecn,
            conventions: params.conventions.kept(),
            color_idle: None,
            levels,
            chance: Chance::new(stream),
        })
    }
}
