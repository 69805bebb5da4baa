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
    pub heard: Option<Box<Heard>>,
}

/// One way of a call at its listener: a fixed jitter buffer plays what comes in time.
///
/// The first packet of the measured time that arrives waits in the buffer as long as the buffer says, and every other until as long
/// after it as it was sent. What comes later than that is lost. Counted are packets sent in the measured time that would have
/// been played before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Heard {
    /// When the first packet was sent, and what is measured.
    start: Instant,
    from: Instant,
    until: Instant,
    rate: BitRate,
    len: Bytes,
    buffer: Span,
    /// From when a packet is sent to when it is played, once one has arrived.
    played_after: Option<Span>,
    /// Played in time.
    played: u64,
    /// Arrived too late.
    late: u64,
}

impl Heard {
    /// Nothing yet of `flow`, whose first packet leaves at `start`, by a buffer of length `buffer`.
    pub const fn new(run: &Run, flow: &Udp, start: Instant, buffer: Span) -> Self {
        let (from, until) =
            (Instant::from_nanos(run.warmup.as_nanos()), Instant::from_nanos(run.duration.as_nanos()));
        let (rate, len) = (flow.rate, flow.packet_size);
        Self { start, from, until, rate, len, buffer, played_after: None, played: 0, late: 0 }
    }

    fn receive(&mut self, now: Instant, sent: Instant) {
        if sent < self.from {
            return;
        }
        let delay = now - sent;
        let after = *self.played_after.get_or_insert(delay + self.buffer);
        if sent + after <= self.until {
            if delay <= after {
                self.played += 1;
            } else {
                self.late += 1;
            }
        }
    }

    /// From mouth to ear: the time that a packet is filled in, its way and the buffer. `None` while nothing has arrived.
    #[must_use]
    pub fn mouth_to_ear(&self) -> Option<Span> {
        let filled = after(self.rate, self.len, 1);
        self.played_after.map(|after| filled + after)
    }

    /// Packets that were to be played, those that were, and those that came too late.
    #[must_use]
    pub fn packets(&self) -> [u64; 3] {
        let after = self.played_after.unwrap_or(Span::ZERO);
        let last = Span::from_nanos((self.until - Instant::ZERO).as_nanos().saturating_sub(after.as_nanos()));
        let due = self.sent_until(Instant::ZERO + last).saturating_sub(self.sent_before(self.from));
        [due, self.played, self.late]
    }

    /// How many packets are sent at `at` or before.
    fn sent_until(&self, at: Instant) -> u64 {
        if at < self.start {
            return 0;
        }
        let nanobits = (u128::from((at - self.start).as_nanos()) + 1) * u128::from(self.rate.bits_per_sec());
        // packet n is sent at the whole nanoseconds of n times its length over the rate
        let count = nanobits.div_ceil(u128::from(self.len.bits()) * 1_000_000_000);
        u64::try_from(count).unwrap_or(u64::MAX)
    }

    fn sent_before(&self, at: Instant) -> u64 {
        let nanos = (at - Instant::ZERO).as_nanos();
        nanos.checked_sub(1).map_or(0, |before| self.sent_until(Instant::from_nanos(before)))
    }
}

/// When packet `n` of a constant rate leaves after the first, in whole nanoseconds.
fn after(rate: BitRate, len: Bytes, n: u64) -> Span {
    let nanobits = u128::from(n) * u128::from(len.bits()) * 1_000_000_000;
    let after = nanobits / u128::from(rate.bits_per_sec());
    Span::from_nanos(u64::try_from(after).unwrap_or(u64::MAX))
}

impl Drain {
    /// An end at which nothing has arrived.
    pub fn new(connection: Connection, heard: Option<Box<Heard>>) -> Self {
        Self { connection, arrived: MarkCounts::default(), heard }
    }

    /// `pkt` has arrived.
    pub fn receive(&mut self, now: Instant, pkt: &SimPacket) {
        let contents = pkt.get();
        self.arrived.add(contents.meta.dscp, Bytes(contents.full_len.into()));
        if let Some(heard) = &mut self.heard {
            heard.receive(now, contents.segment.sent);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 bytes every 20 ms from 5 ms on, a buffer of 40 ms, measured from 1 s to 10 s.
    fn heard() -> Heard {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        Heard {
            start: at(5),
            from: at(1000),
            until: at(10_000),
            rate: BitRate::new(80_000).expect("above zero"),
            len: Bytes(200),
            buffer: Span::from_millis(40),
            played_after: None,
            played: 0,
            late: 0,
        }
    }

    #[test]
    fn a_fixed_buffer_plays_what_comes_in_time() {
        let mut call = heard();
        assert_eq!((call.mouth_to_ear(), call.packets()[1..].to_vec()), (None, vec![0, 0]));
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        // the first of the measured time takes 30 ms: 70 ms are the most
        for (sent, took) in [(5, 90), (1005, 30), (1025, 70), (1045, 71), (1065, 10), (9925, 20), (9945, 20)]
        {
            call.receive(at(sent + took), at(sent));
        }
        assert_eq!(call.mouth_to_ear(), Some(Span::from_millis(20 + 30 + 40)));
        // sent from 1005 to 9925 ms: what is sent later would be played when the run is over
        assert_eq!(call.packets(), [447, 4, 1]);
    }

    #[test]
    fn as_many_packets_are_due_as_the_source_sends() {
        let mut call = heard();
        for (rate, len) in [(80_000, 200), (64_000, 173), (33_333, 77)] {
            (call.rate, call.len) = (BitRate::new(rate).expect("above zero"), Bytes(len));
            let sent = (0..).map(|n| call.start + after(call.rate, call.len, n));
            let sent: Vec<Instant> = sent.take_while(|at| *at <= call.until).collect();
            for at in sent.iter().copied().chain([call.from, call.until]) {
                let before = sent.iter().filter(|one| **one < at).count() as u64;
                let until = sent.iter().filter(|one| **one <= at).count() as u64;
                assert_eq!((call.sent_before(at), call.sent_until(at)), (before, until), "{rate} {at:?}");
            }
        }
    }
}
