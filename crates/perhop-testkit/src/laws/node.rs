//! Laws of [`Node`] for packets of any kind, and of whoever drives one: [`Watched`] stands between the two and holds the
//! driver to its word.

use perhop_core::node::{Departure, Io, Node};
use perhop_core::packet::{Dir, FlowId, Packet, PortId};
use perhop_core::serializer::Serializer;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use proptest::prelude::*;

use crate::aqm::RATE;
use crate::packet::{AF11, TestPacket};

/// A packet that the laws can make and know again.
pub trait Traced: Packet {
    /// Packet number `id`, of `flow`, `len` bytes long or longer if it needs them.
    fn arriving(id: u32, flow: u32, len: u64) -> Self;
    /// Its number.
    fn id(&self) -> u32;
}

impl Traced for TestPacket {
    fn arriving(id: u32, flow: u32, len: u64) -> Self {
        Self::data(id).len(len).flow(flow).dscp(AF11)
    }

    fn id(&self) -> u32 {
        Self::id(self)
    }
}

/// A node that asks no more of its driver than a router does.
pub type TestNode<P = TestPacket> = dyn Node<P, Io = dyn Io<P>>;

/// Something done to a node.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Op {
    /// A packet arrives.
    Arrive {
        /// By which port, modulo their number.
        port: u8,
        /// Of which flow, modulo 4.
        flow: u8,
        /// Modulo 1500, plus one byte.
        len: u16,
    },
    /// Time passes, in ns.
    Wait(u32),
}

/// Random operations.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        3 => (any::<u8>(), 0u8..4, 0u16..1500).prop_map(|(port, flow, len)| Op::Arrive { port, flow, len }),
        1 => (0u32..40_000_000).prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..150)
}

/// A node, and what its driver owes it; it panics where the driver breaks its word.
pub struct Watched<P: Packet = TestPacket> {
    node: Box<TestNode<P>>,
    now: Instant,
    links: Vec<Link>,
}

struct Link {
    serializer: Serializer,
    /// It may send again, as far as link and node say.
    free: Instant,
}

impl<P: Packet> Watched<P> {
    /// A `node` whose ports have links of `rate`.
    #[must_use]
    pub fn new(node: Box<TestNode<P>>, ports: usize, rate: BitRate) -> Self {
        let link = |_| Link { serializer: Serializer::new(rate), free: Instant::ZERO };
        Self { node, now: Instant::ZERO, links: (0..ports).map(link).collect() }
    }

    fn pass(&mut self, now: Instant) {
        assert!(now >= self.now, "time went back from {} to {now}", self.now);
        self.now = now;
    }

    fn due(&self) -> impl Iterator<Item = (Instant, PortId)> {
        let waits = |port: &PortId| self.node.waits(*port);
        (0u32..)
            .map(PortId)
            .take(self.links.len())
            .filter(waits)
            .map(|port| (self.links[port.0 as usize].free, port))
    }
}

impl<P: Packet> Node<P> for Watched<P> {
    type Io = dyn Io<P>;

    fn on_packet(&mut self, now: Instant, from: PortId, pkt: P, io: &mut Self::Io) {
        self.pass(now);
        assert!(pkt.meta().len > Bytes(0), "a packet arrives without a length");
        let late = self.due().find(|(due, _)| *due <= now);
        assert!(late.is_none(), "an arrival at {now} before a departure that is due: {late:?}");
        self.node.on_packet(now, from, pkt, io);
    }

    fn poll_transmit(&mut self, now: Instant, to: PortId, io: &mut Self::Io) -> Departure<P> {
        self.pass(now);
        let link = &mut self.links[to.0 as usize];
        assert!(link.free <= now, "asked at {now} for a packet for a link that is busy until {}", link.free);
        let departure = self.node.poll_transmit(now, to, io);
        match &departure {
            Departure::Packet(pkt) => link.free = now + link.serializer.time(pkt.meta().len),
            Departure::NotBefore(at) => {
                assert!(*at > now, "waits until {at} at {now}");
                link.free = *at;
            }
            Departure::Empty => assert!(!self.node.waits(to), "nothing to send although packets wait"),
        }
        departure
    }

    fn waits(&self, to: PortId) -> bool {
        self.node.waits(to)
    }

    fn next_timeout(&self) -> Option<Instant> {
        self.node.next_timeout()
    }

    fn on_timeout(&mut self, now: Instant, io: &mut Self::Io) {
        self.pass(now);
        self.node.on_timeout(now, io);
        let next = self.node.next_timeout();
        assert!(next.is_none_or(|at| at > now), "a deadline at {next:?} after {now}");
    }
}

/// Ends of packets: when, which, and by which port it left or why it was dropped.
pub type Transcript = Vec<(Instant, u32, Result<PortId, DropReason>)>;

#[derive(Default)]
struct RecordingIo {
    transcript: Transcript,
    ready: Vec<PortId>,
}

