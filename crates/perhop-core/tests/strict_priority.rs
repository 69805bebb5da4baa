//! Strict priority on a link: the most urgent first, but never before the packet in service has left.

use perhop_core::classify::{KindClassifier, Selector};
use perhop_core::node::Departure;
use perhop_core::packet::Packet;
use perhop_core::port::{Class, Port};
use perhop_core::queue::Fifo;
use perhop_core::sched::StrictPriority;
use perhop_core::sink::SiteId;
use perhop_core::time::Instant;
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::Recorder;

const ACKS_FIRST: [&[Selector]; 2] = [&[Selector::PureAck], &[Selector::Any]];

/// The order in which a link of one byte per nanosecond sends what arrives, and when each packet begins.
fn send(arrivals: &[(u64, TestPacket)]) -> Vec<(u64, u32)> {
    let class = |site| Class::new(SiteId(site), Box::new(Fifo::new(SiteId(site), QueueSize::Packets(100))));
    let classifier = Box::new(KindClassifier::new(ACKS_FIRST));
    let mut port = Port::new(SiteId(9), classifier, vec![class(0), class(1)], Box::new(StrictPriority));
    let mut sink = Recorder::default();
    let mut arrivals = arrivals.iter().peekable();
    let (mut idle_at, mut order) = (0, Vec::new());
    while arrivals.peek().is_some() || !port.is_empty() {
        if port.is_empty() {
            idle_at = idle_at.max(arrivals.peek().map_or(0, |(at, _)| *at));
        }
        while let Some((at, pkt)) = arrivals.next_if(|(at, _)| *at <= idle_at) {
            port.enqueue(Instant::from_nanos(*at), pkt.clone(), &mut sink);
        }
        if let Departure::Packet(pkt) = port.dequeue(Instant::from_nanos(idle_at), &mut sink) {
            order.push((idle_at, pkt.id()));
            idle_at += pkt.meta().len.0;
        }
    }
    order
}

#[test]
fn acks_overtake_waiting_data_but_not_the_packet_in_service() {
    let (data, ack) = (TestPacket::data, TestPacket::pure_ack);
    let order =
        send(&[(0, data(1)), (1, data(2)), (2, ack(3)), (1510, ack(4)), (1560, ack(5)), (5000, ack(6))]);
    // data 1 in service until 1500; ACKs 3 and 4 until 1556; data 2, which ACK 5 may not interrupt; idle until 5000
    assert_eq!(order, [(0, 1), (1500, 3), (1528, 4), (1556, 2), (3056, 5), (5000, 6)]);
}

#[test]
fn data_starves_while_acks_keep_coming() {
    let acks = (0..100).map(|n| (u64::from(n) * 28, TestPacket::pure_ack(n)));
    let mut arrivals: Vec<_> = [(0, TestPacket::data(1000))].into_iter().chain(acks).collect();
    arrivals.sort_by_key(|(at, _)| *at);
    let order: Vec<u32> = send(&arrivals).into_iter().map(|(_, id)| id).collect();
    assert_eq!(order, (0..100).chain([1000]).collect::<Vec<_>>());
}
