//! A TCP sender under observation: every call is checked against books kept from the outside.

use perhop_core::queue::Timed;
use perhop_core::time::Instant;
use perhop_core::units::Bytes;
use perhop_tcp::cc::CongestionControl;
use perhop_tcp::sender::{Segment, Sender, SenderParams};

const DUPLICATE_THRESHOLD: u64 = 3;

/// A [`Sender`] whose calls panic when it breaks a law.
pub struct Probe {
    sender: Sender,
    params: SenderParams,
    /// Highest acknowledgment accepted.
    una: u64,
    /// One past the highest byte sent.
    max: u64,
    /// Duplicates of `una` since it was first seen.
    duplicates: u64,
    sent: u64,
    sent_again: u64,
}

impl Probe {
    /// Watches a new sender.
    #[must_use]
    pub fn new(params: SenderParams, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            sender: Sender::new(params, cc),
            params,
            una: 0,
            max: 0,
            duplicates: 0,
            sent: 0,
            sent_again: 0,
        }
    }

    /// The sender itself.
    #[must_use]
    pub const fn sender(&self) -> &Sender {
        &self.sender
    }

    /// The highest acknowledgment that the sender has accepted.
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// Asks for a segment: it must fit the windows, leave no gap, and be called a retransmission if it is one.
    pub fn poll(&mut self, now: Instant) -> Option<Segment> {
        let segment = self.sender.poll_transmit(now);
        if let Some(segment) = segment {
            assert!(now >= self.params.start, "sent at {now} before the start");
            assert_eq!(segment.end - segment.seq, self.params.mss.0);
            assert!(
                (self.una..=self.max).contains(&segment.seq),
                "{segment:?} leaves a gap after {}",
                self.max
            );
            let limit = self.una + self.usable_window();
            assert!(segment.end <= limit, "{segment:?} beyond the windows, which end at {limit}");
            assert_eq!(segment.retransmission, segment.seq < self.max, "{segment:?} of {} sent", self.max);
            self.max = self.max.max(segment.end);
            self.sent += 1;
            self.sent_again += u64::from(segment.retransmission);
        }
        self.check(now);
        if self.max > self.una {
            assert!(self.sender.next_timeout().is_some(), "data is outstanding and no timer runs");
        }
        segment
    }

    /// Delivers an acknowledgment, sensible or not.
    pub fn ack(&mut self, now: Instant, ack: u64) {
        self.sender.on_ack(now, ack);
        if self.una < ack && ack <= self.max {
            (self.una, self.duplicates) = (ack, 0);
        } else if ack == self.una && self.max > self.una {
            self.duplicates += 1;
        }
        self.check(now);
    }

    /// Tells the sender the time; its next deadline must lie ahead.
    pub fn on_timeout(&mut self, now: Instant) {
        let before = *self.sender.stats();
        let due = self.sender.next_timeout().is_some_and(|at| at <= now);
        self.sender.on_timeout(now);
        let expired = self.sender.stats().timeouts - before.timeouts;
        assert_eq!(expired, u64::from(due && self.max > self.una), "an expiry counts if data is outstanding");
        if expired > 0 {
            self.duplicates = 0;
        }
        assert!(self.sender.next_timeout().is_none_or(|at| at > now), "a deadline in the past");
        self.check(now);
    }

    /// The widest that RFC 5681 section 3.2 allows: inflated by what left the network, capped by the receiver.
    fn usable_window(&self) -> u64 {
        let inflation = if self.duplicates < DUPLICATE_THRESHOLD { 0 } else { self.duplicates };
        self.params.window.0.min(self.sender.cwnd().0 + inflation * self.params.mss.0)
    }

    fn check(&self, now: Instant) {
        assert_eq!(self.sender.in_flight(), Bytes(self.max - self.una), "in flight at {now}");
        assert!(self.sender.cwnd() >= self.params.mss);
        let stats = self.sender.stats();
        assert_eq!((stats.segments, stats.retransmissions), (self.sent, self.sent_again));
    }
}
