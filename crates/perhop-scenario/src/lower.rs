//! From the file to the model: counts expanded, names resolved, ports put on their links.

use std::collections::BTreeMap;

use crate::file::{self, PerDirection, ScenarioFile};
use crate::losses::{self, Places};
use crate::lower_tcp::{model_ack, model_tcp};
use crate::model;
use crate::names::End;
use crate::ports;
use crate::report::Report;
use crate::resolve::{MOST, Names, Pairs};
use crate::routes::{Route, routes};
use crate::suggest;
use crate::tree::{Step, plain, steps};
use crate::units::{Probability, Rate, Size, Time};

/// The scenario that `file` means. It is only complete if nothing was reported. Default ports are added to `file`.
pub(crate) fn lower(file: &mut ScenarioFile, report: &mut Report) -> model::Scenario {
    let node = std::mem::take(&mut file.node);
    let (names, nodes) = Names::new(&node, report);
    let mut network = Network { names, nodes, links: Vec::new(), by_ends: BTreeMap::new(), complete: true };
    network.complete = network.names.is_complete();
    let joined = network.links(&file.link, report);
    ports::place(file, &joined, &mut network, report);
    let flows = network.flows(&mut file.flow, report);
    let run = model::Run {
        seed: file.run.seed,
        replication: file.run.replication,
        duration: file.run.duration.0,
        warmup: file.run.warmup.0,
        interval: file.run.interval.0,
    };
    let Network { nodes, links, by_ends, complete, .. } = network;
    let (from_file, flows): (Vec<usize>, Vec<model::Flow>) = flows.into_iter().unzip();
    let mut scenario = model::Scenario { run, nodes, links, flows };
    let ways = if complete { check_routes(file, &scenario, &from_file, report) } else { None };
    if complete {
        check_series(&scenario, report);
    }
    let members = |pairs: &Pairs| pairs.iter().filter_map(|ends| by_ends.get(&ends)).copied().collect();
    let members = joined.iter().map(|pairs| pairs.as_ref().map_or_else(Vec::new, members)).collect();
    losses::place(file, &Places { members, from_file, ways }, &mut scenario, report);
    file.node = node;
    scenario
}

/// Most values that the series of a run may hold: 400 MB.
const MOST_VALUES: u64 = 50_000_000;

/// The series must fit into memory.
fn check_series(scenario: &model::Scenario, report: &mut Report) {
    let run = &scenario.run;
    let Some(samples) = run.duration.as_nanos().checked_div(run.interval.as_nanos()) else { return };
    let classes: usize = scenario.links.iter().map(|link| link.port.classes.len()).sum();
    let columns = 4 * scenario.flows.len() + 2 * scenario.links.len() + 2 * classes;
    if samples.saturating_mul(columns as u64) > MOST_VALUES {
        let rule = format!("{samples} samples of {columns} quantities are more than {MOST_VALUES} values");
        report.error(&steps!["run", "interval"], rule, Some("take a longer interval".to_owned()));
    }
}

/// Nodes and links made so far.
pub(crate) struct Network<'a> {
    /// The nodes by name.
    pub names: Names<'a>,
    nodes: Vec<model::Node>,
    /// Both directions of each link, one after the other.
    pub links: Vec<model::Link>,
    /// Index of the direction from one node to another.
    pub by_ends: BTreeMap<(usize, usize), usize>,
    /// Whether every `[[link]]` could be made; if not, a missing link or way may only be missing here.
    pub complete: bool,
}