impl<P: Traced> Sink<P> for RecordingIo {
    fn dropped(&mut self, now: Instant, _site: SiteId, pkt: P, why: DropReason) {
        self.transcript.push((now, pkt.id(), Err(why)));
    }
}

impl<P: Traced> Io<P> for RecordingIo {
    fn ready(&mut self, port: PortId) {
        self.ready.push(port);
    }
}

/// Every packet that comes in leaves or is dropped, once; who waits is let go in the end; asked as it must be, the node
/// never has a reason to wait that is past.
pub fn loses_nothing<P: Traced>(
    build: impl Fn() -> Box<TestNode<P>>,
    ports: usize,
    ops: &[Op],
) -> Transcript {
    Walk::new(build(), ports, false).run(ops)
}

/// Two nodes built alike and driven alike act alike, even if one is called at times at which nothing is due.
pub fn repeats<P: Traced>(build: impl Fn() -> Box<TestNode<P>>, ports: usize, ops: &[Op]) {
    let once = loses_nothing(&build, ports, ops);
    assert_eq!(once, loses_nothing(&build, ports, ops));
    assert_eq!(once, Walk::new(build(), ports, true).run(ops), "a call that was not due changed something");
}

/// A driver as a node expects it.
struct Walk<P: Traced> {
    node: Watched<P>,
    /// Call `on_timeout` after every arrival, due or not.
    pester: bool,
    came: u32,
    io: RecordingIo,
}

impl<P: Traced> Walk<P> {
    fn new(node: Box<TestNode<P>>, ports: usize, pester: bool) -> Self {
        Self { node: Watched::new(node, ports, RATE), pester, came: 0, io: RecordingIo::default() }
    }

    fn run(mut self, ops: &[Op]) -> Transcript {
        let mut now = Instant::ZERO;
        for op in ops {
            match *op {
                Op::Arrive { port, flow, len } => {
                    let port = PortId(u32::from(port) % u32::try_from(self.node.links.len()).unwrap_or(1));
                    let pkt = P::arriving(self.came, u32::from(flow), u64::from(len) + 1);
                    self.came += 1;
                    self.node.on_packet(now, port, pkt, &mut self.io);
                    self.serve(now);
                    if self.pester && self.node.next_timeout().is_none_or(|at| at > now) {
                        self.node.on_timeout(now, &mut self.io);
                        self.serve(now);
                    }
                }
                Op::Wait(ns) => {
                    now += Span::from_nanos(u64::from(ns));
                    self.advance(now);
                }
            }
        }
        // long enough for all that waits to go
        self.advance(now + Span::from_millis(1_000_000));
        let mut gone: Vec<u32> = self.io.transcript.iter().map(|entry| entry.1).collect();
        gone.sort_unstable();
        assert!(
            gone.iter().copied().eq(0..self.came),
            "{} came, and these left or were dropped: {gone:?}",
            self.came
        );
        self.io.transcript
    }

    /// Departures and then timers, as they come, up to `until`.
    fn advance(&mut self, until: Instant) {
        loop {
            let departure = self.node.due().min().filter(|due| due.0 <= until);
            let timer = self.node.next_timeout().filter(|&at| at <= until).map(|at| at.max(self.node.now));
            match (departure, timer) {
                (Some((at, port)), timer) if timer.is_none_or(|timer| at <= timer) => {
                    self.poll(at.max(self.node.now), port);
                }
                (_, Some(at)) => {
                    self.node.on_timeout(at, &mut self.io);
                    self.serve(at);
                }
                _ => return,
            }
        }
    }

    /// Asks the ports that the node named.
    fn serve(&mut self, now: Instant) {
        for port in std::mem::take(&mut self.io.ready) {
            if self.node.links[port.0 as usize].free <= now {
                self.poll(now, port);
            }
        }
    }

    fn poll(&mut self, now: Instant, port: PortId) {
        if let Departure::Packet(pkt) = self.node.poll_transmit(now, port, &mut self.io) {
            assert_eq!(
                (pkt.meta().dir, pkt.meta().flow < FlowId(4)),
                (Dir::Forward, true),
                "it is as it came"
            );
            self.io.transcript.push((now, pkt.id(), Ok(port)));
        }
    }
}

/// Makes the node laws tests of one kind of node, in a module `$name`.
///
/// `node_laws!(router, || Box::new(router()), ports = 2);`
#[macro_export]
macro_rules! node_laws {
    ($name:ident, $build:expr, ports = $ports:expr) => {
        mod $name {
            use super::*;

            #[test]
            fn loses_nothing() {
                $crate::check(&$crate::laws::node::ops(), |ops| {
                    $crate::laws::node::loses_nothing($build, $ports, &ops);
                });
            }

            #[test]
            fn repeats() {
                $crate::check(&$crate::laws::node::ops(), |ops| {
                    $crate::laws::node::repeats($build, $ports, &ops);
                });
            }
        }
    };
}
