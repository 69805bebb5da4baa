//! Scenario files: TOML to a checked, resolved [`model::Scenario`].
//!
//! [`load`] reads a file and overrides and returns either the scenario or everything that is wrong with them, each mistake
//! with its place, the rule it breaks and a hint. The structs of [`mod@file`] and [`written::tcp`] say what may be written;
//! [`schema()`] is made from them, and so is the first check.

pub mod build;
pub mod campaign;
mod lower;
pub mod meant;
mod read;
pub mod words;
pub mod written;

pub use meant::{cost, elements, model, routes};
pub use read::diagnostic::{Diagnostic, render};
pub use read::tree::Step;
pub use words::suggest::among as suggest;
pub use words::units;
pub use written::file::{ScenarioFile, schema};
pub use written::{file, profile};

pub use words::files::{FileName, Files, NamedFile, NamedFiles, NoFiles};

use elements::{Elements, NoElements};
use read::diagnostic::Source;
use read::diagnostics::Diagnostics;
use read::mistakes::Report;
use read::overlay;
use read::shape::Shape;
use read::tree::Tree;

/// Largest file that is read, in bytes.
pub const LARGEST_FILE: usize = 16 << 20;

/// A scenario without mistakes.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The file, with every default filled in.
    pub file: ScenarioFile,
    /// Its meaning.
    pub scenario: model::Scenario,
    /// The files that it names, as they were read.
    pub files: NamedFiles,
    /// Valid settings that are almost surely mistakes, from top to bottom; at most 100, as mistakes are.
    pub warnings: Vec<Diagnostic>,
    /// Valid settings that only a kernel has, where the clock is virtual: why a simulation is refused. At most 100.
    pub kernel_only: Vec<Diagnostic>,
}

impl Loaded {
    /// The `[[flow]]`s and `[[udp]]`s, and for how many flows each stands.
    #[must_use]
    pub fn counts(&self) -> Vec<(&str, usize)> {
        let tcp = self.scenario.flows.iter().map(|flow| flow.name.as_str());
        let all = tcp.chain(self.scenario.udp.iter().map(|flow| flow.name.as_str()));
        let mut counts: Vec<(&str, usize)> = Vec::new();
        for name in all.map(|name| name.split_once('[').map_or(name, |(table, _)| table)) {
            match counts.last_mut() {
                Some((last, count)) if *last == name => *count += 1,
                _ => counts.push((name, 1)),
            }
        }
        counts
    }

    /// The `[[flow]]`s that are many transfers, and how many of them begin in a second on average.
    #[must_use]
    pub fn arrivals(&self) -> Vec<(String, f64)> {
        let per_second = |flow: &file::Flow| {
            let arrivals = flow.arrivals.as_ref()?;
            let link = arrivals.link.as_ref();
            let link = link.and_then(|name| self.scenario.links.iter().find(|link| link.name == *name));
            let mean = arrivals.mean_interval_ns(link.map(|link| link.rate))?;
            Some((flow.name.to_string(), 1e9 / mean))
        };
        self.file.flow.iter().filter_map(per_second).collect()
    }

    /// The scenario as TOML with every default filled in and every quantity in its canonical unit. It loads to the same
    /// scenario.
    #[must_use]
    pub fn resolved_toml(&self) -> String {
        self.toml(false)
    }

    /// [`Self::resolved_toml`] without seed and replication, and without what changes no run, as promises: equal texts are the
    /// same treatment.
    #[must_use]
    pub fn treatment_toml(&self) -> String {
        self.toml(true)
    }

    /// Leaves `burst_push` out of the `file` where it changes nothing: treatments are older than it.
    fn leave_out_bursts(&self, file: &mut serde_json::Map<String, serde_json::Value>) {
        let flows = file.get_mut("flow").and_then(serde_json::Value::as_array_mut).into_iter().flatten();
        for (json, flow) in flows.zip(&self.file.flow) {
            if let (false, Some(tcp)) = (flow.pushes_bursts(), json["tcp"].as_object_mut()) {
                tcp.remove("burst_push");
            }
        }
    }

