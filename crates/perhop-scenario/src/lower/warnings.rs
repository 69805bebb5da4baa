//! Warnings of valid settings that are almost surely mistakes, found by following the data of every flow along its way.
//!
//! Marks are followed as sets, flow by flow: a conditioner may give each mark of a colour that its meter has. Which packets
//! are green depends on the run, so that a warning says what may happen, and need not in this run.

mod network;
mod settings;

use std::collections::{BTreeMap, BTreeSet};

use perhop_core::dscp::Dscp;
use perhop_core::marker::Action;
use perhop_core::packet::{Color, FlowId};
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_tcp::segment::TIMESTAMPS;

use crate::lower::queue::{bytes, kinds_with};
use crate::meant::model::{self, Scenario, cells};
use crate::meant::routes::Route;
use crate::read::mistakes::Report;
use crate::read::tree::steps;
use crate::words::marks::{Mark, Selector};
use crate::words::units::{Limit, Size, Time};
use crate::written::conditioner::{Conditioner, Meter};
use crate::written::file::{Port, ScenarioFile};

/// The tables of the file that the parts of the model come from.
pub(crate) struct Tables<'a> {
    /// By link: its `[[port]]`, if it has one.
    pub ports: &'a [Option<usize>],
    /// By conditioner: its `[[conditioner]]`.
    pub conditioners: &'a [usize],
    /// By TCP flow: its `[[flow]]`.
    pub flows: &'a [usize],
}

/// Warns of what the data of the flows meets on its `ways`.
pub(crate) fn find(
    file: &ScenarioFile,
    scenario: &Scenario,
    ways: &[Route],
    tables: &Tables,
    report: &mut Report,
) {
    let data = Data::follow(scenario, ways);
    let mut warned = BTreeSet::new();
    for ((link, af_class), split) in &data.splits {
        if let Some(i) = tables.ports[*link].filter(|i| warned.insert((*i, *af_class))) {
            let giver = split.giver.map(|c| &file.conditioner[tables.conditioners[c]]);
            split_af_class(&file.port[i], i, *af_class, split, giver, scenario, report);
        }
    }
    let mut longest: Vec<Option<Longest>> = vec![None; file.conditioner.len()];
    for (i, here) in tables.conditioners.iter().zip(&data.longest) {
        longest[*i] = longer(longest[*i], *here);
    }
    for (i, (conditioner, longest)) in file.conditioner.iter().zip(longest).enumerate() {
        if let Some(longest) = longest {
            short_burst(conditioner, i, longest, file.run.packet_size, scenario, report);
            short_window(conditioner, i, longest, scenario, report);
        }
    }
    ecn_in_vain(file, scenario, &data.marked, tables.flows, report);
    short_limits(scenario, &data.waits, tables, report);
    settings::find(file, report);
    network::find(file, scenario, ways, &data.promised, tables, report);
}

/// A flow, by its number, and the length of its longest packets.
type Longest = (usize, Bytes);

/// One flow's data of one AF class waits in two classes of a port.
struct Split {
    /// The flow, by its number.
    flow: usize,
    /// The earlier class of the port, and the mark of data that waits there.
    here: (usize, Dscp),
    /// The other class, and a mark of data that waits there.
    there: (usize, Dscp),
    /// The conditioner that gives the mark of `there`; without one it is the flow's own.
    giver: Option<usize>,
}

/// The queues and links that data meets.
struct Data {
    /// By link and number of the AF class: the first flow whose data is split there.
    splits: BTreeMap<(usize, u8), Split>,
    /// By conditioner: the longest packets among the data that it may treat.
    longest: Vec<Option<Longest>>,
    /// By TCP flow: whether it has ECN and a queue or a link may mark its data.
    marked: Vec<bool>,
    /// By link and class of its port: the longest packets among the data that may wait there.
    waits: BTreeMap<(usize, usize), Longest>,
    /// By link and conditioner: how many flows cross the one that the other metered last.
    promised: network::Promised,
}

