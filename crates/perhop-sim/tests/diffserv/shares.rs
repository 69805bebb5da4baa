//! Schedulers on a link of 10 Mbit/s with UDP flows that always have more to send.

use perhop_core::sink::DropReason;
use perhop_sim::{Results, TraceKinds};

use super::{EDGE, link, near, queue};
use crate::common::run;

/// Three flows, each as fast as the link, with a mark each; `sizes` are the lengths of their packets.
fn shares(sizes: [u32; 3], scheduler: &str, classes: [&str; 3], overrides: &[&str]) -> Results {
    let mut text =
        format!("{EDGE}[[port]]\nat = \"e\"\nto = \"d\"\nscheduler = {{ kind = \"{scheduler}\" }}\n");
    for (i, ((mark, size), class)) in ["EF", "AF11", "BE"].into_iter().zip(sizes).zip(classes).enumerate() {
        text += &format!("[[port.class]]\nname = \"c{i}\"\nmatch = [\"{mark}\"]\n{class}\n");
        text += "queue = { kind = \"fifo\", limit = \"30p\" }\n";
        text += &format!(
            "[[udp]]\nname = \"u{i}\"\nfrom = \"s[0]\"\nto = \"d\"\nrate = \"10Mbit/s\"\n\
             packet_size = \"{size}B\"\nmark = \"{mark}\"\n"
        );
    }
    let all = [&["link.e-d.rate=10Mbit/s", "run.warmup=1s", "run.duration=21s"], overrides].concat();
    run(&text, &all, TraceKinds::default())
}

fn throughputs(results: &Results) -> Vec<f64> {
    results.udp.iter().map(|flow| flow.throughput_bit_s).collect()
}

fn busy(results: &Results) -> f64 {
    link(results, "e->d").utilization_data
}

fn assert_shares(results: &Results, expected: [f64; 3], part: f64) {
    let got = throughputs(results);
    let near = got.iter().zip(expected).all(|(&got, expected)| near(got, expected, part));
    assert!(near, "{got:?} bit/s, not {expected:?}");
}

#[test]
fn wrr_shares_packets_by_weight() {
    let weights = ["weight = 1", "weight = 2", "weight = 5"];
    let equal = shares([500, 500, 500], "wrr", weights, &[]);
    // 5000 packets of 0.4 ms a 2 s; a turn is eight packets, so the count is exact to a turn in 50,000 packets
    assert_shares(&equal, [1.25e6, 2.5e6, 6.25e6], 1e-3);
    assert!(busy(&equal) > 1.0 - 1e-9);
    // packets are counted, not bytes: a turn carries 1500 + 2 * 500 + 5 * 100 bytes
    let unequal = shares([1_500, 500, 100], "wrr", weights, &[]);
    assert_shares(&unequal, [5e6, 1e7 / 3.0, 5e6 / 3.0], 1e-3);
}

#[test]
fn drr_shares_bytes_by_quantum_whatever_the_lengths() {
    let quanta = ["quantum = \"1500B\"", "quantum = \"3000B\"", "quantum = \"7500B\""];
    for sizes in [[1_500, 1_500, 1_500], [1_500, 700, 311], [97, 1_021, 1_499]] {
        let results = shares(sizes, "drr", quanta, &[]);
        // a class is never further from its share than a quantum and a packet: 9000 bytes in 25 MB
        assert_shares(&results, [1.25e6, 2.5e6, 6.25e6], 3e-3);
        assert!(busy(&results) > 1.0 - 1e-9);
    }
}

#[test]
fn a_bounded_class_of_cbq_has_its_share_and_no_more() {
    let share = |more: &str| format!("share = 0.2\npriority = 0\n{more}");
    let rest = ["share = 0.3\npriority = 1", "share = 0.5\npriority = 1"];
    let bounded = shares([500; 3], "cbq", [&share("bounded = true"), rest[0], rest[1]], &[]);
    assert_shares(&bounded, [2e6, 3e6, 5e6], 0.01);
    assert!(busy(&bounded) > 1.0 - 1e-9);
    // alone on the link, with the others silent, it still has 2 Mbit/s, and the link idles
    let silent = ["udp.u1.start=20.9s", "udp.u2.start=20.9s", "run.duration=20.9s"];
    let alone = shares([500; 3], "cbq", [&share("bounded = true"), rest[0], rest[1]], &silent);
    assert!(near(throughputs(&alone)[0], 2e6, 0.01), "{:?}", throughputs(&alone));
    assert!(near(busy(&alone), 0.2, 0.01), "{}", busy(&alone));
    assert!(queue(&alone, "port.e-d.class.c0").drops.of(DropReason::Overflow) > 10_000);
    // where it may borrow it takes the whole link
    let borrows = shares([500; 3], "cbq", [&share(""), rest[0], rest[1]], &silent);
    assert!(near(throughputs(&borrows)[0], 1e7, 1e-3), "{:?}", throughputs(&borrows));
    assert!(busy(&borrows) > 1.0 - 1e-9);
}

#[test]
fn what_a_class_of_cbq_leaves_goes_to_those_that_may_borrow() {
    // the first sends 1 of its 2 Mbit/s; the second is bounded; the third takes what both leave
    let classes = [
        "share = 0.2\npriority = 0",
        "share = 0.3\npriority = 1\nbounded = true",
        "share = 0.5\npriority = 1",
    ];
    let lent = shares([500; 3], "cbq", classes, &["udp.u0.rate=1Mbit/s"]);
    assert_shares(&lent, [1e6, 3e6, 6e6], 0.01);
    assert!(busy(&lent) > 1.0 - 1e-9);
    assert_eq!(queue(&lent, "port.e-d.class.c0").stats.dropped.packets, 0);
    // an isolated class lends nothing: its megabit stays unused
    let keeps = ["share = 0.2\npriority = 0\nisolated = true", classes[1], classes[2]];
    let kept = shares([500; 3], "cbq", keeps, &["udp.u0.rate=1Mbit/s"]);
    assert_shares(&kept, [1e6, 3e6, 5e6], 0.01);
    assert!(near(busy(&kept), 0.9, 0.01), "{}", busy(&kept));
}

#[test]
fn strict_priority_leaves_nothing_to_the_later_classes() {
    let results = shares([500; 3], "strict-priority", [""; 3], &["udp.u0.rate=4Mbit/s"]);
    let got = throughputs(&results);
    assert!(near(got[0], 4e6, 1e-3) && near(got[1], 6e6, 1e-3) && got[2] < 1.0, "{got:?}");
}
