//! Delays, variation, waits and classes, against closed forms and against what a trace of the same run says.

use std::collections::BTreeMap;

use perhop_core::packet::{FlowId, Kind};
use perhop_core::time::Span;
use perhop_sim::{PacketEvent, PacketRecord, Results, TraceKinds};

use crate::common::{ALL, DUMBBELL, path, run};
use crate::determinism::{DIFFSERV, SHORT};
use crate::diffserv::{float, near, queue};

/// A source behind a fast link, and a slow link to the sink.
fn network() -> String {
    let rest = r#"
[[port]]
at = "r"
to = "b"
[[port.class]]
name = "all"
queue = { kind = "fifo", limit = "100000p" }
[[udp]]
name = "u"
from = "a"
to = "b"
packet_size = "1000B"
"#;
    path(["10s", "0s"], ["1Gbit/s", "5ms"], ["8Mbit/s", "7ms"], rest)
}

fn bottleneck(udp: &str, overrides: &[&str]) -> Results {
    run(&format!("{}{udp}", network()), overrides, TraceKinds::default())
}

/// Of 1000 bytes: 8 us at 1 Gbit/s, 1 ms at 8 Mbit/s, and 12 ms of propagation.
const EMPTY: u64 = 8_000 + 1_000_000 + 12_000_000;
const PROPAGATION: u64 = 12_000_000;

/// Asserts that `found` is within 1/128 of what `exact` has beyond the propagation delay.
fn assert_close(found: Span, exact: u64, what: &str) {
    let off = found.as_nanos().abs_diff(exact);
    assert!(off <= (exact - PROPAGATION) / 128, "{what}: {found:?}, not {exact} ns");
}

#[test]
fn without_a_queue_every_delay_is_the_same() {
    let results = bottleneck("rate = \"4Mbit/s\"\n", &[]);
    let delays = results.classes[0].delays.unwrap();
    assert_eq!((delays.range.min.as_nanos(), delays.range.max.as_nanos()), (EMPTY, EMPTY));
    assert!((delays.range.mean_s - float(EMPTY) * 1e-9).abs() < 1e-15);
    assert_eq!(delays.quantiles.map(Span::as_nanos), [EMPTY; 4]);
    assert_eq!(delays.pdv.map(Span::as_nanos), [0; 3]);
    assert_eq!(delays.ipdv, Some((0.0, Span::ZERO)));
    let row = queue(&results, "port.r-b.class.all");
    assert_eq!((row.mean_backlog, row.wait_mean_s, row.wait_max), ((0.0, 0.0), 0.0, Span::ZERO));
}

/// A packet each 0.5 ms into a link that sends one each ms: packet n waits n * 0.5 ms.
#[test]
fn a_queue_that_only_grows_has_its_closed_form() {
    let results = bottleneck("rate = \"16Mbit/s\"\n", &[]);
    let arrived = results.udp[0].arrived.packets;
    let delay = |n: u64| EMPTY + n * 500_000;
    let delays = results.classes[0].delays.unwrap();
    assert_eq!((delays.range.min.as_nanos(), delays.range.max.as_nanos()), (EMPTY, delay(arrived - 1)));
    for (permille, found) in [500, 950, 990, 999].into_iter().zip(delays.quantiles) {
        assert_close(found, delay((arrived * permille).div_ceil(1000) - 1), &format!("{permille}"));
    }
    for (permille, found) in [500, 950, 999].into_iter().zip(delays.pdv) {
        let exact = delay((arrived * permille).div_ceil(1000) - 1);
        assert_close(found + Span::from_nanos(EMPTY), exact, &format!("PDV {permille}"));
    }
    let (mean, p95) = delays.ipdv.unwrap();
    assert!((mean - 500e-6).abs() < 1e-12, "{mean}");
    assert!(p95.as_nanos().abs_diff(500_000) <= 500_000 / 128, "{p95:?}");

    // the first packet is at the router after 5.008 ms; at time t since then 2t have come and t have left the queue
    let row = queue(&results, "port.r-b.class.all");
    let time = 10.0 - 5.008e-3;
    assert!(near(row.mean_backlog.0, 1000.0 * time / 2.0 * time / 10.0, 1e-3), "{:?}", row.mean_backlog);
    assert!(near(row.mean_backlog.1, 1000.0 * row.mean_backlog.0, 1e-9), "{:?}", row.mean_backlog);
    let last = row.stats.sent.packets - 1;
    assert_eq!(row.wait_max.as_nanos(), last * 500_000);
    assert!(near(row.wait_mean_s, float(last) * 250e-6, 1e-9), "{}", row.wait_mean_s);
}

