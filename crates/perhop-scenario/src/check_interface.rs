//! Ports: every packet has a class, every class what its scheduler needs, every queue parameters that it survives.

use std::collections::BTreeSet;

use perhop_core::dscp::Dscp;
use perhop_core::packet::ClassId;
use perhop_core::param_error::ParamError;
use perhop_core::sched::{Cbq, Drr, PairedCounter, Wrr};
use perhop_core::units::{BitRate, Bytes, QueueSize};

use crate::file::{Class, Port, Queue, ScenarioFile, Scheduler, Selector};
use crate::interface::Colors;
use crate::lower_conditioner::marks_given;
use crate::lower_queue;
use crate::marks::{Mark, MarkerAction};
use crate::names::Label;
use crate::ports::cbq_class;
use crate::report::Report;
use crate::suggest;
use crate::tree::{Step, steps};
use crate::units::{Limit, Size};

/// Checks every port by itself.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    let marks = marks_in_use(file);
    for (i, port) in file.port.iter().enumerate() {
        classes(port, i, &marks, report);
        scheduler(port, i, report);
        for (j, class) in port.class.iter().enumerate() {
            let at = steps!["port", i, "class", j];
            queue(&class.queue, file.run.packet_size, &[&at[..], &steps!["queue"]].concat(), report);
            needs(class, &port.scheduler, &at, report);
        }
    }
}

/// Every mark that a packet of the scenario may have somewhere.
fn marks_in_use(file: &ScenarioFile) -> BTreeSet<Dscp> {
    let mut marks: BTreeSet<Dscp> = file.flow.iter().map(|flow| flow.mark.0).collect();
    marks.extend(file.udp.iter().map(|flow| flow.mark.0));
    for conditioner in &file.conditioner {
        let marker = conditioner.marker;
        for MarkerAction(action) in [marker.green, marker.yellow, marker.red] {
            if let perhop_core::marker::Action::Remark(dscp) = action {
                marks.insert(dscp);
            }
        }
    }
    let data = marks.clone();
    let at_hosts = file.flow.iter().map(|flow| &flow.ack.marking);
    let at_edges = file.conditioner.iter().filter_map(|conditioner| conditioner.ack_marking.as_ref());
    for marking in at_hosts.chain(at_edges) {
        marks.extend(marks_given(marking, &data));
    }
    marks
}

/// Which packets a class can match: the marks of data, and those of ACKs without data, one bit each.
fn cells(class: &Class) -> [u64; 2] {
    let mut cells = [0; 2];
    for selector in &class.matches {
        let [data, acks] = match selector {
            Selector::Any => [u64::MAX; 2],
            Selector::Data => [u64::MAX, 0],
            Selector::PureAck => [0, u64::MAX],
            Selector::Mark(Mark(dscp)) => [1 << dscp.value(); 2],
        };
        cells = [cells[0] | data, cells[1] | acks];
    }
    cells
}

fn classes(port: &Port, i: usize, marks: &BTreeSet<Dscp>, report: &mut Report) {
    let mut covered = [0u64; 2];
    for (j, class) in port.class.iter().enumerate() {
        if let Some(first) = port.class[..j].iter().position(|c| c.name == class.name) {
            let at = steps!["port", i, "class", j, "name"];
            if report.is_sound(&steps!["port", i, "class", first, "name"]) {
                report.error(&at, format!("the port already has a class `{}`", class.name), None);
            }
        }
        let mine = cells(class);
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
    let what = match (missing(covered[0]), missing(covered[1])) {
        (None, None) => return,
        (Some(_), Some(_)) if covered == [0; 2] => ("any packet".to_owned(), "any".to_owned()),
        (Some(_), _) if covered[0] == 0 => ("data".to_owned(), "data".to_owned()),
        (_, Some(_)) if covered[1] == 0 => ("ACKs without data".to_owned(), "pure-ack".to_owned()),
        (Some(dscp), _) | (None, Some(dscp)) => (format!("packets marked {dscp}"), dscp.to_string()),
    };
    let hint = format!("end with a class that takes the rest: `match = [\"any\"]` or `[\"{}\"]`", what.1);
    report.error(&steps!["port", i, "class"], format!("no class takes {}", what.0), Some(hint));
}

/// Reports what an element says of the settings at `at`.
pub(crate) fn refuse(error: &ParamError, at: &[Step], report: &mut Report) {
    let mut at = at.to_vec();
    at.extend(error.field.split('.').map(Step::from));
    let name = error.field.rsplit('.').next().unwrap_or(error.field);
    report.error(&at, format!("{name} {}", error.rule), None);
}

fn queue(queue: &Queue, packet_size: Option<Size>, at: &[Step], report: &mut Report) {
    if let Queue::Rio { colors, .. } | Queue::Gred { colors, .. } = queue {
        marks_of(colors, &[at, &steps!["colors"]].concat(), report);
    }
    match queue {
        Queue::Fifo { limit: Limit(QueueSize::Packets(0) | QueueSize::Bytes(0)) } => {
            let hint = Some("write at least `1p`".to_owned());
            report.error(&[at, &steps!["limit"]].concat(), "a queue of 0 drops every packet", hint);
        }
        _ => {
            if let Err(error) = lower_queue::validate(queue, packet_size) {
                refuse(&error, at, report);
            }
        }
    }
}

/// The keys of a table of colours are marks.
pub(crate) fn marks_of(colors: &Colors, at: &[Step], report: &mut Report) {
    keys_are_marks(colors.keys(), at, report);
}

/// Each of `keys`, in the table at `at`, is a mark.
pub(crate) fn keys_are_marks<'a>(keys: impl Iterator<Item = &'a String>, at: &[Step], report: &mut Report) {
    for key in keys {
        if let Err(error) = key.parse::<Mark>() {
            report.error(&[at, &steps![key.clone()]].concat(), error.rule, Some(error.hint));
        }
    }
}

