//! Applications: that they stand where they can, and what they ask for.

use crate::lower::check::{count, sizes};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::units::Time;
use crate::written::application::{Application, TimeDistribution};
use crate::written::file::{Flow, Udp};
use crate::written::sources::Pattern;

/// Checks the application of flow number `i`.
pub(crate) fn of_flow(application: &Application, flow: &Flow, i: usize, report: &mut Report) {
    let at = steps!["flow", i, "application"];
    if flow.arrivals.is_some() {
        let hint = Some("leave one of them out, or write two flows".to_owned());
        report.error(&at, "`arrivals` says already what this flow sends", hint);
    }
    if flow.tcp.size.is_some() {
        let hint = Some("leave `size` out, or `application`".to_owned());
        report.error(&steps!["flow", i, "tcp", "size"], "the application says how much data there is", hint);
    }
    match application {
        Application::Requests { size, think } => {
            sizes(size, "a reply", &[&at[..], &steps!["size"]].concat(), report);
            times(think, &[&at[..], &steps!["think"]].concat(), report);
        }
        Application::Pages { main, object, think, connections, .. } => {
            let key = |key: &'static str| [&at[..], &steps![key]].concat();
            sizes(main, "an object", &key("main"), report);
            sizes(object, "an object", &key("object"), report);
            times(think, &key("think"), report);
            let each = flow.count.unwrap_or(1).saturating_mul(*connections);
            count(&key("connections"), each, flow.ports, report);
        }
        Application::Video { ladder, chunk, buffer, reservoir, cushion } => {
            let key = |key: &'static str| [&at[..], &steps![key]].concat();
            for (k, pair) in ladder.windows(2).enumerate().filter(|(_, pair)| pair[0].0 >= pair[1].0) {
                let rule = format!("{} does not rise above {}", pair[1], pair[0]);
                let hint = Some("write the lowest rate first".to_owned());
                report.error(&[&key("ladder")[..], &steps![k + 1]].concat(), rule, hint);
            }
            if chunk.0.as_nanos() == 0 {
                report.error(&key("chunk"), "a chunk has a length above zero", None);
            }
            let setting = |name, time: &Time| (name, time.to_string());
            let (top, most) = (Time(reservoir.0 + cushion.0), setting("buffer", buffer));
            report.relation(&at, setting("chunk", chunk), "must fit into", most.clone(), chunk.0 <= buffer.0);
            let relation = format!("with a reservoir of {reservoir} must fit into");
            report.relation(&at, setting("cushion", cushion), &relation, most, top.0 <= buffer.0);
        }
        Application::Call { .. } => {
            let hint = "write it in a [[udp]]; `requests`, `pages` and `video` are of a [[flow]]".to_owned();
            report.error(
                &[&at[..], &steps!["kind"]].concat(),
                "a `call` is of UDP, and this is TCP",
                Some(hint),
            );
        }
    }
}

/// Checks the application of UDP flow number `i`.
pub(crate) fn of_udp(application: &Application, flow: &Udp, i: usize, report: &mut Report) {
    let at = steps!["udp", i, "application"];
    if !matches!(application, Application::Call { .. }) {
        let rule = format!("`{}` is of TCP, and this is UDP", application.kind());
        let hint = "write it in a [[flow]]; a [[udp]] has `call`".to_owned();
        report.error(&[&at[..], &steps!["kind"]].concat(), rule, Some(hint));
    }
    if flow.pattern != Pattern::Cbr {
        let hint = Some("leave `pattern` out, or `application`".to_owned());
        report.error(&steps!["udp", i, "pattern"], "a call sends at a constant rate", hint);
    }
}

/// Lengths of time that are drawn have a mean.
fn times(times: &TimeDistribution, at: &[Step], report: &mut Report) {
    if let TimeDistribution::Exponential { mean } = times
        && mean.0.as_nanos() == 0
    {
        let hint = Some("write `kind = \"fixed\"` for a time that is always the same".to_owned());
        report.error(&[at, &steps!["mean"]].concat(), "a mean time must be above zero", hint);
    }
}
