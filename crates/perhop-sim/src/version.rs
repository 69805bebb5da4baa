//! The version of the results, and the last one that changed what a scenario gives.

use perhop_scenario::model::{AckPolicy, Flow, Scenario};
use perhop_tcp::settings::{Growth, IdleRestart, RttArithmetic};

/// Raised by one with every change that makes any scenario's results differ; [`results_since`] says which scenarios'.
pub const RESULTS_VERSION: u32 = 13;

/// The version since which `scenario` gives what it gives now, 7 or later: what was recorded under it, or since, holds.
#[must_use]
pub fn results_since(scenario: &Scenario) -> u32 {
    let any = |of: fn(&Flow) -> bool| scenario.flows.iter().any(of);
    let changed = |version| match version {
        13 => any(|flow| flow.tcp.params.burst_push),
        12 => any(|flow| flow.tcp.params.rack),
        11 => any(|flow| flow.tcp.params.cc == Growth::Prague),
        10 => any(|flow| flow.tcp.params.idle_restart == IdleRestart::Validation),
        9 => any(|flow| flow.tcp.params.rto.arithmetic == RttArithmetic::Linux),
        8 => any(|flow| matches!(flow.ack, AckPolicy::Delayed(ack) if ack.adapts || ack.buffer.is_some())),
        // a version that is not listed changed every scenario
        _ => true,
    };
    (0..=RESULTS_VERSION).rev().find(|version| changed(*version)).unwrap_or(RESULTS_VERSION)
}