/// M/D/1: at load rho a packet waits rho / (2 (1 - rho)) transmission times on average.
#[test]
fn poisson_arrivals_wait_as_pollaczek_and_khinchine_have_it() {
    for (rate, rho) in [("4Mbit/s", 0.5), ("6.4Mbit/s", 0.8)] {
        let udp = format!("rate = \"{rate}\"\npattern = {{ kind = \"poisson\" }}\n");
        let results = bottleneck(&udp, &["run.duration=400s", "run.warmup=10s"]);
        let row = queue(&results, "port.r-b.class.all");
        let expected = rho / (2.0 * (1.0 - rho)) * 1e-3;
        // over 200,000 packets the mean of correlated waits deviates by about 1 % at load 0.8
        assert!(near(row.wait_mean_s, expected, 0.05), "{rho}: {} s, not {expected}", row.wait_mean_s);
        let throughput = float(row.stats.sent.packets) / 390.0;
        assert!(near(row.mean_backlog.0, throughput * row.wait_mean_s, 1e-3), "{:?}", row.mean_backlog);
        let mean = results.udp[0].delay.unwrap().mean_s;
        assert!((mean - row.wait_mean_s - float(EMPTY) * 1e-9).abs() < 1e-5, "{mean}");
    }
}

/// Backlogs of the trace integrated over time, and the waits of its packets, for every class of every port.
#[test]
fn littles_law_holds_between_the_trace_and_the_tables() {
    let dumbbell = ["run.warmup=3s"];
    let texts = [(DUMBBELL, &dumbbell[..]), (DIFFSERV, &SHORT[..])];
    let drr = DIFFSERV
        .replace("scheduler = { kind = \"cbq\" }", "scheduler = { kind = \"strict-priority\" }")
        .lines()
        .filter(|line| !line.starts_with("share =") && !line.starts_with("priority ="))
        .collect::<Vec<_>>()
        .join("\n");
    let mut waited = 0;
    for (text, overrides) in texts.into_iter().chain([(drr.as_str(), &SHORT[..])]) {
        let results = run(text, overrides, ALL);
        let measured = measured(text, overrides);
        for row in &results.queues {
            let (packets, bytes) = integral(&results, &row.path, measured);
            let time = float(measured.1 - measured.0);
            let exact = (packets / time, bytes / time);
            assert!((row.mean_backlog.0 - exact.0).abs() <= 1e-9 * (1.0 + exact.0), "{row:?}: {exact:?}");
            assert!((row.mean_backlog.1 - exact.1).abs() <= 1e-9 * (1.0 + exact.1), "{row:?}: {exact:?}");
            let waits = waits(&results, &row.path, measured);
            assert_eq!(waits.len() as u64, row.stats.sent.packets);
            assert_eq!(waits.iter().copied().max().unwrap_or(0), row.wait_max.as_nanos());
            let mean = float(waits.iter().sum()) / float(waits.len() as u64) / 1e9;
            assert!(waits.is_empty() || (mean - row.wait_mean_s).abs() < 1e-12, "{row:?}: {mean}");
            waited += u64::from(row.wait_mean_s > 0.0);
        }
    }
    assert!(waited > 15, "{waited} queues in which packets waited");
}

/// Begin and end of the measured time, ns.
fn measured(text: &str, overrides: &[&str]) -> (u64, u64) {
    let overrides: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let run = perhop_scenario::load(text.as_bytes(), "test.toml", &overrides).unwrap().scenario.run;
    (run.warmup.as_nanos(), run.duration.as_nanos())
}

