//! Chosen packets that a link drops or marks: put on the direction that the flow's data takes.

use std::collections::{BTreeMap, BTreeSet};

use crate::lower::tcp::{MOST_DATA, data};
use crate::meant::model::{ListedLoss, Scenario};
use crate::meant::routes::Route;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::suggest;
use crate::written::file::{Chosen, OneOrMore, ScenarioFile};

/// Where the links and flows of the model come from, and where the flows go.
pub(crate) struct Places {
    /// By `[[link]]`: both directions of its links, as far as they could be made.
    pub members: Vec<Vec<usize>>,
    /// By TCP flow: its `[[flow]]`.
    pub from_file: Vec<usize>,
    /// The way of each flow; `None` where some have none or are not known.
    pub ways: Option<Vec<Route>>,
}

/// Puts what the `[[link]]`s of `file` drop and mark on the links of `scenario`.
pub(crate) fn place(file: &ScenarioFile, places: &Places, scenario: &mut Scenario, report: &mut Report) {
    if file.link.iter().all(|link| link.drop.is_none() && link.mark.is_none()) {
        return;
    }
    let flows = scenario.flows.iter().enumerate().map(|(f, flow)| (flow.name.clone(), f)).collect();
    let made: BTreeSet<usize> = places.from_file.iter().copied().collect();
    let named = |i: usize| report.is_sound(&steps!["flow", i, "name"]) && made.contains(&i);
    let known = (0..file.flow.len()).all(named);
    let mut lists = Lists { file, places, scenario, report, flows, known };
    for (i, link) in file.link.iter().enumerate() {
        // What is listed already: the flow, its packet, which transmission of it.
        let mut listed = BTreeSet::new();
        for (key, mark, given) in [("drop", false, &link.drop), ("mark", true, &link.mark)] {
            let at = steps!["link", i, key];
            match given {
                Some(OneOrMore::One(chosen)) => lists.add(i, chosen, &at, mark, &mut listed),
                Some(OneOrMore::More(list)) => {
                    for (k, chosen) in list.iter().enumerate() {
                        lists.add(i, chosen, &[&at[..], &steps![k]].concat(), mark, &mut listed);
                    }
                }
                None => {}
            }
        }
    }
}

/// A flow's packet and which transmission of it.
type Transmission = (usize, u64, u64);

struct Lists<'a, 'b, 'c> {
    file: &'a ScenarioFile,
    places: &'a Places,
    scenario: &'a mut Scenario,
    report: &'b mut Report<'c>,
    /// Flows by name.
    flows: BTreeMap<String, usize>,
    /// Whether every flow could be made; if not, one that is not found may be missing only here.
    known: bool,
}

impl Lists<'_, '_, '_> {
    /// Puts `chosen`, written at `at`, on one of the links of the `[[link]]` number `i`.
    fn add(
        &mut self,
        i: usize,
        chosen: &Chosen,
        at: &[Step],
        mark: bool,
        listed: &mut BTreeSet<Transmission>,
    ) {
        let at_flow = [at, &steps!["flow"]].concat();
        if !self.report.is_sound(&at_flow) {
            return;
        }
        let Some(flow) = self.flows.get(&chosen.flow).copied() else {
            return self.unknown(&chosen.flow, &at_flow);
        };
        if mark {
            self.check_ecn(flow, &at_flow);
        }
        let link = self.link(i, flow, &at_flow);
        for (k, [packet, transmission]) in chosen.packets.iter().enumerate() {
            let at = [at, &steps!["packets", k]].concat();
            self.check_packet(flow, *packet, mark, &at);
            let number = u32::try_from(*transmission).ok().filter(|number| *number > 0);
            if number.is_none() {
                let rule = format!("transmissions count from 1 to {}", u32::MAX);
                self.report.error(&[&at[..], &steps![1]].concat(), rule, None);
            }
            if !listed.insert((flow, *packet, *transmission)) {
                let rule = format!("transmission {transmission} of packet {packet} is listed twice");
                self.report.error(&at, rule, None);
            }
            if let (Some(link), Some(transmission)) = (link, number) {
                let loss = ListedLoss { flow, packet: *packet, transmission, mark };
                self.scenario.links[link].losses.push(loss);
            }
        }
    }

    fn unknown(&mut self, name: &str, at: &[Step]) {
        if self.known {
            let first = format!("{name}[0]");
            let member = self.flows.contains_key(&first).then(|| format!("did you mean `{first}`?"));
            let hint = member.or_else(|| suggest::among(name, self.flows.keys().map(String::as_str)));
            self.report.error(at, format!("there is no flow `{}`", suggest::short(name)), hint);
        }
    }

    /// The first link of the `[[link]]` number `i` that the data of `flow` crosses.
    fn link(&mut self, i: usize, flow: usize, at: &[Step]) -> Option<usize> {
        let way = &self.places.ways.as_ref()?[flow].forward;
        let both = |link: &usize| [*link, link ^ 1];
        let members: BTreeSet<usize> = self.places.members[i].iter().flat_map(both).collect();
        let link = way.iter().find(|link| members.contains(link)).copied();
        if link.is_none() {
            let names = way.iter().map(|link| self.scenario.links[*link].name.as_str());
            let hint = format!("it takes {}", names.collect::<Vec<_>>().join(", "));
            let rule = format!("the data of `{}` does not cross this link", self.scenario.flows[flow].name);
            self.report.error(at, rule, Some(hint));
        }
        link
    }

    /// Only packets of a flow with ECN can be marked.
    fn check_ecn(&mut self, flow: usize, at: &[Step]) {
        let setting = steps!["flow", self.places.from_file[flow], "tcp", "ecn"];
        if !self.scenario.flows[flow].tcp.params.ecn && self.report.is_sound(&setting) {
            let name = &self.scenario.flows[flow].name;
            let hint = "set its `tcp.ecn = true`, or drop the packets".to_owned();
            self.report.error(at, format!("`{name}` has no ECN: its packets cannot be marked"), Some(hint));
        }
    }

    /// The flow has this packet, and it can be marked if it shall be.
    fn check_packet(&mut self, flow: usize, packet: u64, mark: bool, at: &[Step]) {
        let i = self.places.from_file[flow];
        let sound = |key: &'static str| self.report.is_sound(&steps!["flow", i, "tcp", key]);
        let (tcp, params) = (&self.file.flow[i].tcp, &self.scenario.flows[flow].tcp.params);
        let at = [at, &steps![0]].concat();
        if mark && packet == 0 && params.handshake && sound("handshake") {
            let rule = "packet 0 is the SYN, which cannot be marked (RFC 3168 section 6.1.1)";
            return self.report.error(&at, rule, None);
        }
        if packet > MOST_DATA / tcp.mss.0.0.max(1) {
            let rule = format!(
                "no flow has a packet {packet}: it would begin beyond the most data that one can send"
            );
            return self.report.error(&at, rule, None);
        }
        let bytes = tcp.size.and_then(|size| data(size, tcp.mss));
        let Some(bytes) = bytes.filter(|_| sound("size") && sound("mss") && sound("handshake")) else {
            return;
        };
        let segments = bytes.0.div_ceil(tcp.mss.0.0.max(1));
        let last = segments.saturating_sub(u64::from(!params.handshake));
        if packet > last {
            let name = &self.scenario.flows[flow].name;
            self.report.error(&at, format!("`{name}` has no packet {packet}: its last one is {last}"), None);
        }
    }
}
