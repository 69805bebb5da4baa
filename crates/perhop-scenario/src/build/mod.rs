//! From the model to elements, for packets of any kind.

mod registry;

pub use registry::{MeterSeat, QueueSeat, Registry};
