//! The shaper against an exact reference in fractions, and by hand.

use std::collections::VecDeque;

use perhop_core::packet::{Packet, PortId};
use perhop_core::queue::Backlog;
use perhop_core::shaper::{Shaper, ShaperParams};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::exact::Ratio;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};
use proptest::prelude::*;

const SITE: SiteId = SiteId(3);

fn shaper(rate: u64, burst: u64, limit: QueueSize) -> Shaper<TestPacket> {
    let rate = BitRate::new(rate).expect("not zero");
    Shaper::new(SITE, ShaperParams { rate, burst: Bytes(burst), limit }).expect("a burst that can be counted")
}

const fn ns(ns: u64) -> Instant {
    Instant::from_nanos(ns)
}

/// The profile as it is published: bytes of credit that grow with time up to the burst, as fractions; and a queue.
struct Reference {
    /// Bytes per nanosecond.
    rate: Ratio,
    burst: Ratio,
    credit: Ratio,
    at: u64,
    limit: QueueSize,
    waiting: VecDeque<(u32, u64)>,
}

impl Reference {
    fn new(bits_per_sec: u64, burst: u64, limit: QueueSize) -> Self {
        let rate = Ratio::new(i128::from(bits_per_sec), 8_000_000_000);
        let burst = Ratio::from(burst);
        Self { rate, burst, credit: burst, at: 0, limit, waiting: VecDeque::new() }
    }

    fn pays(&mut self, now: u64, len: u64) -> bool {
        self.credit = self.burst.min(self.credit + self.rate * Ratio::from(now - self.at));
        self.at = now;
        let enough = self.credit >= Ratio::from(len);
        if enough {
            self.credit = self.credit - Ratio::from(len);
        }
        enough
    }

    /// Whether the packet goes on at once; else whether it was kept.
    fn push(&mut self, now: u64, id: u32, len: u64) -> (bool, bool) {
        if self.waiting.is_empty() && self.pays(now, len) {
            return (true, false);
        }
        let bytes: u64 = self.waiting.iter().map(|(_, len)| len).sum();
        let fits = match self.limit {
            QueueSize::Packets(most) => (self.waiting.len() as u64) < most,
            QueueSize::Bytes(most) => bytes + len <= most,
        };
        let kept = fits && Ratio::from(len) <= self.burst;
        if kept {
            self.waiting.push_back((id, len));
        }
        (false, kept)
    }

    fn pop(&mut self, now: u64) -> Option<u32> {
        let (id, len) = *self.waiting.front()?;
        self.pays(now, len).then(|| {
            self.waiting.pop_front();
            id
        })
    }

    /// The first whole nanosecond at which the head can pay, by search.
    fn due(&self, now: u64) -> Option<u64> {
        let (_, len) = self.waiting.front()?;
        let could = |at: u64| {
            self.burst.min(self.credit + self.rate * Ratio::from(at - self.at)) >= Ratio::from(*len)
        };
        let (mut low, mut high) = (now, now + 400_000_000_000_000);
        assert!(could(high));
        while low < high {
            let middle = (low + high) / 2;
            (low, high) = if could(middle) { (low, middle) } else { (middle + 1, high) };
        }
        Some(low)
    }
}

#[derive(Clone, Debug)]
enum Op {
    Push(u64),
    Pop,
    Wait(u64),
    /// To the nanosecond before the deadline, and then to it.
    UntilDue,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let op = prop_oneof![
        5 => (1u64..2000).prop_map(Op::Push),
        2 => Just(Op::Pop),
        2 => (0u64..3_000_000).prop_map(Op::Wait),
        3 => Just(Op::UntilDue),
    ];
    prop::collection::vec(op, 0..100)
}

proptest! {
    /// Who passes, who waits, who is dropped, the deadline to the nanosecond, order and backlog.
    //= test rfc2475-2.3.3.3-delay
    //= test rfc2475-2.3.3.3-finite
    #[test]
    fn equals_exact_fractions(
        ops in ops(),
        rate in prop::sample::select(vec![3u64, 7_777, 1_000_000, 999_999_937]),
        burst in 1u64..3000,
        limit in prop_oneof![(0u64..6).prop_map(QueueSize::Packets), (0u64..6000).prop_map(QueueSize::Bytes)],
    ) {
        let (mut shaper, mut rule) = (shaper(rate, burst, limit), Reference::new(rate, burst, limit));
        let (mut now, mut sink) = (0u64, Recorder::default());
        for (id, op) in (0u32..).zip(ops) {
            match op {
                Op::Push(len) => {
                    let before = sink.events.len();
                    let passed = shaper.push(ns(now), PortId(0), TestPacket::data(id).len(len), &mut sink).on();
                    let (passes, kept) = rule.push(now, id, len);
                    prop_assert_eq!(passed.map(|pkt| pkt.id()), passes.then_some(id));
                    let dropped: Vec<_> = sink.events[before..].iter().map(|h| (h.event, h.site, h.at)).collect();
                    let drop = (Event::Dropped(DropReason::Shaper), SITE, ns(now));
                    prop_assert_eq!(dropped, if passes || kept { vec![] } else { vec![drop] });
                }
                Op::Pop => prop_assert_eq!(shaper.pop(ns(now)).map(|(_, pkt)| pkt.id()), rule.pop(now)),
                Op::Wait(ns) => now += ns,
                Op::UntilDue => {
                    let Some(due) = rule.due(now) else { continue };
                    if due > now {
                        now = due - 1;
                        prop_assert_eq!(shaper.pop(ns(now)), None, "a nanosecond early");
                        prop_assert_eq!(rule.pop(now), None);
                    }
                    now = due;
                    let out = shaper.pop(ns(now)).map(|(_, pkt)| pkt.id());
                    prop_assert!(out.is_some());
                    prop_assert_eq!(out, rule.pop(now));
                }
            }
            let deadline = shaper.next_timeout().map(|at| at.max(ns(now)));
            prop_assert_eq!(deadline, rule.due(now).map(ns));
            let bytes = rule.waiting.iter().map(|(_, len)| len).sum();
            prop_assert_eq!(shaper.backlog(), Backlog { packets: rule.waiting.len() as u64, bytes: Bytes(bytes) });
        }
    }

    /// Over any time, however the packets came: at most the burst and the rate times that time.
    #[test]
    fn keeps_to_its_profile(
        arrivals in prop::collection::vec((0u64..2_000_000, 1u64..1600), 1..80),
        rate in prop::sample::select(vec![5_000_001u64, 64_000_000]),
        burst in 1500u64..5000,
    ) {
        let mut shaper = shaper(rate, burst, QueueSize::Packets(20));
        let (mut now, mut sink, mut left) = (Instant::ZERO, Recorder::default(), Vec::new());
        for (id, (gap, len)) in (0..).zip(arrivals) {
            let then = now + Span::from_nanos(gap);
            while let Some(due) = shaper.next_timeout().filter(|due| *due <= then) {
                now = now.max(due);
                left.extend(shaper.pop(now).map(|(_, pkt)| (now.as_nanos(), pkt.meta().len.0)));
            }
            now = then;
            let passed = shaper.push(now, PortId(0), TestPacket::data(id).len(len), &mut sink).on();
            left.extend(passed.map(|pkt| (now.as_nanos(), pkt.meta().len.0)));
        }
        for first in 0..left.len() {
            let mut sum = 0;
            for (at, len) in &left[first..] {
                sum += len;
                let time = u128::from(at - left[first].0);
                let most = u128::from(burst) * 8_000_000_000 + u128::from(rate) * time;
                prop_assert!(u128::from(sum) * 8_000_000_000 <= most, "{sum} bytes in {time} ns");
            }
        }
    }
}

