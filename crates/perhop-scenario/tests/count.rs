//! Several flows of one pair of hosts, and clocks whose phase is drawn.

use std::collections::BTreeSet;

use crate::common::{changed, domain, lines, overridden, valid};
use insta::assert_snapshot;
use perhop_core::packet::FlowId;
use perhop_core::time::Span;
use perhop_scenario::{Diagnostic, Loaded, load};

const UP: &str = "name = \"up\"";
const BULK: &str = "name = \"bulk\"";
const CBR: &str = "name = \"cbr\"";

fn with(old: &str, settings: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let change: &[(&str, &str)] = &[(old, &format!("{old}\n{settings}"))];
    if old == CBR { domain(change) } else { changed(change) }
}

/// Each flow with its ends and its ports.
fn flows(loaded: &Loaded) -> String {
    let name = |node: usize| loaded.scenario.nodes[node].name.as_str();
    let tcp = loaded.scenario.flows.iter().map(|flow| (&flow.name, flow.from, flow.to));
    let all = tcp.chain(loaded.scenario.udp.iter().map(|flow| (&flow.name, flow.from, flow.to)));
    let lines = (0..).map(FlowId).zip(all).map(|(id, (flow, from, to))| {
        let key = loaded.scenario.flow_table.get(id).expect("a flow").key;
        format!("{flow} {}:{}->{}:{}", name(from), key.src_port, name(to), key.dst_port)
    });
    lines.collect::<Vec<_>>().join("\n")
}

