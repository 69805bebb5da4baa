//! How far a live run may be from the scenario until it says nothing.

use perhop_core::histogram::Histogram;
use perhop_core::time::{Instant, Span};
use perhop_scenario::model::Endpoint;

use crate::share::Share;
use crate::sources::Report;

/// When the loop was not there, though something was due.
#[derive(Debug, Default)]
pub struct Stalls {
    /// The longest, and when it began.
    pub longest: (Span, Instant),
    /// The sum of those longer than [`LATENESS`].
    pub sum: Span,
}

impl Stalls {
    /// The loop looks at `now`, and should have by `due`.
    pub fn woken(&mut self, due: Instant, now: Instant) {
        if now <= due {
            return;
        }
        let late = now - due;
        if late > self.longest.0 {
            self.longest = (late, due);
        }
        if late > LATENESS {
            self.sum = self.sum + late;
        }
    }
}

/// Errors, and near errors, over the whole run.
#[derive(Debug, Default)]
pub struct Errors {
    /// How late packets were written to their hosts, ns.
    pub lateness: Histogram,
    /// When the loop stood still.
    pub stalls: Stalls,
    /// How old probes were when they were read, ns: as old as any packet that a host sends of itself.
    pub reads: Histogram,
    /// How long the machine was suspended.
    pub suspended: Span,
    /// How late `TCP_INFO` was read, ns: how long an application may have waited.
    pub applications: Histogram,
    /// How late UDP packets were handed to the kernel, ns.
    pub sources: Histogram,
    /// Packets with a wrong checksum.
    pub checksums: u64,
    /// Packets larger than their flow's may be.
    pub sizes: u64,
    /// Packets of no flow, such as ICMP.
    pub foreign: u64,
    /// Packets that a device dropped on their way out, because they were not read soon enough.
    pub unread: u64,
    /// Packets that a device did not take.
    pub unwritten: u64,
    /// UDP packets that the kernel did not take.
    pub unsent: u64,
    /// By flow where they differ: retransmissions as counted here, and as the kernel counts them.
    pub retransmissions: Vec<(String, u64, u64)>,
    /// Broken connections, in words.
    pub connections: Vec<String>,
    /// Processor time of the run.
    pub cpu: Span,
    /// The loop's share of a processor.
    pub forwarding: Share,
    /// That of the thread that sends UDP.
    pub sending: Share,
    /// The share above which the kernel may stop them, if it does at all.
    pub limit: Option<f64>,
}

/// A thread that is this near to the limit is at it.
const NEAR: f64 = 0.01;

/// 99 of 100 packets must be written this soon, and read. A stall is longer.
pub const LATENESS: Span = Span::from_micros(500);
/// As many readings of `TCP_INFO` must be this soon: an application that waits for a processor holds its socket's packets up (decision
/// 0070).
pub const WAIT: Span = Span::from_millis(2);
/// The same where many programs share the processors, as iperf3's do.
pub const WAIT_OF_PROGRAMS: Span = Span::from_millis(5);
/// 999 of 1000 of all that.
pub const SELDOM: Span = Span::from_millis(10);
/// The longest stall: half the least retransmission timeout of Linux.
pub const STALL: Span = Span::from_millis(100);
/// The longest part of the run that stalls may take together.
const STALLED: f64 = 0.01;

impl Errors {
    /// Takes in what the thread that sends UDP has reported.
    pub fn take_report(&mut self, report: Report) {
        (self.sources, self.unsent, self.sending) = (report.lag, report.refused, report.share);
    }

    /// The parts of the budget that a run of `duration` exceeds, in words; a run with any of it is not valid.
    #[must_use]
    pub fn over(&self, duration: Span, endpoint: Endpoint) -> Vec<String> {
        let wait = if endpoint == Endpoint::Iperf3 { WAIT_OF_PROGRAMS } else { WAIT };
        let mut over = self.stood_still(duration);
        for (what, histogram, most) in [
            ("packets were written to hosts", &self.lateness, LATENESS),
            ("packets were read", &self.reads, LATENESS),
            ("applications were served", &self.applications, wait),
            ("UDP packets left", &self.sources, LATENESS),
        ] {
            for (permille, part, most) in [(990, "99", most), (999, "99.9", SELDOM), (1000, "100", STALL)] {
                if let Some(late) = histogram.quantile(permille)
                    && late > most.as_nanos()
                {
                    let (late, most) = (ms(late), ms(most.as_nanos()));
                    over.push(format!(
                        "{what} up to {late:.3} ms late ({part} % of them; at most {most:.1} ms)"
                    ));
                    break;
                }
            }
        }
        for (count, what) in [
            (self.checksums, "packets had wrong checksums"),
            (self.sizes, "packets were larger than their flow's may be"),
            (self.unread, "packets were dropped by a device before they were read"),
            (self.unwritten, "packets were not taken by a device"),
            (self.unsent, "UDP packets were not taken by the kernel"),
        ] {
            if count > 0 {
                over.push(format!("{count} {what}"));
            }
        }
        over.extend(self.connections.iter().cloned());
        if !over.is_empty() {
            over.extend(self.at_the_limit());
        }
        over
    }

