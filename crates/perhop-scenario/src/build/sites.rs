//! Numbers of elements, and their paths.

use perhop_core::sink::SiteId;

/// Paths of elements by their number.
#[derive(Clone, Debug, Default)]
pub struct Sites(Vec<String>);

impl Sites {
    /// A number for the element at `path`.
    pub fn intern(&mut self, path: String) -> SiteId {
        self.0.push(path);
        SiteId(index(self.0.len() - 1))
    }

    /// The paths, in order of their numbers.
    #[must_use]
    pub fn into_paths(self) -> Vec<String> {
        self.0
    }
}

/// An index as the engine keeps it; a scenario is checked to have fewer than 2^32 of anything.
pub(super) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
