//! The event list of links: a calendar, which is a ring of short lists, one for each small span of time.
//!
//! Source: Brown, "Calendar queues" (CACM 31(10), 1988). Different: the first event lies apart; a heap holds what else falls into the
//! current bucket, and what is beyond the ring; bits tell which buckets hold any; the width follows how many shared a bucket.
//! The order is total, so it is the same whatever the width. Units: ns. Cost: an event goes into the ring and out of it once,
//! some hundred instructions; in most buckets that hold any it is the only one.

use perhop_core::time::Instant;
use perhop_prefetch::prefetch;

use crate::engine::event::{Due, EventList};

/// An event in the ring.
#[derive(Clone, Copy, Debug)]
struct Entry<E> {
    due: Due,
    event: E,
    /// The next of its bucket, or of those not in use.
    next: u32,
}

/// The end of a list.
const NONE: u32 = u32::MAX;

/// After every event.
const NEVER: Due = Due::new(Instant::MAX, u64::MAX);

/// Buckets at first, and at most.
const BUCKETS: [usize; 2] = [1 << 11, 1 << 18];

/// How many steps there are from one look at the width to the next: buckets that are opened, and events that cost more.
const LOOK: u32 = 4096;

/// An event list.
#[derive(Debug)]
pub struct Calendar<E> {
    /// The first event; due `NEVER` if there is none.
    first: (Due, E),
    /// Number of the current bucket: time in widths. The ring holds what is due in later buckets.
    current: u64,
    /// A bucket is 2^shift ns wide.
    shift: u32,
    /// The first entry that is not in use; there is one.
    free: u32,
    /// The first entry of each bucket.
    heads: Vec<u32>,
    /// Which buckets hold any.
    full: Vec<u64>,
    entries: Vec<Entry<E>>,
    /// Entries in use.
    len: usize,
    /// Events due in the current bucket or before, without the first; and those beyond the ring.
    heap: EventList<E>,
    /// Since the last look at the width: steps; of these, events that shared a bucket, and events beyond the ring.
    steps: u32,
    crowded: u32,
    beyond: u32,
    /// The current bucket then.
    looked_at: u64,
}

impl<E: Copy + Default> Calendar<E> {
    /// An empty list.
    pub fn new() -> Self {
        let [buckets, _] = BUCKETS;
        let mut calendar = Self {
            first: (NEVER, E::default()),
            current: 0,
            shift: 13,
            free: NONE,
            heads: vec![NONE; buckets],
            full: vec![0; buckets / 64],
            entries: Vec::new(),
            len: 0,
            heap: EventList::new(),
            steps: 0,
            crowded: 0,
            beyond: 0,
            looked_at: 0,
        };
        calendar.make_room();
        calendar
    }

    /// The first event.
    #[inline]
    pub fn first(&self) -> Option<(Due, E)> {
        (self.first.0 < NEVER).then_some(self.first)
    }

    /// Adds an event.
    #[inline]
    pub fn push(&mut self, due: Due, event: E) {
        if due < self.first.0 {
            self.push_first(due, event);
        } else {
            self.add(due, event);
        }
    }

    #[inline(never)]
    fn push_first(&mut self, due: Due, event: E) {
        let (second, other) = std::mem::replace(&mut self.first, (due, event));
        if second < NEVER {
            self.add(second, other);
        } else {
            self.current = self.current.max(due.at().as_nanos() >> self.shift);
        }
    }

    /// Removes the first event, and adds another if there is one.
    #[inline]
    pub fn replace_first(&mut self, due: Option<Due>, event: E) {
        if let Some(due) = due {
            self.add(due, event);
        }
        self.find_first();
    }

    /// Begins to load the entries of later buckets, up to `distance` ahead, that are new to the holder of `cursor`.
    #[inline]
    pub fn load_ahead(&self, cursor: &mut u64, distance: u64) {
        self.look_ahead(cursor, distance, |slot| prefetch(&self.entries[slot as usize]));
    }

