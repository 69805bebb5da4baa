//! A port behind a token bucket: by hand, against the bucket in exact fractions, and the bound that it promises.

use perhop_core::framing::Framing;
use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{
    Cbq, CbqClass, Drr, Heads, Scheduler, Select, Shaped, ShapedParams, StrictPriority, Wfq,
};
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

const fn bytes(burst: u64) -> ShapedParams {
    const PLAIN: Framing = Framing { overhead: Bytes(0), mpu: Bytes(0) };
    ShapedParams { rate: rate(2_000_000), burst: Bytes(burst), framing: PLAIN }
}

fn shaped(params: ShapedParams, scheduler: Box<dyn Scheduler>) -> Box<dyn Scheduler> {
    Box::new(Shaped::new(params, scheduler).expect("a burst that can be counted"))
}

/// When packets of `len` that wait from the start begin to leave, in µs.
fn times(params: ShapedParams, len: u64) -> Vec<u64> {
    let waiting = vec![Passage { at: Instant::ZERO, class: 0, len }; 5];
    let until = Instant::from_nanos(1_000_000_000);
    let left = departures(shaped(params, Box::new(StrictPriority)), 1, LINK, &waiting, until);
    left.iter().map(|passage| passage.at.as_nanos() / 1000).collect()
}

#[test]
fn packets_leave_at_the_rate_after_a_burst_at_the_links() {
    assert_eq!(times(bytes(1500), 1500), [0, 6000, 12_000, 18_000, 24_000]);
    // 4500 are there, and 300 come while a packet leaves: 600 are left after three
    assert_eq!(times(bytes(4500), 1500), [0, 1200, 2400, 6000, 12_000]);
}

#[test]
fn a_packet_longer_than_the_burst_waits_for_a_full_bucket() {
    assert_eq!(times(bytes(1000), 1500), [0, 6000, 12_000, 18_000, 24_000]);
}

#[test]
fn packets_count_with_their_overhead_and_not_less_than_the_least() {
    let framing = Framing { overhead: Bytes(18), mpu: Bytes(64) };
    assert_eq!([40, 46, 47, 1500].map(|len| framing.on_line(Bytes(len)).0), [64, 64, 65, 1518]);
    assert_eq!(framing.on_line(Bytes(u64::MAX)), Bytes(u64::MAX));
    let params = ShapedParams { framing, ..bytes(64) };
    assert_eq!(times(params, 40), [0, 256, 512, 768, 1024]);
}

#[test]
fn a_burst_of_nothing_is_refused() {
    for burst in [0, u64::MAX] {
        let refused = Shaped::new(bytes(burst), Box::new(StrictPriority)).err().expect("refused");
        assert_eq!(refused.field, "burst");
    }
}

#[test]
fn a_packet_that_comes_while_another_waits_may_go_first() {
    let at = |ns| Instant::from_nanos(ns);
    let long = Passage { at: at(0), class: 1, len: 1500 };
    let arrivals = [long, long, Passage { at: at(3_000_000), class: 0, len: 500 }];
    let scheduler = shaped(bytes(1500), Box::new(StrictPriority));
    let left = departures(scheduler, 2, LINK, &arrivals, at(1_000_000_000));
    // 750 bytes are there at 3 ms, enough for the short one; 250 are left
    assert_eq!(left.iter().map(|one| one.class).collect::<Vec<_>>(), [1, 0, 1]);
    assert_eq!(left.iter().map(|one| one.at.as_nanos()).collect::<Vec<_>>(), [0, 3_000_000, 8_000_000]);
}

/// Asks the bucket in exact fractions as well: bytes of credit that grow up to the burst, and may be owed.
struct Checked {
    shaped: Box<dyn Scheduler>,
    framing: Framing,
    /// Bytes in a nanosecond.
    rate: Ratio,
    burst: Ratio,
    credit: Ratio,
    at: u64,
}

impl Checked {
    fn new(params: ShapedParams) -> Self {
        let burst = Ratio::from(params.burst.0);
        let rate = Ratio::new(i128::from(params.rate.bits_per_sec()), 8_000_000_000);
        let shaped = shaped(params, Box::new(StrictPriority));
        Self { shaped, framing: params.framing, rate, burst, credit: burst, at: 0 }
    }

    fn credit(&self, now: u64) -> Ratio {
        self.burst.min(self.credit + self.rate * Ratio::from(now - self.at))
    }
}