    /// The threads that the kernel may have stopped, since they took all that it gives them: why others were late.
    fn at_the_limit(&self) -> impl Iterator<Item = String> {
        let limit = self.limit.unwrap_or(f64::INFINITY);
        let threads = [("forwarding", self.forwarding.most), ("sending UDP", self.sending.most)];
        threads.into_iter().filter(move |(_, share)| *share > limit - NEAR).map(move |(what, share)| {
            format!(
                "{what} took {:.0} % of a processor: above {:.0} % the kernel stops a thread of SCHED_FIFO for up to {:.0} ms of each \
                 second (kernel.sched_rt_runtime_us); since Linux 6.12 only where other programs wait for that processor. Fewer \
                 packets a second help",
                100.0 * share,
                100.0 * limit,
                1000.0 * (1.0 - limit)
            )
        })
    }

    fn stood_still(&self, duration: Span) -> Vec<String> {
        let mut over = Vec::new();
        // two clocks are read one after the other, so that less than this says nothing
        if self.suspended > LATENESS {
            over.push(format!("the machine was suspended for {:.1} s", self.suspended.as_secs_f64()));
        }
        let Stalls { longest: (longest, at), sum } = self.stalls;
        if longest > STALL {
            let (longest, at, most) = (ms(longest.as_nanos()), at.as_secs_f64(), ms(STALL.as_nanos()));
            over.push(format!("the run stood still for {longest:.0} ms at {at:.1} s (at most {most:.0} ms)"));
        }
        let stalled = sum.as_secs_f64() / duration.as_secs_f64();
        if stalled > STALLED {
            let (stalled, most) = (100.0 * stalled, 100.0 * STALLED);
            over.push(format!(
                "the run stood still for {stalled:.3} % of its time, in stalls of more than {:.1} ms (at most {most:.0} %)",
                ms(LATENESS.as_nanos())
            ));
        }
        over
    }
}

#[expect(clippy::cast_precision_loss, reason = "a number for people")]
fn ms(ns: u64) -> f64 {
    ns as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use super::*;

    const RUN: Span = Span::from_secs(60);

    fn at(ms: u64) -> Instant {
        Instant::ZERO + Span::from_millis(ms)
    }

    #[test]
    fn a_run_that_stood_still_is_over_whatever_its_packets_were() {
        let mut errors = Errors::default();
        for _ in 0..100_000 {
            errors.lateness.record(20_000);
        }
        errors.stalls.woken(at(1000), at(1100));
        errors.stalls.woken(at(2000), at(1990));
        assert_eq!(errors.over(RUN, Endpoint::Own), Vec::<String>::new());
        errors.stalls.woken(at(30_000), at(30_101));
        assert_eq!(
            errors.over(RUN, Endpoint::Own),
            ["the run stood still for 101 ms at 30.0 s (at most 100 ms)"]
        );
        errors.suspended = Span::from_secs(2);
        assert_eq!(errors.over(RUN, Endpoint::Own)[0], "the machine was suspended for 2.0 s");
    }

    #[test]
    fn many_short_stalls_are_a_long_one() {
        let mut errors = Errors::default();
        for second in 0..60 {
            errors.stalls.woken(at(1000 * second), at(1000 * second + 10));
        }
        assert_eq!(errors.over(RUN, Endpoint::Own), Vec::<String>::new());
        errors.stalls.woken(at(60_000), at(60_002));
        let expected =
            "the run stood still for 1.003 % of its time, in stalls of more than 0.5 ms (at most 1 %)";
        assert_eq!(errors.over(RUN, Endpoint::Own), [expected]);
        // what is shorter than that is how late packets may be
        let mut errors = Errors::default();
        for ms in 0..60_000 {
            errors.stalls.woken(at(ms), at(ms) + LATENESS);
        }
        assert_eq!(errors.over(RUN, Endpoint::Own), Vec::<String>::new());
    }

    #[test]
    fn a_thread_at_its_limit_is_named_where_a_run_is_over_its_budget() {
        let mut errors = Errors { limit: Some(0.95), ..Errors::default() };
        errors.forwarding.second(at(1000), Span::from_millis(300));
        errors.sending.second(at(1000), Span::from_millis(946));
        errors.sending.second(at(2000), Span::from_millis(1200));
        assert!((errors.sending.most - 0.946).abs() < 1e-9);
        assert_eq!(errors.over(RUN, Endpoint::Own), Vec::<String>::new());
        errors.unread = 3;
        let messages = errors.over(RUN, Endpoint::Own);
        assert_eq!(messages.len(), 2, "{messages:?}");
        let stops = "sending UDP took 95 % of a processor: above 95 % the kernel stops a thread of SCHED_FIFO for up to 50 ms of each second";
        assert!(messages[1].starts_with(stops), "{messages:?}");
        errors.limit = None;
        assert_eq!(errors.over(RUN, Endpoint::Own).len(), 1);
    }

    #[test]
    fn each_part_of_what_was_late_has_its_bound() {
        let of = |late: &[(u64, Span)]| {
            let mut errors = Errors::default();
            for &(count, late) in late {
                (0..count).for_each(|_| errors.reads.record(late.as_nanos()));
            }
            errors.over(RUN, Endpoint::Own)
        };
        let (soon, late) = (Span::from_micros(100), Span::from_millis(1));
        let (later, latest) = (Span::from_millis(11), Span::from_millis(101));
        assert!(of(&[(9_950, soon), (50, late)]).is_empty());
        assert!(of(&[(9_850, soon), (150, late)])[0].contains("(99 % of them; at most 0.5 ms)"));
        assert!(of(&[(9_995, soon), (5, later)]).is_empty());
        assert!(of(&[(9_980, soon), (20, later)])[0].contains("(99.9 % of them; at most 10.0 ms)"));
        assert!(of(&[(99_999, soon), (1, latest)])[0].contains("(100 % of them; at most 100.0 ms)"));
    }
}
