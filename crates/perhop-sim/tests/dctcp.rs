//! DCTCP at a queue that marks beyond a step: Alizadeh et al. 2010, sections 3.3 and 3.4.

use perhop_sim::{Results, TraceKinds};

use crate::common::{path, run};
use crate::diffserv::{float, queue};

/// Packets of 1500 bytes, and a bottleneck that marks what has waited longer than a step, and does nothing else.
fn network() -> String {
    let rest = r#"
[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = { kind = "codel", limit = "10000p", target = "10s", interval = "100s", ce_threshold = "3ms" }
[[flow]]
name = "up"
from = "a"
to = "b"
count = 1
tcp = { cc = "dctcp", ecn = true, recovery = "sack", window = "4MiB", mss = "1460B", header = "40B", ack_delay = "0s" }
"#;
    path(["12s", "4s"], ["10Gbit/s", "1ms"], ["100Mbit/s", "4ms"], rest)
}

/// Nanoseconds of a packet at 100 Mbit/s, and of the round trip of an empty path.
const PACKET: f64 = 120e-6;
const RTT: f64 = 10e-3 + PACKET;

fn utilization(results: &Results) -> f64 {
    let bytes = queue(results, "port.r-b.class.all").stats.sent.bytes;
    float(bytes.0) * 8.0 / (100e6 * 8.0)
}

/// A step of K beyond C RTT / 7 fills the link, and no more than K and a packet for each flow waits; one far below does not.
#[test]
fn a_step_of_a_seventh_of_the_round_trip_fills_the_link() {
    for (flows, rtts) in [(1, 1.0 / 7.0), (1, 0.3), (3, 1.0 / 7.0), (8, 0.3)] {
        let step = rtts * RTT;
        let results = run(
            &network(),
            &[
                &format!("flow.up.count={flows}"),
                &format!("port.r-b.class.all.queue.ce_threshold={}us", (step * 1e6) as u64),
            ],
            TraceKinds::default(),
        );
        let row = queue(&results, "port.r-b.class.all");
        assert_eq!(row.stats.dropped.packets, 0);
        let used = utilization(&results);
        assert!(used > 0.999, "{flows} flows, {rtts} round trips: {used}");
        // a window that has grown by a segment is heard of a round trip later
        let most = step + 2.0 * f64::from(flows) * PACKET;
        let longest = row.wait_max.as_nanos() as f64 * 1e-9;
        assert!(longest <= most, "{flows} flows, {rtts} round trips: {longest} s wait, not {most}");
    }
    let results = run(&network(), &["port.r-b.class.all.queue.ce_threshold=100us"], TraceKinds::default());
    let used = utilization(&results);
    assert!(used < 0.99, "{used}");
}
