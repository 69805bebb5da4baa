//! How long packets with data are on their way, without a trace: from when the first byte is given to the sending host's port
//! until the last byte is at the receiving host.
//!
//! By flow: how many, mean, least and most. By class of flows: also quantiles, and the variation of RFC 5481, PDV (section 4.2)
//! and IPDV (section 4.1). A histogram is kept for the flows of a class whose links have the same delays in sum, of what a
//! packet took beyond those: so a long path is no variation, and what is long does not blur what varies (decision 0034).
//! Cost for each packet that arrives: a line of the flow, two bins.

use perhop_core::histogram::{Histogram, quantile};
use perhop_core::packet::FlowId;
use perhop_core::time::Span;

/// The delays of a flow's packets.
#[derive(Clone, Copy, Debug)]
#[repr(align(64))]
struct Flow {
    /// In `paths`.
    path: u32,
    packets: u64,
    /// ns; enough for 10^11 packets of 0.1 s each.
    sum: u64,
    least: u64,
    most: u64,
    last: u64,
}

/// The flows of a class whose links have the same delays in sum.
#[derive(Clone, Debug)]
struct PathDelays {
    class: usize,
    /// That sum, ns.
    links: u64,
    /// Time that packets took beyond it, ns.
    beyond: Histogram,
    /// Differences of consecutive delays of a flow, ns: their sum, and each.
    changed: u64,
    changes: Histogram,
}

/// The delays of a run.
#[derive(Debug, Default)]
pub struct Delays {
    flows: Vec<Flow>,
    paths: Vec<PathDelays>,
}

/// Mean, least and most of some delays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DelayRange {
    /// s.
    pub mean_s: f64,
    /// The shortest.
    pub min: Span,
    /// The longest.
    pub max: Span,
}

/// The delays of a class, s. Quantiles are at most 1/128 off, of what a packet took beyond its links' delays.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct ClassDelays {
    /// Mean, least and most.
    pub range: DelayRange,
    /// The values that 50, 95, 99 and 99.9 % of the packets do not exceed.
    pub quantiles: [Span; 4],
    /// Beyond the least delay of the flow or of those whose links are as long: 50, 95 and 99.9 %.
    pub pdv: [Span; 3],
    /// Differences between a packet and the one of its flow that arrived before it, without sign: mean in s, 95 %.
    pub ipdv: Option<(f64, Span)>,
}

/// Counters of a class's packets, in order: a value in ns, and of how many packets it is. Of each value 1/128 at most
/// is off, of what a packet took beyond its links' delays.
#[derive(Clone, Default, Debug)]
pub struct DelayCounts {
    /// Delays.
    pub delays: Vec<(u64, u64)>,
    /// Beyond the least delay, as [`ClassDelays::pdv`].
    pub variation: Vec<(u64, u64)>,
    /// Differences, as [`ClassDelays::ipdv`].
    pub changes: Vec<(u64, u64)>,
}

impl Delays {
    /// Nothing has arrived. Of each flow, its class and the sum of its links' delays.
    pub fn new(flows: impl Iterator<Item = (usize, Span)>) -> Self {
        let mut delays = Self::default();
        let mut known = std::collections::BTreeMap::new();
        for (class, links) in flows {
            let links = links.as_nanos();
            let path = *known.entry((class, links)).or_insert_with(|| {
                let (beyond, changes) = (Histogram::new(), Histogram::new());
                delays.paths.push(PathDelays { class, links, beyond, changed: 0, changes });
                delays.paths.len() - 1
            });
            let path = u32::try_from(path).expect("a scenario has fewer than 2^32 flows");
            delays.flows.push(Flow::none(path));
        }
        delays
    }

    /// A packet of `flow` has arrived.
    #[inline]
    pub fn arrived(&mut self, flow: FlowId, delay: Span) {
        let delay = delay.as_nanos();
        let flow = &mut self.flows[flow.0 as usize];
        let path = &mut self.paths[flow.path as usize];
        path.beyond.record(delay - path.links);
        if flow.packets > 0 {
            let change = delay.abs_diff(flow.last);
            path.changed += change;
            path.changes.record(change);
        }
        flow.packets += 1;
        flow.sum += delay;
        flow.least = flow.least.min(delay);
        flow.most = flow.most.max(delay);
        flow.last = delay;
    }

