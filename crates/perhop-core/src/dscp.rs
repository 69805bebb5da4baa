//! Code points of the DS field and their names.
//!
//! Source: RFC 2474 sections 3 and 4.2.2 (class selectors), RFC 2597 section 6 (assured forwarding), RFC 3246 section 2.7
//! (expedited forwarding).

use core::fmt;

use crate::color::Color;

/// A differentiated services code point (RFC 2474 section 3): six bits.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Default)]
pub struct Dscp(u8);

//= rfc2474-4.1-default-codepoint
//= rfc2474-4.2.2.1-codepoints
//= rfc2597-6-codepoints
//= rfc3246-2.7-codepoint
/// Every code point that has a name, best treatment first within a group.
const NAMED: [(&str, Dscp); 22] = [
    ("EF", Dscp::EF),
    ("AF11", Dscp(0b00_1010)),
    ("AF12", Dscp(0b00_1100)),
    ("AF13", Dscp(0b00_1110)),
    ("AF21", Dscp(0b01_0010)),
    ("AF22", Dscp(0b01_0100)),
    ("AF23", Dscp(0b01_0110)),
    ("AF31", Dscp(0b01_1010)),
    ("AF32", Dscp(0b01_1100)),
    ("AF33", Dscp(0b01_1110)),
    ("AF41", Dscp(0b10_0010)),
    ("AF42", Dscp(0b10_0100)),
    ("AF43", Dscp(0b10_0110)),
    ("BE", Dscp::DEFAULT),
    ("CS0", Dscp(0)),
    ("CS1", Dscp(0b00_1000)),
    ("CS2", Dscp(0b01_0000)),
    ("CS3", Dscp(0b01_1000)),
    ("CS4", Dscp(0b10_0000)),
    ("CS5", Dscp(0b10_1000)),
    ("CS6", Dscp(0b11_0000)),
    ("CS7", Dscp(0b11_1000)),
];

impl Dscp {
    /// The default PHB, best effort (RFC 2474 section 4.1).
    pub const DEFAULT: Self = Self(0);
    /// Expedited forwarding (RFC 3246 section 2.7).
    pub const EF: Self = Self(0b10_1110);
    /// How many code points there are.
    pub const COUNT: usize = 64;

    /// The code point `value`, or `None` above 63.
    #[must_use]
    pub const fn new(value: u8) -> Option<Self> {
        if value < 64 { Some(Self(value)) } else { None }
    }

    /// Assured forwarding `class` 1 to 4 with `drop_precedence` 1 to 3 (RFC 2597 section 6), or `None` outside.
    #[must_use]
    pub const fn af(class: u8, drop_precedence: u8) -> Option<Self> {
        if class < 1 || class > 4 || drop_precedence < 1 || drop_precedence > 3 {
            return None;
        }
        Some(Self(class << 3 | drop_precedence << 1))
    }

    /// The six bits.
    #[must_use]
    pub const fn value(self) -> u8 {
        self.0
    }

    /// The six bits as an index.
    #[must_use]
    pub const fn index(self) -> usize {
        self.0 as usize
    }

    /// The code point called `name`, in capitals: `EF`, `AF11` to `AF43`, `CS0` to `CS7`, `BE`.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        NAMED.iter().find(|(known, _)| *known == name).map(|(_, dscp)| *dscp)
    }

    /// Its name, where it has one.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        NAMED.iter().find(|(_, known)| *known == self).map(|(name, _)| *name)
    }

    /// Every name.
    pub fn names() -> impl Iterator<Item = &'static str> {
        NAMED.iter().map(|(name, _)| *name)
    }

    //= rfc2697-4-drop-precedence
    //= rfc2698-4-drop-precedence
    /// The place of this mark from best treatment, 0, to worst: expedited forwarding; assured forwarding by drop
    /// precedence; class selectors from CS7 down; best effort.
    ///
    /// Ties: AF classes are not ordered among each other (RFC 2597 section 2), so AF11 and AF41 share a place. A code point
    /// without a name is treated as best effort (RFC 2474 section 3) and has its place.
    #[must_use]
    pub const fn rank(self) -> u8 {
        match self.af_color() {
            Some(Color::Green) => 1,
            Some(Color::Yellow) => 2,
            Some(Color::Red) => 3,
            None if self.0 == Self::EF.0 => 0,
            None if self.0 != 0 && self.0 & 0b111 == 0 => 11 - (self.0 >> 3),
            None => 11,
        }
    }

    /// The drop precedence of an assured forwarding code point as a colour (RFC 2597 section 2): AFx1 is green, AFx2
    /// yellow, AFx3 red.
    #[must_use]
    pub const fn af_color(self) -> Option<Color> {
        let (class, low) = (self.0 >> 3, self.0 & 0b111);
        if class < 1 || class > 4 {
            return None;
        }
        match low {
            0b010 => Some(Color::Green),
            0b100 => Some(Color::Yellow),
            0b110 => Some(Color::Red),
            _ => None,
        }
    }
}

