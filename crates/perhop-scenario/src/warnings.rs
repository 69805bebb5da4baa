//! What is valid and almost surely meant otherwise, found by following the data of every flow along its way.
//!
//! Marks are followed as sets: a conditioner may give each mark of a colour that its meter has.

use perhop_core::dscp::Dscp;
use perhop_core::marker::Action;
use perhop_core::packet::FlowId;
use perhop_core::units::{Bytes, QueueSize};
use perhop_tcp::segment::TIMESTAMPS;

use crate::conditioner::{Conditioner, Meter};
use crate::file::{Port, Queue, ScenarioFile, Selector};
use crate::lower_queue::bytes;
use crate::marks::Mark;
use crate::model::{self, Scenario};
use crate::report::Report;
use crate::routes::Route;
use crate::tree::steps;
use crate::units::{Limit, Size};

/// Warns of what the data of the flows meets on its `ways`. `ports` gives the `[[port]]` of each link, `conditioners` the
/// `[[conditioner]]` of each conditioner.
pub(crate) fn find(
    file: &ScenarioFile,
    scenario: &Scenario,
    ways: &[Route],
    ports: &[Option<usize>],
    conditioners: &[usize],
    report: &mut Report,
) {
    let data = Data::follow(scenario, ways);
    let mut marks = vec![0u64; file.port.len()];
    for (i, here) in ports.iter().zip(&data.marks).filter_map(|(i, here)| i.map(|i| (i, here))) {
        marks[i] |= here;
    }
    for (i, (port, marks)) in file.port.iter().zip(marks).enumerate() {
        split_af_class(port, i, marks, report);
    }
    let mut longest: Vec<Option<Longest>> = vec![None; file.conditioner.len()];
    for (i, here) in conditioners.iter().zip(&data.longest) {
        longest[*i] = longer(longest[*i], *here);
    }
    for (i, (conditioner, longest)) in file.conditioner.iter().zip(longest).enumerate() {
        if let Some(longest) = longest {
            short_burst(conditioner, i, longest, file.run.packet_size, scenario, report);
        }
    }
    nobody_marks(file, report);
}

/// A flow, by its number, and the length of its longest packets.
type Longest = (usize, Bytes);

/// What data there is where.
struct Data {
    /// By link: the marks of the data that its port may get, one bit for each.
    marks: Vec<u64>,
    /// By conditioner: the longest packets among the data that it may treat.
    longest: Vec<Option<Longest>>,
}

impl Data {
    fn follow(scenario: &Scenario, ways: &[Route]) -> Self {
        let mut by_link = vec![Vec::new(); scenario.links.len()];
        for (c, conditioner) in scenario.conditioners.iter().enumerate() {
            conditioner.from.iter().for_each(|link| by_link[*link].push(c));
        }
        let mut data =
            Self { marks: vec![0; scenario.links.len()], longest: vec![None; scenario.conditioners.len()] };
        let tcp = scenario.flows.iter().map(|flow| (flow.mark, longest_segment(&flow.tcp)));
        let udp = scenario.udp.iter().map(|flow| (flow.mark, flow.packet_size));
        for (f, ((mark, length), way)) in tcp.chain(udp).zip(ways).enumerate() {
            let id = FlowId(u32::try_from(f).unwrap_or(u32::MAX));
            let Some(known) = scenario.flow_table.get(id) else { continue };
            let mut marks = bit(mark);
            for link in &way.forward {
                data.marks[*link] |= marks;
                for c in &by_link[*link] {
                    let conditioner = &scenario.conditioners[*c];
                    let taken = marks & conditioner.pattern.data_of(id, known).bits();
                    if taken != 0 {
                        data.longest[*c] = longer(data.longest[*c], Some((f, length)));
                        marks = marks & !taken | given(conditioner, taken);
                    }
                }
            }
        }
        data
    }
}

fn bit(mark: Dscp) -> u64 {
    1 << mark.value()
}

/// The first of the two with the longer packets.
fn longer(a: Option<Longest>, b: Option<Longest>) -> Option<Longest> {
    match (a, b) {
        (Some(a), Some(b)) => Some(if b.1 > a.1 { b } else { a }),
        _ => a.or(b),
    }
}

fn longest_segment(tcp: &model::Tcp) -> Bytes {
    let payload = tcp.params.size.map_or(tcp.params.mss, |size| size.min(tcp.params.mss));
    let options = if tcp.params.timestamps { TIMESTAMPS.0 } else { 0 };
    Bytes(payload.0 + tcp.header.0 + options)
}

