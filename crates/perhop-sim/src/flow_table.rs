//! A table keyed by a small integer whose keys come in one contiguous range, as the flows through an edge do.

/// Values for keys in `first..first + len`.
#[derive(Debug)]
pub struct FlowTable {
    first: u32,
    values: Vec<u32>,
}

const ABSENT: u32 = u32::MAX;

impl FlowTable {
    /// Builds from (key, value) pairs; a later pair replaces an earlier one of the same key.
    pub fn new(pairs: &[(u32, u32)]) -> Self {
        let first = pairs.iter().map(|p| p.0).min().unwrap_or(0);
        let last = pairs.iter().map(|p| p.0).max().unwrap_or(0);
        let mut values = vec![ABSENT; (last - first) as usize + 1];
        for &(key, value) in pairs {
            values[(key - first) as usize] = value;
        }
        Self { first, values }
    }

    /// The value of `key`.
    pub fn get(&self, key: u32) -> Option<u32> {
        self.values.get(key.wrapping_sub(self.first) as usize).copied().filter(|&v| v != ABSENT)
    }
}
