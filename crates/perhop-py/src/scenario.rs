//! Checking, resolving and describing scenario files.

use perhop_scenario::{Loaded, load};
use pyo3::prelude::*;
use pyo3::types::PyList;

use crate::error::{raise, to_python};

/// Loads a scenario or raises what is wrong with it.
pub fn loaded(py: Python<'_>, source: &[u8], name: &str, overrides: &[String]) -> PyResult<Loaded> {
    py.detach(|| load(source, name, overrides)).map_err(|diagnostics| raise(py, &diagnostics))
}

/// JSON Schema of a scenario file.
#[pyfunction]
pub fn schema() -> String {
    format!("{:#}", perhop_scenario::schema())
}

/// The scenario with every default filled in, as TOML.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn resolve(py: Python<'_>, source: &[u8], name: &str, overrides: Vec<String>) -> PyResult<String> {
    Ok(loaded(py, source, name, &overrides)?.resolved_toml())
}

/// Everything wrong with the scenario and, where nothing is, what is almost surely meant otherwise.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn check<'py>(
    py: Python<'py>,
    source: &[u8],
    name: &str,
    overrides: Vec<String>,
) -> PyResult<(Bound<'py, PyList>, Bound<'py, PyList>)> {
    match py.detach(|| load(source, name, &overrides)) {
        Ok(loaded) => Ok((PyList::empty(py), to_python(py, &loaded.warnings)?)),
        Err(diagnostics) => Ok((to_python(py, &diagnostics)?, PyList::empty(py))),
    }
}

/// Roughly how often packets will cross links in a run of the scenario.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn packet_hops(py: Python<'_>, source: &[u8], name: &str, overrides: Vec<String>) -> PyResult<f64> {
    let loaded = loaded(py, source, name, &overrides)?;
    Ok(perhop_scenario::cost::packet_hops(&loaded.scenario))
}

/// What the scenario means, names expanded, as JSON.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn describe(py: Python<'_>, source: &[u8], name: &str, overrides: Vec<String>) -> PyResult<String> {
    let loaded = loaded(py, source, name, &overrides)?;
    Ok(crate::describe::to_json(&loaded).to_string())
}
