//! Numbers for the flows that packets belong to, by their five-tuples.
//!
//! Source: RFC 3290 section 4.2.2 (the five fields); RFC 5470 (a flow ends when nothing was seen of it for a time).
//! Different: both directions have one number, and forward is the way of the first packet.
//! Cost: for a packet of a known flow, a search among the known ones, and no allocation; nothing is scanned. A flow that
//! comes or goes costs log2 of their number besides, and perhaps a node of the tree. The tree is no table of hashes: nobody
//! can choose addresses that make it slow. Memory: 20 bytes for each flow that may come, about 130 more while it is known.

use core::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};

use super::{FlowKey, FlowTable};
use crate::packet::{Dir, FlowId};
use crate::time::{Instant, Span};

/// The flows that are known, of a scenario and others.
///
/// Those of the scenario keep their numbers. A flow that comes gets the smallest number that is free; it leaves when no
/// packet of it was seen for longer than `idle`, and its number is free then. What an element knows of the last flow of
/// that number it knows of the next, so `idle` should be longer than a meter remembers.
#[derive(Clone, Debug)]
pub struct Flows {
    idle: Span,
    /// By the smaller of a flow's two keys.
    ids: BTreeMap<FlowKey, FlowId>,
    /// By number.
    known: Vec<Option<Known>>,
    /// One entry for each flow that may leave, when that may be: no packet moves it, but when it comes up and a packet
    /// was seen since, it is entered again.
    leaving: BinaryHeap<Reverse<(Instant, FlowId)>>,
    free: BinaryHeap<Reverse<FlowId>>,
}

#[derive(Clone, Copy, Debug)]
struct Known {
    forward: FlowKey,
    seen: Instant,
}

impl Flows {
    /// The flows of `table`, and room for `capacity` others at a time. Of two flows in the table with the same five-tuple,
    /// one direction or the other, packets are taken for the first's.
    #[must_use]
    pub fn new(table: &FlowTable, capacity: u32, idle: Span) -> Self {
        let mut ids = BTreeMap::new();
        let mut known = Vec::new();
        for (id, flow) in table.iter() {
            ids.entry(either(flow.key)).or_insert(id);
            known.resize(id.0 as usize, None);
            known.push(Some(Known { forward: flow.key, seen: Instant::ZERO }));
        }
        let taken = |id: &FlowId| table.get(*id).is_some();
        let free =
            (0..=u32::MAX).map(FlowId).filter(|id| !taken(id)).take(capacity as usize).map(Reverse).collect();
        Self { idle, ids, known, leaving: BinaryHeap::with_capacity(capacity as usize), free }
    }

    /// The flow and the direction of a packet with this key, seen now; `None` if the flow is not known.
    pub fn id_of(&mut self, now: Instant, key: &FlowKey) -> Option<(FlowId, Dir)> {
        self.let_go(now);
        let id = *self.ids.get(&either(*key))?;
        let known = self.known[id.0 as usize].as_mut()?;
        known.seen = now;
        Some((id, if known.forward == *key { Dir::Forward } else { Dir::Reverse }))
    }

    /// The same, and a flow that is not known comes, forward by this packet; `None` if there is no room for it.
    pub fn enter(&mut self, now: Instant, key: FlowKey) -> Option<(FlowId, Dir)> {
        if let Some(known) = self.id_of(now, &key) {
            return Some(known);
        }
        let Reverse(id) = self.free.pop()?;
        let at = id.0 as usize;
        if at >= self.known.len() {
            self.known.resize(at + 1, None);
        }
        self.known[at] = Some(Known { forward: key, seen: now });
        self.ids.insert(either(key), id);
        self.leaving.push(Reverse((now + self.idle, id)));
        Some((id, Dir::Forward))
    }

    /// Flows that were idle for too long leave.
    fn let_go(&mut self, now: Instant) {
        while let Some(mut first) = self.leaving.peek_mut()
            && first.0.0 < now
        {
            let Reverse((at, id)) = &mut *first;
            let slot = &mut self.known[id.0 as usize];
            let Some(known) = slot else { unreachable!("what is to leave is known") };
            if known.seen + self.idle >= now {
                *at = known.seen + self.idle;
                continue;
            }
            self.ids.remove(&either(known.forward));
            self.free.push(Reverse(*id));
            *slot = None;
            std::collections::binary_heap::PeekMut::pop(first);
        }
    }
}

/// The same for both directions.
fn either(key: FlowKey) -> FlowKey {
    key.min(key.reversed())
}
