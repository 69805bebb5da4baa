//! Values that must be in range or in relation to one another, one element at a time.

mod application;
pub(crate) mod conditioner;
mod labels;
mod port;
pub(crate) mod queue;
mod tcp;

use std::collections::BTreeSet;

use perhop_tcp::ack::MAX_DELAY;

use crate::lower::tcp::{ack_policy, kernel_control};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::Clock;
use crate::words::units::{Size, Time};
use crate::written::defaults;
use crate::written::file::{Ack, AckPolicy, Arrivals, Flow, PerDirection, ScenarioFile, Udp};
use crate::written::sizes::SizeDistribution;
use crate::written::sources::Pattern;
use crate::written::tcp::Tcp;

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
    labels::check(file, report);
    port::check(file, report);
    conditioner::check(file, report);
    if file.flow.is_empty() && file.udp.is_empty() {
        let hint = "add a [[flow]], TCP, or a [[udp]]".to_owned();
        report.error(&steps!["flow"], "there is no traffic", Some(hint));
    }
    let traffic = conditioner::traffic_classes(file, report);
    if let Some(count) = traffic.as_ref().map(BTreeSet::len).filter(|count| *count > MOST_TRAFFIC_CLASSES) {
        let hint = Some("give flows that are treated alike the same `class`".to_owned());
        let rule = format!("the flows have {count} classes; there can be {MOST_TRAFFIC_CLASSES}");
        report.error(&steps!["flow"], rule, hint);
    }
    for (i, flow) in file.flow.iter().enumerate() {
        count(&steps!["flow", i, "count"], flow.count.unwrap_or(1), flow.ports, report);
        tcp::check(&flow.tcp, &steps!["flow", i, "tcp"], report);
        congestion_control(flow, i, file.run.clock, report);
        ack(&flow.ack, &flow.tcp, i, report);
        conditioner::ack_marking(
            &flow.ack.marking,
            traffic.as_ref(),
            &steps!["flow", i, "ack", "marking"],
            report,
        );
        if let Some(given) = &flow.arrivals {
            arrivals(given, flow, i, report);
        }
        if let Some(given) = &flow.application {
            application::of_flow(given, flow, i, report);
        }
    }
    for (i, flow) in file.udp.iter().enumerate() {
        count(&steps!["udp", i, "count"], flow.count.unwrap_or(1), flow.ports, report);
        udp(flow, file.run.packet_size, i, report);
        if let Some(given) = &flow.application {
            application::of_udp(given, flow, i, report);
        }
    }
    if let Some(size) = file.run.packet_size {
        packet(size, &steps!["run", "packet_size"], report);
    }
}

/// Flow number `i` has a congestion control that there is on this clock.
fn congestion_control(flow: &Flow, i: usize, clock: Clock, report: &mut Report) {
    if let (Clock::Virtual, Some(named)) = (clock, kernel_control(flow)) {
        let rule = format!("`{named}` is a kernel's congestion control, and virtual time has none");
        let hint = "`perhop emulate` runs the scenario on real packets";
        report.kernel_only(&steps!["flow", i, "tcp", "cc"], rule, hint.to_owned());
    }
}

/// There are as many ports of the sender as connections of a pair.
pub(crate) fn count(at: &[Step], count: u32, [first, _]: [u16; 2], report: &mut Report) {
    let available = u32::from(u16::MAX - first) + 1;
    if count > available {
        let rule =
            format!("{count} flows of a pair need as many ports, and from {first} on there are {available}");
        let hint = Some("begin lower, as in `ports = [1024, 5001]`, or write a second table".to_owned());
        report.error(at, rule, hint);
    }
}

/// Random transfers have a distance, sizes in order, and nothing beside them that says when or how much.
fn arrivals(arrivals: &Arrivals, flow: &Flow, i: usize, report: &mut Report) {
    let at = |key: &'static str| steps!["flow", i, key];
    let in_arrivals = |key: &'static str| [&at("arrivals")[..], &steps![key]].concat();
    how_often(arrivals, i, report);
    if arrivals.mean_interval.is_some_and(|time| time.0.as_nanos() == 0) {
        let rule = "there is no end to transfers that begin at no distance";
        report.error(&in_arrivals("mean_interval"), rule, Some("write a time above zero".to_owned()));
    }
    if flow.tcp.size.is_some() {
        let hint = Some("leave `size` out: `arrivals.size` says how they are distributed".to_owned());
        report.error(
            &[&at("tcp")[..], &steps!["size"]].concat(),
            "each transfer has a size of its own",
            hint,
        );
    }
    if flow.start_jitter.0.as_nanos() > 0 {
        let hint = Some("leave `start_jitter` out".to_owned());
        report.error(&at("start_jitter"), "transfers begin at random times already", hint);
    }
    if flow.count.is_some() {
        let hint = Some("leave `count` out, or take a shorter `mean_interval`".to_owned());
        report.error(&at("count"), "`arrivals` says how many transfers there are", hint);
    }
    sizes(&arrivals.size, "a transfer", &in_arrivals("size"), report);
}

