//! Elements from outside: what a program adds to the queues and meters that a scenario can name.

use std::collections::BTreeMap;

use super::MeterScope;
use crate::elements::{ElementError, Elements, Settings};
use crate::model::{Code, CustomControl, CustomMeter, CustomQueue, CustomScheduler};
use perhop_core::meter::Meter;
use perhop_core::packet::Packet;
use perhop_core::param_error::ParamError;
use perhop_core::queue::{AnyQueue, Queue};
use perhop_core::rng::Stream;
use perhop_core::sched::Scheduler;
use perhop_core::sink::SiteId;
use perhop_core::units::{BitRate, QueueSize};
use perhop_tcp::ack::AckPolicy;
use perhop_tcp::cc::CongestionControl;
use perhop_tcp::settings::TcpParams;

/// Where a queue from outside is to be.
#[derive(Clone, Debug)]
pub struct QueuePlace {
    /// Where it reports what it drops and accepts.
    pub site: SiteId,
    /// Most that may wait.
    pub limit: QueueSize,
    /// Rate of the link it is in front of.
    pub rate: BitRate,
    /// Its random numbers.
    pub stream: Stream,
}

/// Where a meter from outside is to be.
#[derive(Clone, Debug)]
pub struct MeterPlace {
    stream: Stream,
    draws: bool,
}

impl MeterPlace {
    /// The meter's random numbers. Only one that measures an aggregate can have them: else each flow, or pair of addresses,
    /// has a copy of the meter, and the copies would draw the same.
    pub fn stream(&mut self) -> Stream {
        self.draws = true;
        self.stream.clone()
    }
}

