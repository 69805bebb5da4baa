//! From the file to the model: counts expanded, names resolved, ports put on their links.

mod capture;
pub(crate) mod check;
mod conditioner;
mod flows;
mod losses;
mod place_conditioner;
mod ports;
mod programs;
mod promises;
mod queue;
mod rate_trace;
mod resolve;
mod tcp;
mod transfers;
mod warnings;

use std::collections::BTreeMap;
use std::sync::Arc;

use perhop_core::gilbert_elliott::{GilbertElliott, GilbertElliottParams};
use perhop_core::rate_trace::RateTrace;
use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};

use crate::lower::resolve::{MOST, Names, Pairs};
use crate::meant::cost;
use crate::meant::elements::Elements;
use crate::meant::model;
use crate::meant::routes::{Route, routes};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, plain, steps};
use crate::words::files::FileName;
use crate::words::names::End;
use crate::words::suggest;
use crate::words::units::{Probability, Size, Time};
use crate::written::file::{self, BurstLoss, BurstLosses, Delay, PerDirection, ScenarioFile};
use losses::Places;
use warnings::Tables;

/// The scenario that `file` means. It is only complete if nothing was reported. Default ports are added to `file`.
pub(crate) fn lower(
    file: &mut ScenarioFile,
    elements: &dyn Elements,
    report: &mut Report,
) -> model::Scenario {
    let node = std::mem::take(&mut file.node);
    let (names, nodes) = Names::new(&node, report);
    let mut network = Network { names, nodes, links: Vec::new(), by_ends: BTreeMap::new(), complete: true };
    network.complete = network.names.is_complete();
    let joined = network.links(&file.link, file.run.duration.0, report);
    let ports = ports::place(file, &joined, &mut network, elements, report);
    let run = model::Run {
        seed: file.run.seed,
        replication: file.run.replication,
        duration: file.run.duration.0,
        warmup: file.run.warmup.0,
        interval: file.run.interval.0,
        processing_jitter: file.run.processing_jitter.0,
        packet_size: file.run.packet_size.map(|size| size.0),
        clock: file.run.clock,
        endpoint: file.run.endpoint,
        series: file.run.series.clone(),
    };
    let made = flows::make(file, &run, &network.names, (&network.links, elements), report);
    let (conditioners, of_conditioners) = place_conditioner::place(file, &network, &made, elements, report);
    let Network { nodes, links, by_ends, complete, .. } = network;
    let flows::Made { from_file, flows, udp_from_file, udp, applications, calls, flow_table, .. } = made;
    let flow_table = Arc::new(flow_table);
    let mut scenario =
        model::Scenario { run, nodes, links, conditioners, flows, udp, applications, calls, flow_table };
    let ways =
        if complete { check_routes(file, &scenario, &from_file, &udp_from_file, report) } else { None };
    if complete {
        check_series(&scenario, report);
    }
    let members = |pairs: &Pairs| pairs.iter().filter_map(|ends| by_ends.get(&ends)).copied().collect();
    let members = joined.iter().map(|pairs| pairs.as_ref().map_or_else(Vec::new, members)).collect();
    let places = Places { members, from_file, ways };
    losses::place(file, &places, &mut scenario, report);
    promises::check(file, &scenario, report);
    if let Some(ways) = &places.ways {
        let tables = Tables { ports: &ports, conditioners: &of_conditioners, flows: &places.from_file };
        warnings::find(file, &scenario, ways, &tables, report);
    }
    file.node = node;
    scenario
}

/// Puts the hashes of the files that were read into `file`, in place of what was written there.
pub(crate) fn pin_files(file: &mut ScenarioFile, report: &mut Report) {
    let unread: Vec<_> = file.files.keys().filter(|name| !report.read.contains_key(name)).cloned().collect();
    for name in unread {
        let at = steps!["files", name.to_string()];
        report.warn(
            &at,
            format!("nothing in the scenario names `{name}`"),
            Some("leave the line out".to_owned()),
        );
    }
    file.files = report.read.iter().map(|(name, read)| (name.clone(), read.sha256.clone())).collect();
}

/// Most values that the series of a run may hold: 400 MB.
const MOST_VALUES: u64 = 50_000_000;

