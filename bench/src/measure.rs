//! Measures one case.

use std::collections::BTreeSet;

use nix::sys::resource::{UsageWho, getrusage};
use perhop_core::time::{Instant, Span};
use perhop_scenario::model::{NodeKind, Scenario};
use perhop_sim::{Results, Simulation, TraceKinds};

use crate::allocator;

/// Runs of each case; the fastest counts, since other programs can only add to the time.
pub const RUNS: usize = 7;

/// What was measured.
#[derive(Clone, Debug)]
pub struct Measurement {
    /// Packets that finished a link, data and pure ACKs.
    pub packet_hops: u64,
    /// Events processed.
    pub events: u64,
    /// User time inside the event loop, s: the fastest run.
    pub user_cpu_s: f64,
    /// User time inside the event loop of every run, s.
    pub runs_user_cpu_s: Vec<f64>,
    /// User time from the scenario to the first event, s: the fastest run.
    pub setup_s: f64,
    /// Most bytes allocated at once, from before the run is built to the end of the event loop.
    pub peak_engine_bytes: u64,
    /// Allocations in the second half of the run, for each packet that a host sent in it.
    pub allocations_per_packet: f64,
}

impl Measurement {
    /// Packet-hops for each second of user time.
    pub fn hops_per_cpu_s(&self) -> f64 {
        float(self.packet_hops) / self.user_cpu_s
    }

    /// User time for each packet-hop, ns.
    pub fn ns_per_hop(&self) -> f64 {
        1e9 / self.hops_per_cpu_s()
    }

    /// Events for each packet-hop.
    pub fn events_per_hop(&self) -> f64 {
        float(self.events) / float(self.packet_hops)
    }
}

/// The runs of one case so far.
pub struct Runs {
    scenario: Scenario,
    /// Packets that hosts send in the first half.
    early: u64,
    runs: Vec<Run>,
}

struct Run {
    event_digest: u64,
    packet_hops: u64,
    events: u64,
    packets_sent: u64,
    user_cpu_s: f64,
    setup_s: f64,
    peak: u64,
    late_allocations: u64,
}

impl Runs {
    /// Runs the first half of `scenario`, which warms the machine too.
    ///
    /// # Errors
    /// A run that broke an invariant.
    pub fn new(scenario: Scenario) -> Result<Self, String> {
        let mut first_half = scenario.clone();
        first_half.run.duration = half(&scenario);
        first_half.run.interval = half(&scenario);
        let early = run(&first_half)?.packets_sent;
        Ok(Self { scenario, early, runs: Vec::with_capacity(RUNS) })
    }

    /// The scenario.
    pub const fn scenario(&self) -> &Scenario {
        &self.scenario
    }

    /// Runs it once more.
    ///
    /// # Errors
    /// A run that broke an invariant, or that differs from the first.
    pub fn add(&mut self) -> Result<(), String> {
        let run = run(&self.scenario)?;
        if self.runs.first().is_some_and(|first| first.event_digest != run.event_digest) {
            return Err("two runs of the same scenario differ".to_owned());
        }
        self.runs.push(run);
        Ok(())
    }

    /// What the runs, one at least, come to.
    pub fn measurement(&self) -> Measurement {
        let first = &self.runs[0];
        let least = |value: fn(&Run) -> f64| self.runs.iter().map(value).fold(f64::INFINITY, f64::min);
        Measurement {
            packet_hops: first.packet_hops,
            events: first.events,
            user_cpu_s: least(|r| r.user_cpu_s),
            runs_user_cpu_s: self.runs.iter().map(|r| r.user_cpu_s).collect(),
            setup_s: least(|r| r.setup_s),
            peak_engine_bytes: first.peak,
            allocations_per_packet: float(first.late_allocations) / float(first.packets_sent - self.early),
        }
    }
}

const fn half(scenario: &Scenario) -> Span {
    Span::from_nanos(scenario.run.duration.as_nanos() / 2)
}

fn run(scenario: &Scenario) -> Result<Run, String> {
    allocator::forget_peak();
    let before = allocator::live_bytes();
    let start = user_s(UsageWho::RUSAGE_SELF);
    let mut simulation = Simulation::new(scenario, TraceKinds::default());
    // the reading of every counter at time zero belongs to the results too
    simulation.advance_to(Instant::from_nanos(1));
    let built = user_s(UsageWho::RUSAGE_SELF);
    simulation.advance_to(Instant::ZERO + half(scenario));
    let allocations = allocator::calls();
    // up to the sample of the series at the end, which belongs to the results
    let last = Instant::from_nanos(simulation.end().as_nanos() - 1);
    simulation.advance_to(last);
    let late_allocations = allocator::calls() - allocations;
    let end = user_s(UsageWho::RUSAGE_SELF);
    let peak = allocator::peak_bytes() - before;
    let results = simulation.finish();
    if let Some(broken) = results.invariants.first() {
        return Err(format!("an invariant does not hold: {broken}"));
    }
    Ok(Run {
        event_digest: results.event_digest,
        packet_hops: results.counts.packet_hops,
        events: results.counts.events,
        packets_sent: packets_sent(scenario, &results),
        user_cpu_s: end - built,
        setup_s: built - start,
        peak,
        late_allocations,
    })
}

/// Data packets and pure ACKs that hosts have put on their links.
fn packets_sent(scenario: &Scenario, results: &Results) -> u64 {
    let host = |node: usize| scenario.nodes[node].kind == NodeKind::Host;
    let hosts: BTreeSet<&str> =
        scenario.links.iter().filter(|link| host(link.from)).map(|link| link.name.as_str()).collect();
    let rows = results.link_names.iter().zip(&results.links);
    rows.filter(|(name, _)| hosts.contains(name.as_str())).map(|(_, row)| row.stats.packets).sum()
}

/// User time so far, s.
pub fn user_s(who: UsageWho) -> f64 {
    let time = getrusage(who).expect("getrusage takes every value of UsageWho").user_time();
    #[expect(clippy::cast_precision_loss, reason = "seconds of user time are few")]
    let secs = time.tv_sec() as f64;
    #[expect(clippy::cast_precision_loss, reason = "below 10^6")]
    let micros = time.tv_usec() as f64;
    secs + micros / 1e6
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub const fn float(count: u64) -> f64 {
    count as f64
}
