//! A histogram of whole numbers in constant memory: exact below 64, and from there 64 bins for each doubling.
//!
//! Source: the log-linear layout of Gil Tene's HdrHistogram, made anew. Different: a doubling has its bins from the first
//! value on that falls into it, so that what is spread little takes little. A value that is read back is the middle of its
//! bin: at most 1/128 (0.8 %) of the value off. Equal values in any order, and merged in any order, give equal histograms.
//! Units: the caller's. Cost: a leading-zero count, a shift and an addition; a block of 512 bytes for each doubling
//! that is met, of which there are 59.

const BITS: u32 = 6;
const BINS: usize = 1 << BITS;
/// Below 64, and a doubling for each higher bit.
const DOUBLINGS: usize = (u64::BITS - BITS + 1) as usize;

/// Counts of values, in bins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Histogram {
    doublings: [Option<Box<[u64; BINS]>>; DOUBLINGS],
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Histogram {
    /// No value yet.
    #[must_use]
    pub const fn new() -> Self {
        Self { doublings: [const { None }; DOUBLINGS] }
    }

    /// Counts `value`.
    #[inline]
    pub fn record(&mut self, value: u64) {
        // the bit that bins do not tell apart; `| 63` puts all small values where they are exact
        let shift = u64::BITS - BITS - (value | (BINS as u64 - 1)).leading_zeros();
        let doubling = &mut self.doublings[shift as usize];
        let bin = (value >> shift.saturating_sub(1)) as usize % BINS;
        match doubling {
            Some(bins) => bins[bin] += 1,
            None => first(doubling, bin),
        }
    }

    /// Counts what `other` has counted.
    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.doublings.iter_mut().zip(&other.doublings) {
            let Some(theirs) = theirs else { continue };
            let mine = mine.get_or_insert_with(|| Box::new([0; BINS]));
            mine.iter_mut().zip(theirs.iter()).for_each(|(mine, theirs)| *mine += theirs);
        }
    }

    /// Forgets every value.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// The middle of each bin that is not empty, and how many values are in it; the least first.
    pub fn bins(&self) -> impl Iterator<Item = (u64, u64)> + '_ {
        (0u32..).zip(&self.doublings).flat_map(|(doubling, bins)| {
            let counts = bins.iter().flat_map(|bins| bins.iter());
            (0u64..).zip(counts).filter(|(_, count)| **count > 0).map(move |(bin, count)| {
                let Some(shift) = doubling.checked_sub(1) else { return (bin, *count) };
                let least = (BINS as u64 + bin) << shift;
                (least + ((1 << shift) - 1) / 2, *count)
            })
        })
    }

    /// The value that `permille` thousandths of all are not above: the first in order that has so many up to itself.
    #[must_use]
    pub fn quantile(&self, permille: u64) -> Option<u64> {
        quantile(self.bins(), self.bins().map(|(_, count)| count).sum(), permille)
    }
}

#[cold]
#[inline(never)]
fn first(doubling: &mut Option<Box<[u64; BINS]>>, bin: usize) {
    let mut bins = Box::new([0; BINS]);
    bins[bin] = 1;
    *doubling = Some(bins);
}

/// Which of `total` values in order, counted from 1, is the first that `permille` thousandths of all are not above.
#[must_use]
pub const fn nearest_rank(total: u64, permille: u64) -> u64 {
    let (thousands, rest) = (total / 1000, total % 1000);
    let rank = thousands * permille + (rest * permille).div_ceil(1000);
    if rank == 0 { 1 } else { rank }
}

/// The quantile of `total` values that come in order, each with how often it is there.
pub fn quantile(values: impl Iterator<Item = (u64, u64)>, total: u64, permille: u64) -> Option<u64> {
    let rank = nearest_rank(total, permille);
    let mut below = 0;
    let mut in_order = values.map(|(value, count)| {
        below += count;
        (value, below)
    });
    in_order.find(|(_, up_to)| *up_to >= rank).map(|(value, _)| value)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Stream;

    fn of(values: &[u64]) -> Histogram {
        let mut histogram = Histogram::new();
        values.iter().for_each(|&value| histogram.record(value));
        histogram
    }

    #[test]
    fn a_value_is_read_back_within_a_128th_of_itself() {
        let near_powers = (0..64).flat_map(|bit| {
            let power = 1u64 << bit;
            [power - 1, power, power + 1, power + power / 3, power + (power - 1)]
        });
        for value in near_powers.chain([u64::MAX]) {
            let bins: Vec<(u64, u64)> = of(&[value]).bins().collect();
            let [(read, 1)] = bins[..] else { panic!("{value}: {bins:?}") };
            assert!(read.abs_diff(value) <= value / 128, "{value} is read back as {read}");
        }
    }

    #[test]
    fn quantiles_are_those_of_the_sorted_values() {
        let mut stream = Stream::new(1, 0, "histogram");
        for spread in [40, 3_000, 10_000_000_000] {
            let mut values: Vec<u64> =
                (0..5_000).map(|_| 1 + stream.below(spread) * stream.below(7)).collect();
            let histogram = of(&values);
            values.sort_unstable();
            for permille in [0, 1, 250, 500, 950, 990, 999, 1000] {
                let at = (values.len() * permille).div_ceil(1000).saturating_sub(1);
                let exact = values[at];
                let found = histogram.quantile(permille as u64).unwrap();
                assert!(found.abs_diff(exact) <= exact / 128, "{permille} of {spread}: {found}, not {exact}");
            }
        }
        assert_eq!(Histogram::new().quantile(500), None);
    }

    #[test]
    fn what_is_merged_is_what_was_counted_together() {
        let (one, other) = ([0, 5, 63, 64, 1 << 40, 1 << 40], [5, 64, 65, 3_000_000]);
        let mut merged = of(&one);
        merged.merge(&of(&other));
        let mut all = [&one[..], &other[..]].concat();
        all.reverse();
        assert_eq!(merged, of(&all));
        merged.clear();
        assert_eq!(merged, Histogram::new());
    }
}
