//! A scenario to start from, and what loading a changed one says.

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

/// Four customers at two edges, a core link, four servers; conditioners, marks, every scheduler and queue, every source.
pub const DOMAIN: &str = r#"
[run]
duration = "60s"
packet_size = "1000B"

[[node]]
name = "s"
count = 4
[[node]]
name = "e"
count = 2
kind = "router"
[[node]]
name = "r2"
kind = "router"
[[node]]
name = "r3"
kind = "router"
[[node]]
name = "d"
count = 4

[[link]]
ends = ["s[*]", "e[*]"]
rate = "10Mbit/s"
delay = ["5ms", "25ms", "95ms"]
[[link]]
ends = ["e[*]", "r2"]
rate = "10Mbit/s"
[[link]]
ends = ["r2", "r3"]
rate = "3Mbit/s"
delay = "10ms"
[[link]]
ends = ["r3", "d[*]"]
rate = "10Mbit/s"

[[conditioner]]
name = "customer"
at = "e[*]"
from = "s[*]"
match = { class = "assured", kind = "data" }
meter = { kind = "tr-tcm", cir = "800kbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }
marker = { green = "AF11", yellow = "AF12", red = "AF13" }
[[conditioner]]
name = "premium"
at = "e[0]"
from = ["s[0]", "s[1]"]
match = { protocol = "udp", mark = "EF" }
meter = { kind = "token-bucket", cir = "300kbit/s", cbs = "2p" }
marker = { green = "EF", red = "shape" }
shaper = { rate = "300kbit/s", burst = "2p" }
[[conditioner]]
name = "acks"
at = "r3"
from = "d[*]"
ack_marking = { kind = "per-class", marks = { assured = "AF11" } }

[[port]]
at = "e[*]"
to = "r2"
scheduler = { kind = "wrr" }
[[port.class]]
name = "ef"
match = ["EF"]
weight = 2
[[port.class]]
name = "rest"
weight = 1
[[port]]
at = "r2"
to = "r3"
scheduler = { kind = "cbq" }
[[port.class]]
name = "ef"
match = ["EF"]
share = 0.1
priority = 0
[[port.class]]
name = "af"
match = ["AF11", "AF12", "AF13"]
share = 0.5
[port.class.queue]
kind = "gred"
limit = "90kB"
green = { min_th = "45kB", max_th = "90kB", max_p = 0.02 }
yellow = { min_th = "22kB", max_th = "45kB", max_p = 0.05, w_q = 0.01 }
red = { min_th = "10kB", max_th = "22kB", max_p = 0.1, limit = "30kB" }
[[port.class]]
name = "be"
share = 0.4
bounded = true
queue = { kind = "red", limit = "100p", min_th = "15p", max_th = "45p", max_p = 0.1 }
[[port]]
at = "r3"
to = "r2"
scheduler = { kind = "drr" }
[[port.class]]
name = "af"
match = ["AF11"]
quantum = "1500B"
queue = { kind = "rio", limit = "88p", colors = { BE = "green" }, green = { min_th = "55p", max_th = "65p", max_p = 0.05 }, red = { min_th = "20p", max_th = "50p", max_p = 0.1 } }
[[port.class]]
name = "be"
quantum = "500B"

[[flow]]
name = "bulk"
class = "assured"
from = "s[*]"
to = "d[*]"
[[flow]]
name = "web"
from = "s[0]"
to = "d[0]"
arrivals = { mean_interval = "20s", size = { kind = "pareto", shape = 1.2, min = "4kB", max = "400kB" } }
[[udp]]
name = "cbr"
mark = "EF"
from = "s[1]"
to = "d[1]"
rate = "240kbit/s"
packet_size = "200B"
"#;

/// Loads [`BASE`] with each `(old, new)` replaced; every `old` must be there.
pub fn changed(changes: &[(&str, &str)]) -> Result<Loaded, Vec<Diagnostic>> {
    load(replaced(BASE, changes).as_bytes(), "test.toml", &[])
}

/// The same with [`DOMAIN`].
pub fn domain(changes: &[(&str, &str)]) -> Result<Loaded, Vec<Diagnostic>> {
    load(replaced(DOMAIN, changes).as_bytes(), "test.toml", &[])
}

/// What loading [`DOMAIN`] with `old` replaced by `new` says.
pub fn one(old: &str, new: &str) -> String {
    lines(domain(&[(old, new)]))
}

/// [`DOMAIN`] with overrides.
pub fn overridden(overrides: &[&str]) -> Result<Loaded, Vec<Diagnostic>> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    load(DOMAIN.as_bytes(), "test.toml", &overrides)
}

/// A scenario without mistakes.
pub fn valid(result: Result<Loaded, Vec<Diagnostic>>) -> Loaded {
    result.unwrap_or_else(|found| panic!("{}", lines(Err(found))))
}

/// `text` with each `(old, new)` replaced; every `old` must be there.
fn replaced(text: &str, changes: &[(&str, &str)]) -> String {
    changes.iter().fold(text.to_owned(), |text, (old, new)| {
        assert!(text.contains(old), "`{old}` is not in the scenario");
        text.replacen(old, new, 1)
    })
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
