//! A router of a scenario, built for packets of bytes and driven without the simulator.

use std::collections::BTreeMap;

use perhop_core::node::{Departure, Io, Node};
use perhop_core::packet::{FlowId, Meta, OnWire, Packet, PortId};
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::Bytes;
use perhop_scenario::build::{Network, Registry};
use perhop_scenario::load;

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
}

/// What a loop offers the router.
#[derive(Default)]
struct Loop {
    dropped: Vec<DropReason>,
    ready: Vec<PortId>,
}

impl Sink<Frame> for Loop {
    fn dropped(&mut self, _now: Instant, _site: SiteId, _pkt: Frame, why: DropReason) {
        self.dropped.push(why);
    }
}

impl Io<Frame> for Loop {
    fn ready(&mut self, port: PortId) {
        self.ready.push(port);
    }
}

/// The edge of `papers/laatu`: of 60 frames of 1500 bytes back to back, a trTCM with `cbs = 15p` and `pbs = 18p` finds 15
/// green, 3 yellow, and the rest red.
#[test]
fn an_edge_colours_frames() {
    let text = include_bytes!("../../../papers/laatu/aggregate.toml");
    let scenario = load(text, "aggregate.toml", &[]).expect("no mistake").scenario;
    let network = Network::<Frame>::new(&scenario, &Registry::new()).expect("what was loaded is built");
    let edge = scenario.nodes.iter().position(|node| node.name == "e1").expect("an edge");
    // the port of the edge towards the source of each flow
    let came_by = |flow: usize| network.port[network.routes[flow].forward[0] ^ 1];
    let came_by: Vec<PortId> = (0..4).map(came_by).collect();
    let mut router = network.nodes.into_iter().nth(edge).expect("its parts").router(SiteId(0));
    let mut driver = Loop::default();
    let mut marks: BTreeMap<String, u32> = BTreeMap::new();
    for number in 0..60 {
        let flow = number % 4;
        let mut bytes = vec![0; 1500];
        bytes[0] = 0x45;
        let id = FlowId(u32::try_from(flow).expect("small"));
        let class = scenario.flow_table.get(id).expect("a flow of the scenario").class;
        let meta = Meta { len: Bytes(1500), flow: id, class, ..Meta::default() };
        router.on_packet(Instant::ZERO, came_by[flow], Frame { bytes, meta }, &mut driver);
        let port = driver.ready.pop().expect("something to send");
        match router.poll_transmit(Instant::ZERO, port, &mut driver) {
            Departure::Packet(mut frame) => {
                frame.bytes[1] = frame.meta.dscp.value() << 2;
                assert_eq!((frame.bytes.len(), frame.bytes[0]), (1500, 0x45), "the frame is whole");
                *marks.entry(frame.meta.dscp.to_string()).or_default() += 1;
            }
            other => panic!("frame {number}: {other:?}"),
        }
    }
    let expected = [("AF11", 15), ("AF12", 3), ("AF13", 42)];
    assert_eq!(marks, expected.map(|(mark, count)| (mark.to_owned(), count)).into());
    assert_eq!((driver.dropped.len(), router.next_timeout()), (0, None));
}
