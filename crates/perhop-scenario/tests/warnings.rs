//! What is valid and warned of, and what is close to it and is not.

use crate::common::{BASE, DOMAIN, changed, domain, overridden, valid};
use insta::assert_snapshot;
use perhop_scenario::{Diagnostic, Loaded, load, render};

const METER: &str = r#"{ kind = "tr-tcm", cir = "800kbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }"#;
const AF: &str = r#"match = ["AF11", "AF12", "AF13"]"#;

fn lines(result: Result<Loaded, Vec<Diagnostic>>) -> String {
    let line = |d: &Diagnostic| {
        format!("{}:{} {d} ({})", d.line, d.column, d.hint.as_deref().expect("a warning has a hint"))
    };
    let found: Vec<String> = valid(result).warnings.iter().map(line).collect();
    if found.is_empty() { "no warning".to_owned() } else { found.join("\n") }
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
     ⚠ port.r2-r3.class.be.match: AF12 waits here and AF11 in class `af`: packets of one AF class must keep their order (RFC 2597 section 2)
       ╭─[test.toml:89:1]
    88 │ red = { min_th = "10kB", max_th = "22kB", max_p = 0.1, limit = "30kB" }
    89 │ [[port.class]]
       · ──────────────
    90 │ name = "be"
       ╰────
     help: match ["AF11", "AF12", "AF13"] in one class; a `rio` or `gred` queue tells their drop precedence
    "#);
}

#[test]
fn warnings_are_left_out_beside_mistakes() {
    let found = domain(&[(AF, r#"match = ["AF11"]"#), ("60s", "0s")]).expect_err("no duration");
    assert_eq!(found.iter().map(|d| d.path.as_str()).collect::<Vec<_>>(), ["run.duration"]);
}

#[test]
fn data_of_one_af_class_waits_in_one_queue() {
    let split =
        "match = [\"AF12\"]\nshare = 0.1\n[[port.class]]\nname = \"out\"\nmatch = [\"AF11\", \"AF13\"]";
    assert_snapshot!(lines(domain(&[(AF, split), ("share = 0.5", "share = 0.4")])), @r#"81:9 port.r2-r3.class.af.match: AF12 waits here and AF11 in class `out`: packets of one AF class must keep their order (RFC 2597 section 2) (match ["AF11", "AF12", "AF13"] in one class; a `rio` or `gred` queue tells their drop precedence)"#);
    // The meter has three colours, two of which the port sends to the class that takes the rest.
    assert_snapshot!(one(AF, r#"match = ["AF11"]"#), @r#"89:1 port.r2-r3.class.be.match: AF12 waits here and AF11 in class `af`: packets of one AF class must keep their order (RFC 2597 section 2) (match ["AF11", "AF12", "AF13"] in one class; a `rio` or `gred` queue tells their drop precedence)"#);
    // A mark that nothing gives has no packets to be overtaken.
    assert_snapshot!(lines(domain(&[(AF, r#"match = ["AF11"]"#), (r#"yellow = "AF12", red = "AF13""#, r#"yellow = "AF21", red = "drop""#)])), @"no warning");
    // Another class of AF may wait elsewhere.
    assert_snapshot!(lines(domain(&[(AF, r#"match = ["AF11"]"#), (r#"yellow = "AF12", red = "AF13""#, r#"yellow = "AF21", red = "AF22""#)])), @"no warning");
    // Marks that hosts give.
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
from = "s[2]"
to = "d[2]"
rate = "1kbit/s"
"#;
    let text = |class| format!("{DOMAIN}{marked}").replacen(AF, class, 1);
    let with = |class| lines(load(text(class).as_bytes(), "test.toml", &[]));
    assert_snapshot!(with(r#"match = ["AF11", "AF12", "AF13", "AF21"]"#), @r#"89:1 port.r2-r3.class.be.match: AF23 waits here and AF21 in class `af`: packets of one AF class must keep their order (RFC 2597 section 2) (match ["AF21", "AF23"] in one class; a `rio` or `gred` queue tells their drop precedence)"#);
    assert_snapshot!(with(AF), @"no warning");
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
fn somebody_marks_packets_of_flows_with_ecn() {
    let ecn = (r#"window = "64KiB""#, "ecn = true");
    assert_snapshot!(lines(changed(&[ecn])), @"48:15 flow.up.tcp.ecn: nothing in this network marks packets: the flow has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue, or leave it out here)");
    let red = r#"{ kind = "red", limit = "64kB", min_th = "5kB", max_th = "15kB", max_p = 0.1, ecn = true }"#;
    assert_snapshot!(lines(changed(&[ecn, (r#"{ kind = "fifo", limit = "64kB" }"#, red)])), @"no warning");
    let red = red.replace("true", "false");
    assert_snapshot!(lines(changed(&[ecn, (r#"{ kind = "fifo", limit = "64kB" }"#, &red)])), @"48:15 flow.up.tcp.ecn: nothing in this network marks packets: the flow has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue, or leave it out here)");
    let list = "pure_ack_size = \"28B\"\nmark = { flow = \"up\", packets = [[3, 1]] }";
    assert_snapshot!(lines(changed(&[ecn, (r#"pure_ack_size = "28B""#, list)])), @"no warning");
    // Two flows with one profile are one place.
    let profile = "[[profile]]\nname = \"marked\"\necn = true\n";
    let text = BASE.replace("tcp = { window = \"64KiB\" }", "tcp = { profile = \"marked\" }")
        + "tcp.profile = \"marked\"\n";
    assert_snapshot!(lines(load(format!("{text}{profile}").as_bytes(), "test.toml", &[])), @"56:7 profile.marked.ecn: nothing in this network marks packets: the flow has ECN in vain (write `ecn = true` in a `red`, `rio` or `gred` queue, or leave it out here)");
}
