//! The settings of one flow's TCP: each in its range, and in relation to one another.

use perhop_core::units::{Bytes, QueueSize};
use perhop_tcp::segment::{SACK_BLOCK, TIMESTAMPS};

use crate::lower::check::{LONGEST_DELAY, LONGEST_PACKET};
use crate::lower::tcp::{LARGEST_FIELD, LARGEST_SCALE, data, smallest_scale, usable_window, window_scale};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::{Growth, RecoveryKind, RttArithmetic};
use crate::words::congestion::CongestionControl;
use crate::words::units::{Limit, Phase, Size};
use crate::written::tcp::Tcp;

/// Most segments in a window: each may be in the simulator's memory at once.
const MOST_SEGMENTS: u64 = 1_000_000;
/// Most bytes of options in a TCP header (RFC 9293 section 3.1: 60 bytes less 20).
const MOST_OPTIONS: u64 = 40;
/// Most SACK blocks beside timestamps (RFC 2018 section 3).
const BLOCKS_WITH_TIMESTAMPS: u8 = 3;

/// Checks the TCP that is written at `at`.
pub(crate) fn check(tcp: &Tcp, at: &[Step], report: &mut Report) {
    sizes(tcp, at, report);
    window(tcp, at, report);
    time_outs(tcp, at, report);
    clock(tcp, at, report);
    options(tcp, at, report);
}

fn sizes(tcp: &Tcp, at: &[Step], report: &mut Report) {
    let key = |key: &'static str| [at, &steps![key]].concat();
    let full = Size(Bytes(tcp.mss.0.0.saturating_add(tcp.header.0.0)));
    if tcp.mss.0.0 == 0 {
        report.error(&key("mss"), "a segment needs data: mss must be above zero", None);
    } else if full.0.0 > LONGEST_PACKET {
        let at = if tcp.mss.0 >= tcp.header.0 { "mss" } else { "header" };
        let rule =
            format!("mss and header make {full}, longer than an IPv4 packet can be ({LONGEST_PACKET}B)");
        report.error(&key(at), rule, None);
    }
    match tcp.size.map(|size| (size, data(size, tcp.mss))) {
        Some((Limit(QueueSize::Packets(0) | QueueSize::Bytes(0)), _)) => {
            let hint = "leave `size` out for data that never ends".to_owned();
            report.error(&key("size"), "a transfer has at least one byte", Some(hint));
        }
        Some((size, None)) => {
            let rule = format!("{size} of {} are more than 1PB", tcp.mss);
            report.error(&key("size"), rule, Some("leave `size` out for data that never ends".to_owned()));
        }
        Some((_, Some(_))) | None => {}
    }
}

fn window(tcp: &Tcp, at: &[Step], report: &mut Report) {
    let key = [at, &steps!["window"]].concat();
    let (window, mss) = (("window", tcp.window.to_string()), ("mss", tcp.mss.to_string()));
    let scale = ("window_scale", window_scale(tcp).to_string());
    let Some(fitting) = smallest_scale(tcp.window) else {
        let largest = LARGEST_FIELD << LARGEST_SCALE;
        let rule = format!("{} is above {largest}B, the largest TCP window", tcp.window);
        let hint = "65535 shifted by 14 (RFC 7323 section 2.3): 16 KiB less than 1 GiB".to_owned();
        return report.error(&key, rule, Some(hint));
    };
    if tcp.window.0.0.checked_div(tcp.mss.0.0).is_some_and(|segments| segments > MOST_SEGMENTS) {
        let rule = format!("{} holds more than {MOST_SEGMENTS} segments of {}", tcp.window, tcp.mss);
        return report.error(&key, rule, None);
    }
    let hint = format!("write `window_scale = {fitting}`, or leave it out");
    let fits = fitting <= window_scale(tcp);
    let relation = "does not fit into 16 bits shifted by";
    report.relation_with_hint(at, window.clone(), relation, scale.clone(), fits, Some(hint.clone()));
    if tcp.window.0 < tcp.mss.0 {
        report.relation(at, window, "must hold at least one segment of", mss, false);
    } else if fits && tcp.mss.0.0 > 0 {
        let relation = format!("holds no segment of {} when rounded down by", tcp.mss);
        let holds = usable_window(tcp).0 > 0;
        report.relation_with_hint(at, window, &relation, scale, holds, Some(hint));
    }
}

fn time_outs(tcp: &Tcp, at: &[Step], report: &mut Report) {
    for (name, rto) in [("initial_rto", tcp.initial_rto), ("min_rto", tcp.min_rto)] {
        if rto.0.as_nanos() == 0 {
            let rule = format!("{name} of zero would resend a segment before it arrives");
            report.error(&[at, &steps![name]].concat(), rule, Some("RFC 6298 has 1s".to_owned()));
        }
    }
    if tcp.ack_delay.0 > LONGEST_DELAY.0 {
        let rule = format!("{} is above {LONGEST_DELAY}, the longest that an ACK may wait", tcp.ack_delay);
        let hint = "RFC 1122 section 4.2.3.2 sets the bound".to_owned();
        report.error(&[at, &steps!["ack_delay"]].concat(), rule, Some(hint));
    }
    if tcp.sack_compression.0 > LONGEST_DELAY.0 {
        let rule =
            format!("{} is above {LONGEST_DELAY}, the longest that an ACK may wait", tcp.sack_compression);
        let hint = "Linux has 1ms".to_owned();
        report.error(&[at, &steps!["sack_compression"]].concat(), rule, Some(hint));
    }
    let max = ("max_rto", tcp.max_rto.to_string());
    for (name, rto) in [("min_rto", tcp.min_rto), ("initial_rto", tcp.initial_rto)] {
        let holds = rto.0 <= tcp.max_rto.0;
        report.relation(at, (name, rto.to_string()), "must not exceed", max.clone(), holds);
    }
}

