//! Collects what the second check finds, without repeating what the first one said.

use std::collections::BTreeSet;

use crate::diagnostic::Diagnostic;
use crate::tree::{Step, Tree};

/// Mistakes that get a "did you mean".
const LONG: usize = 100;

/// Diagnostics of a file whose keys and values have been checked one by one.
pub(crate) struct Report<'a> {
    /// The file.
    pub tree: &'a Tree,
    damaged: &'a BTreeSet<Vec<Step>>,
    found: Vec<Diagnostic>,
}

impl<'a> Report<'a> {
    /// Nothing found yet; `damaged` are values that the first check refused.
    pub(crate) fn new(tree: &'a Tree, damaged: &'a BTreeSet<Vec<Step>>) -> Self {
        Self { tree, damaged, found: Vec::new() }
    }

    /// Whether the value at `steps`, all above it and all in it is what was written.
    pub(crate) fn is_sound(&self, steps: &[Step]) -> bool {
        if self.damaged.is_empty() {
            return true;
        }
        let below = self.damaged.range(steps.to_vec()..).next().is_some_and(|at| at.starts_with(steps));
        !below && !(0..=steps.len()).any(|n| self.damaged.contains(&steps[..n]))
    }

    /// Reports the value at `steps`, unless it is not what was written.
    pub(crate) fn error(&mut self, steps: &[Step], rule: impl Into<String>, hint: Option<String>) {
        if self.is_sound(steps) {
            let error = self.tree.diagnostic(steps, rule.into());
            let error = if self.tree.is_written(steps) { error } else { error.without_value() };
            self.found.push(error.with_hint(hint));
        }
    }

    /// One relation of two settings of `table`: reports it if `holds` is false, at the one that is written.
    ///
    /// `relation` reads `must be below`. Both settings are given as key and printed value.
    pub(crate) fn relation(&mut self, table: &[Step], a: Setting, relation: &str, b: Setting, holds: bool) {
        let at = |key: &'static str| [table, &[Step::from(key)]].concat();
        let (at_a, at_b) = (at(a.0), at(b.0));
        if holds || !self.is_sound(&at_a) || !self.is_sound(&at_b) {
            return;
        }
        let written = |at: &[Step]| if self.tree.is_written(at) { "" } else { ", the default" };
        let rule =
            format!("{} ({}{}) {relation} {} ({}{})", a.0, a.1, written(&at_a), b.0, b.1, written(&at_b));
        let at = if !self.tree.is_written(&at_a) && self.tree.is_written(&at_b) { at_b } else { at_a };
        self.error(&at, rule, None);
    }

    /// Whether so much was found that looking for names that somebody may have meant is no help any more.
    pub(crate) fn is_long(&self) -> bool {
        self.found.len() > LONG
    }

    /// Everything found.
    pub(crate) fn into_found(self) -> Vec<Diagnostic> {
        self.found
    }
}

/// The key of a setting and its value as text.
pub(crate) type Setting = (&'static str, String);
