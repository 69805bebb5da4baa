//! Outstanding segments with the times at which they left.
//!
//! Source: RFC 8985 section 5.2 (per-segment variables). Cost: a segment is looked at when it is sent, when it arrives, when one
//! sent later has arrived, and when it is taken for lost: a binary search each time, whatever the window. A segment of which
//! a part is reported or sent again becomes two. Units: bytes.

use std::collections::VecDeque;

use perhop_core::time::{Instant, Span};

use super::scoreboard::Scoreboard;

/// The state of an outstanding segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum SegmentState {
    /// It may be in the network.
    Sent,
    /// It has been reported.
    Arrived,
    /// It is taken for lost, and has not been sent again since.
    Lost,
}

/// An outstanding segment.
//= rfc8985-4-transmit-time
//= rfc8985-5.2-variables
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Segment {
    pub(super) start: u64,
    /// One past its last byte.
    pub(super) end: u64,
    /// When it last left.
    pub(super) sent: Instant,
    /// It has left more than once.
    pub(super) again: bool,
    /// It has been taken for lost, and sent again perhaps, and has not arrived.
    missing: bool,
    state: SegmentState,
}

/// The order of transmissions: the time, and the end of the segment.
pub(super) type Key = (Instant, u64);

/// The outstanding segments, in order and without gaps.
#[derive(Clone, Debug, Default)]
pub(super) struct Sent {
    segments: VecDeque<Segment>,
    /// Transmissions in order; what a later transmission, a report or a loss has overtaken is passed over.
    order: VecDeque<Key>,
    /// Those before the latest that has arrived, taken out of `order`.
    overtaken: VecDeque<Key>,
    /// The latest transmission that has arrived, as `overtake` was told.
    reached: Key,
    /// First bytes of lost segments, in order.
    lost: VecDeque<u64>,
    board: Scoreboard,
    /// Segments that have been reported, and those that are missing.
    reported: usize,
    missing: usize,
    lost_bytes: u64,
    /// Bytes that have ever been taken for lost.
    lost_total: u64,
}

impl Sent {
    /// The bytes `start..end` leave, some of them perhaps again.
    //= rfc8985-6.1-transmit
    pub(super) fn send(&mut self, now: Instant, start: u64, end: u64) {
        self.cut(start);
        self.cut(end);
        for index in self.index(start)..self.segments.len() {
            let segment = self.segments[index];
            if segment.start >= end {
                break;
            }
            if segment.state == SegmentState::Arrived {
                continue;
            }
            if segment.state == SegmentState::Lost {
                self.forget_lost(&segment);
            }
            self.segments[index] = Segment { sent: now, again: true, state: SegmentState::Sent, ..segment };
            insert(&mut self.order, (now, segment.end));
        }
        let max = self.segments.back().map_or(start, |last| last.end);
        if end > max {
            let start = start.max(max);
            self.segments.push_back(Segment {
                start,
                end,
                sent: now,
                again: false,
                missing: false,
                state: SegmentState::Sent,
            });
            insert(&mut self.order, (now, end));
        }
    }

    /// Gives back the room that is not used.
    pub(super) fn shrink(&mut self) {
        self.segments.shrink_to_fit();
        self.order.shrink_to_fit();
        self.overtaken.shrink_to_fit();
        self.lost.shrink_to_fit();
    }

    /// Everything below `una` has been acknowledged; `visit` gets each segment that was not known to have arrived, in order.
    pub(super) fn advance(&mut self, una: u64, mut visit: impl FnMut(&Segment)) {
        self.cut(una);
        while let Some(segment) = self.segments.front().copied().filter(|segment| segment.end <= una) {
            self.segments.pop_front();
            self.missing -= usize::from(segment.missing);
            match segment.state {
                SegmentState::Arrived => self.reported -= 1,
                SegmentState::Lost => self.forget_lost(&segment),
                SegmentState::Sent => {}
            }
            if segment.state != SegmentState::Arrived {
                visit(&segment);
            }
        }
        self.board.advance(una);
    }

