//! Flow queueing by the clauses of RFC 8290, with orders worked by hand. A packet is written by its flow and its number.

use perhop_core::packet::{Dir, Ecn, Packet};
use perhop_core::queue::{
    Cobalt, CobaltParams, Codel, CodelParams, Fifo, Fq, FqConventions, FqParams, Pie, PieParams, Queue,
};
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;
use perhop_testkit::sink::{Event, Recorder};

use super::{CODEL, PARAMS, fq_codel, fq_of, stream};

const UNLIMITED: QueueSize = QueueSize::Packets(u64::MAX);

/// Flows in FIFOs, and what they told.
struct Bench {
    queue: Fq<TestPacket, Fifo<TestPacket>>,
    sink: Recorder,
}

impl Bench {
    fn new(params: FqParams) -> Self {
        let queue = fq_of(params, || Fifo::new(SiteId(3), UNLIMITED));
        Self { queue, sink: Recorder::default() }
    }

    /// Packets of `flow` with these lengths arrive; they are numbered from 100 times the flow on.
    fn arrive(&mut self, flow: u32, numbers: impl IntoIterator<Item = u32>, len: u64) {
        for number in numbers {
            let pkt = TestPacket::data(100 * flow + number).flow(flow).len(len);
            self.queue.enqueue(Instant::ZERO, pkt, &mut self.sink);
        }
    }

    /// The next `n` packets.
    fn leave(&mut self, n: usize) -> Vec<u32> {
        (0..n).filter_map(|_| self.queue.dequeue(Instant::ZERO, &mut self.sink)).map(|pkt| pkt.id()).collect()
    }

    fn dropped(&self) -> Vec<u32> {
        let dropped = self.sink.of(Event::Dropped(DropReason::Overflow));
        dropped.map(|meta| meta.tcp.expect("a number").seq_end).collect()
    }
}

fn quantum(bytes: u64) -> FqParams {
    FqParams { quantum: Bytes(bytes), ..PARAMS }
}

//= test rfc8290-4.1-new
//= test rfc8290-4.2-select
#[test]
fn queues_take_turns_of_a_quantum_and_a_new_one_goes_first() {
    let mut bench = Bench::new(quantum(1000));
    bench.arrive(1, 0..6, 500);
    bench.arrive(2, 0..6, 500);
    // two packets are a quantum
    assert_eq!(bench.leave(6), [100, 101, 200, 201, 102, 103]);
    // both are old now, and flow 2 is in turn; flow 3 goes before it, and has a turn of its own
    bench.arrive(3, 0..3, 500);
    assert_eq!(bench.leave(4), [300, 301, 202, 203]);
    // then it is behind flow 2, and flow 1, which had a turn before it came, behind both
    assert_eq!(bench.leave(9), [302, 104, 105, 204, 205]);
}

//= test rfc8290-4.1-new
#[test]
fn a_packet_of_a_listed_queue_changes_nothing_of_its_place_or_credit() {
    let mut bench = Bench::new(quantum(1000));
    bench.arrive(1, 0..4, 500);
    bench.arrive(2, 0..1, 500);
    assert_eq!(bench.leave(1), [100]);
    bench.arrive(1, 4..5, 500);
    bench.arrive(2, 1..3, 500);
    assert_eq!(bench.leave(9), [101, 200, 201, 102, 103, 202, 104]);
}

//= test rfc8290-4.2-charge
#[test]
fn a_packet_longer_than_the_credit_is_paid_for_later() {
    let mut bench = Bench::new(quantum(1000));
    bench.arrive(1, 0..4, 1500);
    bench.arrive(2, 0..4, 1000);
    // flow 1: 1000 - 1500 = -500, then 500 - 1500 = -1000, then two turns until it is above 0
    assert_eq!(bench.leave(8), [100, 200, 101, 201, 202, 102, 203, 103]);
}

//= test rfc8290-4.2-select
#[test]
fn a_queue_that_has_sent_a_quantum_exactly_has_no_credit() {
    let mut bench = Bench::new(quantum(1000));
    bench.arrive(1, 0..2, 1000);
    bench.arrive(2, 0..2, 1000);
    assert_eq!(bench.leave(4), [100, 200, 101, 201]);
}

