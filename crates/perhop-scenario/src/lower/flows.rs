//! The flows of the model: pairs and transfers expanded, and what classifiers know of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use perhop_core::classify::{Flow as Known, FlowKey, FlowTable, Protocol};
use perhop_core::packet::{FlowId, TrafficClass};
use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};

use crate::lower::capture;
use crate::lower::conditioner::ack_marking;
use crate::lower::programs;
use crate::lower::queue::refuse_element;
use crate::lower::resolve::{MOST, Names, Pairs};
use crate::lower::tcp::{drawn_phase, drawn_seed, kernel_control, model_ack, model_tcp};
use crate::meant::elements::{ElementError, Elements};
use crate::meant::model;
use crate::meant::routes::address;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::names::{End, Label};
use crate::words::suggest;
use crate::words::units::{Size, Time};
use crate::written::defaults;
use crate::written::file::{Application, Arrivals, Control, Flow, ScenarioFile, Udp};
use crate::written::sources::Pattern;

/// The flows, each with the number of its table in the file.
pub(crate) struct Made {
    /// By TCP flow: its `[[flow]]`.
    pub from_file: Vec<usize>,
    /// Port numbers of each flow, TCP before UDP: of the sender, of the receiver.
    ports: Vec<[u16; 2]>,
    /// TCP flows.
    pub flows: Vec<model::Flow>,
    /// By UDP flow: its `[[udp]]`.
    pub udp_from_file: Vec<usize>,
    /// UDP flows.
    pub udp: Vec<model::Udp>,
    /// Applications over TCP flows.
    pub applications: Vec<model::Application>,
    /// Applications over UDP flows.
    pub calls: Vec<model::Call>,
    /// All of them as classifiers know them.
    pub flow_table: FlowTable,
    /// Traffic classes by name.
    pub classes: BTreeMap<String, TrafficClass>,
}

/// Makes the flows of `file`.
pub(crate) fn make(
    file: &mut ScenarioFile,
    run: &model::Run,
    names: &Names,
    (links, elements): (&[model::Link], &dyn Elements),
    report: &mut Report,
) -> Made {
    let mut made = Made {
        from_file: Vec::new(),
        ports: Vec::new(),
        flows: Vec::new(),
        udp_from_file: Vec::new(),
        udp: Vec::new(),
        applications: Vec::new(),
        calls: Vec::new(),
        flow_table: FlowTable::new(),
        classes: traffic_classes(file),
    };
    unique_names(file, report);
    for i in 0..file.flow.len() {
        made.tcp(file, i, run, (names, links, elements), report);
    }
    for i in 0..file.udp.len() {
        made.udp(file, i, names, report);
    }
    made.know();
    made
}

/// The meaning of `application` over TCP.
fn model_application(application: &Application) -> Option<model::ApplicationKind> {
    match application {
        Application::Requests { size, think } => {
            Some(model::ApplicationKind::Requests { size: size.variate(), think: think.variate() })
        }
        Application::Pages { main, objects, object, think, .. } => Some(model::ApplicationKind::Pages {
            main: main.variate(),
            objects: objects.variate(),
            object: object.variate(),
            think: think.variate(),
        }),
        Application::Video { ladder, chunk, buffer, reservoir, cushion } => {
            Some(model::ApplicationKind::Video(model::Video {
                ladder: ladder.iter().map(|rate| rate.0).collect(),
                chunk: chunk.0,
                buffer: buffer.0,
                reservoir: reservoir.0,
                cushion: cushion.0,
            }))
        }
        Application::Call { .. } => None,
    }
}

/// The TCP of `flow`; one whose data an `application` writes has none of its own, and stays open.
fn connection(flow: &mut Flow, application: bool) -> model::Tcp {
    let mut tcp = model_tcp(&mut flow.tcp);
    tcp.params.burst_push = flow.pushes_bursts();
    if application {
        (tcp.params.size, tcp.params.close) = (Some(Bytes(0)), false);
    }
    tcp
}

/// The element in Python that is written at `at`, once `check` has nothing against it.
fn in_python(
    written: Option<&Control>,
    at: &[Step],
    run: &model::Run,
    check: impl FnOnce(&model::CustomControl) -> Result<(), ElementError>,
    report: &mut Report,
) -> Option<Arc<model::CustomControl>> {
    let Control::Python { file, name, settings } = written?;
    let code = model::Code::named(file);
    let mut given = model::CustomControl { name: name.to_string(), settings: settings.clone(), code };
    if programs::give(Some(&mut given.code), run.clock, at, report)
        && let Err(error) = check(&given)
    {
        refuse_element(error, at, report);
    }
    Some(Arc::new(given))
}

