//! Ports: every packet has a class, and every class what its scheduler needs.

use std::collections::BTreeSet;

use perhop_core::dscp::Dscp;
use perhop_core::packet::ClassId;
use perhop_core::param_error::ParamError;
use perhop_core::sched::{Cbq, Htb, PairedCounter, Shaped, StrictPriority, Wfq};
use perhop_core::units::BitRate;

use crate::build;
use crate::lower::check::queue::{possible, queue, refuse, refuse_with_hint};
use crate::lower::conditioner::marks_given;
use crate::lower::ports::{cbq_class, htb_class, model_selector, shaped, weights};
use crate::meant::model::{self, cells};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::marks::{Mark, MarkerAction};
use crate::words::names::Label;
use crate::words::suggest;
use crate::words::units::Size;
use crate::written::file::{Class, Port, ScenarioFile, Scheduler};
use crate::written::queue::Queue;
use crate::written::{defaults, port};

/// Checks every port by itself.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    let marks = marks_in_use(file, report);
    let packet_size = possible(file.run.packet_size);
    for (i, port) in file.port.iter().enumerate() {
        ends(port, i, report);
        classes(port, i, &marks, !file.flow.is_empty(), report);
        scheduler(port, i, report);
        if let Some(shaper) = &port.shaper
            && let Err(error) = Shaped::new(shaped(shaper), Box::new(StrictPriority))
        {
            refuse(&error, &steps!["port", i, "shaper"], report);
        }
        for (j, class) in port.class.iter().enumerate() {
            let at = steps!["port", i, "class", j];
            queue(&class.queue, packet_size, &[&at[..], &steps!["queue"]].concat(), report);
            holds_back_alone(port, class, &at, report);
            if report.is_sound(&steps!["port", i, "scheduler", "kind"]) {
                needs(class, &port.scheduler, &at, report);
            }
        }
    }
}

/// Port number `i` says where it is, and once.
fn ends(port: &Port, i: usize, report: &mut Report) {
    let both = "`between = [...]` is both directions of a link, `at` and `to` are one";
    for (key, what, end) in [("at", "sending", &port.at), ("to", "receiving", &port.to)] {
        let at = steps!["port", i, key];
        match (end.is_some(), port.between.is_some()) {
            (true, true) => {
                report.error(&at, format!("`{key}` is given beside `between`"), Some(both.to_owned()));
            }
            (false, false) => {
                let hint = format!("add `{key} = ...`, the {what} node; {both}");
                report.error(&at, format!("`{key}` is missing"), Some(hint));
            }
            _ => {}
        }
    }
}

/// Every mark that a packet of the scenario may have somewhere, as far as it is known.
fn marks_in_use(file: &ScenarioFile, report: &Report) -> BTreeSet<Dscp> {
    let tcp = file.flow.iter().enumerate().map(|(i, flow)| (steps!["flow", i, "mark"], flow.mark));
    let udp = file.udp.iter().enumerate().map(|(i, flow)| (steps!["udp", i, "mark"], flow.mark));
    let of_hosts = tcp.chain(udp).filter(|(at, _)| report.is_sound(at));
    let mut marks: BTreeSet<Dscp> = of_hosts.map(|(_, Mark(dscp))| dscp).collect();
    for conditioner in &file.conditioner {
        let marker = conditioner.marker;
        for MarkerAction(action) in [marker.green, marker.yellow, marker.red] {
            if let perhop_core::marker::Action::Remark(dscp) = action {
                marks.insert(dscp);
            }
        }
    }
    let data = marks.clone();
    let at_hosts = file.flow.iter().enumerate();
    let at_hosts =
        at_hosts.map(|(i, f)| (steps!["flow", i, "ack", "marking"].to_vec(), Some(&f.ack.marking)));
    let at_edges = file.conditioner.iter().enumerate();
    let at_edges =
        at_edges.map(|(i, c)| (steps!["conditioner", i, "ack_marking"].to_vec(), c.ack_marking.as_ref()));
    for (at, marking) in at_hosts.chain(at_edges) {
        if let Some(marking) = marking.filter(|_| report.is_sound(&at)) {
            marks.extend(marks_given(marking, &data));
        }
    }
    marks
}

