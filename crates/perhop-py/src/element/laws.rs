//! The laws of perhop's own elements, asked of one in Python.

use std::panic::{AssertUnwindSafe, catch_unwind, set_hook, take_hook};
use std::sync::Arc;

use perhop_core::meter::Meter;
use perhop_core::packet::Packet as AnyPacket;
use perhop_core::queue::{AnyQueue, Queue};
use perhop_core::rng::Stream;
use perhop_core::sched::Scheduler;
use perhop_core::sink::SiteId;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_scenario::FileName;
use perhop_scenario::build::Interpreter as _;
use perhop_scenario::elements::{ElementError as Refused, FromSetting, Setting, SettingsTable};
use perhop_scenario::model::{Code, CustomControl, CustomMeter, CustomQueue, CustomScheduler};
use perhop_tcp::ack::{AckPolicy, MAX_DELAY};
use perhop_tcp::cc::CongestionControl;
use perhop_tcp::settings::TcpParams;
use perhop_testkit::laws::meter::Mode;
use perhop_testkit::laws::{ack_policy, congestion_control, meter, queue, scheduler};
use perhop_testkit::packet::TestPacket;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::Interpreter;
use super::failure::{ElementError, Failure};

/// A law by its name, and what it says when it is broken.
type Verdict = (&'static str, Option<String>);

/// The element under test.
struct Subject {
    code: Code,
    name: String,
    settings: SettingsTable,
    limit: QueueSize,
    classes: Vec<String>,
    interpreter: Interpreter,
}

impl Subject {
    fn queue<P: AnyPacket>(&self, site: SiteId) -> Result<AnyQueue<P>, Refused> {
        let given = CustomQueue {
            name: self.name.clone(),
            limit: self.limit,
            rate: rate(),
            settings: self.settings.clone(),
            code: Some(self.code.clone()),
        };
        self.interpreter.queue(&self.code, &given, site, Stream::new(1, 0, "element"))
    }

    fn meter(&self) -> Result<Box<dyn Meter>, Refused> {
        let given = CustomMeter {
            name: self.name.clone(),
            settings: self.settings.clone(),
            code: Some(self.code.clone()),
        };
        let as_meter = &self.interpreter as &dyn perhop_scenario::build::Interpreter<TestPacket>;
        as_meter.meter(&self.code, &given, Stream::new(1, 0, "element"))
    }

    fn scheduler(&self) -> Result<Box<dyn Scheduler>, Refused> {
        let given = CustomScheduler {
            name: self.name.clone(),
            settings: self.settings.clone(),
            rate: rate(),
            classes: self.classes.clone(),
            code: self.code.clone(),
        };
        let as_scheduler = &self.interpreter as &dyn perhop_scenario::build::Interpreter<TestPacket>;
        as_scheduler.scheduler(&given, Stream::new(1, 0, "element"))
    }

    /// The laws of a scheduler.
    fn scheduler_laws(&self) -> Result<Vec<Verdict>, Refused> {
        self.scheduler()?;
        let build = || sound(self.scheduler());
        let classes = u16::try_from(self.classes.len()).unwrap_or(u16::MAX);
        let ops = scheduler::ops();
        Ok(vec![
            law("serves_what_waits", || {
                perhop_testkit::check(&ops, |ops| {
                    drop(scheduler::serves_what_waits(build, classes, &ops));
                });
            }),
            law("repeats", || {
                perhop_testkit::check(&ops, |ops| scheduler::repeats(build, classes, &ops));
            }),
        ])
    }

    fn control(&self, mss: Bytes) -> Result<Box<dyn CongestionControl>, Refused> {
        let given = CustomControl {
            name: self.name.clone(),
            settings: self.settings.clone(),
            code: self.code.clone(),
        };
        let as_control = &self.interpreter as &dyn perhop_scenario::build::Interpreter<TestPacket>;
        let params = TcpParams { mss, ..congestion_control::PARAMS };
        as_control.control(&given, &params, Stream::new(1, 0, "element"))
    }

    /// The laws of a congestion control.
    fn control_laws(&self) -> Result<Vec<Verdict>, Refused> {
        const MSS: Bytes = Bytes(1460);
        self.control(MSS)?;
        let build = |mss| sound(self.control(mss));
        let ops = congestion_control::ops();
        Ok(vec![
            law("keeps_its_floors", || {
                perhop_testkit::check(&ops, |ops| {
                    drop(congestion_control::keeps_its_floors(build, MSS, &ops));
                });
            }),
            law("shrinks_as_told", || {
                perhop_testkit::check(&ops, |ops| congestion_control::shrinks_as_told(build, MSS, &ops));
            }),
            law("takes_a_timeout_back", || {
                let cases = (congestion_control::ops(), congestion_control::loads());
                perhop_testkit::check(&cases, |(ops, load)| {
                    congestion_control::takes_a_timeout_back(build, MSS, &ops, &load);
                });
            }),
            law("repeats", || {
                perhop_testkit::check(&ops, |ops| congestion_control::repeats(build, MSS, &ops));
            }),
        ])
    }

    fn acks(&self) -> Result<Box<dyn AckPolicy>, Refused> {
        let given = CustomControl {
            name: self.name.clone(),
            settings: self.settings.clone(),
            code: self.code.clone(),
        };
        let as_policy = &self.interpreter as &dyn perhop_scenario::build::Interpreter<TestPacket>;
        as_policy.ack_policy(&given, Stream::new(1, 0, "element"))
    }

    /// The laws of an ACK policy.
    fn ack_laws(&self) -> Result<Vec<Verdict>, Refused> {
        self.acks()?;
        let build = || sound(self.acks());
        let (bounds, ops) =
            (ack_policy::Bounds { within: MAX_DELAY, reports: Span::ZERO }, ack_policy::ops());
        Ok(vec![
            law("acknowledges_in_time", || {
                perhop_testkit::check(&ops, |ops| {
                    drop(ack_policy::acknowledges_in_time(build, bounds, &ops));
                });
            }),
            law("repeats", || {
                perhop_testkit::check(&ops, |ops| ack_policy::repeats(build, bounds, &ops));
            }),
        ])
    }

    /// The laws of a queue.
    fn queue_laws(&self) -> Result<Vec<Verdict>, Refused> {
        self.queue::<TestPacket>(SiteId(0))?;
        let build = |site| -> Box<dyn Queue<TestPacket>> { Box::new(sound(self.queue(site))) };
        let (limit, ops) = (self.limit, queue::ops());
        Ok(vec![
            law("books_balance", || {
                perhop_testkit::check(&ops, |ops| drop(queue::books_balance(build, limit, &ops)));
            }),
            law("repeats", || perhop_testkit::check(&ops, |ops| queue::repeats(build, limit, &ops))),
            law("a_port_counts_it_all", || {
                perhop_testkit::check(&ops, |ops| queue::a_port_counts_it_all(build, &ops));
            }),
            law("early_timeouts_change_nothing", || {
                perhop_testkit::check(&ops, |ops| queue::early_timeouts_change_nothing(build, limit, &ops));
            }),
        ])
    }

    /// The laws of a meter that measures an aggregate; it looks at colours if `aware`.
    fn meter_laws(&self, aware: bool) -> Result<Vec<Verdict>, Refused> {
        self.meter()?;
        let build = || sound(self.meter());
        let mode = if aware { Mode::Aware } else { Mode::Blind };
        let ops = meter::ops();
        Ok(vec![
            law("respects_colors", || {
                perhop_testkit::check(&ops, |ops| meter::respects_colors(build, mode, &ops));
            }),
            law("repeats", || perhop_testkit::check(&ops, |ops| meter::repeats(build, &ops))),
        ])
    }
}

/// Asks the laws of elements of this `kind` of a class; returns each law, and what broke it.
///
/// # Errors
/// `ElementError` where the class cannot be built, `ValueError` where the limit is none; or Ctrl-C was pressed.
#[pyfunction]
pub fn element_laws(
    py: Python<'_>,
    kind: &str,
    element: (String, String, String),
    settings: Vec<(String, Given)>,
    limit: String,
    classes: Vec<String>,
    aware: bool,
) -> PyResult<Vec<Verdict>> {
    let (file, text, name) = element;
    let limit = QueueSize::from_setting(&Setting::Text(limit)).map_err(PyValueError::new_err)?;
    if matches!(limit, QueueSize::Packets(0) | QueueSize::Bytes(0)) {
        return Err(PyValueError::new_err("drops every packet"));
    }
    let failure = Arc::new(Failure::that_panics());
    let subject = Subject {
        code: Code { file: name_of(&file), text: text.into() },
        name,
        settings: settings.into_iter().map(|(key, given)| (key, given.into())).collect(),
        limit,
        classes,
        interpreter: Interpreter { failure: Arc::clone(&failure) },
    };
    let verdicts = py.detach(|| {
        // a law that is broken is told by its return, not twice
        let hook = take_hook();
        set_hook(Box::new(|_| {}));
        let verdicts = match kind {
            "meter" => subject.meter_laws(aware),
            "scheduler" => subject.scheduler_laws(),
            "control" => subject.control_laws(),
            "ack" => subject.ack_laws(),
            _ => subject.queue_laws(),
        };
        set_hook(hook);
        verdicts
    });
    match failure.take() {
        Some(interrupted) => Err(interrupted),
        None => verdicts.map_err(|Refused { rule, hint, .. }| {
            ElementError::new_err(hint.map_or_else(|| rule.clone(), |hint| format!("{rule} ({hint})")))
        }),
    }
}

/// The value of a setting, from Python.
#[derive(FromPyObject)]
pub enum Given {
    /// Yes or no.
    Flag(bool),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Text.
    Text(String),
}

impl From<Given> for Setting {
    fn from(given: Given) -> Self {
        match given {
            Given::Flag(flag) => Self::Flag(flag),
            Given::Integer(number) => Self::Integer(number),
            Given::Number(number) => Self::Number(number),
            Given::Text(text) => Self::Text(text),
        }
    }
}

/// The file as a scenario could name it; one that none could is not shown.
fn name_of(file: &str) -> FileName {
    let parsed = file.trim_start_matches(['.', '/']).parse();
    parsed.or_else(|_| "element.py".parse()).unwrap_or_else(|_| unreachable!("it is the name of a file"))
}

/// Rate of the link behind the element.
fn rate() -> BitRate {
    BitRate::new(10_000_000).unwrap_or_else(|| unreachable!("it is not zero"))
}

/// An element that was built before, built again.
fn sound<T>(built: Result<T, Refused>) -> T {
    built.unwrap_or_else(|error| panic!("{error}"))
}

/// The verdict on the law called `name`, which `check` checks.
fn law(name: &'static str, check: impl FnOnce()) -> Verdict {
    let broken = catch_unwind(AssertUnwindSafe(check)).err().map(|payload| {
        let text = payload.downcast_ref::<String>().cloned();
        text.or_else(|| payload.downcast_ref::<&str>().map(ToString::to_string)).unwrap_or_default()
    });
    (name, broken)
}
