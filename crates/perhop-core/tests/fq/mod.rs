//! Flow queueing: by the clauses of RFC 8290, against its text as a slow program, against Linux.

mod clauses;
mod linux;
mod linux_pie;
mod model;

use perhop_core::queue::{Codel, CodelParams, FlowQueue, Fq, FqParams};
use perhop_core::rng::Stream;
use perhop_core::sink::SiteId;
use perhop_core::units::QueueSize;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::published;

/// With so many queues the few flows of a test have one each.
const PARAMS: FqParams = FqParams { limit: QueueSize::Packets(10_240), ..published::FQ };

const CODEL: CodelParams = CodelParams { ecn: true, ..published::CODEL };

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
