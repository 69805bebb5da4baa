//! Values that must be in range or in relation to one another, one element at a time.

use std::collections::BTreeSet;

use perhop_core::packet::ClassId;
use perhop_core::sched::PairedCounter;
use perhop_core::units::QueueSize;
use perhop_tcp::ack::MAX_DELAY;

use crate::check_tcp;
use crate::file::{Ack, AckPolicy, Class, PerDirection, Port, Queue, ScenarioFile, Scheduler, Selector};
use crate::names::Label;
use crate::report::Report;
use crate::suggest;
use crate::tree::{Step, steps};
use crate::units::{Limit, Size, Time};

/// Longest packet: the length field of an IPv4 header has 16 bits (RFC 791 section 3.1).
pub(crate) const LONGEST_PACKET: u64 = 65_535;
/// Most traffic classes: a packet carries the number of its class in a byte.
const MOST_TRAFFIC_CLASSES: usize = 256;

/// Checks every element of `file` by itself.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    run(file, report);
    for (i, link) in file.link.iter().enumerate() {
        let at = steps!["link", i, "pure_ack_size"];
        match &link.pure_ack_size {
            Some(PerDirection::Both(size)) => packet(*size, &at, report),
            Some(PerDirection::Each(sizes)) => {
                for (direction, size) in sizes {
                    packet(*size, &[&at[..], &steps![direction.clone()]].concat(), report);
                }
            }
            None => {}
        }
    }
    for (i, port) in file.port.iter().enumerate() {
        classes(port, i, report);
        scheduler(port, i, report);
    }
    let traffic: BTreeSet<&str> = file.flow.iter().map(|flow| flow.class.as_str()).collect();
    if traffic.len() > MOST_TRAFFIC_CLASSES {
        let rule = format!("flows of {} classes; there can be {MOST_TRAFFIC_CLASSES}", traffic.len());
        report.error(&steps!["flow"], rule, None);
    }
    for (i, flow) in file.flow.iter().enumerate() {
        check_tcp::check(&flow.tcp, &steps!["flow", i, "tcp"], report);
        ack(flow.ack, i, report);
    }
}

fn run(file: &ScenarioFile, report: &mut Report) {
    let run = &file.run;
    let at = steps!["run"];
    for (key, time) in [("duration", run.duration), ("interval", run.interval)] {
        if time.0.as_nanos() == 0 {
            report.error(&steps!["run", key], format!("{key} must be above zero"), None);
        }
    }
    let (warmup, duration) = (("warmup", run.warmup.to_string()), ("duration", run.duration.to_string()));
    if run.duration.0.as_nanos() > 0 {
        report.relation(&at, warmup, "must be below", duration, run.warmup.0 < run.duration.0);
    }
}

/// The length of a packet.
fn packet(size: Size, at: &[Step], report: &mut Report) {
    if size.0.0 == 0 {
        report.error(at, "a packet cannot be 0 bytes long", None);
    } else if size.0.0 > LONGEST_PACKET {
        report.error(at, format!("{size} is longer than an IPv4 packet can be ({LONGEST_PACKET}B)"), None);
    }
}

/// Longest that an ACK may wait.
const LONGEST_DELAY: Time = Time(MAX_DELAY);

/// When the receiver of flow number `i` acknowledges.
fn ack(ack: Ack, i: usize, report: &mut Report) {
    let Some(timeout) = ack.timeout else { return };
    let at = steps!["flow", i, "ack", "timeout"];
    match ack.policy {
        AckPolicy::EverySegment if report.is_sound(&steps!["flow", i, "ack", "policy"]) => {
            let hint = "add `policy = \"delayed\"`, or leave `timeout` out".to_owned();
            report.error(&at, "every segment is acknowledged at once: no ACK waits", Some(hint));
        }
        AckPolicy::Delayed if timeout.0.as_nanos() == 0 => {
            let hint = "write `policy = \"every-segment\"` for no delay".to_owned();
            report.error(&at, "a delay of zero is none", Some(hint));
        }
        AckPolicy::Delayed if timeout.0 > LONGEST_DELAY.0 => {
            let rule = format!("{timeout} is above {LONGEST_DELAY}, the longest that an ACK may wait");
            report.error(&at, rule, Some("RFC 1122 section 4.2.3.2 sets the bound".to_owned()));
        }
        AckPolicy::EverySegment | AckPolicy::Delayed => {}
    }
}

/// Which packets a class can match: data and ACKs without data.
fn kinds(class: &Class) -> [bool; 2] {
    let any = |selector| class.matches.iter().any(|m| *m == selector || *m == Selector::Any);
    [any(Selector::Data), any(Selector::PureAck)]
}

fn classes(port: &Port, i: usize, report: &mut Report) {
    let mut covered = [false; 2];
    for (j, class) in port.class.iter().enumerate() {
        if let Some(first) = port.class[..j].iter().position(|c| c.name == class.name) {
            let at = steps!["port", i, "class", j, "name"];
            if report.is_sound(&steps!["port", i, "class", first, "name"]) {
                report.error(&at, format!("the port already has a class `{}`", class.name), None);
            }
        }
        let mine = kinds(class);
        let takes = [mine[0] && !covered[0], mine[1] && !covered[1]];
        let earlier = (0..=j).all(|j| report.is_sound(&steps!["port", i, "class", j, "match"]));
        if takes == [false; 2] && earlier {
            let rule = "no packet can reach this class: earlier ones take all that it matches";
            let hint = "put it before them, or match fewer packets there";
            report.error(&steps!["port", i, "class", j, "match"], rule, Some(hint.to_owned()));
        }
        covered = [covered[0] || mine[0], covered[1] || mine[1]];
        let Queue::Fifo { limit } = class.queue;
        if matches!(limit, Limit(QueueSize::Packets(0) | QueueSize::Bytes(0))) {
            let at = steps!["port", i, "class", j, "queue", "limit"];
            report.error(&at, "a queue of 0 drops every packet", Some("write at least `1p`".to_owned()));
        }
    }
    let missing = match covered {
        [true, true] => return,
        [true, false] => ("ACKs without data", "pure-ack"),
        [false, true] => ("data", "data"),
        [false, false] => ("any packet", "any"),
    };
    let hint = format!("end with a class that takes the rest: `match = [\"any\"]` or `[\"{}\"]`", missing.1);
    report.error(&steps!["port", i, "class"], format!("no class takes {}", missing.0), Some(hint));
}

fn scheduler(port: &Port, i: usize, report: &mut Report) {
    let Scheduler::PairedCounter { data, share } = &port.scheduler else { return };
    let at = |key: &'static str| steps!["port", i, "scheduler", key];
    if let Err(error) = PairedCounter::new(ClassId(0), ClassId(1), *share) {
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
