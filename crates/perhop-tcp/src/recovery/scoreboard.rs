//! Which bytes beyond the cumulative acknowledgment have arrived, and what follows for losses and for the pipe.
//!
//! Source: RFC 6675 section 4 (`Update`, `IsLost`, `SetPipe`), RFC 2018. Sums over the board are kept up to date instead
//! of being computed: an acknowledgment costs a binary search and a step for each range it touches. Units: bytes.

use std::collections::VecDeque;

use super::DUPLICATE_THRESHOLD;

/// Ranges that have arrived, in order, disjoint and not touching.
//= rfc6675-3-scoreboard
//= rfc2018-5-record
#[derive(Clone, Debug, Default)]
pub struct Scoreboard {
    ranges: VecDeque<(u64, u64)>,
    /// Bytes in `ranges`.
    sacked: u64,
    /// Every byte below that has not arrived is taken for lost.
    lost: u64,
    /// Bytes of `ranges` below `lost`.
    sacked_below_lost: u64,
    /// One past the highest byte sent again in this recovery (HighRxt).
    resent: u64,
    /// Bytes of `ranges` below `resent`.
    sacked_below_resent: u64,
}

/// The new reports of an acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct News {
    /// Bytes that have arrived.
    pub fresh: u64,
    /// Something is lost.
    pub losses: bool,
}

impl Scoreboard {
    /// Takes in ranges between `una` and `max`.
    //= rfc6675-4-update
    pub fn update(&mut self, una: u64, max: u64, mss: u64, blocks: &[(u64, u64)]) -> News {
        let before = self.sacked;
        for &(start, end) in blocks {
            if start < end && end <= max && end > una {
                self.insert(start.max(una), end);
            }
        }
        let fresh = self.sacked - before;
        if fresh == 0 {
            return News::default();
        }
        let known = self.lost.max(una);
        self.move_lost(mss);
        let losses = self.lost > known && self.lost - known > self.between(known, self.lost);
        News { fresh, losses }
    }

    fn insert(&mut self, start: u64, end: u64) {
        // what was reported before, or follows the highest report, as most blocks do
        if let Some(last) = self.ranges.back_mut()
            && last.0 <= start
            && start <= last.1
            && self.lost.max(self.resent) <= last.1
        {
            let grown = end.saturating_sub(last.1);
            last.1 += grown;
            self.sacked += grown;
            return;
        }
        let first = self.ranges.partition_point(|&(_, e)| e < start);
        let mut last = first;
        if self.ranges.get(first).is_some_and(|&(s, e)| s <= start && end <= e) {
            return;
        }
        let (mut low, mut high) = (start, end);
        let (mut known, mut below_lost, mut below_resent) = (0, 0, 0);
        while let Some(&(s, e)) = self.ranges.get(last)
            && s <= end
        {
            (low, high) = (low.min(s), high.max(e));
            known += e - s;
            below_lost += part_below(s, e, self.lost);
            below_resent += part_below(s, e, self.resent);
            last += 1;
        }
        self.sacked += high - low - known;
        self.sacked_below_lost += part_below(low, high, self.lost) - below_lost;
        self.sacked_below_resent += part_below(low, high, self.resent) - below_resent;
        if last == first {
            self.ranges.insert(first, (low, high));
        } else {
            self.ranges[first] = (low, high);
            if last > first + 1 {
                self.ranges.drain(first + 1..last);
            }
        }
    }

    /// A byte that has not arrived is lost once three ranges, or more than two segments, have arrived above it.
    //= rfc6675-4-is-lost
    fn move_lost(&mut self, mss: u64) {
        let mut above = 0;
        let mut lost = self.lost;
        for (number, &(start, end)) in (1..).zip(self.ranges.iter().rev()) {
            above += end - start;
            if number >= DUPLICATE_THRESHOLD || above > u64::from(DUPLICATE_THRESHOLD - 1) * mss {
                lost = lost.max(start);
                break;
            }
        }
        if lost > self.lost {
            self.sacked_below_lost += self.between(self.lost, lost);
            self.lost = lost;
        }
    }

    /// Bytes of `ranges` in `from..to`, which are moved once each.
    fn between(&self, from: u64, to: u64) -> u64 {
        let first = self.ranges.partition_point(|&(_, e)| e <= from);
        let touched = self.ranges.range(first..).take_while(|&&(s, _)| s < to);
        touched.map(|&(s, e)| e.min(to) - s.max(from)).sum()
    }

