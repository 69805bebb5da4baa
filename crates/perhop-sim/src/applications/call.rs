//! A way of a call as its listener hears it.
//!
//! Source: decision 0118. Units: ns, bytes. Cost: a comparison for each packet of a call.

use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};
use perhop_scenario::model::{Run, Udp};

/// One way of a call at its listener: a fixed jitter buffer plays what comes in time.
///
/// The first packet of the measured time that arrives waits in the buffer as long as the buffer says, and every other until as long
/// after it as it was sent. What comes later than that is lost. Counted are packets sent in the measured time that would have
/// been played before its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CallReceiver {
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

impl CallReceiver {
    /// Nothing yet of `flow`, whose first packet leaves at `start`, by a buffer of length `buffer`.
    pub const fn new(run: &Run, flow: &Udp, start: Instant, buffer: Span) -> Self {
        let (from, until) =
            (Instant::from_nanos(run.warmup.as_nanos()), Instant::from_nanos(run.duration.as_nanos()));
        let (rate, len) = (flow.rate, flow.packet_size);
        Self { start, from, until, rate, len, buffer, played_after: None, played: 0, late: 0 }
    }

    /// A packet that left at `sent` has arrived.
    pub fn receive(&mut self, now: Instant, sent: Instant) {
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

    /// When a packet that was seen to leave at `seen` was to leave: as the last one by then.
    #[must_use]
    pub fn due(&self, seen: Instant) -> Instant {
        let before = self.sent_until(seen).saturating_sub(1);
        self.start + after(self.rate, self.len, before)
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
pub fn after(rate: BitRate, len: Bytes, n: u64) -> Span {
    let nanobits = u128::from(n) * u128::from(len.bits()) * 1_000_000_000;
    let after = nanobits / u128::from(rate.bits_per_sec());
    Span::from_nanos(u64::try_from(after).unwrap_or(u64::MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 200 bytes every 20 ms from 5 ms on, a buffer of 40 ms, measured from 1 s to 10 s.
    fn receiver() -> CallReceiver {
        let at = |ms| Instant::ZERO + Span::from_millis(ms);
        CallReceiver {
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
        let mut call = receiver();
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
        let mut call = receiver();
        for (rate, len) in [(80_000, 200), (64_000, 173), (33_333, 77)] {
            (call.rate, call.len) = (BitRate::new(rate).expect("above zero"), Bytes(len));
            let sent = (0..).map(|n| call.start + after(call.rate, call.len, n));
            let sent: Vec<Instant> = sent.take_while(|at| *at <= call.until).collect();
            for at in sent.iter().copied().chain([call.from, call.until]) {
                let before = sent.iter().filter(|one| **one < at).count() as u64;
                let until = sent.iter().filter(|one| **one <= at).count() as u64;
                assert_eq!((call.sent_before(at), call.sent_until(at)), (before, until), "{rate} {at:?}");
            }
            for &at in &sent {
                assert_eq!([Span::ZERO, Span::from_micros(700)].map(|late| call.due(at + late)), [at, at]);
            }
        }
    }
}
