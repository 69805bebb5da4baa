//! BBR version 3 over a bottleneck of 10 Mbit/s and 40 ms, which hold 33 packets; more such runs: `oracles/bbr3`.

use perhop_sim::TraceKinds;

use crate::common::{path, run};
use crate::diffserv::{float, queue};

/// The part of the link that is used in 20 s, and the part of packets that is dropped.
fn measured(cc: &str, flows: u32, queue_of: &str) -> (f64, f64) {
    let rest = format!(
        r#"
[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = {queue_of}
[[flow]]
name = "up"
from = "a"
to = "b"
count = {flows}
start_jitter = "500ms"
tcp = {{ profile = "linux", cc = "{cc}" }}
"#
    );
    let network = path(["25s", "5s"], ["100Mbit/s", "100us"], ["10Mbit/s", "20ms"], &rest);
    let results = run(&network, &[], TraceKinds::default());
    let stats = queue(&results, "port.r-b.class.all").stats;
    let (sent, dropped) = (float(stats.sent.packets), float(stats.dropped.packets));
    (float(stats.sent.bytes.0) * 8.0 / (10e6 * 20.0), dropped / (sent + dropped))
}

#[test]
fn a_flow_fills_its_link_behind_short_and_long_queues() {
    for (queue_of, most_dropped) in [
        (r#"{ kind = "fifo", limit = "10p" }"#, 0.004),
        (r#"{ kind = "fifo", limit = "33p" }"#, 0.004),
        (r#"{ kind = "fifo", limit = "100p" }"#, 0.0),
        (r#"{ kind = "codel" }"#, 0.01),
    ] {
        let (used, dropped) = measured("bbr3", 1, queue_of);
        assert!(used > 0.92, "{queue_of}: {used} of the link is used");
        assert!(dropped <= most_dropped, "{queue_of}: {dropped} of the packets are dropped");
    }
}

#[test]
fn four_flows_lose_a_third_of_what_version_one_does_behind_a_short_queue() {
    let short = r#"{ kind = "fifo", limit = "10p" }"#;
    let ((used, dropped), (_, before)) = (measured("bbr3", 4, short), measured("bbr", 4, short));
    assert!(used > 0.95, "{used} of the link is used");
    assert!(
        dropped < before / 3.0 && before > 0.1,
        "{dropped} of the packets are dropped, by version 1 {before}"
    );
}
