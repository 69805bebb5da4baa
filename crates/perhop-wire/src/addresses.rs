//! The addresses of hosts and the ports of flows, in live runs and in captures of simulated links: a packet's flow can be read
//! from it.
//!
//! Every host has an IPv4 address of 10.64.0.0/10, by its number. Whoever sends a flow's data does so from a port of its own, by
//! the flow's number, to one port that is the same everywhere.

use std::net::Ipv4Addr;

use crate::View;
use perhop_core::classify::Protocol;
use perhop_core::packet::{Dir, FlowId};

/// The port at which data arrive.
pub const RECEIVING: u16 = 5001;
/// The port from which flow 0 sends.
const FIRST: u16 = 10_000;
/// As many flows as there are ports from there on.
pub const MOST_FLOWS: usize = (u16::MAX - FIRST) as usize + 1;

/// The address of the node with this number.
#[must_use]
pub const fn of_node(node: usize) -> Ipv4Addr {
    #[expect(
        clippy::cast_possible_truncation,
        reason = "a scenario with 2^22 hosts would be refused for its namespaces"
    )]
    let low = (node as u32 + 1) & 0x3f_ffff;
    Ipv4Addr::from_bits(0x0a40_0000 | low)
}

/// The port from which flow `flow` sends; those beyond [`MOST_FLOWS`] share the last.
#[must_use]
pub fn of_flow(flow: usize) -> u16 {
    FIRST.saturating_add(u16::try_from(flow).unwrap_or(u16::MAX))
}

/// The flow and direction of a packet; `None` if it is of no flow.
#[must_use]
pub fn flow_of(view: &View) -> Option<(FlowId, Dir)> {
    if ![Protocol::TCP.0, Protocol::UDP.0].contains(&view.protocol) {
        return None;
    }
    let (own, dir) = if view.destination_port == RECEIVING {
        (view.source_port, Dir::Forward)
    } else if view.source_port == RECEIVING {
        (view.destination_port, Dir::Reverse)
    } else {
        return None;
    };
    Some((FlowId(own.checked_sub(FIRST)?.into()), dir))
}
