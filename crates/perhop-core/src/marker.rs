//! The action for each colour.
//!
//! Source: RFC 2475 section 2.3.3 (markers, shapers and droppers as parts of a traffic conditioner).
//! Different: nothing. Cost: one table look-up.

use crate::packet::{Color, Dscp};

/// An action on a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Action {
    /// Nothing: it keeps its mark.
    #[default]
    Pass,
    /// It gets this mark.
    Remark(Dscp),
    /// It is dropped (a policer).
    Drop,
    /// It is delayed until it conforms to the shaper's profile.
    Shape,
}

/// A table from colour to action.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Marker {
    /// In profile.
    pub green: Action,
    /// In excess of the committed profile.
    pub yellow: Action,
    /// Out of profile.
    pub red: Action,
}

impl Marker {
    //= rfc2697-1-recolor
    //= rfc2698-1-recolor
    /// The action for `color`.
    #[must_use]
    pub const fn action(&self, color: Color) -> Action {
        match color {
            Color::Green => self.green,
            Color::Yellow => self.yellow,
            Color::Red => self.red,
        }
    }
}