impl Data {
    fn follow(scenario: &Scenario, ways: &[Route]) -> Self {
        let mut by_link = vec![Vec::new(); scenario.links.len()];
        for (c, conditioner) in scenario.conditioners.iter().enumerate() {
            conditioner.from.iter().for_each(|link| by_link[*link].push(c));
        }
        let longest = vec![None; scenario.conditioners.len()];
        let marked = vec![false; scenario.flows.len()];
        let promised = network::Promised::new();
        let mut data = Self { splits: BTreeMap::new(), longest, marked, waits: BTreeMap::new(), promised };
        for loss in scenario.links.iter().flat_map(|link| &link.losses).filter(|loss| loss.mark) {
            data.marked[loss.flow] = true;
        }
        let tcp = scenario.flows.iter().map(|flow| (flow.mark, longest_segment(&flow.tcp)));
        let udp = scenario.udp.iter().map(|flow| (flow.mark, flow.packet_size));
        let mut pairs = BTreeSet::new();
        for (f, ((mark, length), way)) in tcp.chain(udp).zip(ways).enumerate() {
            let id = FlowId(u32::try_from(f).unwrap_or(u32::MAX));
            let Some(known) = scenario.flow_table.get(id) else { continue };
            let ecn = scenario.flows.get(f).is_some_and(|flow| flow.tcp.params.ecn);
            let mut marks = bit(mark);
            // Which marks came from which conditioner, the last one at the end.
            let mut givers: Vec<(u64, usize)> = Vec::new();
            let mut metered: Option<usize> = None;
            for link in &way.forward {
                if let Some(c) = metered {
                    let addresses = (known.key.src, known.key.dst);
                    if scenario.conditioners[c].per != model::Per::Addresses
                        || pairs.insert((*link, c, addresses))
                    {
                        *data.promised.entry((*link, c)).or_default() += 1;
                    }
                }
                let port = &scenario.links[*link].port;
                data.splits_at(*link, port, f, marks, &givers);
                for class in taking(port, marks) {
                    if ecn && port.classes[class].queue.may_mark() {
                        data.marked[f] = true;
                    }
                    let here = data.waits.entry((*link, class)).or_insert((f, length));
                    if length > here.1 {
                        *here = (f, length);
                    }
                }
                for c in &by_link[*link] {
                    let conditioner = &scenario.conditioners[*c];
                    let taken = marks & conditioner.pattern.data_of(id, known).bits();
                    if taken != 0 {
                        data.longest[*c] = longer(data.longest[*c], Some((f, length)));
                        metered = conditioner.meter.as_ref().map(|_| *c).or(metered);
                        let given = given(conditioner, taken);
                        givers.push((given & !marks, *c));
                        marks = marks & !taken | given;
                    }
                }
            }
        }
        data
    }

    /// Notes where `port` of `link` splits data of `flow` that gets there with `marks`.
    fn splits_at(
        &mut self,
        link: usize,
        port: &model::Port,
        flow: usize,
        marks: u64,
        givers: &[(u64, usize)],
    ) {
        // A single mark or a single class splits nothing.
        if marks.count_ones() < 2 || port.classes.len() < 2 {
            return;
        }
        for af_class in 1..=4 {
            let own = af_marks(af_class).filter(|mark| marks & bit(*mark) != 0);
            let waits: Vec<_> = own.filter_map(|mark| Some((class_of(port, mark)?, mark))).collect();
            let Some(here) = waits.iter().min().copied() else { continue };
            if let Some(there) = waits.iter().find(|(class, _)| *class != here.0).copied() {
                let giver = givers.iter().rev().find(|(given, _)| given & bit(there.1) != 0);
                let giver = giver.map(|(_, c)| *c);
                self.splits.entry((link, af_class)).or_insert(Split { flow, here, there, giver });
            }
        }
    }
}

fn bit(mark: Dscp) -> u64 {
    1 << mark.value()
}

/// The marks of an AF class.
fn af_marks(af_class: u8) -> impl Iterator<Item = Dscp> {
    (1..=3).filter_map(move |precedence| Dscp::af(af_class, precedence))
}

/// The marks of data that `class` matches.
fn of_data(class: &model::Class) -> u64 {
    let [data, _] = cells(class.matches.iter().copied());
    data
}

/// The class of `port` that takes data marked `mark`.
fn class_of(port: &model::Port, mark: Dscp) -> Option<usize> {
    port.classes.iter().position(|class| of_data(class) & bit(mark) != 0)
}

/// The classes of `port` that take data with one of `marks`.
fn taking(port: &model::Port, mut marks: u64) -> impl Iterator<Item = usize> {
    port.classes.iter().enumerate().filter_map(move |(i, class)| {
        let taken = marks & of_data(class);
        marks &= !taken;
        (taken != 0).then_some(i)
    })
}

/// The first of the two with the longer packets.
fn longer(a: Option<Longest>, b: Option<Longest>) -> Option<Longest> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.1 > a.1 { b } else { a }),
        _ => a.or(b),
    }
}

