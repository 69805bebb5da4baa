//! The drop-tail queue at its limit, to the packet and to the byte.

use perhop_core::queue::{Backlog, Fifo, Queue};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::sink::{Event, RecordedEvent, Recorder};

const SITE: SiteId = SiteId(3);
const DROPPED: Event = Event::Dropped(DropReason::Overflow);

fn offer(limit: QueueSize, lengths: &[u64]) -> (Fifo<TestPacket>, Recorder) {
    let (mut fifo, mut sink) = (Fifo::new(SITE, limit), Recorder::default());
    for (number, &len) in (0..).zip(lengths) {
        fifo.enqueue(Instant::ZERO, TestPacket::data(number).len(len), &mut sink);
    }
    (fifo, sink)
}

fn ids(sink: &Recorder, event: Event) -> Vec<u32> {
    sink.of(event).map(id).collect()
}

#[test]
fn a_limit_in_packets_holds_exactly_so_many_of_any_length() {
    let (fifo, sink) = offer(QueueSize::Packets(3), &[1, 9000, 28, 1, 1]);
    assert_eq!(fifo.backlog(), Backlog { packets: 3, bytes: Bytes(9029) });
    assert_eq!((ids(&sink, Event::Enqueued), ids(&sink, DROPPED)), (vec![0, 1, 2], vec![3, 4]));
}

#[test]
fn a_limit_in_bytes_is_filled_to_the_last_byte() {
    let (fifo, sink) = offer(QueueSize::Bytes(3000), &[1500, 1500, 1]);
    assert_eq!(fifo.backlog(), Backlog { packets: 2, bytes: Bytes(3000) });
    assert_eq!(ids(&sink, DROPPED), [2]);
}

#[test]
fn one_byte_too_many_is_dropped_and_a_shorter_packet_still_fits() {
    let (fifo, sink) = offer(QueueSize::Bytes(3000), &[1500, 1501, 1499, 1, 1]);
    assert_eq!(fifo.backlog(), Backlog { packets: 3, bytes: Bytes(3000) });
    assert_eq!((ids(&sink, Event::Enqueued), ids(&sink, DROPPED)), (vec![0, 2, 3], vec![1, 4]));
}

#[test]
fn departures_make_room() {
    let (mut fifo, mut sink) = offer(QueueSize::Bytes(3000), &[1000, 1000, 1000]);
    let mut out = || fifo.dequeue(Instant::ZERO, &mut sink).map(|p| p.id());
    assert_eq!((out(), out()), (Some(0), Some(1)));
    fifo.enqueue(Instant::ZERO, TestPacket::data(3).len(2000), &mut sink);
    assert_eq!(fifo.backlog(), Backlog { packets: 2, bytes: Bytes(3000) });
}

#[test]
fn the_time_of_the_enqueue_stays_with_the_packet() {
    let mut fifo = Fifo::new(SITE, QueueSize::Packets(1));
    let mut sink = Recorder::default();
    let at = Instant::ZERO + Span::from_millis(5);
    fifo.enqueue(at, TestPacket::data(0), &mut sink);
    let recorded = sink.events[0];
    assert_eq!((recorded.at, recorded.site, recorded.event), (at, SITE, Event::Enqueued));
    assert_eq!(fifo.peek(), Some(&recorded.meta));
    assert_eq!(recorded.meta.enqueued_at, at);

    fifo.enqueue(at + Span::from_millis(1), TestPacket::data(1), &mut sink);
    let dropped = RecordedEvent { at: at + Span::from_millis(1), event: DROPPED, ..sink.events[1] };
    assert_eq!(sink.events[1], dropped);
}
