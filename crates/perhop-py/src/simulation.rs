//! One run, advanced in slices.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use numpy::PyArray1;
use perhop_core::time::Instant;
use perhop_scenario::Loaded;
use perhop_sim::Results;
use perhop_sim::tables::{Run, SERIES, TRACES, Table, trace_kinds};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::element::failure::{ElementError, Failure};
use crate::element::registry;
use crate::tables;

/// A run of a scenario in virtual time.
#[pyclass(frozen)]
pub struct Simulation {
    loaded: Arc<Loaded>,
    /// The kinds of records.
    trace: Vec<&'static Table>,
    /// Absent once finished; locked, since Python may share the object between threads.
    run: Mutex<Option<perhop_sim::Simulation>>,
    /// The first error of its elements in Python.
    failure: Arc<Failure>,
}

impl Simulation {
    /// A run at time zero that records the tables called `trace`.
    pub fn new(py: Python<'_>, loaded: Arc<Loaded>, trace: &[String]) -> PyResult<Self> {
        let trace = traces(trace)?;
        let failure = Arc::default();
        let built = py.detach(|| {
            let elements = registry(&failure);
            perhop_sim::Simulation::with_elements(&loaded.scenario, trace_kinds(&trace), &elements)
        });
        let run = built.map_err(|error| ElementError::new_err(error.to_string()))?;
        Ok(Self { loaded, trace, run: Mutex::new(Some(run)), failure })
    }
}

#[pymethods]
impl Simulation {
    /// When the run ends, s.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.loaded.scenario.run.duration.as_secs_f64()
    }

    /// Processes every event before `t_s` seconds, unless `rows` were recorded and not taken before that; returns
    /// whether it got there.
    #[pyo3(signature = (t_s, rows=None))]
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
    fn advance_to(&self, py: Python<'_>, t_s: f64, rows: Option<usize>) -> PyResult<bool> {
        let until = Instant::from_nanos((t_s.max(0.0) * 1e9) as u64);
        self.with_run(py, |run| match rows {
            Some(rows) => run.advance_while_room(until, rows),
            None => {
                run.advance_to(until);
                true
            }
        })
    }

    /// Has the series hold what the warm-up is judged by and nothing else: goodputs of flows without a size.
    fn keep_endless_goodputs_only(&self, py: Python<'_>) -> PyResult<()> {
        let flows = self.loaded.scenario.flows.iter().enumerate();
        let endless = flows.filter(|(_, flow)| flow.tcp.params.size.is_none()).map(|(i, _)| i).collect();
        self.with_run(py, |run| run.keep_goodputs_only(endless))
    }

    /// Captures links, by name, each into the file at its path; before the run has begun.
    fn capture(&self, py: Python<'_>, files: Vec<(String, PathBuf)>) -> PyResult<()> {
        let opened =
            files.into_iter().map(|(link, path)| -> std::io::Result<(String, Box<dyn Write + Send>)> {
                Ok((link, Box::new(BufWriter::new(File::create(path)?))))
            });
        let files = opened.collect::<Result<Vec<_>, _>>()?;
        self.with_run(py, |run| run.capture(&self.loaded.scenario, files))?.map_err(PyErr::from)
    }

    /// Ends the captures.
    fn close_captures(&self, py: Python<'_>) -> PyResult<()> {
        self.with_run(py, perhop_sim::Simulation::close_captures)?.map_err(PyErr::from)
    }

    /// The records that are not taken yet, as `frame` makes tables of columns.
    fn take_recorded<'py>(&self, py: Python<'py>, frame: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let recorded = self.with_run(py, perhop_sim::Simulation::take_recorded)?;
        tables::to_python(py, &Run::new(&self.loaded.scenario, &recorded), self.trace.iter().copied(), frame)
    }

    /// Runs to the end and returns the results, as `frame` makes tables of columns.
    fn finish<'py>(&self, py: Python<'py>, frame: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyDict>> {
        let results = py
            .detach(|| {
                let run = self.run.lock().unwrap_or_else(PoisonError::into_inner).take();
                run.map(perhop_sim::Simulation::finish)
            })
            .ok_or_else(over)?;
        self.end_if_failed(py)?;
        to_python(py, &self.loaded, results, &self.trace, frame)
    }
}

impl Simulation {
    /// Calls the run without the interpreter.
    fn with_run<T: Send>(
        &self,
        py: Python<'_>,
        call: impl FnOnce(&mut perhop_sim::Simulation) -> T + Send,
    ) -> PyResult<T> {
        let called = py.detach(|| self.run.lock().unwrap_or_else(PoisonError::into_inner).as_mut().map(call));
        self.end_if_failed(py)?;
        called.ok_or_else(over)
    }

    /// Ends the run if an element in Python has failed, with its error.
    fn end_if_failed(&self, py: Python<'_>) -> PyResult<()> {
        let Some(error) = self.failure.take() else { return Ok(()) };
        // who holds the lock may wait for the interpreter
        py.detach(|| *self.run.lock().unwrap_or_else(PoisonError::into_inner) = None);
        Err(error)
    }
}

fn over() -> PyErr {
    PyRuntimeError::new_err("the run is finished: simulate the scenario again")
}

fn traces(names: &[String]) -> PyResult<Vec<&'static Table>> {
    let find = |name: &String| {
        TRACES.into_iter().find(|table| table.name == name).ok_or_else(|| {
            let known = TRACES.map(|table| table.name).join(", ");
            PyValueError::new_err(format!("trace {name:?} is not one of {known}"))
        })
    };
    names.iter().map(find).collect()
}

/// By class and quantity (delay, pdv, ipdv): values in order, ns, and of how many packets each is.
fn delay_counts<'py>(py: Python<'py>, results: &Results) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for class in &results.classes {
        let counts = &class.delay_counts;
        for (name, counted) in
            [("delay", &counts.delays), ("pdv", &counts.variation), ("ipdv", &counts.changes)]
        {
            let values = PyArray1::from_iter(py, counted.iter().map(|(value, _)| *value));
            let packets = PyArray1::from_iter(py, counted.iter().map(|(_, packets)| *packets));
            dict.set_item((&class.name, name), (values, packets))?;
        }
    }
    Ok(dict)
}

/// Everything a run leaves, with the tables of `trace`.
fn to_python<'py>(
    py: Python<'py>,
    loaded: &Loaded,
    results: Results,
    trace: &[&'static Table],
    frame: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let run = Run::new(&loaded.scenario, &results);
    let dict = PyDict::new(py);
    let short = run.tables().filter(|table| table.name != SERIES.name);
    let framed = tables::to_python(py, &run, short, frame)?;
    dict.set_item("trace", tables::to_python(py, &run, trace.iter().copied(), frame)?)?;
    dict.set_item("delays", delay_counts(py, &results)?)?;
    let counts = PyDict::new(py);
    counts.set_item("events", results.counts.events)?;
    counts.set_item("packet_hops", results.counts.packet_hops)?;
    counts.set_item("packets_created", results.counts.packets_created)?;
    dict.set_item("counts", counts)?;
    dict.set_item("invariants", &results.invariants)?;
    dict.set_item("event_digest", format!("{:016x}", results.event_digest))?;
    // the longest table comes last, when nothing else takes room beside it
    let series = tables::columns(py, &run, &SERIES)?;
    drop(run);
    drop(results);
    framed.set_item(SERIES.name, frame.call1((SERIES.name, series))?)?;
    dict.set_item("tables", framed)?;
    Ok(dict)
}
