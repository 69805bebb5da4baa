//! Hosts as namespaces, each with one TUN device, and the sockets of the flows in them.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddrV4;
use std::path::Path;
use std::sync::Arc;

use perhop_core::packet::{FlowId, PortId};
use perhop_core::queue::Backlog;
use perhop_core::time::Instant;
use perhop_scenario::build::Network;
use perhop_scenario::model::{Endpoint, Scenario};
use perhop_sim::{Departures, HostMarking, MarkCounts, applications_of, call_receiver_of};

use crate::addresses::{RECEIVING, of_flow, of_node};
use crate::endpoints::{Data, Sender, Work};
use crate::frame::Frame;
use crate::honour::{Honoured, Settings, UDP_HEADERS, options};
use crate::iperf3::Pair;
use crate::kernel::{Devices, Interface, Listener, Namespace, Stream, Tun, Udp, set};
use crate::kernel_host::{End, LatestTcpInfo, Place, Receiving, Sending};
use crate::probes;
use crate::sources::Source;

/// The name of the device in every namespace.
const DEVICE: &str = "tun0";

/// A host of the scenario.
pub struct Host {
    /// Its node.
    pub node: usize,
    /// Where its kernel's packets come from and go to.
    pub tun: Tun,
    /// Largest packet, bytes.
    pub mtu: usize,
    namespace: Arc<Namespace>,
    devices: Devices,
}

impl Host {
    /// A host, and its socket for probes.
    fn new(node: usize, settings: &Settings) -> io::Result<(Self, Udp)> {
        let mtu = u32::try_from(settings.mtu).map_err(io::Error::other)?;
        let (namespace, (tun, devices, socket)) = Namespace::new(|| {
            let tun = Tun::open(DEVICE)?;
            // no packet of its own may come in between
            if Path::new("/proc/sys/net/ipv6").exists() {
                set("ipv6/conf/all/disable_ipv6", "1")?;
            }
            settings.sysctls.iter().try_for_each(|(path, value)| set(path, value))?;
            let segments = if settings.bursts { None } else { Some(1) };
            let (address, route) = (of_node(node), &settings.route);
            Interface { address, mtu, queue: 10_000, segments, route }.bring_up(DEVICE)?;
            Ok((tun, Devices::new()?, Udp::new(probes::PORT, 0)?))
        })?;
        // beyond the device there is every address but its own
        socket.connect(SocketAddrV4::new(of_node(node + 1), probes::PORT))?;
        let host = Self { node, tun, mtu: mtu as usize, devices, namespace: Arc::new(namespace) };
        Ok((host, socket))
    }

    /// Packets that its device dropped on their way out, because they were not read soon enough.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn dropped(&mut self) -> io::Result<u64> {
        self.devices.dropped(DEVICE)
    }
}

/// The things that a scenario needs on this machine.
pub struct Testbed {
    /// Hosts, by node.
    pub hosts: Vec<Host>,
    /// The work of the applications.
    pub work: Work,
    /// Where iperf3 is what sends and receives: its programs, in order of their starts.
    pub pairs: Vec<Pair>,
    /// The UDP sources.
    pub sources: Vec<Source>,
    /// A socket at each host, for what tells how soon the loop reads.
    pub probes: Vec<Udp>,
    /// One at each host that receives UDP, which throws all away.
    pub drains: Vec<Udp>,
    /// By node: the ends of flows there.
    pub ends: BTreeMap<usize, BTreeMap<FlowId, Place>>,
    /// Options of sockets that this kernel does not have.
    pub lacking: Vec<String>,
}

impl Testbed {
    /// Brings up what `scenario` needs; its flows begin at `starts`.
    ///
    /// # Errors
    /// Of the kernel.
    pub fn new(
        scenario: &Scenario,
        honoured: &Honoured,
        network: &Network<Frame>,
        starts: &[Instant],
    ) -> io::Result<Self> {
        let made = honoured.hosts.iter().map(|(&node, settings)| Host::new(node, settings));
        let (hosts, probes) = made.collect::<io::Result<Vec<_>>>()?.into_iter().unzip();
        let applications = applications_of(scenario, starts).collect();
        let work = Work { applications, ..Work::default() };
        let mut testbed = Self {
            hosts,
            work,
            pairs: Vec::new(),
            sources: Vec::new(),
            probes,
            drains: Vec::new(),
            ends: BTreeMap::new(),
            lacking: Vec::new(),
        };
        testbed.receivers(scenario)?;
        for (i, &start) in starts.iter().enumerate() {
            let route = &network.routes[i];
            let (out, back) = (network.port[route.forward[0]], network.port[route.reverse[0]]);
            match i.checked_sub(scenario.flows.len()) {
                None => testbed.tcp(scenario, i, start, (out, back))?,
                Some(k) => testbed.udp(scenario, i, k, start, (out, back))?,
            }
        }
        let mut senders: Vec<Sender> = testbed.work.senders.into();
        senders.sort_by_key(|sender| sender.start);
        testbed.work.senders = senders.into();
        testbed.pairs.iter_mut().try_for_each(Pair::await_server)?;
        testbed.pairs.sort_by_key(|pair| pair.start);
        testbed.lacking.sort();
        testbed.lacking.dedup();
        Ok(testbed)
    }

