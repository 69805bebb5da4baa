//! Settings that are valid one by one and hardly meant together: thresholds that cross, times that leave nothing.

use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};

use crate::lower::tcp::ack_policy;
use crate::read::mistakes::Report;
use crate::read::tree::{Step, steps};
use crate::words::choices::{MoreSeries, Per};
use crate::words::congestion::CongestionControl;
use crate::words::units::{Limit, Time};
use crate::written::conditioner::Meter;
use crate::written::file::{AckPolicy, ScenarioFile};
use crate::written::queue::Queue;

/// Warns of what can be seen without the network.
pub(super) fn find(file: &ScenarioFile, report: &mut Report) {
    times(file, report);
    jitter(file, report);
    waiting_acks(file, report);
    bursts(file, report);
    controls(file, report);
    if file.run.series.contains(&MoreSeries::Tokens) {
        levels(file, report);
    }
    for (i, port) in file.port.iter().enumerate() {
        for (j, class) in port.class.iter().enumerate() {
            let at = steps!["port", i, "class", j, "queue"];
            thresholds(&class.queue, &at, report);
            pie(&class.queue, &at, report);
        }
    }
}

/// Something is measured, and what starts does so before the end.
fn times(file: &ScenarioFile, report: &mut Report) {
    let run = &file.run;
    let (duration, interval) = (run.duration.0.as_nanos(), run.interval.0.as_nanos());
    let at = steps!["run", "interval"];
    if interval > duration && report.tree.is_written(&at) {
        let rule = format!("no sample is ever taken: the run ends at {}", run.duration);
        report.warn(&at, rule, Some("write a shorter interval".to_owned()));
    }
    let measured = duration - run.warmup.0.as_nanos().min(duration);
    if measured < duration / 100 {
        let rule = format!("the warm-up leaves less than 1 % of {} to be measured", run.duration);
        let hint = "write a shorter warm-up or a longer duration".to_owned();
        report.warn(&steps!["run", "warmup"], rule, Some(hint));
    }
    let tcp = file.flow.iter().enumerate().map(|(i, flow)| ("flow", i, &flow.name, flow.start));
    let udp = file.udp.iter().enumerate().map(|(i, flow)| ("udp", i, &flow.name, flow.start));
    for (list, i, name, Time(start)) in tcp.chain(udp) {
        if start >= run.duration.0 {
            let rule = format!("flow `{name}` never starts: the run ends at {}", run.duration);
            report.warn(&steps![list, i, "start"], rule, Some("let it start before the end".to_owned()));
        }
    }
}

/// The least time-out of a TCP (RFC 6298 section 2, rule 2.4).
const LEAST_TIMEOUT: Time = Time(Span::from_secs(1));

/// Packets leave their host before the end, and before they are sent again.
fn jitter(file: &ScenarioFile, report: &mut Report) {
    let (jitter, duration) = (file.run.processing_jitter, file.run.duration);
    let cause = if jitter.is_none() {
        return;
    } else if jitter.0 >= duration.0 {
        format!("the run ends at {duration}")
    } else if jitter.0 >= LEAST_TIMEOUT.0 {
        format!("a TCP's time-out may be {LEAST_TIMEOUT} (RFC 6298 section 2)")
    } else {
        return;
    };
    let rule = format!("a packet may wait up to {jitter} in its host, and {cause}");
    let hint = "one packet time of the bottleneck keeps equal flows from falling into step".to_owned();
    report.warn(&steps!["run", "processing_jitter"], rule, Some(hint));
}

/// PSH at the end of bursts needs bursts.
fn bursts(file: &ScenarioFile, report: &mut Report) {
    for (i, flow) in file.flow.iter().enumerate() {
        let at = steps!["flow", i, "tcp", "burst_push"];
        let written = report.tree.is_written(&at) && !is_resolved(i, report);
        // a kernel has its own bursts
        let own = matches!(flow.tcp.cc, CongestionControl::Own(_));
        if written && own && flow.tcp.burst_push && !flow.tcp.paces() {
            let rule = "no segment has PSH: this sender has no bursts, for it does not pace".to_owned();
            report.warn(&at, rule, Some("write `pacing = true`, or leave this out".to_owned()));
        }
    }
}

/// Settings written for ACKs that wait need an ACK policy under which they do.
fn waiting_acks(file: &ScenarioFile, report: &mut Report) {
    for (i, flow) in file.flow.iter().enumerate() {
        let tcp = &flow.tcp;
        let settings = [
            ("ack_delay", tcp.ack_delay.0 > Span::ZERO),
            ("ack_delay_adapts", tcp.ack_delay_adapts),
            ("quick_acks", tcp.quick_acks > 0),
            ("sack_compression", tcp.sack_compression.0 > Span::ZERO),
            ("receive_buffer", tcp.receive_buffer.0 > Bytes(0)),
        ];
        if ack_policy(&flow.ack, tcp) != AckPolicy::EverySegment || is_resolved(i, report) {
            continue;
        }
        let by_flow = report.tree.is_written(&steps!["flow", i, "ack", "policy"]);
        let cause = if by_flow { "the flow's `ack.policy`" } else { "an `ack_delay` of zero" };
        for (key, set) in settings {
            if set && report.tree.is_written(&steps!["flow", i, "tcp", key]) {
                let rule =
                    format!("this is for delayed ACKs, and {cause} has every segment acknowledged at once");
                let hint = format!("write `ack.policy = \"delayed\"`, or leave `{key}` out");
                report.warn(&steps!["flow", i, "tcp", key], rule, Some(hint));
            }
        }
    }
}