/// Its name, or the number.
impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "{}", self.0),
        }
    }
}

/// Which colour each code point has, at a queue or at a colour-aware meter.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ColorMap([Color; Dscp::COUNT]);

impl ColorMap {
    /// A map in which every code point is `color`.
    #[must_use]
    pub const fn all(color: Color) -> Self {
        Self([color; Dscp::COUNT])
    }

    /// Drop precedences as colours (RFC 2597 section 2), `other` for every code point outside the AF classes.
    #[must_use]
    pub fn af(other: Color) -> Self {
        let mut map = Self::all(other);
        for (slot, dscp) in map.0.iter_mut().zip((0..).map(Dscp)) {
            *slot = dscp.af_color().unwrap_or(other);
        }
        map
    }

    /// The map with `color` for `dscp`.
    #[must_use]
    pub const fn with(mut self, dscp: Dscp, color: Color) -> Self {
        self.0[dscp.index()] = color;
        self
    }

    /// The colour of `dscp`.
    #[must_use]
    pub const fn color(&self, dscp: Dscp) -> Color {
        self.0[dscp.index()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    //= test rfc2474-4.1-default-codepoint
    //= test rfc2474-4.2.2.1-codepoints
    //= test rfc2597-6-codepoints
    //= test rfc3246-2.7-codepoint
    #[test]
    fn names_and_bits_are_those_of_the_rfcs() {
        let bits = |name: &str| Dscp::named(name).map(Dscp::value);
        // RFC 2597 section 6, RFC 3246 section 2.7, RFC 2474 section 4.2.2.1
        assert_eq!(bits("AF11"), Some(0b00_1010));
        assert_eq!(bits("AF23"), Some(0b01_0110));
        assert_eq!(bits("AF43"), Some(0b10_0110));
        assert_eq!(bits("EF"), Some(0b10_1110));
        assert_eq!(bits("CS6"), Some(0b11_0000));
        assert_eq!((bits("BE"), bits("CS0"), bits("ef")), (Some(0), Some(0), None));
        for number in 0..8 {
            assert_eq!(bits(&format!("CS{number}")), Some(number << 3));
        }
        for class in 1..=4 {
            for precedence in 1..=3 {
                let name = format!("AF{class}{precedence}");
                assert_eq!(Dscp::af(class, precedence), Dscp::named(&name));
                assert_eq!(bits(&name), Some(class << 3 | precedence << 1));
            }
        }
        assert_eq!(
            (Dscp::af(0, 1), Dscp::af(5, 1), Dscp::af(1, 0), Dscp::af(1, 4)),
            (None, None, None, None)
        );
    }

    #[test]
    fn a_name_is_printed_where_there_is_one() {
        assert_eq!(Dscp(0).to_string(), "BE");
        assert_eq!(Dscp(63).to_string(), "63");
        for name in Dscp::names().filter(|name| *name != "CS0") {
            assert_eq!(Dscp::named(name).map(|dscp| dscp.to_string()).as_deref(), Some(name));
        }
    }

    #[test]
    fn marks_are_ranked_from_best_to_worst() {
        let rank = |name| Dscp::named(name).map(Dscp::rank);
        let order = ["EF", "AF11", "AF22", "AF33", "CS7", "CS6", "CS5", "CS4", "CS3", "CS2", "CS1", "BE"];
        for (place, name) in (0..).zip(order) {
            assert_eq!(rank(name), Some(place), "{name}");
        }
        // ties: AF classes among each other, and what has no name with best effort
        assert_eq!((rank("AF41"), rank("AF32")), (rank("AF11"), rank("AF12")));
        let unnamed = (0..64).map(Dscp).filter(|dscp| dscp.name().is_none());
        assert_eq!(unnamed.map(Dscp::rank).collect::<Vec<_>>(), [11; 43]);
    }

    #[test]
    fn drop_precedences_are_colours_in_the_af_classes_alone() {
        let coloured = (0..64).filter(|value| Dscp(*value).af_color().is_some()).count();
        assert_eq!(coloured, 12);
        let map = ColorMap::af(Color::Red).with(Dscp::EF, Color::Green);
        let of = |name| Dscp::named(name).map(|dscp| map.color(dscp));
        assert_eq!(of("AF21"), Some(Color::Green));
        assert_eq!(of("AF22"), Some(Color::Yellow));
        assert_eq!(of("AF33"), Some(Color::Red));
        assert_eq!((of("EF"), of("BE")), (Some(Color::Green), Some(Color::Red)));
    }
}
