//! A list that is mostly of length one: that one lies in place, more are on the heap.
//!
//! Most ports have one class, most hosts one port and one connection. In place they are read together with their
//! owner; behind pointers they cost a wait each, which is most of what a hop costs where thousands of hosts share a
//! cache.

use core::ops::{Deref, DerefMut};

/// A list of fixed length.
#[derive(Clone, Debug)]
pub enum InlineList<T> {
    /// One, in place.
    One([T; 1]),
    /// None or several.
    Many(Box<[T]>),
}

impl<T> From<Vec<T>> for InlineList<T> {
    fn from(list: Vec<T>) -> Self {
        <[T; 1]>::try_from(list).map_or_else(|list| Self::Many(list.into_boxed_slice()), Self::One)
    }
}

impl<T> Deref for InlineList<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}

impl<T> DerefMut for InlineList<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        match self {
            Self::One(one) => one,
            Self::Many(many) => many,
        }
    }
}
