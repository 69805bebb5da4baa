//! A queue of values that are added at the back and leave at the front, quick where it rarely holds more than one.
//!
//! The first value lies in the struct itself and only the others in a ring on the heap: on an uncongested path a packet
//! passes through without a second cache line, and without a heap block for the ring. Besides the value a queue is one word.

use std::collections::VecDeque;

/// Values in order of arrival.
#[derive(Clone, Debug)]
pub struct InlineQueue<T> {
    front: Option<T>,
    /// Everything behind `front`; empty where there is no front, and `None` until two values first met.
    #[expect(clippy::box_collection, reason = "one word here instead of four; most queues never need them")]
    rest: Option<Box<VecDeque<T>>>,
}

impl<T> Default for InlineQueue<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> InlineQueue<T> {
    /// An empty queue; it allocates nothing before it holds two values.
    #[must_use]
    pub const fn new() -> Self {
        Self { front: None, rest: None }
    }

    /// Adds `value` at the back.
    #[inline(always)]
    pub fn push_back(&mut self, value: T) {
        if self.front.is_none() {
            self.front = Some(value);
        } else {
            self.rest.get_or_insert_default().push_back(value);
        }
    }

    /// Removes the first value.
    pub fn pop_front(&mut self) -> Option<T> {
        let first = self.front.take()?;
        if let Some(rest) = &mut self.rest {
            self.front = rest.pop_front();
        }
        Some(first)
    }

    /// Removes the value at this position from the front.
    pub fn remove(&mut self, at: usize) -> Option<T> {
        match at {
            0 => self.pop_front(),
            _ => self.rest.as_mut()?.remove(at - 1),
        }
    }

    /// The first value.
    #[must_use]
    pub const fn front(&self) -> Option<&T> {
        self.front.as_ref()
    }

    /// The last value.
    #[must_use]
    pub fn back(&self) -> Option<&T> {
        self.rest.as_ref().and_then(|rest| rest.back()).or(self.front.as_ref())
    }

    /// How many values there are.
    #[must_use]
    pub fn len(&self) -> usize {
        usize::from(self.front.is_some()) + self.rest.as_ref().map_or(0, |rest| rest.len())
    }

    /// Whether there is none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.front.is_none()
    }

    /// From front to back.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.front.iter().chain(self.rest.iter().flat_map(|rest| rest.iter()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equals_a_ring() {
        let mut queue = InlineQueue::new();
        let mut ring = VecDeque::new();
        for step in 0u32..2000 {
            // long runs of each, so that the queue is often empty and often long
            match (step / 7 * 11 + step / 3) % 5 {
                0..=2 if step % 13 < 8 => {
                    queue.push_back(step);
                    ring.push_back(step);
                }
                _ if step % 29 == 0 => {
                    let at = step as usize % 5;
                    assert_eq!(queue.remove(at), ring.remove(at));
                }
                _ => assert_eq!(queue.pop_front(), ring.pop_front()),
            }
            assert_eq!((queue.front(), queue.back(), queue.len()), (ring.front(), ring.back(), ring.len()));
            assert_eq!(queue.is_empty(), ring.is_empty());
            assert!(queue.iter().eq(ring.iter()));
        }
    }
}
