//! Ports of the file put on the links they feed; links without one get the default port.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::lower::programs;
use crate::lower::queue::{model_queue, refuse_element};
use crate::lower::resolve::Pairs;
use crate::lower::{Network, ends_of};
use crate::meant::elements::Elements;
use crate::meant::model;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::marks::{Mark, Selector};
use crate::words::names::End;
use crate::words::units::{Rate, Size, Time};
use crate::written::defaults;
use crate::written::file::{self, Port, ScenarioFile, Scheduler};
use crate::written::port;
use crate::written::queue::Queue;
use perhop_core::framing::Framing;
use perhop_core::sched::{Cbq, CbqClass, HtbClass, ShapedParams};
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};

/// Which `[[port]]` a link has, and how much that means: less goes before more.
type Owner = Option<(u8, usize)>;

/// Puts the ports of `file` on the links, and adds to `file` those that it leaves to the defaults. Returns by link which
/// of those that were written it has.
pub(crate) fn place(
    file: &mut ScenarioFile,
    joined: &[Option<Pairs>],
    network: &mut Network,
    elements: &dyn Elements,
    report: &mut Report,
) -> Vec<Option<usize>> {
    limits_of_flows(&mut file.port, report);
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
    let rates_known = (0..file.link.len()).all(|k| report.is_sound(&steps!["link", k, "rate"]));
    let mut made = BTreeMap::new();
    for (link, owner) in network.links.iter_mut().zip(&owners) {
        let Some((_, i)) = *owner else { continue };
        let settings = made
            .entry((i, link.rate))
            .or_insert_with(|| Arc::new(settings(file, i, link.rate, elements, report)));
        link.port.settings = Arc::clone(settings);
        if rates_known {
            check_rates(link, i, report);
        }
    }
    owners.into_iter().map(|owner| owner.map(|(_, i)| i)).collect()
}

/// The settings of port number `i` in front of a link of `rate`, with what its elements from outside say of theirs.
fn settings(
    file: &ScenarioFile,
    i: usize,
    rate: BitRate,
    elements: &dyn Elements,
    report: &mut Report,
) -> model::PortSettings {
    let mut settings = port_settings(&file.port[i], rate, file.run.packet_size);
    if let model::Scheduler::Custom(scheduler) = &mut settings.scheduler {
        let at = steps!["port", i, "scheduler"];
        if programs::give(Some(&mut scheduler.code), file.run.clock, &at, report)
            && let Err(error) = elements.check_scheduler(scheduler)
        {
            refuse_element(error, &at, report);
        }
    }
    for (j, class) in settings.classes.iter_mut().enumerate() {
        let model::Queue::Custom(queue) = &mut class.queue else { continue };
        let at = steps!["port", i, "class", j, "queue"];
        if programs::give(queue.code.as_mut(), file.run.clock, &at, report)
            && let Err(error) = elements.check_queue(queue)
        {
            refuse_element(error, &at, report);
        }
    }
    settings
}

/// Gives the queues of flows the limit of all together, where none is written.
fn limits_of_flows(ports: &mut [Port], report: &Report) {
    for (i, port) in ports.iter_mut().enumerate() {
        for (j, class) in port.class.iter_mut().enumerate() {
            if let Queue::Fq { limit, queue, .. } = &mut class.queue
                && let Some(own) = queue.limit_of_a_flow()
                && !report.tree.is_written(&steps!["port", i, "class", j, "queue", "queue", "limit"])
            {
                *own = *limit;
            }
        }
    }
}

/// An end of a port, and where it is written.
type Place<'a> = (&'a End, Vec<Step>);

/// The directions that port number `i` is: from where, to where.
fn directions(port: &Port, i: usize) -> Vec<[Place<'_>; 2]> {
    let at = |key: &'static str| steps!["port", i, key].to_vec();
    match (&port.between, &port.at, &port.to) {
        (None, Some(from), Some(to)) => vec![[(from, at("at")), (to, at("to"))]],
        (Some([a, b]), None, None) => {
            let end = |end, k: usize| (end, [at("between"), vec![k.into()]].concat());
            vec![[end(a, 0), end(b, 1)], [end(b, 1), end(a, 0)]]
        }
        // what is there too much or too little was reported
        _ => Vec::new(),
    }
}

/// Port number `i` takes the links it is on.
fn claim(port: &Port, i: usize, network: &Network, owners: &mut [Owner], report: &mut Report) {
    for direction in directions(port, i) {
        if claim_direction(port, i, direction, network, owners, report).is_none() {
            return;
        }
    }
}

