//! Named random streams.
//!
//! A stream is keyed by seed, replication and the path of the element that draws, so that adding an element
//! leaves its neighbours' draws alone (common random numbers across treatments). ChaCha8 is counter-based and the
//! same on every platform.

use rand_chacha::ChaCha8Rng;
use rand_core::{Rng, SeedableRng};

/// One element's stream of random numbers.
#[derive(Clone, Debug)]
pub struct Stream(ChaCha8Rng);

impl Stream {
    /// The stream of the element at `path` (such as `flow.up[3].start`).
    #[must_use]
    pub fn new(seed: u64, replication: u64, path: &str) -> Self {
        let mut key = [0; 32];
        key[..8].copy_from_slice(&seed.to_le_bytes());
        key[8..16].copy_from_slice(&replication.to_le_bytes());
        key[16..].copy_from_slice(&fnv1a_128(path).to_le_bytes());
        Self(ChaCha8Rng::from_seed(key))
    }

    /// Turns to numbers that no other `which` has, and that are independent of what is drawn without this; from the start
    /// on, if nothing was drawn yet.
    pub fn turn_to(&mut self, which: u64) {
        // ChaCha's own number of a stream under one key; zero is the one that a new stream has
        self.0.set_stream(which.wrapping_add(1));
    }

    /// A uniform draw from `[0, 1)`, in steps of 2^-53.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// A uniform draw from `[0, bound)`, without bias; zero when `bound` is zero.
    ///
    /// Lemire 2019, "Fast random integer generation in an interval".
    #[must_use]
    #[expect(clippy::cast_possible_truncation, reason = "the low and high halves of a product")]
    pub fn below(&mut self, bound: u64) -> u64 {
        if bound == 0 {
            return 0;
        }
        let threshold = bound.wrapping_neg() % bound;
        loop {
            let product = u128::from(self.0.next_u64()) * u128::from(bound);
            if product as u64 >= threshold {
                return (product >> 64) as u64;
            }
        }
    }
}

/// Events by chance, each with a probability of its own: one draw at the start and one for each event, none while
/// nothing happens.
///
/// An event comes once the probability that none has come since the last falls below a uniform draw (inversion, Devroye 1986,
/// chapter III). Events are distributed as with a draw each time, and as independent of each other.
#[derive(Clone, Debug)]
pub struct Chance {
    stream: Stream,
    /// Probability that no event has come since the last, over the draw below which it falls with the next.
    left: f64,
}

impl Chance {
    /// Chances drawn from `stream`.
    #[must_use]
    pub fn new(mut stream: Stream) -> Self {
        let left = until(&mut stream);
        Self { stream, left }
    }

    /// Whether an event of probability `p`, from 0 to 1, happens now.
    #[inline]
    #[must_use]
    pub fn happens(&mut self, p: f64) -> bool {
        debug_assert!((0.0..=1.0).contains(&p), "a probability of {p}");
        self.left *= 1.0 - p;
        let happens = self.left < 1.0;
        if happens {
            self.left = until(&mut self.stream);
        }
        happens
    }
}

/// One over a uniform draw from (0, 1].
#[cold]
fn until(stream: &mut Stream) -> f64 {
    1.0 / (1.0 - stream.unit())
}

/// The 128-bit FNV-1a hash: a path must give the same key in every version and on every platform.
fn fnv1a_128(path: &str) -> u128 {
    path.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
    use perhop_testkit::stats::chi_square;

    use super::*;

    #[test]
    fn a_stream_depends_on_each_part_of_its_key() {
        let first = |seed, rep, path| Stream::new(seed, rep, path).below(u64::MAX);
        let base = first(1, 0, "flow.up.start");
        assert_eq!(base, first(1, 0, "flow.up.start"));
        for other in
            [first(2, 0, "flow.up.start"), first(1, 1, "flow.up.start"), first(1, 0, "flow.down.start")]
        {
            assert_ne!(base, other);
        }
    }

    #[test]
    fn the_parts_of_a_stream_draw_apart() {
        let first = |which: Option<u64>| {
            let mut stream = Stream::new(1, 0, "conditioner.customer.meter");
            which.into_iter().for_each(|which| stream.turn_to(which));
            stream.below(u64::MAX)
        };
        let drawn = [first(None), first(Some(0)), first(Some(1)), first(Some(u64::MAX - 1))];
        for (at, one) in drawn.iter().enumerate() {
            assert!(!drawn[at + 1..].contains(one), "{drawn:?}");
        }
        assert_eq!(first(Some(1)), first(Some(1)));
    }

    #[test]
    fn draws_are_uniform() {
        let mut stream = Stream::new(7, 0, "test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(stream.below(10)).unwrap()] += 1;
        }
        // chi-square with 9 degrees of freedom: 27.88 is its 0.999 quantile
        assert!(chi_square(&counts, &[10_000.0; 10]) < 27.88, "{counts:?}");
    }

    #[test]
    fn waits_for_an_event_of_constant_probability_are_geometric() {
        let mut chance = Chance::new(Stream::new(7, 0, "test"));
        let (mut counts, mut expected) = ([0; 12], [0.0; 12]);
        for _ in 0..200_000 {
            let wait = core::iter::from_fn(|| (!chance.happens(0.25)).then_some(())).count();
            counts[wait.min(11)] += 1;
        }
        for (wait, mean) in expected.iter_mut().enumerate() {
            let each = if wait < 11 { 0.25 } else { 1.0 };
            *mean = 200_000.0 * each * 0.75_f64.powf(wait as f64);
        }
        // 11 degrees of freedom: 31.26 is the 0.999 quantile
        assert!(chi_square(&counts, &expected) < 31.26, "{counts:?}");
    }

    #[test]
    fn each_of_several_events_has_its_own_probability_and_is_independent_of_the_one_before() {
        let mut chance = Chance::new(Stream::new(8, 0, "test"));
        let probabilities = [0.5, 0.02, 0.3];
        // for each of the three: after none and none, none and one, one and none, one and one
        let mut counts = [[0; 4]; 3];
        let mut before = false;
        for _ in 0..300_000 {
            for (counts, p) in counts.iter_mut().zip(probabilities) {
                let now = chance.happens(p);
                counts[2 * usize::from(before) + usize::from(now)] += 1;
                before = now;
            }
        }
        for (at, counts) in counts.iter().enumerate() {
            let (first, second) = (probabilities[(at + 2) % 3], probabilities[at]);
            let joint = [
                (1.0 - first) * (1.0 - second),
                (1.0 - first) * second,
                first * (1.0 - second),
                first * second,
            ];
            // 3 degrees of freedom: 16.27 is the 0.999 quantile
            assert!(chi_square(counts, &joint.map(|p| 300_000.0 * p)) < 16.27, "{at}: {counts:?}");
        }
    }

    #[test]
    fn what_is_certain_happens_and_what_is_impossible_does_not() {
        let mut chance = Chance::new(Stream::new(9, 0, "test"));
        for _ in 0..1000 {
            assert!(!chance.happens(0.0));
            assert!(chance.happens(1.0));
        }
    }

    #[test]
    fn only_what_happens_is_drawn() {
        let mut own = Stream::new(10, 0, "test");
        let mut chance = Chance::new(own.clone());
        let events = 1 + (0..1000).filter(|_| chance.happens(0.05)).count();
        let _ = (0..events).map(|_| own.unit()).last();
        assert_eq!(chance.stream.unit().to_bits(), own.unit().to_bits());
    }

    #[test]
    fn the_reference_values_of_fnv1a_128() {
        assert_eq!(fnv1a_128(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a_128("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
