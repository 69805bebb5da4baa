//! Elements from outside: queues and meters that another program brings and a file names (`kind = "custom"`).
//!
//! What is known here is that there are such elements, and their settings. A driver knows how to build them and is asked,
//! through [`Elements`], whether it can, so that a mistake in their settings is reported with its place like any other.

use std::collections::BTreeSet;
use std::fmt;

use perhop_core::dscp::Dscp;
use perhop_core::param_error::ParamError;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_tcp::settings::TcpParams;

use crate::meant::model::{CustomControl, CustomMeter, CustomQueue, CustomScheduler};
use crate::words::marks::Mark;
pub use crate::words::setting::{Setting, SettingsTable};
use crate::words::suggest;
use crate::words::units::{Limit, Rate, Size, Time};

/// The settings that an element is being built from. One that it does not ask for is a mistake.
#[derive(Debug)]
pub struct Settings<'a> {
    given: &'a SettingsTable,
    known: BTreeSet<&'static str>,
}

impl<'a> Settings<'a> {
    /// The element that `build` makes of `given`.
    ///
    /// # Errors
    /// What `build` says, or that it did not ask for all that is given.
    pub fn read<T>(
        given: &'a SettingsTable,
        build: impl FnOnce(&mut Self) -> Result<T, ParamError>,
    ) -> Result<T, ElementError> {
        let mut settings = Self { given, known: BTreeSet::new() };
        let built = build(&mut settings).map_err(|ParamError { field, rule }| {
            let name = field.rsplit('.').next().unwrap_or(field);
            let within = if settings.known.contains(field) { "settings." } else { "" };
            ElementError { path: format!("{within}{field}"), rule: format!("{name} {rule}"), hint: None }
        })?;
        match given.keys().find(|key| !settings.known.contains(key.as_str())) {
            None => Ok(built),
            Some(key) => Err(ElementError {
                path: format!("settings.{key}"),
                rule: format!("this element has no setting `{}`", suggest::short(key)),
                hint: suggest::among(key, settings.known.iter().copied()),
            }),
        }
    }

    /// The setting `key`, or `None` where it is left out.
    ///
    /// # Errors
    /// When it is not a `T`.
    pub fn get<T: FromSetting>(&mut self, key: &'static str) -> Result<Option<T>, ParamError> {
        self.known.insert(key);
        let read = |setting| T::from_setting(setting).map_err(|rule| ParamError::new(key, rule));
        self.given.get(key).map(read).transpose()
    }

    /// The setting `key`, which cannot be left out.
    ///
    /// # Errors
    /// When it is missing, or not a `T`.
    pub fn need<T: FromSetting>(&mut self, key: &'static str) -> Result<T, ParamError> {
        self.get(key)?.ok_or_else(|| ParamError::new(key, "is missing"))
    }
}

/// A type of settings: quantities in the units of the elements, marks, numbers, text, yes or no.
pub trait FromSetting: Sized {
    /// The value, or what is wrong with it, as the end of a sentence that begins with the name of the setting.
    ///
    /// # Errors
    /// When `setting` says something else.
    fn from_setting(setting: &Setting) -> Result<Self, String>;
}

macro_rules! from_setting {
    ($($kind:ty: $written:ident, $example:literal;)+) => {$(
        impl FromSetting for $kind {
            fn from_setting(setting: &Setting) -> Result<Self, String> {
                let Setting::Text(text) = setting else {
                    return Err(concat!("must be text, for instance \"", $example, "\"").to_owned());
                };
                text.parse::<$written>().map(|$written(value)| value).map_err(|error| format!("is wrong: {}", error.rule))
            }
        }
    )+};
}

from_setting! {
    BitRate: Rate, "1Mbit/s";
    Span: Time, "200ms";
    Bytes: Size, "1500B";
    QueueSize: Limit, "100p";
    Dscp: Mark, "AF11";
}

impl FromSetting for f64 {
    #[expect(clippy::cast_precision_loss, reason = "a number may be written without a point")]
    fn from_setting(setting: &Setting) -> Result<Self, String> {
        match setting {
            Setting::Number(x) => Ok(*x),
            Setting::Integer(n) => Ok(*n as Self),
            _ => Err("must be a number".to_owned()),
        }
    }
}

