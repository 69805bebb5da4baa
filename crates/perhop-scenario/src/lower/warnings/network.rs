//! Parts of the file that do not fit the network they are in: a port on the wrong side, promises and rates above a link, a
//! flow in the queue for another kind, a window that a host's own queue cannot hold.

use std::collections::{BTreeMap, BTreeSet};

use perhop_core::units::{Bytes, QueueSize};

use crate::lower::warnings::{Tables, class_of};
use crate::meant::model::{Meter, Per, Queue, Scenario};
use crate::meant::routes::Route;
use crate::read::mistakes::Report;
use crate::read::tree::steps;
use crate::words::choices::Growth;
use crate::words::congestion::CongestionControl;
use crate::words::units::{Limit, Rate, Size};
use crate::written::file::{self, ScenarioFile};
use crate::written::port::Scheduler;
use crate::written::queue;

/// How many flows, or pairs of addresses where those have the meters, that a conditioner meters last cross a link, by link
/// and conditioner.
pub(super) type Promised = BTreeMap<(usize, usize), u64>;

/// Warns of what does not fit the `ways` of the flows.
pub(super) fn find(
    file: &ScenarioFile,
    scenario: &Scenario,
    ways: &[Route],
    promised: &Promised,
    tables: &Tables,
    report: &mut Report,
) {
    ports_without_data(file, scenario, ways, tables, report);
    promises(scenario, promised, tables, report);
    rates(file, scenario, tables, report);
    identifiers(file, scenario, ways, tables, report);
    marks_unheard(file, report);
    windows(scenario, ways, tables, report);
}

/// A port whose queue drops early is in front of a link that data crosses, unless somebody thought of the marks of ACKs.
fn ports_without_data(
    file: &ScenarioFile,
    scenario: &Scenario,
    ways: &[Route],
    tables: &Tables,
    report: &mut Report,
) {
    let early =
        |link: &usize| scenario.links[*link].port.classes.iter().any(|class| class.queue.drops_early());
    let mut members: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (link, port) in tables.ports.iter().enumerate() {
        if let Some(i) = port.filter(|_| early(&link)) {
            members.entry(i).or_default().push(link);
        }
    }
    let marked_acks = file.conditioner.iter().any(|conditioner| conditioner.ack_marking.is_some())
        || file.flow.iter().any(|flow| flow.ack.marking != file::ack_marking());
    if members.is_empty() || marked_acks {
        return;
    }
    let data: BTreeSet<usize> = ways.iter().flat_map(|way| &way.forward).copied().collect();
    let acks: BTreeSet<usize> =
        ways[..scenario.flows.len()].iter().flat_map(|way| &way.reverse).copied().collect();
    for (i, links) in members {
        if links.iter().any(|link| data.contains(link)) {
            continue;
        }
        let port = &file.port[i];
        let what = if links.iter().any(|link| acks.contains(link)) { "ACKs only" } else { "no packet" };
        // The two directions of a link follow one another.
        let turned = links.iter().any(|link| data.contains(&(link ^ 1)));
        let hint = match (&port.at, &port.to) {
            (Some(at), Some(to)) if turned => {
                format!("data goes the other way: write `at = \"{to}\"` and `to = \"{at}\"`")
            }
            _ => "no flow sends data this way".to_owned(),
        };
        let key = if port.between.is_some() { "between" } else { "at" };
        report.warn(&steps!["port", i, key], format!("the queues of this port see {what}"), Some(hint));
    }
}

