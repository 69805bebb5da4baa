//! Laws of nodes.

use perhop_core::conditioner::{Conditioner, ConditionerParts};
use perhop_core::marker::{Action, Marker};
use perhop_core::outgoing::{LinkOptions, Outgoing};
use perhop_core::packet::{Dir, FlowId, PortId};
use perhop_core::port::{Class, Port};
use perhop_core::queue::Fifo;
use perhop_core::range_table::RangeTable;
use perhop_core::router::{IngressConditioner, Router, route_key};
use perhop_core::shaper::{Shaper, ShaperParams};
use perhop_core::sink::SiteId;
use perhop_core::units::{Bytes, QueueSize};
use perhop_testkit::aqm::RATE;
use perhop_testkit::node_laws;
use perhop_testkit::packet::TestPacket;
use perhop_testkit::queue::AtItsTurn;

const FIVE: QueueSize = QueueSize::Packets(5);

/// Two ports, one with a queue that has deadlines; what comes in by the other is shaped. Flow 3 has no route.
fn router() -> Router<TestPacket> {
    let plain = Port::single(Class::new(SiteId(1), Fifo::new(SiteId(1), FIVE)));
    let timed = Port::single(Class::new(SiteId(2), Box::new(AtItsTurn::new(SiteId(2), FIVE))));
    let params = ShaperParams { rate: RATE, burst: Bytes(1500), limit: FIVE };
    let parts = ConditionerParts {
        marker: Marker { green: Action::Shape, ..Marker::default() },
        shaper: Some(Shaper::new(SiteId(3), params).expect("a burst")),
        ..ConditionerParts::default()
    };
    let one = IngressConditioner::new(Conditioner::new(SiteId(3), parts).expect("a shaper"), vec![PortId(0)]);
    let routes = [(0, 0), (1, 1), (2, 1)].map(|(flow, port)| (route_key(FlowId(flow), Dir::Forward), port));
    let outgoing = [plain, timed].map(|port| Outgoing::new(port, LinkOptions::default()));
    Router::new(SiteId(0), outgoing.into(), RangeTable::new(&routes), Vec::new(), vec![one])
}

node_laws!(a_router, || Box::new(router()), ports = 2);
