//! The time that a host takes to send a packet, drawn at random.
//!
//! Floyd and Jacobson, "On Traffic Phase Effects in Packet-Switched Gateways" (Internetworking: Research and Experience 3,
//! 1992), section 3.2: a random processing time at the sources, uniform from zero to one service time of the bottleneck, keeps
//! equal flows from falling into step with a queue; `overhead_` of ns-2's TCP. Different here: every packet of a host draws, ACKs
//! and UDP too; none overtakes another; and the time is a delay, not work, so that it takes nothing from the host's rate.
//!
//! Units: ns. Cost for each packet: one draw, and one timer of the host.

use perhop_core::inline_queue::InlineQueue;
use perhop_core::packet::PortId;
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_scenario::model::Run;

use crate::hosts::packet::SimPacket;

/// Packets on their way from the flows of a host to its ports.
pub struct Processing {
    most: u64,
    stream: Stream,
    packets: InlineQueue<(Instant, PortId, SimPacket)>,
}

impl Processing {
    /// That of the host `name`; `None` where `run` has none. Its stream is `node.<name>.processing`.
    pub fn new(run: &Run, name: &str) -> Option<Box<Self>> {
        let most = run.processing_jitter.as_nanos();
        let stream = || Stream::new(run.seed, run.replication, &format!("node.{name}.processing"));
        (most > 0).then(|| Box::new(Self { most, stream: stream(), packets: InlineQueue::new() }))
    }

    /// `pkt` is sent at `now` and will be ready for `port` later, at least a nanosecond and not before what was sent earlier.
    pub fn take(&mut self, now: Instant, port: PortId, pkt: SimPacket) {
        let drawn = now + Span::from_nanos(1 + self.stream.below(self.most));
        let at = self.packets.back().map_or(drawn, |(before, ..)| drawn.max(*before));
        self.packets.push_back((at, port, pkt));
    }

    /// When the next packet is ready.
    pub fn next_timeout(&self) -> Option<Instant> {
        self.packets.front().map(|(at, ..)| *at)
    }

    /// A packet that is ready at `now`, and its port.
    pub fn ready(&mut self, now: Instant) -> Option<(PortId, SimPacket)> {
        self.next_timeout().filter(|at| *at <= now)?;
        self.packets.pop_front().map(|(_, port, pkt)| (port, pkt))
    }

    /// How many packets are not ready.
    pub fn len(&self) -> u64 {
        self.packets.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perhop_core::packet::{FlowId, Packet};
    use perhop_testkit::stats::chi_square;
    use proptest::prelude::*;

    /// Up to `most` nanoseconds.
    fn processing(most: u64) -> Processing {
        Processing { most, stream: Stream::new(7, 0, "node.s.processing"), packets: InlineQueue::new() }
    }

    fn packet(number: u32) -> SimPacket {
        let mut pkt = SimPacket::default();
        pkt.meta_mut().flow = FlowId(number);
        pkt
    }

    #[test]
    fn the_time_of_a_packet_alone_is_uniform() {
        let mut processing = processing(1_000);
        let mut counts = [0; 10];
        for n in 0..100_000u32 {
            let now = Instant::from_nanos(u64::from(n) * 2_000);
            processing.take(now, PortId(0), packet(n));
            let at = processing.next_timeout().expect("it is on its way");
            counts[usize::try_from((at - now).as_nanos() - 1).expect("small") / 100] += 1;
            assert!(processing.ready(at).is_some() && processing.len() == 0);
        }
        // 9 degrees of freedom: 27.88 is the 0.999 quantile
        assert!(chi_square(&counts, &[10_000.0; 10]) < 27.88, "{counts:?}");
    }

    proptest! {
        #[test]
        fn packets_come_out_once_in_order_and_in_time(gaps in prop::collection::vec(0u64..300, 1..100), most in 1u64..500) {
            let mut processing = processing(most);
            let (mut now, mut sent, mut out, mut last) = (0, Vec::new(), 0, 0);
            for gap in gaps {
                now += gap;
                // what is ready before the next packet is sent
                while let Some(at) = processing.next_timeout().filter(|at| at.as_nanos() <= now) {
                    prop_assert!(processing.ready(Instant::from_nanos(at.as_nanos() - 1)).is_none());
                    let (port, pkt) = processing.ready(at).expect("it is ready");
                    prop_assert_eq!((port.0, pkt.meta().flow.0), (out % 3, out));
                    let took = at.as_nanos() - sent[out as usize];
                    prop_assert!(0 < took && took <= most && at.as_nanos() >= last, "{}", took);
                    (out, last) = (out + 1, at.as_nanos());
                }
                let number = u32::try_from(sent.len()).expect("few");
                processing.take(Instant::from_nanos(now), PortId(number % 3), packet(number));
                sent.push(now);
                prop_assert_eq!(processing.len(), u64::from(number + 1 - out));
            }
        }
    }
}
