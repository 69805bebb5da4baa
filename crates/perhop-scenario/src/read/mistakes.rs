//! Collects what the second check finds, without repeating what the first one said.

use std::collections::{BTreeMap, BTreeSet};

use crate::read::diagnostic::Diagnostic;
use crate::read::diagnostics::Diagnostics;
use crate::read::tree::{Step, Tree, steps};
use crate::words::files::{FileName, Files, NamedFile, NamedFiles};
use crate::words::suggest;

/// For settings that come from another table of the file: where they are written.
pub(crate) type Origins = BTreeMap<Vec<Step>, Vec<Step>>;

/// Diagnostics of a file whose keys and values have been checked one by one.
pub(crate) struct Report<'a> {
    /// The file.
    pub tree: &'a Tree,
    damaged: &'a BTreeSet<Vec<Step>>,
    origins: Origins,
    files: &'a dyn Files,
    /// Files that were read.
    pub read: NamedFiles,
    found: Diagnostics,
    warnings: Diagnostics,
    kernel_only: Diagnostics,
}

impl<'a> Report<'a> {
    /// Nothing found yet; `damaged` are values that the first check refused.
    pub(crate) fn new(
        tree: &'a Tree,
        damaged: &'a BTreeSet<Vec<Step>>,
        origins: Origins,
        files: &'a dyn Files,
    ) -> Self {
        let [found, warnings, kernel_only] = std::array::from_fn(|_| Diagnostics::default());
        Self { tree, damaged, origins, files, read: NamedFiles::new(), found, warnings, kernel_only }
    }

    /// The file `name`, which the value at `steps` names; `None` if it cannot be read, which is reported.
    pub(crate) fn file(&mut self, steps: &[Step], name: &FileName) -> Option<NamedFile> {
        if !self.is_sound(steps) {
            return None;
        }
        if let Some(file) = self.read.get(name) {
            return Some(file.clone());
        }
        match self.files.read(name) {
            Ok(file) => {
                let own = steps!["files", name.to_string()];
                if let Some(pinned) = self.tree.text(&own).filter(|pinned| *pinned != file.sha256) {
                    let rule =
                        format!("`{name}` has the SHA-256 {}, not {}", file.sha256, suggest::short(pinned));
                    self.error(&own, rule, Some("take the file that was meant, or its hash".to_owned()));
                }
                self.read.insert(name.clone(), file.clone());
                Some(file)
            }
            Err(why) => {
                let hint = "the path begins at the folder of the scenario".to_owned();
                self.error(steps, format!("`{name}` {why}"), Some(hint));
                None
            }
        }
    }

    /// Whether the value at `steps`, all above it and all in it is what was written.
    pub(crate) fn is_sound(&self, steps: &[Step]) -> bool {
        Self::is_whole(self.damaged, steps) && Self::is_whole(self.damaged, self.origin(steps))
    }

    /// Whether none of `damaged` is the value at `steps`, above it or in it.
    pub(crate) fn is_whole(damaged: &BTreeSet<Vec<Step>>, steps: &[Step]) -> bool {
        if damaged.is_empty() {
            return true;
        }
        let below = damaged.range(steps.to_vec()..).next().is_some_and(|at| at.starts_with(steps));
        !below && !(0..=steps.len()).any(|n| damaged.contains(&steps[..n]))
    }

    /// Where the value at `steps` is written, if not there.
    fn origin<'b>(&'b self, steps: &'b [Step]) -> &'b [Step] {
        self.origins.get(steps).map_or(steps, Vec::as_slice)
    }

    /// Reports the value at `steps`, unless it is not what was written.
    pub(crate) fn error(&mut self, steps: &[Step], rule: impl Into<String>, hint: Option<String>) {
        let found = self.about(steps, rule.into(), hint);
        self.found.extend(found);
    }

