//! Shared parts of tests of random numbers.

/// How far `counts` are from what is `expected` of each: chi-square, with one degree of freedom less than there are counts.
#[must_use]
pub fn chi_square(counts: &[u32], expected: &[f64]) -> f64 {
    assert_eq!(counts.len(), expected.len());
    let pairs = counts.iter().zip(expected);
    pairs.map(|(&count, &mean)| (f64::from(count) - mean).powi(2) / mean).sum()
}
