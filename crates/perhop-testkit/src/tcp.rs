//! Settings of TCPs under test.

use perhop_core::time::Span;
use perhop_tcp::settings::{
    Guard, Halving, IdleRestart, InitialSsthresh, LossWindow, PartialAckTimer, RecoveryExit, RtoParams,
    RttArithmetic, TcpParams,
};

/// The values of the profile `rfc`.
pub const RFC: TcpParams = TcpParams::RFC;

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
    idle_restart: IdleRestart::Off,
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
