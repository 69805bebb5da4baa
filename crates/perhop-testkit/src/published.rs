//! Parameters of today's queues as their documents have them, for tests and benches to vary; none has a limit.

use perhop_core::queue::{
    CobaltParams, CodelConventions, CodelParams, DelayFrom, FqConventions, FqParams, LinuxPieParams,
    PieParams,
};
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};

const UNLIMITED: QueueSize = QueueSize::Packets(u64::MAX);

/// RFC 8289, without ECN.
pub const CODEL: CodelParams = CodelParams {
    limit: UNLIMITED,
    target: Span::from_millis(5),
    interval: Span::from_millis(100),
    ecn: false,
    ce_threshold: None,
    conventions: CodelConventions::RFC8289,
    ack_filter: None,
};

/// CAKE's COBALT for a link without a rate, without ECN.
pub const COBALT: CobaltParams = CobaltParams {
    limit: UNLIMITED,
    target: CODEL.target,
    interval: CODEL.interval,
    packet_time: Span::ZERO,
    ecn: false,
    p_inc: 1.0 / 256.0,
    p_dec: 1.0 / 4096.0,
    ack_filter: None,
};

/// RFC 8290, with so many queues that the few flows of a test have one each.
pub const FQ: FqParams = FqParams {
    limit: UNLIMITED,
    queues: 1 << 16,
    quantum: Bytes(1514),
    drop_batch: 64,
    conventions: FqConventions::RFC8290,
};

/// RFC 8033, without its options and ECN.
pub const PIE: PieParams = PieParams {
    limit: UNLIMITED,
    target: Span::from_millis(15),
    t_update: Span::from_millis(15),
    max_burst: Span::from_millis(150),
    alpha: 0.125,
    beta: 1.25,
    delay_from: DelayFrom::Timestamps,
    active_from: None,
    derandomize: false,
    cap_adjustment: false,
    byte_mode: false,
    ecn: false,
    mark_ecnth: 0.1,
    mean_packet: Bytes(1000),
};

/// `sch_pie.c` of Linux, which measures its delay by timestamps if it is asked to.
pub const LINUX_PIE: LinuxPieParams = LinuxPieParams {
    limit: UNLIMITED,
    target: PIE.target,
    t_update: PIE.t_update,
    max_burst: PIE.max_burst,
    alpha: PIE.alpha,
    beta: PIE.beta,
    delay_from: DelayFrom::Timestamps,
    byte_mode: false,
    ecn: false,
    mtu: Bytes(1514),
};