/// Whether flow number `i` is of a resolved scenario, which has every setting, asked for or not.
fn is_resolved(i: usize, report: &Report) -> bool {
    let keys = ["ack_delay", "ack_delay_adapts", "quick_acks", "sack_compression", "receive_buffer"];
    keys.iter().all(|key| report.tree.is_written(&steps!["flow", i, "tcp", *key]))
}

/// A setting that a class in Python takes the place of is not written beside it.
fn controls(file: &ScenarioFile, report: &mut Report) {
    for (i, flow) in file.flow.iter().enumerate() {
        let replaced = [
            (flow.control.is_some(), "control", steps!["flow", i, "tcp", "cc"]),
            (flow.ack.control.is_some(), "ack.control", steps!["flow", i, "ack", "policy"]),
            (flow.ack.control.is_some(), "ack.control", steps!["flow", i, "ack", "timeout"]),
        ];
        for (given, by, at) in replaced {
            if given && report.tree.is_written(&at) && !is_resolved(i, report) {
                let rule = format!("this changes nothing: `{by}` takes its place");
                report.warn(&at, rule, Some(format!("leave it out, or leave out `{by}`")));
            }
        }
    }
}

/// A meter whose token levels are asked for has some.
fn levels(file: &ScenarioFile, report: &mut Report) {
    for (i, conditioner) in file.conditioner.iter().enumerate() {
        let none = match &conditioner.meter {
            Some(Meter::TcpFriendly { .. }) => "the TCP-friendly marker has no token bucket",
            Some(_) if conditioner.per == Per::Flow => "each flow has token buckets of its own",
            Some(_) if conditioner.per == Per::Addresses => {
                "each pair of addresses has token buckets of its own"
            }
            _ => continue,
        };
        let rule = format!("{none}: no `tokens` of this conditioner are in the series");
        let hint = "take a meter with token buckets for the aggregate, or leave `tokens` out of `run.series`";
        report.warn(&steps!["conditioner", i, "meter"], rule, Some(hint.to_owned()));
    }
}

/// Better colours are dropped later, and the queue is long enough for its thresholds.
fn thresholds(queue: &Queue, at: &[Step], report: &mut Report) {
    let (limit, colours) = (queue.limit(), queue.thresholds());
    let key = |colour: &'static str, key: &'static str| {
        let colour = (!colour.is_empty()).then_some(Step::from(colour));
        at.iter().cloned().chain(colour).chain([Step::from(key)]).collect::<Vec<_>>()
    };
    for (colour, _, max_th, own) in &colours {
        let limit = own.unwrap_or(limit);
        if below(limit, *max_th) {
            let rule = format!("max_th ({max_th}) is never reached: the queue holds {limit}");
            let hint = "write a larger `limit` or a smaller `max_th`".to_owned();
            report.warn(&key(colour, "max_th"), rule, Some(hint));
        }
    }
    for pair in colours.windows(2) {
        let [(better, min, max, _), (worse, worse_min, worse_max, _)] = pair else { continue };
        if below(*min, *worse_min) && below(*max, *worse_max) {
            let rule = format!(
                "{better} is dropped earlier than {worse}: its thresholds ({min} to {max}) are below those of {worse} \
                 ({worse_min} to {worse_max})"
            );
            let hint = format!("exchange the thresholds of {better} and {worse}");
            report.warn(&key(better, "min_th"), rule, Some(hint));
        }
    }
}

/// PIE becomes active before it is full, and a bound on marks has marks to bound; also where it is the queue of a flow.
fn pie(queue: &Queue, at: &[Step], report: &mut Report) {
    let (limit, active_from, ecn, mark_ecnth) = match queue {
        Queue::Fq { queue, .. } => return pie(queue, &[at, &steps!["queue"]].concat(), report),
        Queue::Pie { limit, active_from, ecn, mark_ecnth, .. } => (*limit, *active_from, *ecn, *mark_ecnth),
        _ => return,
    };
    if let Some(from) = active_from.filter(|from| below(limit, *from)) {
        let rule = format!("active_from ({from}) is never reached: the queue holds {limit}");
        let hint = "write a larger `limit` or a smaller `active_from`".to_owned();
        report.warn(&[at, &steps!["active_from"]].concat(), rule, Some(hint));
    }
    if mark_ecnth.is_some() && !ecn {
        let rule = "this changes nothing: without `ecn` no packet is marked".to_owned();
        let hint = "write `ecn = true`, or leave `mark_ecnth` out".to_owned();
        report.warn(&[at, &steps!["mark_ecnth"]].concat(), rule, Some(hint));
    }
}

/// Whether both count the same and `a` is less.
fn below(a: Limit, b: Limit) -> bool {
    match (a.0, b.0) {
        (QueueSize::Packets(a), QueueSize::Packets(b)) | (QueueSize::Bytes(a), QueueSize::Bytes(b)) => a < b,
        _ => false,
    }
}
