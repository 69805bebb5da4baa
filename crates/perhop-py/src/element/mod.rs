//! Elements in Python: classes of program text that a scenario brings, behind the traits of perhop's own.
//!
//! What a program text is and which class it means is `perhop.scenario.element`'s matter, which is in Python itself. To read
//! a scenario runs none of it ([`Reading`]); it runs where a run is built, and where `try_elements` asks.

pub mod acks;
pub mod control;
pub mod failure;
pub mod laws;
mod meter;
pub mod packet;
pub mod place;
mod queue;
mod scheduler;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perhop_core::meter::Meter;
use perhop_core::packet::Packet as AnyPacket;
use perhop_core::queue::AnyQueue;
use perhop_core::rng::Stream;
use perhop_core::sched::Scheduler;
use perhop_core::sink::SiteId;
use perhop_scenario::build;
use perhop_scenario::elements::{ElementError, Elements, Setting, SettingsTable};
use perhop_scenario::model::{Code, CustomControl, CustomMeter, CustomQueue, CustomScheduler};
use perhop_sim::Registry;
use perhop_tcp::ack::AckPolicy;
use perhop_tcp::cc::CongestionControl;
use perhop_tcp::settings::TcpParams;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use acks::PyAcks;
use control::PyControl;
use failure::Failure;
use meter::PyMeter;
use place::{ControlPlace, Place, Rng, RngPlace, SchedulerPlace};
use queue::PyQueue;
use scheduler::PyScheduler;

/// A class of a program text.
#[derive(Clone)]
pub struct Class {
    /// The file, as the scenario calls it.
    pub file: String,
    /// The class.
    pub name: String,
}

/// A function of `perhop.scenario.element`.
pub fn helper<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    py.import("perhop.scenario.element")?.getattr(name)
}

/// The method of `object` called `name`, if it has one.
pub fn method(object: &Bound<'_, PyAny>, name: &str) -> PyResult<Option<Py<PyAny>>> {
    Ok(object.getattr_opt(name)?.map(Bound::unbind))
}

/// Makes elements of program text. An error of theirs while they run is kept in `failure`.
pub struct Interpreter {
    /// Where errors are kept.
    pub failure: Arc<Failure>,
}

/// The number of the next queue.
static QUEUES: AtomicU64 = AtomicU64::new(0);

impl<P: AnyPacket> build::Interpreter<P> for Interpreter {
    fn queue(
        &self,
        code: &Code,
        given: &CustomQueue,
        site: SiteId,
        stream: Stream,
    ) -> Result<AnyQueue<P>, ElementError> {
        attached(|py| {
            let (owner, rng) = (QUEUES.fetch_add(1, Relaxed), Py::new(py, Rng(stream))?);
            let place = Bound::new(py, Place::new(owner, given.limit, given.rate.bits_per_sec(), rng))?;
            let object = built(py, "queue", code, &given.name, &place, &given.settings)?;
            let of = Class { file: code.file.to_string(), name: given.name.clone() };
            let queue = PyQueue::new(of, &object, place, (site, given.limit), Arc::clone(&self.failure))?;
            Ok(Box::new(queue).into())
        })
    }

    fn control(
        &self,
        given: &CustomControl,
        params: &TcpParams,
        stream: Stream,
    ) -> Result<Box<dyn CongestionControl>, ElementError> {
        attached(|py| {
            let place = ControlPlace {
                rng: Py::new(py, Rng(stream))?,
                mss: params.mss.0,
                initial_window: params.mss.0 * u64::from(params.initial_window),
                window: params.window.0,
            };
            let place = Bound::new(py, place)?;
            let object = built(py, "control", &given.code, &given.name, &place, &given.settings)?;
            let of = Class { file: given.code.file.to_string(), name: given.name.clone() };
            let control = PyControl::new(of, &object, params, Arc::clone(&self.failure))?;
            Ok(Box::new(control) as Box<dyn CongestionControl>)
        })
    }

    fn ack_policy(&self, given: &CustomControl, stream: Stream) -> Result<Box<dyn AckPolicy>, ElementError> {
        attached(|py| {
            let place = Bound::new(py, RngPlace { rng: Py::new(py, Rng(stream))? })?;
            let object = built(py, "ack", &given.code, &given.name, &place, &given.settings)?;
            let of = Class { file: given.code.file.to_string(), name: given.name.clone() };
            Ok(Box::new(PyAcks::new(of, &object, Arc::clone(&self.failure))?) as Box<dyn AckPolicy>)
        })
    }

