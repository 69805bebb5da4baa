//! One direction of a link: a transmitter and the packets on their way.
//!
//! Serialisation takes bits * 10^9 / rate ns; the remainder of each division is carried to the next packet, so the
//! long-run rate is exact. Units: ns, bits, bytes.

use perhop_core::lane::Lane;
use perhop_core::packet::{Kind, Packet, PortId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};

use crate::event::Due;
use crate::packet::SimPacket;

/// Counters since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LinkStats {
    /// Packets whose transmission began.
    pub packets: u64,
    /// Their length on this link.
    pub bytes: Bytes,
    /// Pure ACKs among them.
    pub acks: u64,
    /// Packets that reached the other end.
    pub delivered: u64,
    /// Their length.
    pub delivered_bytes: Bytes,
    /// Time spent on data, up to the end of the last transmission.
    pub busy_data: Span,
    /// Time spent on pure ACKs, likewise.
    pub busy_acks: Span,
}

/// One direction of a link: three cache lines, and the first holds what an arrival reads before anything else.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link {
    /// Packets in transmission or propagation, with the time they arrive.
    pub in_flight: Lane<(Due, SimPacket)>,
    /// Receiving node.
    pub to: u32,
    /// Port of the receiving node by which packets arrive: the one that feeds the other direction.
    pub to_port: PortId,
    stats: LinkStats,
    /// Sending node.
    pub from: u32,
    /// Port of the sending node that feeds the link.
    pub from_port: PortId,
    /// End of the current or last transmission.
    pub busy_until: Instant,
    /// When an event will ask the port for the next packet; `Instant::MAX` for never.
    pub poll_due: Instant,
    rate: BitRate,
    delay: Span,
    /// Of the last division, in units of 1/rate ns.
    remainder: u64,
    last_is_ack: bool,
}

impl Link {
    /// An idle link.
    pub const fn new(rate: BitRate, delay: Span, from: (u32, PortId), to: (u32, PortId)) -> Self {
        Self {
            rate,
            delay,
            remainder: 0,
            from: from.0,
            from_port: from.1,
            to: to.0,
            to_port: to.1,
            busy_until: Instant::ZERO,
            poll_due: Instant::MAX,
            in_flight: Lane::new(),
            last_is_ack: false,
            stats: LinkStats {
                packets: 0,
                bytes: Bytes(0),
                acks: 0,
                delivered: 0,
                delivered_bytes: Bytes(0),
                busy_data: Span::ZERO,
                busy_acks: Span::ZERO,
            },
        }
    }

    /// Starts to transmit `pkt`, which arrives with sequence number `seq`. Returns when.
    pub fn transmit(&mut self, now: Instant, pkt: SimPacket, seq: u64) -> Due {
        let (len, is_ack) = (pkt.meta().len, pkt.meta().kind == Kind::PureAck);
        let scaled = len.bits() * 1_000_000_000 + self.remainder;
        let rate = self.rate.bits_per_sec();
        let time = Span::from_nanos(scaled / rate);
        self.remainder = scaled % rate;
        self.busy_until = now + time;
        self.stats.packets += 1;
        self.stats.bytes += len;
        self.stats.acks += u64::from(is_ack);
        let busy = if is_ack { &mut self.stats.busy_acks } else { &mut self.stats.busy_data };
        *busy = *busy + time;
        self.last_is_ack = is_ack;
        let due = Due::new(self.busy_until + self.delay, seq);
        self.in_flight.push_back((due, pkt));
        due
    }

    /// The first packet reaches the other end.
    pub fn deliver(&mut self) -> Option<SimPacket> {
        let (_, pkt) = self.in_flight.pop_front()?;
        self.stats.delivered += 1;
        self.stats.delivered_bytes += pkt.meta().len;
        Some(pkt)
    }

    /// Counters since the start of the run.
    pub const fn stats(&self) -> &LinkStats {
        &self.stats
    }

    /// Time spent transmitting data and pure ACKs up to `now`.
    pub fn busy(&self, now: Instant) -> (Span, Span) {
        let ahead = self.busy_until.saturating_since(now).as_nanos();
        let less = |span: Span, by: u64| Span::from_nanos(span.as_nanos() - by);
        let (data, acks) = if self.last_is_ack { (0, ahead) } else { (ahead, 0) };
        (less(self.stats.busy_data, data), less(self.stats.busy_acks, acks))
    }

    /// Whether everything sent has arrived or is on its way.
    pub fn conserved(&self) -> bool {
        let on_the_way: u64 = self.in_flight.iter().map(|(_, pkt)| pkt.meta().len.0).sum();
        self.stats.packets == self.stats.delivered + self.in_flight.len() as u64
            && self.stats.bytes.0 == self.stats.delivered_bytes.0 + on_the_way
    }

    /// Serialisation rate.
    pub const fn rate(&self) -> BitRate {
        self.rate
    }
}
