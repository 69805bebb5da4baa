//! Early detection at a bottleneck of TCP: where the queue stays, what ECN changes, who drops what and why.

use perhop_core::packet::Color;
use perhop_core::sink::DropReason;
use perhop_core::time::Instant;
use perhop_sim::{PacketEvent, Results, TcpEvent, TcpRecord};

use super::{float, queue, site};
use crate::common::{ALL, run};

/// Twenty connections, 60 ms apart from their receivers and back, through 20 Mbit/s.
const BOTTLENECK: &str = r#"
[run]
duration = "60s"
[[node]]
name = "s"
count = 20
[[node]]
name = "r"
kind = "router"
[[node]]
name = "d"
[[link]]
ends = ["s[*]", "r"]
rate = "100Mbit/s"
delay = "5ms"
[[link]]
ends = ["r", "d"]
rate = "20Mbit/s"
delay = "25ms"
[[port]]
at = "r"
to = "d"
[[port.class]]
name = "all"
queue = { kind = "red", limit = "200p", min_th = "15p", max_th = "75p", max_p = 0.1, mean_packet = "1500B" }
[[flow]]
name = "f"
from = "s[*]"
to = "d"
start_jitter = "1s"
tcp = { profile = "rfc", recovery = "sack" }
"#;

const CLASS: &str = "port.r-d.class.all";

/// Mean backlog over time from `from` s to the end, and the largest in between.
fn backlog(results: &Results, from: f64, end: f64) -> (f64, u64) {
    let at = site(results, CLASS);
    let records: Vec<_> = results.trace.queue.iter().filter(|record| record.site == at).collect();
    let mut area = 0.0;
    let mut largest = 0;
    for (n, record) in records.iter().enumerate() {
        let until = records.get(n + 1).map_or(end, |next| next.time.as_secs_f64());
        let since = record.time.as_secs_f64().max(from);
        if until > since {
            area += float(record.backlog.packets) * (until - since);
            largest = largest.max(record.backlog.packets);
        }
    }
    (area / (end - from), largest)
}

#[test]
fn red_keeps_the_mean_queue_between_its_thresholds() {
    let results = run(BOTTLENECK, &["run.warmup=10s"], ALL);
    let row = queue(&results, CLASS);
    let (mean, largest) = backlog(&results, 10.0, 60.0);
    assert!((15.0..75.0).contains(&mean), "{mean} packets on average");
    assert!(largest < 200, "{largest}");
    assert!(row.drops.of(DropReason::Early) > 100, "{:?}", row.drops);
    let busy = super::link(&results, "r->d").utilization_data;
    assert!(busy > 0.95, "{busy} with {mean} packets on average");
    // a queue without it stands at its limit
    let fifo = run(BOTTLENECK, &["port.r-d.class.all.queue={ kind = \"fifo\", limit = \"200p\" }"], ALL);
    let (mean, largest) = backlog(&fifo, 10.0, 60.0);
    assert!(mean > 100.0 && largest == 200, "{mean} and {largest}");
}

#[test]
fn ecn_marks_what_would_be_dropped_and_senders_halve() {
    let overrides = ["port.r-d.class.all.queue.ecn=true", "flow.f.tcp.ecn=true"];
    let results = run(BOTTLENECK, &overrides, ALL);
    // after slow start nothing is lost: what is sent again cannot be marked, but nothing is
    let late: Vec<_> = results
        .trace
        .packets
        .iter()
        .filter(|r| {
            matches!(r.event, PacketEvent::Dropped(_)) && r.time > Instant::from_nanos(10_000_000_000)
        })
        .collect();
    assert!(late.is_empty(), "{late:?}");
    let (mean, _) = backlog(&results, 10.0, 60.0);
    assert!((15.0..75.0).contains(&mean), "{mean} packets on average");
    // every reduction after 10 s is to half of what was in flight, without a loss
    let mut halved = [0; 20];
    let mut before: Vec<Option<(u64, u64)>> = vec![None; 20];
    for state in &results.trace.cwnd {
        let i = state.flow.0 as usize;
        if let Some((cwnd, flight)) = before[i]
            && state.cwnd.0 < cwnd
            && state.time.as_nanos() > 10_000_000_000
        {
            let expected = (flight / 2).max(2 * 1460);
            assert!(
                state.cwnd.0.abs_diff(expected) <= 1460,
                "flow {i}: {cwnd} to {}, {flight} in flight",
                state.cwnd.0
            );
            halved[i] += 1;
        }
        before[i] = Some((state.cwnd.0, state.in_flight.0));
    }
    assert!(halved.iter().all(|&n| n >= 3), "{halved:?}");
    let expired = |r: &&TcpRecord| r.event == TcpEvent::Timeout && r.time.as_nanos() > 10_000_000_000;
    assert_eq!(results.trace.tcp.iter().find(expired), None);
    // a queue that marks drops those that cannot be marked
    let deaf = run(BOTTLENECK, &overrides[..1], ALL);
    assert!(queue(&deaf, CLASS).drops.of(DropReason::Early) > 100);
}