/// Every class of port number `i` is reached, and every packet has one; ACKs are packets only where there is TCP.
fn classes(port: &Port, i: usize, marks: &BTreeSet<Dscp>, acks: bool, report: &mut Report) {
    let mut covered = [0u64; 2];
    for (j, class) in port.class.iter().enumerate() {
        if let Some(first) = port.class[..j].iter().position(|c| c.name == class.name) {
            let at = steps!["port", i, "class", j, "name"];
            if report.is_sound(&steps!["port", i, "class", first, "name"]) {
                report.error(&at, format!("the port already has a class `{}`", class.name), None);
            }
        }
        let mine = cells(class.matches.iter().map(model_selector));
        let takes = (mine[0] & !covered[0]) | (mine[1] & !covered[1]);
        let earlier = (0..=j).all(|j| report.is_sound(&steps!["port", i, "class", j, "match"]));
        if takes == 0 && earlier {
            let rule = "no packet can reach this class: earlier ones take all that it matches";
            let hint = "put it before them, or match fewer packets there";
            report.error(&steps!["port", i, "class", j, "match"], rule, Some(hint.to_owned()));
        }
        covered = [covered[0] | mine[0], covered[1] | mine[1]];
    }
    let missing = |covered: u64| marks.iter().find(|dscp| covered >> dscp.value() & 1 == 0);
    let what = match (missing(covered[0]), missing(covered[1]).filter(|_| acks)) {
        (None, None) => return,
        (Some(_), Some(_)) if covered == [0; 2] => ("any packet".to_owned(), "any".to_owned()),
        (Some(_), _) if covered[0] == 0 => ("data".to_owned(), "data".to_owned()),
        (_, Some(_)) if covered[1] == 0 => ("ACKs without data".to_owned(), "pure-ack".to_owned()),
        (Some(dscp), Some(_)) => (format!("packets marked {dscp}"), dscp.to_string()),
        (Some(dscp), None) => (format!("data marked {dscp}"), dscp.to_string()),
        (None, Some(dscp)) => (format!("ACKs without data that are marked {dscp}"), dscp.to_string()),
    };
    let hint = format!("end with a class that takes the rest: `match = [\"any\"]` or `[\"{}\"]`", what.1);
    report.error(&steps!["port", i, "class"], format!("no class takes {}", what.0), Some(hint));
}

/// A class whose queue holds packets back is the only one: a scheduler would take it for one that is empty.
fn holds_back_alone(port: &Port, class: &Class, at: &[Step], report: &mut Report) {
    if let Queue::Cake { rate: Some(rate), .. } = class.queue
        && port.class.len() > 1
    {
        let at = [at, &steps!["queue", "rate"]].concat();
        let rule = format!("rate ({rate}) needs a port without other classes");
        let hint = "leave `rate` out, or the classes: `tins` are classes by DS field";
        report.error(&at, rule, Some(hint.to_owned()));
    }
}

/// A class has what its scheduler needs of it, and nothing that another scheduler would need.
fn needs(class: &Class, scheduler: &Scheduler, at: &[Step], report: &mut Report) {
    let kind = match scheduler {
        Scheduler::StrictPriority => "strict-priority",
        Scheduler::PairedCounter { .. } => "paired-counter",
        Scheduler::Wrr => "wrr",
        Scheduler::Drr => "drr",
        Scheduler::Wfq => "wfq",
        Scheduler::Cbq => "cbq",
        Scheduler::Htb { .. } => "htb",
        Scheduler::Python { .. } => "python",
    };
    let weighted = if kind == "wfq" { "wfq" } else { "wrr" };
    let [turns, ranks] = if kind == "htb" { ["htb"; 2] } else { ["drr", "cbq"] };
    let settings = [
        ("weight", weighted, class.weight.is_some(), true),
        ("quantum", turns, class.quantum.is_some(), turns == "drr"),
        ("share", "cbq", class.share.is_some(), true),
        ("bounded", "cbq", class.bounded.is_some(), false),
        ("isolated", "cbq", class.isolated.is_some(), false),
        ("priority", ranks, class.priority.is_some(), false),
        ("maxidle", "cbq", class.maxidle.is_some(), false),
        ("minidle", "cbq", class.minidle.is_some(), false),
        ("offtime", "cbq", class.offtime.is_some(), false),
        ("gain", "cbq", class.gain.is_some(), false),
        ("rate", "htb", class.rate.is_some(), true),
        ("ceil", "htb", class.ceil.is_some(), false),
        ("burst", "htb", class.burst.is_some(), false),
        ("cburst", "htb", class.cburst.is_some(), false),
    ];
    for (key, of, given, needed) in settings {
        let at = [at, &steps![key]].concat();
        if given && of != kind {
            let hint = format!("it is for `scheduler = {{ kind = \"{of}\" }}`");
            report.error(&at, format!("`{kind}` has no use for `{key}`"), Some(hint));
        } else if needed && !given && of == kind {
            let hint = match key {
                "weight" if kind == "wfq" => {
                    "write its part of the link beside those of the others, as `weight = 1`"
                }
                "weight" => "write `weight = 1` for packets in turn",
                "quantum" => "write the longest packet, as `quantum = \"1500B\"`, or a multiple of it",
                "rate" => "write what it has for itself, as `rate = \"2Mbit/s\"`",
                _ => "write the fraction of the link that it is allocated, as `share = 0.3`",
            };
            let rule = format!("`{kind}` needs `{key}` of every class");
            report.error(&at, rule, Some(hint.to_owned()));
        }
    }
}

