//! Names to nodes: which nodes an end of a link, a port or a flow means.

use std::collections::BTreeMap;

use crate::meant::model;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::NodeKind;
use crate::words::names::{End, Member};
use crate::words::suggest;
use crate::written::file::Node;

/// Most nodes, links or flows of a scenario, all counts expanded.
pub(crate) const MOST: usize = 1_000_000;

/// The nodes of a scenario by name.
pub(crate) struct Names<'a> {
    groups: BTreeMap<&'a str, Group>,
    /// Whether every name was read; if not, one that is not found may be missing only here.
    known: bool,
    /// Whether every node was made as it was written.
    complete: bool,
}

/// A `[[node]]`.
#[derive(Clone, Copy)]
struct Group {
    /// Its place in the file.
    index: usize,
    first: usize,
    /// `None` where what was written is no count, or one that is too large.
    count: Option<Option<u32>>,
    /// `None` where what was written is no kind.
    kind: Option<NodeKind>,
}

/// The nodes that an end means.
#[derive(Clone, Copy)]
pub(crate) struct Members {
    first: usize,
    /// How many, where it is several members of a counted node, or each.
    several: Option<usize>,
    /// 0 for one node, 1 for some members of a counted one, 2 for each of them.
    breadth: u8,
    kind: Option<NodeKind>,
}

/// Two ends joined: pairwise, each of one side with the other, or where one side has more, in groups: the first ones of
/// it with the first of the other. Groups differ by one member at most.
#[derive(Clone, Copy)]
pub(crate) struct Pairs {
    a: Members,
    b: Members,
    /// Number of pairs.
    pub len: usize,
}

impl Pairs {
    /// Pair number `i`.
    pub(crate) fn get(&self, i: usize) -> (usize, usize) {
        let (a, b) = self.members(i);
        (self.a.first + a, self.b.first + b)
    }

    /// Which members of the two ends pair number `i` joins.
    pub(crate) fn members(&self, i: usize) -> (usize, usize) {
        let member = |m: Members| m.several.map_or(0, |count| i * count / self.len.max(1));
        (member(self.a), member(self.b))
    }

    /// All of them in order.
    pub(crate) fn iter(self) -> impl Iterator<Item = (usize, usize)> {
        (0..self.len).map(move |i| self.get(i))
    }

    /// Whether the first and the second end are routers.
    pub(crate) fn routers(&self) -> [bool; 2] {
        [self.a, self.b].map(|end| end.kind == Some(NodeKind::Router))
    }

    /// Warns where the members of `a` and `b`, which is written at `at`, are joined nearly one by one: most have one
    /// partner and a few have two.
    pub(crate) fn warn_uneven(&self, a: &End, b: &End, at: &[Step], report: &mut Report) {
        let (Some(n), Some(m)) = (self.a.several, self.b.several) else { return };
        if n != m && n.max(m) < 2 * n.min(m) {
            let rule = format!("`{a}` has {n} members and `{b}` has {m}: some have one partner, some two");
            let hint = "give both the same number to join them one by one".to_owned();
            report.warn(at, rule, Some(hint));
        }
    }

    /// How much is meant beside one pair: 1 for an end with some members of a node, 2 for one with `[*]`.
    pub(crate) fn breadth(&self) -> u8 {
        self.a.breadth + self.b.breadth
    }
}

