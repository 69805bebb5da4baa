//! Profiles: what they give, what wins over them, and what is wrong with one.

use crate::common::{BASE, changed, lines};
use insta::assert_snapshot;
use perhop_core::time::Span;
use perhop_core::units::Bytes;
use perhop_scenario::file::ScenarioFile;
use perhop_scenario::model::{AckPolicy, Scenario};
use perhop_scenario::{load, profile, schema};
use perhop_tcp::ack::AdaptiveParams;
use perhop_tcp::settings::{
    Growth, Guard, IdleRestart, MinRtoBounds, RecoveryKind, RttArithmetic, TcpParams,
};
use proptest::prelude::*;

/// The file with `text` before its nodes.
fn with(text: &str, overrides: &[&str]) -> Result<perhop_scenario::Loaded, Vec<perhop_scenario::Diagnostic>> {
    let overrides: Vec<String> = overrides.iter().map(|o| (*o).to_owned()).collect();
    load(format!("{text}\n{BASE}").as_bytes(), "test.toml", &overrides)
}

fn up(text: &str, overrides: &[&str]) -> TcpParams {
    let loaded = with(text, overrides);
    loaded.unwrap_or_else(|found| panic!("{}", lines(Err(found)))).scenario.flows[0].tcp.params
}

/// An ACK for every second segment, and after so many milliseconds for one.
fn delayed(ms: u64) -> AckPolicy {
    AckPolicy::Delayed(AdaptiveParams::delayed(Span::from_millis(ms)))
}

fn rto(params: &TcpParams) -> [u64; 3] {
    [params.rto.initial, params.rto.min, params.rto.max].map(|span| span.as_nanos() / 1_000_000)
}

#[test]
fn a_flow_without_a_profile_does_what_a_host_of_today_does() {
    let flow = &with("", &[]).expect("valid").scenario.flows[1];
    let params = flow.tcp.params;
    assert_eq!((params.cc, params.recovery, params.initial_window), (Growth::Cubic, RecoveryKind::Sack, 10));
    assert!(params.handshake && params.close && params.limited_transmit && params.frto);
    assert_eq!(params.idle_restart, IdleRestart::InitialWindow);
    assert_eq!((rto(&params), params.rto.tick), ([1_000, 200, 60_000], Span::ZERO));
    // the largest number of whole segments in 6 MiB
    assert_eq!(params.window, Bytes(6 * 1024 * 1024 / 1460 * 1460));
    assert_eq!(flow.ack, delayed(40));
    assert_eq!(up("", &[]), up("", &["flow.up.tcp.profile=default"]));
}

#[test]
fn rfc_is_the_least_that_the_rfcs_ask_for() {
    let params = up("", &["flow.up.tcp.profile=rfc"]);
    assert_eq!((params.cc, params.recovery, params.initial_window), (Growth::Reno, RecoveryKind::Reno, 3));
    assert_eq!((rto(&params), params.guard), ([1_000, 1_000, 60_000], Guard::Careful));
}

#[test]
fn a_profile_gives_what_is_not_written() {
    let bsd = up("", &["flow.up.tcp.profile=bsd"]);
    assert_eq!((bsd.guard, bsd.rto.arithmetic), (Guard::Off, RttArithmetic::Scaled));
    assert_eq!(
        (rto(&bsd), bsd.rto.tick, bsd.rto.on_tick),
        ([6_000, 1_000, 64_000], Span::from_millis(500), true)
    );
    // What the flow has stays.
    let changed = up("", &["flow.up.tcp.profile=bsd", "flow.up.tcp.min_rto=200ms"]);
    assert_eq!((rto(&changed), changed.guard), ([6_000, 200, 64_000], Guard::Off));
    // A built-in profile may have a base.
    let ns235 = up("", &["flow.up.tcp.profile=ns235"]);
    assert_eq!((ns235.initial_window, ns235.handshake, ns235.rto.forget_after), (2, true, 3));
    let linux = up("", &["flow.up.tcp.profile=linux"]);
    assert_eq!((linux.cc, linux.recovery, linux.prr), (Growth::Cubic, RecoveryKind::Sack, true));
    assert_eq!((linux.rack, linux.rto.min_bounds), (true, MinRtoBounds::Variation));
    // The other flows have the default profile.
    let flows = with("", &["flow.up.tcp.profile=bsd"]).expect("valid").scenario.flows;
    let first = up("", &["flow.up.tcp.window=6MiB"]);
    assert_eq!(flows[1].tcp.params, first);
}

