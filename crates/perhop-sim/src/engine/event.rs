//! The order of events, and the event list of timers: a 4-ary heap ordered by (time, sequence number).
//!
//! Four children share a cache line or two, which makes the heap shallower and faster than a binary one. The order
//! is total, so equal times are served in the order of their sequence numbers whatever the heap looks like inside.

use std::cmp::Ordering;

use perhop_core::time::Instant;

/// A point in the order of events. Two words instead of one of 128 bits, whose alignment would fill up an entry of
/// an event list with a word of nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Due {
    at: Instant,
    seq: u64,
}

impl Due {
    /// At `at`, after those with a smaller `seq`.
    pub const fn new(at: Instant, seq: u64) -> Self {
        Self { at, seq }
    }

    /// When.
    pub const fn at(self) -> Instant {
        self.at
    }

    /// Both words as one number, which compares without a branch.
    const fn key(self) -> u128 {
        (self.at.as_nanos() as u128) << 64 | self.seq as u128
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> Ordering {
        self.key().cmp(&other.key())
    }
}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }

    fn lt(&self, other: &Self) -> bool {
        self.key() < other.key()
    }

    fn le(&self, other: &Self) -> bool {
        self.key() <= other.key()
    }
}

/// An event list.
#[derive(Debug)]
pub struct EventList<E> {
    heap: Vec<(Due, E)>,
}

impl<E: Copy> EventList<E> {
    /// An empty list.
    pub const fn new() -> Self {
        Self { heap: Vec::new() }
    }

    /// The first event.
    pub fn first(&self) -> Option<(Due, E)> {
        self.heap.first().copied()
    }

    /// All events, in any order.
    pub fn into_events(self) -> impl Iterator<Item = (Due, E)> {
        self.heap.into_iter()
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, due: Due, event: E) {
        let hole = self.heap.len();
        self.heap.push((due, event));
        if hole > 0 {
            self.sift_up(hole, (due, event));
        }
    }

    /// Removes the first event.
    #[inline]
    pub fn pop(&mut self) {
        if let Some(last) = self.heap.pop()
            && !self.heap.is_empty()
        {
            self.refill(last);
        }
    }

    /// Removes the first event and adds another, in one step.
    pub fn replace_first(&mut self, due: Due, event: E) {
        self.refill((due, event));
    }

    /// Fills the place of the first event: least children move up to the last level, then `item` moves up from there.
    /// New events are mostly late ones, so this saves the comparison with `item` on every level.
    #[inline(never)]
    fn refill(&mut self, item: (Due, E)) {
        let len = self.heap.len();
        let mut hole = 0;
        loop {
            let first = 4 * hole + 1;
            let least = if let Some(children) = self.heap.get(first..first + 4) {
                let pair = |i: usize| if children[i + 1].0 < children[i].0 { i + 1 } else { i };
                let (low, high) = (pair(0), pair(2));
                first + if children[high].0 < children[low].0 { high } else { low }
            } else if first < len {
                (first..len).fold(first, |a, b| if self.heap[b].0 < self.heap[a].0 { b } else { a })
            } else {
                break;
            };
            self.heap[hole] = self.heap[least];
            hole = least;
        }
        self.sift_up(hole, item);
    }

    #[inline(never)]
    fn sift_up(&mut self, mut hole: usize, item: (Due, E)) {
        while hole > 0 {
            let parent = (hole - 1) / 4;
            if self.heap[parent].0 <= item.0 {
                break;
            }
            self.heap[hole] = self.heap[parent];
            hole = parent;
        }
        self.heap[hole] = item;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn events_come_in_order_of_time_then_sequence(
            ops in prop::collection::vec((0u8..4, 0u64..20), 1..300),
        ) {
            let mut list = EventList::new();
            let mut model = std::collections::BTreeSet::new();
            for (seq, (op, at)) in (0u64..).zip(ops) {
                let due = Due::new(Instant::from_nanos(at), seq);
                prop_assert_eq!(list.first().map(|(d, _): (Due, u64)| d), model.first().copied());
                if op == 0 && !model.is_empty() {
                    list.pop();
                    model.pop_first();
                } else if op == 1 && !model.is_empty() {
                    list.replace_first(due, seq);
                    model.pop_first();
                    model.insert(due);
                } else {
                    list.push(due, seq);
                    model.insert(due);
                }
            }
            let left: std::collections::BTreeSet<Due> = list.into_events().map(|(due, _)| due).collect();
            prop_assert_eq!(left, model);
        }
    }
}
