//! One run, advanced in slices.

use std::sync::{Mutex, PoisonError};

use perhop_core::time::Instant;
use perhop_scenario::Loaded;
use perhop_sim::TraceKinds;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::scenario::loaded;
use crate::tables;

/// A run of a scenario in virtual time.
#[pyclass(frozen)]
pub struct Simulation {
    loaded: Loaded,
    /// Absent once finished; locked, since Python may share the object between threads.
    run: Mutex<Option<perhop_sim::Simulation>>,
}

#[pymethods]
impl Simulation {
    #[new]
    #[pyo3(signature = (source, name, overrides, trace))]
    #[expect(clippy::needless_pass_by_value, reason = "how Python hands over lists")]
    fn new(
        py: Python<'_>,
        source: &[u8],
        name: &str,
        overrides: Vec<String>,
        trace: Vec<String>,
    ) -> PyResult<Self> {
        let kinds = trace_kinds(&trace)?;
        let loaded = loaded(py, source, name, &overrides)?;
        let run = py.detach(|| perhop_sim::Simulation::new(&loaded.scenario, kinds));
        Ok(Self { loaded, run: Mutex::new(Some(run)) })
    }

    /// When the run ends, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.loaded.scenario.run.duration.as_secs_f64()
    }

    /// Processes every event before `t_s` seconds.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
    fn advance_to(&self, py: Python<'_>, t_s: f64) -> PyResult<()> {
        let until = Instant::from_nanos((t_s.max(0.0) * 1e9) as u64);
        py.detach(|| {
            let mut run = self.run.lock().unwrap_or_else(PoisonError::into_inner);
            run.as_mut().map(|run| run.advance_to(until))
        })
        .ok_or_else(over)
    }

    /// Runs to the end and returns the results.
    fn finish<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let results = py
            .detach(|| {
                let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
                run.map(perhop_sim::Simulation::finish)
            })
            .ok_or_else(over)?;
        tables::to_python(py, &self.loaded.scenario, &results)
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the run is finished: make a new Simulation")
}

fn trace_kinds(names: &[String]) -> PyResult<TraceKinds> {
    let mut kinds = TraceKinds::default();
    for name in names {
        match name.as_str() {
            "packets" => kinds.packets = true,
            "queue" => kinds.queue = true,
            "cwnd" => kinds.cwnd = true,
            "tcp" => kinds.tcp = true,
            other => {
                let message = format!("trace {other:?} is not one of packets, queue, cwnd, tcp");
                return Err(PyValueError::new_err(message));
            }
        }
    }
    Ok(kinds)
}