fn longest_segment(tcp: &model::Tcp) -> Bytes {
    // a size of zero: an application says how much it is
    let size = tcp.params.size.filter(|size| size.0 > 0);
    let payload = size.map_or(tcp.params.mss, |size| size.min(tcp.params.mss));
    let options = if tcp.params.timestamps { TIMESTAMPS.0 } else { 0 };
    Bytes(payload.0 + tcp.header.0 + options)
}

/// The marks that packets marked `taken` may have behind `conditioner`.
fn given(conditioner: &model::Conditioner, taken: u64) -> u64 {
    let has = |color| match (&conditioner.meter, color) {
        (None, _) => color == Color::Green,
        (Some(model::Meter::TokenBucket(_) | model::Meter::TcpFriendly(_)), _) => color != Color::Yellow,
        // without one of its bursts the meter has two colours
        (Some(model::Meter::SrTcm(params)), Color::Green) => params.cbs.0 > 0,
        (Some(model::Meter::SrTcm(params)), Color::Yellow) => params.ebs.0 > 0,
        (Some(_), _) => true,
    };
    let colors = [Color::Green, Color::Yellow, Color::Red].into_iter().filter(|color| has(*color));
    colors.fold(0, |marks, color| match conditioner.marker.action(color) {
        Action::Pass | Action::Shape => marks | taken,
        Action::Remark(mark) => marks | bit(mark),
        Action::Drop => marks,
    })
}

/// Data of a flow and AF class number `af_class` waits in one queue of port number `i`.
fn split_af_class(
    port: &Port,
    i: usize,
    af_class: u8,
    split: &Split,
    giver: Option<&Conditioner>,
    scenario: &Scenario,
    report: &mut Report,
) {
    let Split { flow, here: (j, here), there: (other, there), .. } = *split;
    let from = giver.map_or_else(|| "its own mark".to_owned(), |c| format!("from conditioner `{}`", c.name));
    let rule = format!(
        "{here} of flow `{}` waits here and {there} ({from}) in class `{}`: packets of one flow in one AF class must \
         keep their order (RFC 2597 section 2)",
        name_of(flow, scenario),
        port.class[other].name,
    );
    // The earlier class asks for marks, or it would take all: with those of the AF class it does.
    let class = &port.class[j];
    let of_others = |selector: &&Selector| !af_marks(af_class).any(|m| **selector == Selector::Mark(Mark(m)));
    let own = af_marks(af_class).map(|mark| Selector::Mark(Mark(mark)));
    let all = class.matches.iter().filter(of_others).copied().chain(own);
    let all = all.map(|selector| format!("\"{selector}\"")).collect::<Vec<_>>().join(", ");
    let hint = format!("write `match = [{all}]` in class `{}`", class.name);
    report.warn(&steps!["port", i, "class", j, "match"], rule, Some(hint));
}

/// The name of a flow by its number.
fn name_of(flow: usize, scenario: &Scenario) -> &str {
    match flow.checked_sub(scenario.flows.len()) {
        None => &scenario.flows[flow].name,
        Some(k) => &scenario.udp[k].name,
    }
}

//= rfc2697-2-largest-packet
//= rfc2698-2-largest-packet
//= rfc4115-2-largest-packet
/// The bursts of conditioner number `i` hold the longest packet that it may get.
fn short_burst(
    conditioner: &Conditioner,
    i: usize,
    (flow, length): Longest,
    packet_size: Option<Size>,
    scenario: &Scenario,
    report: &mut Report,
) {
    let never = |color| format!("no such packet is ever {color}");
    let mut bursts = match &conditioner.meter {
        Some(Meter::TokenBucket { cbs, .. }) => vec![("meter", "cbs", *cbs, never("green"))],
        // without one of its bursts the meter has two colours
        Some(Meter::SrTcm { cbs, ebs, .. } | Meter::TrTcmDiffserv { cbs, ebs, .. }) => {
            vec![("meter", "cbs", *cbs, never("green")), ("meter", "ebs", *ebs, never("yellow"))]
        }
        Some(Meter::TrTcm { cbs, pbs, .. }) => {
            vec![
                ("meter", "cbs", *cbs, never("green")),
                ("meter", "pbs", *pbs, "every such packet is red".to_owned()),
            ]
        }
        Some(
            Meter::Tsw2cm { .. }
            | Meter::Tsw3cm { .. }
            | Meter::TcpFriendly { .. }
            | Meter::Custom { .. }
            | Meter::Python { .. },
        )
        | None => Vec::new(),
    };
    if let Some(shaper) = &conditioner.shaper {
        bursts.push(("shaper", "burst", shaper.burst, "no such packet passes".to_owned()));
    }
    let name = name_of(flow, scenario);
    for (of, key, burst, effect) in bursts {
        if bytes(burst, packet_size).is_some_and(|burst| burst.0 > 0 && burst < length) {
            let length = Size(length);
            let rule = format!(
                "{key} ({}) is less than a packet of flow `{name}` ({length}): {effect}",
                held(burst, packet_size)
            );
            let hint = format!("write at least `{key} = \"{length}\"`");
            report.warn(&steps!["conditioner", i, of, key], rule, Some(hint));
        }
    }
}

