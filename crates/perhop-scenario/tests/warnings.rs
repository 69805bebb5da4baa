//! What is valid and warned of, and what is close to it and is not.

use crate::common::{BASE, DOMAIN, changed, domain, overridden, valid};
use insta::assert_snapshot;
use perhop_scenario::elements::NoElements;
use perhop_scenario::{Diagnostic, FileName, Files, Loaded, NamedFile, load, load_with, render};
use perhop_testkit::scenarios::shipped;
use std::path::Path;

const METER: &str = r#"{ kind = "tr-tcm", cir = "800kbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }"#;
const AF: &str = r#"match = ["AF11", "AF12", "AF13"]"#;
/// A queue that marks.
const RED: &str =
    r#"{ kind = "red", limit = "64kB", min_th = "5kB", max_th = "15kB", max_p = 0.1, ecn = true }"#;

fn lines(result: Result<Loaded, Vec<Diagnostic>>) -> String {
    let line = |d: &Diagnostic| {
        format!("{}:{} {d} ({})", d.line, d.column, d.hint.as_deref().expect("a warning has a hint"))
    };
    let found: Vec<String> = valid(result).warnings.iter().map(line).collect();
    if found.is_empty() { "no warning".to_owned() } else { found.join("\n") }
}

/// Only what it warns of.
fn paths(result: Result<Loaded, Vec<Diagnostic>>) -> String {
    valid(result).warnings.iter().map(|found| found.path.as_str()).collect::<Vec<_>>().join(" ")
}

fn one(old: &str, new: &str) -> String {
    lines(domain(&[(old, new)]))
}

#[test]
fn scenarios_that_make_sense_are_not_warned_of() {
    assert_snapshot!(lines(changed(&[])), @"no warning");
    assert_snapshot!(lines(domain(&[])), @"no warning");
}

/// The files beside a scenario.
struct Beside<'a>(&'a Path);

impl Files for Beside<'_> {
    fn read(&self, name: &FileName) -> Result<NamedFile, String> {
        let bytes = std::fs::read(self.0.join(name.as_str())).map_err(|error| error.to_string())?;
        Ok(NamedFile { bytes: bytes.into(), sha256: "0".repeat(64) })
    }
}

#[test]
fn nothing_that_comes_with_perhop_is_warned_of() {
    let all = shipped();
    assert!(all.len() >= 35, "{} files", all.len());
    for (name, text) in all {
        let folder = Path::new(&name).parent().expect("a file in a folder");
        let found = load_with(text.as_bytes(), &name, &[], &NoElements, &Beside(folder));
        // Elements from outside are not known here, nor are those in Python run.
        if !name.contains("own-elements") && !name.contains("starters/elements") {
            assert_eq!(lines(found), "no warning", "{name}");
        }
    }
}

