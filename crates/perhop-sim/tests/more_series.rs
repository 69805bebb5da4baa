//! Series that are there only where they are asked for.

use std::collections::BTreeSet;

use perhop_core::packet::Color;
use perhop_sim::{Quantity, Results, Subject, TraceKinds};

use crate::common::run;
use crate::determinism::{DIFFSERV, SHORT};
use crate::diffserv::EDGE;

const BOTH: &str = "run.series=[\"averages\", \"tokens\"]";

fn named(results: &Results) -> BTreeSet<&'static str> {
    results.series.columns.iter().map(|column| column.1.name()).collect()
}

#[test]
fn to_ask_for_more_series_changes_nothing_else() {
    let plain = run(DIFFSERV, &SHORT, TraceKinds::default());
    let detailed = run(DIFFSERV, &[&SHORT[..], &[BOTH]].concat(), TraceKinds::default());
    assert_eq!(plain.event_digest, detailed.event_digest);
    assert_eq!(
        format!("{:?}", (&plain.flows, &plain.queues, &plain.classes, &plain.conditioners)),
        format!("{:?}", (&detailed.flows, &detailed.queues, &detailed.classes, &detailed.conditioners))
    );
    let all: Vec<_> = detailed.series.iter().collect();
    let (always, more) = all.split_at(plain.series.columns.len());
    // NaN, which is no sample yet, is not equal to itself
    assert_eq!(format!("{always:?}"), format!("{:?}", plain.series.iter().collect::<Vec<_>>()));
    assert!(more.iter().all(|column| column.2.len() == detailed.series.times.len()));
    let new: Vec<_> = named(&detailed).difference(&named(&plain)).copied().collect();
    let averages = ["average_bytes", "average_packets", "backlog_bytes", "drop_probability"];
    let tokens = ["tokens_committed_bytes", "tokens_peak_bytes"];
    assert_eq!(new, [&averages[..], &tokens].concat());
    let green = more.iter().find(|column| {
        matches!(column.0, Subject::Color(_, Color::Green)) && column.1 == Quantity::AverageBytes
    });
    assert!(green.expect("GRED has colours").2.iter().any(|average| *average > 0.0));
    let mut chances = more.iter().filter(|column| column.1 == Quantity::DropProbability);
    assert!(chances.clone().any(|column| column.2.iter().any(|p| *p > 0.0)));
    assert!(chances.all(|column| column.2.iter().all(|p| (0.0..=1.0).contains(p))));
}

/// A packet of 1000 bytes is at the edge 1.08 ms after it was sent at 2 s, and the next 10 s later; 100 bytes come in a second.
#[test]
fn tokens_are_those_of_the_instant_of_the_sample() {
    let traffic = r#"
        [[udp]]
        name = "u"
        from = "s[0]"
        to = "d"
        rate = "800bit/s"
        packet_size = "1000B"
        start = "2s"
        [[conditioner]]
        name = "c"
        at = "e"
        from = "s[0]"
        meter = { kind = "token-bucket", cir = "800bit/s", cbs = "1000B" }
        marker = { red = "drop" }
    "#;
    let overrides = ["run.duration=15.5s", "run.series=[\"tokens\"]"];
    let results = run(&format!("{EDGE}{traffic}"), &overrides, TraceKinds::default());
    let mut levels = results.series.iter().filter(|column| column.0 == Subject::Conditioner(0));
    let levels = levels.next().expect("the meter has one bucket").2;
    let since = |last: f64, at: f64| (1000.0_f64).min((at - last) * 100.0);
    let expected = (1..=15).map(f64::from).map(|at| match at {
        before if before <= 2.0 => 1000.0,
        after if after <= 12.0 => since(2.001_08, after),
        later => since(12.001_08, later),
    });
    for (level, expected) in levels.iter().zip(expected) {
        assert!((level - expected).abs() < 1e-6, "{level} against {expected}");
    }
    assert_eq!(levels.len(), 15);
}
