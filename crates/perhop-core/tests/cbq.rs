//! Class-based queueing: by hand, against the rules in exact fractions, and the properties that decision 0016 states.

use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{Cbq, CbqClass, Heads, Scheduler, Select};
use perhop_core::time::{Instant, Span};
use perhop_core::units::BitRate;
use perhop_testkit::check;
use perhop_testkit::exact_schedulers::{LinkClass, LinkShares, Permitted};
use perhop_testkit::link::{Passage, departures};
use proptest::prelude::*;

const RATE: u64 = 10_000_000;
/// 1500 bytes take 1.2 ms on the link.
const LINK: BitRate = BitRate::new(RATE).expect("not zero");
const LONGEST: u64 = 1500;

const fn us(us: u64) -> Instant {
    Instant::from_nanos(us * 1000)
}

fn cbq(classes: &[CbqClass]) -> Cbq {
    Cbq::new(LINK, classes).expect("shares that fit the link")
}

fn run(classes: &[CbqClass], arrivals: &[Passage], until: Instant) -> Vec<Passage> {
    let count = u8::try_from(classes.len()).expect("few classes");
    departures(Box::new(cbq(classes)), count, LINK, arrivals, until)
}

/// `packets` of 1500 bytes that wait from the start.
fn waiting(class: u8, packets: usize) -> Vec<Passage> {
    vec![Passage { at: Instant::ZERO, class, len: LONGEST }; packets]
}

/// When packets of `class` begin to leave, in µs.
fn times(left: &[Passage], class: u8) -> Vec<u64> {
    left.iter().filter(|p| p.class == class).map(|p| p.at.as_nanos() / 1000).collect()
}

fn bits(left: &[Passage], class: u8) -> u64 {
    left.iter().filter(|p| p.class == class).map(|p| p.len * 8).sum()
}

const SECONDS: u64 = 1_000_000;
const BOUNDED: CbqClass = CbqClass { bounded: true, ..CbqClass::new(0.2) };

//= test floyd1995-3-bounded
//= test floyd1995-A-idle
#[test]
fn a_bounded_class_sends_at_its_share_of_an_idle_link() {
    let left = run(&[BOUNDED], &waiting(0, 5), us(SECONDS));
    assert_eq!(times(&left, 0), [0, 6000, 12_000, 18_000, 24_000], "1500 bytes at 2 Mbit/s");
}

#[test]
fn a_bounded_class_wakes_to_the_nanosecond_and_never_drifts() {
    let third = CbqClass { bounded: true, ..CbqClass::new(1.0 / 3.0) };
    let left = run(&[third], &waiting(0, 100_000), us(1000 * SECONDS));
    // a third is 333,333,333 parts of 10^9: packet n leaves at the first whole ns from n * 12000 bit / that rate on
    let rate = 333_333_333u128 * u128::from(RATE);
    for (number, packet) in left.iter().enumerate() {
        let due = (number as u128 * 12_000_000_000_000_000_000_000).div_ceil(rate);
        assert_eq!(u128::from(packet.at.as_nanos()), due, "packet {number}");
    }
    assert_eq!(left.len(), 100_000);
}

//= test floyd1995-A-maxidle
#[test]
fn idle_time_buys_a_burst_up_to_maxidle() {
    // three packets of 1.2 ms each cost 4.8 ms of idle time more than they take
    let saver = CbqClass { maxidle: Span::from_micros(3 * 4800), ..BOUNDED };
    let later: Vec<Passage> = waiting(0, 7).iter().map(|p| Passage { at: us(500_000), ..*p }).collect();
    let left = run(&[saver], &later, us(SECONDS));
    let after: Vec<u64> = times(&left, 0).iter().map(|t| t - 500_000).collect();
    assert_eq!(after, [0, 1200, 2400, 3600, 9600, 15_600, 21_600]);
}

#[test]
fn idle_time_counts_against_maxidle_wherever_it_began() {
    // the class runs empty while the link idles, and nothing asks the scheduler until the next arrival
    let mut arrivals = waiting(0, 1);
    arrivals.extend(waiting(0, 2).iter().map(|p| Passage { at: us(100_000), ..*p }));
    let left = run(&[BOUNDED], &arrivals, us(SECONDS));
    assert_eq!(times(&left, 0), [0, 100_000, 106_000]);
}

