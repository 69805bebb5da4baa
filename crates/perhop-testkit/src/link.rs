//! A link that empties a port, as the engine does it: asked when it is free and something waits, or at a time named.

use perhop_core::classify::Classifier;
use perhop_core::node::Departure;
use perhop_core::packet::{ClassId, Meta, Packet};
use perhop_core::port::{Class, Port};
use perhop_core::queue::Fifo;
use perhop_core::sched::Scheduler;
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, QueueSize};

use crate::packet::TestPacket;
use crate::sink::Recorder;

/// A packet at a port: when it came, or when it began to leave.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Passage {
    /// When.
    pub at: Instant,
    /// Its class.
    pub class: u8,
    /// Bytes.
    pub len: u64,
}

/// The packet's traffic class is its class at the port.
pub struct ByTrafficClass;

impl Classifier for ByTrafficClass {
    fn classify(&self, meta: &Meta) -> Option<ClassId> {
        Some(ClassId(u16::from(meta.class.0)))
    }
}

/// Packets that left by `until`, in order. `arrivals` are in order of time; no queue has a limit.
pub fn departures(
    scheduler: Box<dyn Scheduler>,
    classes: u8,
    rate: BitRate,
    arrivals: &[Passage],
    until: Instant,
) -> Vec<Passage> {
    let queue = |c: u8| {
        let site = SiteId(u32::from(c));
        Class::new(site, Fifo::new(site, QueueSize::Packets(u64::MAX)))
    };
    let queues = (0..classes).map(queue).collect();
    let mut port = Port::new(SiteId(u32::MAX), Box::new(ByTrafficClass), queues, scheduler);
    let mut arrivals = arrivals.iter().peekable();
    let (mut left, mut sink) = (Vec::new(), Recorder::default());
    // the link is free from here on; parts of a nanosecond are carried to the next packet
    let (mut free, mut carried) = (Instant::ZERO, 0);
    let mut poll = None;
    loop {
        let next = arrivals.peek().map_or(Instant::MAX, |a| a.at);
        let poll_at = poll.unwrap_or(Instant::MAX);
        if next.min(poll_at) > until || next.min(poll_at) == Instant::MAX {
            return left;
        }
        let now = next.min(poll_at);
        if next <= poll_at {
            let Some(&Passage { class, len, .. }) = arrivals.next() else { return left };
            port.enqueue(now, TestPacket::data(0).class(class).len(len), &mut sink);
            sink.events.clear();
            poll = Some(if now < free { free } else { now });
            continue;
        }
        poll = match port.dequeue(now, &mut sink) {
            Departure::Empty => None,
            Departure::NotBefore(at) => Some(at),
            Departure::Packet(pkt) => {
                let meta = pkt.meta();
                left.push(Passage { at: now, class: meta.class.0, len: meta.len.0 });
                let owed = u128::from(meta.len.bits()) * 1_000_000_000 + carried;
                let per = u128::from(rate.bits_per_sec());
                carried = owed % per;
                free = now + Span::from_nanos(u64::try_from(owed / per).unwrap_or(u64::MAX));
                if port.is_empty() { None } else { Some(free) }
            }
        };
        sink.events.clear();
    }
}
