//! The ways to police acknowledgments: in the bucket of the data between the same addresses, with their new class, alone, or
//! not at all. Each verdict by arithmetic.

use std::collections::BTreeMap;

use perhop_core::packet::{Color, Kind};
use perhop_sim::{PacketEvent, PacketRecord, Results};

use super::{EDGE, POLICED, Tokens, steps};
use crate::common::{ALL, run};

/// Each customer sends to the server and gets something from it. What comes from the customers is marked EF, and policed.
const BOTH_WAYS: &str = r#"
    [[udp]]
    name = "out"
    class = "premium"
    from = "s[*]"
    to = "d"
    mark = "EF"
    rate = "500kbit/s"
    pattern = { kind = "poisson" }
    [[flow]]
    name = "back"
    class = "premium"
    from = "d"
    to = "s[*]"
    mark = "EF"
    tcp = { profile = "rfc", window = "8000B" }
    [[conditioner]]
    name = "acks"
    at = "e"
    from = "s[*]"
    ack_marking = { kind = "per-class", marks = { premium = "EF" } }
    [[conditioner]]
    name = "police"
    at = "e"
    from = "s[*]"
    match = { mark = "EF" }
    per = "addresses"
    meter = { kind = "token-bucket", cir = "400kbit/s", cbs = "20p" }
    marker = { red = "drop" }
    "#;

/// Of flows 0 and 1 the acknowledgments come from the customers, of 2 and 3 the data.
fn policed(more: &str, overrides: &[&str]) -> Results {
    run(&format!("{EDGE}{BOTH_WAYS}{more}"), overrides, ALL)
}

/// Each verdict of `conditioner` is that of the bucket that `bucket` names. Returns packets and red ones of data and of ACKs.
fn by_arithmetic(
    results: &Results,
    conditioner: &str,
    bucket: impl Fn(&PacketRecord) -> u32,
) -> [(u64, u64); 2] {
    let mut buckets = BTreeMap::new();
    let mut counts = [(0, 0); 2];
    for (n, verdict) in steps(results, conditioner, PacketEvent::Coloured).into_iter().enumerate() {
        let tokens = buckets.entry(bucket(verdict)).or_insert_with(|| Tokens::full(400_000, 10_000));
        let green = tokens.take(verdict.time.as_nanos(), verdict.len.0);
        assert_eq!(verdict.color == Color::Green, green, "packet {n} of {conditioner}: {verdict:?}");
        let (all, red) = &mut counts[usize::from(verdict.kind == Kind::PureAck)];
        *all += 1;
        *red += u64::from(!green);
    }
    let dropped = steps(results, conditioner, POLICED).len() as u64;
    assert_eq!(dropped, counts[0].1 + counts[1].1);
    counts
}

fn customer(verdict: &PacketRecord) -> u32 {
    verdict.flow.0 % 2
}

#[test]
fn in_the_bucket_of_the_data_between_the_same_addresses() {
    let results = policed("", &[]);
    let [data, acks] = by_arithmetic(&results, "conditioner.police", customer);
    assert!(data.1 > 50 && acks.1 > 50, "{data:?} {acks:?}");
    // two buckets, not four
    let flows = steps(&results, "conditioner.police", PacketEvent::Coloured);
    let seen: std::collections::BTreeSet<u32> = flows.iter().map(|verdict| verdict.flow.0).collect();
    assert_eq!(seen, (0..4).collect());
}

#[test]
fn with_their_new_class() {
    let results = policed("", &["conditioner.police.per=aggregate"]);
    let [data, acks] = by_arithmetic(&results, "conditioner.police", |_| 0);
    assert!(data.1 > 50 && acks.1 > 50, "{data:?} {acks:?}");
}

#[test]
fn alone() {
    let acks = r#"
        [[conditioner]]
        name = "police-acks"
        at = "e"
        from = "s[*]"
        match = { mark = "EF", kind = "pure-ack" }
        meter = { kind = "token-bucket", cir = "400kbit/s", cbs = "20p" }
        marker = { red = "drop" }
        "#;
    let results = policed(acks, &["conditioner.police.match.kind=data"]);
    let [data, none] = by_arithmetic(&results, "conditioner.police", customer);
    assert!(data.1 > 50 && none == (0, 0), "{data:?} {none:?}");
    let [none, acks] = by_arithmetic(&results, "conditioner.police-acks", |_| 0);
    assert!(acks.1 > 50 && none == (0, 0), "{none:?} {acks:?}");
}

#[test]
fn not_at_all() {
    let results = policed("", &["conditioner.police.match.kind=data"]);
    let [data, none] = by_arithmetic(&results, "conditioner.police", customer);
    assert!(data.1 > 50 && none == (0, 0), "{data:?} {none:?}");
    let came = |flow: u32| {
        let acks = |record: &&&PacketRecord| record.flow.0 == flow && record.kind == Kind::PureAck;
        let [there, here] =
            ["port.d-e", "port.e-d"].map(|port| steps(&results, port, PacketEvent::Delivered));
        (there.iter().filter(acks).count(), here.iter().filter(acks).count())
    };
    assert!((0..2).all(|flow| came(flow).1 > 1000), "{:?}", came(0));
}
