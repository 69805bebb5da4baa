//! One test per rule that a scenario has to keep.

use crate::common::{BASE, changed, lines};
use insta::assert_snapshot;
use perhop_scenario::load;

fn one(old: &str, new: &str) -> String {
    lines(changed(&[(old, new)]))
}

/// The file with `text` at its end.
fn with(text: &str) -> String {
    lines(load(format!("{BASE}\n{text}").as_bytes(), "test.toml", &[]))
}

#[test]
fn the_base_has_no_mistake() {
    assert_snapshot!(with(""), @"no mistake");
}

#[test]
fn names_are_unique() {
    assert_snapshot!(one(r#"name = "fast""#, r#"name = "slow""#), @r"
    8:8 node.slow.name: there already is a node `slow`, in line 5
    20:17 link.slow-fast.ends[1]: there is no node `fast` (known here: d, r, s, slow)
    33:6 port.slow-fast.to: there is no node `fast` (known here: d, r, s, slow)
    47:6 flow.up.to: there is no node `fast` (known here: d, r, s, slow)
    ");
    assert_snapshot!(with("[[flow]]\nname = \"up\"\nfrom = \"fast\"\nto = \"slow\""), @"55:8 flow.up.name: there already is a flow `up`, in line 44");
    assert_snapshot!(with("[[link]]\nends = [\"fast\", \"slow\"]\nrate = \"1Mbps\""), @"55:8 link.fast-slow.ends: `fast` and `slow` are already joined (two nodes have one link; put a router between them for a second way)");
    assert_snapshot!(with("[[port]]\nat = \"slow\"\nto = \"fast\""), @"55:6 port.slow-fast.at: `slow->fast` already has a port, in line 31");
    assert_snapshot!(one(r#"name = "data""#, r#"name = "acks""#), @r"
    34:47 port.slow-fast.scheduler.data: the port has no class `data` (known here: acks, acks)
    40:8 port.slow-fast.class.acks.name: the port already has a class `acks`
    ");
}

#[test]
fn names_exist() {
    assert_snapshot!(one(r#"from = "slow""#, r#"from = "slwo""#), @"46:8 flow.up.from: there is no node `slwo` (did you mean `slow`?)");
    assert_snapshot!(one(r#"at = "slow""#, r#"at = "s[3]""#), @"32:6 port.s[3]-fast.at: `s[3]` does not exist: `s` has 3 members (the last member is `s[2]`)");
    assert_snapshot!(one(r#"at = "slow""#, r#"at = "s""#), @"32:6 port.s-fast.at: `s` is 3 nodes, not one (write `s[*]` for each of them, or `s[0]` for one)");
    assert_snapshot!(one(r#"at = "slow""#, r#"at = "slow[*]""#), @"32:6 port.slow-fast.at: `slow` is a single node without a count (write `slow`, or give the node a count)");
    assert_snapshot!(one(r#"data = "data""#, r#"data = "date""#), @"34:47 port.slow-fast.scheduler.data: the port has no class `date` (did you mean `data`?)");
}

#[test]
fn names_keep_to_the_grammar() {
    assert_snapshot!(one(r#"name = "fast""#, r#"name = "fa-st""#), @r"
    8:8 node.fa-st.name: `-` cannot be in the name of a node: it has a meaning in paths (use letters, digits and `_`, as in `fa_st`)
    20:17 link.slow-fast.ends[1]: there is no node `fast` (known here: d, r, s, slow)
    33:6 port.slow-fast.to: there is no node `fast` (known here: d, r, s, slow)
    47:6 flow.up.to: there is no node `fast` (known here: d, r, s, slow)
    ");
    assert_snapshot!(one(r#"name = "up""#, r#"name = "u.p""#), @"45:8 flow.u.p.name: `.` cannot be in a name: it has a meaning in paths (use letters, digits, `_` and `-`, as in `u_p`)");
    assert_snapshot!(one(r#"from = "slow""#, r#"from = "slow[x]""#), @"46:8 flow.up.from: `[x]` is neither one member nor several of them (write `slow`, `slow[0]`, `slow[0..2]` or `slow[*]`)");
    assert_snapshot!(one(r#"from = "slow""#, r#"from = "slow[-1]""#), @"46:8 flow.up.from: `[-1]` is neither one member nor several of them (write `slow`, `slow[0]`, `slow[0..2]` or `slow[*]`)");
    assert_snapshot!(one(r#"name = "up""#, r#"name = """#), @"45:8 flow..name: a name cannot be empty (give it a name)");
}

#[test]
fn counts_are_bounded() {
    assert_snapshot!(one("count = 3", "count = 0"), @"14:9 node.s.count: 0 is below 1, the least allowed");
    assert_snapshot!(one("count = 3", "count = 1000001"), @"14:9 node.s.count: 1000001 is above 1000000, the most allowed");
    assert_snapshot!(with("[[node]]\nname = \"x\"\ncount = 999_999"), @"56:9 node.x.count: this makes more than 1000000 nodes, the most a scenario may have");
    // the links and flows of a refused node are not told to be of none
    assert_snapshot!(one("count = 3", "count = 1000000"), @"14:9 node.s.count: this makes more than 1000000 nodes, the most a scenario may have");
}

#[test]
fn destinations_can_be_reached() {
    assert_snapshot!(one("from = \"slow\"\nto = \"fast\"", "from = \"slow\"\nto = \"s[0]\""), @"47:6 flow.up.to: no way leads from `slow` to `s[0]` (join them by links; only routers pass packets on)");
    // A host forwards nothing.
    assert_snapshot!(one(r#"kind = "router""#, r#"kind = "host""#), @"52:6 flow.bulk.to: no way leads from `s[0]` to `d[0]` (join them by links; only routers pass packets on)");
}

#[test]
fn flows_end_at_two_different_hosts() {
    assert_snapshot!(one("to = \"fast\"\ntcp", "to = \"slow\"\ntcp"), @"47:6 flow.up.to: a connection needs two hosts, and both are the same");
    assert_snapshot!(one("to = \"fast\"\ntcp", "to = \"r\"\ntcp"), @r"
    47:6 flow.up.to: `r` is a router; connections end at hosts (attach a host to it by a link of its own)
    47:6 flow.up.to: no way leads from `slow` to `r` (join them by links; only routers pass packets on)
    ");
}

#[test]
fn links_join_two_different_nodes() {
    assert_snapshot!(one(r#"ends = ["s[*]", "r"]"#, r#"ends = ["r", "r"]"#), @"24:14 link.r-r.ends[1]: a link needs two nodes, and both ends are `r`");
    assert_snapshot!(one(r#"ends = ["s[*]", "r"]"#, r#"ends = ["s[*]", "s[*]"]"#), @"24:17 link.s-s.ends[1]: a link needs two nodes, and both ends are `s[0]`");
    assert_snapshot!(one(r#"ends = ["slow", "fast"]"#, r#"ends = ["slow"]"#), @"20:8 link[0].ends: needs exactly 2 entries, not 1 (the two nodes. `s[*]` and `s[0..3]` make one link per member; with several members at both ends they are joined pairwise.)");
}

#[test]
fn values_per_direction_name_the_directions() {
    assert_snapshot!(one(r#""fast->slow" ="#, r#""fsat->slow" ="#), @"21:53 link.slow-fast.rate.fsat->slow: the link has no direction `fsat->slow` (did you mean `fast->slow`?)");
    assert_snapshot!(one(r#", "fast->slow" = "5Mbit/s""#, ""), @r#"21:8 link.slow-fast.rate: there is no value for the direction `fast->slow` (add "fast->slow" = ..., or write one value for both directions)"#);
    assert_snapshot!(one(r#"pure_ack_size = "28B""#, r#"pure_ack_size = { "slow->fast" = "28B" }"#), @"no mistake");
    assert_snapshot!(one(r#"delay = "5ms""#, r#"delay = { "s->r" = "1ms", "s[*]->r" = "2ms", "r->s" = "1ms" }"#), @"26:39 link.s-r.delay.s[*]->r: this direction is given twice");
}

#[test]
fn ports_are_on_links() {
    assert_snapshot!(with("[[port]]\nat = \"slow\"\nto = \"r\""), @"56:6 port.slow-r.to: no link leads from `slow` to `r` (a port is one direction of a [[link]])");
}

#[test]
fn backpressure_is_for_hosts() {
    assert_snapshot!(with("[[port]]\nat = \"r\"\nto = \"d[0]\"\nbackpressure = 1"), @"57:16 port.r-d[0].backpressure: `r` is a router: backpressure is for hosts (it holds back the host's own connections; a router has none)");
    assert_snapshot!(one("backpressure = 1", "backpressure = 0"), @"35:16 port.slow-fast.backpressure: 0 is below 1, the least allowed");
}

#[test]
fn quantities_begin_with_a_number() {
    assert_snapshot!(one("\"100kbit/s\"", "nan"), @"21:25 link.slow-fast.rate.slow->fast: a rate starts with a decimal number (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
    assert_snapshot!(one("\"100kbit/s\"", "\"inf\""), @"21:25 link.slow-fast.rate.slow->fast: a rate starts with a decimal number (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
    assert_snapshot!(one("\"60s\"", "-inf"), @"3:12 run.duration: a time cannot be negative (write `60s`, `5ms`, `20us` or `100ns`)");
    assert_snapshot!(one("\"60s\"", "-5"), @"3:12 run.duration: a time cannot be negative (write `60s`, `5ms`, `20us` or `100ns`)");
}

#[test]
fn paired_counter_has_two_classes_and_a_share() {
    assert_snapshot!(one("share = 0.5", "share = 1"), @"34:63 port.slow-fast.scheduler.share: 1 is outside the range: above 0 and below 1");
    assert_snapshot!(one("share = 0.5", "share = 0.0"), @"34:63 port.slow-fast.scheduler.share: 0 is outside the range: above 0 and below 1");
    assert_snapshot!(one("share = 0.5", "share = nan"), @"34:63 port.slow-fast.scheduler.share: NaN is not a number to count with (write a number above 0 and below 1)");
    assert_snapshot!(one("[[flow]]", "[[port.class]]\nname = \"more\"\n[[flow]]"), @r"
    34:22 port.slow-fast.scheduler.kind: paired-counter shares a link between two classes; this port has 3
    44:1 port.slow-fast.class.more.match: no packet can reach this class: earlier ones take all that it matches (put it before them, or match fewer packets there)
    ");
}

#[test]
fn every_class_can_be_reached_and_every_packet_has_one() {
    assert_snapshot!(one(r#"match = ["pure-ack"]"#, r#"match = ["any"]"#), @"41:9 port.slow-fast.class.data.match: no packet can reach this class: earlier ones take all that it matches (put it before them, or match fewer packets there)");
    assert_snapshot!(one(r#"match = ["data"]"#, r#"match = ["pure-ack"]"#), @r#"
    36:1 port.slow-fast.class: no class takes data (end with a class that takes the rest: `match = ["any"]` or `["data"]`)
    41:9 port.slow-fast.class.data.match: no packet can reach this class: earlier ones take all that it matches (put it before them, or match fewer packets there)
    "#);
    assert_snapshot!(one(r#"match = ["pure-ack"]"#, r#"match = ["data"]"#), @r#"
    36:1 port.slow-fast.class: no class takes ACKs without data (end with a class that takes the rest: `match = ["any"]` or `["pure-ack"]`)
    41:9 port.slow-fast.class.data.match: no packet can reach this class: earlier ones take all that it matches (put it before them, or match fewer packets there)
    "#);
    assert_snapshot!(one(r#"match = ["data"]"#, "match = []"), @"41:9 port.slow-fast.class.data.match: needs at least 1 entry");
    assert_snapshot!(one(r#"match = ["data"]"#, ""), @"no mistake");
}

#[test]
fn queues_hold_something() {
    assert_snapshot!(one(r#"limit = "64kB""#, r#"limit = "0p""#), @"42:34 port.slow-fast.class.data.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
    assert_snapshot!(one(r#"limit = "64kB""#, r#"limit = "0B""#), @"42:34 port.slow-fast.class.data.queue.limit: a queue of 0 drops every packet (write at least `1p`)");
}

#[test]
fn times_of_the_run() {
    assert_snapshot!(one(r#"duration = "60s""#, r#"duration = "0s""#), @"3:12 run.duration: duration must be above zero");
    assert_snapshot!(one(r#"duration = "60s""#, "duration = \"60s\"\nwarmup = \"60s\""), @"4:10 run.warmup: warmup (60s) must be below duration (60s)");
    assert_snapshot!(one(r#"duration = "60s""#, "duration = \"60s\"\ninterval = \"0s\""), @"4:12 run.interval: interval must be above zero");
    assert_snapshot!(one(r#"duration = "60s""#, ""), @r#"2:1 run.duration: `duration` is missing (add `duration = "60s"`: when the run ends.)"#);
}

#[test]
fn rates_are_above_zero() {
    assert_snapshot!(one("15Mbit/s", "0Mbit/s"), @"25:8 link.s-r.rate: a rate must be above zero: at zero nothing is ever sent (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
}

#[test]
fn a_share_leaves_something_to_both_classes() {
    assert_snapshot!(one("share = 0.5", "share = 1e-12"), @"34:63 port.slow-fast.scheduler.share: share 0.000000000001 must lie between 0.000000001 and 0.999999999");
    assert_snapshot!(one("share = 0.5", "share = 0.9999999999"), @"34:63 port.slow-fast.scheduler.share: share 0.9999999999 must lie between 0.000000001 and 0.999999999");
}

#[test]
fn the_series_must_fit_into_memory() {
    assert_snapshot!(one(r#"duration = "60s""#, "duration = \"60s\"\ninterval = \"100ns\""), @"4:12 run.interval: 600000000 samples of 74 quantities are more than 50000000 values (take a longer interval)");
}

#[test]
fn packets_have_a_possible_length() {
    assert_snapshot!(one(r#"pure_ack_size = "28B""#, r#"pure_ack_size = "0B""#), @"22:17 link.slow-fast.pure_ack_size: a packet cannot be 0 bytes long");
    assert_snapshot!(one(r#"pure_ack_size = "28B""#, r#"pure_ack_size = { "slow->fast" = "70kB" }"#), @"22:34 link.slow-fast.pure_ack_size.slow->fast: 70kB is longer than an IPv4 packet can be (65535B)");
    assert_snapshot!(one(r#"window = "64KiB""#, r#"mss = "0B""#), @"48:15 flow.up.tcp.mss: a segment needs data: mss must be above zero");
    assert_snapshot!(one(r#"window = "64KiB""#, r#"mss = "65500B", window = "1MiB""#), @"48:15 flow.up.tcp.mss: mss and header make 65540B, longer than an IPv4 packet can be (65535B)");
}

#[test]
fn windows_hold_a_segment() {
    assert_snapshot!(one(r#"window = "64KiB""#, r#"window = "1kB""#), @"48:18 flow.up.tcp.window: window (1kB) must hold at least one segment of mss (1460B, the default)");
    assert_snapshot!(one(r#"window = "64KiB""#, r#"window = "2GiB""#), @"48:18 flow.up.tcp.window: 2GiB is above 1073725440B, the largest TCP window (65535 shifted by 14 (RFC 7323 section 2.3): 16 KiB less than 1 GiB)");
    assert_snapshot!(one(r#"window = "64KiB""#, r#"mss = "1B", window = "1GiB""#), @"48:30 flow.up.tcp.window: 1GiB is above 1073725440B, the largest TCP window (65535 shifted by 14 (RFC 7323 section 2.3): 16 KiB less than 1 GiB)");
    assert_snapshot!(one(r#"window = "64KiB""#, "initial_window = 0"), @"48:26 flow.up.tcp.initial_window: 0 is below 1, the least allowed");
}

#[test]
fn time_outs_are_ordered() {
    assert_snapshot!(one(r#"window = "64KiB""#, r#"min_rto = "3s", max_rto = "2s""#), @"48:19 flow.up.tcp.min_rto: min_rto (3s) must not exceed max_rto (2s)");
    assert_snapshot!(one(r#"window = "64KiB""#, r#"max_rto = "100ms""#), @r"
    48:19 flow.up.tcp.max_rto: min_rto (200ms, the default) must not exceed max_rto (100ms)
    48:19 flow.up.tcp.max_rto: initial_rto (1s, the default) must not exceed max_rto (100ms)
    ");
    assert_snapshot!(one(r#"window = "64KiB""#, r#"min_rto = "0s""#), @"48:19 flow.up.tcp.min_rto: min_rto of zero would resend a segment before it arrives (RFC 6298 has 1s)");
}

#[test]
fn an_ack_is_not_empty() {
    let flow = r#"tcp = { window = "64KiB" }"#;
    assert_snapshot!(one(flow, r#"tcp = { header = "0B" }"#), @"no mistake");
    let one_way = (r#"pure_ack_size = "28B""#, r#"pure_ack_size = { "slow->fast" = "28B" }"#);
    assert_snapshot!(lines(changed(&[(flow, r#"tcp = { header = "0B" }"#), one_way])), @"48:18 flow.up.tcp.header: with a header of 0 bytes an ACK would be 0 bytes long on `fast->slow` (give every link that the ACKs cross a pure_ack_size, or the flow a header)");
}

#[test]
fn a_setting_of_another_table_is_told_its_place() {
    let link =
        |setting: &str| one(r#"pure_ack_size = "28B""#, &format!("pure_ack_size = \"28B\"\n{setting}"));
    assert_snapshot!(link(r#"queue = { kind = "fifo" }"#), @"23:1 link.slow-fast.queue: there is no setting `queue` here (`queue` stands in [[port.class]])");
    assert_snapshot!(link(r#"cir = "1Mbit/s""#), @"23:1 link.slow-fast.cir: there is no setting `cir` here (`cir` stands in [conditioner.meter])");
}

#[test]
fn what_a_setting_is_about_and_who_takes_a_value_are_told() {
    let tcp = |setting: &str| one(r#"window = "64KiB""#, setting);
    assert_snapshot!(tcp(r#"congestion_control = "cubic""#), @"48:9 flow.up.tcp.congestion_control: there is no setting `congestion_control` here (perhaps `cc`)");
    assert_snapshot!(tcp(r#"recovery = "cubic""#), @r#"48:20 flow.up.tcp.recovery: `cubic` is not one of "tahoe", "reno", "newreno", "sack", "sack-1996" (`cubic` is a value of `cc`)"#);
    assert_snapshot!(tcp(r#"profile = "cubic""#), @r#"48:19 flow.up.tcp.profile: there is no profile `cubic` (`cubic` is a congestion control: write `cc = "cubic"`)"#);
}

#[test]
fn a_scenario_has_nodes_links_and_traffic() {
    assert_snapshot!(lines(load(b"[run]\nduration = \"1s\"\nnode = []", "test.toml", &[])), @r"
    1:1 node: `node` is missing (add a [[node]]: hosts and routers.)
    1:1 link: `link` is missing (add a [[link]]: links between nodes, both directions each.)
    1:1 flow: there is no traffic (add a [[flow]], TCP, or a [[udp]])
    3:1 run.node: there is no setting `node` here (known here: seed, replication, duration, warmup, interval, processing_jitter, packet_size, clock, endpoint, series)
    ");
    assert_snapshot!(lines(load(b"node = 1\nlink = [1]", "test.toml", &[])), @r"
    1:1 run: `run` is missing (add a [run]: settings of the run as a whole.)
    1:1 flow: there is no traffic (add a [[flow]], TCP, or a [[udp]])
    1:8 node: must be a list, not an integer
    2:9 link[0]: must be a table, not an integer (its settings are: ends, rate, delay, pure_ack_size, loss, burst_loss, drop, mark)
    ");
}

#[test]
fn udp_alone_is_traffic() {
    let text = "[run]\nduration = \"1s\"\n[[node]]\nname = \"a\"\n[[node]]\nname = \"b\"\n\
                [[link]]\nends = [\"a\", \"b\"]\nrate = \"1Mbit/s\"\n\
                [[udp]]\nname = \"u\"\nfrom = \"a\"\nto = \"b\"\nrate = \"1Mbit/s\"\n";
    assert_snapshot!(lines(load(text.as_bytes(), "test.toml", &[])), @"no mistake");
    let loaded = load(text.as_bytes(), "test.toml", &[]).unwrap_or_else(|_| panic!("it is valid"));
    assert_eq!((loaded.scenario.flows.len(), loaded.scenario.udp.len()), (0, 1));
    // It has no ACKs, and a mark that is misspelt asks for no class.
    let port = |class: &str| {
        format!("{text}[[port]]\nat = \"a\"\nto = \"b\"\n[[port.class]]\nname = \"c\"\nmatch = [\"{class}\"]")
    };
    assert_snapshot!(lines(load(port("data").as_bytes(), "test.toml", &[])), @"no mistake");
    let marked = port("EF").replace("name = \"u\"", "name = \"u\"\nmark = \"FE\"");
    assert_snapshot!(lines(load(marked.as_bytes(), "test.toml", &[])), @"12:8 udp.u.mark: `FE` is not a mark (did you mean `EF`?)");
}

#[test]
fn names_of_other_tables_and_of_tc_are_hinted_at() {
    let hint = |old: &str, new: &str| {
        let found = changed(&[(old, new)]).expect_err("a mistake");
        found[0].hint.clone().unwrap_or_default()
    };
    let queue =
        |queue: &str| hint(r#"queue = { kind = "fifo", limit = "64kB" }"#, &format!("queue = {{ {queue} }}"));
    assert_snapshot!(queue(r#"kind = "htb""#), @"`htb` is a kind of `scheduler`");
    assert_snapshot!(hint(r#""paired-counter""#, r#""cake""#), @"`cake` is a kind of `queue`");
    assert_snapshot!(queue(r#"kind = "fq_codel""#), @"did you mean `fq`?");
    assert_snapshot!(hint("name = \"acks\"", "name = \"acks\"\nprio = 1"), @"did you mean `priority`?");
}
