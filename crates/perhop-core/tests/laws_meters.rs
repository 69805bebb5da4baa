//! The laws of every meter, and of a bank of them: one line for each way to configure it.

use std::sync::Arc;

use perhop_core::classify::{Address, Flow, FlowKey, FlowTable, Protocol};
use perhop_core::meter::{
    Meter, MeterBank, SrTcm, SrTcmParams, TokenBucket, TokenBucketParams, TrTcm, TrTcmDiffServ,
    TrTcmDiffServParams, TrTcmParams, Tsw, TswParams,
};
use perhop_core::packet::{Color, FlowId, Meta, TrafficClass};
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::{BitRate, Bytes};
use perhop_testkit::laws::meter::{Bound, Mode, Per};
use perhop_testkit::meter_laws;

const CIR: BitRate = BitRate::new(333_333).expect("not zero");
const PIR: BitRate = BitRate::new(777_777).expect("not zero");
const CBS: Bytes = Bytes(4001);
const BEYOND: Bytes = Bytes(3001);

const GREEN: Bound = Bound { worst: Color::Green, rate: CIR, burst: CBS };
/// Of srTCM: what is not red fits the sum of both bursts.
const NOT_RED: Bound = Bound { worst: Color::Yellow, rate: CIR, burst: Bytes(CBS.0 + BEYOND.0) };
const WITHIN_PEAK: Bound = Bound { worst: Color::Yellow, rate: PIR, burst: BEYOND };

fn token_bucket() -> TokenBucket {
    TokenBucket::new(TokenBucketParams { cir: CIR, cbs: CBS }).expect("sound")
}

fn sr_tcm(mode: Mode, cbs: Bytes, ebs: Bytes) -> SrTcm {
    SrTcm::new(SrTcmParams { cir: CIR, cbs, ebs, color_aware: mode == Mode::Aware }).expect("sound")
}

fn tr_tcm(mode: Mode) -> TrTcm {
    let color_aware = mode == Mode::Aware;
    TrTcm::new(TrTcmParams { cir: CIR, cbs: CBS, pir: PIR, pbs: BEYOND, color_aware }).expect("sound")
}

/// Of RFC 4115's: what is not red fits both rates and both bursts together.
const NOT_RED_OF_BOTH: Bound = Bound {
    worst: Color::Yellow,
    rate: BitRate::new(333_333 + 777_777).expect("not zero"),
    burst: Bytes(CBS.0 + BEYOND.0),
};

fn tr_tcm_diffserv(mode: Mode) -> TrTcmDiffServ {
    let color_aware = mode == Mode::Aware;
    let params = TrTcmDiffServParams { cir: CIR, cbs: CBS, eir: PIR, ebs: BEYOND, color_aware };
    TrTcmDiffServ::new(params).expect("sound")
}

fn tsw(pir: Option<BitRate>) -> Tsw {
    let params = TswParams { cir: CIR, pir, window: Span::from_millis(500) };
    Tsw::new(params, Stream::new(1, 0, "conditioner.customer.meter")).expect("sound")
}

/// Green for one packet in each interval of 100 ms; the next one begins at a deadline.
#[derive(Clone, Debug)]
struct OnePerInterval {
    interval_ends: Instant,
    free: bool,
}

const INTERVAL: Span = Span::from_millis(100);

impl OnePerInterval {
    fn new() -> Self {
        Self { interval_ends: Instant::ZERO + INTERVAL, free: true }
    }
}

impl Timed for OnePerInterval {
    fn next_timeout(&self) -> Option<Instant> {
        Some(self.interval_ends)
    }

    fn on_timeout(&mut self, now: Instant) {
        while self.interval_ends <= now {
            self.interval_ends += INTERVAL;
            self.free = true;
        }
    }
}

impl Meter for OnePerInterval {
    fn measure(&mut self, _now: Instant, _meta: &Meta) -> Color {
        if std::mem::take(&mut self.free) { Color::Green } else { Color::Red }
    }

    fn observe_reverse(&mut self, now: Instant, _meta: &Meta) {
        // a deadline that moves earlier
        self.interval_ends = self.interval_ends.min(now + Span::from_millis(1));
    }

    fn has_deadlines(&self) -> bool {
        true
    }
}

