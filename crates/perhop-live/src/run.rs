//! The loop: takes in what hosts send, runs what is due, writes what has arrived.

use std::io;
use std::os::fd::AsFd;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::classify::Address;
use perhop_core::packet::FlowId;
use perhop_core::sink::SiteId;
use perhop_core::time::{Instant, Span};
use perhop_scenario::build::{Network, Registry};
use perhop_scenario::model::{Endpoint, Scenario};
use perhop_sim::{
    Application, HostNode, PacketStore, Recorder, Results, Simulation, TraceKinds, assemble, starts,
};

use crate::addresses::of_node;
use crate::budget::Errors;
use crate::endpoints::Controls;
use crate::frame::Frame;
use crate::honour::Honoured;
use crate::intake::{Intake, Refused, write_back};
use crate::iperf3::Iperf3Output;
use crate::kernel::{
    Clock, Interest, Poller, Priority, User, cpu_time, exact_timers, limit, ordinary, realtime,
};
use crate::kernel_host::KernelHost;
use crate::parity::Arrival;
use crate::testbed::{Host, Testbed};
use crate::{endpoints, iperf3, probes, sources};

/// Time for all threads to be ready before the run begins.
const SETTLE: Span = Span::from_millis(20);
/// Least time between two wake-ups for events alone. A wake-up costs more than what is done in it; events keep their own times, and
/// packets are written to hosts at most so much later.
const GRID: Span = Span::from_micros(100);
/// Where hosts send packets more often than that from one reading to the next, the loop rests for [`GRID`] before it reads more: being
/// woken by a packet costs more than forwarding it.
const OFTEN: Span = Span::from_micros(50);
/// Packets read from a device before the next one has its turn.
const TURN: u64 = 32;
/// Priorities of the threads that must be on time: an application that waits for a processor holds its sockets' packets up.
/// Forwarding comes first.
const FORWARDING: i32 = 50;
const SERVING: i32 = 10;
/// The longest that the loop sleeps, so that it knows when it stood still.
const LOOK_EVERY: Span = Span::from_millis(10);
/// How often progress is told.
const TELL_EVERY: Span = Span::from_millis(500);

/// A finished live run.
pub struct LiveRun {
    /// As in virtual time.
    pub results: Results,
    /// Errors, and near errors.
    pub errors: Errors,
    /// How the loop was scheduled.
    pub priority: Priority,
    /// Options of sockets that this kernel does not have.
    pub lacking: Vec<String>,
    /// The congestion control that connections had, by the node that sent.
    pub controls: Controls,
    /// Where the programs of flows are iperf3: what they said.
    pub iperf3: Option<Iperf3>,
}

/// The output of iperf3.
#[derive(Debug)]
pub struct Iperf3 {
    /// Which one it is.
    pub version: String,
    /// Of each flow, beside what was counted here: bytes that its receiver acknowledged.
    pub flows: Vec<(Iperf3Output, u64)>,
}

/// The options of a run beside its tables.
pub struct RunRequest<'a> {
    /// Called when all is set up and the privileges are gone.
    pub ready: fn(),
    /// Where what hosts send is kept.
    pub arrivals: Option<&'a mut Vec<Arrival>>,
    /// Links that are captured, by name, and the files.
    pub captures: Vec<(String, Box<dyn io::Write + Send>)>,
}

