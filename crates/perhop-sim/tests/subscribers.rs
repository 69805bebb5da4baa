//! Access networks: many hosts alike, each with few of the flows or with none.

use perhop_sim::TraceKinds;

use crate::common::{ALL, run};

/// Subscribers, each behind a gateway of its own and with a download, a call and a link of its own.
fn access(subscribers: usize) -> String {
    format!(
        r#"
run = {{ duration = "2s", warmup = "500ms" }}
[[node]]
name = "sub"
count = {subscribers}
[[node]]
name = "gw"
kind = "router"
count = {subscribers}
[[node]]
name = "bng"
kind = "router"
[[node]]
name = "srv"
count = 2
[[link]]
ends = ["sub[*]", "gw[*]"]
rate = "100Mbit/s"
[[link]]
ends = ["gw[*]", "bng"]
rate = {{ "gw[*]->bng" = "1Mbit/s", "bng->gw[*]" = "4Mbit/s" }}
delay = "5ms"
[[link]]
ends = ["bng", "srv[*]"]
rate = "10Gbit/s"
[[flow]]
name = "download"
from = "srv[*]"
to = "sub[*]"
[[udp]]
name = "call"
from = "sub[*]"
to = "srv[*]"
rate = "80kbit/s"
packet_size = "200B"
"#
    )
}

/// The flows of a host and of its gateway are so far apart that they are searched for.
#[test]
fn each_of_many_hosts_gets_its_own_flows() {
    let results = run(&access(60), &[], TraceKinds::default());
    assert_eq!((results.flows.len(), results.udp.len()), (60, 60));
    for flow in &results.flows {
        assert!((3.8e6..4e6).contains(&flow.goodput_bit_s), "{flow:?}");
    }
    for call in &results.udp {
        assert!((call.throughput_bit_s - 80_000.0).abs() < 1e-6, "{call:?}");
    }
    assert!(results.classes.iter().all(|class| class.drops.dropped() == 0));
}

#[test]
fn a_subscriber_has_what_it_has_among_others() {
    let of = |subscribers| {
        let results = run(&access(subscribers), &[], TraceKinds::default());
        let (flow, call) = (&results.flows[0], &results.udp[0]);
        format!("{:?} {:?} {call:?}", flow.stats, flow.delivered)
    };
    assert_eq!(of(2), of(60));
}

/// Hosts that nothing is sent to or from.
const IDLE: &str = r#"
[[node]]
name = "idle"
count = 3
[[link]]
ends = ["bng", "idle[*]"]
rate = "1Mbit/s"
[[link]]
ends = ["idle[0]", "idle[1]"]
rate = "1Mbit/s"
"#;

/// A queue of theirs with a clock of its own.
const TIMED: &str = r#"
[[port]]
at = "idle[*]"
to = "bng"
class = [{ name = "all", queue = { kind = "pie" } }]
"#;

#[test]
fn hosts_without_flows_have_rows_and_change_nothing() {
    let without = run(&access(4), &[], ALL);
    for idle in [IDLE.to_owned(), format!("{IDLE}{TIMED}")] {
        let with = run(&format!("{}{idle}", access(4)), &[], ALL);
        assert_eq!(
            format!("{:?} {:?}", with.flows, with.udp),
            format!("{:?} {:?}", without.flows, without.udp)
        );
        assert!(format!("{:?}", with.trace.tcp) == format!("{:?}", without.trace.tcp), "another trace");
        let names = with.link_names.iter().filter(|name| name.contains("idle"));
        assert_eq!((names.count(), with.links.len()), (8, without.links.len() + 8));
        let (idle, used): (Vec<_>, Vec<_>) = with.queues.iter().partition(|row| row.path.contains("idle"));
        assert_eq!(format!("{used:?}"), format!("{:?}", without.queues.iter().collect::<Vec<_>>()));
        assert_eq!(idle.len(), 8);
        for queue in idle {
            assert_eq!((queue.stats.offered.packets, queue.stats.max_packets), (0, 0));
            assert!(queue.wait_mean_s.is_nan());
        }
    }
}
