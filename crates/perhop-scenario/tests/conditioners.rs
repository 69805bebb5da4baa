//! What may be wrong with a conditioner, and what is said of it.

use crate::common::{DOMAIN, domain, lines, one, overridden};
use insta::assert_snapshot;
use perhop_scenario::load;

const METER: &str = r#"{ kind = "tr-tcm", cir = "800kbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }"#;
const MARKER: &str = r#"{ green = "AF11", yellow = "AF12", red = "AF13" }"#;
const MATCH: &str = r#"match = { class = "assured", kind = "data" }"#;
const SHAPER: &str = r#"shaper = { rate = "300kbit/s", burst = "2p" }"#;

fn meter(new: &str) -> String {
    one(METER, new)
}

fn matches(new: &str) -> String {
    one(MATCH, &format!("match = {{ {new} }}"))
}

#[test]
fn the_domain_has_no_mistake() {
    assert_snapshot!(one("60s", "60s"), @"no mistake");
}

#[test]
fn a_conditioner_is_at_a_router_and_its_packets_come_from_neighbours() {
    assert_snapshot!(one(r#"at = "r3""#, r#"at = "d[0]""#), @"55:6 conditioner.acks.at: `d[0]` is a host; a conditioner treats what a router forwards (a host marks its own packets: `mark` and `ack.marking` of a flow)");
    assert_snapshot!(one(r#"at = "e[0]""#, r#"at = "e""#), @"47:6 conditioner.premium.at: `e` is 2 nodes, not one (write `e[*]` for each of them, or `e[0]` for one)");
    assert_snapshot!(one(r#"at = "e[0]""#, r#"at = "edge""#), @"47:6 conditioner.premium.at: there is no node `edge` (known here: d, e, r2, r3, s)");
    assert_snapshot!(one(r#"from = "d[*]""#, r#"from = "s[*]""#), @"56:8 conditioner.acks.from: no link leads from `s[*]` to `r3` (packets come in from neighbours, and its neighbours are d[*], r2)");
    assert_snapshot!(one(r#"from = ["s[0]", "s[1]"]"#, r#"from = ["s[0]", "s[2]"]"#), @"48:17 conditioner.premium.from[1]: no link leads from `s[2]` to `e[0]` (packets come in from neighbours, and its neighbours are r2, s[*])");
    assert_snapshot!(one(r#"from = ["s[0]", "s[1]"]"#, r#"from = ["s[0]", "q", "s[4]"]"#), @r"
    48:17 conditioner.premium.from[1]: there is no node `q` (did you mean `d`?)
    48:22 conditioner.premium.from[2]: `s[4]` does not exist: `s` has 4 members (the last member is `s[3]`)
    ");
    assert_snapshot!(one(r#"from = ["s[0]", "s[1]"]"#, "from = []"), @"48:8 conditioner.premium.from: needs at least 1 entry");
    assert_snapshot!(one(r#"from = ["s[0]", "s[1]"]"#, "from = 5"), @r#"48:8 conditioner.premium.from: must be a string, not an integer (for instance "slow")"#);
    assert_snapshot!(one(r#"from = ["s[0]", "s[1]"]"#, "from = {}"), @r#"48:8 conditioner.premium.from: must be a string, not a table (for instance "slow")"#);
    assert_snapshot!(one(r#"from = ["s[0]", "s[1]"]"#, ""), @"45:1 conditioner.premium.from: `from` is missing (add `from = ...`: the neighbours whose packets it treats; with `[*]` or `[0..3]` each of those.)");
    // Of two edges one has no such neighbour.
    assert_snapshot!(lines(domain(&[("at = \"e[*]\"\nfrom = \"s[*]\"", "at = \"e[*]\"\nfrom = \"s[1]\"")])), @"41:8 conditioner.customer.from: no link leads from `s[1]` to `e[1]` (packets come in from neighbours, and its neighbours are r2, s[*])");
}

#[test]
fn names_are_unique() {
    assert_snapshot!(one(r#"name = "premium""#, r#"name = "customer""#), @"46:8 conditioner.customer.name: there already is a conditioner `customer`, in line 38");
    assert_snapshot!(one(r#"name = "premium""#, r#"name = "pre.mium""#), @"46:8 conditioner.pre.mium.name: `.` cannot be in a name: it has a meaning in paths (use letters, digits, `_` and `-`, as in `pre_mium`)");
}

#[test]
fn what_a_match_names_exists() {
    assert_snapshot!(matches(r#"class = "asured""#), @"42:19 conditioner.customer.match.class: no flow has the class `asured` (did you mean `assured`?)");
    assert_snapshot!(matches(r#"class = ["assured", "gold"]"#), @"42:31 conditioner.customer.match.class[1]: no flow has the class `gold` (known here: assured, default)");
    assert_snapshot!(matches(r#"flow = "blk""#), @"42:18 conditioner.customer.match.flow: there is no flow `blk` (did you mean `bulk`?)");
    assert_snapshot!(matches(r#"flow = ["bulk[1]", "bulk[4]"]"#), @"42:30 conditioner.customer.match.flow[1]: there is no flow `bulk[4]` (write `bulk` for all of them; the last one is `bulk[3]`)");
    assert_snapshot!(matches(r#"flow = ["cbr[0]", "web[99]"]"#), @r"
    42:19 conditioner.customer.match.flow[0]: there is no flow `cbr[0]` (write `cbr`)
    42:29 conditioner.customer.match.flow[1]: there is no flow `web[99]` (write `web` for all of them; the last one is `web[2]`)
    ");
    assert_snapshot!(matches(r#"src = "s""#), @"42:17 conditioner.customer.match.src: `s` is 4 nodes, not one (write `s[*]` for each of them, or `s[0]` for one)");
    assert_snapshot!(matches(r#"src = ["s[*]", "t[*]"], dst = "u""#), @r"
    42:26 conditioner.customer.match.src[1]: there is no node `t` (did you mean `d`?)
    42:41 conditioner.customer.match.dst: there is no node `u` (did you mean `d`?)
    ");
    assert_snapshot!(matches(r#"mark = ["AF11", "AF15"]"#), @"42:27 conditioner.customer.match.mark[1]: `AF15` is not a mark (did you mean `AF11`?)");
    assert_snapshot!(matches(r#"mark = "ef""#), @"42:18 conditioner.customer.match.mark: `ef` is not a mark (did you mean `EF`?)");
    assert_snapshot!(matches("mark = 46"), @r#"42:18 conditioner.customer.match.mark: the number of a mark is in quotes (write "46")"#);
    assert_snapshot!(matches("mark = 64"), @r#"42:18 conditioner.customer.match.mark: must be a string, not an integer (for instance "AF11")"#);
    assert_snapshot!(matches(r#"mark = "64""#), @"42:18 conditioner.customer.match.mark: `64` is not a mark (write one of EF, AF11, AF12, AF13, AF21, AF22, AF23, AF31, AF32, AF33, AF41, AF42, AF43, BE, CS0, CS1, CS2, CS3, CS4, CS5, CS6, CS7, or a number from 0 to 63 in quotes)");
}

#[test]
fn values_of_a_match_are_of_the_right_kind() {
    assert_snapshot!(matches("src = 5"), @r#"42:17 conditioner.customer.match.src: must be a string, not an integer (for instance "slow")"#);
    assert_snapshot!(matches("src = []"), @"42:17 conditioner.customer.match.src: needs at least 1 entry");
    assert_snapshot!(matches("flow = [1, true]"), @r#"
    42:19 conditioner.customer.match.flow[0]: must be a string, not an integer (write "1")
    42:22 conditioner.customer.match.flow[1]: must be a string, not true or false
    "#);
    assert_snapshot!(matches("flow = []"), @"42:18 conditioner.customer.match.flow: needs at least 1 entry");
    assert_snapshot!(matches(r#"src_port = "http""#), @"42:22 conditioner.customer.match.src_port: must be an integer, not a string");
    assert_snapshot!(matches("src_port = 65536, dst_port = -1"), @r"
    42:22 conditioner.customer.match.src_port: 65536 is above 65535, the most allowed
    42:40 conditioner.customer.match.dst_port: -1 is below 0, the least allowed
    ");
    assert_snapshot!(matches("src_port = [80]"), @"42:22 conditioner.customer.match.src_port: needs exactly 2 entries, not 1 (from the first to the last.)");
    assert_snapshot!(matches("src_port = [80, 90, 100]"), @"42:22 conditioner.customer.match.src_port: needs exactly 2 entries, not 3 (from the first to the last.)");
    assert_snapshot!(matches("dst_port = [90, 80]"), @"42:22 conditioner.customer.match.dst_port: a range goes from its first port to its last (write [80, 90])");
    assert_snapshot!(matches("dst_port = 80.5"), @"42:22 conditioner.customer.match.dst_port: must be an integer, not a number");
    assert_snapshot!(matches(r#"protocol = "icmp""#), @r#"42:22 conditioner.customer.match.protocol: `icmp` is not one of "tcp", "udp" (`tcp`: the flows of `[[flow]]`; `udp`: the flows of `[[udp]]`)"#);
    assert_snapshot!(matches(r#"direction = "back""#), @r#"42:23 conditioner.customer.match.direction: `back` is not one of "forward", "reverse" (`forward`: from the sender of data to its receiver; `reverse`: back)"#);
    assert_snapshot!(matches(r#"kind = "acks""#), @r#"42:18 conditioner.customer.match.kind: `acks` is not one of "data", "pure-ack" (`data`: anything but an ACK without data; `pure-ack`: an acknowledgment and no data)"#);
    assert_snapshot!(matches(r#"port = 80"#), @"42:11 conditioner.customer.match.port: there is no setting `port` here (known here: src, dst, src_port, dst_port, protocol, flow, class, direction, kind, mark)");
    assert_snapshot!(one(MATCH, r#"match = "assured""#), @"42:9 conditioner.customer.match: must be a table, not a string (its settings are: src, dst, src_port, dst_port, protocol, flow, class, direction, kind, mark)");
}

#[test]
fn meters_have_rates_and_bursts() {
    assert_snapshot!(meter(r#"{ kind = "tr-tcm", cir = "2Mbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }"#), @"43:34 conditioner.customer.meter.cir: cir (2Mbit/s) must not exceed pir (1Mbit/s)");
    assert_snapshot!(meter(r#"{ kind = "tr-tcm", cir = "2Mbit/s", pir = "2Mbit/s", cbs = "0p", pbs = "0B" }"#), @"43:68 conditioner.customer.meter.cbs: cbs (0p) must exceed 0B");
    assert_snapshot!(meter(r#"{ kind = "sr-tcm", cir = "2Mbit/s", cbs = "0p", ebs = "0B" }"#), @"43:51 conditioner.customer.meter.cbs: cbs (0p) must exceed 0B where ebs is 0B");
    assert_snapshot!(meter(r#"{ kind = "sr-tcm", cir = "2Mbit/s", cbs = "0p", ebs = "3GB" }"#), @"43:63 conditioner.customer.meter.ebs: ebs (3GB) must not exceed 2305843009B");
    assert_snapshot!(meter(r#"{ kind = "sr-tcm", cir = "0bit/s", cbs = "1000000000000000p", ebs = 5 }"#), @r#"
    43:34 conditioner.customer.meter.cir: a rate must be above zero: at zero nothing is ever sent (write `100kbit/s`, `10Mbps` or `1.25MB/s`)
    43:50 conditioner.customer.meter.cbs: cbs (1000000000000000p) must not exceed 2305843009B
    43:77 conditioner.customer.meter.ebs: an amount needs a unit; a bare number has none (write the unit: "5p" or "5kB")
    "#);
    assert_snapshot!(meter(r#"{ kind = "sr-tcm", cir = "1Mbit/s", cbs = "1p", ebs = "0B" }"#), @"no mistake");
    assert_snapshot!(meter(r#"{ kind = "sr-tcm", cir = "1Mbit/s" }"#), @r#"
    43:9 conditioner.customer.meter.cbs: `cbs` is missing (add `cbs = "88p"`: committed burst size.)
    43:9 conditioner.customer.meter.ebs: `ebs` is missing (add `ebs = "88p"`: excess burst size; zero is allowed if the committed one is not.)
    "#);
    assert_snapshot!(meter(r#"{ kind = "tr-tmc", cir = "1Mbit/s" }"#), @r#"43:18 conditioner.customer.meter.kind: `tr-tmc` is not one of "token-bucket", "sr-tcm", "tr-tcm", "tr-tcm-diffserv", "tsw2cm", "tsw3cm", "tcp-friendly", "custom", "python" (did you mean `tr-tcm`?)"#);
    assert_snapshot!(meter(r#"{ cir = "1Mbit/s" }"#), @r#"43:9 conditioner.customer.meter.kind: `kind` is missing (`kind` is one of "token-bucket", "sr-tcm", "tr-tcm", "tr-tcm-diffserv", "tsw2cm", "tsw3cm", "tcp-friendly", "custom", "python")"#);
    assert_snapshot!(meter(r#""tr-tcm""#), @r#"43:9 conditioner.customer.meter: must be a table, not a string (write a table, as in `{ kind = "tr-tcm" }`)"#);
    assert_snapshot!(meter("[]"), @r#"43:9 conditioner.customer.meter: must be a table, not a list (write a table, as in `{ kind = "token-bucket" }`)"#);
}

#[test]
fn the_meter_of_differentiated_service_has_two_rates_that_do_not_depend_on_each_other() {
    assert_snapshot!(meter(r#"{ kind = "tr-tcm-diffserv", cir = "2Mbit/s", eir = "1Mbit/s", cbs = "15p", ebs = "20kB" }"#), @"no mistake");
    assert_snapshot!(meter(r#"{ kind = "tr-tcm-diffserv", cir = "2Mbit/s", eir = "1Mbit/s", cbs = "15p", ebs = "0B" }"#), @"43:90 conditioner.customer.meter.ebs: ebs (0B) must exceed 0B");
    assert_snapshot!(meter(r#"{ kind = "tr-tcm-diffserv", cir = "2Mbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "1p" }"#), @r#"
    43:9 conditioner.customer.meter.eir: `eir` is missing (add `eir = "100kbit/s"`: excess information rate, on top of `cir`.)
    43:9 conditioner.customer.meter.ebs: `ebs` is missing (add `ebs = "88p"`: excess burst size.)
    43:54 conditioner.customer.meter.pir: there is no setting `pir` here (did you mean `cir`?)
    43:84 conditioner.customer.meter.pbs: there is no setting `pbs` here (did you mean `cbs`?)
    "#);
    assert_snapshot!(meter(r#"{ kind = "tr-tcm-diffserv", cir = "2Mbit/s", eir = "1Mbit/s", cbs = "15p", ebs = "1p", colors = { AF11 = "green" } }"#), @"43:105 conditioner.customer.meter.colors: a colour-blind meter does not look at marks (add `color_aware = true`, or leave `colors` out)");
    assert_snapshot!(meter(r#"{ kind = "tr-tcm-4115", cir = "2Mbit/s" }"#), @r#"43:18 conditioner.customer.meter.kind: `tr-tcm-4115` is not one of "token-bucket", "sr-tcm", "tr-tcm", "tr-tcm-diffserv", "tsw2cm", "tsw3cm", "tcp-friendly", "custom", "python" (did you mean `tr-tcm`?)"#);
}

#[test]
fn estimates_have_rates_and_a_window() {
    assert_snapshot!(meter(r#"{ kind = "tsw3cm", cir = "1Mbit/s", pir = "2Mbit/s" }"#), @"no mistake");
    assert_snapshot!(meter(r#"{ kind = "tsw3cm", cir = "2Mbit/s", pir = "1Mbit/s" }"#), @"43:34 conditioner.customer.meter.cir: cir (2Mbit/s) must not exceed pir (1Mbit/s)");
    assert_snapshot!(meter(r#"{ kind = "tsw3cm", cir = "1Mbit/s", pir = "2Mbit/s", window = "0s" }"#), @"43:71 conditioner.customer.meter.window: window (0s) must exceed 0s");
    assert_snapshot!(meter(r#"{ kind = "tsw3cm", cir = "0Mbit/s", window = "-1s" }"#), @r#"
    43:9 conditioner.customer.meter.pir: `pir` is missing (add `pir = "100kbit/s"`: peak target rate, PTR of the RFC; at least `cir`.)
    43:34 conditioner.customer.meter.cir: a rate must be above zero: at zero nothing is ever sent (write `100kbit/s`, `10Mbps` or `1.25MB/s`)
    43:54 conditioner.customer.meter.window: a time cannot be negative (write `60s`, `5ms`, `20us` or `100ns`)
    "#);
    assert_snapshot!(meter(r#"{ kind = "tsw3cm", cir = "1Mbit/s", pir = "2Mbit/s", color_aware = true }"#), @"43:62 conditioner.customer.meter.color_aware: there is no setting `color_aware` here (known here: kind, cir, pir, window)");
    assert_snapshot!(meter(r#"{ kind = "tsw2cm", cir = "1Mbit/s", pir = "2Mbit/s" }"#), @r"
    43:45 conditioner.customer.meter.pir: there is no setting `pir` here (did you mean `cir`?)
    44:37 conditioner.customer.marker.yellow: no packet is yellow: a tsw2cm meter has two colours, green and red (take a meter of three colours, `tsw3cm`, or leave `yellow` out)
    ");
    assert_snapshot!(meter(r#"{ kind = "tsw2cm", cir = "1Mbit/s" }"#), @"44:37 conditioner.customer.marker.yellow: no packet is yellow: a tsw2cm meter has two colours, green and red (take a meter of three colours, `tsw3cm`, or leave `yellow` out)");
    let hint = |word: &str| {
        let message = meter(&format!("{{ kind = \"{word}\", cir = \"1Mbit/s\" }}"));
        message.rsplit_once("\"python\" ").map(|(_, hint)| hint.to_owned())
    };
    assert_eq!(hint("TSW2CM").as_deref(), Some("(did you mean `tsw2cm`?)"));
    for word in ["tsw", "tsw-tcm", "TSWTCM"] {
        assert_eq!(hint(word).as_deref(), Some("(perhaps `tsw2cm` or `tsw3cm`)"), "{word}");
    }
}

#[test]
fn the_relation_points_at_what_an_override_changed() {
    assert_snapshot!(lines(overridden(&["conditioner.customer.meter.pir=700kbit/s"])), @"1:32 conditioner.customer.meter.pir: cir (800kbit/s) must not exceed pir (700kbit/s)");
    assert_snapshot!(lines(overridden(&["conditioner.customer.meter.cir=2Mbit/s"])), @"1:32 conditioner.customer.meter.cir: cir (2Mbit/s) must not exceed pir (1Mbit/s)");
}

#[test]
fn packets_need_a_length_where_bytes_count() {
    assert_snapshot!(one("packet_size = \"1000B\"\n", ""), @r#"
    42:70 conditioner.customer.meter.cbs: cbs is counted in bytes: 15p needs the length of a packet (add `packet_size = "1500B"` to [run], or write bytes, as `cbs = "22500B"`)
    49:59 conditioner.premium.meter.cbs: cbs is counted in bytes: 2p needs the length of a packet (add `packet_size = "1500B"` to [run], or write bytes, as `cbs = "3kB"`)
    51:40 conditioner.premium.shaper.burst: burst is counted in bytes: 2p needs the length of a packet (add `packet_size = "1500B"` to [run], or write bytes, as `burst = "3kB"`)
    "#);
    // The length is wrong and said to be so once.
    assert_snapshot!(one(r#"packet_size = "1000B""#, r#"packet_size = "0B""#), @"4:15 run.packet_size: a packet cannot be 0 bytes long");
    assert_snapshot!(one(r#"packet_size = "1000B""#, r#"packet_size = "70kB""#), @"4:15 run.packet_size: 70kB is longer than an IPv4 packet can be (65535B)");
    assert_snapshot!(one(r#"packet_size = "1000B""#, "packet_size = 1000"), @r#"4:15 run.packet_size: a size needs a unit; a bare number has none (write the unit: "1000B" or "1000kB")"#);
}

#[test]
fn colours_of_marks() {
    let aware = |rest: &str| meter(&METER.replace(" }", &format!(", {rest} }}")));
    assert_snapshot!(aware(r#"color_aware = true, colors = { AF15 = "green", AF11 = "blue" }"#), @r#"
    43:129 conditioner.customer.meter.colors.AF15: `AF15` is not a mark (did you mean `AF11`?)
    43:145 conditioner.customer.meter.colors.AF11: `blue` is not one of "green", "yellow", "red" (`green`: in profile; `yellow`: in excess of the committed profile; `red`: out of profile)
    "#);
    assert_snapshot!(aware(r#"color_aware = true, colors = { AF11 = "green", "10" = "red", BE = "red", "0" = "red" }"#), @r"
    43:129 conditioner.customer.meter.colors.AF11: `AF11` is the same mark as `10` (keep one of the two)
    43:157 conditioner.customer.meter.colors.BE: `BE` is the same mark as `0` (keep one of the two)
    ");
    assert_snapshot!(aware(r#"color_aware = true, colors = { AF11 = 1 }"#), @r#"43:129 conditioner.customer.meter.colors.AF11: must be a string, not an integer (write one of "green", "yellow", "red")"#);
    assert_snapshot!(aware(r#"colors = { AF11 = "green" }"#), @"43:100 conditioner.customer.meter.colors: a colour-blind meter does not look at marks (add `color_aware = true`, or leave `colors` out)");
    assert_snapshot!(aware(r#"color_aware = "yes""#), @"43:105 conditioner.customer.meter.color_aware: must be true or false, not a string");
}

#[test]
fn markers_do_something_with_colours_that_there_are() {
    let marker = |new: &str| one(MARKER, new);
    assert_snapshot!(marker(r#"{ green = "AF15", yellow = "af12", red = "dorp" }"#), @r"
    44:20 conditioner.customer.marker.green: `AF15` is not a mark or an action (did you mean `AF11`?)
    44:37 conditioner.customer.marker.yellow: `af12` is not a mark or an action (did you mean `AF12`?)
    44:51 conditioner.customer.marker.red: `dorp` is not a mark or an action (did you mean `drop`?)
    ");
    assert_snapshot!(marker(r#"{ green = 10, yellow = 64 }"#), @r#"
    44:20 conditioner.customer.marker.green: the number of a mark is in quotes (write "10")
    44:33 conditioner.customer.marker.yellow: must be a string, not an integer (for instance "AF11")
    "#);
    assert_snapshot!(marker(r#"{ grene = "AF11" }"#), @r#"
    44:10 conditioner.customer.marker: this conditioner does nothing (write what is done with a colour, as `marker = { green = "AF11" }`)
    44:12 conditioner.customer.marker.grene: there is no setting `grene` here (did you mean `green`?)
    "#);
    assert_snapshot!(marker(r#""AF11""#), @"44:10 conditioner.customer.marker: must be a table, not a string (its settings are: green, yellow, red)");
    assert_snapshot!(marker("{}"), @r#"44:10 conditioner.customer.marker: this conditioner does nothing (write what is done with a colour, as `marker = { green = "AF11" }`)"#);
    assert_snapshot!(meter(r#"{ kind = "token-bucket", cir = "1Mbit/s", cbs = "15p" }"#), @"44:37 conditioner.customer.marker.yellow: no packet is yellow: a token-bucket meter has two colours, green and red (take a meter of three colours, `sr-tcm` or `tr-tcm`, or leave `yellow` out)");
    assert_snapshot!(meter(r#"{ kind = "tcp-friendly", interval = "250ms", tokens = 20 }"#), @"44:37 conditioner.customer.marker.yellow: no packet is yellow: a tcp-friendly meter has two colours, green and red (take a meter of three colours, `sr-tcm` or `tr-tcm`, or leave `yellow` out)");
    assert_snapshot!(one(&format!("meter = {METER}"), ""), @r"
    44:37 conditioner.customer.marker.yellow: no packet is yellow: without a meter every packet is green (take a meter of three colours, `sr-tcm` or `tr-tcm`, or leave `yellow` out)
    44:51 conditioner.customer.marker.red: no packet is red: without a meter every packet is green (add a `meter`, or write what is done with `green`)
    ");
}

#[test]
fn shapers_and_what_is_shaped_go_together() {
    assert_snapshot!(one(SHAPER, ""), @r#"51:32 conditioner.premium.marker.red: there is no shaper to wait in (add `shaper = { rate = "1Mbit/s", burst = "15kB" }`)"#);
    assert_snapshot!(one(r#"red = "shape""#, r#"red = "drop""#), @"52:10 conditioner.premium.shaper: no colour is shaped (write `shape` for a colour in `marker`, or leave `shaper` out)");
    assert_snapshot!(one(r#"red = "shape""#, r#"red = "shpae""#), @"51:32 conditioner.premium.marker.red: `shpae` is not a mark or an action (did you mean `shape`?)");
    assert_snapshot!(one(SHAPER, r#"shaper = { rate = "300kbit/s" }"#), @r#"52:10 conditioner.premium.shaper.burst: `burst` is missing (add `burst = "88p"`: burst that passes without delay. Packets are those of `run.packet_size`.)"#);
    assert_snapshot!(one(SHAPER, r#"shaper = { rate = "300kbit/s", burst = "0B" }"#), @"52:40 conditioner.premium.shaper.burst: burst (0B) must exceed 0B");
    assert_snapshot!(one(SHAPER, r#"shaper = "300kbit/s""#), @"52:10 conditioner.premium.shaper: must be a table, not a string (its settings are: rate, burst, limit)");
}

#[test]
fn a_meter_for_each_flow() {
    assert_snapshot!(lines(domain(&[("marker =", "per = \"flow\"\nmarker =")])), @"no mistake");
    assert_snapshot!(lines(domain(&[(&format!("meter = {METER}"), "per = \"flow\""), (MARKER, r#"{ green = "AF11" }"#)])), @"43:7 conditioner.customer.per: `per` is about the meter, and there is none (add a `meter`, or leave `per` out)");
    assert_snapshot!(lines(domain(&[(METER, "{ kind = \"tcp-friendly\", interval = \"250ms\", tokens = 20 }\nper = \"flow\""), (r#"yellow = "AF12", "#, "")])), @"44:7 conditioner.customer.per: the TCP-friendly marker shares its tokens among flows: it is one for all of them (leave `per` out)");
    assert_snapshot!(one(MATCH, r#"per = "folw""#), @r#"42:7 conditioner.customer.per: `folw` is not one of "aggregate", "flow", "addresses" (did you mean `flow`?)"#);
}

#[test]
fn a_meter_for_each_pair_of_addresses() {
    assert_snapshot!(lines(domain(&[("marker =", "per = \"addresses\"\nmarker =")])), @"no mistake");
    assert_snapshot!(one(MATCH, r#"per = "adresses""#), @r#"42:7 conditioner.customer.per: `adresses` is not one of "aggregate", "flow", "addresses" (did you mean `addresses`?)"#);
    assert_snapshot!(lines(domain(&[(&format!("meter = {METER}"), "per = \"addresses\""), (MARKER, r#"{ green = "AF11" }"#)])), @"43:7 conditioner.customer.per: `per` is about the meter, and there is none (add a `meter`, or leave `per` out)");
    assert_snapshot!(lines(domain(&[(METER, "{ kind = \"tcp-friendly\", interval = \"250ms\", tokens = 20 }\nper = \"addresses\""), (r#"yellow = "AF12", "#, "")])), @"44:7 conditioner.customer.per: the TCP-friendly marker shares its tokens among flows: it is one for all of them (leave `per` out)");
}

#[test]
fn a_tcp_friendly_marker_has_settings_in_range() {
    let friendly = |rest: &str| {
        let new = format!(r#"{{ kind = "tcp-friendly", {rest} }}"#);
        lines(domain(&[(METER, &new), (r#"yellow = "AF12", "#, "")]))
    };
    assert_snapshot!(friendly(r#"interval = "250ms", tokens = 22"#), @"no mistake");
    assert_snapshot!(friendly(r#"interval = "0s", tokens = -1"#), @r"
    43:45 conditioner.customer.meter.interval: interval (0s) must be longer than 0
    43:60 conditioner.customer.meter.tokens: -1 is below 0, the least allowed
    ");
    assert_snapshot!(friendly(r#"interval = "1s", tokens = 4294967296"#), @"43:60 conditioner.customer.meter.tokens: 4294967296 is above 4294967295, the most allowed");
    assert_snapshot!(friendly(r#"interval = "1s", tokens = 9223372036854775808"#), @"43:60 `9223372036854775808` does not fit in a TOML integer (64 bits)");
    assert_snapshot!(friendly(r#"interval = "1s", tokens = 2.5, packet_size = "0B""#), @r"
    43:60 conditioner.customer.meter.tokens: must be an integer, not a number
    43:79 conditioner.customer.meter.packet_size: packet_size (0B) must be between 1 and 65535 bytes
    ");
    assert_snapshot!(friendly(r#"interval = "1s", tokens = 2, packet_size = "70kB""#), @"43:77 conditioner.customer.meter.packet_size: packet_size (70kB) must be between 1 and 65535 bytes");
    assert_snapshot!(friendly(r#"interval = "1s", tokens = 2, gain_window = 0, gain_packets = 1.5, small_window = -1, forget_after = 0"#), @r"
    43:77 conditioner.customer.meter.gain_window: 0 is outside the range: above 0 and at most 1
    43:95 conditioner.customer.meter.gain_packets: 1.5 is outside the range: above 0 and at most 1
    43:115 conditioner.customer.meter.small_window: -1 is outside the range: at least 0 and at most 1000000
    43:134 conditioner.customer.meter.forget_after: 0 is below 1, the least allowed
    ");
    assert_snapshot!(friendly(r#"interval = "1s", tokens = 2, small_window = 1e7, forget_after = 10001, shortage = "max_min""#), @r#"
    43:78 conditioner.customer.meter.small_window: 10000000 is outside the range: at least 0 and at most 1000000
    43:98 conditioner.customer.meter.forget_after: 10001 is above 10000, the most allowed
    43:116 conditioner.customer.meter.shortage: `max_min` is not one of "equal", "max-min" (did you mean `max-min`?)
    "#);
    let (size, burst) = (("packet_size = \"1000B\"\n", ""), (r#"cbs = "2p""#, r#"cbs = "2kB""#));
    let new = r#"{ kind = "tcp-friendly", interval = "1s", tokens = 2 }"#;
    let shaper = (r#"burst = "2p""#, r#"burst = "2kB""#);
    assert_snapshot!(lines(domain(&[size, burst, shaper, (METER, new), (r#"yellow = "AF12", "#, "")])), @r#"42:9 conditioner.customer.meter.packet_size: `packet_size` is missing (add `packet_size = "1460B"` here or to [run])"#);
}

#[test]
fn ack_markings_name_classes_and_marks() {
    let marking = |new: &str| one(r#"{ kind = "per-class", marks = { assured = "AF11" } }"#, new);
    assert_snapshot!(marking(r#"{ kind = "per-class", marks = { asured = "AF11", default = "AF15" } }"#), @r"
    57:56 conditioner.acks.ack_marking.marks.asured: no flow has the class `asured` (did you mean `assured`?)
    57:74 conditioner.acks.ack_marking.marks.default: `AF15` is not a mark (did you mean `AF11`?)
    ");
    assert_snapshot!(marking(r#"{ kind = "per-class" }"#), @"57:15 conditioner.acks.ack_marking.marks: `marks` is missing (add `marks = ...`: mark by traffic class; a class without an entry has `BE`.)");
    assert_snapshot!(marking(r#"{ kind = "per-mark", marks = { AF15 = "BE", BE = "AF11", "0" = "EF" } }"#), @r"
    57:53 conditioner.acks.ack_marking.marks.AF15: `AF15` is not a mark (did you mean `AF11`?)
    57:64 conditioner.acks.ack_marking.marks.BE: `BE` is the same mark as `0` (keep one of the two)
    ");
    assert_snapshot!(marking(r#"{ kind = "copy", rule = "best" }"#), @r#"57:39 conditioner.acks.ack_marking.rule: `best` is not one of "triggering-segment", "best-of-covered", "worst-of-covered" (did you mean `best-of-covered`?)"#);
    assert_snapshot!(marking(r#"{ kind = "copy", marks = {} }"#), @"57:32 conditioner.acks.ack_marking.marks: there is no setting `marks` here (known here: kind, rule)");
    assert_snapshot!(marking(r#""copy""#), @r#"57:15 conditioner.acks.ack_marking: must be a table, not a string (write a table, as in `{ kind = "copy" }`)"#);
    assert_snapshot!(one("ack_marking =", "match = { kind = \"data\" }\nack_marking ="), @r#"58:15 conditioner.acks.ack_marking: no packet of this conditioner is an ACK: `match` has `kind = "data"` (write `kind = "pure-ack"`, or leave it out)"#);
    assert_snapshot!(one("ack_marking =", "match = { protocol = \"udp\" }\nack_marking ="), @r#"58:15 conditioner.acks.ack_marking: no packet of this conditioner is an ACK: `match` has `protocol = "udp"` (write `protocol = "tcp"`, or leave it out)"#);
    assert_snapshot!(one("ack_marking = { kind = \"per-class\", marks = { assured = \"AF11\" } }", ""), @r#"53:1 conditioner.acks.marker: this conditioner does nothing (write what is done with a colour, as `marker = { green = "AF11" }`)"#);
    // The same of a host.
    let host = |new: &str| {
        one(
            "from = \"s[*]\"\nto = \"d[*]\"",
            &format!("from = \"s[*]\"\nto = \"d[*]\"\nack = {{ marking = {new} }}"),
        )
    };
    assert_snapshot!(host(r#"{ kind = "per-class", marks = { gold = "EF" } }"#), @"112:58 flow.bulk.ack.marking.marks.gold: no flow has the class `gold` (known here: assured, default)");
    assert_snapshot!(host(r#"{ kind = "per-mark", marks = { AF1 = "EF" } }"#), @"112:56 flow.bulk.ack.marking.marks.AF1: `AF1` is not a mark (did you mean `AF11`?)");
}

#[test]
fn nothing_is_said_that_follows_from_another_mistake() {
    // What kind of node it is, which flows and classes there are, what the meter gives: not known.
    assert_snapshot!(one("kind = \"router\"\n[[node]]\nname = \"r2\"", "kind = \"ruoter\"\n[[node]]\nname = \"r2\""), @r#"12:8 node.e.kind: `ruoter` is not one of "host", "router" (did you mean `router`?)"#);
    assert_snapshot!(lines(domain(&[(MATCH, r#"match = { flow = "bulk" }"#), (r#"to = "d[*]""#, r#"to = "dd[*]""#)])), @"111:6 flow.bulk.to: there is no node `dd` (did you mean `d`?)");
    assert_snapshot!(lines(domain(&[(MATCH, r#"match = { flow = "bulk", class = "assured" }"#), (r#"name = "bulk""#, "name = 1")])), @r#"108:8 flow[0].name: must be a string, not an integer (for instance "up")"#);
    assert_snapshot!(one(r#"class = "assured""#, "class = 7"), @r#"42:19 conditioner.customer.match.class: must be a string, not an integer (write "7")"#);
    assert_snapshot!(one("name = \"bulk\"\nclass = \"assured\"", "name = \"bulk\"\nclass = 7"), @r#"109:9 flow.bulk.class: must be a string, not an integer (write "7")"#);
    assert_snapshot!(one("count = 4", "count = 0"), @"8:9 node.s.count: 0 is below 1, the least allowed");
    assert_snapshot!(one(r#"ends = ["r3", "d[*]"]"#, r#"ends = ["r3", "f[*]"]"#), @"35:15 link.r3-f.ends[1]: there is no node `f` (did you mean `d`?)");
    assert_snapshot!(one(r#"duration = "60s""#, "duration = 60"), @r#"3:12 run.duration: a time needs a unit; a bare number has none (write the unit: "60s" or "60ms")"#);
}

#[test]
fn several_mistakes_in_one_pass() {
    assert_snapshot!(lines(domain(&[
        (r#"at = "e[*]""#, r#"at = "ee[*]""#),
        (r#"pir = "1Mbit/s""#, r#"pir = "1Kbit/s""#),
        (r#"class = "assured""#, r#"class = "asured""#),
        (r#"red = "shape""#, r#"yellow = "AF11""#),
        (r#"from = "d[*]""#, r#"from = "d[9]""#),
        (r#"scheduler = { kind = "wrr" }"#, r#"scheduler = { kind = "wwr" }"#),
        (r#"max_p = 0.02"#, r#"max_p = 2"#),
        (r#"share = 0.4"#, r#"share = 0"#),
        ("mark = \"EF\"\nfrom", "mark = \"EE\"\nfrom"),
    ])), @r#"
    40:6 conditioner.customer.at: there is no node `ee` (did you mean `e`?)
    42:19 conditioner.customer.match.class: no flow has the class `asured` (did you mean `assured`?)
    43:53 conditioner.customer.meter.pir: `Kbit/s` is not a unit for a rate (did you mean `1kbit/s`?)
    51:35 conditioner.premium.marker.yellow: no packet is yellow: a token-bucket meter has two colours, green and red (take a meter of three colours, `sr-tcm` or `tr-tcm`, or leave `yellow` out)
    52:10 conditioner.premium.shaper: no colour is shaped (write `shape` for a colour in `marker`, or leave `shaper` out)
    56:8 conditioner.acks.from: `d[9]` does not exist: `d` has 4 members (the last member is `d[3]`)
    62:22 port.e-r2.scheduler.kind: `wwr` is not one of "strict-priority", "paired-counter", "wrr", "drr", "wfq", "cbq", "htb", "python" (did you mean `wrr`?)
    86:53 port.r2-r3.class.af.queue.green.max_p: 2 is outside the range: above 0 and at most 1
    91:9 port.r2-r3.class.be.share: 0 is outside the range: above 0 and at most 1
    119:8 udp.cbr.mark: `EE` is not a mark (did you mean `EF`?)
    "#);
}

#[test]
fn patterns_fit_into_memory() {
    let text = DOMAIN.replace("count = 4", "count = 40000").replace("count = 2", "count = 20000");
    let text = text.replace(MATCH, r#"match = { src = "s[*]" }"#);
    assert_snapshot!(lines(load(text.as_bytes(), "test.toml", &["run.interval=60s".to_owned()])), @"42:9 conditioner.customer.match: the conditioners hold more than 10000000 nodes and flows to compare with (match by `class` or `mark`, or leave out what `from` says already)");
}