/// Runs `scenario` on real packets, as `request` asks. `report` hears how far it is.
///
/// The privileges of the process are gone when it returns, and before the first packet: only while it has one thread.
///
/// # Errors
/// Of the kernel.
pub fn run(
    scenario: &Scenario,
    honoured: &Honoured,
    trace: TraceKinds,
    request: RunRequest<'_>,
    mut report: impl FnMut(Instant) + Send,
) -> io::Result<LiveRun> {
    let starts = starts(scenario);
    let network = Network::<Frame>::new(scenario, &Registry::new())
        .map_err(|error| io::Error::other(error.to_string()))?;
    let version = (scenario.run.endpoint == Endpoint::Iperf3).then(iperf3::version).transpose()?;
    // threads inherit it, those of the set-up too: without privileges they may keep or lower it alone
    let priority = realtime(FORWARDING);
    let Testbed { hosts, work, pairs, sources, probes, drains: _drains, mut ends, lacking } =
        Testbed::new(scenario, honoured, &network, &starts)?;
    // from here on no packet, file or program meets a privilege
    User::unprivileged().become_for_good()?;
    (request.ready)();
    let host_node = |node: usize, site: SiteId, ports| {
        KernelHost::new(site, ports, ends.remove(&node).unwrap_or_default())
    };
    let built = assemble(scenario, network, trace, starts, |_| true, host_node);
    let mut driver = Driver::new(Simulation::of(built, &scenario.run), scenario, hosts)?;
    driver.simulation.capture(scenario, request.captures)?;
    driver.arrivals = request.arrivals.as_ref().map(|_| Vec::new());
    let (cpu_before, suspended_before) = (cpu_time()?, Clock::suspended());
    let clock = Clock::starting_in(SETTLE);
    let stop = AtomicBool::new(false);
    let (applications, programs, senders) = std::thread::scope(|scope| -> io::Result<_> {
        let applications = scope.spawn(|| {
            // what is refused is late, which is counted; iperf3 spins, and would take a processor for itself
            let _ = if version.is_none() { realtime(SERVING) } else { ordinary() };
            endpoints::serve(work, clock, &stop)
        });
        let programs = scope.spawn(|| iperf3::serve(pairs, clock, &stop));
        let senders = scope.spawn(|| sources::send(sources, clock, &stop));
        let probing = scope.spawn(|| probes::send(&probes, clock, &stop));
        let looped = scope.spawn(|| {
            exact_timers();
            let over = driver.run(clock, &mut report);
            stop.store(true, Relaxed);
            over
        });
        ordinary();
        let looped = joined(looped.join(), "the loop");
        stop.store(true, Relaxed);
        let applications = joined(applications.join(), "the applications")?;
        let programs = joined(programs.join(), "the programs")?;
        let senders = joined(senders.join(), "the sources")?;
        joined(probing.join(), "the probes")?;
        looped?;
        Ok((applications, programs, senders))
    })?;
    driver.errors.suspended = since(suspended_before, Clock::suspended());
    driver.errors.applications = applications.lag;
    driver.errors.connections = applications.broken;
    driver.errors.connections.extend(programs.broken);
    let controls = applications.controls.into_iter().chain(programs.controls).collect();
    driver.place(applications.applications);
    driver.errors.take_report(senders);
    driver.errors.limit = limit().filter(|_| priority == Priority::Realtime);
    driver.errors.cpu = since(cpu_before, cpu_time()?);
    driver.simulation.close_captures()?;
    if let Some(arrivals) = request.arrivals {
        *arrivals = std::mem::take(&mut driver.arrivals).unwrap_or_default();
    }
    let flows = driver.with_acknowledged(scenario, programs.outputs);
    let iperf3 = version.map(|version| Iperf3 { version, flows });
    let (results, errors) = driver.finish(scenario)?;
    Ok(LiveRun { results, errors, priority, lacking, controls, iperf3 })
}

fn since(before: Span, now: Span) -> Span {
    Span::from_nanos(now.as_nanos().saturating_sub(before.as_nanos()))
}

/// The result of a thread.
fn joined<T>(answer: std::thread::Result<io::Result<T>>, which: &str) -> io::Result<T> {
    answer.unwrap_or_else(|_| Err(io::Error::other(format!("{which} panicked"))))
}

struct Driver {
    simulation: Simulation<KernelHost>,
    hosts: Vec<Host>,
    intake: Intake,
    poller: Poller,
    errors: Errors,
    /// The packets that hosts sent, if they are kept.
    arrivals: Option<Vec<Arrival>>,
}

impl Driver {
    fn new(simulation: Simulation<KernelHost>, scenario: &Scenario, hosts: Vec<Host>) -> io::Result<Self> {
        let poller = Poller::new()?;
        for (id, host) in (0..).zip(&hosts) {
            poller.add(host.tun.as_fd(), id, Interest::Read)?;
        }
        Ok(Self {
            simulation,
            hosts,
            intake: Intake::new(scenario),
            poller,
            errors: Errors::default(),
            arrivals: None,
        })
    }

    fn run(&mut self, clock: Clock, report: &mut impl FnMut(Instant)) -> io::Result<()> {
        let end = self.simulation.end();
        let mut reported = Instant::ZERO;
        let mut ready: Vec<usize> = Vec::new();
        let mut due = Instant::ZERO + LOOK_EVERY;
        let mut pace = Pace::default();
        let (mut is_often, mut is_behind) = (false, false);
        loop {
            let now = clock.now();
            self.errors.stalls.woken(due, now);
            self.errors.forwarding.look(now);
            self.catch_up(clock, now)?;
            if now >= end {
                return Ok(());
            }
            if now - reported >= TELL_EVERY {
                report(now);
                reported = now;
            }
            due = self.simulation.next_event().unwrap_or(end).min(now + LOOK_EVERY).min(end);
            let next = due.max(now + GRID);
            ready.clear();
            if is_often && !is_behind {
                clock.sleep_until(pace.last + GRID);
            }
            ready.extend(self.poller.wait(clock.until(next))?.filter_map(|id| usize::try_from(id).ok()));
            let woken = clock.now();
            let mut packets_read = 0;
            is_behind = false;
            for &host in &ready {
                let packets = self.hear(clock, host)?;
                packets_read += packets;
                is_behind |= packets == TURN;
            }
            is_often = pace.is_often(woken, packets_read);
        }
    }

