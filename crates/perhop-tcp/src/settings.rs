//! The settings of a TCP: its algorithms, and the conventions in which stacks differ.
//!
//! A profile (`rfc`, `bsd`, `ns2`, `linux`) is a set of values for these; nothing here or elsewhere asks for its name.

use perhop_core::time::Span;
use perhop_core::units::Bytes;

/// Everything that can be chosen about a connection.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpParams {
    /// How the window grows.
    pub cc: Growth,
    /// How losses are found and repaired.
    pub recovery: RecoveryKind,
    /// Payload of a full segment.
    pub mss: Bytes,
    /// Window the receiver offers, in whole segments.
    pub window: Bytes,
    /// Shift of the window field: the receiver offers multiples of 2^scale, at most 65535 * 2^scale (RFC 7323 section 2).
    pub window_scale: u8,
    /// Application data to send; endless without.
    pub size: Option<Bytes>,
    /// Whether a SYN is sent and answered before data.
    pub handshake: bool,
    /// Whether a finite transfer ends with a FIN.
    pub close: bool,
    /// Initial congestion window in segments.
    pub initial_window: u32,
    /// Where slow start first ends.
    pub initial_ssthresh: InitialSsthresh,
    /// How slow start grows, and whether it ends before a loss.
    pub slow_start: SlowStartKind,
    /// How CUBIC counts, and what it does before the first loss.
    pub cubic_form: CubicForm,
    /// The growth of cwnd by an acknowledgment.
    pub growth_by: GrowthBy,
    /// The unit that congestion avoidance counts.
    pub counting: Counting,
    /// Whether cwnd grows while the receiver's window is what bounds the sender.
    pub grow_beyond_window: bool,
    /// The window that is halved.
    pub loss_window: LossWindow,
    /// How halves are rounded.
    pub halving: Halving,
    /// When duplicates may start another fast retransmit.
    pub guard: Guard,
    /// The window after a recovery.
    pub recovery_exit: RecoveryExit,
    /// Which partial acknowledgments restart the retransmission timer (NewReno).
    pub partial_ack_timer: PartialAckTimer,
    /// Most new segments for one acknowledgment during a recovery (NewReno); 0 for no bound.
    pub recovery_burst: u32,
    /// Whether a fast retransmit restarts the retransmission timer.
    pub fast_retransmit_restarts_timer: bool,
    /// One new segment on each of the first two duplicates (RFC 3042).
    pub limited_transmit: bool,
    /// Whether that segment may be one sent before, as after a time-out; RFC 3042 speaks of unsent data only.
    pub limited_transmit_resends: bool,
    /// Proportional rate reduction (RFC 9937), with `RecoveryKind::Sack`.
    pub prr: bool,
    /// The counts of proportional rate reduction, with `rack`.
    pub prr_form: PrrForm,
    /// Losses found by time, and probes of the tail (RFC 8985), with `RecoveryKind::Sack`.
    pub rack: bool,
    /// Detection of spurious time-outs (RFC 5682).
    pub frto: bool,
    /// The timestamps option (RFC 7323): a sample from every acknowledgment of new data.
    pub timestamps: bool,
    /// Whether an acknowledgment that only reports gives a sample too, with `rack`.
    pub sack_samples: bool,
    /// Most SACK blocks in an acknowledgment.
    pub sack_blocks: u8,
    /// Whether a block that newer ones have pushed out of the option is forgotten until a segment falls into it again,
    /// instead of being reported once there is room.
    pub sack_forgets: bool,
    /// Bytes of the SACK option beside eight for each block.
    pub sack_overhead: Bytes,
    /// Explicit congestion notification (RFC 3168).
    pub ecn: bool,
    /// Whether its data is ECT(1), which asks for L4S (RFC 9331 section 4.1), instead of ECT(0).
    pub ect1: bool,
    /// Whether a mark takes less than a loss: a fifth with Reno, 0.15 with CUBIC (RFC 8511).
    pub abe: bool,
    /// Whether segments leave at the rate of a window each round trip instead of in bursts; those of BBR, of either version, at its own rate.
    pub pacing: bool,
    /// Whether the last segment of a paced burst of several has PSH.
    pub burst_push: bool,
    /// The seed of the random numbers of a congestion control.
    pub seed: u64,
    /// The part of cwnd that an idle time of more than a retransmission time-out leaves.
    pub idle_restart: IdleRestart,
    /// Whether every time-out of one segment lowers ssthresh, not the first alone.
    pub repeat_timeout_cuts: bool,
    /// Whether a time-out within a recovery lowers ssthresh below what the recovery has set.
    pub recovery_timeout_cuts: bool,
    /// The rest of cwnd after a time-out.
    pub timeout_window: TimeoutWindow,
    /// Whether a retransmission that is lost after a time-out begins a recovery, with `rack`.
    pub timeout_recovery: bool,
    /// The events that start the retransmission timer anew, with `rack`.
    pub timer_restart: TimerRestart,
    /// The time added before a probe, unless a lone segment is out, and to that of the reordering timer, with `rack`.
    pub early_timer_margin: Span,
    /// The retransmission timer.
    pub rto: RtoParams,
}

