//! The settings of a TCP as they are written, in a flow and in a profile. The comments here are their reference text.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Serialize};

use crate::words::choices::{
    Counting, CubicForm, Ecn, Growth, GrowthBy, Guard, Halving, Idle, InitialSsthresh, LossWindow,
    MinRtoBounds, PartialAckTimer, PrrForm, RecoveryExit, RecoveryKind, RttArithmetic, SlowStartKind,
    TimeoutWindow, TimerRestart,
};
use crate::words::congestion::CongestionControl;
use crate::words::names::Label;
use crate::words::units::{Limit, Phase, Size, Time};

/// A setting that a profile may leave to its base.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Left<T>(pub Option<T>);

impl<T> Left<T> {
    /// Whether the profile says nothing.
    fn is_left(&self) -> bool {
        self.0.is_none()
    }
}

impl<T> Default for Left<T> {
    fn default() -> Self {
        Self(None)
    }
}

/// That of the setting: one that is left is not written.
impl<T: JsonSchema> JsonSchema for Left<T> {
    fn inline_schema() -> bool {
        T::inline_schema()
    }

    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }

    fn schema_id() -> Cow<'static, str> {
        T::schema_id()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

/// Declares each setting once, for the TCP of a flow and for a profile.
macro_rules! settings {
    ($($(#[$about:meta])* $key:ident: $kind:ty,)+) => {
        /// The TCP of a flow. What is not written comes from the profile.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(default, deny_unknown_fields)]
        pub struct Tcp {
            /// Gives every setting that is not written: `default`, `rfc`, `bsd`, `ns2`, `ns235`, `linux`, or a `[[profile]]` of
            /// the file.
            pub profile: Label,
            /// Application data to send, in segments of `mss` (`p`) or in bytes; without it the data never ends.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Limit")]
            pub size: Option<Limit>,
            /// Shift of the window field (RFC 7323 section 2): `window` is rounded down to a multiple of 2^scale. Without
            /// it the smallest that `window` fits.
            #[serde(skip_serializing_if = "Option::is_none")]
            #[schemars(with = "u8", range(max = 14))]
            pub window_scale: Option<u8>,
            $($(#[$about])* pub $key: $kind,)+
        }

        /// A named set of TCP settings. Each may be left out.
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct Profile {
            /// Its name in flows and other profiles.
            pub name: Label,
            /// The profile that gives what this one leaves out; without it `default`.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Label")]
            pub base: Option<Label>,
            /// As in a flow.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "Limit")]
            pub size: Option<Limit>,
            /// As in a flow.
            #[serde(default, skip_serializing_if = "Option::is_none")]
            #[schemars(with = "u8", range(max = 14))]
            pub window_scale: Option<u8>,
            $($(#[$about])* #[serde(default, skip_serializing_if = "Left::is_left")] pub $key: Left<$kind>,)+
        }

        impl Profile {
            /// The TCP that this profile alone makes; `None` where it leaves something out.
            pub(crate) fn tcp(self) -> Option<Tcp> {
                Some(Tcp {
                    profile: self.name,
                    size: self.size,
                    window_scale: self.window_scale,
                    $($key: self.$key.0?,)+
                })
            }
        }
    };
}

settings! {
    /// Congestion control: how the congestion window grows.
    cc: CongestionControl,
    /// How losses are found and repaired.
    recovery: RecoveryKind,
    /// Payload of a full segment (RFC 9293 section 3.7.1).
    mss: Size,
    /// Added to every segment on the wire; the length of an ACK without data where no link has a `pure_ack_size`.
    header: Size,
    /// The receiver's window; rounded down to whole segments.
    window: Size,
    /// Whether a SYN is sent and answered before data (RFC 9293 section 3.5).
    handshake: bool,
    /// Whether a transfer of finite `size` ends with a FIN (RFC 9293 section 3.6).
    close: bool,
    /// Initial congestion window in segments (RFC 5681 section 3.1).
    #[schemars(range(min = 1))]
    initial_window: u32,
    /// Where slow start first ends (RFC 5681 section 3.1).
    initial_ssthresh: InitialSsthresh,
    /// How slow start grows, and whether it ends before a loss (RFC 5681 section 3.1, RFC 9406).
    slow_start: SlowStartKind,
    /// How CUBIC counts, and what it does before the first loss (RFC 9438 section 4); for `cubic`.
    cubic_form: CubicForm,
    /// Bytes that an ACK of new data lets cwnd grow by.
    growth_by: GrowthBy,
    /// Unit that congestion avoidance counts (RFC 5681 section 3.1).
    counting: Counting,
    /// Whether cwnd grows on while the receiver's window is what bounds the sender.
    grow_beyond_window: bool,
    /// Window that is halved on congestion (RFC 5681 section 3.1).
    loss_window: LossWindow,
    /// How halves are rounded.
    halving: Halving,
    /// When duplicate ACKs may start another fast retransmit (RFC 6582 section 3.2, step 1).
    guard: Guard,
    /// Window at the end of a recovery (RFC 6582 section 3.2, step 3).
    recovery_exit: RecoveryExit,
    /// Which partial ACKs restart the retransmission timer; for `newreno` (RFC 6582 section 4).
    partial_ack_timer: PartialAckTimer,
    /// Most new segments for one ACK during a recovery; 0 for no bound. For `newreno` (RFC 6582 section 3.2).
    recovery_burst: u32,
    /// Whether a fast retransmit restarts the retransmission timer, so that no segment is sent again by the timer sooner
    /// than one time-out after it was last sent (RFC 6298 section 5).
    fast_retransmit_restarts_timer: bool,
    /// Whether each of the first two duplicate ACKs sends a new segment (RFC 3042 section 2).
    limited_transmit: bool,
    /// Whether that segment may also be one that was sent before, as after a time-out; RFC 3042 speaks of unsent data
    /// only.
    limited_transmit_resends: bool,
    /// Proportional rate reduction (RFC 9937); needs `recovery = "sack"`.
    prr: bool,
    /// Counting of proportional rate reduction (RFC 9937 section 6); for `rack`.
    prr_form: PrrForm,
    /// Losses found by time, and probes of the tail (RFC 8985); needs `recovery = "sack"`.
    rack: bool,
    /// Whether spurious time-outs are detected and undone (RFC 5682 section 2, RFC 4015).
    frto: bool,
    /// Whether segments have the timestamps option, so that every ACK of new data gives a round-trip sample (RFC 7323
    /// section 4).
    timestamps: bool,
    /// Whether an ACK that acknowledges nothing new gives a round-trip sample too, from the first of what it reports that was sent
    /// once (RFC 6298 section 3 speaks of acknowledged segments); for `rack`.
    sack_samples: bool,
    /// Most SACK blocks in an ACK, 8 bytes each: 4, or 3 beside timestamps (RFC 2018 section 3).
    #[schemars(range(min = 1, max = 4))]
    sack_blocks: u8,
    /// Whether a block that newer ones have pushed out of the option is forgotten until a segment falls into it again,
    /// instead of being reported once there is room (RFC 2018 section 4).
    sack_forgets: bool,
    /// Bytes of the SACK option beside its blocks: kind, length and padding (RFC 2018 section 3).
    sack_overhead: Size,
    /// Explicit congestion notification: data can be marked instead of dropped (RFC 3168 section 6). It is ECT(0), or what is named
    /// instead of `true`.
    ecn: Ecn,
    /// Whether a mark takes less than a loss, a fifth of the window with `reno` and 0.15 of it with `cubic` (RFC 8511); needs `ecn`.
    abe: bool,
    /// Whether segments leave at 1.2 windows a round trip, 2 in slow start, instead of with each ACK: in bursts of what the rate sends in
    /// a millisecond, two segments at least from 1.2 Mbit/s on (Linux: `tcp_update_pacing_rate`, `tcp_tso_autosize`). `bbr` and `bbr3`
    /// pace by a rate of their own, and `prague` at a window a round trip, whatever this says.
    pacing: bool,
    /// Whether the last segment of a burst of two or more has PSH, so that its ACK does not wait; for senders that pace, and not with an ACK policy in Python.
    burst_push: bool,
    /// Part of cwnd that is left when nothing was sent for more than a time-out; `true` is `initial-window`, `false` is `off`.
    idle_restart: Idle,
    /// Whether every time-out of one segment lowers ssthresh; otherwise the first alone does (RFC 5681 section 3.1).
    repeat_timeout_cuts: bool,
    /// Whether a time-out within a recovery lowers ssthresh once more; otherwise it stays what the recovery has set (RFC 5681
    /// section 4.3).
    recovery_timeout_cuts: bool,
    /// Part of cwnd that a time-out leaves (RFC 5681 section 3.1).
    timeout_window: TimeoutWindow,
    /// Whether a retransmission that is lost after a time-out begins a recovery, which lowers ssthresh once more (RFC 8985
    /// section 7.4.1 leaves it open); for `rack`.
    timeout_recovery: bool,
    /// Events that start the retransmission timer anew (RFC 6298 section 5, rule 5.3); for `rack`.
    timer_restart: TimerRestart,
    /// Added to the time before a probe of the tail, unless one segment alone is out, and to that of the reordering timer (RFC
    /// 8985 sections 6.2 and 7.2); for `rack`.
    early_timer_margin: Time,
    /// The longest that an ACK waits for a second segment where the flow's `ack` has no `policy`, at most `500ms`; `0s` for an
    /// ACK for every segment (RFC 5681 section 4.2, RFC 1122 section 4.2.3.2).
    ack_delay: Time,
    /// Whether an ACK waits longer than `ack_delay` where segments come seldom: after one that has waited in vain twice as long, but
    /// no longer than the round trip of the handshake, or than `200ms`. For delayed ACKs.
    ack_delay_adapts: bool,
    /// How many segments are acknowledged at once at the start, after a pause longer than a time-out and after a duplicate,
    /// before an ACK waits; for delayed ACKs.
    #[schemars(range(max = 255))]
    quick_acks: u8,
    /// The longest that an ACK waits which only reports blocks beyond a gap, after the first three, but at most a twentieth of
    /// the round trip of the handshake; `0s` for none that waits (RFC 5681 section 3.2). For delayed ACKs.
    sack_compression: Time,
    /// The receiver's memory at first, which grows with what comes in a round trip, up to `window`; while the window that it allows
    /// grows into it, by two segments with each, every segment is acknowledged at once. `0B` for none that grows; what is
    /// offered is `window` all the same. For delayed ACKs.
    receive_buffer: Size,
    /// Granularity of the clock that times segments (RFC 6298 section 4); `0s` for nanoseconds.
    clock_tick: Time,
    /// Time from a tick of that clock to the start of the run, below `clock_tick`; `random` draws it for each flow, uniformly, from
    /// the random stream `flow.<name>.clock`.
    clock_phase: Phase,
    /// How srtt and rttvar are kept (RFC 6298 section 2); `scaled` needs a `clock_tick`.
    rtt_arithmetic: RttArithmetic,
    /// Whether the retransmission timer expires on ticks only; needs a `clock_tick`.
    timer_on_tick: bool,
    /// The jiffy of a timer wheel that all timers but that of `sack_compression` expire on, counted from the start of the run: up to
    /// 63 jiffies on the one after the time, up to 504 on the multiple of eight after it, and so on; `0s` for exact timers.
    timer_jiffy: Time,
    /// Retransmission time-out before the first measured round trip, also of the SYN (RFC 6298 section 2, rule 2.1).
    initial_rto: Time,
    /// Lower bound of the retransmission time-out (RFC 6298 section 2, rule 2.4).
    min_rto: Time,
    /// Time that `min_rto` bounds.
    min_rto_bounds: MinRtoBounds,
    /// Upper bound of the retransmission time-out, backed off or not (RFC 6298 section 2, rule 2.5).
    max_rto: Time,
    /// Largest multiplier of the back-off; 0 for no bound but `max_rto` (RFC 6298 section 5, rule 5.5).
    backoff_limit: u32,
    /// After more than this many time-outs in a row the next round-trip sample counts as the first; 0 for never (RFC 6298
    /// section 5, last paragraph).
    forget_rtt_after: u32,
}

impl Tcp {
    /// Whether it paces, by its own setting or by its congestion control.
    pub(crate) fn paces(&self) -> bool {
        let by_control = |growth| matches!(growth, Growth::Bbr | Growth::Bbr3 | Growth::Prague);
        self.pacing || matches!(self.cc, CongestionControl::Own(growth) if by_control(growth))
    }
}
