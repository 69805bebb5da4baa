//! iperf3 as what sends and receives: a client and a server for each TCP flow, whose agreement passes beside the network.
//!
//! Servers listen before the run begins; a client is held in its namespace and started when its flow is. The connection of the data is the flow's; what
//! the kernel tells of it is read from the client's own socket. At the end both are interrupted and say what they measured.

use std::collections::VecDeque;
use std::io;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::time::Duration;

use perhop_core::time::{Instant, Span};
use perhop_scenario::model::{Flow, Run};
use serde_json::Value;

use crate::addresses::{of_flow, of_node, of_program};
use crate::endpoints::Controls;
use crate::honour::options;
use crate::kernel::{Clock, Namespace, Process, ordinary, program};
use crate::kernel_host::LatestTcpInfo;

const PROGRAM: &str = "iperf3";
/// How often the clients are looked at, and `TCP_INFO` is read.
const READ_EVERY: Span = Span::from_millis(100);
/// How long the thread sleeps at most, so that it sees that it is to stop.
const LONGEST_SLEEP: Span = Span::from_millis(50);
/// How often it is looked whether a server listens, and how many times: 10 s in all.
const LOOK_EVERY: Duration = Duration::from_millis(5);
const LOOKS: u32 = 2000;
/// The longest that iperf3 takes for the duration of a test, s.
const MOST_DURATION_S: u32 = 86_400;
/// The spacings of reports that it takes, s.
const INTERVALS_S: (f64, f64) = (0.1, 60.0);

/// A flow's two programs.
pub struct Pair {
    /// The flow's name.
    pub name: String,
    /// When its client is started.
    pub start: Instant,
    /// The sender's node.
    from: usize,
    /// The congestion control of its connection, once there is one.
    control: Option<String>,
    /// Where its server is.
    receiver: Arc<Namespace>,
    flow: usize,
    latest: Arc<LatestTcpInfo>,
    server: Process,
    client: Process,
    started: bool,
}

/// The output of a flow's programs: JSON, if there is any.
#[derive(Debug)]
pub struct Iperf3Output {
    /// The flow's name.
    pub flow: String,
    /// The output of its client.
    pub client: Value,
    /// The output of its server.
    pub server: Value,
}

/// The thread's report when it stops.
#[derive(Debug, Default)]
pub struct Report {
    /// Of each flow.
    pub outputs: Vec<Iperf3Output>,
    /// Errors, in words.
    pub broken: Vec<String>,
    /// Those of the connections there were.
    pub controls: Controls,
}

/// The version of the program, in its own words.
///
/// # Errors
/// Where there is none.
pub fn version() -> io::Result<String> {
    let lacking = |error: io::Error| {
        let why = format!("run.endpoint = \"iperf3\": {PROGRAM} cannot be started: {error}");
        io::Error::new(error.kind(), why)
    };
    let path = program(PROGRAM).map_err(lacking)?;
    let printed = Command::new(path).arg("--version").output().map_err(lacking)?;
    let text = String::from_utf8_lossy(&printed.stdout).into_owned();
    Ok(text.split(" (").next().unwrap_or_default().trim().to_owned())
}

impl Pair {
    /// The programs of flow number `i`, which starts at `start`, at these hosts. The server is started.
    ///
    /// # Errors
    /// Of the kernel, or where there is no iperf3.
    pub fn new(
        run: &Run,
        flow: &Flow,
        (i, start): (usize, Instant),
        hosts: (Arc<Namespace>, Arc<Namespace>),
        latest: Arc<LatestTcpInfo>,
    ) -> io::Result<Self> {
        let server = words(&[
            ("-s", None),
            ("-1", None),
            ("-4", None),
            ("-J", None),
            ("-B", Some(of_node(flow.to).to_string())),
            ("-p", Some(of_program(i).to_string())),
            ("--rcv-timeout", Some((u64::from(MOST_DURATION_S) * 1000).to_string())),
        ]);
        let mut server = hosts.1.hold(PROGRAM, &server)?;
        server.start()?;
        Ok(Self {
            name: flow.name.clone(),
            start,
            from: flow.from,
            control: None,
            flow: i,
            latest,
            server,
            client: hosts.0.hold(PROGRAM, &client(run, flow, i))?,
            started: false,
            receiver: hosts.1,
        })
    }

    /// Waits until its server listens.
    ///
    /// # Errors
    /// Where it does not: what it said.
    pub fn await_server(&mut self) -> io::Result<()> {
        let row = format!(":{:04X} 00000000:0000 0A", of_program(self.flow));
        for _ in 0..LOOKS {
            let table = self.receiver.inside(|| std::fs::read_to_string("/proc/thread-self/net/tcp"))?;
            if table.contains(&row) {
                return Ok(());
            }
            if self.server.ended()? {
                break;
            }
            std::thread::sleep(LOOK_EVERY);
        }
        let output = self.server.output()?;
        let why = format!("flow {}: the server of iperf3 does not listen: {}", self.name, output.trim());
        Err(io::Error::new(io::ErrorKind::Unsupported, why))
    }