/// 8 Mbit/s, a byte in a microsecond: a full bucket of 1500, and then a packet of 1000 each millisecond.
#[test]
fn a_burst_then_the_rate() {
    let mut shaper = shaper(8_000_000, 1500, QueueSize::Packets(10));
    let mut sink = Recorder::default();
    let at_once: Vec<_> = (0..4)
        .map(|id| shaper.push(ns(0), PortId(0), TestPacket::data(id).len(1000), &mut sink).on().is_some())
        .collect();
    assert_eq!(at_once, [true, false, false, false]);
    let mut left = Vec::new();
    while let Some(due) = shaper.next_timeout() {
        left.extend(shaper.pop(due).map(|(_, pkt)| (pkt.id(), due.as_nanos())));
    }
    assert_eq!(left, [(1, 500_000), (2, 1_500_000), (3, 2_500_000)]);
}

/// At 3 bit/s the k-th byte leaves in the nanosecond that completes it: no drift, however many they are.
#[test]
fn the_rate_is_exact_in_the_long_run() {
    let mut shaper = shaper(3, 2, QueueSize::Packets(1000));
    let mut sink = Recorder::default();
    for id in 0..1002 {
        let passed = shaper.push(ns(0), PortId(0), TestPacket::data(id).len(1), &mut sink).on();
        assert_eq!(passed.is_some(), id < 2, "the burst");
    }
    for byte in 1..=1000u64 {
        let due = shaper.next_timeout().expect("one waits");
        assert_eq!(due, ns((byte * 8_000_000_000).div_ceil(3)));
        assert_eq!(shaper.pop(due).map(|(_, pkt)| pkt.id()), Some(u32::try_from(byte).expect("small") + 1));
    }
}

#[test]
fn a_packet_longer_than_the_burst_is_dropped_and_blocks_nobody() {
    let mut shaper = shaper(8_000_000, 1000, QueueSize::Packets(10));
    let mut sink = Recorder::default();
    assert_eq!(shaper.push(ns(0), PortId(0), TestPacket::data(1).len(1001), &mut sink).on(), None);
    assert_eq!(sink.of(Event::Dropped(DropReason::Shaper)).count(), 1);
    assert_eq!(
        shaper.push(ns(0), PortId(0), TestPacket::data(2).len(1000), &mut sink).on().map(|pkt| pkt.id()),
        Some(2)
    );
    assert_eq!(shaper.push(ns(0), PortId(0), TestPacket::data(3).len(1000), &mut sink).on(), None);
    assert_eq!(shaper.push(ns(5), PortId(0), TestPacket::data(4).len(u64::MAX / 2), &mut sink).on(), None);
    assert_eq!((shaper.backlog().packets, shaper.next_timeout()), (1, Some(ns(1_000_000))));
}

//= test rfc2475-2.3.3.4-shaper-of-nothing
#[test]
fn without_room_it_drops_what_does_not_conform() {
    let mut shaper = shaper(8_000_000, 1500, QueueSize::Packets(0));
    let mut sink = Recorder::default();
    let passes = [0, 1_499_999, 1_500_000]
        .map(|now| shaper.push(ns(now), PortId(0), TestPacket::data(0), &mut sink).on().is_some());
    assert_eq!(passes, [true, false, true]);
    assert_eq!(shaper.next_timeout(), None);
}

#[test]
fn a_burst_of_nothing_or_of_too_much_is_refused() {
    let rate = BitRate::new(1).expect("not zero");
    let refused = |burst| {
        let params = ShaperParams { rate, burst: Bytes(burst), limit: QueueSize::Packets(1) };
        Shaper::<TestPacket>::new(SITE, params).err().map(|error| error.field)
    };
    assert_eq!([0, 1, u64::MAX].map(refused), [Some("burst"), None, Some("burst")]);
}
