//! Packets that tell how old a packet is when it is read: a host sends one with the time in it, and the loop takes it out.

use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use perhop_core::classify::Protocol;
use perhop_core::time::{Instant, Span};
use perhop_wire::View;

use crate::kernel::{Clock, Poller, Udp, exact_timers, realtime};
use crate::sources::SENDING;

/// From and to which they go: a port of no flow and no program.
pub const PORT: u16 = 9;
/// How often one is sent, by the hosts in turn.
const EVERY: Span = Span::from_millis(10);

/// Sends by hosts' sockets, bound to [`PORT`] and connected to any address beyond their devices, until `stop`.
///
/// # Errors
/// Of the kernel.
pub fn send(probes: &[Udp], clock: Clock, stop: &AtomicBool) -> io::Result<()> {
    exact_timers();
    // where it is refused, probes leave late, which changes nothing in what they tell
    let _ = realtime(SENDING);
    let mut poller = Poller::new()?;
    for probe in probes.iter().cycle() {
        poller.wait(EVERY)?.for_each(drop);
        if stop.load(Relaxed) {
            break;
        }
        // a device that takes no more is counted by what it drops
        probe.send(&clock.now().as_nanos().to_be_bytes())?;
    }
    Ok(())
}

/// When a packet was sent, if it is a probe.
#[must_use]
pub fn sent(view: &View, bytes: &[u8]) -> Option<Instant> {
    if view.protocol != Protocol::UDP.0 || view.destination_port != PORT || view.source_port != PORT {
        return None;
    }
    bytes.last_chunk().map(|&ns| Instant::from_nanos(u64::from_be_bytes(ns)))
}
