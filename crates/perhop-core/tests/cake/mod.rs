//! CAKE: by its clauses, against Linux.

mod clauses;
mod linux;

use perhop_core::framing::Framing;
use perhop_core::queue::{CakeParams, Isolation, Tins};
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};

const PARAMS: CakeParams = CakeParams {
    limit: QueueSize::Packets(10_240),
    rate: None,
    framing: Framing { overhead: Bytes(0), mpu: Bytes(0) },
    tins: Tins::Diffserv3,
    isolation: Isolation::TripleIsolate,
    rtt: Span::from_millis(100),
    mtu: Bytes(1514),
    ack_filter: None,
};
