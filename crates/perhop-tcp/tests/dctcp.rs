//! DCTCP against RFC 8257 as it is written, and the exact echo of its receiver.

use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::ack::{AckPolicy, Adaptive, AdaptiveParams, Delayed, EverySegment};
use perhop_tcp::cc::{AckSample, CongestionControl, CongestionSignal, Dctcp, Echo, Load};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::{Ack, Segment};
use perhop_tcp::settings::{Growth, TcpParams};
use perhop_testkit::laws::congestion_control::PARAMS;
use proptest::prelude::*;

const MSS: f64 = 1000.0;

/// Section 3.3, with its names; and sections 3.1 and 3.2 of RFC 5681 as far as marks and new data go.
struct Rfc {
    alpha: f64,
    window_end: u64,
    bytes_acked: u64,
    bytes_marked: u64,
    snd_una: u64,
    snd_nxt: u64,
    cwnd: f64,
    ssthresh: f64,
    /// Marks up to here have been answered.
    reduced: u64,
}

impl Rfc {
    /// Returns whether cwnd falls.
    fn acceptable_ack(&mut self, seg_ack: u64, ece: bool) -> bool {
        let bytes_acked = seg_ack - self.snd_una; // step 1
        self.bytes_acked += bytes_acked; // 2
        if ece {
            self.bytes_marked += bytes_acked; // 3
        }
        if seg_ack > self.window_end {
            let g = 0.0625; // 4
            let m = self.bytes_marked as f64 / self.bytes_acked as f64; // 5
            self.alpha += g * (m - self.alpha); // 6
            self.window_end = self.snd_nxt; // 7
            (self.bytes_acked, self.bytes_marked) = (0, 0); // 8
        }
        let falls = ece && (seg_ack > self.reduced || self.reduced == 0);
        if falls {
            // 9, and the least window of the header
            self.cwnd = (self.cwnd - self.cwnd * self.alpha / 2.0).max(self.cwnd.min(2.0 * MSS));
            self.ssthresh = self.cwnd.max(2.0 * MSS);
            self.reduced = self.snd_nxt;
        }
        if seg_ack > self.snd_una && !ece {
            let slow = self.cwnd < self.ssthresh;
            self.cwnd += if slow { MSS.min(bytes_acked as f64) } else { MSS * MSS / self.cwnd };
        }
        self.snd_una = seg_ack;
        falls
    }
}

