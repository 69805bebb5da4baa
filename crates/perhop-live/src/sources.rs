//! UDP: packets that leave when the scenario says, on a thread of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::histogram::Histogram;
use perhop_core::time::{Instant, Span};
use perhop_sim::Departures;

use crate::budget::Share;
use crate::kernel::{Clock, Poller, Udp, exact_timers, is_uncut, realtime};

/// A UDP flow.
pub struct Source {
    /// The socket, bound to the flow's port, connected to where its packets go, and cutting what it is given into `payload`.
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
/// The least time between two wake-ups: more packets than one in that time go together, and so much later.
const REST: Span = Span::from_micros(50);
/// Most packets that go together: as many as every kernel cuts (`UDP_MAX_SEGMENTS`), and at most so many bytes.
const TOGETHER: usize = 64;
const BYTES: usize = 65_507;
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
    let zeros = [0; BYTES];
    let first = |(at, source): (usize, &Source)| Reverse((source.departures.next(), at));
    let mut next: BinaryHeap<_> = sources.iter().enumerate().map(first).collect();
    let mut due = Vec::new();
    let mut woken = Instant::ZERO;
    let mut together = TOGETHER;
    while !stop.load(Relaxed) {
        let Some(&Reverse((mut at, which))) = next.peek() else { return Ok(report) };
        let now = clock.now();
        report.share.look(now);
        if at > now {
            poller.wait(clock.until(at.max(woken + REST)).min(LONGEST_SLEEP))?.for_each(drop);
            woken = clock.now();
            continue;
        }
        next.pop();
        let Source { socket, payload, departures } = &mut sources[which];
        let most = BYTES.checked_div(*payload).map_or(1, |most| most.min(together));
        // those of one flow that are due before any other's go together
        while at <= now && due.len() < most && next.peek().is_none_or(|&Reverse(first)| (at, which) < first) {
            due.push(at);
            departures.advance();
            at = departures.next();
        }
        let taken = match socket.send(&zeros[..*payload * due.len()]) {
            Err(error) if due.len() > 1 && is_uncut(&error) => {
                together = 1;
                let each = due.iter().map(|_| Ok(u64::from(socket.send(&zeros[..*payload])?)));
                each.sum::<io::Result<u64>>()?
            }
            taken => u64::from(taken?) * due.len() as u64,
        };
        report.refused += due.len() as u64 - taken;
        let now = clock.now();
        due.drain(..).for_each(|at| report.lag.record((now - at).as_nanos()));
        next.push(Reverse((at, which)));
    }
    Ok(report)
}
