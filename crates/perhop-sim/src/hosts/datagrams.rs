//! UDP: a source that sends whether anybody listens or not, and where its packets end.
//!
//! Times are exact: packet n of a constant rate leaves at the start of its run of packets plus n packet times, rounded
//! down to the nanosecond, so that the long-run rate does not drift. Random lengths of time come by inversion from the
//! stream `udp.name.pattern`.

use std::sync::Arc;

use perhop_core::packet::{Dir, Kind, Meta};
use perhop_core::queue::Backlog;
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_scenario::model::{Capture, Run, Udp, UdpPattern};

use crate::applications::call::{CallReceiver, after};
use crate::engine::marks::MarkCounts;
use crate::hosts::connection::Connection;
use crate::hosts::packet::SimPacket;

/// The sending end of a UDP flow.
pub struct Source {
    /// The flow; its header is the whole packet.
    pub connection: Connection,
    departures: Departures,
    /// Its packets so far.
    pub sent: Backlog,
}

impl Source {
    /// A source of packets that leave at `departures`.
    pub fn new(connection: Connection, departures: Departures) -> Self {
        Self { connection, departures, sent: Backlog::default() }
    }

    /// When the next packet leaves, if there is one.
    pub fn next_timeout(&self) -> Option<Instant> {
        Some(self.departures.next()).filter(|at| *at < Instant::MAX)
    }

    /// Fills `pkt` with the packet that leaves now, and finds the time of the one after it.
    pub fn send(&mut self, now: Instant, pkt: &mut SimPacket) {
        let contents = pkt.get_mut();
        let Connection { flow, class, mark, .. } = self.connection;
        let bytes = self.departures.bytes();
        let len = u32::try_from(bytes.0).unwrap_or(u32::MAX);
        contents.meta =
            Meta { flow, class, dscp: mark, kind: Kind::Data, dir: Dir::Forward, ..Meta::default() };
        (contents.full_len, contents.options) = (len, 0);
        contents.segment.sent = now;
        self.sent.add(bytes);
        self.departures.advance();
    }
}

/// When the packets of a UDP flow leave.
pub struct Departures {
    rate: BitRate,
    len: Bytes,
    pattern: UdpPattern,
    capture: Option<Arc<Capture>>,
    stream: Stream,
    /// Start of the run of packets at a constant rate, the times off before now left out.
    run_start: Instant,
    /// Packets of it that have left.
    run_sent: u64,
    /// End of the current time in which it sends.
    run_end: Instant,
    /// Part of a nanosecond by which a Poisson source's next packet is early.
    fraction: f64,
    /// When the next packet leaves.
    next: Instant,
}

impl Departures {
    /// Those of `flow` in `run`, from `start`.
    #[must_use]
    pub fn new(run: &Run, flow: &Udp, start: Instant) -> Self {
        let mut departures = Self {
            rate: flow.rate,
            len: flow.packet_size,
            pattern: flow.pattern,
            capture: flow.capture.clone(),
            stream: Stream::new(run.seed, run.replication, &format!("udp.{}.pattern", flow.name)),
            run_start: start,
            run_sent: 0,
            run_end: Instant::MAX,
            fraction: 0.0,
            next: start,
        };
        match flow.pattern {
            UdpPattern::Cbr | UdpPattern::Capture => {}
            UdpPattern::Poisson => departures.next = start + departures.poisson(),
            UdpPattern::OnOff { on, .. } => departures.run_end = start + departures.exponential(ns(on)),
        }
        departures
    }

    /// Length of the next packet.
    #[must_use]
    pub fn bytes(&self) -> Bytes {
        let captured = self.capture.as_ref().and_then(|capture| capture.packet(self.run_sent));
        captured.map_or(self.len, |(_, len)| len)
    }

    /// When the next packet leaves; `Instant::MAX` for never.
    #[must_use]
    pub const fn next(&self) -> Instant {
        self.next
    }

    /// That packet has left.
    pub fn advance(&mut self) {
        self.next = self.following();
    }

    fn following(&mut self) -> Instant {
        match self.pattern {
            UdpPattern::Cbr => self.in_run(),
            UdpPattern::Capture => self.captured(),
            UdpPattern::Poisson => self.next + self.poisson(),
            UdpPattern::OnOff { on, off } => {
                let mut next = self.in_run();
                while next >= self.run_end {
                    // the packet time goes on where the time off broke it
                    let pause = self.exponential(ns(off));
                    self.run_start += pause;
                    next += pause;
                    self.run_end = self.run_end + pause + self.exponential(ns(on));
                }
                next
            }
        }
    }

    /// When the next packet of the capture leaves.
    fn captured(&mut self) -> Instant {
        self.run_sent += 1;
        let next = self.capture.as_ref().and_then(|capture| capture.packet(self.run_sent));
        next.map_or(Instant::MAX, |(after, _)| self.run_start + after)
    }

    /// When the next packet of the run leaves.
    fn in_run(&mut self) -> Instant {
        self.run_sent += 1;
        self.run_start + after(self.rate, self.len, self.run_sent)
    }

    /// The time to the next packet of a Poisson source; what is less than a nanosecond is kept for the one after it.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "whole, not negative")]
    #[expect(clippy::cast_precision_loss, reason = "the mean of a random draw")]
    fn poisson(&mut self) -> Span {
        let mean = self.len.bits() as f64 * 1e9 / self.rate.bits_per_sec() as f64;
        let exact = self.fraction - libm::log1p(-self.stream.unit()) * mean;
        let whole = libm::floor(exact);
        self.fraction = exact - whole;
        Span::from_nanos(whole as u64)
    }

    /// A draw from the exponential distribution with this mean, to the nearest nanosecond.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rounded, not negative")]
    fn exponential(&mut self, mean_ns: f64) -> Span {
        Span::from_nanos(libm::round(-libm::log1p(-self.stream.unit()) * mean_ns) as u64)
    }
}

#[expect(clippy::cast_precision_loss, reason = "the mean of a random draw")]
const fn ns(mean: Span) -> f64 {
    mean.as_nanos() as f64
}

/// The receiving end of a UDP flow.
pub struct Drain {
    /// The flow.
    pub connection: Connection,
    /// The arrivals.
    pub arrived: MarkCounts,
    /// The packets heard of a call.
    pub call_receiver: Option<Box<CallReceiver>>,
}

impl Drain {
    /// An end at which nothing has arrived.
    pub fn new(connection: Connection, call_receiver: Option<Box<CallReceiver>>) -> Self {
        Self { connection, arrived: MarkCounts::default(), call_receiver }
    }

    /// `pkt` has arrived.
    pub fn receive(&mut self, now: Instant, pkt: &SimPacket) {
        let contents = pkt.get();
        self.arrived.add(contents.meta.dscp, Bytes(contents.full_len.into()));
        if let Some(call_receiver) = &mut self.call_receiver {
            call_receiver.receive(now, contents.segment.sent);
        }
    }
}
