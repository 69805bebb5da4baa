//! What is valid and warned of, and what is close to it and is not.

use crate::common::{BASE, DOMAIN, changed, domain, overridden, valid};
use insta::assert_snapshot;
use perhop_scenario::{Diagnostic, Loaded, load, render};

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
    assert_snapshot!(lines(changed(&[ecn])), @"48:15 flow.up.tcp.ecn: nothing on the way of flow `up` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue that its data waits in, or set its `tcp.ecn = false`)");
    let fifo = r#"{ kind = "fifo", limit = "64kB" }"#;
    assert_snapshot!(lines(changed(&[ecn, (fifo, RED)])), @"no warning");
    assert_snapshot!(lines(changed(&[ecn, (fifo, &RED.replace("true", "false"))])), @"48:15 flow.up.tcp.ecn: nothing on the way of flow `up` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue that its data waits in, or set its `tcp.ecn = false`)");
    // Both flows of one profile have it in vain.
    let profile = "[[profile]]\nname = \"marked\"\necn = true\n";
    let text = BASE.replace("tcp = { window = \"64KiB\" }", "tcp = { profile = \"marked\" }")
        + "tcp.profile = \"marked\"\n";
    assert_snapshot!(lines(load(format!("{text}{profile}").as_bytes(), "test.toml", &[])), @"
    56:7 profile.marked.ecn: nothing on the way of flow `up` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue that its data waits in, or set its `tcp.ecn = false`)
    56:7 profile.marked.ecn: nothing on the way of flow `bulk` marks its data: it has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue that its data waits in, or set its `tcp.ecn = false`)
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
    // ACKs are not marked.
    assert_snapshot!(at("fast", "slow"), @"flow.up.tcp.ecn flow.bulk.tcp.ecn");
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