/// Colours and reasons in the trace of what the queue at `path` dropped.
fn dropped(results: &Results, path: &str) -> ([u64; 3], [u64; 3]) {
    let at = site(results, path);
    let (mut colors, mut reasons) = ([0; 3], [0; 3]);
    for record in results.trace.packets.iter().filter(|record| record.site == at) {
        if let PacketEvent::Dropped(why) = record.event {
            colors[[Color::Green, Color::Yellow, Color::Red]
                .iter()
                .position(|&c| c == record.color)
                .unwrap()] += 1;
            let known = [DropReason::Early, DropReason::Forced, DropReason::Overflow];
            reasons[known.iter().position(|&w| w == why).unwrap()] += 1;
        }
    }
    (colors, reasons)
}

#[test]
fn drops_by_colour_and_by_reason_add_up() {
    let marked = r#"
        [[conditioner]]
        name = "mark"
        at = "r"
        from = "s[*]"
        match = { kind = "data" }
        meter = { kind = "tr-tcm", cir = "6Mbit/s", pir = "12Mbit/s", cbs = "30kB", pbs = "30kB" }
        marker = { green = "AF11", yellow = "AF12", red = "AF13" }
        [[udp]]
        name = "flood"
        from = "s[0]"
        to = "d"
        rate = "18Mbit/s"
        packet_size = "700B"
        start = "20s"
        pattern = { kind = "on-off", on = "1s", off = "1s" }
        "#;
    let curve = |min: u32, max: u32, more: &str| {
        format!("{{ min_th = \"{min}p\", max_th = \"{max}p\", max_p = 0.1{more} }}")
    };
    let common = "limit = \"45p\", mean_packet = \"1500B\"";
    let queues = [
        "kind = \"fifo\", limit = \"45p\"".to_owned(),
        format!("kind = \"red\", {common}, min_th = \"10p\", max_th = \"30p\", max_p = 0.1"),
        format!("kind = \"rio\", {common}, green = {}, red = {}", curve(20, 40, ""), curve(5, 20, "")),
        format!(
            "kind = \"gred\", {common}, averaging = \"coupled\", green = {}, yellow = {}, red = {}",
            curve(30, 45, ""),
            curve(15, 30, ", limit = \"20p\""),
            curve(5, 15, "")
        ),
    ];
    let mut seen = [0; 3];
    for given in queues {
        let replaced = format!("port.r-d.class.all.queue={{ {given} }}");
        let results = run(&format!("{BOTTLENECK}{marked}"), &[&replaced], ALL);
        let row = queue(&results, CLASS);
        let drops = row.drops;
        let reasons = [DropReason::Early, DropReason::Forced, DropReason::Overflow].map(|why| drops.of(why));
        assert_eq!(dropped(&results, CLASS), (drops.by_color, reasons), "{given}");
        assert_eq!(reasons.iter().sum::<u64>(), row.stats.dropped.packets, "{given}");
        assert_eq!(drops.by_color.iter().sum::<u64>(), row.stats.dropped.packets, "{given}");
        assert!(row.stats.dropped.packets > 500, "{given}: {:?}", row.stats);
        if given.contains("gred") {
            assert!(drops.by_color.is_sorted(), "{:?}", drops.by_color);
        }
        for (seen, n) in seen.iter_mut().zip(reasons) {
            *seen += n;
        }
    }
    assert!(seen.iter().all(|&n| n > 0), "every reason occurs somewhere: {seen:?}");
}
