//! A packet as a class in Python sees it: its facts, and a handle by which the class gives it back.

use std::sync::atomic::{AtomicU8, Ordering::Relaxed};

use perhop_core::packet::{Dir, Ecn, Kind, Meta};
use perhop_core::time::Instant;
use pyo3::prelude::*;

/// It has just come, and the element is yet to answer.
pub const ARRIVING: u8 = 0;
/// It waits in the element.
pub const WAITING: u8 = 1;
/// The element has it no more.
pub const GONE: u8 = 2;

/// A packet. What it says is true until the element gives it back.
#[pyclass(frozen)]
pub struct Packet {
    meta: Meta,
    /// The element that it is with; no two have the same.
    pub owner: u64,
    /// The place in the order of arrivals at that element.
    pub serial: u64,
    state: AtomicU8,
    marked: AtomicU8,
}

impl Packet {
    /// A packet that has just come to `owner` as its number `serial`.
    pub fn new(meta: Meta, owner: u64, serial: u64) -> Self {
        Self { meta, owner, serial, state: AtomicU8::new(ARRIVING), marked: AtomicU8::new(0) }
    }

    /// Where it is.
    pub fn state(&self) -> u8 {
        self.state.load(Relaxed)
    }

    /// It is somewhere else now.
    pub fn set_state(&self, state: u8) {
        self.state.store(state, Relaxed);
    }

    /// Its length, bytes.
    pub const fn len(&self) -> u64 {
        self.meta.len.0
    }

    /// Its ECN field.
    fn ecn_now(&self) -> Ecn {
        if self.marked.load(Relaxed) == 0 { self.meta.ecn } else { Ecn::Ce }
    }

    /// Marks it if it can be; returns whether it is marked now, and whether that is new.
    pub fn mark(&self) -> (bool, bool) {
        match self.ecn_now() {
            Ecn::NotEct => (false, false),
            Ecn::Ce => (true, false),
            Ecn::Ect0 | Ecn::Ect1 => {
                self.marked.store(1, Relaxed);
                (true, true)
            }
        }
    }
}

#[pymethods]
impl Packet {
    /// Bytes on the link it is queued for.
    #[getter]
    fn length(&self) -> u64 {
        self.meta.len.0
    }

    /// Number of its flow: TCP flows in the order of the scenario, then UDP flows.
    #[getter]
    fn flow(&self) -> u32 {
        self.meta.flow.0
    }

    /// Number of the class that its flow was contracted as.
    #[getter]
    fn traffic_class(&self) -> u8 {
        self.meta.class.0
    }

    /// DS field, 0 to 63.
    #[getter]
    fn dscp(&self) -> u8 {
        self.meta.dscp.value()
    }

    /// The colour that the last meter gave it: `green`, `yellow` or `red`.
    #[getter]
    fn color(&self) -> &'static str {
        self.meta.color.name()
    }

    /// ECN field: `not-ect`, `ect0`, `ect1` or `ce`.
    #[getter]
    fn ecn(&self) -> &'static str {
        match self.ecn_now() {
            Ecn::NotEct => "not-ect",
            Ecn::Ect0 => "ect0",
            Ecn::Ect1 => "ect1",
            Ecn::Ce => "ce",
        }
    }

    /// Whether it is an acknowledgment without data.
    #[getter]
    fn is_ack(&self) -> bool {
        self.meta.kind == Kind::PureAck
    }

    /// Whether it goes from the receiver of the data to its sender.
    #[getter]
    fn is_reverse(&self) -> bool {
        self.meta.dir == Dir::Reverse
    }

    /// When it came to the queue, ns.
    #[getter]
    fn arrived(&self) -> u64 {
        self.meta.enqueued_at.as_nanos()
    }

    /// One past the last byte of data, modulo 2^32; None where it is not TCP.
    #[getter]
    fn seq_end(&self) -> Option<u32> {
        self.meta.tcp.map(|tcp| tcp.seq_end)
    }

    /// Cumulative acknowledgment, modulo 2^32; None where it is not TCP.
    #[getter]
    fn ack(&self) -> Option<u32> {
        self.meta.tcp.map(|tcp| tcp.ack)
    }

    fn __repr__(&self) -> String {
        let Meta { len, flow, enqueued_at, .. } = &self.meta;
        format!("<Packet of flow {}, {} bytes, came at {}>", flow.0, len.0, *enqueued_at - Instant::ZERO)
    }
}
