//! Same scenario and seed, same bytes: whatever the slices, the tracing, the threads, the build profile.

mod common;

use common::{ALL, DUMBBELL, run, simulation};
use perhop_core::time::Instant;
use perhop_sim::{PacketRecord, Results, TraceKinds};

/// The digest of [`DUMBBELL`]. The Python tests hold the release build to the same value.
const GOLDEN: &str = include_str!("golden/dumbbell.digest");

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
    assert_eq!(format!("{:?}", a.series), format!("{:?}", b.series));
}

#[test]
fn twice_the_same() {
    assert_same(&run(DUMBBELL, &[], ALL), &run(DUMBBELL, &[], ALL));
}

#[test]
fn tracing_changes_nothing() {
    let quiet = run(DUMBBELL, &[], TraceKinds::default());
    let mut traced = run(DUMBBELL, &[], ALL);
    assert!(
        !traced.trace.packets.is_empty() && !traced.trace.queue.is_empty() && !traced.trace.cwnd.is_empty()
    );
    traced.trace.packets.clear();
    assert_same(&quiet, &traced);
}

#[test]
fn slices_change_nothing() {
    let whole = run(DUMBBELL, &[], TraceKinds::default());
    let mut sliced = simulation(DUMBBELL, &[], TraceKinds::default());
    for step in 0..40_000 {
        sliced.advance_to(Instant::from_nanos(step * 777_777));
    }
    assert_same(&whole, &sliced.finish());
}

#[test]
fn threads_change_nothing() {
    let alone = run(DUMBBELL, &[], TraceKinds::default());
    let together = std::thread::scope(|scope| {
        let runs: Vec<_> =
            (0..4).map(|_| scope.spawn(|| run(DUMBBELL, &[], TraceKinds::default()))).collect();
        runs.into_iter().map(|r| r.join().unwrap()).collect::<Vec<_>>()
    });
    for other in &together {
        assert_same(&alone, other);
    }
}

#[test]
fn the_build_profile_and_the_version_change_nothing() {
    let digest = run(DUMBBELL, &[], TraceKinds::default()).event_digest;
    assert_eq!(
        format!("{digest:016x}"),
        GOLDEN.trim(),
        "results changed: raise RESULTS_VERSION, say so in the changelog under 'Changed results', store the new digest"
    );
}

#[test]
fn another_seed_or_replication_is_another_run() {
    let base = run(DUMBBELL, &[], TraceKinds::default()).event_digest;
    for other in ["run.seed=4", "run.replication=1"] {
        assert_ne!(run(DUMBBELL, &[other], TraceKinds::default()).event_digest, base, "{other}");
    }
}
