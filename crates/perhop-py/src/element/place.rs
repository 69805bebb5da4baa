//! Where an element in Python is: its random numbers, its limit, what waits, and what it may do with packets.

use perhop_core::queue::Backlog;
use perhop_core::rng::Stream;
use perhop_core::sink::DropReason;
use perhop_core::units::{Bytes, QueueSize};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use super::packet::{GONE, Packet, WAITING};

/// An element's own random numbers: they depend on seed, replication and its path alone.
#[pyclass]
pub struct Rng(pub Stream);

#[pymethods]
impl Rng {
    /// A uniform draw from [0, 1).
    fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A uniform draw from the whole numbers from 0 to `bound` - 1; 0 where `bound` is 0.
    fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }
}

/// The place of a meter, or of an ACK policy.
#[pyclass(frozen)]
pub struct RngPlace {
    /// Its random numbers.
    #[pyo3(get)]
    pub rng: Py<Rng>,
}

/// The place of a scheduler.
#[pyclass(frozen)]
pub struct SchedulerPlace {
    /// Its random numbers.
    #[pyo3(get)]
    pub rng: Py<Rng>,
    /// Rate of the link behind the port, bit/s.
    #[pyo3(get)]
    pub rate_bit_s: u64,
    /// Names of the classes, by number.
    #[pyo3(get)]
    pub classes: Vec<String>,
}

/// The place of a congestion control.
#[pyclass(frozen)]
pub struct ControlPlace {
    /// Its random numbers.
    #[pyo3(get)]
    pub rng: Py<Rng>,
    /// Largest segment, bytes.
    #[pyo3(get)]
    pub mss: u64,
    /// Initial window, bytes.
    #[pyo3(get)]
    pub initial_window: u64,
    /// The receiver's window, bytes.
    #[pyo3(get)]
    pub window: u64,
}

/// An action of an element on a packet during a call, by the packet's number.
pub enum Act {
    /// Dropped it.
    Drop(u64, DropReason),
    /// Marked it.
    Mark(u64),
}

/// The reasons for which a queue drops packets.
pub const REASONS: [DropReason; 4] =
    [DropReason::Overflow, DropReason::Early, DropReason::Forced, DropReason::Sojourn];

/// The reason called `name`.
pub fn reason(name: &str) -> Option<DropReason> {
    REASONS.into_iter().find(|reason| reason.name() == name)
}

/// The reasons, for people.
pub fn reasons() -> String {
    REASONS.map(|reason| format!("\"{}\"", reason.name())).join(", ")
}

/// The place of a queue.
#[pyclass]
pub struct Place {
    /// The queue, by a number that no other has.
    pub owner: u64,
    limit: QueueSize,
    rate: u64,
    rng: Py<Rng>,
    /// Packets that wait.
    pub waiting: Backlog,
    /// The actions in this call.
    pub acts: Vec<Act>,
}

impl Place {
    /// A place where nothing waits.
    pub fn new(owner: u64, limit: QueueSize, rate: u64, rng: Py<Rng>) -> Self {
        Self { owner, limit, rate, rng, waiting: Backlog::default(), acts: Vec::new() }
    }

    /// It holds a packet of `len` bytes less.
    pub fn remove(&mut self, len: u64) {
        self.waiting.packets -= 1;
        self.waiting.bytes -= Bytes(len);
    }
}

#[pymethods]
impl Place {
    /// Most packets that may wait; None where the limit is in bytes.
    #[getter]
    fn limit_packets(&self) -> Option<u64> {
        if let QueueSize::Packets(most) = self.limit { Some(most) } else { None }
    }

    /// Most bytes that may wait; None where the limit is in packets.
    #[getter]
    fn limit_bytes(&self) -> Option<u64> {
        if let QueueSize::Bytes(most) = self.limit { Some(most) } else { None }
    }

    /// Rate of the link behind the queue, bit/s.
    #[getter]
    fn rate_bit_s(&self) -> u64 {
        self.rate
    }

    /// The element's random numbers.
    #[getter]
    fn rng(&self, py: Python<'_>) -> Py<Rng> {
        self.rng.clone_ref(py)
    }

    /// Packets that wait, without the one that is arriving.
    #[getter]
    fn packets(&self) -> u64 {
        self.waiting.packets
    }

    /// Their bytes.
    #[getter]
    fn bytes(&self) -> u64 {
        self.waiting.bytes.0
    }

    /// Whether the limit leaves room for a packet.
    fn has_room(&self, packet: &Packet) -> bool {
        self.waiting.has_room(self.limit, Bytes(packet.len()))
    }

    /// Drops a packet that waits.
    fn drop(&mut self, packet: &Packet, why: &str) -> PyResult<()> {
        if packet.owner != self.owner || packet.state() != WAITING {
            return Err(PyValueError::new_err("drop: this packet does not wait in this queue"));
        }
        let why = reason(why).ok_or_else(|| {
            PyValueError::new_err(format!("drop: the reason {why:?} is not one of {}", reasons()))
        })?;
        packet.set_state(GONE);
        self.remove(packet.len());
        self.acts.push(Act::Drop(packet.serial, why));
        Ok(())
    }

    /// Marks a packet that waits or is arriving (CE); returns whether it is marked now, which one that knows no ECN never is.
    fn mark(&mut self, packet: &Packet) -> PyResult<bool> {
        if packet.owner != self.owner || packet.state() == GONE {
            return Err(PyValueError::new_err("mark: this packet is not in this queue"));
        }
        let (marked, is_new) = packet.mark();
        if is_new {
            self.acts.push(Act::Mark(packet.serial));
        }
        Ok(marked)
    }
}
