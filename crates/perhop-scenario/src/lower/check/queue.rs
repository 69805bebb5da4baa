//! Queues: limits, thresholds in order, colours of marks, parameters that the element survives.

use std::collections::BTreeMap;

use perhop_core::dscp::Dscp;
use perhop_core::param_error::ParamError;
use perhop_core::units::{Bytes, QueueSize};

use crate::lower::check::LONGEST_PACKET;
use crate::lower::queue::{self, kinds_with};
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::Averaging;
use crate::words::conventions::{LikeDualPi2, LikePie};
use crate::words::marks::{Colors, Mark};
use crate::words::suggest;
use crate::words::units::{Limit, Size, UnitError};
use crate::written::queue::Queue;

/// `packet_size`, or some packet in place of one that is refused: what follows from it would only say so again.
pub(crate) fn possible(packet_size: Option<Size>) -> Option<Size> {
    packet_size.map(|size| if (1..=LONGEST_PACKET).contains(&size.0.0) { size } else { Size(Bytes(1500)) })
}

/// Reports what an element says of the settings at `at`.
pub(crate) fn refuse(error: &ParamError, at: &[Step], report: &mut Report) {
    refuse_with_hint(error, at, None, report);
}

/// The same with a hint.
pub(crate) fn refuse_with_hint(error: &ParamError, at: &[Step], hint: Option<String>, report: &mut Report) {
    let mut at = at.to_vec();
    at.extend(error.field.split('.').map(Step::from));
    let name = error.field.rsplit('.').next().unwrap_or(error.field);
    let value = report.tree.shown(&at).map_or_else(String::new, |text| format!(" ({text})"));
    report.error(&at, format!("{name}{value} {}", error.rule), hint);
}

/// Checks the queue at `at`; returns whether it can be.
pub(crate) fn queue(queue: &Queue, packet_size: Option<Size>, at: &[Step], report: &mut Report) -> bool {
    if let Some(colors) = queue.colors() {
        marks_of(colors, &[at, &steps!["colors"]].concat(), report);
    }
    conventions(queue, at, report);
    // what else a queue from outside needs is for those who bring it to say, once it is in its place
    let mut sound = holds_something(queue.limit(), at, report) & of_flows(queue, packet_size, at, report);
    let colours = queue.thresholds();
    for (colour, min_th, max_th, limit) in &colours {
        let first = (if colour.is_empty() { "min_th" } else { "green.min_th" }, colours[0].1);
        let own: Vec<Step> =
            at.iter().cloned().chain((!colour.is_empty()).then_some(Step::from(*colour))).collect();
        sound &= curve((*min_th, *max_th), first, at, &own, report);
        sound &= limit.is_none_or(|limit| holds_something(limit, &own, report));
    }
    if let Queue::Codel { target, interval, .. } | Queue::Cobalt { target, interval, .. } = queue
        && interval.0 <= target.0
    {
        let (longer, shorter) = (("interval", interval.to_string()), ("target", target.to_string()));
        report.relation(at, longer, "must exceed", shorter, false);
        sound = false;
    }
    if sound && let Err(error) = queue::validate(queue, packet_size) {
        refuse(&error, at, report);
        sound = false;
    }
    sound
}

/// Whether the queue at `at` holds no others, or such as can be those of flows; reports it if not.
fn of_flows(queue: &Queue, packet_size: Option<Size>, at: &[Step], report: &mut Report) -> bool {
    let Queue::Fq { queue: inside, .. } = queue else { return true };
    let at = [at, &steps!["queue"]].concat();
    if !report.is_sound(&at) {
        return false;
    }
    if !inside.fits_a_flow() {
        let at = [&at[..], &steps!["kind"]].concat();
        let kind = report.tree.text(&at).unwrap_or_default();
        let rule = format!("`{kind}` cannot be the queue of a flow");
        report.error(&at, rule, Some("write `fifo`, `codel`, `cobalt` or `pie`".to_owned()));
        return false;
    }
    self::queue(inside, packet_size, &at, report)
}

