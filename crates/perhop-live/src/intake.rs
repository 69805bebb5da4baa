//! From the bytes that a kernel sends to what elements see of a packet.

use std::collections::BTreeSet;

use perhop_core::classify::{Address, FlowTable};
use perhop_core::packet::{Dir, FlowId, Kind, Meta, TcpView};
use perhop_core::time::Instant;
use perhop_scenario::model::Scenario;
use perhop_wire::{TcpHeader, View};

use crate::addresses::{flow_of, is_agreement};
use crate::frame::Frame;
use crate::kernel_host::widen;
use crate::probes;

/// Why a packet of a host is none of the scenario's.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Refused {
    /// It is of no flow: ICMP, say.
    Foreign,
    /// It is of the connection by which a flow's two programs agree: for this host, beside the network.
    Agreement(Address),
    /// It tells how old packets are when they are read: when it was sent.
    Probe(Instant),
    /// A checksum is wrong.
    Checksum,
    /// It is larger than the flow's packets may be.
    Size,
}

/// The facts of a flow that reading its packets needs.
#[derive(Clone, Copy, Debug)]
struct Known {
    /// The bytes that the scenario counts for IP and TCP headers without options.
    header: u32,
    /// Of every segment, as the scenario counts them: timestamps.
    options: u32,
    /// Largest payload of a segment; of UDP the largest packet.
    most: u32,
    /// The receiver's window, bytes.
    window: u64,
    /// Initial sequence number of the data, from the SYN.
    first: Option<u32>,
    /// Shift of the window field of acknowledgments, from the SYN and its answer.
    scale: Option<u8>,
}

/// Reads the packets of all hosts.
#[derive(Debug)]
pub struct Intake {
    /// Flows whose window is less than a segment in steps of the kernel's window field, by number.
    pub narrow: BTreeSet<usize>,
    flows: Vec<Known>,
    table: FlowTable,
}

impl Intake {
    /// For the flows of `scenario`.
    #[must_use]
    pub fn new(scenario: &Scenario) -> Self {
        let tcp = scenario.flows.iter().map(|flow| {
            let params = &flow.tcp.params;
            Known {
                header: short(flow.tcp.header.0),
                options: if params.timestamps { 12 } else { 0 },
                most: short(params.mss.0),
                window: params.window.0,
                first: None,
                scale: None,
            }
        });
        let udp = scenario.udp.iter().map(|flow| Known {
            header: 0,
            options: 0,
            most: short(flow.packet_size.0),
            window: u64::MAX,
            first: None,
            scale: None,
        });
        Self {
            narrow: BTreeSet::new(),
            flows: tcp.chain(udp).collect(),
            table: FlowTable::clone(&scenario.flow_table),
        }
    }

    /// Fills in what elements see of `frame`, whose bytes a host sent at `now`; `near` is a number of the flow's data near those
    /// in it.
    ///
    /// # Errors
    /// Why it is none of the scenario's packets.
    pub fn read(
        &mut self,
        now: Instant,
        frame: &mut Frame,
        near: impl Fn(FlowId) -> u64,
    ) -> Result<(), Refused> {
        let contents = frame.get_mut();
        let view = perhop_wire::parse(&contents.bytes).map_err(|_| Refused::Foreign)?;
        let (flow, dir) = flow_of(&view).ok_or_else(|| refusal(&view, &contents.bytes))?;
        let known = self.flows.get_mut(flow.0 as usize).ok_or(Refused::Foreign)?;
        if !perhop_wire::checksums(&contents.bytes).good() {
            return Err(Refused::Checksum);
        }
        let class = self.table.get(flow).map_or_else(Default::default, |flow| flow.class);
        contents.sent = now;
        contents.numbered = None;
        contents.acknowledgment = perhop_wire::acknowledgment(&contents.bytes);
        let mut meta =
            Meta { flow, dir, class, dscp: view.dscp, ecn: view.ecn, kind: view.kind(), ..Meta::default() };
        match view.tcp {
            None => {
                (contents.full_len, contents.options) = (view.total_len, 0);
                if view.total_len > known.most {
                    return Err(Refused::Size);
                }
            }
            Some(tcp) => {
                if view.payload_len > known.most {
                    return Err(Refused::Size);
                }
                // those of a SYN agree on options; the scenario's has what every segment has
                contents.options = if meta.kind == Kind::Syn { known.options } else { view.options_len };
                contents.full_len = view.payload_len + known.header + contents.options;
                meta.tcp = Some(known.numbers(&view, &tcp, dir));
                if dir == Dir::Forward {
                    let syn = tcp.flags & SYN != 0;
                    let first = if syn { 0 } else { widen(near(flow), known.relative(tcp.seq)) };
                    contents.numbered = Some((first, syn));
                } else {
                    known.offer(&mut contents.bytes, &view, &tcp);
                    if known.is_narrow() {
                        self.narrow.insert(flow.0 as usize);
                    }
                }
            }
        }
        contents.meta = meta;
        Ok(())
    }
}