/// Packets and bytes waiting in the class at `path`, times ns, after the trace.
fn integral(results: &Results, path: &str, (from, to): (u64, u64)) -> (f64, f64) {
    let (mut sum, mut at, mut waiting) = ((0.0, 0.0), from, (0, 0));
    let mut count = |until: u64, waiting: (u64, u64)| {
        let until = until.clamp(at, to);
        sum.0 += float(waiting.0) * float(until - at);
        sum.1 += float(waiting.1) * float(until - at);
        at = until;
    };
    for change in results.trace.queue.iter().filter(|r| results.sites[r.site] == *path) {
        count(change.time.as_nanos(), waiting);
        waiting = (change.backlog.packets, change.backlog.bytes.0);
    }
    count(to, waiting);
    sum
}

/// How long each packet waited that left the class at `path` in the measured time: a class is a FIFO here.
fn waits(results: &Results, path: &str, (from, _): (u64, u64)) -> Vec<u64> {
    let at = |r: &&PacketRecord| results.sites[r.site] == *path;
    let times = |event| {
        let of = results.trace.packets.iter().filter(at).filter(move |r| r.event == event);
        of.map(|r| r.time.as_nanos())
    };
    let pairs = times(PacketEvent::Enqueued).zip(times(PacketEvent::Sent));
    pairs.filter(|&(_, sent)| sent >= from).map(|(came, sent)| sent - came).collect()
}

/// One-way delays by flow, in order of arrival, from the first queue and the last link of the trace.
fn traced_delays(results: &Results, hosts: &[&str], from: u64) -> BTreeMap<FlowId, Vec<u64>> {
    // packets of a flow with the same bytes are told apart by their order: nothing overtakes on a flow's way here
    let mut sent: BTreeMap<(FlowId, u32), Vec<u64>> = BTreeMap::new();
    let mut delays: BTreeMap<FlowId, Vec<u64>> = BTreeMap::new();
    for step in results.trace.packets.iter().filter(|step| step.kind == Kind::Data) {
        let path = &results.sites[step.site];
        let key = (step.flow, step.number);
        let leaves_host = hosts.iter().any(|host| path.starts_with(&format!("port.{host}")));
        match step.event {
            PacketEvent::Enqueued if leaves_host => sent.entry(key).or_default().push(step.time.as_nanos()),
            PacketEvent::Dropped(_) => drop(sent.get_mut(&key).map(|times| times.remove(0))),
            PacketEvent::Delivered if path.starts_with("port.core-server") => {
                let left = sent.get_mut(&key).map(|times| times.remove(0)).expect("it was sent");
                if step.time.as_nanos() >= from {
                    delays.entry(step.flow).or_default().push(step.time.as_nanos() - left);
                }
            }
            _ => {}
        }
    }
    delays
}

#[test]
fn delays_and_their_variation_are_those_of_the_trace() {
    let results = run(DIFFSERV, &SHORT, ALL);
    let (from, _) = measured(DIFFSERV, &SHORT);
    let hosts = ["voice_host", "bulk_host", "web_host", "rest_host"];
    let delays = traced_delays(&results, &hosts, from);
    // the four bulk flows have four round-trip times, so the least delay is that of each flow
    let bulk: Vec<&Vec<u64>> = (0..4).map(|flow| &delays[&FlowId(flow)]).collect();
    for (flow, delays) in bulk.iter().enumerate() {
        let (row, count) = (results.flows[flow].delay.unwrap(), delays.len() as u64);
        assert_eq!(row.min.as_nanos(), *delays.iter().min().unwrap());
        assert_eq!(row.max.as_nanos(), *delays.iter().max().unwrap());
        assert!(near(row.mean_s, float(delays.iter().sum()) / float(count) * 1e-9, 1e-12));
    }
    let class = results.classes.iter().find(|class| class.name == "assured").unwrap();
    let found = class.delays.unwrap();
    let all: Vec<u64> = bulk.iter().flat_map(|delays| delays.iter().copied()).collect();
    for (permille, quantile) in [500, 950, 990, 999].into_iter().zip(found.quantiles) {
        assert_rank(&all, permille, quantile, 0);
    }
    let beyond = |delays: &&Vec<u64>| {
        let least = *delays.iter().min().unwrap();
        delays.iter().map(move |delay| delay - least).collect::<Vec<_>>()
    };
    let variation: Vec<u64> = bulk.iter().flat_map(beyond).collect();
    for (permille, quantile) in [500, 950, 999].into_iter().zip(found.pdv) {
        // off by a part of what is beyond propagation, of which transmission takes up to 5.4 ms
        assert_rank(&variation, permille, quantile, 6_000_000 / 128);
    }
    let changes: Vec<u64> = bulk.iter().flat_map(|d| d.windows(2).map(|p| p[0].abs_diff(p[1]))).collect();
    let (mean, p95) = found.ipdv.unwrap();
    assert!(near(mean, float(changes.iter().sum()) / float(changes.len() as u64) * 1e-9, 1e-12), "{mean}");
    assert_rank(&changes, 950, p95, 0);
}

