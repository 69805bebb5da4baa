//! Applications: loads on idle paths by hand, and what they leave alone.

use perhop_scenario::load;
use perhop_sim::tables::{OPTIONAL, Of, Run, Table};
use perhop_sim::{Load, Results, TraceKinds};

use crate::common::{path, run};

/// A packet of 1000 bytes takes 1 ms on either link, an ACK 40 us; a round trip of one segment takes 42.08 ms.
const LINK: [&str; 2] = ["8Mbit/s", "10ms"];

/// Replies over a path that nothing else uses; 2 segments at first, an ACK for each, a time-out of a second at least.
fn requests(size: &str, think: &str, tcp: &str) -> String {
    let flow = format!(
        r#"[[flow]]
name = "web"
from = "a"
to = "b"
application = {{ kind = "requests", size = {size}, think = {think} }}
[flow.tcp]
profile = "rfc"
mss = "960B"
header = "40B"
window = "1MB"
initial_window = 2
{tcp}
"#
    );
    path(["20s", "0s"], LINK, LINK, &flow)
}

fn fixed(think: &str) -> String {
    format!(r#"{{ kind = "fixed", time = "{think}" }}"#)
}

/// 15 segments.
const FIFTEEN: &str = r#"{ kind = "fixed", size = "14400B" }"#;

/// How long the loads took, us.
fn took(results: &Results) -> Vec<u64> {
    let spans = results.applications[0].loads.iter().filter_map(Load::took);
    spans.map(|took| took.as_nanos() / 1_000).collect()
}

/// From the SYN to the answer to it.
const HANDSHAKE: u64 = 40_160;
/// From a segment to its ACK.
const ROUND: u64 = 42_080;

#[test]
fn the_first_load_takes_a_handshake_and_the_rounds_of_slow_start() {
    // 2 + 4 + 8 segments, and the last leaves with the first ACK of the third round
    let took = took(&run(&requests(FIFTEEN, &fixed("500ms"), ""), &[], TraceKinds::default()));
    assert_eq!(took[0], HANDSHAKE + 4 * ROUND);
    // cwnd stands still from where the data is the limit, at 9: so many leave at once, and the first three ACKs bring six
    // more, which leave one after the other
    assert_eq!(took[1], ROUND + 6_000 + ROUND - 1_000);
    // at last there is a window for all: one packet after the other, and the ACK of the last
    assert!(took.len() > 30 && took[3..].iter().all(|took| *took == 14_000 + ROUND), "{took:?}");
}

#[test]
fn a_pause_beyond_the_time_out_begins_with_slow_start_again() {
    let restarts = requests(FIFTEEN, &fixed("3s"), "");
    let took_by = |overrides: &[&str]| took(&run(&restarts, overrides, TraceKinds::default()));
    let after = took_by(&["flow.web.tcp.idle_restart=initial-window"]);
    assert!(after.len() > 4 && after[1..].iter().all(|took| *took == 4 * ROUND), "{after:?}");
    let without = took_by(&["flow.web.tcp.idle_restart=off"]);
    assert!(without[3..].iter().all(|took| *took == 14_000 + ROUND), "{without:?}");
}

#[test]
fn the_last_segment_of_a_reply_waits_for_no_delayed_ack() {
    let text = requests(r#"{ kind = "fixed", size = "960B" }"#, &fixed("500ms"), "");
    for policy in ["every-segment", "delayed"] {
        let policy = format!("flow.web.ack.policy={policy}");
        let took = took(&run(&text, &[&policy], TraceKinds::default()));
        assert!(took[1..].iter().all(|took| *took == ROUND), "{took:?}");
    }
}

#[test]
fn the_next_request_comes_after_the_time_to_think() {
    let text = requests(FIFTEEN, &fixed("500ms"), "");
    let results = run(&text, &["run.warmup=5s"], TraceKinds::default());
    let loads = &results.applications[0].loads;
    assert!(loads[0].requested.as_secs_f64() >= 5.0, "of the measured time alone");
    for pair in loads.windows(2) {
        assert_eq!((pair[1].requested - pair[0].done.expect("whole")).as_nanos(), 500_000_000);
    }
    let drawn = requests(FIFTEEN, r#"{ kind = "exponential", mean = "50ms" }"#, "");
    let results = run(&drawn, &["run.duration=600s"], TraceKinds::default());
    let loads = &results.applications[0].loads;
    let pauses =
        loads.windows(2).map(|pair| (pair[1].requested - pair[0].done.expect("whole")).as_secs_f64());
    let (sum, count) = pauses.fold((0.0, 0.0), |(sum, count), pause| (sum + pause, count + 1.0));
    // of some 5600 pauses the mean is within three standard errors, 4 %
    assert!(count > 5000.0 && (sum / count / 0.05 - 1.0_f64).abs() < 0.04, "{} of {count}", sum / count);
}

/// A number of a table.
fn value(table: &Table, run: &Run<'_>, row: usize, name: &str) -> f64 {
    let column = table.columns.iter().find(|column| column.name == name).expect("a column");
    match column.of {
        Of::Real(value) => value(run, row),
        #[expect(clippy::cast_precision_loss, reason = "a few")]
        Of::Count(value) => value(run, row) as f64,
        _ => panic!("{name} is no number"),
    }
}

/// Pages over the same path: objects of one segment each.
fn pages(objects: u32, connections: u32) -> String {
    let one = r#"{ kind = "fixed", size = "960B" }"#;
    let kind = format!(
        r#"{{ kind = "pages", main = {one}, object = {one}, objects = {{ kind = "fixed", count = {objects} }}, connections = {connections}, think = {{ kind = "fixed", time = "1s" }} }}"#
    );
    let text = requests("SIZE", "THINK", "");
    text.replace(r#"{ kind = "requests", size = SIZE, think = THINK }"#, &kind)
}

#[test]
fn a_page_takes_a_round_trip_for_its_main_object_and_one_for_each_turn_of_the_others() {
    // six objects leave at once, one behind the other; of the next six the first waits for no packet
    for (objects, rest) in [(0, 0), (1, ROUND), (6, ROUND + 5_000), (7, 2 * ROUND), (12, 2 * ROUND + 5_000)] {
        let results = run(&pages(objects, 6), &[], TraceKinds::default());
        let took = took(&results);
        assert_eq!(took[0], HANDSHAKE + ROUND + rest, "{objects} objects");
        assert!(took[1..].iter().all(|took| *took == ROUND + rest), "{objects} objects: {took:?}");
        let load = results.applications[0].loads[0];
        assert_eq!((load.objects, load.bytes.0), (objects + 1, 960 * u64::from(objects + 1)));
    }
    let alone = took(&run(&pages(3, 1), &[], TraceKinds::default()));
    assert_eq!(alone[1], 4 * ROUND, "one connection fetches one object after the other");
}

#[test]
fn the_connections_of_a_page_open_together_and_each_pair_has_its_own() {
    let text = pages(6, 6).replace("from = \"a\"", "from = \"a\"\ncount = 2\nstart_jitter = \"1s\"");
    let results = run(&text, &[], TraceKinds::default());
    let starts: Vec<_> = results.flows.iter().map(|flow| flow.start).collect();
    assert_eq!(starts.len(), 12);
    assert!(starts[..6].iter().all(|start| *start == starts[0]));
    assert!(starts[6..].iter().all(|start| *start == starts[6]) && starts[0] != starts[6]);
    let loaded = load(text.as_bytes(), "test.toml", &[]).expect("valid");
    let names: Vec<_> = loaded.scenario.applications.iter().map(|app| app.name.as_str()).collect();
    assert_eq!((names, loaded.scenario.flows[7].name.as_str()), (vec!["web[0]", "web[1]"], "web[7]"));
}

/// A flow with an application is no transfer, and not one without an end; flows beside it draw what they drew.
#[test]
fn what_is_no_application_stays_as_it_is() {
    let text = |rest: &str| {
        let bulk = "[[flow]]\nname = \"x\"\nfrom = \"b\"\nto = \"a\"\nstart_jitter = \"1s\"\ntcp = { size = \"9kB\" }\n";
        path(["20s", "0s"], LINK, LINK, &format!("{bulk}{rest}"))
    };
    let flow = requests(FIFTEEN, &fixed("3s"), "");
    let (_, flow) = flow.split_once("[[flow]]").expect("a flow");
    let (with, without) = (text(&format!("[[flow]]{flow}")), text(""));
    let run = |text: &str| run(text, &[], TraceKinds::default());
    let (with, without) = (run(&with), run(&without));
    assert!(without.applications.is_empty());
    assert_eq!(with.flows[0].start, without.flows[0].start);
    assert!(with.flows[0].stats.completed.is_some() && with.flows[1].stats.completed.is_none());
    let class = &with.classes[0];
    assert_eq!((class.flows, class.transfers, class.fairness), (2, 1, None));
}

#[test]
fn the_tables_of_applications_have_a_row_for_each_and_its_loads() {
    let text = requests(FIFTEEN, &fixed("3s"), "");
    let loaded = load(text.as_bytes(), "test.toml", &[]).expect("valid");
    let results = run(&text, &[], TraceKinds::default());
    let tables = Run::new(&loaded.scenario, &results);
    let [applications, loads, _, calls] = OPTIONAL;
    let value = |name: &str| value(applications, &tables, 0, name);
    assert_eq!((calls.rows)(&tables), 0);
    assert_eq!(((applications.rows)(&tables), (loads.rows)(&tables)), (1, 7));
    let [requested, done, unfinished] = ["loads", "loads_done", "loads_unfinished"].map(value);
    assert!(
        [requested - 7.0, done - 7.0, unfinished].iter().all(|rest| rest.abs() < 0.5),
        "{requested}, {done}"
    );
    // 4 rounds but for the first, which has the handshake too
    let [p50, p95, max] = ["load_p50_s", "load_p95_s", "load_max_s"].map(value);
    assert!(
        [p50 - 0.168_32, p95 - 0.208_48, max - 0.208_48].iter().all(|off| off.abs() < 1e-9),
        "{p50}, {max}"
    );
    assert!((value("loaded_bytes") - 7.0 * 14_400.0).abs() < 0.5);
}

/// A call of G.711 over the path.
const CALL: &str = "[[udp]]\nname = \"voice\"\nfrom = \"a\"\nto = \"b\"\napplication = { kind = \"call\" }\n";

/// The numbers in both rows of the table of calls.
fn call_rows<const N: usize>(text: &str, overrides: &[&str], names: [&str; N]) -> [[f64; N]; 2] {
    let overrides_owned: Vec<String> = overrides.iter().map(ToString::to_string).collect();
    let loaded = load(text.as_bytes(), "test.toml", &overrides_owned).expect("valid");
    let results = run(text, overrides, TraceKinds::default());
    let tables = Run::new(&loaded.scenario, &results);
    let [_, _, _, calls] = OPTIONAL;
    assert_eq!((calls.rows)(&tables), 2);
    [0, 1].map(|row| names.map(|name| value(calls, &tables, row, name)))
}

const COLUMNS: [&str; 5] = ["mos", "mouth_to_ear_s", "due_packets", "lost_packets", "late_packets"];

#[test]
fn a_call_over_an_idle_path_is_as_good_as_its_delay() {
    let text = path(["100s", "10s"], LINK, LINK, CALL);
    for [mos, delay, due, lost, late] in call_rows(&text, &[], COLUMNS) {
        // a packet is filled in 20 ms, takes 0.2 and 10 ms on each link, and waits 40 ms
        assert!((delay - 0.080_4).abs() < 1e-9, "{delay}");
        // those of the last 60.4 ms would be played when the run is over
        assert!((due - (4500.0 - 3.0)).abs() < 0.5 && lost + late < 0.5, "{due} {lost} {late}");
        assert!((4.36..4.37).contains(&mos), "{mos}");
    }
    let far = call_rows(&text, &["link.a-r.delay=200ms"], COLUMNS);
    assert!(far.iter().all(|[mos, ..]| (3.87..3.89).contains(mos)), "{far:?}");
}

#[test]
fn losses_and_late_packets_make_a_call_worse() {
    let text = path(["1000s", "0s"], LINK, LINK, CALL);
    let lossy = r#"link.a-r.loss={ "a->r" = 0.02, "r->a" = 0 }"#;
    let [there, back] = call_rows(&text, &[lossy], ["mos", "lost_ratio", "late_packets"]);
    // of 50,000 packets 2 % within five standard errors; R is less by 95 * 2 / 6.3 = 30
    assert!((there[1] - 0.02).abs() < 0.003 && (3.0..3.3).contains(&there[0]), "{there:?}");
    assert!(back[1] < 1e-9 && (4.36..4.37).contains(&back[0]), "{back:?}");
    let [there, _] =
        call_rows(&text, &[lossy, "udp.voice.application.bpl=25.1"], ["mos", "lost_ratio", "rating"]);
    assert!((4.1..4.25).contains(&there[0]), "concealed: {there:?}");
    // beside a flow that fills a queue of 50 ms from now on, what waits comes too late for a buffer of 20 ms
    let bulk = "[[flow]]\nname = \"x\"\nfrom = \"a\"\nto = \"b\"\nstart = \"100ms\"\ntcp = { cc = \"reno\" }\n\
                [[port]]\nat = \"r\"\nto = \"b\"\nclass = [{ name = \"all\", queue = { kind = \"fifo\", limit = \"33p\" } }]\n";
    let slow = path(["100s", "0s"], ["80Mbit/s", "10ms"], LINK, &format!("{CALL}{bulk}"));
    let short = call_rows(&slow, &["udp.voice.application.jitter_buffer=20ms"], ["late_packets", "mos"]);
    let long = call_rows(&slow, &["udp.voice.application.jitter_buffer=100ms"], ["late_packets", "mos"]);
    assert!(short[0][0] > 2000.0 && long[0][0] < 0.5, "{short:?} {long:?}");
    assert!(short[0][1] < 1.5 && long[0][1] > short[0][1] + 1.0, "{short:?} {long:?}");
    assert!(short[1][0] < 0.5, "the way back has the queue for itself: {short:?}");
}

/// Video over the path, as long as a film, with a short buffer; rates in kbit/s.
fn video(ladder: &[u64], link: &str, overrides: &[&str]) -> ([f64; 5], Results) {
    let ladder: Vec<String> = ladder.iter().map(|rate| format!("\"{rate}kbit/s\"")).collect();
    let flow = format!(
        "[[flow]]\nname = \"film\"\nfrom = \"a\"\nto = \"b\"\n[flow.application]\nkind = \"video\"\nladder = [{}]\n\
         buffer = \"60s\"\nreservoir = \"16s\"\ncushion = \"38s\"\n",
        ladder.join(", ")
    );
    let text = path(["800s", "200s"], ["100Mbit/s", "10ms"], [link, "10ms"], &flow);
    let loaded = load(text.as_bytes(), "test.toml", &[]).expect("valid");
    let results = run(&text, overrides, TraceKinds::default());
    let tables = Run::new(&loaded.scenario, &results);
    let [_, _, videos, _] = OPTIONAL;
    assert_eq!((videos.rows)(&tables), 1);
    let names = ["startup_s", "rebuffering_s", "rebuffers", "rate_mean_bit_s", "switches"];
    let row = names.map(|name| value(videos, &tables, 0, name));
    (row, results)
}

/// What the paper says of a rule by the buffer alone: it stands still only where the lowest rate is above what the link gives, and
/// else its mean rate is what the link gives, or the highest.
#[test]
fn video_has_the_rate_of_its_link_and_stands_still_only_below_the_lowest() {
    let ladder = [500, 1000, 2000, 4000, 8000];
    // of a link 1460 of 1500 bytes are data
    let data = |link: f64| link * 1460.0 / 1500.0;
    let ([startup, stood, stalls, rate, switches], _) = video(&ladder, "3Mbit/s", &[]);
    assert!(stood + stalls < 0.5 && switches > 10.0, "{stood} {switches}");
    assert!((rate / data(3e6) - 1.0).abs() < 0.05, "{rate}");
    // the first chunk has the lowest rate: 250 kB at 3 Mbit/s, and what a handshake and slow start take
    assert!((0.7..1.2).contains(&startup), "{startup}");
    let ([_, stood, _, rate, switches], _) = video(&ladder, "20Mbit/s", &[]);
    assert!(stood < 0.5 && (rate - 8e6).abs() < 1.0 && switches < 0.5, "{rate} {switches}");
    // below the lowest rate it plays as much of the time as data come
    let ([_, stood, stalls, rate, _], results) = video(&ladder, "400kbit/s", &[]);
    assert!((rate - 5e5).abs() < 1.0 && stalls > 50.0, "{rate} {stalls}");
    assert!((1.0 - stood / 600.0 - data(4e5) / 5e5).abs() < 0.03, "{stood}");
    let chunk = results.applications[0].loads[0];
    assert_eq!(chunk.bytes.0, 250_000);
}
