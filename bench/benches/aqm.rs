//! What early detection costs for each packet, beside a FIFO: `cargo bench -p perhop-bench --bench aqm`.

#![allow(missing_docs, reason = "criterion_group makes a public function")]

mod support;

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use perhop_core::packet::Meta;
use perhop_core::queue::{
    Averaging, Fifo, Gred, GredParams, Queue, Red, RedParams, Rio, RioParams, VirtualQueue,
};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{GRED, RED, RIO, packets, stream};
use perhop_testkit::packet::{AF11, AF13};
use support::Pkt;

const SITE: SiteId = SiteId(0);
const LIMIT: QueueSize = QueueSize::Packets(1000);
const WAITING: u64 = 100;

/// Gives back what is dropped, so that the queue stays as long as it is.
struct Back(Option<Pkt>);

impl Sink<Pkt> for Back {
    fn dropped(&mut self, _now: Instant, _site: SiteId, pkt: Pkt, _why: DropReason) {
        self.0 = Some(pkt);
    }
}

/// A packet leaves and arrives again, 100 waiting, green and red in turn. One that is dropped arrives again as well.
fn turn(c: &mut Criterion, name: &str, mut queue: impl Queue<Pkt>) {
    let mut sink = Back(None);
    for id in 0..WAITING {
        let dscp = if id % 2 == 0 { AF11 } else { AF13 };
        loop {
            let pkt = Pkt(Box::new(Meta { dscp, len: Bytes(1250), ..Meta::default() }));
            queue.enqueue(Instant::ZERO, pkt, &mut sink);
            if sink.0.take().is_none() {
                break;
            }
        }
    }
    let name = format!("{name}: dequeue and enqueue, {WAITING} packets waiting");
    c.bench_function(&name, |b| {
        b.iter(|| {
            let pkt = sink.0.take().or_else(|| queue.dequeue(Instant::ZERO, &mut sink));
            pkt.into_iter().for_each(|pkt| queue.enqueue(Instant::ZERO, black_box(pkt), &mut sink));
        });
    });
}

fn queues(c: &mut Criterion) {
    // the average is 100 all the time: below the thresholds, or between them with one drop in 10 000
    let (below, between) = (packets(500, 900, 0.1), packets(50, 900, 0.0017));
    turn(c, "fifo", Fifo::new(SITE, LIMIT));
    for (name, thresholds) in [("below", below), ("between", between)] {
        let red = RedParams { limit: LIMIT, thresholds, w_q: 0.002, ..RED };
        turn(c, &format!("red, {name}"), Red::new(SITE, red, stream()).expect("sound"));
        for averaging in [Averaging::Coupled, Averaging::Decoupled, Averaging::Shared] {
            let (green, red) = (thresholds, thresholds);
            let rio = RioParams { limit: LIMIT, averaging, green, red, w_q: 0.002, ..RIO };
            let rio = Rio::new(SITE, rio, stream()).expect("sound");
            turn(c, &format!("rio, {averaging:?}, {name}"), rio);
            let queue = VirtualQueue { thresholds, w_q: 0.002, limit: None };
            let (green, yellow, red) = (queue, queue, queue);
            let gred = GredParams { limit: LIMIT, averaging, green, yellow, red, ..GRED };
            let gred = Gred::new(SITE, gred, stream()).expect("sound");
            turn(c, &format!("gred, {averaging:?}, {name}"), gred);
        }
    }
}

criterion_group!(aqm, queues);
criterion_main!(aqm);