/// The series must fit into memory.
fn check_series(scenario: &model::Scenario, report: &mut Report) {
    let (samples, columns) = cost::series(scenario);
    if samples.saturating_mul(columns) > MOST_VALUES {
        let rule = format!("{samples} samples of {columns} quantities are more than {MOST_VALUES} values");
        report.error(&steps!["run", "interval"], rule, Some("take a longer interval".to_owned()));
    }
}

/// Nodes and links made so far.
pub(crate) struct Network<'a> {
    /// The nodes by name.
    pub names: Names<'a>,
    /// The nodes.
    pub nodes: Vec<model::Node>,
    /// Both directions of each link, one after the other.
    pub links: Vec<model::Link>,
    /// Index of the direction from one node to another.
    pub by_ends: BTreeMap<(usize, usize), usize>,
    /// Whether every `[[link]]` could be made; if not, a missing link or way may only be missing here.
    pub complete: bool,
}

impl Network<'_> {
    /// Makes the links; returns the pairs of nodes that each `[[link]]` joins.
    fn links(&mut self, file: &[file::Link], run: Span, report: &mut Report) -> Vec<Option<Pairs>> {
        file.iter().enumerate().map(|(i, link)| self.link(link, i, run, report)).collect()
    }

    fn link(&mut self, link: &file::Link, i: usize, run: Span, report: &mut Report) -> Option<Pairs> {
        let [a, b] = &link.ends;
        let at = |end: usize| steps!["link", i, "ends", end];
        let pairs = self.names.join((a, &at(0)), (b, &at(1)), report);
        if let Some((node, _)) = pairs.and_then(|pairs| pairs.iter().find(|(from, to)| from == to)) {
            let rule = format!("a link needs two nodes, and both ends are `{}`", self.nodes[node].name);
            report.error(&at(1), rule, None);
            self.complete = false;
            return None;
        }
        let (a_to_b, b_to_a) =
            (format!("{}->{}", a.plain(), b.plain()), format!("{}->{}", b.plain(), a.plain()));
        let ends_sound = report.is_sound(&steps!["link", i, "ends"]);
        let names = ends_sound.then_some([a_to_b.as_str(), b_to_a.as_str()]);
        let rates = rates(link, names, i, run, report);
        let delays = delays(&link.delay, names, &steps!["link", i, "delay"], report);
        let sizes = link.pure_ack_size.as_ref().map_or([None; 2], |sizes| {
            directed(sizes, names, false, &steps!["link", i, "pure_ack_size"], report)
        });
        let losses = directed(&link.loss, names, false, &steps!["link", i, "loss"], report);
        let losses = losses.map(|loss| loss.map_or(0.0, |Probability(p)| p));
        let bursts = burst_losses(link, names, i, report);
        let Some(pairs) = pairs else {
            self.complete = false;
            return None;
        };
        pairs.warn_uneven(a, b, &at(1), report);
        one_delay(link, pairs, i, report);
        if self.links.len() / 2 + pairs.len > MOST {
            report.error(&steps!["link", i], format!("this makes more than {MOST} links"), None);
            self.complete = false;
            return None;
        }
        let ([Some(rate), Some(back)], Some(delays)) = (rates, delays) else {
            self.complete = false;
            return None;
        };
        let plain = [&rate, &back].map(|(rate, _)| Arc::new(ports::plain_settings(*rate)));
        self.links.reserve_exact(2 * pairs.len);
        for ((from, to), [delay, delay_back]) in pairs.iter().zip(delays.iter().cycle().copied()) {
            if self.by_ends.contains_key(&(from, to)) {
                let (x, y) = (&self.nodes[from].name, &self.nodes[to].name);
                let hint = "two nodes have one link; put a router between them for a second way";
                let rule = format!("`{x}` and `{y}` are already joined");
                report.error(&steps!["link", i, "ends"], rule, Some(hint.to_owned()));
                return None;
            }
            let one_way = |rate: &TracedRate, Time(delay), k: usize| OneWay {
                rate: rate.clone(),
                delay,
                pure_ack_size: sizes[k].map(|Size(bytes)| bytes),
                loss: losses[k],
                burst_loss: bursts[k],
            };
            self.add(from, to, one_way(&rate, delay, 0), &plain[0]);
            self.add(to, from, one_way(&back, delay_back, 1), &plain[1]);
        }
        Some(pairs)
    }

    /// Adds a direction of a link, with a `plain` port.
    fn add(&mut self, from: usize, to: usize, one_way: OneWay, plain: &Arc<model::PortSettings>) {
        let OneWay { rate: (rate, trace), delay, pure_ack_size, loss, burst_loss } = one_way;
        let name = format!("{}->{}", self.nodes[from].name, self.nodes[to].name);
        let path = format!("port.{}-{}", self.nodes[from].name, self.nodes[to].name);
        let (port, losses) = (model::Port { path, settings: Arc::clone(plain) }, Vec::new());
        self.by_ends.insert((from, to), self.links.len());
        let link =
            model::Link { name, from, to, rate, trace, delay, pure_ack_size, loss, burst_loss, losses, port };
        self.links.push(link);
    }
}

