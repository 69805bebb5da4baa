//! Settings of elements from outside, whose names perhop does not know.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The value of a setting of an element from outside.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Setting {
    /// Text, such as a quantity with its unit.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// Yes or no.
    Flag(bool),
}

/// The settings of an element from outside, by name.
pub type SettingsTable = BTreeMap<String, Setting>;