    /// Shows the events of later buckets, up to `distance` ahead, that are new to the holder of `cursor`.
    #[inline]
    pub fn show_ahead(&self, cursor: &mut u64, distance: u64, mut show: impl FnMut(E)) {
        self.look_ahead(cursor, distance, |mut slot| {
            while let Some(entry) = self.entries.get(slot as usize) {
                show(entry.event);
                slot = entry.next;
            }
        });
    }

    #[inline]
    fn look_ahead(&self, cursor: &mut u64, distance: u64, mut show: impl FnMut(u32)) {
        let end = self.current + distance.min(self.heads.len() as u64 - 1);
        let mut at = (*cursor).clamp(self.current, end);
        *cursor = end;
        while let Some(place) = self.next_full(at) {
            let bucket = self.bucket_of(place);
            if !(at + 1..=end).contains(&bucket) {
                return;
            }
            show(self.heads[place]);
            at = bucket;
        }
    }

    const fn place(&self, bucket: u64) -> usize {
        #[expect(clippy::cast_possible_truncation, reason = "only the low bits count")]
        let bucket = bucket as usize;
        bucket & (self.heads.len() - 1)
    }

    /// Whether the ring has a place for `bucket`.
    #[inline]
    const fn reaches(&self, bucket: u64) -> bool {
        // of the current bucket or one before, the difference less one is a very large number
        bucket.wrapping_sub(self.current).wrapping_sub(1) < self.heads.len() as u64 - 1
    }

    /// Adds an event that is not the first.
    #[inline(never)]
    fn add(&mut self, due: Due, event: E) {
        let bucket = due.at().as_nanos() >> self.shift;
        if self.reaches(bucket) {
            self.enter(bucket, due, event);
        } else {
            self.add_to_heap(due, event);
        }
    }

    #[inline(never)]
    fn add_to_heap(&mut self, due: Due, event: E) {
        self.heap.push(due, event);
        if due.at().as_nanos() >> self.shift > self.current {
            self.beyond += 1;
        } else {
            self.crowded += 1;
        }
        self.step();
    }

    /// Puts an event into the ring.
    #[inline]
    fn enter(&mut self, bucket: u64, due: Due, event: E) {
        let place = self.place(bucket);
        let (head, entry) = (&mut self.heads[place], &mut self.entries[self.free as usize]);
        let next = std::mem::replace(head, std::mem::replace(&mut self.free, entry.next));
        *entry = Entry { due, event, next };
        self.full[place / 64] |= 1 << (place % 64);
        self.len += 1;
        if self.free == NONE {
            self.make_room();
        }
    }

    /// Makes as many entries more as there are.
    #[cold]
    #[inline(never)]
    fn make_room(&mut self) {
        let (len, end) = (self.entries.len(), 2 * self.entries.len().max(32));
        let number = |at: usize| u32::try_from(at).expect("fewer than 2^32 events wait");
        let entry = |next| Entry { due: NEVER, event: E::default(), next };
        self.entries.extend((len + 1..end).map(|next| entry(number(next))).chain([entry(NONE)]));
        self.free = number(len);
    }

    /// Finds the first event once the one before is gone: in the heap, or in the next bucket that holds any.
    #[inline(never)]
    fn find_first(&mut self) {
        let waiting = self.heap.first().map_or(u64::MAX, |(due, _)| due.at().as_nanos() >> self.shift);
        if waiting > self.current
            && let Some(place) = self.next_full(self.current)
            && let bucket = self.bucket_of(place)
            && bucket <= waiting
        {
            self.current = bucket;
            self.open(place);
        } else {
            self.first_of_heap();
        }
    }

    #[inline(never)]
    fn first_of_heap(&mut self) {
        self.first = self.heap.first().unwrap_or((NEVER, E::default()));
        self.heap.pop();
        if self.first.0 < NEVER {
            self.current = self.current.max(self.first.0.at().as_nanos() >> self.shift);
        }
    }

