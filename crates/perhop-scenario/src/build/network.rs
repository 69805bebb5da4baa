//! The nodes of a scenario, in parts: what is at each of them but the ends of flows, and where each link goes.

use std::sync::Arc;

use perhop_core::classify::{Address, MultiField, Pattern};
use perhop_core::outgoing::Outgoing;
use perhop_core::packet::{ClassId, Dir, FlowId, OnWire, PortId};
use perhop_core::range_table::RangeTable;
use perhop_core::router::{IngressConditioner, Router, route_key};
use perhop_core::sink::SiteId;

use super::Registry;
use super::conditioner::conditioner;
use super::port::outgoing;
use super::sites::{Sites, index};
use crate::meant::elements::ElementError;
use crate::meant::model;
use crate::meant::routes::{Route, address, routes, to_hosts};

/// The parts of a node.
pub struct Parts<P: OnWire> {
    /// Its outgoing interfaces, by port.
    pub outgoing: Vec<Outgoing<P>>,
    /// Its conditioners.
    pub conditioners: Vec<IngressConditioner<P>>,
    /// The port of each (flow, direction) that it forwards, by [`route_key`].
    pub routes: Vec<(u32, u32)>,
    /// The port towards each host: see [`Network::route_by_address`].
    pub hosts: Vec<(Address, PortId)>,
}

impl<P: OnWire> Parts<P> {
    /// A router of these parts, which reports as `site`.
    #[must_use]
    pub fn router(self, site: SiteId) -> Router<P> {
        Router::new(site, self.outgoing, RangeTable::new(&self.routes), self.hosts, self.conditioners)
    }
}

/// Nodes, and the links between them in an order in which those of each node follow one another, as its ports do.
pub struct Network<P: OnWire> {
    /// In the scenario's order.
    pub nodes: Vec<Parts<P>>,
    /// The scenario's links, in order.
    pub order: Vec<usize>,
    /// Where in `order` the links of each node begin.
    pub first_link: Vec<u32>,
    /// The sending node's port of each link of the scenario.
    pub port: Vec<PortId>,
    /// How observers know the port of each link, in order.
    pub port_sites: Vec<SiteId>,
    /// The ways of the flows: TCP flows first, then UDP flows.
    pub routes: Vec<Route>,
    /// How observers know elements.
    pub sites: Sites,
}

impl<P: OnWire> Network<P> {
    /// The nodes of a valid scenario.
    ///
    /// # Errors
    /// What an element says of its settings, at its path.
    pub fn new(scenario: &model::Scenario, outside: &Registry<P>) -> Result<Self, ElementError> {
        let routes = routes(scenario)
            .unwrap_or_else(|_| unreachable!("the scenario was checked: every flow has its routes"));
        let parts = |_| Parts {
            outgoing: Vec::new(),
            conditioners: Vec::new(),
            routes: Vec::new(),
            hosts: Vec::new(),
        };
        let mut network = Self {
            nodes: scenario.nodes.iter().map(parts).collect(),
            order: (0..scenario.links.len()).collect(),
            first_link: vec![0; scenario.nodes.len()],
            port: vec![PortId(0); scenario.links.len()],
            port_sites: Vec::with_capacity(scenario.links.len()),
            routes,
            sites: Sites::default(),
        };
        network.ports(scenario, outside)?;
        network.ways(scenario);
        network.conditioners(scenario, outside)?;
        Ok(network)
    }

    fn ports(&mut self, scenario: &model::Scenario, outside: &Registry<P>) -> Result<(), ElementError> {
        self.order.sort_by_key(|&l| scenario.links[l].from);
        for links in self.order.chunk_by(|&l, &next| scenario.links[l].from == scenario.links[next].from) {
            self.nodes[scenario.links[links[0]].from].outgoing.reserve_exact(links.len());
        }
        for (at, &l) in self.order.iter().enumerate() {
            let link = &scenario.links[l];
            let ports = &mut self.nodes[link.from].outgoing;
            if ports.is_empty() {
                self.first_link[link.from] = index(at);
            }
            self.port[l] = PortId(index(ports.len()));
            let site = self.sites.intern(&link.port.path);
            self.port_sites.push(site);
            ports.push(outgoing(scenario, link, site, outside, &mut self.sites)?);
        }
        Ok(())
    }

    /// Puts the flows' routes into the nodes that forward them.
    fn ways(&mut self, scenario: &model::Scenario) {
        for (flow, route) in (0u32..).map(FlowId).zip(&self.routes) {
            for (path, dir) in [(&route.forward, Dir::Forward), (&route.reverse, Dir::Reverse)] {
                for &l in &path[1..] {
                    self.nodes[scenario.links[l].from].routes.push((route_key(flow, dir), self.port[l].0));
                }
            }
        }
    }

    /// Lets routers forward packets of flows that the scenario does not have, by their destination, which is an
    /// [`address`] of a host. For drivers of packets that have one.
    pub fn route_by_address(&mut self, scenario: &model::Scenario) {
        for (router, host, l) in to_hosts(scenario) {
            self.nodes[router].hosts.push((address(host), self.port[l]));
        }
    }

    fn conditioners(
        &mut self,
        scenario: &model::Scenario,
        outside: &Registry<P>,
    ) -> Result<(), ElementError> {
        let mut shared: Option<(&Arc<Pattern>, Arc<MultiField>)> = None;
        if scenario.conditioners.is_empty() {
            return Ok(());
        }
        let flows = Arc::clone(&scenario.flow_table);
        for given in &scenario.conditioners {
            let pattern = &given.pattern;
            let classifier = match &shared {
                Some((known, classifier)) if Arc::ptr_eq(known, pattern) => Arc::clone(classifier),
                _ => Arc::new(MultiField::new(&[(ClassId(0), (**pattern).clone())], &scenario.flow_table)),
            };
            shared = Some((pattern, Arc::clone(&classifier)));
            let site = self.sites.intern(&given.path);
            // a packet that comes in by a link leaves towards its other end by the link back
            let ports = given.from.iter().map(|l| self.port[l ^ 1]).collect();
            let built = conditioner(&scenario.run, given, Box::new(classifier), &flows, site, outside)?;
            self.nodes[given.node].conditioners.push(IngressConditioner::new(built, ports));
        }
        Ok(())
    }
}
