use super::*;
use crate::cc::testing::{MSS, PARAMS};
use crate::settings::SlowStartKind;

const LOAD: Load = Load { in_flight: Bytes(0), inflation: Bytes(0), window: Bytes(0), kept: Bytes(0) };
const MS: fn(u64) -> Span = Span::from_millis;

/// A sender whose window of ten segments is acknowledged each round trip.
struct Path {
    prague: Prague,
    now: Instant,
    sent: u64,
    srtt: Span,
}

impl Path {
    fn new(srtt: Span) -> Self {
        let params = TcpParams { initial_window: 10, slow_start: SlowStartKind::Standard, ..PARAMS };
        Self { prague: Prague::new(&params), now: Instant::ZERO, sent: 10 * MSS, srtt }
    }

    /// A round trip: ten segments, of which so many are marked.
    fn round(&mut self, marked: u64) {
        self.now += self.srtt;
        for segment in 0..10 {
            let ack = self.sent - (9 - segment) * MSS;
            let bytes = if segment < marked { MSS } else { 0 };
            let sent = self.sent + (segment + 1) * MSS;
            let (acked, of_them) = (Bytes(MSS), Bytes(bytes));
            self.prague.on_echo(&Echo {
                ack,
                acked,
                marked: of_them,
                sent,
                now: self.now,
                srtt: Some(self.srtt),
            });
            let sample = AckSample {
                acked: Bytes(MSS - bytes),
                in_flight: Bytes(10 * MSS),
                cwnd_limited: true,
                rtt: None,
                srtt: Some(self.srtt),
                una: ack,
            };
            self.prague.on_ack(self.now, &sample);
        }
        self.sent += 10 * MSS;
    }

    fn mark(&mut self) {
        self.prague.on_congestion(self.now, CongestionSignal::EcnEcho, &LOAD);
    }
}

//= test draft-prague-02-2.3.2-first
//= test draft-prague-02-2.3.2-average
//= test draft-prague-02-2.3.2-round
//= test draft-prague-02-2.4.5-slow-start
//= test draft-prague-02-2.4.2-decrease
#[test]
fn alpha_is_one_at_the_first_mark_and_moves_by_a_sixteenth_each_round_trip() {
    let mut path = Path::new(MS(50));
    path.round(0);
    path.round(0);
    assert!(path.prague.alpha() < 1e-12);
    let before = path.prague.cwnd().0;
    assert!(path.prague.ssthresh().0 == u64::MAX && before > 10 * MSS, "slow start");
    path.round(10);
    let first = path.prague.alpha();
    // a window of observation may have ended after the first marks of the ten
    assert!((0.9..=1.0).contains(&first), "{first}");
    let whole = path.prague.cwnd().0;
    path.mark();
    let halved = path.prague.cwnd().0;
    assert!(halved.abs_diff(whole / 2) <= whole / 20, "the first mark ends slow start, and halves");
    assert_eq!(path.prague.ssthresh(), path.prague.cwnd());
    let mut alpha = first;
    for marked in [3, 0, 5] {
        path.round(marked);
        path.round(marked);
        path.round(marked);
        for _ in 0..3 {
            alpha += (f64::from(u32::try_from(marked).expect("small")) / 10.0 - alpha) / 16.0;
        }
        assert!((path.prague.alpha() - alpha).abs() < 0.05, "{} for {alpha}", path.prague.alpha());
    }
}

//= test draft-prague-02-2.4.3-increase
//= test draft-prague-02-2.4.3-reduced
#[test]
fn what_is_not_marked_adds_a_segment_a_window_also_after_a_reduction() {
    let mut path = Path::new(MS(50));
    path.round(1);
    path.mark();
    let window = path.prague.cwnd().0;
    path.round(0);
    // ten segments are acknowledged of a window of about ten
    let grown = path.prague.cwnd().0 - window;
    let expected = 10 * MSS * MSS / window;
    assert!(grown.abs_diff(expected) <= expected / 10, "{grown} for {expected}");
    let window = path.prague.cwnd().0;
    path.round(10);
    assert_eq!(path.prague.cwnd().0, window, "all were marked");
}

//= test draft-prague-02-2.4.1-loss
#[test]
fn a_loss_halves_though_a_mark_has_just_reduced() {
    let mut path = Path::new(MS(50));
    path.round(1);
    path.mark();
    let window = path.prague.cwnd();
    let load = Load { in_flight: window, ..LOAD };
    path.prague.on_congestion(path.now, CongestionSignal::FastRetransmit, &load);
    assert_eq!(path.prague.cwnd().0, window.0 / 2);
}

//= test draft-prague-02-2.4.2-once
//= test draft-prague-02-2.4.4-virtual
//= test draft-prague-02-2.4.4-rounds
//= test draft-prague-02-2.4.4-increase
#[test]
fn after_500_round_trips_one_of_5_ms_grows_and_shrinks_as_one_of_25_ms() {
    let mut path = Path::new(MS(5));
    path.round(1);
    path.mark();
    let grown = |path: &mut Path| {
        let window = path.prague.cwnd().0;
        path.round(0);
        (path.prague.cwnd().0 - window) * window
    };
    let early = grown(&mut path);
    for _ in 0..600 {
        path.round(0);
    }
    let late = grown(&mut path);
    assert!(late.abs_diff(early / 25) <= early / 100, "a 25th: {late} of {early}");
    path.mark();
    let window = path.prague.cwnd();
    path.now += MS(24);
    path.mark();
    assert_eq!(path.prague.cwnd(), window, "within 25 ms");
}
