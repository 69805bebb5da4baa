//! The receiving end: what has arrived, and what to acknowledge.
//!
//! Source: RFC 9293 section 3.10.7.4 (reassembly), RFC 5681 section 4.2. Different: the application reads at once,
//! so the window offered never shrinks.

use crate::ack::Arrival;

/// Reassembles a byte stream.
#[derive(Clone, Debug, Default)]
pub struct Receiver {
    next: u64,
    /// Ranges beyond `next`, disjoint, not touching, in order.
    islands: Vec<(u64, u64)>,
}

impl Receiver {
    /// A segment with the bytes `seq..end` arrived.
    pub fn on_segment(&mut self, seq: u64, end: u64) -> Arrival {
        if seq <= self.next && self.islands.is_empty() {
            let duplicate = end <= self.next;
            self.next = self.next.max(end);
            return Arrival { in_order: !duplicate, duplicate };
        }
        let before = (self.next, self.islands.iter().map(|(a, b)| b - a).sum::<u64>());
        self.insert(seq.max(self.next), end);
        while self.islands.first().is_some_and(|&(start, _)| start <= self.next) {
            self.next = self.next.max(self.islands.remove(0).1);
        }
        let after = (self.next, self.islands.iter().map(|(a, b)| b - a).sum::<u64>());
        Arrival { in_order: after.0 > before.0, duplicate: after == before }
    }

    fn insert(&mut self, mut start: u64, mut end: u64) {
        if start >= end {
            return;
        }
        let first = self.islands.partition_point(|&(_, e)| e < start);
        let last = self.islands.partition_point(|&(s, _)| s <= end);
        for &(s, e) in &self.islands[first..last] {
            start = start.min(s);
            end = end.max(e);
        }
        self.islands.splice(first..last, [(start, end)]);
    }

    /// The cumulative acknowledgment: every byte below it has arrived and been delivered.
    #[must_use]
    pub const fn ack(&self) -> u64 {
        self.next
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_hole_holds_the_acknowledgment_until_it_is_filled() {
        let mut r = Receiver::default();
        assert_eq!(r.on_segment(0, 10), Arrival { in_order: true, duplicate: false });
        assert_eq!(r.on_segment(20, 30), Arrival { in_order: false, duplicate: false });
        assert_eq!(r.on_segment(20, 30), Arrival { in_order: false, duplicate: true });
        assert_eq!(r.on_segment(0, 10), Arrival { in_order: false, duplicate: true });
        assert_eq!(r.ack(), 10);
        assert_eq!(r.on_segment(10, 20), Arrival { in_order: true, duplicate: false });
        assert_eq!(r.ack(), 30);
    }

    proptest! {
        #[test]
        fn equals_a_set_of_bytes(segments in prop::collection::vec((0u64..60, 1u64..12), 1..60)) {
            let mut r = Receiver::default();
            let mut bytes = std::collections::BTreeSet::new();
            for (seq, len) in segments {
                let fresh = (seq..seq + len).filter(|b| bytes.insert(*b)).count();
                let arrival = r.on_segment(seq, seq + len);
                let contiguous = (0..).take_while(|b| bytes.contains(b)).count() as u64;
                prop_assert_eq!(r.ack(), contiguous);
                prop_assert_eq!(arrival.duplicate, fresh == 0);
            }
        }
    }
}
