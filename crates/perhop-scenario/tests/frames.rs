//! A router of a scenario, built for packets of bytes and driven without the simulator.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use perhop_core::classify::{Address, Flow, FlowKey, Flows, Protocol};
use perhop_core::node::{Departure, Io, Node};
use perhop_core::packet::{Dir, FlowId, Meta, OnWire, Packet, PortId, TrafficClass};
use perhop_core::router::Router;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_scenario::build::{Network, Registry};
use perhop_scenario::load;
use perhop_scenario::model::Scenario;
use perhop_testkit::laws::node::Traced;
use perhop_testkit::node_laws;

/// The host of number n has the address 10.0.0.0 + n.
const NET: u32 = 10 << 24;

/// An IPv4 packet as it lies in a buffer.
#[derive(Debug)]
struct Frame {
    bytes: Vec<u8>,
    meta: Meta,
}

impl Packet for Frame {
    fn meta(&self) -> &Meta {
        &self.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.meta
    }
}

impl OnWire for Frame {
    fn full_len(&self) -> u32 {
        u32::try_from(self.bytes.len()).expect("a frame of at most 64 KiB")
    }

    fn destination(&self) -> Option<Address> {
        Some(key_of(&self.bytes).dst)
    }
}

/// 1500 bytes of TCP over IPv4.
fn bytes(key: &FlowKey) -> Vec<u8> {
    let mut bytes = vec![0; 1500];
    bytes[0] = 0x45;
    bytes[9] = key.protocol.0;
    for (at, host) in [(12, key.src), (16, key.dst)] {
        let ip = NET + u32::try_from(host.0).expect("a small number");
        bytes[at..at + 4].copy_from_slice(&ip.to_be_bytes());
    }
    bytes[20..22].copy_from_slice(&key.src_port.to_be_bytes());
    bytes[22..24].copy_from_slice(&key.dst_port.to_be_bytes());
    bytes
}

/// The five-tuple that the bytes carry.
fn key_of(bytes: &[u8]) -> FlowKey {
    let host = |at| {
        let ip = u32::from_be_bytes(std::array::from_fn(|i| bytes[at + i]));
        Address(u128::from(ip - NET))
    };
    let port = |at| u16::from_be_bytes([bytes[at], bytes[at + 1]]);
    FlowKey {
        src: host(12),
        dst: host(16),
        src_port: port(20),
        dst_port: port(22),
        protocol: Protocol(bytes[9]),
    }
}

/// The scenario of `papers/laatu`.
static LAATU: LazyLock<Scenario> = LazyLock::new(|| {
    let text = include_bytes!("../../../papers/laatu/aggregate.toml");
    load(text, "aggregate.toml", &[]).expect("no mistake").scenario
});

fn key(flow: u32) -> FlowKey {
    LAATU.flow_table.get(FlowId(flow)).expect("a flow of the scenario").key
}

/// Its number is where TCP has its own.
impl Traced for Frame {
    fn arriving(id: u32, flow: u32, len: u64) -> Self {
        let mut bytes = bytes(&key(flow));
        bytes[24..28].copy_from_slice(&id.to_be_bytes());
        bytes.truncate(28.max(usize::try_from(len).expect("at most 1500")));
        let meta = Meta { len: Bytes(bytes.len() as u64), flow: FlowId(flow), ..Meta::default() };
        Self { bytes, meta }
    }

    fn id(&self) -> u32 {
        u32::from_be_bytes(std::array::from_fn(|i| self.bytes[24 + i]))
    }
}

node_laws!(an_edge_for_frames, || Box::new(Loop::new().router), ports = 5);

/// What a loop offers the router.
#[derive(Default)]
struct RecordingIo {
    dropped: Vec<DropReason>,
    ready: Vec<PortId>,
}

impl Sink<Frame> for RecordingIo {
    fn dropped(&mut self, _now: Instant, _site: SiteId, _pkt: Frame, why: DropReason) {
        self.dropped.push(why);
    }
}

impl Io<Frame> for RecordingIo {
    fn ready(&mut self, port: PortId) {
        self.ready.push(port);
    }
}

/// A loop around its router `e1`.
struct Loop {
    router: Router<Frame>,
    flows: Flows,
    /// The port of the router towards the source of each flow.
    came_by: Vec<PortId>,
    io: RecordingIo,
}

impl Loop {
    fn new() -> Self {
        Self::of(&LAATU)
    }

    fn of(scenario: &Scenario) -> Self {
        let mut network =
            Network::<Frame>::new(scenario, &Registry::new()).expect("what was loaded is built");
        network.route_by_address(scenario);
        let edge = scenario.nodes.iter().position(|node| node.name == "e1").expect("an edge");
        let came_by = |flow: usize| network.port[network.routes[flow].forward[0] ^ 1];
        let came_by = (0..4).map(came_by).collect();
        let router = network.nodes.into_iter().nth(edge).expect("its parts").router(SiteId(0));
        let flows = Flows::new(&scenario.flow_table, 10, Span::from_secs(60));
        Self { router, flows, came_by, io: RecordingIo::default() }
    }

