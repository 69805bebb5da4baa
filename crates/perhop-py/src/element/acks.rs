//! An ACK policy whose answers a class in Python gives.

use std::sync::Arc;

use perhop_core::time::Instant;
use perhop_tcp::ack::{AckAction, AckPolicy, Arrival};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::failure::Failure;
use super::{Class, method};

/// A segment with data, as the receiver saw it.
#[pyclass(frozen, get_all)]
pub struct Segment {
    /// It filled the next expected byte.
    in_order: bool,
    /// It did so in front of bytes that had come before it.
    fills_gap: bool,
    /// All of it had arrived before.
    old: bool,
    /// Bytes that are in order now and were not before.
    delivered: u64,
    /// Its acknowledgment may wait (RFC 5681 section 4.2).
    may_wait: bool,
}

/// An ACK policy in Python.
pub struct PyAcks {
    class: Class,
    on_arrival: Py<PyAny>,
    on_ack_sent: Option<Py<PyAny>>,
    failure: Arc<Failure>,
}

impl PyAcks {
    /// The policy that `object` of `class` decides for.
    pub fn new(class: Class, object: &Bound<'_, PyAny>, failure: Arc<Failure>) -> PyResult<Self> {
        let on_arrival = object.getattr("on_arrival")?.unbind();
        Ok(Self { class, on_arrival, on_ack_sent: method(object, "on_ack_sent")?, failure })
    }
}

impl AckPolicy for PyAcks {
    fn on_arrival(&mut self, now: Instant, seg: &Arrival) -> AckAction {
        let action = self.failure.guard(&self.class, "on_arrival", now, |py| {
            let Arrival { in_order, fills_gap, old, delivered } = *seg;
            let segment = Segment { in_order, fills_gap, old, delivered, may_wait: seg.may_wait() };
            read(&self.on_arrival.bind(py).call1((now.as_nanos(), segment))?, now)
        });
        action.unwrap_or(AckAction::Now)
    }

    fn on_ack_sent(&mut self, now: Instant) {
        if let Some(sent) = &self.on_ack_sent {
            let call = |py: Python<'_>| sent.bind(py).call1((now.as_nanos(),)).map(drop);
            self.failure.guard(&self.class, "on_ack_sent", now, call);
        }
    }
}

/// The action that `answer` means.
fn read(answer: &Bound<'_, PyAny>, now: Instant) -> PyResult<AckAction> {
    if answer.is_none() {
        return Ok(AckAction::None);
    }
    if answer.extract::<&str>().is_ok_and(|word| word == "now") {
        return Ok(AckAction::Now);
    }
    let at = answer.extract::<u64>().ok().map(Instant::from_nanos).filter(|at| *at >= now);
    at.map(AckAction::Delay).ok_or_else(|| {
        let now = now.as_nanos();
        let rule =
            format!("on_arrival returned {answer}: \"now\", a time from {now} on, or None, is asked for");
        PyValueError::new_err(rule)
    })
}
