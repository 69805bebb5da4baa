//! A scenario file names the elements of this crate and runs with them; mistakes in their settings have a place.

use own_elements::elements;
use perhop_scenario::{NoFiles, load, load_with};
use perhop_sim::{Registry, Results, Simulation, TraceKinds};

const FILE: &str = include_str!("../scenario.toml");

fn run(changes: &[&str]) -> Results {
    let (elements, changes) = (elements(), changes.iter().map(ToString::to_string).collect::<Vec<_>>());
    let loaded =
        load_with(FILE.as_bytes(), "scenario.toml", &changes, &elements, &NoFiles).expect("no mistake");
    let built = Simulation::with_elements(&loaded.scenario, TraceKinds::default(), &elements);
    built.expect("what was loaded is built").finish()
}

fn mistakes(change: (&str, &str)) -> Vec<String> {
    assert!(FILE.contains(change.0));
    let text = FILE.replacen(change.0, change.1, 1);
    let found =
        load_with(text.as_bytes(), "scenario.toml", &[], &elements(), &NoFiles).expect_err("a mistake");
    found.iter().map(|d| format!("{d} ({})", d.hint.as_deref().unwrap_or("no hint"))).collect()
}

#[test]
fn the_elements_are_in_use() {
    let results = run(&[]);
    assert_eq!(results.invariants, Vec::<String>::new());
    let colors = results.conditioners[0].stats;
    assert!(colors.green.packets > 0 && colors.yellow.packets > 0, "{colors:?}");
    let dropped: u64 = results.queues.iter().map(|queue| queue.stats.dropped.packets).sum();
    assert!(dropped > 0, "the queue never filled");
    assert!(results.flows.iter().all(|flow| flow.goodput_bit_s > 3e6), "the links are busy");
}

#[test]
fn a_seed_gives_the_same_and_another_does_not() {
    let digests = ["1", "1", "2"].map(|seed| run(&[&format!("run.seed={seed}")]).conditioners[0].stats);
    assert_eq!(digests[0], digests[1]);
    assert_ne!(digests[0], digests[2]);
}

#[test]
fn a_setting_can_be_overridden() {
    let longer = |limit| {
        let results = run(&[&format!("port.edge-sink.class.all.queue.limit={limit}")]);
        results.queues.iter().map(|queue| queue.stats.max_packets).max()
    };
    assert_eq!((longer("5p"), longer("12p")), (Some(5), Some(12)));
    let wide = "conditioner.customer.meter.settings.ptr=50Mbit/s";
    assert_eq!(run(&[wide]).conditioners[0].stats.red.packets, 0);
}

#[test]
fn mistakes_are_found_at_their_place() {
    let meter = "conditioner.customer.meter";
    for (old, new, message) in [
        ("window", "widow", format!("{meter}.settings.window: window is missing (no hint)")),
        (
            "ptr = \"8M",
            "ptr = \"1M",
            format!("{meter}.settings.ptr: ptr must not be below ctr (2000000bit/s) (no hint)"),
        ),
        (
            "tsw-tcm",
            "tsw-tmc",
            format!("{meter}.name: there is no meter `tsw-tmc` here (did you mean `tsw-tcm`?)"),
        ),
        (
            "\"20p\"",
            "\"20p\", settings = { depth = 3 }",
            "port.edge-sink.class.all.queue.settings.depth: this element has no setting `depth` (no hint)"
                .to_owned(),
        ),
        (
            "match = { kind = \"data\" }",
            "per = \"flow\"",
            format!(
                "{meter}.name: `tsw-tcm` draws random numbers, and each of several meters would draw the same \
                 (leave `per` out: one meter for all of them)"
            ),
        ),
    ] {
        assert_eq!(mistakes((old, new)), [message]);
    }
}

#[test]
fn perhop_alone_says_what_it_does_not_know() {
    let found = load(FILE.as_bytes(), "scenario.toml", &[]).expect_err("perhop does not know them");
    let paths: Vec<&str> = found.iter().map(|d| d.path.as_str()).collect();
    assert_eq!(paths, ["conditioner.customer.meter.name", "port.edge-sink.class.all.queue.name"]);
    assert!(
        found.iter().all(|d| d.hint.as_deref().is_some_and(|hint| hint.contains("program that brings it")))
    );
}

#[test]
fn a_run_with_another_registry_is_an_error_with_a_path() {
    let loaded = load_with(FILE.as_bytes(), "scenario.toml", &[], &elements(), &NoFiles).expect("no mistake");
    let built = Simulation::with_elements(&loaded.scenario, TraceKinds::default(), &Registry::new());
    let error = built.err().expect("there is no such queue").to_string();
    assert!(
        error.starts_with("port.edge-sink[0].class.all.queue.name: there is no queue `drop-front`"),
        "{error}"
    );
}

/// What `docs/own-elements.md` promises.
#[test]
fn an_element_has_at_most_100_lines() {
    for text in [include_str!("../src/meter.rs"), include_str!("../src/queue.rs")] {
        assert!(text.lines().count() <= 100);
    }
}