    fn host(&self, node: usize) -> io::Result<&Host> {
        let found = self.hosts.iter().find(|host| host.node == node);
        found.ok_or_else(|| io::Error::other(format!("node {node} is no host")))
    }

    fn place(&mut self, node: usize, flow: usize, end: End, port: PortId) {
        let flow = FlowId(u32::try_from(flow).unwrap_or(u32::MAX));
        self.ends.entry(node).or_default().insert(flow, Place { end, port });
    }

    /// The listeners at hosts.
    fn receivers(&mut self, scenario: &Scenario) -> io::Result<()> {
        for host in 0..self.hosts.len() {
            let host = &self.hosts[host];
            let own = scenario.run.endpoint == Endpoint::Own;
            if let Some(flow) = scenario.flows.iter().find(|flow| own && flow.to == host.node) {
                // the congestion control of a receiver does nothing; its ACKs are marked on their way
                let options = crate::kernel::Options { tos: 0, congestion: String::new(), ..options(flow) };
                self.work.listeners.push(host.namespace.inside(|| Listener::new(RECEIVING, &options))?);
            }
            if scenario.udp.iter().any(|flow| flow.to == host.node) {
                self.drains.push(host.namespace.inside(|| Udp::drain(RECEIVING))?);
            }
        }
        Ok(())
    }

    fn tcp(
        &mut self,
        scenario: &Scenario,
        i: usize,
        start: Instant,
        ports: (PortId, PortId),
    ) -> io::Result<()> {
        let flow = &scenario.flows[i];
        let params = &flow.tcp.params;
        let latest = Arc::<LatestTcpInfo>::default();
        let size = flow.size().map(|size| size.0);
        let close = params.close && size.is_some();
        let last = size.map(|size| size + u64::from(close));
        self.place(flow.from, i, End::Sending(Sending::new(Arc::clone(&latest), flow.mark, last)), ports.0);
        self.place(
            flow.to,
            i,
            End::Receiving(Receiving::new(HostMarking::new(&flow.ack_marking), size)),
            ports.1,
        );
        if scenario.run.endpoint == Endpoint::Iperf3 {
            let of = |node| Ok::<_, io::Error>(Arc::clone(&self.host(node)?.namespace));
            let hosts = (of(flow.from)?, of(flow.to)?);
            self.pairs.push(Pair::new(&scenario.run, flow, (i, start), hosts, latest)?);
            return Ok(());
        }
        let options = options(flow);
        let (socket, lacking) =
            self.host(flow.from)?.namespace.inside(|| Stream::bound(of_flow(i), &options))?;
        self.lacking.extend(lacking.into_iter().map(str::to_owned));
        let to = SocketAddrV4::new(of_node(flow.to), RECEIVING);
        let data = match (flow.application, size) {
            (Some(application), _) => Data::OnDemand { application, written: 0, left: 0 },
            (None, Some(left)) => Data::Transfer { left, close },
            (None, None) => Data::Endless,
        };
        let (name, node) = (flow.name.clone(), flow.from);
        self.work.senders.push_back(Sender { name, node, start, socket, to, data, latest });
        Ok(())
    }

    fn udp(
        &mut self,
        scenario: &Scenario,
        i: usize,
        k: usize,
        start: Instant,
        ports: (PortId, PortId),
    ) -> io::Result<()> {
        let flow = &scenario.udp[k];
        let socket =
            self.host(flow.from)?.namespace.inside(|| Udp::new(of_flow(i), flow.mark.value() << 2))?;
        self.place(flow.from, i, End::Source(Backlog::default()), ports.0);
        self.place(
            flow.to,
            i,
            End::Drain(MarkCounts::default(), call_receiver_of(scenario, k, start)),
            ports.1,
        );
        let payload = usize::try_from(flow.packet_size.0 - UDP_HEADERS).unwrap_or(usize::MAX);
        socket.cut(payload)?;
        socket.connect(SocketAddrV4::new(of_node(flow.to), RECEIVING))?;
        self.sources.push(Source {
            socket,
            payload,
            departures: Departures::new(&scenario.run, flow, start),
        });
        Ok(())
    }
}
