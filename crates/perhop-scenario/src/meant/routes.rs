//! Which links the packets of a flow cross: shortest paths by hops, ties by file order.
//!
//! Hosts do not forward. Trees that hang off the network (each host on its access link, a chain of routers) have one way
//! in and out, so a path inside them is read off; a search is only needed among the nodes that lie on cycles, and its
//! answer serves every flow between the same two of them. A hundred thousand hosts around a few routers cost one pass.

use std::collections::{BTreeMap, VecDeque};

use perhop_core::classify::Address;

use crate::meant::model::{Link, Node, NodeKind, Scenario};

/// Most distances that are held at a time (8 bytes each); beyond it they are computed again.
const HELD: usize = 1 << 24;

/// The links a flow's packets cross, in order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Route {
    /// From the sender to the receiver.
    pub forward: Vec<usize>,
    /// From the receiver back to the sender.
    pub reverse: Vec<usize>,
}

/// The route of every flow, TCP and then UDP, or the flows that have none.
pub fn routes(scenario: &Scenario) -> Result<Vec<Route>, Vec<usize>> {
    let mut map = Map::new(&scenario.nodes, &scenario.links);
    let mut routes = Vec::with_capacity(scenario.flows.len() + scenario.udp.len());
    let mut without = Vec::new();
    let ends = scenario.flows.iter().map(|flow| (flow.from, flow.to));
    let ends = ends.chain(scenario.udp.iter().map(|flow| (flow.from, flow.to)));
    for (index, (from, to)) in ends.enumerate() {
        match (map.path(from, to), map.path(to, from)) {
            (Some(forward), Some(reverse)) => routes.push(Route { forward, reverse }),
            _ => without.push(index),
        }
    }
    if without.is_empty() { Ok(routes) } else { Err(without) }
}

/// The address of a node: its number.
#[must_use]
pub const fn address(node: usize) -> Address {
    Address(node as u128)
}

/// The first link from each router to each host that it can reach, as (router, host, link).
pub fn to_hosts(scenario: &Scenario) -> Vec<(usize, usize, usize)> {
    let mut map = Map::new(&scenario.nodes, &scenario.links);
    let mut ways = Vec::new();
    let of = |kind| (0..scenario.nodes.len()).filter(move |node| scenario.nodes[*node].kind == kind);
    for host in of(NodeKind::Host) {
        for router in of(NodeKind::Router) {
            if let Some(path) = map.path(router, host) {
                ways.push((router, host, path[0]));
            }
        }
    }
    ways
}

/// The network, with its trees folded away.
struct Map<'a> {
    nodes: &'a [Node],
    links: &'a [Link],
    /// Link from a node of a tree towards its root; `None` at a root and on cycles.
    up: Vec<Option<usize>>,
    /// Hops to the root of the tree.
    depth: Vec<u32>,
    /// By node: its number among those that are left after folding.
    left: Vec<Option<usize>>,
    /// By number: links to the others that are left, in file order; of a router only those to routers.
    inner: Vec<Vec<usize>>,
    /// By router: hops to it from each node that is left, by number.
    distances: BTreeMap<usize, Vec<Option<u32>>>,
}

impl<'a> Map<'a> {
    fn new(nodes: &'a [Node], links: &'a [Link]) -> Self {
        let (up, depth, left) = (vec![None; nodes.len()], vec![0; nodes.len()], vec![None; nodes.len()]);
        let mut map = Self { nodes, links, up, depth, left, inner: Vec::new(), distances: BTreeMap::new() };
        map.fold();
        let mut count = 0;
        for node in 0..nodes.len() {
            if map.up[node].is_none() {
                map.left[node] = Some(count);
                count += 1;
            }
        }
        map.inner = vec![Vec::new(); count];
        for (index, link) in links.iter().enumerate() {
            if let (Some(from), Some(_)) = (map.left[link.from], map.left[link.to])
                && (!map.forwards(link.from) || map.forwards(link.to))
            {
                map.inner[from].push(index);
            }
        }
        map
    }