#[test]
fn each_pair_has_as_many() {
    assert_snapshot!(flows(&valid(with(UP, "count = 3"))), @r"
    up[0] slow:49152->fast:5001
    up[1] slow:49153->fast:5001
    up[2] slow:49154->fast:5001
    bulk[0] s[0]:49152->d[0]:5001
    bulk[1] s[1]:49152->d[1]:5001
    bulk[2] s[2]:49152->d[2]:5001
    ");
    assert_snapshot!(flows(&valid(with(BULK, "count = 2\nports = [7, 8]"))), @r"
    up slow:49152->fast:5001
    bulk[0] s[0]:7->d[0]:8
    bulk[1] s[0]:8->d[0]:8
    bulk[2] s[1]:7->d[1]:8
    bulk[3] s[1]:8->d[1]:8
    bulk[4] s[2]:7->d[2]:8
    bulk[5] s[2]:8->d[2]:8
    ");
    assert_snapshot!(flows(&valid(with(UP, "count = 1"))), @r"
    up[0] slow:49152->fast:5001
    bulk[0] s[0]:49152->d[0]:5001
    bulk[1] s[1]:49152->d[1]:5001
    bulk[2] s[2]:49152->d[2]:5001
    ");
    let udp = flows(&valid(with(CBR, "count = 2")));
    assert_snapshot!(udp.lines().filter(|line| line.starts_with("cbr")).collect::<Vec<_>>().join("\n"), @r"
    cbr[0] s[1]:49152->d[1]:5001
    cbr[1] s[1]:49153->d[1]:5001
    ");
    assert_eq!(valid(with(BULK, "count = 2")).counts(), [("up", 1), ("bulk", 6)]);
    assert_eq!(valid(with(CBR, "count = 2")).counts().last(), Some(&("cbr", 2)));
}

#[test]
fn counts_of_flows_are_bounded() {
    let of = |old: &str, settings: &str| lines(with(old, settings));
    assert_snapshot!(of(UP, "count = 0"), @"46:9 flow.up.count: 0 is below 1, the least allowed");
    assert_snapshot!(of(UP, "count = 16384"), @"no mistake");
    assert_snapshot!(of(UP, "count = 16385"), @"46:9 flow.up.count: 16385 flows of a pair need as many ports, and from 49152 on there are 16384 (begin lower, as in `ports = [1024, 5001]`, or write a second table)");
    assert_snapshot!(of(CBR, "count = 65536\nports = [1, 2]"), @"119:9 udp.cbr.count: 65536 flows of a pair need as many ports, and from 1 on there are 65535 (begin lower, as in `ports = [1024, 5001]`, or write a second table)");
    assert_snapshot!(of(UP, "count = 70000"), @"46:9 flow.up.count: 70000 is above 65536, the most allowed");
    assert_snapshot!(of(UP, "count = \"2\""), @"46:9 flow.up.count: must be an integer, not a string");
    assert_snapshot!(lines(overridden(&["flow.web.count=2"])), @"1:16 flow.web.count: `arrivals` says how many transfers there are (leave `count` out, or take a shorter `mean_interval`)");
    let many = overridden(&["node.s.count=1000", "flow.bulk.count=10000"]);
    assert_snapshot!(lines(many), @"107:1 flow.bulk: this makes more than 1000000 flows");
}

/// The phases of the clocks of `bulk`.
fn phases(settings: &str, overrides: &[&str]) -> Vec<Span> {
    let text = crate::common::BASE.replacen(BULK, &format!("{BULK}\n{settings}"), 1);
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    let loaded = valid(load(text.as_bytes(), "test.toml", &overrides));
    let again = valid(load(loaded.resolved_toml().as_bytes(), "resolved.toml", &[]));
    assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
    let bulk = loaded.scenario.flows.iter().filter(|flow| flow.name.starts_with("bulk"));
    bulk.map(|flow| flow.tcp.params.rto.phase).collect()
}

#[test]
fn a_random_phase_is_drawn_for_each_flow() {
    let random = "count = 1000\ntcp = { profile = \"bsd\", clock_phase = \"random\" }";
    let drawn = phases(random, &[]);
    assert!(drawn.iter().all(|phase| *phase < Span::from_millis(500)));
    let different: BTreeSet<Span> = drawn.iter().copied().collect();
    assert_eq!(different.len(), 3_000);
    // the mean of 3,000 uniform draws from [0, 500 ms): 250 ms, standard deviation 2.6 ms
    let mean = drawn.iter().map(|phase| phase.as_secs_f64()).sum::<f64>() / 3_000.0;
    assert!((mean - 0.25).abs() < 0.01, "{mean}");
    assert_eq!(phases(random, &[]), drawn);
    assert!(phases(random, &["run.seed=2"]).iter().zip(&drawn).all(|(a, b)| a != b));
    assert!(phases(random, &["run.replication=1"]).iter().zip(&drawn).all(|(a, b)| a != b));
    // a further flow shifts no other's draw
    assert_eq!(phases(random, &["flow.up.count=2"]), drawn);
    let fixed = "tcp = { profile = \"bsd\", clock_phase = \"120ms\" }";
    assert_eq!(phases(fixed, &[]), [Span::from_millis(120); 3]);
    assert_eq!(phases("tcp = { profile = \"bsd\" }", &[]), [Span::ZERO; 3]);
}

#[test]
fn what_is_no_phase() {
    let of = |tcp: &str| lines(with(BULK, &format!("tcp = {{ {tcp} }}")));
    assert_snapshot!(of("clock_phase = \"random\""), @"51:23 flow.bulk.tcp.clock_phase: clock_phase (random) needs a clock that ticks, not clock_tick (0s, the default) (BSD's is `500ms`; without a tick time is in nanoseconds)");
    assert_snapshot!(of("profile = \"bsd\", clock_phase = \"rondom\""), @"51:40 flow.bulk.tcp.clock_phase: a time starts with a decimal number (write `60s`, `5ms`, `20us` or `100ns`, or write `random`)");
    assert_snapshot!(of("profile = \"bsd\", clock_phase = 9"), @r#"51:40 flow.bulk.tcp.clock_phase: a time needs a unit; a bare number has none (write the unit: "9s" or "9ms")"#);
    assert_snapshot!(of("profile = \"bsd\", clock_phase = \"500ms\""), @"51:40 flow.bulk.tcp.clock_phase: clock_phase (500ms) must be below clock_tick (500ms, from profile bsd)");
    let profile = "\n[[profile]]\nname = \"own\"\nbase = \"bsd\"\nclock_phase = \"random\"\n";
    let text = [crate::common::BASE, profile].concat();
    let loaded = valid(load(text.as_bytes(), "test.toml", &["flow.up.tcp.profile=own".to_owned()]));
    assert!(loaded.scenario.flows[0].tcp.params.rto.phase > Span::ZERO);
}
