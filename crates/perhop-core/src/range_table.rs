//! A table keyed by a small integer whose keys come in one contiguous range, as the flows through an edge do.

/// Values for keys in `first..first + len`.
#[derive(Debug)]
pub struct RangeTable {
    first: u32,
    len: u32,
    /// Empty where the value of `first + i` is `i`, as at a host that only sends or only receives: one cache line less.
    values: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl RangeTable {
    /// Builds from (key, value) pairs; a later pair replaces an earlier one of the same key.
    pub fn new(pairs: &[(u32, u32)]) -> Self {
        let first = pairs.iter().map(|p| p.0).min().unwrap_or(0);
        let last = pairs.iter().map(|p| p.0).max().unwrap_or(0);
        let mut values = vec![ABSENT; (last - first) as usize + 1];
        for &(key, value) in pairs {
            values[(key - first) as usize] = value;
        }
        let len = u32::try_from(values.len()).unwrap_or(u32::MAX);
        if (0..len).zip(&values).all(|(i, &value)| i == value) {
            values = Vec::new();
        }
        Self { first, len, values }
    }

    /// The value of `key`.
    pub fn get(&self, key: u32) -> Option<u32> {
        let offset = key.wrapping_sub(self.first);
        if offset >= self.len {
            return None;
        }
        self.values.get(offset as usize).map_or(Some(offset), |&value| (value != ABSENT).then_some(value))
    }
}