/// The rates that meters commit together fit the links.
fn promises(scenario: &Scenario, promised: &Promised, tables: &Tables, report: &mut Report) {
    let mut links: BTreeMap<usize, Vec<(usize, u128)>> = BTreeMap::new();
    for ((link, c), several) in promised {
        let conditioner = &scenario.conditioners[*c];
        let Some(cir) = conditioner.meter.as_ref().and_then(Meter::committed) else { continue };
        let times = if conditioner.per == Per::Aggregate { 1 } else { *several };
        links.entry(*link).or_default().push((*c, u128::from(cir.bits_per_sec()) * u128::from(times)));
    }
    // By `[[conditioner]]`: one that promises most on a link, and the link that is promised most often over.
    let mut worst: BTreeMap<usize, (u128, u128, usize)> = BTreeMap::new();
    for (link, parts) in links {
        let (sum, rate) = (parts.iter().map(|(_, part)| part).sum(), scenario.links[link].rate);
        let rate = u128::from(rate.bits_per_sec());
        let largest = parts.iter().max_by_key(|(c, part)| (*part, std::cmp::Reverse(*c)));
        if let Some((c, _)) = largest.filter(|_| sum > rate) {
            let worst = worst.entry(tables.conditioners[*c]).or_insert((sum, rate, link));
            if sum * worst.1 > worst.0 * rate {
                *worst = (sum, rate, link);
            }
        }
    }
    for (i, (sum, _, link)) in worst {
        let link = &scenario.links[link];
        let rate = Rate(link.rate);
        let sum = u64::try_from(sum).unwrap_or(u64::MAX);
        let sum = perhop_core::units::BitRate::new(sum).map_or(rate, Rate);
        let rule = format!("the meters commit {sum} on `{}`, which has {rate}", link.name);
        let hint = "traffic in profile there may exceed the capacity of the link: commit less".to_owned();
        report.warn(&steps!["conditioner", i, "meter", "cir"], rule, Some(hint));
    }
}

/// Rates of a port's scheduler and queues that stand for its link's are not above it, or above its shaper's.
fn rates(file: &ScenarioFile, scenario: &Scenario, tables: &Tables, report: &mut Report) {
    let mut warned = BTreeSet::new();
    for (link, i) in scenario.links.iter().zip(tables.ports) {
        let Some(i) = *i else { continue };
        let (most, whose) = match &link.port.shaper {
            Some(shaper) => (shaper.rate, "the port's `shaper`".to_owned()),
            None if link.trace.is_some() => continue,
            None => (link.rate, format!("the link `{}`", link.name)),
        };
        let port = &file.port[i];
        let scheduler = match port.scheduler {
            Scheduler::Htb { rate, .. } => rate,
            _ => None,
        };
        let scheduler =
            scheduler.map(|rate| (None, rate, "the guarantees of the classes may exceed the capacity"));
        let queues = port.class.iter().enumerate().filter_map(|(j, class)| match class.queue {
            queue::Queue::Cake { rate, .. } => {
                Some((Some(j), rate?, "nothing is shaped, and the tins share more than the link carries"))
            }
            queue::Queue::DocsisPie { rate, .. } => Some((Some(j), rate?, "the delay estimate is too short")),
            _ => None,
        });
        for (class, rate, effect) in scheduler.into_iter().chain(queues) {
            if rate.0 > most && warned.insert((i, class)) {
                let rule = format!("rate ({rate}) is above that of {whose}, {}: {effect}", Rate(most));
                let hint = Some("write less, or leave `rate` out".to_owned());
                match class {
                    Some(j) => report.warn(&steps!["port", i, "class", j, "queue", "rate"], rule, hint),
                    None => report.warn(&steps!["port", i, "scheduler", "rate"], rule, hint),
                }
            }
        }
    }
}

