//! A player of video in chunks: a buffer, a ladder of rates, and the rule that chooses among them.
//!
//! Source: BBA-0 of Huang, Johari, McKeown, Trunnell and Watson, "A Buffer-Based Approach to Rate Adaptation" (SIGCOMM 2014), section 4.1
//! and algorithm 1. Different: chunks of a rate are all as long as it says, and playing begins with the first chunk, and after
//! a stall with the next. Units: ns of video, bytes. Cost: nothing for a packet; a look along the ladder for each chunk.

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_scenario::model::Video;

/// A player, and what it has played.
#[derive(Debug)]
pub struct Player {
    video: Video,
    /// The rate of the last chunk, by its place on the ladder.
    chosen: usize,
    /// Video in the buffer at `at`.
    level: Span,
    at: Instant,
    /// Whether it plays; before the first chunk and in a stall it does not.
    playing: bool,
    /// When the stall began that goes on.
    stalled: Option<Instant>,
    stalls: Vec<(Instant, Instant)>,
}

impl Player {
    /// One that has played nothing.
    #[must_use]
    pub const fn new(video: Video) -> Self {
        let (level, at) = (Span::ZERO, Instant::ZERO);
        Self { video, chosen: 0, level, at, playing: false, stalled: None, stalls: Vec::new() }
    }

    /// A chunk is asked for: how much data it has.
    pub fn ask(&mut self, now: Instant) -> Bytes {
        self.play_until(now);
        self.chosen = self.choose();
        let bits = u128::from(self.video.ladder[self.chosen].bits_per_sec())
            * u128::from(self.video.chunk.as_nanos());
        Bytes(u64::try_from(bits.div_ceil(8_000_000_000)).unwrap_or(u64::MAX))
    }

    /// That chunk is there: when the next is to be asked for, which is when there is room for it.
    pub fn arrived(&mut self, now: Instant) -> Instant {
        self.play_until(now);
        self.stalls.extend(self.stalled.take().map(|since| (since, now)));
        self.playing = true;
        self.level = self.level + self.video.chunk;
        let filled = (self.level + self.video.chunk).as_nanos();
        now + Span::from_nanos(filled.saturating_sub(self.video.buffer.as_nanos()))
    }

    /// How long, and how often, it has stood still between `from` and `until`, once playing had begun.
    #[must_use]
    pub fn stood(&self, from: Instant, until: Instant) -> (Span, u64) {
        let ran_dry = (self.playing && self.at + self.level < until).then(|| self.at + self.level);
        let open = self.stalled.or(ran_dry).map(|since| (since, until));
        let within = |(since, to): &(Instant, Instant)| (*to).min(until).saturating_since((*since).max(from));
        let spans: Vec<Span> =
            self.stalls.iter().chain(&open).map(within).filter(|stood| *stood > Span::ZERO).collect();
        (spans.iter().fold(Span::ZERO, |sum, stood| sum + *stood), spans.len() as u64)
    }

    fn play_until(&mut self, now: Instant) {
        let elapsed = now.saturating_since(self.at);
        if self.playing && elapsed > self.level {
            (self.playing, self.stalled) = (false, Some(self.at + self.level));
            self.level = Span::ZERO;
        } else if self.playing {
            self.level = Span::from_nanos(self.level.as_nanos() - elapsed.as_nanos());
        }
        self.at = now;
    }