//= test rfc8290-4.2-empty
#[test]
fn a_flow_that_begins_again_and_again_does_not_starve_the_old() {
    let mut bench = Bench::new(quantum(1000));
    bench.arrive(1, 0..3, 1000);
    assert_eq!(bench.leave(1), [100]);
    // flow 2 sends whenever its packet has left: found empty, its queue goes behind those of the old
    let mut order = Vec::new();
    for number in 0..4 {
        bench.arrive(2, number..=number, 400);
        order.extend(bench.leave(1));
    }
    assert_eq!(order, [200, 201, 202, 101]);
    // and it is new again once it was found empty there
    let mut bench = Bench::new(quantum(1000));
    bench.arrive(1, 0..9, 1000);
    bench.arrive(2, 0..1, 400);
    assert_eq!(bench.leave(4), [100, 200, 101, 102]);
    bench.arrive(2, 1..2, 400);
    assert_eq!(bench.leave(2), [201, 103]);
}

//= test rfc8290-4.2-empty
#[test]
fn a_new_queue_that_ran_empty_is_old_also_where_no_other_is() {
    // flow 2 sends again after its queue was found empty, while flow 3 is new and has packets
    let order = |conventions| {
        let mut bench = Bench::new(FqParams { conventions, ..quantum(1000) });
        bench.arrive(2, 0..1, 400);
        bench.arrive(3, 0..3, 400);
        assert_eq!(bench.leave(2), [200, 300]);
        bench.arrive(2, 1..2, 1000);
        bench.arrive(4, 0..1, 400);
        bench.leave(9)
    };
    // it has 600 left where it stayed listed, behind the new ones, flow 3 behind it; Linux lists it as new, before flow 4
    assert_eq!(order(FqConventions::RFC8290), [301, 302, 400, 201]);
    let forget = FqConventions { forget_new: true, ..FqConventions::RFC8290 };
    assert_eq!(order(forget), [301, 302, 201, 400]);
}

//= test rfc8290-4.1-overload
#[test]
fn past_the_limit_half_of_the_longest_queue_is_dropped_from_its_head() {
    let mut bench = Bench::new(FqParams { limit: QueueSize::Packets(9), ..PARAMS });
    bench.arrive(1, 0..2, 1500);
    bench.arrive(2, 0..7, 500);
    assert_eq!(bench.dropped(), [0; 0]);
    // 3000 bytes against 3500: flow 2 has most bytes; of 7 packets 3 go, and flow 1's arrival stays
    bench.arrive(1, 2..3, 40);
    assert_eq!(bench.dropped(), [200, 201, 202]);
    assert_eq!(bench.queue.backlog().packets, 7);
    // the longest may be that of the arrival
    bench.arrive(1, 3..6, 1500);
    assert_eq!(bench.dropped()[3..], [100, 101, 102]);
}

//= test rfc8290-4.1-overload
#[test]
fn a_batch_is_no_longer_than_its_limit() {
    let mut bench = Bench::new(FqParams { limit: QueueSize::Packets(300), ..PARAMS });
    bench.arrive(1, 0..301, 100);
    assert_eq!(bench.dropped(), (100..164).collect::<Vec<_>>());
    let mut bench = Bench::new(FqParams { limit: QueueSize::Packets(300), drop_batch: 1, ..PARAMS });
    bench.arrive(1, 0..303, 100);
    assert_eq!(bench.dropped(), [100, 101, 102]);
}

#[test]
fn half_of_the_bytes_is_another_half() {
    let dropped = |conventions| {
        let mut bench = Bench::new(FqParams { limit: QueueSize::Packets(5), conventions, ..PARAMS });
        bench.arrive(1, 0..1, 1500);
        bench.arrive(1, 1..6, 100);
        bench.dropped()
    };
    assert_eq!(dropped(FqConventions::RFC8290), [100, 101, 102]);
    assert_eq!(dropped(FqConventions { half_bytes: true, ..FqConventions::RFC8290 }), [100]);
}

