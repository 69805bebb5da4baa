//! The laws of every scheduler, for those that divide the link: one line for each way to configure one.

use perhop_core::framing::Framing;
use perhop_core::sched::{
    Cbq, CbqClass, Drr, Htb, HtbClass, Scheduler, Shaped, ShapedParams, StrictPriority, Wfq, Wrr,
};
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::scheduler_laws;

fn wrr(weights: &[u32]) -> Box<Wrr> {
    Box::new(Wrr::new(weights).expect("weights of at least 1"))
}

fn drr(quanta: &[u64]) -> Box<Drr> {
    let quanta: Vec<Bytes> = quanta.iter().map(|&q| Bytes(q)).collect();
    Box::new(Drr::new(&quanta).expect("quanta of at least 1 byte"))
}

fn wfq(weights: &[u32]) -> Box<Wfq> {
    Box::new(Wfq::new(weights).expect("weights of at least 1"))
}

fn cbq(classes: &[CbqClass]) -> Box<Cbq> {
    let rate = BitRate::new(10_000_000).expect("not zero");
    Box::new(Cbq::new(rate, classes).expect("shares that fit the link"))
}

scheduler_laws!(wrr_alone, || wrr(&[1]), classes = 1);
scheduler_laws!(wrr_even, || wrr(&[1, 1, 1]), classes = 3);
scheduler_laws!(wrr_uneven, || wrr(&[5, 1, 2, 1]), classes = 4);

scheduler_laws!(drr_alone, || drr(&[1500]), classes = 1);
scheduler_laws!(drr_packets, || drr(&[1500, 1500, 3000]), classes = 3);
scheduler_laws!(drr_small_quanta, || drr(&[1, 40, 500, 1500]), classes = 4);

scheduler_laws!(wfq_alone, || wfq(&[7]), classes = 1);
scheduler_laws!(wfq_even, || wfq(&[1, 1, 1]), classes = 3);
scheduler_laws!(wfq_uneven, || wfq(&[5, 1, 97, 30]), classes = 4);

const EF: CbqClass = CbqClass { maxidle: Span::from_millis(5), ..CbqClass::new(0.3) };
const REST: CbqClass = CbqClass { priority: 1, ..CbqClass::new(0.7) };
const BOUNDED: CbqClass = CbqClass { bounded: true, ..CbqClass::new(0.2) };
const ISOLATED: CbqClass = CbqClass { isolated: true, ..CbqClass::new(0.2) };
const REGULATED: CbqClass = CbqClass { offtime: Span::from_millis(20), gain: Some(4), ..BOUNDED };
const INDEBTED: CbqClass = CbqClass { minidle: Span::from_millis(30), gain: Some(0), ..CbqClass::new(0.1) };
const HARDLY_ANY: CbqClass = CbqClass { bounded: true, ..CbqClass::new(1e-7) };

scheduler_laws!(cbq_alone, || cbq(&[CbqClass::new(1.0)]), classes = 1);
scheduler_laws!(cbq_lends, || cbq(&[EF, REST]), classes = 2);
scheduler_laws!(cbq_bounded, || cbq(&[BOUNDED, REGULATED]), classes = 2);
scheduler_laws!(cbq_isolated, || cbq(&[ISOLATED, BOUNDED, INDEBTED]), classes = 3);
scheduler_laws!(
    cbq_all_isolated,
    || cbq(&[CbqClass { isolated: true, ..CbqClass::new(0.5) }; 2]),
    classes = 2
);
scheduler_laws!(cbq_of_all_kinds, || cbq(&[EF, BOUNDED, ISOLATED, REGULATED, INDEBTED]), classes = 5);
scheduler_laws!(cbq_hardly_any, || cbq(&[HARDLY_ANY, REST]), classes = 2);

fn htb(classes: &[HtbClass]) -> Box<Htb> {
    let rate = BitRate::new(8_000_000).expect("not zero");
    Box::new(Htb::new(rate, Bytes(1600), classes).expect("classes that fit their parent"))
}

const LENDS: HtbClass = HtbClass {
    rate: BitRate::new(1_000_000).expect("not zero"),
    ceil: BitRate::new(8_000_000).expect("not zero"),
    burst: Bytes(1600),
    cburst: Bytes(1600),
    priority: 0,
    quantum: Bytes(1500),
};
const HELD: HtbClass = HtbClass { ceil: LENDS.rate, burst: Bytes(1), quantum: Bytes(100), ..LENDS };
const LATER: HtbClass = HtbClass { priority: 3, cburst: Bytes(1), ..LENDS };

scheduler_laws!(htb_alone, || htb(&[LENDS]), classes = 1);
scheduler_laws!(htb_even, || htb(&[LENDS; 3]), classes = 3);
scheduler_laws!(htb_of_all_kinds, || htb(&[LENDS, HELD, LATER, LENDS, HELD]), classes = 5);

/// At 2 Mbit/s with a burst that is less than the longest packet.
fn shaped(scheduler: Box<dyn Scheduler>) -> Box<Shaped> {
    let rate = BitRate::new(2_000_000).expect("not zero");
    let framing = Framing { overhead: Bytes(18), mpu: Bytes(64) };
    let params = ShapedParams { rate, burst: Bytes(1000), framing };
    Box::new(Shaped::new(params, scheduler).expect("a burst that can be counted"))
}

scheduler_laws!(shaped_alone, || shaped(Box::new(StrictPriority)), classes = 1);
scheduler_laws!(shaped_priorities, || shaped(Box::new(StrictPriority)), classes = 3);
scheduler_laws!(shaped_turns, || shaped(drr(&[1, 500, 1500])), classes = 3);
scheduler_laws!(shaped_weights, || shaped(wfq(&[5, 1, 97, 30])), classes = 4);
