//! Whether decisions depend on real time: the arrivals of a live run, given to a simulation, must meet the same ones.

use std::collections::BTreeMap;
use std::io;
use std::sync::Arc;

use perhop_core::packet::{Acknowledgment, FlowId, Meta};
use perhop_core::queue::Backlog;
use perhop_core::time::Instant;
use perhop_scenario::build::{Network, Registry};
use perhop_scenario::model::Scenario;
use perhop_sim::{
    HostMarking, MarkCounts, PacketStore, Results, Simulation, TraceKinds, assemble, call_receiver_of, starts,
};

use crate::frame::Frame;
use crate::kernel_host::{End, KernelHost, LatestTcpInfo, Place, Receiving, Sending};

/// A packet that a host sent.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    node: usize,
    at: Instant,
    meta: Meta,
    full_len: u32,
    options: u32,
    numbered: Option<(u64, bool)>,
    acknowledgment: Option<Acknowledgment>,
}

impl Arrival {
    /// `frame`, as it was read at `at`.
    #[must_use]
    pub const fn of(node: usize, at: Instant, frame: &Frame) -> Self {
        let contents = frame.get();
        Self {
            node,
            at,
            meta: contents.meta,
            full_len: contents.full_len,
            options: contents.options,
            numbered: contents.numbered,
            acknowledgment: contents.acknowledgment,
        }
    }
}

/// The ends of the flows of `scenario`, by node, without a kernel behind them.
///
/// # Errors
/// Where the scenario's network cannot be built.
pub fn replay(scenario: &Scenario, arrivals: &[Arrival], trace: TraceKinds) -> io::Result<Results> {
    let network = Network::<Frame>::new(scenario, &Registry::new())
        .map_err(|error| io::Error::other(error.to_string()))?;
    let starts = starts(scenario);
    let mut ends: BTreeMap<usize, BTreeMap<FlowId, Place>> = BTreeMap::new();
    for (i, (id, route)) in (0u32..).map(FlowId).zip(&network.routes).enumerate() {
        let (out, back) = (network.port[route.forward[0]], network.port[route.reverse[0]]);
        let (from, to, first, second) = match scenario.flows.get(i) {
            Some(flow) => {
                let size = flow.size().map(|size| size.0);
                let receiving = Receiving::new(HostMarking::new(&flow.ack_marking), size);
                let sending = Sending::new(Arc::<LatestTcpInfo>::default(), flow.mark, size);
                (flow.from, flow.to, End::Sending(sending), End::Receiving(receiving))
            }
            None => {
                let k = i - scenario.flows.len();
                let (flow, call_receiver) = (&scenario.udp[k], call_receiver_of(scenario, k, starts[i]));
                (
                    flow.from,
                    flow.to,
                    End::Source(Backlog::default()),
                    End::Drain(MarkCounts::default(), call_receiver),
                )
            }
        };
        ends.entry(from).or_default().insert(id, Place { end: first, port: out });
        ends.entry(to).or_default().insert(id, Place { end: second, port: back });
    }
    let host_node =
        |node: usize, site, ports| KernelHost::new(site, ports, ends.remove(&node).unwrap_or_default());
    let mut simulation =
        Simulation::of(assemble(scenario, network, trace, starts, |_| true, host_node), &scenario.run);
    for arrival in arrivals {
        simulation.advance_to(arrival.at);
        simulation.at_host(arrival.at, arrival.node, |host_node, io| {
            for (_, frame) in host_node.out.drain(..) {
                io.consumed(frame);
            }
            let mut frame = io.fresh();
            let contents = frame.get_mut();
            (contents.meta, contents.full_len, contents.options) =
                (arrival.meta, arrival.full_len, arrival.options);
            (contents.numbered, contents.sent) = (arrival.numbered, arrival.at);
            contents.acknowledgment = arrival.acknowledgment;
            host_node.send(arrival.at, frame, io);
        });
    }
    simulation.advance_to(simulation.end());
    for node in 0..scenario.nodes.len() {
        simulation.host(node, |host_node, io| {
            for (_, frame) in host_node.out.drain(..) {
                io.consumed(frame);
            }
        });
    }
    Ok(simulation.finish())
}
