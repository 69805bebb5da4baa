//! What an arrival costs with early detection, and a packet with PIE, beside a FIFO: `cargo bench -p perhop-bench-elements --bench aqm`.

#![allow(missing_docs, reason = "criterion_group makes a public function")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::{Duration, Instant as Clock};

use criterion::{Criterion, criterion_group, criterion_main};
use perhop_bench_elements::Pkt;
use perhop_core::framing::Framing;
use perhop_core::packet::{Ecn, FlowId, Meta};
use perhop_core::queue::{
    Averaging, Cake, CakeParams, Cobalt, CobaltParams, Codel, CodelConventions, CodelParams, DelayFrom,
    DualPi2, DualPi2Params, Fifo, Fq, FqConventions, FqParams, Gred, GredParams, Isolation, LinuxDualPi2,
    LinuxDualPi2Params, LinuxPie, LinuxPieParams, Pie, PieParams, Queue, Red, RedParams, Rio, RioParams,
    Tins, VirtualQueue,
};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{GRED, RED, RIO, packets, stream};
use perhop_testkit::packet::{AF11, AF13};

const SITE: SiteId = SiteId(0);
const LIMIT: QueueSize = QueueSize::Packets(1000);
/// So many wait before the first of a batch arrives.
const WAITING: usize = 75;
/// Arrivals for each reading of the clock.
const BATCH: usize = 50;

/// Holds what was dropped, to arrive again.
struct Back(Vec<Pkt>);

impl Sink<Pkt> for Back {
    fn dropped(&mut self, _now: Instant, _site: SiteId, pkt: Pkt, _why: DropReason) {
        self.0.push(pkt);
    }
}

/// Packets arrive, green and red in no order that a processor could learn, and wait 100 long on average.
#[expect(clippy::disallowed_methods, reason = "a bench has a clock")]
fn arrive(c: &mut Criterion, name: &str, mut queue: impl Queue<Pkt>) {
    let mut away = Vec::new();
    let mut sink = Back(Vec::with_capacity(BATCH));
    let mut colors = stream();
    let mut mark = move || if colors.below(2) == 0 { AF11 } else { AF13 };
    for _ in 0..WAITING + BATCH {
        let meta = Meta { dscp: mark(), len: Bytes(1250), ..Meta::default() };
        queue.enqueue(Instant::ZERO, Pkt(Box::new(meta)), &mut sink);
    }
    c.bench_function(&format!("{name}: enqueue, about 100 packets waiting"), |b| {
        b.iter_custom(|arrivals| {
            let mut spent = Duration::ZERO;
            let batches = arrivals.div_ceil(BATCH as u64);
            for _ in 0..batches {
                away.append(&mut sink.0);
                while away.len() < BATCH {
                    away.push(queue.dequeue(Instant::ZERO, &mut sink).expect("more wait"));
                }
                away.iter_mut().for_each(|pkt| pkt.0.dscp = mark());
                let start = Clock::now();
                while let Some(pkt) = away.pop() {
                    queue.enqueue(Instant::ZERO, black_box(pkt), &mut sink);
                }
                spent += start.elapsed();
            }
            spent.div_f64(batches as f64 * BATCH as f64 / arrivals as f64)
        });
    });
}

