//! What may be wrong with applications, and what is said of it.

use crate::common::{domain, lines, valid};
use insta::assert_snapshot;

/// The flow `bulk` with an application of this `kind` and these settings.
fn does(kind: &str, settings: &str) -> String {
    with(&format!("application = {{ kind = \"{kind}\"{settings} }}"))
}

/// The flow `bulk` with further lines.
fn with(more: &str) -> String {
    lines(domain(&[("name = \"bulk\"", &format!("name = \"bulk\"\n{more}"))]))
}

const SIZE: &str = r#", size = { kind = "fixed", size = "9kB" }"#;

#[test]
fn requests() {
    assert_snapshot!(does("requests", SIZE), @"no mistake");
    assert_snapshot!(does("requests", r#", size = "9kB""#), @r#"109:43 flow.bulk.application.size: must be a table, not a string (write a table, as in `{ kind = "fixed" }`)"#);
    assert_snapshot!(does("requests", ""), @"109:15 flow.bulk.application.size: `size` is missing (add `size = ...`: how much data each reply has.)");
    assert_snapshot!(does("requests", r#", size = { kind = "fixed", size = "0B" }"#), @"109:68 flow.bulk.application.size.size: a reply has at least one byte");
    assert_snapshot!(does("requests", &format!(r#"{SIZE}, think = "1s""#)), @r#"109:85 flow.bulk.application.think: must be a table, not a string (write a table, as in `{ kind = "fixed" }`)"#);
    assert_snapshot!(does("requests", &format!(r#"{SIZE}, think = {{ kind = "exponential", mean = "0s" }}"#)), @r#"109:116 flow.bulk.application.think.mean: a mean time must be above zero (write `kind = "fixed"` for a time that is always the same)"#);
    assert_snapshot!(does("requests", &format!("{SIZE}, objects = 3")), @"109:77 flow.bulk.application.objects: there is no setting `objects` here (known here: kind, size, think)");
    assert_snapshot!(does("reqests", SIZE), @r#"109:24 flow.bulk.application.kind: `reqests` is not one of "requests", "pages", "video", "call" (did you mean `requests`?)"#);
}

#[test]
fn pages() {
    assert_snapshot!(does("pages", ""), @"no mistake");
    assert_snapshot!(does("pages", r#", connections = 0"#), @"109:47 flow.bulk.application.connections: 0 is below 1, the least allowed");
    assert_snapshot!(does("pages", r#", objects = 30"#), @r#"109:43 flow.bulk.application.objects: must be a table, not an integer (write a table, as in `{ kind = "fixed" }`)"#);
    assert_snapshot!(does("pages", r#", objects = { kind = "exponential", mean = 0 }"#), @"109:74 flow.bulk.application.objects.mean: 0 is outside the range: above 0 and at most 100000");
    assert_snapshot!(does("pages", r#", object = { kind = "lognormal", median = "0B", sigma = 1 }"#), @"109:73 flow.bulk.application.object.median: an object has at least one byte");
    assert_snapshot!(does("pages", r#", main = { kind = "weibull", shape = 0, scale = "1kB" }"#), @"109:68 flow.bulk.application.main.shape: 0 is outside the range: above 0 and at most 100");
    assert_snapshot!(with("count = 4\nports = [65530, 80]\napplication = { kind = \"pages\", connections = 2 }"), @"111:47 flow.bulk.application.connections: 8 flows of a pair need as many ports, and from 65530 on there are 6 (begin lower, as in `ports = [1024, 5001]`, or write a second table)");
}

#[test]
fn videos() {
    assert_snapshot!(does("video", r#", ladder = ["1Mbit/s", "2Mbit/s"]"#), @"no mistake");
    assert_snapshot!(does("video", ""), @"109:15 flow.bulk.application.ladder: `ladder` is missing (add `ladder = ...`: the rates, the lowest first.)");
    assert_snapshot!(does("video", ", ladder = []"), @"109:42 flow.bulk.application.ladder: needs at least 1 entry");
    assert_snapshot!(does("video", r#", ladder = ["2Mbit/s", "2Mbit/s", "1Mbit/s"]"#), @"
    109:54 flow.bulk.application.ladder[1]: 2Mbit/s does not rise above 2Mbit/s (write the lowest rate first)
    109:65 flow.bulk.application.ladder[2]: 1Mbit/s does not rise above 2Mbit/s (write the lowest rate first)
    ");
    assert_snapshot!(does("video", r#", ladder = ["2Mbit/s"], chunk = "0s""#), @"109:63 flow.bulk.application.chunk: a chunk has a length above zero");
    assert_snapshot!(does("video", r#", ladder = ["2Mbit/s"], chunk = "4s", buffer = "3s""#), @"
    109:63 flow.bulk.application.chunk: chunk (4s) must fit into buffer (3s)
    109:78 flow.bulk.application.buffer: cushion (126s, the default) with a reservoir of 90s must fit into buffer (3s)
    ");
    assert_snapshot!(does("video", r#", ladder = ["2Mbit/s"], buffer = "60s""#), @"109:64 flow.bulk.application.buffer: cushion (126s, the default) with a reservoir of 90s must fit into buffer (60s)");
}

#[test]
fn an_application_says_how_much_there_is() {
    let application = format!("application = {{ kind = \"requests\"{SIZE} }}");
    assert_snapshot!(with(&format!("{application}\ntcp = {{ size = \"9kB\" }}")), @"110:16 flow.bulk.tcp.size: the application says how much data there is (leave `size` out, or `application`)");
    assert_snapshot!(with(&format!("{application}\narrivals = {{ mean_interval = \"1s\"{SIZE} }}")), @"109:15 flow.bulk.application: `arrivals` says already what this flow sends (leave one of them out, or write two flows)");
    assert_snapshot!(with(&application.replace("application", "aplication")), @"109:1 flow.bulk.aplication: there is no setting `aplication` here (did you mean `application`?)");
}

/// The UDP flow `cbr` with further lines.
fn udp(more: &str) -> String {
    lines(domain(&[("name = \"cbr\"", &format!("name = \"cbr\"\n{more}"))]))
}

#[test]
fn calls() {
    const CALL: &str = "application = { kind = \"call\" }";
    assert_snapshot!(udp(CALL), @"no mistake");
    assert_snapshot!(udp(&CALL.replace('}', ", bpl = 0 }")), @"119:39 udp.cbr.application.bpl: 0 is outside the range: above 0 and at most 100");
    assert_snapshot!(udp(&CALL.replace('}', ", ie = 99 }")), @"119:38 udp.cbr.application.ie: 99 is outside the range: at least 0 and at most 95");
    assert_snapshot!(udp(&CALL.replace('}', ", jitter_buffer = 40 }")), @r#"119:49 udp.cbr.application.jitter_buffer: a time needs a unit; a bare number has none (write the unit: "40s" or "40ms")"#);
    assert_snapshot!(udp(&format!("{CALL}\npattern = {{ kind = \"poisson\" }}")), @"120:11 udp.cbr.pattern: a call sends at a constant rate (leave `pattern` out, or `application`)");
    assert_snapshot!(udp(&format!("application = {{ kind = \"requests\"{SIZE} }}")), @"119:24 udp.cbr.application.kind: `requests` is of TCP, and this is UDP (write it in a [[flow]]; a [[udp]] has `call`)");
    assert_snapshot!(with(CALL), @"109:24 flow.bulk.application.kind: a `call` is of UDP, and this is TCP (write it in a [[udp]]; `requests`, `pages` and `video` are of a [[flow]])");
    let alone = [
        ("rate = \"240kbit/s\"\npacket_size = \"200B\"\n", ""),
        ("name = \"cbr\"", &*format!("name = \"cbr\"\n{CALL}")),
    ];
    assert_snapshot!(lines(domain(&alone)), @"no mistake");
}

#[test]
fn a_call_is_a_flow_each_way_at_the_rate_of_g711() {
    let call = "name = \"cbr\"\ncount = 2\nports = [1000, 2000]\napplication = { kind = \"call\" }";
    let alone = [("rate = \"240kbit/s\"\npacket_size = \"200B\"\n", ""), ("name = \"cbr\"", call)];
    let scenario = valid(domain(&alone)).scenario;
    let ways: Vec<_> = scenario.udp.iter().map(|flow| (flow.name.as_str(), flow.call)).collect();
    assert_eq!(ways, [("cbr[0]", Some(0)), ("cbr[1]", Some(0)), ("cbr[2]", Some(1)), ("cbr[3]", Some(1))]);
    let [there, back] = [&scenario.udp[2], &scenario.udp[3]];
    assert_eq!(
        ((there.from, there.to), (there.to, there.from)),
        ((back.to, back.from), (back.from, back.to))
    );
    assert_eq!((there.rate.bits_per_sec(), there.packet_size.0), (80_000, 200));
    let names: Vec<_> = scenario.calls.iter().map(|call| (call.name.as_str(), call.first)).collect();
    assert_eq!(names, [("cbr[0]", 0), ("cbr[1]", 2)]);
    assert_eq!((scenario.calls[1].other(2), scenario.calls[1].other(3)), (3, 2));
    let key = |udp: usize| {
        let id = perhop_core::packet::FlowId(u32::try_from(scenario.flows.len() + udp).expect("few"));
        let key = scenario.flow_table.get(id).expect("it is known").key;
        (key.src_port, key.dst_port)
    };
    assert_eq!([key(0), key(1), key(2), key(3)], [(1000, 2000), (2000, 1000), (1001, 2000), (2000, 1001)]);
}
