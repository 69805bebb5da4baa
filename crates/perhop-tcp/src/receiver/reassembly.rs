//! The part of a stream of numbers that has arrived.

use std::collections::{BTreeMap, VecDeque};

use crate::ack::Arrival;
use crate::segment::SackBlocks;

/// A range beyond a gap.
#[derive(Clone, Copy, Debug)]
struct Island {
    start: u64,
    end: u64,
    /// Serial number of the segment that last fell into it.
    arrival: u64,
}

/// Joins segments. A segment costs a binary search over the islands, and a move of those beside it.
#[derive(Clone, Debug, Default)]
pub struct Reassembly {
    next: u64,
    /// Disjoint, not touching, in order, all beyond `next`.
    islands: VecDeque<Island>,
    /// The islands that segments fell into last, by `arrival`; the end of the latest is in `blocks`.
    recent: BTreeMap<u64, (u64, u64)>,
    /// Of these the latest, as an acknowledgment reports them.
    blocks: SackBlocks,
    arrivals: u64,
    /// Most islands in `recent` and in an acknowledgment.
    memory: usize,
    reported: usize,
}

impl Reassembly {
    /// Nothing yet; at most `blocks` islands are reported. If `forgets`, no more are remembered for it: one that others
    /// have pushed out is reported again when a segment falls into it, as in the stacks of Linux and ns-2.
    pub fn new(blocks: u8, forgets: bool) -> Self {
        let reported = usize::from(blocks);
        let memory = if forgets || reported == 0 { reported } else { usize::MAX };
        Self { memory, reported, ..Self::default() }
    }

    /// Every number below it has arrived.
    pub const fn next(&self) -> u64 {
        self.next
    }

    /// `seq..end` arrived.
    pub fn insert(&mut self, seq: u64, end: u64) -> Arrival {
        if end <= self.next.max(seq) {
            return Arrival { old: true, ..Arrival::default() };
        }
        if seq > self.next {
            self.keep(seq, end);
            return Arrival::default();
        }
        let (before, fills_gap) = (self.next, !self.islands.is_empty());
        self.next = end;
        let mut joined = false;
        while let Some(island) = self.islands.front().copied().filter(|island| island.start <= self.next) {
            if !joined {
                self.settle();
            }
            self.next = self.next.max(island.end);
            self.islands.pop_front();
            self.recent.remove(&island.arrival);
            joined = true;
        }
        if joined {
            self.list();
        }
        Arrival { in_order: true, fills_gap, old: false, delivered: self.next - before }
    }

    /// Joins a range with the islands that it overlaps or touches.
    fn keep(&mut self, mut start: u64, mut end: u64) {
        // The next segment after the latest one, beyond everything else.
        if let Some(last) =
            self.islands.back_mut().filter(|last| last.end == start && last.arrival == self.arrivals)
        {
            last.end = end;
            if let Some(block) = self.blocks.first_mut() {
                block.1 = end;
            }
            return;
        }
        self.settle();
        let first = self.islands.partition_point(|island| island.end < start);
        let last = self.islands.partition_point(|island| island.start <= end);
        for island in self.islands.range(first..last) {
            start = start.min(island.start);
            end = end.max(island.end);
            self.recent.remove(&island.arrival);
        }
        self.arrivals += 1;
        self.remember(self.arrivals, (start, end));
        let island = Island { start, end, arrival: self.arrivals };
        if first == last {
            self.islands.insert(first, island);
        } else {
            self.islands[first] = island;
            self.islands.drain(first + 1..last);
        }
    }

    /// Brings `recent` up to the latest block, before anything but its end changes.
    fn settle(&mut self) {
        if let (Some(block), Some(mut latest)) = (self.blocks.first_mut(), self.recent.last_entry()) {
            *latest.get_mut() = *block;
        }
    }

    fn remember(&mut self, arrival: u64, island: (u64, u64)) {
        if self.memory == 0 {
            return;
        }
        self.recent.insert(arrival, island);
        if self.recent.len() > self.memory {
            self.recent.pop_first();
        }
        self.list();
    }

    //= rfc2018-4-many
    //= rfc2018-4-repeat
    fn list(&mut self) {
        self.blocks = SackBlocks::default();
        for &(start, end) in self.recent.values().rev().take(self.reported) {
            self.blocks.push(start, end);
        }
    }

    /// The islands that segments fell into last, the latest first.
    //= rfc2018-3-edges
    //= rfc2018-3-isolated
    //= rfc2018-4-first-block
    pub const fn blocks(&self) -> SackBlocks {
        self.blocks
    }
}