//= test floyd1995-A-offtime
#[test]
fn offtime_makes_bursts_of_the_same_rate() {
    let bursty = CbqClass { offtime: Span::from_micros(2 * 4800), ..BOUNDED };
    let left = run(&[bursty], &waiting(0, 8), us(SECONDS));
    // due at 6 ms, off until 15.6 ms: three packets fit, then it is again beyond its share
    let bursts = [0, 15_600, 16_800, 18_000, 33_600, 34_800, 36_000, 51_600];
    assert_eq!(times(&left, 0), bursts);
    assert_eq!(bursts[7] - bursts[4], 3 * 6000, "2 Mbit/s");
}

//= test floyd1995-A-minidle
#[test]
fn what_was_borrowed_is_paid_back_up_to_minidle() {
    let other = |at| Passage { at: us(at), class: 1, len: LONGEST };
    // class 0 borrows for 100 ms, then both want the link: 20 packets of class 1 are within its share at 8 Mbit/s
    let arrivals: Vec<Passage> = [waiting(0, 200), vec![other(100_000); 40]].concat();
    let resumes = |minidle| {
        let borrower = CbqClass { minidle, ..CbqClass::new(0.2) };
        let half = CbqClass { maxidle: Span::from_millis(50), ..CbqClass::new(0.8) };
        let left = run(&[borrower, half], &arrivals, us(SECONDS));
        times(&left, 0).into_iter().find(|&t| t > 101_000).expect("it has more to send")
    };
    // the last packet that it borrowed left at 99.6 ms; 6 ms later it is within its share again
    assert_eq!(resumes(Span::ZERO), 105_600);
    assert_eq!(resumes(Span::from_micros(12_000)), 117_600);
}

/// Without a gain the third packet of class 0 would leave 18 ms of use behind, which are over at 18 ms.
//= test floyd1995-A-average
//= test floyd1995-A-minidle
#[test]
fn with_a_gain_what_was_borrowed_is_forgotten_too() {
    // class 0 borrows for two packets of 6 ms at its share, then class 1 is within its own for 10 ms and more
    let other = Passage { at: us(3500), class: 1, len: LONGEST };
    let arrivals = [waiting(0, 4), vec![other; 40]].concat();
    let resumes = |gain, minidle_us| {
        let borrower = CbqClass { gain, minidle: Span::from_micros(minidle_us), ..CbqClass::new(0.2) };
        let half = CbqClass { maxidle: Span::from_millis(50), ..CbqClass::new(0.8) };
        let left = run(&[borrower, half], &arrivals, us(SECONDS));
        let times = times(&left, 0);
        assert_eq!(times[..3], [0, 1200, 2400]);
        times[3]
    };
    let whole = 1_000_000;
    assert_eq!(resumes(None, whole), 18_000);
    // at 1.2 ms 4.8 are owed: half of that and 6, at 2.4 ms 7.2: half of that and 6, until 12
    assert_eq!(resumes(Some(1), whole), 12_000);
    // at 2.4 ms 7.2: three quarters of 3.6 + 6 - 1.2 = 8.4, that is 6.3, and 6, until 14.7: the link is free at 15.6
    assert_eq!(resumes(Some(2), whole), 15_600);
    // 3 ms of debt at most, and half of that is forgotten: until 2.4 + 1.5 + 6 = 9.9
    assert_eq!(resumes(Some(1), 3000), 10_800);
    assert_eq!(resumes(None, 3000), 12_000, "2.4 + 3 + 6 = 11.4");
}

