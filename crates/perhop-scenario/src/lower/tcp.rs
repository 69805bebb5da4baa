//! The model of a TCP: what its settings say in the units of the engine.

use perhop_core::rng::Stream;
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_tcp::ack::{AdaptiveParams, BufferParams};
use perhop_tcp::settings::{Growth, RtoParams, TcpParams};

use crate::meant::model;
use crate::words::choices::{self, Ecn, EcnCodePoint};
use crate::words::congestion::{CongestionControl, KernelControl};
use crate::words::units::{Limit, Phase, Size};
use crate::written::defaults;
use crate::written::file::{self, Tcp};

/// Largest value of the window field (RFC 9293 section 3.1).
pub(crate) const LARGEST_FIELD: u64 = 65_535;
/// Largest shift of it (RFC 7323 section 2.3).
//= rfc7323-2.3-limit
pub(crate) const LARGEST_SCALE: u8 = 14;
/// Most data of a flow, in bytes: 1 PB, as for every size.
pub(crate) const MOST_DATA: u64 = 1_000_000_000_000_000;

/// The scale of the window field: the one given, or the smallest that the window fits.
pub(crate) fn window_scale(tcp: &Tcp) -> u8 {
    tcp.window_scale.or_else(|| smallest_scale(tcp.window)).unwrap_or(LARGEST_SCALE)
}

/// The smallest scale that `window` fits, if there is one.
pub(crate) fn smallest_scale(window: Size) -> Option<u8> {
    (0..=LARGEST_SCALE).find(|scale| window.0.0 <= LARGEST_FIELD << scale)
}

/// The window that the sender can use: the receiver offers what the window field can say, and segments are whole.
//= rfc7323-2.3-shift
pub(crate) fn usable_window(tcp: &Tcp) -> Bytes {
    let scale = window_scale(tcp);
    let offered = tcp.window.0.0 >> scale << scale;
    let mss = tcp.mss.0.0.max(1);
    Bytes(offered / mss * mss)
}

/// Bytes of a finite transfer, `None` for more than can be counted.
pub(crate) fn data(size: Limit, mss: Size) -> Option<Bytes> {
    let bytes = match size.0 {
        QueueSize::Packets(n) => n.checked_mul(mss.0.0)?,
        QueueSize::Bytes(n) => n,
    };
    (bytes <= MOST_DATA).then_some(Bytes(bytes))
}

/// The kernel's congestion control that `flow` names, unless one in Python takes its place.
pub(crate) fn kernel_control(flow: &file::Flow) -> Option<&KernelControl> {
    match &flow.tcp.cc {
        CongestionControl::Kernel(named) if flow.control.is_none() => Some(named),
        _ => None,
    }
}

/// The connection's parameters; the scale of the window field is put into `tcp` where it is not written.
pub(crate) fn model_tcp(tcp: &mut Tcp) -> model::Tcp {
    tcp.window_scale = Some(window_scale(tcp));
    let params = TcpParams {
        cc: match tcp.cc {
            CongestionControl::Own(growth) => growth.into(),
            // of no account: nothing but a kernel runs such a flow
            CongestionControl::Kernel(_) => Growth::Reno,
        },
        recovery: tcp.recovery.into(),
        mss: tcp.mss.0,
        window: usable_window(tcp),
        window_scale: window_scale(tcp),
        size: tcp.size.and_then(|size| data(size, tcp.mss)),
        handshake: tcp.handshake,
        close: tcp.close,
        initial_window: tcp.initial_window,
        initial_ssthresh: tcp.initial_ssthresh.into(),
        slow_start: tcp.slow_start.into(),
        cubic_form: tcp.cubic_form.into(),
        growth_by: tcp.growth_by.into(),
        counting: tcp.counting.into(),
        grow_beyond_window: tcp.grow_beyond_window,
        loss_window: tcp.loss_window.into(),
        halving: tcp.halving.into(),
        guard: tcp.guard.into(),
        recovery_exit: tcp.recovery_exit.into(),
        partial_ack_timer: tcp.partial_ack_timer.into(),
        recovery_burst: tcp.recovery_burst,
        fast_retransmit_restarts_timer: tcp.fast_retransmit_restarts_timer,
        limited_transmit: tcp.limited_transmit,
        sack_forgets: tcp.sack_forgets,
        limited_transmit_resends: tcp.limited_transmit_resends,
        prr: tcp.prr,
        prr_form: tcp.prr_form.into(),
        rack: tcp.rack,
        frto: tcp.frto,
        timestamps: tcp.timestamps,
        sack_samples: tcp.sack_samples,
        sack_blocks: tcp.sack_blocks,
        sack_overhead: tcp.sack_overhead.0,
        ecn: tcp.ecn.is_on(),
        //= draft-prague-02-2.2-ect0
        ect1: tcp.ecn == Ecn::CodePoint(EcnCodePoint::Ect1),
        abe: tcp.abe,
        pacing: tcp.pacing,
        // a flow says whether it has bursts, and who decides on its ACKs
        burst_push: false,
        // each flow draws its own
        seed: 0,
        idle_restart: tcp.idle_restart.into(),
        repeat_timeout_cuts: tcp.repeat_timeout_cuts,
        recovery_timeout_cuts: tcp.recovery_timeout_cuts,
        timeout_window: tcp.timeout_window.into(),
        timeout_recovery: tcp.timeout_recovery,
        timer_restart: tcp.timer_restart.into(),
        early_timer_margin: tcp.early_timer_margin.0,
        rto: model_rto(tcp),
    };
    model::Tcp { params, header: tcp.header.0 }
}

