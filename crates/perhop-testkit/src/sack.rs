//! Definitions of RFC 6675 section 4, byte by byte as it is written there; slow, for comparison.

use std::collections::BTreeSet;

use perhop_tcp::recovery::DUPLICATE_THRESHOLD;

/// Which bytes have been reported, and what follows from that.
#[derive(Clone, Debug, Default)]
pub struct Reported {
    bytes: BTreeSet<u64>,
    /// `IsLost` has held for every byte below that was not reported; once lost a byte stays so.
    lost: u64,
    /// One past `HighRxt`.
    pub resent: u64,
}

impl Reported {
    /// Takes in ranges between `una` and `max`; returns the bytes that are new.
    pub fn update(&mut self, una: u64, max: u64, mss: u64, blocks: &[(u64, u64)]) -> Vec<u64> {
        let sensible = blocks.iter().filter(|(start, end)| start < end && *end <= max);
        let bytes = sensible.flat_map(|&(start, end)| start.max(una)..end.max(una));
        let news: Vec<u64> = bytes.filter(|&byte| self.bytes.insert(byte)).collect();
        let lost = (una..max).rev().find(|&seq| !self.contains(seq) && self.is_lost_now(seq, mss));
        self.lost = self.lost.max(lost.map_or(0, |seq| seq + 1));
        news
    }

    /// `IsLost`: enough ranges, or enough bytes, have been reported above `seq`.
    fn is_lost_now(&self, seq: u64, mss: u64) -> bool {
        let above = || self.bytes.range(seq + 1..);
        let ranges = above().filter(|&&byte| byte == seq + 1 || !self.bytes.contains(&(byte - 1))).count();
        ranges >= DUPLICATE_THRESHOLD as usize
            || above().count() as u64 > u64::from(DUPLICATE_THRESHOLD - 1) * mss
    }

    /// One past the highest byte that counts as lost.
    #[must_use]
    pub const fn lost(&self) -> u64 {
        self.lost
    }

    /// Whether the byte counts as lost, if it has not been reported.
    #[must_use]
    pub const fn is_lost(&self, seq: u64) -> bool {
        seq < self.lost
    }

    /// Whether the byte has been reported.
    #[must_use]
    pub fn contains(&self, seq: u64) -> bool {
        self.bytes.contains(&seq)
    }

    /// Everything below `una` has been acknowledged.
    pub fn advance(&mut self, una: u64) {
        self.bytes.retain(|&byte| byte >= una);
        self.resent = self.resent.max(una);
    }

    /// A recovery begins or ends: nothing has been sent again.
    pub const fn begin(&mut self, una: u64) {
        self.resent = una;
    }

    /// Everything below `to` has been sent again or has been reported.
    pub fn mark_resent(&mut self, to: u64) {
        self.resent = self.resent.max(to);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        *self = Self::default();
    }

    /// Everything below `max` is lost, and what is below `first` leaves again, as after a time-out.
    pub const fn lose(&mut self, max: u64, first: u64) {
        self.lost = max;
        self.resent = first;
    }

    /// Only what is reported above a byte makes it lost; nothing has been sent again.
    pub fn find(&mut self, una: u64, max: u64, mss: u64) {
        self.begin(una);
        self.lost = 0;
        self.update(una, max, mss, &[]);
    }

    /// Bytes reported.
    #[must_use]
    pub fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Whether nothing has been reported.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// `SetPipe`.
    #[must_use]
    pub fn pipe(&self, una: u64, max: u64) -> u64 {
        let missing = || (una..max).filter(|&seq| !self.contains(seq));
        let outstanding = missing().filter(|&seq| !self.is_lost(seq)).count();
        let again = missing().filter(|&seq| seq < self.resent).count();
        (outstanding + again) as u64
    }

    /// The first byte neither reported nor sent again, if a higher one has been reported, and where its hole ends.
    #[must_use]
    pub fn hole(&self, una: u64) -> Option<(u64, u64)> {
        let highest = self.bytes.last()?;
        let start = (self.resent.max(una)..*highest).find(|&seq| !self.contains(seq))?;
        (start..).find(|&seq| self.contains(seq)).map(|end| (start, end))
    }

    /// The hole with the highest byte below `max` that has not been reported.
    #[must_use]
    pub fn last_hole(&self, una: u64, max: u64) -> Option<(u64, u64)> {
        let end = (una..max).rev().find(|&seq| !self.contains(seq))? + 1;
        let start = (una..end).rev().take_while(|&seq| !self.contains(seq)).last()?;
        Some((start, end))
    }

    /// The next byte at or after `at` that has not been reported.
    #[must_use]
    pub fn skip(&self, at: u64) -> u64 {
        (at..).find(|&seq| !self.contains(seq)).unwrap_or(at)
    }
}