/// The average of the paper in floating point, and the wait that keeps it from falling below zero.
//= test floyd1995-A-average
#[test]
fn with_a_gain_the_estimator_is_the_papers_average() {
    let arrival = (0u64..30_000, 40u64..=LONGEST);
    check(&(0u8..6, prop::collection::vec(arrival, 1..60)), |(n, gaps)| {
        let mut at = 0;
        let arrivals: Vec<Passage> = gaps
            .into_iter()
            .map(|(gap, len)| {
                at += gap;
                Passage { at: us(at), class: 0, len }
            })
            .collect();
        let class = CbqClass { gain: Some(n), maxidle: Span::from_secs(1000), ..BOUNDED };
        let left = run(&[class], &arrivals, us(100 * SECONDS));
        assert_eq!(left.len(), arrivals.len());
        let weight = 1.0 / f64::from(1u32 << n);
        let (mut avgidle, mut last, mut free): (f64, Option<(f64, f64)>, f64) = (0.0, None, 0.0);
        for (arrived, sent) in arrivals.iter().zip(&left) {
            let ready = free.max(ns(arrived.at));
            // (1 - w) avgidle + w (t - last - s/r) is 0 at the earliest
            let due = last.map_or(0.0, |(start, time)| start + time - (1.0 - weight) / weight * avgidle);
            let at = ns(sent.at);
            assert!((at - ready.max(due)).abs() < 2.0, "left at {at}, ready {ready}, due {due}");
            if let Some((start, time)) = last {
                avgidle = (1.0 - weight) * avgidle + weight * (at - start - time);
            } else {
                avgidle = weight * at;
            }
            let bits = 8.0 * u32::try_from(sent.len).map(f64::from).expect("short");
            last = Some((at, bits * 500.0));
            free = at + bits * 100.0;
        }
    });
}

fn ns(at: Instant) -> f64 {
    at.as_secs_f64() * 1e9
}

//= test floyd1995-3-general
//= test floyd1995-3-unsatisfied
#[test]
fn priority_decides_among_those_within_their_shares() {
    let urgent = CbqClass { maxidle: Span::from_millis(20), ..CbqClass::new(0.3) };
    let rest = CbqClass { priority: 1, maxidle: Span::from_millis(20), ..CbqClass::new(0.7) };
    let at = |class| Passage { at: us(SECONDS), class, len: LONGEST };
    let arrivals: Vec<Passage> = [vec![at(1); 50], vec![at(0); 50]].concat();
    let left = run(&[urgent, rest], &arrivals, us(2 * SECONDS));
    // 1500 bytes cost 4 ms at 3 Mbit/s and take 1.2: with 20 ms saved up, eight are within the share
    let order: Vec<u8> = left.iter().take(9).map(|p| p.class).collect();
    assert_eq!(order, [0, 0, 0, 0, 0, 0, 0, 0, 1]);
}

//= test floyd1995-2-excess
#[test]
fn what_is_left_over_is_shared_in_proportion() {
    let classes = [CbqClass::new(0.1), CbqClass::new(0.3), CbqClass::new(0.6)];
    let arrivals = [waiting(0, 10_000), waiting(1, 10_000)].concat();
    let left = run(&classes, &arrivals, us(10 * SECONDS));
    let (one, three) = (bits(&left, 0), bits(&left, 1));
    assert!(three.abs_diff(3 * one) <= 4 * LONGEST * 8, "{one} and {three} bits");
    assert!(one + three >= RATE * 10, "the link was busy");
}

//= test floyd1995-3-isolated
#[test]
fn the_share_of_an_isolated_class_is_not_lent() {
    let apart = CbqClass { isolated: true, ..CbqClass::new(0.4) };
    let classes = [apart, CbqClass::new(0.2), CbqClass::new(0.4)];
    let left = run(&classes, &waiting(1, 10_000), us(10 * SECONDS));
    assert!(bits(&left, 1).abs_diff(RATE * 10 * 6 / 10) <= 2 * LONGEST * 8, "{}", bits(&left, 1));
    // the isolated class itself may borrow what others leave, but not more than the whole link
    let left = run(&classes, &waiting(0, 10_000), us(10 * SECONDS));
    assert!(bits(&left, 0) >= RATE * 10, "{}", bits(&left, 0));
    let both = CbqClass { bounded: true, ..apart };
    let left = run(
        &[both, CbqClass::new(0.6)],
        &[waiting(0, 10_000), waiting(1, 10_000)].concat(),
        us(10 * SECONDS),
    );
    assert!(bits(&left, 0).abs_diff(RATE * 10 * 4 / 10) <= 2 * LONGEST * 8, "{}", bits(&left, 0));
    assert!(bits(&left, 0) + bits(&left, 1) >= RATE * 10, "no gaps where all want their shares");
}