    /// Everything below `una` has been acknowledged.
    //= rfc6675-5-a-keep
    pub fn advance(&mut self, una: u64) {
        while let Some(&(start, end)) = self.ranges.front()
            && start < una
        {
            let gone = una.min(end);
            self.sacked -= gone - start;
            self.sacked_below_lost -= part_below(start, gone, self.lost);
            self.sacked_below_resent -= part_below(start, gone, self.resent);
            if gone == end {
                self.ranges.pop_front();
            } else {
                self.ranges[0].0 = gone;
            }
        }
    }

    /// A recovery begins: nothing has been sent again in it.
    pub const fn begin(&mut self, una: u64) {
        self.resent = una;
        self.sacked_below_resent = 0;
    }

    /// Everything below `to` has been sent again or has arrived.
    pub fn mark_resent(&mut self, to: u64) {
        if to > self.resent {
            self.sacked_below_resent += self.between(self.resent, to);
            self.resent = to;
        }
    }

    /// Forgets everything: the receiver may have dropped what it reported (RFC 2018 section 8).
    //= rfc2018-5-timeout-forget
    pub fn clear(&mut self) {
        *self = Self { ranges: std::mem::take(&mut self.ranges), ..Self::default() };
        self.ranges.clear();
    }

    /// Everything below `max` is lost and the first segment, up to `first`, leaves again, as after a time-out.
    pub const fn lose(&mut self, max: u64, first: u64) {
        self.lost = max;
        self.resent = first;
    }

    /// Takes back the losses of [`lose`](Self::lose): the reports alone decide.
    pub fn find(&mut self, una: u64, mss: u64) {
        (self.lost, self.sacked_below_lost) = (0, 0);
        self.begin(una);
        self.move_lost(mss);
    }

    /// Bytes in the network: neither arrived nor lost, and those sent again.
    //= rfc6675-4-set-pipe-outstanding
    //= rfc6675-4-set-pipe-retransmitted
    //= rfc6675-5-4.4-pipe
    //= rfc6675-5-c4-pipe
    //= rfc6675-4-set-pipe
    #[must_use]
    pub fn pipe(&self, una: u64, max: u64) -> u64 {
        let not_lost = max - self.lost.clamp(una, max) - (self.sacked - self.sacked_below_lost);
        let again = self.resent.max(una) - una - self.sacked_below_resent;
        not_lost + again
    }

    /// Whether the byte at `seq`, which has not arrived, is taken for lost.
    #[must_use]
    pub const fn is_lost(&self, seq: u64) -> bool {
        seq < self.lost
    }

    /// The next range not arrived and not sent again in this recovery, if a higher byte has arrived.
    //= rfc2018-5-candidates
    #[must_use]
    pub fn hole(&self, una: u64) -> Option<(u64, u64)> {
        let mut start = self.resent.max(una);
        let mut next = self.ranges.partition_point(|&(_, e)| e <= start);
        if let Some(&(s, e)) = self.ranges.get(next)
            && s <= start
        {
            start = e;
            next += 1;
        }
        self.ranges.get(next).map(|&(end, _)| (start, end))
    }

    /// The highest range below `max` that has not arrived.
    #[must_use]
    pub fn last_hole(&self, una: u64, max: u64) -> Option<(u64, u64)> {
        match self.ranges.back() {
            Some(&(start, end)) if end >= max => {
                let before = self.ranges.len().checked_sub(2).and_then(|i| self.ranges.get(i));
                let from = before.map_or(una, |&(_, e)| e);
                (from < start).then_some((from, start))
            }
            Some(&(_, end)) => Some((end, max)),
            None => (una < max).then_some((una, max)),
        }
    }

    /// The next byte at or after `at` that has not arrived.
    //= rfc2018-5-skip
    //= rfc6675-5.1-use
    #[must_use]
    pub fn skip(&self, at: u64) -> u64 {
        let next = self.ranges.partition_point(|&(_, e)| e <= at);
        self.ranges.get(next).map_or(at, |&(s, e)| if s <= at { e } else { at })
    }

    /// Bytes that have arrived beyond the cumulative acknowledgment.
    #[must_use]
    pub const fn sacked(&self) -> u64 {
        self.sacked
    }
}

/// Bytes of `start..end` below `limit`.
const fn part_below(start: u64, end: u64, limit: u64) -> u64 {
    let end = if end < limit { end } else { limit };
    end.saturating_sub(start)
}

#[cfg(test)]
mod tests;