    fn scheduler(&self, given: &CustomScheduler, stream: Stream) -> Result<Box<dyn Scheduler>, ElementError> {
        attached(|py| {
            let (rng, rate_bit_s) = (Py::new(py, Rng(stream))?, given.rate.bits_per_sec());
            let place = SchedulerPlace { rng, rate_bit_s, classes: given.classes.clone() };
            let place = Bound::new(py, place)?;
            let object = built(py, "scheduler", &given.code, &given.name, &place, &given.settings)?;
            let of = Class { file: given.code.file.to_string(), name: given.name.clone() };
            Ok(Box::new(PyScheduler::new(of, &object, Arc::clone(&self.failure))?) as Box<dyn Scheduler>)
        })
    }

    fn meter(
        &self,
        code: &Code,
        given: &CustomMeter,
        stream: Stream,
    ) -> Result<Box<dyn Meter>, ElementError> {
        attached(|py| {
            let place = Bound::new(py, RngPlace { rng: Py::new(py, Rng(stream))? })?;
            let object = built(py, "meter", code, &given.name, &place, &given.settings)?;
            let of = Class { file: code.file.to_string(), name: given.name.clone() };
            Ok(Box::new(PyMeter::new(of, &object, Arc::clone(&self.failure))?) as Box<dyn Meter>)
        })
    }
}

/// The elements of a run: those in Python, and no others from outside.
pub fn registry(failure: &Arc<Failure>) -> Registry {
    let mut registry = Registry::new();
    registry.interpreter(Interpreter { failure: Arc::clone(failure) });
    registry
}

/// The questions to elements when a scenario is read.
pub struct Reading {
    registry: Registry,
    runs: bool,
}

impl Reading {
    /// With `runs` each element is built, as a run does; else its program text is looked at and not run.
    pub fn new(runs: bool) -> Self {
        Self { registry: registry(&Arc::default()), runs }
    }
}

impl Elements for Reading {
    fn check_queue(&self, queue: &CustomQueue) -> Result<(), ElementError> {
        match &queue.code {
            Some(code) if !self.runs => look("queue", code, &queue.name),
            _ => self.registry.check_queue(queue),
        }
    }

    fn check_control(&self, control: &CustomControl, params: &TcpParams) -> Result<(), ElementError> {
        if self.runs {
            return self.registry.check_control(control, params);
        }
        look("control", &control.code, &control.name)
    }

    fn check_ack_policy(&self, policy: &CustomControl) -> Result<(), ElementError> {
        if self.runs {
            return self.registry.check_ack_policy(policy);
        }
        look("ack", &policy.code, &policy.name)
    }

    fn check_scheduler(&self, scheduler: &CustomScheduler) -> Result<(), ElementError> {
        if self.runs {
            return self.registry.check_scheduler(scheduler);
        }
        look("scheduler", &scheduler.code, &scheduler.name)
    }

    fn check_meter(&self, meter: &CustomMeter, several: bool) -> Result<(), ElementError> {
        match &meter.code {
            // of several the registry refuses it before it is built
            Some(code) if !self.runs && !several => look("meter", code, &meter.name),
            _ => self.registry.check_meter(meter, several),
        }
    }
}

/// Looks for the class, and runs nothing.
fn look(kind: &str, code: &Code, name: &str) -> Result<(), ElementError> {
    attached(|py| helper(py, "look")?.call1((kind, code.file.as_str(), &*code.text, name)).map(drop))
}

/// The object that a class makes.
fn built<'py>(
    py: Python<'py>,
    kind: &str,
    code: &Code,
    name: &str,
    place: &Bound<'py, PyAny>,
    settings: &SettingsTable,
) -> PyResult<Bound<'py, PyAny>> {
    let given = PyDict::new(py);
    for (key, setting) in settings {
        match setting {
            Setting::Text(text) => given.set_item(key, text)?,
            Setting::Integer(number) => given.set_item(key, number)?,
            Setting::Number(number) => given.set_item(key, number)?,
            Setting::Flag(flag) => given.set_item(key, flag)?,
        }
    }
    helper(py, "built")?.call1((kind, code.file.as_str(), &*code.text, name, place, given))
}

/// Calls Python; what it raises says what is wrong with an element.
fn attached<T>(call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T, ElementError> {
    Python::attach(|py| call(py).map_err(|error| mistake(py, &error)))
}

/// `error` as a mistake; of its own class it says where.
fn mistake(py: Python<'_>, error: &PyErr) -> ElementError {
    let value = error.value(py);
    let attribute = |name: &str| value.getattr(name).and_then(|text| text.extract::<Option<String>>());
    match (attribute("path"), attribute("rule"), attribute("hint")) {
        (Ok(Some(path)), Ok(Some(rule)), Ok(hint)) => ElementError { path, rule, hint },
        _ => ElementError { path: "name".to_owned(), rule: error.to_string(), hint: None },
    }
}