/// A class has what its scheduler needs of it, and nothing that another scheduler would need.
fn needs(class: &Class, scheduler: &Scheduler, at: &[Step], report: &mut Report) {
    let kind = match scheduler {
        Scheduler::StrictPriority => "strict-priority",
        Scheduler::PairedCounter { .. } => "paired-counter",
        Scheduler::Wrr => "wrr",
        Scheduler::Drr => "drr",
        Scheduler::Cbq => "cbq",
    };
    let settings = [
        ("weight", "wrr", class.weight.is_some(), true),
        ("quantum", "drr", class.quantum.is_some(), true),
        ("share", "cbq", class.share.is_some(), true),
        ("bounded", "cbq", class.bounded.is_some(), false),
        ("isolated", "cbq", class.isolated.is_some(), false),
        ("priority", "cbq", class.priority.is_some(), false),
        ("maxidle", "cbq", class.maxidle.is_some(), false),
        ("minidle", "cbq", class.minidle.is_some(), false),
        ("offtime", "cbq", class.offtime.is_some(), false),
        ("gain", "cbq", class.gain.is_some(), false),
    ];
    for (key, of, given, needed) in settings {
        let at = [at, &steps![key]].concat();
        if given && of != kind {
            let hint = format!("it is for `scheduler = {{ kind = \"{of}\" }}`");
            report.error(&at, format!("`{kind}` has no use for `{key}`"), Some(hint));
        } else if needed && !given && of == kind {
            let hint = match key {
                "weight" => "write `weight = 1` for packets in turn",
                "quantum" => "write the longest packet, as `quantum = \"1500B\"`, or a multiple of it",
                _ => "write the fraction of the link that it is allocated, as `share = 0.3`",
            };
            let rule = format!("`{kind}` needs `{key}` of every class");
            report.error(&at, rule, Some(hint.to_owned()));
        }
    }
}

fn scheduler(port: &Port, i: usize, report: &mut Report) {
    let at = |key: &'static str| steps!["port", i, "scheduler", key];
    let of_class = |j: usize, key: &'static str| steps!["port", i, "class", j, key];
    let given = |key: &'static str, has: fn(&Class) -> bool| {
        port.class.iter().all(has) && (0..port.class.len()).all(|j| report.is_sound(&of_class(j, key)))
    };
    let found = match &port.scheduler {
        Scheduler::StrictPriority => Ok(()),
        Scheduler::PairedCounter { data, share } => return paired_counter(port, i, data, *share, report),
        Scheduler::Wrr if given("weight", |class| class.weight.is_some()) => {
            let weights: Vec<u32> = port.class.iter().filter_map(|class| class.weight).collect();
            Wrr::new(&weights).map(drop)
        }
        Scheduler::Drr if given("quantum", |class| class.quantum.is_some()) => {
            let quanta: Vec<Bytes> = port.class.iter().filter_map(|class| Some(class.quantum?.0)).collect();
            Drr::new(&quanta).map(drop)
        }
        Scheduler::Cbq if given("share", |class| class.share.is_some()) => {
            let shares: Vec<_> = port.class.iter().map(cbq_class).collect();
            let any_rate = BitRate::new(1_000_000_000).unwrap_or_else(|| unreachable!("not zero"));
            Cbq::new(any_rate, &shares).map(drop)
        }
        Scheduler::Wrr | Scheduler::Drr | Scheduler::Cbq => Ok(()),
    };
    if let Err(ParamError { rule, .. }) = found {
        report.error(&at("kind"), rule, None);
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