#[test]
fn a_profile_of_the_file_has_a_base() {
    let profiles = "[[profile]]\nname = \"older\"\nbase = \"old\"\ninitial_rto = \"3s\"\n\
        [[profile]]\nname = \"old\"\nbase = \"bsd\"\nmin_rto = \"500ms\"\ninitial_rto = \"2s\"\nsize = \"9p\"";
    let older = up(profiles, &["flow.up.tcp.profile=older"]);
    assert_eq!(
        (rto(&older), older.guard, older.size),
        ([3_000, 500, 64_000], Guard::Off, Some(Bytes(9 * 1460)))
    );
    let overrides = ["flow.up.tcp.profile=old", "profile.old.min_rto=700ms", "flow.up.tcp.max_rto=9s"];
    assert_eq!(rto(&up(profiles, &overrides)), [2_000, 700, 9_000]);
    // Without a base the rest is as by default.
    let own = up("[[profile]]\nname = \"own\"\nmin_rto = \"500ms\"", &["flow.up.tcp.profile=own"]);
    assert_eq!(TcpParams { rto: up("", &[]).rto, ..own }, up("", &[]));
    assert_eq!(rto(&own), [1_000, 500, 60_000]);
}

#[test]
fn the_resolved_file_has_every_setting_and_resolves_to_itself() {
    let own = "[[profile]]\nname = \"own\"\nbase = \"bsd\"\nmin_rto = \"0.5s\"\n";
    for name in ["default", "rfc", "bsd", "ns2", "ns235", "linux", "own"] {
        let overrides = [format!("flow.up.tcp.profile={name}"), "flow.up.ack.policy=delayed".to_owned()];
        let loaded = load(format!("{own}{BASE}").as_bytes(), "test.toml", &overrides).expect("valid");
        let text = loaded.resolved_toml();
        let again = load(text.as_bytes(), "resolved.toml", &[]).expect("valid");
        assert_eq!((again.resolved_toml(), &again.file), (text.clone(), &loaded.file));
        assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
        // What a profile gives is written in the flow: another table behind the name changes nothing.
        let other =
            text.replace("base = \"bsd\"", "base = \"linux\"").replace("name = \"own\"", "name = \"x\"");
        let other = load(other.replace("profile = \"own\"", "profile = \"x\"").as_bytes(), "other.toml", &[]);
        let params = |scenario: &Scenario| scenario.flows[0].tcp.params;
        assert_eq!(params(&other.expect("valid").scenario), params(&loaded.scenario));
    }
}

#[test]
fn the_profiles_that_perhop_brings_are_complete() {
    let schema = schema();
    let keys = |table: &str| -> Vec<String> {
        let properties = schema["$defs"][table]["properties"].as_object().expect("properties");
        properties
            .keys()
            .filter(|key| !["name", "base", "profile"].contains(&key.as_str()))
            .cloned()
            .collect()
    };
    assert_eq!(keys("Profile"), keys("Tcp"));
    let names: Vec<String> = profile::built_in().iter().map(|profile| profile.name.to_string()).collect();
    assert_eq!(names, ["rfc", "bsd", "ns2", "ns235", "linux", "default"]);
    // What depends on the application and on the network, and not on the stack.
    let free = ["size", "window_scale", "mss", "header", "window"];
    for profile in profile::built_in() {
        let given = serde_json::to_value(profile).expect("a table");
        for key in keys("Tcp").iter().filter(|key| !free.contains(&key.as_str())) {
            assert!(profile.base.is_some() || given.get(key).is_some(), "{} has no {key}", profile.name);
        }
    }
    // The defaults that the schema shows are those of `default`, and of the first where it says nothing.
    let [rfc, default] = ["rfc", "default"].map(|name| {
        let found = profile::built_in().iter().find(|profile| profile.name.to_string() == name);
        serde_json::to_value(found.expect("a profile")).expect("a table")
    });
    for (key, property) in schema["$defs"]["Tcp"]["properties"].as_object().expect("properties") {
        let key = if key == "profile" { "name" } else { key };
        let shown = default.get(key).unwrap_or(&rfc[key]);
        assert_eq!(&property["default"], shown, "{key}");
    }
}

