//! The diagnostics so far: the first of them kept, the rest counted.

use crate::read::diagnostic::Diagnostic;

/// Most that is told one by one.
pub const MOST_TOLD: usize = 100;
/// Most that is kept until the first of it are known; what lies further down the file is only counted.
const MOST_KEPT: usize = 10 * MOST_TOLD;
/// A file with more mistakes than this in its keys and values is not looked at any further.
const ENDLESS: usize = 10_000;

/// Mistakes or warnings, in bounded memory however many there are.
#[derive(Debug, Default)]
pub(crate) struct Diagnostics {
    kept: Vec<Diagnostic>,
    /// How many were found beyond those.
    dropped: usize,
}

impl Diagnostics {
    /// Adds one.
    pub(crate) fn push(&mut self, diagnostic: Diagnostic) {
        self.kept.push(diagnostic);
        if self.kept.len() > MOST_KEPT {
            self.keep_first();
        }
    }

    /// Adds what `other` found.
    pub(crate) fn join(&mut self, other: Self) {
        self.dropped += other.dropped;
        self.extend(other.kept);
    }

    /// Adds several.
    pub(crate) fn extend(&mut self, several: impl IntoIterator<Item = Diagnostic>) {
        several.into_iter().for_each(|diagnostic| self.push(diagnostic));
    }

    /// Whether nothing was found.
    pub(crate) fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Whether so much was found that looking for names that somebody may have meant is no help any more.
    pub(crate) fn is_long(&self) -> bool {
        self.dropped > 0 || self.kept.len() > MOST_TOLD
    }

    /// Whether so much was found that to look on is no help any more.
    pub(crate) fn is_endless(&self) -> bool {
        self.dropped > ENDLESS
    }

    /// Puts what is kept in order, from top to bottom, and counts what comes after the first of it.
    fn keep_first(&mut self) {
        self.kept.sort_by_key(Diagnostic::order);
        self.kept.dedup_by(|a, b| a.repeats(b));
        // one more than is told: where the rest begins
        self.dropped += self.kept.len().saturating_sub(MOST_TOLD + 1);
        self.kept.truncate(MOST_TOLD + 1);
    }

    /// The diagnostics, from top to bottom; after the first hundred a last one counts the others.
    pub(crate) fn into_list(mut self) -> Vec<Diagnostic> {
        self.keep_first();
        if let Some(next) = self.kept.get_mut(MOST_TOLD) {
            next.sum_up(1 + self.dropped);
        }
        self.kept
    }
}