/// Settings of a direction of a link.
struct OneWay {
    rate: TracedRate,
    delay: Span,
    pure_ack_size: Option<Bytes>,
    loss: f64,
    burst_loss: Option<GilbertElliottParams>,
}

/// A rate in bit/s, and the trace that it is the mean of.
type TracedRate = (BitRate, Option<(FileName, Arc<RateTrace>)>);

/// The rates of both directions; a file for both is read once.
fn rates(
    link: &file::Link,
    names: Option<[&str; 2]>,
    i: usize,
    run: Span,
    report: &mut Report,
) -> [Option<TracedRate>; 2] {
    let at = steps!["link", i, "rate"];
    if let PerDirection::Both(rate) = &link.rate {
        let read = rate_trace::read(rate, run, &at, report);
        return [read.clone(), read];
    }
    let rates = directed(&link.rate, names, true, &at, report);
    let mut read = |k: usize| {
        let name = names.map_or(String::new(), |names| names[k].to_owned());
        rate_trace::read(rates[k].as_ref()?, run, &[&at[..], &steps![name]].concat(), report)
    };
    [read(0), read(1)]
}

/// The chains of both directions.
fn burst_losses(
    link: &file::Link,
    names: Option<[&str; 2]>,
    i: usize,
    report: &mut Report,
) -> [Option<GilbertElliottParams>; 2] {
    let (chains, is_list) = match &link.burst_loss {
        None => return [None, None],
        Some(BurstLosses::One(chain)) => (std::slice::from_ref(chain), false),
        Some(BurstLosses::More(chains)) => (&chains[..], true),
    };
    let mut found = [None, None];
    for (k, chain) in chains.iter().enumerate() {
        let at = [&steps!["link", i, "burst_loss"][..], &steps![k][..usize::from(is_list)]].concat();
        if !report.is_sound(&at) {
            continue;
        }
        let &BurstLoss { p, r, loss_good, loss_bad, .. } = chain;
        let params = GilbertElliottParams { p, r, loss_good, loss_bad };
        if let Err(error) = GilbertElliott::new(&params, Stream::new(0, 0, "")) {
            report.error(&at, format!("{} {}", error.field, error.rule), None);
        }
        let of = match (&chain.direction, names) {
            (None, _) => [true, true],
            (Some(_), None) => continue,
            (Some(own), Some(names)) => {
                let of = names.map(|name| plain(own) == name);
                if of == [false, false] {
                    let rule = format!("the link has no direction `{}`", suggest::short(own));
                    let hint = suggest::among(own, names.into_iter());
                    report.error(&[&at[..], &steps!["direction"]].concat(), rule, hint);
                }
                of
            }
        };
        for (found, _) in found.iter_mut().zip(of).filter(|(_, of)| *of) {
            if found.replace(params).is_some() {
                report.error(
                    &at,
                    "a direction has two chains",
                    Some("write one for each `direction`".to_owned()),
                );
            }
        }
    }
    found
}

/// Reports a list of delays where there is one link to take them.
fn one_delay(link: &file::Link, pairs: Pairs, i: usize, report: &mut Report) {
    if let (Delay::Turn(times), 0) = (&link.delay, pairs.breadth())
        && times.len() > 1
    {
        let (a, b) = (link.ends[0].plain(), link.ends[1].plain());
        let hint = format!("for each direction its own write `{{ \"{a}->{b}\" = ..., \"{b}->{a}\" = ... }}`");
        let rule = format!("{} delays for a single link: a list is for the links of `[*]`", times.len());
        report.error(&steps!["link", i, "delay"], rule, Some(hint));
    }
}

