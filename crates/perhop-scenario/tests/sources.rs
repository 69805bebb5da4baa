//! What may be wrong with flows, transfers, UDP and delays, and what is said of it.

use crate::common::{domain, lines, one, overridden};
use insta::assert_snapshot;

const SIZE: &str = r#"{ kind = "pareto", shape = 1.2, min = "4kB", max = "400kB" }"#;
const RATE: &str = r#"rate = "240kbit/s""#;
const DELAYS: &str = r#"delay = ["5ms", "25ms", "95ms"]"#;

fn size(new: &str) -> String {
    one(SIZE, new)
}

/// A setting of the UDP flow.
fn udp(new: &str) -> String {
    one(RATE, &format!("{RATE}\n{new}"))
}

/// A setting of the flow with transfers.
fn web(new: &str) -> String {
    one("name = \"web\"", &format!("name = \"web\"\n{new}"))
}

#[test]
fn transfers_begin_at_distances() {
    assert_snapshot!(one(r#"mean_interval = "20s""#, r#"mean_interval = "0s""#), @"116:30 flow.web.arrivals.mean_interval: there is no end to transfers that begin at no distance (write a time above zero)");
    assert_snapshot!(one(r#"mean_interval = "20s""#, "mean_interval = 20"), @r#"116:30 flow.web.arrivals.mean_interval: a time needs a unit; a bare number has none (write the unit: "20s" or "20ms")"#);
    assert_snapshot!(one(r#"mean_interval = "20s""#, r#"mean_interval = "10us""#), @"116:30 flow.web.arrivals.mean_interval: this makes more than 1000000 flows until the run ends, at 60s (take a longer `mean_interval` or a shorter run)");
    assert_snapshot!(one(r#"mean_interval = "20s""#, r#"mean_interval = "1ns""#), @"116:30 flow.web.arrivals.mean_interval: this makes more than 1000000 flows until the run ends, at 60s (take a longer `mean_interval` or a shorter run)");
    assert_snapshot!(one(r#"mean_interval = "20s", "#, ""), @r#"116:12 flow.web.arrivals: nothing says how often transfers begin (add `mean_interval = "100ms"`, or `load = 0.7` and the `link` that it is of)"#);
    // Without a length of the run nothing is said of their number.
    assert_snapshot!(lines(domain(&[(r#"mean_interval = "20s""#, r#"mean_interval = "1us""#), (r#"duration = "60s""#, "duration = 9")])), @r#"3:12 run.duration: a time needs a unit; a bare number has none (write the unit: "9s" or "9ms")"#);
}

#[test]
fn transfers_have_sizes() {
    assert_snapshot!(size(r#"{ kind = "fixed", size = "0B" }"#), @"116:69 flow.web.arrivals.size.size: a transfer has at least one byte");
    assert_snapshot!(size(r#"{ kind = "exponential", mean = "0B" }"#), @"116:75 flow.web.arrivals.size.mean: a transfer has at least one byte");
    assert_snapshot!(size(r#"{ kind = "exponential", mean = "20p" }"#), @"116:75 flow.web.arrivals.size.mean: `p` is not a unit for a size (write `1460B`, `64kB` or `64KiB`)");
    assert_snapshot!(size(r#"{ kind = "pareto", shape = 1.2, min = "0B", max = "1kB" }"#), @"116:82 flow.web.arrivals.size.min: a transfer has at least one byte");
    assert_snapshot!(size(r#"{ kind = "pareto", shape = 1.2, min = "1kB", max = "1kB" }"#), @"116:82 flow.web.arrivals.size.min: min (1kB) must be below max (1kB)");
    assert_snapshot!(size(r#"{ kind = "pareto", shape = 0, min = "1kB", max = "2kB" }"#), @"116:71 flow.web.arrivals.size.shape: 0 is outside the range: above 0 and at most 100");
    assert_snapshot!(size(r#"{ kind = "pareto", shape = 101, min = "1kB", max = "2kB" }"#), @"116:71 flow.web.arrivals.size.shape: 101 is outside the range: above 0 and at most 100");
    assert_snapshot!(size(r#"{ kind = "pareto" }"#), @r#"
    116:44 flow.web.arrivals.size.shape: `shape` is missing (add `shape = ...`: tail index: the smaller, the heavier the tail. Above 0.)
    116:44 flow.web.arrivals.size.min: `min` is missing (add `min = "1460B"`: least data.)
    116:44 flow.web.arrivals.size.max: `max` is missing (add `max = "1460B"`: most data.)
    "#);
    assert_snapshot!(size(r#""20kB""#), @r#"116:44 flow.web.arrivals.size: must be a table, not a string (write a table, as in `{ kind = "fixed" }`)"#);
    assert_snapshot!(size(r#"{ kind = "fixed", size = "1000000GB" }"#), @"no mistake");
    assert_snapshot!(web(r#"tcp = { size = "9kB" }"#), @"114:16 flow.web.tcp.size: each transfer has a size of its own (leave `size` out: `arrivals.size` says how they are distributed)");
    assert_snapshot!(web(r#"start_jitter = "1s""#), @"114:16 flow.web.start_jitter: transfers begin at random times already (leave `start_jitter` out)");
    assert_snapshot!(web(r#"start = "90s""#), @"no mistake");
}

#[test]
fn udp_flows() {
    assert_snapshot!(one(RATE, ""), @r#"117:1 udp.cbr.rate: `rate` is missing (add `rate = "100kbit/s"`: rate on the wire; with `on-off` while it sends.)"#);
    assert_snapshot!(one(RATE, r#"rate = "0bit/s""#), @"122:8 udp.cbr.rate: a rate must be above zero: at zero nothing is ever sent (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
    assert_snapshot!(one(r#"packet_size = "200B""#, r#"packet_size = "0B""#), @"123:15 udp.cbr.packet_size: a packet cannot be 0 bytes long");
    assert_snapshot!(one(r#"packet_size = "200B""#, r#"packet_size = "64KiB""#), @"123:15 udp.cbr.packet_size: 64KiB is longer than an IPv4 packet can be (65535B)");
    assert_snapshot!(udp(r#"pattern = "cbr""#), @r#"123:11 udp.cbr.pattern: must be a table, not a string (write a table, as in `{ kind = "cbr" }`)"#);
    assert_snapshot!(udp(r#"pattern = "poisson""#), @r#"123:11 udp.cbr.pattern: must be a table, not a string (write a table, as in `{ kind = "poisson" }`)"#);
    assert_snapshot!(udp(r#"pattern = { kind = "onoff" }"#), @r#"123:20 udp.cbr.pattern.kind: `onoff` is not one of "cbr", "poisson", "on-off", "capture" (did you mean `on-off`?)"#);
    assert_snapshot!(udp(r#"pattern = { kind = "on-off", on = "1s" }"#), @r#"123:11 udp.cbr.pattern.off: `off` is missing (add `off = "60s"`: mean length of a time in which it does not send.)"#);
    assert_snapshot!(udp(r#"pattern = { kind = "on-off", on = "0s", off = "0s" }"#), @r#"
    123:35 udp.cbr.pattern.on: a mean time must be above zero (write `kind = "cbr"` for a flow that never pauses)
    123:47 udp.cbr.pattern.off: a mean time must be above zero (write `kind = "cbr"` for a flow that never pauses)
    "#);
    assert_snapshot!(udp("tcp = {}"), @"123:1 udp.cbr.tcp: there is no setting `tcp` here (`tcp` stands in [[flow]])");
    assert_snapshot!(one("from = \"s[1]\"", "from = \"r2\""), @"120:8 udp.cbr.from: `r2` is a router; connections end at hosts (attach a host to it by a link of its own)");
    assert_snapshot!(one("to = \"d[1]\"", "to = \"s[1]\""), @"121:6 udp.cbr.to: a connection needs two hosts, and both are the same");
    assert_snapshot!(one("name = \"cbr\"", "name = \"bulk\""), @"118:8 udp.bulk.name: there already is a flow `bulk`, in line 107");
}

#[test]
fn udp_flows_need_a_way() {
    let island = "[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n[[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\n";
    let changes = [("[[udp]]", &*format!("{island}[[udp]]")), ("to = \"d[1]\"", "to = \"a\"")];
    assert_snapshot!(lines(domain(&changes)), @"128:6 udp.cbr.to: no way leads from `s[1]` to `a` (join them by links; only routers pass packets on)");
}

#[test]
fn ports_of_flows() {
    assert_snapshot!(udp("ports = [1]"), @"123:9 udp.cbr.ports: needs exactly 2 entries, not 1 (port numbers: of the sender, of the receiver.)");
    assert_snapshot!(udp("ports = [1, 65536]"), @"123:13 udp.cbr.ports[1]: 65536 is above 65535, the most allowed");
    assert_snapshot!(udp("ports = 80"), @"123:9 udp.cbr.ports: must be a list, not an integer");
    assert_snapshot!(udp(r#"ports = ["http", 80]"#), @"123:10 udp.cbr.ports[0]: must be an integer, not a string");
}

#[test]
fn marks_of_flows() {
    assert_snapshot!(web(r#"mark = "AF15""#), @"114:8 flow.web.mark: `AF15` is not a mark (did you mean `AF11`?)");
    assert_snapshot!(web(r#"mark = "ef""#), @"114:8 flow.web.mark: `ef` is not a mark (did you mean `EF`?)");
    assert_snapshot!(web("mark = 10"), @r#"114:8 flow.web.mark: the number of a mark is in quotes (write "10")"#);
    assert_snapshot!(web(r#"mark = """#), @"114:8 flow.web.mark: `` is not a mark (write one of EF, AF11, AF12, AF13, AF21, AF22, AF23, AF31, AF32, AF33, AF41, AF42, AF43, BE, CS0, CS1, CS2, CS3, CS4, CS5, CS6, CS7, or a number from 0 to 63 in quotes)");
}

#[test]
fn lists_of_delays() {
    assert_snapshot!(one(DELAYS, "delay = []"), @"26:9 link.s-e.delay: needs at least 1 entry");
    assert_snapshot!(one(DELAYS, r#"delay = ["5ms", 5, "5"]"#), @r#"
    26:17 link.s-e.delay[1]: a time needs a unit; a bare number has none (write the unit: "5s" or "5ms")
    26:20 link.s-e.delay[2]: a time needs a unit; a bare number has none (write the unit: "5s" or "5ms")
    "#);
    assert_snapshot!(one(DELAYS, r#"delay = [["5ms"]]"#), @r#"26:10 link.s-e.delay[0]: must be a string, not a list (for instance "60s")"#);
    assert_snapshot!(one(DELAYS, "delay = 5"), @r#"26:9 link.s-e.delay: a time needs a unit; a bare number has none (write the unit: "5s" or "5ms")"#);
    assert_snapshot!(one(DELAYS, "delay = true"), @r#"26:9 link.s-e.delay: must be a string, not true or false (for instance "60s")"#);
    assert_snapshot!(one(r#"delay = "10ms""#, r#"delay = ["10ms", "20ms"]"#), @r#"33:9 link.r2-r3.delay: 2 delays for a single link: a list is for the links of `[*]` (for each direction its own write `{ "r2->r3" = ..., "r3->r2" = ... }`)"#);
    assert_snapshot!(one(r#"delay = "10ms""#, r#"delay = ["10ms"]"#), @"no mistake");
    assert_snapshot!(lines(overridden(&["link.s-e.delay.s->e=1ms"])), @r#"1:1 link.s-e.delay.s->e: `delay` is a list here, for both directions (write the whole of it, as in `link.s-e.delay=["5ms", "25ms"]`)"#);
}

#[test]
fn members_are_paired_in_groups() {
    assert_snapshot!(lines(overridden(&["node.s.count=8"])), @"no mistake");
}

#[test]
fn there_are_at_most_as_many_classes_as_a_byte_counts() {
    let flow =
        |k: u32| format!("[[flow]]\nname = \"f{k}\"\nclass = \"c{k}\"\nfrom = \"s[0]\"\nto = \"d[0]\"\n");
    let flows = |n: u32| (0..n).map(flow).collect::<String>() + "[[udp]]";
    assert_snapshot!(one("[[udp]]", &flows(254)), @"no mistake");
    assert_snapshot!(one("[[udp]]", &flows(255)), @"107:1 flow: the flows have 257 classes; there can be 256 (give flows that are treated alike the same `class`)");
}
