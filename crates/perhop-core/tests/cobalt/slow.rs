//! COBALT written down once more from the comments of its source, in whole numbers without width, asking an empty queue each
//! nanosecond; against the queue.

use std::collections::VecDeque;

use perhop_core::packet::{Ecn, Packet};
use perhop_core::queue::{Cobalt, CobaltParams, Queue};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::QueueSize;
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::sink::{Event, Recorder};

const ONE: i128 = 1 << 32;

/// A packet that waits: its number, when it came, whether it can carry a mark.
type Waiting = (u32, i128, bool);

/// What became of a packet.
type Outcome = (u32, &'static str);

struct Slow {
    target: i128,
    interval: i128,
    spared: i128,
    limit: usize,
    p_inc: i128,
    p_dec: i128,
    waiting: VecDeque<Waiting>,
    dropping: bool,
    count: i128,
    /// One over the root of the count.
    root: i128,
    signal_at: i128,
    p: i128,
    p_changed: Option<i128>,
    polled: i128,
    draws: Stream,
    outcomes: Vec<Outcome>,
}

/// Newton's step for `1 / sqrt(count)`, rounded down to the precision that the source keeps.
fn closer(count: i128, root: i128) -> i128 {
    let error = 3 * ONE - count * (root * root / ONE);
    (error / 4 * root / (ONE / 2)) % ONE
}

fn from_table(count: i128) -> i128 {
    let of_one = |count: i128, before| (0..4).fold(before, |root, _| closer(count, root));
    (1..=count).fold(ONE - 1, |before, count| of_one(count, before))
}

impl Slow {
    fn set_count(&mut self, count: i128) {
        self.count = count;
        self.root = if count < 16 { from_table(count) } else { closer(count, self.root) };
        self.signal_at += self.gap();
    }

    fn gap(&self) -> i128 {
        self.interval * self.root / ONE
    }

    fn p_may_change(&self, now: i128) -> bool {
        self.p_changed.is_none_or(|then| now - then > self.target)
    }

    fn arrive(&mut self, now: i128, (id, capable): (u32, bool)) {
        while self.waiting.is_empty() && self.polled < now {
            self.polled += 1;
            self.nothing_there(self.polled);
        }
        self.waiting.push_back((id, now, capable));
        while self.waiting.len() > self.limit {
            self.outcomes.extend(self.waiting.pop_front().map(|(id, ..)| (id, "full")));
            if self.p_may_change(now) {
                (self.p, self.p_changed) = ((self.p + self.p_inc).min(ONE - 1), Some(now));
            }
            (self.dropping, self.signal_at, self.count) = (true, now, self.count.max(1));
        }
    }

    fn nothing_there(&mut self, now: i128) {
        if self.p > 0 && self.p_may_change(now) {
            (self.p, self.p_changed) = ((self.p - self.p_dec).max(0), Some(now));
        }
        self.dropping = false;
        if self.count > 0 && now >= self.signal_at {
            self.set_count(self.count - 1);
        }
        self.polled = now;
    }

    fn dequeue(&mut self, now: i128) {
        while let Some((id, came, capable)) = self.waiting.pop_front() {
            let (marked, refused) = self.considers(now, now - came, capable);
            if let Some(why) = refused
                && !self.waiting.is_empty()
            {
                self.outcomes.push((id, why));
                continue;
            }
            self.outcomes.push((id, if marked { "marked" } else { "out" }));
            if self.waiting.is_empty() {
                self.nothing_there(now);
            }
            return;
        }
    }

    fn considers(&mut self, now: i128, waited: i128, capable: bool) -> (bool, Option<&'static str>) {
        let (due, mut ahead) = (self.count > 0 && now >= self.signal_at, self.signal_at - now);
        let late = waited > self.target.max(self.spared);
        match (late, self.dropping) {
            (true, false) => self.signal_at = now + self.gap(),
            (false, _) => self.dropping = false,
            _ => {}
        }
        if late {
            self.dropping = true;
            self.count = self.count.max(1);
        }
        let signals = due && late;
        if signals {
            self.set_count(self.count + 1);
            ahead = self.signal_at - now;
        }
        while due && !late && self.count > 0 && ahead <= 0 {
            self.set_count(self.count - 1);
            ahead = self.signal_at - now;
        }
        let unlucky = self.p > 0 && i128::from(self.draws.below(1 << 32)) < self.p;
        let refused = if signals && !capable { Some("waited") } else { unlucky.then_some("unlucky") };
        if self.count == 0 {
            self.signal_at = now + self.interval;
        } else if ahead < 0 && refused.is_none() {
            self.signal_at = now;
        }
        (signals && capable, refused)
    }
}

/// What the queue told of its packets, and which it let go.
fn outcomes(sink: &Recorder, left: Option<&TestPacket>) -> Vec<Outcome> {
    let dropped = sink.events.iter().filter_map(|recorded| match recorded.event {
        Event::Dropped(DropReason::Overflow) => Some((id(&recorded.meta), "full")),
        Event::Dropped(DropReason::Sojourn) => Some((id(&recorded.meta), "waited")),
        Event::Dropped(DropReason::Early) => Some((id(&recorded.meta), "unlucky")),
        _ => None,
    });
    let out = left.map(|pkt| (pkt.id(), if pkt.meta().ecn == Ecn::Ce { "marked" } else { "out" }));
    dropped.chain(out).collect()
}

/// An empty transcription, with BLUE's steps of 1/64 and 1/256.
fn slow(variant: u64, target: u64, interval: u64, packet: u64, limit: u64) -> Slow {
    let longer = target.max(packet * 3 / 2);
    Slow {
        target: longer.into(),
        interval: (interval + longer - target).max(2 * longer).into(),
        spared: (4 * packet).into(),
        limit: usize::try_from(limit).expect("small"),
        p_inc: ONE / 64,
        p_dec: ONE / 256,
        waiting: VecDeque::new(),
        dropping: false,
        count: 0,
        root: ONE - 1,
        signal_at: 0,
        p: 0,
        p_changed: None,
        polled: 0,
        draws: Stream::new(7, variant, "blue"),
        outcomes: Vec::new(),
    }
}

/// Phases of light and of heavy load and of rest; every departure, mark and drop is compared.
#[test]
fn the_queue_decides_as_the_transcription() {
    let mut met: Vec<Outcome> = Vec::new();
    for (variant, (target, interval, packet, limit)) in
        [(700, 4_000, 0, 1000), (300, 9_000, 100, 12), (2_000, 5_000, 900, 30)].into_iter().enumerate()
    {
        let variant = variant as u64;
        let params = CobaltParams {
            limit: QueueSize::Packets(limit),
            target: Span::from_nanos(target),
            interval: Span::from_nanos(interval),
            packet_time: Span::from_nanos(packet),
            ecn: true,
            p_inc: 1.0 / 64.0,
            p_dec: 1.0 / 256.0,
            ack_filter: None,
        };
        let mut slow = slow(variant, target, interval, packet, limit);
        let mut queue = Cobalt::new(SiteId(0), params, Stream::new(7, variant, "blue")).expect("sound");
        let mut draws = Stream::new(5, variant, "operations");
        let (mut sink, mut now) = (Recorder::default(), 0);
        for step in 0..60_000 {
            let busy = [45, 58, 52, 20, 60][step as usize / 700 % 5];
            now += draws.below(300) + if draws.below(400) == 0 { draws.below(40_000) } else { 0 };
            let at = Instant::from_nanos(now);
            sink.events.clear();
            let left = if draws.below(100) < busy {
                let capable = draws.below(2) == 0;
                let ecn = if capable { Ecn::Ect0 } else { Ecn::NotEct };
                queue.enqueue(at, TestPacket::data(step).ecn(ecn), &mut sink);
                slow.arrive(now.into(), (step, capable));
                None
            } else {
                slow.dequeue(now.into());
                queue.dequeue(at, &mut sink)
            };
            assert_eq!(outcomes(&sink, left.as_ref()), slow.outcomes, "variant {variant}, operation {step}");
            met.append(&mut slow.outcomes);
        }
    }
    for (outcome, least) in
        [("full", 500), ("waited", 1000), ("unlucky", 500), ("marked", 1000), ("out", 50_000)]
    {
        let times = met.iter().filter(|(_, met)| *met == outcome).count();
        assert!(times >= least, "{outcome}: {times} times say little");
    }
}

/// Four steps for each root of the table, and one for each of later counts, stay within 2 in 1,000.
#[test]
fn roots_are_roots() {
    let mut root = from_table(15);
    for count in 1..5000 {
        root = if count < 16 { from_table(count) } else { closer(count, root) };
        let (found, exact) = (root as f64 / ONE as f64, 1.0 / (count as f64).sqrt());
        assert!((found / exact - 1.0).abs() < 2e-3, "{count}: {found}, not {exact}");
    }
}