/// Asserts that `found` is the nearest rank of `values`, but for 1/128 and `off` ns.
fn assert_rank(values: &[u64], permille: usize, found: Span, off: u64) {
    let mut values = values.to_vec();
    values.sort_unstable();
    let exact = values[(values.len() * permille).div_ceil(1000) - 1];
    assert!(found.as_nanos().abs_diff(exact) <= exact / 128 + off, "{permille}: {found:?}, not {exact} ns");
}

#[test]
fn a_class_offers_what_arrives_and_what_is_dropped() {
    let one_class = ["run.warmup=0s", "flow.web.class=default", "flow.rest.class=default"];
    let whole = [&SHORT[..], &one_class].concat();
    let results = run(DIFFSERV, &whole, ALL);
    assert_eq!(
        results.classes.iter().map(|c| c.name.as_str()).collect::<Vec<_>>(),
        ["assured", "default", "premium"]
    );
    let tcp = results.flows.len();
    let class_of = |flow: FlowId| match flow.0 as usize {
        flow if flow < 4 => 0,
        flow if flow < tcp => 1,
        _ => 2,
    };
    let mut on_the_way = [0_i64; 3];
    let mut dropped = [[0; 3]; 3];
    let mut by_reason = BTreeMap::new();
    for step in &results.trace.packets {
        let path = &results.sites[step.site];
        let (class, is_ack) = (class_of(step.flow), step.kind == Kind::PureAck);
        let ends =
            [path.contains("_host-edge") || path.contains("]-edge"), path.starts_with("port.core-server")];
        match step.event {
            _ if is_ack => {}
            PacketEvent::Enqueued if ends[0] => on_the_way[class] += 1,
            PacketEvent::Delivered if ends[1] => on_the_way[class] -= 1,
            PacketEvent::Dropped(why) => {
                on_the_way[class] -= 1;
                dropped[class][step.color as usize] += 1;
                *by_reason.entry((class, why)).or_insert(0) += 1;
            }
            _ => {}
        }
    }
    for (at, class) in results.classes.iter().enumerate() {
        assert_eq!(class.drops.by_color, dropped[at], "{}", class.name);
        let gone = class.arrived.packets + class.drops.dropped();
        assert_eq!(i64::try_from(class.offered_packets - gone).unwrap(), on_the_way[at], "{}", class.name);
    }
    for ((class, why), count) in by_reason {
        assert_eq!(results.classes[class].drops.of(why), count, "{why:?} of class {class}");
    }
    let transfers = &results.classes[1];
    let begun = results.flows.iter().filter(|flow| flow.stats.completed.is_some()).count();
    assert!(begun > 3, "{begun} transfers completed");
    assert_eq!(transfers.completed.len(), begun);
    assert_eq!(transfers.flows, tcp as u64 - 4);
    let shares: Vec<f64> = results.flows[..4].iter().map(|flow| flow.goodput_bit_s).collect();
    let (sum, squares): (f64, f64) = (shares.iter().sum(), shares.iter().map(|x| x * x).sum());
    assert!(near(results.classes[0].fairness.unwrap(), sum * sum / (4.0 * squares), 1e-12));
    assert_eq!(results.classes[2].fairness, None);
}

#[test]
fn traces_and_series_change_no_measure() {
    let traced = run(DIFFSERV, &SHORT, ALL);
    let plain = run(DIFFSERV, &[&SHORT[..], &["run.interval=10ms"]].concat(), TraceKinds::default());
    assert_eq!(plain.event_digest, traced.event_digest);
    assert_eq!(format!("{:?}", plain.classes), format!("{:?}", traced.classes));
    assert_eq!(format!("{:?}", plain.queues), format!("{:?}", traced.queues));
}