/// How the window grows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Growth {
    /// RFC 5681 section 3.1.
    Reno,
    /// RFC 9438.
    Cubic,
    /// RFC 8257, with the receiver's exact echo of marks.
    Dctcp,
    /// draft-briscoe-iccrg-prague-congestion-control-02, with the feedback of AccECN's ACE field.
    Prague,
    /// draft-cardwell-iccrg-bbr-congestion-control-00: version 1, as Linux has it. It needs `rack`, and leaves `prr` out.
    Bbr,
    /// draft-ietf-ccwg-bbr: version 3. It needs `rack`, and leaves `prr` out.
    Bbr3,
}

impl Growth {
    /// Whether it is BBR, of either version: it asks for rates of delivery, paces by them, and is left alone by PRR.
    #[must_use]
    pub const fn is_bbr(self) -> bool {
        matches!(self, Self::Bbr | Self::Bbr3)
    }
}

/// How losses are found and repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryKind {
    /// Fast retransmit, then slow start from one segment (Jacobson 1988).
    Tahoe,
    /// Fast retransmit and fast recovery (RFC 5681 section 3.2).
    Reno,
    /// Partial acknowledgments go on with the recovery (RFC 6582).
    NewReno,
    /// Selective acknowledgments (RFC 6675).
    Sack,
    /// Selective acknowledgments with a counted pipe (Fall and Floyd 1996, section 3.2).
    Sack1996,
}

impl Growth {
    /// Whether the answer to marks follows how many there are, which the receiver tells.
    #[must_use]
    pub const fn is_scalable(self) -> bool {
        matches!(self, Self::Dctcp | Self::Prague)
    }
}

impl RecoveryKind {
    /// Whether it reads SACK blocks, so that the receiver reports them.
    #[must_use]
    pub const fn uses_sack(self) -> bool {
        matches!(self, Self::Sack | Self::Sack1996)
    }
}

/// Where slow start first ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum InitialSsthresh {
    /// Not before the first congestion.
    Unbounded,
    /// At the receiver's window.
    Window,
}

/// How slow start grows, and whether it ends before a loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SlowStartKind {
    /// Each acknowledgment adds a segment at most, until ssthresh or congestion (RFC 5681 section 3.1).
    Standard,
    /// Round trips that take longer slow the first one down, and end it if they stay long (RFC 9406).
    HystartPlusPlus,
    /// Trains of acknowledgments and round trips that take longer end it, as in Linux (Ha and Rhee 2011).
    Hystart,
    /// The same with CUBIC alone; each acknowledgment adds all that it brings, up to ssthresh, with any growth and after a
    /// congestion too (Linux: `tcp_slow_start`).
    CubicHystart,
}

/// How CUBIC counts, and what it does before the first loss.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CubicForm {
    /// RFC 9438.
    Rfc9438,
    /// As `tcp_cubic.c` of Linux.
    Linux,
}

/// The growth of cwnd by an acknowledgment of new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum GrowthBy {
    /// The bytes that it acknowledges (RFC 5681 section 3.1).
    Acknowledged,
    /// The bytes acknowledged or reported for the first time (Linux: `acked_sacked`).
    Delivered,
}

/// The unit that congestion avoidance counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Counting {
    /// Acknowledgments: `mss * mss / cwnd` each (RFC 5681 equation (3)).
    Acks,
    /// Bytes acknowledged: a segment for each window (RFC 5681 section 3.1, the recommended way).
    Bytes,
}

/// The window that is halved on congestion.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossWindow {
    /// Bytes in flight, and at most cwnd (RFC 5681 equation (4); decision 0021).
    Flight,
    /// The smaller of the inflated congestion window and the receiver's.
    Window,
    /// The congestion window.
    Cwnd,
}

/// How halves are rounded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Halving {
    /// To the byte: ssthresh and cwnd are the half.
    Bytes,
    /// ssthresh down to whole segments, cwnd not at all.
    Fractional,
    /// Window, ssthresh and cwnd down to whole segments.
    Integer,
}

