//! A table keyed by a small integer.
//!
//! The flows through an edge have numbers in one range, mostly without gaps: their table is an array. Those of one host
//! among thousands are few and far apart, where an array would grow with the flows of all the others: they are searched.

/// Values by key.
#[derive(Debug)]
pub struct RangeTable {
    first: u32,
    /// Of the array; 0 where keys are searched.
    len: u32,
    /// The array. Empty where the value of `first + i` is `i`, as at a host that only sends or only receives: one cache line
    /// less. Where keys are searched, the keys in order and then their values.
    values: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

/// Most places of the array for each of its keys.
const PLACES: usize = 16;

impl RangeTable {
    /// Builds from (key, value) pairs; a later pair replaces an earlier one of the same key.
    pub fn new(pairs: &[(u32, u32)]) -> Self {
        let first = pairs.iter().map(|p| p.0).min().unwrap_or(0);
        let last = pairs.iter().map(|p| p.0).max().unwrap_or(0);
        let places = (last - first) as usize + 1;
        if places > PLACES * pairs.len() {
            return Self::searched(pairs);
        }
        let mut values = vec![ABSENT; places];
        for &(key, value) in pairs {
            values[(key - first) as usize] = value;
        }
        let len = u32::try_from(places).unwrap_or(u32::MAX);
        if (0..len).zip(&values).all(|(i, &value)| i == value) {
            values = Vec::new();
        }
        Self { first, len, values }
    }

    fn searched(pairs: &[(u32, u32)]) -> Self {
        let last_of_each: std::collections::BTreeMap<u32, u32> = pairs.iter().copied().collect();
        let values = last_of_each.keys().chain(last_of_each.values()).copied().collect();
        Self { first: 0, len: 0, values }
    }

    /// The value of `key`.
    pub fn get(&self, key: u32) -> Option<u32> {
        self.at(key).or_else(|| self.search(key))
    }

    /// The value of `key` in the array. Apart from [`Self::search`], since what follows a call costs a packet instructions.
    #[inline]
    pub fn at(&self, key: u32) -> Option<u32> {
        let offset = key.wrapping_sub(self.first);
        if offset >= self.len {
            return None;
        }
        self.values.get(offset as usize).map_or(Some(offset), |&value| (value != ABSENT).then_some(value))
    }

    /// The value of `key` where keys are searched.
    pub fn search(&self, key: u32) -> Option<u32> {
        let keys = self.values.len() / 2;
        let (keys, values) = self.values.split_at(if self.len == 0 { keys } else { 0 });
        keys.binary_search(&key).ok().map(|at| values[at])
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn a_table_is_a_map(pairs in prop::collection::vec((0u32..400, 0u32..5), 0..40), wide in 1u32..1_000_000) {
            let pairs: Vec<(u32, u32)> = pairs.into_iter().map(|(key, value)| (key * wide, value)).collect();
            let map: std::collections::BTreeMap<u32, u32> = pairs.iter().copied().collect();
            let table = RangeTable::new(&pairs);
            for key in (0..400).flat_map(|key| [key * wide, key * wide + 1]) {
                prop_assert_eq!(table.get(key), map.get(&key).copied());
            }
        }
    }

    #[test]
    fn a_table_does_not_grow_with_the_gaps_between_its_keys() {
        let apart = RangeTable::new(&[(7, 0), (1_000_007, 1), (4_000_000_000, 2)]);
        assert_eq!(apart.values.len(), 6);
        assert_eq!(RangeTable::new(&[]).values.len(), 0);
        let every_fourth: Vec<(u32, u32)> = (0..1000).map(|i| (4 * i, i)).collect();
        assert_eq!(RangeTable::new(&every_fourth).values.len(), 3997);
    }
}