    fn start(&mut self) -> io::Result<()> {
        self.started = true;
        self.client.start()
    }

    /// Reads `TCP_INFO` of the client's connection; false once the client has ended.
    fn read(&mut self) -> io::Result<bool> {
        if self.client.ended()? {
            return Ok(false);
        }
        if let Some(connection) = self.client.connection(of_flow(self.flow))?
            && let Ok(info) = connection.info()
        {
            self.latest.store(&info);
            if self.control.is_none() {
                self.control = Some(connection.congestion()?);
            }
        }
        Ok(true)
    }

    /// Ends both, and says what they said.
    fn end(self) -> io::Result<(Iperf3Output, Option<String>)> {
        let Self { name, started, mut client, mut server, .. } = self;
        let ended = client.ended()?;
        client.interrupt()?;
        server.interrupt()?;
        let client = json(&client.output()?);
        let server = json(&server.output()?);
        let why = (started && ended).then(|| {
            let why = client.get("error").or(Some(&client)).and_then(Value::as_str).unwrap_or("no reason");
            format!("flow {name}: iperf3 ended before the run did: {why}")
        });
        Ok((Iperf3Output { flow: name, client, server }, why))
    }
}

/// The arguments of a client.
fn client(run: &Run, flow: &Flow, i: usize) -> Vec<String> {
    let options = options(flow);
    let interval = run.interval.as_secs_f64().clamp(INTERVALS_S.0, INTERVALS_S.1);
    words(&[
        ("-c", Some(of_node(flow.to).to_string())),
        ("-p", Some(of_program(i).to_string())),
        ("--cport", Some(of_flow(i).to_string())),
        ("-J", None),
        ("-N", None),
        ("-M", Some(options.max_segment.to_string())),
        ("-S", Some(options.tos.to_string())),
        ("-i", Some(interval.to_string())),
        ("-t", Some(MOST_DURATION_S.to_string())),
    ])
}

fn words(options: &[(&str, Option<String>)]) -> Vec<String> {
    let both = |(name, value): &(&str, Option<String>)| [Some((*name).to_owned()), value.clone()];
    options.iter().flat_map(both).flatten().collect()
}

/// The output of a program: JSON, else the text, else null.
fn json(text: &str) -> Value {
    match text.trim() {
        "" => Value::Null,
        text => serde_json::from_str(text).unwrap_or_else(|_| Value::from(text)),
    }
}

/// Starts clients when their flows are due, until `stop`; then ends all.
///
/// # Errors
/// Of the kernel; a program that ended too soon is in the report.
pub fn serve(pairs: Vec<Pair>, clock: Clock, stop: &AtomicBool) -> io::Result<Report> {
    ordinary();
    let mut waiting: VecDeque<Pair> = pairs.into();
    let mut running: Vec<Pair> = Vec::new();
    let mut report = Report::default();
    let mut next_reading = Instant::ZERO + READ_EVERY;
    while !(stop.load(Relaxed) || waiting.is_empty() && running.is_empty()) {
        let first = waiting.front().map_or(Instant::MAX, |pair| pair.start);
        let sleep = clock.until(first.min(next_reading)).min(LONGEST_SLEEP);
        std::thread::sleep(Duration::from_nanos(sleep.as_nanos()));
        let now = clock.now();
        while let Some(mut pair) = waiting.pop_front_if(|pair| pair.start <= now) {
            pair.start()?;
            running.push(pair);
        }
        if now >= next_reading {
            report.over(read(&mut running)?)?;
            next_reading = now + READ_EVERY;
        }
    }
    report.over(read(&mut running)?)?;
    for pair in running.into_iter().chain(waiting) {
        report.over(vec![pair])?;
    }
    Ok(report)
}

/// Reads what the kernel tells; those whose client has ended are taken out.
fn read(running: &mut Vec<Pair>) -> io::Result<Vec<Pair>> {
    let mut over = Vec::new();
    let mut at = 0;
    while at < running.len() {
        if running[at].read()? {
            at += 1;
        } else {
            over.push(running.remove(at));
        }
    }
    Ok(over)
}

impl Report {
    fn over(&mut self, pairs: Vec<Pair>) -> io::Result<()> {
        for mut pair in pairs {
            if let Some(control) = pair.control.take() {
                self.controls.entry(pair.from).or_default().insert(control);
            }
            let (output, broken) = pair.end()?;
            self.outputs.push(output);
            self.broken.extend(broken);
        }
        Ok(())
    }
}