    /// A measurement begins: what has arrived is forgotten.
    pub fn restart(&mut self) {
        self.flows.iter_mut().for_each(|flow| *flow = Flow::none(flow.path));
        for path in &mut self.paths {
            path.beyond.clear();
            path.changes.clear();
            path.changed = 0;
        }
    }

    /// The delays of flow number `flow`, if packets have arrived.
    pub fn of_flow(&self, flow: usize) -> Option<DelayRange> {
        self.flows[flow].range()
    }

    /// The delays of class number `class`, and what they are computed from, if packets have arrived.
    pub fn of_class(&self, class: usize) -> Option<(ClassDelays, DelayCounts)> {
        let in_class = |flow: &&Flow| self.paths[flow.path as usize].class == class && flow.packets > 0;
        let mut all: Option<Flow> = None;
        let mut flows = 0;
        // of each path of the class, the least delay of its packets
        let mut least = std::collections::BTreeMap::new();
        for flow in self.flows.iter().filter(in_class) {
            let least = least.entry(flow.path).or_insert(u64::MAX);
            *least = flow.least.min(*least);
            all = Some(all.map_or(*flow, |all| all.with(flow)));
            flows += 1;
        }
        let all = all?;
        let paths = || least.iter().map(|(&path, &least)| (&self.paths[path as usize], least));
        // the middle of the outermost bins may lie beyond what is in them
        let mut delays = sorted(paths().map(|(path, _)| (path, 0)));
        delays.iter_mut().for_each(|(value, _)| *value = (*value).clamp(all.least, all.most));
        let mut variation = sorted(paths());
        variation.iter_mut().for_each(|(value, _)| *value = (*value).min(all.most - all.least));
        let of = |values: &[(u64, u64)], permille| {
            quantile(values.iter().copied(), all.packets, permille).unwrap_or_default()
        };
        let mut changes = Histogram::new();
        paths().for_each(|(path, _)| changes.merge(&path.changes));
        let changed = paths().map(|(path, _)| path.changed).sum();
        let found = ClassDelays {
            range: all.range()?,
            quantiles: [500, 950, 990, 999].map(|p| ns(of(&delays, p))),
            pdv: [500, 950, 999].map(|p| ns(of(&variation, p))),
            ipdv: changes.quantile(950).map(|p95| (mean_s(changed, all.packets - flows), ns(p95))),
        };
        Some((found, DelayCounts { delays, variation, changes: changes.bins().collect() }))
    }
}

impl Flow {
    const fn none(path: u32) -> Self {
        Self { path, packets: 0, sum: 0, least: u64::MAX, most: 0, last: 0 }
    }

    fn with(self, other: &Self) -> Self {
        Self {
            packets: self.packets + other.packets,
            sum: self.sum + other.sum,
            least: self.least.min(other.least),
            most: self.most.max(other.most),
            ..self
        }
    }

    fn range(&self) -> Option<DelayRange> {
        let some = self.packets > 0;
        some.then(|| DelayRange {
            mean_s: mean_s(self.sum, self.packets),
            min: ns(self.least),
            max: ns(self.most),
        })
    }
}

/// The delays on several paths in order, each with how often it is there, less what is given for the path.
fn sorted<'a>(paths: impl Iterator<Item = (&'a PathDelays, u64)>) -> Vec<(u64, u64)> {
    let mut values = Vec::new();
    for (path, less) in paths {
        values.extend(
            path.beyond.bins().map(|(beyond, count)| ((path.links + beyond).saturating_sub(less), count)),
        );
    }
    values.sort_unstable();
    values
}

const fn ns(nanos: u64) -> Span {
    Span::from_nanos(nanos)
}

#[expect(clippy::cast_precision_loss, reason = "a mean for people and tables")]
fn mean_s(sum: u64, count: u64) -> f64 {
    sum as f64 / count as f64 / 1e9
}