#[test]
fn profiles_that_are_not_there() {
    let of = |text: &str, overrides: &[&str]| lines(with(text, overrides));
    assert_snapshot!(of("", &["flow.up.tcp.profile=rcf"]), @"1:21 flow.up.tcp.profile: there is no profile `rcf` (did you mean `rfc`?)");
    assert_snapshot!(of("", &["flow.up.tcp.profile=5"]), @r#"1:21 flow.up.tcp.profile: must be a string, not an integer (for instance "up")"#);
    // Of an unknown profile nothing is said but that.
    assert_snapshot!(of("", &["flow.up.tcp.profile=solaris", "flow.up.tcp.max_rto=10ms"]), @"1:21 flow.up.tcp.profile: there is no profile `solaris` (known here: rfc, bsd, ns2, ns235, linux, default)");
    assert_snapshot!(of("[[profile]]\nname = \"own\"\nbase = \"bds\"", &["flow.up.tcp.profile=own", "flow.up.tcp.max_rto=10ms"]), @"3:8 profile.own.base: there is no profile `bds` (did you mean `bsd`?)");
    assert_snapshot!(of("[[profile]]\nname = \"own\"", &["flow.up.tcp.profile=onw"]), @"1:21 flow.up.tcp.profile: there is no profile `onw` (did you mean `own`?)");
    // A name that could not be read may be the one that is asked for.
    assert_snapshot!(of("[[profile]]\nname = \"o.wn\"", &["flow.up.tcp.profile=own"]), @"2:8 profile.o.wn.name: `.` cannot be in a name: it has a meaning in paths (use letters, digits, `_` and `-`, as in `o_wn`)");
    assert_snapshot!(of("", &["profile.own.min_rto=1s"]), @"1:1 profile.own.min_rto: the file has no profile `own` (an override changes a [[profile]] that the file has)");
}

#[test]
fn profiles_have_one_name_and_no_circle() {
    let of = |text: &str| lines(with(text, &["flow.up.tcp.profile=a"]));
    assert_snapshot!(of("[[profile]]\nname = \"a\"\nbase = \"a\""), @"3:8 profile.a.base: the profile is its own base: a -> a (let one of them have no base)");
    let circle = "[[profile]]\nname = \"c\"\nbase = \"a\"\n[[profile]]\nname = \"a\"\nbase = \"b\"\n[[profile]]\nname = \"b\"\nbase = \"a\"";
    assert_snapshot!(of(circle), @"6:8 profile.a.base: the profile is its own base: a -> b -> a (let one of them have no base)");
    assert_snapshot!(of("[[profile]]\nname = \"a\"\n[[profile]]\nname = \"a\""), @"4:8 profile.a.name: there already is a profile `a`, in line 1");
    assert_snapshot!(of("[[profile]]\nname = \"a\"\n[[profile]]\nname = \"bsd\""), @r#"4:8 profile.bsd.name: `bsd` is a profile that perhop brings (choose another name, and write `base = "bsd"` to change some of it)"#);
    let many = "[[profile]]\nname = \"a\"\n".repeat(101);
    assert_snapshot!(of(&many), @"1:1 profile: takes at most 100 entries, not 101");
}

#[test]
fn a_mistake_in_a_profile_is_shown_there_and_once() {
    let profile = |settings: &str| format!("[[profile]]\nname = \"a\"\n{settings}");
    let of = |settings: &str| {
        lines(with(
            &profile(settings),
            &["flow.up.tcp.profile=a", "flow.bulk.tcp.profile=a", "flow.bulk.tcp.mss=500B"],
        ))
    };
    assert_snapshot!(of("min_rto = \"3s\"\nmax_rto = \"2s\""), @"3:11 profile.a.min_rto: min_rto (3s, from profile a) must not exceed max_rto (2s, from profile a)");
    assert_snapshot!(of("min_rto = 3"), @r#"3:11 profile.a.min_rto: a time needs a unit; a bare number has none (write the unit: "3s" or "3ms")"#);
    assert_snapshot!(of("min_rot = \"3s\""), @"3:1 profile.a.min_rot: there is no setting `min_rot` here (did you mean `min_rto`?)");
    assert_snapshot!(of("initial_window = 0\nguard = \"of\"\nprofile = \"bsd\""), @r#"
    3:18 profile.a.initial_window: 0 is below 1, the least allowed
    4:9 profile.a.guard: `of` is not one of "off", "less-careful", "careful" (did you mean `off`?)
    5:1 profile.a.profile: there is no setting `profile` here (`profile` stands in [flow.tcp])
    "#);
    // The other side of the relation is in the flow.
    let flow = with(&profile("min_rto = \"3s\""), &["flow.up.tcp.profile=a", "flow.up.tcp.max_rto=2s"]);
    assert_snapshot!(lines(flow), @"1:21 flow.up.tcp.max_rto: min_rto (3s, from profile a) must not exceed max_rto (2s)");
}

//= test rfc7323-2.3-shift
#[test]
fn windows_and_sizes_arrive_as_the_engine_needs_them() {
    let tcp = |text: &str| {
        let loaded = changed(&[(r#"window = "64KiB""#, text)]);
        let loaded = loaded.unwrap_or_else(|found| panic!("{}", lines(Err(found))));
        (loaded.scenario.flows[0].tcp, loaded.file)
    };
    let window = |text: &str| {
        let params = tcp(text).0.params;
        (params.window.0, params.window_scale)
    };
    assert_eq!(window(r#"window = "64KiB""#), (44 * 1460, 1));
    assert_eq!(window(r#"window = "65535B", mss = "1B""#), (65_535, 0));
    assert_eq!(window(r#"window = "64KiB", mss = "1B""#), (65_536, 1));
    assert_eq!(window(r#"window = "10000B", mss = "1B", window_scale = 4"#), (10_000, 4));
    assert_eq!(window(r#"window = "10000B", mss = "100B", window_scale = 5"#), (9_900, 5));
    assert_eq!(window(r#"window = "1073725440B", mss = "2000B""#), (536_862 * 2000, 14));
    let written = |file: &ScenarioFile| file.flow[0].tcp.window_scale;
    assert_eq!(written(&tcp(r#"window = "1MB""#).1), Some(4));
    let size = |text: &str| tcp(text).0.params.size;
    assert_eq!(
        [size(r#"size = "120p""#), size(r#"size = "1B""#), size("")],
        [Some(Bytes(175_200)), Some(Bytes(1)), None]
    );
    assert_eq!(tcp(r#"header = "52B""#).0.header, Bytes(52));
}

#[test]
fn delayed_acknowledgments_have_a_timeout() {
    let ack = |overrides: &[&str]| with("", overrides).expect("valid").scenario.flows[0].ack;
    let rfc = "flow.up.tcp.profile=rfc";
    let policy = "flow.up.ack.policy=delayed";
    assert_eq!([ack(&[]), ack(&["flow.up.tcp.ack_delay=90ms"])], [delayed(40), delayed(90)]);
    assert_eq!([ack(&[policy]), ack(&["flow.up.ack.timeout=90ms"])], [delayed(40), delayed(90)]);
    assert_eq!([ack(&[rfc]), ack(&["flow.up.ack.policy=every-segment"])], [AckPolicy::EverySegment; 2]);
    assert_eq!(ack(&[rfc, policy]), delayed(200));
    let own = ack(&[policy, "flow.up.ack.timeout=500ms"]);
    assert_eq!(own, delayed(500));
}

/// Settings, each with values that go with any of the others'.
const SETTINGS: [(&str, [&str; 2]); 12] = [
    ("profile", ["\"bsd\"", "\"own\""]),
    ("size", ["\"9p\"", "\"1kB\""]),
    ("window", ["\"1MB\"", "\"8kB\""]),
    ("cc", ["\"reno\"", "\"cubic\""]),
    ("recovery", ["\"sack\"", "\"sack-1996\""]),
    ("handshake", ["true", "false"]),
    ("initial_window", ["1", "10"]),
    ("guard", ["\"off\"", "\"less-careful\""]),
    ("clock_tick", ["\"10ms\"", "\"0.5s\""]),
    ("min_rto", ["\"200ms\"", "\"1s\""]),
    ("max_rto", ["\"64s\"", "\"100s\""]),
    ("sack_overhead", ["\"0B\"", "\"4B\""]),
];

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn what_is_written_wins_and_stays(chosen in prop::collection::btree_map(0..SETTINGS.len(), 0..2usize, 0..12)) {
        let own = "[[profile]]\nname = \"own\"\nbase = \"ns235\"\nwindow = \"99kB\"";
        let written: Vec<(&str, &str)> = chosen.iter().map(|(k, v)| (SETTINGS[*k].0, SETTINGS[*k].1[*v])).collect();
        let overrides: Vec<String> = written.iter().map(|(key, value)| format!("flow.up.tcp.{key}={value}")).collect();
        let overrides: Vec<&str> = overrides.iter().map(String::as_str).collect();
        let loaded = with(own, &overrides).unwrap_or_else(|found| panic!("{}", lines(Err(found))));
        let text = loaded.resolved_toml();
        let again = load(text.as_bytes(), "resolved.toml", &[]).expect("valid");
        prop_assert_eq!(again.resolved_toml(), text);
        prop_assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
        // Every value that was written is the one in the resolved file; a second override says it in the same form.
        let table = serde_json::to_value(&loaded.file.flow[0].tcp).expect("a table");
        for (key, value) in written {
            let alone = with(own, &[&format!("flow.up.tcp.{key}={value}")]).expect("valid").file;
            prop_assert_eq!(&table[key], &serde_json::to_value(&alone.flow[0].tcp).expect("a table")[key]);
        }
    }
}
