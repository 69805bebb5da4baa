//! Ports for both directions of a link.

use crate::common::{DOMAIN, lines, valid};
use insta::assert_snapshot;
use perhop_scenario::{Diagnostic, Loaded, load, render};

const CLASSES: &str = r#"
scheduler = { kind = "cbq" }
[[port.class]]
name = "ef"
match = ["EF"]
share = 0.5
[[port.class]]
name = "rest"
share = 0.5
queue = { kind = "rio", limit = "88p", green = { min_th = "55p", max_th = "65p", max_p = 0.05 }, red = { min_th = "20p", max_th = "50p", max_p = 0.1 } }
"#;

/// The domain with `ports`, each with [`CLASSES`], in place of its own.
fn with(ports: &[&str], overrides: &[&str]) -> Result<Loaded, Vec<Diagnostic>> {
    let (first, last) = (DOMAIN.find("[[port]]"), DOMAIN.find("[[flow]]"));
    let (first, last) = (first.expect("ports"), last.expect("flows"));
    let ports: String = ports.iter().map(|port| format!("[[port]]\n{port}{CLASSES}")).collect();
    let text = [&DOMAIN[..first], &ports, &DOMAIN[last..]].concat();
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    load(text.as_bytes(), "test.toml", &overrides)
}

const BETWEEN: &str = r#"between = ["e[*]", "r2"]"#;

#[test]
fn both_directions_have_the_same_port_each_its_own() {
    let both = valid(with(&[BETWEEN], &[]));
    let one_by_one = ["at = \"e[*]\"\nto = \"r2\"", "at = \"r2\"\nto = \"e[*]\""];
    let written_out = valid(with(&one_by_one, &[]));
    assert_eq!(format!("{:?}", both.scenario), format!("{:?}", written_out.scenario));
    let resolved = both.resolved_toml();
    assert!(
        resolved.contains("between = [\n    \"e[*]\",\n    \"r2\",\n]") || resolved.contains(BETWEEN),
        "{resolved}"
    );
    let again = valid(load(resolved.as_bytes(), "resolved.toml", &[]));
    assert_eq!(format!("{:?}", again.scenario), format!("{:?}", both.scenario));
}

#[test]
fn an_override_names_both_directions_once() {
    let loaded = valid(with(&[BETWEEN], &["port.e-r2.class.rest.queue.green.max_p=0.2"]));
    let paths = loaded.scenario.links.iter().filter(|link| format!("{:?}", link.port).contains("max_p: 0.2"));
    assert_snapshot!(paths.map(|link| link.port.path.as_str()).collect::<Vec<_>>().join("\n"), @r"
    port.e[0]-r2
    port.r2-e[0]
    port.e[1]-r2
    port.r2-e[1]
    ");
    assert_snapshot!(lines(with(&[BETWEEN], &["port.r2-e.class.rest.share=0.2"])), @"1:1 port.r2-e.class.rest.share: the port `e-r2` is for both directions (write `port.e-r2`)");
    assert_snapshot!(lines(with(&[BETWEEN], &["port.r2-e.class.all.queue.limit=9p"])), @"1:1 port.r2-e.class.all.queue.limit: the port `e-r2` is for both directions (write `port.e-r2`)");
}

#[test]
fn one_member_goes_before_both_directions() {
    let one = r#"at = "r2"
to = "e[1]""#;
    let overrides = ["port.r2-e[1].class.rest.queue.limit=99p"];
    let loaded = valid(with(&[BETWEEN, one], &overrides));
    let limits =
        loaded.scenario.links.iter().filter(|link| link.name.contains("r2") && link.name.contains('e'));
    let lines = limits.map(|link| format!("{} {}", link.name, link.port.classes[1].queue.limit()));
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r"
    e[0]->r2 88p
    r2->e[0] 88p
    e[1]->r2 88p
    r2->e[1] 99p
    ");
}

#[test]
fn what_is_said_of_ends() {
    let of = |port: &str| lines(with(&[port], &[]));
    assert_snapshot!(of(r#"at = "r2""#), @"59:1 port[0].to: `to` is missing (add `to = ...`, the receiving node; `between = [...]` is both directions of a link, `at` and `to` are one)");
    assert_snapshot!(of(""), @r"
    59:1 port[0].at: `at` is missing (add `at = ...`, the sending node; `between = [...]` is both directions of a link, `at` and `to` are one)
    59:1 port[0].to: `to` is missing (add `to = ...`, the receiving node; `between = [...]` is both directions of a link, `at` and `to` are one)
    ");
    assert_snapshot!(of(r#"between = ["e[*]", "r2"]
to = "r3""#), @"61:6 port.e-r2.to: `to` is given beside `between` (`between = [...]` is both directions of a link, `at` and `to` are one)");
    assert_snapshot!(of(r#"between = ["e[*]"]"#), @"60:11 port[0].between: needs exactly 2 entries, not 1 (instead of `at` and `to`: the two nodes of a link whose directions are to have the same settings; each has queues of its own.)");
    assert_snapshot!(of(r#"between = ["r3", "e[*]"]"#), @"60:18 port.r3-e.between[1]: no link leads from `r3` to `e[*]` (a port is one direction of a [[link]])");
    assert_snapshot!(of(r#"between = ["e[*]", "r9"]"#), @"60:20 port.e-r9.between[1]: there is no node `r9` (did you mean `r2`?)");
    assert_snapshot!(of("between = [\"s[*]\", \"e[*]\"]\nbackpressure = 1"), @"61:16 port.s-e.backpressure: `e[*]` is a router: backpressure is for hosts (it holds back the host's own connections; a router has none)");
    assert_snapshot!(of(r#"between = "e[*]""#), @r#"60:11 port[0].between: must be a list, not a string (write a list, as in ["slow"])"#);
    let twice = with(
        &[
            BETWEEN,
            r#"at = "r2"
to = "e[*]""#,
        ],
        &[],
    );
    assert_snapshot!(render(&twice.expect_err("two ports")[0], false), @r#"
     × port.r2-e.at: `r2->e[0]` already has a port, in line 59
       ╭─[test.toml:71:6]
    70 │ [[port]]
    71 │ at = "r2"
       ·      ────
    72 │ to = "e[*]"
       ╰────
    "#);
}
