//! Numbers of elements, and their paths.

use std::ops::Index;

use perhop_core::sink::SiteId;

/// Paths of elements by their number, one behind the other in one text: there are several for each subscriber of a network.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Sites {
    text: String,
    /// Where in `text` each ends.
    ends: Vec<usize>,
}

impl Sites {
    /// A number for the element at `path`.
    pub fn intern(&mut self, path: &str) -> SiteId {
        self.text.push_str(path);
        self.ends.push(self.text.len());
        SiteId(index(self.ends.len() - 1))
    }

    /// Every element with its path, in order.
    pub fn iter(&self) -> impl Iterator<Item = (SiteId, &str)> {
        (0..index(self.ends.len())).map(|site| (SiteId(site), &self[SiteId(site)]))
    }
}

impl Index<SiteId> for Sites {
    type Output = str;

    fn index(&self, SiteId(site): SiteId) -> &str {
        let site = site as usize;
        let begin = site.checked_sub(1).map_or(0, |before| self.ends[before]);
        &self.text[begin..self.ends[site]]
    }
}

/// An index as the engine keeps it; a scenario is checked to have fewer than 2^32 of anything.
pub(super) fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}
