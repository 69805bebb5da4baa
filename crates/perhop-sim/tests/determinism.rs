//! Same scenario and seed, same bytes: whatever the slices, the tracing, the threads, the build profile.

use crate::common::{ALL, DUMBBELL, run, simulation};
use perhop_core::sink::DropReason;
use perhop_core::time::Instant;
use perhop_sim::{PacketEvent, PacketRecord, Results, TraceKinds};

/// The digest of [`DUMBBELL`]. The Python tests hold the release build to the same value.
const GOLDEN: &str = include_str!("golden/dumbbell.digest");
/// The same whose hosts take time.
const GOLDEN_JITTER: &str = include_str!("golden/dumbbell-jitter.digest");

/// The scenario of `perhop init --pack diffserv`: conditioners, marks, UDP, short transfers, CBQ, GRED, RED.
pub const DIFFSERV: &str = include_str!("../../../python/perhop/starters/diffserv/diffserv.toml");
const GOLDEN_DIFFSERV: &str = include_str!("golden/diffserv.digest");

/// Makes of [`DIFFSERV`] what a test has time for, with every random source.
pub const SHORT: [&str; 5] = [
    "run.duration=15s",
    "run.warmup=5s",
    "udp.voice.pattern={ kind = \"on-off\", on = \"500ms\", off = \"200ms\" }",
    "udp.voice.rate=400kbit/s",
    "udp.voice.start_jitter=1s",
];

/// Scenarios, with overrides, and the digests of their runs.
const CASES: [(&str, &[&str], &str); 3] = [
    (DUMBBELL, &[], GOLDEN),
    (DUMBBELL, &["run.processing_jitter=6ms"], GOLDEN_JITTER),
    (DIFFSERV, &SHORT, GOLDEN_DIFFSERV),
];

fn first_difference(a: &[PacketRecord], b: &[PacketRecord]) -> Option<String> {
    let at = a.iter().zip(b).position(|(x, y)| x != y)?;
    Some(format!("event {at}: {:?} against {:?}", a[at], b[at]))
}

fn assert_same(a: &Results, b: &Results) {
    assert_eq!(first_difference(&a.trace.packets, &b.trace.packets), None);
    assert_eq!(a.event_digest, b.event_digest);
    assert_eq!(
        format!("{:?}", (&a.flows, &a.links, &a.queues)),
        format!("{:?}", (&b.flows, &b.links, &b.queues))
    );
    assert_eq!(
        format!("{:?}", (&a.udp, &a.marks, &a.conditioners, &a.classes)),
        format!("{:?}", (&b.udp, &b.marks, &b.conditioners, &b.classes))
    );
    assert_eq!(format!("{:?}", a.series), format!("{:?}", b.series));
}

#[test]
fn twice_the_same() {
    for (text, overrides, _) in CASES {
        assert_same(&run(text, overrides, ALL), &run(text, overrides, ALL));
    }
}

#[test]
fn tracing_changes_nothing() {
    for (text, overrides, _) in CASES {
        let quiet = run(text, overrides, TraceKinds::default());
        let mut traced = run(text, overrides, ALL);
        let trace = &traced.trace;
        assert!(!trace.packets.is_empty() && !trace.queue.is_empty());
        assert!(!trace.cwnd.is_empty() && !trace.tcp.is_empty());
        traced.trace.packets.clear();
        assert_same(&quiet, &traced);
    }
}

#[test]
fn slices_change_nothing() {
    for (text, overrides, _) in CASES {
        let whole = run(text, overrides, TraceKinds::default());
        let mut sliced = simulation(text, overrides, TraceKinds::default());
        for step in 0..40_000 {
            sliced.advance_to(Instant::from_nanos(step * 777_777));
        }
        assert_same(&whole, &sliced.finish());
    }
}

#[test]
fn threads_change_nothing() {
    for (text, overrides, _) in CASES {
        let alone = run(text, overrides, TraceKinds::default());
        let together = std::thread::scope(|scope| {
            let runs: Vec<_> =
                (0..4).map(|_| scope.spawn(|| run(text, overrides, TraceKinds::default()))).collect();
            runs.into_iter().map(|r| r.join().unwrap()).collect::<Vec<_>>()
        });
        for other in &together {
            assert_same(&alone, other);
        }
    }
}

#[test]
fn the_build_profile_and_the_version_change_nothing() {
    for (text, overrides, golden) in CASES {
        let digest = run(text, overrides, TraceKinds::default()).event_digest;
        assert_eq!(
            format!("{digest:016x}"),
            golden.trim(),
            "results changed: raise RESULTS_VERSION, say so in the changelog under 'Changed results', store the new digest"
        );
    }
}

/// A scenario that a version did not change keeps what was recorded before it.
#[test]
fn results_hold_since_the_version_that_changed_the_scenario() {
    let since = |overrides: &[&str]| {
        let overrides: Vec<_> = overrides.iter().map(ToString::to_string).collect();
        let loaded = perhop_scenario::load(DIFFSERV.as_bytes(), "diffserv.toml", &overrides).expect("sound");
        perhop_sim::results_since(&loaded.scenario)
    };
    assert_eq!(since(&[]), 7);
    assert_eq!(since(&["flow.bulk.tcp.ack_delay=40ms", "flow.bulk.tcp.ack_delay_adapts=true"]), 8);
    assert_eq!(since(&["flow.bulk.tcp.ack_delay=40ms"]), 7);
    let (linux, older) = ("flow.bulk.tcp.profile=linux", "flow.bulk.tcp.rack=false");
    assert_eq!(since(&[linux, older, "flow.bulk.tcp.idle_restart=initial-window"]), 9);
    assert_eq!(since(&[linux, older]), 10);
    assert_eq!(since(&[linux]), 12);
    assert_eq!(since(&["flow.bulk.tcp.cc=prague", "flow.bulk.tcp.ecn=ect1"]), 11);
}

#[test]
fn another_seed_or_replication_is_another_run() {
    for (text, overrides, _) in CASES {
        let base = run(text, overrides, TraceKinds::default()).event_digest;
        for other in ["run.seed=4", "run.replication=1"] {
            let changed = [overrides, &[other]].concat();
            assert_ne!(run(text, &changed, TraceKinds::default()).event_digest, base, "{other}");
        }
    }
}

#[test]
fn the_scenario_with_everything_has_everything() {
    let results = run(DIFFSERV, &SHORT, ALL);
    let dropped = |why: fn(&PacketEvent) -> bool| results.trace.packets.iter().any(|r| why(&r.event));
    assert!(dropped(|event| *event == PacketEvent::Dropped(DropReason::Policed)));
    assert!(dropped(|event| *event == PacketEvent::Dropped(DropReason::Early)));
    assert!(results.marks.len() > 6, "{:?}", results.marks);
    assert!(results.flows.len() > 20 && results.flows.iter().any(|flow| flow.stats.completed.is_some()));
    assert!(
        results.conditioners[1].stats.yellow.packets > 0 && results.conditioners[1].stats.red.packets > 0
    );
}
