//! perhop in virtual time: a scenario becomes nodes and links on an event list.
//!
//! Start at [`Simulation`]. The engine moves packets between nodes; what happens inside a node is the elements'
//! matter (`perhop-core`, `perhop-tcp`). Packets and hosts are behind two traits ([`Carried`], [`HostNode`]), so that
//! `perhop-live` moves real packets through the same engine.

mod applications;
mod build;
mod engine;
mod hosts;
mod results;
mod simulation;
mod version;

pub use applications::application::{Application, Load};
pub use applications::call::CallReceiver;
pub use build::{Built, applications_of, assemble, call_receiver_of, starts};
pub use engine::capture::Captures;
pub use engine::carried::{Carried, FlowOnWire};
pub use engine::delays::{ClassDelays, DelayCounts, DelayRange};
pub use engine::marks::MarkCounts;
pub use engine::observe::{
    PacketEvent, PacketRecord, PacketStore, QueueRecord, Recorder, TcpEvent, TcpRecord, Trace, TraceKinds,
    WindowRecord,
};
pub use engine::seam::{HostNode, ReceiverReading, SenderReading};
pub use hosts::datagrams::Departures;
pub use hosts::ends::HostMarking;
pub use hosts::packet::SimPacket;
pub use perhop_scenario::build::{MeterPlace, QueuePlace};
pub use results::by_class::ClassResult;
pub use results::sample::{Quantity, Series, Subject};
pub use results::tables;
pub use results::{
    ApplicationResult, ConditionerResult, Counts, FlowResult, LinkResult, MarkResult, QueueCounts,
    QueueResult, Results, UdpResult,
};
pub use simulation::Simulation;
pub use version::{RESULTS_VERSION, results_since};

/// The queues and meters that a program brings to a simulation.
pub type Registry = perhop_scenario::build::Registry<SimPacket>;