#[test]
fn a_limit_in_bytes_holds_however_many_packets_that_takes() {
    let limit = QueueSize::Bytes(4000);
    let mut bench = Bench::new(FqParams { limit, drop_batch: 2, ..PARAMS });
    bench.arrive(1, 0..40, 50);
    bench.arrive(2, 0..40, 49);
    bench.arrive(3, 0..1, 1000);
    assert!(bench.queue.backlog().bytes <= Bytes(4000));
    // 3960 bytes waited: 960 of them go, in twos of 50 or 49
    assert_eq!(bench.dropped().len(), 20);
    // what is longer than the limit goes itself, with its flow's packets before it, and no other flow's
    let before = bench.dropped().len();
    bench.arrive(4, 0..1, 4001);
    assert_eq!(bench.dropped()[before..], [400]);
}

//= test rfc8290-4.2-aqm
#[test]
fn the_policy_of_the_queue_in_turn_drops_before_it_sends() {
    // alone, the flow's CoDel drops at 105 ms; beside another flow that is served in turn it does as well
    let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let mut queue = fq_codel(quantum(1000), CodelParams { ecn: false, ..CODEL });
    let mut sink = Recorder::default();
    for number in 0..500 {
        for flow in [1, 2] {
            let pkt = TestPacket::data(1000 * flow + number).flow(flow).len(1000);
            queue.enqueue(ms(0), pkt, &mut sink);
        }
    }
    let mut out = Vec::new();
    for at in 0..=106 {
        out.extend(queue.dequeue(ms(at), &mut sink).map(|pkt| pkt.id()));
    }
    let of: Vec<u32> = sink
        .of(Event::Dropped(DropReason::Sojourn))
        .map(|meta| meta.tcp.expect("a number").seq_end)
        .collect();
    // flow 1 leaves at even times, flow 2 at odd ones; waits reach 5 ms at 6 ms and at 5 ms
    assert_eq!(of, [2052, 1053]);
    assert_eq!(out[104..], [1052, 2053, 1054]);
}

#[test]
fn where_all_that_waits_counts_a_short_queue_is_dropped_from_too() {
    // each flow has one packet at its turn: by itself it leaves nothing behind
    let dropped = |conventions| {
        let mut queue = fq_codel(FqParams { conventions, ..PARAMS }, CodelParams { ecn: false, ..CODEL });
        let mut sink = Recorder::default();
        for step in 0..400 {
            let at = Instant::ZERO + Span::from_millis(step);
            for flow in 0..8 {
                if step % 8 == 0 {
                    queue.enqueue(at, TestPacket::data(0).flow(flow).len(1000), &mut sink);
                }
            }
            queue.dequeue(at, &mut sink);
        }
        sink.of(Event::Dropped(DropReason::Sojourn)).count()
    };
    assert_eq!(dropped(FqConventions::RFC8290), 0);
    assert!(dropped(FqConventions { common_backlog: true, ..FqConventions::RFC8290 }) > 0);
}

#[test]
fn evictions_count_only_for_a_policy_that_has_dropped_before() {
    let ms = |ms: u64| Instant::from_nanos(ms * 1_000_000);
    let drops = |overflow_counts, first: u32| {
        let limit = QueueSize::Packets(1000);
        let conventions = FqConventions { overflow_counts, ..FqConventions::RFC8290 };
        let inside = CodelParams { ecn: false, ..CODEL };
        let mut queue = fq_codel(FqParams { limit, conventions, ..PARAMS }, inside);
        let mut sink = Recorder::default();
        for number in 0..first {
            queue.enqueue(ms(0), TestPacket::data(number).len(1000), &mut sink);
        }
        let mut at_sojourn = Vec::new();
        for at in 0..400 {
            let before = sink.of(Event::Dropped(DropReason::Sojourn)).count();
            queue.dequeue(ms(at), &mut sink);
            // more than the limit after the first drop for waiting: 64 of 1000 packets go
            for number in 0..if at == 110 { 5 } else { 1 } {
                queue.enqueue(ms(at), TestPacket::data(1000 + number).len(1000), &mut sink);
            }
            if sink.of(Event::Dropped(DropReason::Sojourn)).count() > before {
                at_sojourn.push(at);
            }
        }
        at_sojourn
    };
    // counted, the third drop is the 67th: 12.2 ms after the second instead of 70.7
    assert_eq!(drops(false, 1000)[..3], [105, 205, 276]);
    assert_eq!(drops(true, 1000)[..3], [105, 205, 218]);
    // before the first drop they count nothing
    assert_eq!(drops(true, 1001)[..3], [105, 205, 276]);
}

