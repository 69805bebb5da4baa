mod losses;
mod probe_bw;
mod probe_rtt;
mod startup;
mod window;

use super::*;
use crate::cc::testing::{MSS, PARAMS};

const MS: fn(u64) -> Span = Span::from_millis;
/// A path of 1 MB/s and 100 ms holds 100 segments.
const RATE: u64 = 1_000_000;
const RTT: Span = Span::from_millis(100);
const BDP: u64 = 100 * MSS;

fn started(seed: u64, rtt: Option<Span>) -> Bbr3 {
    let mut bbr = Bbr3::new(&TcpParams { initial_window: 10, seed, ..PARAMS });
    bbr.on_established(Instant::ZERO, rtt);
    bbr
}

/// A path on which a segment is acknowledged each time it takes at the rate.
struct Path {
    bbr: Bbr3,
    now: Instant,
    delivered: u64,
    lost: u64,
    rtt: Span,
    /// After each acknowledgment.
    in_flight: u64,
    app_limited: bool,
    cwnd_limited: bool,
    repair: Repair,
    /// Bytes of a round trip that are lost.
    lost_since: u64,
}

impl Path {
    fn new(seed: u64) -> Self {
        Self {
            bbr: started(seed, Some(RTT)),
            now: Instant::ZERO + RTT,
            delivered: 0,
            lost: 0,
            rtt: RTT,
            in_flight: BDP,
            app_limited: false,
            cwnd_limited: false,
            repair: Repair::None,
            lost_since: 0,
        }
    }

    /// A segment is acknowledged that a round trip has brought at `rate`.
    fn ack(&mut self, rate: u64) {
        self.now += Span::from_nanos(MSS * 1_000_000_000 / rate);
        self.delivered += MSS;
        let trip = super::super::rates::bytes_in(rate, self.rtt).min(self.delivered);
        let interval = Span::from_nanos(trip * 1_000_000_000 / rate);
        let sample = RateSample {
            rate: Some((Bytes(trip), interval)),
            prior_delivered: Some(self.delivered - trip),
            app_limited: self.app_limited,
            rtt: Some(self.rtt),
            acked: Bytes(MSS),
            prior_in_flight: Bytes(self.in_flight + MSS),
            in_flight: Bytes(self.in_flight),
            delivered_total: self.delivered,
            lost_total: self.lost,
            repair: self.repair,
            tx_in_flight: Bytes(self.in_flight),
            lost_since: Bytes(self.lost_since),
            cwnd_limited: self.cwnd_limited,
            departs: self.now,
            ..RateSample::default()
        };
        self.bbr.on_rate(self.now, &sample);
    }

    fn run(&mut self, rate: u64, span: Span) {
        let end = self.now + span;
        while self.now < end {
            self.ack(rate);
        }
    }

    /// Acknowledgments until a round trip begins.
    fn round(&mut self) {
        self.ack(RATE);
        while !self.bbr.round_start {
            self.ack(RATE);
        }
    }

    fn until(&mut self, state: State) {
        for _ in 0..20_000 {
            if self.bbr.state == state {
                return;
            }
            self.ack(RATE);
        }
        panic!("{:?} does not lead to {state:?}", self.bbr.state);
    }

    /// A segment is lost, with so many bytes lost since it left, of so many then in the network.
    fn lose(&mut self, lost_since: u64, tx_in_flight: u64) {
        self.lost += MSS;
        let start = self.delivered + 2 * self.lost;
        let lost = LostSegment {
            start,
            end: start + MSS,
            tx_in_flight: Bytes(tx_in_flight),
            lost_since: Bytes(lost_since),
            app_limited: self.app_limited,
            delivered_total: self.delivered,
        };
        self.bbr.on_lost(self.now, &lost);
    }
}

/// A full path in ProbeBW_CRUISE.
fn cruising() -> Path {
    let mut path = Path::new(1);
    path.until(State::Cruise);
    path
}

/// In ProbeBW_UP.
fn probing() -> Path {
    let mut path = cruising();
    path.until(State::Up);
    path
}

const LOAD: Load = Load { in_flight: Bytes(0), inflation: Bytes(0), window: Bytes(0), kept: Bytes(7 * MSS) };
