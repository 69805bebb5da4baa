//! BBR in a run: a full link behind every queue, its own hold on the queue, and its looks for the least round trip.

use perhop_sim::{Quantity, Results, TraceKinds};

use crate::common::{path, run};
use crate::diffserv::{float, queue};

/// 10 Mbit/s, 41 ms: 34 packets of 1512 bytes.
fn network(kind: &str) -> String {
    let rest = format!(
        r#"
[[port]]
at = "r"
to = "b"
class = [{{ name = "all", queue = {{ {kind} }} }}]
[[flow]]
name = "up"
from = "a"
to = "b"
count = 1
tcp = {{ profile = "linux", cc = "bbr" }}
"#
    );
    path(["45s", "5s"], ["1Gbit/s", "1ms"], ["10Mbit/s", "19.5ms"], &rest)
}

/// The part of the link that was used from the warm-up on, and the mean wait in its queue in seconds.
fn used_and_wait(results: &Results) -> (f64, f64) {
    let row = queue(results, "port.r-b.class.all");
    let bytes = float(row.stats.sent.bytes.0);
    (bytes * 8.0 / (10e6 * 40.0), row.wait_mean_s)
}

/// A hundredth of the rate is left free, and a look for the round trip costs 0.2 s of ten.
#[test]
fn one_flow_fills_its_link_behind_every_queue_and_keeps_that_short() {
    let fifo = |limit: u32| format!(r#"kind = "fifo", limit = "{limit}p""#);
    let of = |kind: &str| format!(r#"kind = "{kind}", limit = "100p""#);
    let queues = [
        fifo(10),
        fifo(34),
        fifo(102),
        of("codel"),
        of("cobalt"),
        of("pie"),
        of("fq"),
        of("dualpi2"),
        of("cake"),
    ];
    for kind in &queues {
        let (used, wait) = used_and_wait(&run(&network(kind), &[], TraceKinds::default()));
        assert!(used > 0.95, "{used} of the link behind {kind}");
        assert!(wait < 0.012, "{wait} s behind {kind}");
    }
}

/// Their rates sum up to more than the link, and each has two products of its own in flight: packets wait for one to three round trips, where
/// a sender that only losses slow down would fill all 1,000 places (1.2 s).
#[test]
fn four_flows_hold_a_long_queue_to_a_few_round_trips_and_share_alike() {
    let results =
        run(&network(r#"kind = "fifo", limit = "1000p""#), &["flow.up.count=4"], TraceKinds::default());
    let (used, wait) = used_and_wait(&results);
    assert!(used > 0.97, "{used}");
    assert!((0.04..0.13).contains(&wait), "{wait}");
    let sum: f64 = results.flows.iter().map(|flow| flow.goodput_bit_s).sum();
    let square: f64 = results.flows.iter().map(|flow| flow.goodput_bit_s.powi(2)).sum();
    assert!(
        sum * sum / (4.0 * square) > 0.9,
        "shares of {:?}",
        results.flows.iter().map(|flow| flow.goodput_bit_s)
    );
}

/// Four segments for 0.2 s, every ten seconds.
#[test]
fn every_ten_seconds_it_looks_for_the_least_round_trip() {
    let results =
        run(&network(r#"kind = "fifo", limit = "102p""#), &["run.interval=50ms"], TraceKinds::default());
    let (_, _, windows) = results
        .series
        .iter()
        .find(|(_, quantity, _)| *quantity == Quantity::Cwnd)
        .expect("a series of windows");
    let mut looks = Vec::new();
    for (at, _) in results.series.times.iter().zip(windows).filter(|(_, cwnd)| **cwnd <= 4.0 * 1460.0) {
        let at = at.as_secs_f64();
        if looks.last().is_none_or(|last| at - last > 1.0) {
            looks.push(at);
        }
    }
    assert_eq!(looks.len(), 4, "{looks:?}");
    for pair in looks.windows(2) {
        assert!((10.0..10.6).contains(&(pair[1] - pair[0])), "{looks:?}");
    }
}
