//! Token levels of meters, in closed form.

use perhop_core::meter::BucketName::{Committed, Excess, Peak};
use perhop_core::meter::{
    Meter, MeterBank, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams, TrTcm, TrTcmParams,
};
use perhop_core::packet::{Color, Meta};
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};

const CBS: Bytes = Bytes(3000);

/// 1000 and 2000 bytes a second.
fn rates() -> (BitRate, BitRate) {
    (BitRate::new(8000).expect("not zero"), BitRate::new(16_000).expect("not zero"))
}

fn at(ms: u64) -> Instant {
    Instant::ZERO + Span::from_millis(ms)
}

fn packet(len: u64) -> Meta {
    Meta { len: Bytes(len), ..Meta::default() }
}

#[test]
fn a_bucket_fills_at_its_rate_up_to_its_depth() {
    let mut meter = TokenBucket::new(TokenBucketParams { cir: rates().0, cbs: CBS }).expect("sound");
    assert_eq!(meter.levels(at(500)), [(Committed, 3000.0)]);
    assert_eq!(meter.measure(at(1000), &packet(2500)), Color::Green);
    for (ms, level) in [(1000, 500.0), (1250, 750.0), (3499, 2999.0), (3500, 3000.0), (9000, 3000.0)] {
        assert_eq!(meter.levels(at(ms)), [(Committed, level)], "{ms} ms");
    }
    // to look changes nothing: what was seen at 9 s was not poured
    assert_eq!(meter.measure(at(1500), &packet(1001)), Color::Red);
    assert_eq!(meter.measure(at(1500), &packet(1000)), Color::Green);
}

#[test]
fn one_rate_fills_the_excess_bucket_after_the_committed_one() {
    let params = SrTcmParams { cir: rates().0, cbs: CBS, ebs: Bytes(2000), color_aware: false };
    let mut meter = SrTcm::new(params).expect("sound");
    meter.measure(at(0), &packet(3000));
    meter.measure(at(0), &packet(1500));
    assert_eq!(meter.levels(at(0)), [(Committed, 0.0), (Excess, 500.0)]);
    assert_eq!(meter.levels(at(2000)), [(Committed, 2000.0), (Excess, 500.0)]);
    assert_eq!(meter.levels(at(4000)), [(Committed, 3000.0), (Excess, 1500.0)]);
    assert_eq!(meter.levels(at(5000)), [(Committed, 3000.0), (Excess, 2000.0)]);
}

#[test]
fn two_rates_fill_a_bucket_each() {
    let (cir, pir) = rates();
    let params = TrTcmParams { cir, cbs: CBS, pir, pbs: Bytes(5000), color_aware: false };
    let mut meter = TrTcm::new(params).expect("sound");
    meter.measure(at(0), &packet(3000));
    assert_eq!(meter.levels(at(0)), [(Committed, 0.0), (Peak, 2000.0)]);
    assert_eq!(meter.levels(at(1000)), [(Committed, 1000.0), (Peak, 4000.0)]);
    let meter: Box<dyn Meter> = Box::new(meter);
    assert_eq!(meter.levels(at(9000)), [(Committed, 3000.0), (Peak, 5000.0)]);
}

#[test]
fn a_meter_for_each_flow_has_no_level_of_its_own() {
    let meter = TokenBucket::new(TokenBucketParams { cir: rates().0, cbs: CBS }).expect("sound");
    assert_eq!(MeterBank::new(meter).levels(at(0)), []);
}
