//! Long flows behind PIE: they fill their link, and packets wait about as long as the target says.

use perhop_core::sink::DropReason;
use perhop_sim::{Quantity, TraceKinds};

use crate::common::{path, run};
use crate::diffserv::{link, queue};

/// A flow through a router and a bottleneck.
fn network() -> String {
    let rest = r#"
[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = { kind = "pie" }
[[flow]]
name = "up"
from = "a"
to = "b"
"#;
    path(["40s", "15s"], ["1Gbit/s", "1ms"], ["10Mbit/s", "9ms"], rest)
}

/// The part of the link that carries data, and the mean wait in milliseconds, with this link and `queue` before it.
fn long_flow(rate: &str, delay_ms: u32, queue_settings: &str) -> (f64, f64) {
    let overrides = [
        format!("link.r-b.rate={rate}"),
        format!("link.r-b.delay={delay_ms}ms"),
        format!("port.r-b.class.all.queue={queue_settings}"),
    ];
    let results = run(&network(), &overrides.each_ref().map(String::as_str), TraceKinds::default());
    let row = queue(&results, "port.r-b.class.all");
    assert!(row.drops.of(DropReason::Early) > 0 && row.drops.of(DropReason::Overflow) == 0);
    (link(&results, "r->b").utilization_data, row.wait_mean_s * 1e3)
}

/// Measured, and held to a hundredth and a millisecond.
#[test]
fn a_long_flow_fills_its_link_and_waits_about_as_long_as_the_target_says() {
    for (rate, delay, part, wait) in [
        ("1Mbit/s", 4, 0.986, 22.0),
        ("10Mbit/s", 4, 1.0, 15.6),
        ("100Mbit/s", 4, 1.0, 13.8),
        ("1Mbit/s", 19, 0.963, 25.9),
        ("10Mbit/s", 19, 0.981, 14.4),
        ("100Mbit/s", 19, 1.0, 10.6),
        ("1Mbit/s", 49, 0.973, 39.3),
        ("10Mbit/s", 49, 0.922, 10.5),
        ("100Mbit/s", 49, 0.983, 7.5),
    ] {
        let found = long_flow(rate, delay, r#"{ kind = "pie" }"#);
        assert!((found.0 - part).abs() < 0.01 && (found.1 - wait).abs() < 1.0, "{rate} {delay}: {found:?}");
    }
}

#[test]
fn so_it_does_with_every_option_behind_linux_and_behind_a_modem() {
    for (settings, target) in [
        (
            r#"{ kind = "pie", delay_from = "departure-rate", derandomize = true, cap_adjustment = true }"#,
            15.0,
        ),
        (r#"{ kind = "pie", conventions = { like = "linux" } }"#, 15.0),
        (r#"{ kind = "docsis-pie", limit = "125kB" }"#, 10.0),
    ] {
        let (part, wait) = long_flow("10Mbit/s", 19, settings);
        assert!(part > 0.97 && (0.9 * target..1.6 * target).contains(&wait), "{settings}: {part} {wait}");
    }
}

#[test]
fn the_probability_is_in_the_series_where_it_is_asked_for() {
    for settings in [
        r#"{ kind = "pie" }"#,
        r#"{ kind = "pie", conventions = { like = "linux" } }"#,
        r#"{ kind = "docsis-pie", limit = "125kB" }"#,
    ] {
        let queue = format!("port.r-b.class.all.queue={settings}");
        let results = run(&network(), &[&queue, r#"run.series=["averages"]"#], TraceKinds::default());
        let of = |quantity| results.series.iter().filter(move |column| column.1 == quantity);
        assert!(of(Quantity::DropProbability).any(|column| column.2.iter().any(|p| *p > 0.0 && *p < 1.0)));
        assert_eq!((of(Quantity::DropProbability).count(), of(Quantity::AveragePackets).count()), (1, 0));
    }
}
