//! UDP: packets that leave when the scenario says, on a thread of their own.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::histogram::Histogram;
use perhop_core::time::{Instant, Span};
use perhop_sim::Departures;

use crate::kernel::{Clock, Poller, Udp, exact_timers, is_uncut, realtime};
use crate::share::Share;

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
        report.refused += due.len() as u64 - hand_over(socket, *payload, due.len(), &mut together)?;
        let now = clock.now();
        due.drain(..).for_each(|at| report.lag.record((now - at).as_nanos()));
        next.push(Reverse((at, which)));
    }
    Ok(report)
}

/// Hands over `count` packets of `payload` bytes as one piece; how many the kernel took. Where it does not cut, it refuses a piece of one
/// packet too: then the socket cuts no more, and `together` is 1 from there on.
fn hand_over(socket: &Udp, payload: usize, count: usize, together: &mut usize) -> io::Result<u64> {
    static ZEROS: [u8; BYTES] = [0; BYTES];
    match socket.send(&ZEROS[..payload * count]) {
        Err(error) if is_uncut(&error) => {
            *together = 1;
            socket.cut(0)?;
            (0..count).map(|_| Ok(u64::from(socket.send(&ZEROS[..payload])?))).sum()
        }
        taken => Ok(u64::from(taken?) * count as u64),
    }
}

#[cfg(test)]
mod tests {
    use std::net::{SocketAddr, UdpSocket};
    use std::time::Duration;

    use super::*;

    /// A socket that cuts into 100 bytes, and where its packets arrive.
    fn pair() -> (Udp, UdpSocket) {
        let there = UdpSocket::bind("127.0.0.1:0").unwrap();
        there.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        let SocketAddr::V4(to) = there.local_addr().unwrap() else { panic!("bound to IPv4") };
        let socket = Udp::new(0, 0).unwrap();
        socket.connect(to).unwrap();
        socket.cut(100).unwrap();
        (socket, there)
    }

    fn arrive(there: &UdpSocket, count: usize) {
        let mut bytes = [0; 2000];
        (0..count).for_each(|_| assert_eq!(there.recv(&mut bytes).unwrap(), 100));
        there.set_nonblocking(true).unwrap();
        assert!(there.recv(&mut bytes).is_err(), "more than {count} arrived");
        there.set_nonblocking(false).unwrap();
    }

    #[test]
    fn packets_that_go_together_are_cut() {
        let (socket, there) = pair();
        let mut together = TOGETHER;
        assert_eq!(hand_over(&socket, 100, TOGETHER, &mut together).unwrap(), 64);
        assert_eq!(together, TOGETHER);
        arrive(&there, TOGETHER);
    }

    #[test]
    fn where_the_kernel_does_not_cut_packets_go_one_by_one() {
        // the second of them is of a flow that has its first packets when it is known
        let mut together = TOGETHER;
        for first in [5, 1] {
            let (socket, there) = pair();
            socket.refuse_to_cut().unwrap();
            for one in [100, 500] {
                assert!(is_uncut(&socket.send(&[0; 500][..one]).unwrap_err()));
            }
            assert_eq!(hand_over(&socket, 100, first, &mut together).unwrap(), first as u64);
            assert_eq!(together, 1);
            // it is not asked again
            assert!(socket.send(&[0; 100]).unwrap());
            arrive(&there, first + 1);
        }
    }
}
