//! Laws of every run, on scenarios made up at random: nothing vanishes, Little's law, and what must not matter.

use std::collections::{BTreeMap, VecDeque};

use super::Case;
use super::generate::{Form, scenario};
use crate::common::simulation;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::Instant;
use perhop_scenario::load;
use perhop_scenario::model::Queue;
use perhop_sim::{PacketEvent, Results, TraceKinds};
use perhop_testkit::scenarios::cases;

const AS_IS: Form = Form { scale: 1, prefix: "f", plain: false, scales: false };
/// Without what draws by name or counts packets of fixed length.
const PLAIN: Form = Form { plain: true, ..AS_IS };
/// Without options of a fixed length too.
const SCALES: Form = Form { scales: true, ..PLAIN };
/// Simulated time, short enough for a gigabit.
const SHORT: [&str; 2] = ["run.duration=300ms", "run.interval=100ms"];

fn run(text: &str, trace: TraceKinds) -> Results {
    let results = simulation(text, &SHORT, trace).finish();
    assert_eq!(results.invariants, Vec::<String>::new());
    results
}

fn for_each_case(form: Form, one_in: u64, law: impl Fn(u64, &str)) {
    for case in 0..cases(one_in) {
        let text = scenario(case, form);
        let _case = Case(case, &text);
        law(case, &text);
    }
}

/// What waits, summed over time, and how long each packet waited, summed: packets times ns, by queue.
fn waits(results: &Results, queues: &BTreeMap<String, Queue>) -> BTreeMap<SiteId, (u128, u128)> {
    let end = Instant::ZERO + perhop_core::time::Span::from_millis(300);
    let ns = |from: Instant, to: Instant| u128::from(to.as_nanos() - from.as_nanos());
    let mut sums: BTreeMap<SiteId, (u128, u128)> = BTreeMap::new();
    let mut last: BTreeMap<SiteId, (Instant, u64)> = BTreeMap::new();
    for record in &results.trace.queue {
        let before = last.insert(record.site, (record.time, record.backlog.packets));
        let (since, packets) = before.unwrap_or((record.time, 0));
        sums.entry(record.site).or_default().0 += u128::from(packets) * ns(since, record.time);
    }
    for (site, (since, packets)) in last {
        sums.entry(site).or_default().0 += u128::from(packets) * ns(since, end);
    }
    let path = |site: SiteId| &results.sites[site];
    let mut waiting: BTreeMap<SiteId, VecDeque<Instant>> = BTreeMap::new();
    for record in &results.trace.packets {
        match record.event {
            PacketEvent::Enqueued => waiting.entry(record.site).or_default().push_back(record.time),
            PacketEvent::Dropped(why)
                if !queues.get(path(record.site)).is_some_and(|queue| had_waited(queue, why)) => {}
            PacketEvent::Sent | PacketEvent::Dropped(_) => {
                let since = waiting.get_mut(&record.site).and_then(VecDeque::pop_front);
                let since = since.expect("what leaves has waited");
                sums.entry(record.site).or_default().1 += ns(since, record.time);
            }
            _ => {}
        }
    }
    for (site, left) in waiting {
        sums.entry(site).or_default().1 += left.iter().map(|since| ns(*since, end)).sum::<u128>();
    }
    sums
}

/// The queues of a scenario by the paths of their classes.
fn queues_of(text: &str) -> BTreeMap<String, Queue> {
    let scenario = load(text.as_bytes(), "test.toml", &[]).expect("a scenario that has run").scenario;
    let ports = scenario.links.iter().map(|link| &link.port);
    let classes = ports.flat_map(|port| port.classes.iter().map(|class| (&port.path, class)));
    classes.map(|(path, class)| (format!("{path}.class.{}", class.name), class.queue.clone())).collect()
}

/// Whether a packet that `queue` drops had waited in it; others are dropped when they come.
fn had_waited(queue: &Queue, why: DropReason) -> bool {
    match (queue, why) {
        (_, DropReason::Sojourn | DropReason::AckFilter) | (Queue::Cake { .. }, _) => true,
        // from the longest of its queues
        (Queue::Fq { .. }, DropReason::Overflow) => true,
        _ => false,
    }
}

