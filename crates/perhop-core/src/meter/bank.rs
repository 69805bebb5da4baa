//! A meter for each flow and direction, or for each pair of addresses, all with the same profile.
//!
//! Source: RFC 2475 section 2.3 (traffic profiles of single flows or of aggregates); by addresses as the edges of
//! Papagiannaki et al. 2001 police. Different: nothing.
//! Units: those of the meters. Cost: two array look-ups and the meter; no scan, ever. By addresses the first packet of
//! a flow and direction is looked up in a tree besides, and so is one that goes back where nothing was measured. A meter
//! that has deadlines pays for a heap when one of them comes up or moves earlier; one that has none pays nothing.
//! Memory: 8 bytes for each number of a flow up to the highest seen, and the meters of those seen, in place. It grows on
//! the first packet of a flow only.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::sync::Arc;

use super::Meter;
use crate::classify::{Address, Flow, FlowTable};
use crate::packet::{Color, Dir, FlowId, Meta};
use crate::time::Instant;
use crate::timed::Timed;

/// Not yet seen.
const UNSEEN: u32 = u32::MAX;

/// One meter per flow and direction, or per pair of addresses, made from a prototype on its first packet.
///
/// Flows should be numbered from 0 without great gaps.
#[derive(Clone, Debug)]
pub struct MeterBank<M> {
    prototype: M,
    /// Position in `meters` by number of the flow, then by direction.
    positions: Vec<[u32; 2]>,
    meters: Vec<Member<M>>,
    /// Deadlines, lazily: one that moves later is not entered before its old entry comes up. So an entry may come up
    /// early, when calling the meter changes nothing, and never late.
    deadlines: BinaryHeap<Reverse<(Instant, u32)>>,
    /// Where flows between the same addresses share a meter.
    pairs: Option<Pairs>,
}

#[derive(Clone, Debug)]
struct Pairs {
    flows: Arc<FlowTable>,
    /// Position in `meters` by who sends and who receives.
    positions: BTreeMap<(Address, Address), u32>,
}

impl Pairs {
    /// Sender and receiver of the packets of a flow and direction, if the flow is known.
    fn addresses(&self, flow: FlowId, dir: Dir) -> Option<(Address, Address)> {
        let key = self.flows.get(flow)?.key.towards(dir);
        Some((key.src, key.dst))
    }
}

#[derive(Clone, Debug)]
struct Member<M> {
    meter: M,
    /// Its earliest entry in `deadlines`; `Instant::MAX` for none.
    armed: Instant,
}

impl<M: Meter + Clone> MeterBank<M> {
    /// No flow seen yet; each will get a copy of `prototype`.
    #[must_use]
    pub const fn new(prototype: M) -> Self {
        let deadlines = BinaryHeap::new();
        Self { prototype, positions: Vec::new(), meters: Vec::new(), deadlines, pairs: None }
    }

    /// The same, but all packets from one address to another share a meter, whichever of the `flows` they are of: data of
    /// one and ACKs of another too. A flow that is not known has a meter of its own in each direction.
    #[must_use]
    pub fn by_addresses(prototype: M, flows: Arc<FlowTable>) -> Self {
        Self { pairs: Some(Pairs { flows, positions: BTreeMap::new() }), ..Self::new(prototype) }
    }

    #[inline]
    fn position(&mut self, flow: FlowId, dir: Dir) -> Option<u32> {
        match self.positions.get(flow.0 as usize).map(|ways| ways[dir as usize]) {
            Some(position) if position != UNSEEN => Some(position),
            _ if self.pairs.is_some() => self.shared(flow, dir),
            _ => None,
        }
    }

    /// The meter that another flow between the same addresses has brought.
    #[cold]
    fn shared(&mut self, flow: FlowId, dir: Dir) -> Option<u32> {
        let pairs = self.pairs.as_ref()?;
        let position = *pairs.positions.get(&pairs.addresses(flow, dir)?)?;
        self.enter(flow, dir, position);
        Some(position)
    }

    fn enter(&mut self, flow: FlowId, dir: Dir, position: u32) {
        let flow = flow.0 as usize;
        if self.positions.len() <= flow {
            self.positions.resize(flow + 1, [UNSEEN; 2]);
        }
        self.positions[flow][dir as usize] = position;
    }

    #[cold]
    fn admit(&mut self, now: Instant, flow: FlowId, dir: Dir) -> u32 {
        let position = u32::try_from(self.meters.len()).unwrap_or(UNSEEN);
        assert!(position != UNSEEN, "fewer flows and directions than 2^32 - 1 fit into memory");
        self.enter(flow, dir, position);
        if let Some(pairs) = &mut self.pairs
            && let Some(addresses) = pairs.addresses(flow, dir)
        {
            pairs.positions.insert(addresses, position);
        }
        let mut meter = self.prototype.clone();
        meter.draw_apart(u64::from(flow.0) << 1 | dir as u64);
        // the deadlines that the copy would have met had it been there from the start
        meter.on_timeout(now);
        self.meters.push(Member { meter, armed: Instant::MAX });
        position
    }

    /// Enters the deadline of the meter at `position` if it is earlier than the one that is entered.
    fn arm(&mut self, position: u32) {
        let member = &mut self.meters[position as usize];
        if let Some(at) = member.meter.next_timeout()
            && at < member.armed
        {
            member.armed = at;
            self.deadlines.push(Reverse((at, position)));
        }
    }
}

impl<M: Meter + Clone> Timed for MeterBank<M> {
    fn next_timeout(&self) -> Option<Instant> {
        self.deadlines.peek().map(|&Reverse((at, _))| at)
    }

    fn on_timeout(&mut self, now: Instant) {
        while let Some(&Reverse((at, position))) = self.deadlines.peek()
            && at <= now
        {
            self.deadlines.pop();
            let member = &mut self.meters[position as usize];
            // otherwise an earlier entry has come up since
            if member.armed == at {
                member.armed = Instant::MAX;
                member.meter.on_timeout(now);
                debug_assert!(
                    member.meter.next_timeout().is_none_or(|next| next > now),
                    "a deadline that stays"
                );
                self.arm(position);
            }
        }
    }
}

impl<M: Meter + Clone> Meter for MeterBank<M> {
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        let position =
            self.position(meta.flow, meta.dir).unwrap_or_else(|| self.admit(now, meta.flow, meta.dir));
        let color = self.meters[position as usize].meter.measure(now, meta);
        self.arm(position);
        color
    }

    /// The packet goes to the meter of its flow's other direction, if that has measured anything yet.
    fn observe_reverse(&mut self, now: Instant, meta: &Meta) {
        let other = match meta.dir {
            Dir::Forward => Dir::Reverse,
            Dir::Reverse => Dir::Forward,
        };
        if let Some(position) = self.position(meta.flow, other) {
            self.meters[position as usize].meter.observe_reverse(now, meta);
            self.arm(position);
        }
    }

    fn has_deadlines(&self) -> bool {
        self.prototype.has_deadlines()
    }

    /// By addresses, what the last flow of this number shared is forgotten. By flow there is nothing to know.
    fn learn(&mut self, id: FlowId, flow: &Flow) {
        if let Some(pairs) = &mut self.pairs {
            Arc::make_mut(&mut pairs.flows).insert(id, *flow);
            self.positions.get_mut(id.0 as usize).into_iter().for_each(|ways| *ways = [UNSEEN; 2]);
        }
    }
}
