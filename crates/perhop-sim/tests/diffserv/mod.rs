//! Conditioners, marks, UDP, schedulers and early detection on the engine, against arithmetic done apart from it.

mod ack_marks;
mod conditioners;
mod early;
mod policing;
mod shares;
mod sources;
mod tcp_friendly;

use perhop_core::dscp::Dscp;
use perhop_core::sink::{DropReason, SiteId};
use perhop_sim::{LinkResult, PacketEvent, PacketRecord, QueueResult, Results};

/// Two customers behind an edge; no traffic yet.
pub const EDGE: &str = include_str!("../scenarios/edge.toml");

/// Dropped by a conditioner's marker.
pub const POLICED: PacketEvent = PacketEvent::Dropped(DropReason::Policed);

/// AF1x.
pub fn af1(drop_precedence: u8) -> Dscp {
    Dscp::af(1, drop_precedence).unwrap()
}

/// The site called `path`.
pub fn site(results: &Results, path: &str) -> SiteId {
    let at =
        results.sites.iter().position(|(_, site)| site == path).unwrap_or_else(|| panic!("no site {path}"));
    SiteId(u32::try_from(at).unwrap())
}

/// The steps of kind `event` at `path`, in order.
pub fn steps<'a>(results: &'a Results, path: &str, event: PacketEvent) -> Vec<&'a PacketRecord> {
    let at = site(results, path);
    results.trace.packets.iter().filter(|record| record.site == at && record.event == event).collect()
}

/// Their times, ns.
pub fn times(records: &[&PacketRecord]) -> Vec<u64> {
    records.iter().map(|record| record.time.as_nanos()).collect()
}

/// The row of the queue at `path`.
pub fn queue<'a>(results: &'a Results, path: &str) -> &'a QueueResult {
    results.queues.iter().find(|queue| queue.path == path).unwrap_or_else(|| panic!("no queue {path}"))
}

/// The row of the link called `name`.
pub fn link<'a>(results: &'a Results, name: &str) -> &'a LinkResult {
    let at = results.link_names.iter().position(|link| link == name);
    &results.links[at.unwrap_or_else(|| panic!("no link {name}"))]
}

/// Whether `value` is within `part` of `expected`.
pub fn near(value: f64, expected: f64, part: f64) -> bool {
    (value / expected - 1.0).abs() <= part
}

/// A count as a number to divide by.
#[expect(clippy::cast_precision_loss, reason = "counts far below 2^53")]
pub fn float(count: u64) -> f64 {
    count as f64
}

/// A token bucket in fractions of a bit: 1 ns brings `rate` of them, a bit costs 10^9.
pub struct Tokens {
    rate: u128,
    depth: u128,
    now: u128,
    at: u64,
}

impl Tokens {
    /// With room for `bytes`, at time 0.
    pub fn full(rate: u128, bytes: u128) -> Self {
        let depth = bytes * 8_000_000_000;
        Self { rate, depth, now: depth, at: 0 }
    }

    /// Whether a packet that comes `at` ns finds its tokens, which then are gone.
    pub fn take(&mut self, at: u64, bytes: u64) -> bool {
        self.now = self.depth.min(self.now + u128::from(at - self.at) * self.rate);
        self.at = at;
        let cost = u128::from(bytes) * 8_000_000_000;
        let enough = self.now >= cost;
        if enough {
            self.now -= cost;
        }
        enough
    }
}