fn model_rto(tcp: &Tcp) -> RtoParams {
    RtoParams {
        initial: tcp.initial_rto.0,
        min: tcp.min_rto.0,
        min_bounds: tcp.min_rto_bounds.into(),
        max: tcp.max_rto.0,
        tick: tcp.clock_tick.0,
        phase: match tcp.clock_phase {
            Phase::Fixed(time) => time.0,
            // each flow draws its own
            Phase::Random => Span::ZERO,
        },
        arithmetic: tcp.rtt_arithmetic.into(),
        on_tick: tcp.timer_on_tick,
        jiffy: tcp.timer_jiffy.0,
        backoff_limit: tcp.backoff_limit,
        forget_after: tcp.forget_rtt_after,
    }
}

/// The phase of the clock of the flow `name`, where it is drawn.
pub(crate) fn drawn_phase(tcp: &Tcp, name: &str, run: &model::Run) -> Option<Span> {
    (tcp.clock_phase == Phase::Random).then(|| {
        let mut stream = Stream::new(run.seed, run.replication, &format!("flow.{name}.clock"));
        Span::from_nanos(stream.below(tcp.clock_tick.0.as_nanos()))
    })
}

/// The seed of the random numbers of the congestion control of the flow `name`, where it draws any.
pub(crate) fn drawn_seed(tcp: &Tcp, name: &str, run: &model::Run) -> Option<u64> {
    matches!(tcp.cc, CongestionControl::Own(choices::Growth::Bbr | choices::Growth::Bbr3)).then(|| {
        let mut stream = Stream::new(run.seed, run.replication, &format!("flow.{name}.cc"));
        stream.below(u64::MAX)
    })
}

/// When a receiver acknowledges: as its flow says, else as its profile does.
pub(crate) fn ack_policy(ack: &file::Ack, tcp: &Tcp) -> file::AckPolicy {
    let by_profile = if tcp.ack_delay.0.as_nanos() == 0 {
        file::AckPolicy::EverySegment
    } else {
        file::AckPolicy::Delayed
    };
    ack.policy.unwrap_or(by_profile)
}

/// When the receiver acknowledges; what is not written is put into `ack`.
pub(crate) fn model_ack(ack: &mut file::Ack, tcp: &Tcp) -> model::AckPolicy {
    match *ack.policy.insert(ack_policy(ack, tcp)) {
        file::AckPolicy::EverySegment => model::AckPolicy::EverySegment,
        file::AckPolicy::Delayed => {
            let by_profile =
                if tcp.ack_delay.0.as_nanos() == 0 { defaults::delayed_timeout() } else { tcp.ack_delay };
            let timeout = *ack.timeout.get_or_insert(by_profile);
            let first = tcp.receive_buffer.0;
            model::AckPolicy::Delayed(AdaptiveParams {
                timeout: timeout.0,
                quick: tcp.quick_acks,
                compression: tcp.sack_compression.0,
                jiffy: tcp.timer_jiffy.0,
                adapts: tcp.ack_delay_adapts,
                buffer: (first.0 > 0).then_some(BufferParams { mss: tcp.mss.0, first, most: tcp.window.0 }),
            })
        }
    }
}