/// Port number `i` takes the links of one direction; nothing if it cannot.
fn claim_direction(
    port: &Port,
    i: usize,
    [(from, at), (to, at_to)]: [Place; 2],
    network: &Network,
    owners: &mut [Owner],
    report: &mut Report,
) -> Option<()> {
    let pairs = network.names.join((from, &at), (to, &at_to), report)?;
    if port.backpressure.is_some() && pairs.routers()[0] {
        let hint = "it holds back the host's own connections; a router has none";
        let rule = format!("`{from}` is a router: backpressure is for hosts");
        report.error(&steps!["port", i, "backpressure"], rule, Some(hint.to_owned()));
    }
    for ends in pairs.iter() {
        let Some(link) = network.by_ends.get(&ends) else {
            if network.complete {
                let hint = Some("a port is one direction of a [[link]]".to_owned());
                report.error(&at_to, format!("no link leads from `{from}` to `{to}`"), hint);
            }
            return None;
        };
        let owner = &mut owners[*link];
        match owner {
            Some((breadth, _)) if *breadth < pairs.breadth() => {}
            Some((breadth, other)) if *breadth == pairs.breadth() => {
                let name = &network.links[*link].name;
                let line = report.tree.line(&steps!["port", *other]);
                report.error(&at, format!("`{name}` already has a port, in line {line}"), None);
                return None;
            }
            _ => *owner = Some((pairs.breadth(), i)),
        }
    }
    Some(())
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
        at: Some(at),
        to: Some(to),
        between: None,
        backpressure: None,
        shaper: None,
        scheduler: port::scheduler(),
        class: port::classes(),
    };
    if pairs.iter().all(|ends| owner(ends).is_none_or(|(breadth, _)| breadth < pairs.breadth())) {
        ports.push(port(at, to));
        return;
    }
    // A port that means as much covers some of the members: those it leaves out are named one by one.
    for (k, ends) in pairs.iter().enumerate() {
        if owner(ends).is_none() {
            let (a, b) = pairs.members(k);
            let (a, b) = if reverse { (b, a) } else { (a, b) };
            ports.push(port(at.member(a), to.member(b)));
        }
    }
}

/// Port number `i` is slower than its link where it has a shaper, and its scheduler can give every class what it has of that.
fn check_rates(link: &model::Link, i: usize, report: &mut Report) {
    let port = &link.port;
    let rate = port.shaper.map_or(link.rate, |shaper| shaper.rate);
    if port.shaper.is_some() && link.trace.is_none() && rate >= link.rate {
        let at = steps!["port", i, "shaper", "rate"];
        let (own, most) = (Rate(rate), Rate(link.rate));
        let rule = format!("rate ({own}) must be below that of the link `{}`, {most}", link.name);
        report.error(&at, rule, Some("a link holds its port to its own rate: leave `shaper` out".to_owned()));
    }
    if let model::Scheduler::Htb { rate, classes, .. } = &port.scheduler {
        let at = |j: usize| steps!["port", i, "class", j, "rate"];
        let mut sums = classes.iter().scan(0, |sum, class| {
            *sum += u128::from(class.rate.bits_per_sec());
            Some(*sum)
        });
        let all_have_one = (0..classes.len()).all(|j| report.tree.is_written(&at(j)));
        if let Some(j) = sums.position(|sum| sum > u128::from(rate.bits_per_sec())).filter(|_| all_have_one) {
            let (own, most) = (Rate(classes[j].rate), Rate(*rate));
            let rule = format!(
                "rate ({own}) makes more than the {most} of `htb` with those of the classes before it"
            );
            report.error(&at(j), rule, Some("lower the rates, or raise that of the scheduler".to_owned()));
        }
    }
    let model::Scheduler::Cbq(classes) = &port.scheduler else { return };
    for (j, class) in classes.iter().enumerate() {
        // each by itself: what they are together, and whatever else a class has, does not depend on the rate
        if let Err(error) = Cbq::new(rate, std::slice::from_ref(class))
            && error.field == "share"
        {
            let rule = format!("share ({}) {}", class.share, error.rule);
            report.error(&steps!["port", i, "class", j, "share"], rule, None);
        }
    }
}

/// A port with every default, in front of a link of `rate`.
pub(crate) fn plain_settings(rate: BitRate) -> model::PortSettings {
    let classes = port::classes().iter().map(|class| model_class(class, rate, None)).collect();
    model::PortSettings {
        classes,
        scheduler: model::Scheduler::StrictPriority,
        shaper: None,
        backpressure: None,
    }
}

