//! Congestion controls as they are written: those of perhop, and those of a kernel by their names.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::words::choices::Growth;
use crate::words::suggest;
use crate::words::units::{UnitError, text};

/// A congestion control: of perhop, or of the kernel that a scenario runs on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum CongestionControl {
    /// Of perhop, in virtual time; on real packets the kernel's of that name.
    Own(Growth),
    /// Of the kernel alone.
    Kernel(KernelControl),
}

/// The words of [`Growth`], and the form of a [`KernelControl`].
impl JsonSchema for CongestionControl {
    fn schema_name() -> Cow<'static, str> {
        "CongestionControl".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Growth::json_schema(generator);
        schema.insert("description".to_owned(), "How the congestion window grows.".into());
        if let Some(words) = schema.get_mut("oneOf").and_then(serde_json::Value::as_array_mut) {
            words.push(KernelControl::json_schema(generator).to_value());
        }
        schema
    }
}

/// The congestion control that a kernel has under a name.
///
/// The name goes to a kernel by a program with privileges: nothing but what kernels call theirs is one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct KernelControl(String);

text!(
    KernelControl,
    "kernel-control",
    "The congestion control that the kernel has under this name, on real packets alone (`perhop emulate`).",
    ["kernel:bbr"]
);

const PREFIX: &str = "kernel:";
/// Linux: `TCP_CA_NAME_MAX`, less the byte that ends it.
const LONGEST_NAME: usize = 15;

impl KernelControl {
    /// The kernel's name of it: 1 to 15 small letters, digits, `_` and `-`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.0
    }
}

impl FromStr for KernelControl {
    type Err = UnitError;
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = |rule: String| {
            let hint = "as in `kernel:bbr`; `perhop doctor` lists what this machine has".to_owned();
            Err(UnitError { rule, hint })
        };
        let Some(name) = text.strip_prefix(PREFIX) else {
            return error(format!("`{}` does not begin with `{PREFIX}`", suggest::short(text)));
        };
        let may = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        match name.chars().find(|c| !may(*c)) {
            _ if name.is_empty() => error(format!("`{PREFIX}` lacks a name")),
            Some(c) => {
                let c = c.escape_debug();
                error(format!(
                    "`{c}` is in no name of a kernel's: they have small letters, digits, `_` and `-`"
                ))
            }
            None if name.len() > LONGEST_NAME => {
                error(format!("{} characters: a kernel's names have at most {LONGEST_NAME}", name.len()))
            }
            None => Ok(Self(name.to_owned())),
        }
    }
}

impl fmt::Display for KernelControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{PREFIX}{}", self.0)
    }
}