#[test]
fn a_warning_looks_like_a_mistake_and_is_none() {
    let found = valid(domain(&[(AF, r#"match = ["AF11"]"#)])).warnings;
    assert_snapshot!(render(&found[0], false), @r#"
     ⚠ port.r2-r3.class.af.match: AF11 of flow `bulk[0]` waits here and AF12 (from conditioner `customer`) in class `be`: packets of one flow in one AF class must keep their order (RFC 2597 section 2)
       ╭─[test.toml:81:9]
    80 │ name = "af"
    81 │ match = ["AF11"]
       ·         ────────
    82 │ share = 0.5
       ╰────
     help: write `match = ["AF11", "AF12", "AF13"]` in class `af`
    "#);
}

#[test]
fn warnings_are_left_out_beside_mistakes() {
    let found = domain(&[(AF, r#"match = ["AF11"]"#), ("60s", "0s")]).expect_err("no duration");
    assert_eq!(found.iter().map(|d| d.path.as_str()).collect::<Vec<_>>(), ["run.duration"]);
}

#[test]
fn data_of_one_flow_in_one_af_class_waits_in_one_queue() {
    let split =
        "match = [\"AF12\"]\nshare = 0.1\n[[port.class]]\nname = \"out\"\nmatch = [\"AF11\", \"AF13\"]";
    assert_snapshot!(lines(domain(&[(AF, split), ("share = 0.5", "share = 0.4")])), @r#"81:9 port.r2-r3.class.af.match: AF12 of flow `bulk[0]` waits here and AF11 (from conditioner `customer`) in class `out`: packets of one flow in one AF class must keep their order (RFC 2597 section 2) (write `match = ["AF11", "AF12", "AF13"]` in class `af`)"#);
    // The meter has three colours, two of which the port sends to the class that takes the rest.
    assert_snapshot!(one(AF, r#"match = ["AF11"]"#), @r#"81:9 port.r2-r3.class.af.match: AF11 of flow `bulk[0]` waits here and AF12 (from conditioner `customer`) in class `be`: packets of one flow in one AF class must keep their order (RFC 2597 section 2) (write `match = ["AF11", "AF12", "AF13"]` in class `af`)"#);
    // What else the class takes stays.
    assert_snapshot!(one(AF, r#"match = ["pure-ack", "AF13", "CS1"]"#), @r#"81:9 port.r2-r3.class.af.match: AF13 of flow `bulk[0]` waits here and AF11 (from conditioner `customer`) in class `be`: packets of one flow in one AF class must keep their order (RFC 2597 section 2) (write `match = ["pure-ack", "CS1", "AF11", "AF12", "AF13"]` in class `af`)"#);
    // A mark that nothing gives has no packets to be overtaken.
    let marker = r#"yellow = "AF12", red = "AF13""#;
    let other = |new: &str| lines(domain(&[(AF, r#"match = ["AF11"]"#), (marker, new)]));
    assert_snapshot!(other(r#"yellow = "AF21", red = "drop""#), @"no warning");
    // Another class of AF may wait elsewhere.
    assert_snapshot!(other(r#"yellow = "AF21", red = "AF22""#), @"no warning");
}

#[test]
fn a_meter_without_a_burst_has_two_colours() {
    let bursts = |bursts: &str, marks: &str| {
        let meter = format!("{{ kind = \"sr-tcm\", cir = \"1Mbit/s\", {bursts} }}");
        lines(domain(&[(METER, &meter), (AF, &format!("match = [{marks}]"))]))
    };
    let yellow_apart = r#""AF11", "AF13""#;
    assert_snapshot!(bursts(r#"cbs = "15p", ebs = "0B""#, yellow_apart), @"no warning");
    assert_snapshot!(bursts(r#"cbs = "15p", ebs = "2p""#, yellow_apart), @r#"81:9 port.r2-r3.class.af.match: AF11 of flow `bulk[0]` waits here and AF12 (from conditioner `customer`) in class `be`: packets of one flow in one AF class must keep their order (RFC 2597 section 2) (write `match = ["AF11", "AF12", "AF13"]` in class `af`)"#);
    let green_apart = r#""AF12", "AF13""#;
    assert_snapshot!(bursts(r#"cbs = "0B", ebs = "15p""#, green_apart), @"no warning");
    assert_snapshot!(bursts(r#"cbs = "2p", ebs = "15p""#, green_apart), @r#"81:9 port.r2-r3.class.af.match: AF12 of flow `bulk[0]` waits here and AF11 (from conditioner `customer`) in class `be`: packets of one flow in one AF class must keep their order (RFC 2597 section 2) (write `match = ["AF11", "AF12", "AF13"]` in class `af`)"#);
}

#[test]
fn two_flows_in_one_af_class_may_wait_in_two_queues() {
    let marked = r#"
[[udp]]
name = "low"
mark = "AF23"
from = "s[1]"
to = "d[1]"
rate = "1kbit/s"
[[udp]]
name = "high"
mark = "AF21"
from = "s[1]"
to = "d[1]"
rate = "1kbit/s"
"#;
    let meter = r#"
[[conditioner]]
name = "high"
at = "e[0]"
from = "s[1]"
match = { flow = "high" }
meter = { kind = "tr-tcm", cir = "1kbit/s", pir = "2kbit/s", cbs = "2p", pbs = "2p" }
marker = { red = "AF23" }
"#;
    let text = |more: &str| {
        format!("{DOMAIN}{marked}{more}").replacen(AF, r#"match = ["AF11", "AF12", "AF13", "AF23"]"#, 1)
    };
    let with = |more| lines(load(text(more).as_bytes(), "test.toml", &[]));
    assert_snapshot!(with(""), @"no warning");
    assert_snapshot!(with(meter), @r#"81:9 port.r2-r3.class.af.match: AF23 of flow `high` waits here and AF21 (its own mark) in class `be`: packets of one flow in one AF class must keep their order (RFC 2597 section 2) (write `match = ["AF11", "AF12", "AF13", "AF21", "AF22", "AF23"]` in class `af`)"#);
}

//= test rfc2697-2-largest-packet
#[test]
fn both_bursts_of_one_rate_hold_the_longest_packet() {
    let meter = |bursts: &str| one(METER, &format!("{{ kind = \"sr-tcm\", cir = \"1Mbit/s\", {bursts} }}"));
    assert_snapshot!(meter(r#"cbs = "1499B", ebs = "1p""#), @r#"
    43:51 conditioner.customer.meter.cbs: cbs (1499B) is less than a packet of flow `bulk[0]` (1500B): no such packet is ever green (write at least `cbs = "1500B"`)
    43:66 conditioner.customer.meter.ebs: ebs (1p, 1kB) is less than a packet of flow `bulk[0]` (1500B): no such packet is ever yellow (write at least `ebs = "1500B"`)
    "#);
    assert_snapshot!(meter(r#"cbs = "1500B", ebs = "2p""#), @"no warning");
    // One of them may be nothing.
    assert_snapshot!(meter(r#"cbs = "0B", ebs = "1500B""#), @"no warning");
    assert_snapshot!(meter(r#"cbs = "1500B", ebs = "0B""#), @"no warning");
}

//= test rfc2698-2-largest-packet
#[test]
fn both_bursts_of_two_rates_hold_the_longest_packet() {
    let meter = |bursts: &str| {
        one(METER, &format!("{{ kind = \"tr-tcm\", cir = \"800kbit/s\", pir = \"1Mbit/s\", {bursts} }}"))
    };
    assert_snapshot!(meter(r#"cbs = "1kB", pbs = "1kB""#), @r#"
    43:70 conditioner.customer.meter.cbs: cbs (1kB) is less than a packet of flow `bulk[0]` (1500B): no such packet is ever green (write at least `cbs = "1500B"`)
    43:83 conditioner.customer.meter.pbs: pbs (1kB) is less than a packet of flow `bulk[0]` (1500B): every such packet is red (write at least `pbs = "1500B"`)
    "#);
    assert_snapshot!(meter(r#"cbs = "1500B", pbs = "1500B""#), @"no warning");
}

//= test rfc4115-2-largest-packet
#[test]
fn both_bursts_of_differentiated_service_hold_the_longest_packet() {
    let meter = |bursts: &str| {
        let rates = r#"kind = "tr-tcm-diffserv", cir = "800kbit/s", eir = "1Mbit/s""#;
        one(METER, &format!("{{ {rates}, {bursts} }}"))
    };
    assert_snapshot!(meter(r#"cbs = "1kB", ebs = "1kB""#), @r#"
    43:79 conditioner.customer.meter.cbs: cbs (1kB) is less than a packet of flow `bulk[0]` (1500B): no such packet is ever green (write at least `cbs = "1500B"`)
    43:92 conditioner.customer.meter.ebs: ebs (1kB) is less than a packet of flow `bulk[0]` (1500B): no such packet is ever yellow (write at least `ebs = "1500B"`)
    "#);
    assert_snapshot!(meter(r#"cbs = "1500B", ebs = "1500B""#), @"no warning");
}

#[test]
fn a_window_holds_the_longest_packet() {
    // 12,000 bits take 15 ms at 800 kbit/s.
    let meter = |window: &str| {
        let rates = r#"kind = "tsw3cm", cir = "800kbit/s", pir = "1Mbit/s""#;
        one(METER, &format!("{{ {rates}, window = \"{window}\" }}"))
    };
    assert_snapshot!(meter("14999us"), @r#"43:73 conditioner.customer.meter.window: window (14999us) at cir (800kbit/s) is less than a packet of flow `bulk[0]` (1500B): each alone exceeds cir (write at least `window = "15ms"`, or some round trips)"#);
    assert_snapshot!(meter("15ms"), @"no warning");
}

#[test]
fn bursts_are_held_against_the_packets_that_get_there() {
    // 200 bytes of UDP are what the class of the conditioner sends; TCP beside it is longer.
    assert_snapshot!(one(r#"cbs = "2p" }"#, r#"cbs = "200B" }"#), @"no warning");
    assert_snapshot!(one(r#"cbs = "2p" }"#, r#"cbs = "199B" }"#), @r#"50:59 conditioner.premium.meter.cbs: cbs (199B) is less than a packet of flow `cbr` (200B): no such packet is ever green (write at least `cbs = "200B"`)"#);
    assert_snapshot!(one(r#"burst = "2p" }"#, r#"burst = "100B" }"#), @r#"52:40 conditioner.premium.shaper.burst: burst (100B) is less than a packet of flow `cbr` (200B): no such packet passes (write at least `burst = "200B"`)"#);
    // Packets of another mark do not get there.
    assert_snapshot!(lines(domain(&[(r#"cbs = "2p" }"#, r#"cbs = "100B" }"#), (r#"mark = "EF" }"#, r#"mark = "CS7" }"#)])), @"no warning");
    // ACKs are not data.
    assert_snapshot!(one(r#"kind = "data" }"#, r#"kind = "pure-ack" }"#), @"no warning");
    // A transfer of less than a segment.
    let short = &["flow.bulk.tcp.size=960B", "conditioner.customer.meter.cbs=1p"];
    assert_snapshot!(lines(overridden(short)), @"no warning");
    assert_snapshot!(lines(overridden(&short[1..])), @r#"1:32 conditioner.customer.meter.cbs: cbs (1p, 1kB) is less than a packet of flow `bulk[0]` (1500B): no such packet is ever green (write at least `cbs = "1500B"`)"#);
}

#[test]
fn something_marks_data_of_flows_with_ecn() {
    let ecn = (r#"window = "64KiB""#, "ecn = true");
    assert_snapshot!(lines(changed(&[ecn])), @"48:15 flow.up.tcp.ecn: nothing on the way of flow `up` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio`, `gred`, `codel`, `cobalt` or `pie` queue that its data waits in, or set its `tcp.ecn = false`)");
    let fifo = r#"{ kind = "fifo", limit = "64kB" }"#;
    assert_snapshot!(lines(changed(&[ecn, (fifo, RED)])), @"no warning");
    assert_snapshot!(lines(changed(&[ecn, (fifo, &RED.replace("true", "false"))])), @"48:15 flow.up.tcp.ecn: nothing on the way of flow `up` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio`, `gred`, `codel`, `cobalt` or `pie` queue that its data waits in, or set its `tcp.ecn = false`)");
    // Both flows of one profile have it in vain.
    let profile = "[[profile]]\nname = \"marked\"\necn = true\n";
    let text = BASE.replace("tcp = { window = \"64KiB\" }", "tcp = { profile = \"marked\" }")
        + "tcp.profile = \"marked\"\n";
    assert_snapshot!(lines(load(format!("{text}{profile}").as_bytes(), "test.toml", &[])), @"
    56:7 profile.marked.ecn: nothing on the way of flow `up` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio`, `gred`, `codel`, `cobalt` or `pie` queue that its data waits in, or set its `tcp.ecn = false`)
    56:7 profile.marked.ecn: nothing on the way of flow `bulk` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio`, `gred`, `codel`, `cobalt` or `pie` queue that its data waits in, or set its `tcp.ecn = false`)
    ");
}

#[test]
fn a_queue_off_the_way_of_a_flow_marks_none_of_its_data() {
    let both = BASE.replace("window = \"64KiB\"", "ecn = true") + "tcp.ecn = true\n";
    let at = |at: &str, to: &str| {
        let class = format!("[[port.class]]\nname = \"all\"\nqueue = {RED}");
        let text = format!("{both}[[port]]\nat = \"{at}\"\nto = \"{to}\"\n{class}\n");
        paths(load(text.as_bytes(), "test.toml", &[]))
    };
    assert_snapshot!(at("r", "d[*]"), @"flow.up.tcp.ecn");
    // Of several flows that are written as one, one suffices.
    assert_snapshot!(at("s[1]", "r"), @"flow.up.tcp.ecn");
    // ACKs are not marked, and nothing else is there.
    assert_snapshot!(at("fast", "slow"), @"flow.up.tcp.ecn flow.bulk.tcp.ecn port.fast-slow.at");
}

#[test]
fn a_queue_marks_what_its_class_takes() {
    let web = ("\n[[udp]]", "\ntcp.ecn = true\n[[udp]]");
    let bulk = ("[[flow]]\nname = \"web\"", "tcp.ecn = true\n[[flow]]\nname = \"web\"");
    let best_effort = (r#"limit = "100p", "#, r#"limit = "100p", ecn = true, "#);
    let assured = (r#"limit = "90kB""#, "limit = \"90kB\"\necn = true");
    assert_snapshot!(paths(domain(&[web, best_effort])), @"");
    assert_snapshot!(paths(domain(&[web, assured])), @"flow.web.tcp.ecn");
    assert_snapshot!(paths(domain(&[bulk, assured])), @"");
    // Its marks are those behind the conditioner.
    assert_snapshot!(paths(domain(&[bulk, best_effort])), @"flow.bulk.tcp.ecn");
    assert_snapshot!(paths(domain(&[bulk, best_effort, (r#"red = "AF13""#, r#"red = "BE""#)])), @"");
}

#[test]
fn a_link_marks_data_of_the_flows_that_it_lists() {
    let both = BASE.replace("window = \"64KiB\"", "ecn = true") + "tcp.ecn = true\n";
    let list = |old: &str, flow: &str| {
        assert!(both.contains(old), "`{old}` is not in the scenario");
        let text =
            both.replacen(old, &format!("{old}\nmark = {{ flow = \"{flow}\", packets = [[3, 1]] }}"), 1);
        paths(load(text.as_bytes(), "test.toml", &[]))
    };
    assert_snapshot!(list(r#"pure_ack_size = "28B""#, "up"), @"flow.bulk.tcp.ecn");
    assert_snapshot!(list(r#"delay = "5ms""#, "bulk[1]"), @"flow.up.tcp.ecn");
}

#[test]
fn something_is_measured_and_starts_before_the_end() {
    let run = |more: &str| lines(changed(&[("duration = \"60s\"", &format!("duration = \"60s\"\n{more}"))]));
    assert_snapshot!(run("interval = \"60s\"\nwarmup = \"59.4s\""), @"no warning");
    assert_snapshot!(run("interval = \"60001ms\""), @"4:12 run.interval: no sample is ever taken: the run ends at 60s (write a shorter interval)");
    assert_snapshot!(run("warmup = \"59.5s\""), @"4:10 run.warmup: the warm-up leaves less than 1 % of 60s to be measured (write a shorter warm-up or a longer duration)");
    let start =
        |start: &str| lines(changed(&[("name = \"up\"", &format!("name = \"up\"\nstart = \"{start}\""))]));
    assert_snapshot!(start("59s"), @"no warning");
    assert_snapshot!(start("60s"), @"46:9 flow.up.start: flow `up` never starts: the run ends at 60s (let it start before the end)");
    let udp = ("name = \"cbr\"", "name = \"cbr\"\nstart = \"2m\"".replace("2m", "120s"));
    assert_snapshot!(paths(domain(&[(udp.0, &udp.1)])), @"udp.cbr.start");
}

#[test]
fn thresholds_are_reached_and_do_not_cross() {
    let red = |limit: &str| one(r#"limit = "100p""#, &format!(r#"limit = "{limit}""#));
    assert_snapshot!(red("45p"), @"no warning");
    assert_snapshot!(red("44p"), @"93:65 port.r2-r3.class.be.queue.max_th: max_th (45p) is never reached: the queue holds 44p (write a larger `limit` or a smaller `max_th`)");
    // What is counted otherwise is not compared.
    assert_snapshot!(red("2kB"), @"no warning");
    assert_snapshot!(one(r#"max_p = 0.1, limit = "30kB""#, r#"max_p = 0.1, limit = "20kB""#), @"88:35 port.r2-r3.class.af.queue.red.max_th: max_th (22kB) is never reached: the queue holds 20kB (write a larger `limit` or a smaller `max_th`)");
    let yellow = |min: &str, max: &str| {
        let old = r#"yellow = { min_th = "22kB", max_th = "45kB""#;
        one(old, &format!(r#"yellow = {{ min_th = "{min}", max_th = "{max}""#))
    };
    // One threshold alone says something else.
    assert_snapshot!(yellow("9kB", "45kB"), @"no warning");
    assert_snapshot!(yellow("9kB", "20kB"), @"87:21 port.r2-r3.class.af.queue.yellow.min_th: yellow is dropped earlier than red: its thresholds (9kB to 20kB) are below those of red (10kB to 22kB) (exchange the thresholds of yellow and red)");
    let rio = (r#"green = { min_th = "55p", max_th = "65p""#, r#"green = { min_th = "5p", max_th = "15p""#);
    assert_snapshot!(paths(domain(&[rio])), @"port.r3-r2.class.af.queue.green.min_th");
}

#[test]
fn a_port_that_drops_early_is_where_data_is() {
    let class = format!("[[port.class]]\nname = \"all\"\nqueue = {RED}\n").replace(", ecn = true", "");
    let port = |at: &str, to: &str, more: &str| {
        let text = format!("{BASE}\n{more}[[port]]\nat = \"{at}\"\nto = \"{to}\"\n{class}");
        lines(load(text.as_bytes(), "test.toml", &[]))
    };
    assert_snapshot!(port("r", "d[*]", ""), @"no warning");
    assert_snapshot!(port("d[*]", "r", ""), @"55:6 port.d-r.at: the queues of this port see ACKs only (data goes the other way: write `at = \"r\"` and `to = \"d[*]\"`)");
    // Marks of ACKs are there to be told apart.
    assert_snapshot!(port("d[*]", "r", "ack.marking = { kind = \"copy\" }\n"), @"no warning");
    let unused = "[[node]]\nname = \"x\"\n[[link]]\nends = [\"x\", \"r\"]\nrate = \"1Mbit/s\"\n";
    assert_snapshot!(port("x", "r", unused), @"60:6 port.x-r.at: the queues of this port see no packet (no flow sends data this way)");
}

#[test]
fn meters_commit_what_links_carry() {
    let cir = |cir: &str, per: &str| {
        let meter = METER.replace("800kbit/s", cir).replace("pir = \"1Mbit/s\"", "pir = \"9Mbit/s\"");
        lines(domain(&[(METER, &format!("{meter}\nper = \"{per}\""))]))
    };
    // At two edges one each, before a core link of 3 Mbit/s, beside 300 kbit/s of the other meter for another flow.
    assert_snapshot!(cir("1350kbit/s", "aggregate"), @"no warning");
    assert_snapshot!(cir("1351kbit/s", "aggregate"), @"43:34 conditioner.customer.meter.cir: the meters commit 3002kbit/s on `r2->r3`, which has 3Mbit/s (traffic in profile there may exceed the capacity of the link: commit less)");
    // Four flows of `bulk`.
    assert_snapshot!(cir("675kbit/s", "flow"), @"no warning");
    assert_snapshot!(cir("676kbit/s", "flow"), @"43:34 conditioner.customer.meter.cir: the meters commit 3004kbit/s on `r2->r3`, which has 3Mbit/s (traffic in profile there may exceed the capacity of the link: commit less)");
    // Each between two hosts of its own; eight flows between the same hosts have as many meters.
    let more = "[[flow]]\nname = \"more\"\nclass = \"assured\"\nfrom = \"s[*]\"\nto = \"d[*]\"\n[[udp]]";
    let twice = |cir: &str, per: &str| {
        let meter = METER.replace("800kbit/s", cir).replace("pir = \"1Mbit/s\"", "pir = \"9Mbit/s\"");
        lines(domain(&[(METER, &format!("{meter}\nper = \"{per}\"")), ("[[udp]]", more)]))
    };
    assert_snapshot!(twice("675kbit/s", "addresses"), @"no warning");
    assert_snapshot!(twice("676kbit/s", "addresses"), @"43:34 conditioner.customer.meter.cir: the meters commit 3004kbit/s on `r2->r3`, which has 3Mbit/s (traffic in profile there may exceed the capacity of the link: commit less)");
    assert_snapshot!(twice("675kbit/s", "flow"), @"43:34 conditioner.customer.meter.cir: the meters commit 5700kbit/s on `r2->r3`, which has 3Mbit/s (traffic in profile there may exceed the capacity of the link: commit less)");
}

#[test]
fn a_host_holds_the_window_of_its_own_connection() {
    let up = |window: &str, more: &str| {
        let window = format!("window = \"{window}\"");
        lines(changed(&[("window = \"64KiB\"", &window), ("backpressure = 1\n", more)]))
    };
    // 64 kB of packets of 1500 bytes, one in transmission and one at each end.
    assert_snapshot!(up("66kB", ""), @"no warning");
    assert_snapshot!(up("68kB", ""), @"47:18 flow.up.tcp.window: the window (67160B) is more than the path and this host's own queue (64kB) hold: the host drops its own packets (a real host waits instead: write `backpressure` in a [[port]] of `slow->fast`, a smaller `tcp.window` or a larger `limit`)");
    assert_snapshot!(up("6MB", "backpressure = 1\n"), @"no warning");
    assert_snapshot!(paths(changed(&[("rate = \"15Mbit/s\"\ndelay", "rate = \"1Mbit/s\"\ndelay")])), @"flow.bulk.tcp.window");
}

#[test]
fn packets_leave_their_host_in_the_run_and_before_a_time_out() {
    let jitter = |time: &str| lines(overridden(&[&format!("run.processing_jitter={time}")]));
    assert_snapshot!(jitter("999ms"), @"no warning");
    assert_snapshot!(jitter("1s"), @"1:23 run.processing_jitter: a packet may wait up to 1s in its host, and a TCP's time-out may be 1s (RFC 6298 section 2) (one packet time of the bottleneck keeps equal flows from falling into step)");
    assert_snapshot!(jitter("59s"), @"1:23 run.processing_jitter: a packet may wait up to 59s in its host, and a TCP's time-out may be 1s (RFC 6298 section 2) (one packet time of the bottleneck keeps equal flows from falling into step)");
    assert_snapshot!(jitter("60s"), @"1:23 run.processing_jitter: a packet may wait up to 60s in its host, and the run ends at 60s (one packet time of the bottleneck keeps equal flows from falling into step)");
}

#[test]
fn settings_of_acks_that_wait_need_some_that_do() {
    let overrides = |all: &[&str]| lines(overridden(all));
    let policy = "flow.bulk.ack.policy=every-segment";
    // What the profile has is not asked for.
    assert_snapshot!(overrides(&[policy]), @"no warning");
    assert_snapshot!(overrides(&[policy, "flow.bulk.tcp.ack_delay=40ms", "flow.bulk.tcp.quick_acks=16"]), @r#"
    1:25 flow.bulk.tcp.ack_delay: this is for delayed ACKs, and the flow's `ack.policy` has every segment acknowledged at once (write `ack.policy = "delayed"`, or leave `ack_delay` out)
    1:26 flow.bulk.tcp.quick_acks: this is for delayed ACKs, and the flow's `ack.policy` has every segment acknowledged at once (write `ack.policy = "delayed"`, or leave `quick_acks` out)
    "#);
    assert_snapshot!(overrides(&["flow.bulk.tcp.ack_delay=0s", "flow.bulk.tcp.ack_delay_adapts=true"]), @r#"1:32 flow.bulk.tcp.ack_delay_adapts: this is for delayed ACKs, and an `ack_delay` of zero has every segment acknowledged at once (write `ack.policy = "delayed"`, or leave `ack_delay_adapts` out)"#);
    assert_snapshot!(overrides(&["flow.bulk.tcp.ack_delay=0s", "flow.bulk.ack.policy=delayed", "flow.bulk.tcp.quick_acks=1"]), @"no warning");
    // What is off asks for nothing.
    let off = ["ack_delay=0s", "ack_delay_adapts=false", "quick_acks=0", "sack_compression=0s"];
    let off = off.map(|one| format!("flow.bulk.tcp.{one}"));
    assert_snapshot!(overrides(&[&[policy][..], &off.each_ref().map(String::as_str)].concat()), @"no warning");
    // A resolved scenario has them all and is warned of no more than what it was resolved from.
    let resolved = valid(overridden(&[policy])).resolved_toml();
    assert_snapshot!(lines(load(resolved.as_bytes(), "resolved.toml", &[])), @"no warning");
}

#[test]
fn psh_at_the_end_of_bursts_needs_bursts() {
    let push = "flow.bulk.tcp.burst_push=true";
    assert_snapshot!(lines(overridden(&[push])), @"1:26 flow.bulk.tcp.burst_push: no segment has PSH: this sender has no bursts, for it does not pace (write `pacing = true`, or leave this out)");
    assert_snapshot!(lines(overridden(&[push, "flow.bulk.tcp.pacing=true"])), @"no warning");
    assert_snapshot!(lines(overridden(&[push, "flow.bulk.tcp.profile=linux", "flow.bulk.tcp.cc=bbr"])), @"no warning");
    let kernel = ["run.clock=live", "flow.bulk.tcp.cc=kernel:bbr"];
    assert!(
        !lines(overridden(&[&kernel[..], &[push]].concat())).contains("burst_push"),
        "the kernel decides"
    );
    // it is part of the treatment where it changes something
    let treatment = |settings: &[&str]| valid(overridden(settings)).treatment_toml();
    let linux = "flow.bulk.tcp.profile=linux";
    assert!(!treatment(&[linux]).contains("burst_push"));
    assert_eq!(treatment(&[linux]), treatment(&[linux, "flow.bulk.tcp.burst_push=false"]));
    let [bbr, off] =
        [linux, "flow.bulk.tcp.burst_push=false"].map(|set| treatment(&[linux, "flow.bulk.tcp.cc=bbr", set]));
    assert_ne!(bbr, off);
}

#[test]
fn token_levels_that_no_series_has_are_told() {
    let tokens = "run.series=[\"tokens\"]";
    assert_snapshot!(paths(overridden(&[tokens])), @"");
    let settings = [tokens, "conditioner.customer.per=flow"];
    let warning = "conditioner.customer.meter: each flow has token buckets of its own";
    assert!(lines(overridden(&settings)).contains(warning));
    // who asks for averages alone does not miss them
    assert!(!lines(overridden(&["run.series=[\"averages\"]", settings[1]])).contains(warning));
}

/// What a port from the router to the destinations, of 15 Mbit/s, is warned of.
fn warnings_of_port(port: &str, class: &str) -> String {
    let text = format!(
        "{BASE}\n[[port]]\nat = \"r\"\nto = \"d[*]\"\n{port}\n[[port.class]]\nname = \"all\"\n{class}\n"
    );
    lines(load(text.as_bytes(), "test.toml", &[]))
}

#[test]
fn rates_in_place_of_the_links_are_not_above_it() {
    let cake =
        |rate: &str| warnings_of_port("", &format!("queue = {{ kind = \"cake\", rate = \"{rate}\" }}"));
    assert_snapshot!(cake("15Mbit/s"), @"no warning");
    assert_snapshot!(cake("16Mbit/s"), @"60:33 port.r-d.class.all.queue.rate: rate (16Mbit/s) is above that of the link `r->d[0]`, 15Mbit/s: nothing is shaped, and the tins share more than the link carries (write less, or leave `rate` out)");
    let docsis =
        |rate: &str| warnings_of_port("", &format!("queue = {{ kind = \"docsis-pie\", rate = \"{rate}\" }}"));
    assert_snapshot!(docsis("15Mbit/s"), @"no warning");
    assert_snapshot!(docsis("16Mbit/s"), @"60:39 port.r-d.class.all.queue.rate: rate (16Mbit/s) is above that of the link `r->d[0]`, 15Mbit/s: the delay estimate is too short (write less, or leave `rate` out)");
    let htb = |rate: &str, shaper: &str| {
        let port = format!("scheduler = {{ kind = \"htb\", rate = \"{rate}\" }}\n{shaper}");
        warnings_of_port(&port, "rate = \"1Mbit/s\"")
    };
    let shaper = "shaper = { rate = \"10Mbit/s\" }";
    assert_snapshot!(htb("15Mbit/s", ""), @"no warning");
    assert_snapshot!(htb("16Mbit/s", ""), @"57:36 port.r-d.scheduler.rate: rate (16Mbit/s) is above that of the link `r->d[0]`, 15Mbit/s: the guarantees of the classes may exceed the capacity (write less, or leave `rate` out)");
    assert_snapshot!(htb("10Mbit/s", shaper), @"no warning");
    assert_snapshot!(htb("15Mbit/s", shaper), @"57:36 port.r-d.scheduler.rate: rate (15Mbit/s) is above that of the port's `shaper`, 10Mbit/s: the guarantees of the classes may exceed the capacity (write less, or leave `rate` out)");
}

#[test]
fn a_queue_in_bytes_holds_a_packet() {
    let fifo =
        |limit: &str| warnings_of_port("", &format!("queue = {{ kind = \"fifo\", limit = \"{limit}\" }}"));
    assert_snapshot!(fifo("1p"), @"no warning");
    assert_snapshot!(fifo("1500B"), @"no warning");
    assert_snapshot!(fifo("1499B"), @r#"60:34 port.r-d.class.all.queue.limit: limit (1499B) is less than a packet of flow `bulk[0]` (1500B): no such packet passes (write at least `limit = "1500B"`)"#);
    // Nothing but ACKs goes there.
    let acks = r#"{ kind = "fifo", limit = "100B" }"#;
    let acks = ("match = [\"pure-ack\"]", &*format!("match = [\"pure-ack\"]\nqueue = {acks}"));
    assert_snapshot!(lines(changed(&[acks])), @"no warning");
}

#[test]
fn settings_of_pie_do_something() {
    let pie = |settings: &str| format!("{{ kind = \"pie\", limit = \"100p\", {settings} }}");
    let alone = |settings: &str| warnings_of_port("", &format!("queue = {}", pie(settings)));
    assert_snapshot!(alone(r#"active_from = "100p""#), @"no warning");
    assert_snapshot!(alone(r#"active_from = "101p""#), @"60:55 port.r-d.class.all.queue.active_from: active_from (101p) is never reached: the queue holds 100p (write a larger `limit` or a smaller `active_from`)");
    assert_snapshot!(alone("ecn = true, mark_ecnth = 0.2"), @"no warning");
    assert_snapshot!(alone("mark_ecnth = 0.2"), @"60:54 port.r-d.class.all.queue.mark_ecnth: this changes nothing: without `ecn` no packet is marked (write `ecn = true`, or leave `mark_ecnth` out)");
    let inside = format!("queue = {{ kind = \"fq\", queue = {} }}", pie("mark_ecnth = 0.2"));
    assert_snapshot!(warnings_of_port("", &inside), @"60:77 port.r-d.class.all.queue.queue.mark_ecnth: this changes nothing: without `ecn` no packet is marked (write `ecn = true`, or leave `mark_ecnth` out)");
}

#[test]
fn data_waits_in_the_queue_of_dualpi2_for_its_congestion_control() {
    let flow = |tcp: &str, queue: &str| {
        let text = format!(
            "{BASE}tcp = {{ {tcp} }}\n[[port]]\nat = \"r\"\nto = \"d[*]\"\n[[port.class]]\nname = \"all\"\nqueue = {{ {queue} }}\n"
        );
        lines(load(text.as_bytes(), "test.toml", &[]))
    };
    let (rfc, linux) = (r#"kind = "dualpi2""#, r#"kind = "dualpi2", conventions = { like = "linux" }"#);
    insta::allow_duplicates! { for queue in [rfc, linux] {
        assert_snapshot!(flow("ecn = false", queue), @"no warning");
        assert_snapshot!(flow("ecn = true", queue), @"no warning");
        assert_snapshot!(flow(r#"cc = "dctcp", ecn = "ect1""#, queue), @"no warning");
        assert_snapshot!(flow(r#"cc = "dctcp", ecn = true"#, queue), @r#"53:29 flow.bulk.tcp.ecn: ECT(0) takes this data into the classic queue of `dualpi2` on `r->d[0]`, whose marks are for flows that halve (write `ecn = "ect1"`)"#);
        assert_snapshot!(flow(r#"cc = "bbr", recovery = "sack", rack = true, ecn = true"#, queue), @r#"53:59 flow.bulk.tcp.ecn: `bbr` ignores marks: they do not slow it down (write `ecn = false`: queues then drop its packets, which reduces its window for a round trip)"#);
        assert_snapshot!(flow(r#"cc = "cubic", ecn = "ect1""#, queue), @r#"53:29 flow.bulk.tcp.ecn: ECT(1) takes this data into the L4S queue of `dualpi2` on `r->d[0]`, whose marks are for `dctcp` and `prague` (write `ecn = true`, or `cc = "prague"`)"#);
    } }
    assert_snapshot!(flow(r#"cc = "dctcp", ecn = true"#, r#"kind = "codel", ecn = true"#), @"no warning");
}
