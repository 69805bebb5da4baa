//! From the model to elements, for packets of any kind.
//!
//! The checks of a scenario build each element to hear what it says of its settings, the simulator builds a run, and a loop
//! that forwards real packets builds its routers, all by the functions here: a port means the same to each of them.

mod conditioner;
mod network;
mod port;
mod registry;
mod scope;
mod sites;

pub use conditioner::meter;
pub(crate) use conditioner::own_meter;
pub use network::{Network, Parts};
pub use port::queue;
pub(crate) use port::{own_queue, own_scheduler};
pub use registry::{Interpreter, MeterPlace, QueuePlace, Registry};
pub use scope::MeterScope;
pub use sites::Sites;
