//! One direction of a link: a transmitter and the packets on their way.
//!
//! Units: ns, bits, bytes.

use perhop_core::inline_queue::InlineQueue;
use perhop_core::packet::{Kind, Packet, PortId};
use perhop_core::rate_trace::{Taken, Traced};
use perhop_core::serializer::Serializer;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};

use crate::engine::event::Due;

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
}

impl LinkStats {
    /// The counts after `before`.
    pub fn since(&self, before: &Self) -> Self {
        Self {
            packets: self.packets - before.packets,
            bytes: self.bytes - before.bytes,
            acks: self.acks - before.acks,
            delivered: self.delivered - before.delivered,
            delivered_bytes: self.delivered_bytes - before.delivered_bytes,
        }
    }
}

/// How fast a link sends.
#[derive(Debug)]
pub enum Transmitter {
    /// At one rate.
    Constant(Serializer),
    /// As a trace says.
    Traced(Box<Traced>),
}

/// The use of a link since the start of the run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LinkUse {
    /// Time spent transmitting data, and pure ACKs.
    Busy(Span, Span),
    /// Bits of what was offered.
    Taken(Taken),
}

/// One direction of a link.
///
/// Two cache lines, of which an arrival touches the first only.
#[derive(Debug)]
#[repr(C, align(64))]
pub struct Link<P> {
    /// Packets in transmission or propagation, with the time they arrive.
    pub in_flight: InlineQueue<(Due, P)>,
    /// Receiving node.
    pub to: u32,
    /// Port of the receiving node by which packets arrive: the one that feeds the other direction.
    pub to_port: PortId,
    delivered_bytes: Bytes,
    packets: u64,
    acks: u64,
    /// Sending node.
    pub from: u32,
    /// Port of the sending node that feeds the link.
    pub from_port: PortId,
    /// End of the current or last transmission.
    pub busy_until: Instant,
    /// When an event will ask the port for the next packet; `Instant::MAX` for never.
    pub poll_due: Instant,
    transmitter: Transmitter,
    delay: Span,
    bytes: Bytes,
    busy_acks: Span,
}

impl<P: Packet> Link<P> {
    /// An idle link.
    pub const fn new(transmitter: Transmitter, delay: Span, from: (u32, PortId), to: (u32, PortId)) -> Self {
        Self {
            in_flight: InlineQueue::new(),
            to: to.0,
            to_port: to.1,
            delivered_bytes: Bytes(0),
            packets: 0,
            acks: 0,
            from: from.0,
            from_port: from.1,
            busy_until: Instant::ZERO,
            poll_due: Instant::MAX,
            transmitter,
            delay,
            bytes: Bytes(0),
            busy_acks: Span::ZERO,
        }
    }

    /// Whether a transmission may begin: the last has ended, and with it what its end makes happen.
    #[inline]
    pub fn is_idle(&self, now: Instant) -> bool {
        self.busy_until <= now && self.poll_due != now
    }

    /// Starts to transmit `pkt`, which arrives with sequence number `seq`. Returns when.
    pub fn transmit(&mut self, now: Instant, pkt: P, seq: u64) -> Due {
        let (len, is_ack) = (pkt.meta().len, pkt.meta().kind == Kind::PureAck);
        let time = match &mut self.transmitter {
            Transmitter::Constant(serializer) => serializer.time(len),
            Transmitter::Traced(traced) => traced.time(now, len, is_ack),
        };
        self.busy_until = now + time;
        self.packets += 1;
        self.bytes += len;
        if is_ack {
            self.acks += 1;
            self.busy_acks = self.busy_acks + time;
        }
        let due = Due::new(self.busy_until + self.delay, seq);
        self.in_flight.push_back((due, pkt));
        due
    }

    /// The first packet reaches the other end.
    pub fn deliver(&mut self) -> Option<P> {
        let (_, pkt) = self.in_flight.pop_front()?;
        self.delivered_bytes += pkt.meta().len;
        Some(pkt)
    }

