//! Slices of counted nodes, and groups that do not come out even.

use crate::common::{changed, domain, lines, overridden, valid};
use insta::assert_snapshot;
use perhop_scenario::{Loaded, render};

const FROM: &str = "from = \"s[*]\"\nto = \"d[*]\"";

/// The flow `bulk` of the base between other ends.
fn bulk(from: &str, to: &str) -> String {
    lines(changed(&[(FROM, &format!("from = \"{from}\"\nto = \"{to}\""))]))
}

/// Which hosts the flows of `bulk` connect.
fn pairs(loaded: &Loaded) -> String {
    let name = |node: usize| loaded.scenario.nodes[node].name.as_str();
    let flows = loaded.scenario.flows.iter().filter(|flow| flow.name.starts_with("bulk"));
    let lines = flows.map(|flow| format!("{} {}->{}", flow.name, name(flow.from), name(flow.to)));
    lines.collect::<Vec<_>>().join("\n")
}

fn bulk_pairs(from: &str, to: &str) -> String {
    pairs(&valid(changed(&[(FROM, &format!("from = \"{from}\"\nto = \"{to}\""))])))
}

#[test]
fn a_slice_is_some_members() {
    assert_snapshot!(bulk_pairs("s[1..3]", "d[0]"), @r"
    bulk[0] s[1]->d[0]
    bulk[1] s[2]->d[0]
    ");
    assert_snapshot!(bulk_pairs("s[0..2]", "d[1..3]"), @r"
    bulk[0] s[0]->d[1]
    bulk[1] s[1]->d[2]
    ");
    assert_snapshot!(bulk_pairs("s[2..3]", "d[0]"), @"bulk[0] s[2]->d[0]");
    assert_snapshot!(bulk_pairs("s[0..3]", "d[*]"), @r"
    bulk[0] s[0]->d[0]
    bulk[1] s[1]->d[1]
    bulk[2] s[2]->d[2]
    ");
}

#[test]
fn groups_differ_by_one_at_most() {
    assert_snapshot!(bulk_pairs("s[*]", "d[0..2]"), @r"
    bulk[0] s[0]->d[0]
    bulk[1] s[1]->d[0]
    bulk[2] s[2]->d[1]
    ");
    assert_snapshot!(bulk_pairs("s[0..2]", "d[*]"), @r"
    bulk[0] s[0]->d[0]
    bulk[1] s[0]->d[1]
    bulk[2] s[1]->d[2]
    ");
    let loaded = valid(overridden(&["node.s.count=9", "flow.bulk.to=d[0]"]));
    let edges = loaded.scenario.links.iter().filter(|link| link.name.starts_with("s["));
    let lines: Vec<&str> = edges.map(|link| link.name.as_str()).collect();
    assert_snapshot!(lines.join(" "), @"s[0]->e[0] s[1]->e[0] s[2]->e[0] s[3]->e[0] s[4]->e[0] s[5]->e[1] s[6]->e[1] s[7]->e[1] s[8]->e[1]");
}

#[test]
fn nearly_one_by_one_is_hardly_meant() {
    let warned = |count: u32| {
        let loaded = valid(overridden(&[&format!("node.s.count={count}")]));
        lines(Err(loaded.warnings))
            .lines()
            .filter(|line| line.contains("partner"))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(warned(5), @"111:6 flow.bulk.to: `s[*]` has 5 members and `d[*]` has 4: some have one partner, some two (give both the same number to join them one by one)");
    assert_snapshot!(warned(7), @"111:6 flow.bulk.to: `s[*]` has 7 members and `d[*]` has 4: some have one partner, some two (give both the same number to join them one by one)");
    // ten at two edges and at four servers: somebody counted on groups
    assert_snapshot!(warned(10), @"");
    assert_snapshot!(warned(3), @r"
    24:17 link.s-e.ends[1]: `s[*]` has 3 members and `e[*]` has 2: some have one partner, some two (give both the same number to join them one by one)
    111:6 flow.bulk.to: `s[*]` has 3 members and `d[*]` has 4: some have one partner, some two (give both the same number to join them one by one)
    ");
}

#[test]
fn slices_in_links_ports_and_conditioners() {
    let two = |text: &str| text.replace("e[*]", "e[0..2]").replace("s[*]", "s[0..4]");
    let changes = [
        "ends = [\"s[*]\", \"e[*]\"]",
        "ends = [\"e[*]\", \"r2\"]",
        "at = \"e[*]\"\nfrom = \"s[*]\"",
        "at = \"e[*]\"\nto = \"r2\"",
    ];
    let written: Vec<(&str, String)> = changes.iter().map(|old| (*old, two(old))).collect();
    let written: Vec<(&str, &str)> = written.iter().map(|(old, new)| (*old, new.as_str())).collect();
    let (sliced, each) = (valid(domain(&written)), valid(domain(&[])));
    assert_eq!(format!("{:?}", sliced.scenario), format!("{:?}", each.scenario));
    // a path has the slice as it is written
    let overrides: Vec<String> = [
        "port.e[0..2]-r2.class.rest.queue.limit=7p",
        "link.e[0..2]-r2.rate.e[0..2]->r2=4Mbit/s",
        "port.s[0..4]-e[0..2].class.all.queue.limit=9p",
    ]
    .map(str::to_owned)
    .to_vec();
    let text =
        written.iter().fold(crate::common::DOMAIN.to_owned(), |text, (old, new)| text.replacen(old, new, 1));
    let loaded = valid(perhop_scenario::load(text.as_bytes(), "test.toml", &overrides));
    let link = |name: &str| loaded.scenario.links.iter().find(|link| link.name == name).expect("a link");
    assert_snapshot!(format!("{} {}", link("e[1]->r2").rate.bits_per_sec(), link("e[1]->r2").port.classes[1].queue.limit()), @"4000000 7p");
    assert_snapshot!(format!("{} {}", link("r2->e[1]").rate.bits_per_sec(), link("s[3]->e[1]").port.classes[0].queue.limit()), @"10000000 9p");
}

#[test]
fn one_member_goes_before_a_slice_before_each() {
    let port = |at: &str, limit: &str| {
        format!(
            "\n[[port]]\nat = \"{at}\"\nto = \"r\"\n[[port.class]]\nname = \"all\"\nqueue = {{ kind = \"fifo\", limit = \"{limit}\" }}\n"
        )
    };
    let ports = [port("s[*]", "1p"), port("s[0..2]", "2p"), port("s[0]", "3p")].concat();
    let loaded = valid(changed(&[("[[flow]]", &format!("{ports}[[flow]]"))]));
    let limits = loaded.scenario.links.iter().filter(|link| link.name.ends_with("->r"));
    let limits: Vec<String> = limits.map(|link| link.port.classes[0].queue.limit().to_string()).collect();
    assert_snapshot!(limits.join(" "), @"3p 2p 1p 1000p 1000p 1000p");
    let twice = [port("s[0..2]", "1p"), port("s[1..3]", "2p")].concat();
    assert_snapshot!(lines(changed(&[("[[flow]]", &format!("{twice}[[flow]]"))])), @"53:6 port.s[1..3]-r.at: `s[1]->r` already has a port, in line 45");
}

#[test]
fn a_group_of_one_has_one_member() {
    let one =
        [("name = \"s\"\ncount = 3", "name = \"s\"\ncount = 1"), (FROM, "from = \"s[1]\"\nto = \"d[0]\"")];
    assert_snapshot!(lines(changed(&one)), @"51:8 flow.bulk.from: `s[1]` does not exist: `s` has 1 member (the last member is `s[0]`)");
}

#[test]
fn what_is_no_slice() {
    assert_snapshot!(bulk("s[2..2]", "d[0]"), @"51:8 flow.bulk.from: `[2..2]` is empty: a slice ends before its second number (`s[2]` is one member)");
    assert_snapshot!(bulk("s[3..1]", "d[0]"), @"51:8 flow.bulk.from: `[3..1]` runs backwards (`s[1..3]` begins with `s[1]`)");
    assert_snapshot!(bulk("s[1..4]", "d[0]"), @"51:8 flow.bulk.from: `s[1..4]` does not exist: `s` has 3 members (the last member is `s[2]`)");
    assert_snapshot!(bulk("s[1..]", "d[0]"), @"51:8 flow.bulk.from: `[1..]` is neither one member nor several of them (write `s`, `s[0]`, `s[0..2]` or `s[*]`)");
    assert_snapshot!(bulk("s[0...2]", "d[0]"), @"51:8 flow.bulk.from: `[0...2]` is neither one member nor several of them (write `s`, `s[0]`, `s[0..2]` or `s[*]`)");
    assert_snapshot!(bulk("s[-1..2]", "d[0]"), @"51:8 flow.bulk.from: `[-1..2]` is neither one member nor several of them (write `s`, `s[0]`, `s[0..2]` or `s[*]`)");
    assert_snapshot!(bulk("s[0..9999999999]", "d[0]"), @"51:8 flow.bulk.from: `[0..9999999999]` is neither one member nor several of them (write `s`, `s[0]`, `s[0..2]` or `s[*]`)");
    assert_snapshot!(bulk("slow[0..1]", "d[0]"), @"51:8 flow.bulk.from: `slow` is a single node without a count (write `slow`, or give the node a count)");
    let found = changed(&[(FROM, "from = \"s[1..4]\"\nto = \"d[0]\"")]);
    assert_snapshot!(render(&found.expect_err("a mistake")[0], false), @r#"
     × flow.bulk.from: `s[1..4]` does not exist: `s` has 3 members
       ╭─[test.toml:51:8]
    50 │ name = "bulk"
    51 │ from = "s[1..4]"
       ·        ─────────
    52 │ to = "d[0]"
       ╰────
     help: the last member is `s[2]`
    "#);
}
