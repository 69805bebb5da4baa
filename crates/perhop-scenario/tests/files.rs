//! Files that a scenario names, and traces of rates in them.

use crate::common::{BASE, lines};
use insta::assert_snapshot;
use perhop_core::rate_trace::RateTrace;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};
use perhop_scenario::elements::NoElements;
use perhop_scenario::{Diagnostic, FileName, Files, Loaded, NamedFile, load, load_with};

/// One file, called `a/lte.trace`.
struct One<'a>(&'a [u8]);

impl Files for One<'_> {
    fn read(&self, name: &FileName) -> Result<NamedFile, String> {
        if name.as_str() != "a/lte.trace" {
            return Err("cannot be read: No such file or directory".to_owned());
        }
        // a hash is a matter of who reads
        Ok(NamedFile { bytes: self.0.into(), sha256: format!("{:064x}", self.0.len()) })
    }
}

const RATE: &str = r#"rate = { "slow->fast" = "100kbit/s", "fast->slow" = "5Mbit/s" }"#;

/// [`BASE`] with `settings` in place of the rates of its first link, where `file` is at hand.
fn with(file: &str, settings: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let text = BASE.replacen(RATE, settings, 1);
    load_with(text.as_bytes(), "test.toml", &[], &NoElements, &One(file.as_bytes()))
}

const TRACED: &str = r#"rate = { "slow->fast" = "100kbit/s", "fast->slow" = "trace:a/lte.trace" }"#;

/// What is wrong with a trace.
fn wrong(file: &str) -> String {
    let message = lines(with(file, TRACED));
    let start = "21:53 link.slow-fast.rate.fast->slow: `a/lte.trace` ";
    let hint =
        " (one time in ms a line, as for mahimahi; or lines `time_s,rate_bit_s` after such a first line)";
    let message = message.strip_prefix(start).and_then(|message| message.strip_suffix(hint));
    message.unwrap_or_else(|| panic!("{}", lines(with(file, TRACED)))).to_owned()
}

#[test]
fn a_trace_of_mahimahi() {
    let loaded = with("0\n2\n2\n5\n", TRACED).unwrap_or_else(|found| panic!("{}", lines(Err(found))));
    let [there, back] = &loaded.scenario.links[..2] else { panic!("two directions") };
    assert_eq!((there.rate.bits_per_sec(), there.trace.is_none()), (100_000, true));
    // 4 of 12000 bits in 5 ms
    assert_eq!(back.rate.bits_per_sec(), 9_600_000);
    let times = [0, 2, 2, 5].map(Span::from_millis);
    assert_eq!(
        back.trace.as_ref().map(|(_, trace)| &**trace),
        RateTrace::opportunities(&times, Bytes(1500)).as_ref().ok()
    );
}

#[test]
fn a_trace_of_rates() {
    let of = |file: &str| {
        let loaded = with(file, r#"rate = "trace:a/lte.trace""#);
        let links = loaded.unwrap_or_else(|found| panic!("{}", lines(Err(found)))).scenario.links;
        assert_eq!(links[0].trace, links[1].trace);
        (links[0].rate, links[0].trace.as_ref().map(|(_, trace)| (**trace).clone()))
    };
    let steps = |steps: &[(u64, u64)], period: Option<u64>| {
        let steps: Vec<_> = steps.iter().map(|&(ms, rate)| (Span::from_millis(ms), rate)).collect();
        RateTrace::steps(&steps, period.map(Span::from_millis)).ok()
    };
    // the run lasts 60 s
    let mean = BitRate::new((1_500_000 + 500_000 * 117 / 2) / 60).expect("a rate");
    assert_eq!(
        of("time_s,rate_bit_s\n0,1000000\n1.5, 500000.0\n"),
        (mean, steps(&[(0, 1_000_000), (1500, 500_000)], None))
    );
    let repeated = of("time_s,rate_bit_s\r\n0,3000000\r\n1,0\r\n3,repeat\r\n");
    assert_eq!(
        repeated,
        (
            BitRate::new(1_000_000).expect("a rate"),
            steps(&[(0, 3_000_000), (1, 0)].map(|(s, rate)| (s * 1000, rate)), Some(3000))
        )
    );
}

#[test]
fn what_is_no_trace_is_told_with_its_line() {
    let csv = |lines: &str| wrong(&format!("time_s,rate_bit_s\n{lines}"));
    let all = [
        wrong(""),
        wrong("0\n"),
        wrong("1\n\n2\n"),
        wrong("3\n2\n"),
        wrong("1.5\n"),
        wrong("-1\n"),
        wrong("99999999999999\n"),
        wrong("time,rate\n0,1\n"),
        csv(""),
        csv("0,5Mbit/s\n"),
        csv("0;5\n"),
        csv("1,5\n"),
        csv("0,5\n0,6\n"),
        csv("0,5\nx,6\n"),
        csv("0,0.5\n"),
        csv("0,5\n3,repeat\n4,6\n"),
        csv("0,5\n3,0\n"),
        csv("0,0\n3,repeat\n"),
        csv("0,repeat\n"),
    ];
    assert_snapshot!(all.join("\n"));
    let message = lines(load_with(
        BASE.replacen(RATE, TRACED, 1).as_bytes(),
        "test.toml",
        &[],
        &NoElements,
        &One(b"1\n2\n\xff\n"),
    ));
    assert!(message.contains("is not text: line 3 is not UTF-8"), "{message}");
}

#[test]
fn a_name_stays_in_the_folder() {
    let named = |name: &str| lines(with("1\n", &format!(r#"rate = "trace:{name}""#)));
    let all = ["", "/etc/hostname", "../a", "a/../b", "a//b", "./a", "a\\tb", "missing.trace"].map(named);
    assert_snapshot!(all.join("\n"));
    assert_snapshot!(lines(load(BASE.replacen(RATE, TRACED, 1).as_bytes(), "test.toml", &[])), @"21:53 link.slow-fast.rate.fast->slow: `a/lte.trace` cannot be read: this scenario came as text, without a folder (the path begins at the folder of the scenario)");
}

#[test]
fn a_resolved_scenario_has_the_hashes_of_its_files() {
    let loaded = with("0\n5\n", TRACED).expect("a trace");
    let text = loaded.resolved_toml();
    let pin = format!("[files]\n\"a/lte.trace\" = \"{:064x}\"\n", 4);
    assert!(text.ends_with(&pin), "{text}");
    let again = |text: &str, file: &[u8]| load_with(text.as_bytes(), "r.toml", &[], &NoElements, &One(file));
    let same = again(&text, b"0\n5\n").expect("the same");
    assert_eq!((same.resolved_toml(), same.files.len()), (text.clone(), 1));
    let other = with("0\n5\n6\n", TRACED).expect("a trace");
    assert_ne!(other.treatment_toml(), loaded.treatment_toml());
    let message = lines(again(&text, b"0\n5\n6\n"));
    assert!(message.contains("files.a/lte.trace: `a/lte.trace` has the SHA-256 00000"), "{message}");
    let unused = again(&text.replace("trace:a/lte.trace", "1Mbit/s"), b"0\n5\n").expect("valid");
    let warnings: Vec<String> = unused.warnings.iter().map(ToString::to_string).collect();
    assert_eq!(warnings, ["files.a/lte.trace: nothing in the scenario names `a/lte.trace`"]);
    assert!(!unused.resolved_toml().contains("[files]"));
}
