//! Which mark an ACK gets: at the host that sends it, or at an edge that it passes.
//!
//! Source: Papagiannaki et al., the study of marks for acknowledgments, sections 3 and 5: an ACK is marked by the class of
//! its flow, or carries the mark of the data that it acknowledges. Different: the study acknowledges every segment; what a
//! delayed ACK copies from several segments is [`CopyRule`], and an edge knows what an ACK covers by its sequence numbers.
//! Units: sequence numbers modulo 2^32. Cost: a table look-up; where marks are copied, at an edge also a ring-buffer
//! operation for each data packet and ACK, and 12 bytes for each segment on its way from the edge to the receiver and back.

use std::collections::VecDeque;

use crate::packet::{Dir, Dscp, Kind, Meta, TcpView, TrafficClass};

/// The most segments that an edge remembers of one direction of a flow: 12 KiB.
const MOST_SEGMENTS: usize = 1024;

/// Which mark an ACK gets.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub enum AckMarking {
    /// Best effort.
    #[default]
    BestEffort,
    /// By what its flow was contracted as, whatever marks the data has.
    PerClass(ClassMarks),
    /// By the mark of the data that it acknowledges.
    PerMark {
        /// From the mark of data to that of its ACK; the identity copies.
        map: MarkMap,
        /// The segment that gives the mark, of several.
        rule: CopyRule,
    },
}

impl AckMarking {
    /// The mark of an ACK of a flow of `class`, for data that had the mark `received`.
    #[must_use]
    pub fn mark(&self, class: TrafficClass, received: Dscp) -> Dscp {
        match self {
            Self::BestEffort => Dscp::DEFAULT,
            Self::PerClass(marks) => marks.mark(class),
            Self::PerMark { map, .. } => map.mark(received),
        }
    }
}

/// A mark for each traffic class.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ClassMarks(Vec<Dscp>);

impl ClassMarks {
    /// Best effort for every class.
    #[must_use]
    pub const fn new() -> Self {
        Self(Vec::new())
    }

    /// The same, with `dscp` for `class`.
    #[must_use]
    pub fn with(mut self, class: TrafficClass, dscp: Dscp) -> Self {
        let at = usize::from(class.0);
        if at >= self.0.len() {
            self.0.resize(at + 1, Dscp::DEFAULT);
        }
        self.0[at] = dscp;
        self
    }

    /// The mark for `class`.
    #[must_use]
    pub fn mark(&self, class: TrafficClass) -> Dscp {
        self.0.get(usize::from(class.0)).copied().unwrap_or(Dscp::DEFAULT)
    }
}

/// A mark for each mark.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MarkMap([Dscp; Dscp::COUNT]);

impl MarkMap {
    /// Every mark becomes `dscp`.
    #[must_use]
    pub const fn all(dscp: Dscp) -> Self {
        Self([dscp; Dscp::COUNT])
    }

    /// Every mark stays.
    #[must_use]
    pub fn identity() -> Self {
        let mut map = Self::all(Dscp::DEFAULT);
        for (slot, dscp) in map.0.iter_mut().zip((0..).filter_map(Dscp::new)) {
            *slot = dscp;
        }
        map
    }

    /// The same, with `to` for `from`.
    #[must_use]
    pub const fn with(mut self, from: Dscp, to: Dscp) -> Self {
        self.0[from.index()] = to;
        self
    }

    /// The mark of an ACK of data with `dscp`.
    #[must_use]
    pub const fn mark(&self, dscp: Dscp) -> Dscp {
        self.0[dscp.index()]
    }
}

/// The segment that gives an ACK of several its mark. Of marks of the same rank ([`Dscp::rank`]) it is the latest.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub enum CopyRule {
    /// The segment that came last.
    #[default]
    TriggeringSegment,
    /// The segment with the best mark.
    BestOfCovered,
    /// The segment with the worst mark.
    WorstOfCovered,
}

impl CopyRule {
    /// Whether the mark `earlier` is copied rather than `later`.
    const fn keeps(self, earlier: Dscp, later: Dscp) -> bool {
        match self {
            Self::TriggeringSegment => false,
            Self::BestOfCovered => earlier.rank() < later.rank(),
            Self::WorstOfCovered => earlier.rank() > later.rank(),
        }
    }
}

/// ACK marking at the host: what arrived on one connection since its last ACK.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Covered {
    rule: CopyRule,
    since: Option<Dscp>,
    last: Dscp,
}

impl Covered {
    /// Nothing has arrived.
    #[must_use]
    pub const fn new(rule: CopyRule) -> Self {
        Self { rule, since: None, last: Dscp::DEFAULT }
    }

    /// A segment with data arrived, in order or not.
    pub fn on_data(&mut self, dscp: Dscp) {
        self.since = self.since.filter(|earlier| self.rule.keeps(*earlier, dscp)).or(Some(dscp));
    }

    /// The mark of data for the ACK that is sent now; that of the ACK before, where no data came since, and at first best
    /// effort.
    pub fn take(&mut self) -> Dscp {
        self.last = self.since.take().unwrap_or(self.last);
        self.last
    }
}

/// A segment that passed an edge and is not acknowledged.
#[derive(Clone, Copy, Debug)]
struct Passed {
    /// One past its last byte.
    end: u32,
    /// Its number in the order of passing.
    order: u32,
    dscp: Dscp,
}

/// One direction of a flow, as an edge sees it.
#[derive(Clone, Debug, Default)]
struct Way {
    /// In order of sequence numbers.
    passed: VecDeque<Passed>,
    next_order: u32,
    last: Dscp,
}