/// Flow 1 has two packets, then flow 2 or the ACKs of flow 1 one: in one queue they are served in the order of their arrival.
fn share_a_queue(stream: Stream, other: u32, dir: Dir) -> bool {
    let params = FqParams { queues: 4, quantum: Bytes(1), ..PARAMS };
    let make = |_| Ok(Fifo::new(SiteId(3), UNLIMITED));
    let mut queue = Fq::new(SiteId(3), params, stream, make).expect("sound parameters");
    let mut sink = Recorder::default();
    for (flow, dir) in [(1, Dir::Forward), (1, Dir::Forward), (other, dir)] {
        let mut pkt = TestPacket::data(0).flow(flow).len(100);
        pkt.meta_mut().dir = dir;
        queue.enqueue(Instant::ZERO, pkt, &mut sink);
    }
    queue.dequeue(Instant::ZERO, &mut sink);
    let second = queue.dequeue(Instant::ZERO, &mut sink).expect("three were there");
    (second.meta().flow.0, second.meta().dir) == (1, Dir::Forward)
}

//= test rfc8290-4.1-hash
#[test]
fn two_flows_share_a_queue_by_chance_of_the_seed() {
    for (other, dir) in [(2, Dir::Forward), (3, Dir::Forward), (1, Dir::Reverse), (1 << 20, Dir::Forward)] {
        let met = (0..4000).filter(|&seed| share_a_queue(stream(seed), other, dir)).count();
        // 1000 expected, with a deviation of 27
        assert!((890..=1110).contains(&met), "{other} {dir:?}: {met} of 4000");
    }
    assert!((0..20).all(|seed| share_a_queue(stream(seed), 1, Dir::Forward)), "a flow has one queue");
}

/// Phases of too little and too much; departures, marks and drops are compared.
fn agree(mut fq: impl Queue<TestPacket>, mut alone: impl Queue<TestPacket>) {
    let mut draws = Stream::new(3, 0, "operations");
    let (mut sink, mut expected) = (Recorder::default(), Recorder::default());
    let (mut now, mut dropped) = (0, 0);
    for step in 0..40_000 {
        now += draws.below(200_000);
        let at = Instant::from_nanos(now);
        fq.on_timeout(at, &mut sink);
        alone.on_timeout(at, &mut expected);
        if draws.below(100) < [45, 60, 30, 55][step as usize / 2000 % 4] {
            let ecn = if draws.below(2) == 0 { Ecn::Ect0 } else { Ecn::NotEct };
            let pkt = TestPacket::data(step).len(1 + draws.below(1500)).ecn(ecn);
            fq.enqueue(at, pkt.clone(), &mut sink);
            alone.enqueue(at, pkt, &mut expected);
        } else {
            let (one, other) = (fq.dequeue(at, &mut sink), alone.dequeue(at, &mut expected));
            assert_eq!(one, other, "operation {step}");
        }
        assert_eq!(sink, expected, "operation {step}");
        let of = [DropReason::Sojourn, DropReason::Early].map(|why| sink.of(Event::Dropped(why)).count());
        dropped += of.iter().sum::<usize>();
        sink.events.clear();
        expected.events.clear();
    }
    assert!(dropped > 100, "{dropped} drops say little");
}

#[test]
fn a_flow_alone_is_served_as_by_its_queue() {
    let inside = CodelParams { interval: Span::from_millis(20), ..CODEL };
    agree(fq_codel(PARAMS, inside), Codel::new(SiteId(3), inside).expect("sound parameters"));
    let inside = CobaltParams {
        limit: UNLIMITED,
        target: Span::from_millis(5),
        interval: Span::from_millis(20),
        packet_time: Span::ZERO,
        ecn: false,
        p_inc: 0.1,
        p_dec: 0.01,
        ack_filter: None,
    };
    let cobalt = move || Cobalt::new(SiteId(3), inside, stream(5)).expect("sound parameters");
    agree(fq_of(PARAMS, cobalt), cobalt());
    let inside = PieParams {
        target: Span::from_millis(1),
        t_update: Span::from_millis(1),
        max_burst: Span::from_millis(10),
        derandomize: true,
        cap_adjustment: true,
        ecn: true,
        ..published::PIE
    };
    let pie = move || Pie::new(SiteId(3), inside, stream(5)).expect("sound parameters");
    agree(fq_of(PARAMS, pie), pie());
}