    /// Runs what is due by `now`, one moment after the other: what arrives at a host is written to it, and what its kernel
    /// answers enters the network at that same moment, however late it is.
    fn catch_up(&mut self, clock: Clock, now: Instant) -> io::Result<()> {
        let now = now.min(self.simulation.end());
        while let Some(due) = self.simulation.next_event().filter(|&due| due < now) {
            let after = due + Span::from_nanos(1);
            self.simulation.advance_to(after);
            for host in 0..self.hosts.len() {
                while let Some(is_answered) = self.write(clock, host) {
                    while is_answered && self.read(clock, after, host)? {}
                }
            }
        }
        self.simulation.advance_to(now);
        Ok(())
    }

    /// Takes in what a host's kernel has sent of itself: how many packets.
    fn hear(&mut self, clock: Clock, host: usize) -> io::Result<u64> {
        for packets_read in 0..TURN {
            let now = clock.now().min(self.simulation.end());
            self.catch_up(clock, now)?;
            if !self.read(clock, now, host)? {
                return Ok(packets_read);
            }
        }
        Ok(TURN)
    }

    /// Takes in one packet that a host's kernel has sent, as of `now`; whether there was one.
    fn read(&mut self, clock: Clock, now: Instant, host: usize) -> io::Result<bool> {
        let Host { node, tun, mtu, .. } = &self.hosts[host];
        let (intake, errors) = (&mut self.intake, &mut self.errors);
        let keep = self.arrivals.as_mut().map(|all| (*node, all));
        let mut read = Ok(Taken::Nothing);
        self.simulation.at_host(now, *node, |host_node, io| {
            read = take(tun, *mtu, now, host_node, io, intake, errors, keep);
        });
        match read? {
            Taken::Nothing => return Ok(false),
            Taken::Packet => {}
            Taken::Agreement(to, bytes) => self.pass(to, &bytes),
            Taken::Probe(sent) => {
                let now = clock.now();
                self.errors.reads.record(now.as_nanos().saturating_sub(sent.as_nanos()));
            }
        }
        Ok(true)
    }

    /// Puts applications that have stopped at their hosts, whose results they are.
    fn place(&mut self, applications: Vec<(usize, Application)>) {
        for (node, application) in applications {
            self.simulation.host(node, |host_node, _| host_node.applications.push(application));
        }
    }

    /// Writes to a host what is not the network's.
    fn pass(&mut self, to: Address, bytes: &[u8]) {
        let address = |host: &&Host| Address(u32::from(of_node(host.node)).into()) == to;
        let written = self.hosts.iter().find(address).map(|host| host.tun.write(bytes));
        self.errors.unwritten += u64::from(!matches!(written, Some(Ok(()))));
    }

    /// The output of programs, beside our counts.
    fn with_acknowledged(
        &mut self,
        scenario: &Scenario,
        outputs: Vec<Iperf3Output>,
    ) -> Vec<(Iperf3Output, u64)> {
        let mut acknowledged = |output: &Iperf3Output| {
            let (id, flow) =
                (0..).map(FlowId).zip(&scenario.flows).find(|(_, flow)| flow.name == output.flow)?;
            let mut bytes = None;
            self.simulation
                .host(flow.to, |host_node, _| bytes = host_node.receiver(id).map(|read| read.delivered.0));
            bytes
        };
        let with = |output| (acknowledged(&output).unwrap_or(0), output);
        outputs.into_iter().map(with).map(|(bytes, output)| (output, bytes)).collect()
    }

    /// Writes to a host the first of what has arrived, if there is any: whether its kernel answers that at once, as none does UDP.
    fn write(&mut self, clock: Clock, host: usize) -> Option<bool> {
        let Host { node, tun, .. } = &self.hosts[host];
        let errors = &mut self.errors;
        let mut written = None;
        self.simulation.host(*node, |host_node, io| {
            let Some((due, mut frame)) = host_node.out.pop_front() else { return };
            write_back(&mut frame);
            errors.unwritten += u64::from(tun.write(&frame.get().bytes).is_err());
            errors.lateness.record((clock.now() - due).as_nanos());
            written = Some(frame.get().meta.tcp.is_some());
            io.consumed(frame);
        });
        written
    }

