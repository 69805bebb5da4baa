//! The short way of a packet through a router, beside the long one.

use perhop_core::classify::{KindClassifier, Selector};
use perhop_core::conditioner::{Conditioner, ConditionerParts};
use perhop_core::node::{Departure, Io, Node};
use perhop_core::outgoing::{LinkOptions, Outgoing};
use perhop_core::packet::{Dir, FlowId, PortId};
use perhop_core::port::{Class, Port};
use perhop_core::queue::{AnyQueue, Fifo};
use perhop_core::range_table::RangeTable;
use perhop_core::router::{IngressConditioner, Router, route_key};
use perhop_core::sched::StrictPriority;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::queue::AtItsTurn;
use proptest::prelude::*;

const PORTS: u32 = 4;

/// Ports with a short queue, one of bytes, two queues, a link that compresses headers, and `more`.
fn with(
    more: Option<AnyQueue<TestPacket>>,
    conditioners: Vec<IngressConditioner<TestPacket>>,
) -> Router<TestPacket> {
    let class = |queue: AnyQueue<TestPacket>| Class::new(SiteId(1), queue);
    let fifo = |limit| class(Fifo::new(SiteId(1), limit).into());
    let few = QueueSize::Packets(2);
    let two = Port::new(
        SiteId(1),
        Box::new(KindClassifier::new([&[Selector::PureAck][..], &[Selector::Any]])),
        vec![fifo(few), fifo(few)],
        Box::new(StrictPriority),
    );
    let plain = |port| Outgoing::new(port, LinkOptions::default());
    let compresses = LinkOptions { pure_ack_size: Some(Bytes(4)), ..LinkOptions::default() };
    let mut outgoing = vec![
        plain(Port::single(fifo(few))),
        plain(Port::single(fifo(QueueSize::Bytes(1000)))),
        plain(two),
        Outgoing::new(Port::single(fifo(few)), compresses),
    ];
    outgoing.extend(more.map(|queue| plain(Port::single(class(queue)))));
    let routes: Vec<_> = (0..PORTS).map(|port| (route_key(FlowId(port), Dir::Forward), port)).collect();
    Router::new(SiteId(0), outgoing, RangeTable::new(&routes), Vec::new(), conditioners)
}

fn router() -> Router<TestPacket> {
    with(None, Vec::new())
}

#[derive(Default)]
struct Dropped(Vec<(TestPacket, DropReason)>);

impl Sink<TestPacket> for Dropped {
    fn dropped(&mut self, _now: Instant, _site: SiteId, pkt: TestPacket, why: DropReason) {
        self.0.push((pkt, why));
    }
}

impl Io<TestPacket> for Dropped {
    fn ready(&mut self, _port: PortId) {}
}

fn sent(departure: Departure<TestPacket>) -> Option<TestPacket> {
    if let Departure::Packet(pkt) = departure { Some(pkt) } else { None }
}

proptest! {
    /// Packets of flows 0 to 3, each by the port of its number, and of flow 4, which has no route; its link is idle or not.
    #[test]
    fn the_short_way_ends_as_the_long_one(
        ops in prop::collection::vec((0..=PORTS, any::<bool>(), any::<bool>(), 1u64..1500), 0..200),
    ) {
        let (mut short, mut long) = (router(), router());
        let (mut of_short, mut of_long) = (Dropped::default(), Dropped::default());
        let mut now = Instant::ZERO;
        for (n, (flow, idle, is_ack, len)) in (0u32..).zip(ops) {
            now += Span::from_micros(1);
            let pkt = if is_ack { TestPacket::pure_ack(n) } else { TestPacket::data(n) }.len(len).flow(flow);
            let to = PortId(flow % PORTS);

            long.on_packet(now, PortId(0), pkt.clone(), &mut of_long);
            let expected = if idle { sent(long.poll_transmit(now, to, &mut of_long)) } else { None };

            let mut arrived = pkt;
            let found = if let Some(port) = short.pass(now, &mut arrived, |port| idle && port == to) {
                prop_assert_eq!(port, to);
                Some(arrived)
            } else {
                short.on_packet(now, PortId(0), arrived, &mut of_short);
                if idle { sent(short.poll_transmit(now, to, &mut of_short)) } else { None }
            };
            prop_assert_eq!(found, expected);
            prop_assert_eq!(&of_short.0, &of_long.0);
            for (one, other) in short.outgoing.iter().zip(&long.outgoing) {
                for (one, other) in one.port.classes().iter().zip(other.port.classes()) {
                    prop_assert_eq!(one.stats(), other.stats());
                    prop_assert_eq!(one.drops(), other.drops());
                    prop_assert_eq!(one.backlog(), other.backlog());
                    prop_assert_eq!(one.waits(), other.waits());
                }
            }
        }
    }
}

#[test]
fn it_is_taken_where_a_drop_tail_queue_is_empty_and_only_there() {
    let took = [0, 1, 2, 3].map(|flow| {
        let mut pkt = TestPacket::data(0).flow(flow);
        router().pass(Instant::ZERO, &mut pkt, |_| true).is_some()
    });
    // the second holds fewer bytes than the packet has
    assert_eq!(took, [true, false, false, false]);
    let mut router = router();
    router.on_packet(Instant::ZERO, PortId(0), TestPacket::data(0), &mut Dropped::default());
    assert_eq!(router.pass(Instant::ZERO, &mut TestPacket::data(1), |_| true), None);
}

#[test]
fn it_is_not_taken_where_a_router_conditions_or_has_deadlines() {
    let timed: Box<AtItsTurn> = Box::new(AtItsTurn::new(SiteId(2), QueueSize::Packets(2)));
    let nothing = Conditioner::new(SiteId(3), ConditionerParts::default()).expect("it does nothing");
    for mut router in [
        with(Some(timed.into()), Vec::new()),
        with(None, vec![IngressConditioner::new(nothing, vec![PortId(0)])]),
    ] {
        assert_eq!(router.pass(Instant::ZERO, &mut TestPacket::data(0), |_| true), None);
    }
}
