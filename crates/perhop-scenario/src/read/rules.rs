//! The demands of the JSON Schema on a value.

use serde_json::Value as Json;

use crate::words::congestion::KernelControl;
use crate::words::files::FileName;
use crate::words::link_rate::LinkRate;
use crate::words::marks::{Mark, MarkerAction, Selector};
use crate::words::names::{End, Label, NodeName};
use crate::words::units::{Limit, Phase, Rate, Size, Time, UnitError};

/// The schema that `schema` refers to in `root`, or itself.
pub(crate) fn resolve<'a>(root: &'a Json, schema: &'a Json) -> &'a Json {
    let target = schema["$ref"].as_str().and_then(|path| root.pointer(path.strip_prefix('#')?));
    target.unwrap_or(schema)
}

/// The tables of a file in which `key` may stand, as they are written: `[[port.class]]`; `None` where there is none, or many,
/// or where one of them is `here`, of another kind.
pub(crate) fn elsewhere(root: &Json, key: &str, here: &str) -> Option<String> {
    let mut found = Vec::new();
    find(root, root, key, "", &mut found);
    found.dedup();
    if found.iter().any(|at| at.trim_matches(['[', ']']) == here) {
        return None;
    }
    (1..=MOST_PLACES).contains(&found.len()).then(|| found.join(" or "))
}

/// More places than that say nothing.
const MOST_PLACES: usize = 3;
/// Tables within tables of a file.
const DEEPEST: usize = 4;

/// Finds `key` in the tables below `rules`, which stands at `path`.
fn find(root: &Json, rules: &Json, key: &str, path: &str, found: &mut Vec<String>) {
    if path.split('.').count() > DEEPEST {
        return;
    }
    let kinds = rules["oneOf"].as_array().into_iter().flatten().map(|kind| resolve(root, kind));
    for properties in std::iter::once(rules).chain(kinds).filter_map(|table| table["properties"].as_object())
    {
        for (name, property) in properties {
            let below = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
            let one = resolve(root, property);
            let (table, written) = match one["type"].as_str() {
                Some("array") => (resolve(root, &one["items"]), format!("[[{below}]]")),
                _ => (one, format!("[{below}]")),
            };
            // a queue within a queue says nothing of where a queue stands
            if name != key && has(root, table, key) {
                found.push(written);
            }
            find(root, table, key, &below, found);
        }
    }
}

/// The setting of the table at `path`, such as `flow.tcp`, that may have the value `word`.
pub(crate) fn taking<'a>(root: &'a Json, path: &str, word: &str) -> Option<&'a str> {
    let table = path.split('.').try_fold(root, |table, key| {
        let one = resolve(root, table["properties"].get(key)?);
        Some(if one["type"] == "array" { resolve(root, &one["items"]) } else { one })
    })?;
    let takes = |property: &Json| {
        let words = resolve(root, property)["oneOf"].as_array();
        words.into_iter().flatten().any(|one| one["const"] == word)
    };
    let found = table["properties"].as_object()?.iter().find(|(_, property)| takes(property));
    found.map(|(name, _)| name.as_str())
}

/// The setting whose table may be of kind `word`, as `tag` says.
pub(crate) fn of_kind(root: &Json, tag: &str, word: &str) -> Option<String> {
    let is = |kinds: &Vec<Json>| kinds.iter().any(|kind| kind["properties"][tag]["const"] == word);
    let mut tables = root["$defs"].as_object()?.iter();
    let (name, _) = tables.find(|(_, rules)| rules["oneOf"].as_array().is_some_and(is))?;
    Some(name.to_ascii_lowercase())
}

/// Whether a table, or one of its kinds, has `key`.
fn has(root: &Json, table: &Json, key: &str) -> bool {
    let in_kinds = || {
        table["oneOf"]
            .as_array()
            .is_some_and(|kinds| kinds.iter().any(|kind| has(root, resolve(root, kind), key)))
    };
    table["properties"].get(key).is_some() || in_kinds()
}

/// A value that `schema` permits, in place of one that it does not.
pub(crate) fn placeholder(root: &Json, schema: &Json) -> Json {
    let rules = resolve(root, schema);
    let given = [&schema["default"], &rules["const"], &rules["examples"][0], &rules["minimum"]];
    if let Some(value) = given.into_iter().find(|value| !value.is_null()) {
        return value.clone();
    }
    for key in ["oneOf", "anyOf"] {
        if let Some(variants) = rules[key].as_array() {
            return placeholder(root, &variants[0]);
        }
    }
    match rules["type"].as_str() {
        Some("object") => {
            let keys = rules["required"].as_array().into_iter().flatten().filter_map(Json::as_str);
            keys.map(|key| (key.to_owned(), placeholder(root, &rules["properties"][key]))).collect()
        }
        Some("array") => {
            let count = rules["minItems"].as_u64().unwrap_or(0);
            (0..count).map(|_| placeholder(root, &rules["items"])).collect()
        }
        Some("number") => Json::from(0.5),
        Some("integer") => Json::from(0),
        Some("boolean") => Json::Bool(false),
        _ => Json::String(String::new()),
    }
}

/// The rules of a text with a `format`.
pub(crate) fn check_format(format: &str, text: &str) -> Result<(), UnitError> {
    match format {
        "rate-with-unit" => text.parse::<Rate>().map(drop),
        "link-rate" => text.parse::<LinkRate>().map(drop),
        "kernel-control" => text.parse::<KernelControl>().map(drop),
        "file-name" => text.parse::<FileName>().map(drop),
        "time-with-unit" => text.parse::<Time>().map(drop),
        "phase-with-unit" => text.parse::<Phase>().map(drop),
        "size-with-unit" => text.parse::<Size>().map(drop),
        "limit-with-unit" => text.parse::<Limit>().map(drop),
        "node-name" => text.parse::<NodeName>().map(drop),
        "label" => text.parse::<Label>().map(drop),
        "end" => text.parse::<End>().map(drop),
        "mark" => text.parse::<Mark>().map(drop),
        "marker-action" => text.parse::<MarkerAction>().map(drop),
        "selector" => text.parse::<Selector>().map(drop),
        _ => Ok(()),
    }
}
