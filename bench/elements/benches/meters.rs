//! What a verdict costs, for each meter: `cargo bench -p perhop-bench-elements --bench meters`.

use std::hint::black_box;

use perhop_bench_elements::{Bench, run};
use perhop_core::meter::{
    Meter, MeterBank, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams, TrTcm, TrTcmDiffServ,
    TrTcmDiffServParams, TrTcmParams, Tsw, TswParams,
};
use perhop_core::packet::{Color, FlowId, Meta};
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};

/// Offered: 770 bytes each 12 us, 513 Mbit/s. The rates are below it, so that a meter of one flow is never idle.
const GAP: Span = Span::from_micros(12);
const CBS: Bytes = Bytes(15_000);

fn rate(bits_per_sec: u64) -> BitRate {
    BitRate::new(bits_per_sec).expect("not zero")
}

fn tr_tcm(color_aware: bool) -> TrTcm {
    let (cir, pir) = (rate(200_000_000), rate(400_000_000));
    TrTcm::new(TrTcmParams { cir, cbs: CBS, pir, pbs: CBS, color_aware }).expect("sound")
}

/// Packets of `flows` in turn, their lengths and colours uneven.
fn measure(c: &mut Bench, name: &str, flows: u32, mut meter: impl Meter) {
    let metas: Vec<Meta> = (0..4096u32)
        .map(|number| Meta {
            len: Bytes(40 + u64::from(number.wrapping_mul(2_654_435_761) >> 16) % 1461),
            flow: FlowId(number.wrapping_mul(2_654_435_761) % flows),
            color: if number % 5 == 4 { Color::Yellow } else { Color::Green },
            ..Meta::default()
        })
        .collect();
    let (mut now, mut next) = (Instant::ZERO, 0);
    c.operation(name, || {
        now += GAP;
        next = (next + 1) % metas.len();
        meter.measure(now, black_box(&metas[next]))
    });
}

fn meters(c: &mut Bench) {
    let (cir, cbs) = (rate(200_000_000), CBS);
    let sr_tcm = |color_aware| SrTcm::new(SrTcmParams { cir, cbs, ebs: CBS, color_aware }).expect("sound");
    let token_bucket = TokenBucket::new(TokenBucketParams { cir, cbs }).expect("sound");
    measure(c, "token bucket: measure", 1, token_bucket);
    measure(c, "srTCM, colour-blind: measure", 1, sr_tcm(false));
    measure(c, "srTCM, colour-aware: measure", 1, sr_tcm(true));
    measure(c, "trTCM, colour-blind: measure", 1, tr_tcm(false));
    measure(c, "trTCM, colour-aware: measure", 1, tr_tcm(true));
    let params = TrTcmDiffServParams { cir, cbs, eir: cir, ebs: cbs, color_aware: false };
    measure(c, "RFC 4115, colour-blind: measure", 1, TrTcmDiffServ::new(params).expect("sound"));
    let (window, stream) = (Span::from_secs(1), Stream::new(1, 0, "conditioner.customer.meter"));
    let tsw = |cir, pir| Tsw::new(TswParams { cir, pir: Some(pir), window }, stream.clone()).expect("sound");
    measure(c, "TSW3CM, beyond the rate: measure", 1, tsw(cir, rate(400_000_000)));
    measure(c, "TSW3CM, within the rate: measure", 1, tsw(rate(900_000_000), rate(900_000_000)));
    measure(c, "bank of trTCM, 100 flows: measure", 100, MeterBank::new(tr_tcm(true)));
}

fn main() {
    run(&[meters]);
}
