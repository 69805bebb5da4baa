//! A kernel's settings for the TCP of a scenario, and the differences that remain.
//!
//! A setting is honoured (a sysctl of the host's namespace, an attribute of its route, an option of its sockets, or the
//! packets on their way through perhop), or it is listed as a difference, or the scenario is refused. Nothing differs in
//! silence.

use std::collections::{BTreeMap, BTreeSet};

use perhop_core::time::Span;
use perhop_scenario::model::{AckPolicy, Endpoint, Flow, NodeKind, Scenario};
use perhop_tcp::settings::{
    Counting, CubicForm, Growth, Guard, Halving, IdleRestart, InitialSsthresh, LossWindow, MinRtoBounds,
    RecoveryExit, RecoveryKind, SlowStartKind,
};

use crate::addresses::{MOST_FLOWS, MOST_PROGRAMS};
use crate::kernel::Options;

/// IPv4 and TCP headers without options, bytes.
const HEADERS: u64 = 40;
/// IPv4 and UDP headers, bytes.
pub const UDP_HEADERS: u64 = 28;
/// The least segment that Linux takes: `TCP_MIN_MSS`.
const LEAST_MSS: u64 = 88;
/// The largest that a socket can be told, options included: `MAX_TCP_WINDOW`.
const MOST_MSS: u64 = 32_767;
/// The largest segment that iperf3 takes, bytes: its `MAX_MSS`.
const MOST_MSS_OF_IPERF3: u64 = 9 * 1024;
/// The size to which Linux lets a buffer grow, bytes.
const LEAST_BUFFER: u64 = 6 << 20;
/// The timestamps option with its padding, bytes.
const TIMESTAMPS: u64 = 12;

/// The settings of one host's kernel.
#[derive(Clone, Debug, Default)]
pub struct Settings {
    /// Under `net.`: path and value.
    pub sysctls: BTreeMap<String, String>,
    /// Attributes of its route.
    pub route: BTreeMap<&'static str, String>,
    /// Largest packet, bytes.
    pub mtu: u64,
    /// Several segments may leave at once, as BBR's bursts do; else each leaves by itself.
    pub bursts: bool,
}

/// The settings of the kernels, and their differences from the scenario.
#[derive(Clone, Debug, Default)]
pub struct Honoured {
    /// By node.
    pub hosts: BTreeMap<usize, Settings>,
    /// In words.
    pub differences: BTreeSet<String>,
}

/// Finds both for `scenario`.
///
/// # Errors
/// Everything that cannot be run on this kernel, in words.
pub fn honour(scenario: &Scenario) -> Result<Honoured, Vec<String>> {
    let mut buffers = BTreeMap::new();
    for flow in &scenario.flows {
        for node in [flow.from, flow.to] {
            let most = buffers.entry(node).or_insert(LEAST_BUFFER);
            *most = (2 * flow.tcp.params.window.0).max(*most);
        }
    }
    let mut plan = Plan { scenario, buffers, honoured: Honoured::default(), refused: BTreeSet::new() };
    for (i, node) in scenario.nodes.iter().enumerate() {
        if node.kind == NodeKind::Host {
            plan.honoured.hosts.insert(i, Settings { mtu: 576, ..Settings::default() });
        }
    }
    if scenario.flows.len() + scenario.udp.len() > MOST_FLOWS {
        plan.refuse(format!("there are more than {MOST_FLOWS} flows: each needs a port of its own"));
    }
    if scenario.run.endpoint == Endpoint::Iperf3 {
        plan.iperf3();
    }
    if scenario.run.processing_jitter > Span::ZERO {
        plan.differs(
            "processing_jitter: these hosts take a time of their own to process a packet".to_owned(),
        );
    }
    for link in &scenario.links {
        if link.port.backpressure.is_some() {
            plan.refuse(format!("{}: a kernel knows no backpressure by connection", link.port.path));
        }
    }
    for flow in &scenario.flows {
        plan.tcp(flow);
    }
    plan.bursts();
    for flow in &scenario.udp {
        if flow.packet_size.0 < UDP_HEADERS {
            plan.refuse(format!("udp.{}.packet_size: IP and UDP headers alone have 28 bytes", flow.name));
        }
        for node in [flow.from, flow.to] {
            plan.mtu(node, flow.packet_size.0);
        }
    }
    if plan.refused.is_empty() { Ok(plan.honoured) } else { Err(plan.refused.into_iter().collect()) }
}

