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