fn scheduler(port: &Port, i: usize, report: &mut Report) {
    if let Scheduler::PairedCounter { data, share } = &port.scheduler {
        return paired_counter(port, i, data, *share, report);
    }
    if let Scheduler::Htb { burst, .. } = &port.scheduler
        && let Err(error) = Htb::new(any_rate(), burst.0, &[htb_class(&port::classes()[0], any_rate())])
    {
        refuse(&error, &steps!["port", i, "scheduler"], report);
    }
    let mut sound = true;
    for (j, class) in port.class.iter().enumerate() {
        let at = steps!["port", i, "class", j];
        if let Err(error) = alone(class, &port.scheduler) {
            sound = false;
            let hint = (error.field == "offtime").then(|| {
                "add `bounded = true`, or leave `offtime` out: only a bounded class waits".to_owned()
            });
            refuse_with_hint(&error, &at, hint, report);
        }
    }
    if port.scheduler == Scheduler::Cbq && sound {
        shares(port, i, report);
    }
    if port.scheduler == Scheduler::Wfq && sound {
        common_multiple(port, i, report);
    }
}

/// The weights of port number `i` have a common multiple that is small enough.
fn common_multiple(port: &Port, i: usize, report: &mut Report) {
    let weights = weights(&port.class);
    if let Some(j) = (0..weights.len()).find(|j| Wfq::new(&weights[..=*j]).is_err()) {
        let rule = format!(
            "weight ({}) has no common multiple below 2^64 with those of the classes before it",
            weights[j]
        );
        let hint = "write smaller weights: percents that make 100 always have one".to_owned();
        report.error(&steps!["port", i, "class", j, "weight"], rule, Some(hint));
    }
}

/// The scheduler's verdict on its settings of `class`.
fn alone(class: &Class, scheduler: &Scheduler) -> Result<(), ParamError> {
    let given = match (scheduler, class) {
        (Scheduler::Wrr, Class { weight: Some(weight), .. }) => model::Scheduler::Wrr(vec![*weight]),
        (Scheduler::Wfq, Class { weight: Some(weight), .. }) => model::Scheduler::Wfq(vec![*weight]),
        (Scheduler::Drr, Class { quantum: Some(Size(quantum)), .. }) => model::Scheduler::Drr(vec![*quantum]),
        (Scheduler::Cbq, Class { share: Some(_), .. }) => model::Scheduler::Cbq(vec![cbq_class(class)]),
        (Scheduler::Htb { .. }, Class { rate: Some(rate), .. }) => {
            let classes = vec![htb_class(class, rate.0)];
            model::Scheduler::Htb { rate: rate.0, burst: defaults::burst().0, classes }
        }
        _ => return Ok(()),
    };
    build::own_scheduler(&given, any_rate()).map(drop)
}

/// A rate for checks that do not depend on the link's.
fn any_rate() -> BitRate {
    BitRate::new(1_000_000_000).unwrap_or_else(|| unreachable!("not zero"))
}

/// The classes of port number `i` have no more than the link.
fn shares(port: &Port, i: usize, report: &mut Report) {
    let at = |j: usize| steps!["port", i, "class", j, "share"];
    let given: Vec<_> = port.class.iter().filter(|class| class.share.is_some()).map(cbq_class).collect();
    if given.len() < port.class.len() || !(0..given.len()).all(|j| report.is_sound(&at(j))) {
        return;
    }
    if let Some(j) = (0..given.len()).find(|j| Cbq::new(any_rate(), &given[..=*j]).is_err()) {
        let sum = format!("{:.9}", given[..=j].iter().map(|class| class.share).sum::<f64>());
        let sum = sum.trim_end_matches('0').trim_end_matches('.');
        let rule = format!("share ({}) makes {sum} with those of the classes before it", given[j].share);
        let hint = "a link has 1 for all its classes together: lower the shares".to_owned();
        report.error(&at(j), rule, Some(hint));
    }
}

fn paired_counter(port: &Port, i: usize, data: &Label, share: f64, report: &mut Report) {
    let at = |key: &'static str| steps!["port", i, "scheduler", key];
    if let Err(error) = PairedCounter::new(ClassId(0), ClassId(1), share) {
        report.error(&at("share"), error.to_string(), None);
    }
    if !report.is_sound(&steps!["port", i, "class"]) {
        return;
    }
    if port.class.len() != 2 {
        let rule =
            format!("paired-counter shares a link between two classes; this port has {}", port.class.len());
        report.error(&at("kind"), rule, None);
    }
    if !port.class.iter().any(|class| class.name == *data) {
        let hint = suggest::among(data.as_str(), port.class.iter().map(|c| Label::as_str(&c.name)));
        report.error(&at("data"), format!("the port has no class `{data}`"), hint);
    }
}