/// The options of a flow's sockets.
#[must_use]
pub fn options(flow: &Flow) -> Options {
    let params = &flow.tcp.params;
    let timestamps = if params.timestamps { TIMESTAMPS } else { 0 };
    let max_ack_delay_us = match flow.ack {
        AckPolicy::Delayed(ack) if ack.timeout != LINUX_ACK_DELAY => micros(ack.timeout),
        _ => None,
    };
    Options {
        tos: flow.mark.value() << 2,
        congestion: congestion(flow).to_owned(),
        max_segment: u32::try_from(params.mss.0 + timestamps).unwrap_or(u32::MAX),
        max_rto_ms: (params.rto.max != LINUX_MAX_RTO)
            .then(|| u32::try_from(params.rto.max.as_nanos() / 1_000_000).ok())
            .flatten(),
        max_ack_delay_us,
    }
}

/// The congestion control with an echo of its own.
const ECHOES_EACH_MARK: &str = "dctcp";
const LINUX_ACK_DELAY: Span = Span::from_millis(40);
const LINUX_MAX_RTO: Span = Span::from_secs(120);

fn micros(span: Span) -> Option<u32> {
    u32::try_from(span.as_nanos() / 1_000).ok()
}

/// The kernel's name of a flow's congestion control.
#[must_use]
pub fn congestion(flow: &Flow) -> &str {
    match (&flow.kernel, flow.tcp.params.cc) {
        (Some(named), _) => named.name(),
        (None, Growth::Reno) => "reno",
        (None, Growth::Cubic) => "cubic",
        (None, Growth::Dctcp) => "dctcp",
        (None, Growth::Prague) => "prague",
        (None, Growth::Bbr) => "bbr",
        (None, Growth::Bbr3) => "bbr3",
    }
}

/// Whether the kernel has what flows name by `kernel:`, `prague`, `bbr` and `bbr3`: `known` are those that it has. One of a module is loaded by nobody here, for
/// whoever may run this program may not load modules by it.
///
/// # Errors
/// A name that it does not have, in words.
pub fn find_controls(scenario: &Scenario, known: &[String]) -> Result<(), String> {
    for flow in &scenario.flows {
        if (flow.kernel.is_some()
            || matches!(flow.tcp.params.cc, Growth::Bbr | Growth::Bbr3 | Growth::Prague))
            && let name = congestion(flow)
            && !known.iter().any(|one| one == name)
        {
            return Err(format!(
                "flow.{}.tcp.cc: this kernel has no congestion control `{name}`: it has {}; `modprobe tcp_{name}` loads it, if there is \
                 such a module",
                flow.name,
                known.join(", ")
            ));
        }
    }
    Ok(())
}

struct Plan<'a> {
    scenario: &'a Scenario,
    /// By node: the largest buffer that a socket there may have, twice the largest window.
    buffers: BTreeMap<usize, u64>,
    honoured: Honoured,
    refused: BTreeSet<String>,
}

