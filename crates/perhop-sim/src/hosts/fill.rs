//! From what the ends of a connection say to what elements see of it.

use perhop_core::packet::{Dir, Dscp, Kind, Meta, TcpView};
use perhop_core::units::Bytes;
use perhop_tcp::segment::{Ack, SACK_BLOCK, Segment};

use crate::hosts::connection::Connection;
use crate::hosts::packet::{ACK, SimPacket, low};

const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
/// The last segment of what an application has written (RFC 9293 section 3.9.1.2), or of a burst.
pub const PSH: u8 = 0x08;
const ECE: u8 = 0x40;
const CWR: u8 = 0x80;

/// `if_set` where `set` is.
const fn flag(set: bool, if_set: u8) -> u8 {
    if set { if_set } else { 0 }
}

/// Makes `pkt` carry `segment`.
//= rfc7323-3.2-every-segment
pub fn fill_segment(pkt: &mut SimPacket, connection: &Connection, segment: &Segment) {
    let contents = pkt.get_mut();
    let payload = segment.payload();
    let kind = match payload {
        Bytes(0) if segment.syn => Kind::Syn,
        Bytes(0) => Kind::Other,
        _ => Kind::Data,
    };
    let flags =
        flag(segment.syn, SYN) | flag(segment.fin, FIN) | flag(segment.cwr, CWR) | flag(segment.push, PSH);
    let options = connection.wire.options;
    contents.options = short(options);
    contents.full_len = short(payload + connection.wire.header + options);
    contents.meta = meta(
        connection,
        kind,
        Dir::Forward,
        TcpView { seq_end: low(segment.end), flags, ..TcpView::default() },
        connection.mark,
    );
    if segment.ect {
        contents.meta.ecn = connection.ect;
    }
    contents.segment = *segment;
}

/// Makes `pkt` carry `ack`, marked `mark`.
//= rfc2018-3-length
//= rfc7323-3.2-every-segment
pub fn fill_ack(pkt: &mut SimPacket, connection: &Connection, ack: &Ack, mark: Dscp) {
    let contents = pkt.get_mut();
    let wire = &connection.wire;
    let blocks = ack.sack.as_slice();
    let count = u8::try_from(blocks.len()).unwrap_or(u8::MAX);
    let sack = if count > 0 { wire.sack_overhead.0 + SACK_BLOCK.0 * u64::from(count) } else { 0 };
    let tcp = TcpView {
        ack: low(ack.ack),
        flags: ACK | flag(ack.syn, SYN) | flag(ack.ece || ack.ace & 1 > 0, ECE) | flag(ack.ace & 2 > 0, CWR),
        sack_top: blocks.iter().map(|block| low(block.1)).max().unwrap_or(0),
        sack_blocks: count,
        ..TcpView::default()
    };
    let options = wire.options + Bytes(sack);
    contents.options = short(options);
    contents.full_len = short(wire.header + options);
    let kind = if ack.syn { Kind::Syn } else { Kind::PureAck };
    contents.meta = meta(connection, kind, Dir::Reverse, tcp, mark);
    contents.ack.copy_from(ack);
}

fn meta(connection: &Connection, kind: Kind, dir: Dir, tcp: TcpView, dscp: Dscp) -> Meta {
    let (flow, class) = (connection.flow, connection.class);
    Meta { flow, class, kind, dir, dscp, tcp: Some(tcp), ..Meta::default() }
}

/// Bytes of a packet; a scenario's sizes stay below 4 GB.
fn short(bytes: Bytes) -> u32 {
    u32::try_from(bytes.0).unwrap_or(u32::MAX)
}
