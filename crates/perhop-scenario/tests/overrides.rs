//! The path grammar of `-s`.

use crate::common::{BASE, lines};
use insta::assert_snapshot;
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_scenario::model::{Queue, Scenario, Scheduler};
use perhop_scenario::{Diagnostic, Loaded, load};

fn try_with(overrides: &[&str]) -> Result<Loaded, Vec<Diagnostic>> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    load(BASE.as_bytes(), "test.toml", &overrides)
}

fn with(overrides: &[&str]) -> Scenario {
    let result = try_with(overrides);
    result.unwrap_or_else(|found| panic!("{}", lines(Err(found)))).scenario
}

#[test]
fn settings_of_the_run() {
    let run = with(&["run.seed=7", "run.duration=2s", "run.warmup = \"500ms\"", "run.duration=3 s"]).run;
    assert_eq!((run.seed, run.warmup, run.duration), (7, Span::from_millis(500), Span::from_secs(3)));
}

#[test]
fn counts() {
    let scenario = with(&["node.s.count=5", "node.d.count=5"]);
    assert_eq!((scenario.nodes.len(), scenario.links.len(), scenario.flows.len()), (13, 22, 6));
    assert_eq!(scenario.flows[5].name, "bulk[4]");
}

#[test]
fn links_whole_and_by_direction() {
    let rates = |s: &Scenario| [s.links[0].rate.bits_per_sec(), s.links[1].rate.bits_per_sec()];
    assert_eq!(rates(&with(&["link.slow-fast.rate=1Mbit/s"])), [1_000_000, 1_000_000]);
    assert_eq!(rates(&with(&["link.slow-fast.rate.slow->fast=200kbit/s"])), [200_000, 5_000_000]);
    // One value for both directions becomes two, of which one changes.
    let scenario = with(&["link.s-r.delay.r->s=1ms"]);
    let delays: Vec<Span> = scenario.links[2..8].iter().map(|link| link.delay).collect();
    assert_eq!(delays, [Span::from_millis(5), Span::from_millis(1)].repeat(3));
    let sizes = with(&["link.slow-fast.pure_ack_size.fast->slow=9B"]);
    assert_eq!(sizes.links[1].pure_ack_size, Some(Bytes(9)));
}

