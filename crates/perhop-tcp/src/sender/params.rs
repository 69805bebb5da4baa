//! A sender's settings.

use perhop_core::time::Span;
use perhop_core::units::Bytes;

use crate::cc::{AnyControl, Bbr, Bbr3, CongestionControl, Cubic, CubicLinux, Dctcp, Prague, Reno};
use crate::settings::{
    CubicForm, Growth, GrowthBy, IdleRestart, RecoveryExit, RecoveryKind, RttArithmetic, TcpParams,
    TimeoutWindow, TimerRestart,
};

/// The settings that the sender itself asks for, without those of growth, recovery and timer.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rules {
    mss: u32,
    pub(super) sack: bool,
    pub(super) timestamps: bool,
    pub(super) sack_samples: bool,
    /// The answer to a SYN that was sent again gives a sample.
    pub(super) repeated_syn_samples: bool,
    pub(super) ecn: bool,
    /// A loss of a window that a mark has shrunk shrinks it no further.
    pub(super) marks_like_losses: bool,
    /// The receiver counts marks (AccECN).
    pub(super) counted_marks: bool,
    /// Growth goes by the part of an acknowledgment that was not marked, also where some of it was.
    pub(super) grows_by_unmarked: bool,
    /// Hundredths of a window that leave in a round trip after slow start, where segments are paced by it.
    pub(super) pacing_percent: u64,
    /// The last segment of a paced burst of several has PSH.
    pub(super) burst_push: bool,
    pub(super) frto: bool,
    pub(super) handshake: bool,
    pub(super) close: bool,
    pub(super) idle_restart: IdleRestart,
    pub(super) initial_window: Bytes,
    pub(super) every_timeout_cuts: bool,
    pub(super) recovery_timeout_cuts: bool,
    pub(super) fast_retransmit_restarts_timer: bool,
    pub(super) recovery_exit: RecoveryExit,
    pub(super) grows_by_delivered: bool,
    pub(super) timeout_keeps: bool,
    pub(super) timeout_recovery: bool,
    pub(super) first_restarts_timer: bool,
    pub(super) early_timer_margin: Span,
    pub(super) jiffy: Span,
    /// Segments, acknowledgments and timers too look at what bounds the connection, not writes alone.
    pub(super) follows_limit: bool,
}

impl Rules {
    pub(super) fn new(params: &TcpParams) -> Self {
        Self {
            mss: u32::try_from(params.mss.0).unwrap_or(u32::MAX),
            sack: params.recovery.uses_sack(),
            timestamps: params.timestamps,
            sack_samples: params.sack_samples,
            repeated_syn_samples: params.timestamps && params.rto.arithmetic == RttArithmetic::Linux,
            ecn: params.ecn,
            marks_like_losses: !params.cc.is_scalable(),
            counted_marks: params.ecn && params.cc == Growth::Prague,
            grows_by_unmarked: params.cc == Growth::Prague,
            //= draft-prague-02-2.5.1-rate
            pacing_percent: if params.cc == Growth::Prague { 100 } else { 120 },
            burst_push: params.burst_push,
            frto: params.frto,
            handshake: params.handshake,
            close: params.close && params.size.is_some(),
            idle_restart: params.idle_restart,
            initial_window: Bytes(u64::from(params.initial_window) * params.mss.0),
            every_timeout_cuts: params.repeat_timeout_cuts,
            recovery_timeout_cuts: params.recovery_timeout_cuts,
            fast_retransmit_restarts_timer: params.fast_retransmit_restarts_timer,
            recovery_exit: match (params.recovery_exit, params.recovery) {
                (RecoveryExit::Flight, kind) if kind != RecoveryKind::NewReno => RecoveryExit::Ssthresh,
                (exit, _) => exit,
            },
            grows_by_delivered: params.growth_by == GrowthBy::Delivered,
            timeout_keeps: params.timeout_window == TimeoutWindow::InFlight,
            timeout_recovery: params.timeout_recovery,
            first_restarts_timer: params.timer_restart == TimerRestart::First,
            early_timer_margin: params.early_timer_margin,
            jiffy: params.rto.jiffy,
            follows_limit: params.cc == Growth::Bbr3,
        }
    }

    pub(super) const fn mss(&self) -> Bytes {
        Bytes(self.mss as u64)
    }
}

/// The growth that the settings name.
pub(super) fn control(params: &TcpParams) -> AnyControl {
    match params.cc {
        Growth::Reno => Reno::new(params).into(),
        Growth::Dctcp => (Box::new(Dctcp::new(params)) as Box<dyn CongestionControl>).into(),
        Growth::Prague => (Box::new(Prague::new(params)) as Box<dyn CongestionControl>).into(),
        Growth::Bbr => (Box::new(Bbr::new(params)) as Box<dyn CongestionControl>).into(),
        Growth::Bbr3 => (Box::new(Bbr3::new(params)) as Box<dyn CongestionControl>).into(),
        Growth::Cubic => match params.cubic_form {
            CubicForm::Rfc9438 => (Box::new(Cubic::new(params)) as Box<dyn CongestionControl>).into(),
            CubicForm::Linux => (Box::new(CubicLinux::new(params)) as Box<dyn CongestionControl>).into(),
        },
    }
}