/// An assured class of 2 of 10 Mbit/s beside a flood of best effort: its rate over a minute, as a part of 2 Mbit/s.
fn assured_rate(gain: Option<u8>, len: u64) -> f64 {
    let classes = [CbqClass { gain, ..BOUNDED }, CbqClass::new(0.8)];
    let seconds = 60;
    let many = |class, len, bytes: u64| {
        let packets = usize::try_from(bytes / len + 1).expect("fits");
        vec![Passage { at: Instant::ZERO, class, len }; packets]
    };
    let arrivals = [many(0, len, seconds * RATE / 32), many(1, 1472, seconds * RATE / 8)].concat();
    let left = run(&classes, &arrivals, us(seconds * SECONDS));
    let total = bits(&left, 0) + bits(&left, 1);
    assert!(total >= seconds * RATE, "the link was busy");
    f64::from(u32::try_from(bits(&left, 0) / 1000).expect("fits")) * 1000.0 / 2e6 / 60.0
}

#[test]
fn an_assured_class_gets_its_2_mbits_beside_a_flood() {
    for len in [40, 552, 1024, 1500] {
        let rate = assured_rate(None, len);
        assert!((rate - 1.0).abs() < 0.0002, "{len} bytes: {rate}");
    }
    // the average forgets idle time that it waited behind others' packets: the shorter its own, the more
    for (len, rate) in [(40, 0.815), (552, 0.985), (1500, 0.994)] {
        let forgets = assured_rate(Some(4), len);
        assert!((forgets - rate).abs() < 0.001, "{len} bytes: {forgets}");
    }
}

/// Asks the rules in exact fractions as well.
struct Checked {
    cbq: Cbq,
    rules: LinkShares,
}

impl Scheduler for Checked {
    fn on_enqueued(&mut self, now: Instant, class: ClassId, meta: &Meta) {
        self.rules.arrived(now.as_nanos(), usize::from(class.0));
        self.cbq.on_enqueued(now, class, meta);
    }

    fn on_emptied(&mut self, now: Instant, class: ClassId) {
        self.rules.emptied(usize::from(class.0));
        self.cbq.on_emptied(now, class);
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let answer = self.cbq.select(now, heads);
        match (answer, self.rules.permitted(now.as_nanos())) {
            (Select::Serve(id), Permitted::OneOf(ids)) if ids.contains(&usize::from(id.0)) => {}
            (Select::NotBefore(at), Permitted::Wait(ns)) if at.as_nanos() == ns => {}
            (Select::Idle, Permitted::Idle) => {}
            (_, permitted) => panic!("{answer:?} at {now}, but {permitted:?}"),
        }
        answer
    }

    fn on_served(&mut self, now: Instant, class: ClassId, served: &Meta) {
        self.rules.served(now.as_nanos(), usize::from(class.0), served.len.0);
        self.cbq.on_served(now, class, served);
    }
}

/// Up to four classes whose shares fit the link.
fn link_classes() -> impl Strategy<Value = Vec<LinkClass>> {
    let times = (0u64..20_000_000, 0u64..10_000_000, 0u64..20_000_000);
    let some = |most: u64| prop_oneof![Just(0), 0..most];
    let class =
        (1u64..=4, any::<bool>(), prop::bool::weighted(0.3), 0u8..2, times, some(2), some(2), some(2));
    let class = class.prop_map(|(tenths, bounded, isolated, priority, times, saves, owes, off)| LinkClass {
        tenths,
        bounded,
        isolated,
        priority,
        maxidle: times.0 * saves,
        minidle: times.1 * owes,
        offtime: if bounded { times.2 * off } else { 0 },
    });
    prop::collection::vec(class, 1..5)
        .prop_filter("more than the link", |classes| classes.iter().map(|c| c.tenths).sum::<u64>() <= 10)
}

/// Bursts and gaps, from far below the rate of the link to far above.
fn traffic() -> impl Strategy<Value = Vec<(u64, u8, u64, usize)>> {
    let gap = prop_oneof![Just(0u64), 0u64..2_000_000, 0u64..100_000_000];
    let len = prop_oneof![Just(LONGEST), Just(40), 1..=LONGEST];
    prop::collection::vec((gap, 0u8..4, len, 1usize..20), 1..60)
}

