//! Routes against a plain search, on random networks, and at size.

use std::collections::VecDeque;

use perhop_scenario::model::{Link, NodeKind, Scenario};
use perhop_scenario::{load, routes::routes};
use proptest::prelude::*;

/// A scenario of `kinds.len()` nodes (true: router), `edges` between them, and a flow for every pair of hosts in `pairs`.
fn network(kinds: &[bool], edges: &[(usize, usize)], pairs: &[(usize, usize)]) -> Scenario {
    let text = "[run]\nduration = \"1s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbps\"\n[[flow]]\nname = \"f\"\nfrom = \"a\"\nto = \"b\"";
    let base = load(text.as_bytes(), "base", &[]).expect("a valid scenario").scenario;
    let mut scenario = base.clone();
    let node = |router: &bool| {
        let mut node = base.nodes[0].clone();
        node.kind = if *router { NodeKind::Router } else { NodeKind::Host };
        node
    };
    scenario.nodes = kinds.iter().map(node).collect();
    let both = |&(a, b): &(usize, usize)| {
        [(a, b), (b, a)].map(|(from, to)| Link { from, to, ..base.links[0].clone() })
    };
    scenario.links = edges.iter().flat_map(both).collect();
    let mut flow = base.flows[0].clone();
    scenario.flows = pairs
        .iter()
        .map(|&(from, to)| {
            (flow.from, flow.to) = (from, to);
            flow.clone()
        })
        .collect();
    scenario
}

/// Hops to `to` from every node, through routers only.
fn hops(scenario: &Scenario, to: usize) -> Vec<Option<u32>> {
    let mut hops = vec![None; scenario.nodes.len()];
    hops[to] = Some(0);
    let mut queue = VecDeque::from([to]);
    while let Some(node) = queue.pop_front() {
        if node != to && scenario.nodes[node].kind == NodeKind::Host {
            continue;
        }
        for link in scenario.links.iter().filter(|link| link.to == node) {
            if hops[link.from].is_none() {
                hops[link.from] = hops[node].map(|n| n + 1);
                queue.push_back(link.from);
            }
        }
    }
    hops
}

/// At every node the first link in file order that comes nearer.
fn plain(scenario: &Scenario, from: usize, to: usize) -> Option<Vec<usize>> {
    let hops = hops(scenario, to);
    let (mut node, mut left, mut path) = (from, hops[from]?, Vec::new());
    while left > 0 {
        left -= 1;
        let nearer = |link: &Link| {
            let head = link.to;
            link.from == node
                && hops[head] == Some(left)
                && (head == to || scenario.nodes[head].kind == NodeKind::Router)
        };
        let index = scenario.links.iter().position(nearer)?;
        path.push(index);
        node = scenario.links[index].to;
    }
    Some(path)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]
    #[test]
    fn the_same_as_a_plain_search(
        kinds in prop::collection::vec(prop::bool::weighted(0.6), 2..14),
        raw in prop::collection::vec((0usize..14, 0usize..14), 1..24),
    ) {
        let n = kinds.len();
        let mut edges: Vec<(usize, usize)> = Vec::new();
        for (a, b) in raw.into_iter().map(|(a, b)| (a % n, b % n)) {
            if a != b && !edges.contains(&(a, b)) && !edges.contains(&(b, a)) {
                edges.push((a, b));
            }
        }
        let hosts: Vec<usize> = (0..n).filter(|node| !kinds[*node]).collect();
        for &from in &hosts {
            for &to in hosts.iter().filter(|to| **to != from) {
                let scenario = network(&kinds, &edges, &[(from, to)]);
                let expected = (plain(&scenario, from, to), plain(&scenario, to, from));
                match routes(&scenario) {
                    Ok(found) => {
                        let found = found.into_iter().next().expect("one route");
                        prop_assert_eq!((Some(found.forward), Some(found.reverse)), expected);
                    }
                    Err(without) => {
                        prop_assert_eq!(without, vec![0]);
                        prop_assert!(expected.0.is_none() || expected.1.is_none());
                    }
                }
            }
        }
    }
}

#[test]
fn ties_go_to_the_link_that_comes_first() {
    // Two ways from host 0 to host 5: over 2 (listed first) or over 3.
    let edges = [(0, 1), (1, 2), (1, 3), (2, 4), (3, 4), (4, 5)];
    let scenario = network(&[false, true, true, true, true, false], &edges, &[(0, 5)]);
    let found = routes(&scenario).expect("a way");
    assert_eq!((&found[0].forward, &found[0].reverse), (&vec![0, 2, 6, 10], &vec![11, 7, 3, 1]));
}

#[test]
fn flows_without_a_way_are_named() {
    let scenario = network(&[false, true, false, false], &[(0, 1), (1, 2)], &[(0, 2), (0, 3), (3, 2)]);
    assert_eq!(routes(&scenario), Err(vec![1, 2]));
}

#[test]
fn a_hundred_thousand_flows_take_one_pass() {
    let (pairs, core) = (100_000, 4);
    let mut kinds = vec![true; core];
    kinds.extend(vec![false; 2 * pairs]);
    // A ring of routers; senders on 0, receivers on 2, so every flow has two equal ways.
    let mut edges: Vec<(usize, usize)> = (0..core).map(|r| (r, (r + 1) % core)).collect();
    edges.extend((0..pairs).map(|i| (core + i, 0)));
    edges.extend((0..pairs).map(|i| (2, core + pairs + i)));
    let flows: Vec<(usize, usize)> = (0..pairs).map(|i| (core + i, core + pairs + i)).collect();
    let found = routes(&network(&kinds, &edges, &flows)).expect("a way for each");
    assert_eq!(found.len(), pairs);
    assert!(found.iter().all(|route| route.forward.len() == 4 && route.reverse.len() == 4));
}
