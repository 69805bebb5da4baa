//! Settings of TCPs under test.

use perhop_core::time::Span;
use perhop_core::units::Bytes;
use perhop_tcp::settings::{
    Counting, CubicForm, Growth, GrowthBy, Guard, Halving, InitialSsthresh, LossWindow, MinRtoBounds,
    PartialAckTimer, PrrForm, RecoveryExit, RecoveryKind, RtoParams, RttArithmetic, SlowStartKind, TcpParams,
    TimeoutWindow, TimerRestart,
};

/// The values of the profile `rfc`, but for data that never ends, the largest window scale, and recoveries that leave
/// ssthresh with NewReno too.
pub const RFC: TcpParams = TcpParams {
    cc: Growth::Reno,
    recovery: RecoveryKind::Reno,
    mss: Bytes(1460),
    window: Bytes(65_536),
    window_scale: 14,
    size: None,
    handshake: true,
    close: true,
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

/// Halving, growth and timers as BSD had them, and ns-2 but for the rounding.
pub const OLD: TcpParams = TcpParams {
    initial_window: 1,
    initial_ssthresh: InitialSsthresh::Window,
    grow_beyond_window: true,
    loss_window: LossWindow::Window,
    halving: Halving::Integer,
    guard: Guard::Off,
    recovery_exit: RecoveryExit::Grow,
    partial_ack_timer: PartialAckTimer::Every,
    limited_transmit: false,
    limited_transmit_resends: true,
    idle_restart: false,
    repeat_timeout_cuts: true,
    recovery_timeout_cuts: true,
    rto: RtoParams {
        tick: Span::from_millis(100),
        arithmetic: RttArithmetic::Scaled,
        on_tick: true,
        backoff_limit: 64,
        forget_after: 3,
        ..RFC.rto
    },
    ..RFC
};
