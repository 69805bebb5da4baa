//! A sender's state for observers.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use super::{Sender, SenderStats};
use crate::cc::CongestionControl;
use crate::recovery::LossRecovery;
use crate::rtt::RttEstimator;
use crate::segment::{Ack, Segment};

impl SenderStats {
    /// The counts after `before`; when the transfer was over stays as it is.
    #[must_use]
    pub const fn since(&self, before: &Self) -> Self {
        Self {
            segments: self.segments - before.segments,
            retransmissions: self.retransmissions - before.retransmissions,
            fast_retransmits: self.fast_retransmits - before.fast_retransmits,
            timeouts: self.timeouts - before.timeouts,
            syn_timeouts: self.syn_timeouts - before.syn_timeouts,
            spurious_timeouts: self.spurious_timeouts - before.spurious_timeouts,
            probes: self.probes - before.probes,
            undone_timeouts: self.undone_timeouts - before.undone_timeouts,
            completed: self.completed,
        }
    }
}

impl Sender {
    /// Bytes sent and not yet acknowledged (FlightSize, RFC 5681 section 2).
    //= rfc5681-2-flight-size
    #[must_use]
    pub const fn in_flight(&self) -> Bytes {
        Bytes(self.max - self.una)
    }

    /// First byte not acknowledged.
    #[must_use]
    pub const fn una(&self) -> u64 {
        self.una
    }

    /// One past the last byte that there is to send; `u64::MAX` where data never ends.
    #[must_use]
    pub const fn written(&self) -> u64 {
        self.limit
    }

    /// The congestion window, without the inflation of a recovery.
    #[must_use]
    pub fn cwnd(&self) -> Bytes {
        self.cc.cwnd()
    }

    /// The slow start threshold; `u64::MAX` where there is none yet.
    #[must_use]
    pub fn ssthresh(&self) -> Bytes {
        self.cc.ssthresh()
    }

    /// Whether a loss is being repaired without a time-out.
    #[must_use]
    pub fn recovering(&self) -> bool {
        self.recovery.recovering()
    }

    /// When the retransmission timer expires.
    #[must_use]
    pub const fn retransmission_deadline(&self) -> Option<Instant> {
        self.timer
    }

    /// Round-trip time and time-out.
    #[must_use]
    pub const fn rtt(&self) -> &RttEstimator {
        &self.rtt
    }

    /// A measurement begins: the extremes of round trips are from here on those of what follows.
    pub const fn restart_extremes(&mut self) {
        self.rtt.restart_extremes();
    }

    /// Counters since the start.
    #[must_use]
    pub const fn stats(&self) -> &SenderStats {
        &self.stats
    }

    /// Expiries of the retransmission timer, those of a SYN included.
    #[must_use]
    pub const fn expiries(&self) -> u64 {
        self.expiries
    }

    /// cwnd and ssthresh in packets: a cwnd of one until a SYN is answered, NaN for a threshold that there is none of yet.
    #[must_use]
    #[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
    pub fn windows_in_packets(&self) -> (f64, f64) {
        let mss = self.rules.mss().0 as f64;
        let ssthresh = self.ssthresh().0;
        let threshold = if ssthresh == u64::MAX { f64::NAN } else { ssthresh as f64 / mss };
        let cwnd = if self.opening() { 1.0 } else { self.cwnd().0 as f64 / mss };
        (cwnd, threshold)
    }

    /// Which packet of the connection `segment` is: from 0, a SYN before data.
    #[must_use]
    pub fn packet_number(&self, segment: &Segment) -> i64 {
        if segment.syn { 0 } else { self.number(segment.seq) }
    }

    /// The highest packet that `ack` says has arrived in order; -1 for none.
    #[must_use]
    pub fn packet_acknowledged(&self, ack: &Ack) -> i64 {
        let data = self.limit - u64::from(self.rules.close);
        let whole = match ack.ack {
            at if at > data => data.div_ceil(self.rules.mss().0) + 1,
            at if at == data => at.div_ceil(self.rules.mss().0),
            at => at / self.rules.mss().0,
        };
        i64::try_from(whole).unwrap_or(i64::MAX - 1) + i64::from(self.rules.handshake) - 1
    }

    /// The packet that the timer stands for.
    #[must_use]
    pub fn packet_expired(&self) -> i64 {
        if self.opening() { 0 } else { self.number(self.una) }
    }

    fn number(&self, seq: u64) -> i64 {
        let data = seq.div_ceil(self.rules.mss().0);
        i64::try_from(data).unwrap_or(i64::MAX - 1) + i64::from(self.rules.handshake)
    }
}
