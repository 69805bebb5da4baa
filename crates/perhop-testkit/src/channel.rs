//! One direction of a network that delays everything alike and loses what it is told to.

use std::collections::VecDeque;

use perhop_core::time::{Instant, Span};

/// A line with a list of losses; after its end nothing is lost.
#[derive(Clone, Debug)]
pub struct Line<T> {
    delay: Span,
    losses: VecDeque<bool>,
    in_transit: VecDeque<(Instant, T)>,
}

impl<T> Line<T> {
    /// The n-th item sent is lost where `losses[n]` is set.
    #[must_use]
    pub fn new(delay: Span, losses: &[bool]) -> Self {
        Self { delay, losses: losses.iter().copied().collect(), in_transit: VecDeque::new() }
    }

    /// `item` enters the line now.
    pub fn send(&mut self, now: Instant, item: T) {
        if !self.losses.pop_front().unwrap_or(false) {
            self.in_transit.push_back((now + self.delay, item));
        }
    }

    /// When the next item arrives.
    #[must_use]
    pub fn next_arrival(&self) -> Option<Instant> {
        self.in_transit.front().map(|(at, _)| *at)
    }

    /// The item that arrives up to `now`.
    pub fn receive(&mut self, now: Instant) -> Option<T> {
        self.next_arrival().filter(|&at| at <= now)?;
        self.in_transit.pop_front().map(|(_, item)| item)
    }
}
