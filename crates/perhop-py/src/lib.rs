//! `perhop._core`: converts types and releases the interpreter. No algorithm lives here.

mod campaign;
mod describe;
mod element;
mod error;
mod scenario;
mod simulation;
mod tables;

use pyo3::prelude::*;

/// Asks the system for huge pages; perhop-bench counts on top of the same one.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

#[pymodule]
mod _core {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::campaign::{File, campaign_schema, diagnostic, suggest};
    #[pymodule_export]
    use crate::element::acks::Segment;
    #[pymodule_export]
    use crate::element::control::{Ack, CongestionLoad};
    #[pymodule_export]
    use crate::element::failure::ElementError;
    #[pymodule_export]
    use crate::element::laws::element_laws;
    #[pymodule_export]
    use crate::element::packet::Packet;
    #[pymodule_export]
    use crate::element::place::{ControlPlace, Place, Rng, RngPlace, SchedulerPlace};
    #[pymodule_export]
    use crate::error::ScenarioError;
    #[pymodule_export]
    use crate::scenario::{Scenario, schema, try_elements};
    #[pymodule_export]
    use crate::simulation::Simulation;
    #[pymodule_export]
    use crate::tables::{nearest_rank, tables};

    #[pymodule_init]
    fn init(m: &Bound<'_, PyModule>) -> PyResult<()> {
        m.add("__version__", env!("CARGO_PKG_VERSION"))?;
        m.add("RESULTS_VERSION", perhop_sim::RESULTS_VERSION)?;
        m.add("FORMAT", perhop_sim::tables::FORMAT)
    }
}
