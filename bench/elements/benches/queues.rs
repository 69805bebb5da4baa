//! What a packet costs at the queues of today, beside a FIFO: `cargo bench -p perhop-bench-elements --bench queues`.

use std::hint::black_box;
use std::sync::Arc;

use perhop_bench_elements::{Back, Bench, Pkt, run};
use perhop_core::framing::Framing;
use perhop_core::packet::{Ecn, FlowId, Kind, Meta, TcpView};
use perhop_core::queue::{
    AckFilter, Cake, CakeParams, Cobalt, CobaltParams, Codel, CodelConventions, CodelParams, DualPi2,
    DualPi2Params, Fifo, Fq, FqParams, Isolation, LinuxDualPi2, LinuxDualPi2Params, LinuxPie, LinuxPieParams,
    Queue, Tins,
};
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::aqm::stream;
use perhop_testkit::published;

const SITE: SiteId = SiteId(0);
const LIMIT: QueueSize = QueueSize::Packets(10_240);
const CODEL: CodelParams = CodelParams { limit: LIMIT, ecn: true, ..published::CODEL };
const COBALT: CobaltParams = CobaltParams { limit: LIMIT, ecn: true, ..published::COBALT };
const FQ: FqParams = FqParams { limit: LIMIT, queues: 1 << 14, ..published::FQ };
const CAKE: CakeParams = CakeParams {
    limit: LIMIT,
    rate: None,
    framing: Framing { overhead: Bytes(0), mpu: Bytes(0) },
    tins: Tins::Diffserv3,
    isolation: Isolation::TripleIsolate,
    rtt: CODEL.interval,
    mtu: Bytes(1514),
    ack_filter: None,
};

fn codel(params: CodelParams) -> Codel<Pkt> {
    Codel::new(SITE, params).expect("sound")
}

fn cobalt(params: CobaltParams) -> Cobalt<Pkt> {
    Cobalt::new(SITE, params, stream()).expect("sound")
}

fn cake(params: CakeParams) -> Cake<Pkt> {
    Cake::new(SITE, params, Arc::default(), stream()).expect("sound")
}

fn fq_codel(params: CodelParams) -> Fq<Pkt, Codel<Pkt>> {
    Fq::new(SITE, FQ, stream(), move |_| Codel::new(SITE, params)).expect("sound")
}

/// A packet leaves and one of the same flow arrives, among 1,000 flows with four packets each; none waits for 5 ms.
fn turn(c: &mut Bench, name: &str, mut queue: impl Queue<Pkt>) {
    let mut sink = Back::default();
    let mut now = Instant::ZERO;
    for flow in (0..1000).cycle().take(4000) {
        let meta = Meta { flow: FlowId(flow), len: Bytes(1500), ..Meta::default() };
        queue.enqueue(now, Pkt(Box::new(meta)), &mut sink);
    }
    let has_deadlines = queue.has_deadlines();
    c.operation(&format!("{name}: dequeue and enqueue, 4 packets of each of 1000 flows"), || {
        now += Span::from_nanos(300);
        if has_deadlines && queue.next_timeout().is_some_and(|at| at <= now) {
            queue.on_timeout(now, &mut sink);
        }
        let pkt = queue.dequeue(now, &mut sink).expect("packets wait");
        queue.enqueue(now, black_box(pkt), &mut sink);
    });
    assert!(sink.0.is_empty(), "nothing waits too long");
}

fn flows(c: &mut Bench) {
    let pie = LinuxPieParams { limit: LIMIT, ..published::LINUX_PIE };
    // a packet takes 120 ns of its 300
    let rate = BitRate::new(100_000_000_000);
    turn(c, "fifo", Fifo::new(SITE, LIMIT));
    turn(c, "codel", codel(CODEL));
    turn(
        c,
        "codel of Linux",
        codel(CodelParams { conventions: CodelConventions::linux(Bytes(1514)), ..CODEL }),
    );
    turn(c, "cobalt", cobalt(COBALT));
    turn(c, "fq of fifo", Fq::new(SITE, FQ, stream(), |_| Ok(Fifo::new(SITE, LIMIT))).expect("sound"));
    turn(c, "fq of codel", fq_codel(CODEL));
    turn(
        c,
        "fq of cobalt",
        Fq::new(SITE, FQ, stream(), |_| Cobalt::new(SITE, COBALT, stream())).expect("sound"),
    );
    let of_pie = Fq::new(SITE, FQ, stream(), move |_| LinuxPie::new(SITE, pie, stream()));
    turn(c, "fq of pie of Linux", of_pie.expect("sound"));
    turn(c, "cake", cake(CAKE));
    turn(c, "cake, shaped", cake(CakeParams { rate, ..CAKE }));
    turn(c, "cake, shaped, 8 tins", cake(CakeParams { rate, tins: Tins::Diffserv8, ..CAKE }));
}

