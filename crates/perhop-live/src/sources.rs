//! UDP: packets that leave when the scenario says, on a thread of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::histogram::Histogram;
use perhop_core::time::Span;
use perhop_sim::Departures;

use crate::budget::Share;
use crate::kernel::{AT_ONCE, Clock, Poller, Udp, exact_timers, realtime};

/// A UDP flow.
pub struct Source {
    /// The socket, bound to the flow's port and connected to where its packets go.
    pub socket: Udp,
    /// Bytes of a packet without headers.
    pub payload: usize,
    /// When packets leave.
    pub departures: Departures,
}

/// The thread's report when it stops.
#[derive(Debug, Default)]
pub struct Report {
    /// How late packets were handed to the kernel, ns.
    pub lag: Histogram,
    /// Packets that the kernel did not take.
    pub refused: u64,
    /// Its share of a processor.
    pub share: Share,
}

/// Priority of the threads that send: below that of the loop which forwards.
pub const SENDING: i32 = 20;
/// How long the thread sleeps at most, so that it sees that it is to stop.
const LONGEST_SLEEP: Span = Span::from_millis(50);

/// Sends until `stop`.
///
/// # Errors
/// Of the kernel.
pub fn send(mut sources: Vec<Source>, clock: Clock, stop: &AtomicBool) -> io::Result<Report> {
    exact_timers();
    // where it is refused, packets leave late, which is counted
    let _ = realtime(SENDING);
    let mut poller = Poller::new()?;
    let mut report = Report::default();
    let longest = sources.iter().map(|source| source.payload).max().unwrap_or(0);
    let zeros = vec![0; longest];
    let first = |(at, source): (usize, &Source)| Reverse((source.departures.next(), at));
    let mut next: BinaryHeap<_> = sources.iter().enumerate().map(first).collect();
    let mut due = Vec::new();
    while !stop.load(Relaxed) {
        let Some(&Reverse((mut at, which))) = next.peek() else { return Ok(report) };
        let now = clock.now();
        report.share.look(now);
        if at > now {
            poller.wait(clock.until(at).min(LONGEST_SLEEP))?.for_each(drop);
            continue;
        }
        next.pop();
        let Source { socket, payload, departures } = &mut sources[which];
        // those of one flow that are due before any other's go together
        while at <= now
            && due.len() < AT_ONCE
            && next.peek().is_none_or(|&Reverse(first)| (at, which) < first)
        {
            due.push(at);
            departures.advance();
            at = departures.next();
        }
        let sent = socket.send(&zeros[..*payload], due.len())?;
        report.refused += (due.len() - sent) as u64;
        let now = clock.now();
        due.drain(..).for_each(|at| report.lag.record((now - at).as_nanos()));
        next.push(Reverse((at, which)));
    }
    Ok(report)
}
