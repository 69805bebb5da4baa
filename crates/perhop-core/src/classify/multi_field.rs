//! Classifies by any combination of addresses, ports, protocol, flow, traffic class, direction, kind and mark.
//!
//! Source: RFC 2475 section 2.3.1 (multi-field classifier), RFC 3290 sections 4.1.2 and 4.2.2 (filters and their
//! precedence).
//! Different: the five-tuple is looked up once per flow, not once per packet: rules are compiled against a table of
//! flows. The traffic class is that of the table.
//! Cost: two table look-ups per packet, whatever the rules. 8 bytes per flow, 1 KiB per set of rules that holds for the
//! addresses of some flow; if no rule looks at flows, a single row and nothing per flow.

use core::ops::RangeInclusive;
use std::collections::BTreeMap;

use super::{Address, Classifier, Flow, FlowKey, FlowTable, Protocol};
use crate::packet::{ClassId, Dir, Dscp, FlowId, Kind, Meta, TrafficClass};

const KINDS: usize = 4;
const CELLS: usize = KINDS * Dscp::COUNT;

/// A set of kinds of packets.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct KindSet(u8);

impl KindSet {
    /// No kind.
    pub const NONE: Self = Self(0);
    /// Every kind.
    pub const ALL: Self = Self(0b1111);

    /// The set with `kind` in it.
    #[must_use]
    pub const fn with(self, kind: Kind) -> Self {
        Self(self.0 | 1 << kind_index(kind))
    }

    /// The set without `kind`.
    #[must_use]
    pub const fn without(self, kind: Kind) -> Self {
        Self(self.0 & !(1 << kind_index(kind)))
    }

    const fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }
}

/// A set of code points.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct MarkSet(u64);

impl MarkSet {
    /// No code point.
    pub const NONE: Self = Self(0);
    /// Every code point.
    pub const ALL: Self = Self(u64::MAX);

    /// The set with `dscp` in it.
    #[must_use]
    pub const fn with(self, dscp: Dscp) -> Self {
        Self(self.0 | 1 << dscp.value())
    }

    /// The set as bits, one for each code point by its value.
    #[must_use]
    pub const fn bits(self) -> u64 {
        self.0
    }

    const fn has(self, index: usize) -> bool {
        self.0 >> index & 1 == 1
    }
}

/// A rule's demands on a packet: every field that is given must hold, and of a list any one suffices.
///
/// Source and destination are those of the packet: a flow's ACKs come from the flow's destination.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Pattern {
    /// Where the packet comes from.
    pub src: Option<Vec<Address>>,
    /// Where it goes to.
    pub dst: Option<Vec<Address>>,
    /// Its source port.
    pub src_port: Option<RangeInclusive<u16>>,
    /// Its destination port.
    pub dst_port: Option<RangeInclusive<u16>>,
    /// The protocol above IP.
    pub protocol: Option<Protocol>,
    /// Its flow.
    pub flows: Option<Vec<FlowId>>,
    /// The class that its flow was contracted as, by the table of flows.
    pub classes: Option<Vec<TrafficClass>>,
    /// Its direction within the flow.
    pub dir: Option<Dir>,
    /// Data or pure ACKs.
    pub kinds: Option<KindSet>,
    /// Its code point.
    pub marks: Option<MarkSet>,
}

impl Pattern {
    /// Whether it asks for anything that only the table of flows can tell.
    fn asks_for_flow(&self) -> bool {
        self.src.is_some()
            || self.dst.is_some()
            || self.src_port.is_some()
            || self.dst_port.is_some()
            || self.protocol.is_some()
            || self.flows.is_some()
            || self.classes.is_some()
    }

    //= rfc3290-4.1.1-all-fields
    /// Whether the fields that all packets of one direction of a flow share hold; `flow` is `None` for one that is not
    /// in the table. The lists are sorted.
    fn holds_for(&self, flow: Option<(FlowId, &Flow)>, dir: Dir) -> bool {
        if self.dir.is_some_and(|wanted| wanted != dir) {
            return false;
        }
        let Some((id, flow)) = flow else { return !self.asks_for_flow() };
        let FlowKey { src, dst, src_port, dst_port, protocol } = flow.key.towards(dir);
        among(self.src.as_ref(), src)
            && among(self.dst.as_ref(), dst)
            && self.src_port.as_ref().is_none_or(|range| range.contains(&src_port))
            && self.dst_port.as_ref().is_none_or(|range| range.contains(&dst_port))
            && self.protocol.is_none_or(|wanted| wanted == protocol)
            && among(self.flows.as_ref(), id)
            && among(self.classes.as_ref(), flow.class)
    }

    /// The code points with which it takes data that this flow sends. The lists of the pattern must be in ascending
    /// order, so that a long one is searched fast; [`MultiField::new`] takes them in any.
    #[must_use]
    pub fn data_of(&self, id: FlowId, flow: &Flow) -> MarkSet {
        let data = self.kinds.is_none_or(|set| set.has(kind_index(Kind::Data)));
        if data && self.holds_for(Some((id, flow)), Dir::Forward) {
            self.marks.unwrap_or(MarkSet::ALL)
        } else {
            MarkSet::NONE
        }
    }