    /// The bytes `start..end`, all outstanding, are reported; `visit` as above. Returns bytes not known before.
    pub(super) fn report(&mut self, start: u64, end: u64, mss: u64, mut visit: impl FnMut(&Segment)) -> u64 {
        let mut at = self.board.skip(start);
        while at < end {
            self.cut(at);
            self.cut(end);
            let index = self.index(at);
            let Some(segment) = self.segments.get(index).copied() else { break };
            if segment.state == SegmentState::Lost {
                self.forget_lost(&segment);
            }
            self.missing -= usize::from(segment.missing);
            self.segments[index] = Segment { missing: false, state: SegmentState::Arrived, ..segment };
            self.reported += 1;
            visit(&segment);
            at = self.board.skip(segment.end);
        }
        let (una, max) = (self.segments.front().map_or(end, |first| first.start), self.max());
        self.board.update(una, max, mss, &[(start, end)]).fresh
    }

    /// Takes for lost what was sent before `latest` and at least `wait` ago. Returns the last time at which something else
    /// that was sent before it becomes as old, if there is such, and whether something sent again is among the lost. `visit` gets each
    /// that is lost, with all bytes lost so far.
    //= rfc8985-6.2-5-detect
    //= rfc8985-6.2-5-sent-after
    pub(super) fn detect(
        &mut self,
        now: Instant,
        latest: Key,
        wait: Span,
        mut visit: impl FnMut(&Segment, u64),
    ) -> (Option<Instant>, bool) {
        let mut resent = false;
        self.reached = self.reached.max(latest);
        while let Some(key) = self.order.front().copied().filter(|key| *key < self.reached) {
            self.order.pop_front();
            if self.holds(key).is_some() {
                self.overtaken.push_back(key);
            }
        }
        while let Some(key) = self.overtaken.front().copied() {
            match self.holds(key) {
                Some(_) if key.0 + wait > now => break,
                Some(index) => {
                    resent |= self.segments[index].again;
                    self.lose(index);
                    visit(&self.segments[index], self.lost_total);
                }
                None => {}
            }
            self.overtaken.pop_front();
        }
        while let Some(key) = self.overtaken.back().copied() {
            if self.holds(key).is_some() {
                return (Some(key.0 + wait), resent);
            }
            self.overtaken.pop_back();
        }
        (None, resent)
    }

    /// The retransmission timer expired: the first segment is lost, and what was sent at least `wait` ago; `visit` as in `detect`.
    //= rfc8985-6.3-mark
    pub(super) fn expire(&mut self, now: Instant, wait: Span, mut visit: impl FnMut(&Segment, u64)) {
        if self.segments.front().is_some_and(|first| first.state == SegmentState::Arrived) {
            self.renege();
        }
        for index in 0..self.segments.len() {
            let segment = self.segments[index];
            if segment.state == SegmentState::Sent && (index == 0 || segment.sent + wait <= now) {
                self.lose(index);
                visit(&segment, self.lost_total);
            }
        }
    }

    /// The receiver has dropped what it reported: nothing of that counts (RFC 2018 section 8).
    fn renege(&mut self) {
        for index in 0..self.segments.len() {
            let segment = &mut self.segments[index];
            if segment.state == SegmentState::Arrived {
                segment.state = SegmentState::Sent;
                let key = (segment.sent, segment.end);
                self.queue(key);
            }
        }
        self.reported = 0;
        self.board.clear();
    }

    /// Nothing is lost after all.
    pub(super) fn pardon(&mut self) {
        while let Some(start) = self.lost.pop_front() {
            let index = self.index(start);
            if let Some(segment) = self.segments.get_mut(index) {
                segment.state = SegmentState::Sent;
                let key = (segment.sent, segment.end);
                self.queue(key);
            }
        }
        for segment in &mut self.segments {
            segment.missing = false;
        }
        (self.lost_bytes, self.missing) = (0, 0);
    }

    /// The first lost segment.
    pub(super) fn first_lost(&self) -> Option<(u64, u64)> {
        let start = *self.lost.front()?;
        self.segments.get(self.index(start)).map(|segment| (start, segment.end))
    }

    /// Whether something is missing: lost, and perhaps sent again since.
    pub(super) const fn has_missing(&self) -> bool {
        self.missing > 0
    }