#[test]
fn ports() {
    let port = |overrides: &[&str]| with(overrides).links[0].port.clone();
    assert_eq!(port(&["port.slow-fast.backpressure=4"]).backpressure, Some(4));
    let share = port(&["port.slow-fast.scheduler.share=0.25"]).scheduler.clone();
    assert_eq!(share, Scheduler::PairedCounter { data: 1, share: 0.25 });
    let scheduler = port(&[r#"port.slow-fast.scheduler={ kind = "strict-priority" }"#]).scheduler.clone();
    assert_eq!(scheduler, Scheduler::StrictPriority);
    let queue =
        port(&["port.slow-fast.class.acks.queue.kind=fifo", "port.slow-fast.class.acks.queue.limit=9p"]);
    assert_eq!(queue.classes[0].queue, Queue::Fifo { limit: QueueSize::Packets(9), ack_filter: None });
}

#[test]
fn ports_that_the_file_leaves_to_the_defaults() {
    let back = with(&["port.fast-slow.class.all.queue.limit=7p", "port.fast-slow.backpressure=2"]).links[1]
        .port
        .clone();
    assert_eq!(back.backpressure, Some(2));
    assert_eq!(back.classes[0].queue, Queue::Fifo { limit: QueueSize::Packets(7), ack_filter: None });
    let scenario = with(&["port.s-r.class.all.queue.limit=7p", "port.r-d.class.all.queue.limit=8p"]);
    let limit = |link: usize| scenario.links[link].port.classes[0].queue.clone();
    assert_eq!(
        [2, 4, 6].map(limit),
        [7; 3].map(|n| Queue::Fifo { limit: QueueSize::Packets(n), ack_filter: None })
    );
    assert_eq!(
        [8, 10, 12].map(limit),
        [8; 3].map(|n| Queue::Fifo { limit: QueueSize::Packets(n), ack_filter: None })
    );
}

#[test]
fn flows() {
    let scenario = with(&["flow.bulk.tcp.mss=512B", "flow.bulk.class=best-effort", "flow.up.start=1s"]);
    assert_eq!(
        (scenario.flows[0].start, scenario.flows[0].tcp.params.mss),
        (Span::from_secs(1), Bytes(1460))
    );
    assert!(
        scenario.flows[1..]
            .iter()
            .all(|flow| flow.tcp.params.mss == Bytes(512) && flow.class == "best-effort")
    );
}

#[test]
fn a_list_is_written_anew_as_a_whole() {
    let three = r#"flow=[{ name = "a", from = "slow", to = "fast" }, { name = "b", from = "fast", to = "slow" }, { name = "c", from = "slow", to = "fast" }]"#;
    let scenario = with(&["flow.up.start=1s", three, "flow.b.start=2s"]);
    let flows: Vec<_> = scenario.flows.iter().map(|flow| (flow.name.as_str(), flow.start)).collect();
    assert_eq!(flows, [("a", Span::ZERO), ("b", Span::from_secs(2)), ("c", Span::ZERO)]);
    assert_snapshot!(lines(try_with(&[r#"flow=[{ name = "a", from = "slow", too = "fast" }]"#])), @r#"
    1:7 flow.a.to: `to` is missing (add `to = "slow"`: the receiving host.)
    1:36 flow.a.too: there is no setting `too` here (did you mean `to`?)
    "#);
    assert_snapshot!(lines(try_with(&[three, "flow.up.start=1s"])), @"1:1 flow.up.start: the file has no flow `up` (known here: a, b, c)");
}

#[test]
fn mistakes() {
    let of = |text: &str| lines(try_with(&[text]));
    assert_snapshot!(of("run.seed"), @"1:1 run.seed: an override is path=value (write path=value, as in `run.duration=60s` or `flow.up.tcp.window=64KiB`)");
    assert_snapshot!(of("run..seed=1"), @"1:1 run..seed: a path is keys and names with one dot between them (write path=value, as in `run.duration=60s` or `flow.up.tcp.window=64KiB`)");
    assert_snapshot!(of("=1"), @"1:1 a path is keys and names with one dot between them (write path=value, as in `run.duration=60s` or `flow.up.tcp.window=64KiB`)");
    assert_snapshot!(of("run.sede=1"), @"1:1 run.sede: there is no setting `sede` here (did you mean `seed`?)");
    assert_snapshot!(of("run.seed.x=1"), @"1:1 run.seed: must be an integer, not a table");
    assert_snapshot!(of("run.seed=one"), @"1:10 run.seed: must be an integer, not a string");
    assert_snapshot!(of("run=1"), @"1:5 run: must be a table, not an integer (its settings are: seed, replication, duration, warmup, interval, processing_jitter, packet_size, clock, endpoint, series)");
    assert_snapshot!(of("flow.up.start={ kind = "), @r#"1:1 flow.up.start: not TOML: unclosed inline table, expected `}` (words stand in quotes, as in `{ kind = "fifo" }`)"#);
    assert_snapshot!(of("flow=[1, "), @r#"1:1 flow: not TOML: unclosed array, expected `]` (words stand in quotes, as in `{ kind = "fifo" }`)"#);
    assert_snapshot!(of("flow=1"), @"1:1 flow: flow is a list: name one element");
    assert_snapshot!(of("flow.up=1"), @"1:1 flow.up: the path ends at an element: name one of its settings");
    assert_snapshot!(of("flow.upp.start=1s"), @"1:1 flow.upp.start: the file has no flow `upp` (did you mean `up`?)");
    assert_snapshot!(of("port.fast-show.backpressure=1"), @"1:1 port.fast-show.backpressure: the file has no port `fast-show` (known here: slow-fast)");
    assert_snapshot!(of("port.fast-slow.class.al.queue.limit=1p"), @"1:1 port.fast-slow.class.al.queue.limit: the file has no class `al` (an override changes a [[class]] that the file has)");
    assert_snapshot!(of("port.slow-fast.class.ack.queue.limit=1p"), @"1:1 port.slow-fast.class.ack.queue.limit: the file has no class `ack` (did you mean `acks`?)");
    assert_snapshot!(of("link.slow-fast.rate.slow->slow=1Mbps"), @"1:32 link.slow-fast.rate.slow->slow: the link has no direction `slow->slow` (known here: slow->fast, fast->slow)");
    assert_snapshot!(of("node.s.count=4000000"), @"1:14 node.s.count: 4000000 is above 1000000, the most allowed");
    assert_snapshot!(of("run.seed=99999999999999999999"), @"1:1 run.seed: `99999999999999999999` does not fit in a TOML integer (64 bits)");
}

#[test]
fn another_kind_takes_a_whole_table() {
    let queue = r#"queue = { kind = "red", limit = "60p", min_th = "5p", max_th = "15p", max_p = 0.1 }"#;
    let text = BASE.replace(r#"queue = { kind = "fifo", limit = "64kB" }"#, queue);
    let at = "port.slow-fast.class.data.queue";
    let load = |overrides: &[&str]| {
        let overrides: Vec<String> = overrides.iter().map(|rest| format!("{at}{rest}")).collect();
        load(text.as_bytes(), "test.toml", &overrides)
    };
    assert_snapshot!(lines(load(&[".kind=fifo"])), @r#"1:38 port.slow-fast.class.data.queue.kind: `fifo` has no max_p, max_th, min_th, which the file sets (give the whole table: `-s 'port.slow-fast.class.data.queue={ kind = "fifo", limit = "60p" }'`)"#);
    assert!(load(&[r#"={ kind = "fifo", limit = "60p" }"#]).is_ok());
    let found = lines(load(&[".kind=rio"]));
    assert!(found.contains(r#"={ kind = "rio", limit = "60p", green = ..., red = ... }'"#), "{found}");
    // Settings that other overrides give are not missing.
    let fifo = BASE.replace(", limit = \"64kB\"", "");
    let red = [".kind=red", ".min_th=5p", ".max_th=15p", ".max_p=0.1"].map(|rest| format!("{at}{rest}"));
    assert_snapshot!(lines(perhop_scenario::load(fifo.as_bytes(), "test.toml", &red)), @"no mistake");
    let found = lines(perhop_scenario::load(fifo.as_bytes(), "test.toml", &red[..2]));
    assert!(found.contains("queue.kind: `red` needs max_th, max_p (give the whole table"), "{found}");
}