/// A packet leaves and arrives again each 200 us with 100 waiting, so each has waited for 20 ms.
fn late(c: &mut Bench, name: &str, mut queue: impl Queue<Pkt>) {
    let mut sink = Back::default();
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        queue.enqueue(now, Pkt(Box::new(Meta { len: Bytes(1250), ..Meta::default() })), &mut sink);
    }
    c.operation(&format!("{name}: dequeue and enqueue, 100 packets that waited for 20 ms"), || {
        now += Span::from_micros(200);
        let left = queue.dequeue(now, &mut sink);
        for mut pkt in left.into_iter().chain(sink.0.drain(..)) {
            pkt.0.ecn = Ecn::Ect0;
            queue.enqueue(now, black_box(pkt), &mut Back::default());
        }
    });
}

fn delays(c: &mut Bench) {
    late(c, "fifo", Fifo::new(SITE, LIMIT));
    late(c, "codel", codel(CODEL));
    late(
        c,
        "codel of Linux",
        codel(CodelParams { conventions: CodelConventions::linux(Bytes(1514)), ..CODEL }),
    );
    late(c, "cobalt", cobalt(COBALT));
}

/// A packet leaves and arrives again, L4S and classic in no order that a processor could learn, with 100 waiting.
fn mixed(c: &mut Bench, name: &str, each: Span, mut queue: impl Queue<Pkt>) {
    let mut sink = Back::default();
    let mut draws = stream();
    let mut now = Instant::ZERO;
    for _ in 0..100 {
        queue.enqueue(now, Pkt(Box::new(Meta { len: Bytes(1250), ..Meta::default() })), &mut sink);
    }
    c.operation(&format!("{name}: dequeue and enqueue, L4S and classic, 100 packets waiting"), || {
        now += each;
        let left = queue.dequeue(now, &mut sink);
        for mut pkt in left.into_iter().chain(sink.0.pop()) {
            pkt.0.ecn = if draws.below(2) == 0 { Ecn::Ect0 } else { Ecn::Ect1 };
            queue.enqueue(now, black_box(pkt), &mut sink);
        }
    });
}

fn coupled(c: &mut Bench) {
    let dualpi2 =
        || DualPi2::new(SITE, DualPi2Params { limit: LIMIT, ..DualPi2Params::RFC9332 }).expect("sound");
    let linux = LinuxDualPi2Params { limit: LIMIT, ..LinuxDualPi2Params::LINUX };
    let linux = || LinuxDualPi2::new(SITE, linux, stream()).expect("sound");
    // of the classic packets about 100 wait, and two turns pass for each that leaves
    let (quick, slow) = (Span::from_micros(1), Span::from_micros(80));
    mixed(c, "fifo", quick, Fifo::new(SITE, LIMIT));
    mixed(c, "dualpi2", quick, dualpi2());
    mixed(c, "dualpi2 of Linux", quick, linux());
    mixed(c, "dualpi2, above its target", slow, dualpi2());
    mixed(c, "dualpi2 of Linux, above its target", slow, linux());
}

/// Two ACKs of a flow arrive among two of each of `flows`, and two leave, one of them by the filter where there is one.
fn acks(c: &mut Bench, name: &str, flows: u32, mut queue: impl Queue<Pkt>) {
    let mut sink = Back::default();
    let mut number = 0u32;
    let mut next = move |mut pkt: Pkt, flow: FlowId| {
        number = number.wrapping_add(1448);
        pkt.0.flow = flow;
        pkt.0.tcp = Some(TcpView { ack: number, ..TcpView::default() });
        pkt
    };
    let ack = || Pkt(Box::new(Meta { kind: Kind::PureAck, len: Bytes(40), ..Meta::default() }));
    for flow in (0..flows).cycle().take(2 * flows as usize) {
        queue.enqueue(Instant::ZERO, next(ack(), FlowId(flow)), &mut sink);
    }
    let mut spare = Some(ack());
    c.operation(&format!("{name}: 2 ACKs come and go, 2 of each of {flows} flows waiting"), || {
        let first = queue.dequeue(Instant::ZERO, &mut sink).expect("ACKs wait");
        let flow = first.0.flow;
        queue.enqueue(Instant::ZERO, next(first, flow), &mut sink);
        let second = sink.0.pop().or(spare.take());
        let second = second.unwrap_or_else(|| queue.dequeue(Instant::ZERO, &mut sink).expect("ACKs wait"));
        queue.enqueue(Instant::ZERO, next(second, flow), &mut sink);
    });
}

fn filters(c: &mut Bench) {
    let ack_filter = Some(AckFilter::Conservative);
    acks(c, "fifo", 50, Fifo::new(SITE, LIMIT));
    acks(c, "fifo with an ACK filter", 50, Fifo::new(SITE, LIMIT).filtering(ack_filter));
    acks(c, "fq of codel", 1000, fq_codel(CODEL));
    acks(c, "fq of codel with an ACK filter", 1000, fq_codel(CodelParams { ack_filter, ..CODEL }));
    acks(c, "cake", 1000, cake(CAKE));
    acks(c, "cake with an ACK filter", 1000, cake(CakeParams { ack_filter, ..CAKE }));
}

fn main() {
    run(&[flows, delays, coupled, filters]);
}
