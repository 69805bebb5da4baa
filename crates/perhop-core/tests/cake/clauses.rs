//! CAKE by its clauses.

use std::collections::BTreeSet;
use std::sync::Arc;

use perhop_core::classify::{Flow, FlowKey, FlowTable, Protocol};
use perhop_core::framing::Framing;
use perhop_core::packet::{Address, Dscp, FlowId, Packet, TrafficClass};
use perhop_core::queue::{Cake, CakeParams, Isolation, Queue, Tins};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::sink::{Event, Recorder};

use super::PARAMS;

/// One byte takes a microsecond.
const SHAPED: CakeParams = CakeParams { rate: BitRate::new(8_000_000), ..PARAMS };
/// Nothing waits too long.
const PATIENT: CakeParams = CakeParams { rtt: Span::from_secs(1000), ..PARAMS };

const fn framing(overhead: u64, mpu: u64) -> Framing {
    Framing { overhead: Bytes(overhead), mpu: Bytes(mpu) }
}

fn cake(params: CakeParams, flows: &[(u32, u128, u128)]) -> Cake<TestPacket> {
    let mut table = FlowTable::new();
    for &(flow, src, dst) in flows {
        let (src, dst) = (Address(src), Address(dst));
        let key = FlowKey { src, dst, src_port: 0, dst_port: 0, protocol: Protocol::TCP };
        table.insert(FlowId(flow), Flow { key, class: TrafficClass::default() });
    }
    Cake::new(SiteId(3), params, Arc::new(table), Stream::new(1, 0, "cake")).expect("sound parameters")
}

fn marked(name: &str) -> Dscp {
    Dscp::named(name).expect(name)
}

/// Packets that left of each of these, by their number, in `total` departures while each always has three that wait.
fn shares(mut queue: Cake<TestPacket>, each: &[TestPacket], total: usize) -> Vec<usize> {
    let (mut now, mut sink) = (Instant::ZERO, Recorder::default());
    for pkt in each.iter().cycle().take(3 * each.len()) {
        queue.enqueue(now, pkt.clone(), &mut sink);
    }
    let mut left = vec![0; each.len()];
    for _ in 0..total {
        now = queue.not_before().map_or(now, |at| at.max(now));
        let pkt = queue.dequeue(now, &mut sink).expect("packets wait");
        left[pkt.id() as usize] += 1;
        queue.enqueue(now, pkt, &mut sink);
    }
    left
}

fn close(shares: &[usize], expected: &[f64]) {
    let total: usize = shares.iter().sum();
    for (share, expected) in shares.iter().zip(expected) {
        let share = *share as f64 / total as f64;
        assert!((share - expected).abs() < 0.01, "{shares:?}: {share} is not {expected}");
    }
}

/// Of one packet each of 1,100, 40 and 1,000 bytes, the second counts as 200; a pause is not made up for.
//= test cake-overhead-length
//= test cake-dequeue-shaper
//= test cake-advance_shaper-deficit
//= test cake-enqueue-idle
#[test]
fn packets_leave_at_the_rate() {
    let mut queue = cake(CakeParams { framing: framing(100, 200), ..SHAPED }, &[]);
    let mut sink = Recorder::default();
    for (number, len) in [(0, 1000), (1, 40), (2, 1000)] {
        queue.enqueue(Instant::ZERO, TestPacket::data(number).len(len), &mut sink);
    }
    let mut times = Vec::new();
    for _ in 0..3 {
        let at = queue.not_before().expect("packets wait");
        if at > Instant::ZERO {
            assert_eq!(queue.dequeue(Instant::from_nanos(at.as_nanos() - 1), &mut sink), None);
        }
        let pkt = queue.dequeue(at, &mut sink).expect("its time has come");
        times.push((pkt.id(), at.as_nanos() / 1000));
    }
    assert_eq!(times, [(0, 0), (1, 1100), (2, 1300)]);
    assert_eq!(queue.not_before(), None, "nothing waits");
    // the last one is through at 2.4 ms
    for (at, open) in [(2_000, 2_400), (9_000, 9_000)] {
        let now = Instant::from_nanos(at * 1000);
        queue.enqueue(now, TestPacket::data(3).len(1000), &mut sink);
        let opens = queue.not_before().expect("it waits").max(now);
        assert_eq!(opens.as_nanos() / 1000, open);
        assert!(queue.dequeue(opens, &mut sink).is_some());
    }
}

