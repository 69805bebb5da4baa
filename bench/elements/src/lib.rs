//! What the benches share: a packet that is one pointer, as the engine's.

use perhop_core::packet::{Meta, Packet};

/// A packet behind a pointer.
#[derive(Debug)]
pub struct Pkt(pub Box<Meta>);

impl Packet for Pkt {
    fn meta(&self) -> &Meta {
        &self.0
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0
    }
}
