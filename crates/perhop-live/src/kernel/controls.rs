//! The senders that this machine's kernel has.

use std::fs::read_to_string;

/// The names of its congestion controls, those of modules that are not loaded left out; none where it does not say.
#[must_use]
pub fn congestion_controls() -> Vec<String> {
    let found = read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    let mut names: Vec<String> = found.split_whitespace().map(str::to_owned).collect();
    names.sort();
    names
}

/// The queueing discipline that a new device gets, where this process may read it.
#[must_use]
pub fn default_qdisc() -> Option<String> {
    read_to_string("/proc/sys/net/core/default_qdisc").ok().map(|found| found.trim().to_owned())
}
