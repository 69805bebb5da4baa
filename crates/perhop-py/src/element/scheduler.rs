//! A scheduler whose choices a class in Python makes.

use std::sync::Arc;

use perhop_core::packet::{ClassId, Meta};
use perhop_core::sched::{Heads, Scheduler, Select};
use perhop_core::time::Instant;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::failure::Failure;
use super::packet::Packet;
use super::{Class, method};

/// A scheduler in Python.
pub struct PyScheduler {
    class: Class,
    select: Py<PyAny>,
    on_enqueued: Option<Py<PyAny>>,
    on_emptied: Option<Py<PyAny>>,
    on_served: Option<Py<PyAny>>,
    failure: Arc<Failure>,
}

impl PyScheduler {
    /// The scheduler that `object` of `class` decides for.
    pub fn new(class: Class, object: &Bound<'_, PyAny>, failure: Arc<Failure>) -> PyResult<Self> {
        Ok(Self {
            class,
            select: object.getattr("select")?.unbind(),
            on_enqueued: method(object, "on_enqueued")?,
            on_emptied: method(object, "on_emptied")?,
            on_served: method(object, "on_served")?,
            failure,
        })
    }

    /// Calls a method of the class, if it has it.
    fn notify(
        &self,
        name: &'static str,
        now: Instant,
        to: Option<&Py<PyAny>>,
        class: ClassId,
        of: Option<&Meta>,
    ) {
        let Some(to) = to else { return };
        self.failure.guard(&self.class, name, now, |py| {
            let (to, at) = (to.bind(py), now.as_nanos());
            match of {
                Some(meta) => to.call1((at, class.0, Packet::new(*meta, 0, 0))),
                None => to.call1((at, class.0)),
            }
            .map(drop)
        });
    }
}

impl Scheduler for PyScheduler {
    fn on_enqueued(&mut self, now: Instant, class: ClassId, meta: &Meta) {
        self.notify("on_enqueued", now, self.on_enqueued.as_ref(), class, Some(meta));
    }

    fn on_emptied(&mut self, now: Instant, class: ClassId) {
        self.notify("on_emptied", now, self.on_emptied.as_ref(), class, None);
    }

    fn select(&mut self, now: Instant, heads: &dyn Heads) -> Select {
        let first = (0..heads.classes()).map(ClassId).find(|class| heads.head(*class).is_some());
        let Some(first) = first else { return Select::Idle };
        let chosen = self.failure.guard(&self.class, "select", now, |py| {
            let shown = (0..heads.classes()).map(|class| {
                heads.head(ClassId(class)).map(|meta| Bound::new(py, Packet::new(*meta, 0, 0))).transpose()
            });
            let shown = PyTuple::new(py, shown.collect::<PyResult<Vec<_>>>()?)?;
            let answer = self.select.bind(py).call1((now.as_nanos(), shown))?;
            read(&answer, now, heads)
        });
        // after an error the first that has a packet
        chosen.unwrap_or(Select::Serve(first))
    }

    fn on_served(&mut self, now: Instant, class: ClassId, served: &Meta) {
        self.notify("on_served", now, self.on_served.as_ref(), class, Some(served));
    }
}

/// The choice that `answer` means: a class that has a packet, or a time ahead.
fn read(answer: &Bound<'_, PyAny>, now: Instant, heads: &dyn Heads) -> PyResult<Select> {
    if let Ok((word, at)) = answer.extract::<(String, u64)>()
        && word == "wait"
    {
        let at = Instant::from_nanos(at);
        return if at > now {
            Ok(Select::NotBefore(at))
        } else {
            Err(PyValueError::new_err(format!(
                "select returned {answer}, which is not after now, {}",
                now.as_nanos()
            )))
        };
    }
    let class = answer.extract::<u16>().map_err(|_| {
        let rule =
            format!("select returned {answer}: the number of a class, or (\"wait\", time), is asked for");
        PyValueError::new_err(rule)
    })?;
    if class >= heads.classes() || heads.head(ClassId(class)).is_none() {
        return Err(PyValueError::new_err(format!("select returned {class}, a class that has no packet")));
    }
    Ok(Select::Serve(ClassId(class)))
}