/// When duplicates may start another fast retransmit, given what was outstanding at the last one or at a time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Guard {
    /// Always.
    Off,
    /// Once all of it is acknowledged (RFC 2582 section 5, the less careful variant).
    LessCareful,
    /// Once more than that is acknowledged (RFC 6582 section 3.2, step 2).
    Careful,
}

/// The window after a recovery.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RecoveryExit {
    /// ssthresh (RFC 5681 section 3.2, step 6; RFC 6582 section 3.2, step 3, second option).
    Ssthresh,
    /// With NewReno the smaller of ssthresh and a segment more than what is in flight (RFC 6582 section 3.2, step 3,
    /// first option); else ssthresh.
    Flight,
    /// The window as it is, grown as by any acknowledgment (Reno and NewReno) or not (SACK).
    Grow,
    /// ssthresh, with SACK grown at once by what the acknowledgment that ends the recovery has delivered (Linux:
    /// `tcp_cong_control` after `tcp_end_cwnd_reduction`).
    SsthreshGrow,
}

/// The counts of proportional rate reduction.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PrrForm {
    /// RFC 9937 section 6.
    Rfc9937,
    /// Against cwnd before the recovery, with a segment for a reordering timer that begins it (Linux: `prior_cwnd`,
    /// `tcp_rack_reo_timeout`).
    Linux,
}

/// The rest of cwnd after a time-out.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimeoutWindow {
    /// A segment (RFC 5681 section 3.1).
    Segment,
    /// A segment more than what is still in the network, with RACK (Linux: `tcp_enter_loss`).
    InFlight,
}

/// The events that start the retransmission timer anew.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TimerRestart {
    /// An acknowledgment of new data (RFC 6298 section 5, rule 5.3).
    NewData,
    /// Also another retransmission of the first outstanding segment, and a report of something that had left before that
    /// (Linux: `tcp_xmit_retransmit_queue`, `tcp_clean_rtx_queue`).
    First,
}

/// Which partial acknowledgments restart the retransmission timer.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PartialAckTimer {
    /// The first of a recovery (RFC 6582 section 3.2, step 3; RFC 3782 section 4, the impatient variant).
    First,
    /// Each (the slow-but-steady variant).
    Every,
}

/// How round trips are measured, and what time-out follows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RtoParams {
    /// Before the first sample (RFC 6298, 2.1); also of the SYN.
    pub initial: Span,
    /// Lower bound (2.4).
    pub min: Span,
    /// The value that the lower bound holds for.
    pub min_bounds: MinRtoBounds,
    /// Upper bound, also of the backed-off value (2.5).
    pub max: Span,
    /// Clock granularity; zero for nanoseconds.
    pub tick: Span,
    /// Time from a tick to the start of the run.
    pub phase: Span,
    /// How srtt and rttvar are kept.
    pub arithmetic: RttArithmetic,
    /// Whether timers expire on ticks only.
    pub on_tick: bool,
    /// The jiffy of the wheel that timers expire on; zero for none.
    pub jiffy: Span,
    /// Largest multiplier of the back-off; 0 for none but `max`.
    pub backoff_limit: u32,
    /// After more than this many time-outs in a row the next sample counts as the first (RFC 6298, the end of section 5); 0 for
    /// never.
    pub forget_after: u32,
}

impl TcpParams {
    /// The values of the profile `rfc`, but for data that never ends, the largest window scale, and recoveries that leave
    /// ssthresh with NewReno too.
    pub const RFC: Self = Self {
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
        ect1: false,
        abe: false,
        pacing: false,
        burst_push: false,
        seed: 0,
        idle_restart: IdleRestart::InitialWindow,
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
}

/// The part of cwnd that an idle time of more than a retransmission time-out leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum IdleRestart {
    /// All of it.
    Off,
    /// The initial window (RFC 5681 section 4.1).
    InitialWindow,
    /// Half of it for each time-out that has passed, and no less than the initial window; ssthresh is at least three quarters of
    /// what it was. What the application leaves unused for a time-out is halved too, and slow start goes on while half of cwnd is
    /// used (RFC 2861 section 3, as Linux has it).
    Validation,
}

/// The value that the lower bound of the time-out holds for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MinRtoBounds {
    /// The whole time-out (RFC 6298 section 2, rule 2.4).
    Timeout,
    /// The part for the variation, `4 * rttvar`, as in Linux: the time-out is always that much above srtt.
    Variation,
}

/// How srtt and rttvar are kept.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RttArithmetic {
    /// In nanoseconds (RFC 6298 section 2).
    Exact,
    /// In ticks with 3 and 2 fraction bits (Jacobson 1988, appendix A); the time-out is in whole ticks.
    Scaled,
    /// In nanoseconds by the rules of Linux (`tcp_rtt_estimator`).
    Linux,
}