/// The delays of both directions that the links of a `[[link]]` take in turn.
fn delays(
    delay: &Delay,
    names: Option<[&str; 2]>,
    at: &[Step],
    report: &mut Report,
) -> Option<Vec<[Time; 2]>> {
    let each = match delay {
        Delay::Both(time) => return Some(vec![[*time; 2]]),
        Delay::Turn(times) => return Some(times.iter().map(|time| [*time; 2]).collect()),
        Delay::Each(times) => PerDirection::Each(times.clone()),
    };
    match directed(&each, names, true, at, report) {
        [Some(ahead), Some(back)] => Some(vec![[ahead, back]]),
        _ => None,
    }
}

/// The values for `names[0]` and `names[1]`, the two directions. `None` for names: the ends are not known.
fn directed<T: Clone>(
    value: &PerDirection<T>,
    names: Option<[&str; 2]>,
    both_needed: bool,
    at: &[Step],
    report: &mut Report,
) -> [Option<T>; 2] {
    let (values, names) = match (value, names) {
        (PerDirection::Both(value), _) => return [Some(value.clone()), Some(value.clone())],
        (PerDirection::Each(_), None) => return [None, None],
        (PerDirection::Each(values), Some(names)) => (values, names),
    };
    let mut out = [None, None];
    let mut unknown = false;
    for (key, value) in values {
        let at = [at, &steps![key.clone()]].concat();
        match names.iter().position(|name| plain(key) == *name) {
            Some(k) if out[k].is_some() => report.error(&at, "this direction is given twice", None),
            Some(k) => out[k] = Some(value.clone()),
            None => {
                unknown = true;
                let hint = suggest::among(key, names.into_iter());
                report.error(&at, format!("the link has no direction `{}`", suggest::short(key)), hint);
            }
        }
    }
    for (k, name) in names.into_iter().enumerate() {
        if both_needed && !unknown && out[k].is_none() {
            let hint = Some(format!("add \"{name}\" = ..., or write one value for both directions"));
            report.error(at, format!("there is no value for the direction `{name}`"), hint);
        }
    }
    out
}

/// Every flow has a way there and back, and no ACK of 0 bytes on it. Returns the ways if there are all.
fn check_routes(
    file: &ScenarioFile,
    scenario: &model::Scenario,
    from_file: &[usize],
    udp_from_file: &[usize],
    report: &mut Report,
) -> Option<Vec<Route>> {
    let name = |node: usize| &scenario.nodes[node].name;
    let ways = match routes(scenario) {
        Ok(ways) => ways,
        Err(without) => {
            let mut reported = None;
            for index in without {
                let (list, i, from, to) = match index.checked_sub(scenario.flows.len()) {
                    None => ("flow", from_file[index], scenario.flows[index].from, scenario.flows[index].to),
                    Some(k) => ("udp", udp_from_file[k], scenario.udp[k].from, scenario.udp[k].to),
                };
                if reported.replace((list, i)) != Some((list, i)) {
                    let rule = format!("no way leads from `{}` to `{}`", name(from), name(to));
                    let hint = "join them by links; only routers pass packets on".to_owned();
                    report.error(&steps![list, i, "to"], rule, Some(hint));
                }
            }
            return None;
        }
    };
    let mut reported = None;
    for (Route { reverse, .. }, (flow, i)) in ways.iter().zip(scenario.flows.iter().zip(from_file)) {
        let bare = reverse.iter().find(|link| scenario.links[**link].pure_ack_size.is_none());
        if let Some(link) = bare.filter(|_| flow.tcp.header.0 == 0 && reported != Some(*i)) {
            reported = Some(*i);
            let link = &scenario.links[*link];
            let rule = format!("with a header of 0 bytes an ACK would be 0 bytes long on `{}`", link.name);
            let hint = "give every link that the ACKs cross a pure_ack_size, or the flow a header";
            if file.link.iter().enumerate().all(|(i, _)| report.is_sound(&steps!["link", i, "pure_ack_size"]))
            {
                report.error(&steps!["flow", *i, "tcp", "header"], rule, Some(hint.to_owned()));
            }
        }
    }
    Some(ways)
}

/// The sending and the receiving end of one direction, as they are written.
pub(crate) fn ends_of(link: &file::Link, reverse: bool) -> (End, End) {
    let [a, b] = link.ends.clone();
    if reverse { (b, a) } else { (a, b) }
}