type Built<T> = Result<T, ParamError>;
type QueueBuilder<P> = Box<dyn Fn(QueuePlace, &mut Settings<'_>) -> Built<AnyQueue<P>> + Send + Sync>;
type MeterBuilder =
    Box<dyn Fn(&mut MeterPlace, &mut Settings<'_>, &MeterScope) -> Built<Box<dyn Meter>> + Send + Sync>;

/// A maker of the elements of `kind = "python"`, from the program text that comes with them.
pub trait Interpreter<P: Packet>: Send + Sync {
    /// The queue.
    ///
    /// # Errors
    /// What the program says of its settings, or why it cannot be built.
    fn queue(
        &self,
        code: &Code,
        given: &CustomQueue,
        site: SiteId,
        stream: Stream,
    ) -> Result<AnyQueue<P>, ElementError>;

    /// The scheduler.
    ///
    /// # Errors
    /// As of a queue.
    fn scheduler(&self, given: &CustomScheduler, stream: Stream) -> Result<Box<dyn Scheduler>, ElementError>;

    /// The congestion control of a connection with these parameters.
    ///
    /// # Errors
    /// As of a queue.
    fn control(
        &self,
        given: &CustomControl,
        params: &TcpParams,
        stream: Stream,
    ) -> Result<Box<dyn CongestionControl>, ElementError>;

    /// The ACK policy of a receiver.
    ///
    /// # Errors
    /// As of a queue.
    fn ack_policy(&self, given: &CustomControl, stream: Stream) -> Result<Box<dyn AckPolicy>, ElementError>;

    /// The meter, one for all packets.
    ///
    /// # Errors
    /// As of a queue.
    fn meter(&self, code: &Code, given: &CustomMeter, stream: Stream)
    -> Result<Box<dyn Meter>, ElementError>;
}

/// The queues and meters that a program brings: what `kind = "custom"` can name.
///
/// Pass the same to [`load_with`](crate::load_with) and to
/// whatever builds the run of the scenario. Of two with one name the later counts.
pub struct Registry<P: Packet> {
    queues: BTreeMap<String, QueueBuilder<P>>,
    meters: BTreeMap<String, MeterBuilder>,
    interpreter: Option<Box<dyn Interpreter<P>>>,
}

impl<P: Packet> Default for Registry<P> {
    fn default() -> Self {
        Self { queues: BTreeMap::new(), meters: BTreeMap::new(), interpreter: None }
    }
}

impl<P: Packet> Registry<P> {
    /// No elements yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the queue that `build` makes. It has to ask for each of its settings, also for those it can do without.
    pub fn queue<Q, B>(&mut self, name: &str, build: B)
    where
        Q: Queue<P> + 'static,
        B: Fn(QueuePlace, &mut Settings<'_>) -> Result<Q, ParamError> + Send + Sync + 'static,
    {
        let boxed: QueueBuilder<P> =
            Box::new(move |place, settings| Ok(Box::new(build(place, settings)?).into()));
        self.queues.insert(name.to_owned(), boxed);
    }

    /// Adds the meter that `build` makes, as [`Registry::queue`] does. With `per = "flow"` each flow has a
    /// clone of it, with `per = "addresses"` each pair of addresses.
    pub fn meter<M, B>(&mut self, name: &str, build: B)
    where
        M: Meter + Clone + 'static,
        B: Fn(&mut MeterPlace, &mut Settings<'_>) -> Result<M, ParamError> + Send + Sync + 'static,
    {
        let boxed: MeterBuilder =
            Box::new(move |place, settings, scope| Ok(scope.take(build(place, settings)?)));
        self.meters.insert(name.to_owned(), boxed);
    }

    /// Takes `interpreter` for the elements in Python.
    pub fn interpreter(&mut self, interpreter: impl Interpreter<P> + 'static) {
        self.interpreter = Some(Box::new(interpreter));
    }

    /// The queue that the scenario names.
    ///
    /// # Errors
    /// When there is none of this name, or it refuses its settings.
    pub fn build_queue(
        &self,
        given: &CustomQueue,
        site: SiteId,
        stream: Stream,
    ) -> Result<AnyQueue<P>, ElementError> {
        if let Some(code) = &given.code {
            let interpreter = self.interpreter.as_ref().ok_or_else(ElementError::no_python)?;
            return interpreter.queue(code, given, site, stream);
        }
        let unknown = || ElementError::unknown("queue", &given.name, self.queues.keys());
        let build = self.queues.get(&given.name).ok_or_else(unknown)?;
        let place = QueuePlace { site, limit: given.limit, rate: given.rate, stream };
        Settings::read(&given.settings, |settings| build(place, settings))
    }

    /// The scheduler in Python that the scenario names.
    ///
    /// # Errors
    /// When nothing here runs Python, or the program refuses its settings.
    pub fn build_scheduler(
        &self,
        given: &CustomScheduler,
        stream: Stream,
    ) -> Result<Box<dyn Scheduler>, ElementError> {
        self.interpreter.as_ref().ok_or_else(ElementError::no_python)?.scheduler(given, stream)
    }

    /// The congestion control in Python that the scenario names.
    ///
    /// # Errors
    /// When nothing here runs Python, or the program refuses its settings.
    pub fn build_control(
        &self,
        given: &CustomControl,
        params: &TcpParams,
        stream: Stream,
    ) -> Result<Box<dyn CongestionControl>, ElementError> {
        self.interpreter.as_ref().ok_or_else(ElementError::no_python)?.control(given, params, stream)
    }

    /// The ACK policy in Python that the scenario names.
    ///
    /// # Errors
    /// When nothing here runs Python, or the program refuses its settings.
    pub fn build_ack_policy(
        &self,
        given: &CustomControl,
        stream: Stream,
    ) -> Result<Box<dyn AckPolicy>, ElementError> {
        self.interpreter.as_ref().ok_or_else(ElementError::no_python)?.ack_policy(given, stream)
    }

    /// The meter that the scenario names, one for all packets or a bank of it.
    ///
    /// # Errors
    /// When there is none of this name, it refuses its settings, or cannot be copied.
    pub fn build_meter(
        &self,
        given: &CustomMeter,
        scope: &MeterScope,
        stream: Stream,
    ) -> Result<Box<dyn Meter>, ElementError> {
        if let Some(code) = &given.code {
            let interpreter = self.interpreter.as_ref().ok_or_else(ElementError::no_python)?;
            one_for_all(scope, "each of several meters would be a copy of the first, its objects included")?;
            return interpreter.meter(code, given, stream);
        }
        let unknown = || ElementError::unknown("meter", &given.name, self.meters.keys());
        let build = self.meters.get(&given.name).ok_or_else(unknown)?;
        let mut place = MeterPlace { stream, draws: false };
        let built = Settings::read(&given.settings, |settings| build(&mut place, settings, scope))?;
        if place.draws {
            let name = &given.name;
            one_for_all(
                scope,
                &format!("`{name}` draws random numbers, and each of several meters would draw the same"),
            )?;
        }
        Ok(built)
    }
}

/// Refuses a meter that cannot be copied where there are several, for this reason.
fn one_for_all(scope: &MeterScope, why: &str) -> Result<(), ElementError> {
    if matches!(scope, MeterScope::One) {
        return Ok(());
    }
    let hint = Some("leave `per` out: one meter for all of them".to_owned());
    Err(ElementError { path: "name".to_owned(), rule: why.to_owned(), hint })
}

impl<P: Packet> Elements for Registry<P> {
    fn check_queue(&self, queue: &CustomQueue) -> Result<(), ElementError> {
        self.build_queue(queue, SiteId(0), Stream::new(0, 0, "")).map(drop)
    }

    fn check_control(&self, control: &CustomControl, params: &TcpParams) -> Result<(), ElementError> {
        self.build_control(control, params, Stream::new(0, 0, "")).map(drop)
    }

    fn check_ack_policy(&self, policy: &CustomControl) -> Result<(), ElementError> {
        self.build_ack_policy(policy, Stream::new(0, 0, "")).map(drop)
    }

    fn check_scheduler(&self, scheduler: &CustomScheduler) -> Result<(), ElementError> {
        self.build_scheduler(scheduler, Stream::new(0, 0, "")).map(drop)
    }

    fn check_meter(&self, meter: &CustomMeter, several: bool) -> Result<(), ElementError> {
        self.build_meter(
            meter,
            if several { &MeterScope::Flows } else { &MeterScope::One },
            Stream::new(0, 0, ""),
        )
        .map(drop)
    }
}
