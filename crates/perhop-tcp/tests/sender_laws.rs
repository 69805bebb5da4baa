//! The laws of a sender: one line for each recovery, growth and set of conventions.
//!
//! Each line is tried with and without a handshake, an end, limited transmit, F-RTO, timestamps, ECN, a restart after
//! idle periods, and growth beyond the receiver's window.

use perhop_core::time::Span;
use perhop_tcp::settings::{
    Counting, CubicForm, Growth, GrowthBy, Guard, Halving, InitialSsthresh, LossWindow, PartialAckTimer,
    RecoveryExit, RecoveryKind, SlowStartKind, TcpParams, TimeoutWindow, TimerRestart,
};
use perhop_testkit::sender_laws;
use perhop_testkit::tcp::{OLD, RFC};

const TAHOE: TcpParams = TcpParams { recovery: RecoveryKind::Tahoe, ..RFC };
const NEWRENO: TcpParams = TcpParams { recovery: RecoveryKind::NewReno, ..RFC };
const SACK: TcpParams = TcpParams { recovery: RecoveryKind::Sack, ..RFC };
const PRR: TcpParams = TcpParams { prr: true, ..SACK };
const RACK: TcpParams = TcpParams { rack: true, ..SACK };
const LINUX: TcpParams = TcpParams { cc: Growth::Cubic, prr: true, initial_window: 10, ..RACK };
/// As the profile `linux` but for `prr_form`, which counts by a window that nothing outside can see.
const KERNEL: TcpParams = TcpParams {
    cubic_form: CubicForm::Linux,
    growth_by: GrowthBy::Delivered,
    slow_start: SlowStartKind::CubicHystart,
    loss_window: LossWindow::Cwnd,
    sack_samples: true,
    recovery_exit: RecoveryExit::SsthreshGrow,
    timeout_window: TimeoutWindow::InFlight,
    timeout_recovery: true,
    timer_restart: TimerRestart::First,
    early_timer_margin: Span::from_millis(2),
    ..LINUX
};
const SACK_1996: TcpParams = TcpParams { recovery: RecoveryKind::Sack1996, ..RFC };

sender_laws!(tahoe, TAHOE);
sender_laws!(reno, RFC);
sender_laws!(newreno, NEWRENO);
sender_laws!(sack, SACK);
sender_laws!(sack_with_prr, PRR);
sender_laws!(rack, RACK);
sender_laws!(rack_with_prr, TcpParams { prr: true, ..RACK });
sender_laws!(cubic_with_rack_and_prr, LINUX);
sender_laws!(cubic_of_the_kernel, KERNEL);
sender_laws!(reno_of_the_kernel, TcpParams { cc: Growth::Reno, counting: Counting::Bytes, ..KERNEL });
sender_laws!(sack_1996, SACK_1996);
sender_laws!(bbr_of_the_kernel, TcpParams { cc: Growth::Bbr, ..KERNEL });
sender_laws!(bbr_with_rack, TcpParams { cc: Growth::Bbr, prr: true, ..RACK });
sender_laws!(bbr3_of_the_kernel, TcpParams { cc: Growth::Bbr3, ..KERNEL });
sender_laws!(bbr3_with_rack, TcpParams { cc: Growth::Bbr3, prr: true, ..RACK });
sender_laws!(cubic_of_the_kernel_paced, TcpParams { pacing: true, ..KERNEL });
sender_laws!(newreno_paced, TcpParams { pacing: true, ..NEWRENO });

sender_laws!(reno_that_counts_bytes, TcpParams { counting: Counting::Bytes, ..RFC });
sender_laws!(reno_with_fractional_windows, TcpParams { halving: Halving::Fractional, ..RFC });
sender_laws!(reno_with_whole_windows, TcpParams { halving: Halving::Integer, ..RFC });
sender_laws!(reno_that_halves_the_window, TcpParams { loss_window: LossWindow::Window, ..RFC });
sender_laws!(
    reno_from_the_window,
    TcpParams { initial_ssthresh: InitialSsthresh::Window, initial_window: 1, ..RFC }
);
sender_laws!(reno_with_hystart_plus_plus, TcpParams { slow_start: SlowStartKind::HystartPlusPlus, ..RFC });
sender_laws!(reno_with_hystart, TcpParams { slow_start: SlowStartKind::Hystart, initial_window: 16, ..RFC });

sender_laws!(dctcp, TcpParams { cc: Growth::Dctcp, ..NEWRENO });
sender_laws!(dctcp_with_rack_and_prr, TcpParams { cc: Growth::Dctcp, prr: true, initial_window: 10, ..RACK });
sender_laws!(prague, TcpParams { cc: Growth::Prague, ..NEWRENO });
sender_laws!(
    prague_with_rack_and_prr,
    TcpParams { cc: Growth::Prague, prr: true, initial_window: 10, ..RACK }
);
sender_laws!(cubic_with_tahoe, TcpParams { cc: Growth::Cubic, ..TAHOE });
sender_laws!(cubic_with_reno, TcpParams { cc: Growth::Cubic, ..RFC });
sender_laws!(cubic_with_newreno, TcpParams { cc: Growth::Cubic, ..NEWRENO });
sender_laws!(cubic_with_sack, TcpParams { cc: Growth::Cubic, initial_window: 10, ..SACK });
sender_laws!(cubic_with_prr, TcpParams { cc: Growth::Cubic, initial_window: 10, ..PRR });
sender_laws!(
    cubic_with_hystart_plus_plus,
    TcpParams { cc: Growth::Cubic, slow_start: SlowStartKind::HystartPlusPlus, initial_window: 10, ..SACK }
);
sender_laws!(
    cubic_with_hystart,
    TcpParams { cc: Growth::Cubic, slow_start: SlowStartKind::Hystart, initial_window: 16, ..PRR }
);
sender_laws!(cubic_with_sack_1996, TcpParams { cc: Growth::Cubic, ..SACK_1996 });

sender_laws!(less_careful_newreno, TcpParams { guard: Guard::LessCareful, ..NEWRENO });
sender_laws!(slow_but_steady_newreno, TcpParams { partial_ack_timer: PartialAckTimer::Every, ..NEWRENO });
sender_laws!(
    newreno_without_bursts,
    TcpParams { recovery_burst: 2, recovery_exit: RecoveryExit::Flight, ..NEWRENO }
);

sender_laws!(old_tahoe, TcpParams { recovery: RecoveryKind::Tahoe, ..OLD });
sender_laws!(old_reno, OLD);
sender_laws!(old_newreno, TcpParams { recovery: RecoveryKind::NewReno, ..OLD });
// without a guard a recovery may begin amid what a time-out sends again, which it takes for new data
sender_laws!(old_sack_1996, TcpParams { recovery: RecoveryKind::Sack1996, guard: Guard::Careful, ..OLD });
sender_laws!(old_sack, TcpParams { recovery: RecoveryKind::Sack, ..OLD });
