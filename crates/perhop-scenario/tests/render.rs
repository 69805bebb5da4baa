//! What people see: the whole text of a diagnostic, and the fields a program reads.

mod common;

use common::{BASE, changed, lines};
use insta::assert_snapshot;
use perhop_scenario::{Diagnostic, LARGEST_FILE, Loaded, load, render};

fn all(result: Result<Loaded, Vec<Diagnostic>>) -> String {
    let found = result.expect_err("the scenario has a mistake");
    found.iter().map(|d| render(d, false)).collect::<Vec<_>>().join("\n")
}

fn bytes(source: &[u8]) -> String {
    all(load(source, "test.toml", &[]))
}

#[test]
fn a_missing_unit_points_at_the_value() {
    assert_snapshot!(all(changed(&[(r#"duration = "60s""#, "duration = 60")])), @"");
}

#[test]
fn a_misspelt_key_points_at_the_key() {
    assert_snapshot!(all(changed(&[("window =", "windw =")])), @"");
    assert_snapshot!(all(changed(&[("limit =", "limits =")])), @"");
}

#[test]
fn a_misspelt_word() {
    assert_snapshot!(all(changed(&[(r#"kind = "paired-counter""#, r#"kind = "paired-couter""#)])), @"");
    assert_snapshot!(all(changed(&[(r#"kind = "fifo", "#, "")])), @"");
    assert_snapshot!(all(changed(&[(r#"{ kind = "fifo", limit = "64kB" }"#, r#""fifo""#)])), @"");
}

#[test]
fn all_mistakes_of_every_sort_in_one_pass() {
    let text = changed(&[
        (r#"duration = "60s""#, "duration = 60\nwarmup = \"90s\"\ncolour = 1"),
        (r#"name = "fast""#, "name = \"fast\"\nkind = \"hots\""),
        (r#"rate = "15Mbit/s""#, r#"rate = "15mbps""#),
        (r#"limit = "64kB""#, r#"limit = "0p""#),
        (r#"window = "64KiB""#, r#"window = "1kB""#),
        (r#"to = "d[*]""#, r#"to = "e[*]""#),
    ]);
    assert_snapshot!(lines(text), @"");
}

#[test]
fn what_was_refused_is_not_refused_again() {
    // The count is not known, so nothing can be said of the pairs.
    assert_snapshot!(lines(changed(&[("count = 3", "count = \"three\"")])), @"");
    // Nor of the order of two times if one of them is not a time.
    assert_snapshot!(lines(changed(&[(r#"window = "64KiB""#, r#"min_rto = "90s", max_rto = 60"#)])), @"");
}

#[test]
fn an_override_is_shown_as_it_was_given() {
    let overrides = ["run.duration=60", "flow.up.tcp.windw=64KiB", "link.slow-fats.delay=1ms", "run.seed"];
    assert_snapshot!(all(load(BASE.as_bytes(), "test.toml", &overrides.map(str::to_owned))), @"");
}

#[test]
fn fields_for_programs() {
    let found = changed(&[(r#"rate = "15Mbit/s""#, r#"rate = "15 Mb""#)]).expect_err("a mistake");
    let d = &found[0];
    assert_eq!((d.path.as_str(), d.line, d.column, d.value.as_str()), ("link.s-r.rate", 25, 8, "15 Mb"));
    assert_eq!(d.rule, "`Mb` is not a unit of rate");
    assert_eq!(d.hint.as_deref(), Some("did you mean `15Mbit/s` or `15MB/s`?"));
    assert_eq!(d.to_string(), "link.s-r.rate: `Mb` is not a unit of rate");
}

#[test]
fn columns_count_characters() {
    let found = changed(&[(r#"from = "slow""#, r#"from = "slow", ßßß = 1"#)]).expect_err("not TOML");
    assert_eq!((found[0].line, found.len()), (46, 1));
    let found = changed(&[(r#"tcp = { window = "64KiB" }"#, r#"tcp = { "µµ" = 1, windw = 1 }"#)]);
    assert_snapshot!(lines(found), @"");
}

#[test]
fn not_a_scenario_at_all() {
    assert_snapshot!(bytes(b""), @"");
    assert_snapshot!(bytes(b" \n\t\n"), @"");
    assert_snapshot!(bytes(b"[run]\nduration = \"1s\xe4\""), @"");
    assert_snapshot!(bytes(&vec![b' '; LARGEST_FILE + 1]), @"");
    assert_snapshot!(bytes(b"[run]\nduration = 1 s\n[[node]\nname = 'a'"), @"");
    assert_snapshot!(bytes("this is prose\n".repeat(100).as_bytes()), @"");
    assert_snapshot!(bytes(b"[run]\nseed = 1\nseed = 2"), @"");
    assert_snapshot!(bytes(b"[run]\nseed = 99999999999999999999"), @"");
    assert_snapshot!(bytes(format!("a = {}{}", "[".repeat(1000), "]".repeat(1000)).as_bytes()), @"");
}

#[test]
fn a_very_long_line_is_clipped() {
    let text = format!("run = {{ duration = \"1s\", seed = \"{}\" }}", "x".repeat(100_000));
    assert!(bytes(text.as_bytes()).len() < 10_000);
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let found = changed(&[(r#"duration = "60s""#, "duration = 60")]).expect_err("a mistake");
    assert!(render(&found[0], true).contains('\u{1b}'));
    assert!(!render(&found[0], false).contains('\u{1b}'));
}