/// Traffic classes in the order in which flows first name them; a scenario has at most 256.
fn traffic_classes(file: &ScenarioFile) -> BTreeMap<String, TrafficClass> {
    let mut classes = BTreeMap::new();
    let named = file.flow.iter().map(|flow| &flow.class).chain(file.udp.iter().map(|flow| &flow.class));
    for name in named {
        let next = TrafficClass(u8::try_from(classes.len()).unwrap_or(u8::MAX));
        classes.entry(name.clone()).or_insert(next);
    }
    classes
}

/// No two flows have one name.
fn unique_names(file: &ScenarioFile, report: &mut Report) {
    let tcp = file.flow.iter().enumerate().map(|(i, flow)| ("flow", i, &flow.name));
    let udp = file.udp.iter().enumerate().map(|(i, flow)| ("udp", i, &flow.name));
    let mut seen: BTreeMap<&str, (&'static str, usize)> = BTreeMap::new();
    for (list, i, name) in tcp.chain(udp) {
        let at = steps![list, i, "name"];
        if report.is_sound(&at)
            && let Some((first_list, first)) = seen.insert(Label::as_str(name), (list, i))
        {
            let line = report.tree.line(&steps![first_list, first]);
            report.error(&at, format!("there already is a flow `{name}`, in line {line}"), None);
        }
    }
}

impl Made {
    /// Makes what `[[flow]]` number `i` means.
    fn tcp(
        &mut self,
        file: &mut ScenarioFile,
        i: usize,
        run: &model::Run,
        (names, links, elements): (&Names, &[model::Link], &dyn Elements),
        report: &mut Report,
    ) {
        let flow = &mut file.flow[i];
        let Some(pairs) = self.pairs("flow", i, (&flow.from, &flow.to), names, report) else { return };
        let mut drawn = |arrivals| self.transfers(arrivals, flow, i, (run, links), report);
        let Some(transfers) = flow.arrivals.as_ref().map_or(Some(None), |given| drawn(given).map(Some))
        else {
            return;
        };
        let connections = flow.application.as_ref().map_or(1, |does| does.connections() as usize);
        let each = flow.count.map_or(1, |count| count as usize).saturating_mul(connections);
        let alone = pairs.breadth() == 0 && flow.count.is_none();
        let count = transfers.as_ref().map_or(pairs.len.saturating_mul(each), Vec::len);
        if self.flows.len() + count > MOST {
            report.error(&steps!["flow", i], format!("this makes more than {MOST} flows"), None);
            return;
        }
        let does = flow.application.as_ref().and_then(model_application);
        let (tcp, ack) = (connection(flow, does.is_some()), model_ack(&mut flow.ack, &flow.tcp));
        let check = |given: &model::CustomControl| elements.check_control(given, &tcp.params);
        let control = in_python(flow.control.as_ref(), &steps!["flow", i, "control"], run, check, report);
        let (at, check) = (steps!["flow", i, "ack", "control"], |given: &_| elements.check_ack_policy(given));
        let ack_control = in_python(flow.ack.control.as_ref(), &at, run, check, report);
        let ack_marking = ack_marking(&flow.ack.marking, &self.classes);
        let kernel = kernel_control(flow).cloned();
        let several = !alone || transfers.is_some() || connections > 1;
        let labels = Arc::new(flow.labels.clone());
        for k in 0..count {
            let (from, to) = pairs.get(if transfers.is_some() { k % pairs.len } else { k / each });
            let mut made = model::Flow {
                name: member(&flow.name, several, k),
                class: flow.class.clone(),
                labels: Arc::clone(&labels),
                from,
                to,
                start: flow.start.0,
                start_jitter: flow.start_jitter.0,
                mark: flow.mark.0,
                application: None,
                tcp,
                control: control.clone(),
                kernel: kernel.clone(),
                ack,
                ack_control: ack_control.clone(),
                ack_marking: ack_marking.clone(),
            };
            if let Some(phase) = drawn_phase(&flow.tcp, &made.name, run) {
                made.tcp.params.rto.phase = phase;
            }
            if let Some(seed) = drawn_seed(&flow.tcp, &made.name, run) {
                made.tcp.params.seed = seed;
            }
            if let Some(transfers) = &transfers {
                (made.start, made.start_jitter) = (transfers[k].0, Span::ZERO);
                made.tcp.params.size = Some(transfers[k].1);
            }
            made.application =
                does.clone().map(|kind| self.application(kind, (&flow.name, !alone), k, connections));
            self.from_file.push(i);
            self.ports.push(ports(flow.ports, k % each));
            self.flows.push(made);
        }
    }

    /// The application of connection number `k` of those that `name` stands for, which each `connections` of them share.
    fn application(
        &mut self,
        kind: model::ApplicationKind,
        (name, several): (&Label, bool),
        k: usize,
        connections: usize,
    ) -> usize {
        if k.is_multiple_of(connections) {
            let name = member(name, several, k / connections);
            let flows = self.flows.len()..self.flows.len() + connections;
            self.applications.push(model::Application { name, kind, flows });
        }
        self.applications.len() - 1
    }

    /// Draws the transfers of `flow`, number `i` of the file: when each begins, and its data.
    fn transfers(
        &self,
        arrivals: &Arrivals,
        flow: &Flow,
        i: usize,
        (run, links): (&model::Run, &[model::Link]),
        report: &mut Report,
    ) -> Option<Vec<(Span, Bytes)>> {
        let at = steps!["flow", i, "arrivals"];
        if !report.is_sound(&at) {
            return None;
        }
        let link = arrivals.link.as_ref().filter(|_| arrivals.load.is_some());
        let rate = match link.map(|name| (name, links.iter().find(|link| link.name == *name))) {
            None => None,
            Some((_, Some(link))) => Some(link.rate),
            Some((name, None)) => {
                let hint = suggest::among(name, links.iter().map(|link| link.name.as_str()));
                let rule = format!("there is no link `{}`", suggest::short(name));
                report.error(&[&at[..], &steps!["link"]].concat(), rule, hint);
                return None;
            }
        };
        let mean = arrivals.mean_interval_ns(rate).filter(|mean| *mean > 0.0)?;
        let path = format!("flow.{}.arrivals", flow.name);
        let mut stream = Stream::new(run.seed, run.replication, &path);
        let most = MOST - self.flows.len();
        let drawn = arrivals.draw(mean, flow.start.0, run.duration, most, &mut stream);
        if drawn.len() <= most {
            return Some(drawn);
        }
        if report.is_sound(&steps!["run", "duration"]) {
            let end = Time(run.duration);
            let rule = format!("this makes more than {MOST} flows until the run ends, at {end}");
            let (key, less) = match arrivals.load {
                None => ("mean_interval", "a longer `mean_interval`"),
                Some(_) => ("load", "less `load`, longer transfers"),
            };
            let hint = Some(format!("take {less} or a shorter run"));
            report.error(&steps!["flow", i, "arrivals", key], rule, hint);
        }
        None
    }

    /// Makes what `[[udp]]` number `i` means.
    fn udp(&mut self, file: &mut ScenarioFile, i: usize, names: &Names, report: &mut Report) {
        let packet_size = file.run.packet_size;
        let flow: &mut Udp = &mut file.udp[i];
        let Some((rate, size, capture)) = packets(flow, i, packet_size, report) else { return };
        let Some(pairs) = self.pairs("udp", i, (&flow.from, &flow.to), names, report) else { return };
        let call = match flow.application {
            Some(Application::Call { jitter_buffer, ie, bpl }) => Some((jitter_buffer.0, ie, bpl)),
            _ => None,
        };
        let ways = if call.is_some() { 2 } else { 1 };
        let each = flow.count.map_or(1, |count| count as usize).saturating_mul(ways);
        let count = pairs.len.saturating_mul(each);
        if self.udp.len() + count > MOST {
            report.error(&steps!["udp", i], format!("this makes more than {MOST} flows"), None);
            return;
        }
        let labels = Arc::new(flow.labels.clone());
        let alone = pairs.breadth() == 0 && flow.count.is_none();
        for k in 0..count {
            let (mut from, mut to) = pairs.get(k / each);
            let mut ends = ports(flow.ports, k % each / ways);
            if let Some((jitter_buffer, ie, bpl)) = call {
                if k % ways == 0 {
                    let (name, first) = (member(&flow.name, !alone, k / ways), self.udp.len());
                    self.calls.push(model::Call { name, first, jitter_buffer, ie, bpl });
                } else {
                    std::mem::swap(&mut from, &mut to);
                    ends.reverse();
                }
            }
            self.udp_from_file.push(i);
            self.ports.push(ends);
            self.udp.push(model::Udp {
                name: member(&flow.name, !alone || ways > 1, k),
                class: flow.class.clone(),
                labels: Arc::clone(&labels),
                from,
                to,
                start: flow.start.0,
                start_jitter: flow.start_jitter.0,
                mark: flow.mark.0,
                rate,
                packet_size: size,
                capture: capture.clone(),
                call: call.map(|_| self.calls.len() - 1),
                pattern: match flow.pattern {
                    Pattern::Cbr => model::UdpPattern::Cbr,
                    Pattern::Poisson => model::UdpPattern::Poisson,
                    Pattern::OnOff { on, off } => model::UdpPattern::OnOff { on: on.0, off: off.0 },
                    Pattern::Capture { .. } => model::UdpPattern::Capture,
                },
            });
        }
    }

    /// The pairs of hosts that number `i` of `list` connects.
    fn pairs(
        &self,
        list: &'static str,
        i: usize,
        (from, to): (&End, &End),
        names: &Names,
        report: &mut Report,
    ) -> Option<Pairs> {
        let at = |key: &'static str| steps![list, i, key];
        let pairs = names.join((from, &at("from")), (to, &at("to")), report)?;
        pairs.warn_uneven(from, to, &at("to"), report);
        let [from_router, to_router] = pairs.routers();
        for (key, end, is_router) in [("from", from, from_router), ("to", to, to_router)] {
            if is_router {
                let hint = "attach a host to it by a link of its own".to_owned();
                let rule = format!("`{end}` is a router; connections end at hosts");
                report.error(&at(key), rule, Some(hint));
            }
        }
        if pairs.iter().any(|(from, to)| from == to) {
            report.error(&at("to"), "a connection needs two hosts, and both are the same", None);
            return None;
        }
        Some(pairs)
    }

    /// Enters every flow into the table of the classifiers.
    fn know(&mut self) {
        let class = |name: &str| self.classes.get(name).copied().unwrap_or_default();
        let entry = |from: usize, to: usize, ports: [u16; 2], protocol, name: &str| Known {
            key: FlowKey {
                src: address(from),
                dst: address(to),
                src_port: ports[0],
                dst_port: ports[1],
                protocol,
            },
            class: class(name),
        };
        let tcp = self.flows.iter().map(|f| (f.from, f.to, Protocol::TCP, &f.class));
        let udp = self.udp.iter().map(|f| (f.from, f.to, Protocol::UDP, &f.class));
        let all = tcp.chain(udp).zip(&self.ports);
        let all = all.map(|((from, to, protocol, class), ports)| entry(from, to, *ports, protocol, class));
        for (id, known) in (0u32..).map(FlowId).zip(all) {
            self.flow_table.insert(id, known);
        }
    }
}

/// The name of number `k` of what `name` stands for: the plain name unless there are several.
fn member(name: &Label, several: bool, k: usize) -> String {
    if several { format!("{name}[{k}]") } else { name.to_string() }
}

/// Rate and length of the packets of `flow`, number `i` of the file, and the capture that has them; defaults are filled in.
fn packets(
    flow: &mut Udp,
    i: usize,
    packet_size: Option<Size>,
    report: &mut Report,
) -> Option<(BitRate, Bytes, Option<Arc<model::Capture>>)> {
    if let Pattern::Capture { .. } = &flow.pattern {
        let capture = capture::read(&flow.pattern, &steps!["udp", i, "pattern"], report)?;
        let (rate, longest) = (capture::rate(&capture), capture::longest(&capture));
        return Some((rate, longest, Some(Arc::new(capture))));
    }
    if let Some(Application::Call { .. }) = flow.application {
        let rate = *flow.rate.get_or_insert_with(defaults::call_rate);
        return Some((rate.0, flow.packet_size.get_or_insert_with(defaults::call_packet).0, None));
    }
    let size = *flow.packet_size.get_or_insert(packet_size.unwrap_or_else(defaults::udp_packet));
    Some((flow.rate?.0, size.0, None))
}

/// The port numbers of connection number `k` of a pair; that there are as many is checked.
fn ports([first, to]: [u16; 2], k: usize) -> [u16; 2] {
    [first.saturating_add(u16::try_from(k).unwrap_or(u16::MAX)), to]
}
