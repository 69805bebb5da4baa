//! What may be wrong with the classes, queues and schedulers of a port, and what is said of it.

use crate::common::{DOMAIN, domain, lines, one, overridden};
use insta::assert_snapshot;
use perhop_core::queue::{CodelConventions, FqConventions};
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_scenario::load;
use perhop_scenario::model::Queue;

const RED: &str = r#"{ kind = "red", limit = "100p", min_th = "15p", max_th = "45p", max_p = 0.1 }"#;
const RIO_GREEN: &str = r#"green = { min_th = "55p", max_th = "65p", max_p = 0.05 }"#;

/// The queue of the class `be` on `r2->r3`.
fn red(new: &str) -> String {
    one(RED, &format!("{{ kind = \"red\", {new} }}"))
}

#[test]
fn every_mark_has_a_class() {
    assert_snapshot!(one("name = \"rest\"", "name = \"rest\"\nmatch = [\"BE\", \"AF11\", \"AF12\"]"), @r#"63:1 port.e-r2.class: no class takes packets marked AF13 (end with a class that takes the rest: `match = ["any"]` or `["AF13"]`)"#);
    assert_snapshot!(one("name = \"rest\"", "name = \"rest\"\nmatch = [\"pure-ack\"]"), @r#"63:1 port.e-r2.class: no class takes data marked BE (end with a class that takes the rest: `match = ["any"]` or `["BE"]`)"#);
    assert_snapshot!(one("name = \"rest\"", "name = \"rest\"\nmatch = [\"data\"]"), @r#"63:1 port.e-r2.class: no class takes ACKs without data that are marked BE (end with a class that takes the rest: `match = ["any"]` or `["BE"]`)"#);
    assert_snapshot!(one("name = \"rest\"", "name = \"rest\"\nmatch = [\"data\", \"pure-ack\"]"), @"no mistake");
    // Marks of UDP flows, of ACKs at hosts, and marks that are copied count as well.
    let rest = ("name = \"rest\"", "name = \"rest\"\nmatch = [\"BE\", \"AF11\", \"AF12\", \"AF13\"]");
    assert_snapshot!(lines(domain(&[rest])), @"no mistake");
    assert_snapshot!(lines(domain(&[rest, ("mark = \"EF\"\nfrom", "mark = \"CS6\"\nfrom")])), @r#"63:1 port.e-r2.class: no class takes packets marked CS6 (end with a class that takes the rest: `match = ["any"]` or `["CS6"]`)"#);
    assert_snapshot!(lines(domain(&[rest, (r#"to = "d[*]""#, "to = \"d[*]\"\nack = { marking = { kind = \"per-mark\", marks = { AF11 = \"AF21\" } } }")])), @r#"63:1 port.e-r2.class: no class takes packets marked AF21 (end with a class that takes the rest: `match = ["any"]` or `["AF21"]`)"#);
}

#[test]
fn every_class_is_reached() {
    assert_snapshot!(one(r#"match = ["AF11", "AF12", "AF13"]"#, r#"match = ["EF", "46"]"#), @"81:9 port.r2-r3.class.af.match: no packet can reach this class: earlier ones take all that it matches (put it before them, or match fewer packets there)");
    assert_snapshot!(one(r#"match = ["EF"]"#, r#"match = ["any"]"#), @"67:1 port.e-r2.class.rest.match: no packet can reach this class: earlier ones take all that it matches (put it before them, or match fewer packets there)");
    assert_snapshot!(one("name = \"rest\"", "name = \"ef\""), @"68:8 port.e-r2.class.ef.name: the port already has a class `ef`");
}

#[test]
fn selectors_are_marks_or_kinds_of_packets() {
    assert_snapshot!(one(r#"match = ["EF"]"#, r#"match = ["ef", "AF15", "acks", "pureack", 46]"#), @r#"
    65:10 port.e-r2.class.ef.match[0]: `ef` is not a mark or a kind of packet (did you mean `EF`?)
    65:16 port.e-r2.class.ef.match[1]: `AF15` is not a mark or a kind of packet (did you mean `AF11`?)
    65:24 port.e-r2.class.ef.match[2]: `acks` is not a mark or a kind of packet (write one of any, data, pure-ack, EF, AF11, AF12, AF13, AF21, AF22, AF23, AF31, AF32, AF33, AF41, AF42, AF43, BE, CS0, CS1, CS2, CS3, CS4, CS5, CS6, CS7, or a number from 0 to 63 in quotes)
    65:32 port.e-r2.class.ef.match[3]: `pureack` is not a mark or a kind of packet (did you mean `pure-ack`?)
    65:43 port.e-r2.class.ef.match[4]: the number of a mark is in quotes (write "46")
    "#);
    assert_snapshot!(one(r#"match = ["EF"]"#, r#"match = "EF""#), @r#"65:9 port.e-r2.class.ef.match: must be a list, not a string (write a list, as in ["any"])"#);
    assert_snapshot!(one(r#"match = ["EF"]"#, "match = []"), @"65:9 port.e-r2.class.ef.match: needs at least 1 entry");
}

#[test]
fn classes_have_what_the_scheduler_needs() {
    assert_snapshot!(one("weight = 1", ""), @"67:1 port.e-r2.class.rest.weight: `wrr` needs `weight` of every class (write `weight = 1` for packets in turn)");
    assert_snapshot!(one(r#"quantum = "500B""#, ""), @r#"103:1 port.r3-r2.class.be.quantum: `drr` needs `quantum` of every class (write the longest packet, as `quantum = "1500B"`, or a multiple of it)"#);
    assert_snapshot!(one("share = 0.5", ""), @"79:1 port.r2-r3.class.af.share: `cbq` needs `share` of every class (write the fraction of the link that it is allocated, as `share = 0.3`)");
    assert_snapshot!(one("weight = 1", "quantum = \"1500B\"\nshare = 0.5"), @r#"
    67:1 port.e-r2.class.rest.weight: `wrr` needs `weight` of every class (write `weight = 1` for packets in turn)
    69:11 port.e-r2.class.rest.quantum: `wrr` has no use for `quantum` (it is for `scheduler = { kind = "drr" }`)
    70:9 port.e-r2.class.rest.share: `wrr` has no use for `share` (it is for `scheduler = { kind = "cbq" }`)
    "#);
    assert_snapshot!(one(r#"scheduler = { kind = "wrr" }"#, ""), @r#"
    66:10 port.e-r2.class.ef.weight: `strict-priority` has no use for `weight` (it is for `scheduler = { kind = "wrr" }`)
    69:10 port.e-r2.class.rest.weight: `strict-priority` has no use for `weight` (it is for `scheduler = { kind = "wrr" }`)
    "#);
    assert_snapshot!(one(r#"quantum = "500B""#, "weight = 1\nbounded = true\nisolated = true\npriority = 1\nmaxidle = \"1ms\"\nminidle = \"1ms\"\nofftime = \"1ms\"\ngain = 4"), @r#"
    103:1 port.r3-r2.class.be.quantum: `drr` needs `quantum` of every class (write the longest packet, as `quantum = "1500B"`, or a multiple of it)
    105:10 port.r3-r2.class.be.weight: `drr` has no use for `weight` (it is for `scheduler = { kind = "wrr" }`)
    106:11 port.r3-r2.class.be.bounded: `drr` has no use for `bounded` (it is for `scheduler = { kind = "cbq" }`)
    107:12 port.r3-r2.class.be.isolated: `drr` has no use for `isolated` (it is for `scheduler = { kind = "cbq" }`)
    108:12 port.r3-r2.class.be.priority: `drr` has no use for `priority` (it is for `scheduler = { kind = "cbq" }`)
    109:11 port.r3-r2.class.be.maxidle: `drr` has no use for `maxidle` (it is for `scheduler = { kind = "cbq" }`)
    110:11 port.r3-r2.class.be.minidle: `drr` has no use for `minidle` (it is for `scheduler = { kind = "cbq" }`)
    111:11 port.r3-r2.class.be.offtime: `drr` has no use for `offtime` (it is for `scheduler = { kind = "cbq" }`)
    112:8 port.r3-r2.class.be.gain: `drr` has no use for `gain` (it is for `scheduler = { kind = "cbq" }`)
    "#);
    assert_snapshot!(one(r#"scheduler = { kind = "wrr" }"#, r#"scheduler = { kind = "wfq" }"#), @"no mistake");
    assert_snapshot!(one(r#"scheduler = { kind = "drr" }"#, r#"scheduler = { kind = "wfq" }"#), @r#"
    98:1 port.r3-r2.class.af.weight: `wfq` needs `weight` of every class (write its part of the link beside those of the others, as `weight = 1`)
    101:11 port.r3-r2.class.af.quantum: `wfq` has no use for `quantum` (it is for `scheduler = { kind = "drr" }`)
    103:1 port.r3-r2.class.be.weight: `wfq` needs `weight` of every class (write its part of the link beside those of the others, as `weight = 1`)
    105:11 port.r3-r2.class.be.quantum: `wfq` has no use for `quantum` (it is for `scheduler = { kind = "drr" }`)
    "#);
    // Of a scheduler that is misspelt nothing follows.
    assert_snapshot!(one(r#"kind = "cbq""#, r#"kind = "cqb""#), @r#"73:22 port.r2-r3.scheduler.kind: `cqb` is not one of "strict-priority", "paired-counter", "wrr", "drr", "wfq", "cbq", "htb", "python" (did you mean `cbq`?)"#);
    assert_snapshot!(one(r#"scheduler = { kind = "cbq" }"#, r#"scheduler = "cbq""#), @r#"73:13 port.r2-r3.scheduler: must be a table, not a string (write a table, as in `{ kind = "cbq" }`)"#);
}

#[test]
fn a_port_may_be_slower_than_its_link() {
    let shaper = |settings: &str| {
        one(
            "scheduler = { kind = \"drr\" }",
            &format!("shaper = {{ {settings} }}\nscheduler = {{ kind = \"drr\" }}"),
        )
    };
    assert_snapshot!(shaper(r#"rate = "2Mbit/s", burst = "3kB", overhead = "18B", mpu = "64B""#), @"no mistake");
    assert_snapshot!(shaper(r#"rate = "3Mbit/s""#), @"97:19 port.r3-r2.shaper.rate: rate (3Mbit/s) must be below that of the link `r3->r2`, 3Mbit/s (a link holds its port to its own rate: leave `shaper` out)");
    assert_snapshot!(shaper(r#"burst = "3kB""#), @r#"97:10 port.r3-r2.shaper.rate: `rate` is missing (add `rate = "100kbit/s"`: packets leave at this rate at most.)"#);
    assert_snapshot!(shaper(r#"rate = "2Mbit/s", burst = "0B""#), @"97:38 port.r3-r2.shaper.burst: burst (0B) must exceed 0B");
    assert_snapshot!(shaper(r#"rate = "2Mbit/s", burst = "2p""#), @"97:38 port.r3-r2.shaper.burst: `p` is not a unit for a size (write `1460B`, `64kB` or `64KiB`)");
    assert_snapshot!(shaper(r#"rate = "2Mbit/s", limit = "20p""#), @"97:30 port.r3-r2.shaper.limit: there is no setting `limit` here (known here: rate, burst, overhead, mpu)");
    assert_snapshot!(shaper(r#"rate = "0bit/s""#), @"97:19 port.r3-r2.shaper.rate: a rate must be above zero: at zero nothing is ever sent (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
}

#[test]
fn classes_of_htb_have_rates() {
    let htb = |scheduler: &str, af: &str, be: &str| {
        lines(domain(&[
            (r#"scheduler = { kind = "drr" }"#, &format!("scheduler = {{ kind = \"htb\"{scheduler} }}")),
            (r#"quantum = "1500B""#, af),
            (r#"quantum = "500B""#, be),
        ]))
    };
    let (one, two) = (
        r#"rate = "1Mbit/s""#,
        "rate = \"2Mbit/s\"\nceil = \"3Mbit/s\"\npriority = 1\nquantum = \"3kB\"\nburst = \"3kB\"\ncburst = \"2kB\"",
    );
    assert_snapshot!(htb("", one, two), @"no mistake");
    assert_snapshot!(htb("", one, r#"ceil = "1Mbit/s""#), @r#"103:1 port.r3-r2.class.be.rate: `htb` needs `rate` of every class (write what it has for itself, as `rate = "2Mbit/s"`)"#);
    assert_snapshot!(htb(r#", rate = "2Mbit/s""#, one, two), @"105:8 port.r3-r2.class.be.rate: rate (2Mbit/s) makes more than the 2Mbit/s of `htb` with those of the classes before it (lower the rates, or raise that of the scheduler)");
    assert_snapshot!(htb("", one, "rate = \"1Mbit/s\"\nceil = \"999kbit/s\""), @"106:8 port.r3-r2.class.be.ceil: ceil (999kbit/s) must be at least `rate`");
    assert_snapshot!(htb("", one, "rate = \"1Mbit/s\"\nburst = \"0B\"\nshare = 0.5"), @r#"
    106:9 port.r3-r2.class.be.burst: burst (0B) must exceed 0B
    107:9 port.r3-r2.class.be.share: `htb` has no use for `share` (it is for `scheduler = { kind = "cbq" }`)
    "#);
    assert_snapshot!(htb(r#", burst = "0B""#, one, two), @"97:37 port.r3-r2.scheduler.burst: burst (0B) must exceed 0B");
}

#[test]
fn weights_quanta_and_shares_are_in_range() {
    let class = |name: &str, mark: &str, weight: u32| {
        format!("[[port.class]]\nname = \"{name}\"\nmatch = [\"{mark}\"]\nweight = {weight}\n")
    };
    // Three primes near 2^32.
    let apart = format!(
        "weight = 4294967291\n{}{}",
        class("x", "CS1", 4_294_967_279),
        class("y", "CS2", 4_294_967_231)
    );
    let kind = (r#"scheduler = { kind = "wrr" }"#, r#"scheduler = { kind = "wfq" }"#);
    assert_snapshot!(lines(domain(&[kind, ("weight = 2", &apart)])), @"74:10 port.e-r2.class.y.weight: weight (4294967231) has no common multiple below 2^64 with those of the classes before it (write smaller weights: percents that make 100 always have one)");
    assert_snapshot!(lines(domain(&[kind, ("weight = 1", "weight = 0")])), @"69:10 port.e-r2.class.rest.weight: 0 is below 1, the least allowed");
    assert_snapshot!(one("weight = 1", "weight = 0"), @"69:10 port.e-r2.class.rest.weight: 0 is below 1, the least allowed");
    assert_snapshot!(one("weight = 1", "weight = 4294967296"), @"69:10 port.e-r2.class.rest.weight: 4294967296 is above 4294967295, the most allowed");
    assert_snapshot!(one("weight = 1", "weight = 1.5"), @"69:10 port.e-r2.class.rest.weight: must be an integer, not a number");
    assert_snapshot!(one(r#"quantum = "500B""#, r#"quantum = "0B""#), @"105:11 port.r3-r2.class.be.quantum: quantum (0B) must be at least 1 B");
    assert_snapshot!(one(r#"quantum = "500B""#, r#"quantum = "3GB""#), @"105:11 port.r3-r2.class.be.quantum: quantum (3GB) must be less than 2^31 B");
    assert_snapshot!(one(r#"quantum = "500B""#, "quantum = 500"), @r#"105:11 port.r3-r2.class.be.quantum: a size needs a unit; a bare number has none (write the unit: "500B" or "500kB")"#);
    assert_snapshot!(one(r#"quantum = "500B""#, r#"quantum = "1p""#), @"105:11 port.r3-r2.class.be.quantum: `p` is not a unit for a size (write `1460B`, `64kB` or `64KiB`)");
    assert_snapshot!(one("share = 0.4", "share = 0"), @"91:9 port.r2-r3.class.be.share: 0 is outside the range: above 0 and at most 1");
    assert_snapshot!(one("share = 0.4", "share = 1.2"), @"91:9 port.r2-r3.class.be.share: 1.2 is outside the range: above 0 and at most 1");
    assert_snapshot!(one("share = 0.4", "share = 1e-10"), @"91:9 port.r2-r3.class.be.share: share (0.0000000001) must lie between 0.000000001 and 1");
    assert_snapshot!(one("share = 0.4", r#"share = "40%""#), @"91:9 port.r2-r3.class.be.share: must be a number, not a string");
    assert_snapshot!(one("share = 0.4", "share = 0.6"), @"91:9 port.r2-r3.class.be.share: share (0.6) makes 1.2 with those of the classes before it (a link has 1 for all its classes together: lower the shares)");
    assert_snapshot!(lines(overridden(&["port.r2-r3.class.ef.share=0.9"])), @"82:9 port.r2-r3.class.af.share: share (0.5) makes 1.4 with those of the classes before it (a link has 1 for all its classes together: lower the shares)");
    assert_snapshot!(one("priority = 0", "priority = 8"), @"78:12 port.r2-r3.class.ef.priority: 8 is above 7, the most allowed");
    assert_snapshot!(one("priority = 0", "priority = -1"), @"78:12 port.r2-r3.class.ef.priority: -1 is below 0, the least allowed");
    assert_snapshot!(one("priority = 0", "gain = 17"), @"78:8 port.r2-r3.class.ef.gain: 17 is above 16, the most allowed");
    assert_snapshot!(one("priority = 0", "gain = 0"), @"78:8 port.r2-r3.class.ef.gain: 0 is below 1, the least allowed");
    assert_snapshot!(one("priority = 0", "offtime = \"10ms\""), @"78:11 port.r2-r3.class.ef.offtime: offtime (10ms) needs a bounded class (add `bounded = true`, or leave `offtime` out: only a bounded class waits)");
    assert_snapshot!(one("bounded = true", "bounded = true\nofftime = \"10ms\""), @"no mistake");
    // Thirds are no more than the link.
    let third = "share = 0.3333333333333333";
    assert_snapshot!(lines(domain(&[("share = 0.1", third), ("share = 0.5", third), ("share = 0.4", third)])), @"no mistake");
}

#[test]
fn thresholds_are_in_order() {
    assert_snapshot!(red(r#"min_th = "45p", max_th = "45p", max_p = 0.1"#), @"93:34 port.r2-r3.class.be.queue.min_th: min_th (45p) must be below max_th (45p)");
    assert_snapshot!(red(r#"min_th = "50kB", max_th = "45kB", max_p = 0.1"#), @"93:34 port.r2-r3.class.be.queue.min_th: min_th (50kB) must be below max_th (45kB)");
    assert_snapshot!(one(RIO_GREEN, r#"green = { min_th = "66p", max_th = "65p", max_p = 0.05 }"#), @"102:86 port.r3-r2.class.af.queue.green.min_th: min_th (66p) must be below max_th (65p)");
    assert_snapshot!(one(r#"yellow = { min_th = "22kB""#, r#"yellow = { min_th = "50kB""#), @"87:21 port.r2-r3.class.af.queue.yellow.min_th: min_th (50kB) must be below max_th (45kB)");
    assert_snapshot!(lines(overridden(&["port.r2-r3.class.be.queue.max_th=10p"])), @"1:34 port.r2-r3.class.be.queue.max_th: min_th (15p) must be below max_th (10p)");
    assert_snapshot!(lines(overridden(&["port.r2-r3.class.af.queue.red.min_th=22kB"])), @"1:38 port.r2-r3.class.af.queue.red.min_th: min_th (22kB) must be below max_th (22kB)");
}

#[test]
fn thresholds_count_in_one_unit() {
    assert_snapshot!(red(r#"min_th = "15p", max_th = "45kB", max_p = 0.1"#), @"93:50 port.r2-r3.class.be.queue.max_th: max_th (45kB) must be in packets, as min_th (15p) is (an average counts packets or bytes: write all thresholds of a queue in one of them)");
    assert_snapshot!(red(r#"min_th = 15, max_th = "45kB", max_p = 0.1"#), @r#"93:34 port.r2-r3.class.be.queue.min_th: an amount needs a unit; a bare number has none (write the unit: "15p" or "15kB")"#);
    assert_snapshot!(one(RIO_GREEN, r#"green = { min_th = "55kB", max_th = "65kB", max_p = 0.05 }"#), @r"
    102:144 port.r3-r2.class.af.queue.red.min_th: min_th (20p) must be in bytes, as green.min_th (55kB) is (an average counts packets or bytes: write all thresholds of a queue in one of them)
    102:160 port.r3-r2.class.af.queue.red.max_th: max_th (50p) must be in bytes, as green.min_th (55kB) is (an average counts packets or bytes: write all thresholds of a queue in one of them)
    ");
    // The limit may be in the other one.
    assert_snapshot!(red(r#"limit = "90kB", min_th = "15p", max_th = "45p", max_p = 0.1"#), @"no mistake");
}

#[test]
fn queues_hold_something() {
    assert_snapshot!(red(r#"limit = "0p", min_th = "15p", max_th = "45p", max_p = 0.1"#), @"93:33 port.r2-r3.class.be.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(one(r#"limit = "30kB""#, r#"limit = "0B""#), @"88:64 port.r2-r3.class.af.queue.red.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(one(r#"limit = "90kB""#, r#"limit = "0B""#), @"85:9 port.r2-r3.class.af.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
}

#[test]
fn probabilities_and_weights_of_averages() {
    let curve = r#"min_th = "15p", max_th = "45p""#;
    let with = |rest: &str| red(&format!("{curve}, {rest}"));
    assert_snapshot!(with("max_p = 0"), @"93:65 port.r2-r3.class.be.queue.max_p: 0 is outside the range: above 0 and at most 1");
    assert_snapshot!(with("max_p = 1.01"), @"93:65 port.r2-r3.class.be.queue.max_p: 1.01 is outside the range: above 0 and at most 1");
    assert_snapshot!(with("max_p = nan"), @"93:65 port.r2-r3.class.be.queue.max_p: NaN is not a number to count with (write a number above 0 and at most 1)");
    assert_snapshot!(with(r#"max_p = "0.1""#), @"93:65 port.r2-r3.class.be.queue.max_p: must be a number, not a string");
    assert_snapshot!(with("max_p = 1, w_q = 1"), @"no mistake");
    assert_snapshot!(with("max_p = 1, w_q = 0, gentle = 1"), @r"
    93:74 port.r2-r3.class.be.queue.w_q: 0 is outside the range: above 0 and at most 1
    93:86 port.r2-r3.class.be.queue.gentle: must be true or false, not an integer
    ");
    assert_snapshot!(with(r#"max_p = 1, mean_packet = "0B""#), @"93:82 port.r2-r3.class.be.queue.mean_packet: mean_packet (0B) must exceed 0B");
    assert_snapshot!(with("max_p = 1, mean_packet = 500"), @r#"93:82 port.r2-r3.class.be.queue.mean_packet: a size needs a unit; a bare number has none (write the unit: "500B" or "500kB")"#);
    assert_snapshot!(one("w_q = 0.01", "w_q = 2"), @"87:66 port.r2-r3.class.af.queue.yellow.w_q: 2 is outside the range: above 0 and at most 1");
    assert_snapshot!(with(""), @"93:9 port.r2-r3.class.be.queue.max_p: `max_p` is missing (add `max_p = ...`: probability of a drop where the average reaches `max_th`.)");
    assert_snapshot!(red("max_p = 0.1"), @r#"
    93:9 port.r2-r3.class.be.queue.min_th: `min_th` is missing (add `min_th = "88p"`: below this average nothing is dropped by chance. In packets or in bytes, which is also how the average counts.)
    93:9 port.r2-r3.class.be.queue.max_th: `max_th` is missing (add `max_th = "88p"`: from this average on every arrival is dropped; with `gentle`, from twice this.)
    "#);
}

#[test]
fn conventions_of_early_detection() {
    let red =
        |rest: &str| red(&format!(r#"min_th = "15p", max_th = "45p", max_p = 0.1, conventions = {rest}"#));
    let rio = |rest: &str| one(RIO_GREEN, &format!("{RIO_GREEN}, conventions = {rest}"));
    assert_snapshot!(red(r#"{ like = "dsred", unclamped = false }"#), @"no mistake");
    assert_snapshot!(red(r#"{ like = "ns2" }"#), @r#"93:93 port.r2-r3.class.be.queue.conventions.like: `ns2` is not one of "floyd1993", "ns2-red", "dsred" (did you mean `ns2-red`?)"#);
    assert_snapshot!(red(r#""dsred""#), @"93:84 port.r2-r3.class.be.queue.conventions: must be a table, not a string (its settings are: like, wait, spare_short, spare_first, unclamped, skip_full, idle_sent, idle_whole, idle_again, idle_color)");
    assert_snapshot!(red("{ wait = 1, waits = true }"), @r"
    93:93 port.r2-r3.class.be.queue.conventions.wait: must be true or false, not an integer
    93:96 port.r2-r3.class.be.queue.conventions.waits: there is no setting `waits` here (did you mean `wait`?)
    ");
    // dsRED has it, but here it has no meaning; asked for by itself, it is refused
    assert_snapshot!(red("{ idle_color = true }"), @r#"93:99 port.r2-r3.class.be.queue.conventions.idle_color: idle_color (true) needs one average for several colours (leave it out, or give a `rio` or `gred` queue `averaging = "shared"`)"#);
    assert_snapshot!(rio("{ idle_color = true }"), @r#"102:154 port.r3-r2.class.af.queue.conventions.idle_color: idle_color (true) needs one average for several colours (leave it out, or give a `rio` or `gred` queue `averaging = "shared"`)"#);
    assert_snapshot!(rio(r#"{ idle_color = true }, averaging = "shared""#), @"no mistake");
}

#[test]
fn controlled_delay() {
    let codel = |rest: &str| one(RED, &format!("{{ kind = \"codel\"{rest} }}"));
    assert_snapshot!(codel(""), @"no mistake");
    assert_snapshot!(codel(r#", target = "0s""#), @"93:36 port.r2-r3.class.be.queue.target: target (0s) must exceed 0s");
    assert_snapshot!(codel(r#", interval = "5ms""#), @"93:38 port.r2-r3.class.be.queue.interval: interval (5ms) must exceed target (5ms, the default)");
    assert_snapshot!(codel(r#", target = "100ms""#), @"93:36 port.r2-r3.class.be.queue.target: interval (100ms, the default) must exceed target (100ms)");
    assert_snapshot!(codel(r#", conventions = { like = "ns3" }"#), @r#"93:50 port.r2-r3.class.be.queue.conventions.like: `ns3` is not one of "rfc8289", "linux" (`rfc8289`: the RFC's pseudo-code; `linux`: those of Linux)"#);
    assert_snapshot!(codel(r#", conventions = { like = "linux", mtu = "9000B" }"#), @"no mistake");
    assert_snapshot!(codel(r#", min_th = "5p""#), @"93:27 port.r2-r3.class.be.queue.min_th: there is no setting `min_th` here (known here: kind, limit, target, interval, ecn, ce_threshold, conventions, ack_filter)");
}

#[test]
fn cake() {
    let cake = |rest: &str| one(RED, &format!("{{ kind = \"cake\"{rest} }}"));
    assert_snapshot!(cake(""), @"no mistake");
    assert_snapshot!(cake(r#", tins = "diffserv8", isolation = "dual-srchost", overhead = "38B", mpu = "84B", ack_filter = "aggressive""#), @"no mistake");
    assert_snapshot!(cake(r#", tins = "diffserv5""#), @r#"93:33 port.r2-r3.class.be.queue.tins: `diffserv5` is not one of "besteffort", "diffserv3", "diffserv4", "diffserv8" (did you mean `diffserv3`?)"#);
    assert_snapshot!(cake(r#", isolation = "dual-srchosts""#), @r#"93:38 port.r2-r3.class.be.queue.isolation: `dual-srchosts` is not one of "flowblind", "srchost", "dsthost", "hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate" (did you mean `dual-srchost`?)"#);
    assert_snapshot!(cake(r#", rtt = "1us""#), @"93:32 port.r2-r3.class.be.queue.rtt: rtt (1us) must exceed 1us");
    assert_snapshot!(cake(r#", overhead = "70kB""#), @"93:37 port.r2-r3.class.be.queue.overhead: overhead (70kB) must be at most 65536B");
    assert_snapshot!(cake(r#", bandwidth = "1Mbit/s""#), @"93:26 port.r2-r3.class.be.queue.bandwidth: there is no setting `bandwidth` here (known here: kind, limit, rate, overhead, mpu, tins, isolation, rtt, mtu, ack_filter)");
    assert_snapshot!(cake(r#", rate = "1Mbit/s""#), @"93:33 port.r2-r3.class.be.queue.rate: rate (1Mbit/s) needs a port without other classes (leave `rate` out, or the classes: `tins` are classes by DS field)");
}

#[test]
fn cobalt() {
    let cobalt = |rest: &str| one(RED, &format!("{{ kind = \"cobalt\"{rest} }}"));
    assert_snapshot!(cobalt(""), @"no mistake");
    assert_snapshot!(cobalt(r#", mtu = "0B", p_inc = 0.0"#), @"no mistake");
    assert_snapshot!(cobalt(r#", target = "0s""#), @"93:37 port.r2-r3.class.be.queue.target: target (0s) must exceed 0s");
    assert_snapshot!(cobalt(r#", interval = "5ms""#), @"93:39 port.r2-r3.class.be.queue.interval: interval (5ms) must exceed target (5ms, the default)");
    assert_snapshot!(cobalt(r#", p_inc = 1.5"#), @"93:36 port.r2-r3.class.be.queue.p_inc: 1.5 is outside the range: at least 0 and at most 1");
    assert_snapshot!(cobalt(r#", p_dec = 0.0"#), @"93:36 port.r2-r3.class.be.queue.p_dec: 0 is outside the range: at least 0.000001 and at most 1");
    assert_snapshot!(cobalt(r#", limit = "0p""#), @"93:36 port.r2-r3.class.be.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(cobalt(r#", ce_threshold = "1ms""#), @"93:28 port.r2-r3.class.be.queue.ce_threshold: there is no setting `ce_threshold` here (known here: kind, limit, target, interval, mtu, ecn, p_inc, p_dec, ack_filter)");
}

#[test]
fn ack_filters() {
    for kind in ["fifo", "codel", "cobalt"] {
        for filter in ["off", "conservative", "aggressive"] {
            assert_eq!(
                one(RED, &format!("{{ kind = \"{kind}\", ack_filter = \"{filter}\" }}")),
                "no mistake"
            );
        }
    }
    assert_snapshot!(one(RED, r#"{ kind = "fq", queue = { kind = "fifo", ack_filter = "aggressive" } }"#), @"no mistake");
    assert_snapshot!(one(RED, r#"{ kind = "fifo", ack_filter = "agressive" }"#), @r#"93:39 port.r2-r3.class.be.queue.ack_filter: `agressive` is not one of "off", "conservative", "aggressive" (did you mean `aggressive`?)"#);
    assert_snapshot!(one(RED, &RED.replace(" }", r#", ack_filter = "off" }"#)), @"93:86 port.r2-r3.class.be.queue.ack_filter: there is no setting `ack_filter` here (known here: kind, limit, min_th, max_th, max_p, w_q, gentle, byte_mode, ecn, conventions, mean_packet)");
}

#[test]
fn flow_queueing() {
    let fq = |rest: &str| one(RED, &format!("{{ kind = \"fq\"{rest} }}"));
    let inside = |rest: &str| fq(&format!(", queue = {rest}"));
    assert_snapshot!(fq(""), @"no mistake");
    assert_snapshot!(fq(", queues = 0, drop_batch = 0"), @r"
    93:33 port.r2-r3.class.be.queue.queues: 0 is below 1, the least allowed
    93:49 port.r2-r3.class.be.queue.drop_batch: 0 is below 1, the least allowed
    ");
    assert_snapshot!(fq(", queues = 70_000"), @"93:33 port.r2-r3.class.be.queue.queues: 70000 is above 65536, the most allowed");
    assert_snapshot!(fq(r#", quantum = "0B""#), @"93:34 port.r2-r3.class.be.queue.quantum: quantum (0B) must be at least 1B");
    assert_snapshot!(fq(r#", quantum = 300"#), @r#"93:34 port.r2-r3.class.be.queue.quantum: a size needs a unit; a bare number has none (write the unit: "300B" or "300kB")"#);
    assert_snapshot!(fq(r#", quantum = "3GB""#), @"93:34 port.r2-r3.class.be.queue.quantum: quantum (3GB) must be less than 2^31 B");
    assert_snapshot!(fq(r#", limit = "0p""#), @"93:32 port.r2-r3.class.be.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(fq(r#", flows = 64"#), @"93:24 port.r2-r3.class.be.queue.flows: there is no setting `flows` here (perhaps `queues`)");
    assert_snapshot!(fq(r#", conventions = { like = "rfc8289" }"#), @r#"93:47 port.r2-r3.class.be.queue.conventions.like: `rfc8289` is not one of "rfc8290", "linux" (did you mean `rfc8290`?)"#);
    assert_snapshot!(fq(r#", conventions = { like = "linux", forget_new = false }"#), @"no mistake");
    assert_snapshot!(inside(r#"{ kind = "fifo", limit = "20p" }"#), @"no mistake");
    assert_snapshot!(inside(r#"{ kind = "fifo", limit = "0p" }"#), @"93:57 port.r2-r3.class.be.queue.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(inside(r#"{ kind = "codel", target = "0s" }"#), @"93:59 port.r2-r3.class.be.queue.queue.target: target (0s) must exceed 0s");
    assert_snapshot!(inside(r#"{ kind = "codel", target = "7" }"#), @r#"93:59 port.r2-r3.class.be.queue.queue.target: a time needs a unit; a bare number has none (write the unit: "7s" or "7ms")"#);
    assert_snapshot!(inside(r#""codel""#), @r#"93:32 port.r2-r3.class.be.queue.queue: must be a table, not a string (write a table, as in `{ kind = "codel" }`)"#);
    assert_snapshot!(inside(r#"{ kind = "codle" }"#), @r#"93:41 port.r2-r3.class.be.queue.queue.kind: `codle` is not one of "fifo", "red", "rio", "gred", "codel", "cobalt", "fq", "pie", "docsis-pie", "dualpi2", "cake", "custom", "python" (did you mean `codel`?)"#);
    assert_snapshot!(inside(r#"{ kind = "fq" }"#), @"93:41 port.r2-r3.class.be.queue.queue.kind: `fq` cannot be the queue of a flow (write `fifo`, `codel`, `cobalt` or `pie`)");
    assert_snapshot!(inside(r#"{ kind = "red", min_th = "1p", max_th = "2p", max_p = 0.1 }"#), @"93:41 port.r2-r3.class.be.queue.queue.kind: `red` cannot be the queue of a flow (write `fifo`, `codel`, `cobalt` or `pie`)");
    assert_snapshot!(inside(r#"{ kind = "custom", name = "mine" }"#), @"93:41 port.r2-r3.class.be.queue.queue.kind: `custom` cannot be the queue of a flow (write `fifo`, `codel`, `cobalt` or `pie`)");
}

//= test rfc8290-5.2-defaults
#[test]
fn flow_queueing_as_it_stands() {
    let text = DOMAIN.replace(RED, "{ kind = \"fq\" }");
    let loaded = load(text.as_bytes(), "test.toml", &[]).expect("no mistake");
    let queues = loaded.scenario.links.iter().flat_map(|link| &link.port.classes).map(|class| &class.queue);
    let fq: Vec<_> = queues.filter(|queue| queue.kind() == "fq").collect();
    let [Queue::Fq { params, queue }] = fq[..] else { panic!("{fq:?}") };
    let Queue::Codel(codel) = &**queue else { panic!("{queue:?}") };
    assert_eq!(
        (params.limit, params.queues, params.quantum, params.drop_batch, params.conventions),
        (QueueSize::Packets(10_240), 1024, Bytes(1514), 64, FqConventions::RFC8290)
    );
    assert_eq!(
        (codel.target, codel.interval, codel.ecn, codel.ce_threshold, codel.conventions),
        (Span::from_millis(5), Span::from_millis(100), true, None, CodelConventions::RFC8289)
    );
}

/// Without a limit of its own a flow has that of all together; what is resolved reads back as it is.
#[test]
fn the_limit_of_a_flow() {
    let limits = |queue: &str| {
        let loaded = load(DOMAIN.replace(RED, queue).as_bytes(), "test.toml", &[]).expect("no mistake");
        let text = loaded.resolved_toml();
        let (_, queue) = text.split_once("kind = \"fq\"\n").expect("the queue");
        let limits = queue.lines().filter(|line| line.starts_with("limit")).take(2).collect::<Vec<_>>();
        let limits = limits.join(", ");
        let again = load(text.as_bytes(), "again.toml", &[]).expect("no mistake");
        assert_eq!(again.resolved_toml(), text);
        limits
    };
    assert_snapshot!(limits(r#"{ kind = "fq" }"#), @r#"limit = "10240p", limit = "10240p""#);
    assert_snapshot!(limits(r#"{ kind = "fq", limit = "90kB", queue = { kind = "fifo" } }"#), @r#"limit = "90kB", limit = "90kB""#);
    assert_snapshot!(limits(r#"{ kind = "fq", limit = "90kB", queue = { kind = "fifo", limit = "20p" } }"#), @r#"limit = "90kB", limit = "20p""#);
}

#[test]
fn proportional_integral_controllers() {
    let queue = |kind: &str, rest: &str| one(RED, &format!("{{ kind = \"{kind}\"{rest} }}"));
    assert_snapshot!(queue("pie", ""), @"no mistake");
    assert_snapshot!(queue("pie", r#", conventions = { like = "linux" }, delay_from = "departure-rate", byte_mode = true"#), @"no mistake");
    assert_snapshot!(queue("pie", r#", active_from = "300p", derandomize = true, cap_adjustment = true, ecn = true, mark_ecnth = 0.2"#), @"no mistake");
    assert_snapshot!(queue("pie", r#", target = "0s""#), @"93:34 port.r2-r3.class.be.queue.target: target (0s) must exceed 0s");
    assert_snapshot!(queue("pie", r#", t_update = "0s""#), @"93:36 port.r2-r3.class.be.queue.t_update: t_update (0s) must exceed 0s");
    assert_snapshot!(queue("pie", ", alpha = 0"), @"93:33 port.r2-r3.class.be.queue.alpha: 0 is outside the range: above 0");
    assert_snapshot!(queue("pie", ", beta = inf"), @"93:32 port.r2-r3.class.be.queue.beta: inf is not a number to count with (write a number above 0)");
    assert_snapshot!(queue("pie", ", mark_ecnth = 1.5"), @"93:38 port.r2-r3.class.be.queue.mark_ecnth: 1.5 is outside the range: above 0 and at most 1");
    assert_snapshot!(queue("pie", r#", active_from = "0p""#), @"93:39 port.r2-r3.class.be.queue.active_from: active_from (0p) must exceed 0");
    assert_snapshot!(queue("pie", r#", mean_packet = "0B""#), @"93:39 port.r2-r3.class.be.queue.mean_packet: mean_packet (0B) must exceed 0B");
    assert_snapshot!(queue("pie", r#", delay_from = "rate""#), @r#"93:38 port.r2-r3.class.be.queue.delay_from: `rate` is not one of "timestamps", "departure-rate" (`timestamps`: how long the packet waited that left last; `departure-rate`: the backlog)"#);
    assert_snapshot!(queue("pie", r#", conventions = { like = "linux" }, alpha = 0.1"#), @"93:67 port.r2-r3.class.be.queue.alpha: alpha (0.1) must be a multiple of 0.0625, and at most 2, as in tc-pie");
    assert_snapshot!(queue("pie", r#", conventions = { like = "linux" }, derandomize = false"#), @r#"93:73 port.r2-r3.class.be.queue.derandomize: derandomize is not for `like = "linux"`, which always does (leave it out)"#);
    assert_snapshot!(queue("pie", r#", conventions = { like = "linux" }, mark_ecnth = 0.2"#), @r#"93:72 port.r2-r3.class.be.queue.mark_ecnth: mark_ecnth is not for `like = "linux"`, which marks up to 0.1 (leave it out)"#);
    assert_snapshot!(queue("pie", r#", interval = "100ms""#), @"93:25 port.r2-r3.class.be.queue.interval: there is no setting `interval` here (known here: kind, limit, target, t_update, max_burst, alpha, beta, delay_from, active_from, derandomize, cap_adjustment, byte_mode, ecn, mark_ecnth, mean_packet, conventions)");
    assert_snapshot!(queue("docsis-pie", ""), @"no mistake");
    assert_snapshot!(queue("docsis-pie", r#", limit = "100kB", rate = "5Mbit/s""#), @"no mistake");
    assert_snapshot!(queue("docsis-pie", r#", target = "0s""#), @"93:41 port.r2-r3.class.be.queue.target: target (0s) must exceed 0s");
    assert_snapshot!(queue("docsis-pie", r#", rate = "0bit/s""#), @"93:39 port.r2-r3.class.be.queue.rate: a rate must be above zero: at zero nothing is ever sent (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
    assert_snapshot!(queue("docsis-pie", ", ecn = true"), @"93:32 port.r2-r3.class.be.queue.ecn: there is no setting `ecn` here (known here: kind, limit, target, rate)");
}

//= test rfc8033-4.2-target
//= test rfc8033-4.2-period
//= test rfc8033-4.4-default
//= test rfc8033-5.1-default
#[test]
fn the_defaults_of_pie_are_those_of_the_rfc() {
    let text = DOMAIN.replace(RED, r#"{ kind = "pie" }"#);
    let loaded = load(text.as_bytes(), "test.toml", &[]).expect("no mistake");
    let classes = loaded.scenario.links.iter().flat_map(|link| &link.port.classes);
    let found =
        classes.filter_map(|class| if let Queue::Pie(params) = &class.queue { Some(params) } else { None });
    let [params] = found.collect::<Vec<_>>()[..] else { panic!("one queue") };
    let [target, update, burst] = [params.target, params.t_update, params.max_burst].map(Span::as_nanos);
    assert_eq!([target, update, burst], [15_000_000, 15_000_000, 150_000_000]);
    let numbers = [params.alpha, params.beta, params.mark_ecnth];
    assert_eq!(numbers.map(f64::to_bits), [0.125, 1.25, 0.1].map(f64::to_bits));
}

#[test]
fn coupled_queues() {
    let dualpi2 = |rest: &str| one(RED, &format!("{{ kind = \"dualpi2\"{rest} }}"));
    assert_snapshot!(dualpi2(""), @"no mistake");
    assert_snapshot!(dualpi2(r#", time_shift = "50ms", l4s_range = "0s", l4s_packets = 0"#), @"no mistake");
    assert_snapshot!(dualpi2(r#", target = "0s""#), @"93:38 port.r2-r3.class.be.queue.target: target (0s) must exceed 0s");
    assert_snapshot!(dualpi2(", alpha = 0"), @"93:37 port.r2-r3.class.be.queue.alpha: 0 is outside the range: above 0 and at most 1000");
    assert_snapshot!(dualpi2(r#", conventions = { like = "linux" }"#), @"no mistake");
    assert_snapshot!(dualpi2(r#", conventions = { like = "linux", mtu = "1500B" }, t_update = "15ms", alpha = 0.5, classic_share = 0.07"#), @"no mistake");
    assert_snapshot!(dualpi2(r#", conventions = { like = "linux" }, alpha = 0.15"#), @"93:71 port.r2-r3.class.be.queue.alpha: alpha (0.15) must be a multiple of 1/256 up to 1000, as in tc-dualpi2");
    assert_snapshot!(dualpi2(r#", conventions = { like = "linux" }, l4s_range = "0s""#), @r#"93:75 port.r2-r3.class.be.queue.l4s_range: l4s_range is not for `like = "linux"`, which has a step (leave it out)"#);
    assert_snapshot!(dualpi2(r#", conventions = { like = "linux" }, time_shift = "50ms""#), @r#"93:76 port.r2-r3.class.be.queue.time_shift: time_shift is not for `like = "linux"`, which serves by turns (leave it out)"#);
    assert_snapshot!(dualpi2(r#", conventions = { mtu = "1500B" }"#), @r#"93:51 port.r2-r3.class.be.queue.conventions.mtu: mtu is for `like = "linux"` alone (leave it out)"#);
    assert_snapshot!(dualpi2(", classic_share = 2"), @"93:45 port.r2-r3.class.be.queue.classic_share: 2 is outside the range: above 0 and at most 1");
}

#[test]
fn coloured_queues() {
    assert_snapshot!(one(r#"colors = { BE = "green" }"#, r#"colors = { EB = "green", AF11 = "blue", BE = "green", CS0 = "red" }"#), @r#"
    102:56 port.r3-r2.class.af.queue.colors.EB: `EB` is not a mark (did you mean `EF`?)
    102:72 port.r3-r2.class.af.queue.colors.AF11: `blue` is not one of "green", "yellow", "red" (`green`: in profile; `yellow`: in excess of the committed profile; `red`: out of profile)
    102:100 port.r3-r2.class.af.queue.colors.CS0: `CS0` is the same mark as `BE` (keep one of the two)
    "#);
    assert_snapshot!(one(&format!(", {RIO_GREEN}"), ""), @"102:9 port.r3-r2.class.af.queue.green: `green` is missing (add `green = ...`: IN packets.)");
    assert_snapshot!(one(RIO_GREEN, &format!("{RIO_GREEN}, yellow = {{}}")), @"102:125 port.r3-r2.class.af.queue.yellow: there is no setting `yellow` here (known here: kind, limit, colors, averaging, green, red, w_q, gentle, byte_mode, ecn, conventions, mean_packet)");
    assert_snapshot!(one(RIO_GREEN, &format!("{RIO_GREEN}, averaging = \"wred\"")), @r#"102:137 port.r3-r2.class.af.queue.averaging: `wred` is not one of "coupled", "decoupled", "shared", "summed" (`coupled`: those of its own and of every better colour; `decoupled`: its own; `shared`: all; `summed`: its own)"#);
    assert_snapshot!(one("kind = \"gred\"", "kind = \"grde\""), @r#"84:8 port.r2-r3.class.af.queue.kind: `grde` is not one of "fifo", "red", "rio", "gred", "codel", "cobalt", "fq", "pie", "docsis-pie", "dualpi2", "cake", "custom", "python" (did you mean `gred`?)"#);
    assert_snapshot!(one("kind = \"gred\"", "kind = \"rio\""), @r"
    87:1 port.r2-r3.class.af.queue.yellow: there is no setting `yellow` here (known here: kind, limit, colors, averaging, green, red, w_q, gentle, byte_mode, ecn, conventions, mean_packet)
    88:56 port.r2-r3.class.af.queue.red.limit: there is no setting `limit` here (known here: min_th, max_th, max_p)
    ");
}

#[test]
fn limits_of_virtual_queues() {
    let red = |limit: &str| one(r#"max_p = 0.1, limit = "30kB""#, &format!("max_p = 0.1, limit = {limit}"));
    assert_snapshot!(red(r#""0B""#), @"88:64 port.r2-r3.class.af.queue.red.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(red("30000"), @r#"88:64 port.r2-r3.class.af.queue.red.limit: an amount needs a unit; a bare number has none (write the unit: "30000p" or "30000kB")"#);
    assert_snapshot!(red(r#""30 packets""#), @"88:64 port.r2-r3.class.af.queue.red.limit: `packets` is not a unit for an amount (did you mean `30p`?)");
    assert_snapshot!(one(r#"limit = "90kB""#, r#"limit = "0p""#), @"85:9 port.r2-r3.class.af.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
    // the whole has none, and would be 0 by those of its colours: that is said where it is written
    let none =
        DOMAIN.replace("limit = \"90kB\"\ngreen", "green").replace(r#"limit = "30kB""#, r#"limit = "0B""#);
    let none = none.replace("max_p = 0.02 }", r#"max_p = 0.02, limit = "0B" }"#);
    let none = none.replace("w_q = 0.01 }", r#"w_q = 0.01, limit = "0B" }"#);
    assert_snapshot!(lines(load(none.as_bytes(), "test.toml", &[])), @r"
    85:67 port.r2-r3.class.af.queue.green.limit: a queue of 0 drops every packet (write at least `1p`)
    86:80 port.r2-r3.class.af.queue.yellow.limit: a queue of 0 drops every packet (write at least `1p`)
    87:64 port.r2-r3.class.af.queue.red.limit: a queue of 0 drops every packet (write at least `1p`)
    ");
}

#[test]
fn marks_that_are_not_known_ask_for_no_class() {
    // A placeholder takes the place of what was refused; it is no mark of the scenario.
    let only = ("name = \"rest\"", "name = \"rest\"\nmatch = [\"BE\", \"AF11\", \"AF12\", \"AF13\"]");
    let marks = r#"marks = { assured = "AF11" }"#;
    let ports = DOMAIN
        .replace(marks, r#"marks = { assured = "AF15" }"#)
        .replace(r#"green = "AF11""#, r#"green = "BE""#);
    let ports = ports.replace("name = \"rest\"", "name = \"rest\"\nmatch = [\"BE\", \"AF12\", \"AF13\"]");
    assert_snapshot!(lines(load(ports.as_bytes(), "test.toml", &[])), @"57:57 conditioner.acks.ack_marking.marks.assured: `AF15` is not a mark (did you mean `AF11`?)");
    assert_snapshot!(lines(domain(&[only, (r#"red = "AF13""#, "red = 14")])), @r#"44:51 conditioner.customer.marker.red: the number of a mark is in quotes (write "14")"#);
}
