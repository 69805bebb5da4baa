//! The laws of every congestion control and ACK policy: one line for each way to configure an element.

use perhop_core::time::Span;
use perhop_core::units::Bytes;
use perhop_tcp::ack::{Adaptive, AdaptiveParams, BufferParams, Delayed, EverySegment, MAX_DELAY};
use perhop_tcp::cc::{Bbr, Bbr3, Cubic, CubicLinux, Dctcp, Prague, Reno};
use perhop_tcp::settings::{
    Counting, CubicForm, Growth, Halving, InitialSsthresh, LossWindow, SlowStartKind, TcpParams,
};
use perhop_testkit::laws::congestion_control::PARAMS;
use perhop_testkit::{ack_policy_laws, congestion_control_laws};

const HYSTART_PLUS_PLUS: TcpParams = TcpParams { slow_start: SlowStartKind::HystartPlusPlus, ..PARAMS };
const HYSTART: TcpParams = TcpParams { slow_start: SlowStartKind::Hystart, ..PARAMS };

/// As BSD had it, and ns-2 but for the rounding.
const OLD: TcpParams = TcpParams {
    initial_window: 1,
    initial_ssthresh: InitialSsthresh::Window,
    grow_beyond_window: true,
    loss_window: LossWindow::Window,
    halving: Halving::Integer,
    ..PARAMS
};

fn reno(params: TcpParams) -> Box<Reno> {
    Box::new(Reno::new(&params))
}

fn cubic(params: TcpParams) -> Box<Cubic> {
    Box::new(Cubic::new(&params))
}

congestion_control_laws!(reno_by_rfc, |mss| reno(TcpParams { mss, ..PARAMS }), mss = Bytes(1460));
congestion_control_laws!(
    reno_of_single_bytes,
    |mss| reno(TcpParams { mss, initial_window: 1, ..PARAMS }),
    mss = Bytes(1)
);
congestion_control_laws!(
    reno_of_jumbo_frames,
    |mss| reno(TcpParams { mss, initial_window: 10, ..PARAMS }),
    mss = Bytes(65_000)
);
congestion_control_laws!(
    reno_that_counts_bytes,
    |mss| reno(TcpParams { mss, counting: Counting::Bytes, ..PARAMS }),
    mss = Bytes(1460)
);
congestion_control_laws!(reno_of_bsd, |mss| reno(TcpParams { mss, ..OLD }), mss = Bytes(512));
congestion_control_laws!(
    reno_of_ns2,
    |mss| reno(TcpParams { mss, halving: Halving::Fractional, ..OLD }),
    mss = Bytes(1000)
);
congestion_control_laws!(
    reno_with_hystart_plus_plus,
    |mss| reno(TcpParams { mss, initial_window: 1, ..HYSTART_PLUS_PLUS }),
    mss = Bytes(1460)
);
congestion_control_laws!(
    reno_with_hystart,
    |mss| reno(TcpParams { mss, initial_window: 16, ..HYSTART }),
    mss = Bytes(1460)
);

fn dctcp(params: TcpParams) -> Box<Dctcp> {
    Box::new(Dctcp::new(&TcpParams { cc: Growth::Dctcp, ..params }))
}

congestion_control_laws!(dctcp_by_rfc, |mss| dctcp(TcpParams { mss, ..PARAMS }), mss = Bytes(1460));
congestion_control_laws!(
    dctcp_of_single_bytes,
    |mss| dctcp(TcpParams { mss, initial_window: 1, ..PARAMS }),
    mss = Bytes(1)
);
congestion_control_laws!(
    dctcp_that_counts_bytes,
    |mss| dctcp(TcpParams { mss, counting: Counting::Bytes, ..HYSTART_PLUS_PLUS }),
    mss = Bytes(65_000)
);

fn prague(params: TcpParams) -> Box<Prague> {
    Box::new(Prague::new(&TcpParams { cc: Growth::Prague, ..params }))
}

congestion_control_laws!(prague_by_its_draft, |mss| prague(TcpParams { mss, ..PARAMS }), mss = Bytes(1460));
congestion_control_laws!(
    prague_of_single_bytes,
    |mss| prague(TcpParams { mss, initial_window: 1, ..PARAMS }),
    mss = Bytes(1)
);

fn bbr(params: TcpParams) -> Box<Bbr> {
    Box::new(Bbr::new(&TcpParams { cc: Growth::Bbr, ..params }))
}

congestion_control_laws!(bbr, |mss| bbr(TcpParams { mss, initial_window: 10, ..PARAMS }), mss = Bytes(1460));
congestion_control_laws!(
    bbr_of_single_bytes,
    |mss| bbr(TcpParams { mss, initial_window: 1, seed: 7, ..PARAMS }),
    mss = Bytes(1)
);
congestion_control_laws!(bbr_of_jumbo_frames, |mss| bbr(TcpParams { mss, ..PARAMS }), mss = Bytes(65_000));