    fn finish(mut self, scenario: &Scenario) -> io::Result<(Results, Errors)> {
        for &flow in &self.intake.narrow {
            self.errors.connections.push(format!(
                "flow {}: the kernel counts its window in steps of more than a segment, for another flow of its host has a \
                 much larger one: give it hosts of its own",
                scenario.flows[flow].name
            ));
        }
        for host in &mut self.hosts {
            self.errors.unread += host.dropped()?;
            let errors = &mut self.errors;
            self.simulation.host(host.node, |host_node, _| {
                for (flow, here, there) in host_node.retransmissions() {
                    if here != there {
                        errors.retransmissions.push((
                            scenario.flows[flow.0 as usize].name.clone(),
                            here,
                            there,
                        ));
                    }
                }
            });
        }
        Ok((self.simulation.finish(), self.errors))
    }
}

/// How often hosts send packets.
#[derive(Default)]
struct Pace {
    /// The last wake-up at which there were any.
    last: Instant,
}

impl Pace {
    /// Whether these `packets`, read after the loop woke up at `woken`, came more often than every [`OFTEN`] since the last ones.
    fn is_often(&mut self, woken: Instant, packets: u64) -> bool {
        let is_often = packets * OFTEN.as_nanos() > (woken - self.last).as_nanos();
        if packets > 0 {
            self.last = woken;
        }
        is_often
    }
}

/// The result of reading a host's device.
enum Taken {
    Nothing,
    Packet,
    /// A packet by which programs agree, for the host with this address.
    Agreement(Address, Vec<u8>),
    /// A probe, and when it was sent.
    Probe(Instant),
}

/// Reads one packet from a host's device and gives it to the host.
#[expect(clippy::too_many_arguments, reason = "parts of the driver, which is borrowed beside them")]
fn take(
    tun: &crate::kernel::Tun,
    mtu: usize,
    now: Instant,
    host_node: &mut KernelHost,
    io: &mut Recorder<Frame>,
    intake: &mut Intake,
    errors: &mut Errors,
    keep: Option<(usize, &mut Vec<Arrival>)>,
) -> io::Result<Taken> {
    let mut frame = io.fresh();
    let bytes = &mut frame.get_mut().bytes;
    bytes.resize(mtu, 0);
    let Some(len) = tun.read(bytes)? else {
        io.consumed(frame);
        return Ok(Taken::Nothing);
    };
    bytes.truncate(len);
    match intake.read(now, &mut frame, |flow| host_node.near(flow)) {
        Ok(()) => {
            if let Some((node, arrivals)) = keep {
                arrivals.push(Arrival::of(node, now, &frame));
            }
            host_node.send(now, frame, io);
        }
        Err(Refused::Agreement(to)) => {
            let bytes = frame.get().bytes.clone();
            io.consumed(frame);
            return Ok(Taken::Agreement(to, bytes));
        }
        Err(why) => {
            io.consumed(frame);
            if let Refused::Probe(sent) = why {
                return Ok(Taken::Probe(sent));
            }
            *match why {
                Refused::Foreign | Refused::Agreement(_) | Refused::Probe(_) => &mut errors.foreign,
                Refused::Checksum => &mut errors.checksums,
                Refused::Size => &mut errors.sizes,
            } += 1;
        }
    }
    Ok(Taken::Packet)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of each wake-up, in us, and the packets read then: whether the loop rests after it.
    fn rests(wake_ups: &[(u64, u64)]) -> Vec<bool> {
        let mut pace = Pace::default();
        let at = |us| Instant::ZERO + Span::from_micros(us);
        wake_ups.iter().map(|&(us, packets)| pace.is_often(at(us), packets)).collect()
    }

    #[test]
    fn the_loop_rests_where_packets_come_often_and_there_alone() {
        // one on an idle host, so that one 30 us later is read when it comes; then there were two
        assert_eq!(rests(&[(1000, 1), (1030, 1)]), [false, true]);
        // 10,000 a second, with wake-ups for events between
        assert_eq!(rests(&[(1000, 1), (1080, 0), (1100, 1), (1180, 0), (1200, 1)]), [false; 5]);
        // 40,000 a second: the first wakes it, then four are there after each rest, until none come
        assert_eq!(
            rests(&[(1000, 1), (1025, 1), (1125, 4), (1225, 4), (1325, 0), (2000, 1)]),
            [false, true, true, true, false, false]
        );
        // a burst after a pause is none
        assert_eq!(rests(&[(10_000, 31)]), [false]);
    }
}
