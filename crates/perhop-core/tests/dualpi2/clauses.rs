//! RFC 9332 by hand.

use perhop_core::packet::Ecn;
use perhop_core::queue::{DualPi2, DualPi2Params, Queue};
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;
use perhop_testkit::sink::{Event, Recorder};

const ROOM: DualPi2Params = DualPi2Params { limit: QueueSize::Packets(10_000), ..DualPi2Params::RFC9332 };
/// One update, after 100 ms, that leaves alpha times 85 ms where a packet has waited since the start; the L4S queue marks nothing
/// by itself.
const ONE_UPDATE: DualPi2Params =
    DualPi2Params { t_update: Span::from_millis(100), beta: 1e-9, l4s_threshold: Span::from_secs(9), ..ROOM };

fn queue(params: DualPi2Params) -> DualPi2<TestPacket> {
    DualPi2::new(SiteId(3), params).expect("sound parameters")
}

fn at(us: u64) -> Instant {
    Instant::ZERO + Span::from_micros(us)
}

fn arrive(queue: &mut DualPi2<TestPacket>, us: u64, ids: std::ops::Range<u32>, ecn: Ecn) {
    for id in ids {
        queue.enqueue(at(us), TestPacket::data(id).len(1000).ecn(ecn), &mut Recorder::default());
    }
}

/// Takes everything at once; how many were dropped, how many marked, and who left.
fn drain(queue: &mut DualPi2<TestPacket>, us: u64) -> (usize, usize, Vec<u32>) {
    let mut sink = Recorder::default();
    let left = std::iter::from_fn(|| queue.dequeue(at(us), &mut sink)).map(|pkt| pkt.id()).collect();
    (sink.of(Event::Dropped(DropReason::Early)).count(), sink.of(Event::Marked).count(), left)
}

//= test rfc9332-A.1-classifier
#[test]
fn ect1_and_ce_go_to_the_l4s_queue() {
    let mut queue = queue(ROOM);
    for (id, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce]) {
        arrive(&mut queue, 0, id..id + 1, ecn);
    }
    assert_eq!(queue.backlog().packets, 4);
    // by turns: the L4S queue first, and then it is ahead by a sixteenth of 1000 bytes
    assert_eq!(drain(&mut queue, 0), (0, 0, vec![1, 0, 3, 2]));
}

/// Of 16,000 bytes 1,000 are from the classic queue.
#[test]
fn the_classic_queue_has_its_share_of_the_turns() {
    let mut queue = queue(ROOM);
    arrive(&mut queue, 0, 0..1000, Ecn::Ect1);
    arrive(&mut queue, 0, 1000..2000, Ecn::NotEct);
    let (.., left) = drain(&mut queue, 1);
    let classic = |from: usize, to: usize| left[from..to].iter().filter(|id| **id >= 1000).count();
    assert_eq!((classic(0, 160), classic(160, 320), classic(320, 480)), (10, 10, 10));
}

//= test rfc9332-A.1-time-shift
#[test]
fn the_time_shift_lets_a_classic_packet_wait_longer() {
    for (later, first) in [(40_000, 1), (50_000, 1), (50_001, 0)] {
        let mut queue = queue(DualPi2Params { time_shift: Some(Span::from_millis(50)), ..ROOM });
        arrive(&mut queue, 0, 0..1, Ecn::NotEct);
        arrive(&mut queue, later, 1..2, Ecn::Ect1);
        assert_eq!(queue.peek().and_then(|meta| meta.tcp).map(|tcp| tcp.seq_end), Some(first));
        assert_eq!(drain(&mut queue, 70_000).2[0], first, "{later} us later");
    }
}

//= test rfc9332-A.1-base
//= test rfc9332-A.1-coupled
//= test rfc9332-A.1-squared
//= test rfc9332-A.1-classic
//= test rfc9332-A.1-recur
//= test rfc9332-A.2-greatest
#[test]
fn a_base_probability_of_a_tenth_drops_a_hundredth_and_marks_a_fifth() {
    let params = DualPi2Params { alpha: 0.1001 / 0.085, ..ONE_UPDATE };
    let of = |ecn| {
        let mut queue = queue(params);
        arrive(&mut queue, 0, 0..1000, ecn);
        let (drops, marks, left) = drain(&mut queue, 100_001);
        assert!((queue.base_probability() - 0.1001).abs() < 1e-8, "{}", queue.base_probability());
        assert_eq!(left.len(), 1000 - drops);
        (drops, marks)
    };
    assert_eq!(of(Ecn::NotEct), (10, 0));
    assert_eq!(of(Ecn::Ect0), (0, 10));
    // the wait of the L4S queue counts where it is the longer one
    assert_eq!(of(Ecn::Ect1), (0, 200));
    assert_eq!(of(Ecn::Ce), (0, 0), "marked already");
}

