//! The running averages W(i) and E(i).

use perhop_core::meter::{Meter, TcpFriendlyParams};
use perhop_core::packet::{Dir, Kind, Meta};
use perhop_core::time::Instant;
use perhop_testkit::check;

use super::common::{Lab, T, ack, data, params};

/// What is sent, or acknowledged, and W(i) after it.
enum Step {
    Sent(u32),
    Acked(u32),
}
use Step::{Acked, Sent};

//= test feroz2000-3-window
#[test]
fn the_window_by_hand() {
    for origin in [0, 77, u32::MAX - 2500] {
        let mut lab = Lab::new(TcpFriendlyParams { gain_window: 0.5, ..params(10) });
        let steps = [
            (Sent(1000), 1.0), // where it is first seen, one packet is outstanding
            (Sent(2000), 1.5),
            (Acked(1000), 1.5),
            (Sent(3000), 1.75),
            (Sent(2000), 1.375),     // sent again: 1
            (Sent(1000), 1.375),     // acknowledged already: says nothing
            (Acked(3000), 1.375),    //
            (Acked(2000), 1.375),    // an old one
            (Sent(4000), 1.1875),    // 1, so no old one was taken
            (Sent(9500), 3.843_75),  // 6.5
            (Acked(9500), 3.843_75), //
            (Sent(9500), 3.843_75),
        ];
        for (number, (step, window)) in steps.into_iter().enumerate() {
            match step {
                Sent(seq) => _ = lab.meter.measure(lab.now, &data(0, origin.wrapping_add(seq))),
                Acked(number) => lab.meter.observe_reverse(lab.now, &ack(0, origin.wrapping_add(number))),
            }
            let found = lab.flow(0).window;
            assert!((found - window).abs() < 1e-9, "step {number}: {found}, not {window}");
        }
    }
}

#[test]
fn a_syn_says_where_the_window_begins() {
    let mut lab = Lab::new(params(10));
    let syn = Meta { kind: Kind::Syn, ..data(0, 5000) };
    lab.meter.measure(lab.now, &syn);
    assert!(lab.flow(0).window.abs() < 1e-9);
    lab.meter.measure(lab.now, &data(0, 8000));
    assert!((lab.flow(0).window - 3.0).abs() < 1e-9);
}

#[test]
fn an_ack_of_an_unknown_flow_is_nothing() {
    let mut lab = Lab::new(params(10));
    lab.meter.observe_reverse(lab.now, &ack(0, 1000));
    assert!(lab.meter.flow(ack(0, 0).flow).is_none());
}

//= test feroz2000-3-packets
//= test feroz2000-3-interval
#[test]
fn packets_for_each_interval_by_hand() {
    let mut lab = Lab::new(TcpFriendlyParams { gain_packets: 0.25, ..params(100) });
    for (packets, average) in [(8, 8.0), (4, 7.0), (0, 5.25), (0, 3.9375), (8, 4.953_125)] {
        lab.send(0, packets, 10);
        let before = lab.flow(0).packets;
        lab.now += T;
        lab.meter.measure(Instant::from_nanos(lab.now.as_nanos() - 1), &ack(1, 0));
        assert!((lab.flow(0).packets - before).abs() < 1e-9, "not before the interval is over");
        lab.meter.measure(lab.now, &ack(1, 0));
        assert!((lab.flow(0).packets - average).abs() < 2e-6, "{:?}, not {average}", lab.flow(0));
    }
}

#[test]
fn an_average_reaches_what_is_constant() {
    check(&(0.05f64..1.0, 2u32..100, 2u32..100), |(gain_packets, first, rest)| {
        let mut lab = Lab::new(TcpFriendlyParams { gain_packets, forget_after: 1000, ..params(100) });
        lab.send(0, first, 10);
        let mut last = f64::from(first);
        for _ in 0..600 {
            lab.next();
            let now = lab.flow(0).packets;
            let (from, to) = (last.min(f64::from(rest)) - 1e-9, last.max(f64::from(rest)) + 1e-9);
            assert!((from..=to).contains(&now), "{now} is not between {last} and {rest}");
            last = now;
            lab.send(0, rest, 10);
        }
        assert!((last - f64::from(rest)).abs() < 1e-9, "ends at {last}");
    });
}

#[test]
fn what_a_tcp_sender_has_not_sent_is_out_and_leaves_no_trace() {
    let mut lab = Lab::new(params(10));
    let strangers = [
        Meta { tcp: None, ..data(0, 1000) },
        Meta { kind: Kind::PureAck, ..data(0, 1000) },
        Meta { dir: Dir::Reverse, ..data(0, 1000) },
        ack(0, 1000),
    ];
    for meta in &strangers {
        assert_eq!(super::common::letter(lab.meter.measure(lab.now, meta)), '-');
        assert!(lab.meter.flow(meta.flow).is_none());
    }
    assert_eq!(lab.send(0, 11, 1), "IIIIIIIIII-", "no token was taken");
}