    /// Counters since the start of the run.
    pub fn stats(&self) -> LinkStats {
        LinkStats {
            packets: self.packets,
            bytes: self.bytes,
            acks: self.acks,
            delivered: self.packets - self.in_flight.len() as u64,
            delivered_bytes: self.delivered_bytes,
        }
    }

    /// Time spent transmitting data and pure ACKs up to `now`; of a trace what was taken of its offer.
    pub fn used(&self, now: Instant) -> LinkUse {
        let serializer = match &self.transmitter {
            Transmitter::Constant(serializer) => serializer,
            Transmitter::Traced(traced) => return LinkUse::Taken(traced.taken(now)),
        };
        let total = serializer.total(self.bytes).as_nanos();
        let ahead = self.busy_until.saturating_since(now).as_nanos();
        let on_ack = self.in_flight.back().is_some_and(|(_, pkt)| pkt.meta().kind == Kind::PureAck);
        let acks = self.busy_acks.as_nanos();
        let (data_ahead, acks_ahead) = if on_ack { (0, ahead) } else { (ahead, 0) };
        LinkUse::Busy(Span::from_nanos(total - acks - data_ahead), Span::from_nanos(acks - acks_ahead))
    }

    /// Whether every byte sent has arrived or is on its way.
    pub fn conserved(&self) -> bool {
        let on_the_way: u64 = self.in_flight.iter().map(|(_, pkt)| pkt.meta().len.0).sum();
        self.bytes.0 == self.delivered_bytes.0 + on_the_way
    }

    /// Serialisation rate; of a trace its mean.
    pub fn rate(&self) -> BitRate {
        match &self.transmitter {
            Transmitter::Constant(serializer) => serializer.rate(),
            Transmitter::Traced(traced) => traced.rate(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hosts::packet::SimPacket;
    use std::mem::{offset_of, size_of};

    /// Transmissions back to back, of data and pure ACKs, at a rate that divides nothing; each is read in its middle and
    /// at its end, and nothing has been delivered yet, or everything.
    #[test]
    fn busy_time_is_the_sum_of_transmission_times() {
        let rate = BitRate::new(9_999_991).expect("a rate");
        let sends = Transmitter::Constant(Serializer::new(rate));
        let mut link = Link::new(sends, Span::from_micros(3), (0, PortId(0)), (1, PortId(0)));
        let busy = |data, acks| LinkUse::Busy(Span::from_nanos(data), Span::from_nanos(acks));
        let (mut now, mut sums) = (Instant::from_nanos(5), [0, 0]);
        for n in 0..1000u64 {
            let is_ack = n % 3 == 0;
            let mut pkt = SimPacket::default();
            let meta = pkt.meta_mut();
            meta.kind = if is_ack { Kind::PureAck } else { Kind::Data };
            meta.len = Bytes(40 + n * 37 % 1461);
            link.transmit(now, pkt, n);
            let spent = link.busy_until.saturating_since(now).as_nanos();
            let middle = now + Span::from_nanos(spent / 2);
            for (at, part) in [(now, 0), (middle, spent / 2), (link.busy_until, spent)] {
                let mut expected = sums;
                expected[usize::from(is_ack)] += part;
                assert_eq!(link.used(at), busy(expected[0], expected[1]));
            }
            sums[usize::from(is_ack)] += spent;
            // an idle time now and then, in which all arrives
            now = link.busy_until + Span::from_nanos(n % 2 * 7);
            if n % 5 == 4 {
                while link.deliver().is_some() {}
                assert_eq!(link.used(now), busy(sums[0], sums[1]));
                assert!(link.conserved());
            }
        }
        let scaled = u128::from(link.stats().bytes.bits()) * 1_000_000_000;
        assert_eq!(u128::from(sums[0] + sums[1]), scaled / u128::from(rate.bits_per_sec()));
        assert_eq!((link.stats().packets, link.stats().acks, link.stats().delivered), (1000, 334, 1000));
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn a_link_is_two_lines_and_an_arrival_touches_one() {
        assert_eq!(offset_of!(Link<SimPacket>, from), 64);
        assert_eq!(size_of::<Link<SimPacket>>(), 128);
    }
}