/// What is dropped of a flow for the limit of all raises BLUE's probability, though the flow has no limit of its own.
#[test]
fn blue_hears_of_overflows() {
    let dropped = |p_inc| {
        let inside = CobaltParams {
            limit: UNLIMITED,
            target: Span::from_millis(5),
            interval: Span::from_secs(100),
            packet_time: Span::ZERO,
            ecn: false,
            p_inc,
            p_dec: 1.0,
            ack_filter: None,
        };
        let params = FqParams { limit: QueueSize::Packets(100), ..PARAMS };
        let mut queue = fq_of(params, move || Cobalt::new(SiteId(3), inside, stream(5)).expect("sound"));
        let mut sink = Recorder::default();
        for step in 0..400 {
            let at = Instant::from_nanos(step * 1_000_000);
            for number in 0..3 {
                queue.enqueue(at, TestPacket::data(number), &mut sink);
            }
            queue.dequeue(at, &mut sink);
        }
        sink.of(Event::Dropped(DropReason::Early)).count()
    };
    assert_eq!(dropped(0.0), 0);
    assert!(dropped(0.05) > 10);
}

/// Any two flows that always have packets have been served alike, to less than a quantum and a packet.
#[test]
fn backlogged_flows_are_served_alike() {
    const FLOWS: u32 = 9;
    for bytes in [1, 300, 1514, 5000] {
        let mut bench = Bench::new(quantum(bytes));
        let mut draws = Stream::new(11, bytes, "lengths");
        let mut served = [0; FLOWS as usize];
        let longest = 1500;
        let mut widest = 0;
        // flow 0 sends long packets only, flow 1 short ones
        let mut length = |flow: u32| match flow {
            0 => longest,
            1 => 40,
            _ => 1 + draws.below(longest),
        };
        for step in 0..20_000 {
            for flow in 0..FLOWS {
                // each has two packets or more, from the beginning on
                if step == 0 {
                    (0..40).for_each(|_| bench.arrive(flow, 0..1, length(flow)));
                }
            }
            let pkt = bench.queue.dequeue(Instant::ZERO, &mut bench.sink).expect("packets wait");
            let flow = pkt.meta().flow.0;
            served[flow as usize] += pkt.meta().len.0;
            bench.arrive(flow, 0..1, length(flow));
            bench.sink.events.clear();
            let (least, most) = (served.iter().min().expect("flows"), served.iter().max().expect("flows"));
            widest = widest.max(most - least);
        }
        assert!(widest < bytes + longest, "{widest} bytes apart with a quantum of {bytes}");
        assert!(widest > longest / 2, "{widest} bytes say little");
    }
}

#[test]
fn what_cannot_be_is_refused() {
    let fifo = |_| Ok(Fifo::new(SiteId(0), UNLIMITED));
    let refused = |params| {
        let queue = Fq::<TestPacket, _>::new(SiteId(0), params, stream(1), fifo);
        queue.expect_err("refused").to_string()
    };
    for (params, why) in [
        (FqParams { limit: QueueSize::Packets(0), ..PARAMS }, "limit"),
        (FqParams { queues: 0, ..PARAMS }, "queues: must be from 1 to 65536"),
        (FqParams { queues: 65_537, ..PARAMS }, "queues: must be from 1 to 65536"),
        (quantum(0), "quantum: must be at least 1B"),
        (quantum(1 << 31), "quantum: must be less than 2^31 B"),
        (FqParams { drop_batch: 0, ..PARAMS }, "drop_batch: must be at least 1"),
    ] {
        assert!(refused(params).contains(why), "{}", refused(params));
    }
    let codel = |_| Codel::<TestPacket>::new(SiteId(0), CodelParams { target: Span::ZERO, ..CODEL });
    let inside = Fq::new(SiteId(0), PARAMS, stream(1), codel).expect_err("refused");
    assert_eq!(inside.to_string(), "target: must exceed 0s");
}
