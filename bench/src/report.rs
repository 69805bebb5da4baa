//! The figures as a Markdown table and as JSON.

use serde_json::{Value, json};

use crate::cachegrind::Cost;
use crate::cases::{Case, HEADLINE};
use crate::measure::{Load, Measurement, float};
use crate::ns2::Ns2;

/// A case with its figures.
pub type Row = (Case, Measurement);
/// A case in ns-2.
pub type Other = (&'static str, Result<Ns2, String>);

/// Head of the table.
pub const HEAD: &str = "\
| case | packet-hops | events per hop | user CPU s | million hops per CPU s | ns per hop | instructions per hop | D1 misses per hop | L2 misses per hop | link used | drops | time-outs | peak MB | allocations per packet | set-up s |
|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|";

/// The lines of the table, ns-2 below the case that it runs too.
pub fn lines(rows: &[Row], ns2: &[Other]) -> Vec<String> {
    let other = |id: &str| ns2.iter().find(|(other, _)| *other == id);
    let both = |row: &Row| [Some(line(row)), other(row.0.id).and_then(ns2_line)];
    rows.iter().flat_map(both).flatten().collect()
}

fn line((case, m): &Row) -> String {
    format!(
        "| {} | {} | {:.2} | {} | {} | {:.2} | {:.6} | {:.3} |",
        case.id,
        m.packet_hops,
        m.events_per_hop(),
        speed(m.user_cpu_s, m.hops_per_cpu_s()),
        cost_and_load(&m.cost, &m.load),
        float(m.peak_engine_bytes) / 1e6,
        m.allocations_per_packet,
        m.setup_s,
    )
}

fn ns2_line((id, ns2): &Other) -> Option<String> {
    let ns2 = ns2.as_ref().ok()?;
    Some(format!(
        "| {id} in ns-2 | {} | | {} | {} | | | {:.3} |",
        ns2.packet_hops,
        speed(ns2.user_cpu_s, ns2.hops_per_cpu_s()),
        cost_and_load(&ns2.cost, &ns2.load),
        ns2.setup_s,
    ))
}

fn speed(user_cpu_s: f64, hops_per_cpu_s: f64) -> String {
    format!("{user_cpu_s:.3} | {:.2} | {:.0}", hops_per_cpu_s / 1e6, 1e9 / hops_per_cpu_s)
}

fn cost_and_load(cost: &Result<Cost, String>, load: &Load) -> String {
    let cost = cost.as_ref().map_or_else(
        |_| " | | ".to_owned(),
        |cost| format!("{:.0} | {:.1} | {:.2}", cost.instructions, cost.d1_misses, cost.l2_misses),
    );
    format!("{cost} | {:.1} % | {} | {}", 100.0 * load.used, load.drops, load.timeouts)
}

/// The targets and the comparison, one line each.
pub fn remarks(rows: &[Row], ns2: &[Other]) -> Vec<String> {
    let find = |id: &str| rows.iter().find(|(case, _)| case.id == id).map(|(_, m)| m);
    let word = |met: bool| if met { "met" } else { "NOT met" };
    let mut lines = Vec::new();
    if let Some(reason) = rows.iter().find_map(|(_, m)| m.cost.as_ref().err()) {
        lines.push(format!("instructions and cache misses: skipped, {reason}"));
    }
    if let Some(m) = find(HEADLINE) {
        lines.extend(m.cost.as_ref().ok().map(|cost| {
            let met = word(cost.instructions <= 1500.0);
            format!("{HEADLINE}: {:.0} instructions per hop, target 1500: {met}", cost.instructions)
        }));
    }
    if let Some(m) = find("dumbbell-100") {
        let (speed, peak) = (m.hops_per_cpu_s() / 1e6, float(m.peak_engine_bytes) / 1e6);
        lines.push(format!(
            "dumbbell-100: {speed:.2} million hops per CPU s, target 5: {}",
            word(speed >= 5.0)
        ));
        lines.push(format!("dumbbell-100: {peak:.2} MB at the peak, target under 16: {}", word(peak < 16.0)));
    }
    for (id, m) in [HEADLINE, "dumbbell-100", "diffserv-100"].iter().filter_map(|id| Some((id, find(id)?))) {
        let allocations = m.allocations_per_packet;
        lines.push(format!(
            "{id}: {allocations:.6} allocations per packet in the second half (rings that reach a new length), \
             target none per packet, below 0.0005: {}",
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
    lines.extend(ns2.iter().map(|other| comparison(other, find(other.0))));
    lines
}

/// perhop and ns-2 on one case, in a line.
fn comparison((id, ns2): &Other, perhop: Option<&Measurement>) -> String {
    let ns2 = match ns2 {
        Err(reason) => return format!("{id} in ns-2: skipped, {reason}"),
        Ok(ns2) => ns2,
    };
    let times = perhop.map(|m| m.hops_per_cpu_s() / ns2.hops_per_cpu_s());
    let fewer =
        perhop.and_then(|m| Some(ns2.cost.as_ref().ok()?.instructions / m.cost.as_ref().ok()?.instructions));
    let times =
        times.map_or(String::new(), |times| format!("perhop does {times:.2} times the hops in a CPU s"));
    let fewer = fewer.map_or(String::new(), |fewer| format!(", one for {fewer:.2} times fewer instructions"));
    format!("{id} in ns-2, net of set-up: {times}{fewer}")
}

/// Everything as JSON.
pub fn json(rows: &[Row], ns2: &[Other]) -> Value {
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
            "per_hop": cost(&m.cost),
            "load": m.load,
            "setup_s": m.setup_s,
            "runs_user_cpu_s": m.runs_user_cpu_s,
        })
    };
    let other = |(id, ns2): &Other| match ns2 {
        Err(reason) => json!({ "case": id, "skipped": reason }),
        Ok(ns2) => json!({
            "case": id,
            "packet_hops": ns2.packet_hops,
            "user_cpu_s": ns2.user_cpu_s,
            "setup_s": ns2.setup_s,
            "hops_per_cpu_s": ns2.hops_per_cpu_s(),
            "per_hop": cost(&ns2.cost),
            "load": ns2.load,
        }),
    };
    json!({
        "cases": rows.iter().map(case).collect::<Vec<_>>(),
        "ns2": ns2.iter().map(other).collect::<Vec<_>>(),
    })
}

fn cost(cost: &Result<Cost, String>) -> Value {
    cost.as_ref().map_or_else(|reason| json!({ "skipped": reason }), |cost| json!(cost))
}
