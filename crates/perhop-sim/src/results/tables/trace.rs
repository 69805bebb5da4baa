//! Tables of what was recorded.

use perhop_core::packet::{FlowId, Kind};
use perhop_core::sink::SiteId;

use super::{Run, Table, columns};
use crate::engine::observe::{PacketEvent, TcpEvent};

impl Run<'_> {
    fn recorded_flow(&self, flow: FlowId) -> &str {
        self.flow(flow.0 as usize)
    }

    fn site(&self, site: SiteId) -> &str {
        &self.results.sites[site]
    }
}

/// Steps of packets.
pub static PACKETS: Table = Table {
    name: "packets",
    since: 1,
    doc: "a row for every step of every packet",
    rows: |run| run.results.trace.packets.len(),
    columns: columns! { run, i, step = run.results.trace.packets[i];
        "time_s", "s", 1, Real(step.time.as_secs_f64()), "when";
        "path", "", 1, Text(run.site(step.site)),
            "the conditioner for `coloured`; the class for `enqueued`, `sent` and a queue's `dropped`; the port that \
             fed the link for `delivered`; a port or a node for a packet that no class or route takes";
        "event", "", 1, Text(event_name(step.event)),
            "`coloured` (by a meter; `mark` is still the old one), `enqueued`, `sent` (left its queue for the \
             link), `dropped`, `delivered` (reached the other end of the link)";
        "reason", "", 1, Text(reason(step.event)),
            "why a packet was dropped (`overflow`, `early`, `forced`, `sojourn`, `policed`, `shaper`, `loss`, \
             `loss-list`, `ack-filter`, `unclassified`); \
             empty otherwise";
        "flow", "", 1, Text(run.recorded_flow(step.flow)), "whose";
        "kind", "", 1, Text(kind_name(step.kind)), "`data` or `pure-ack`";
        "packet", "byte", 1, Modulo32(step.number),
            "one past the last payload byte; of a pure ACK, its acknowledgment number; modulo 2^32";
        "bytes", "byte", 1, Count(step.len.0), "length on that link";
        "mark", "", 2, Text(run.mark(step.mark)), "code point of the DS field";
        "color", "", 2, Text(step.color.name()),
            "as the last meter or queue said; `green` before any did";
    },
};

/// Changes of backlogs.
pub static QUEUE: Table = Table {
    name: "queue",
    since: 1,
    doc: "a row for each class of a port after packets were handed to it and after each departure",
    rows: |run| run.results.trace.queue.len(),
    columns: columns! { run, i, change = run.results.trace.queue[i];
        "time_s", "s", 1, Real(change.time.as_secs_f64()), "when";
        "path", "", 1, Text(run.site(change.site)), "the class";
        "packets", "packets", 1, Count(change.backlog.packets), "waiting";
        "bytes", "byte", 1, Count(change.backlog.bytes.0), "their length";
    },
};

/// Changes of windows.
pub static CWND: Table = Table {
    name: "cwnd",
    since: 1,
    doc: "a row for each ACK that reached a sender, with the sender's state after it",
    rows: |run| run.results.trace.cwnd.len(),
    columns: columns! { run, i, change = run.results.trace.cwnd[i];
        "time_s", "s", 1, Real(change.time.as_secs_f64()), "when";
        "flow", "", 1, Text(run.recorded_flow(change.flow)), "whose";
        "cwnd_bytes", "byte", 1, Count(change.cwnd.0), "congestion window";
        "ssthresh_bytes", "byte", 1, Count(change.ssthresh.0),
            "slow start threshold; 2^64 - 1 before the first loss";
        "flight_bytes", "byte", 1, Count(change.in_flight.0), "sent and not acknowledged";
        "rto_s", "s", 1, Real(change.rto_s), "the time-out, backed off";
    },
};

/// Steps of connections.
pub static TCP: Table = Table {
    name: "tcp",
    since: 2,
    doc: "a row for each thing a sender did, in the order in which it happened",
    rows: |run| run.results.trace.tcp.len(),
    columns: columns! { run, i, step = run.results.trace.tcp[i];
        "time_s", "s", 2, Real(step.time.as_secs_f64()), "when";
        "flow", "", 2, Text(run.recorded_flow(step.flow)), "whose";
        "event", "", 2, Text(tcp_event_name(step.event)),
            "`send`: a segment leaves TCP, SYN, FIN and repeats included; `ack`: an ACK reaches the sender; `drop`: a \
             data packet of the flow is dropped, wherever that is; `timeout`: the retransmission timer expires";
        "packet", "segments", 2, Integer(step.packet),
            "which one, counted from 0 in units of `mss`; with a handshake the SYN is packet 0 and data begin with 1. \
             Of an ACK, the highest packet received in order; of a time-out, the packet that is sent again";
        "cwnd_packets", "segments", 2, Real(step.cwnd),
            "congestion window: at a `send` as it is then, after an ACK or a time-out as that left it. What a \
             recovery adds for duplicate ACKs is not in it";
        "ssthresh_packets", "segments", 2, Real(step.ssthresh),
            "slow start threshold; empty as long as it is unbounded";
        "rto_s", "s", 2, Real(step.rto_s), "the time-out, backed off";
    },
};

const fn tcp_event_name(event: TcpEvent) -> &'static str {
    match event {
        TcpEvent::Send => "send",
        TcpEvent::Ack => "ack",
        TcpEvent::Drop => "drop",
        TcpEvent::Timeout => "timeout",
    }
}

const fn event_name(event: PacketEvent) -> &'static str {
    match event {
        PacketEvent::Coloured => "coloured",
        PacketEvent::Enqueued => "enqueued",
        PacketEvent::Sent => "sent",
        PacketEvent::Dropped(_) => "dropped",
        PacketEvent::Delivered => "delivered",
    }
}

const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::PureAck => "pure-ack",
        Kind::Data | Kind::Syn | Kind::Other => "data",
    }
}

/// Why a packet was dropped; empty for anything else.
const fn reason(event: PacketEvent) -> &'static str {
    match event {
        PacketEvent::Dropped(why) => why.name(),
        _ => "",
    }
}
