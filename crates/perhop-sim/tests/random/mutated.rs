//! Changed scenario files: none makes anything panic, take for ever or fill the memory, and every mistake has a place.

use std::time::{Duration, Instant};

use super::Case;
use super::mutate::mutated;
use perhop_core::time::{Instant as SimTime, Span};
use perhop_scenario::{Diagnostic, cost, load, render};
use perhop_sim::{Simulation, TraceKinds};
use perhop_testkit::scenarios::{Numbers, cases, shipped};

/// Longest that reading a file may take, on a busy machine and without optimization.
const LONGEST: Duration = Duration::from_secs(60);
/// Most memory that all of it may take, kB.
const MOST_MEMORY: u64 = 4_000_000;
/// Larger networks are read and not run.
const MOST_NODES: usize = 2_000;
/// Packet-hops that a run is given.
const HOPS: f64 = 1_000.0;

#[expect(clippy::disallowed_methods, reason = "time is what is tested")]
fn now() -> Instant {
    Instant::now()
}

fn check_places(found: &[Diagnostic], text: &[u8]) {
    assert!(!found.is_empty());
    let lines = text.split(|byte| *byte == b'\n').count();
    for diagnostic in found {
        assert!((1..=lines).contains(&diagnostic.line) && diagnostic.column >= 1, "{diagnostic:?}");
        assert!(!diagnostic.rule.is_empty() && diagnostic.count >= 1, "{diagnostic:?}");
        assert!(render(diagnostic, false).len() < 20_000, "{diagnostic}");
    }
}

/// Runs a scenario for as long as its first packets take; whether it was small enough to.
fn run(mut scenario: perhop_scenario::model::Scenario) -> bool {
    let hops = cost::packet_hops(&scenario).max(1.0);
    if scenario.nodes.len() + scenario.flows.len() > MOST_NODES || scenario.conditioners.len() > MOST_NODES {
        return false;
    }
    let part = (HOPS / hops).min(1.0);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time within the run")]
    let duration = (scenario.run.duration.as_secs_f64() * 1e9 * part) as u64;
    let duration = Span::from_nanos(duration.max(1));
    scenario.run.duration = duration;
    scenario.run.warmup = Span::ZERO;
    scenario.run.interval = Span::from_nanos(duration.as_nanos().div_ceil(4));
    let mut simulation = Simulation::new(&scenario, TraceKinds::default());
    simulation.advance_to(SimTime::ZERO + duration);
    let results = simulation.finish();
    assert_eq!(results.invariants, Vec::<String>::new());
    true
}

#[test]
fn changed_files_are_refused_with_their_places_or_run() {
    let files = shipped();
    let (mut valid, mut ran) = (0, 0);
    let all = cases(1);
    for case in 0..all {
        let mut numbers = Numbers::of_case(case);
        let (name, text) = numbers.pick(&files);
        let data = mutated(text, &mut numbers);
        let shown = String::from_utf8_lossy(&data).into_owned();
        let _case = Case(case, &shown);
        let start = now();
        match load(&data, name, &[]) {
            Err(found) => check_places(&found, &data),
            Ok(loaded) => {
                valid += 1;
                let resolved = loaded.resolved_toml();
                let again = load(resolved.as_bytes(), "resolved.toml", &[]);
                assert_eq!(again.expect("a resolved scenario").resolved_toml(), resolved);
                ran += u64::from(run(loaded.scenario));
            }
        }
        assert!(start.elapsed() < LONGEST, "{:?}", start.elapsed());
    }
    assert!(valid * 5 > all && ran * 6 > all, "{valid} of {all} changed files are valid, {ran} ran");
    if let Ok(status) = std::fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).expect("a peak");
        let peak: u64 = peak.trim().trim_end_matches(" kB").parse().expect("a number");
        assert!(peak < MOST_MEMORY, "{peak} kB");
    }
}