/// The window of conditioner number `i` holds the longest packet that it may get, at the committed rate. In a shorter one a
/// packet alone exceeds the rate, at whatever rate its flow sends.
fn short_window(
    conditioner: &Conditioner,
    i: usize,
    (flow, length): Longest,
    scenario: &Scenario,
    report: &mut Report,
) {
    let Some(Meter::Tsw2cm { cir, window } | Meter::Tsw3cm { cir, window, .. }) = conditioner.meter else {
        return;
    };
    let needed = (u128::from(length.bits()) * 1_000_000_000).div_ceil(u128::from(cir.0.bits_per_sec()));
    if u128::from(window.0.as_nanos()) < needed {
        let needed = Time(Span::from_nanos(u64::try_from(needed).unwrap_or(u64::MAX)));
        let name = name_of(flow, scenario);
        let rule = format!(
            "window ({window}) at cir ({cir}) is less than a packet of flow `{name}` ({}): each alone exceeds cir",
            Size(length)
        );
        let hint = format!("write at least `window = \"{needed}\"`, or some round trips");
        report.warn(&steps!["conditioner", i, "meter", "window"], rule, Some(hint));
    }
}

/// A queue whose limit is in bytes holds the longest packet that it may get.
fn short_limits(
    scenario: &Scenario,
    waits: &BTreeMap<(usize, usize), Longest>,
    tables: &Tables,
    report: &mut Report,
) {
    let mut warned = BTreeSet::new();
    for ((link, class), (flow, length)) in waits {
        let limit = scenario.links[*link].port.classes[*class].queue.limit();
        let is_short = matches!(limit, QueueSize::Bytes(most) if most < length.0);
        if let Some(i) = tables.ports[*link].filter(|i| is_short && warned.insert((*i, *class))) {
            let length = Size(*length);
            let rule = format!(
                "limit ({}) is less than a packet of flow `{}` ({length}): no such packet passes",
                Limit(limit),
                name_of(*flow, scenario)
            );
            let hint = format!("write at least `limit = \"{length}\"`");
            report.warn(&steps!["port", i, "class", *class, "queue", "limit"], rule, Some(hint));
        }
    }
}

/// `burst` as it is written and, where that is packets, in bytes.
fn held(burst: Limit, packet_size: Option<Size>) -> String {
    match (burst.0, bytes(burst, packet_size)) {
        (QueueSize::Packets(_), Some(long)) => format!("{burst}, {}", Size(long)),
        _ => burst.to_string(),
    }
}

/// Data of a flow with ECN meets something that marks. Of the flows that a `[[flow]]` makes, one suffices.
fn ecn_in_vain(
    file: &ScenarioFile,
    scenario: &Scenario,
    marked: &[bool],
    tables: &[usize],
    report: &mut Report,
) {
    // By `[[flow]]` with ECN: whether data of one of its flows may be marked.
    let mut ecn = BTreeMap::new();
    for ((i, flow), marked) in tables.iter().zip(&scenario.flows).zip(marked) {
        if flow.tcp.params.ecn {
            *ecn.entry(*i).or_insert(false) |= marked;
        }
    }
    for (i, _) in ecn.into_iter().filter(|(_, marked)| !marked) {
        let rule =
            format!("nothing on the way of flow `{}` marks its data: it has ECN in vain", file.flow[i].name);
        let hint = format!(
            "write `ecn = true` in a {} queue that its data waits in, or set its `tcp.ecn = false`",
            kinds_with("ecn")
        );
        report.warn(&steps!["flow", i, "tcp", "ecn"], rule, Some(hint));
    }
}