    /// The first byte outstanding.
    pub(super) fn first(&self) -> Option<u64> {
        self.segments.front().map(|first| first.start)
    }

    /// When the first outstanding segment last left.
    pub(super) fn first_sent(&self) -> Option<Instant> {
        self.segments.front().map(|first| first.sent)
    }

    /// The last segment sent.
    pub(super) fn last(&self) -> Option<(u64, u64)> {
        self.segments.back().map(|last| (last.start, last.end))
    }

    /// One past the highest byte sent; 0 if nothing is outstanding.
    pub(super) fn max(&self) -> u64 {
        self.segments.back().map_or(0, |last| last.end)
    }

    /// Segments outstanding.
    pub(super) fn len(&self) -> usize {
        self.segments.len()
    }

    /// Bytes in the network: neither reported nor lost.
    pub(super) fn pipe(&self) -> u64 {
        (self.max() - self.first().unwrap_or(0)).saturating_sub(self.gone())
    }

    /// Bytes that have left the network: reported or lost.
    pub(super) const fn gone(&self) -> u64 {
        self.board.sacked() + self.lost_bytes
    }

    /// Bytes that have ever been taken for lost, those found again included.
    pub(super) const fn lost_total(&self) -> u64 {
        self.lost_total
    }

    /// Bytes that have been reported.
    pub(super) const fn sacked(&self) -> u64 {
        self.board.sacked()
    }

    /// Segments that have been reported.
    pub(super) const fn reported(&self) -> usize {
        self.reported
    }

    /// Which segment holds the byte at `seq`, or would be behind it.
    fn index(&self, seq: u64) -> usize {
        match self.segments.front() {
            Some(first) if seq >= first.end => self.segments.partition_point(|segment| segment.end <= seq),
            _ => 0,
        }
    }

    /// Makes two of the segment that has `at` within.
    fn cut(&mut self, at: u64) {
        let index = self.index(at);
        let Some(segment) = self.segments.get(index).copied().filter(|segment| segment.start < at) else {
            return;
        };
        self.segments[index].start = at;
        self.segments.insert(index, Segment { end: at, ..segment });
        self.missing += usize::from(segment.missing);
        match segment.state {
            SegmentState::Sent => self.queue((segment.sent, at)),
            SegmentState::Lost => {
                let place = self.lost.partition_point(|&start| start < at);
                self.lost.insert(place, at);
            }
            SegmentState::Arrived => self.reported += 1,
        }
    }

    /// Puts a transmission that is not of now where it belongs.
    fn queue(&mut self, key: Key) {
        insert(if key < self.reached { &mut self.overtaken } else { &mut self.order }, key);
    }

    /// The segment that left last with this transmission and may still be in the network.
    fn holds(&self, (sent, end): Key) -> Option<usize> {
        let index = self.index(end.checked_sub(1)?);
        let segment = self.segments.get(index)?;
        (segment.end == end && segment.sent == sent && segment.state == SegmentState::Sent).then_some(index)
    }

    fn lose(&mut self, index: usize) {
        let Segment { start, end, missing, .. } = self.segments[index];
        self.segments[index].state = SegmentState::Lost;
        self.segments[index].missing = true;
        self.missing += usize::from(!missing);
        self.lost_bytes += end - start;
        self.lost_total += end - start;
        let place = match self.lost.back() {
            Some(&last) if last > start => self.lost.partition_point(|&other| other < start),
            _ => self.lost.len(),
        };
        self.lost.insert(place, start);
    }

    fn forget_lost(&mut self, segment: &Segment) {
        self.lost_bytes -= segment.end - segment.start;
        if self.lost.front() == Some(&segment.start) {
            self.lost.pop_front();
        } else if let Ok(place) = self.lost.binary_search(&segment.start) {
            self.lost.remove(place);
        }
    }
}

/// Puts `key` in order: nearly always at the end.
fn insert(keys: &mut VecDeque<Key>, key: Key) {
    match keys.back() {
        Some(last) if *last > key => keys.insert(keys.partition_point(|other| *other < key), key),
        _ => keys.push_back(key),
    }
}

#[cfg(test)]
mod tests;