    /// The rate that the buffer stands for, unless that is between the neighbours of the present one.
    fn choose(&self) -> usize {
        let rates = &self.video.ladder;
        let last = rates.len() - 1;
        let Some(above) = self.level.as_nanos().checked_sub(self.video.reservoir.as_nanos()) else {
            return 0;
        };
        let cushion = self.video.cushion.as_nanos();
        if above == 0 {
            return 0;
        } else if above >= cushion {
            return last;
        }
        let rate = |k: usize| u128::from(rates[k].bits_per_sec());
        // f(buffer), times the cushion
        let wanted = rate(0) * u128::from(cushion) + (rate(last) - rate(0)) * u128::from(above);
        let reaches = |k: usize| wanted >= rate(k) * u128::from(cushion);
        let exceeds = |k: usize| wanted > rate(k) * u128::from(cushion);
        let (lower, higher) = (self.chosen.saturating_sub(1), (self.chosen + 1).min(last));
        if reaches(higher) {
            (0..=last).rev().find(|k| exceeds(*k)).unwrap_or(0)
        } else if !exceeds(lower) {
            (0..=last).find(|k| !reaches(*k)).unwrap_or(last)
        } else {
            self.chosen
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use perhop_core::units::BitRate;

    use super::*;

    fn s(seconds: u64) -> Instant {
        Instant::ZERO + Span::from_secs(seconds)
    }

    /// Chunks of 4 s at 1, 2, 3 or 4 Mbit/s, a buffer of 40 s, a reservoir of 10 s and a cushion of 30 s: each 10 s of the
    /// cushion are a Mbit/s.
    fn player() -> Player {
        let ladder: Arc<[BitRate]> = (1..=4).filter_map(|n| BitRate::new(n * 1_000_000)).collect();
        let span = Span::from_secs;
        Player::new(Video {
            ladder,
            chunk: span(4),
            buffer: span(40),
            reservoir: span(10),
            cushion: span(30),
        })
    }

    /// The rate chosen with so many seconds in the buffer after one of so many Mbit/s.
    fn next(level: u64, before: usize) -> usize {
        let mut player = player();
        (player.level, player.chosen) = (Span::from_secs(level), before - 1);
        player.choose() + 1
    }

    /// Algorithm 1, case by case.
    #[test]
    fn the_rate_follows_the_buffer_and_stays_between_its_neighbours() {
        assert_eq!([next(0, 3), next(10, 3)], [1, 1], "the reservoir has the lowest");
        assert_eq!([next(40, 1), next(50, 2)], [4, 4], "above the cushion the highest");
        // f is 2 at 20 s: not above the next higher, so the highest below f is kept from 1
        assert_eq!([next(19, 1), next(20, 1), next(21, 1)], [1, 1, 2]);
        // and 2.5 at 25 s: between the neighbours of 2, and of 3
        assert_eq!([next(25, 2), next(25, 3)], [2, 3]);
        // down from 4 where f falls to 3, to the lowest above f
        assert_eq!([next(31, 4), next(30, 4), next(29, 4), next(15, 4)], [4, 4, 3, 2]);
        assert_eq!([next(39, 1), next(11, 2)], [3, 2]);
    }

    #[test]
    fn what_runs_dry_stands_still_until_the_next_chunk() {
        let mut player = player();
        assert_eq!(player.ask(s(1)), Bytes(500_000));
        assert_eq!(player.stood(s(0), s(2)), (Span::ZERO, 0), "it has not begun");
        // 4 s from 3 s on; the next comes at 9 s, and after that one at 11 s
        assert_eq!(player.arrived(s(3)), s(3));
        assert_eq!(player.stood(s(0), s(8)), (Span::from_secs(1), 1));
        player.ask(s(3));
        assert_eq!(player.arrived(s(9)), s(9));
        player.ask(s(9));
        player.arrived(s(11));
        assert_eq!(player.stood(s(0), s(17)), (Span::from_secs(2), 1));
        assert_eq!(player.stood(s(8), s(17)), (Span::from_secs(1), 1), "in the measured time");
        assert_eq!(player.stood(s(0), s(20)), (Span::from_secs(5), 2));
        assert_eq!(player.stood(s(9), s(17)), (Span::ZERO, 0));
    }

    #[test]
    fn a_full_buffer_waits_for_room() {
        let mut player = player();
        let mut now = s(0);
        // all at once: 9 chunks leave room for a tenth, and that one for the next after 4 s of playing
        for _ in 0..9 {
            player.ask(now);
            now = player.arrived(now);
        }
        assert_eq!(now, s(0));
        player.ask(now);
        assert_eq!(player.arrived(now), s(4));
    }
}