//= test cake-select_tin-mark
//= test cake-config-shares
//= test cake-dequeue-schedule
//= test cake-advance_shaper-tin
#[test]
fn tins_have_their_parts_of_the_rate_and_voice_goes_first() {
    let of = |names: &[&str]| -> Vec<TestPacket> {
        let pkt = |(number, name): (u32, &&str)| TestPacket::data(number).flow(number).dscp(marked(name));
        (0..).zip(names).map(pkt).collect()
    };
    let params = CakeParams { rate: SHAPED.rate, ..PATIENT };
    let three = shares(cake(params, &[]), &of(&["CS0", "CS1", "EF"]), 16_000);
    close(&three, &[11.0 / 16.0, 1.0 / 16.0, 4.0 / 16.0]);
    let params = CakeParams { tins: Tins::Diffserv4, ..params };
    close(
        &shares(cake(params, &[]), &of(&["CS0", "CS1", "AF41", "EF"]), 16_000),
        &[3.0 / 16.0, 1.0 / 16.0, 8.0 / 16.0, 4.0 / 16.0],
    );
    // what the others leave is best effort's, and bulk's alone the whole
    close(&shares(cake(params, &[]), &of(&["CS0", "EF"]), 16_000), &[0.75, 0.25]);
    assert_eq!(shares(cake(params, &[]), &of(&["CS1"]), 100), [100]);
    let mut queue = cake(params, &[]);
    let mut sink = Recorder::default();
    for pkt in of(&["CS0", "CS1", "AF41", "EF"]) {
        queue.enqueue(Instant::ZERO, pkt, &mut sink);
    }
    assert_eq!(queue.dequeue(Instant::ZERO, &mut sink).map(|pkt| pkt.id()), Some(3), "voice");
}

//= test cake-dequeue-turns
#[test]
fn without_a_rate_tins_take_turns_in_the_same_proportions() {
    let each = ["CS0", "CS1", "EF"];
    let each: Vec<TestPacket> =
        (0..).zip(each).map(|(n, name)| TestPacket::data(n).flow(n).dscp(marked(name))).collect();
    close(&shares(cake(PATIENT, &[]), &each, 21_000), &[16.0 / 21.0, 1.0 / 21.0, 4.0 / 21.0]);
}

/// Host 1 sends nine flows to one host each, host 2 one.
//= test cake-hash-hosts
//= test cake-dequeue-bulk
//= test cake-dequeue-load
//= test cake-hash-isolation
#[test]
fn hosts_share_fairly_whatever_the_number_of_their_flows() {
    let flows: Vec<_> = (0..10).map(|n| (n, if n < 9 { 1 } else { 2 }, 100 + u128::from(n))).collect();
    let each: Vec<_> = (0..10).map(|n| TestPacket::data(n).flow(n)).collect();
    let back: Vec<_> = (0..10).map(|n| TestPacket::data(n).flow(n).back()).collect();
    let share = |isolation, each: &[TestPacket]| {
        let params = CakeParams { isolation, tins: Tins::Besteffort, ..PATIENT };
        let left = shares(cake(params, &flows), each, 18_000);
        (left[9] as f64 / 18_000.0 * 100.0).round()
    };
    for (isolation, forth, again) in [
        (Isolation::Flowblind, 10.0, 10.0),
        (Isolation::Flows, 10.0, 10.0),
        (Isolation::Srchost, 50.0, 10.0),
        (Isolation::Dsthost, 10.0, 50.0),
        (Isolation::Hosts, 10.0, 10.0),
        (Isolation::DualSrchost, 50.0, 10.0),
        (Isolation::DualDsthost, 10.0, 50.0),
        (Isolation::TripleIsolate, 50.0, 50.0),
    ] {
        assert_eq!((share(isolation, &each), share(isolation, &back)), (forth, again), "{isolation:?}");
    }
}

