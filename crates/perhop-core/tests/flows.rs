//! Numbers of flows by five-tuple: against a plain model, and case by case.

use std::collections::BTreeMap;

use perhop_core::classify::{Address, Flow, FlowKey, FlowTable, Flows, Protocol};
use perhop_core::packet::{Dir, FlowId, TrafficClass};
use perhop_core::time::{Instant, Span};
use proptest::collection::vec;
use proptest::prelude::*;

const IDLE: Span = Span::from_secs(10);

fn key(src: u128, dst: u128, port: u16) -> FlowKey {
    FlowKey { src: Address(src), dst: Address(dst), src_port: port, dst_port: 80, protocol: Protocol::TCP }
}

fn at(seconds: u64) -> Instant {
    Instant::ZERO + Span::from_secs(seconds)
}

/// Numbers 0 and 2 are a scenario's.
fn table() -> FlowTable {
    let mut table = FlowTable::new();
    for (id, port) in [(0, 1000), (2, 80)] {
        table.insert(FlowId(id), Flow { key: key(1, 2, port), class: TrafficClass(0) });
    }
    table
}

/// What is said of [`Flows`], without care for time or memory: forward keys with number and age.
struct Model {
    flows: BTreeMap<FlowKey, (u32, u64)>,
    capacity: usize,
}

impl Model {
    fn id_of(&mut self, now: u64, key: FlowKey, enter: bool) -> Option<(FlowId, Dir)> {
        self.flows.retain(|_, (id, seen)| [0, 2].contains(id) || now - *seen <= 10);
        for (key, dir) in [(key, Dir::Forward), (key.reversed(), Dir::Reverse)] {
            if let Some((id, seen)) = self.flows.get_mut(&key) {
                *seen = now;
                return Some((FlowId(*id), dir));
            }
        }
        if !enter || self.flows.len() == self.capacity + 2 {
            return None;
        }
        let free = (0..).find(|id| self.flows.values().all(|(taken, _)| taken != id))?;
        self.flows.insert(key, (free, now));
        Some((FlowId(free), Dir::Forward))
    }
}

proptest! {
    /// Two flows of the scenario, room for three others, seconds between packets of few keys.
    #[test]
    fn equals_a_plain_model(
        packets in vec((0u64..7, 0u128..3, 0u128..3, prop_oneof![Just(80u16), Just(1000)], any::<[bool; 2]>()), 0..80),
    ) {
        let mut flows = Flows::new(&table(), 3, IDLE);
        let mut model = Model { flows: table().iter().map(|(id, flow)| (flow.key, (id.0, 0))).collect(), capacity: 3 };
        let mut now = 0;
        for (wait, src, dst, port, [back, enter]) in packets {
            now += wait;
            let key = if back { key(src, dst, port).reversed() } else { key(src, dst, port) };
            let got = if enter { flows.enter(at(now), key) } else { flows.id_of(at(now), &key) };
            prop_assert_eq!(got, model.id_of(now, key, enter), "{:?} at {} s", key, now);
        }
    }
}

#[test]
fn both_directions_have_one_number_and_forward_is_the_first_packet_s() {
    let mut flows = Flows::new(&table(), 5, IDLE);
    assert_eq!(flows.id_of(at(0), &key(1, 2, 1000).reversed()), Some((FlowId(0), Dir::Reverse)));
    assert_eq!(flows.id_of(at(0), &key(7, 8, 9)), None, "it only looks");
    assert_eq!(flows.enter(at(0), key(7, 8, 9)), Some((FlowId(1), Dir::Forward)), "between the scenario's");
    assert_eq!(flows.enter(at(0), key(7, 8, 9).reversed()), Some((FlowId(1), Dir::Reverse)));
    let udp = FlowKey { protocol: Protocol::UDP, ..key(7, 8, 9) };
    assert_eq!(flows.enter(at(0), udp), Some((FlowId(3), Dir::Forward)), "another protocol, another flow");
}

#[test]
fn a_number_is_used_again_only_after_its_flow_was_idle() {
    let mut flows = Flows::new(&FlowTable::new(), 1, IDLE);
    assert_eq!(flows.enter(at(0), key(1, 2, 3)), Some((FlowId(0), Dir::Forward)));
    assert_eq!(flows.id_of(at(8), &key(1, 2, 3).reversed()), Some((FlowId(0), Dir::Reverse)));
    assert_eq!(flows.enter(at(18), key(4, 5, 6)), None, "idle for 10 s and not longer: there is no room");
    assert_eq!(flows.enter(at(19), key(4, 5, 6)), Some((FlowId(0), Dir::Forward)));
    assert_eq!(flows.id_of(at(19), &key(1, 2, 3)), None);
}

#[test]
fn a_scenario_s_flow_stays() {
    let mut flows = Flows::new(&table(), 0, IDLE);
    assert_eq!(flows.enter(at(1), key(4, 5, 6)), None);
    assert_eq!(flows.id_of(at(1_000_000), &key(1, 2, 80)), Some((FlowId(2), Dir::Forward)));
}