    /// Takes nodes with a single remaining link away, one after the other.
    fn fold(&mut self) {
        // The exclusive or of a node's remaining links is the last of them once there is only one.
        let (mut remaining, mut last) = (vec![0u32; self.nodes.len()], vec![0usize; self.nodes.len()]);
        for (index, link) in self.links.iter().enumerate() {
            remaining[link.from] += 1;
            last[link.from] ^= index;
        }
        let mut leaves: VecDeque<usize> = (0..self.nodes.len()).filter(|n| remaining[*n] == 1).collect();
        let mut order = Vec::new();
        while let Some(leaf) = leaves.pop_front() {
            if remaining[leaf] != 1 {
                // The last two nodes of a tree are each other's leaf: the later one is the root.
                continue;
            }
            let link = last[leaf];
            let parent = self.links[link].to;
            self.up[leaf] = Some(link);
            order.push(leaf);
            remaining[leaf] = 0;
            remaining[parent] -= 1;
            last[parent] ^= opposite(link);
            if remaining[parent] == 1 {
                leaves.push_back(parent);
            }
        }
        for leaf in order.into_iter().rev() {
            if let Some(link) = self.up[leaf] {
                self.depth[leaf] = self.depth[self.links[link].to] + 1;
            }
        }
    }

    fn forwards(&self, node: usize) -> bool {
        self.nodes[node].kind == NodeKind::Router
    }

    /// Links from `from` to `to`, `None` where there is no way.
    fn path(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        let (mut a, mut b) = (from, to);
        let (mut head, mut tail) = (Vec::new(), Vec::new());
        while a != b {
            let climb_a = self.depth[a] >= self.depth[b];
            match (self.up[a], self.up[b]) {
                (Some(link), _) if climb_a => {
                    head.push(link);
                    a = self.links[link].to;
                }
                (_, Some(link)) => {
                    tail.push(opposite(link));
                    b = self.links[link].to;
                }
                _ => break,
            }
        }
        if a != b {
            head.extend(self.search(a, b)?);
        }
        head.extend(tail.into_iter().rev());
        let inner = head.iter().skip(1).all(|link| self.forwards(self.links[*link].from));
        inner.then_some(head)
    }

    /// Shortest path between two nodes that are left after folding: at every node the first link in file order that comes
    /// nearer.
    fn search(&mut self, from: usize, to: usize) -> Option<Vec<usize>> {
        if self.distances.len() * self.inner.len() >= HELD {
            self.distances.clear();
        }
        // Where a packet leaves the routers, and the link to the receiver from there.
        let mut exits = Vec::new();
        if self.forwards(to) {
            exits.push((to, None));
        } else {
            for link in &self.inner[self.left[to]?] {
                match self.links[*link].to {
                    head if head == from => return Some(vec![opposite(*link)]),
                    head if self.forwards(head) => exits.push((head, Some(opposite(*link)))),
                    _ => {}
                }
            }
        }
        for (exit, _) in &exits {
            if !self.distances.contains_key(exit) {
                let hops = self.distances_to(*exit);
                self.distances.insert(*exit, hops);
            }
        }
        let distances: Vec<&[Option<u32>]> = exits.iter().map(|(exit, _)| &*self.distances[exit]).collect();
        let hops = |node: usize| {
            let id = self.left[node].filter(|_| self.forwards(node))?;
            distances.iter().filter_map(|hops| hops[id]).min()
        };
        let links = |node: usize| self.left[node].map_or(&[][..], |id| &self.inner[id]);
        let (mut path, mut node) = (Vec::new(), from);
        if !self.forwards(from) {
            let ways = links(from).iter().filter_map(|link| Some((hops(self.links[*link].to)?, *link)));
            let (_, link) = ways.min_by_key(|(hops, _)| *hops)?;
            path.push(link);
            node = self.links[link].to;
        }
        for hops_left in (0..hops(node)?).rev() {
            let link = *links(node).iter().find(|link| hops(self.links[**link].to) == Some(hops_left))?;
            path.push(link);
            node = self.links[link].to;
        }
        path.extend(exits.iter().find(|(exit, _)| *exit == node)?.1);
        Some(path)
    }

    /// Hops to the router `to` from every router that is left after folding.
    fn distances_to(&self, to: usize) -> Vec<Option<u32>> {
        let mut hops = vec![None; self.inner.len()];
        let mut queue = VecDeque::from([(to, 0)]);
        while let Some((node, far)) = queue.pop_front() {
            let Some(id) = self.left[node].filter(|id| hops[*id].is_none()) else { continue };
            hops[id] = Some(far);
            // Each link has its opposite, so links out of a node also lead into it.
            queue.extend(self.inner[id].iter().map(|link| (self.links[*link].to, far + 1)));
        }
        hops
    }
}

/// The other direction of a link: the two are neighbours in the list.
fn opposite(link: usize) -> usize {
    link ^ 1
}
