//! The error of an element in Python, kept until the run can end with it.
//!
//! The methods of an element return no errors. The first error is kept, the element lets packets through in order from
//! then on, and who drives the run asks after each slice.

use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use perhop_core::time::Instant;
use pyo3::exceptions::PyKeyboardInterrupt;
use pyo3::prelude::*;

use super::Class;

pyo3::create_exception!(
    _core,
    ElementError,
    pyo3::exceptions::PyRuntimeError,
    "An element in Python raised an error or broke the rules of elements; its cause has the traceback."
);

/// The first error of the elements of a run.
#[derive(Default)]
pub struct Failure {
    is_set: AtomicBool,
    /// An error is told by a panic, as laws want it.
    panics: bool,
    error: Mutex<Option<PyErr>>,
}

impl Failure {
    /// An error of an element under test breaks the law that is asked.
    pub fn that_panics() -> Self {
        Self { panics: true, ..Self::default() }
    }

    /// Takes note of `error`, which came at `now` in a call of `method`, unless there was another before.
    fn set(&self, py: Python<'_>, error: PyErr, class: &Class, method: &str, now: Instant) {
        if self.panics && !error.is_instance_of::<PyKeyboardInterrupt>(py) {
            panic!("{}", described(py, error, class, method, now).value(py));
        }
        if !self.is_set.swap(true, Relaxed) {
            let described = described(py, error, class, method, now);
            *self.error.lock().unwrap_or_else(PoisonError::into_inner) = Some(described);
        }
    }

    /// Calls Python at `now` as `method` of `class`, and keeps what it raises. Nothing is called once there was an error.
    pub fn guard<T>(
        &self,
        class: &Class,
        method: &'static str,
        now: Instant,
        call: impl FnOnce(Python<'_>) -> PyResult<T>,
    ) -> Option<T> {
        if self.is_set.load(Relaxed) {
            return None;
        }
        Python::attach(|py| call(py).map_err(|error| self.set(py, error, class, method, now)).ok())
    }

    /// The error, if there was one.
    pub fn take(&self) -> Option<PyErr> {
        self.error.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

/// `error` as the run ends with it, `SystemExit` too; Ctrl-C stays what it is.
fn described(py: Python<'_>, error: PyErr, class: &Class, method: &str, now: Instant) -> PyErr {
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        return error;
    }
    let value = error.value(py);
    if let Some(trace) = error.traceback(py)
        && let Err(other) = value.setattr("__traceback__", trace)
    {
        return other;
    }
    let text = super::helper(py, "failure_line").and_then(|describe| {
        describe.call1((value, &class.file, &class.name, method, now.as_nanos()))?.extract::<String>()
    });
    match text {
        Ok(text) => {
            let raised = ElementError::new_err(text);
            raised.set_cause(py, Some(error));
            raised
        }
        Err(other) => other,
    }
}
