//! Labels can be columns of a table: their names, their values and how many there are.

use std::collections::BTreeSet;

use crate::read::mistakes::Report;
use crate::read::tree::steps;
use crate::words::labels::{Labels, OWN_COLUMNS};
use crate::words::names::LONGEST_NAME;
use crate::words::suggest;
use crate::written::file::ScenarioFile;

/// Most names of labels in a scenario: each is a column with a value for every flow.
const MOST_LABELS: usize = 16;

/// Checks the labels of every flow.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    let tcp = file.flow.iter().enumerate().map(|(i, flow)| ("flow", i, &flow.labels));
    let udp = file.udp.iter().enumerate().map(|(i, flow)| ("udp", i, &flow.labels));
    let mut names = BTreeSet::new();
    for (list, i, labels) in tcp.chain(udp) {
        one(list, i, labels, report);
        let before = names.len();
        names.extend(labels.keys().map(String::as_str));
        if before <= MOST_LABELS && names.len() > MOST_LABELS {
            let rule = format!("the flows have more than {MOST_LABELS} labels, the most a scenario may have");
            report.error(&steps![list, i, "labels"], rule, Some("use the same names".to_owned()));
        }
    }
}

/// Checks the labels of number `i` of `list`.
fn one(list: &'static str, i: usize, labels: &Labels, report: &mut Report) {
    for (name, value) in labels {
        let at = steps![list, i, "labels", name.clone()];
        if let Some((rule, hint)) = refused(name) {
            report.error_at_key(&at, rule, Some(hint.to_owned()));
        }
        let length = value.chars().count();
        if value.is_empty() {
            let hint = "leave the label out: a flow without it has none in the tables".to_owned();
            report.error(&at, "the value of a label cannot be empty", Some(hint));
        } else if length > LONGEST_NAME {
            let hint = Some("choose a shorter one".to_owned());
            report.error(&at, format!("{length} characters: {LONGEST_NAME} are the most"), hint);
        }
    }
}

/// Why `name` cannot be the name of a column, and a hint.
fn refused(name: &str) -> Option<(String, &'static str)> {
    let shown = suggest::short(name);
    let length = name.chars().count();
    if length > LONGEST_NAME {
        return Some((format!("{length} characters: {LONGEST_NAME} are the most"), "choose a shorter one"));
    }
    if OWN_COLUMNS.contains(&name) {
        let rule = format!("`{shown}` is a column that the tables of flows have already");
        return Some((rule, "choose another name"));
    }
    let begins = name.chars().next().is_some_and(char::is_alphabetic);
    if !begins || name.chars().any(|c| !c.is_alphanumeric() && c != '_') {
        let rule = format!("`{shown}` cannot be a label: it is to be the name of a column");
        return Some((rule, "begin with a letter; use letters, digits and `_`"));
    }
    None
}