impl<'a> Names<'a> {
    /// Makes the nodes of the file.
    pub(crate) fn new(file: &'a [Node], report: &mut Report) -> (Self, Vec<model::Node>) {
        let mut groups: BTreeMap<&'a str, Group> = BTreeMap::new();
        let mut nodes = Vec::new();
        let known = (0..file.len()).all(|i| report.tree.text(&steps!["node", i, "name"]).is_some());
        let sound = |report: &Report, i, key: &'static str| report.is_sound(&steps!["node", i, key]);
        let mut complete =
            known && (0..file.len()).all(|i| sound(report, i, "count") && sound(report, i, "kind"));
        for (i, node) in file.iter().enumerate() {
            let at = steps!["node", i, "name"];
            if !report.is_sound(&at) {
                continue;
            }
            if let Some(Group { index, .. }) = groups.get(node.name.as_str()) {
                let line = report.tree.line(&steps!["node", *index]);
                report.error(&at, format!("there already is a node `{}`, in line {line}", node.name), None);
                continue;
            }
            let count = node.count.map_or(1, |count| count as usize);
            if nodes.len() + count > MOST {
                let at = steps!["node", i, "count"];
                report.error(
                    &at,
                    format!("this makes more than {MOST} nodes, the most a scenario may have"),
                    None,
                );
                complete = false;
                // what else the file says of it is not looked at
                let refused = Group { index: i, first: 0, count: None, kind: None };
                groups.insert(node.name.as_str(), refused);
                continue;
            }
            let written = Group {
                index: i,
                first: nodes.len(),
                count: sound(report, i, "count").then_some(node.count),
                kind: sound(report, i, "kind").then_some(node.kind),
            };
            groups.insert(node.name.as_str(), written);
            let kind = node.kind;
            match node.count {
                None => nodes.push(model::Node { name: node.name.to_string(), kind }),
                Some(_) => nodes
                    .extend((0..count).map(|k| model::Node { name: format!("{}[{k}]", node.name), kind })),
            }
        }
        (Self { groups, known, complete }, nodes)
    }

    /// Whether every `[[node]]` was made as it was written.
    pub(crate) fn is_complete(&self) -> bool {
        self.complete
    }

    /// The nodes that `end`, written at `at`, means, and what they are, if that is known.
    pub(crate) fn nodes(
        &self,
        end: &End,
        at: &[Step],
        report: &mut Report,
    ) -> Option<(std::ops::Range<usize>, Option<NodeKind>)> {
        let Members { first, several, kind, .. } = self.members(end, at, report)?;
        Some((first..first + several.unwrap_or(1), kind))
    }

    /// The nodes that `end`, written at `at`, means.
    fn members(&self, end: &End, at: &[Step], report: &mut Report) -> Option<Members> {
        if !report.is_sound(at) {
            return None;
        }
        let name = &end.node;
        let Some(group) = self.groups.get(name.as_str()) else {
            if self.known {
                let names = self.groups.keys().copied();
                let hint = if report.is_long() { None } else { suggest::among(name.as_str(), names) };
                report.error(at, format!("there is no node `{name}`"), hint);
            }
            return None;
        };
        let Group { first, count, kind, .. } = *group;
        let single = Members { first, several: None, breadth: 0, kind };
        match (end.member, count?) {
            (Member::Only, None) => Some(single),
            (Member::Each, Some(count)) => {
                Some(Members { several: Some(count as usize), breadth: 2, ..single })
            }
            (Member::One(k), Some(count)) if k < count => {
                Some(Members { first: first + k as usize, ..single })
            }
            (Member::Slice(a, b), Some(count)) if b <= count => {
                let (first, several) = (first + a as usize, Some((b - a) as usize));
                Some(Members { first, several, breadth: 1, kind })
            }
            (Member::One(_) | Member::Slice(..), Some(count)) => {
                let last = format!("the last member is `{name}[{}]`", count - 1);
                let s = if count == 1 { "" } else { "s" };
                let rule = format!("`{end}` does not exist: `{name}` has {count} member{s}");
                report.error(at, rule, Some(last));
                None
            }
            (Member::Only, Some(count)) => {
                let hint = format!("write `{name}[*]` for each of them, or `{name}[0]` for one");
                report.error(at, format!("`{name}` is {count} nodes, not one"), Some(hint));
                None
            }
            (Member::Each | Member::One(_) | Member::Slice(..), None) => {
                let hint = format!("write `{name}`, or give the node a count");
                report.error(at, format!("`{name}` is a single node without a count"), Some(hint));
                None
            }
        }
    }

    /// Joins two ends: where each is written, and what is written there.
    pub(crate) fn join(&self, a: (&End, &[Step]), b: (&End, &[Step]), report: &mut Report) -> Option<Pairs> {
        let (ma, mb) = (self.members(a.0, a.1, report), self.members(b.0, b.1, report));
        let (ma, mb) = (ma?, mb?);
        let len = ma.several.into_iter().chain(mb.several).max().unwrap_or(1);
        Some(Pairs { a: ma, b: mb, len })
    }
}
