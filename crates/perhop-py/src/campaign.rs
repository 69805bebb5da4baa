//! Campaign files and expressions: what is wrong with them is told as a scenario's mistakes are.

use std::ops::Range;

use perhop_scenario::Step;
use perhop_scenario::campaign::{self, Remark};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{raise, to_python};

/// JSON Schema of a campaign file.
#[pyfunction]
pub fn campaign_schema() -> String {
    format!("{:#}", campaign::schema())
}

/// The nearest of `known`, or all of them where none is near and they are few, as a hint.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn suggest(wrong: &str, known: Vec<String>) -> Option<String> {
    perhop_scenario::suggest(wrong, known.iter().map(String::as_str))
}

/// A mistake in the characters `start..end` of a text that is in no file.
#[pyfunction]
#[pyo3(signature = (text, name, start, end, rule, hint=None))]
pub fn diagnostic<'py>(
    py: Python<'py>,
    text: &str,
    name: &str,
    start: usize,
    end: usize,
    rule: String,
    hint: Option<String>,
) -> PyResult<Bound<'py, PyAny>> {
    let found = campaign::remark_on(text, name, bytes(text, start..end), rule, hint);
    to_python(py, &[found])?.get_item(0)
}

/// The bytes of some characters.
fn bytes(text: &str, characters: Range<usize>) -> Range<usize> {
    let at = |n: usize| text.char_indices().nth(n).map_or(text.len(), |(byte, _)| byte);
    at(characters.start)..at(characters.end)
}

/// A step is a key or a position.
#[derive(FromPyObject)]
enum Part {
    Index(usize),
    Key(String),
}

/// Where, which characters there, rule, hint, whether it is a warning, whether it is about the key.
type RemarkParts = (Vec<Part>, Option<(usize, usize)>, String, Option<String>, bool, bool);

/// A TOML file, whose values have places.
#[pyclass(frozen)]
pub struct File(campaign::File);

#[pymethods]
impl File {
    /// Reads a file or raises its mistakes of syntax.
    #[new]
    fn new(py: Python<'_>, source: &[u8], name: &str) -> PyResult<Self> {
        campaign::File::read(source, name).map(Self).map_err(|diagnostics| raise(py, &diagnostics))
    }

    /// Reads a campaign file or raises everything that is wrong with its shape.
    #[staticmethod]
    fn campaign(py: Python<'_>, source: &[u8], name: &str) -> PyResult<Self> {
        campaign::File::read_campaign(source, name).map(Self).map_err(|diagnostics| raise(py, &diagnostics))
    }

    /// The file as JSON, tables in the order of the file.
    fn json(&self) -> String {
        self.0.json()
    }

    /// Remarks as diagnostics, from top to bottom.
    fn diagnostics<'py>(&self, py: Python<'py>, remarks: Vec<RemarkParts>) -> PyResult<Bound<'py, PyList>> {
        let remark = |(at, within, rule, hint, is_warning, is_of_key): RemarkParts| {
            let step = |part| match part {
                Part::Index(index) => Step::from(index),
                Part::Key(key) => Step::from(key),
            };
            let at: Vec<Step> = at.into_iter().map(step).collect();
            let text = self.0.text(&at).unwrap_or_default();
            let within = within.map(|(start, end)| bytes(text, start..end));
            Remark { at, within, is_of_key, rule, hint, is_warning }
        };
        to_python(py, &self.0.diagnostics(remarks.into_iter().map(remark).collect()))
    }
}
