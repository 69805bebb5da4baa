//! Hierarchical token buckets: by hand, against `sch_htb.c` of Linux 6 transcribed in exact fractions, and their bounds.

use std::collections::BTreeSet;

use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{Heads, Htb, HtbClass, Scheduler, Select};
use perhop_core::time::Instant;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::check;
use perhop_testkit::exact::Ratio;
use perhop_testkit::link::{Passage, departures};
use proptest::prelude::*;

const LINK: BitRate = rate(10_000_000);
const LONGEST: u64 = 1500;

const fn rate(bits_per_sec: u64) -> BitRate {
    BitRate::new(bits_per_sec).expect("not zero")
}

/// A class of these Mbit/s, whose quantum is two packets for each of its rate.
const fn class(own: u64, ceil: u64) -> HtbClass {
    HtbClass {
        rate: rate(own * 1_000_000),
        ceil: rate(ceil * 1_000_000),
        burst: Bytes(1500),
        cburst: Bytes(1500),
        priority: 0,
        quantum: Bytes(own * 2 * LONGEST),
    }
}

fn htb(parent: u64, classes: &[HtbClass]) -> Htb {
    Htb::new(rate(parent * 1_000_000), Bytes(1500), classes).expect("classes that fit their parent")
}

/// Packets of 1500 bytes that wait from the start.
fn waiting(classes: &[u8]) -> Vec<Passage> {
    let one = |class| Passage { at: Instant::ZERO, class, len: LONGEST };
    (0..2000).flat_map(|_| classes.iter().map(move |&class| one(class))).collect()
}

fn run(parent: u64, classes: &[HtbClass], arrivals: &[Passage]) -> Vec<Passage> {
    let count = u8::try_from(classes.len()).expect("few classes");
    departures(Box::new(htb(parent, classes)), count, LINK, arrivals, Instant::from_nanos(1_000_000_000))
}

/// What each class gets of a second, in Mbit/s, where those in `always` wait all the time.
fn shares(parent: u64, classes: &[HtbClass], always: &[u8]) -> Vec<f64> {
    let left = run(parent, classes, &waiting(always));
    let of = |class| left.iter().filter(|one| one.class == class).map(|one| one.len * 8).sum::<u64>();
    (0..).take(classes.len()).map(|class| of(class) as f64 / 1e6).collect()
}

fn near(got: &[f64], expected: &[f64]) -> bool {
    // a burst and a packet or two in a second
    got.iter().zip(expected).all(|(got, expected)| (got - expected).abs() < 0.08)
}

#[test]
fn a_class_alone_sends_until_it_owes_and_then_at_its_ceiling() {
    let left = run(8, &[class(2, 2)], &waiting(&[0]));
    let times: Vec<u64> = left.iter().take(5).map(|one| one.at.as_nanos() / 1000).collect();
    // 1500 bytes are there, 300 come in 1.2 ms, 1200 are owed after two packets
    assert_eq!(times, [0, 1200, 6000, 12_000, 18_000]);
}

#[test]
fn under_load_every_class_has_its_rate() {
    let got = shares(8, &[class(1, 8), class(2, 8), class(5, 8)], &[0, 1, 2]);
    assert!(near(&got, &[1.0, 2.0, 5.0]), "{got:?}");
}

#[test]
fn what_a_class_leaves_is_lent_in_the_ratio_of_the_quanta() {
    let classes = [class(1, 8), class(3, 8), class(4, 8)];
    let got = shares(8, &classes, &[0, 1]);
    assert!(near(&got, &[2.0, 6.0, 0.0]), "{got:?}");
    let equal = classes.map(|class| HtbClass { quantum: Bytes(1500), ..class });
    let got = shares(8, &equal, &[0, 1]);
    assert!(near(&got, &[3.0, 5.0, 0.0]), "{got:?}");
}

#[test]
fn a_smaller_priority_borrows_first_up_to_its_ceiling() {
    let first = class(1, 4);
    let second = HtbClass { priority: 1, ..class(3, 8) };
    let got = shares(8, &[second, first, class(4, 8)], &[0, 1]);
    assert!(near(&got, &[4.0, 4.0, 0.0]), "{got:?}");
    let got = shares(8, &[second, HtbClass { ceil: rate(8_000_000), ..first }, class(4, 8)], &[0, 1]);
    assert!(near(&got, &[3.0, 5.0, 0.0]), "a rate is no one else's: {got:?}");
}