impl Plan<'_> {
    fn refuse(&mut self, why: String) {
        self.refused.insert(why);
    }

    fn differs(&mut self, how: String) {
        self.honoured.differences.insert(how);
    }

    fn host(&mut self, node: usize) -> &mut Settings {
        self.honoured.hosts.entry(node).or_default()
    }

    fn mtu(&mut self, node: usize, packet: u64) {
        let host = self.host(node);
        host.mtu = host.mtu.max(packet);
    }

    /// One setting of a host, which all its flows must want.
    fn sysctl(&mut self, node: usize, path: &str, value: String, flow: &Flow) {
        let name = &self.scenario.nodes[node].name;
        let earlier = self
            .honoured
            .hosts
            .entry(node)
            .or_default()
            .sysctls
            .entry(path.to_owned())
            .or_insert_with(|| value.clone());
        if *earlier != value {
            let why = format!(
                "host {name}: flow {} needs net.{} = {value}, another of its flows {earlier}; a kernel has one for all: give them \
                 hosts of their own",
                flow.name,
                path.replace('/', ".")
            );
            self.refused.insert(why);
        }
    }

    fn route(&mut self, node: usize, attribute: &'static str, value: String, flow: &Flow) {
        let name = &self.scenario.nodes[node].name;
        let earlier = self
            .honoured
            .hosts
            .entry(node)
            .or_default()
            .route
            .entry(attribute)
            .or_insert_with(|| value.clone());
        if *earlier != value {
            let why = format!(
                "host {name}: flow {} needs {attribute} {value} of its route, another of its flows {earlier}: give them hosts of \
                 their own",
                flow.name
            );
            self.refused.insert(why);
        }
    }

    /// Settings that iperf3 cannot have, and its differences from perhop's own sockets.
    fn iperf3(&mut self) {
        let flows = &self.scenario.flows;
        if flows.len() > MOST_PROGRAMS {
            self.refuse(format!("there are more than {MOST_PROGRAMS} TCP flows for iperf3: each has a server at a port of its own"));
        }
        for flow in flows {
            let params = &flow.tcp.params;
            if flow.application.is_some() {
                self.refuse(format!(
                    "flow.{}.application: iperf3 sends without a pause: run.endpoint = \"own\" for applications",
                    flow.name
                ));
            } else if params.size.is_some() {
                self.refuse(format!(
                    "flow.{}.size: iperf3's server closes when its client has handed over the last byte, and what is on its way \
                     then is lost: run.endpoint = \"own\" for transfers that end",
                    flow.name
                ));
            }
            let segment = params.mss.0 + if params.timestamps { TIMESTAMPS } else { 0 };
            if segment > MOST_MSS_OF_IPERF3 {
                self.refuse(format!(
                    "flow.{}.mss: iperf3 takes no segments above {MOST_MSS_OF_IPERF3} bytes",
                    flow.name
                ));
            }
            // iperf3 would name it when the connection is there (one that began with BBR would be paced for ever), and has no privilege
            // to
            self.route(flow.from, "congctl", congestion(flow).to_owned(), flow);
            let options = options(flow);
            for (set, how) in [
                (options.max_rto_ms.is_some(), "max_rto: iperf3 leaves it at 120 s"),
                (options.max_ack_delay_us.is_some(), "ack_delay: iperf3 leaves it at 40 ms"),
            ] {
                if set {
                    self.differs(how.to_owned());
                }
            }
        }
        self.differs("iperf3: each connection opens some milliseconds after its start, and its data begin a round trip later, with 37 bytes of iperf3's own".into());
        self.differs(
            "iperf3: the connections by which client and server agree pass beside the network".into(),
        );
    }

    /// Which hosts let bursts leave: those whose senders all have BBR, since perhop's other senders send no bursts.
    fn bursts(&mut self) {
        for (&node, host) in &mut self.honoured.hosts {
            let of_host = || self.scenario.flows.iter().filter(|flow| flow.from == node);
            let has_bursts = |flow: &Flow| matches!(congestion(flow), "bbr" | "bbr3");
            host.bursts = of_host().any(has_bursts) && of_host().all(has_bursts);
            if !host.bursts && of_host().any(has_bursts) {
                self.honoured.differences.insert(
                    "pacing: BBR sends segments one by one, not in bursts of two and more, where its host has other senders too".into(),
                );
            }
        }
    }

    fn tcp(&mut self, flow: &Flow) {
        let params = &flow.tcp.params;
        let flag = |on: bool, value: &str| if on { value.to_owned() } else { "0".to_owned() };
        if params.mss.0 < LEAST_MSS {
            self.refuse(format!("flow.{}.mss: Linux sends no segments below {LEAST_MSS} bytes", flow.name));
        }
        if params.mss.0 + TIMESTAMPS > MOST_MSS {
            self.refuse(format!(
                "flow.{}.mss: Linux is told of no segments above {MOST_MSS} bytes",
                flow.name
            ));
        }
        if params.recovery == RecoveryKind::Tahoe {
            self.refuse(format!("flow.{}.recovery: no kernel of today recovers as Tahoe did", flow.name));
        }
        let rack = params.rack;
        for node in [flow.from, flow.to] {
            let packet = params.mss.0 + HEADERS + if params.timestamps { TIMESTAMPS } else { 0 };
            self.mtu(node, packet);
            self.sysctl(node, "ipv4/tcp_sack", flag(params.recovery.uses_sack(), "1"), flow);
            self.sysctl(node, "ipv4/tcp_timestamps", flag(params.timestamps, "1"), flow);
            self.sysctl(node, "ipv4/tcp_ecn", flag(params.ecn, "1"), flow);
            self.sysctl(node, "ipv4/tcp_window_scaling", flag(params.window_scale > 0, "1"), flow);
            self.sysctl(node, "ipv4/tcp_no_metrics_save", "1".into(), flow);
            self.sysctl(node, "ipv4/tcp_autocorking", "0".into(), flow);
        }
        // a scenario's sender never gives up, however long it starves
        self.sysctl(flow.from, "ipv4/tcp_syn_retries", "127".into(), flow);
        self.sysctl(flow.to, "ipv4/tcp_synack_retries", "127".into(), flow);
        self.sysctl(flow.from, "ipv4/tcp_retries2", "255".into(), flow);
        self.sysctl(flow.from, "ipv4/tcp_frto", flag(params.frto, "2"), flow);
        self.sysctl(flow.from, "ipv4/tcp_recovery", flag(rack, "1"), flow);
        self.sysctl(flow.from, "ipv4/tcp_early_retrans", flag(rack, "3"), flow);
        self.sysctl(
            flow.from,
            "ipv4/tcp_slow_start_after_idle",
            flag(params.idle_restart != IdleRestart::Off, "1"),
            flow,
        );
        let most = |node| self.buffers.get(node).copied().unwrap_or(LEAST_BUFFER);
        let (read, write) = (most(&flow.to), most(&flow.from));
        self.sysctl(flow.to, "ipv4/tcp_rmem", format!("4096 131072 {read}"), flow);
        self.sysctl(flow.from, "ipv4/tcp_wmem", format!("4096 65536 {write}"), flow);
        self.route(flow.from, "initcwnd", params.initial_window.to_string(), flow);
        let least_rto = params.rto.min.as_nanos().div_ceil(1_000_000);
        if least_rto != 200 {
            self.route(flow.from, "rto_min", format!("{least_rto}ms"), flow);
        }
        if flow.ack == AckPolicy::EverySegment {
            self.route(flow.to, "quickack", "1".into(), flow);
        }
        if congestion(flow) == ECHOES_EACH_MARK {
            // its receiver echoes each mark only where the connection has it there too
            self.route(flow.to, "congctl", ECHOES_EACH_MARK.to_owned(), flow);
            if !params.ecn {
                self.differs(format!("ecn: the kernel's {ECHOES_EACH_MARK} asks for it by itself"));
            }
        }
        self.differences_of(flow);
    }

    fn differences_of(&mut self, flow: &Flow) {
        let grows = flow.kernel.is_none() && !flow.tcp.params.cc.is_bbr();
        let growth = grows.then(|| growth(flow)).into_iter().flatten();
        let differences = connection(flow).into_iter().chain(growth).chain(timers(flow));
        for (_, how) in differences.filter(|(differs, _)| *differs) {
            self.differs(how.to_owned());
        }
        if let Some(named) = &flow.kernel {
            let name = named.name();
            self.differs(format!(
                "cc: the kernel's {name} grows the window, paces and recovers as it does, whatever is set of slow start, growth, losses and PRR"
            ));
        }
        self.differs(
            "senders: small queues (TSQ) keep data in the socket while the host's own link is busy".into(),
        );
        self.differs("time-outs: spurious recoveries are undone (timestamps, D-SACK, F-RTO as set)".into());
    }
}

