//! An element's refusal of a parameter.

use core::fmt;

/// A value, or a relation between values, that an element's algorithm does not survive.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ParamError {
    /// Name of the parameter, as a field of the element's `Params`; `green.min_th` for one inside another.
    pub field: &'static str,
    /// The rule that it breaks, as the end of a sentence that begins with the value: `must exceed min_th (50p)`.
    pub rule: String,
}

impl ParamError {
    /// `field` breaks `rule`.
    #[must_use]
    pub fn new(field: &'static str, rule: impl Into<String>) -> Self {
        Self { field, rule: rule.into() }
    }
}

impl fmt::Display for ParamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.field, self.rule)
    }
}

impl core::error::Error for ParamError {}
