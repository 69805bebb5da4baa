//! Queues with early detection, so small and quick that a few packets take them through all they can do.

use perhop_core::dscp::ColorMap;
use perhop_core::packet::Color;
use perhop_core::queue::{
    Averaging, Conventions, Gred, GredParams, Red, RedParams, Rio, RioParams, Thresholds, VirtualQueue,
};
use perhop_core::rng::Stream;
use perhop_core::sink::SiteId;
use perhop_core::units::{BitRate, Bytes, QueueSize};

use crate::packet::{AF11, AF12, TestPacket};

/// Green is AF11, yellow AF12, red all else.
pub const COLORS: ColorMap = ColorMap::all(Color::Red).with(AF11, Color::Green).with(AF12, Color::Yellow);

/// 1 Mbit/s, at which a packet of 1250 bytes takes 10 ms.
pub const RATE: BitRate = match BitRate::new(1_000_000) {
    Some(rate) => rate,
    None => panic!("zero"),
};

/// A RED queue of ten packets.
pub const RED: RedParams = RedParams {
    limit: QueueSize::Packets(10),
    thresholds: packets(2, 6, 0.2),
    w_q: 0.25,
    gentle: false,
    byte_mode: false,
    ecn: false,
    conventions: Conventions::FLOYD1993,
    mean_packet: Bytes(1250),
    rate: RATE,
};

/// A RIO queue of ten packets.
pub const RIO: RioParams = RioParams {
    limit: QueueSize::Packets(10),
    colors: COLORS,
    averaging: Averaging::Coupled,
    green: packets(3, 8, 0.1),
    red: packets(1, 5, 0.3),
    w_q: 0.25,
    gentle: false,
    byte_mode: false,
    ecn: false,
    conventions: Conventions::FLOYD1993,
    mean_packet: Bytes(1250),
    rate: RATE,
};

/// A GRED queue of ten packets.
pub const GRED: GredParams = GredParams {
    limit: QueueSize::Packets(10),
    colors: COLORS,
    averaging: Averaging::Decoupled,
    green: VirtualQueue { thresholds: packets(2, 7, 0.1), w_q: 0.25, limit: None },
    yellow: VirtualQueue { thresholds: packets(1, 4, 0.2), w_q: 0.5, limit: Some(QueueSize::Packets(4)) },
    red: VirtualQueue { thresholds: packets(0, 2, 0.3), w_q: 0.125, limit: Some(QueueSize::Bytes(3000)) },
    gentle: false,
    byte_mode: false,
    ecn: false,
    conventions: Conventions::FLOYD1993,
    mean_packet: Bytes(1250),
    rate: RATE,
};

/// Thresholds in packets.
#[must_use]
pub const fn packets(min_th: u64, max_th: u64, max_p: f64) -> Thresholds {
    Thresholds { min_th: QueueSize::Packets(min_th), max_th: QueueSize::Packets(max_th), max_p }
}

/// Thresholds in bytes.
#[must_use]
pub const fn bytes(min_th: u64, max_th: u64, max_p: f64) -> Thresholds {
    Thresholds { min_th: QueueSize::Bytes(min_th), max_th: QueueSize::Bytes(max_th), max_p }
}

/// The stream that the queues below draw from.
#[must_use]
pub fn stream() -> Stream {
    Stream::new(1, 0, "queue")
}

/// A RED queue.
///
/// # Panics
/// When it refuses `params`; so do the others.
#[must_use]
pub fn red(site: SiteId, params: RedParams) -> Box<Red<TestPacket>> {
    Box::new(Red::new(site, params, stream()).unwrap_or_else(|refused| panic!("{refused}")))
}

/// A RIO queue.
#[must_use]
pub fn rio(site: SiteId, params: RioParams) -> Box<Rio<TestPacket>> {
    Box::new(Rio::new(site, params, stream()).unwrap_or_else(|refused| panic!("{refused}")))
}

/// A GRED queue.
#[must_use]
pub fn gred(site: SiteId, params: GredParams) -> Box<Gred<TestPacket>> {
    Box::new(Gred::new(site, params, stream()).unwrap_or_else(|refused| panic!("{refused}")))
}