/// Settings that need a clock that ticks.
fn clock(tcp: &Tcp, at: &[Step], report: &mut Report) {
    let ticks = tcp.clock_tick.0.as_nanos() > 0;
    let tick = ("clock_tick", tcp.clock_tick.to_string());
    let hint = || Some("BSD's is `500ms`; without a tick time is in nanoseconds".to_owned());
    if let Phase::Fixed(phase) = tcp.clock_phase {
        let fits = phase.0 < tcp.clock_tick.0 || phase.0.as_nanos() == 0;
        let setting = ("clock_phase", phase.to_string());
        let without = if ticks { None } else { hint() };
        report.relation_with_hint(at, setting, "must be below", tick.clone(), fits, without);
    }
    let needing = [
        ("clock_phase", "random", tcp.clock_phase == Phase::Random),
        ("rtt_arithmetic", "scaled", tcp.rtt_arithmetic == RttArithmetic::Scaled),
        ("timer_on_tick", "true", tcp.timer_on_tick),
    ];
    for (name, value, needs) in needing {
        let setting = (name, value.to_owned());
        report.relation_with_hint(
            at,
            setting,
            "needs a clock that ticks, not",
            tick.clone(),
            ticks || !needs,
            hint(),
        );
    }
}

/// Extensions of TCP: what goes together, and what fits into a header.
//= rfc2018-3-length
fn options(tcp: &Tcp, at: &[Step], report: &mut Report) {
    for (name, on, source) in [("prr", tcp.prr, "RFC 9937"), ("rack", tcp.rack, "RFC 8985")] {
        let recovery = ("recovery", word(tcp.recovery));
        let hint = Some(format!("write `{name} = false` or `recovery = \"sack\"`"));
        let holds = !on || tcp.recovery == RecoveryKind::Sack;
        let relation = format!("needs what SACK reports ({source}), not");
        report.relation_with_hint(at, (name, on.to_string()), &relation, recovery, holds, hint);
    }
    let missing = if tcp.recovery == RecoveryKind::Sack { "" } else { " and `recovery = \"sack\"`" };
    let hint = Some(format!("write `rack = true`{missing}, or `profile = \"linux\"`, which has it"));
    //= draft-ietf-ccwg-bbr-4.1.3.5-no-sack
    let rated = matches!(tcp.cc, CongestionControl::Own(Growth::Bbr | Growth::Bbr3));
    let holds = !rated || tcp.rack;
    let (setting, rack) = (("cc", word(&tcp.cc)), ("rack", "false".to_owned()));
    report.relation_with_hint(at, setting, "needs the time of each segment, not", rack, holds, hint);
    //= draft-ietf-ccwg-bbr-3.7-congestion
    let named = Some(word(tcp.ecn)).filter(|word| !word.is_empty());
    let marks = ("ecn", named.unwrap_or_else(|| "true".to_owned()));
    let hint = Some(
        "write `ecn = false`, or `cc = \"bbr\"`, which leaves marks unanswered as Linux does".to_owned(),
    );
    let holds = tcp.cc != CongestionControl::Own(Growth::Bbr3) || !tcp.ecn.is_on();
    let relation = "has no response to marks (draft-ietf-ccwg-bbr section 3.7) and does not go with";
    report.relation_with_hint(at, ("cc", word(&tcp.cc)), relation, marks, holds, hint);
    let ecn = ("ecn", "false".to_owned());
    let hint = Some("write `ecn = true`, or `ecn = \"ect1\"`".to_owned());
    let abe = ("abe", tcp.abe.to_string());
    let (relation, holds) = ("is about congestion marks, and needs them, not", !tcp.abe || tcp.ecn.is_on());
    report.relation_with_hint(at, abe, relation, ecn.clone(), holds, hint.clone());
    let scalable = matches!(tcp.cc, CongestionControl::Own(Growth::Dctcp | Growth::Prague));
    let holds = !scalable || tcp.ecn.is_on();
    report.relation_with_hint(at, ("cc", word(&tcp.cc)), "needs congestion marks, not", ecn, holds, hint);
    let blocks = ("sack_blocks", tcp.sack_blocks.to_string());
    if tcp.timestamps && tcp.sack_blocks > BLOCKS_WITH_TIMESTAMPS {
        let hint = format!("at most {BLOCKS_WITH_TIMESTAMPS} fit beside them (RFC 2018 section 3)");
        let timestamps = ("timestamps", "true".to_owned());
        return report.relation_with_hint(at, blocks, "do not fit beside", timestamps, false, Some(hint));
    }
    let others = SACK_BLOCK.0 * u64::from(tcp.sack_blocks) + if tcp.timestamps { TIMESTAMPS.0 } else { 0 };
    let available = MOST_OPTIONS.saturating_sub(others);
    let overhead = ("sack_overhead", tcp.sack_overhead.to_string());
    let hint =
        format!("a TCP header has {MOST_OPTIONS} bytes for options: at most {available}B are left for this");
    let holds = tcp.sack_overhead.0.0 <= available;
    report.relation_with_hint(at, overhead, "does not fit beside", blocks, holds, Some(hint));
}

/// How the file writes `word`.
fn word(word: impl serde::Serialize) -> String {
    match serde_json::to_value(word) {
        Ok(serde_json::Value::String(text)) => text,
        _ => String::new(),
    }
}