fn passages(traffic: &[(u64, u8, u64, usize)], classes: usize) -> Vec<Passage> {
    let classes = u8::try_from(classes).expect("few");
    let mut at = 0;
    let mut arrivals = Vec::new();
    for &(gap, class, len, packets) in traffic {
        at += gap;
        let one = Passage { at: Instant::from_nanos(at), class: class % classes, len };
        arrivals.extend(std::iter::repeat_n(one, packets));
    }
    arrivals
}

fn built(classes: &[LinkClass]) -> Cbq {
    let class = |c: &LinkClass| CbqClass {
        share: f64::from(u32::try_from(c.tenths).expect("few")) / 10.0,
        bounded: c.bounded,
        isolated: c.isolated,
        priority: c.priority,
        maxidle: Span::from_nanos(c.maxidle),
        minidle: Span::from_nanos(c.minidle),
        offtime: Span::from_nanos(c.offtime),
        gain: None,
    };
    cbq(&classes.iter().map(class).collect::<Vec<_>>())
}

#[test]
fn equals_the_rules_in_exact_fractions_for_any_arrivals() {
    check(&(link_classes(), traffic()), |(classes, traffic)| {
        let checked = Checked { cbq: built(&classes), rules: LinkShares::new(RATE, &classes) };
        let arrivals = passages(&traffic, classes.len());
        let count = u8::try_from(classes.len()).expect("few");
        let left = departures(Box::new(checked), count, LINK, &arrivals, Instant::from_nanos(u64::MAX - 1));
        assert_eq!(left.len(), arrivals.len(), "all leave in the end");
    });
}

/// Lead of a class over the fluid of its share, in parts of a bit: bits that left times 10^10 less tenths * rate * time.
struct Leads {
    tenths: i128,
    served: i128,
    /// Least lead since it began to wait, and least lead ever.
    most_since: i128,
    least_ever: i128,
}

impl Leads {
    fn lead(&self, ns: u64) -> i128 {
        self.served * 10_000_000_000 - self.tenths * i128::from(RATE) * i128::from(ns)
    }
}

/// E of decision 0016, in the same parts of a bit: one longest packet for whoever is in the way, and for each class
/// one more and what it may save up.
fn allowance(classes: &[LinkClass]) -> i128 {
    let packet = i128::from(LONGEST) * 8 * 10_000_000_000;
    let saved = |c: &LinkClass| i128::from(c.tenths) * i128::from(RATE) * i128::from(c.maxidle + c.offtime);
    packet + classes.iter().map(|c| packet + saved(c)).sum::<i128>()
}

/// Over any interval in which it waits, a class gets its share less E; a bounded class never gets more than its share
/// and E. (All intervals at once: how far the lead ever falls or rises.)
//= test floyd1995-2-share
#[test]
fn every_class_that_waits_gets_its_share_and_a_bounded_one_no_more() {
    check(&(link_classes(), traffic()), |(classes, traffic)| {
        let arrivals = passages(&traffic, classes.len());
        let count = u8::try_from(classes.len()).expect("few");
        let left =
            departures(Box::new(built(&classes)), count, LINK, &arrivals, Instant::from_nanos(u64::MAX - 1));
        let allowance = allowance(&classes);
        for (class, index) in classes.iter().zip(0u8..) {
            let mine = |p: &&Passage| p.class == index;
            let mut came = arrivals.iter().filter(mine).map(|p| p.at.as_nanos()).peekable();
            let mut leads =
                Leads { tenths: i128::from(class.tenths), served: 0, most_since: 0, least_ever: 0 };
            let (mut waiting, mut since) = (0u64, 0u64);
            for packet in left.iter().filter(mine) {
                let now = packet.at.as_nanos();
                while let Some(&at) = came.peek().filter(|&&at| at <= now) {
                    if waiting == 0 {
                        (since, leads.most_since) = (at, leads.lead(at));
                        leads.least_ever = leads.least_ever.min(leads.lead(at));
                    }
                    waiting += 1;
                    came.next();
                }
                // it waited from `since` to now; just before it is served its lead is least
                let lead = leads.lead(now);
                let owed = i128::from(class.tenths) * i128::from(RATE) * i128::from(class.minidle);
                assert!(
                    leads.most_since - lead <= allowance + owed,
                    "class {index} waits from {since} to {now} and is {} behind, with {allowance}",
                    leads.most_since - lead
                );
                leads.least_ever = leads.least_ever.min(lead);
                leads.served += i128::from(packet.len * 8);
                waiting -= 1;
                leads.most_since = leads.most_since.max(leads.lead(now));
                if class.bounded {
                    let ahead = leads.lead(now) - leads.least_ever;
                    assert!(ahead <= allowance, "class {index} is {ahead} ahead at {now}, with {allowance}");
                }
            }
        }
    });
}

