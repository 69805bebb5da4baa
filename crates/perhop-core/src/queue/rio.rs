//! RED with In and Out: one FIFO in which packets out of profile are dropped earlier, and more often, than those within.
//!
//! Source: Clark and Fang 1998, "Explicit Allocation of Best-Effort Packet Delivery Service". Green is In; red is Out, and
//! so is yellow. IN packets are dropped by the average of IN packets, OUT packets by that of all packets
//! ([`Averaging::Coupled`]); the other two modes are those of later variants.
//! Different: the paper is silent on idle time, on the count and on byte mode: they are as in RED, for each colour. The IN
//! average is idle while no IN packet waits, whatever else does. ns-2 (`rio.cc`) moves the average of all packets only when an
//! IN packet arrives. Units and cost: as RED.

use super::Fifo;
use super::average::{Ewma, MeanPacket, Unit};
use super::colored::{Averaging, Colored, Level};
use super::conventions::Conventions;
use super::early::{Curve, Early, Thresholds, names, not_empty, some_bytes, within_one};
use crate::dscp::ColorMap;
use crate::packet::Packet;
use crate::param_error::ParamError;
use crate::rng::{Chance, Stream};
use crate::sink::SiteId;
use crate::units::{BitRate, Bytes, QueueSize};

/// Parameters of [`Rio`].
#[derive(Clone, PartialEq, Debug)]
pub struct RioParams {
    /// Most that may wait.
    pub limit: QueueSize,
    /// Which code points are IN (green) and which OUT (yellow or red).
    pub colors: ColorMap,
    /// The packets in the averages.
    pub averaging: Averaging,
    /// Of IN packets.
    pub green: Thresholds,
    /// Of OUT packets.
    pub red: Thresholds,
    /// Weight of an arrival in the averages.
    pub w_q: f64,
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

/// A queue of packets in and out of profile.
pub type Rio<P> = Colored<P, 2>;

impl<P: Packet> Rio<P> {
    /// An empty queue; drops are reported as from `site`, chances are drawn from `stream`.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(site: SiteId, params: RioParams, stream: Stream) -> Result<Self, ParamError> {
        let RioParams { green, red, mean_packet, .. } = params;
        let first = ("green.min_th", green.min_th);
        not_empty("limit", params.limit)?;
        green.check(&names!("green."), first)?;
        red.check(&names!("red."), first)?;
        within_one("w_q", params.w_q)?;
        some_bytes("mean_packet", mean_packet)?;
        let ewma = Ewma::new(params.w_q);
        //= clark1998-rio-curves
        let level = |thresholds| Level::new(ewma, Early::new(Curve::new(thresholds, params.gentle)), None);
        Ok(Self {
            fifo: Fifo::new(site, params.limit),
            colors: params.colors,
            averaging: params.averaging,
            mean: MeanPacket::new(mean_packet, params.rate, params.byte_mode),
            unit: Unit::of(green.min_th),
            ecn: params.ecn,
            conventions: params.conventions.kept(),
            color_idle: None,
            levels: [level(&green), level(&red)],
            chance: Chance::new(stream),
        })
    }
}
