//! Measures one case.

use std::collections::BTreeSet;

use nix::sys::resource::{UsageWho, getrusage};
use perhop_core::time::{Instant, Span};
use perhop_scenario::model::{NodeKind, Scenario};
use perhop_sim::{Results, Simulation, TraceKinds};
use serde::{Deserialize, Serialize};

use crate::allocator;
use crate::cachegrind::Cost;

/// Runs of each case; the fastest counts, since other programs can only add to the time.
pub const RUNS: usize = 7;

/// What the network went through: a speed means little without it.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Load {
    /// Part of the time that the busiest link between routers transmits, or the busiest link where there is none.
    pub used: f64,
    /// Packets dropped by queues, or lost by links.
    pub drops: u64,
    /// Time-outs of all senders.
    pub timeouts: u64,
}

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
    /// What the network went through.
    pub load: Load,
    /// What a hop costs, or why that is not known.
    pub cost: Result<Cost, String>,
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

    /// The same by the median run (of an even number, the slower in the middle).
    pub fn median_ns_per_hop(&self) -> f64 {
        let mut runs = self.runs_user_cpu_s.clone();
        runs.sort_by(f64::total_cmp);
        runs[runs.len() / 2] * 1e9 / float(self.packet_hops)
    }

    /// Events for each packet-hop.
    pub fn events_per_hop(&self) -> f64 {
        float(self.events) / float(self.packet_hops)
    }
}

/// One run.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub struct Run {
    event_digest: u64,
    packet_hops: u64,
    events: u64,
    /// Data packets and pure ACKs that hosts have put on their links.
    packets_sent: u64,
    user_cpu_s: f64,
    setup_s: f64,
    peak: u64,
    /// In the second half.
    allocations: u64,
    load: Load,
}

impl Run {
    /// Packets that finished a link.
    pub const fn packet_hops(&self) -> u64 {
        self.packet_hops
    }
}

/// What the runs of a case, one at least, come to, with the run of its first half and the cost of a hop.
///
/// # Errors
/// Two runs that differ.
pub fn measurement(half: &Run, runs: &[Run], cost: Result<Cost, String>) -> Result<Measurement, String> {
    let first = &runs[0];
    if runs.iter().any(|run| run.event_digest != first.event_digest) {
        return Err("two runs of the same scenario differ".to_owned());
    }
    let least = |value: fn(&Run) -> f64| runs.iter().map(value).fold(f64::INFINITY, f64::min);
    Ok(Measurement {
        packet_hops: first.packet_hops,
        events: first.events,
        user_cpu_s: least(|run| run.user_cpu_s),
        runs_user_cpu_s: runs.iter().map(|run| run.user_cpu_s).collect(),
        setup_s: least(|run| run.setup_s),
        peak_engine_bytes: first.peak,
        allocations_per_packet: float(first.allocations) / float(first.packets_sent - half.packets_sent),
        load: first.load,
        cost,
    })
}

/// Ends `scenario` at `until`.
pub fn shorten(scenario: &mut Scenario, until: Span) {
    scenario.run.duration = until;
    scenario.run.interval = until;
}

/// Half of the simulated time of `scenario`.
pub const fn half(scenario: &Scenario) -> Span {
    Span::from_nanos(scenario.run.duration.as_nanos() / 2)
}

/// Runs `scenario` in this process, which should have run nothing before: memory that was used already costs otherwise.
///
/// # Errors
/// A run that broke an invariant.
pub fn run(scenario: &Scenario) -> Result<Run, String> {
    let before = allocator::live_bytes();
    allocator::forget_peak();
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
    let allocations = allocator::calls() - allocations;
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
        load: load(scenario, &results),
        user_cpu_s: end - built,
        setup_s: built - start,
        peak,
        allocations,
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

fn load(scenario: &Scenario, results: &Results) -> Load {
    let router = |node: usize| scenario.nodes[node].kind == NodeKind::Router;
    let used = |between: bool| {
        let rows = scenario.links.iter().zip(&results.links);
        let rows = rows.filter(|(link, _)| !between || router(link.from) && router(link.to));
        rows.map(|(_, row)| row.utilization_data + row.utilization_acks).reduce(f64::max)
    };
    Load {
        used: used(true).or_else(|| used(false)).unwrap_or_default(),
        drops: results.queues.iter().map(|row| row.stats.dropped.packets).sum::<u64>()
            + results.links.iter().map(|row| row.lost).sum::<u64>(),
        timeouts: results.flows.iter().map(|row| row.stats.timeouts).sum(),
    }
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
