//! A simulated packet: what elements see, and what the ends of the connection say to each other. It has no bytes.

use perhop_core::packet::{Acknowledgment, Dir, Meta, OnWire, Packet};
use perhop_core::time::Instant;
use perhop_prefetch::prefetch;
use perhop_tcp::segment::{Ack, MAX_SACK_BLOCKS, Segment};
use perhop_wire::{Headers, Tcp, Transport, build_headers};

use crate::engine::carried::{Carried, Ends, FlowOnWire};

/// The flag of an acknowledgment in a TCP header.
pub const ACK: u8 = 0x10;

/// The contents behind a [`SimPacket`].
///
/// In this order, on lines of the cache, a data packet touches two of them and an acknowledgment without SACK blocks no
/// third.
#[derive(Debug, Default)]
#[repr(C, align(64))]
pub(crate) struct Contents {
    /// The part that elements see; `meta.len` is the length on the link the packet is on.
    pub meta: Meta,
    /// Bytes where no link compresses it.
    pub full_len: u32,
    /// Bytes of it that no link compresses: TCP options.
    pub options: u32,
    /// Its segment if it goes forward.
    pub segment: Segment,
    /// Its acknowledgment if it goes back.
    pub ack: Ack,
}

/// A packet of a simulation. It is one pointer, so that handing it on moves eight bytes.
#[derive(Debug, Default)]
pub struct SimPacket(Box<Contents>);

impl SimPacket {
    /// The contents.
    pub(crate) const fn get(&self) -> &Contents {
        &self.0
    }

    /// The contents, to fill in.
    pub(crate) const fn get_mut(&mut self) -> &mut Contents {
        &mut self.0
    }
}

impl Packet for SimPacket {
    fn meta(&self) -> &Meta {
        &self.0.meta
    }

    fn meta_mut(&mut self) -> &mut Meta {
        &mut self.0.meta
    }

    /// Of what goes back; its timestamps, if it has any, are those of its echo ([`Carried::bytes`]).
    fn acknowledgment(&self) -> Option<Acknowledgment> {
        let Contents { meta, ack, .. } = &*self.0;
        if meta.tcp.is_none() || meta.dir == Dir::Forward || ack.syn {
            return None;
        }
        let echo = stamp(ack.echo);
        let mut header = Acknowledgment::new(low(ack.ack), true);
        header.timestamps = Some((echo, echo));
        ack.sack.as_slice().iter().for_each(|(start, end)| header.add_sack(low(*start), low(*end)));
        Some(header)
    }
}

impl OnWire for SimPacket {
    fn full_len(&self) -> u32 {
        self.0.full_len
    }

    fn options(&self) -> u32 {
        self.0.options
    }

    fn numbered(&self) -> Option<(u64, bool)> {
        self.segment().map(|segment| (segment.seq, segment.syn))
    }
}

impl Carried for SimPacket {
    fn sent(&self) -> Instant {
        self.0.segment.sent
    }

    fn segment(&self) -> Option<&Segment> {
        (self.0.meta.dir == Dir::Forward).then_some(&self.0.segment)
    }

    fn prefetch(&self) {
        prefetch(&*self.0);
    }