impl FromSetting for u64 {
    fn from_setting(setting: &Setting) -> Result<Self, String> {
        let number = if let Setting::Integer(n) = setting { Self::try_from(*n).ok() } else { None };
        number.ok_or_else(|| "must be a whole number, not below zero".to_owned())
    }
}

impl FromSetting for bool {
    fn from_setting(setting: &Setting) -> Result<Self, String> {
        if let Setting::Flag(flag) = setting { Ok(*flag) } else { Err("must be true or false".to_owned()) }
    }
}

impl FromSetting for String {
    fn from_setting(setting: &Setting) -> Result<Self, String> {
        if let Setting::Text(text) = setting { Ok(text.clone()) } else { Err("must be text".to_owned()) }
    }
}

/// Why an element from outside cannot be built.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ElementError {
    /// The setting: `settings.window`, `name`, `limit`; after [`ElementError::at`] with the path of the element before it.
    pub path: String,
    /// The rule that is broken.
    pub rule: String,
    /// A remedy.
    pub hint: Option<String>,
}

impl ElementError {
    /// There is no `what` called `name` among those that are `known`.
    #[must_use]
    pub fn unknown<'k>(what: &str, name: &str, known: impl Iterator<Item = &'k String>) -> Self {
        let outside = "it comes from outside of perhop: run this file with the program that brings it";
        let hint = suggest::among(name, known.map(String::as_str)).unwrap_or_else(|| outside.to_owned());
        let rule = format!("there is no {what} `{}` here", suggest::short(name));
        Self { path: "name".to_owned(), rule, hint: Some(hint) }
    }

    /// This program runs no elements in Python.
    #[must_use]
    pub fn no_python() -> Self {
        let rule = "this program runs no elements in Python".to_owned();
        Self { path: "kind".to_owned(), rule, hint: Some("`perhop run` does".to_owned()) }
    }

    /// The same error of the element at `path`.
    #[must_use]
    pub fn at(self, path: &str) -> Self {
        Self { path: format!("{path}.{}", self.path), ..self }
    }
}

impl From<ParamError> for ElementError {
    fn from(ParamError { field, rule }: ParamError) -> Self {
        let name = field.rsplit('.').next().unwrap_or(field);
        Self { path: field.to_owned(), rule: format!("{name} {rule}"), hint: None }
    }
}

impl fmt::Display for ElementError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.rule)?;
        self.hint.iter().try_for_each(|hint| write!(f, " ({hint})"))
    }
}

impl std::error::Error for ElementError {}

/// Which elements from outside there are.
pub trait Elements {
    /// Whether this queue can be built.
    ///
    /// # Errors
    /// Why it cannot.
    fn check_queue(&self, queue: &CustomQueue) -> Result<(), ElementError> {
        queue.code.as_ref().map_or(Ok(()), |_| Err(ElementError::no_python()))?;
        Err(ElementError::unknown("queue", &queue.name, std::iter::empty()))
    }

    /// Whether this scheduler can be built.
    ///
    /// # Errors
    /// Why it cannot.
    fn check_scheduler(&self, _scheduler: &CustomScheduler) -> Result<(), ElementError> {
        Err(ElementError::no_python())
    }

    /// Whether this congestion control can be built, for a connection with these parameters.
    ///
    /// # Errors
    /// Why it cannot.
    fn check_control(&self, _control: &CustomControl, _params: &TcpParams) -> Result<(), ElementError> {
        Err(ElementError::no_python())
    }

    /// Whether this ACK policy can be built.
    ///
    /// # Errors
    /// Why it cannot.
    fn check_ack_policy(&self, _policy: &CustomControl) -> Result<(), ElementError> {
        Err(ElementError::no_python())
    }

    /// Whether this meter can be built, one for all packets or `several` of it.
    ///
    /// # Errors
    /// Why it cannot.
    fn check_meter(&self, meter: &CustomMeter, _several: bool) -> Result<(), ElementError> {
        meter.code.as_ref().map_or(Ok(()), |_| Err(ElementError::no_python()))?;
        Err(ElementError::unknown("meter", &meter.name, std::iter::empty()))
    }
}

/// No elements from outside.
#[derive(Clone, Copy, Debug)]
pub struct NoElements;

impl Elements for NoElements {}