/// ns-3's window ends with the acknowledgment of all that had been sent, the RFC's with the one after it.
#[test]
fn estimates_and_shrinks_as_ns3_does() {
    let recording = include_str!("../../../oracles/ns3-3.44-dctcp/dctcp.csv");
    let mut cc = Dctcp::new(&TcpParams { cc: Growth::Dctcp, initial_window: 1000, ..PARAMS });
    let mut seen = 0;
    for line in recording.lines().skip(1) {
        let fields: Vec<&str> = line.split(',').collect();
        let bytes = |at: usize| fields[at].parse::<u64>().unwrap();
        let alpha: f64 = fields[4].parse().unwrap();
        cc.on_echo(&Echo {
            ack: bytes(0),
            acked: Bytes(bytes(1)),
            marked: Bytes(if fields[2] == "1" { bytes(1) } else { 0 }),
            sent: bytes(3) - 1,
            now: Instant::ZERO,
            srtt: None,
        });
        assert!((cc.alpha() - alpha).abs() < 1e-12, "alpha {alpha} is {} at {line}", cc.alpha());
        let mut once = cc.clone();
        let in_flight = Bytes(bytes(3) - bytes(0));
        let load = Load { in_flight, inflation: Bytes(0), window: Bytes(u64::MAX), kept: Bytes(0) };
        once.on_congestion(Instant::ZERO, CongestionSignal::EcnEcho, &load);
        assert!(once.cwnd().0.abs_diff(bytes(5)) <= 1, "cwnd is {:?} at {line}", once.cwnd());
        seen += 1;
    }
    assert_eq!(seen, 1800);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    /// Alpha and cwnd after every acknowledgment, of runs of segments that are marked and not.
    #[test]
    fn follows_the_rfc_step_by_step(
        rounds in prop::collection::vec((0u64..5, 0u64..40, prop::bool::weighted(0.3)), 1..200),
    ) {
        let params = TcpParams { cc: Growth::Dctcp, initial_window: 10, ..PARAMS };
        let mut cc = Dctcp::new(&params);
        let mut rfc = Rfc {
            alpha: 1.0, window_end: 0, bytes_acked: 0, bytes_marked: 0, snd_una: 0, snd_nxt: 10_000,
            cwnd: 10_000.0, ssthresh: f64::INFINITY, reduced: 0,
        };
        for (segments, more, marked) in rounds {
            let acked = 1000 * segments.min((rfc.snd_nxt - rfc.snd_una) / 1000);
            let ack = rfc.snd_una + acked;
            let in_flight = Bytes(rfc.snd_nxt - ack + acked);
            let of_them = Bytes(if marked { acked } else { 0 });
            let now = Instant::ZERO;
            cc.on_echo(&Echo { ack, acked: Bytes(acked), marked: of_them, sent: rfc.snd_nxt, now, srtt: None });
            if rfc.acceptable_ack(ack, marked) {
                let load = Load { in_flight, inflation: Bytes(0), window: Bytes(u64::MAX), kept: Bytes(0) };
                cc.on_congestion(Instant::ZERO, CongestionSignal::EcnEcho, &load);
            }
            if acked > 0 && !marked {
                let sample =
                    AckSample { acked: Bytes(acked), in_flight, cwnd_limited: true, rtt: None, srtt: None, una: ack };
                cc.on_ack(Instant::ZERO, &sample);
            }
            rfc.snd_nxt += 1000 * more;
            prop_assert!((cc.alpha() - rfc.alpha).abs() < 1e-12, "alpha {} is {}", rfc.alpha, cc.alpha());
            prop_assert!(cc.cwnd().0.abs_diff(rfc.cwnd as u64) <= 1, "cwnd {} is {}", rfc.cwnd, cc.cwnd());
        }
    }

    /// Whatever the receiver waits for: of each acknowledgment's new bytes all were marked, or none.
    //= test rfc8257-3.2-two
    #[test]
    fn every_byte_is_echoed_as_it_came(
        segments in prop::collection::vec((prop::bool::weighted(0.4), 0u64..80), 1..300),
        policy in 0usize..3,
    ) {
        let timeout = Span::from_millis(40);
        let policy: Box<dyn AckPolicy> = match policy {
            0 => Box::new(EverySegment),
            1 => Box::new(Delayed::new(timeout)),
            _ => Box::new(Adaptive::new(AdaptiveParams { quick: 4, adapts: true, ..AdaptiveParams::delayed(timeout) })),
        };
        let params = TcpParams { cc: Growth::Dctcp, ecn: true, ..PARAMS };
        let mut receiver = Receiver::new(ReceiverParams::from(&params), policy);
        let (mut now, mut echoed) = (Instant::ZERO, Vec::new());
        let mut hear = |ack: Ack| echoed.resize((ack.ack / 10) as usize, ack.ece);
        for (n, &(ce, ms)) in (0..).zip(&segments) {
            while let Some(at) = receiver.next_timeout().filter(|at| *at <= now) {
                receiver.on_timeout(at);
                std::iter::from_fn(|| receiver.poll_transmit(at)).for_each(&mut hear);
            }
            receiver.on_segment(now, &Segment { seq: 10 * n, end: 10 * n + 10, ect: true, ..Segment::default() }, ce);
            let first = receiver.poll_transmit(now);
            let owes = receiver.owes();
            let second = receiver.poll_transmit(now);
            prop_assert_eq!(owes, second.is_some());
            first.into_iter().chain(second).for_each(&mut hear);
            now += Span::from_millis(ms);
        }
        let at = now + Span::from_secs(1);
        receiver.on_timeout(at);
        receiver.poll_transmit(at).into_iter().for_each(&mut hear);
        prop_assert_eq!(echoed, segments.iter().map(|(ce, _)| *ce).collect::<Vec<_>>());
    }
}