impl Scheduler for Checked {
    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let answer = self.shaped.select(now, heads);
        let first = (0..heads.classes()).map(ClassId).find_map(|id| Some((id, heads.head(id)?.len)));
        let needed = first.map(|(_, len)| Ratio::from(self.framing.on_line(len).0).min(self.burst));
        let goes = |ns| needed.is_some_and(|needed| self.credit(ns) >= needed);
        match (answer, first) {
            (Select::Idle, None) => {}
            (Select::Serve(id), Some((first, _))) => assert!(id == first && goes(now.as_nanos()), "{now}"),
            (Select::NotBefore(at), Some(_)) => {
                assert!(!goes(at.as_nanos() - 1) && goes(at.as_nanos()), "not before {at} at {now}");
            }
            _ => panic!("{answer:?} where {first:?} waits first"),
        }
        answer
    }

    fn on_served(&mut self, now: Instant, class: ClassId, served: &Meta) {
        let len = Ratio::from(self.framing.on_line(served.len).0);
        self.credit = self.credit(now.as_nanos()) - len;
        self.at = now.as_nanos();
        self.shaped.on_served(now, class, served);
    }
}

/// Bursts and gaps, from far below the rate to far above.
fn arrivals() -> impl Strategy<Value = Vec<Passage>> {
    let gap = prop_oneof![Just(0u64), 0u64..2_000_000, 0u64..100_000_000];
    let len = prop_oneof![Just(LONGEST), Just(40), 1..=LONGEST];
    let batch = (gap, 0u8..3, len, 1usize..10);
    prop::collection::vec(batch, 1..40).prop_map(|batches| {
        let mut at = 0;
        let passages = batches.into_iter().flat_map(move |(gap, class, len, packets)| {
            at += gap;
            vec![Passage { at: Instant::from_nanos(at), class, len }; packets]
        });
        passages.collect()
    })
}

/// Rates of which some do not divide a nanosecond, bursts down to a byte.
fn params() -> impl Strategy<Value = ShapedParams> {
    let rate = prop_oneof![Just(9_999_999u64), 100_000u64..20_000_000];
    let burst = prop_oneof![Just(1u64), 1u64..10_000];
    (rate, burst, 0u64..50, 0u64..200).prop_map(|(bits, burst, overhead, mpu)| ShapedParams {
        rate: BitRate::new(bits).expect("not zero"),
        burst: Bytes(burst),
        framing: Framing { overhead: Bytes(overhead), mpu: Bytes(mpu) },
    })
}

const LATER: Instant = Instant::from_nanos(1_000_000_000_000);

#[test]
fn equals_the_bucket_in_exact_fractions_for_any_arrivals() {
    check(&(params(), arrivals()), |(params, arrivals)| {
        let left = departures(Box::new(Checked::new(params)), 3, LINK, &arrivals, LATER);
        assert_eq!(left.len(), arrivals.len(), "all leave");
    });
}

/// Over any time at most the rate times that, and the burst or a packet that is longer.
#[test]
fn no_more_leaves_than_the_rate_and_a_burst_behind_any_scheduler() {
    check(&(params(), arrivals()), |(params, arrivals)| {
        let third = CbqClass::new(1.0 / 3.0);
        let inside: [Box<dyn Scheduler>; 4] = [
            Box::new(StrictPriority),
            Box::new(Drr::new(&[Bytes(500), Bytes(1500), Bytes(100)]).expect("quanta")),
            Box::new(Wfq::new(&[3, 1, 2]).expect("weights")),
            Box::new(Cbq::new(params.rate, &[third; 3]).expect("shares")),
        ];
        for scheduler in inside {
            let left = departures(shaped(params, scheduler), 3, LINK, &arrivals, LATER);
            assert_eq!(left.len(), arrivals.len(), "all leave");
            let rate = i128::from(params.rate.bits_per_sec());
            let on_line = |len| i128::from(params.framing.on_line(Bytes(len)).0) * 8_000_000_000;
            let most = i128::from(params.burst.0) * 8_000_000_000;
            let most = left.iter().map(|one| on_line(one.len)).fold(most, i128::max);
            // what has left less what the rate allows, at its least before a packet
            let (mut sent, mut least) = (0, i128::MAX);
            for one in left {
                let allowed = i128::from(one.at.as_nanos()) * rate;
                least = least.min(sent - allowed);
                sent += on_line(one.len);
                assert!(sent - allowed - least <= most, "at {}", one.at);
            }
        }
    });
}
