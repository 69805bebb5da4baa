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

/// The 128-bit FNV-1a hash: a path must give the same key in every version and on every platform.
fn fnv1a_128(path: &str) -> u128 {
    path.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, |hash, byte| {
        (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b)
    })
}

#[cfg(test)]
mod tests {
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
    fn draws_are_uniform() {
        let mut stream = Stream::new(7, 0, "test");
        let mut counts = [0u32; 10];
        for _ in 0..100_000 {
            counts[usize::try_from(stream.below(10)).unwrap()] += 1;
        }
        // chi-square with 9 degrees of freedom: 27.88 is its 0.999 quantile
        let chi2: f64 = counts.iter().map(|&c| (f64::from(c) - 10_000.0).powi(2) / 10_000.0).sum();
        assert!(chi2 < 27.88, "chi-square {chi2}, counts {counts:?}");
    }

    #[test]
    fn the_reference_values_of_fnv1a_128() {
        assert_eq!(fnv1a_128(""), 0x6c62_272e_07bb_0142_62b8_2175_6295_c58d);
        assert_eq!(fnv1a_128("a"), 0xd228_cb69_6f1a_8caf_7891_2b70_4e4a_8964);
    }
}
