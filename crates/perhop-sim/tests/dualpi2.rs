//! `dualpi2` in a run: like windows of DCTCP and Reno at k = 2, and short waits of the one.

use perhop_sim::{Results, TraceKinds};

use crate::common::{path, run};
use crate::diffserv::{float, queue};

/// As many flows of each kind through one queue.
fn network() -> String {
    let rest = r#"
[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = { kind = "dualpi2", limit = "10000p" }
[[flow]]
name = "l4s"
from = "a"
to = "b"
class = "l4s"
tcp = { cc = "dctcp", ecn = "ect1", mss = "1460B", header = "40B", ack_delay = "0s" }
[[flow]]
name = "classic"
from = "a"
to = "b"
class = "classic"
tcp = { cc = "reno", ecn = true, mss = "1460B", header = "40B", ack_delay = "0s" }
"#;
    path(["100s", "20s"], ["10Gbit/s", "1ms"], ["40Mbit/s", "9ms"], rest)
}

/// What flows of one kind had: the mean window in bits, and the mean wait of a packet in seconds.
struct Kind {
    window: f64,
    wait: f64,
}

fn kind(results: &Results, flows: std::ops::Range<usize>, one_way: f64) -> Kind {
    let (mut window, mut wait) = (0.0, 0.0);
    let n = flows.len() as f64;
    for flow in &results.flows[flows] {
        let delay = flow.delay.expect("data arrived").mean_s;
        window += flow.goodput_bit_s * (delay + one_way) / n;
        wait += (delay - one_way) / n;
    }
    Kind { window, wait }
}

/// The two kinds, and the part of the link that was used.
fn both(rate_mbit: f64, delay_ms: f64, count: usize, more: &[&str]) -> (Kind, Kind, f64) {
    let settings = [
        format!("link.r-b.rate={rate_mbit}Mbit/s"),
        format!("link.r-b.delay={delay_ms}ms"),
        format!("flow.l4s.count={count}"),
        format!("flow.classic.count={count}"),
    ];
    let overrides: Vec<&str> = settings.iter().map(String::as_str).chain(more.iter().copied()).collect();
    let results = run(&network(), &overrides, TraceKinds::default());
    let one_way = (delay_ms + 1.0) * 1e-3 + 0.012 / rate_mbit;
    let sent = float(queue(&results, "port.r-b.class.all").stats.sent.bytes.0) * 8.0 / 80.0;
    (kind(&results, 0..count, one_way), kind(&results, count..2 * count, one_way), sent / (rate_mbit * 1e6))
}

/// Windows, not rates: each kind has the round trip that its own queue makes. By the models of both, a window of Reno is 1.22 over the base
/// probability, one of DCTCP 2 over twice that: 0.82 of the other.
#[test]
fn windows_of_dctcp_and_reno_are_alike_at_a_coupling_of_two() {
    let mut report = String::new();
    let mut sound = true;
    for (rate, delay, count) in
        [(10.0, 9.0, 1), (40.0, 4.0, 2), (40.0, 19.0, 2), (100.0, 9.0, 5), (20.0, 49.0, 2)]
    {
        let (l4s, classic, used) = both(rate, delay, count, &[]);
        let ratio = l4s.window / classic.window;
        report += &format!(
            "{count} and {count} flows, {rate} Mbit/s, {delay} ms: windows {ratio:.2}, waits {:.2} and {:.2} ms, {used:.4} used\n",
            l4s.wait * 1e3,
            classic.wait * 1e3
        );
        sound &= (0.5..2.0).contains(&ratio)
            && l4s.wait < 1.2e-3
            && (8e-3..20e-3).contains(&classic.wait)
            && used > 0.98;
    }
    assert!(sound, "{report}");
}

/// Four times as many marks for as many drops leave a fourth of the window, more or less.
#[test]
fn the_coupling_says_how_windows_compare() {
    let ratio = |coupling: &str| {
        let setting = format!("port.r-b.class.all.queue.coupling={coupling}");
        let (l4s, classic, _) = both(40.0, 9.0, 2, &[&setting]);
        l4s.window / classic.window
    };
    let (two, eight) = (ratio("2"), ratio("8"));
    assert!((2.0..8.0).contains(&(two / eight)), "{two} and {eight}");
}

/// Prague in the place of DCTCP: rates beside Reno within a factor of two, and the L4S queue as short.
//= test draft-prague-02-2.5.1-pacing
//= test draft-prague-02-2.5.1-rate
#[test]
fn prague_shares_with_reno_as_dctcp_does() {
    let prague = "flow.l4s.tcp.cc=prague";
    let mut report = String::new();
    let mut sound = true;
    for (rate, delay, count) in [(40.0, 9.0, 1), (40.0, 19.0, 2), (100.0, 9.0, 5), (20.0, 29.0, 2)] {
        let (l4s, classic, used) = both(rate, delay, count, &[prague]);
        let ratio = l4s.window / classic.window;
        report += &format!(
            "{count} and {count} flows, {rate} Mbit/s, {delay} ms: windows {ratio:.2}, waits {:.2} and {:.2} ms, {used:.4} used\n",
            l4s.wait * 1e3,
            classic.wait * 1e3
        );
        sound &= (0.4..2.5).contains(&ratio) && l4s.wait < 1.2e-3 && used > 0.98;
    }
    assert!(sound, "{report}");
}

/// With queues this short a round trip of 4 ms would take five times what one of 20 ms has; after a while they go by 25 ms alike.
//= test draft-prague-02-2.5.2-burst
#[test]
fn prague_with_short_and_long_round_trips_comes_to_like_rates() {
    let ratio = |cc: &str| {
        let settings = [
            "link.r-b.delay=1ms".to_owned(),
            "flow.l4s.count=1".to_owned(),
            "flow.classic.count=1".to_owned(),
            format!("flow.l4s.tcp.cc={cc}"),
            format!("flow.classic.tcp.cc={cc}"),
            "flow.classic.tcp.ecn=ect1".to_owned(),
            "run.warmup=60s".to_owned(),
        ];
        let overrides: Vec<&str> = settings.iter().map(String::as_str).collect();
        let far = network().replace(
            "from = \"a\"\nto = \"b\"\nclass = \"classic\"",
            "from = \"far\"\nto = \"b\"\nclass = \"classic\"",
        );
        let far = far
            + "[[node]]\nname = \"far\"\n[[link]]\nends = [\"far\", \"r\"]\nrate = \"10Gbit/s\"\ndelay = \"9ms\"\n";
        let results = run(&far, &overrides, TraceKinds::default());
        results.flows[0].goodput_bit_s / results.flows[1].goodput_bit_s
    };
    let (dctcp, prague) = (ratio("dctcp"), ratio("prague"));
    assert!(dctcp > 3.0, "{dctcp}");
    assert!((0.5..2.0).contains(&prague), "{prague} beside {dctcp}");
}
