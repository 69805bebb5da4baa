//! Results by class of flows, as they were contracted: what marks their packets carry and where they wait is another matter.

use perhop_core::packet::{FlowId, TrafficClass};
use perhop_core::port::DropStats;
use perhop_core::queue::Backlog;
use perhop_core::time::{Instant, Span};
use perhop_scenario::model;

use crate::engine::delays::{ClassDelays, DelayCounts, Delays};
use crate::results::totals::Totals;
use crate::results::{FlowResult, UdpResult};

/// Which flows, TCP and then UDP, are of which class.
#[derive(Debug)]
pub struct Contracts {
    /// The classes by number, which is the order in which the file first names them; empty where none of its flows is there.
    pub names: Vec<String>,
    /// Of each flow, its class.
    pub class_of: Vec<usize>,
    /// Of each flow, how much it has to send.
    extents: Vec<Extent>,
}

/// How much a flow has to send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Extent {
    /// No end of data.
    Endless,
    /// A transfer.
    Transfer,
    /// As an application says.
    Application,
}

impl Extent {
    const fn of(flow: &model::Flow) -> Self {
        match (flow.application, flow.tcp.params.size) {
            (Some(_), _) => Self::Application,
            (None, Some(_)) => Self::Transfer,
            (None, None) => Self::Endless,
        }
    }
}

/// A class of flows: its row, of the measured time; but transfers are of the whole run.
#[derive(Clone, Debug, Default)]
pub struct ClassResult {
    /// Its name.
    pub name: String,
    /// Flows, transfers included.
    pub flows: u64,
    /// Packets that its senders sent, repeats included.
    pub offered_packets: u64,
    /// Packets that reached its receivers.
    pub arrived: Backlog,
    /// Of TCP what was delivered in order, of UDP what arrived; bit/s.
    pub goodput_bit_s: f64,
    /// All that arrived, repeats and headers included; bit/s.
    pub throughput_bit_s: f64,
    /// Drops and marks on the way to its receivers.
    pub drops: DropStats,
    /// Jain's index of the goodputs of its flows that do not end, if there are two.
    pub fairness: Option<f64>,
    /// Transfers that began in the whole run.
    pub transfers: u64,
    /// How long those of them took that were completed, the shortest first.
    pub completed: Vec<Span>,
    /// From the sending to the receiving host, if packets with data arrived.
    pub delays: Option<ClassDelays>,
    /// The counters that these are computed from.
    pub delay_counts: DelayCounts,
}

impl Contracts {
    /// Those of `scenario`.
    pub fn new(scenario: &model::Scenario) -> Self {
        let tcp = scenario.flows.iter().map(|flow| (&flow.class, Extent::of(flow)));
        let flows = tcp.chain(scenario.udp.iter().map(|flow| (&flow.class, Extent::Endless)));
        let mut contracts = Self { names: Vec::new(), class_of: Vec::new(), extents: Vec::new() };
        for (id, (name, extent)) in (0..).map(FlowId).zip(flows) {
            let class = scenario.flow_table.get(id).map_or_else(TrafficClass::default, |known| known.class);
            let class = usize::from(class.0);
            let classes = contracts.names.len().max(class + 1);
            contracts.names.resize(classes, String::new());
            contracts.names[class].clone_from(name);
            contracts.class_of.push(class);
            contracts.extents.push(extent);
        }
        contracts
    }

    /// The rows.
    pub fn rows(
        &self,
        (flows, udp): (&[FlowResult], &[UdpResult]),
        delays: &Delays,
        from: &Totals,
        to: &Totals,
    ) -> Vec<ClassResult> {
        let row = |(class, name): (usize, &String)| {
            let (delays, delay_counts) = delays.of_class(class).unzip();
            ClassResult {
                name: name.clone(),
                drops: to.classes[class].since(&from.classes[class]),
                delays,
                delay_counts: delay_counts.unwrap_or_default(),
                ..ClassResult::default()
            }
        };
        let mut rows: Vec<ClassResult> = self.names.iter().enumerate().map(row).collect();
        let mut shares = vec![Vec::new(); rows.len()];
        let goodputs = flows.iter().map(|flow| flow.goodput_bit_s);
        for (i, goodput) in goodputs.chain(udp.iter().map(|flow| flow.throughput_bit_s)).enumerate() {
            let row = &mut rows[self.class_of[i]];
            row.flows += 1;
            row.goodput_bit_s += goodput;
            match i.checked_sub(flows.len()) {
                None => row.add_tcp(&flows[i], to.arrived(i) - from.arrived(i)),
                Some(k) => row.add_udp(&udp[k]),
            }
            match self.extents[i] {
                Extent::Transfer => row.add_transfer(&flows[i], to.reading.at),
                Extent::Endless => shares[self.class_of[i]].push(goodput),
                Extent::Application => {}
            }
        }
        for (row, shares) in rows.iter_mut().zip(&shares) {
            row.fairness = jain(shares);
            row.completed.sort_unstable();
        }
        rows.retain(|row| row.flows > 0);
        rows
    }
}

impl ClassResult {
    fn add_tcp(&mut self, flow: &FlowResult, arrived: Backlog) {
        self.offered_packets += flow.stats.segments;
        self.arrived += arrived;
        self.throughput_bit_s += flow.throughput_bit_s;
    }

    fn add_udp(&mut self, flow: &UdpResult) {
        self.offered_packets += flow.sent.packets;
        self.arrived += flow.arrived;
        self.throughput_bit_s += flow.throughput_bit_s;
    }

    fn add_transfer(&mut self, flow: &FlowResult, end: Instant) {
        if flow.start < end {
            self.transfers += 1;
            self.completed.extend(flow.stats.completed.map(|at| at - flow.start));
        }
    }
}

/// How evenly `shares` are given: 1 if all are equal, 1/n if one has all (Jain, Chiu and Hawe 1984).
fn jain(shares: &[f64]) -> Option<f64> {
    let (sum, squares) = shares.iter().fold((0.0, 0.0), |(sum, squares), x| (sum + x, squares + x * x));
    #[expect(clippy::cast_precision_loss, reason = "a number of flows")]
    let count = shares.len() as f64;
    (shares.len() > 1 && sum > 0.0).then(|| sum * sum / (count * squares))
}
