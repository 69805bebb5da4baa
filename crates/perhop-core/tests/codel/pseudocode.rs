//! The pseudo-code of RFC 8289 sections 5.4 to 5.6, line by line in whole numbers, against the queue.

use std::collections::VecDeque;

use perhop_core::queue::{Codel, CodelParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

/// A packet that waits: its number, its length, when it came.
pub(crate) type Waiting = (u32, u64, i128);

/// The queue of the RFC; times are in nanoseconds.
#[derive(Default)]
pub(crate) struct Pseudocode {
    pub(crate) waiting: VecDeque<Waiting>,
    target: i128,
    interval: i128,
    maxpacket: u64,
    first_above_time: i128,
    drop_next: i128,
    count: i128,
    lastcount: i128,
    dropping: bool,
    pub(crate) dropped: Vec<u32>,
}

impl Pseudocode {
    pub(crate) fn new(target: i128, interval: i128) -> Self {
        Self { target, interval, ..Self::default() }
    }

    pub(crate) fn enqueue(&mut self, now: i128, id: u32, len: u64) {
        self.maxpacket = self.maxpacket.max(len);
        self.waiting.push_back((id, len, now));
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.waiting.iter().map(|(_, len, _)| len).sum()
    }

    fn dodequeue(&mut self, now: i128) -> (Option<u32>, bool) {
        let Some((id, _, came)) = self.waiting.pop_front() else {
            self.first_above_time = 0;
            return (None, false);
        };
        let mut ok_to_drop = false;
        if now - came < self.target || self.bytes() <= self.maxpacket {
            self.first_above_time = 0;
        } else if self.first_above_time == 0 {
            self.first_above_time = now + self.interval;
        } else if now >= self.first_above_time {
            ok_to_drop = true;
        }
        (Some(id), ok_to_drop)
    }

    /// `t + interval / sqrt(count)`: the last nanosecond `gap` with `gap^2 count <= interval^2`.
    fn control_law(&self, t: i128, count: i128) -> i128 {
        let (mut low, mut high) = (0, self.interval + 1);
        while high - low > 1 {
            let gap = i128::midpoint(low, high);
            if gap * gap * count <= self.interval * self.interval { low = gap } else { high = gap }
        }
        t + low
    }

    pub(crate) fn dequeue(&mut self, now: i128) -> Option<u32> {
        let (mut pkt, mut ok_to_drop) = self.dodequeue(now);
        if self.dropping {
            if !ok_to_drop {
                self.dropping = false;
            }
            while now >= self.drop_next && self.dropping {
                self.dropped.extend(pkt);
                self.count += 1;
                (pkt, ok_to_drop) = self.dodequeue(now);
                if ok_to_drop {
                    self.drop_next = self.control_law(self.drop_next, self.count);
                } else {
                    self.dropping = false;
                }
            }
        } else if ok_to_drop {
            self.dropped.extend(pkt);
            (pkt, _) = self.dodequeue(now);
            self.dropping = true;
            let delta = self.count - self.lastcount;
            self.count = if delta > 1 && now - self.drop_next < 16 * self.interval { delta } else { 1 };
            self.drop_next = self.control_law(now, self.count);
            self.lastcount = self.count;
        }
        pkt
    }
}

/// Phases of light and of heavy load; every departure and every drop is compared.
#[test]
fn the_queue_decides_as_the_pseudocode() {
    let (mut drops, mut episodes) = (0, 0);
    for (variant, (target, interval)) in
        [(5_000_000, 100_000_000), (1_000_000, 20_000_000), (700_001, 3_000_000)].into_iter().enumerate()
    {
        let mut draws = Stream::new(5, variant as u64, "operations");
        let params = CodelParams {
            limit: QueueSize::Packets(1_000_000),
            target: Span::from_nanos(target),
            interval: Span::from_nanos(interval),
            ..published::CODEL
        };
        let mut queue = Codel::new(SiteId(0), params).expect("sound parameters");
        let mut paper = Pseudocode::new(i128::from(target), i128::from(interval));
        let mut sink = Recorder::default();
        // the pseudo-code takes time 0 for "never"
        let mut now = 1;
        for step in 0..60_000 {
            let busy = [45, 58, 52, 30, 60][step as usize / 1500 % 5];
            now += draws.below(200_000);
            let at = Instant::from_nanos(now);
            sink.events.clear();
            if draws.below(100) < busy {
                let len = [40, 576, 1250, 1500, 1 + draws.below(1500)][draws.below(5) as usize];
                queue.enqueue(at, TestPacket::data(step).len(len), &mut sink);
                paper.enqueue(i128::from(now), step, len);
                continue;
            }
            let was_dropping = paper.dropping;
            let expected = paper.dequeue(i128::from(now));
            assert_eq!(queue.dequeue(at, &mut sink).map(|pkt| pkt.id()), expected, "operation {step}");
            let ours =
                sink.of(Event::Dropped(DropReason::Sojourn)).map(|meta| meta.tcp.expect("a number").seq_end);
            assert!(ours.eq(paper.dropped.iter().copied()), "operation {step}");
            drops += paper.dropped.len();
            episodes += usize::from(paper.dropping && !was_dropping);
            paper.dropped.clear();
        }
    }
    assert!(drops > 1000 && episodes > 30, "{drops} drops in {episodes} episodes say little");
}
