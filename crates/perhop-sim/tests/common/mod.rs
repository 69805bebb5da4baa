//! Runs of scenario texts.

use perhop_scenario::load;
use perhop_sim::{Results, Simulation, TraceKinds};

/// Everything recorded.
pub const ALL: TraceKinds = TraceKinds { packets: true, queue: true, cwnd: true, tcp: true };

/// A run before its first event.
pub fn simulation(text: &str, overrides: &[&str], trace: TraceKinds) -> Simulation {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let loaded = load(text.as_bytes(), "test.toml", &overrides).unwrap_or_else(|diagnostics| {
        let text: Vec<String> = diagnostics.iter().map(|d| perhop_scenario::render(d, false)).collect();
        panic!("{}", text.join("\n"))
    });
    Simulation::new(&loaded.scenario, trace)
}

/// The results of a run whose invariants hold.
pub fn run(text: &str, overrides: &[&str], trace: TraceKinds) -> Results {
    let results = simulation(text, overrides, trace).finish();
    assert_eq!(results.invariants, Vec::<String>::new());
    results
}

/// Flows that meet at a bottleneck with a short queue.
pub const DUMBBELL: &str = include_str!("../scenarios/dumbbell.toml");

/// A host `a`, a router `r` and a host `b`, the links from one to the next with a rate and a delay each, and the `rest`.
pub fn path(
    [duration, warmup]: [&str; 2],
    [fast, near]: [&str; 2],
    [slow, far]: [&str; 2],
    rest: &str,
) -> String {
    format!(
        r#"
[run]
duration = "{duration}"
warmup = "{warmup}"
[[node]]
name = "a"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "b"
[[link]]
ends = ["a", "r"]
rate = "{fast}"
delay = "{near}"
[[link]]
ends = ["r", "b"]
rate = "{slow}"
delay = "{far}"
{rest}"#
    )
}
