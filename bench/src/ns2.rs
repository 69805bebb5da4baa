//! Cases in ns-2, where it is installed: how many packet-hops it does in a second of user time, and what one costs.

use std::process::Command;

use nix::sys::resource::UsageWho;
use perhop_core::queue::Thresholds;
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_scenario::model::{Meter, Queue, Scenario};
use perhop_tcp::settings::RecoveryKind;

use crate::cachegrind::{self, Cost, Counts};
use crate::measure::{Load, float, user_s};

/// The cases that ns-2 runs too.
pub const CASES: [&str; 2] = [crate::cases::HEADLINE, "dumbbell-100"];

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ns2/dumbbell.tcl");

/// What ns-2 did.
#[derive(Clone, Debug)]
pub struct Ns2 {
    /// Packets that left a link, data and pure ACKs.
    pub packet_hops: u64,
    /// User time of the fastest run less that of the fastest run of no simulated time, s.
    pub user_cpu_s: f64,
    /// User time of the fastest run of no simulated time, s.
    pub setup_s: f64,
    /// What the network went through.
    pub load: Load,
    /// What a hop costs, or why that is not known.
    pub cost: Result<Cost, String>,
}

impl Ns2 {
    /// Packet-hops for each second of user time, net of set-up.
    pub fn hops_per_cpu_s(&self) -> f64 {
        float(self.packet_hops) / self.user_cpu_s
    }
}

/// The runs so far.
pub struct Runs {
    arguments: Vec<String>,
    duration: Span,
    packet_hops: u64,
    load: Load,
    whole_s: f64,
    setup_s: f64,
}

impl Runs {
    /// Counts what ns-2 does of `scenario`, a dumbbell.
    ///
    /// # Errors
    /// Why it could not.
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        let arguments = arguments(scenario).ok_or("the scenario is not a dumbbell that ns-2 knows")?;
        let duration = scenario.run.duration;
        let rate = scenario.links.iter().find(|link| link.name == "r1->r2").map(|link| link.rate);
        let bits = float(rate.map_or(1, |rate| rate.bits_per_sec())) * duration.as_secs_f64();
        let counted = run(&arguments, duration, "count")?.0;
        let load = Load {
            used: 8.0 * float(counted.get("bytes")?) / bits,
            drops: counted.get("drops")?,
            timeouts: counted.get("timeouts")?,
        };
        let packet_hops = counted.get("hops")?;
        Ok(Self { arguments, duration, packet_hops, load, whole_s: f64::INFINITY, setup_s: f64::INFINITY })
    }

    /// Runs it once more, and once without simulated time.
    ///
    /// # Errors
    /// Why it could not.
    pub fn add(mut self) -> Result<Self, String> {
        self.setup_s = run(&self.arguments, Span::ZERO, "time")?.1.min(self.setup_s);
        self.whole_s = run(&self.arguments, self.duration, "time")?.1.min(self.whole_s);
        Ok(self)
    }

    /// What the runs, one at least, come to.
    pub fn measurement(&self) -> Ns2 {
        let count = |until: Span| {
            let hops = run(&self.arguments, until, "count")?.0.get("hops")?;
            let (_, costs) = cachegrind::run("ns", &words(&self.arguments, until, "time"))?;
            Ok(Counts { hops, costs })
        };
        Ns2 {
            packet_hops: self.packet_hops,
            user_cpu_s: self.whole_s - self.setup_s,
            setup_s: self.setup_s,
            load: self.load,
            cost: cachegrind::cost(self.duration, self.packet_hops, count),
        }
    }
}

