//! The laws of nodes refuse what a node and a driver may not do.

use perhop_core::node::{Departure, Io, Node};
use perhop_core::packet::PortId;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_testkit::aqm::RATE;
use perhop_testkit::laws::node::{Op, TestNode, Watched, loses_nothing, repeats};
use perhop_testkit::packet::TestPacket;

/// What is wrong with a node of one port.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flaw {
    Nothing,
    /// Every second packet vanishes.
    Leaks,
    /// It says that packets wait and gives none.
    Withholds,
    /// A call that is not due drops what waits.
    CountsCalls,
    /// A met deadline stays.
    StuckDeadline,
}

struct Faulty(Flaw, Vec<TestPacket>);

impl Node<TestPacket> for Faulty {
    type Io = dyn Io<TestPacket>;

    fn on_packet(&mut self, _now: Instant, _from: PortId, pkt: TestPacket, io: &mut Self::Io) {
        if self.0 != Flaw::Leaks || pkt.id().is_multiple_of(2) {
            self.1.push(pkt);
        }
        io.ready(PortId(0));
    }

    fn poll_transmit(&mut self, _now: Instant, _to: PortId, _io: &mut Self::Io) -> Departure<TestPacket> {
        if self.1.is_empty() || self.0 == Flaw::Withholds {
            return Departure::Empty;
        }
        Departure::Packet(self.1.remove(0))
    }

    fn waits(&self, _to: PortId) -> bool {
        !self.1.is_empty()
    }

    fn next_timeout(&self) -> Option<Instant> {
        (self.0 == Flaw::StuckDeadline).then_some(Instant::from_nanos(1))
    }

    fn on_timeout(&mut self, now: Instant, io: &mut Self::Io) {
        if self.0 == Flaw::CountsCalls {
            self.1.drain(..).for_each(|pkt| io.dropped(now, SiteId(0), pkt, DropReason::Sojourn));
        }
    }
}

const ARRIVAL: Op = Op::Arrive { port: 0, flow: 0, len: 1249 };
const OPS: [Op; 4] = [ARRIVAL, ARRIVAL, Op::Wait(1_000_000), ARRIVAL];

fn build(flaw: Flaw) -> impl Fn() -> Box<TestNode> {
    move || Box::new(Faulty(flaw, Vec::new()))
}

#[test]
fn a_node_without_a_flaw_is_accepted() {
    repeats(build(Flaw::Nothing), 1, &OPS);
}

#[test]
#[should_panic(expected = "3 came, and these left or were dropped: [0, 2]")]
fn packets_must_not_vanish() {
    loses_nothing(build(Flaw::Leaks), 1, &OPS);
}

#[test]
#[should_panic(expected = "nothing to send although packets wait")]
fn a_node_must_not_withhold() {
    loses_nothing(build(Flaw::Withholds), 1, &OPS);
}

#[test]
#[should_panic(expected = "a call that was not due changed something")]
fn an_early_call_must_change_nothing() {
    repeats(build(Flaw::CountsCalls), 1, &OPS);
}

#[test]
#[should_panic(expected = "a deadline at")]
fn a_deadline_must_lie_ahead() {
    loses_nothing(build(Flaw::StuckDeadline), 1, &OPS);
}

/// A loop that forgets what it owes.
struct Careless;

impl Sink<TestPacket> for Careless {
    fn dropped(&mut self, _now: Instant, _site: SiteId, _pkt: TestPacket, _why: DropReason) {}
}

impl Io<TestPacket> for Careless {
    fn ready(&mut self, _port: PortId) {}
}

fn watched() -> Watched {
    Watched::new(build(Flaw::Nothing)(), 1, RATE)
}

fn arrive(node: &mut Watched, at: Instant, len: u64) {
    node.on_packet(at, PortId(0), TestPacket::data(0).len(len), &mut Careless);
}

#[test]
#[should_panic(expected = "a packet arrives without a length")]
fn a_driver_must_set_the_length() {
    arrive(&mut watched(), Instant::ZERO, 0);
}

#[test]
#[should_panic(expected = "time went back")]
fn a_driver_must_not_turn_time_back() {
    let mut node = watched();
    node.on_timeout(Instant::from_nanos(2), &mut Careless);
    arrive(&mut node, Instant::from_nanos(1), 1250);
}

#[test]
#[should_panic(expected = "before a departure that is due")]
fn a_driver_must_let_packets_leave_before_others_come() {
    let mut node = watched();
    let sent = Instant::ZERO + Span::from_millis(10);
    arrive(&mut node, Instant::ZERO, 1250);
    let _ = node.poll_transmit(Instant::ZERO, PortId(0), &mut Careless);
    arrive(&mut node, Instant::ZERO, 1250);
    arrive(&mut node, sent, 1250);
}

#[test]
#[should_panic(expected = "a link that is busy")]
fn a_driver_must_not_ask_for_a_busy_link() {
    let mut node = watched();
    arrive(&mut node, Instant::ZERO, 1250);
    let _ = node.poll_transmit(Instant::ZERO, PortId(0), &mut Careless);
    let _ = node.poll_transmit(Instant::from_nanos(1), PortId(0), &mut Careless);
}
