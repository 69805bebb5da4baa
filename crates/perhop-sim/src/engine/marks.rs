//! Arrivals at the end of a flow, by mark.

use perhop_core::dscp::Dscp;
use perhop_core::queue::Backlog;
use perhop_core::units::Bytes;

/// Packets by mark. A flow whose packets all carry the default mark costs nothing beside its total.
#[derive(Clone, Debug, Default)]
pub struct MarkCounts {
    total: Backlog,
    /// Those with another mark than the default, in the order in which marks first came.
    marked: Vec<(Dscp, Backlog)>,
}

impl MarkCounts {
    /// Counts a packet.
    #[inline]
    pub fn add(&mut self, dscp: Dscp, len: Bytes) {
        self.total.add(len);
        if dscp != Dscp::DEFAULT {
            self.add_marked(dscp, len);
        }
    }

    fn add_marked(&mut self, dscp: Dscp, len: Bytes) {
        let marked = &mut self.marked;
        let at = marked.iter().position(|(known, _)| *known == dscp).unwrap_or_else(|| {
            marked.push((dscp, Backlog::default()));
            marked.len() - 1
        });
        marked[at].1.add(len);
    }

    /// All packets.
    pub const fn total(&self) -> Backlog {
        self.total
    }

    /// Every mark that came, the default first, then by number.
    pub fn by_mark(&self) -> Vec<(Dscp, Backlog)> {
        let mut marks = self.marked.clone();
        marks.sort_unstable_by_key(|(dscp, _)| *dscp);
        let unmarked = marks.iter().fold(self.total, |rest, (_, count)| Backlog {
            packets: rest.packets - count.packets,
            bytes: rest.bytes - count.bytes,
        });
        if unmarked.packets > 0 {
            marks.insert(0, (Dscp::DEFAULT, unmarked));
        }
        marks
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_default_mark_is_the_rest() {
        let mut counts = MarkCounts::default();
        let af11 = Dscp::af(1, 1).unwrap();
        for (dscp, len) in
            [(Dscp::EF, 10), (Dscp::DEFAULT, 100), (af11, 1), (Dscp::EF, 20), (Dscp::DEFAULT, 200)]
        {
            counts.add(dscp, Bytes(len));
        }
        let of = |packets, bytes| Backlog { packets, bytes: Bytes(bytes) };
        assert_eq!(counts.total(), of(5, 331));
        assert_eq!(counts.by_mark(), [(Dscp::DEFAULT, of(2, 300)), (af11, of(1, 1)), (Dscp::EF, of(2, 30))]);
        assert!(MarkCounts::default().by_mark().is_empty());
    }
}
