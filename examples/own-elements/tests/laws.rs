//! The laws of every meter and of every queue, and what is particular to these two.

use own_elements::meter::{TswTcm, TswTcmParams};
use own_elements::queue::{DropFront, DropFrontParams};
use perhop_core::meter::{Meter, MeterBank};
use perhop_core::packet::{Color, Meta};
use perhop_core::queue::Queue;
use perhop_core::rng::Stream;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_testkit::laws::meter::{Mode, Per};
use perhop_testkit::packet::{TestPacket, id};
use perhop_testkit::sink::{Event, Recorder};
use perhop_testkit::{meter_laws, queue_laws};

const PARAMS: TswTcmParams = TswTcmParams {
    ctr: BitRate::new(1_000_000).expect("not zero"),
    ptr: BitRate::new(2_000_000).expect("not zero"),
    window: Span::from_millis(500),
};
const FIVE: QueueSize = QueueSize::Packets(5);
const KILOBYTES: QueueSize = QueueSize::Bytes(4000);

fn meter() -> TswTcm {
    TswTcm::new(PARAMS, Stream::new(1, 0, "meter")).expect("sound")
}

fn queue(site: SiteId, limit: QueueSize) -> Box<dyn Queue<TestPacket>> {
    Box::new(DropFront::new(site, DropFrontParams { limit }).expect("sound"))
}

// an estimate keeps no bound: a burst at the committed rate is green, however long
meter_laws!(tsw_tcm, meter, mode = Mode::Blind, per = Per::Aggregate, bounds = []);
meter_laws!(tsw_tcm_per_flow, || MeterBank::new(meter()), mode = Mode::Blind, per = Per::Flow, bounds = []);
queue_laws!(drop_front, |site| queue(site, FIVE), limit = FIVE);
queue_laws!(drop_front_by_bytes, |site| queue(site, KILOBYTES), limit = KILOBYTES);

/// Colours of 60 000 packets of 1000 bytes, one each `ns`, once the estimate has settled.
fn shares(ns: u64) -> [f64; 3] {
    let (mut meter, meta, mut seen) = (meter(), Meta { len: Bytes(1000), ..Meta::default() }, [0u32; 3]);
    for n in 1..=70_000 {
        let color = meter.measure(Instant::from_nanos(n * ns), &meta);
        seen[color as usize] += u32::from(n > 10_000);
    }
    seen.map(|count| f64::from(count) / 60_000.0)
}

/// At 4 Mbit/s a quarter is green, a quarter yellow and half red (RFC 2859 section 4), within four standard deviations.
#[test]
fn each_rate_has_its_share_of_the_stream() {
    for (share, wanted) in shares(2_000_000).into_iter().zip([0.25, 0.25, 0.5]) {
        assert!((share - wanted).abs() < 0.0085, "{share} instead of {wanted}");
    }
    assert!(shares(10_000_000)[0] > 0.999_999, "0.8 Mbit/s are green");
    assert!(shares(5_000_000)[2] < 0.000_001, "1.6 Mbit/s are not red");
}

/// A window of 500 ms at 1 Mbit/s holds 62 500 bytes; 62 500 more in no time double the rate, 500 ms later it is as before.
#[test]
fn the_estimate_slides() {
    let mut meter = meter();
    let measured = |meter: &mut TswTcm, ms, len| {
        meter.measure(Instant::ZERO + Span::from_millis(ms), &Meta { len: Bytes(len), ..Meta::default() })
    };
    assert_eq!(measured(&mut meter, 0, 0), Color::Green, "at the committed rate");
    measured(&mut meter, 0, 62_500);
    let (mut early, mut late) = (meter.clone(), meter);
    let color = |meter: &mut TswTcm, ms| (0..64).any(|_| measured(meter, ms, 0) != Color::Green);
    assert!(color(&mut early, 250), "a third above");
    assert!(!color(&mut late, 500), "at the committed rate again");
}

#[test]
fn the_oldest_make_room() {
    let mut sink = Recorder::default();
    let mut queue = queue(SiteId(3), QueueSize::Bytes(3000));
    for number in 0..3 {
        queue.enqueue(Instant::ZERO, TestPacket::data(number).len(1000), &mut sink);
    }
    queue.enqueue(Instant::ZERO, TestPacket::data(3).len(1500), &mut sink);
    queue.enqueue(Instant::ZERO, TestPacket::data(4).len(3001), &mut sink);
    let dropped: Vec<u32> = sink.of(Event::Dropped(DropReason::Overflow)).map(id).collect();
    assert_eq!(dropped, [0, 1, 4], "the two oldest, and the one that never fits");
    let left = std::iter::from_fn(|| queue.dequeue(Instant::ZERO, &mut sink));
    assert_eq!(left.map(|pkt| pkt.id()).collect::<Vec<_>>(), [2, 3]);
}

#[test]
fn what_they_do_not_survive_is_refused() {
    let params = |ctr, window| TswTcmParams { ctr: BitRate::new(ctr).expect("not zero"), window, ..PARAMS };
    let refused = |params| TswTcm::new(params, Stream::new(1, 0, "")).expect_err("refused").to_string();
    assert_eq!(refused(params(2_000_001, PARAMS.window)), "ptr: must not be below ctr (2000001bit/s)");
    assert_eq!(refused(params(1, Span::ZERO)), "window: must exceed 0s");
    let none = DropFrontParams { limit: QueueSize::Packets(0) };
    assert!(DropFront::<TestPacket>::new(SiteId(0), none).is_err());
}
