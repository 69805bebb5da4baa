//! Campaign files: their shape, and remarks about what is in them.

use perhop_scenario::campaign::{File, Remark, remark_on};
use perhop_scenario::{Step, render};
use proptest::prelude::*;

const FILE: &str = r#"
scenario = "two-way.toml"
set = ["run.duration=40s"]

[[factor]]
name = "window"
levels = { small = ["flow.up.tcp.window=16KiB"], large = [], "a b" = "x=1" }

[[factor]]
name = "share"
path = "port.slow-fast.scheduler.share"
levels = [0.2, 1, "half", true]

[[response]]
name = "upload"
measure = '''
mean(flows.goodput_bit_s where name = "é")'''
"#;

/// The mistakes of shape in a file.
fn mistakes(text: &str) -> Vec<String> {
    let line = |d: &perhop_scenario::Diagnostic| format!("{}:{} {d}", d.line, d.column);
    match File::read_campaign(text.as_bytes(), "c.toml") {
        Ok(_) => Vec::new(),
        Err(found) => found.iter().map(line).collect(),
    }
}

fn remark(at: Vec<Step>, within: Option<std::ops::Range<usize>>) -> Remark {
    Remark { at, within, is_of_key: false, rule: "rule".to_owned(), hint: None, is_warning: false }
}

#[test]
fn what_is_written_keeps_its_order() {
    let json = File::read_campaign(FILE.as_bytes(), "c.toml").expect("valid").json();
    assert!(json.contains(r#""small":["flow.up.tcp.window=16KiB"],"large":[],"a b":"x=1""#), "{json}");
    assert!(json.contains(r#""levels":[0.2,1,"half",true]"#), "{json}");
    assert!(json.starts_with(r#"{"scenario":"two-way.toml","set""#), "{json}");
}

#[test]
fn mistakes_of_shape_are_told_as_those_of_a_scenario() {
    assert_eq!(mistakes(FILE), [""; 0]);
    let wrong = FILE
        .replace("[[response]]", "replication = 3\nseeds = 1\n[[respones]]")
        .replace("small = [", "small = [3, ");
    let found = mistakes(&wrong);
    assert_eq!(found[0], "7:21 factor.window.levels.small[0]: must be a string, not an integer");
    assert!(found.iter().any(|one| one.contains("there is no setting `respones` here")), "{found:?}");
    assert_eq!(
        mistakes("scenario = ''\nreplications = 0\nfactor = [{ name = \"\", levels = [] }]\n"),
        [
            "1:12 scenario: must not be empty",
            "2:16 replications: 0 is below 1, the least allowed",
            "3:20 factor..name: must not be empty",
        ]
    );
    assert!(mistakes("")[0].contains("is empty"));
}

#[test]
fn a_remark_points_at_its_characters() {
    let campaign = File::read_campaign(FILE.as_bytes(), "c.toml").expect("valid");
    let measure = || vec![Step::from("response"), Step::from(0), Step::from("measure")];
    let within = campaign.text(&measure()).and_then(|text| text.find("é")).expect("it is there");
    let remarks = vec![
        remark(measure(), Some(within..within + 2)),
        remark(vec![Step::from("stop"), Step::from("most")], None),
        Remark { is_warning: true, ..remark(vec![Step::from("factor"), Step::from(1)], None) },
    ];
    let found = campaign.diagnostics(remarks);
    let places: Vec<_> =
        found.iter().map(|d| (d.line, d.column, d.path.as_str(), d.value.as_str())).collect();
    assert_eq!(places[2], (17, 40, "response.upload.measure", "é"));
    assert_eq!((places[1].0, places[1].2), (9, "factor.share"));
    assert_eq!(places[0].2, "stop.most");
    let of_key = Remark { is_of_key: true, ..remark(measure(), None) };
    let keyed = &campaign.diagnostics(vec![of_key])[0];
    assert_eq!((keyed.line, keyed.column), (16, 1), "at the key");
    assert!(render(&found[1], false).contains("⚠ factor.share: rule"));
}

#[test]
fn a_text_with_escapes_is_pointed_at_as_a_whole() {
    let file = FILE.replace("'''\nmean(flows.goodput_bit_s where name = \"é\")'''", r#""mean(\"x\")""#);
    let campaign = File::read_campaign(file.as_bytes(), "c.toml").expect("valid");
    let at = vec![Step::from("response"), Step::from(0), Step::from("measure")];
    assert_eq!(campaign.diagnostics(vec![remark(at, Some(5..6))])[0].column, 11);
}

#[test]
fn after_a_hundred_remarks_the_rest_is_counted() {
    let campaign = File::read_campaign(FILE.as_bytes(), "c.toml").expect("valid");
    let many = (0..250).map(|i| Remark { rule: format!("rule {i}"), ..remark(Vec::new(), None) }).collect();
    let found = campaign.diagnostics(many);
    assert_eq!((found.len(), found[100].count), (101, 150));
}

#[test]
fn a_remark_on_a_text_may_point_anywhere() {
    for span in [0..0, 3..3, 0..3, 2..100, 100..200] {
        let found = remark_on("a\nbé", "x", span, "rule".to_owned(), Some("hint".to_owned()));
        assert!(render(&found, false).contains("rule"));
    }
}

proptest! {
    #[test]
    fn no_text_panics_and_what_is_read_is_told_as_json(
        at in 0..FILE.len(),
        cut in 0..40_usize,
        put in r#"[\[\]{}=,"'\n a-z0-9é.-]{0,12}"#,
    ) {
        let (start, end) = (FILE.floor_char_boundary(at), FILE.floor_char_boundary(at + cut));
        let text = format!("{}{put}{}", &FILE[..start], &FILE[end..]);
        match File::read_campaign(text.as_bytes(), "c.toml") {
            Ok(campaign) => {
                let json: serde_json::Value = serde_json::from_str(&campaign.json()).expect("JSON");
                prop_assert!(json["scenario"].is_string());
            }
            Err(found) => prop_assert!(found.iter().all(|one| !render(one, false).is_empty())),
        }
    }
}
