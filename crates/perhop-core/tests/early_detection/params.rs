//! Parameters that the algorithm does not survive are refused by name.

use perhop_core::param_error::ParamError;
use perhop_core::queue::{Gred, GredParams, Red, RedParams, Rio, RioParams, Thresholds, VirtualQueue};
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::{GRED, RED, RIO, bytes, packets, stream};
use perhop_testkit::packet::TestPacket;

use super::lab::SITE;

fn red(params: RedParams) -> Result<Red<TestPacket>, ParamError> {
    Red::new(SITE, params, stream())
}

#[track_caller]
fn refused<T>(built: Result<T, ParamError>, field: &str, rule: &str) {
    let error = built.err().expect("refused");
    assert_eq!((error.field, error.rule.as_str()), (field, rule));
}

#[test]
fn thresholds_must_be_in_order() {
    for (min_th, max_th) in [(50, 50), (50, 20)] {
        let thresholds = packets(min_th, max_th, 0.1);
        refused(red(RedParams { thresholds, ..RED }), "max_th", "must exceed min_th (50p)");
    }
    let thresholds = bytes(7, 7, 0.1);
    refused(red(RedParams { thresholds, ..RED }), "max_th", "must exceed min_th (7B)");
}

#[test]
fn probabilities_and_weights_must_lie_above_0_and_not_above_1() {
    const RULE: &str = "must be above 0 and at most 1";
    for value in [0.0, -0.1, 1.000_001, f64::NAN, f64::INFINITY] {
        let thresholds = Thresholds { max_p: value, ..RED.thresholds };
        refused(red(RedParams { thresholds, ..RED }), "max_p", RULE);
        refused(red(RedParams { w_q: value, ..RED }), "w_q", RULE);
        refused(Rio::<TestPacket>::new(SITE, RioParams { w_q: value, ..RIO }, stream()), "w_q", RULE);
        let yellow = VirtualQueue { w_q: value, ..GRED.yellow };
        let params = GredParams { yellow, ..GRED };
        refused(Gred::<TestPacket>::new(SITE, params, stream()), "yellow.w_q", RULE);
    }
}

#[test]
fn nothing_must_be_empty() {
    for limit in [QueueSize::Packets(0), QueueSize::Bytes(0)] {
        refused(red(RedParams { limit, ..RED }), "limit", "must exceed 0");
        refused(Rio::<TestPacket>::new(SITE, RioParams { limit, ..RIO }, stream()), "limit", "must exceed 0");
        let red = VirtualQueue { limit: Some(limit), ..GRED.red };
        let params = GredParams { red, ..GRED };
        refused(Gred::<TestPacket>::new(SITE, params, stream()), "red.limit", "must exceed 0");
    }
    refused(red(RedParams { mean_packet: Bytes(0), ..RED }), "mean_packet", "must exceed 0B");
}

#[test]
fn one_element_counts_in_one_unit() {
    let thresholds = Thresholds { max_th: QueueSize::Bytes(9000), ..RED.thresholds };
    let rule = "must be in packets, as min_th (2p) is";
    refused(red(RedParams { thresholds, ..RED }), "max_th", rule);

    let params = RioParams { red: bytes(1000, 2000, 0.1), ..RIO };
    let rule = "must be in packets, as green.min_th (3p) is";
    refused(Rio::<TestPacket>::new(SITE, params, stream()), "red.min_th", rule);

    let green = VirtualQueue { thresholds: bytes(10, 20, 0.1), ..GRED.green };
    let params = GredParams { green, ..GRED };
    let rule = "must be in bytes, as green.min_th (10B) is";
    refused(Gred::<TestPacket>::new(SITE, params, stream()), "yellow.min_th", rule);
}

#[test]
fn what_is_odd_but_harmless_is_accepted() {
    // thresholds beyond the limit: it only overflows. A limit in another unit: each is kept for itself.
    let thresholds = packets(50, 100, 1.0);
    assert!(red(RedParams { thresholds, w_q: 1.0, ..RED }).is_ok());
    assert!(red(RedParams { limit: QueueSize::Bytes(1), thresholds: packets(0, 1, 0.1), ..RED }).is_ok());
    // OUT better off than IN
    let params = RioParams { green: RIO.red, red: RIO.green, ..RIO };
    assert!(Rio::<TestPacket>::new(SITE, params, stream()).is_ok());
}
