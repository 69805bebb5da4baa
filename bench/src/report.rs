//! The figures as a Markdown table and as JSON.

use serde_json::{Value, json};

use crate::cases::Case;
use crate::measure::{Measurement, float};
use crate::ns2::{CASE, Ns2};

/// A case with its figures.
pub type Row = (Case, Measurement);

/// Head of the table.
pub const HEAD: &str = "\
| case | packet-hops | events per hop | user CPU s | million hops per CPU s | ns per hop | peak MB | allocations per packet | set-up s |
|---|---|---|---|---|---|---|---|---|";

/// A line of the table.
pub fn line((case, m): &Row) -> String {
    format!(
        "| {} | {} | {:.2} | {:.3} | {:.2} | {:.0} | {:.2} | {:.6} | {:.3} |",
        case.id,
        m.packet_hops,
        m.events_per_hop(),
        m.user_cpu_s,
        m.hops_per_cpu_s() / 1e6,
        m.ns_per_hop(),
        float(m.peak_engine_bytes) / 1e6,
        m.allocations_per_packet,
        m.setup_s,
    )
}

/// The targets and the comparison, one line each.
pub fn remarks(rows: &[Row], ns2: &Result<Ns2, String>) -> Vec<String> {
    let find = |id: &str| rows.iter().find(|(case, _)| case.id == id).map(|(_, m)| m);
    let word = |met: bool| if met { "met" } else { "NOT met" };
    let mut lines = Vec::new();
    if let Some(m) = find(CASE) {
        let (speed, peak) = (m.hops_per_cpu_s() / 1e6, float(m.peak_engine_bytes) / 1e6);
        let allocations = m.allocations_per_packet;
        lines.push(format!("{CASE}: {speed:.2} million hops per CPU s, target 5: {}", word(speed >= 5.0)));
        lines.push(format!("{CASE}: {peak:.2} MB at the peak, target under 16: {}", word(peak < 16.0)));
        lines.push(format!(
            "{CASE}: {allocations:.6} allocations per packet in the second half (rings that reach a new length), \
             target none per packet, below 0.0005: {}",
            word(allocations < 0.0005)
        ));
    }
    if let Some(m) = find("diffserv-100") {
        let allocations = m.allocations_per_packet;
        lines.push(format!(
            "diffserv-100: {allocations:.6} allocations per packet in the second half, target as above: {}",
            word(allocations < 0.0005)
        ));
    }
    if let (Some(few), Some(many)) = (find("growth-100"), find("growth-10000")) {
        let ratio = many.ns_per_hop() / few.ns_per_hop();
        lines.push(format!(
            "cost per hop at 10,000 flows: {ratio:.2} times that at 100, target at most 3: {} \
             ({:.2} by the median of both)",
            word(ratio <= 3.0),
            many.median_ns_per_hop() / few.median_ns_per_hop(),
        ));
    }
    lines.push(match ns2 {
        Err(reason) => format!("ns-2: skipped, {reason}"),
        Ok(ns2) => {
            let ratio =
                ratio(rows, ns2).map_or(String::new(), |r| format!("; perhop does {r:.2} times that"));
            let speed = ns2.hops_per_cpu_s() / 1e6;
            format!(
                "ns-2 on {CASE}: {} hops, {speed:.2} million per CPU s net of set-up{ratio}",
                ns2.packet_hops
            )
        }
    });
    lines
}

/// Everything as JSON.
pub fn json(rows: &[Row], ns2: &Result<Ns2, String>) -> Value {
    let case = |(case, m): &Row| {
        json!({
            "id": case.id,
            "packet_hops": m.packet_hops,
            "events": m.events,
            "user_cpu_s": m.user_cpu_s,
            "peak_engine_bytes": m.peak_engine_bytes,
            "allocations_per_packet": m.allocations_per_packet,
            "hops_per_cpu_s": m.hops_per_cpu_s(),
            "events_per_hop": m.events_per_hop(),
            "ns_per_hop": m.ns_per_hop(),
            "setup_s": m.setup_s,
            "runs_user_cpu_s": m.runs_user_cpu_s,
        })
    };
    let ns2 = match ns2 {
        Err(reason) => json!({ "skipped": reason }),
        Ok(ns2) => json!({
            "case": CASE,
            "packet_hops": ns2.packet_hops,
            "user_cpu_s": ns2.user_cpu_s,
            "setup_s": ns2.setup_s,
            "hops_per_cpu_s": ns2.hops_per_cpu_s(),
            "ratio": ratio(rows, ns2),
        }),
    };
    json!({ "cases": rows.iter().map(case).collect::<Vec<_>>(), "ns2": ns2 })
}

/// How many times as fast as ns-2 perhop is.
fn ratio(rows: &[Row], ns2: &Ns2) -> Option<f64> {
    let (_, m) = rows.iter().find(|(case, _)| case.id == CASE)?;
    Some(m.hops_per_cpu_s() / ns2.hops_per_cpu_s())
}