/// A flow with ECN waits in the queue of `dualpi2` that is for its congestion control.
fn identifiers(
    file: &ScenarioFile,
    scenario: &Scenario,
    ways: &[Route],
    tables: &Tables,
    report: &mut Report,
) {
    let mut warned = BTreeSet::new();
    for ((flow, way), i) in scenario.flows.iter().zip(ways).zip(tables.flows) {
        let CongestionControl::Own(cc) = file.flow[*i].tcp.cc else { continue };
        let (tcp, is_scalable) = (&flow.tcp.params, matches!(cc, Growth::Dctcp | Growth::Prague));
        if !tcp.ecn || tcp.ect1 == is_scalable || file.flow[*i].control.is_some() {
            continue;
        }
        let is_coupled = |link: &&usize| {
            let port = &scenario.links[**link].port;
            let queue = class_of(port, flow.mark).map(|class| &port.classes[class].queue);
            matches!(queue, Some(Queue::DualPi2(_) | Queue::LinuxDualPi2(_)))
        };
        if let Some(link) = way.forward.iter().find(is_coupled).filter(|_| warned.insert(*i)) {
            let (ect, queue, whose, hint) = match is_scalable {
                true => (0, "classic", "flows that halve", "write `ecn = \"ect1\"`"),
                false => (1, "L4S", "`dctcp` and `prague`", "write `ecn = true`, or `cc = \"prague\"`"),
            };
            let rule = format!(
                "ECT({ect}) takes this data into the {queue} queue of `dualpi2` on `{}`, whose marks are for {whose}",
                scenario.links[*link].name
            );
            report.warn(&steps!["flow", *i, "tcp", "ecn"], rule, Some(hint.to_owned()));
        }
    }
}

/// A flow asks for marks that its congestion control makes nothing of.
fn marks_unheard(file: &ScenarioFile, report: &mut Report) {
    for (i, flow) in file.flow.iter().enumerate() {
        if flow.tcp.cc == CongestionControl::Own(Growth::Bbr)
            && flow.tcp.ecn.is_on()
            && flow.control.is_none()
        {
            let hint = "write `ecn = false`: queues then drop its packets, which reduces its window for a round trip";
            let rule = "`bbr` ignores marks: they do not slow it down";
            report.warn(&steps!["flow", i, "tcp", "ecn"], rule.to_owned(), Some(hint.to_owned()));
        }
    }
}

/// A host whose own link is the narrowest on the way can keep the window of a connection in its queue and on the way.
fn windows(scenario: &Scenario, ways: &[Route], tables: &Tables, report: &mut Report) {
    let mut warned = BTreeSet::new();
    for ((flow, way), i) in scenario.flows.iter().zip(ways).zip(tables.flows) {
        let Some((first, rest)) = way.forward.split_first() else { continue };
        let first = &scenario.links[*first];
        let narrowest = rest.iter().all(|link| scenario.links[*link].rate > first.rate);
        let endless = flow.tcp.params.size.is_none();
        if !narrowest || !endless || first.port.backpressure.is_some() || warned.contains(i) {
            continue;
        }
        let delays = way.forward.iter().chain(&way.reverse).map(|link| scenario.links[*link].delay);
        let round_trip: u128 = delays.map(|delay| u128::from(delay.as_nanos())).sum();
        let on_the_way = round_trip * u128::from(first.rate.bits_per_sec()) / 8_000_000_000;
        let (window, mss) = (flow.tcp.params.window, flow.tcp.params.mss.0.max(1));
        let packets = u128::from(window.0 / mss);
        let longest = u128::from(mss + flow.tcp.header.0);
        let held = |limit: QueueSize| match limit {
            QueueSize::Packets(n) => u128::from(n),
            QueueSize::Bytes(n) => u128::from(n) / longest,
        };
        let Some(class) = class_of(&first.port, flow.mark) else { continue };
        let limit = first.port.classes[class].queue.limit();
        // One is being transmitted, and one is at each end.
        if packets > held(limit) + on_the_way / longest + 3 {
            warned.insert(*i);
            let rule = format!(
                "the window ({}) is more than the path and this host's own queue ({}) hold: the host drops its own packets",
                Size(Bytes(window.0)),
                Limit(limit)
            );
            let name = &first.name;
            let hint = format!(
                "a real host waits instead: write `backpressure` in a [[port]] of `{name}`, a smaller `tcp.window` or a \
                 larger `limit`"
            );
            report.warn(&steps!["flow", *i, "tcp", "window"], rule, Some(hint));
        }
    }
}