/// What the script is told of `scenario`.
fn arguments(scenario: &Scenario) -> Option<Vec<String>> {
    let link = |name: &str| scenario.links.iter().find(|link| link.name == name);
    let (access, bottleneck, flow) = (link("s[0]->r1")?, link("r1->r2")?, scenario.flows.first()?);
    let tcp = &flow.tcp;
    let kind = match tcp.params.recovery {
        RecoveryKind::Reno => "Reno",
        RecoveryKind::Sack => "Sack1",
        _ => return None,
    };
    let mut words = vec![
        format!("flows={}", scenario.flows.len()),
        format!("access={}", access.rate.bits_per_sec()),
        format!("bottleneck={}", bottleneck.rate.bits_per_sec()),
        format!("delay={}", bottleneck.delay.as_secs_f64()),
        format!("tcp={kind}"),
        format!("mss={}", tcp.params.mss.0),
        format!("header={}", tcp.header.0),
        format!("window={}", tcp.params.window.0 / tcp.params.mss.0),
        format!("initial={}", tcp.params.initial_window),
        format!("minrto={}", tcp.params.rto.min.as_secs_f64()),
        format!("jitter={}", flow.start_jitter.as_secs_f64()),
    ];
    words.extend(queue(&bottleneck.port.classes[0].queue)?);
    if let Some(conditioner) = scenario.conditioners.first() {
        let Meter::TrTcm(meter) = conditioner.meter.as_ref()? else { return None };
        words.push(format!("cir={}", meter.cir.bits_per_sec()));
        words.push(format!("pir={}", meter.pir.bits_per_sec()));
        words.push(format!("cbs={}", meter.cbs.0));
        words.push(format!("pbs={}", meter.pbs.0));
    }
    Some(words)
}

/// What the script is told of the queue at the bottleneck.
fn queue(queue: &Queue) -> Option<Vec<String>> {
    let words = |kind: &str, limit: QueueSize, thresholds: &[Thresholds], w_q: f64, mean: Bytes| {
        let thresholds: Option<Vec<String>> = thresholds.iter().map(threshold).collect();
        Some(vec![
            format!("queue={kind}"),
            format!("limit={}", packets(limit)?),
            format!("thresholds={}", thresholds?.join(" ")),
            format!("w_q={w_q}"),
            format!("mean={}", mean.0),
        ])
    };
    match queue {
        Queue::Red(red) => words("red", red.limit, &[red.thresholds], red.w_q, red.mean_packet),
        Queue::Gred(gred) => {
            let thresholds = [&gred.green, &gred.yellow, &gred.red].map(|queue| queue.thresholds);
            words("gred", gred.limit, &thresholds, gred.green.w_q, gred.mean_packet)
        }
        _ => None,
    }
}

fn threshold(thresholds: &Thresholds) -> Option<String> {
    let Thresholds { min_th, max_th, max_p } = *thresholds;
    Some(format!("{}/{}/{max_p}", packets(min_th)?, packets(max_th)?))
}

const fn packets(size: QueueSize) -> Option<u64> {
    match size {
        QueueSize::Packets(packets) => Some(packets),
        QueueSize::Bytes(_) => None,
    }
}

fn words(arguments: &[String], until: Span, mode: &str) -> Vec<String> {
    let last = [format!("seconds={}", until.as_secs_f64()), format!("mode={mode}")];
    [SCRIPT.to_owned()].into_iter().chain(arguments.iter().cloned()).chain(last).collect()
}

/// What the script printed.
struct NsOutput(String);

impl NsOutput {
    fn get(&self, what: &str) -> Result<u64, String> {
        let value = |line: &str| line.strip_prefix(what)?.strip_prefix(' ')?.parse().ok();
        self.0.lines().find_map(value).ok_or_else(|| format!("`ns` printed no {what}"))
    }
}

/// What ns-2 printed, and its user time.
fn run(arguments: &[String], until: Span, mode: &str) -> Result<(NsOutput, f64), String> {
    let before = user_s(UsageWho::RUSAGE_CHILDREN);
    let output = match Command::new("ns").args(words(arguments, until, mode)).output() {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err("`ns` is not installed (Debian package ns2)".to_owned());
        }
        other => other.map_err(|error| format!("`ns` does not start: {error}"))?,
    };
    let user = user_s(UsageWho::RUSAGE_CHILDREN) - before;
    if output.status.success() {
        return Ok((NsOutput(String::from_utf8_lossy(&output.stdout).into_owned()), user));
    }
    let error = String::from_utf8_lossy(&output.stderr);
    Err(format!("`ns` failed: {}", error.lines().next().unwrap_or("no message")))
}
