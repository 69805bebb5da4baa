//! Ports of the file put on the links they feed; links without one get the default port.

use crate::defaults;
use crate::file::{self, Port, Queue, ScenarioFile, Scheduler, Selector};
use crate::lower::{Network, ends_of};
use crate::model;
use crate::report::Report;
use crate::resolve::Pairs;
use crate::tree::steps;
use crate::units::Limit;

/// Which `[[port]]` a link has, and how many of its ends are `[*]`: fewer go before more.
type Owner = Option<(u8, usize)>;

/// Puts the ports of `file` on the links, and adds to `file` those that it leaves to the defaults.
pub(crate) fn place(
    file: &mut ScenarioFile,
    joined: &[Option<Pairs>],
    network: &mut Network,
    report: &mut Report,
) {
    let mut owners: Vec<Owner> = vec![None; network.links.len()];
    for (i, port) in file.port.iter().enumerate() {
        claim(port, i, network, &mut owners, report);
    }
    for (link, pairs) in file.link.iter().zip(joined) {
        if let Some(pairs) = pairs {
            for reverse in [false, true] {
                add_default(link, *pairs, reverse, network, &owners, &mut file.port);
            }
        }
    }
    for (link, owner) in network.links.iter_mut().zip(&owners) {
        if let Some((_, i)) = owner {
            link.port = model_port(&file.port[*i], std::mem::take(&mut link.port.path));
        }
    }
}

/// Port number `i` takes the links it is on.
fn claim(port: &Port, i: usize, network: &Network, owners: &mut [Owner], report: &mut Report) {
    let (at, to) = (steps!["port", i, "at"], steps!["port", i, "to"]);
    let Some(pairs) = network.names.join((&port.at, &at), (&port.to, &to), report) else { return };
    if port.backpressure.is_some() && pairs.routers()[0] {
        let hint = "it holds back the host's own connections; a router has none";
        let rule = format!("`{}` is a router: backpressure is for hosts", port.at);
        report.error(&steps!["port", i, "backpressure"], rule, Some(hint.to_owned()));
    }
    for ends in pairs.iter() {
        let Some(link) = network.by_ends.get(&ends) else {
            if network.complete {
                let hint = Some("a port is one direction of a [[link]]".to_owned());
                report.error(&to, format!("no link leads from `{}` to `{}`", port.at, port.to), hint);
            }
            return;
        };
        let owner = &mut owners[*link];
        match owner {
            Some((stars, _)) if *stars < pairs.stars() => {}
            Some((stars, other)) if *stars == pairs.stars() => {
                let name = &network.links[*link].name;
                let line = report.tree.line(&steps!["port", *other]);
                report.error(&at, format!("`{name}` already has a port, in line {line}"), None);
                return;
            }
            _ => *owner = Some((pairs.stars(), i)),
        }
    }
}

/// Writes the default port of one direction of a `[[link]]` into the file, where the file has none.
fn add_default(
    link: &file::Link,
    pairs: Pairs,
    reverse: bool,
    network: &Network,
    owners: &[Owner],
    ports: &mut Vec<Port>,
) {
    let index = |(a, b)| network.by_ends.get(&if reverse { (b, a) } else { (a, b) }).copied();
    let owner = |ends| index(ends).and_then(|link| owners[link]);
    if pairs.iter().all(|ends| owner(ends).is_some()) {
        return;
    }
    let (at, to) = ends_of(link, reverse);
    let port = |at, to| Port {
        at,
        to,
        backpressure: None,
        scheduler: defaults::scheduler(),
        class: defaults::classes(),
    };
    if pairs.iter().all(|ends| owner(ends).is_none_or(|(stars, _)| stars < pairs.stars())) {
        ports.push(port(at, to));
        return;
    }
    // A port with as many [*] covers some of the members: those it leaves out are named one by one.
    for (k, ends) in pairs.iter().enumerate() {
        if owner(ends).is_none() {
            ports.push(port(at.member(k), to.member(k)));
        }
    }
}

/// A port with every default.
pub(crate) fn plain_port(path: String) -> model::Port {
    let classes = defaults::classes().iter().map(model_class).collect();
    model::Port { path, classes, scheduler: model::Scheduler::StrictPriority, backpressure: None }
}

fn model_port(port: &Port, path: String) -> model::Port {
    let scheduler = match &port.scheduler {
        Scheduler::StrictPriority => model::Scheduler::StrictPriority,
        Scheduler::PairedCounter { data, share } => {
            let data = port.class.iter().position(|class| class.name == *data).unwrap_or(0);
            model::Scheduler::PairedCounter { data, share: *share }
        }
    };
    let classes = port.class.iter().map(model_class).collect();
    model::Port { path, classes, scheduler, backpressure: port.backpressure }
}

fn model_class(class: &file::Class) -> model::Class {
    let matches = class.matches.iter().map(|selector| match selector {
        Selector::Any => model::Selector::Any,
        Selector::PureAck => model::Selector::PureAck,
        Selector::Data => model::Selector::Data,
    });
    let Queue::Fifo { limit: Limit(limit) } = class.queue;
    model::Class {
        name: class.name.to_string(),
        matches: matches.collect(),
        queue: model::Queue::Fifo { limit },
    }
}