    /// What is known of a packet that comes with these bytes.
    fn meta(&mut self, bytes: &[u8]) -> Meta {
        let key = key_of(bytes);
        let (flow, dir) = self.flows.id_of(Instant::ZERO, &key).unwrap_or_else(|| {
            let (flow, dir) = self.flows.enter(Instant::ZERO, key).expect("room for it");
            self.router.learn(flow, &Flow { key, class: TrafficClass::default() });
            (flow, dir)
        });
        let class = LAATU.flow_table.get(flow).map_or_else(Default::default, |known| known.class);
        Meta { len: Bytes(bytes.len() as u64), flow, dir, class, ..Meta::default() }
    }

    /// The frame of these bytes comes by port `from`; what leaves then, with its mark in its bytes.
    fn pass(&mut self, from: PortId, bytes: Vec<u8>) -> Option<Frame> {
        let meta = self.meta(&bytes);
        self.router.on_packet(Instant::ZERO, from, Frame { bytes, meta }, &mut self.io);
        let port = self.io.ready.pop()?;
        match self.router.poll_transmit(Instant::ZERO, port, &mut self.io) {
            Departure::Packet(mut frame) => {
                frame.bytes[1] = frame.meta.dscp.value() << 2;
                Some(frame)
            }
            other => panic!("{other:?}"),
        }
    }
}

/// Of 60 frames of 1500 bytes back to back, a trTCM with `cbs = 15p` and `pbs = 18p` finds 15 green, 3 yellow, and the
/// rest red.
#[test]
fn an_edge_colours_frames() {
    let mut edge = Loop::new();
    let mut marks: BTreeMap<String, u32> = BTreeMap::new();
    for number in 0..60 {
        let flow = number % 4;
        let frame = edge.pass(edge.came_by[flow as usize], bytes(&key(flow))).expect("it leaves");
        assert_eq!((frame.meta.flow, frame.meta.dir), (FlowId(flow), Dir::Forward), "frame {number}");
        assert_eq!((frame.bytes.len(), frame.bytes[0]), (1500, 0x45), "the frame is whole");
        *marks.entry(frame.meta.dscp.to_string()).or_default() += 1;
    }
    let expected = [("AF11", 15), ("AF12", 3), ("AF13", 42)];
    assert_eq!(marks, expected.map(|(mark, count)| (mark.to_owned(), count)).into());
    assert_eq!((edge.io.dropped.len(), edge.router.next_timeout()), (0, None));
}

/// What a frame carries says whose it is, also on the way back and where the scenario has no such flow.
#[test]
fn frames_know_their_flow() {
    let mut edge = Loop::new();
    let back = edge.meta(&bytes(&key(3).reversed()));
    assert_eq!((back.flow, back.dir), (FlowId(3), Dir::Reverse));
    let flows = u32::try_from(LAATU.flow_table.iter().count()).expect("a few");
    let other = FlowKey { src_port: 7, ..key(0) };
    for (key, dir) in [(other, Dir::Forward), (other.reversed(), Dir::Reverse)] {
        let meta = edge.meta(&bytes(&key));
        assert_eq!((meta.flow, meta.dir), (FlowId(flows), dir));
    }
}

/// A flow that the scenario does not have is treated as its port says and goes where its destination is.
#[test]
fn a_new_flow_goes_to_its_destination() {
    let mut edge = Loop::new();
    let (from, listed) = (edge.came_by[0], key(0));
    let new = FlowKey { src_port: 7, ..listed };
    let frame = edge.pass(from, bytes(&new)).expect("it leaves");
    assert_eq!((frame.meta.dscp.to_string().as_str(), key_of(&frame.bytes)), ("AF11", new));
    let to = |edge: &mut Loop, dst| {
        let meta = edge.meta(&bytes(&FlowKey { dst, ..new }));
        let frame = Frame { bytes: bytes(&FlowKey { dst, ..new }), meta };
        edge.router.on_packet(Instant::ZERO, from, frame, &mut edge.io);
        edge.io.ready.pop()
    };
    let (onwards, next_door) = (to(&mut edge, listed.dst), key(1).src);
    assert!(onwards.is_some_and(|port| !edge.came_by.contains(&port)), "towards the other edge: {onwards:?}");
    assert_eq!(to(&mut edge, next_door), Some(edge.came_by[1]), "to another host of this edge");
    assert_eq!(edge.io.dropped, []);
    let nobody = Address(LAATU.nodes.len() as u128);
    assert_eq!(to(&mut edge, nobody), None);
    assert_eq!(edge.io.dropped, [DropReason::Unclassified]);
}

/// A conditioner that asks for ports treats a flow that the scenario does not have by those that its frames carry.
#[test]
fn a_conditioner_learns_a_new_flow() {
    let text = include_bytes!("../../../papers/laatu/aggregate.toml");
    let only_port_7 = "conditioner.customer.match={ src_port = 7 }".to_owned();
    let scenario = load(text, "aggregate.toml", &[only_port_7]).expect("no mistake").scenario;
    let mut edge = Loop::of(&scenario);
    let mark = |edge: &mut Loop, src_port| {
        let frame = edge.pass(edge.came_by[0], bytes(&FlowKey { src_port, ..key(0) })).expect("it leaves");
        frame.meta.dscp.to_string()
    };
    assert_eq!([8, 7, 8].map(|port| mark(&mut edge, port)), ["BE", "AF11", "BE"]);
}