/// The kind of a packet of no flow.
fn refusal(view: &View, bytes: &[u8]) -> Refused {
    if let Some(at) = probes::sent(view, bytes) {
        return Refused::Probe(at);
    }
    if is_agreement(view) { Refused::Agreement(view.destination) } else { Refused::Foreign }
}

const SYN: u8 = 0x02;
const FIN: u8 = 0x01;

impl Known {
    /// A number of the data counted from its first byte, as in the simulator.
    fn relative(&self, number: u32) -> u32 {
        number.wrapping_sub(self.first.unwrap_or(number))
    }

    /// The numbers in a header as elements see them.
    fn numbers(&mut self, view: &View, tcp: &TcpHeader, dir: Dir) -> TcpView {
        let mut seen = TcpView { flags: tcp.flags, sack_blocks: tcp.sack_blocks, ..TcpView::default() };
        match dir {
            Dir::Forward => {
                if tcp.flags & SYN != 0 {
                    self.first = Some(tcp.seq.wrapping_add(1));
                } else {
                    let end = self.relative(tcp.seq).wrapping_add(view.payload_len);
                    seen.seq_end = end.wrapping_add(u32::from(tcp.flags & FIN != 0));
                }
            }
            Dir::Reverse => {
                seen.ack = self.relative(tcp.ack);
                if tcp.sack_blocks > 0 {
                    seen.sack_top = self.relative(tcp.sack_top);
                }
            }
        }
        seen
    }

    /// Whether the window field cannot say the scenario's window: its kernel counts in larger steps.
    fn is_narrow(&self) -> bool {
        let scale = self.scale.unwrap_or(0);
        self.window >> scale << scale < u64::from(self.most)
    }

    /// Makes the window field say at most what the scenario's receiver offers: a kernel's own limit is not exact.
    fn offer(&mut self, bytes: &mut [u8], view: &View, tcp: &TcpHeader) {
        let syn = tcp.flags & SYN != 0;
        if syn {
            // the field of a SYN is never scaled (RFC 7323 section 2.2)
            self.scale = Some(perhop_wire::window_scale(bytes).unwrap_or(0));
        }
        let scale = if syn { 0 } else { self.scale.unwrap_or(0) };
        let most = u16::try_from(self.window >> scale).unwrap_or(u16::MAX);
        if tcp.window > most {
            perhop_wire::set_window(bytes, view, most);
        }
    }
}

fn short(bytes: u64) -> u32 {
    u32::try_from(bytes).unwrap_or(u32::MAX)
}

/// Writes what elements have changed of a packet into its bytes.
pub fn write_back(frame: &mut Frame) {
    let contents = frame.get_mut();
    // what was read once is IP still
    let _ = perhop_wire::rewrite_ds(&mut contents.bytes, contents.meta.dscp, contents.meta.ecn);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_below_a_segment_in_steps_of_the_field_is_narrow() {
        let known = |window, scale| Known { header: 40, options: 0, most: 1448, window, first: None, scale };
        for (window, scale, narrow) in [
            (4096, Some(12), false),
            (4095, Some(12), true),
            (4095, Some(11), false),
            (1448, Some(0), false),
            (1448, None, false),
            (1447, None, true),
        ] {
            assert_eq!(known(window, scale).is_narrow(), narrow, "{window} >> {scale:?}");
        }
    }
}
