//! One direction of a network that delays everything alike but what it is told to lose, hold up, repeat or mark.

use std::collections::{BTreeMap, VecDeque};

use arbitrary::Arbitrary;
use perhop_core::time::{Instant, Span};

/// Effect of the channel on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub enum PacketEffect {
    /// It arrives.
    Passes,
    /// It does not.
    Lost,
    /// It arrives so many milliseconds later, perhaps after packets sent after it.
    Late(u8),
    /// It arrives, and again so many milliseconds later.
    Twice(u8),
    /// It arrives with a congestion mark.
    Marked,
}

/// A line with a list of effects; after its end everything passes.
#[derive(Clone, Debug)]
pub struct Line<T> {
    delay: Span,
    effects: VecDeque<PacketEffect>,
    /// By arrival, then by departure.
    in_transit: BTreeMap<(Instant, u64), (T, bool)>,
    sent: u64,
}

impl<T: Copy> Line<T> {
    /// The n-th item sent meets the n-th effect.
    #[must_use]
    pub fn new(delay: Span, effects: &[PacketEffect]) -> Self {
        Self { delay, effects: effects.iter().copied().collect(), in_transit: BTreeMap::new(), sent: 0 }
    }

    /// `item` enters the line now.
    pub fn send(&mut self, now: Instant, item: T) {
        let effect = self.effects.pop_front().unwrap_or(PacketEffect::Passes);
        let late = |ms| now + self.delay + Span::from_millis(u64::from(ms));
        let (first, second) = match effect {
            PacketEffect::Lost => (None, None),
            PacketEffect::Passes | PacketEffect::Marked => (Some(late(0)), None),
            PacketEffect::Late(ms) => (Some(late(ms)), None),
            PacketEffect::Twice(ms) => (Some(late(0)), Some(late(ms))),
        };
        for at in [first, second].into_iter().flatten() {
            self.in_transit.insert((at, self.sent), (item, effect == PacketEffect::Marked));
            self.sent += 1;
        }
    }

    /// When the next item arrives.
    #[must_use]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.in_transit.first_key_value().map(|((at, _), _)| *at)
    }

    /// The item that arrives up to `now`, and whether it is marked.
    pub fn receive(&mut self, now: Instant) -> Option<(T, bool)> {
        self.next_arrival().filter(|&at| at <= now)?;
        self.in_transit.pop_first().map(|(_, item)| item)
    }
}