#[test]
fn nothing_vanishes_and_little_was_right() {
    let trace = TraceKinds { packets: true, queue: true, ..TraceKinds::default() };
    for_each_case(AS_IS, 20, |_, text| {
        let results = run(text, trace);
        for (link, name) in results.links.iter().zip(&results.link_names) {
            let busy = link.utilization_data + link.utilization_acks;
            assert!((0.0..=1.0 + 1e-9).contains(&busy), "{name}: {busy}");
        }
        for queue in &results.queues {
            let stats = queue.stats;
            let out = stats.sent.packets + stats.dropped.packets + queue.backlog.packets;
            assert_eq!(stats.offered.packets, out, "{}", queue.path);
            assert_eq!(queue.drops.by_color.iter().sum::<u64>(), stats.dropped.packets, "{}", queue.path);
        }
        for (site, (backlog, waited)) in waits(&results, &queues_of(text)) {
            assert_eq!(backlog, waited, "{}", &results.sites[site]);
        }
    });
}

#[test]
fn twice_the_rates_sizes_and_windows_is_twice_the_goodput() {
    for_each_case(SCALES, 20, |case, text| {
        let once = run(text, TraceKinds::default());
        let twice = run(&scenario(case, Form { scale: 2, ..SCALES }), TraceKinds::default());
        assert_eq!(once.counts.events, twice.counts.events);
        for (a, b) in once.flows.iter().zip(&twice.flows) {
            assert_eq!(2 * a.delivered.0, b.delivered.0);
        }
        for (a, b) in once.udp.iter().zip(&twice.udp) {
            assert_eq!(2 * a.arrived.bytes.0, b.arrived.bytes.0);
        }
    });
}

#[test]
fn names_of_flows_do_not_matter() {
    for_each_case(PLAIN, 20, |case, text| {
        let one = run(text, TraceKinds::default());
        let other = run(&scenario(case, Form { prefix: "another", ..PLAIN }), TraceKinds::default());
        assert_eq!(one.event_digest, other.event_digest);
    });
}

#[test]
fn a_class_split_in_two_that_the_scheduler_serves_in_turn_sends_as_much() {
    // Two flows alike, in one class of weight 2 or in two classes of weight 1, beside a third.
    let text = |classes: &str| {
        format!(
            "[run]\nduration = \"300ms\"\n[[node]]\nname = \"s\"\ncount = 3\n[[node]]\nname = \"r\"\nkind = \"router\"\n\
             [[node]]\nname = \"d\"\n[[link]]\nends = [\"s[*]\", \"r\"]\nrate = \"10Mbit/s\"\n[[link]]\nends = [\"r\", \"d\"]\n\
             rate = \"10Mbit/s\"\n[[port]]\nat = \"r\"\nto = \"d\"\n{classes}\n[[port.class]]\nname = \"rest\"\nRESTQ\n\
             [[udp]]\nname = \"a\"\nfrom = \"s[0]\"\nto = \"d\"\nmark = \"AF11\"\nrate = \"8Mbit/s\"\n\
             [[udp]]\nname = \"b\"\nfrom = \"s[1]\"\nto = \"d\"\nmark = \"AF21\"\nrate = \"8Mbit/s\"\n\
             [[udp]]\nname = \"c\"\nfrom = \"s[2]\"\nto = \"d\"\nrate = \"8Mbit/s\"\n"
        )
    };
    let schedulers = [
        ("wrr", "weight = 2", "weight = 1", "weight = 2"),
        ("drr", "quantum = \"6kB\"", "quantum = \"3kB\"", "quantum = \"6kB\""),
        ("cbq", "share = 0.5", "share = 0.25", "share = 0.5"),
    ];
    for (kind, whole, half, rest) in schedulers {
        let scheduler = format!("scheduler = {{ kind = \"{kind}\" }}\n");
        let class = |name: &str, marks: &str, part: &str| {
            format!("[[port.class]]\nname = \"{name}\"\nmatch = [{marks}]\n{part}\n")
        };
        let one = scheduler.clone() + &class("af", "\"AF11\", \"AF21\"", whole);
        let two = scheduler + &class("x", "\"AF11\"", half) + &class("y", "\"AF21\"", half);
        let sent = |classes: &str| {
            let results = run(&text(classes).replace("RESTQ", rest), TraceKinds::default());
            results.udp.iter().map(|flow| flow.arrived.packets).collect::<Vec<_>>()
        };
        let (one, two) = (sent(&one), sent(&two));
        let both = |sent: &[u64]| sent[0] + sent[1];
        assert!(both(&one).abs_diff(both(&two)) <= 2, "{kind}: {one:?} {two:?}");
        assert!(one[2].abs_diff(two[2]) <= 2, "{kind}: {one:?} {two:?}");
    }
}
