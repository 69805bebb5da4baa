//! A scenario to start from, and what loading a changed one says.

// Every test program has this module and few use all of it.
#![allow(dead_code)]

use perhop_scenario::{Diagnostic, Loaded, load};

/// Two hosts on one link, three pairs of hosts around a router, and a port with two classes.
pub const BASE: &str = r#"
[run]
duration = "60s"

[[node]]
name = "slow"
[[node]]
name = "fast"
[[node]]
name = "r"
kind = "router"
[[node]]
name = "s"
count = 3
[[node]]
name = "d"
count = 3

[[link]]
ends = ["slow", "fast"]
rate = { "slow->fast" = "100kbit/s", "fast->slow" = "5Mbit/s" }
pure_ack_size = "28B"
[[link]]
ends = ["s[*]", "r"]
rate = "15Mbit/s"
delay = "5ms"
[[link]]
ends = ["r", "d[*]"]
rate = "15Mbit/s"

[[port]]
at = "slow"
to = "fast"
scheduler = { kind = "paired-counter", data = "data", share = 0.5 }
backpressure = 1
[[port.class]]
name = "acks"
match = ["pure-ack"]
[[port.class]]
name = "data"
match = ["data"]
queue = { kind = "fifo", limit = "64kB" }

[[flow]]
name = "up"
from = "slow"
to = "fast"
tcp = { window = "64KiB" }
[[flow]]
name = "bulk"
from = "s[*]"
to = "d[*]"
"#;

/// Loads [`BASE`] with each `(old, new)` replaced; every `old` must be there.
pub fn changed(changes: &[(&str, &str)]) -> Result<Loaded, Vec<Diagnostic>> {
    let mut text = BASE.to_owned();
    for (old, new) in changes {
        assert!(text.contains(old), "`{old}` is not in the scenario");
        text = text.replacen(old, new, 1);
    }
    load(text.as_bytes(), "test.toml", &[])
}

/// The diagnostics as `path: rule (hint)`, one per line.
pub fn lines(result: Result<Loaded, Vec<Diagnostic>>) -> String {
    let Err(found) = result else { return "no mistake".to_owned() };
    let line = |d: &Diagnostic| match &d.hint {
        Some(hint) => format!("{}:{} {d} ({hint})", d.line, d.column),
        None => format!("{}:{} {d}", d.line, d.column),
    };
    found.iter().map(line).collect::<Vec<_>>().join("\n")
}