//= test cake-enqueue-sparse
//= test cake-dequeue-select
#[test]
fn a_flow_that_begins_is_served_at_once() {
    let mut queue = cake(PATIENT, &[]);
    let (mut sink, mut left) = (Recorder::default(), Vec::new());
    for number in 0..12 {
        queue.enqueue(Instant::ZERO, TestPacket::data(number).flow(number % 2), &mut sink);
    }
    for number in 0..6 {
        left.extend(queue.dequeue(Instant::ZERO, &mut sink).map(|pkt| pkt.id()));
        if number == 3 {
            queue.enqueue(Instant::ZERO, TestPacket::data(99).flow(9).len(100), &mut sink);
        }
    }
    // each has credit for two, the second of which it pays for later
    assert_eq!(left[..5], [0, 2, 1, 3, 99]);
}

/// With plain hashes some of 200 flows would meet, all but surely.
//= test cake-hash-ways
#[test]
fn two_hundred_flows_have_a_queue_each() {
    let mut sink = Recorder::default();
    let mut queue = cake(PATIENT, &[]);
    for number in 0..400 {
        queue.enqueue(Instant::ZERO, TestPacket::data(number).flow(number % 200).len(1514), &mut sink);
    }
    let first: BTreeSet<_> = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut sink))
        .take(200)
        .map(|pkt| pkt.meta().flow)
        .collect();
    assert_eq!(first.len(), 200);
}

//= test cake-drop-longest
#[test]
fn where_there_is_no_room_the_longest_queue_gives_its_first_packet() {
    let mut queue = cake(CakeParams { limit: QueueSize::Packets(6), ..PATIENT }, &[]);
    let mut sink = Recorder::default();
    for (number, flow, mark) in
        [(0, 0, "CS0"), (1, 1, "EF"), (2, 1, "EF"), (3, 1, "EF"), (4, 2, "CS1"), (5, 2, "CS1"), (6, 0, "CS0")]
    {
        queue.enqueue(Instant::ZERO, TestPacket::data(number).flow(flow).dscp(marked(mark)), &mut sink);
    }
    let dropped: Vec<_> = sink.of(Event::Dropped(DropReason::Overflow)).map(id).collect();
    assert_eq!((dropped, queue.backlog().packets), (vec![1], 6));
}

//= test cake-set_rate-target
//= test cake-dequeue-last
#[test]
fn a_slow_tin_waits_for_longer_and_the_last_packet_stays() {
    // a packet of 1,514 bytes takes 12 ms at 1 Mbit/s and 0.19 s in the bulk tin
    let rate = BitRate::new(1_000_000);
    let dropped = |name: &str, gap: u64| {
        let mut queue = cake(CakeParams { rate, ..PARAMS }, &[]);
        let (mut sink, mut now) = (Recorder::default(), Instant::ZERO);
        for number in 0..400 {
            queue.enqueue(now, TestPacket::data(number).dscp(marked(name)), &mut sink);
        }
        while queue.backlog().packets > 0 {
            now = queue.not_before().expect("packets wait").max(now + Span::from_millis(gap));
            queue.dequeue(now, &mut sink);
        }
        let count = sink.of(Event::Dropped(DropReason::Sojourn)).count();
        assert!(sink.of(Event::Dropped(DropReason::Sojourn)).all(|meta| id(meta) != 399));
        count
    };
    let (fast, slow) = (dropped("CS0", 0), dropped("CS1", 0));
    assert!(fast > 2 * slow && slow > 5, "{fast} and {slow}");
}

#[test]
fn what_cannot_be_is_refused() {
    let refused = |params| {
        let built = Cake::<TestPacket>::new(SiteId(0), params, Arc::default(), Stream::new(1, 0, "cake"));
        built.expect_err("unsound").to_string()
    };
    for (params, says) in [
        (CakeParams { limit: QueueSize::Packets(0), ..PARAMS }, "limit: must"),
        (CakeParams { rtt: Span::ZERO, ..PARAMS }, "rtt: must exceed"),
        (CakeParams { rtt: Span::from_micros(1), ..PARAMS }, "rtt: must exceed 1us"),
        (CakeParams { mtu: Bytes(0), ..PARAMS }, "mtu: must"),
        (CakeParams { framing: framing(0, 70_000), ..PARAMS }, "mpu: must be at most 65536B"),
        (CakeParams { framing: framing(70_000, 0), ..PARAMS }, "overhead: must be at most 65536B"),
    ] {
        assert!(refused(params).contains(says), "{}", refused(params));
    }
}
