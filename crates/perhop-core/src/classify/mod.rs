//! Classifiers: which class of a port takes a packet, and which packets a conditioner treats.

mod behavior_aggregate;
mod flow_table;
mod flows;
mod kind;
mod multi_field;

pub use behavior_aggregate::BehaviorAggregate;
pub use flow_table::{Flow, FlowKey, FlowTable, Protocol};
pub use flows::Flows;
pub use kind::{KindClassifier, Selector};
pub use multi_field::{KindSet, MarkSet, MultiField, Pattern};

use std::sync::Arc;

pub use crate::packet::Address;
use crate::packet::{ClassId, FlowId, Meta};

/// Assigns a packet to a class. A function of the packet alone (RFC 2475 section 2.3.1).
pub trait Classifier: Send {
    /// The class that takes the packet, or `None` where no class does.
    fn classify(&self, meta: &Meta) -> Option<ClassId>;
    /// Takes note of a flow that came, or changed, after this was built.
    fn learn(&mut self, _id: FlowId, _flow: &Flow) {}
}

/// One that several share, as the places of a conditioner do, until one of them learns a flow.
impl<C: Classifier + Clone + Sync> Classifier for Arc<C> {
    fn classify(&self, meta: &Meta) -> Option<ClassId> {
        (**self).classify(meta)
    }

    fn learn(&mut self, id: FlowId, flow: &Flow) {
        Self::make_mut(self).learn(id, flow);
    }
}