meter_laws!(
    token_buckets,
    token_bucket,
    mode = Mode::Blind,
    per = Per::Aggregate,
    bounds = [GREEN],
    also = red_leaves_no_trace
);
meter_laws!(
    single_rate_blind,
    || sr_tcm(Mode::Blind, CBS, BEYOND),
    mode = Mode::Blind,
    per = Per::Aggregate,
    bounds = [GREEN, NOT_RED],
    also = red_leaves_no_trace
);
meter_laws!(
    single_rate_aware,
    || sr_tcm(Mode::Aware, CBS, BEYOND),
    mode = Mode::Aware,
    per = Per::Aggregate,
    bounds = [GREEN, NOT_RED],
    also = red_leaves_no_trace
);
meter_laws!(
    single_rate_without_excess,
    || sr_tcm(Mode::Aware, CBS, Bytes(0)),
    mode = Mode::Aware,
    per = Per::Aggregate,
    bounds = [Bound { worst: Color::Yellow, ..GREEN }],
    also = red_leaves_no_trace
);
meter_laws!(
    single_rate_excess_only,
    || sr_tcm(Mode::Blind, Bytes(0), CBS),
    mode = Mode::Blind,
    per = Per::Aggregate,
    bounds = [Bound { burst: Bytes(0), ..GREEN }, Bound { worst: Color::Yellow, ..GREEN }],
    also = red_leaves_no_trace
);
meter_laws!(
    two_rates_blind,
    || tr_tcm(Mode::Blind),
    mode = Mode::Blind,
    per = Per::Aggregate,
    bounds = [GREEN, WITHIN_PEAK],
    also = red_leaves_no_trace
);
meter_laws!(
    two_rates_aware,
    || tr_tcm(Mode::Aware),
    mode = Mode::Aware,
    per = Per::Aggregate,
    bounds = [GREEN, WITHIN_PEAK],
    also = red_leaves_no_trace
);
meter_laws!(
    bank_of_two_rates,
    || MeterBank::new(tr_tcm(Mode::Aware)),
    mode = Mode::Aware,
    per = Per::Flow,
    bounds = [GREEN, WITHIN_PEAK],
    also = red_leaves_no_trace
);
meter_laws!(
    diffserv_two_rates_blind,
    || tr_tcm_diffserv(Mode::Blind),
    mode = Mode::Blind,
    per = Per::Aggregate,
    bounds = [GREEN, NOT_RED_OF_BOTH],
    also = red_leaves_no_trace
);
meter_laws!(
    diffserv_two_rates_aware,
    || tr_tcm_diffserv(Mode::Aware),
    mode = Mode::Aware,
    per = Per::Aggregate,
    bounds = [GREEN, NOT_RED_OF_BOTH],
    also = red_leaves_no_trace
);
meter_laws!(two_colors_by_estimate, || tsw(None), mode = Mode::Blind, per = Per::Aggregate, bounds = []);
meter_laws!(
    three_colors_by_estimate,
    || tsw(Some(PIR)),
    mode = Mode::Blind,
    per = Per::Aggregate,
    bounds = []
);
meter_laws!(
    bank_of_estimates,
    || MeterBank::new(tsw(Some(PIR))),
    mode = Mode::Blind,
    per = Per::Flow,
    bounds = []
);
meter_laws!(one_per_interval, OnePerInterval::new, mode = Mode::Blind, per = Per::Aggregate, bounds = []);
meter_laws!(
    bank_with_deadlines,
    || MeterBank::new(OnePerInterval::new()),
    mode = Mode::Blind,
    per = Per::Flow,
    bounds = []
);
meter_laws!(
    bank_by_addresses,
    || MeterBank::by_addresses(tr_tcm(Mode::Aware), apart()),
    mode = Mode::Aware,
    per = Per::Flow,
    bounds = [GREEN, WITHIN_PEAK],
    also = red_leaves_no_trace
);

/// Flows of which no two have the same ends.
fn apart() -> Arc<FlowTable> {
    let mut flows = FlowTable::new();
    for (id, end) in (0..10).map(FlowId).zip(1..) {
        let (src, dst) = (Address(end), Address(100 + end));
        let key = FlowKey { src, dst, src_port: 1, dst_port: 1, protocol: Protocol::UDP };
        flows.insert(id, Flow { key, class: TrafficClass(0) });
    }
    Arc::new(flows)
}
