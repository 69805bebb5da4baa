//! The addresses of hosts and the ports of flows, in live runs and in captures of simulated links: a packet's flow can be read
//! from it.
//!
//! Every host has an IPv4 address of 10.64.0.0/10, by its number. Whoever sends a flow's data does so from a port of its own, by
//! the flow's number, to one port that is the same everywhere; or, where a program of the flow's own receives them, to a port by the
//! flow's number too. What else goes to or from such a port is how the flow's programs agree.

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

/// The port at which flow 0's own program receives.
const FIRST_PROGRAM: u16 = 6_000;
/// As many flows with programs as there are ports from there on.
pub const MOST_PROGRAMS: usize = (FIRST - FIRST_PROGRAM) as usize;

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

/// The port at which a program of flow `flow`'s own receives; those beyond [`MOST_PROGRAMS`] share the last.
#[must_use]
pub fn of_program(flow: usize) -> u16 {
    let most = u16::try_from(flow).unwrap_or(u16::MAX).min(FIRST - FIRST_PROGRAM - 1);
    FIRST_PROGRAM + most
}

/// The port from which the flow sends whose program receives at `port`.
fn own_of(port: u16) -> Option<u16> {
    (FIRST_PROGRAM..FIRST).contains(&port).then(|| port + (FIRST - FIRST_PROGRAM))
}

/// Whether a packet is of the connections by which the programs of a flow agree.
#[must_use]
pub fn is_agreement(view: &View) -> bool {
    view.protocol == Protocol::TCP.0
        && (own_of(view.source_port).is_some() || own_of(view.destination_port).is_some())
        && flow_of(view).is_none()
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
    } else if own_of(view.destination_port) == Some(view.source_port) {
        (view.source_port, Dir::Forward)
    } else if own_of(view.source_port) == Some(view.destination_port) {
        (view.destination_port, Dir::Reverse)
    } else {
        return None;
    };
    Some((FlowId(own.checked_sub(FIRST)?.into()), dir))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tcp(source_port: u16, destination_port: u16) -> View {
        let packet = [&[0x45, 0, 0, 40][..], &[0; 5], &[6], &[0; 10], &source_port.to_be_bytes()]
            .concat()
            .into_iter()
            .chain(destination_port.to_be_bytes())
            .chain([0; 8])
            .chain([0x50])
            .chain([0; 7])
            .collect::<Vec<u8>>();
        crate::parse(&packet).expect("IPv4 and TCP")
    }

    #[test]
    fn the_ports_tell_flow_and_direction() {
        for flow in [0, 1, 3999] {
            let id = FlowId(u32::try_from(flow).expect("small"));
            for server in [RECEIVING, of_program(flow)] {
                assert_eq!(flow_of(&tcp(of_flow(flow), server)), Some((id, Dir::Forward)));
                assert_eq!(flow_of(&tcp(server, of_flow(flow))), Some((id, Dir::Reverse)));
                assert!(!is_agreement(&tcp(of_flow(flow), server)));
            }
        }
        assert_eq!(flow_of(&tcp(of_flow(4000), of_program(3999))), None);
    }

    #[test]
    fn what_else_goes_to_a_program_is_of_no_flow() {
        for ports in [(40_000, of_program(7)), (of_program(7), 40_000), (of_flow(6), of_program(7))] {
            assert_eq!(flow_of(&tcp(ports.0, ports.1)), None);
            assert!(is_agreement(&tcp(ports.0, ports.1)));
        }
        assert!(!is_agreement(&tcp(40_000, 46_000)));
    }
}
