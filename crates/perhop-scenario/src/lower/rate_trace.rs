//! Files of traces that the rate of a link follows.

use std::sync::Arc;

use perhop_core::rate_trace::RateTrace;
use perhop_core::time::Span;
use perhop_core::units::Bytes;

use crate::lower::TracedRate;
use crate::read::mistakes::Report;
use crate::read::tree::Step;
use crate::words::link_rate::LinkRate;
use crate::words::units::{Rate, Time, UnitError};

/// An opportunity of mahimahi: a packet of an Ethernet's full length, whose IP header it begins with. (The 1504 of its
/// sources have the 4 bytes that a TUN device puts before a packet.)
const OPPORTUNITY: Bytes = Bytes(1500);
/// First line of a trace of rates.
const HEAD: &str = "time_s,rate_bit_s";
/// In the place of the last rate: all begins again.
const REPEAT: &str = "repeat";

/// Bits per second that `rate` is in a run of length `run`, and the trace that it follows.
pub(crate) fn read(rate: &LinkRate, run: Span, at: &[Step], report: &mut Report) -> Option<TracedRate> {
    let name = match rate {
        LinkRate::Constant(Rate(rate)) => return Some((*rate, None)),
        LinkRate::Trace(name) => name,
    };
    let file = report.file(at, name)?;
    let read = trace(&file.bytes).and_then(|trace| match trace.mean(run) {
        Some(mean) => Ok((mean, Some((name.clone(), Arc::new(trace))))),
        None => Err("offers less than 1 bit/s in this run".to_owned()),
    });
    let hint = format!("one time in ms a line, as for mahimahi; or lines `{HEAD}` after such a first line");
    read.map_err(|why| report.error(at, format!("`{name}` {why}"), Some(hint))).ok()
}

/// The trace that a file has, or what is wrong with it as the end of a sentence.
fn trace(bytes: &[u8]) -> Result<RateTrace, String> {
    let text = std::str::from_utf8(bytes).map_err(|error| {
        let line = 1 + bytes[..error.valid_up_to()].iter().filter(|byte| **byte == b'\n').count();
        format!("is not text: line {line} is not UTF-8")
    })?;
    let mut lines = (1..).zip(text.lines()).peekable();
    let is_csv = lines.peek().is_some_and(|(_, line)| line.starts_with(|c: char| c.is_ascii_alphabetic()));
    if is_csv { steps(lines) } else { opportunities(lines) }
}

/// Lines of mahimahi: whole milliseconds.
fn opportunities<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<RateTrace, String> {
    let mut times: Vec<u64> = Vec::new();
    for (number, line) in lines {
        let ms = line.trim().parse::<u64>().ok().filter(|ms| *ms <= LONGEST_MS);
        let ms = ms.ok_or_else(|| wrong(number, line, "is not a whole number of ms up to 10^12"))?;
        if times.last().is_some_and(|last| ms < *last) {
            return Err(wrong(number, line, "is before the line above it"));
        }
        times.push(ms);
    }
    let times: Vec<Span> = times.into_iter().map(Span::from_millis).collect();
    RateTrace::opportunities(&times, OPPORTUNITY).map_err(|error| format!("is no trace: it {}", error.rule))
}

/// The last time that a trace may have, 10^9 s as everywhere.
const LONGEST_MS: u64 = 1_000_000_000_000;

/// Lines of times and rates.
fn steps<'a>(lines: impl Iterator<Item = (usize, &'a str)>) -> Result<RateTrace, String> {
    let mut steps: Vec<(Span, u64)> = Vec::new();
    let mut period = None;
    for (number, line) in lines {
        let line = line.trim();
        if number == 1 {
            if line != HEAD {
                return Err(wrong(1, line, &format!("is not `{HEAD}`")));
            }
            continue;
        }
        let Some((time, rate)) = line.split_once(',') else {
            return Err(wrong(number, line, "is not a time and a rate with a comma between them"));
        };
        let Time(time) = format!("{}s", time.trim())
            .parse()
            .map_err(|error: UnitError| wrong(number, time, &format!("is no time in s: {}", error.rule)))?;
        if period.is_some() {
            return Err(wrong(number, line, &format!("comes after `{REPEAT}`, which ends the file")));
        }
        match steps.last() {
            None if time > Span::ZERO => {
                return Err(wrong(number, line, "is not at 0, where a trace begins"));
            }
            Some((last, _)) if time <= *last => {
                return Err(wrong(number, line, "is not after the line above it"));
            }
            _ if rate.trim() == REPEAT => period = Some(time),
            _ => steps.push((time, bits_per_sec(rate.trim()).map_err(|rule| wrong(number, rate, &rule))?)),
        }
    }
    RateTrace::steps(&steps, period).map_err(|error| format!("is no trace: it {}", error.rule))
}

/// A rate in bit/s, 0 included.
fn bits_per_sec(text: &str) -> Result<u64, String> {
    if text.bytes().all(|byte| matches!(byte, b'0' | b'.')) && text.contains('0') {
        return Ok(0);
    }
    if !text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.') {
        return Err("is no rate in bit/s: write a plain number".to_owned());
    }
    let rate: Result<Rate, UnitError> = format!("{text}bit/s").parse();
    rate.map(|Rate(rate)| rate.bits_per_sec()).map_err(|error| format!("is no rate in bit/s: {}", error.rule))
}

fn wrong(number: usize, what: &str, rule: &str) -> String {
    let short: String = what.trim().chars().take(40).collect();
    format!("is no trace: line {number}: `{}` {rule}", short.escape_debug())
}