#[test]
fn what_no_ceiling_lets_through_is_left_idle() {
    let got = shares(8, &[class(1, 2), class(3, 3)], &[0, 1]);
    assert!(near(&got, &[2.0, 3.0]), "{got:?}");
}

#[test]
fn what_cannot_be_is_refused() {
    let one = class(1, 2);
    let refused = |classes: &[HtbClass]| {
        Htb::new(rate(2_000_000), Bytes(1500), classes).expect_err("refused").to_string()
    };
    for (classes, why) in [
        (vec![], "rate: must be given for one class at least"),
        (vec![one; 3], "rate: must leave the rates of all classes together at 2000000bit/s at most"),
        (vec![HtbClass { ceil: rate(999_999), ..one }], "ceil: must be at least `rate`"),
        (vec![HtbClass { burst: Bytes(0), ..one }], "burst: must exceed 0B"),
        (vec![HtbClass { cburst: Bytes(0), ..one }], "cburst: must exceed 0B"),
        (vec![HtbClass { quantum: Bytes(0), ..one }], "quantum: must be at least 1 B"),
        (vec![HtbClass { quantum: Bytes(1 << 31), ..one }], "quantum: must be less than 2^31 B"),
        (vec![HtbClass { priority: 8, ..one }], "priority: must be at most 7"),
    ] {
        assert_eq!(refused(&classes), why);
    }
    let error = Htb::new(rate(2_000_000), Bytes(0), &[one]).expect_err("no burst");
    assert_eq!(error.field, "burst");
}

/// Tokens of a class in bytes, which may be owed.
#[derive(Clone)]
struct Tokens {
    rate: Ratio,
    buffer: Ratio,
    tokens: Ratio,
    checked: u64,
}

impl Tokens {
    fn new(rate: BitRate, buffer: Bytes) -> Self {
        let rate = Ratio::new(i128::from(rate.bits_per_sec()), 8_000_000_000);
        let buffer = Ratio::from(buffer.0);
        Self { rate, buffer, tokens: buffer, checked: 0 }
    }

    fn at(&self, now: u64) -> Ratio {
        self.buffer.min(self.tokens + self.rate * Ratio::from(now - self.checked))
    }

    fn account(&mut self, now: u64, bytes: u64) {
        self.tokens = self.at(now) - Ratio::from(bytes);
        self.checked = now;
    }

