//! The records of a run's observers, and the engine's side of a node's calls.

use perhop_core::node::Io;
use perhop_core::packet::{Color, Dir, Dscp, FlowId, Kind, Meta, PortId};
use perhop_core::port::DropStats;
use perhop_core::queue::Backlog;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::units::Bytes;
use perhop_tcp::segment::Segment;

use crate::engine::capture::Captures;
use crate::engine::carried::Carried;

/// The kinds of records in a trace.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TraceKinds {
    /// Every step of every packet.
    pub packets: bool,
    /// Every change of a backlog.
    pub queue: bool,
    /// The sender's state after every acknowledgment.
    pub cwnd: bool,
    /// Every event of a sender, and the losses of its packets.
    pub tcp: bool,
}

/// A step of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PacketEvent {
    /// Given a colour by a meter; its mark is still the one it came with.
    Coloured,
    /// Accepted by a queue.
    Enqueued,
    /// Left its queue for the link.
    Sent,
    /// Dropped.
    Dropped(DropReason),
    /// Reached the other end of a link.
    Delivered,
}

/// A step of a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PacketRecord {
    /// When.
    pub time: Instant,
    /// Where; for a delivery, the port that fed the link.
    pub site: SiteId,
    /// The step.
    pub event: PacketEvent,
    /// Its flow.
    pub flow: FlowId,
    /// Data or pure ACK.
    pub kind: Kind,
    /// One past the last payload byte, or the acknowledgment number of a pure ACK.
    pub number: u32,
    /// Length on the link it is queued for.
    pub len: Bytes,
    /// The DS field.
    pub mark: Dscp,
    /// As the last meter or queue said; green before any did.
    pub color: Color,
}

/// A backlog after a change.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct QueueRecord {
    /// When.
    pub time: Instant,
    /// Which queue.
    pub site: SiteId,
    /// The backlog.
    pub backlog: Backlog,
}

/// A sender's state.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct WindowRecord {
    /// When.
    pub time: Instant,
    /// Its flow.
    pub flow: FlowId,
    /// Congestion window.
    pub cwnd: Bytes,
    /// Slow start threshold; `u64::MAX` before the first loss.
    pub ssthresh: Bytes,
    /// Sent and not acknowledged.
    pub in_flight: Bytes,
    /// Retransmission time-out, s.
    pub rto_s: f64,
}

/// An event at a sender, or of one of its packets.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum TcpEvent {
    /// A segment left.
    Send,
    /// An acknowledgment arrived.
    Ack,
    /// A segment was dropped somewhere.
    Drop,
    /// The retransmission timer expired.
    Timeout,
}

/// A step of a connection, with the sender's state after it.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpRecord {
    /// When.
    pub time: Instant,
    /// Its flow.
    pub flow: FlowId,
    /// The event.
    pub event: TcpEvent,
    /// Which packet, from 0; of an acknowledgment the highest that arrived in order, -1 for none.
    pub packet: i64,
    /// Congestion window in packets, without inflation.
    pub cwnd: f64,
    /// Slow start threshold in packets; NaN where there is none yet.
    pub ssthresh: f64,
    /// Retransmission time-out, s.
    pub rto_s: f64,
}

/// Everything recorded.
#[derive(Debug, Default)]
pub struct Trace {
    /// Steps of packets.
    pub packets: Vec<PacketRecord>,
    /// Changes of backlogs.
    pub queue: Vec<QueueRecord>,
    /// Changes of windows.
    pub cwnd: Vec<WindowRecord>,
    /// Steps of connections.
    pub tcp: Vec<TcpRecord>,
}

impl Trace {
    /// Records of all kinds together.
    pub const fn rows(&self) -> usize {
        self.packets.len() + self.queue.len() + self.cwnd.len() + self.tcp.len()
    }
}

/// The further services of a driver for a host: it makes packets and ends them.
pub trait PacketStore<P: Carried>: Io<P> {
    /// A packet to fill in; its contents are unspecified.
    fn fresh(&mut self) -> P;
    /// A packet that reached its destination and is no longer needed.
    fn consumed(&mut self, pkt: P);
}

