//! The first case in ns-2, where it is installed: how many packet-hops it does in a second of user time.

use std::process::Command;

use nix::sys::resource::UsageWho;
use perhop_core::queue::{RedParams, Thresholds};
use perhop_core::units::QueueSize;
use perhop_scenario::model::{Queue, Scenario};

use crate::measure::{float, user_s};

/// The case that ns-2 runs too.
pub const CASE: &str = "dumbbell-100";

const SCRIPT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/ns2/dumbbell.tcl");

/// What ns-2 did.
#[derive(Clone, Copy, Debug)]
pub struct Ns2 {
    /// Packets that left a link, data and pure ACKs.
    pub packet_hops: u64,
    /// User time of the fastest run less that of the fastest run of no simulated time, s.
    pub user_cpu_s: f64,
    /// User time of the fastest run of no simulated time, s.
    pub setup_s: f64,
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
    seconds: String,
    packet_hops: u64,
    whole_s: f64,
    setup_s: f64,
}

impl Runs {
    /// Counts what ns-2 does of `scenario`, a dumbbell.
    ///
    /// # Errors
    /// Why it could not.
    pub fn new(scenario: &Scenario) -> Result<Self, String> {
        let arguments = arguments(scenario).ok_or("the scenario is not a dumbbell")?;
        let seconds = scenario.run.duration.as_secs_f64().to_string();
        let (packet_hops, _) = run(&arguments, &seconds, "count")?;
        Ok(Self { arguments, seconds, packet_hops, whole_s: f64::INFINITY, setup_s: f64::INFINITY })
    }

    /// Runs it once more, and once without simulated time.
    ///
    /// # Errors
    /// Why it could not.
    pub fn add(mut self) -> Result<Self, String> {
        self.setup_s = run(&self.arguments, "0", "time")?.1.min(self.setup_s);
        self.whole_s = run(&self.arguments, &self.seconds, "time")?.1.min(self.whole_s);
        Ok(self)
    }

    /// What the runs, one at least, come to.
    pub fn measurement(&self) -> Ns2 {
        let user_cpu_s = self.whole_s - self.setup_s;
        Ns2 { packet_hops: self.packet_hops, user_cpu_s, setup_s: self.setup_s }
    }
}

/// The script's arguments up to the simulated time.
fn arguments(scenario: &Scenario) -> Option<Vec<String>> {
    let link = |name: &str| scenario.links.iter().find(|link| link.name == name);
    let (access, bottleneck, flow) = (link("s[0]->r1")?, link("r1->r2")?, scenario.flows.first()?);
    let Queue::Red(RedParams { limit: QueueSize::Packets(limit), thresholds, w_q, mean_packet, .. }) =
        bottleneck.port.classes[0].queue
    else {
        return None;
    };
    let Thresholds { min_th: QueueSize::Packets(min_th), max_th: QueueSize::Packets(max_th), max_p } =
        thresholds
    else {
        return None;
    };
    let tcp = &flow.tcp;
    Some(vec![
        scenario.flows.len().to_string(),
        access.rate.bits_per_sec().to_string(),
        bottleneck.rate.bits_per_sec().to_string(),
        bottleneck.delay.as_secs_f64().to_string(),
        limit.to_string(),
        min_th.to_string(),
        max_th.to_string(),
        max_p.to_string(),
        w_q.to_string(),
        mean_packet.0.to_string(),
        tcp.params.mss.0.to_string(),
        tcp.header.0.to_string(),
        (tcp.params.window.0 / tcp.params.mss.0).to_string(),
        tcp.params.initial_window.to_string(),
        tcp.params.rto.min.as_secs_f64().to_string(),
        flow.start_jitter.as_secs_f64().to_string(),
    ])
}

/// Packet-hops, where `mode` is "count", and user time.
fn run(arguments: &[String], seconds: &str, mode: &str) -> Result<(u64, f64), String> {
    let before = user_s(UsageWho::RUSAGE_CHILDREN);
    let output = Command::new("ns").arg(SCRIPT).args(arguments).args([seconds, mode]).output();
    let output = match output {
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            return Err("`ns` is not installed (Debian package ns2)".to_owned());
        }
        other => other.map_err(|error| format!("`ns` does not start: {error}"))?,
    };
    let user = user_s(UsageWho::RUSAGE_CHILDREN) - before;
    let text = String::from_utf8_lossy(&output.stdout);
    let hops = text.lines().find_map(|line| line.strip_prefix("hops ")?.parse().ok());
    hops.filter(|_| output.status.success()).map(|hops| (hops, user)).ok_or_else(|| {
        let error = String::from_utf8_lossy(&output.stderr);
        format!("`ns` failed: {}", error.lines().next().unwrap_or("no message"))
    })
}
