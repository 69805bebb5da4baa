//! The tables of a campaign file: what is varied, how often, and what is measured.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::written::defaults;

/// A campaign: a scenario, factors with their levels, replications, and responses.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CampaignFile {
    /// The scenario file, by its path from this file's folder.
    #[schemars(length(min = 1), extend("examples" = ["scenario.toml"]))]
    pub scenario: String,
    /// Overrides `path=value` for every run, applied before those of the levels.
    #[serde(default)]
    pub set: Vec<String>,
    /// Runs of each treatment; they differ in `run.replication`, from 0.
    #[serde(default = "defaults::once")]
    #[schemars(range(min = 1, max = 1_000_000))]
    pub replications: u32,
    /// Which random numbers the treatments have.
    #[serde(default)]
    pub seeds: Seeds,
    /// Seed of the order in which the runs are done, and of the points of a Latin hypercube.
    #[serde(default = "defaults::seed")]
    pub order_seed: u64,
    /// Factors, varied in steps. Without `treatment` and `fraction` every combination of the levels is a treatment.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub factor: Vec<Factor>,
    /// Combinations that are left out: a level, or a list of levels, for each of some factors.
    #[serde(default)]
    pub exclude: Vec<BTreeMap<String, LevelNames>>,
    /// The treatments one by one: a level for each factor.
    #[serde(default)]
    pub treatment: Vec<BTreeMap<String, String>>,
    /// Generators of a fraction of factors with two levels, such as `D=ABC`.
    #[serde(default)]
    pub fraction: Vec<String>,
    /// Ranges, varied continuously, in place of factors; the treatments are the `points` of a Latin hypercube.
    #[serde(default)]
    #[schemars(length(max = 100))]
    pub range: Vec<Span>,
    /// Points of the Latin hypercube over the ranges.
    #[serde(default)]
    #[schemars(with = "u32", range(min = 2, max = 100_000))]
    pub points: Option<u32>,
    /// Responses, measured in each run.
    #[serde(default)]
    pub response: Vec<Response>,
    /// Replicate until an interval is narrow enough. Without it the number of replications is fixed.
    #[serde(default)]
    #[schemars(with = "Stop")]
    pub stop: Option<Stop>,
}

/// Which random numbers the treatments have.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Seeds {
    /// The same in every treatment of a replication: differences are measured under equal conditions.
    #[default]
    Common,
    /// Others in each run.
    Independent,
}

/// Something that is varied, with its levels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Factor {
    /// Its name, which is a column of the results.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The setting that is varied, as in `-s`, or several, which all take the value of the level. Without it each level has
    /// overrides of its own.
    #[serde(default)]
    #[schemars(with = "Paths")]
    pub path: Option<Paths>,
    /// With `path` the values of the setting, in a list, or by name. Without `path` by name the overrides `path=value`:
    /// one, or a list, which may be empty.
    pub levels: Levels,
}

/// A setting, or several that are varied as one.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Paths {
    /// One.
    One(String),
    /// Several.
    Several(#[schemars(length(min = 1))] Vec<String>),
}

/// The levels of a factor.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Levels {
    /// Values, which are their own names.
    Values(Vec<Listed>),
    /// By name.
    Named(BTreeMap<String, Level>),
}

/// A value or overrides of a level.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Level {
    /// A text: a value, or an override.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
    /// Overrides.
    Overrides(Vec<String>),
    /// A value that is a table: a queue, a meter.
    Table(BTreeMap<String, serde_json::Value>),
}

/// A value of a setting in a list of levels.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Listed {
    /// A text, a number, true or false.
    Value(Value),
    /// A table: a queue, a meter.
    Table(BTreeMap<String, serde_json::Value>),
}

/// The value of a setting.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum Value {
    /// A text, also of a quantity with its unit.
    Text(String),
    /// A whole number.
    Integer(i64),
    /// A number.
    Number(f64),
    /// True or false.
    Flag(bool),
}

/// A level, or several.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum LevelNames {
    /// One.
    One(String),
    /// Several.
    More(Vec<String>),
}

/// A setting that is varied continuously.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
#[schemars(rename = "Range")]
pub struct Span {
    /// Its name, which is a column of the results.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// The setting, as in `-s`.
    pub path: String,
    /// The smallest value: a number, or a quantity with its unit.
    pub from: Value,
    /// The largest value, in the same unit or another of its kind.
    pub to: Value,
    /// How the points are spread.
    #[serde(default)]
    pub scale: Scale,
}

/// How points are spread over a range.
#[derive(Clone, Copy, Debug, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Scale {
    /// Evenly.
    #[default]
    Linear,
    /// Evenly in the logarithm.
    Log,
}

/// Response that is measured in a run: a number, or one for each group of flows.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Response {
    /// Its name.
    #[schemars(length(min = 1, max = 64))]
    pub name: String,
    /// An expression over the tables of a run, or a function of Python: `my.py:p99`.
    #[schemars(extend("examples" = ["mean(flows.goodput_bit_s where class = 'premium')"]))]
    pub measure: String,
    /// Its unit, where that does not follow from the columns.
    #[serde(default)]
    #[schemars(with = "String", length(max = 32))]
    pub unit: Option<String>,
}

/// When to stop replicating.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Stop {
    /// The response whose interval decides.
    pub response: String,
    /// Half-width to reach, in every treatment and group: a part of the mean such as `2%`, or a number in the response's unit.
    pub half_width: HalfWidth,
    /// Most replications.
    #[schemars(range(min = 2, max = 1_000_000))]
    pub most: u32,
    /// Whether a treatment gets no more runs once its own intervals are narrow enough; otherwise all get as many.
    #[serde(default)]
    pub each: bool,
}

/// A half-width.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum HalfWidth {
    /// A percentage of the mean.
    Percent(String),
    /// A whole number, in the unit of the response.
    Integer(i64),
    /// A number, in the unit of the response.
    Number(f64),
}
