//! perhop in virtual time: a scenario becomes nodes and links on an event list.
//!
//! Start at [`Simulation`]. The engine moves packets between nodes; what happens inside a node is the elements'
//! matter (`perhop-core`, `perhop-tcp`). Packets and hosts are behind two traits ([`Carried`], [`HostNode`]), so that
//! `perhop-live` moves real packets through the same engine.

mod build;
mod by_class;
mod capture;
mod datagrams;
mod deadlines;
mod delays;
mod engine;
mod event;
mod fill;
mod host;
mod link;
mod marks;
mod observe;
mod packet;
mod processing;
mod results;
mod sample;
mod seam;
mod simulation;
pub mod tables;
mod totals;

pub use build::{Built, assemble, starts};
pub use by_class::ClassResult;
pub use capture::{Captures, FlowOnWire};
pub use datagrams::Departures;
pub use delays::{ClassDelays, DelayRange};
pub use host::HostMarking;
pub use marks::MarkCounts;
pub use observe::{
    PacketEvent, PacketRecord, PacketStore, QueueRecord, Recorder, TcpEvent, TcpRecord, Trace, TraceKinds,
    WindowRecord,
};
pub use packet::SimPacket;
pub use perhop_scenario::build::{MeterSeat, QueueSeat};
pub use results::{
    ConditionerResult, Counts, FlowResult, LinkResult, MarkResult, QueueResult, Results, UdpResult,
};
pub use sample::{Quantity, Series, Subject};
pub use seam::{Carried, HostNode, SenderReading};
pub use simulation::Simulation;

/// The queues and meters that a program brings to a simulation.
pub type Registry = perhop_scenario::build::Registry<SimPacket>;

/// Raised by one with every change that makes any scenario's results differ.
pub const RESULTS_VERSION: u32 = 8;
