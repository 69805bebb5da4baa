//! UDP: packets that leave when the scenario says, on a thread of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::histogram::Histogram;
use perhop_core::time::Span;
use perhop_sim::Departures;

use crate::kernel::{Clock, Poller, Udp, exact_timers, realtime};

/// A UDP flow.
pub struct Source {
    /// The socket, bound to the flow's port.
    pub socket: Udp,
    /// Where its packets go.
    pub to: SocketAddrV4,
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
    let due = |(at, source): (usize, &Source)| Reverse((source.departures.next(), at));
    let mut next: BinaryHeap<_> = sources.iter().enumerate().map(due).collect();
    while !stop.load(Relaxed) {
        let Some(&Reverse((at, which))) = next.peek() else { return Ok(report) };
        let wait = clock.until(at);
        if wait > Span::ZERO {
            poller.wait(wait.min(LONGEST_SLEEP))?.for_each(drop);
            continue;
        }
        next.pop();
        let source = &mut sources[which];
        report.lag.record((clock.now() - at).as_nanos());
        if !source.socket.send(&zeros[..source.payload], source.to)? {
            report.refused += 1;
        }
        source.departures.advance();
        next.push(Reverse((source.departures.next(), which)));
    }
    Ok(report)
}