//= test rfc9332-A.2-no-ecn
//= test rfc9332-A.2-saturation
#[test]
fn overload_drops_in_both_queues() {
    // p' 0.6: p_C 0.36 is above 1/4, p_CL above 1
    let params = DualPi2Params { alpha: 0.6001 / 0.085, ..ONE_UPDATE };
    for ecn in [Ecn::NotEct, Ecn::Ect0] {
        let mut queue = queue(params);
        arrive(&mut queue, 0, 0..1000, ecn);
        let (drops, marks, _) = drain(&mut queue, 100_001);
        assert_eq!((drops, marks), (360, 0), "{ecn:?}");
    }
    let mut queue = queue(params);
    arrive(&mut queue, 0, 0..1000, Ecn::Ect1);
    let (drops, marks, left) = drain(&mut queue, 100_001);
    // both sums are one: what is left of a drop hastens the next mark
    assert!((355..=365).contains(&drops), "{drops}");
    assert!(left.len() - marks <= 1, "{marks} of {}", left.len());
}

//= test rfc9332-A.1-l4s
//= test rfc9332-A.1-ramp
//= test rfc9332-A.1-suppress
#[test]
fn the_l4s_queue_marks_by_itself_along_a_ramp() {
    for (us, marks) in [(800, 0), (900, 24), (1000, 48), (1200, 97), (5000, 97)] {
        let mut queue = queue(ROOM);
        arrive(&mut queue, 0, 0..100, Ecn::Ect1);
        // two packets leave no more than one behind
        assert_eq!(drain(&mut queue, us).1, marks, "{us} us");
    }
    let step = DualPi2Params { l4s_range: Span::ZERO, l4s_packets: 0, ..ROOM };
    for (us, marks) in [(799, 0), (800, 98)] {
        let mut queue = queue(step);
        arrive(&mut queue, 0, 0..100, Ecn::Ect1);
        assert_eq!(drain(&mut queue, us).1, marks, "{us} us");
    }
}

//= test rfc9332-A.1-limit
#[test]
fn the_limit_is_of_both_together() {
    for limit in [QueueSize::Packets(3), QueueSize::Bytes(3999)] {
        let mut queue = queue(DualPi2Params { limit, ..ROOM });
        let mut sink = Recorder::default();
        for (id, ecn) in (0..).zip([Ecn::NotEct, Ecn::Ect1, Ecn::Ect1, Ecn::NotEct, Ecn::Ect1]) {
            queue.enqueue(at(0), TestPacket::data(id).len(1000).ecn(ecn), &mut sink);
        }
        assert_eq!(sink.of(Event::Dropped(DropReason::Overflow)).count(), 2);
        assert_eq!((queue.backlog().packets, queue.backlog().bytes), (3, Bytes(3000)));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let ms = Span::from_millis;
    for (params, expected) in [
        (DualPi2Params { limit: QueueSize::Packets(0), ..ROOM }, "limit"),
        (DualPi2Params { target: ms(0), ..ROOM }, "target"),
        (DualPi2Params { t_update: ms(0), ..ROOM }, "t_update"),
        (DualPi2Params { alpha: 0.0, ..ROOM }, "alpha"),
        (DualPi2Params { beta: -1.0, ..ROOM }, "beta"),
        (DualPi2Params { coupling: f64::NAN, ..ROOM }, "coupling"),
        (DualPi2Params { classic_share: 0.0, ..ROOM }, "classic_share"),
        (DualPi2Params { classic_share: 1.5, ..ROOM }, "classic_share"),
    ] {
        let refused = DualPi2::<TestPacket>::new(SiteId(0), params).map(|_| ()).expect_err(expected);
        assert_eq!(refused.field, expected);
    }
}