    /// Sorts the lists.
    fn sort(&mut self) {
        self.src.iter_mut().chain(&mut self.dst).for_each(|list| list.sort_unstable());
        self.flows.iter_mut().for_each(|list| list.sort_unstable());
        self.classes.iter_mut().for_each(|list| list.sort_unstable());
    }
}

fn among<T: Ord>(sorted: Option<&Vec<T>>, value: T) -> bool {
    sorted.is_none_or(|list| list.binary_search(&value).is_ok())
}

/// A rule: what its class takes.
type Rule = (ClassId, Pattern);
/// A class for each kind and code point.
type Row = [Option<ClassId>; CELLS];
/// Positions of a flow's two rows, forward first.
type Rows = [u32; 2];

/// Sends a packet to the class of the first rule that holds for it.
#[derive(Clone, Debug)]
pub struct MultiField {
    rules: Vec<Rule>,
    rows: Vec<Row>,
    /// Which rows there are: by the rules that hold for all that the row's packets share.
    known: BTreeMap<Vec<usize>, u32>,
    /// By flow; empty if no rule looks at flows.
    flows: Vec<Rows>,
    /// For a flow that is not in `flows`.
    others: Rows,
}

impl MultiField {
    //= rfc3290-4.1.2-precedence
    /// The first of `rules` that holds for a packet gives its class.
    ///
    /// `table` says what the flows are. For a flow that it does not know, rules that ask for addresses, ports, protocol,
    /// flow or traffic class do not hold; the others do their work. See [`Classifier::learn`].
    #[must_use]
    pub fn new(rules: &[(ClassId, Pattern)], table: &FlowTable) -> Self {
        let mut rules = rules.to_vec();
        rules.iter_mut().for_each(|(_, pattern)| pattern.sort());
        let mut built =
            Self { rules, rows: Vec::new(), known: BTreeMap::new(), flows: Vec::new(), others: [0, 0] };
        built.others = built.rows_of(None);
        for (id, flow) in table.iter() {
            built.learn(id, flow);
        }
        built
    }

    fn rows_of(&mut self, flow: Option<(FlowId, &Flow)>) -> Rows {
        [Dir::Forward, Dir::Reverse].map(|dir| {
            let held = self.rules_that_hold(flow, dir);
            self.row(held)
        })
    }

    /// The rules left to kind and mark, as far as the first that leaves nothing to them.
    fn rules_that_hold(&self, flow: Option<(FlowId, &Flow)>, dir: Dir) -> Vec<usize> {
        let mut held = Vec::new();
        for (at, (_, pattern)) in self.rules.iter().enumerate() {
            if pattern.holds_for(flow, dir) {
                held.push(at);
                if pattern.kinds.is_none() && pattern.marks.is_none() {
                    break;
                }
            }
        }
        held
    }

    /// The row of the rules `held`, made if there is none yet.
    fn row(&mut self, held: Vec<usize>) -> u32 {
        if let Some(row) = self.known.get(&held) {
            return *row;
        }
        let mut row = [None; CELLS];
        for (cell, slot) in row.iter_mut().enumerate() {
            let (kind, mark) = (cell / Dscp::COUNT, cell % Dscp::COUNT);
            let first = held.iter().map(|at| &self.rules[*at]).find(|(_, pattern)| {
                pattern.kinds.is_none_or(|set| set.has(kind)) && pattern.marks.is_none_or(|set| set.has(mark))
            });
            *slot = first.map(|(class, _)| *class);
        }
        let at = u32::try_from(self.rows.len())
            .expect("at most two rows for each of 2^32 flows fill memory first");
        self.rows.push(row);
        self.known.insert(held, at);
        at
    }
}

impl Classifier for MultiField {
    //= rfc2475-2.3.1-multi-field
    fn classify(&self, meta: &Meta) -> Option<ClassId> {
        let rows = self.flows.get(meta.flow.0 as usize).unwrap_or(&self.others);
        let row = rows[match meta.dir {
            Dir::Forward => 0,
            Dir::Reverse => 1,
        }];
        self.rows[row as usize][kind_index(meta.kind) * Dscp::COUNT + meta.dscp.index()]
    }

    /// Time goes with the number of rules.
    fn learn(&mut self, id: FlowId, flow: &Flow) {
        if !self.rules.iter().any(|(_, pattern)| pattern.asks_for_flow()) {
            return;
        }
        let rows = self.rows_of(Some((id, flow)));
        let at = id.0 as usize;
        if at >= self.flows.len() {
            self.flows.resize(at + 1, self.others);
        }
        self.flows[at] = rows;
    }
}

const fn kind_index(kind: Kind) -> usize {
    match kind {
        Kind::Data => 0,
        Kind::PureAck => 1,
        Kind::Syn => 2,
        Kind::Other => 3,
    }
}
