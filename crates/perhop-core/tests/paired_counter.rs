//! The two-counter scheduler against the published rule in exact fractions, and its share in the long run.

use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{Heads, PairedCounter, Scheduler, Select, ShareError};
use perhop_core::time::Instant;
use perhop_core::units::Bytes;
use perhop_testkit::check;
use perhop_testkit::exact::{Served, TwoCounters};
use proptest::prelude::*;

const DATA: ClassId = ClassId(1);
const ACKS: ClassId = ClassId(0);

/// Two queues whose heads have these lengths.
struct Lengths {
    data: Option<Meta>,
    ack: Option<Meta>,
}

impl Lengths {
    fn new(data: Option<u64>, ack: Option<u64>) -> Self {
        let head = |len: u64| Meta { len: Bytes(len), ..Meta::default() };
        Self { data: data.map(head), ack: ack.map(head) }
    }
}

impl Heads for Lengths {
    fn classes(&self) -> u16 {
        2
    }

    fn head(&self, class: ClassId) -> Option<&Meta> {
        if class == DATA { self.data.as_ref() } else { self.ack.as_ref() }
    }
}

fn serve(scheduler: &mut PairedCounter, heads: &Lengths) -> Option<Served> {
    match scheduler.select(Instant::ZERO, heads) {
        Select::Serve(class) => {
            scheduler.on_served(Instant::ZERO, class, heads.head(class).expect("a head to serve"));
            Some(if class == DATA { Served::Data } else { Served::Ack })
        }
        Select::Idle => None,
        Select::NotBefore(at) => panic!("waits until {at}"),
    }
}

/// f as a fraction, and as the scheduler takes it.
const SHARES: [(u64, u64, f64); 7] = [
    (1, 2, 0.5),
    (4, 5, 0.8),
    (1, 10, 0.1),
    (3, 4, 0.75),
    (333_333_333, 1_000_000_000, 0.333_333_333),
    (1, 1_000_000_000, 1e-9),
    (999_999_999, 1_000_000_000, 0.999_999_999),
];

#[test]
fn equals_the_published_rule_for_any_sequence_of_heads() {
    let len = |usual: u64| prop_oneof![3 => Just(usual), 2 => 1u64..2000];
    let head = |usual| prop::option::weighted(0.8, len(usual));
    let heads = prop::collection::vec((head(1500), head(28)), 1..300);
    check(&(prop::sample::select(SHARES.to_vec()), heads), |((num, den, share), heads)| {
        let mut scheduler = PairedCounter::new(DATA, ACKS, share).expect("a share inside (0, 1)");
        let mut rule = TwoCounters::new(num, den);
        for (at, &(data, ack)) in heads.iter().enumerate() {
            let answer = serve(&mut scheduler, &Lengths::new(data, ack));
            assert_eq!(answer, rule.serve(data, ack), "decision {at}");
        }
    });
}

#[test]
fn equals_the_published_rule_over_a_million_decisions() {
    for (num, den, share) in SHARES {
        let mut scheduler = PairedCounter::new(DATA, ACKS, share).expect("a share inside (0, 1)");
        let mut rule = TwoCounters::new(num, den);
        let heads = Lengths::new(Some(1500), Some(28));
        for _ in 0..1_000_000 / SHARES.len() {
            assert_eq!(serve(&mut scheduler, &heads), rule.serve(Some(1500), Some(28)), "f = {share}");
        }
    }
}

/// While both wait, data's bytes stay between f of all less the ACKs' part of one ACK and f of all plus the data's
/// part of one data packet: data - f total lies in [-f ack, (1-f) data].
#[test]
fn the_share_of_data_is_within_a_packet_of_f_at_any_time() {
    for (num, den, share) in SHARES {
        let (num, den) = (i128::from(num), i128::from(den));
        let mut scheduler = PairedCounter::new(DATA, ACKS, share).expect("a share inside (0, 1)");
        let heads = Lengths::new(Some(1500), Some(28));
        let (mut data, mut total) = (0i128, 0i128);
        for _ in 0..50_000 {
            match serve(&mut scheduler, &heads) {
                Some(Served::Data) => (data, total) = (data + 1500, total + 1500),
                _ => total += 28,
            }
            let ahead = data * den - total * num;
            assert!(
                (-num * 28..=(den - num) * 1500).contains(&ahead),
                "f = {share}: {data} of {total} bytes"
            );
        }
    }
}

#[test]
fn data_of_1500_and_acks_of_28_bytes_share_a_link_evenly() {
    let mut scheduler = PairedCounter::new(DATA, ACKS, 0.5).expect("a share inside (0, 1)");
    let heads = Lengths::new(Some(1500), Some(28));
    // 7 data packets are as long as 375 ACKs; after both, the counters are level again.
    let mut order: Vec<Served> = Vec::new();
    for _ in 0..10 {
        for _ in 0..382 {
            order.extend(serve(&mut scheduler, &heads));
        }
        let data = order.iter().filter(|&&s| s == Served::Data).count();
        assert_eq!(data * 1500 * 2, data * 1500 + (order.len() - data) * 28);
    }
}

#[test]
fn a_class_alone_has_the_link_and_leaves_no_debt() {
    let mut scheduler = PairedCounter::new(DATA, ACKS, 0.5).expect("a share inside (0, 1)");
    for _ in 0..1000 {
        assert_eq!(serve(&mut scheduler, &Lengths::new(None, Some(28))), Some(Served::Ack));
    }
    // only the last of the ACKs counts: data once (28 < 1500), then ACKs until they pass 1500 - 28
    let both = Lengths::new(Some(1500), Some(28));
    assert_eq!(serve(&mut scheduler, &both), Some(Served::Data));
    let acks = std::iter::from_fn(|| serve(&mut scheduler, &both)).take_while(|&s| s == Served::Ack).count();
    assert_eq!(acks, 53);
    assert_eq!(serve(&mut scheduler, &Lengths::new(None, None)), None);
}

#[test]
fn refuses_a_share_that_would_starve_a_class() {
    for share in [0.0, 1.0, -0.1, 1.1, 4e-10, 1.0 - 4e-10, f64::NAN, f64::INFINITY] {
        let refused = PairedCounter::new(DATA, ACKS, share);
        assert!(matches!(refused, Err(ShareError(s)) if s.to_bits() == share.to_bits()), "{share}");
    }
    assert_eq!(ShareError(1.5).to_string(), "share 1.5 must lie between 0.000000001 and 0.999999999");
}
