//! The tins of CAKE: which marks each takes, and what part of the rate it has.

use crate::time::Span;
use crate::units::Bytes;

/// Which tins there are.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Tins {
    /// One.
    Besteffort,
    /// Bulk, best effort and voice.
    Diffserv3,
    /// Bulk, best effort, video and voice.
    Diffserv4,
    /// Eight, each with a smaller part than the one before.
    Diffserv8,
}

/// The settings of one tin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Part {
    /// Bytes in a second, if there is a shaper.
    pub rate: Option<u64>,
    /// Bytes of a turn, if there is none.
    pub quantum: i64,
}

/// The marks of a tin, by its position.
type Marks = &'static [(u8, &'static [u8])];

const LE: u8 = 1;
const CS1: u8 = 8;
const CS2: u8 = 16;
const CS3: u8 = 24;
const CS4: u8 = 32;
const CS5: u8 = 40;
const CS6: u8 = 48;
const CS7: u8 = 56;
const AF1: [u8; 3] = [10, 12, 14];
const AF2: [u8; 3] = [18, 20, 22];
const AF3: [u8; 3] = [26, 28, 30];
const AF4: [u8; 3] = [34, 36, 38];
const VOICE_ADMIT: u8 = 44;
const EF: u8 = 46;
/// Maximum throughput and minimum delay, of the field that came before the DS field (RFC 1349).
const THROUGHPUT: u8 = 2;
const DELAY: u8 = 4;

impl Tins {
    /// The tin of each mark.
    //= cake-diffserv3-marks
    //= cake-diffserv4-marks
    //= cake-diffserv8-marks
    pub(super) fn by_mark(self) -> [u8; 64] {
        let (others, marks): (u8, Marks) = match self {
            Self::Besteffort => (0, &[]),
            Self::Diffserv3 => (0, &[(1, &[LE, CS1]), (2, &[DELAY, VOICE_ADMIT, EF, CS6, CS7])]),
            Self::Diffserv4 => (
                0,
                &[
                    (1, &[LE, CS1]),
                    (2, &[DELAY, CS2, CS3]),
                    (2, &AF2),
                    (2, &AF3),
                    (2, &AF4),
                    (3, &[CS4, CS5, VOICE_ADMIT, EF, CS6, CS7]),
                ],
            ),
            Self::Diffserv8 => (
                2,
                &[
                    (0, &[LE]),
                    (1, &[THROUGHPUT, CS1]),
                    (1, &AF1),
                    (3, &[CS3]),
                    (3, &AF3),
                    (3, &AF4),
                    (4, &[DELAY]),
                    (4, &AF2),
                    (5, &[CS2]),
                    (6, &[CS4, CS5, VOICE_ADMIT, EF]),
                    (7, &[CS6, CS7]),
                ],
            ),
        };
        let mut tins = [others; 64];
        for (tin, marks) in marks {
            marks.iter().for_each(|mark| tins[usize::from(*mark)] = *tin);
        }
        tins
    }

    /// The part of `rate` that each tin has, in bytes in a second.
    //= cake-config-shares
    pub(super) fn parts(self, rate: Option<u64>) -> Vec<Part> {
        let part = |shift: u32| Part { rate: rate.map(|rate| rate >> shift), quantum: 1024i64 >> shift };
        match self {
            Self::Besteffort => vec![part(0)],
            Self::Diffserv3 => [0, 4, 2].map(part).into(),
            Self::Diffserv4 => [0, 4, 1, 2].map(part).into(),
            Self::Diffserv8 => {
                let first = Part { rate, quantum: 256 };
                let less = |part: &Part| {
                    let Part { rate, quantum } = *part;
                    Some(Part { rate: rate.map(|rate| (rate * 7) >> 3), quantum: (quantum * 7) >> 3 })
                };
                std::iter::successors(Some(first), less).take(8).collect()
            }
        }
    }
}

/// How long a byte takes at a rate, in units of 2^-`shift` ns.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Pace {
    nanos: u64,
    shift: u32,
}

impl Pace {
    /// At so many bytes in a second.
    pub(super) const fn of(rate: u64) -> Self {
        let (mut nanos, mut shift) = ((1_000_000_000 << 34) / if rate > 64 { rate } else { 64 }, 34);
        while nanos >> 34 != 0 {
            nanos >>= 1;
            shift -= 1;
        }
        Self { nanos, shift }
    }

    /// How long `length` bytes take.
    #[inline]
    pub(super) const fn time(self, length: Bytes) -> Span {
        Span::from_nanos((length.0 * self.nanos) >> self.shift)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::dscp::Dscp;

    /// The tins of marks by name, one after another.
    fn tins(of: Tins, names: &str) -> Vec<u8> {
        let tin = |name| of.by_mark()[Dscp::named(name).expect(name).index()];
        names.split(' ').map(tin).collect()
    }

    //= test cake-diffserv3-marks
    //= test cake-diffserv4-marks
    //= test cake-diffserv8-marks
    #[test]
    fn every_mark_has_its_tin() {
        let names = "CS1 AF11 AF13 CS2 AF21 AF23 CS3 AF31 AF33 CS4 AF41 AF43 CS5 EF CS6 CS7";
        assert_eq!(tins(Tins::Besteffort, names), [0; 16]);
        assert_eq!(tins(Tins::Diffserv3, names), [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2]);
        assert_eq!(tins(Tins::Diffserv4, names), [1, 0, 0, 2, 2, 2, 2, 2, 2, 3, 2, 2, 3, 3, 3, 3]);
        assert_eq!(tins(Tins::Diffserv8, names), [1, 1, 1, 5, 4, 4, 3, 3, 3, 6, 3, 3, 6, 6, 7, 7]);
        // default, LE, and what was maximum throughput and minimum delay; the voice that asks; one that nobody has named
        let others = |of: Tins| [0, 1, 2, 4, 44, 63].map(|mark| of.by_mark()[mark]);
        assert_eq!(others(Tins::Diffserv3), [0, 1, 0, 2, 2, 0]);
        assert_eq!(others(Tins::Diffserv4), [0, 1, 0, 2, 3, 0]);
        assert_eq!(others(Tins::Diffserv8), [2, 0, 1, 4, 6, 2]);
    }

    /// Ten Mbit/s, by hand.
    #[test]
    fn parts_and_times_of_a_rate() {
        let rates = |of: Tins| of.parts(Some(1_250_000)).iter().map(|part| part.rate).collect::<Vec<_>>();
        assert_eq!(rates(Tins::Diffserv4), [1_250_000, 78_125, 625_000, 312_500].map(Some));
        assert_eq!(rates(Tins::Diffserv8)[..4], [1_250_000, 1_093_750, 957_031, 837_402].map(Some));
        assert_eq!(Pace::of(1_250_000).time(Bytes(1500)), Span::from_nanos(1_200_000));
        assert_eq!(Pace::of(0).time(Bytes(64)), Span::from_secs(1));
    }
}
