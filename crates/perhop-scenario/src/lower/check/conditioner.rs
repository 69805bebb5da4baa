//! Conditioners: meters and shapers that can be built, marks and classes that exist, parts that need each other.

use std::collections::BTreeSet;

use perhop_core::marker::Action;
use perhop_core::rng::Stream;
use perhop_core::shaper::Shaper;
use perhop_core::sink::SiteId;
use perhop_core::units::{Bytes, QueueSize};

use crate::build::{MeterScope, own_meter};
use crate::lower::check::queue::{keys_are_marks, marks_of, possible, refuse};
use crate::lower::conditioner::{model_meter, model_shaper};
use crate::lower::queue::{TrialPacket, bytes};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::Per;
use crate::words::suggest;
use crate::words::units::{Limit, Size};
use crate::written::conditioner::{
    AckMarking, Carries, Conditioner, Direction, Match, Meter, Ports, Protocol,
};
use crate::written::file::ScenarioFile;

/// Checks every conditioner by itself.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    let classes = traffic_classes(file, report);
    let packet_size = possible(file.run.packet_size);
    for (i, conditioner) in file.conditioner.iter().enumerate() {
        let at = steps!["conditioner", i];
        let key = |key: &'static str| [&at[..], &steps![key]].concat();
        if let Some(first) = file.conditioner[..i].iter().position(|c| c.name == conditioner.name)
            && report.is_sound(&steps!["conditioner", first, "name"])
        {
            let line = report.tree.line(&steps!["conditioner", first]);
            let rule = format!("there already is a conditioner `{}`, in line {line}", conditioner.name);
            report.error(&key("name"), rule, None);
        }
        ports(&conditioner.matches, &key("match"), report);
        if let Some(marking) = &conditioner.ack_marking {
            ack_marking(marking, classes.as_ref(), &key("ack_marking"), report);
            no_acks(&conditioner.matches, &at, report);
        }
        if let Some(found) = &conditioner.meter {
            meter(found, packet_size, &key("meter"), report);
        }
        parts(conditioner, &at, report);
        colors_given(conditioner, &at, report);
        shaper(conditioner, packet_size, &key("shaper"), report);
    }
}

fn ports(matches: &Match, at: &[Step], report: &mut Report) {
    for (key, ports) in [("src_port", matches.src_port), ("dst_port", matches.dst_port)] {
        if let Some(Ports::Range([first, last])) = ports
            && first > last
        {
            let hint = Some(format!("write [{last}, {first}]"));
            report.error(&[at, &steps![key]].concat(), "a range goes from its first port to its last", hint);
        }
    }
}

/// Reports an `ack_marking`, of the conditioner at `at`, that no ACK gets to.
fn no_acks(matches: &Match, at: &[Step], report: &mut Report) {
    let key = |key: &'static str| [at, &steps!["match", key]].concat();
    let found = match matches {
        Match { kind: Some(Carries::Data), .. } => ("kind", "kind = \"data\"", "write `kind = \"pure-ack\"`"),
        Match { protocol: Some(Protocol::Udp), .. } => {
            ("protocol", "protocol = \"udp\"", "write `protocol = \"tcp\"`")
        }
        Match { direction: Some(Direction::Forward), .. } => {
            ("direction", "direction = \"forward\"", "write `direction = \"reverse\"`")
        }
        _ => return,
    };
    if report.is_sound(&key(found.0)) {
        let hint = Some(format!("{}, or leave it out", found.2));
        let rule = format!("no packet of this conditioner is an ACK: `match` has `{}`", found.1);
        report.error(&[at, &steps!["ack_marking"]].concat(), rule, hint);
    }
}

/// The classes of all flows; `None` if one of them is not known.
pub(crate) fn traffic_classes<'a>(file: &'a ScenarioFile, report: &Report) -> Option<BTreeSet<&'a str>> {
    let tcp = file.flow.iter().enumerate().map(|(i, flow)| (steps!["flow", i, "class"], &flow.class));
    let udp = file.udp.iter().enumerate().map(|(i, flow)| (steps!["udp", i, "class"], &flow.class));
    tcp.chain(udp).map(|(at, class)| report.is_sound(&at).then_some(class.as_str())).collect()
}