/// ACK marking at an edge between sender and receiver: marks what passes it on its way back and carries no data.
///
/// It sees data on its way to the receiver and remembers the mark of each segment until an ACK covers it. Data that an ACK
/// does not cover is still between edge and receiver, or lost, and does not count. A segment that passes again counts
/// with its new mark alone.
#[derive(Clone, Debug)]
pub struct AckMarker {
    marking: AckMarking,
    /// By flow and direction of the data; empty where no mark is copied.
    ways: Vec<Way>,
}

impl AckMarker {
    /// An edge that has seen nothing.
    #[must_use]
    pub const fn new(marking: AckMarking) -> Self {
        Self { marking, ways: Vec::new() }
    }

    /// A packet goes on towards the receiver. Anything but data over TCP is ignored; a SYN begins anew.
    ///
    /// Beyond 1024 unacknowledged segments the oldest is forgotten, and its mark counts for the one behind it as far as
    /// the rule lets it.
    pub fn on_data(&mut self, meta: &Meta) {
        let (AckMarking::PerMark { rule, .. }, Some(tcp)) = (&self.marking, &meta.tcp) else { return };
        let at = way(meta, meta.dir);
        match meta.kind {
            Kind::Data if at >= self.ways.len() => {
                self.ways.resize_with(at + 1, Way::default);
                self.ways[at].pass(tcp.seq_end, meta.dscp, *rule);
            }
            Kind::Data => self.ways[at].pass(tcp.seq_end, meta.dscp, *rule),
            Kind::Syn => self.ways.get_mut(at).into_iter().for_each(Way::begin_anew),
            Kind::PureAck | Kind::Other => {}
        }
    }

    /// Whether a packet gets a mark here: an ACK without data, either way, and whatever else of TCP comes from the receiver
    /// without data, SYN-ACK and FIN. A SYN or a FIN of the sender is treated as its data.
    #[must_use]
    pub const fn takes(meta: &Meta) -> bool {
        match meta.kind {
            Kind::PureAck => true,
            Kind::Syn | Kind::Other => meta.tcp.is_some() && matches!(meta.dir, Dir::Reverse),
            Kind::Data => false,
        }
    }

    /// The mark that a packet gets on its way back.
    ///
    /// A SYN-ACK has no data to copy from and is marked as for best effort. An ACK that covers nothing new and reports SACK blocks is marked for the segment that ends its highest block, if
    /// that is remembered; any other that covers nothing new, as the ACK before it; the first of all, as for best effort.
    pub fn mark(&mut self, meta: &Meta) -> Dscp {
        let mut received = Dscp::DEFAULT;
        if let AckMarking::PerMark { rule, .. } = &self.marking
            && meta.kind != Kind::Syn
        {
            let data = match meta.dir {
                Dir::Forward => Dir::Reverse,
                Dir::Reverse => Dir::Forward,
            };
            if let Some(way) = self.ways.get_mut(way(meta, data)) {
                received = way.acknowledge(meta.tcp.as_ref(), *rule);
            }
        }
        self.marking.mark(meta.class, received)
    }
}

/// The position of the state of data that goes in direction `dir`.
const fn way(meta: &Meta, dir: Dir) -> usize {
    meta.flow.0 as usize * 2 + matches!(dir, Dir::Reverse) as usize
}

impl Way {
    fn begin_anew(&mut self) {
        self.passed.clear();
        self.last = Dscp::DEFAULT;
    }

    fn pass(&mut self, end: u32, dscp: Dscp, rule: CopyRule) {
        let new = Passed { end, order: self.next_order, dscp };
        self.next_order = self.next_order.wrapping_add(1);
        if self.passed.back().is_none_or(|last| after(end, last.end)) {
            if self.passed.len() == MOST_SEGMENTS {
                self.forget_one(rule);
            }
            self.passed.push_back(new);
            return;
        }
        // it passes again, or was overtaken
        let at = self.passed.partition_point(|segment| after(end, segment.end));
        if self.passed[at].end == end {
            self.passed[at] = new;
        } else if self.passed.len() < MOST_SEGMENTS {
            self.passed.insert(at, new);
        }
    }

    fn forget_one(&mut self, rule: CopyRule) {
        if let (Some(oldest), Some(next)) = (self.passed.pop_front(), self.passed.front_mut()) {
            next.dscp = chosen(rule, oldest, *next).dscp;
        }
    }

    fn acknowledge(&mut self, tcp: Option<&TcpView>, rule: CopyRule) -> Dscp {
        let Some(tcp) = tcp else { return self.last };
        let mut best: Option<Passed> = None;
        while let Some(segment) = self.passed.pop_front_if(|segment| !after(segment.end, tcp.ack)) {
            best = Some(best.map_or(segment, |so_far| chosen(rule, so_far, segment)));
        }
        let decisive = best.or_else(|| self.reported(tcp));
        self.last = decisive.map_or(self.last, |segment| segment.dscp);
        self.last
    }

    /// The segment at the top of the highest SACK block.
    fn reported(&self, tcp: &TcpView) -> Option<Passed> {
        if tcp.sack_blocks == 0 {
            return None;
        }
        let at = self.passed.partition_point(|segment| after(tcp.sack_top, segment.end));
        self.passed.get(at).filter(|segment| segment.end == tcp.sack_top).copied()
    }
}

/// Which of two covered segments an ACK is marked for.
const fn chosen(rule: CopyRule, one: Passed, other: Passed) -> Passed {
    let (earlier, later) = if after(one.order, other.order) { (other, one) } else { (one, other) };
    if rule.keeps(earlier.dscp, later.dscp) { earlier } else { later }
}

/// Whether `number` comes after `other`, of two that are less than 2^31 apart.
const fn after(number: u32, other: u32) -> bool {
    number != other && number.wrapping_sub(other) < 1 << 31
}