fn port_settings(port: &Port, link: BitRate, packet_size: Option<Size>) -> model::PortSettings {
    let shaper = port.shaper.as_ref().map(shaped);
    let rate = shaper.map_or(link, |shaper| shaper.rate);
    let scheduler = match &port.scheduler {
        Scheduler::StrictPriority => model::Scheduler::StrictPriority,
        Scheduler::PairedCounter { data, share } => {
            let data = port.class.iter().position(|class| class.name == *data).unwrap_or(0);
            model::Scheduler::PairedCounter { data, share: *share }
        }
        Scheduler::Wrr => model::Scheduler::Wrr(weights(&port.class)),
        Scheduler::Wfq => model::Scheduler::Wfq(weights(&port.class)),
        Scheduler::Drr => {
            let quantum = |class: &file::Class| class.quantum.map_or(Bytes(1), |size| size.0);
            model::Scheduler::Drr(port.class.iter().map(quantum).collect())
        }
        Scheduler::Cbq => model::Scheduler::Cbq(port.class.iter().map(cbq_class).collect()),
        Scheduler::Htb { rate: parent, burst } => model::Scheduler::Htb {
            rate: parent.map_or(rate, |parent| parent.0),
            burst: burst.0,
            classes: port.class.iter().map(|class| htb_class(class, rate)).collect(),
        },
        Scheduler::Python { file, name, settings } => model::Scheduler::Custom(model::CustomScheduler {
            name: name.to_string(),
            settings: settings.clone(),
            rate,
            classes: port.class.iter().map(|class| class.name.to_string()).collect(),
            code: model::Code::named(file),
        }),
    };
    let classes = port.class.iter().map(|class| model_class(class, rate, packet_size)).collect();
    model::PortSettings { classes, scheduler, shaper, backpressure: port.backpressure }
}

/// `shaper` as the element has it.
pub(crate) fn shaped(shaper: &port::PortShaper) -> ShapedParams {
    let framing = Framing { overhead: shaper.overhead.0, mpu: shaper.mpu.0 };
    ShapedParams { rate: shaper.rate.0, burst: shaper.burst.0, framing }
}

/// The rates that HTB gives `class`; `any` stands for a rate that is missing.
pub(crate) fn htb_class(class: &file::Class, any: BitRate) -> HtbClass {
    let rate = class.rate.map_or(any, |rate| rate.0);
    let burst = |given: Option<Size>| given.unwrap_or_else(defaults::burst).0;
    let tenth = Bytes((rate.bits_per_sec() / 80).clamp(1000, 200_000));
    HtbClass {
        rate,
        ceil: class.ceil.map_or(rate, |ceil| ceil.0),
        burst: burst(class.burst),
        cburst: burst(class.cburst),
        priority: class.priority.unwrap_or(0),
        quantum: class.quantum.map_or(tenth, |quantum| quantum.0),
    }
}

/// The weight of each class.
pub(crate) fn weights(classes: &[file::Class]) -> Vec<u32> {
    classes.iter().map(|class| class.weight.unwrap_or(1)).collect()
}

/// The share that CBQ allocates to `class`.
pub(crate) fn cbq_class(class: &file::Class) -> CbqClass {
    let plain = CbqClass::new(class.share.unwrap_or(1.0));
    let time = |given: Option<Time>, or: Span| given.map_or(or, |time| time.0);
    CbqClass {
        bounded: class.bounded.unwrap_or(plain.bounded),
        isolated: class.isolated.unwrap_or(plain.isolated),
        priority: class.priority.unwrap_or(plain.priority),
        maxidle: time(class.maxidle, plain.maxidle),
        minidle: time(class.minidle, plain.minidle),
        offtime: time(class.offtime, plain.offtime),
        gain: class.gain.or(plain.gain),
        ..plain
    }
}

pub(crate) fn model_selector(selector: &Selector) -> model::Selector {
    match selector {
        Selector::Any => model::Selector::Any,
        Selector::PureAck => model::Selector::PureAck,
        Selector::Data => model::Selector::Data,
        Selector::Mark(Mark(dscp)) => model::Selector::Mark(*dscp),
    }
}

fn model_class(class: &file::Class, rate: BitRate, packet_size: Option<Size>) -> model::Class {
    model::Class {
        name: class.name.to_string(),
        matches: class.matches.iter().map(model_selector).collect(),
        queue: model_queue(&class.queue, rate, packet_size),
    }
}