    #[inline]
    fn open(&mut self, place: usize) {
        self.full[place / 64] ^= 1 << (place % 64);
        let slot = std::mem::replace(&mut self.heads[place], NONE);
        let entry = &mut self.entries[slot as usize];
        self.first = (entry.due, entry.event);
        let next = std::mem::replace(&mut entry.next, std::mem::replace(&mut self.free, slot));
        self.len -= 1;
        if next != NONE || self.heap.first().is_some() {
            self.open_rest(next);
        }
        self.step();
    }

    /// The bucket holds more, or the heap does.
    #[inline(never)]
    fn open_rest(&mut self, mut slot: u32) {
        while let Some(entry) = self.entries.get_mut(slot as usize) {
            self.heap.push(entry.due, entry.event);
            let next = std::mem::replace(&mut entry.next, self.free);
            self.free = std::mem::replace(&mut slot, next);
            self.len -= 1;
            self.crowded += 1;
            self.steps += 1;
        }
        if let Some(other) = self.heap.first()
            && other.0 < self.first.0
        {
            let (due, event) = std::mem::replace(&mut self.first, other);
            self.heap.replace_first(due, event);
        }
    }

    #[inline]
    fn step(&mut self) {
        self.steps += 1;
        if self.steps >= LOOK {
            self.look_at_width();
        }
    }

    /// The place of the first bucket after `bucket` that holds any.
    #[inline]
    fn next_full(&self, bucket: u64) -> Option<usize> {
        if self.len == 0 {
            return None;
        }
        let start = self.place(bucket + 1);
        let mut word = start / 64;
        let mut bits = self.full[word] & (u64::MAX << (start % 64));
        while bits == 0 {
            word = (word + 1) & (self.full.len() - 1);
            bits = self.full[word];
        }
        Some(word * 64 + bits.trailing_zeros() as usize)
    }

    /// The number of the bucket of the ring at `place`.
    #[inline]
    const fn bucket_of(&self, place: usize) -> u64 {
        let start = self.place(self.current + 1);
        self.current + 1 + (place.wrapping_sub(start) & (self.heads.len() - 1)) as u64
    }

    /// Buckets should reach as far as most events are ahead, mostly hold one event or none, and not nearly all be empty.
    #[cold]
    #[inline(never)]
    fn look_at_width(&mut self) {
        let [least, most] = BUCKETS;
        let passed = self.current.saturating_sub(self.looked_at);
        let [steps, crowded, beyond] =
            [&mut self.steps, &mut self.crowded, &mut self.beyond].map(std::mem::take);
        let opened = u64::from((steps - crowded - beyond).max(1));
        let buckets = self.heads.len();
        if beyond > LOOK / 16 && buckets < most {
            self.rebuild(self.shift, 2 * buckets);
        } else if crowded > LOOK / 5 && passed < 8 * opened && self.shift > 0 && buckets < most {
            self.rebuild(self.shift - 1, 2 * buckets);
        } else if passed > 32 * opened && self.shift < 32 {
            self.rebuild(self.shift + 1, least.max(buckets / 2));
        }
        self.looked_at = self.current;
    }

