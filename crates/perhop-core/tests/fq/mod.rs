//! Flow queueing: by the clauses of RFC 8290, against its text as a slow program, against Linux.

mod clauses;
mod linux;
mod linux_pie;
mod model;

use perhop_core::queue::{Codel, CodelConventions, CodelParams, FlowQueue, Fq, FqConventions, FqParams};
use perhop_core::rng::Stream;
use perhop_core::sink::SiteId;
use perhop_core::time::Span;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::packet::TestPacket;

/// With so many queues the few flows of a test have one each.
const PARAMS: FqParams = FqParams {
    limit: QueueSize::Packets(10_240),
    queues: 1 << 16,
    quantum: Bytes(1514),
    drop_batch: 64,
    conventions: FqConventions::RFC8290,
};

const CODEL: CodelParams = CodelParams {
    limit: QueueSize::Packets(u64::MAX),
    target: Span::from_millis(5),
    interval: Span::from_millis(100),
    ecn: true,
    ce_threshold: None,
    conventions: CodelConventions::RFC8289,
    ack_filter: None,
};

fn stream(seed: u64) -> Stream {
    Stream::new(seed, 0, "port.a-b.class.all.queue")
}

fn fq_of<Q: FlowQueue<TestPacket> + 'static>(
    params: FqParams,
    make: impl Fn() -> Q + Send + 'static,
) -> Fq<TestPacket, Q> {
    Fq::new(SiteId(3), params, stream(1), move |_| Ok(make())).expect("sound parameters")
}

fn fq_codel(params: FqParams, inside: CodelParams) -> Fq<TestPacket, Codel<TestPacket>> {
    fq_of(params, move || Codel::new(SiteId(3), inside).expect("sound parameters"))
}
