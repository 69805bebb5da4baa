//! The deadlines of a host's connections: which may be due next.
//!
//! Lazy: a deadline that moves later costs nothing until its old entry comes up, since retransmission timers move
//! with every acknowledgment and rarely expire. So an entry may come up early, and never late.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use perhop_core::inline_list::InlineList;
use perhop_core::time::Instant;

/// A heap with at most one useful entry for each slot.
#[derive(Debug)]
pub struct Deadlines {
    heap: BinaryHeap<Reverse<(Instant, u32)>>,
    /// The first of `heap`, kept here since it is asked for after every packet.
    next: Option<Instant>,
    /// Earliest entry of each slot; `Instant::MAX` for none.
    armed: InlineList<Instant>,
}

impl Deadlines {
    /// No deadline yet for any of `slots`.
    pub fn new(slots: usize) -> Self {
        Self { heap: BinaryHeap::new(), next: None, armed: vec![Instant::MAX; slots].into() }
    }

    /// `slot`'s deadline is now `at`.
    pub fn set(&mut self, slot: u32, at: Option<Instant>) {
        if let Some(at) = at
            && at < self.armed[slot as usize]
        {
            self.armed[slot as usize] = at;
            self.heap.push(Reverse((at, slot)));
            self.next = Some(self.next.map_or(at, |next| next.min(at)));
        }
    }

    /// When the next entry comes up.
    pub const fn next(&self) -> Option<Instant> {
        self.next
    }

    /// A slot that may be due at `now`. Its deadline must be set again.
    pub fn pop_due(&mut self, now: Instant) -> Option<u32> {
        while self.next().is_some_and(|at| at <= now) {
            let Reverse((at, slot)) = self.heap.pop()?;
            self.next = self.heap.peek().map(|&Reverse((at, _))| at);
            if self.armed[slot as usize] == at {
                self.armed[slot as usize] = Instant::MAX;
                return Some(slot);
            }
        }
        None
    }
}