/// Marks and traffic classes of an ACK marking exist, the classes among `classes` if those are known.
pub(crate) fn ack_marking(
    marking: &AckMarking,
    classes: Option<&BTreeSet<&str>>,
    at: &[Step],
    report: &mut Report,
) {
    let at = [at, &steps!["marks"]].concat();
    match marking {
        AckMarking::PerClass { marks } => {
            let Some(classes) = classes else { return };
            for class in marks.keys().filter(|class| !classes.contains(class.as_str())) {
                let hint = suggest::among(class, classes.iter().copied());
                let rule = format!("no flow has the class `{}`", suggest::short(class));
                report.error(&[&at[..], &steps![class.clone()]].concat(), rule, hint);
            }
        }
        AckMarking::PerMark { marks, .. } => keys_are_marks(marks.keys(), &at, report),
        AckMarking::BestEffort | AckMarking::Copy { .. } => {}
    }
}

/// Reports the number of packets under `key` if nobody says how long they are; returns whether somebody does.
fn in_bytes(
    key: &'static str,
    limit: Limit,
    packet_size: Option<Size>,
    at: &[Step],
    report: &mut Report,
) -> bool {
    let known = bytes(limit, packet_size).is_some();
    if !known {
        let (QueueSize::Packets(n) | QueueSize::Bytes(n)) = limit.0;
        let long = Size(Bytes(n.saturating_mul(1500)));
        let hint = format!("add `packet_size = \"1500B\"` to [run], or write bytes, as `{key} = \"{long}\"`");
        let rule = format!("{key} is counted in bytes: {limit} needs the length of a packet");
        report.error(&[at, &steps![key]].concat(), rule, Some(hint));
    }
    known
}

