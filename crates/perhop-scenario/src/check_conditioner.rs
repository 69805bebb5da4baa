//! Conditioners: meters and shapers that can be built, marks and classes that exist, parts that need each other.

use std::collections::BTreeSet;

use perhop_core::marker::Action;
use perhop_core::meter::{SrTcm, TcpFriendly, TokenBucket, TrTcm};
use perhop_core::shaper::Shaper;
use perhop_core::sink::SiteId;

use crate::check_interface::{keys_are_marks, marks_of, refuse};
use crate::conditioner::{AckMarking, Carries, Conditioner, Match, Meter, Per, Ports};
use crate::file::ScenarioFile;
use crate::lower_conditioner::{model_meter, model_shaper};
use crate::lower_queue::{Probe, bytes};
use crate::model;
use crate::report::Report;
use crate::suggest;
use crate::tree::{Step, steps};
use crate::units::{Limit, Size};

/// Checks every conditioner by itself.
pub(crate) fn check(file: &ScenarioFile, report: &mut Report) {
    let classes = file.flow.iter().map(|flow| flow.class.as_str());
    let classes: BTreeSet<&str> = classes.chain(file.udp.iter().map(|flow| flow.class.as_str())).collect();
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
            ack_marking(marking, &classes, &key("ack_marking"), report);
            if conditioner.matches.kind == Some(Carries::Data) {
                let hint = Some("write `kind = \"pure-ack\"`, or leave it out".to_owned());
                report.error(&key("ack_marking"), "`match` leaves every ACK out", hint);
            }
        }
        if let Some(found) = &conditioner.meter {
            meter(found, file.run.packet_size, &key("meter"), report);
        }
        parts(conditioner, &at, report);
        shaper(conditioner, file.run.packet_size, &key("shaper"), report);
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

/// Marks and traffic classes of an ACK marking exist.
pub(crate) fn ack_marking(marking: &AckMarking, classes: &BTreeSet<&str>, at: &[Step], report: &mut Report) {
    let at = [at, &steps!["marks"]].concat();
    match marking {
        AckMarking::PerClass { marks } => {
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
        let hint = "add `packet_size = \"1500B\"` to [run], or write bytes";
        let rule = format!("{limit} needs the length of a packet: a meter counts bytes");
        report.error(&[at, &steps![key]].concat(), rule, Some(hint.to_owned()));
    }
    known
}

fn meter(meter: &Meter, packet_size: Option<Size>, at: &[Step], report: &mut Report) {
    let bursts: &[(&'static str, Limit)] = match meter {
        Meter::TokenBucket { cbs, .. } => &[("cbs", *cbs)],
        Meter::SrTcm { cbs, ebs, .. } => &[("cbs", *cbs), ("ebs", *ebs)],
        Meter::TrTcm { cbs, pbs, .. } => &[("cbs", *cbs), ("pbs", *pbs)],
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
    if let Meter::SrTcm { color_aware, colors, .. } | Meter::TrTcm { color_aware, colors, .. } = meter {
        let at = [at, &steps!["colors"]].concat();
        marks_of(colors, &at, report);
        if !colors.is_empty() && !color_aware {
            let hint = Some("add `color_aware = true`, or leave `colors` out".to_owned());
            report.error(&at, "a colour-blind meter does not look at marks", hint);
        }
    }
    let built = match model_meter(meter, packet_size) {
        model::Meter::TokenBucket(params) => TokenBucket::new(params).map(drop),
        model::Meter::SrTcm(params) => SrTcm::new(params).map(drop),
        model::Meter::TrTcm(params) => TrTcm::new(params).map(drop),
        model::Meter::TcpFriendly(params) => TcpFriendly::new(params).map(drop),
    };
    if let (true, Err(error)) = (known, built) {
        refuse(&error, at, report);
    }
}

/// What a conditioner has is of use.
fn parts(conditioner: &Conditioner, at: &[Step], report: &mut Report) {
    let key = |key: &'static str| [at, &steps![key]].concat();
    let Conditioner { ack_marking, per, meter, marker, shaper, .. } = conditioner;
    let actions = [("green", marker.green), ("yellow", marker.yellow), ("red", marker.red)];
    let shapes = actions.iter().find(|(_, action)| action.0 == Action::Shape);
    if let (Some((color, _)), None) = (shapes, shaper) {
        let hint = Some("add `shaper = { rate = ..., burst = ... }`".to_owned());
        report.error(&[&key("marker")[..], &steps![*color]].concat(), "there is no shaper", hint);
    }
    if shaper.is_some() && shapes.is_none() {
        let hint = Some("write `shape` for a colour in `marker`".to_owned());
        report.error(&key("shaper"), "no colour is shaped", hint);
    }
    if *per == Per::Flow {
        match meter {
            None => report.error(&key("per"), "there is no meter", None),
            Some(Meter::TcpFriendly { .. }) => {
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
    let two_colors = matches!(meter, None | Some(Meter::TokenBucket { .. } | Meter::TcpFriendly { .. }));
    if two_colors && marker.yellow.0 != Action::Pass {
        let rule = "no packet is yellow: that takes a meter of three colours";
        report.error(&[&key("marker")[..], &steps!["yellow"]].concat(), rule, None);
    }
    if meter.is_none() && marker.red.0 != Action::Pass {
        let rule = "no packet is red: without a meter all are green";
        report.error(&[&key("marker")[..], &steps!["red"]].concat(), rule, None);
    }
}

fn shaper(conditioner: &Conditioner, packet_size: Option<Size>, at: &[Step], report: &mut Report) {
    let Some(shaper) = conditioner.shaper else { return };
    if !in_bytes("burst", shaper.burst, packet_size, at, report) {
        return;
    }
    if let Err(error) = Shaper::<Probe>::new(SiteId(0), model_shaper(shaper, packet_size)) {
        refuse(&error, at, report);
    }
}
