//! A live run as JSON: the tables of any run, and how it went.

use std::io::{self, Write};

use perhop_core::histogram::Histogram;
use perhop_scenario::model::Scenario;
use perhop_sim::tables::{Of, Run, Table};
use serde_json::{Value, json};

use crate::honour::{Honoured, Settings};
use crate::iperf3::Iperf3Output;
use crate::run::{Iperf3, LiveRun};

/// Writes everything, with the tables of `trace`.
///
/// # Errors
/// Of `out`.
pub fn write(
    out: &mut impl Write,
    scenario: &Scenario,
    finished: &LiveRun,
    trace: &[&'static Table],
    honoured: &Honoured,
) -> io::Result<()> {
    let LiveRun { results, .. } = finished;
    let run = Run::new(scenario, results);
    let counts = json!({
        "events": results.counts.events,
        "packet_hops": results.counts.packet_hops,
        "packets_created": results.counts.packets_created,
    });
    write!(out, "{{\"tables\":")?;
    tables(out, &run, run.tables())?;
    write!(out, ",\"trace\":")?;
    tables(out, &run, trace.iter().copied())?;
    let digest = format!("{:016x}", results.event_digest);
    let rest = [
        ("counts", counts),
        ("invariants", json!(results.invariants)),
        ("event_digest", json!(digest)),
        ("live", live(scenario, finished, honoured)),
    ];
    for (name, value) in rest {
        write!(out, ",\"{name}\":{value}")?;
    }
    writeln!(out, "}}")
}

/// How the run went.
fn live(scenario: &Scenario, finished: &LiveRun, honoured: &Honoured) -> Value {
    let errors = &finished.errors;
    let over = errors.over(scenario.run.duration, scenario.run.endpoint);
    let retransmissions: Vec<Value> = errors
        .retransmissions
        .iter()
        .map(|(flow, here, there)| json!({"flow": flow, "packets": here, "kernel": there}))
        .collect();
    let host = |(&node, settings): (&usize, &Settings)| {
        let Settings { sysctls, route, mtu, bursts } = settings;
        let of_host = json!({
            "sysctls": sysctls, "route": route, "mtu_bytes": mtu, "bursts": bursts, "controls": finished.controls.get(&node),
        });
        (scenario.nodes[node].name.clone(), of_host)
    };
    let hosts: serde_json::Map<String, Value> = honoured.hosts.iter().map(host).collect();
    json!({
        "priority": finished.priority.name(),
        "lateness_s": quantiles(&errors.lateness),
        "reads_late_s": quantiles(&errors.reads),
        "stalls_s": errors.stalls.sum.as_secs_f64(),
        "longest_stall_s": errors.stalls.longest.0.as_secs_f64(),
        "suspended_s": errors.suspended.as_secs_f64(),
        "applications_late_s": quantiles(&errors.applications),
        "sources_late_s": quantiles(&errors.sources),
        "checksums": errors.checksums,
        "sizes": errors.sizes,
        "foreign": errors.foreign,
        "unread": errors.unread,
        "unwritten": errors.unwritten,
        "unsent": errors.unsent,
        "cpu_s": errors.cpu.as_secs_f64(),
        "forwarding_share": errors.forwarding.most,
        "sending_share": errors.sending.most,
        "retransmissions_differ": retransmissions,
        "over_budget": over,
        "differences": honoured.differences,
        "hosts": hosts,
        "options_lacking": finished.lacking,
        "iperf3": finished.iperf3.as_ref().map(iperf3),
    })
}

/// The output of iperf3, and its sums.
fn iperf3(given: &Iperf3) -> Value {
    let flow = |(Iperf3Output { flow, client, server }, acknowledged): &(Iperf3Output, u64)| {
        let sum = |report: &Value, name| report.pointer(&format!("/end/{name}")).cloned();
        json!({
            "flow": flow,
            "acknowledged_bytes": acknowledged,
            "sent_bytes": sum(client, "sum_sent/bytes"),
            "received_bytes": sum(server, "sum_received/bytes"),
            "retransmissions": sum(client, "sum_sent/retransmits"),
            "seconds": sum(client, "sum_sent/seconds"),
            "client": client,
            "server": server,
        })
    };
    json!({"version": given.version, "flows": given.flows.iter().map(flow).collect::<Vec<_>>()})
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn quantiles(histogram: &Histogram) -> Value {
    let of = |permille| histogram.quantile(permille).map(|ns| ns as f64 / 1e9);
    json!({"p50": of(500), "p99": of(990), "p999": of(999), "max": of(1000)})
}

fn tables(
    out: &mut impl Write,
    run: &Run<'_>,
    tables: impl Iterator<Item = &'static Table>,
) -> io::Result<()> {
    write!(out, "{{")?;
    for (i, table) in tables.enumerate() {
        write!(out, "{}\"{}\":{{", if i > 0 { "," } else { "" }, table.name)?;
        let rows = (table.rows)(run);
        for (k, column) in table.columns.iter().enumerate() {
            write!(out, "{}\"{}\":", if k > 0 { "," } else { "" }, column.name)?;
            let cell = |row| match column.of {
                Of::Text(read) => json!(read(run, row)),
                Of::Count(read) => json!(read(run, row)),
                Of::Modulo32(read) => json!(read(run, row)),
                Of::Integer(read) => json!(read(run, row)),
                Of::Real(read) => json!(read(run, row)),
            };
            list(out, (0..rows).map(cell))?;
        }
        for (name, words) in run.labels(table) {
            write!(out, ",{}:", json!(name))?;
            list(out, words.into_iter().map(|word| json!(word)))?;
        }
        write!(out, "}}")?;
    }
    write!(out, "}}")
}

fn list(out: &mut impl Write, values: impl Iterator<Item = Value>) -> io::Result<()> {
    write!(out, "[")?;
    for (i, value) in values.enumerate() {
        if i > 0 {
            write!(out, ",")?;
        }
        write!(out, "{value}")?;
    }
    write!(out, "]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::budget::Errors;
    use crate::endpoints::Controls;
    use crate::honour::honour;
    use crate::kernel::Priority;
    use crate::parity::replay;

    const TEXT: &str = r#"
node = [{ name = "a" }, { name = "b" }]
link = [{ ends = ["a", "b"], rate = "1Mbit/s" }]
flow = [{ name = "f", from = "a", to = "b", tcp = { profile = "linux" } }]
[run]
duration = "1s"
"#;

    #[test]
    fn a_broken_law_is_no_part_of_the_error_budget() {
        let loaded = perhop_scenario::load(TEXT.as_bytes(), "a.toml", &[]).expect("a scenario");
        let honoured = honour(&loaded.scenario).expect("for a kernel");
        let mut results = replay(&loaded.scenario, &[], perhop_sim::TraceKinds::default()).expect("a run");
        results.invariants.push("a law".into());
        let finished = LiveRun {
            results,
            errors: Errors::default(),
            priority: Priority::Normal,
            lacking: Vec::new(),
            controls: Controls::from([(0, ["bbr".to_owned()].into())]),
            iperf3: None,
        };
        let mut out = Vec::new();
        write(&mut out, &loaded.scenario, &finished, &[], &honoured).expect("written");
        let output: Value = serde_json::from_slice(&out).expect("JSON");
        assert_eq!(output["invariants"], json!(["a law"]));
        assert_eq!(output["live"]["over_budget"], json!([]));
        assert_eq!(output["live"]["hosts"]["a"]["controls"], json!(["bbr"]));
        assert_eq!(output["live"]["hosts"]["b"]["controls"], Value::Null);
    }
}
