//! The start of the tests of every congestion control.

use perhop_core::time::Span;
use perhop_core::units::Bytes;

use super::AckSample;
use crate::settings::{
    Counting, CubicForm, Growth, GrowthBy, Guard, Halving, InitialSsthresh, LossWindow, MinRtoBounds,
    PartialAckTimer, PrrForm, RecoveryExit, RecoveryKind, RtoParams, RttArithmetic, SlowStartKind, TcpParams,
    TimeoutWindow, TimerRestart,
};

/// Payload of a segment.
pub const MSS: u64 = 1000;

/// The RFCs' values, in segments of 1000 bytes.
pub const PARAMS: TcpParams = TcpParams {
    cc: Growth::Reno,
    recovery: RecoveryKind::Reno,
    mss: Bytes(MSS),
    window: Bytes(100 * MSS),
    window_scale: 14,
    size: None,
    handshake: false,
    close: false,
    initial_window: 3,
    initial_ssthresh: InitialSsthresh::Unbounded,
    slow_start: SlowStartKind::Standard,
    cubic_form: CubicForm::Rfc9438,
    growth_by: GrowthBy::Acknowledged,
    counting: Counting::Acks,
    grow_beyond_window: false,
    loss_window: LossWindow::Flight,
    halving: Halving::Bytes,
    guard: Guard::Careful,
    recovery_exit: RecoveryExit::Ssthresh,
    partial_ack_timer: PartialAckTimer::First,
    recovery_burst: 0,
    fast_retransmit_restarts_timer: true,
    limited_transmit: true,
    limited_transmit_resends: false,
    sack_forgets: false,
    prr: false,
    prr_form: PrrForm::Rfc9937,
    rack: false,
    frto: false,
    timestamps: false,
    sack_samples: false,
    sack_blocks: 3,
    sack_overhead: Bytes(4),
    ecn: false,
    idle_restart: true,
    repeat_timeout_cuts: false,
    recovery_timeout_cuts: true,
    timeout_window: TimeoutWindow::Segment,
    timeout_recovery: false,
    timer_restart: TimerRestart::NewData,
    early_timer_margin: Span::ZERO,
    rto: RtoParams {
        initial: Span::from_secs(1),
        min: Span::from_secs(1),
        min_bounds: MinRtoBounds::Timeout,
        max: Span::from_secs(60),
        tick: Span::ZERO,
        phase: Span::ZERO,
        arithmetic: RttArithmetic::Exact,
        on_tick: false,
        jiffy: Span::ZERO,
        backoff_limit: 0,
        forget_after: 0,
    },
};

/// `acked` bytes are acknowledged, without a round-trip sample.
pub fn sample(acked: u64) -> AckSample {
    let acked = Bytes(acked);
    AckSample { acked, in_flight: acked, cwnd_limited: true, rtt: None, srtt: None, una: 0 }
}
