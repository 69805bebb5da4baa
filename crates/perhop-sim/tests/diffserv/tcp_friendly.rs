//! The TCP-friendly marker at an edge: what it makes of both directions of real connections.

use perhop_core::meter::{Meter, TcpFriendly};
use perhop_core::packet::{Color, Dir, Kind, Meta, TcpView};
use perhop_scenario::{load, model};
use perhop_sim::{PacketEvent, PacketRecord, Results};

use super::{EDGE, float, site};
use crate::common::{ALL, run};

/// Three connections through an edge with 10 tokens in 100 ms; the bottleneck behind it spaces the acknowledgments.
fn text() -> String {
    let edge = EDGE.replace("count = 2", "count = 3").replacen("delay = \"1ms\"", "delay = \"10us\"", 1);
    edge + r#"
        [[conditioner]]
        name = "in-out"
        at = "e"
        from = "s[*]"
        meter = { kind = "tcp-friendly", interval = "100ms", tokens = 10, packet_size = "1460B" }
        marker = { green = "AF11", red = "AF13" }
        [[flow]]
        name = "small"
        from = "s[0]"
        to = "d"
        tcp = { profile = "rfc", window = "4380B", handshake = false }
        [[flow]]
        name = "middle"
        from = "s[1]"
        to = "d"
        tcp = { profile = "rfc", window = "17520B", handshake = false }
        [[flow]]
        name = "large"
        from = "s[2]"
        to = "d"
        tcp = { profile = "rfc", handshake = false }
        "#
}

const OVERRIDES: [&str; 3] = ["link.e-d.rate=8Mbit/s", "link.e-d.delay=30ms", "run.duration=20s"];

fn params(text: &str) -> TcpFriendly {
    let loaded = load(text.as_bytes(), "test.toml", &OVERRIDES.map(str::to_owned));
    let loaded = loaded.unwrap_or_else(|_| panic!("a scenario that runs"));
    let Some(model::Meter::TcpFriendly(params)) = loaded.scenario.conditioners[0].meter else {
        panic!("another meter")
    };
    TcpFriendly::new(params).unwrap()
}

fn meta(record: &PacketRecord, dir: Dir) -> Meta {
    let tcp = match dir {
        Dir::Forward => TcpView { seq_end: record.number, ..TcpView::default() },
        Dir::Reverse => TcpView { ack: record.number, ..TcpView::default() },
    };
    let Meta { ecn, .. } = Meta::default();
    Meta {
        flow: record.flow,
        kind: record.kind,
        len: record.len,
        dir,
        ecn,
        tcp: Some(tcp),
        ..Meta::default()
    }
}

/// Gives the packets of the trace that pass the edge to a meter of its own; returns how many verdicts differ from the
/// trace's. `see` gets every row of the trace with the meter as it is then.
fn follow(results: &Results, mut meter: TcpFriendly, reverse: bool) -> (u64, u64) {
    let at = site(results, "conditioner.in-out");
    let back = [0, 1, 2].map(|i| site(results, &format!("port.e-s[{i}].class.all")));
    let (mut differ, mut all) = (0, 0);
    for record in &results.trace.packets {
        if (record.site, record.event) == (at, PacketEvent::Coloured) {
            let verdict = meter.measure(record.time, &meta(record, Dir::Forward));
            differ += u64::from(verdict != record.color);
            all += 1;
        } else if reverse && back.contains(&record.site) && record.event == PacketEvent::Sent {
            meter.observe_reverse(record.time, &meta(record, Dir::Reverse));
        }
    }
    (differ, all)
}

#[test]
fn the_meter_sees_both_directions_in_their_order() {
    let text = text();
    let results = run(&text, &OVERRIDES, ALL);
    let (differ, all) = follow(&results, params(&text), true);
    assert_eq!(differ, 0, "of {all} verdicts");
    assert!(all > 5_000, "{all}");
    // without the acknowledgments the verdicts are others
    let (differ, _) = follow(&results, params(&text), false);
    assert!(differ > 500, "{differ} of {all}");
    // whatever is coloured is marked so
    let edge = site(&results, "port.e-d.class.all");
    let marks = results.trace.packets.iter().filter(|r| (r.site, r.event) == (edge, PacketEvent::Enqueued));
    let expected = |color| if color == Color::Green { super::af1(1) } else { super::af1(3) };
    assert!(marks.clone().count() > 5_000);
    assert!(marks.clone().all(|r| r.mark == expected(r.color)));
}

#[test]
fn the_window_estimate_follows_what_the_sender_has_in_flight() {
    let text = text();
    let results = run(&text, &OVERRIDES, ALL);
    let mut meter = params(&text);
    let at = site(&results, "conditioner.in-out");
    let back = [0, 1, 2].map(|i| site(&results, &format!("port.e-s[{i}].class.all")));
    let mut windows = results.trace.cwnd.iter().peekable();
    let mut compared = [0; 3];
    let mut largest = [0.0_f64; 3];
    for record in &results.trace.packets {
        // the senders' states up to now; each with what the edge has seen up to then
        while let Some(state) = windows.next_if(|state| state.time < record.time) {
            // slow start is over
            if state.time.as_nanos() > 3_000_000_000 {
                let i = state.flow.0 as usize;
                let window = meter.flow(state.flow).unwrap().window;
                let flight = float(state.in_flight.0) / 1460.0;
                assert!(
                    (window - flight).abs() <= 1.0,
                    "flow {i}: W {window}, in flight {flight}, {:?}",
                    state.time
                );
                compared[i] += 1;
                largest[i] = largest[i].max(window);
            }
        }
        if (record.site, record.event) == (at, PacketEvent::Coloured) {
            meter.measure(record.time, &meta(record, Dir::Forward));
        } else if back.contains(&record.site) && record.event == PacketEvent::Sent {
            meter.observe_reverse(record.time, &meta(record, Dir::Reverse));
        }
    }
    assert!(compared.iter().all(|&n| n > 500), "{compared:?}");
    assert!(largest[0] <= 3.5 && (11.0..=12.5).contains(&largest[1]) && largest[2] > 20.0, "{largest:?}");
}

#[test]
fn small_windows_are_in_and_all_tokens_are_used() {
    let results = run(&text(), &OVERRIDES, ALL);
    let share = |flow: usize| {
        let of = |mark| {
            let row = results.marks.iter().find(|row| (row.flow, row.mark) == (flow, mark));
            row.map_or(0, |row| row.arrived.packets)
        };
        let (green, red) = (of(super::af1(1)), of(super::af1(3)));
        (green, red)
    };
    // a window of 3 is small: IN, but for what is beyond its average of an interval
    let (green, red) = share(0);
    assert!(green > 500 && red < green / 20, "{green} IN and {red} OUT");
    // the others share what is left of 10 tokens in 100 ms, and use it up
    let all: u64 = (0..3).map(|flow| share(flow).0).sum();
    assert!((1_900..=2_010).contains(&all), "{all} IN packets for 2000 tokens");
    let (middle, large) = (share(1), share(2));
    assert!(middle.1 > 100 && large.1 > 1_000, "{middle:?}, {large:?}");
    assert!(results.trace.packets.iter().all(|r| r.kind != Kind::Syn));
}
