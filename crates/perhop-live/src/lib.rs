//! perhop on real packets: kernel TCP in network namespaces, and between them the scenario's elements, driven by the simulator's
//! engine in real time.
//!
//! Start at [`run()`]. Hosts are TUN devices ([`kernel_host`]); what a kernel can be told of a scenario's TCP is in [`mod@honour`]; how far a
//! run may be from its scenario in [`budget`].

pub use perhop_wire::addresses;
pub mod budget;
pub mod endpoints;
pub mod frame;
pub mod honour;
pub mod intake;
pub mod iperf3;
pub mod kernel;
pub mod kernel_host;
pub mod output;
pub mod parity;
pub mod probes;
pub mod run;
pub mod share;
pub mod sources;
pub mod testbed;

pub use run::{LiveRun, run};