/// The engine's side of a node's calls: packet store, ports to ask, recorder.
#[derive(Debug)]
pub struct Recorder<P> {
    kinds: TraceKinds,
    /// The records so far.
    pub trace: Trace,
    /// Segments dropped during a node's call, for a trace of connections.
    pub lost: Vec<(FlowId, Segment)>,
    /// Ports that a node's call made ready.
    pub ready: Vec<PortId>,
    /// By class of flows: packets to the receiver that were dropped or marked anywhere.
    pub by_class: Vec<DropStats>,
    /// Where links are captured, if any is.
    capture: Option<Box<Captures>>,
    /// Whether anything is recorded of every packet.
    listens: bool,
    /// Packets not in use.
    idle: Vec<P>,
    /// Packets that exist.
    pub created: u64,
}

impl<P> Recorder<P> {
    /// Records `kinds` of flows that have `classes`.
    pub fn new(kinds: TraceKinds, classes: usize) -> Self {
        let TraceKinds { packets, queue, cwnd, tcp } = kinds;
        Self {
            kinds,
            listens: packets || queue || cwnd || tcp,
            trace: Trace::default(),
            lost: Vec::new(),
            ready: Vec::new(),
            by_class: vec![DropStats::default(); classes],
            capture: None,
            idle: Vec::new(),
            created: 0,
        }
    }

    /// Packets not in use.
    pub const fn idle_packets(&self) -> u64 {
        self.idle.len() as u64
    }

    /// The kinds of records.
    pub const fn kinds(&self) -> TraceKinds {
        self.kinds
    }

    /// Whether anything is recorded of packets on their way.
    #[inline]
    pub const fn listens(&self) -> bool {
        self.listens
    }

    /// Captures links from now on.
    pub fn capture_links(&mut self, captures: Captures) {
        self.capture = Some(Box::new(captures));
        self.listens = true;
    }

    /// Ends captures of links, and returns them.
    pub fn end_captures(&mut self) -> Option<Box<Captures>> {
        self.capture.take()
    }

    /// A packet begins its transmission on link number `link`.
    #[inline]
    pub fn begins(&mut self, now: Instant, link: usize, pkt: &P)
    where
        P: Carried,
    {
        if let Some(capture) = &mut self.capture {
            capture.sent(now, link, pkt);
        }
    }

    /// Records a step of a packet, if asked to.
    #[inline]
    pub fn packet(&mut self, time: Instant, site: SiteId, event: PacketEvent, meta: &Meta) {
        if self.kinds.packets {
            let tcp = meta.tcp.unwrap_or_default();
            let number = if meta.kind == Kind::PureAck { tcp.ack } else { tcp.seq_end };
            let (flow, kind, len, mark, color) = (meta.flow, meta.kind, meta.len, meta.dscp, meta.color);
            let record = PacketRecord { time, site, event, flow, kind, number, len, mark, color };
            self.trace.packets.push(record);
        }
    }
}

impl<P: Carried> Sink<P> for Recorder<P> {
    fn dropped(&mut self, now: Instant, site: SiteId, pkt: P, why: DropReason) {
        let meta = pkt.meta();
        self.packet(now, site, PacketEvent::Dropped(why), meta);
        if meta.dir == Dir::Forward {
            self.by_class[usize::from(meta.class.0)].count(meta.color, why);
        }
        if let Some(capture) = &mut self.capture {
            capture.dropped(now, site, &pkt, why);
        }
        if self.kinds.tcp
            && meta.tcp.is_some()
            && let Some(segment) = pkt.segment()
        {
            self.lost.push((meta.flow, *segment));
        }
        self.idle.push(pkt);
    }

    fn coloured(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.packet(now, site, PacketEvent::Coloured, meta);
    }

    fn marked(&mut self, _now: Instant, _site: SiteId, meta: &Meta) {
        if meta.dir == Dir::Forward {
            self.by_class[usize::from(meta.class.0)].marked += 1;
        }
    }

    fn enqueued(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.packet(now, site, PacketEvent::Enqueued, meta);
    }

    fn sent(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.packet(now, site, PacketEvent::Sent, meta);
    }
}

impl<P: Carried> Io<P> for Recorder<P> {
    fn ready(&mut self, port: PortId) {
        self.ready.push(port);
    }
}

impl<P: Carried> PacketStore<P> for Recorder<P> {
    fn fresh(&mut self) -> P {
        self.idle.pop().unwrap_or_else(|| {
            self.created += 1;
            P::default()
        })
    }

    fn consumed(&mut self, pkt: P) {
        self.idle.push(pkt);
    }
}
