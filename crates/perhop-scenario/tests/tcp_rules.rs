//! One test per rule that the settings of a TCP have to keep, alone and with one another.

use crate::common::{changed, lines, valid};
use insta::assert_snapshot;
use perhop_scenario::model::KernelControl;

/// What is said of a flow with these settings.
fn tcp(settings: &str) -> String {
    lines(changed(&[(r#"window = "64KiB""#, settings)]))
}

/// What is said of a flow with this receiver.
fn ack(settings: &str) -> String {
    lines(changed(&[("tcp = { window", &format!("ack = {{ {settings} }}\ntcp = {{ window"))]))
}

//= test rfc7323-2.3-limit
#[test]
fn windows_fit_their_field() {
    assert_snapshot!(tcp(r#"window = "64KiB", window_scale = 0"#), @"48:18 flow.up.tcp.window: window (64KiB) does not fit into 16 bits shifted by window_scale (0) (write `window_scale = 1`, or leave it out)");
    assert_snapshot!(tcp(r#"window = "1MB", window_scale = 3"#), @"48:18 flow.up.tcp.window: window (1MB) does not fit into 16 bits shifted by window_scale (3) (write `window_scale = 4`, or leave it out)");
    assert_snapshot!(tcp(r#"window = "1MB", window_scale = 15"#), @"48:40 flow.up.tcp.window_scale: 15 is above 14, the most allowed");
    assert_snapshot!(tcp(r#"window = "2kB", window_scale = 11"#), @"48:18 flow.up.tcp.window: window (2kB) holds no segment of 1460B when rounded down by window_scale (11) (write `window_scale = 0`, or leave it out)");
    assert_snapshot!(tcp(r#"window = "1GiB", mss = "9000B", header = "40B""#), @"48:18 flow.up.tcp.window: 1GiB is above 1073725440B, the largest TCP window (65535 shifted by 14 (RFC 7323 section 2.3): 16 KiB less than 1 GiB)");
}

#[test]
fn transfers_have_data() {
    assert_snapshot!(tcp(r#"size = "0B""#), @"48:16 flow.up.tcp.size: a transfer has at least one byte (leave `size` out for data that never ends)");
    assert_snapshot!(tcp(r#"size = "0p""#), @"48:16 flow.up.tcp.size: a transfer has at least one byte (leave `size` out for data that never ends)");
    assert_snapshot!(tcp(r#"size = "10""#), @r#"48:16 flow.up.tcp.size: an amount needs a unit; a bare number has none (write the unit: "10p" or "10kB")"#);
    assert_snapshot!(tcp("size = 10"), @r#"48:16 flow.up.tcp.size: an amount needs a unit; a bare number has none (write the unit: "10p" or "10kB")"#);
    assert_snapshot!(tcp(r#"size = "1000000000000p""#), @"48:16 flow.up.tcp.size: 1000000000000p of 1460B are more than 1PB (leave `size` out for data that never ends)");
    assert_snapshot!(tcp("close = true"), @"no mistake");
}

#[test]
fn some_recoveries_only_have_prr() {
    assert_snapshot!(tcp(r#"recovery = "reno", prr = true"#), @r#"48:34 flow.up.tcp.prr: prr (true) needs what SACK reports (RFC 9937), not recovery (reno) (write `prr = false` or `recovery = "sack"`)"#);
    assert_snapshot!(tcp(r#"profile = "linux", recovery = "newreno""#), @r#"
    48:39 flow.up.tcp.recovery: prr (true, from profile linux) needs what SACK reports (RFC 9937), not recovery (newreno) (write `prr = false` or `recovery = "sack"`)
    48:39 flow.up.tcp.recovery: rack (true, from profile linux) needs what SACK reports (RFC 8985), not recovery (newreno) (write `rack = false` or `recovery = "sack"`)
    "#);
    assert_snapshot!(tcp(r#"prr = true, recovery = "sack-1996""#), @r#"48:15 flow.up.tcp.prr: prr (true) needs what SACK reports (RFC 9937), not recovery (sack-1996) (write `prr = false` or `recovery = "sack"`)"#);
    assert_snapshot!(tcp(r#"prr = true, recovery = "sack""#), @"no mistake");
    assert_snapshot!(tcp(r#"frto = true, recovery = "tahoe""#), @"no mistake");
}

#[test]
fn losses_are_found_by_time_with_sack_only() {
    assert_snapshot!(tcp(r#"rack = true, recovery = "reno""#), @r#"48:16 flow.up.tcp.rack: rack (true) needs what SACK reports (RFC 8985), not recovery (reno) (write `rack = false` or `recovery = "sack"`)"#);
    assert_snapshot!(tcp(r#"rack = true, recovery = "sack-1996""#), @r#"48:16 flow.up.tcp.rack: rack (true) needs what SACK reports (RFC 8985), not recovery (sack-1996) (write `rack = false` or `recovery = "sack"`)"#);
    assert_snapshot!(tcp("rack = true"), @"no mistake"); // the default has SACK
    assert_snapshot!(tcp(r#"profile = "linux", min_rto_bounds = "rttvar""#), @r#"48:45 flow.up.tcp.min_rto_bounds: `rttvar` is not one of "timeout", "variation" (`timeout`: the whole time-out; `variation`: the term that is added to srtt for the variation)"#);
}

//= test rfc2018-3-length
//= test rfc7323-A-padding
#[test]
fn options_fit_into_a_header() {
    assert_snapshot!(tcp("sack_blocks = 4"), @"no mistake");
    assert_snapshot!(tcp("sack_blocks = 4, timestamps = true"), @"48:23 flow.up.tcp.sack_blocks: sack_blocks (4) do not fit beside timestamps (true) (at most 3 fit beside them (RFC 2018 section 3))");
    assert_snapshot!(tcp("sack_blocks = 5"), @"48:23 flow.up.tcp.sack_blocks: 5 is above 4, the most allowed");
    assert_snapshot!(tcp("sack_blocks = 0"), @"48:23 flow.up.tcp.sack_blocks: 0 is below 1, the least allowed");
    assert_snapshot!(tcp(r#"sack_blocks = 4, sack_overhead = "9B""#), @"48:42 flow.up.tcp.sack_overhead: sack_overhead (9B) does not fit beside sack_blocks (4) (a TCP header has 40 bytes for options: at most 8B are left for this)");
    assert_snapshot!(tcp(r#"timestamps = true, sack_overhead = "5B""#), @"48:44 flow.up.tcp.sack_overhead: sack_overhead (5B) does not fit beside sack_blocks (3, the default) (a TCP header has 40 bytes for options: at most 4B are left for this)");
}

#[test]
fn what_ticks_needs_a_tick() {
    assert_snapshot!(tcp(r#"rtt_arithmetic = "scaled""#), @"48:26 flow.up.tcp.rtt_arithmetic: rtt_arithmetic (scaled) needs a clock that ticks, not clock_tick (0s, the default) (BSD's is `500ms`; without a tick time is in nanoseconds)");
    assert_snapshot!(tcp("timer_on_tick = true"), @"48:25 flow.up.tcp.timer_on_tick: timer_on_tick (true) needs a clock that ticks, not clock_tick (0s, the default) (BSD's is `500ms`; without a tick time is in nanoseconds)");
    assert_snapshot!(tcp(r#"profile = "bsd", clock_tick = "0s""#), @r"
    48:39 flow.up.tcp.clock_tick: rtt_arithmetic (scaled, from profile bsd) needs a clock that ticks, not clock_tick (0s) (BSD's is `500ms`; without a tick time is in nanoseconds)
    48:39 flow.up.tcp.clock_tick: timer_on_tick (true, from profile bsd) needs a clock that ticks, not clock_tick (0s) (BSD's is `500ms`; without a tick time is in nanoseconds)
    ");
    assert_snapshot!(tcp(r#"clock_phase = "1ms""#), @"48:23 flow.up.tcp.clock_phase: clock_phase (1ms) must be below clock_tick (0s, the default) (BSD's is `500ms`; without a tick time is in nanoseconds)");
    assert_snapshot!(tcp(r#"clock_phase = "10ms", clock_tick = "10ms""#), @"48:23 flow.up.tcp.clock_phase: clock_phase (10ms) must be below clock_tick (10ms)");
    assert_snapshot!(tcp(r#"clock_phase = "9ms", clock_tick = "10ms", rtt_arithmetic = "scaled", timer_on_tick = true"#), @"no mistake");
}

#[test]
fn time_outs_are_ordered_in_every_profile() {
    assert_snapshot!(tcp(r#"profile = "bsd", max_rto = "5s""#), @"48:36 flow.up.tcp.max_rto: initial_rto (6s, from profile bsd) must not exceed max_rto (5s)");
    assert_snapshot!(tcp(r#"profile = "bsd", min_rto = "65s""#), @"48:36 flow.up.tcp.min_rto: min_rto (65s) must not exceed max_rto (64s, from profile bsd)");
}

#[test]
fn words_are_known() {
    assert_snapshot!(tcp(r#"recovery = "new-reno", cc = "cubik", guard = "carefull", counting = "packets""#), @r#"
    48:20 flow.up.tcp.recovery: `new-reno` is not one of "tahoe", "reno", "newreno", "sack", "sack-1996" (did you mean `newreno`?)
    48:37 flow.up.tcp.cc: `cubik` is not one of "reno", "cubic", "dctcp", "prague", "bbr", "bbr3", nor like "kernel:bbr" (did you mean `cubic`?)
    48:54 flow.up.tcp.guard: `carefull` is not one of "off", "less-careful", "careful" (did you mean `careful`?)
    48:77 flow.up.tcp.counting: `packets` is not one of "acks", "bytes" (`acks`: ACKs; `bytes`: bytes acknowledged)
    "#);
    assert_snapshot!(tcp(r#"handshake = "yes""#), @"48:21 flow.up.tcp.handshake: must be true or false, not a string");
}

/// What is said of a flow with this congestion control.
fn cc(name: &str) -> String {
    tcp(&format!(r#"cc = "{name}""#))
}

//= test draft-ietf-ccwg-bbr-3.7-congestion
//= test draft-ietf-ccwg-bbr-4.1.3.5-no-sack
#[test]
fn a_kernels_congestion_control_has_a_name_that_kernels_have() {
    for name in ["bbr", "dctcp-reno", "bpf_cubic", "x", "fifteen-letters"] {
        assert_eq!(cc(&format!("kernel:{name}")), "no mistake");
    }
    assert_snapshot!(cc("kernel:"), @"48:14 flow.up.tcp.cc: `kernel:` lacks a name (as in `kernel:bbr`; `perhop doctor` lists what this machine has)");
    assert_snapshot!(cc("kernel:sixteen-letters_"), @"48:14 flow.up.tcp.cc: 16 characters: a kernel's names have at most 15 (as in `kernel:bbr`; `perhop doctor` lists what this machine has)");
    assert_snapshot!(cc("kernel:BBR"), @"48:14 flow.up.tcp.cc: `B` is in no name of a kernel's: they have small letters, digits, `_` and `-` (as in `kernel:bbr`; `perhop doctor` lists what this machine has)");
    assert_snapshot!(cc("kernel:../bbr"), @"48:14 flow.up.tcp.cc: `.` is in no name of a kernel's: they have small letters, digits, `_` and `-` (as in `kernel:bbr`; `perhop doctor` lists what this machine has)");
    assert_snapshot!(cc("kernel:bbr cubic"), @"48:14 flow.up.tcp.cc: ` ` is in no name of a kernel's: they have small letters, digits, `_` and `-` (as in `kernel:bbr`; `perhop doctor` lists what this machine has)");
    assert_snapshot!(cc("kernel:b\\u0000r"), @r#"48:14 flow.up.tcp.cc: `\0` is in no name of a kernel's: they have small letters, digits, `_` and `-` (as in `kernel:bbr`; `perhop doctor` lists what this machine has)"#);
    assert_snapshot!(cc("kernel:ü"), @"48:14 flow.up.tcp.cc: `ü` is in no name of a kernel's: they have small letters, digits, `_` and `-` (as in `kernel:bbr`; `perhop doctor` lists what this machine has)");
    assert_snapshot!(cc("bbr"), @r#"48:14 flow.up.tcp.cc: cc (bbr) needs the time of each segment, not rack (false, the default) (write `rack = true`, or `profile = "linux"`, which has it)"#);
    assert_snapshot!(cc("bbr3"), @r#"48:14 flow.up.tcp.cc: cc (bbr3) needs the time of each segment, not rack (false, the default) (write `rack = true`, or `profile = "linux"`, which has it)"#);
    assert_snapshot!(tcp(r#"cc = "bbr3", rack = true, recovery = "sack", ecn = true"#), @r#"48:14 flow.up.tcp.cc: cc (bbr3) has no response to marks (draft-ietf-ccwg-bbr section 3.7) and does not go with ecn (true) (write `ecn = false`, or `cc = "bbr"`, which leaves marks unanswered as Linux does)"#);
    assert_snapshot!(tcp(r#"cc = "bbr3", rack = true, recovery = "sack", ecn = "ect1""#), @r#"48:14 flow.up.tcp.cc: cc (bbr3) has no response to marks (draft-ietf-ccwg-bbr section 3.7) and does not go with ecn (ect1) (write `ecn = false`, or `cc = "bbr"`, which leaves marks unanswered as Linux does)"#);
    assert_eq!(tcp(r#"cc = "bbr3", rack = true, recovery = "sack""#), "no mistake");
    assert_snapshot!(cc("vegas"), @r#"48:14 flow.up.tcp.cc: `vegas` is not one of "reno", "cubic", "dctcp", "prague", "bbr", "bbr3", nor like "kernel:bbr" (`kernel:vegas`: the congestion control that the kernel has under this name, on real packets alone (`perhop emulate`))"#);
    assert_snapshot!(cc("BBR"), @r#"48:14 flow.up.tcp.cc: `BBR` is not one of "reno", "cubic", "dctcp", "prague", "bbr", "bbr3", nor like "kernel:bbr" (did you mean `bbr`?)"#);
    assert_snapshot!(tcp("cc = 5"), @r#"48:14 flow.up.tcp.cc: must be a string, not an integer (write one of "reno", "cubic", "dctcp", "prague", "bbr", "bbr3")"#);
}

/// Why virtual time refuses [`BASE`] with these changes.
fn kernel_only(changes: &[(&str, &str)]) -> String {
    let only = valid(changed(changes)).kernel_only;
    only.iter()
        .map(|one| format!("{}:{} {one} ({})", one.line, one.column, one.hint.as_deref().unwrap_or("")))
        .collect::<Vec<_>>()
        .join("\n")
}

#[test]
fn virtual_time_has_no_kernel() {
    let named = (r#"window = "64KiB""#, r#"cc = "kernel:bbr""#);
    let live = ("duration = \"60s\"", "duration = \"60s\"\nclock = \"live\"");
    assert_snapshot!(kernel_only(&[named]), @"48:14 flow.up.tcp.cc: `kernel:bbr` is a kernel's congestion control, and virtual time has none (`perhop emulate` runs the scenario on real packets)");
    assert_eq!(kernel_only(&[named, live]), "");
    assert_eq!(kernel_only(&[]), "");
    let profile = ("[[flow]]", "[[profile]]\nname = \"p\"\ncc = \"kernel:bbr\"\n[[flow]]");
    let of_profile = (r#"window = "64KiB""#, r#"profile = "p""#);
    assert_snapshot!(kernel_only(&[profile, of_profile]), @"46:6 profile.p.cc: `kernel:bbr` is a kernel's congestion control, and virtual time has none (`perhop emulate` runs the scenario on real packets)");
    let loaded = valid(changed(&[named]));
    assert!(loaded.resolved_toml().contains("cc = \"kernel:bbr\""));
    assert_eq!(loaded.scenario.flows[0].kernel.as_ref().map(KernelControl::name), Some("bbr"));
    assert_eq!(loaded.scenario.flows[1].kernel, None);
}

#[test]
fn acknowledgments_wait_half_a_second_at_most() {
    assert_snapshot!(ack(r#"policy = "delayed", timeout = "500ms""#), @"no mistake");
    assert_snapshot!(ack(r#"policy = "delayed", timeout = "501ms""#), @"48:39 flow.up.ack.timeout: 501ms is above 500ms, the longest that an ACK may wait (RFC 1122 section 4.2.3.2 sets the bound)");
    assert_snapshot!(ack(r#"policy = "delayed", timeout = "0s""#), @r#"48:39 flow.up.ack.timeout: a delay of zero is none (write `policy = "every-segment"` for no delay)"#);
    assert_snapshot!(ack(r#"timeout = "200ms""#), @"no mistake");
    assert_snapshot!(tcp(r#"ack_delay = "501ms""#), @"48:21 flow.up.tcp.ack_delay: 501ms is above 500ms, the longest that an ACK may wait (RFC 1122 section 4.2.3.2 sets the bound)");
    assert_snapshot!(ack(r#"policy = "every-segment", timeout = "200ms""#), @r#"48:45 flow.up.ack.timeout: 200ms is for ACKs that wait, and policy has every segment acknowledged at once (add `policy = "delayed"`, or leave `timeout` out)"#);
    assert_snapshot!(ack(r#"policy = "delay", timeout = "200ms""#), @r#"48:18 flow.up.ack.policy: `delay` is not one of "every-segment", "delayed" (did you mean `delayed`?)"#);
    assert_snapshot!(ack(r#"policy = "every""#), @r#"48:18 flow.up.ack.policy: `every` is not one of "every-segment", "delayed" (did you mean `every-segment`?)"#);
    assert_snapshot!(ack(r#"policy = "at-once""#), @r#"48:18 flow.up.ack.policy: `at-once` is not one of "every-segment", "delayed" (`every-segment`: each arriving segment at once; `delayed`: every second full segment at once)"#);
    assert_snapshot!(ack("policy = 2"), @r#"48:18 flow.up.ack.policy: must be a string, not an integer (write one of "every-segment", "delayed")"#);
}

#[test]
fn all_mistakes_in_one_pass() {
    assert_snapshot!(tcp(r#"mss = "0B", window = "1MB", window_scale = 1, ecn = true, min_rto = "9s", max_rto = "2s", timer_on_tick = true, size = "0B", sack_blocks = 9"#), @r#"
    48:15 flow.up.tcp.mss: a segment needs data: mss must be above zero
    48:30 flow.up.tcp.window: window (1MB) does not fit into 16 bits shifted by window_scale (1) (write `window_scale = 4`, or leave it out)
    48:77 flow.up.tcp.min_rto: min_rto (9s) must not exceed max_rto (2s)
    48:115 flow.up.tcp.timer_on_tick: timer_on_tick (true) needs a clock that ticks, not clock_tick (0s, the default) (BSD's is `500ms`; without a tick time is in nanoseconds)
    48:128 flow.up.tcp.size: a transfer has at least one byte (leave `size` out for data that never ends)
    48:148 flow.up.tcp.sack_blocks: 9 is above 4, the most allowed
    "#);
}

#[test]
fn an_idle_restart_is_a_word_or_a_flag() {
    assert_snapshot!(tcp("idle_restart = true"), @"no mistake");
    assert_snapshot!(tcp(r#"idle_restart = "validate""#), @r#"48:24 flow.up.tcp.idle_restart: `validate` is not one of "off", "initial-window", "validation" (`off`: all of it; `initial-window`: the initial window; `validation`: half of it for each time-out that has passed)"#);
}

//= test draft-prague-02-2.2-ect0
#[test]
fn dctcp_needs_marks_and_data_has_one_of_two_code_points() {
    assert_snapshot!(tcp(r#"cc = "dctcp""#), @r#"48:14 flow.up.tcp.cc: cc (dctcp) needs congestion marks, not ecn (false, the default) (write `ecn = true`, or `ecn = "ect1"`)"#);
    assert_snapshot!(tcp(r#"cc = "dctcp", ecn = "ect1""#), @"no mistake");
    assert_snapshot!(tcp(r#"ecn = "ect2""#), @r#"48:15 flow.up.tcp.ecn: `ect2` is not one of "ect0", "ect1" (did you mean `ect0`?)"#);
    assert_snapshot!(tcp("ecn = 1"), @"48:15 flow.up.tcp.ecn: must be true or false, not an integer");
}
