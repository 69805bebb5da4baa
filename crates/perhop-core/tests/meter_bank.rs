//! A bank of meters: who is asked, who hears, and who is woken.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use perhop_core::classify::{Address, Flow, FlowKey, FlowTable, Protocol};
use perhop_core::meter::{Meter, MeterBank, TokenBucket, TokenBucketParams};
use perhop_core::packet::{Color, Dir, FlowId, Meta, TrafficClass};
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::laws::meter::{Measured, Op, ops, walk};

const SECOND: Span = Span::from_secs(1);

/// Red once something came back, until no packet came for a second. Counts the calls at deadlines, of all copies.
#[derive(Clone, Debug, Default)]
struct Listener {
    observed: usize,
    deadline: Option<Instant>,
    woken: Arc<AtomicUsize>,
}

impl Timed for Listener {
    fn next_timeout(&self) -> Option<Instant> {
        self.deadline
    }

    fn on_timeout(&mut self, now: Instant) {
        self.woken.fetch_add(1, Ordering::Relaxed);
        if self.deadline.is_some_and(|at| at <= now) {
            (self.deadline, self.observed) = (None, 0);
        }
    }
}

impl Meter for Listener {
    fn measure(&mut self, now: Instant, _meta: &Meta) -> Color {
        self.deadline = Some(now + SECOND);
        if self.observed > 0 { Color::Red } else { Color::Green }
    }

    fn observe_reverse(&mut self, _now: Instant, _meta: &Meta) {
        self.observed += 1;
    }

    fn has_deadlines(&self) -> bool {
        true
    }
}

fn packet(flow: u32, dir: Dir) -> Meta {
    Meta { len: Bytes(1000), flow: FlowId(flow), dir, ..Meta::default() }
}

#[test]
fn each_flow_and_direction_has_a_profile_of_its_own() {
    let one = TokenBucketParams { cir: BitRate::new(8000).expect("not zero"), cbs: Bytes(1000) };
    let mut bank = MeterBank::new(TokenBucket::new(one).expect("sound"));
    for (flow, dir) in [(0, Dir::Forward), (0, Dir::Reverse), (9, Dir::Forward), (3, Dir::Reverse)] {
        assert_eq!(bank.measure(Instant::ZERO, &packet(flow, dir)), Color::Green, "{flow} {dir:?}");
        assert_eq!(bank.measure(Instant::ZERO, &packet(flow, dir)), Color::Red, "{flow} {dir:?}");
    }
    assert_eq!(bank.next_timeout(), None);
}

#[test]
fn what_comes_back_is_heard_by_the_other_direction_alone() {
    let mut bank = MeterBank::new(Listener::default());
    for (flow, dir) in [(1, Dir::Forward), (1, Dir::Reverse), (2, Dir::Forward)] {
        assert_eq!(bank.measure(Instant::ZERO, &packet(flow, dir)), Color::Green);
    }
    bank.observe_reverse(Instant::ZERO, &packet(1, Dir::Reverse));
    let verdicts = [(1, Dir::Forward), (1, Dir::Reverse), (2, Dir::Forward)]
        .map(|(flow, dir)| bank.measure(Instant::ZERO, &packet(flow, dir)));
    assert_eq!(verdicts, [Color::Red, Color::Green, Color::Green]);
}

#[test]
fn what_comes_back_before_the_first_packet_makes_no_meter() {
    let mut bank = MeterBank::new(Listener::default());
    bank.observe_reverse(Instant::ZERO, &packet(1, Dir::Reverse));
    assert_eq!(bank.measure(Instant::ZERO, &packet(1, Dir::Forward)), Color::Green);
}

#[test]
fn only_meters_that_may_be_due_are_woken() {
    let prototype = Listener::default();
    let woken = Arc::clone(&prototype.woken);
    let mut bank = MeterBank::new(prototype);
    let at = |ms| Instant::ZERO + Span::from_millis(ms);
    for flow in 0..100 {
        bank.measure(at(u64::from(flow)), &packet(flow, Dir::Forward));
    }
    assert_eq!(woken.swap(0, Ordering::Relaxed), 100, "each is brought up to date as it is made");
    assert_eq!(bank.next_timeout(), Some(at(1000)));
    bank.on_timeout(at(999));
    assert_eq!(woken.load(Ordering::Relaxed), 0, "none is due");
    bank.on_timeout(at(1002));
    assert_eq!(woken.swap(0, Ordering::Relaxed), 3, "flows 0, 1 and 2 are due");
    // a deadline that moved later keeps its entry until that comes up
    bank.measure(at(1002), &packet(3, Dir::Forward));
    assert_eq!(bank.next_timeout(), Some(at(1003)));
    bank.on_timeout(at(1003));
    assert_eq!(bank.next_timeout(), Some(at(1004)));
    bank.on_timeout(at(1099));
    assert_eq!(bank.next_timeout(), Some(at(2002)), "flow 3 alone is left");
    bank.on_timeout(at(2002));
    assert_eq!(bank.next_timeout(), None);
}