    /// Numbers on the wire begin with the SYN, 0; the receiver's are 0 and 1. The clock of timestamps is in milliseconds;
    /// an acknowledgment's own is that of its echo, for nothing says when it left. The original length is the scenario's, but no less than the headers announce: readers
    /// would find the packet cut off.
    fn bytes(&self, flow: &FlowOnWire, into: &mut Vec<u8>) -> u32 {
        let Contents { meta, full_len, segment, ack, .. } = &*self.0;
        let ends = if meta.dir == Dir::Forward { flow.ends } else { flow.ends.reversed() };
        let mut blocks = [(0, 0); MAX_SACK_BLOCKS];
        let (transport, payload) = match meta.tcp {
            None => (Transport::Udp, full_len.saturating_sub(UDP_HEADERS)),
            Some(view) if meta.dir == Dir::Forward => {
                let flags = view.flags | if segment.syn { 0 } else { ACK };
                (Transport::Tcp(forward(flow, segment, flags)), low(segment.payload().0))
            }
            Some(view) => {
                let most = if flow.timestamps { MAX_SACK_BLOCKS - 1 } else { MAX_SACK_BLOCKS };
                let reported = ack.sack.as_slice();
                let reported = &reported[..reported.len().min(most)];
                for (to, (left, right)) in blocks.iter_mut().zip(reported) {
                    *to = (low(*left).wrapping_add(1), low(*right).wrapping_add(1));
                }
                (Transport::Tcp(back(flow, ack, view.flags, &blocks[..reported.len()])), 0)
            }
        };
        let Ends { source, destination, source_port, destination_port } = ends;
        let (dscp, ecn) = (meta.dscp, meta.ecn);
        into.clear();
        let headers =
            Headers { source, destination, source_port, destination_port, dscp, ecn, payload, transport };
        // a segment of more than 65,535 bytes, which no header can say, leaves an empty packet
        let _ = build_headers(&headers, into);
        (*full_len).max(low(into.len() as u64).saturating_add(headers.payload))
    }
}

/// IP and UDP headers, bytes.
const UDP_HEADERS: u32 = 28;

/// The clock of timestamps: milliseconds.
fn stamp(at: Instant) -> u32 {
    low(at.as_nanos() / 1_000_000)
}

/// A number modulo 2^32, as on the wire.
#[expect(clippy::cast_possible_truncation, reason = "sequence numbers are modulo 2^32 on the wire")]
pub const fn low(seq: u64) -> u32 {
    seq as u32
}

/// The options of a SYN of either direction: largest segment, and the shift of its window if it has one.
const fn of_syn(flow: &FlowOnWire, syn: bool) -> (Option<u16>, Option<u8>) {
    match (syn, flow.window_scale) {
        (false, _) => (None, None),
        (true, 0) => (Some(flow.mss), None),
        (true, shift) => (Some(flow.mss), Some(shift)),
    }
}

fn forward(flow: &FlowOnWire, segment: &Segment, flags: u8) -> Tcp<'static> {
    let (mss, window_scale) = of_syn(flow, segment.syn);
    let (seq, ack) = if segment.syn { (0, 0) } else { (low(segment.seq).wrapping_add(1), 1) };
    let timestamps = flow.timestamps.then(|| (stamp(segment.sent), 0));
    Tcp { seq, ack, flags, window: u16::MAX, mss, window_scale, timestamps, sack: &[] }
}

fn back<'a>(flow: &FlowOnWire, ack: &Ack, flags: u8, sack: &'a [(u32, u32)]) -> Tcp<'a> {
    let (mss, window_scale) = of_syn(flow, ack.syn);
    // the window of a SYN is never scaled (RFC 7323 section 2.2)
    let shift = if ack.syn { 0 } else { flow.window_scale };
    let window = u16::try_from(ack.window.0 >> shift).unwrap_or(u16::MAX);
    let timestamps = flow.timestamps.then(|| (stamp(ack.echo), stamp(ack.echo)));
    let (seq, ack) = (u32::from(!ack.syn), low(ack.ack).wrapping_add(1));
    Tcp { seq, ack, flags, window, mss, window_scale, timestamps, sack }
}

#[cfg(test)]
mod tests {
    use super::*;
    use perhop_core::outgoing::Outgoing;
    use std::mem::{offset_of, size_of};

    #[test]
    fn what_most_packets_need_lies_on_two_lines() {
        assert_eq!(size_of::<Meta>(), 48);
        assert!(offset_of!(Contents, ack) + offset_of!(Ack, sack) < 128);
    }

    #[test]
    #[cfg(target_pointer_width = "64")]
    fn an_interface_is_two_lines() {
        assert_eq!(size_of::<Outgoing<SimPacket>>(), 128);
    }
}