    fn rebuild(&mut self, shift: u32, buckets: usize) {
        let all = std::mem::take(&mut self.entries);
        let heads = std::mem::replace(&mut self.heads, vec![NONE; buckets]);
        let heap = std::mem::replace(&mut self.heap, EventList::new());
        self.full = vec![0; buckets / 64];
        self.len = 0;
        self.make_room();
        self.shift = shift;
        self.current = self.first.0.at().as_nanos() >> shift;
        let entry = |slot: u32| all.get(slot as usize);
        let ring = heads.iter().flat_map(|&head| std::iter::successors(entry(head), |at| entry(at.next)));
        for (due, event) in heap.into_events().chain(ring.map(|entry| (entry.due, entry.event))) {
            let bucket = due.at().as_nanos() >> shift;
            if self.reaches(bucket) {
                self.enter(bucket, due, event);
            } else {
                self.heap.push(due, event);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use perhop_core::time::Instant;
    use proptest::prelude::*;

    use super::*;

    /// Pushes, pops and replaces as `ops` say, beside an ordered set. Times are `now`, the first of all before, and what is given.
    fn equals_a_set(ops: impl Iterator<Item = (u8, u64)>) -> Calendar<u64> {
        let mut list = Calendar::new();
        let mut model: BTreeSet<Due> = BTreeSet::new();
        let mut now = 0;
        for (seq, (op, ahead)) in (0u64..).zip(ops) {
            let due = Due::new(Instant::from_nanos(now + ahead), seq);
            match (op, model.first().copied()) {
                (0, Some(first)) => {
                    list.replace_first(None, seq);
                    model.remove(&first);
                    now = first.at().as_nanos();
                }
                (1, Some(first)) => {
                    list.replace_first(Some(due), seq);
                    model.remove(&first);
                    model.insert(due);
                    now = first.at().as_nanos();
                }
                _ => {
                    list.push(due, seq);
                    model.insert(due);
                }
            }
            assert_eq!(list.first().map(|(due, _)| due), model.first().copied());
        }
        while let Some(first) = model.pop_first() {
            assert_eq!(list.first().map(|(due, _)| due), Some(first));
            list.replace_first(None, 0);
        }
        assert!(list.first().is_none());
        list
    }

    proptest! {
        #[test]
        fn equals_an_ordered_set(
            // none ahead, within the ring, and far beyond it
            ops in prop::collection::vec((0u8..4, prop_oneof![Just(0), 0u64..5_000, 0u64..9_000_000, 0u64..1 << 50]), 0..400),
        ) {
            equals_a_set(ops.into_iter());
        }
    }

    /// A mixed congruential sequence, of which the high bits vary.
    fn numbers() -> impl Iterator<Item = u64> {
        std::iter::successors(Some(1u64), |n| {
            Some(n.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407))
        })
        .map(|n| n >> 33)
    }

    /// `pending` events, each of which leads to another within `ahead` ns.
    fn held(pending: usize, ahead: u64) -> impl Iterator<Item = (u8, u64)> {
        numbers()
            .enumerate()
            .map(move |(n, random)| (if n < pending { 2 } else { 1 }, random % ahead))
            .take(200_000)
    }

    #[test]
    fn buckets_follow_the_events() {
        let dense = equals_a_set(held(3_000, 1_000_000));
        assert!(dense.shift < 13 && dense.heads.len() > 1 << 11);
        let sparse = equals_a_set(held(3, 1 << 34));
        assert!(
            sparse.shift > 13 && sparse.heads.len() == 1 << 11,
            "{} {}",
            sparse.shift,
            sparse.heads.len()
        );
        let far = equals_a_set(held(1_000, 60_000_000));
        assert!(far.heads.len() > 1 << 11);
    }

    #[test]
    fn what_is_ahead_is_shown_once() {
        let mut list = Calendar::new();
        for n in 0..100u64 {
            list.push(Due::new(Instant::from_nanos(n << 13), n), n);
        }
        let (mut cursor, mut shown) = (0, Vec::new());
        list.load_ahead(&mut 0, 10);
        list.show_ahead(&mut cursor, 10, |event| shown.push(event));
        list.show_ahead(&mut cursor, 10, |event| shown.push(event));
        assert_eq!(shown, (1..=10).collect::<Vec<_>>());
        list.replace_first(None, 0);
        list.show_ahead(&mut cursor, 10, |event| shown.push(event));
        assert_eq!(shown, (1..=11).collect::<Vec<_>>());
        list.show_ahead(&mut cursor, u64::MAX >> 1, |event| shown.push(event));
        assert_eq!(shown, (1..100).collect::<Vec<_>>());
    }
}
