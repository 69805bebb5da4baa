//! Slow start, congestion avoidance and halving.
//!
//! Source: RFC 5681 section 3.1, equations (2), (3) and (4). Different: the window stands still while the
//! receiver's window is what bounds the sender; the RFC lets it grow without effect.

use perhop_core::time::Instant;
use perhop_core::units::Bytes;

use super::{AckSample, CongestionControl, CongestionSignal};

/// Window growth by RFC 5681.
#[derive(Clone, Debug)]
pub struct Reno {
    mss: u64,
    cwnd: u64,
    ssthresh: u64,
}

impl Reno {
    /// Starts with `initial_window` segments of `mss` bytes and slow start without a bound.
    #[must_use]
    pub fn new(mss: Bytes, initial_window: u32) -> Self {
        Self { mss: mss.0, cwnd: mss.0 * u64::from(initial_window), ssthresh: u64::MAX }
    }
}

impl CongestionControl for Reno {
    fn on_ack(&mut self, _now: Instant, ack: &AckSample) {
        if !ack.cwnd_limited {
            return;
        }
        self.cwnd += if self.cwnd < self.ssthresh {
            ack.acked.0.min(self.mss)
        } else {
            (self.mss * self.mss / self.cwnd).max(1)
        };
    }

    fn on_congestion(&mut self, _now: Instant, signal: CongestionSignal, in_flight: Bytes) {
        self.ssthresh = (in_flight.0 / 2).max(2 * self.mss);
        self.cwnd = match signal {
            CongestionSignal::Timeout => self.mss,
            CongestionSignal::FastRetransmit | CongestionSignal::EcnEcho => self.ssthresh,
        };
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd)
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MSS: u64 = 1000;

    fn ack(acked: u64) -> AckSample {
        AckSample { acked: Bytes(acked), in_flight: Bytes(acked), cwnd_limited: true, rtt: None }
    }

    #[test]
    fn slow_start_adds_at_most_a_segment_for_each_ack() {
        let mut cc = Reno::new(Bytes(MSS), 2);
        cc.on_ack(Instant::ZERO, &ack(MSS));
        cc.on_ack(Instant::ZERO, &ack(2 * MSS));
        cc.on_ack(Instant::ZERO, &ack(300));
        assert_eq!(cc.cwnd(), Bytes(4300));
    }

    #[test]
    fn congestion_avoidance_adds_a_segment_for_each_window() {
        let mut cc = Reno::new(Bytes(MSS), 1);
        cc.on_congestion(Instant::ZERO, CongestionSignal::FastRetransmit, Bytes(20 * MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (Bytes(10_000), Bytes(10_000)));
        for _ in 0..10 {
            cc.on_ack(Instant::ZERO, &ack(MSS));
        }
        // 10 additions of 1000*1000/cwnd, cwnd from 10000: 100, 99, 98, 97, 96, 95, 94, 93, 92, 92
        assert_eq!(cc.cwnd(), Bytes(10_956));
    }

    #[test]
    fn congestion_avoidance_adds_at_least_a_byte() {
        let mut cc = Reno::new(Bytes(10), 1);
        cc.on_congestion(Instant::ZERO, CongestionSignal::FastRetransmit, Bytes(400));
        cc.on_ack(Instant::ZERO, &ack(10));
        assert_eq!(cc.cwnd(), Bytes(201));
    }

    #[test]
    fn a_timeout_leaves_one_segment_and_a_threshold_of_at_least_two() {
        let mut cc = Reno::new(Bytes(MSS), 1);
        cc.on_congestion(Instant::ZERO, CongestionSignal::Timeout, Bytes(3 * MSS));
        assert_eq!((cc.cwnd(), cc.ssthresh()), (Bytes(MSS), Bytes(2 * MSS)));
    }

    #[test]
    fn stands_still_while_the_receiver_window_bounds() {
        let mut cc = Reno::new(Bytes(MSS), 3);
        cc.on_ack(Instant::ZERO, &AckSample { cwnd_limited: false, ..ack(MSS) });
        assert_eq!(cc.cwnd(), Bytes(3 * MSS));
    }
}