    /// The file as TOML, or what of it is its treatment.
    fn toml(&self, treatment: bool) -> String {
        // Everything in the structs has a TOML form: tables with text keys, integers below 2^63, finite numbers.
        // As JSON first: two formats for each struct take the compiler much longer than one.
        let written =
            serde_json::to_value(&self.file).map_err(|error| error.to_string()).and_then(|mut json| {
                if let (true, Some(file)) = (treatment, json.as_object_mut()) {
                    file.remove("sla");
                    self.leave_out_bursts(file);
                    if let Some(run) = file.get_mut("run").and_then(serde_json::Value::as_object_mut) {
                        run.retain(|key, _| key != "seed" && key != "replication");
                    }
                }
                toml::to_string(&json).map_err(|error| error.to_string())
            });
        written.unwrap_or_else(|error| unreachable!("a scenario that was read from TOML: {error}"))
    }
}

/// Reads a scenario that has no elements from outside and names no files.
///
/// `name` is how diagnostics call the file. `overrides` are `path=value`, applied in order.
///
/// # Errors
/// The mistakes in the file and in the overrides, the file's first and from top to bottom. After 100 a last one says how
/// many more there are and where they begin.
pub fn load(source: &[u8], name: &str, overrides: &[String]) -> Result<Loaded, Vec<Diagnostic>> {
    load_with(source, name, overrides, &NoElements, &NoFiles)
}

/// Reads a scenario that may name `elements` from outside, and `files`.
///
/// # Errors
/// As [`load`], what `elements` say of their settings, and what is wrong with files.
pub fn load_with(
    source: &[u8],
    name: &str,
    overrides: &[String],
    elements: &dyn Elements,
    files: &dyn Files,
) -> Result<Loaded, Vec<Diagnostic>> {
    let mut tree = Tree::parse(text(source, name).map_err(|d| vec![*d])?)?;
    let mut found = Diagnostics::default();
    found.extend(overlay::apply(&mut tree, overrides));
    let (mut shape, mut json) = Shape::check(&tree, schema());
    found.join(shape.found);
    let filled = profile::fill(&tree, &mut json, &mut shape.damaged);
    found.join(filled.found);
    if found.is_endless() {
        return Err(found.into_list());
    }
    let mut report = Report::new(&tree, &shape.damaged, filled.origins, files);
    let loaded = match serde_json::from_value::<ScenarioFile>(json) {
        Ok(mut file) => {
            lower::check::check(&file, &mut report);
            let scenario = lower::lower(&mut file, elements, &mut report);
            lower::pin_files(&mut file, &mut report);
            Some((file, scenario))
        }
        Err(error) => {
            // The first check asks for no less than the structs do; should it ever, the reason is not lost.
            if found.is_empty() {
                report.error(&[], error.to_string(), None);
            }
            None
        }
    };
    let read = std::mem::take(&mut report.read);
    let [mistakes, warnings, kernel_only] = report.into_found();
    found.join(mistakes);
    match loaded {
        Some((file, scenario)) if found.is_empty() => {
            let (warnings, kernel_only) = (warnings.into_list(), kernel_only.into_list());
            Ok(Loaded { file, scenario, files: read, warnings, kernel_only })
        }
        _ => Err(found.into_list()),
    }
}

/// `source` as text, if it can be a scenario at all.
fn text(source: &[u8], name: &str) -> Result<Source, Box<Diagnostic>> {
    let whole = |text: String, at: usize, rule: String, hint: &str| {
        let source = std::sync::Arc::new(Source::new(name.to_owned(), text, 0));
        Box::new(Diagnostic::new(&source, at..at, String::new(), rule).with_hint(Some(hint.to_owned())))
    };
    if source.len() > LARGEST_FILE {
        let rule =
            format!("{name} has more than {} MiB, the most that a scenario may have", LARGEST_FILE >> 20);
        return Err(whole(String::new(), 0, rule, "use `count` and `[*]` instead of listing nodes"));
    }
    if source.iter().all(u8::is_ascii_whitespace) {
        return Err(whole(
            String::new(),
            0,
            format!("{name} is empty"),
            "`perhop init` writes a scenario to start from",
        ));
    }
    match std::str::from_utf8(source) {
        Ok(text) => Ok(Source::new(name.to_owned(), text.to_owned(), 0)),
        Err(error) => {
            let at = error.valid_up_to();
            let rule = format!("{name} is not UTF-8: byte {at} (counted from 0) is {:#04x}", source[at]);
            let text = String::from_utf8_lossy(source).into_owned();
            Err(whole(text, at, rule, "save the file as UTF-8 text"))
        }
    }
}
