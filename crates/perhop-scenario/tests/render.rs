//! What people see: the whole text of a diagnostic, and the fields a program reads.

use crate::common::{BASE, changed, lines};
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
    assert_snapshot!(all(changed(&[(r#"duration = "60s""#, "duration = 60")])), @r#"
     × run.duration: a time needs a unit; a bare number has none
      ╭─[test.toml:3:12]
    2 │ [run]
    3 │ duration = 60
      ·            ──
    4 │ 
      ╰────
     help: write the unit: "60s" or "60ms"
    "#);
}

#[test]
fn a_misspelt_key_points_at_the_key() {
    assert_snapshot!(all(changed(&[("window =", "windw =")])), @r#"
     × flow.up.tcp.windw: there is no setting `windw` here
       ╭─[test.toml:48:9]
    47 │ to = "fast"
    48 │ tcp = { windw = "64KiB" }
       ·         ─────
    49 │ [[flow]]
       ╰────
     help: did you mean `window`?
    "#);
    assert_snapshot!(all(changed(&[("limit =", "limits =")])), @r#"
     × port.slow-fast.class.data.queue.limits: there is no setting `limits` here
       ╭─[test.toml:42:26]
    41 │ match = ["data"]
    42 │ queue = { kind = "fifo", limits = "64kB" }
       ·                          ──────
    43 │ 
       ╰────
     help: did you mean `limit`?
    "#);
}

#[test]
fn a_misspelt_word() {
    assert_snapshot!(all(changed(&[(r#"kind = "paired-counter""#, r#"kind = "paired-couter""#)])), @r#"
     × port.slow-fast.scheduler.kind: `paired-couter` is not one of "strict-priority", "paired-counter", "wrr", "drr", "wfq", "cbq", "htb", "python"
       ╭─[test.toml:34:22]
    33 │ to = "fast"
    34 │ scheduler = { kind = "paired-couter", data = "data", share = 0.5 }
       ·                      ───────────────
    35 │ backpressure = 1
       ╰────
     help: did you mean `paired-counter`?
    "#);
    assert_snapshot!(all(changed(&[(r#"kind = "fifo", "#, "")])), @r#"
     × port.slow-fast.class.data.queue.kind: `kind` is missing
       ╭─[test.toml:42:9]
    41 │ match = ["data"]
    42 │ queue = { limit = "64kB" }
       ·         ──────────────────
    43 │ 
       ╰────
     help: `kind` is one of "fifo", "red", "rio", "gred", "codel", "cobalt", "fq", "pie", "docsis-pie", "dualpi2", "cake", "custom", "python"
    "#);
    assert_snapshot!(all(changed(&[(r#"{ kind = "fifo", limit = "64kB" }"#, r#""fifo""#)])), @r#"
     × port.slow-fast.class.data.queue: must be a table, not a string
       ╭─[test.toml:42:9]
    41 │ match = ["data"]
    42 │ queue = "fifo"
       ·         ──────
    43 │ 
       ╰────
     help: write a table, as in `{ kind = "fifo" }`
    "#);
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
    assert_snapshot!(lines(text), @r#"
    3:12 run.duration: a time needs a unit; a bare number has none (write the unit: "60s" or "60ms")
    5:1 run.colour: there is no setting `colour` here (known here: seed, replication, duration, warmup, interval, processing_jitter, packet_size, clock, endpoint, series)
    11:8 node.fast.kind: `hots` is not one of "host", "router" (did you mean `host`?)
    28:8 link.s-r.rate: `mbps` is not a unit for a rate (did you mean `15Mbit/s`?)
    45:34 port.slow-fast.class.data.queue.limit: a queue of 0 drops every packet (write at least `1p`)
    51:18 flow.up.tcp.window: window (1kB) must hold at least one segment of mss (1460B, the default)
    55:6 flow.bulk.to: there is no node `e` (did you mean `d`?)
    "#);
}

#[test]
fn what_was_refused_is_not_refused_again() {
    // The count is not known, so nothing can be said of the pairs.
    assert_snapshot!(lines(changed(&[("count = 3", "count = \"three\"")])), @"14:9 node.s.count: must be an integer, not a string");
    // Nor of the order of two times if one of them is not a time.
    assert_snapshot!(lines(changed(&[(r#"window = "64KiB""#, r#"min_rto = "90s", max_rto = 60"#)])), @r#"48:36 flow.up.tcp.max_rto: a time needs a unit; a bare number has none (write the unit: "60s" or "60ms")"#);
}

#[test]
fn an_override_is_shown_as_it_was_given() {
    let overrides = ["run.duration=60", "flow.up.tcp.windw=64KiB", "link.slow-fats.delay=1ms", "run.seed"];
    assert_snapshot!(all(load(BASE.as_bytes(), "test.toml", &overrides.map(str::to_owned))), @r#"
     × run.duration: a time needs a unit; a bare number has none
      ╭─[-s run.duration=60:1:14]
    1 │ run.duration=60
      ·              ──
      ╰────
     help: write the unit: "60s" or "60ms"

     × flow.up.tcp.windw: there is no setting `windw` here
      ╭─[-s flow.up.tcp.windw=64KiB:1:1]
    1 │ flow.up.tcp.windw=64KiB
      · ─────────────────
      ╰────
     help: did you mean `window`?

     × link.slow-fats.delay: the file has no link `slow-fats`
      ╭─[-s link.slow-fats.delay=1ms:1:1]
    1 │ link.slow-fats.delay=1ms
      · ────────────────────
      ╰────
     help: did you mean `slow-fast`?

     × run.seed: an override is path=value
      ╭─[-s run.seed:1:1]
    1 │ run.seed
      · ────────
      ╰────
     help: write path=value, as in `run.duration=60s` or `flow.up.tcp.window=64KiB`
    "#);
}

#[test]
fn fields_for_programs() {
    let found = changed(&[(r#"rate = "15Mbit/s""#, r#"rate = "15 Mb""#)]).expect_err("a mistake");
    let d = &found[0];
    assert_eq!((d.path.as_str(), d.line, d.column, d.value.as_str()), ("link.s-r.rate", 25, 8, "15 Mb"));
    assert_eq!(d.rule, "`Mb` is not a unit for a rate");
    assert_eq!(d.hint.as_deref(), Some("did you mean `15Mbit/s` or `15MB/s`?"));
    assert_eq!(d.to_string(), "link.s-r.rate: `Mb` is not a unit for a rate");
}

#[test]
fn columns_count_characters() {
    let found = changed(&[(r#"from = "slow""#, r#"from = "slow", ßßß = 1"#)]).expect_err("not TOML");
    assert_eq!((found[0].line, found.len()), (46, 1));
    let found = changed(&[(r#"tcp = { window = "64KiB" }"#, r#"tcp = { "µµ" = 1, windw = 1 }"#)]);
    assert_snapshot!(lines(found), @r"
    48:9 flow.up.tcp.µµ: there is no setting `µµ` here
    48:19 flow.up.tcp.windw: there is no setting `windw` here (did you mean `window`?)
    ");
}

#[test]
fn not_a_scenario_at_all() {
    assert_snapshot!(bytes(b""), @r"
    × test.toml is empty
    help: `perhop init` writes a scenario to start from
    ");
    assert_snapshot!(bytes(b" \n\t\n"), @r"
    × test.toml is empty
    help: `perhop init` writes a scenario to start from
    ");
    assert_snapshot!(bytes(b"[run]\nduration = \"1s\xe4\""), @r#"
     × test.toml is not UTF-8: byte 20 (counted from 0) is 0xe4
      ╭─[test.toml:2:15]
    1 │ [run]
    2 │ duration = "1s�"
      ·               ▲
      ╰────
     help: save the file as UTF-8 text
    "#);
    assert_snapshot!(bytes(&vec![b' '; LARGEST_FILE + 1]), @r"
    × test.toml has more than 16 MiB, the most that a scenario may have
    help: use `count` and `[*]` instead of listing nodes
    ");
}

#[test]
fn not_toml() {
    assert_snapshot!(bytes(b"[run]\nduration = 1 s\n[[node]\nname = 'a'"), @r"
     × not TOML: string values must be quoted, expected literal string
      ╭─[test.toml:2:12]
    1 │ [run]
    2 │ duration = 1 s
      ·            ───
    3 │ [[node]
      ╰────

     × not TOML: unclosed array table, expected `]`
      ╭─[test.toml:3:8]
    2 │ duration = 1 s
    3 │ [[node]
      ·        ▲
    4 │ name = 'a'
      ╰────
    ");
    assert_snapshot!(bytes("this is prose\n".repeat(100).as_bytes()), @r"
     × not TOML: key with no value, expected `=`; 99 more lines are not TOML either
      ╭─[test.toml:1:6]
    1 │ this is prose
      ·      ▲
    2 │ this is prose
      ╰────
    ");
    assert_snapshot!(bytes(b"[run]\nseed = 1\nseed = 2"), @r"
     × `seed` is set twice
      ╭─[test.toml:3:1]
    2 │ seed = 1
    3 │ seed = 2
      · ────
      ╰────
     help: leave one of the two out
    ");
    assert_snapshot!(bytes(b"[run]\nseed = 99999999999999999999"), @r"
     × `99999999999999999999` does not fit in a TOML integer (64 bits)
      ╭─[test.toml:2:8]
    1 │ [run]
    2 │ seed = 99999999999999999999
      ·        ────────────────────
      ╰────
    ");
    let deep = format!("a = {}{}", "[".repeat(1000), "]".repeat(1000));
    assert!(bytes(deep.as_bytes()).contains("not TOML: cannot recurse further"));
}

#[test]
fn a_very_long_line_is_clipped() {
    let text = format!("run = {{ duration = \"1s\", seed = \"{}\" }}", "x".repeat(100_000));
    assert!(bytes(text.as_bytes()).len() < 10_000);
}

#[test]
fn control_characters_reach_no_terminal() {
    let text = all(load(b"a\x1b[31m\x07\x7f\xc2\x9b = 1", "test.toml", &["run.\x1bx=1".to_owned()]));
    assert!(text.contains("a␛[31m␇␡\u{fffd}"), "{text}");
    assert!(text.chars().all(|c| c == '\n' || !c.is_control()), "{text:?}");
}

#[test]
fn colour_is_only_where_it_is_asked_for() {
    let found = changed(&[(r#"duration = "60s""#, "duration = 60")]).expect_err("a mistake");
    assert!(render(&found[0], true).contains('\u{1b}'));
    assert!(!render(&found[0], false).contains('\u{1b}'));
}