/// The sizes at `at` are those of something, and in order.
pub(crate) fn sizes(sizes: &SizeDistribution, of: &str, at: &[Step], report: &mut Report) {
    let zero = |size: Size| size.0.0 == 0;
    let empty = match *sizes {
        SizeDistribution::Fixed { size } if zero(size) => "size",
        SizeDistribution::Exponential { mean } if zero(mean) => "mean",
        SizeDistribution::Pareto { min, .. } if zero(min) => "min",
        SizeDistribution::Lognormal { median, .. } if zero(median) => "median",
        SizeDistribution::Weibull { scale, .. } if zero(scale) => "scale",
        SizeDistribution::Pareto { min, max, .. } => {
            let (low, high) = (("min", min.to_string()), ("max", max.to_string()));
            return report.relation(at, low, "must be below", high, min.0 < max.0);
        }
        SizeDistribution::Fixed { .. }
        | SizeDistribution::Exponential { .. }
        | SizeDistribution::Lognormal { .. }
        | SizeDistribution::Weibull { .. } => return,
    };
    report.error(&[at, &steps![empty]].concat(), format!("{of} has at least one byte"), None);
}

/// Either a mean distance or a load says how often transfers begin.
fn how_often(arrivals: &Arrivals, i: usize, report: &mut Report) {
    let at = steps!["flow", i, "arrivals"];
    let of = |key: &'static str| [&at[..], &steps![key]].concat();
    match (arrivals.mean_interval, arrivals.load, &arrivals.link) {
        (Some(_), None, None) | (None, Some(_), Some(_)) => {}
        (None, None, None) => {
            let hint = r#"add `mean_interval = "100ms"`, or `load = 0.7` and the `link` that it is of"#;
            let rule = "nothing says how often transfers begin";
            report.error(&at, rule, Some(hint.to_owned()));
        }
        (Some(_), _, _) => {
            let key = if arrivals.load.is_some() { "load" } else { "link" };
            let hint = Some("leave one of them out".to_owned());
            report.error(&of(key), "`mean_interval` says how often transfers begin", hint);
        }
        (None, Some(_), None) => {
            let hint = Some("add `link = \"r->d\"`".to_owned());
            report.error(&of("load"), "a load is of the rate of a link, and `link` is missing", hint);
        }
        (None, None, Some(_)) => {
            report.error(&of("link"), "`load` is missing", Some("add `load = 0.7`".to_owned()));
        }
    }
}

fn udp(flow: &Udp, packet_size: Option<Size>, i: usize, report: &mut Report) {
    if let Some(size) = flow.packet_size {
        packet(size, &steps!["udp", i, "packet_size"], report);
    }
    if let Pattern::Capture { .. } = flow.pattern {
        for (key, is_given) in [("rate", flow.rate.is_some()), ("packet_size", flow.packet_size.is_some())] {
            if is_given {
                let hint = Some(format!("leave `{key}` out"));
                report.error(
                    &steps!["udp", i, key],
                    "a capture says when packets leave and how long they are",
                    hint,
                );
            }
        }
        return;
    }
    let default = flow.application.is_some().then(defaults::call_rate);
    let Some(rate) = flow.rate.or(default) else {
        let hint = "add `rate = \"100kbit/s\"`: rate on the wire; with `on-off` while it sends.";
        report.error(&steps!["udp", i, "rate"], "`rate` is missing", Some(hint.to_owned()));
        return;
    };
    let size = match flow.application {
        Some(_) => flow.packet_size.unwrap_or_else(defaults::call_packet),
        None => flow.packet_size.or(packet_size).unwrap_or_else(defaults::udp_packet),
    };
    if size.0.0 > 0 && u128::from(size.0.bits()) * 1_000_000_000 < u128::from(rate.0.bits_per_sec()) {
        let rule = format!("at {rate} a packet of {size} takes less than a nanosecond");
        let hint = "time is in whole nanoseconds: lower the rate or send longer packets".to_owned();
        report.error(&steps!["udp", i, "rate"], rule, Some(hint));
    }
    if let Pattern::OnOff { on, off } = flow.pattern {
        for (key, time) in [("on", on), ("off", off)] {
            if time.0.as_nanos() == 0 {
                let hint = Some("write `kind = \"cbr\"` for a flow that never pauses".to_owned());
                report.error(&steps!["udp", i, "pattern", key], "a mean time must be above zero", hint);
            }
        }
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
pub(crate) const LONGEST_DELAY: Time = Time(MAX_DELAY);

/// When the receiver of flow number `i` acknowledges.
fn ack(ack: &Ack, tcp: &Tcp, i: usize, report: &mut Report) {
    let Some(timeout) = ack.timeout else { return };
    let at = steps!["flow", i, "ack", "timeout"];
    match ack_policy(ack, tcp) {
        AckPolicy::EverySegment if report.is_sound(&steps!["flow", i, "ack", "policy"]) => {
            let hint = "add `policy = \"delayed\"`, or leave `timeout` out".to_owned();
            let cause = if ack.policy.is_some() { "policy" } else { "the profile's ack_delay" };
            let rule = format!(
                "{timeout} is for ACKs that wait, and {cause} has every segment acknowledged at once"
            );
            report.error(&at, rule, Some(hint));
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