fn meter(meter: &Meter, packet_size: Option<Size>, at: &[Step], report: &mut Report) {
    let bursts: &[(&'static str, Limit)] = match meter {
        Meter::TokenBucket { cbs, .. } => &[("cbs", *cbs)],
        Meter::SrTcm { cbs, ebs, .. } | Meter::TrTcmDiffserv { cbs, ebs, .. } => {
            &[("cbs", *cbs), ("ebs", *ebs)]
        }
        Meter::TrTcm { cbs, pbs, .. } => &[("cbs", *cbs), ("pbs", *pbs)],
        Meter::Tsw2cm { .. } | Meter::Tsw3cm { .. } | Meter::Custom { .. } | Meter::Python { .. } => &[],
        Meter::TcpFriendly { packet_size: own, .. } => {
            if own.or(packet_size).is_none() {
                let hint = Some("add `packet_size = \"1460B\"` here or to [run]".to_owned());
                report.error(&[at, &steps!["packet_size"]].concat(), "`packet_size` is missing", hint);
                return;
            }
            &[]
        }
    };
    let mut known = true;
    for (key, limit) in bursts {
        known &= in_bytes(key, *limit, packet_size, at, report);
    }
    if let Meter::TrTcm { cir, pir, .. } | Meter::Tsw3cm { cir, pir, .. } = meter {
        let (committed, peak) = (("cir", cir.to_string()), ("pir", pir.to_string()));
        known &= cir.0 <= pir.0;
        report.relation(at, committed, "must not exceed", peak, cir.0 <= pir.0);
    }
    if let Meter::SrTcm { color_aware, colors, .. }
    | Meter::TrTcm { color_aware, colors, .. }
    | Meter::TrTcmDiffserv { color_aware, colors, .. } = meter
    {
        let at = [at, &steps!["colors"]].concat();
        marks_of(colors, &at, report);
        if !colors.is_empty() && !color_aware {
            let hint = Some("add `color_aware = true`, or leave `colors` out".to_owned());
            report.error(&at, "a colour-blind meter does not look at marks", hint);
        }
    }
    // one from outside is checked by those who bring it, once it is in its place
    let built = own_meter(&model_meter(meter, packet_size), &MeterScope::One, Stream::new(0, 0, ""));
    if let (true, Err(error)) = (known, built) {
        refuse(&error, at, report);
    }
}

/// Every part of a conditioner is of use.
fn parts(conditioner: &Conditioner, at: &[Step], report: &mut Report) {
    let key = |key: &'static str| [at, &steps![key]].concat();
    let in_marker = |color: &'static str| [at, &steps!["marker", color]].concat();
    let Conditioner { ack_marking, per, meter, marker, shaper, .. } = conditioner;
    let actions = [("green", marker.green), ("yellow", marker.yellow), ("red", marker.red)];
    let shapes = actions.iter().find(|(_, action)| action.0 == Action::Shape);
    if let (Some((color, _)), None) = (shapes, shaper) {
        let hint = Some("add `shaper = { rate = \"1Mbit/s\", burst = \"15kB\" }`".to_owned());
        report.error(&in_marker(color), "there is no shaper to wait in", hint);
    }
    if shaper.is_some() && shapes.is_none() && report.is_sound(&key("marker")) {
        let hint = Some("write `shape` for a colour in `marker`, or leave `shaper` out".to_owned());
        report.error(&key("shaper"), "no colour is shaped", hint);
    }
    if *per != Per::Aggregate {
        match meter {
            None => {
                let hint = Some("add a `meter`, or leave `per` out".to_owned());
                report.error(&key("per"), "`per` is about the meter, and there is none", hint);
            }
            Some(Meter::TcpFriendly { .. }) if report.is_sound(&[at, &steps!["meter", "kind"]].concat()) => {
                let hint = Some("leave `per` out".to_owned());
                let rule = "the TCP-friendly marker shares its tokens among flows: it is one for all of them";
                report.error(&key("per"), rule, hint);
            }
            Some(_) => {}
        }
    }
    let idle = actions.iter().all(|(_, action)| action.0 == Action::Pass);
    if idle && ack_marking.is_none() {
        let hint = Some("write what is done with a colour, as `marker = { green = \"AF11\" }`".to_owned());
        report.error(&key("marker"), "this conditioner does nothing", hint);
    }
}

/// The marker does something with colours that the meter gives.
fn colors_given(conditioner: &Conditioner, at: &[Step], report: &mut Report) {
    let in_marker = |color: &'static str| [at, &steps!["marker", color]].concat();
    let Conditioner { meter, marker, .. } = conditioner;
    // What a meter that could not be read gives is not known.
    if !report.is_sound(&[at, &steps!["meter", "kind"]].concat()) {
        return;
    }
    let without = |kind: &str| match kind {
        "" => "without a meter every packet is green".to_owned(),
        kind => format!("a {kind} meter has two colours, green and red"),
    };
    let kind = match meter {
        None => "",
        Some(Meter::TokenBucket { .. }) => "token-bucket",
        Some(Meter::Tsw2cm { .. }) => "tsw2cm",
        Some(Meter::TcpFriendly { .. }) => "tcp-friendly",
        Some(
            Meter::SrTcm { .. }
            | Meter::TrTcm { .. }
            | Meter::TrTcmDiffserv { .. }
            | Meter::Tsw3cm { .. }
            | Meter::Custom { .. }
            | Meter::Python { .. },
        ) => {
            return;
        }
    };
    if marker.yellow.0 != Action::Pass {
        let three = if kind == "tsw2cm" { "`tsw3cm`" } else { "`sr-tcm` or `tr-tcm`" };
        let hint = Some(format!("take a meter of three colours, {three}, or leave `yellow` out"));
        report.error(&in_marker("yellow"), format!("no packet is yellow: {}", without(kind)), hint);
    }
    if meter.is_none() && marker.red.0 != Action::Pass {
        let hint = Some("add a `meter`, or write what is done with `green`".to_owned());
        report.error(&in_marker("red"), format!("no packet is red: {}", without(kind)), hint);
    }
}

fn shaper(conditioner: &Conditioner, packet_size: Option<Size>, at: &[Step], report: &mut Report) {
    let Some(shaper) = conditioner.shaper else { return };
    if !in_bytes("burst", shaper.burst, packet_size, at, report) {
        return;
    }
    if let Err(error) = Shaper::<TrialPacket>::new(SiteId(0), model_shaper(shaper, packet_size)) {
        refuse(&error, at, report);
    }
}
