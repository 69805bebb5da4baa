//! Promises to classes: that there is such a class, and that the bound is one of the quantity.

use std::collections::BTreeSet;

use crate::read::mistakes::Report;
use crate::read::tree::steps;
use crate::words::suggest;
use crate::words::units::{Rate, Time, UnitError};
use crate::written::file::ScenarioFile;
use crate::written::promises::{Promised, Sla};

/// Reports promises that no run could keep or break.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    let named = file.flow.iter().map(|flow| &flow.class).chain(file.udp.iter().map(|udp| &udp.class));
    let classes: BTreeSet<&str> = named.map(String::as_str).collect();
    let mut made = BTreeSet::new();
    for (i, sla) in file.sla.iter().enumerate() {
        let at = steps!["sla", i, "class"];
        let class = sla.class.as_str();
        if report.is_sound(&at) && !classes.contains(class) {
            let hint = suggest::among(class, classes.iter().copied());
            report.error(&at, format!("there is no class of flows `{}`", suggest::short(class)), hint);
        }
        if !made.insert((class, sla.quantity as u8)) {
            let rule = format!("`{}` is promised this already", suggest::short(class));
            report.error(&steps!["sla", i, "quantity"], rule, Some("keep the tighter bound".to_owned()));
        }
        if let Err((rule, hint)) = bound(sla) {
            report.error(&steps!["sla", i, "bound"], rule, Some(hint));
        }
    }
}

/// Whether the bound is one of its quantity; if not, the rule and a hint.
fn bound(sla: &Sla) -> Result<(), (String, String)> {
    let of = |error: UnitError| (error.rule, error.hint);
    match sla.quantity {
        Promised::Goodput => sla.bound.parse::<Rate>().map(drop).map_err(of),
        Promised::Loss => {
            let number = sla.bound.strip_suffix('%').and_then(|text| text.trim().parse::<f64>().ok());
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
