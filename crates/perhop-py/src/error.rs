//! Diagnostics of a scenario as Python values.

use perhop_scenario::{Diagnostic, render};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList};

pyo3::create_exception!(
    _core,
    ScenarioError,
    PyValueError,
    "A scenario that breaks rules; `diagnostics` lists every one, the message shows them."
);

/// A list of dicts with path, line, column, value, rule, hint, count and rendered.
pub fn to_python<'py>(py: Python<'py>, diagnostics: &[Diagnostic]) -> PyResult<Bound<'py, PyList>> {
    let list = PyList::empty(py);
    for d in diagnostics {
        let item = PyDict::new(py);
        item.set_item("path", &d.path)?;
        item.set_item("line", d.line)?;
        item.set_item("column", d.column)?;
        item.set_item("value", &d.value)?;
        item.set_item("rule", &d.rule)?;
        item.set_item("hint", &d.hint)?;
        item.set_item("count", d.count)?;
        item.set_item("rendered", render(d, false))?;
        list.append(item)?;
    }
    Ok(list)
}

/// The exception that carries `diagnostics`.
pub fn raise(py: Python<'_>, diagnostics: &[Diagnostic]) -> PyErr {
    let text: Vec<String> = diagnostics.iter().map(|d| render(d, false)).collect();
    let error = ScenarioError::new_err(text.join("\n"));
    match to_python(py, diagnostics).and_then(|list| error.value(py).setattr("diagnostics", list)) {
        Ok(()) => error,
        Err(other) => other,
    }
}