impl Network<'_> {
    /// Makes the links; returns the pairs of nodes that each `[[link]]` joins.
    fn links(&mut self, file: &[file::Link], report: &mut Report) -> Vec<Option<Pairs>> {
        file.iter().enumerate().map(|(i, link)| self.link(link, i, report)).collect()
    }

    fn link(&mut self, link: &file::Link, i: usize, report: &mut Report) -> Option<Pairs> {
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
        let rates = directed(&link.rate, names, true, &steps!["link", i, "rate"], report);
        let delays = directed(&link.delay, names, true, &steps!["link", i, "delay"], report);
        let sizes = link.pure_ack_size.as_ref().map_or([None; 2], |sizes| {
            directed(sizes, names, false, &steps!["link", i, "pure_ack_size"], report)
        });
        let losses = directed(&link.loss, names, false, &steps!["link", i, "loss"], report);
        let losses = losses.map(|loss| loss.map_or(0.0, |Probability(p)| p));
        let Some(pairs) = pairs else {
            self.complete = false;
            return None;
        };
        if self.links.len() / 2 + pairs.len > MOST {
            report.error(&steps!["link", i], format!("this makes more than {MOST} links"), None);
            self.complete = false;
            return None;
        }
        let ([Some(rate), Some(back)], [Some(delay), Some(delay_back)]) = (rates, delays) else {
            self.complete = false;
            return None;
        };
        for (from, to) in pairs.iter() {
            if self.by_ends.contains_key(&(from, to)) {
                let (x, y) = (&self.nodes[from].name, &self.nodes[to].name);
                let hint = "two nodes have one link; put a router between them for a second way";
                let rule = format!("`{x}` and `{y}` are already joined");
                report.error(&steps!["link", i, "ends"], rule, Some(hint.to_owned()));
                return None;
            }
            let ahead = (from, to, rate, delay, sizes[0], losses[0]);
            let back = (to, from, back, delay_back, sizes[1], losses[1]);
            for (from, to, Rate(rate), Time(delay), size, loss) in [ahead, back] {
                let name = format!("{}->{}", self.nodes[from].name, self.nodes[to].name);
                let path = format!("port.{}-{}", self.nodes[from].name, self.nodes[to].name);
                let port = ports::plain_port(path);
                self.by_ends.insert((from, to), self.links.len());
                let pure_ack_size = size.map(|Size(bytes)| bytes);
                let losses = Vec::new();
                let link = model::Link { name, from, to, rate, delay, pure_ack_size, loss, losses, port };
                self.links.push(link);
            }
        }
        Some(pairs)
    }

    /// Makes the flows, each with the number of its `[[flow]]`.
    fn flows(&self, file: &mut [file::Flow], report: &mut Report) -> Vec<(usize, model::Flow)> {
        let mut flows = Vec::new();
        let mut seen: BTreeMap<String, usize> = BTreeMap::new();
        for (i, flow) in file.iter_mut().enumerate() {
            let at = |key: &'static str| steps!["flow", i, key];
            if report.is_sound(&at("name"))
                && let Some(first) = seen.insert(flow.name.to_string(), i)
            {
                let line = report.tree.line(&steps!["flow", first]);
                report.error(
                    &at("name"),
                    format!("there already is a flow `{}`, in line {line}", flow.name),
                    None,
                );
            }
            let Some(pairs) = self.names.join((&flow.from, &at("from")), (&flow.to, &at("to")), report)
            else {
                continue;
            };
            let [from_router, to_router] = pairs.routers();
            for (key, end, is_router) in [("from", &flow.from, from_router), ("to", &flow.to, to_router)] {
                if is_router {
                    let hint = "attach a host to it by a link of its own".to_owned();
                    report.error(
                        &at(key),
                        format!("`{end}` is a router; connections end at hosts"),
                        Some(hint),
                    );
                }
            }
            if flows.len() + pairs.len > MOST {
                report.error(&steps!["flow", i], format!("this makes more than {MOST} flows"), None);
                continue;
            }
            if pairs.iter().any(|(from, to)| from == to) {
                report.error(&at("to"), "a connection needs two hosts, and both are the same", None);
                continue;
            }
            let (tcp, ack) = (model_tcp(&mut flow.tcp), model_ack(&mut flow.ack));
            for (k, (from, to)) in pairs.iter().enumerate() {
                let name =
                    if pairs.stars() > 0 { format!("{}[{k}]", flow.name) } else { flow.name.to_string() };
                let (class, start, start_jitter) = (flow.class.clone(), flow.start.0, flow.start_jitter.0);
                flows.push((i, model::Flow { name, class, from, to, start, start_jitter, tcp, ack }));
            }
        }
        flows
    }
}

/// The values for `names[0]` and `names[1]`, the two directions. `None` for names: the ends are not known.
fn directed<T: Copy>(
    value: &PerDirection<T>,
    names: Option<[&str; 2]>,
    both_needed: bool,
    at: &[Step],
    report: &mut Report,
) -> [Option<T>; 2] {
    let (values, names) = match (value, names) {
        (PerDirection::Both(value), _) => return [Some(*value); 2],
        (PerDirection::Each(_), None) => return [None; 2],
        (PerDirection::Each(values), Some(names)) => (values, names),
    };
    let mut out = [None; 2];
    let mut unknown = false;
    for (key, value) in values {
        let at = [at, &steps![key.clone()]].concat();
        match names.iter().position(|name| plain(key) == *name) {
            Some(k) if out[k].is_some() => report.error(&at, "this direction is given twice", None),
            Some(k) => out[k] = Some(*value),
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
    report: &mut Report,
) -> Option<Vec<Route>> {
    let name = |node: usize| &scenario.nodes[node].name;
    let ways = match routes(scenario) {
        Ok(ways) => ways,
        Err(without) => {
            let mut said = None;
            for index in without {
                let (i, flow) = (from_file[index], &scenario.flows[index]);
                if said.replace(i) != Some(i) {
                    let rule = format!("no way leads from `{}` to `{}`", name(flow.from), name(flow.to));
                    let hint = "join them by links; only routers pass packets on".to_owned();
                    report.error(&steps!["flow", i, "to"], rule, Some(hint));
                }
            }
            return None;
        }
    };
    let mut said = None;
    for (Route { reverse, .. }, (flow, i)) in ways.iter().zip(scenario.flows.iter().zip(from_file)) {
        let bare = reverse.iter().find(|link| scenario.links[**link].pure_ack_size.is_none());
        if let Some(link) = bare.filter(|_| flow.tcp.header.0 == 0 && said != Some(*i)) {
            said = Some(*i);
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
