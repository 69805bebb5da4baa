//! What an arrival costs with early detection, and a packet with PIE, beside a FIFO:
//! `cargo bench -p perhop-bench-elements --bench aqm`.

use std::hint::black_box;

use perhop_bench_elements::{Back, Bench, Pkt, run, timed};
use perhop_core::packet::Meta;
use perhop_core::queue::{
    Averaging, DelayFrom, Fifo, Gred, GredParams, LinuxPie, LinuxPieParams, Pie, PieParams, Queue, Red,
    RedParams, Rio, RioParams, VirtualQueue,
};
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{GRED, RED, RIO, packets, stream};
use perhop_testkit::packet::{AF11, AF13};
use perhop_testkit::published;

const SITE: SiteId = SiteId(0);
const LIMIT: QueueSize = QueueSize::Packets(1000);
/// So many wait before the first of a batch arrives.
const WAITING: usize = 75;
/// Arrivals for each reading of the clock.
const BATCH: usize = 50;

/// Packets arrive, green and red in no order that a processor could learn, and wait 100 long on average. Their departures take no time,
/// but instructions.
fn arrive(c: &mut Bench, name: &str, mut queue: impl Queue<Pkt>) {
    let mut away = Vec::new();
    let mut sink = Back(Vec::with_capacity(BATCH));
    let mut colors = stream();
    let mut mark = move || if colors.below(2) == 0 { AF11 } else { AF13 };
    for _ in 0..WAITING + BATCH {
        let meta = Meta { dscp: mark(), len: Bytes(1250), ..Meta::default() };
        queue.enqueue(Instant::ZERO, Pkt(Box::new(meta)), &mut sink);
    }
    c.batch(&format!("{name}: enqueue, about 100 packets waiting"), BATCH as u64, || {
        away.append(&mut sink.0);
        while away.len() < BATCH {
            away.push(queue.dequeue(Instant::ZERO, &mut sink).expect("more wait"));
        }
        away.iter_mut().for_each(|pkt| pkt.0.dscp = mark());
        timed(|| {
            while let Some(pkt) = away.pop() {
                queue.enqueue(Instant::ZERO, black_box(pkt), &mut sink);
            }
        })
    });
}

/// Packets of all lengths arrive and leave, about 100 waiting.
fn pass(c: &mut Bench, name: &str, now: Instant, mut queue: impl Queue<Pkt>) {
    let mut sink = Back(Vec::with_capacity(BATCH));
    let mut lengths = stream();
    let mut packet = || Pkt(Box::new(Meta { len: Bytes(40 + lengths.below(1461)), ..Meta::default() }));
    for _ in 0..WAITING {
        queue.enqueue(now, packet(), &mut sink);
    }
    let mut away: Vec<_> = (0..BATCH).map(|_| packet()).collect();
    c.batch(&format!("{name}: enqueue and dequeue, about 100 packets waiting"), BATCH as u64, || {
        timed(|| {
            while let Some(pkt) = away.pop() {
                queue.enqueue(now, black_box(pkt), &mut sink);
            }
            away.append(&mut sink.0);
            while away.len() < BATCH {
                away.push(queue.dequeue(now, &mut sink).expect("more wait"));
            }
        })
    });
}

/// A queue whose delay has grown for four updates, empty again, and the time of the last: its probability is of the order of 10^-4.
fn primed<Q: Queue<Pkt>>(mut queue: Q) -> (Instant, Q) {
    let mut sink = Back(Vec::new());
    let before = |due: Instant, ms: u64| Instant::from_nanos(due.as_nanos() - ms * 1_000_000);
    let mut now = before(queue.next_timeout().expect("an update"), 10);
    for _ in 0..10 {
        queue.enqueue(now, Pkt(Box::new(Meta { len: Bytes(1250), ..Meta::default() })), &mut sink);
    }
    for _ in 0..4 {
        now = queue.next_timeout().expect("an update");
        drop(queue.dequeue(before(now, 1), &mut sink));
        queue.on_timeout(now, &mut sink);
    }
    while queue.dequeue(now, &mut sink).is_some() {}
    (now, queue)
}

fn pies(c: &mut Bench) {
    let params = PieParams { limit: LIMIT, max_burst: Span::ZERO, ..published::PIE };
    pass(c, "fifo", Instant::ZERO, Fifo::new(SITE, LIMIT));
    let rate = PieParams { delay_from: DelayFrom::DepartureRate, ..params };
    let derandomized = PieParams { derandomize: true, ..params };
    for (name, params) in
        [("pie", params), ("pie, derandomized", derandomized), ("pie, departure rate", rate)]
    {
        let (now, queue) = primed(Pie::new(SITE, params, stream()).expect("sound"));
        pass(c, name, now, queue);
    }
    let linux = LinuxPieParams { limit: LIMIT, max_burst: Span::ZERO, ..published::LINUX_PIE };
    let (now, queue) = primed(LinuxPie::new(SITE, linux, stream()).expect("sound"));
    pass(c, "pie, linux", now, queue);
}

fn queues(c: &mut Bench) {
    // averages are 100, or 50 for a colour alone: below the thresholds, or between them with one drop in 10 000
    let (below, between) = (packets(500, 900, 0.1), packets(20, 900, 0.0011));
    arrive(c, "fifo", Fifo::new(SITE, LIMIT));
    for (name, thresholds) in [("below", below), ("between", between)] {
        let red = RedParams { limit: LIMIT, thresholds, w_q: 0.002, ..RED };
        arrive(c, &format!("red, {name}"), Red::new(SITE, red, stream()).expect("sound"));
        for averaging in [Averaging::Coupled, Averaging::Decoupled, Averaging::Shared] {
            let (green, red) = (thresholds, thresholds);
            let rio = RioParams { limit: LIMIT, averaging, green, red, w_q: 0.002, ..RIO };
            let rio = Rio::new(SITE, rio, stream()).expect("sound");
            arrive(c, &format!("rio, {averaging:?}, {name}"), rio);
            let queue = VirtualQueue { thresholds, w_q: 0.002, limit: None };
            let (green, yellow, red) = (queue, queue, queue);
            let gred = GredParams { limit: LIMIT, averaging, green, yellow, red, ..GRED };
            let gred = Gred::new(SITE, gred, stream()).expect("sound");
            arrive(c, &format!("gred, {averaging:?}, {name}"), gred);
        }
    }
}

fn main() {
    run(&[queues, pies]);
}