/// Packets of all lengths arrive and leave, about 100 waiting.
#[expect(clippy::disallowed_methods, reason = "a bench has a clock")]
fn pass(c: &mut Criterion, name: &str, now: Instant, mut queue: impl Queue<Pkt>) {
    let mut sink = Back(Vec::with_capacity(BATCH));
    let mut lengths = stream();
    let mut packet = || Pkt(Box::new(Meta { len: Bytes(40 + lengths.below(1461)), ..Meta::default() }));
    for _ in 0..WAITING {
        queue.enqueue(now, packet(), &mut sink);
    }
    let mut away: Vec<_> = (0..BATCH).map(|_| packet()).collect();
    c.bench_function(&format!("{name}: enqueue and dequeue, about 100 packets waiting"), |b| {
        b.iter_custom(|packets| {
            let mut spent = Duration::ZERO;
            let batches = packets.div_ceil(BATCH as u64);
            for _ in 0..batches {
                let start = Clock::now();
                while let Some(pkt) = away.pop() {
                    queue.enqueue(now, black_box(pkt), &mut sink);
                }
                away.append(&mut sink.0);
                while away.len() < BATCH {
                    away.push(queue.dequeue(now, &mut sink).expect("more wait"));
                }
                spent += start.elapsed();
            }
            spent.div_f64(batches as f64 * BATCH as f64 / packets as f64)
        });
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

fn pies(c: &mut Criterion) {
    let params = PieParams {
        limit: LIMIT,
        target: Span::from_millis(15),
        t_update: Span::from_millis(15),
        max_burst: Span::ZERO,
        alpha: 0.125,
        beta: 1.25,
        delay_from: DelayFrom::Timestamps,
        active_from: None,
        derandomize: false,
        cap_adjustment: false,
        byte_mode: false,
        ecn: false,
        mark_ecnth: 0.1,
        mean_packet: Bytes(1000),
    };
    pass(c, "fifo", Instant::ZERO, Fifo::new(SITE, LIMIT));
    let rate = PieParams { delay_from: DelayFrom::DepartureRate, ..params };
    let derandomized = PieParams { derandomize: true, ..params };
    for (name, params) in
        [("pie", params), ("pie, derandomized", derandomized), ("pie, departure rate", rate)]
    {
        let (now, queue) = primed(Pie::new(SITE, params, stream()).expect("sound"));
        pass(c, name, now, queue);
    }
    let linux = LinuxPieParams {
        limit: LIMIT,
        target: Span::from_millis(15),
        t_update: Span::from_millis(15),
        max_burst: Span::ZERO,
        alpha: 0.125,
        beta: 1.25,
        delay_from: DelayFrom::Timestamps,
        byte_mode: false,
        ecn: false,
        mtu: Bytes(1514),
    };
    let (now, queue) = primed(LinuxPie::new(SITE, linux, stream()).expect("sound"));
    pass(c, "pie, linux", now, queue);
}

fn queues(c: &mut Criterion) {
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

/// A packet leaves and one of the same flow arrives, among 1,000 flows with four packets each.
fn turn(c: &mut Criterion, name: &str, mut queue: impl Queue<Pkt>) {
    let mut sink = Back(Vec::new());
    let mut now = Instant::ZERO;
    for flow in (0..1000).cycle().take(4000) {
        let meta = Meta { flow: FlowId(flow), len: Bytes(1500), ..Meta::default() };
        queue.enqueue(now, Pkt(Box::new(meta)), &mut sink);
    }
    c.bench_function(&format!("{name}: dequeue and enqueue, 4 packets of each of 1000 flows"), |b| {
        b.iter(|| {
            now += Span::from_nanos(300);
            let pkt = queue.dequeue(now, &mut sink).expect("packets wait");
            queue.enqueue(now, black_box(pkt), &mut sink);
        });
    });
    assert!(sink.0.is_empty(), "nothing waits too long");
}

fn flows(c: &mut Criterion) {
    let limit = QueueSize::Packets(10_240);
    let codel = CodelParams {
        limit,
        target: Span::from_millis(5),
        interval: Span::from_millis(100),
        ecn: true,
        ce_threshold: None,
        conventions: CodelConventions::RFC8289,
        ack_filter: None,
    };
    let cobalt = CobaltParams {
        limit,
        target: codel.target,
        interval: codel.interval,
        packet_time: Span::ZERO,
        ecn: true,
        p_inc: 1.0 / 256.0,
        p_dec: 1.0 / 4096.0,
        ack_filter: None,
    };
    let fq = FqParams {
        limit,
        queues: 1 << 14,
        quantum: Bytes(1514),
        drop_batch: 64,
        conventions: FqConventions::RFC8290,
    };
    let cake = CakeParams {
        limit,
        rate: None,
        framing: Framing::default(),
        tins: Tins::Diffserv3,
        isolation: Isolation::TripleIsolate,
        rtt: codel.interval,
        mtu: Bytes(1514),
        ack_filter: None,
    };
    turn(c, "fifo", Fifo::new(SITE, limit));
    turn(c, "codel", Codel::new(SITE, codel).expect("sound"));
    turn(c, "cobalt", Cobalt::new(SITE, cobalt, stream()).expect("sound"));
    turn(c, "fq of fifo", Fq::new(SITE, fq, stream(), move |_| Ok(Fifo::new(SITE, limit))).expect("sound"));
    turn(c, "cake", Cake::new(SITE, cake, Arc::default(), stream()).expect("sound"));
    turn(c, "fq of codel", Fq::new(SITE, fq, stream(), move |_| Codel::new(SITE, codel)).expect("sound"));
}

/// A packet leaves and arrives again each microsecond, L4S and classic in no order that a processor could learn, with 100 waiting.
fn mixed(c: &mut Criterion, name: &str, mut queue: impl Queue<Pkt>) {
    let mut sink = Back(Vec::new());
    let mut draws = stream();
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        queue.enqueue(now, Pkt(Box::new(Meta { len: Bytes(1250), ..Meta::default() })), &mut sink);
    }
    c.bench_function(&format!("{name}: dequeue and enqueue, L4S and classic, 100 packets waiting"), |b| {
        b.iter(|| {
            now += Span::from_micros(1);
            let left = queue.dequeue(now, &mut sink);
            for mut pkt in left.into_iter().chain(sink.0.pop()) {
                pkt.0.ecn = if draws.below(2) == 0 { Ecn::Ect0 } else { Ecn::Ect1 };
                queue.enqueue(now, black_box(pkt), &mut sink);
            }
        });
    });
}

fn coupled(c: &mut Criterion) {
    mixed(c, "fifo", Fifo::new(SITE, LIMIT));
    let dualpi2 = DualPi2Params { limit: LIMIT, ..DualPi2Params::RFC9332 };
    mixed(c, "dualpi2", DualPi2::new(SITE, dualpi2).expect("sound"));
    let linux = LinuxDualPi2Params { limit: LIMIT, ..LinuxDualPi2Params::LINUX };
    mixed(c, "dualpi2 of Linux", LinuxDualPi2::new(SITE, linux, stream()).expect("sound"));
}

criterion_group!(aqm, coupled, queues, pies, flows);
criterion_main!(aqm);
