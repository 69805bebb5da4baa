//! Labels of flows: what they mean, and what cannot be one.

use crate::common::{changed, lines, one, overridden, valid};
use insta::assert_snapshot;
use perhop_scenario::render;

const BULK: &str = "name = \"bulk\"";

/// What is said of the labels of the flow `bulk`.
fn labels(given: &str) -> String {
    one(BULK, &format!("{BULK}\nlabels = {given}"))
}

#[test]
fn labels_are_those_of_each_connection() {
    let more = ("name = \"up\"", "name = \"up\"\nlabels = { load = \"low\", arm = \"1\" }");
    let loaded = valid(changed(&[(BULK, "name = \"bulk\"\nlabels = { load = \"high\" }"), more]));
    let lines: Vec<String> =
        loaded.scenario.flows.iter().map(|flow| format!("{} {:?}", flow.name, flow.labels)).collect();
    assert_snapshot!(lines.join("\n"), @r#"
    up {"arm": "1", "load": "low"}
    bulk[0] {"load": "high"}
    bulk[1] {"load": "high"}
    bulk[2] {"load": "high"}
    "#);
    assert!(loaded.resolved_toml().contains("[flow.labels]\narm = \"1\"\nload = \"low\"\n"));
    assert!(!valid(changed(&[])).resolved_toml().contains("labels"));
    let udp = valid(overridden(&["udp.cbr.labels.load=high"]));
    assert_snapshot!(format!("{:?}", udp.scenario.udp[0].labels), @r#"{"load": "high"}"#);
}

#[test]
fn names_of_labels_are_names_of_columns() {
    assert_snapshot!(labels("{ class = \"a\" }"), @"109:12 flow.bulk.labels.class: `class` is a column that the tables of flows have already (choose another name)");
    assert_snapshot!(labels("{ goodput_bit_s = \"a\" }"), @"109:12 flow.bulk.labels.goodput_bit_s: `goodput_bit_s` is a column that the tables of flows have already (choose another name)");
    assert_snapshot!(labels("{ \"two words\" = \"a\" }"), @"109:12 flow.bulk.labels.two words: `two words` cannot be a label: it is to be the name of a column (begin with a letter; use letters, digits and `_`)");
    assert_snapshot!(labels("{ 2nd = \"a\" }"), @"109:12 flow.bulk.labels.2nd: `2nd` cannot be a label: it is to be the name of a column (begin with a letter; use letters, digits and `_`)");
    assert_snapshot!(labels("{ \"\" = \"a\" }"), @"109:12 flow.bulk.labels.: `` cannot be a label: it is to be the name of a column (begin with a letter; use letters, digits and `_`)");
    assert_snapshot!(labels(&format!("{{ {} = \"a\" }}", "a".repeat(65))), @"109:12 flow.bulk.labels.aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa: 65 characters: 64 are the most (choose a shorter one)");
    assert_snapshot!(lines(overridden(&["udp.cbr.labels.sent_packets=high"])), @"1:1 udp.cbr.labels.sent_packets: `sent_packets` is a column that the tables of flows have already (choose another name)");
    let many: Vec<String> = (0..17).map(|k| format!("l{k} = \"a\"")).collect();
    assert_snapshot!(labels(&format!("{{ {} }}", many.join(", "))), @"109:10 flow.bulk.labels: the flows have more than 16 labels, the most a scenario may have (use the same names)");
}

#[test]
fn values_of_labels_are_text() {
    assert_snapshot!(labels("{ load = 3 }"), @r#"109:19 flow.bulk.labels.load: must be a string, not an integer (write "3")"#);
    assert_snapshot!(labels("{ load = \"\" }"), @"109:19 flow.bulk.labels.load: the value of a label cannot be empty (leave the label out: a flow without it has none in the tables)");
    assert_snapshot!(labels(&format!("{{ load = \"{}\" }}", "a".repeat(65))), @"109:19 flow.bulk.labels.load: 65 characters: 64 are the most (choose a shorter one)");
    assert_snapshot!(labels("\"high\""), @"109:10 flow.bulk.labels: must be a table, not a string");
    assert_snapshot!(labels("{ load = \"two words, 3\" }"), @"no mistake");
}

#[test]
fn the_caret_is_at_the_name() {
    let found = changed(&[(BULK, "name = \"bulk\"\nlabels = { load = \"x\", to = \"y\" }")]);
    assert_snapshot!(render(&found.expect_err("a mistake")[0], false), @r#"
     × flow.bulk.labels.to: `to` is a column that the tables of flows have already
       ╭─[test.toml:51:24]
    50 │ name = "bulk"
    51 │ labels = { load = "x", to = "y" }
       ·                        ──
    52 │ from = "s[*]"
       ╰────
     help: choose another name
    "#);
}
