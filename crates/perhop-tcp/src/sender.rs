//! The sending end of a connection with an endless supply of data.
//!
//! Source: RFC 5681 sections 3.1 and 3.2, RFC 6298 section 5. Different: no handshake and no close; the round-trip
//! time is sampled on one segment at a time (RFC 6298 section 3 asks for at least one sample per round trip).

use perhop_core::queue::Timed;
use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use crate::cc::{AckSample, CongestionControl, CongestionSignal};
use crate::recovery::{OnDuplicate, Reno as RenoRecovery};
use crate::rtt::{RtoParams, RttEstimator};

/// Settings of a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SenderParams {
    /// Payload of a segment.
    pub mss: Bytes,
    /// The receiver's window.
    pub window: Bytes,
    /// The retransmission time-out.
    pub rto: RtoParams,
    /// When the first segment may leave.
    pub start: Instant,
}

/// A segment to send.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// First byte.
    pub seq: u64,
    /// One past the last byte.
    pub end: u64,
    /// Some of it was sent before.
    pub retransmission: bool,
}

/// Counters since the start.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct SenderStats {
    /// Segments sent, retransmissions included.
    pub segments: u64,
    /// Segments sent again.
    pub retransmissions: u64,
    /// Recoveries begun by duplicate acknowledgments.
    pub fast_retransmits: u64,
    /// Expiries of the retransmission timer.
    pub timeouts: u64,
}

/// A TCP sender.
pub struct Sender {
    params: SenderParams,
    cc: Box<dyn CongestionControl>,
    recovery: RenoRecovery,
    rtt: RttEstimator,
    /// First byte not acknowledged.
    una: u64,
    /// Next byte to send; behind `max` after a time-out.
    nxt: u64,
    /// One past the highest byte ever sent.
    max: u64,
    /// The retransmission timer; before the start, the start.
    timer: Option<Instant>,
    /// The segment whose round trip is being timed: its end, and when it left.
    timed: Option<(u64, Instant)>,
    /// The first outstanding segment is to be sent again at once.
    repair: bool,
    /// The timer has expired since data was last acknowledged.
    timed_out: bool,
    stats: SenderStats,
}

impl Sender {
    /// A sender that wakes at `params.start`.
    #[must_use]
    pub fn new(params: SenderParams, cc: Box<dyn CongestionControl>) -> Self {
        Self {
            params,
            cc,
            recovery: RenoRecovery::default(),
            rtt: RttEstimator::new(params.rto),
            una: 0,
            nxt: 0,
            max: 0,
            timer: Some(params.start),
            timed: None,
            repair: false,
            timed_out: false,
            stats: SenderStats::default(),
        }
    }

    /// The next segment, if the windows allow one now.
    ///
    /// The answer may change after [`Sender::on_ack`] and [`Timed::on_timeout`] only.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if now < self.params.start {
            return None;
        }
        let mss = self.params.mss.0;
        let seq = if self.repair {
            self.repair = false;
            self.una
        } else if self.nxt + mss <= self.una + self.usable_window() {
            self.nxt += mss;
            self.nxt - mss
        } else {
            return None;
        };
        let end = seq + mss;
        let retransmission = seq < self.max;
        // The timer of the start may still be set if nothing was outstanding.
        if self.timer.is_none() || self.max == self.una {
            self.timer = Some(now + self.rtt.rto());
        }
        self.max = self.max.max(end);
        self.stats.segments += 1;
        if retransmission {
            self.stats.retransmissions += 1;
            self.timed = None;
        } else if self.timed.is_none() {
            self.timed = Some((end, now));
        }
        Some(Segment { seq, end, retransmission })
    }

    /// Every byte below `ack` has arrived at the receiver.
    pub fn on_ack(&mut self, now: Instant, ack: u64) {
        if ack > self.una && ack <= self.max {
            self.on_new_ack(now, ack);
        } else if ack == self.una && self.max > self.una {
            self.on_duplicate(now);
        }
    }

    fn on_new_ack(&mut self, now: Instant, ack: u64) {
        let rtt = match self.timed {
            Some((end, sent)) if end <= ack => {
                self.timed = None;
                Some(now - sent)
            }
            _ => None,
        };
        if let Some(rtt) = rtt {
            self.rtt.sample(rtt);
        }
        let sample = AckSample {
            acked: Bytes(ack - self.una),
            in_flight: self.in_flight(),
            cwnd_limited: self.cc.cwnd() < self.params.window,
            rtt,
        };
        self.una = ack;
        self.nxt = self.nxt.max(ack);
        self.repair = false;
        self.timed_out = false;
        self.timer = (self.max > ack).then(|| now + self.rtt.rto());
        if self.recovery.on_new_ack() {
            self.cc.on_recovery_exit(now);
        } else {
            self.cc.on_ack(now, &sample);
        }
    }

    fn on_duplicate(&mut self, now: Instant) {
        if self.recovery.on_duplicate(self.una, self.max, self.params.mss.0) == OnDuplicate::Retransmit {
            self.stats.fast_retransmits += 1;
            self.cc.on_congestion(now, CongestionSignal::FastRetransmit, self.in_flight());
            self.repair = true;
        }
    }

    fn usable_window(&self) -> u64 {
        (self.cc.cwnd().0 + self.recovery.inflation()).min(self.params.window.0)
    }

    /// Bytes sent and not yet acknowledged (FlightSize, RFC 5681 section 2).
    #[must_use]
    pub const fn in_flight(&self) -> Bytes {
        Bytes(self.max - self.una)
    }

    /// The congestion window, without the inflation of a recovery.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        self.cc.cwnd()
    }

    /// The slow start threshold.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        self.cc.ssthresh()
    }

    /// Round-trip time and time-out.
    #[must_use]
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }
}

impl Timed for Sender {
    fn next_timeout(&self) -> Option<Instant> {
        self.timer
    }

    fn on_timeout(&mut self, now: Instant) {
        if self.timer.is_none_or(|at| now < at) {
            return;
        }
        self.timer = None;
        if self.max == self.una {
            return;
        }
        self.stats.timeouts += 1;
        if !self.timed_out {
            self.cc.on_congestion(now, CongestionSignal::Timeout, self.in_flight());
        }
        self.timed_out = true;
        self.rtt.back_off();
        self.recovery.on_timeout(self.max);
        self.nxt = self.una;
        self.repair = false;
        self.timed = None;
    }
}