/// Whether something differs, and how.
type Difference = (bool, &'static str);

fn connection(flow: &Flow) -> [Difference; 10] {
    let params = &flow.tcp.params;
    [
        (params.abe, "abe: a kernel's mark is like a loss"),
        (params.pacing, "pacing: without the fq queue at its host a kernel paces BBR alone"),
        (!params.handshake, "handshake: a kernel always opens with one, which takes a round trip"),
        (
            params.recovery == RecoveryKind::Reno,
            "recovery: without SACK a kernel goes on by partial ACKs (NewReno); Reno without is not there",
        ),
        (params.recovery == RecoveryKind::Sack1996, "recovery: SACK is RFC 6675's, with PRR"),
        (!params.limited_transmit, "limited_transmit: cannot be turned off"),
        (params.guard != Guard::Careful, "guard: the careful one of RFC 6582"),
        (params.ect1, "ecn: data is ECT(0), from dctcp too"),
        (
            params.idle_restart == IdleRestart::InitialWindow,
            "idle_restart: cwnd is halved for each idle time-out, to the initial window at last",
        ),
        (
            params.window.0 > 65_535,
            "window: the kernel's own window starts at 64 KiB and grows as the receiver reads (autotuning), up to this one",
        ),
    ]
}

/// Those of a congestion control that perhop has too.
fn growth(flow: &Flow) -> [Difference; 13] {
    let params = &flow.tcp.params;
    let sack = params.recovery.uses_sack();
    let (slow_start, cubic) = (params.slow_start, params.cc == Growth::Cubic);
    [
        (!params.prr && sack, "prr: the rate during a recovery is PRR's always"),
        (
            !sack,
            "recovery: without SACK the window falls to ssthresh by PRR, and is not inflated by duplicates",
        ),
        (params.recovery_exit != RecoveryExit::SsthreshGrow, "recovery_exit: ssthresh-grow"),
        (params.halving != Halving::Integer, "halving: windows are whole segments"),
        (
            params.initial_ssthresh == InitialSsthresh::Window,
            "initial_ssthresh: slow start first ends with a loss, not at the window",
        ),
        (
            slow_start == SlowStartKind::HystartPlusPlus,
            "slow_start: CUBIC's is HyStart, Reno's is the standard one",
        ),
        (
            slow_start == SlowStartKind::Standard && cubic,
            "slow_start: CUBIC's is HyStart, which no namespace can turn off by itself",
        ),
        (
            matches!(slow_start, SlowStartKind::Hystart | SlowStartKind::Standard) && !cubic,
            "slow_start: Reno's adds all that is acknowledged, and ends at ssthresh alone",
        ),
        (cubic && params.cubic_form != CubicForm::Linux, "cubic_form: CUBIC is Linux's"),
        (
            params.cc == Growth::Dctcp,
            "cc: Linux's DCTCP counts alpha in 1/1024 and cwnd in whole segments, falls by PRR, and marks SYNs, ACKs and retransmissions",
        ),
        (params.counting == Counting::Acks, "counting: a kernel counts the segments that are acknowledged"),
        (params.grow_beyond_window, "grow_beyond_window: cwnd grows only while it is what limits the sender"),
        (params.loss_window == LossWindow::Window, "loss_window: cwnd is halved"),
    ]
}

fn timers(flow: &Flow) -> [Difference; 8] {
    let rto = &flow.tcp.params.rto;
    [
        (rto.initial != Span::from_secs(1), "initial_rto: the first time-out of a SYN is 1 s"),
        (
            rto.min_bounds == MinRtoBounds::Timeout,
            "min_rto_bounds: the lower bound holds for what is added to srtt",
        ),
        (rto.tick > Span::ZERO, "clock_tick: round trips are measured in microseconds"),
        (!rto.on_tick && rto.jiffy == Span::ZERO, "timer_on_tick: timers expire on jiffies, of 1 to 10 ms"),
        (rto.backoff_limit > 0, "backoff_limit: only max_rto bounds the time-out"),
        (rto.max < Span::from_secs(1), "max_rto: a kernel takes no less than 1 s"),
        (
            matches!(flow.ack, AckPolicy::Delayed(ack) if ack.quick == 0 || ack.buffer.is_none()),
            "quick_acks: the first segments of a connection are acknowledged at once, and those by which its window grows",
        ),
        (
            matches!(flow.ack, AckPolicy::Delayed(ack) if !ack.adapts),
            "ack_delay: the delay adapts where segments come seldom",
        ),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A scenario of two flows, from `a` and from `b` to `c`, whose TCP has these settings beside the profile.
    fn scenario(first: &str, second: &str, run: &str) -> Scenario {
        let text = format!(
            r#"
node = [{{ name = "a" }}, {{ name = "b" }}, {{ name = "r", kind = "router" }}, {{ name = "c" }}]
link = [
    {{ ends = ["a", "r"], rate = "1Mbit/s" }},
    {{ ends = ["b", "r"], rate = "1Mbit/s" }},
    {{ ends = ["r", "c"], rate = "1Mbit/s" }},
]
flow = [
    {{ name = "f", from = "a", to = "c", tcp = {{ profile = "linux", {first} }} }},
    {{ name = "g", from = "b", to = "c", tcp = {{ profile = "linux", {second} }} }},
]
[run]
duration = "1s"
{run}
"#
        );
        perhop_scenario::load(text.as_bytes(), "a.toml", &[]).expect("a scenario").scenario
    }

    const BBR: &str = r#"cc = "kernel:bbr""#;

    #[test]
    fn a_kernels_control_is_asked_for_by_its_name_and_no_growth_is_compared() {
        let scenario = scenario(BBR, r#"cc = "reno", loss_window = "window""#, "");
        let names: Vec<_> = scenario.flows.iter().map(|flow| options(flow).congestion).collect();
        assert_eq!(names, ["bbr", "reno"]);
        let differences = |scenario: &Scenario| honour(scenario).expect("for a kernel").differences;
        let found = differences(&scenario);
        assert!(
            found.iter().any(|how| how.starts_with("cc: the kernel's bbr grows the window")),
            "{found:?}"
        );
        assert!(found.contains("loss_window: cwnd is halved"), "{found:?}");
        let mut both = scenario;
        both.flows.truncate(1);
        both.flows[0].tcp.params.loss_window = LossWindow::Window;
        assert!(!differences(&both).contains("loss_window: cwnd is halved"));
    }

    #[test]
    fn a_name_that_the_kernel_does_not_have_is_refused_with_those_it_has() {
        let known = ["bbr".to_owned(), "reno".to_owned()];
        let with = |cc: &str| find_controls(&scenario(BBR, cc, ""), &known);
        assert_eq!(with(BBR), Ok(()));
        assert_eq!(with(r#"cc = "cubic""#), Ok(()));
        assert_eq!(with(r#"cc = "bbr""#), Ok(()));
        assert!(find_controls(&scenario(r#"cc = "bbr""#, r#"cc = "reno""#, ""), &known[1..]).is_err());
        let why = with(r#"cc = "bbr3""#).expect_err("no kernel has it as it comes");
        assert!(
            why.starts_with("flow.g.tcp.cc: this kernel has no congestion control `bbr3`: it has"),
            "{why}"
        );
        let why = with(r#"cc = "kernel:cubic""#).expect_err("it is not there");
        assert!(
            why.starts_with(
                "flow.g.tcp.cc: this kernel has no congestion control `cubic`: it has bbr, reno;"
            ),
            "{why}"
        );
    }

    #[test]
    fn what_echoes_each_mark_is_at_the_receiver_too() {
        let dctcp = r#"cc = "kernel:dctcp", ecn = true"#;
        let honoured = honour(&scenario(dctcp, dctcp, "")).expect("for a kernel");
        assert_eq!(honoured.hosts[&3].route.get("congctl").map(String::as_str), Some("dctcp"));
        assert_eq!(honoured.hosts[&0].route.get("congctl"), None);
        let asks = |scenario: &Scenario| {
            honour(scenario).expect("for a kernel").differences.iter().any(|how| how.starts_with("ecn:"))
        };
        assert!(!asks(&scenario(dctcp, dctcp, "")));
        let bare = r#"cc = "kernel:dctcp""#;
        assert!(asks(&scenario(bare, bare, "")));
        let honoured = honour(&scenario(BBR, BBR, "")).expect("for a kernel");
        assert!(honoured.hosts.values().all(|host| !host.route.contains_key("congctl")));
    }

    #[test]
    fn iperf3_has_no_applications_over_tcp() {
        let web = "application = { kind = \"pages\" }";
        let with = |endpoint: &str| {
            let text = format!(
                "node = [{{ name = \"a\" }}, {{ name = \"b\" }}]\nlink = [{{ ends = [\"a\", \"b\"], rate = \"1Mbit/s\" }}]\n\
                 run = {{ duration = \"1s\", endpoint = \"{endpoint}\" }}\n[[flow]]\nname = \"w\"\nfrom = \"a\"\nto = \"b\"\n{web}\n\
                 [[udp]]\nname = \"v\"\nfrom = \"a\"\nto = \"b\"\napplication = {{ kind = \"call\" }}\n"
            );
            honour(&perhop_scenario::load(text.as_bytes(), "a.toml", &[]).expect("a scenario").scenario)
        };
        assert!(with("own").is_ok());
        let refused = with("iperf3").expect_err("it has no pauses");
        assert_eq!(refused.len(), 6, "six connections: {refused:?}");
        assert!(refused[0].starts_with("flow.w[0].application: iperf3"), "{refused:?}");
    }

    #[test]
    fn bursts_leave_where_all_senders_of_a_host_have_bbr() {
        let bursts = |scenario: &Scenario| {
            let honoured = honour(scenario).expect("for a kernel");
            let alone = honoured
                .differences
                .iter()
                .any(|how| how.starts_with("pacing: BBR sends segments one by one"));
            (honoured.hosts.values().map(|host| host.bursts).collect::<Vec<_>>(), alone)
        };
        let mut scenario = scenario(BBR, r#"cc = "reno""#, "");
        assert_eq!(bursts(&scenario), (vec![true, false, false], false));
        scenario.flows[1].from = scenario.flows[0].from;
        assert_eq!(bursts(&scenario), (vec![false, false, false], true));
    }

    #[test]
    fn iperf3_has_it_by_the_route_of_its_host() {
        let honoured = honour(&scenario(BBR, BBR, "endpoint = \"iperf3\"")).expect("for a kernel");
        assert_eq!(honoured.hosts[&0].route["congctl"], "bbr");
    }
}
