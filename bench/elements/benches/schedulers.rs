//! What a decision costs: `select` and `on_served` with four classes that wait.

use std::hint::black_box;

use perhop_bench_elements::{Bench, run};
use perhop_core::framing::Framing;
use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{
    Cbq, CbqClass, Drr, Heads, Htb, HtbClass, Scheduler, Select, Shaped, ShapedParams, StrictPriority, Wfq,
    Wrr,
};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};

const LINE: BitRate = BitRate::new(100_000_000_000).expect("not zero");

/// Four classes that always wait.
struct Four([Meta; 4]);

impl Heads for Four {
    fn classes(&self) -> u16 {
        4
    }

    fn head(&self, class: ClassId) -> Option<&Meta> {
        self.0.get(usize::from(class.0))
    }
}

fn schedulers(c: &mut Bench) {
    let heads = Four([1500, 552, 40, 1500].map(|len| Meta { len: Bytes(len), ..Meta::default() }));
    let mut pick = |name: &str, scheduler: &mut dyn Scheduler| {
        let mut now = Instant::ZERO;
        for (class, meta) in (0..).map(ClassId).zip(&heads.0) {
            scheduler.on_enqueued(now, class, meta);
        }
        c.operation(name, || {
            // the packets of a link of 10 Mbit/s
            now += Span::from_micros(500);
            if let Select::Serve(class) = scheduler.select(now, black_box(&heads)) {
                scheduler.on_served(now, class, &heads.0[usize::from(class.0)]);
            }
        });
    };
    pick("strict priority: select and serve, 4 classes waiting", &mut StrictPriority);
    pick("wrr: select and serve, 4 classes waiting", &mut Wrr::new(&[4, 3, 2, 1]).expect("weights"));
    pick("wfq: select and serve, 4 classes waiting", &mut Wfq::new(&[4, 3, 2, 1]).expect("weights"));
    let mut drr = Drr::new(&[6000, 4500, 3000, 1500].map(Bytes)).expect("quanta");
    pick("drr: select and serve, 4 classes waiting", &mut drr);
    let rate = BitRate::new(10_000_000).expect("not zero");
    let shares = [0.4, 0.3, 0.2, 0.1].map(CbqClass::new);
    pick("cbq: select and serve, 4 classes waiting", &mut Cbq::new(rate, &shares).expect("shares"));
    let bounded = CbqClass { bounded: true, ..shares[2] };
    let isolated = CbqClass { isolated: true, priority: 1, ..shares[3] };
    let mixed = [shares[0], shares[1], bounded, isolated];
    pick("cbq: the same, one class bounded and one isolated", &mut Cbq::new(rate, &mixed).expect("shares"));
    let class = |mbit: u64| HtbClass {
        rate: BitRate::new(mbit * 1_000_000).expect("not zero"),
        ceil: rate,
        burst: Bytes(1600),
        cburst: Bytes(1600),
        priority: 0,
        quantum: Bytes(mbit * 1500),
    };
    let mut htb = Htb::new(rate, Bytes(1600), &[4, 3, 2, 1].map(class)).expect("they fit");
    pick("htb: select and serve, 4 classes waiting", &mut htb);
    // never short of tokens: the cost of the bucket alone is the difference from strict priority
    let params = ShapedParams { rate: LINE, burst: Bytes(1_000_000), framing: Framing::default() };
    let mut shaped = Shaped::new(params, Box::new(StrictPriority)).expect("a burst");
    pick("strict priority behind a shaper", &mut shaped);
}

fn main() {
    run(&[schedulers]);
}
