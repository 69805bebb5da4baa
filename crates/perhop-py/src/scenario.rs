//! A scenario that was read and found without mistakes.

use std::collections::BTreeSet;
use std::sync::Arc;

use perhop_scenario::model::{Class, Clock, Meter, Port, Queue, Scheduler};
use perhop_scenario::{FileName, Files, Loaded, NamedFile, NoFiles, cost, load_with};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict, PyList};

use crate::element::Reading;
use crate::error::{raise, to_python};
use crate::simulation::Simulation;

/// JSON Schema of a scenario file.
#[pyfunction]
pub fn schema() -> String {
    format!("{:#}", perhop_scenario::schema())
}

/// An object of Python that reads files.
struct GivenFiles(Py<PyAny>);

impl Files for GivenFiles {
    fn read(&self, name: &FileName) -> Result<NamedFile, String> {
        Python::attach(|py| {
            let read = self.0.call_method1(py, "read", (name.as_str(),));
            let read = read.and_then(|found| found.extract::<(Vec<u8>, String)>(py));
            let (bytes, sha256) = read.map_err(|error| error.value(py).to_string())?;
            Ok(NamedFile { bytes: bytes.into(), sha256 })
        })
    }
}

/// Builds the elements in Python of a scenario, or raises everything that is wrong with it: this runs its programs.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
pub fn try_elements(
    py: Python<'_>,
    source: &[u8],
    name: &str,
    overrides: Vec<String>,
    files: Py<PyAny>,
) -> PyResult<()> {
    let files = GivenFiles(files);
    let loaded = py.detach(|| load_with(source, name, &overrides, &Reading::new(true), &files));
    loaded.map(drop).map_err(|diagnostics| raise(py, &diagnostics))
}

/// A scenario, read once: everything that is asked of it comes from here.
#[pyclass(frozen)]
pub struct Scenario(Arc<Loaded>);

#[pymethods]
impl Scenario {
    /// Reads a scenario or raises everything that is wrong with it; `files.read(name)` returns what it names.
    #[new]
    #[pyo3(signature = (source, name, overrides, files=None))]
    #[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
    fn new(
        py: Python<'_>,
        source: &[u8],
        name: &str,
        overrides: Vec<String>,
        files: Option<Py<PyAny>>,
    ) -> PyResult<Self> {
        let given = files.map(GivenFiles);
        let files: &(dyn Files + Sync) = given.as_ref().map_or(&NoFiles, |given| given);
        let loaded = py.detach(|| load_with(source, name, &overrides, &Reading::new(false), files));
        loaded.map(|loaded| Self(Arc::new(loaded))).map_err(|diagnostics| raise(py, &diagnostics))
    }

    #[getter]
    fn seed(&self) -> u64 {
        self.0.scenario.run.seed
    }

    /// Whether it is for real packets, which `simulate` refuses.
    #[getter]
    fn live(&self) -> bool {
        self.0.scenario.run.clock == Clock::Live
    }

    /// Whether it has elements in Python: there are no others from outside here.
    #[getter]
    fn has_programs(&self) -> bool {
        let scenario = &self.0.scenario;
        let of_class = |class: &Class| matches!(class.queue, Queue::Custom(_));
        let of_port =
            |port: &Port| matches!(port.scheduler, Scheduler::Custom(_)) || port.classes.iter().any(of_class);
        scenario.links.iter().any(|link| of_port(&link.port))
            || scenario.flows.iter().any(|flow| flow.control.is_some() || flow.ack_control.is_some())
            || scenario.conditioners.iter().any(|edge| matches!(edge.meter, Some(Meter::Custom(_))))
    }

    #[getter]
    fn replication(&self) -> u64 {
        self.0.scenario.run.replication
    }

    /// Valid settings that are almost surely mistakes.
    #[getter]
    fn warnings<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        to_python(py, &self.0.warnings)
    }

    /// Settings that only a kernel has, where the clock is virtual: why a simulation is refused.
    #[getter]
    fn kernel_only<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        to_python(py, &self.0.kernel_only)
    }

    /// Raises them, if there are any.
    fn check_clock(&self, py: Python<'_>) -> PyResult<()> {
        if self.0.kernel_only.is_empty() { Ok(()) } else { Err(raise(py, &self.0.kernel_only)) }
    }

    /// The congestion controls that its flows ask of a kernel, by their names.
    #[getter]
    fn kernel_controls(&self) -> BTreeSet<&str> {
        self.0.scenario.flows.iter().filter_map(|flow| Some(flow.kernel.as_ref()?.name())).collect()
    }

    /// The files that it names, as they were read.
    #[getter]
    fn files<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let files = PyDict::new(py);
        for (name, file) in &self.0.files {
            files.set_item(name.as_str(), PyBytes::new(py, &file.bytes))?;
        }
        Ok(files)
    }

    /// The tables of flows, TCP and UDP, by name, and for how many flows each stands.
    #[getter]
    fn counts(&self) -> Vec<(&str, usize)> {
        self.0.counts()
    }

    /// The results version since which it gives what it gives now.
    #[getter]
    fn results_since(&self) -> u32 {
        perhop_sim::results_since(&self.0.scenario)
    }

    /// Roughly how often packets will cross links in a run.
    #[getter]
    fn packet_hops(&self) -> f64 {
        cost::packet_hops(&self.0.scenario)
    }

    /// Roughly how many bytes of memory a run needs, those of the program apart.
    #[getter]
    fn memory_bytes(&self) -> u64 {
        cost::memory_bytes(&self.0.scenario)
    }

    /// The scenario with every default filled in, as TOML.
    fn resolve(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.resolved_toml())
    }

    /// The same without seed and replication.
    fn treatment(&self, py: Python<'_>) -> String {
        py.detach(|| self.0.treatment_toml())
    }

    /// A part of the meaning of the scenario, names expanded, as JSON.
    fn describe(&self, py: Python<'_>, part: &str) -> PyResult<String> {
        let described = py.detach(|| crate::describe::to_json(&self.0, part));
        described.map_err(|error| PyRuntimeError::new_err(error.to_string()))
    }

    /// A run of it at time zero that records `trace`.
    #[expect(clippy::needless_pass_by_value, reason = "how Python hands over a list")]
    fn simulate(&self, py: Python<'_>, trace: Vec<String>) -> PyResult<Simulation> {
        if self.live() {
            return Err(PyValueError::new_err("run.clock is live: a simulation is in virtual time"));
        }
        self.check_clock(py)?;
        Simulation::new(py, Arc::clone(&self.0), &trace)
    }
}
