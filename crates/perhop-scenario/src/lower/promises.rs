//! Promises to classes: that there is such a class, and that the bound is one of the quantity.

use std::collections::BTreeSet;

use crate::lower::check::conditioner::traffic_classes;
use crate::meant::model::Scenario;
use crate::read::mistakes::Report;
use crate::read::tree::steps;
use crate::words::suggest;
use crate::words::units::{Rate, Time, UnitError};
use crate::written::file::ScenarioFile;
use crate::written::promises::{Promised, Sla};

/// Reports promises that no run could keep or break.
pub(crate) fn check(file: &ScenarioFile, scenario: &Scenario, report: &mut Report) {
    let classes = traffic_classes(file, report);
    let mut made = BTreeSet::new();
    for (i, sla) in file.sla.iter().enumerate() {
        let (at_class, at_quantity, at_bound) =
            (steps!["sla", i, "class"], steps!["sla", i, "quantity"], steps!["sla", i, "bound"]);
        if !report.is_sound(&at_class) || !report.is_sound(&at_quantity) {
            continue;
        }
        let class = sla.class.as_str();
        if let Some(classes) = &classes
            && !classes.contains(class)
        {
            let hint = suggest::among(class, classes.iter().copied());
            report.error(&at_class, format!("there is no class of flows `{}`", suggest::short(class)), hint);
        } else if class.contains('"') && class.contains('\'') {
            let rule = "the measure of a promise has no name with both kinds of quotes".to_owned();
            report.error(&at_class, rule, Some("leave one kind out".to_owned()));
        } else if matches!(sla.quantity, Promised::TransferMean | Promised::TransferP95)
            && !has_transfers(class, file, scenario)
        {
            let rule = format!("no flow of the class `{}` is a transfer that ends", suggest::short(class));
            let hint = "promise goodput, loss or delays; load times of applications are claims".to_owned();
            report.error(&at_quantity, rule, Some(hint));
        }
        if !made.insert((class, sla.quantity)) {
            let rule = format!("`{}` is promised this already", suggest::short(class));
            report.error(&at_quantity, rule, Some("keep the tighter bound".to_owned()));
        }
        if report.is_sound(&at_bound)
            && let Err((rule, hint)) = bound(sla)
        {
            report.error(&at_bound, rule, Some(hint));
        }
    }
}

/// Whether some flow of a class has a size; so it is said where none of its flows could be made.
fn has_transfers(class: &str, file: &ScenarioFile, scenario: &Scenario) -> bool {
    let mut own = scenario.flows.iter().filter(|flow| flow.class == class).peekable();
    let written = file.flow.iter().any(|flow| flow.class == class);
    if own.peek().is_none() { written } else { own.any(|flow| flow.size().is_some()) }
}

/// Whether the bound is one of its quantity; if not, the rule and a hint.
fn bound(sla: &Sla) -> Result<(), (String, String)> {
    let of = |error: UnitError| (error.rule, error.hint);
    match sla.quantity {
        Promised::Goodput => sla.bound.parse::<Rate>().map(drop).map_err(of),
        Promised::Loss => {
            let digits = |text: &&str| text.chars().all(|c| c.is_ascii_digit() || c == '.');
            let number = sla.bound.strip_suffix('%').map(str::trim).filter(digits);
            let number = number.and_then(|text| text.parse::<f64>().ok());
            match number {
                Some(percent) if (0.0..=100.0).contains(&percent) => Ok(()),
                _ => Err((
                    format!("`{}` is no percentage from 0 to 100", suggest::short(&sla.bound)),
                    "write `1%`".to_owned(),
                )),
            }
        }
        _ => sla.bound.parse::<Time>().map(drop).map_err(of),
    }
}
