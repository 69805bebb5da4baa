//! A meter whose verdicts a class in Python gives.

use std::sync::Arc;

use perhop_core::meter::Meter;
use perhop_core::packet::{Color, Meta};
use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::failure::Failure;
use super::packet::Packet;
use super::{Class, method};

/// A meter in Python.
pub struct PyMeter {
    class: Class,
    measure: Py<PyAny>,
    observe_reverse: Option<Py<PyAny>>,
    failure: Arc<Failure>,
}

impl PyMeter {
    /// The meter that `object` of `class` decides for.
    pub fn new(class: Class, object: &Bound<'_, PyAny>, failure: Arc<Failure>) -> PyResult<Self> {
        let measure = object.getattr("measure")?.unbind();
        Ok(Self { class, measure, observe_reverse: method(object, "observe_reverse")?, failure })
    }
}

impl Timed for PyMeter {}

impl Meter for PyMeter {
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        let verdict = self.failure.guard(&self.class, "measure", now, |py| {
            let answer = self.measure.bind(py).call1((now.as_nanos(), Packet::new(*meta, 0, 0)))?;
            let known = answer.extract::<&str>().ok().and_then(color);
            known.ok_or_else(|| {
                let rule =
                    format!("measure returned {answer}: \"green\", \"yellow\" or \"red\" is asked for");
                PyValueError::new_err(rule)
            })
        });
        verdict.unwrap_or(Color::Red)
    }

    fn observe_reverse(&mut self, now: Instant, meta: &Meta) {
        if let Some(observe) = &self.observe_reverse {
            self.failure.guard(&self.class, "observe_reverse", now, |py| {
                observe.bind(py).call1((now.as_nanos(), Packet::new(*meta, 0, 0))).map(drop)
            });
        }
    }
}

fn color(name: &str) -> Option<Color> {
    [Color::Green, Color::Yellow, Color::Red].into_iter().find(|color| color.name() == name)
}