    /// Reports the key of the value at `steps`, unless that is not what was written.
    pub(crate) fn error_at_key(&mut self, steps: &[Step], rule: String, hint: Option<String>) {
        let Some(place) = self.tree.key(steps) else { return self.error(steps, rule, hint) };
        if self.is_sound(steps) {
            self.found.push(self.tree.diagnostic_at(steps, place, rule).with_hint(hint));
        }
    }

    /// Warns of the value at `steps`, unless it is not what was written.
    pub(crate) fn warn(&mut self, steps: &[Step], rule: impl Into<String>, hint: Option<String>) {
        let found = self.about(steps, rule.into(), hint);
        self.warnings.extend(found.map(Diagnostic::into_warning));
    }

    /// Notes that only a kernel has what the value at `steps` asks for, unless it is not what was written.
    pub(crate) fn kernel_only(&mut self, steps: &[Step], rule: String, hint: String) {
        let found = self.about(steps, rule, Some(hint));
        self.kernel_only.extend(found);
    }

    /// A diagnostic about the value at `steps`; `None` if that is not what was written.
    fn about(&self, steps: &[Step], rule: String, hint: Option<String>) -> Option<Diagnostic> {
        if !self.is_sound(steps) {
            return None;
        }
        let steps = self.origin(steps);
        let found = self.tree.diagnostic(steps, rule);
        let found = if self.tree.is_written(steps) { found } else { found.without_value() };
        Some(found.with_hint(hint))
    }

    /// One relation of two settings of `table`: reports it if `holds` is false, at the one that is written.
    ///
    /// `relation` reads `must be below`. Both settings are given as key and printed value.
    pub(crate) fn relation(&mut self, table: &[Step], a: Setting, relation: &str, b: Setting, holds: bool) {
        self.relation_with_hint(table, a, relation, b, holds, None);
    }

    /// The same with a hint.
    pub(crate) fn relation_with_hint(
        &mut self,
        table: &[Step],
        a: Setting,
        relation: &str,
        b: Setting,
        holds: bool,
        hint: Option<String>,
    ) {
        let at = |key: &'static str| [table, &[Step::from(key)]].concat();
        let (at_a, at_b) = (at(a.0), at(b.0));
        if holds || !self.is_sound(&at_a) || !self.is_sound(&at_b) {
            return;
        }
        let (note_a, note_b) = (self.note(table, &at_a), self.note(table, &at_b));
        let rule = format!("{} ({}{note_a}) {relation} {} ({}{note_b})", a.0, a.1, b.0, b.1);
        let at = if self.nearness(&at_a) < self.nearness(&at_b) { at_b } else { at_a };
        self.error(&at, rule, hint);
    }

    /// 3 for a value from an override, 2 for one that is written in its place, 1 for one from another table of the file,
    /// 0 for a default.
    fn nearness(&self, at: &[Step]) -> u8 {
        let (node, depth) = self.tree.nearest(at);
        match (depth == at.len(), node.place.source) {
            (true, 0) => 2,
            (true, _) => 3,
            (false, _) => u8::from(self.origins.contains_key(at)),
        }
    }

    /// The origin of the value at `at`, a key of `table`, if it is not written there.
    fn note(&self, table: &[Step], at: &[Step]) -> String {
        let profile = || self.tree.text(&[table, &[Step::from("profile")]].concat());
        match (self.tree.is_written(at), profile()) {
            (true, _) => String::new(),
            (false, Some(name)) => format!(", from profile {name}"),
            (false, None) => ", the default".to_owned(),
        }
    }

    /// Whether so much was found that looking for names that somebody may have meant is no help any more.
    pub(crate) fn is_long(&self) -> bool {
        self.found.is_long()
    }

    /// Every mistake, every warning, and why virtual time cannot run it.
    pub(crate) fn into_found(self) -> [Diagnostics; 3] {
        [self.found, self.warnings, self.kernel_only]
    }
}

/// The key of a setting and its value as text.
pub(crate) type Setting = (&'static str, String);