fn bbr3(params: TcpParams) -> Box<Bbr3> {
    Box::new(Bbr3::new(&TcpParams { cc: Growth::Bbr3, ..params }))
}

congestion_control_laws!(
    bbr3,
    |mss| bbr3(TcpParams { mss, initial_window: 10, ..PARAMS }),
    mss = Bytes(1460)
);
congestion_control_laws!(
    bbr3_of_single_bytes,
    |mss| bbr3(TcpParams { mss, initial_window: 1, seed: 7, ..PARAMS }),
    mss = Bytes(1)
);
congestion_control_laws!(bbr3_of_jumbo_frames, |mss| bbr3(TcpParams { mss, ..PARAMS }), mss = Bytes(65_000));

congestion_control_laws!(cubic_by_rfc, |mss| cubic(TcpParams { mss, ..PARAMS }), mss = Bytes(1460));
congestion_control_laws!(
    cubic_of_single_bytes,
    |mss| cubic(TcpParams { mss, initial_window: 1, ..PARAMS }),
    mss = Bytes(1)
);
congestion_control_laws!(
    cubic_of_jumbo_frames,
    |mss| cubic(TcpParams { mss, initial_window: 10, ..PARAMS }),
    mss = Bytes(65_000)
);
congestion_control_laws!(cubic_from_the_window, |mss| cubic(TcpParams { mss, ..OLD }), mss = Bytes(512));
congestion_control_laws!(
    cubic_with_hystart_plus_plus,
    |mss| cubic(TcpParams { mss, initial_window: 1, ..HYSTART_PLUS_PLUS }),
    mss = Bytes(1460)
);
congestion_control_laws!(
    cubic_with_hystart,
    |mss| cubic(TcpParams { mss, initial_window: 16, ..HYSTART }),
    mss = Bytes(1460)
);

congestion_control_laws!(
    reno_that_adds_all,
    |mss| reno(TcpParams {
        mss,
        slow_start: SlowStartKind::CubicHystart,
        loss_window: LossWindow::Cwnd,
        ..PARAMS
    }),
    mss = Bytes(1460)
);

/// As in Linux.
fn cubic_linux(params: TcpParams) -> Box<CubicLinux> {
    Box::new(CubicLinux::new(&TcpParams { cc: Growth::Cubic, cubic_form: CubicForm::Linux, ..params }))
}

congestion_control_laws!(
    cubic_linux,
    |mss| cubic_linux(TcpParams {
        mss,
        initial_window: 10,
        slow_start: SlowStartKind::CubicHystart,
        ..PARAMS
    }),
    mss = Bytes(1460)
);
congestion_control_laws!(
    cubic_linux_of_single_bytes,
    |mss| cubic_linux(TcpParams { mss, initial_window: 1, ..PARAMS }),
    mss = Bytes(1)
);
congestion_control_laws!(
    cubic_linux_from_the_window,
    |mss| cubic_linux(TcpParams { mss, ..OLD }),
    mss = Bytes(512)
);
congestion_control_laws!(
    cubic_linux_with_hystart_plus_plus,
    |mss| cubic_linux(TcpParams { mss, ..HYSTART_PLUS_PLUS }),
    mss = Bytes(1460)
);

ack_policy_laws!(every_segment, || Box::new(EverySegment), within = Span::ZERO);
ack_policy_laws!(delayed, || Box::new(Delayed::new(Span::from_millis(200))), within = Span::from_millis(200));
ack_policy_laws!(delayed_as_long_as_permitted, || Box::new(Delayed::new(MAX_DELAY)), within = MAX_DELAY);

const ADAPTIVE: AdaptiveParams = AdaptiveParams {
    timeout: Span::from_millis(40),
    quick: 16,
    compression: Span::from_millis(1),
    jiffy: Span::from_millis(4),
    adapts: true,
    buffer: Some(BufferParams { mss: Bytes(1460), first: Bytes(131_072), most: Bytes(6_291_456) }),
};
ack_policy_laws!(
    adaptive,
    || Box::new(Adaptive::new(ADAPTIVE)),
    within = Span::from_millis(204),
    reports = Span::from_millis(1)
);
ack_policy_laws!(
    adaptive_without_quick_acks,
    || Box::new(Adaptive::new(AdaptiveParams {
        quick: 0,
        jiffy: Span::ZERO,
        adapts: false,
        buffer: None,
        ..ADAPTIVE
    })),
    within = Span::from_millis(40),
    reports = Span::from_millis(1)
);
