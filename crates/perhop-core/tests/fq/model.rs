//! The text of RFC 8290 sections 4.1 and 4.2 as a slow program, with the pseudo-code of RFC 8289 for each flow, against the queue.

use std::collections::BTreeMap;

use perhop_core::queue::{CodelParams, FqParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::sink::{Event, Recorder};

use super::{CODEL, PARAMS, fq_codel};
use crate::codel::pseudocode::Pseudocode;

/// Every flow by its number; the lists hold the numbers.
#[derive(Default)]
struct Model {
    flows: BTreeMap<u32, (Pseudocode, i128)>,
    new: Vec<u32>,
    old: Vec<u32>,
    dropped: Vec<u32>,
}

impl Model {
    fn enqueue(&mut self, now: i128, (flow, id, len): (u32, u32, u64), params: FqParams, codel: CodelParams) {
        let nanos = |span: Span| i128::from(span.as_nanos());
        let (queue, credit) = self
            .flows
            .entry(flow)
            .or_insert_with(|| (Pseudocode::new(nanos(codel.target), nanos(codel.interval)), 0));
        queue.enqueue(now, id, len);
        if !self.new.contains(&flow) && !self.old.contains(&flow) {
            *credit = i128::from(params.quantum.0);
            self.new.push(flow);
        }
        let QueueSize::Packets(limit) = params.limit else { panic!("in packets") };
        while self.flows.values().map(|(queue, _)| queue.waiting.len() as u64).sum::<u64>() > limit {
            let (queue, _) = self.flows.values_mut().max_by_key(|(queue, _)| queue.bytes()).expect("flows");
            let half = (queue.waiting.len() / 2).clamp(1, params.drop_batch as usize);
            self.dropped.extend(queue.waiting.drain(..half).map(|(id, ..)| id));
        }
    }

    fn dequeue(&mut self, now: i128, quantum: i128) -> Option<u32> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            if list.is_empty() {
                return None;
            }
            let flow = list[0];
            let (queue, credit) = self.flows.get_mut(&flow).expect("listed");
            if *credit <= 0 {
                *credit += quantum;
                list.remove(0);
                self.old.push(flow);
                continue;
            }
            let lengths: BTreeMap<u32, u64> = queue.waiting.iter().map(|&(id, len, _)| (id, len)).collect();
            let sent = queue.dequeue(now);
            self.dropped.append(&mut queue.dropped);
            if let Some(id) = sent {
                *credit -= i128::from(lengths[&id]);
                return Some(id);
            }
            list.remove(0);
            if from_new {
                self.old.push(flow);
            }
        }
    }
}

/// Phases of light and of heavy load of few and of many flows; every departure and every drop is compared, and what is first.
#[test]
fn the_queue_decides_as_the_text() {
    let (mut sojourn, mut overflow, mut sent) = (0, 0, 0);
    for (variant, quantum, limit, drop_batch) in [(0, 1514, 500, 64), (1, 300, 60, 4), (2, 4000, 10_240, 64)]
    {
        let mut draws = Stream::new(7, variant, "operations");
        let (target, interval) = ([5, 1, 2][variant as usize], [100, 20, 15][variant as usize]);
        let codel = CodelParams {
            target: Span::from_millis(target),
            interval: Span::from_millis(interval),
            ecn: false,
            ..CODEL
        };
        let limit = QueueSize::Packets(limit);
        let params = FqParams { limit, drop_batch, quantum: Bytes(quantum), ..PARAMS };
        let (mut queue, mut model) = (fq_codel(params, codel), Model::default());
        let mut sink = Recorder::default();
        // the pseudo-code takes time 0 for "never"
        let mut now = 1;
        for step in 0..60_000 {
            let phase = step as usize / 1500 % 5;
            let (busy, flows) = ([45, 58, 52, 30, 60][phase], [20, 2, 6, 30, 12][phase]);
            now += draws.below(200_000);
            let at = Instant::from_nanos(now);
            sink.events.clear();
            if draws.below(100) < busy {
                // lengths of which hardly two queues have the same sum
                let len = 1 + draws.below(1500);
                let flow = (draws.below(flows) * draws.below(flows) / flows) as u32;
                queue.enqueue(at, TestPacket::data(step).flow(flow).len(len), &mut sink);
                model.enqueue(i128::from(now), (flow, step, len), params, codel);
                let dropped = sink.of(Event::Dropped(DropReason::Overflow)).map(id);
                overflow += model.dropped.len();
                assert!(dropped.eq(model.dropped.drain(..)), "operation {step}");
                continue;
            }
            let first = queue.peek().map(id);
            let expected = model.dequeue(i128::from(now), i128::from(quantum));
            assert_eq!(queue.dequeue(at, &mut sink).map(|pkt| pkt.id()), expected, "operation {step}");
            assert_eq!(first, model.dropped.first().copied().or(expected), "operation {step}");
            let dropped = sink.of(Event::Dropped(DropReason::Sojourn)).map(id);
            sojourn += model.dropped.len();
            assert!(dropped.eq(model.dropped.drain(..)), "operation {step}");
            sent += usize::from(expected.is_some());
        }
    }
    assert!(
        sojourn > 1000 && overflow > 1000 && sent > 50_000,
        "{sojourn} late, {overflow} too many and {sent} sent say little"
    );
}