/// Together they get what is not isolated, and E, however little the isolated ones want.
//= test floyd1995-3-isolated
#[test]
fn classes_that_borrow_never_get_what_is_isolated() {
    check(&(link_classes(), traffic()), |(classes, traffic)| {
        let arrivals = passages(&traffic, classes.len());
        let count = u8::try_from(classes.len()).expect("few");
        let left =
            departures(Box::new(built(&classes)), count, LINK, &arrivals, Instant::from_nanos(u64::MAX - 1));
        let isolated: u64 = classes.iter().filter(|c| c.isolated).map(|c| c.tenths).sum();
        let tenths = i128::from(10 - isolated);
        let mut leads = Leads { tenths, served: 0, most_since: 0, least_ever: 0 };
        for packet in left.iter().filter(|p| !classes[usize::from(p.class)].isolated) {
            let now = packet.at.as_nanos();
            leads.least_ever = leads.least_ever.min(leads.lead(now));
            leads.served += i128::from(packet.len * 8);
            assert!(leads.lead(now) - leads.least_ever <= allowance(&classes), "at {now}");
        }
    });
}

/// Where nothing is bounded and nothing isolated, the link works while anything waits.
//= test floyd1995-2-excess
#[test]
fn the_link_is_never_idle_where_all_may_borrow() {
    check(&(link_classes(), traffic()), |(classes, traffic)| {
        let lends = |c: &LinkClass| LinkClass { bounded: false, isolated: false, offtime: 0, ..*c };
        let classes: Vec<LinkClass> = classes.iter().map(lends).collect();
        let arrivals = passages(&traffic, classes.len());
        let count = u8::try_from(classes.len()).expect("few");
        let left =
            departures(Box::new(built(&classes)), count, LINK, &arrivals, Instant::from_nanos(u64::MAX - 1));
        let mut free = 0;
        for (packet, came) in left.iter().zip(work_conserving(&arrivals, &left)) {
            assert_eq!(packet.at.as_nanos(), came.max(free), "idle although packets wait");
            free = packet.at.as_nanos() + packet.len * 800;
        }
    });
}

/// When the first of the packets that have not left by then came, for each departure.
fn work_conserving<'a>(arrivals: &'a [Passage], left: &'a [Passage]) -> impl Iterator<Item = u64> + 'a {
    let mut came: Vec<Vec<u64>> = vec![Vec::new(); 4];
    for p in arrivals.iter().rev() {
        came[usize::from(p.class)].push(p.at.as_nanos());
    }
    left.iter().map(move |p| {
        let first = came.iter().filter_map(|c| c.last()).min().copied().unwrap_or(0);
        came[usize::from(p.class)].pop();
        first
    })
}

#[test]
fn refuses_what_it_cannot_guarantee() {
    let refused = |classes: &[CbqClass]| Cbq::new(LINK, classes).expect_err("impossible").field;
    for share in [0.0, -0.1, 1.1, 1e-10, f64::NAN, f64::INFINITY] {
        assert_eq!(refused(&[CbqClass::new(share)]), "share", "{share}");
    }
    assert_eq!(refused(&[CbqClass::new(9e-8)]), "share", "less than 1 bit/s");
    assert_eq!(refused(&[]), "share");
    assert_eq!(refused(&[CbqClass::new(0.5), CbqClass::new(0.6)]), "share");
    assert_eq!(refused(&[CbqClass { gain: Some(63), ..CbqClass::new(0.5) }]), "gain");
    assert_eq!(refused(&[CbqClass { offtime: Span::from_millis(1), ..CbqClass::new(0.5) }]), "offtime");
    for parts in 1..=20u8 {
        let equal = vec![CbqClass::new(1.0 / f64::from(parts)); usize::from(parts)];
        assert!(Cbq::new(LINK, &equal).is_ok(), "{parts} equal shares fit");
    }
}