    fn are_there(&self, now: u64) -> bool {
        self.at(now) >= Ratio::from(0)
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Mode {
    CanSend,
    MayBorrow,
    CantSend,
}

#[derive(Clone)]
struct Leaf {
    of: HtbClass,
    tokens: Tokens,
    ctokens: Tokens,
    mode: Mode,
    active: bool,
    /// By level.
    deficit: [i64; 2],
}

/// A tree of class numbers with its pointer, and what it pointed to last.
#[derive(Clone, Default)]
struct Row {
    ids: BTreeSet<usize>,
    ptr: Option<usize>,
    last_ptr_id: Option<usize>,
}

impl Row {
    fn next(&self, id: usize) -> Option<usize> {
        self.ids.range(id + 1..).next().copied()
    }

    fn lookup(&mut self) -> usize {
        if let (None, Some(id)) = (self.ptr, self.last_ptr_id) {
            self.ptr = self.ids.range(id..).next().copied();
        }
        self.last_ptr_id = None;
        let leaf = self.ptr.or_else(|| self.ids.first().copied()).expect("a row that is not empty");
        self.ptr = Some(leaf);
        leaf
    }
}

/// Linux's HTB with leaves under one class: rows of leaves that can send and feeds of those that may borrow, by priority.
#[derive(Clone)]
struct Linux {
    parent: Tokens,
    leaves: Vec<Leaf>,
    /// By level: the row, the feed of the parent.
    rows: [[Row; 8]; 2],
}

impl Linux {
    fn new(parent: BitRate, burst: Bytes, classes: &[HtbClass]) -> Self {
        let leaf = |of: &HtbClass| Leaf {
            of: *of,
            tokens: Tokens::new(of.rate, of.burst),
            ctokens: Tokens::new(of.ceil, of.cburst),
            mode: Mode::CanSend,
            active: false,
            deficit: [0; 2],
        };
        let leaves = classes.iter().map(leaf).collect();
        Self { parent: Tokens::new(parent, burst), leaves, rows: Default::default() }
    }

    fn row(&mut self, id: usize) -> Option<(usize, &mut Row)> {
        let leaf = &self.leaves[id];
        let level = match leaf.mode {
            Mode::CanSend => 0,
            Mode::MayBorrow => 1,
            Mode::CantSend => return None,
        };
        Some((level, &mut self.rows[level][usize::from(leaf.of.priority)]))
    }

    fn activate_prios(&mut self, id: usize) {
        if let Some((_, row)) = self.row(id) {
            row.ids.insert(id);
        }
    }

    fn deactivate_prios(&mut self, id: usize) {
        if let Some((level, row)) = self.row(id) {
            if row.ptr == Some(id) {
                if level == 0 {
                    row.ptr = row.next(id);
                } else {
                    (row.ptr, row.last_ptr_id) = (None, Some(id));
                }
            }
            row.ids.remove(&id);
        }
    }

    fn change_class_mode(&mut self, now: u64, id: usize) {
        let leaf = &self.leaves[id];
        let mode = match (leaf.ctokens.are_there(now), leaf.tokens.are_there(now)) {
            (false, _) => Mode::CantSend,
            (true, true) => Mode::CanSend,
            (true, false) => Mode::MayBorrow,
        };
        if mode == leaf.mode {
            return;
        }
        if leaf.active {
            self.deactivate_prios(id);
        }
        self.leaves[id].mode = mode;
        if self.leaves[id].active {
            self.activate_prios(id);
        }
    }

    fn activate(&mut self, id: usize) {
        if !self.leaves[id].active {
            self.leaves[id].active = true;
            self.activate_prios(id);
        }
    }

    fn deactivate(&mut self, id: usize) {
        if self.leaves[id].active {
            self.deactivate_prios(id);
            self.leaves[id].active = false;
        }
    }

    /// The level and the class that is served now.
    fn dequeue(&mut self, now: u64) -> Option<(usize, usize)> {
        (0..self.leaves.len()).for_each(|id| self.change_class_mode(now, id));
        let lends = self.parent.are_there(now);
        for (level, prios) in self.rows.iter_mut().enumerate().take(if lends { 2 } else { 1 }) {
            if let Some(row) = prios.iter_mut().find(|row| !row.ids.is_empty()) {
                return Some((level, row.lookup()));
            }
        }
        None
    }

    fn charge(&mut self, now: u64, level: usize, id: usize, len: u64) {
        let leaf = &mut self.leaves[id];
        leaf.deficit[level] -= len.cast_signed();
        if leaf.deficit[level] < 0 {
            leaf.deficit[level] += leaf.of.quantum.0.cast_signed();
            let row = &mut self.rows[level][usize::from(leaf.of.priority)];
            row.ptr = row.next(id);
        }
        if level == 0 {
            leaf.tokens.account(now, len);
        }
        leaf.ctokens.account(now, len);
        self.parent.account(now, len);
        self.change_class_mode(now, id);
    }
}

/// Asks Linux as well.
struct Checked {
    htb: Htb,
    linux: Linux,
    level: usize,
}

impl Scheduler for Checked {
    fn on_enqueued(&mut self, now: Instant, class: ClassId, meta: &Meta) {
        self.linux.activate(usize::from(class.0));
        self.htb.on_enqueued(now, class, meta);
    }

    fn on_emptied(&mut self, now: Instant, class: ClassId) {
        self.linux.deactivate(usize::from(class.0));
        self.htb.on_emptied(now, class);
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let answer = self.htb.select(now, heads);
        let theirs = self.linux.dequeue(now.as_nanos());
        let later = |ns| self.linux.clone().dequeue(ns).is_some();
        match (answer, theirs) {
            (Select::Serve(id), Some((level, leaf))) => {
                assert_eq!(usize::from(id.0), leaf, "at {now}");
                self.level = level;
            }
            (Select::NotBefore(at), None) => {
                assert!(!later(at.as_nanos() - 1) && later(at.as_nanos()), "not before {at} at {now}");
            }
            (Select::Idle, None) => assert!(self.linux.leaves.iter().all(|leaf| !leaf.active)),
            _ => panic!("{answer:?} at {now}, but {theirs:?}"),
        }
        answer
    }

    fn on_served(&mut self, now: Instant, class: ClassId, served: &Meta) {
        self.linux.charge(now.as_nanos(), self.level, usize::from(class.0), served.len.0);
        self.htb.on_served(now, class, served);
    }
}

/// Up to four classes that fit a parent of 8 Mbit/s, or of a rate that does not divide a nanosecond.
fn tree() -> impl Strategy<Value = (u64, Vec<HtbClass>)> {
    let bytes = || prop_oneof![Just(1u64), 1u64..6000];
    let one = (10_000u64..2_000_000, 1u64..8, bytes(), bytes(), 0u8..3, bytes());
    let one = one.prop_map(|(bits, times, burst, cburst, priority, quantum)| HtbClass {
        rate: rate(bits),
        ceil: rate(bits * times),
        burst: Bytes(burst),
        cburst: Bytes(cburst),
        priority,
        quantum: Bytes(quantum),
    });
    (prop_oneof![Just(8_000_000u64), 8_000_000u64..9_000_000], prop::collection::vec(one, 1..5))
}

/// Bursts and gaps, from far below the rates to far above.
fn traffic(classes: u8) -> impl Strategy<Value = Vec<Passage>> {
    let gap = prop_oneof![Just(0u64), 0u64..2_000_000, 0u64..50_000_000];
    let len = prop_oneof![Just(LONGEST), Just(40), 1..=LONGEST];
    prop::collection::vec((gap, 0..classes, len, 1usize..12), 1..40).prop_map(|batches| {
        let mut at = 0;
        let passages = batches.into_iter().flat_map(move |(gap, class, len, packets)| {
            at += gap;
            vec![Passage { at: Instant::from_nanos(at), class, len }; packets]
        });
        passages.collect()
    })
}

const LATER: Instant = Instant::from_nanos(10_000_000_000_000);

#[test]
fn equals_linux_in_exact_fractions_for_any_arrivals() {
    check(&(tree(), traffic(4)), |((parent, classes), mut arrivals)| {
        let count = u8::try_from(classes.len()).expect("few");
        arrivals.iter_mut().for_each(|one| one.class %= count);
        let (parent, burst) = (rate(parent), Bytes(1500));
        let htb = Htb::new(parent, burst, &classes).expect("they fit");
        let linux = Linux::new(parent, burst, &classes);
        let left = departures(Box::new(Checked { htb, linux, level: 0 }), count, LINK, &arrivals, LATER);
        assert_eq!(left.len(), arrivals.len(), "all leave");
    });
}

/// Over any time a class gets at most its ceiling times that, its `cburst` and a packet; all together at most the parent's
/// rate times that, and the bursts and a packet of each.
#[test]
fn no_more_leaves_than_the_ceilings_and_the_parent_let_through() {
    check(&(tree(), traffic(4)), |((parent, classes), mut arrivals)| {
        let count = u8::try_from(classes.len()).expect("few");
        arrivals.iter_mut().for_each(|one| one.class %= count);
        let htb = Htb::new(rate(parent), Bytes(1500), &classes).expect("they fit");
        let left = departures(Box::new(htb), count, LINK, &arrivals, LATER);
        let within = |of: &dyn Fn(&Passage) -> bool, bits: u64, bytes: u64| {
            let (mut sent, mut least) = (0i128, i128::MAX);
            for one in left.iter().filter(|one| of(one)) {
                let allowed = i128::from(one.at.as_nanos()) * i128::from(bits);
                least = least.min(sent - allowed);
                sent += i128::from(one.len) * 8_000_000_000;
                assert!(sent - allowed - least <= i128::from(bytes) * 8_000_000_000, "at {}", one.at);
            }
        };
        let mut all = 1500 + LONGEST;
        for (class, of) in (0..).zip(&classes) {
            within(&|one| one.class == class, of.ceil.bits_per_sec(), of.cburst.0 + LONGEST);
            all += of.burst.0 + LONGEST;
        }
        within(&|_| true, parent, all);
    });
}
