//! What the core elements cost, one operation at a time: `cargo bench -p perhop-bench-elements`.

use std::hint::black_box;

use perhop_bench_elements::{Bench, Pkt, run};
use perhop_core::classify::{Classifier, KindClassifier, Selector};
use perhop_core::packet::{ClassId, Kind, Meta};
use perhop_core::queue::{Fifo, Queue};
use perhop_core::sched::{Heads, PairedCounter, Scheduler, Select, StrictPriority};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::{Bytes, QueueSize};
use perhop_tcp::cc::{AckSample, CongestionControl, Reno};

const DATA: ClassId = ClassId(0);
const ACKS: ClassId = ClassId(1);

/// Forgets what it hears.
struct Deaf;

impl Sink<Pkt> for Deaf {
    fn dropped(&mut self, _now: Instant, _site: SiteId, _pkt: Pkt, _why: DropReason) {}
}

/// Two classes that always wait.
struct Both([Meta; 2]);

impl Heads for Both {
    fn classes(&self) -> u16 {
        2
    }

    fn head(&self, class: ClassId) -> Option<&Meta> {
        self.0.get(usize::from(class.0))
    }
}

fn meta(kind: Kind, len: u64) -> Meta {
    Meta { kind, len: Bytes(len), ..Meta::default() }
}

fn queues(c: &mut Bench) {
    let mut queue = Fifo::new(SiteId(0), QueueSize::Packets(1000));
    for _ in 0..100 {
        queue.enqueue(Instant::ZERO, Pkt(Box::new(meta(Kind::Data, 1500))), &mut Deaf);
    }
    c.operation("fifo: dequeue and enqueue, 100 packets waiting", || {
        let pkt = queue.dequeue(Instant::ZERO, &mut Deaf);
        pkt.into_iter().for_each(|pkt| queue.enqueue(Instant::ZERO, black_box(pkt), &mut Deaf));
    });
}

fn schedulers(c: &mut Bench) {
    let heads = Both([meta(Kind::Data, 1500), meta(Kind::PureAck, 28)]);
    let mut pick = |name: &str, scheduler: &mut dyn Scheduler| {
        c.operation(name, || {
            if let Select::Serve(class) = scheduler.select(Instant::ZERO, black_box(&heads)) {
                scheduler.on_served(Instant::ZERO, class, &heads.0[usize::from(class.0)]);
            }
        });
    };
    pick("strict priority: select and serve, 2 classes waiting", &mut StrictPriority);
    let mut paired = PairedCounter::new(DATA, ACKS, 0.5).expect("0.5 is inside (0, 1)");
    pick("paired counter: select and serve, 2 classes waiting", &mut paired);
}

fn classifiers(c: &mut Bench) {
    let classifier = KindClassifier::new([[Selector::PureAck].as_slice(), &[Selector::Data]]);
    let ack = meta(Kind::PureAck, 28);
    c.operation("kind classifier: classify", || classifier.classify(black_box(&ack)));
}

fn congestion_control(c: &mut Bench) {
    let mut reno = Reno::new(&perhop_testkit::tcp::RFC);
    let ack = AckSample {
        acked: Bytes(1460),
        in_flight: Bytes(14_600),
        cwnd_limited: true,
        rtt: None,
        srtt: None,
        una: 0,
    };
    c.operation("reno: on_ack", || reno.on_ack(Instant::ZERO, black_box(&ack)));
}

fn main() {
    run(&[queues, schedulers, classifiers, congestion_control]);
}