/// What the meter of one flow and direction would be told if it were alone.
fn alone(ops: &[Op], flow: FlowId, dir: Dir) -> Vec<Op> {
    let mut known = false;
    ops.iter()
        .copied()
        .filter(|op| match op {
            Op::Measure(meta) => {
                let mine = (meta.flow, meta.dir) == (flow, dir);
                known |= mine;
                mine
            }
            Op::Observe(meta) => known && meta.flow == flow && meta.dir != dir,
            Op::Wait(_) => true,
        })
        .collect()
}

#[test]
fn a_bank_is_a_meter_for_each_flow_and_direction() {
    perhop_testkit::check(&ops(), |ops| {
        let together = walk(&mut MeterBank::new(Listener::default()), &ops);
        for (flow, dir) in
            (0..3).flat_map(|flow| [(FlowId(flow), Dir::Forward), (FlowId(flow), Dir::Reverse)])
        {
            let of_one: Vec<Measured> =
                together.iter().filter(|one| (one.meta.flow, one.meta.dir) == (flow, dir)).copied().collect();
            assert_eq!(of_one, walk(&mut Listener::default(), &alone(&ops, flow, dir)));
        }
    });
}

fn flow(src: u128, dst: u128) -> Flow {
    let (src, dst) = (Address(src), Address(dst));
    let key = FlowKey { src, dst, src_port: 1, dst_port: 2, protocol: Protocol::TCP };
    Flow { key, class: TrafficClass(0) }
}

/// Flow 0 goes from a to b, flow 1 from b to a, flow 2 from a to c.
fn three() -> Arc<FlowTable> {
    let mut flows = FlowTable::new();
    for (id, ends) in (0..).map(FlowId).zip([(1, 2), (2, 1), (1, 3)]) {
        flows.insert(id, flow(ends.0, ends.1));
    }
    Arc::new(flows)
}

#[test]
fn data_and_acknowledgments_between_the_same_addresses_have_one_profile() {
    let two = TokenBucketParams { cir: BitRate::new(8000).expect("not zero"), cbs: Bytes(2000) };
    let mut bank = MeterBank::by_addresses(TokenBucket::new(two).expect("sound"), three());
    let mut verdict = |flow, dir| bank.measure(Instant::ZERO, &packet(flow, dir));
    assert_eq!(verdict(0, Dir::Forward), Color::Green, "data of flow 0");
    assert_eq!(verdict(1, Dir::Reverse), Color::Green, "an acknowledgment of flow 1");
    assert_eq!(verdict(0, Dir::Forward), Color::Red);
    assert_eq!(verdict(1, Dir::Forward), Color::Green, "the other way");
    assert_eq!(verdict(2, Dir::Forward), Color::Green, "to another address");
    assert_eq!(verdict(1, Dir::Reverse), Color::Red);
    // of flows that are not known each direction is by itself
    assert_eq!([7, 8].map(|flow| verdict(flow, Dir::Forward)), [Color::Green; 2]);
}

#[test]
fn a_number_that_is_used_again_is_measured_by_its_new_addresses() {
    let two = TokenBucketParams { cir: BitRate::new(8000).expect("not zero"), cbs: Bytes(2000) };
    let mut bank = MeterBank::by_addresses(TokenBucket::new(two).expect("sound"), three());
    let verdicts = |bank: &mut MeterBank<TokenBucket>, flow| {
        [(); 2].map(|()| bank.measure(Instant::ZERO, &packet(flow, Dir::Forward)))
    };
    assert_eq!(verdicts(&mut bank, 0), [Color::Green; 2]);
    assert_eq!(verdicts(&mut bank, 2), [Color::Green; 2]);
    bank.learn(FlowId(2), &flow(1, 2));
    assert_eq!(verdicts(&mut bank, 2), [Color::Red; 2], "as flow 0, whose bucket is empty");
    bank.learn(FlowId(0), &flow(4, 5));
    assert_eq!(verdicts(&mut bank, 0), [Color::Green; 2]);
    // a bank of flows knows no addresses
    let mut by_flow = MeterBank::new(TokenBucket::new(two).expect("sound"));
    assert_eq!(verdicts(&mut by_flow, 2), [Color::Green; 2]);
    by_flow.learn(FlowId(2), &flow(4, 5));
    assert_eq!(verdicts(&mut by_flow, 2), [Color::Red; 2]);
}

#[test]
fn a_bank_by_addresses_is_a_bank_of_flows_that_are_named_by_them() {
    perhop_testkit::check(&ops(), |ops| {
        // flow 1 backwards is flow 0
        let named = |meta: Meta| match (meta.flow, meta.dir) {
            (FlowId(1), Dir::Forward) => Meta { flow: FlowId(0), dir: Dir::Reverse, ..meta },
            (FlowId(1), Dir::Reverse) => Meta { flow: FlowId(0), dir: Dir::Forward, ..meta },
            _ => meta,
        };
        let renamed: Vec<Op> = ops
            .iter()
            .map(|op| match *op {
                Op::Measure(meta) => Op::Measure(named(meta)),
                Op::Observe(meta) => Op::Observe(named(meta)),
                Op::Wait(ns) => Op::Wait(ns),
            })
            .collect();
        let found = walk(&mut MeterBank::by_addresses(Listener::default(), three()), &ops);
        let found: Vec<Measured> =
            found.into_iter().map(|one| Measured { meta: named(one.meta), ..one }).collect();
        assert_eq!(found, walk(&mut MeterBank::new(Listener::default()), &renamed));
    });
}
