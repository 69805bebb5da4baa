//! Ports that send less than their links can, and classes that borrow, in whole networks.

use perhop_sim::TraceKinds;

use crate::common::{path, run};
use crate::diffserv::{link, queue};

/// A flow, or two sources, through a router with a link of 10 Mbit/s behind it.
fn network(rest: &str) -> String {
    path(["25s", "5s"], ["1Gbit/s", "1ms"], ["10Mbit/s", "9ms"], rest)
}
const FLOW: &str = "[[flow]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\n";

/// The part of the link that a long flow uses behind a port of these settings, and its mean wait there in seconds.
fn long_flow(port: &str) -> (f64, f64) {
    let text = network(&format!("{FLOW}[[port]]\nat = \"r\"\nto = \"b\"\n{port}"));
    let results = run(&text, &[], TraceKinds::default());
    (link(&results, "r->b").utilization_data, queue(&results, "port.r-b.class.all").wait_mean_s)
}

#[test]
fn a_long_flow_has_the_rate_of_the_shaper_behind_any_queue_and_waits_in_it() {
    for class in [
        "queue = { kind = \"fifo\", limit = \"100p\" }",
        "queue = { kind = \"fq\" }",
        "queue = { kind = \"pie\" }",
    ] {
        let port = |shaper: &str| long_flow(&format!("{shaper}\n[[port.class]]\nname = \"all\"\n{class}"));
        let (used, wait) = port("shaper = { rate = \"5Mbit/s\" }");
        // a flow alone leaves CoDel a little of any link
        assert!((0.495..0.501).contains(&used), "{class}: {used}");
        assert!(wait > 0.003, "{class}: {wait}");
        let (used, _) = port("shaper = { rate = \"5Mbit/s\", overhead = \"38B\" }");
        assert!((0.495..0.501).contains(&(used * 1538.0 / 1500.0)), "{class}: {used}");
    }
}

#[test]
fn htb_lends_what_a_class_leaves() {
    let class = |name: &str, mark: &str, rate: &str| {
        format!(
            "[[port.class]]\nname = \"{name}\"\nmatch = [\"{mark}\"]\nrate = \"{rate}\"\nceil = \"9Mbit/s\"\n"
        )
    };
    let udp = |name: &str, mark: &str| {
        format!(
            "[[udp]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nmark = \"{mark}\"\nrate = \"9Mbit/s\"\n\
             packet_size = \"1500B\"\n"
        )
    };
    let port =
        "[[port]]\nat = \"r\"\nto = \"b\"\nshaper = { rate = \"8Mbit/s\" }\nscheduler = { kind = \"htb\" }\n";
    let classes =
        class("x", "AF11", "1Mbit/s") + &class("y", "AF21", "3Mbit/s") + &class("z", "any", "4Mbit/s");
    let text = network(&format!("{port}{classes}{}{}", udp("x", "AF11"), udp("y", "AF21")));
    let results = run(&text, &[], TraceKinds::default());
    let rates: Vec<f64> = results.udp.iter().map(|one| one.arrived.bytes.bits() as f64 / 20e6).collect();
    assert!((rates[0] - 2.0).abs() < 0.04 && (rates[1] - 6.0).abs() < 0.04, "{rates:?}");
}
