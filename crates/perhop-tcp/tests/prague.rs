//! TCP Prague beside that of Linux, acknowledgment by acknowledgment (`oracles/linux-prague`).

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_tcp::cc::{AckSample, CongestionControl, CongestionSignal, Echo, Load, Prague};
use perhop_tcp::settings::{Growth, Halving, LossWindow, SlowStartKind, TcpParams};
use perhop_testkit::laws::congestion_control::PARAMS;

const MSS: u64 = 1500;
/// A segment of the recorded window, and 1 of the recorded alpha.
const SEGMENT: f64 = 1_048_576.0;
const ONE: f64 = 268_435_456.0;
/// The recorded state of a recovery from loss.
const RECOVERY: u64 = 3;

/// Windows of slow start, growth and losses as Linux has them; what is Prague's own does not depend on them.
const PARAMS_OF_LINUX: TcpParams = TcpParams {
    cc: Growth::Prague,
    mss: Bytes(MSS),
    initial_window: 10,
    slow_start: SlowStartKind::CubicHystart,
    loss_window: LossWindow::Cwnd,
    halving: Halving::Bytes,
    ..PARAMS
};

/// When a round trip ends and what alpha a mark finds.
#[derive(Clone, Copy, PartialEq)]
enum Rounds {
    /// With the acknowledgment after that of all that had been sent; alpha hears of a mark before the window does.
    Draft,
    /// With the acknowledgment of all that had been sent; the window hears of it first.
    Linux,
}

/// How far perhop was from a recording.
struct Difference {
    /// Mean of its windows over the mean of Linux's.
    mean: f64,
    /// Largest difference of two windows, as a part of Linux's.
    window: f64,
    /// Largest difference of alpha, once there was a mark.
    alpha: f64,
}

fn replay(recording: &str, rounds: Rounds) -> Difference {
    let mut prague = Prague::new(&PARAMS_OF_LINUX);
    let (mut answered, mut recovering) = (0, false);
    let (mut ours, mut theirs) = (0.0, 0.0);
    let mut difference = Difference { mean: 0.0, window: 0.0, alpha: 0.0 };
    for line in recording.lines().skip(1) {
        let fields: Vec<u64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
        let [us, una, nxt, acked, marked, srtt, state, alpha, window] = fields[..] else { panic!("{line}") };
        let (now, srtt) = (Instant::ZERO + Span::from_micros(us), Some(Span::from_micros(srtt)));
        let (ack, max) = (una * MSS, nxt * MSS);
        let sent = if rounds == Rounds::Linux { max - 1 } else { max };
        let echo = Echo { ack, acked: Bytes(acked * MSS), marked: Bytes(marked * MSS), sent, now, srtt };
        // the first mark makes alpha 1 in either order
        let echo_first = rounds == Rounds::Draft || prague.alpha() == 0.0;
        if echo_first {
            prague.on_echo(&echo);
        }
        let in_flight = Bytes(max - ack);
        let load = Load { in_flight, inflation: Bytes(0), window: Bytes(u64::MAX), kept: Bytes(0) };
        if recovering && state != RECOVERY {
            prague.on_recovery_exit(now);
            recovering = false;
        }
        if state == RECOVERY && !recovering {
            prague.on_congestion(now, CongestionSignal::FastRetransmit, &load);
            (recovering, answered) = (true, sent);
        } else if marked > 0 && !recovering && (ack > answered || answered == 0) {
            prague.on_congestion(now, CongestionSignal::EcnEcho, &load);
            answered = max;
        }
        if !echo_first {
            prague.on_echo(&echo);
        }
        if !recovering && acked > marked {
            let acked = Bytes((acked - marked) * MSS);
            let in_flight = Bytes(in_flight.0 + acked.0);
            prague
                .on_ack(now, &AckSample { acked, in_flight, cwnd_limited: true, rtt: None, srtt, una: ack });
        }
        let (cwnd, window) = (prague.cwnd().0 as f64 / MSS as f64, window as f64 / SEGMENT);
        (ours, theirs) = (ours + cwnd, theirs + window);
        difference.window = difference.window.max((cwnd - window).abs() / window);
        if prague.alpha() > 0.0 {
            difference.alpha = difference.alpha.max((prague.alpha() - alpha as f64 / ONE).abs());
        }
    }
    difference.mean = ours / theirs;
    difference
}

macro_rules! recording {
    ($name:literal) => {
        include_str!(concat!("../../../oracles/linux-prague/", $name, ".csv"))
    };
}

#[test]
fn windows_and_alpha_are_those_of_linux_once_its_round_trips_end_as_there() {
    for (name, recording) in [
        ("far", recording!("far")),
        ("random", recording!("random")),
        ("delayed", recording!("delayed")),
        ("loss", recording!("loss")),
    ] {
        let Difference { mean, window, alpha } = replay(recording, Rounds::Linux);
        println!("{name}: mean {mean:.5}, window {window:.5}, alpha {alpha:.7}");
        assert!((mean - 1.0).abs() < 1e-4 && window < 2e-4, "{name}: mean {mean}, window {window}");
        assert!(alpha < 1e-7, "{name}: {alpha}");
    }
}

/// Linux counts the 500 round trips from the end of slow start, perhop from the beginning: one round trip here, in which the one
/// grows faster than the other.
#[test]
fn a_short_round_trip_counts_as_25_ms_as_in_linux() {
    let Difference { mean, window, alpha } = replay(recording!("near"), Rounds::Linux);
    println!("near: mean {mean:.5}, window {window:.5}, alpha {alpha:.7}");
    assert!((mean - 1.0).abs() < 0.01 && window < 0.03 && alpha < 0.05, "{mean}, {window}, {alpha}");
}

#[test]
fn as_the_draft_has_it_windows_stay_near_those_of_linux() {
    for (name, recording) in [
        ("far", recording!("far")),
        ("random", recording!("random")),
        ("delayed", recording!("delayed")),
        ("loss", recording!("loss")),
    ] {
        let Difference { mean, window, alpha } = replay(recording, Rounds::Draft);
        println!("{name}: mean {mean:.5}, window {window:.5}, alpha {alpha:.7}");
        assert!(
            (mean - 1.0).abs() < 0.011 && window < 0.133 && alpha < 0.13,
            "{name}: {mean}, {window}, {alpha}"
        );
        assert!(window > 1e-3, "{name}: the two ways of counting differ");
    }
}