/// The marks that packets marked `taken` may have behind `conditioner`.
fn given(conditioner: &model::Conditioner, taken: u64) -> u64 {
    let marker = conditioner.marker;
    let actions: &[Action] = match conditioner.meter {
        None => &[marker.green],
        Some(model::Meter::TokenBucket(_) | model::Meter::TcpFriendly(_)) => &[marker.green, marker.red],
        Some(_) => &[marker.green, marker.yellow, marker.red],
    };
    actions.iter().fold(0, |marks, action| match action {
        Action::Pass | Action::Shape => marks | taken,
        Action::Remark(mark) => marks | bit(*mark),
        Action::Drop => marks,
    })
}

/// Data of one AF class that gets to port number `i` with `marks` waits in one queue.
fn split_af_class(port: &Port, i: usize, marks: u64, report: &mut Report) {
    let takes = |selector: &Selector, mark: Dscp| match selector {
        Selector::Any | Selector::Data => true,
        Selector::PureAck => false,
        Selector::Mark(Mark(own)) => *own == mark,
    };
    let queue_of = |mark| port.class.iter().position(|class| class.matches.iter().any(|s| takes(s, mark)));
    for af_class in 1..=4 {
        let here = (1..=3).filter_map(|precedence| Dscp::af(af_class, precedence));
        let queues: Vec<_> = here
            .filter(|mark| marks & bit(*mark) != 0)
            .filter_map(|mark| queue_of(mark).map(|j| (mark, j)))
            .collect();
        let Some((first, in_first)) = queues.first() else { continue };
        if let Some((other, j)) = queues.iter().find(|(_, j)| j != in_first) {
            let class = &port.class[*in_first].name;
            let rule = format!(
                "{other} waits here and {first} in class `{class}`: packets of one AF class must keep their order \
                 (RFC 2597 section 2)"
            );
            let all: Vec<_> = queues.iter().map(|(mark, _)| format!("\"{mark}\"")).collect();
            let hint = format!(
                "match [{}] in one class; a `rio` or `gred` queue tells their drop precedence",
                all.join(", ")
            );
            report.warn(&steps!["port", i, "class", *j, "match"], rule, Some(hint));
        }
    }
}

//= rfc2697-2-largest-packet
//= rfc2698-2-largest-packet
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
        Some(Meter::SrTcm { cbs, ebs, .. }) => {
            vec![("meter", "cbs", *cbs, never("green")), ("meter", "ebs", *ebs, never("yellow"))]
        }
        Some(Meter::TrTcm { cbs, pbs, .. }) => {
            vec![
                ("meter", "cbs", *cbs, never("green")),
                ("meter", "pbs", *pbs, "every such packet is red".to_owned()),
            ]
        }
        Some(Meter::TcpFriendly { .. } | Meter::Custom { .. }) | None => Vec::new(),
    };
    if let Some(shaper) = &conditioner.shaper {
        bursts.push(("shaper", "burst", shaper.burst, "no such packet passes".to_owned()));
    }
    let name = match flow.checked_sub(scenario.flows.len()) {
        None => &scenario.flows[flow].name,
        Some(k) => &scenario.udp[k].name,
    };
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

/// `burst` as it is written and, where that is packets, in bytes.
fn held(burst: Limit, packet_size: Option<Size>) -> String {
    match (burst.0, bytes(burst, packet_size)) {
        (QueueSize::Packets(_), Some(long)) => format!("{burst}, {}", Size(long)),
        _ => burst.to_string(),
    }
}

/// Flows with ECN meet something that marks.
fn nobody_marks(file: &ScenarioFile, report: &mut Report) {
    let marks = |queue: &Queue| match queue {
        Queue::Fifo { .. } => false,
        Queue::Red { ecn, .. } | Queue::Rio { ecn, .. } | Queue::Gred { ecn, .. } => *ecn,
        // what it does is known to those who bring it
        Queue::Custom { .. } => true,
    };
    let by_queue = file.port.iter().flat_map(|port| &port.class).any(|class| marks(&class.queue));
    if by_queue || file.link.iter().any(|link| link.mark.is_some()) {
        return;
    }
    for (i, flow) in file.flow.iter().enumerate() {
        if flow.tcp.ecn {
            let hint =
                "write `ecn = true` in a `red`, `rio` or `gred` queue, or leave it out here".to_owned();
            let rule = "nothing in this network marks packets: the flow has ECN in vain";
            report.warn(&steps!["flow", i, "tcp", "ecn"], rule, Some(hint));
        }
    }
}
