//! Colours of packets.

/// A meter's verdict (RFC 2697, 2698); two-colour papers use green for IN and red for OUT.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub enum Color {
    /// In profile.
    #[default]
    Green,
    /// In excess of the committed profile, within the peak.
    Yellow,
    /// Out of profile.
    Red,
}

impl Color {
    /// Its name, for files and people.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Green => "green",
            Self::Yellow => "yellow",
            Self::Red => "red",
        }
    }
}