/// Reports a convention that the queue at `at` asks for by itself and has no use for, and a setting that its conventions leave
/// no choice of.
fn conventions(queue: &Queue, at: &[Step], report: &mut Report) {
    let fixed = match queue {
        Queue::Pie { active_from, derandomize, cap_adjustment, mark_ecnth, conventions, .. }
            if conventions.like == LikePie::Linux =>
        {
            vec![
                ("active_from", active_from.is_some(), "is always active"),
                ("derandomize", derandomize.is_some(), "always does"),
                ("cap_adjustment", cap_adjustment.is_some(), "always does"),
                ("mark_ecnth", mark_ecnth.is_some(), "marks up to 0.1"),
            ]
        }
        Queue::DualPi2 { l4s_range, l4s_packets, time_shift, conventions, .. }
            if conventions.like == LikeDualPi2::Linux =>
        {
            vec![
                ("l4s_range", l4s_range.is_some(), "has a step"),
                ("l4s_packets", l4s_packets.is_some(), "marks the last packet too"),
                ("time_shift", time_shift.is_some(), "serves by turns"),
            ]
        }
        _ => Vec::new(),
    };
    for (setting, _, why) in fixed.into_iter().filter(|(_, is_written, _)| *is_written) {
        let rule = format!("{setting} is not for `like = \"linux\"`, which {why}");
        report.error(&[at, &steps![setting]].concat(), rule, Some("leave it out".to_owned()));
    }
    if let Queue::DualPi2 { conventions, .. } = queue
        && conventions.like == LikeDualPi2::Rfc9332
        && conventions.mtu.is_some()
    {
        let rule = "mtu is for `like = \"linux\"` alone";
        report.error(&[at, &steps!["conventions", "mtu"]].concat(), rule, Some("leave it out".to_owned()));
    }
    let Some(early) = queue.early_detection() else { return };
    if early.conventions.idle_color == Some(true) && queue.averaging() != Some(Averaging::Shared) {
        let hint =
            format!("leave it out, or give a {} queue `averaging = \"shared\"`", kinds_with("averaging"));
        let rule = "idle_color (true) needs one average for several colours";
        report.error(&[at, &steps!["conventions", "idle_color"]].concat(), rule, Some(hint));
    }
}

/// Whether something fits into the `limit` of the queue at `at`; reports it if not.
fn holds_something(limit: Limit, at: &[Step], report: &mut Report) -> bool {
    let holds = !matches!(limit.0, QueueSize::Packets(0) | QueueSize::Bytes(0));
    let at = [at, &steps!["limit"]].concat();
    // one that nobody wrote is that of its colours
    if !holds && report.tree.is_written(&at) {
        report.error(&at, "a queue of 0 drops every packet", Some("write at least `1p`".to_owned()));
    }
    holds
}

/// Whether the thresholds at `at` are in order and count what the `first` one of the `queue` counts; reports them if not.
fn curve(
    (min_th, max_th): (Limit, Limit),
    (name, first): (&'static str, Limit),
    queue: &[Step],
    at: &[Step],
    report: &mut Report,
) -> bool {
    let unit = |limit: Limit| match limit.0 {
        QueueSize::Packets(n) => ("packets", n),
        QueueSize::Bytes(n) => ("bytes", n),
    };
    let path: Vec<Step> = name.split('.').map(Step::from).collect();
    if !report.is_sound(&[queue, &path].concat()) {
        return false;
    }
    let mut alike = true;
    for (key, limit) in [("min_th", min_th), ("max_th", max_th)] {
        if unit(limit).0 != unit(first).0 {
            alike = false;
            let rule = format!("{key} ({limit}) must be in {}, as {name} ({first}) is", unit(first).0);
            let hint = "an average counts packets or bytes: write all thresholds of a queue in one of them";
            report.error(&[at, &steps![key]].concat(), rule, Some(hint.to_owned()));
        }
    }
    let above = unit(max_th).1 > unit(min_th).1;
    if alike {
        let (low, high) = (("min_th", min_th.to_string()), ("max_th", max_th.to_string()));
        report.relation(at, low, "must be below", high, above);
    }
    alike && above
}

/// The keys of a table of colours are marks.
pub(crate) fn marks_of(colors: &Colors, at: &[Step], report: &mut Report) {
    keys_are_marks(colors.keys(), at, report);
}

/// Each of `keys`, in the table at `at`, is a mark, and each another one.
pub(crate) fn keys_are_marks<'a>(keys: impl Iterator<Item = &'a String>, at: &[Step], report: &mut Report) {
    let mut seen: BTreeMap<Dscp, &str> = BTreeMap::new();
    for key in keys {
        let at = [at, &steps![key.clone()]].concat();
        match key.parse() {
            Err(error) => {
                let UnitError { rule, hint } = error;
                report.error(&at, rule, Some(hint));
            }
            Ok(Mark(dscp)) => {
                if let Some(first) = seen.insert(dscp, key) {
                    let rule = format!("`{}` is the same mark as `{first}`", suggest::short(key));
                    report.error(&at, rule, Some("keep one of the two".to_owned()));
                }
            }
        }
    }
}
