//! A link whose rate follows a trace, in a run.

use perhop_scenario::elements::NoElements;
use perhop_scenario::{FileName, Files, NamedFile, load_with};
use perhop_sim::{Results, Simulation};

use crate::common::ALL;

struct Trace(String);

impl Files for Trace {
    fn read(&self, _: &FileName) -> Result<NamedFile, String> {
        Ok(NamedFile { bytes: self.0.as_bytes().into(), sha256: "0".repeat(64) })
    }
}

const HEAD: &str = r#"
[run]
duration = "30s"
warmup = "2s"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "100Mbit/s"
delay = "5ms"
[[link]]
ends = ["r", "b"]
rate = { "r->b" = "trace:x", "b->r" = "10Mbit/s" }
delay = "5ms"
"#;

fn run(text: &str, overrides: &[&str], trace: String) -> Results {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let text = format!("{HEAD}{text}");
    let loaded = load_with(text.as_bytes(), "test.toml", &overrides, &NoElements, &Trace(trace));
    let loaded = loaded.unwrap_or_else(|found| panic!("{found:?}"));
    let results = Simulation::new(&loaded.scenario, ALL).finish();
    assert_eq!(results.invariants, Vec::<String>::new());
    results
}

const FLOOD: &str = r#"
[[udp]]
name = "u"
from = "a"
to = "b"
rate = "20Mbit/s"
packet_size = "1500B"
"#;

#[test]
fn a_link_that_is_always_full_takes_all_that_is_offered() {
    // an opportunity every 3 ms, and one more every 7: none of its packets is lost to an empty queue
    let times: Vec<u64> =
        (1..=21).flat_map(|ms| vec![ms; usize::from(ms % 3 == 0) + usize::from(ms % 7 == 0)]).collect();
    let text: String = times.iter().map(|ms| format!("{ms}\n")).collect();
    let results = run(FLOOD, &[], text);
    let link = &results.links[2];
    // 10 packets in 21 ms, in 28 s
    assert_eq!(link.rate.bits_per_sec(), 10 * 12_000 * 1000 / 21);
    assert!((link.utilization_data - 1.0).abs() < 1e-12, "{}", link.utilization_data);
    assert!(link.utilization_acks.abs() < 1e-12);
    let expected = 28_000.0 / 2.1;
    assert!((link.stats.packets as f64 - expected).abs() <= 10.0, "{}", link.stats.packets);
}

#[test]
fn utilization_is_of_what_was_offered() {
    // 20 Mbit/s for a second, nothing for the next, and half of what could be sent
    let slow = FLOOD.replace("20Mbit/s", "5Mbit/s");
    let results = run(&slow, &[], "time_s,rate_bit_s\n0,20000000\n1,0\n2,repeat\n".to_owned());
    let link = &results.links[2];
    assert_eq!(link.rate.bits_per_sec(), 10_000_000);
    assert!((link.utilization_data - 0.5).abs() < 1e-3, "{}", link.utilization_data);
}

#[test]
fn a_trace_of_one_rate_is_that_rate() {
    let flows = "[[flow]]\nname = \"up\"\nfrom = \"a\"\nto = \"b\"\n";
    let traced = run(flows, &[], "time_s,rate_bit_s\n0,3333333\n".to_owned());
    let constant = run(flows, &["link.r-b.rate.r->b=3333333bit/s"], String::new());
    // but for the part of a nanosecond that a link without a trace keeps over an idle time
    assert_eq!(traced.flows[0].delivered, constant.flows[0].delivered);
    assert!((traced.links[2].utilization_data - constant.links[2].utilization_data).abs() < 1e-6);
}

/// BBR knows the lower rate after ten round trips: the queue is short again, and the link as full.
#[test]
fn bbr_follows_a_rate_that_halves_and_one_that_doubles() {
    let bbr = r#"
[[port]]
at = "r"
to = "b"
class = [{ name = "all", queue = { kind = "fifo", limit = "1000p" } }]
[[flow]]
name = "f"
from = "a"
to = "b"
tcp = { profile = "linux", cc = "bbr" }
"#;
    for (before, after) in [(10, 5), (5, 10)] {
        let trace = format!("time_s,rate_bit_s\n0,{before}000000\n15,{after}000000\n");
        let results = run(bbr, &["run.warmup=19s"], trace);
        let goodput = results.flows[0].goodput_bit_s;
        assert!(goodput > 0.9 * 1460.0 / 1512.0 * f64::from(after) * 1e6, "{goodput} of {after} Mbit/s");
        let row = results.queues.iter().find(|row| row.path == "port.r-b.class.all").expect("the queue");
        let wait = row.wait_mean_s;
        assert!(wait < 0.02, "{wait} s with {after} Mbit/s");
        assert_eq!(results.flows[0].stats.timeouts, 0);
    }
}
