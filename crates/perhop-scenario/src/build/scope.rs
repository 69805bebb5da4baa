//! The packets that each meter of a conditioner measures.

use std::sync::Arc;

use perhop_core::classify::FlowTable;
use perhop_core::meter::{Meter, MeterBank};

use crate::meant::model;

/// The packets that each meter of a conditioner measures.
#[derive(Clone, Debug)]
pub enum MeterScope {
    /// There is one, for everything.
    One,
    /// One direction of one flow.
    Flows,
    /// All packets from one address to another, of the flows of this table.
    Addresses(Arc<FlowTable>),
}

impl MeterScope {
    /// Those of `conditioner`, whose flows are those of the `table`.
    pub(super) fn of(conditioner: &model::Conditioner, table: &Arc<FlowTable>) -> Self {
        match conditioner.per {
            model::Per::Aggregate => Self::One,
            model::Per::Flow => Self::Flows,
            model::Per::Addresses => Self::Addresses(Arc::clone(table)),
        }
    }

    /// `meter`, or a bank of it.
    pub(super) fn take<M: Meter + Clone + 'static>(&self, meter: M) -> Box<dyn Meter> {
        match self {
            Self::One => Box::new(meter),
            Self::Flows => Box::new(MeterBank::new(meter)),
            Self::Addresses(flows) => Box::new(MeterBank::by_addresses(meter, Arc::clone(flows))),
        }
    }
}
