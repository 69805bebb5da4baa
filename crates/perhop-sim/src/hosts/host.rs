//! A node that ends flows: TCP senders and receivers, UDP sources and drains behind their outgoing interfaces.
//!
//! Backpressure (Kalampoukas et al. 1997, section 5) lives here: a sender is not asked for segments while `b` of its
//! packets have been handed to the port and not fully transmitted.

use perhop_core::inline_list::InlineList;
use perhop_core::node::{Departure, Node};
use perhop_core::packet::{Dir, Dscp, Ecn, FlowId, Meta, Packet, PortId};
use perhop_core::queue::Backlog;
use perhop_core::sink::{DropReason, Sink, SiteId};
use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::segment::Segment;
use perhop_tcp::sender::SenderStats;

use crate::applications::application::Application;
use crate::applications::call::CallReceiver;
use crate::engine::marks::MarkCounts;
use crate::engine::observe::{PacketStore, Recorder, TcpEvent, TcpRecord, WindowRecord};
use crate::engine::seam::{HostNode, ReceiverReading, SenderReading};
use crate::hosts::connection::Connection;
use crate::hosts::datagrams::{Drain, Source};
use crate::hosts::deadlines::Deadlines;
use crate::hosts::ends::{Ends, ReceivingEnd, SendingEnd};
use crate::hosts::fill::{PSH, fill_ack, fill_segment};
use crate::hosts::packet::SimPacket;
use crate::hosts::processing::Processing;
use perhop_core::outgoing::Outgoing;
use perhop_core::range_table::RangeTable;

/// A connection's end at this host.
#[expect(clippy::large_enum_variant, reason = "a pointer more on every packet costs more than idle bytes")]
enum End {
    Sending(SendingEnd),
    Receiving(ReceivingEnd),
    Source(Box<Source>),
    Drain(Box<Drain>),
}

/// A host.
pub struct Host {
    site: SiteId,
    /// Outgoing interfaces, by port.
    pub ports: InlineList<Outgoing<SimPacket>>,
    ends: InlineList<End>,
    slots: RangeTable,
    applications: Vec<Application>,
    /// Of the ends, and behind them of the applications.
    deadlines: Deadlines,
    /// Flows whose segments a port dropped during the current call.
    lost: Vec<FlowId>,
    /// The time that packets take from their flow to the port, where that is not nothing.
    processing: Option<Box<Processing>>,
    /// Whether the queues of any port have deadlines, or packets take time to get there.
    timed: bool,
    /// Steps of the connections since the engine last took them, where they are traced.
    log: Option<Vec<TcpRecord>>,
}

impl Host {
    /// A host with these connections; packets of other connections are reported as dropped at `site`.
    pub fn new(
        site: SiteId,
        ports: Vec<Outgoing<SimPacket>>,
        ends: Ends,
        processing: Option<Box<Processing>>,
        log: bool,
    ) -> Self {
        let Ends { senders, receivers, sources, drains, mut applications } = ends;
        let tcp = senders.into_iter().map(End::Sending).chain(receivers.into_iter().map(End::Receiving));
        let sources = sources.into_iter().map(|end| End::Source(Box::new(end)));
        let udp = sources.chain(drains.into_iter().map(|end| End::Drain(Box::new(end))));
        let ends: Vec<End> = tcp.chain(udp).collect();
        let pairs: Vec<(u32, u32)> =
            (0u32..).zip(&ends).map(|(slot, end)| (end.connection().flow.0, slot)).collect();
        let mut deadlines = Deadlines::new(ends.len() + applications.len());
        for (slot, end) in (0u32..).zip(&ends) {
            match end {
                End::Sending(end) => {
                    deadlines.set(slot, end.sender.next_timeout());
                    if let Some(index) = end.application {
                        applications[index as usize].add_line(slot);
                    }
                }
                End::Source(source) => deadlines.set(slot, source.next_timeout()),
                End::Receiving(_) | End::Drain(_) => {}
            }
        }
        let first = pairs.len();
        for (slot, application) in applications.iter().enumerate() {
            deadlines.set(index(first + slot), application.next_timeout());
        }
        Self {
            site,
            timed: processing.is_some() || ports.iter().any(|out| out.port.has_deadlines()),
            processing,
            ports: ports.into(),
            ends: ends.into(),
            slots: RangeTable::new(&pairs),
            applications,
            deadlines,
            lost: Vec::new(),
            log: log.then(Vec::new),
        }
    }

    /// The end of `flow`, if one is here.
    fn end_of(&self, flow: FlowId) -> Option<&End> {
        Some(&self.ends[self.slots.get(flow.0)? as usize])
    }

    fn sending(&self, flow: FlowId) -> Option<&SendingEnd> {
        if let End::Sending(end) = self.end_of(flow)? { Some(end) } else { None }
    }

    fn log(&mut self, now: Instant, slot: u32, event: TcpEvent, packet: i64) {
        if let Some(log) = &mut self.log
            && let End::Sending(end) = &self.ends[slot as usize]
        {
            log.push(end.record(now, event, packet));
        }
    }

    /// Hands the port what TCP will send now.
    fn hand_over(&mut self, now: Instant, slot: u32, io: &mut dyn PacketStore<SimPacket>) {
        let End::Sending(end) = &mut self.ends[slot as usize] else { return };
        let port = &mut self.ports[end.connection.port.0 as usize];
        let backpressure = port.backpressure();
        let mut handed = false;
        while backpressure.is_none_or(|limit| end.in_port < limit) {
            let Some(segment) = end.sender.poll_transmit(now) else { break };
            let mut pkt = io.fresh();
            fill_segment(&mut pkt, &end.connection, &segment);
            if end.application.is_some() {
                push(&mut pkt, segment.end == end.sender.written() && segment.end > segment.seq);
            }
            if let Some(log) = &mut self.log {
                log.push(end.record(now, TcpEvent::Send, end.sender.packet_number(&segment)));
            }
            if let Some(processing) = &mut self.processing {
                end.in_port += u32::from(backpressure.is_some());
                processing.take(now, end.connection.port, pkt);
                continue;
            }
            handed = true;
            if backpressure.is_some() {
                end.in_port += 1;
                port.enqueue(now, pkt, &mut Lost { io: &mut *io, flows: &mut self.lost });
                end.in_port -= count_out(&mut self.lost, end.connection.flow);
            } else {
                port.enqueue(now, pkt, io);
            }
        }
        if handed {
            io.ready(end.connection.port);
        }
        self.deadlines.set(slot, end.sender.next_timeout());
        self.write_off();
    }

    /// Gives the connections of an application what they are to send now.
    #[cold]
    fn write(&mut self, now: Instant, application: u32, io: &mut dyn PacketStore<SimPacket>) {
        while let Some((slot, bytes)) = self.applications[application as usize].poll_write() {
            if let End::Sending(end) = &mut self.ends[slot as usize] {
                end.sender.write(bytes);
            }
            self.hand_over(now, slot, io);
        }
        let next = self.applications[application as usize].next_timeout();
        self.deadlines.set(index(self.ends.len()) + application, next);
    }

    /// Lets an application know what of one of its connections is acknowledged.
    #[cold]
    fn on_acknowledged(
        &mut self,
        now: Instant,
        application: u32,
        (slot, una): (u32, u64),
        io: &mut dyn PacketStore<SimPacket>,
    ) {
        self.applications[application as usize].on_acknowledged(now, slot, una);
        self.write(now, application, io);
    }

    /// Hands the port the acknowledgment that is due, in `used` if there is a packet to use again.
    fn acknowledge(
        &mut self,
        now: Instant,
        slot: u32,
        used: Option<SimPacket>,
        io: &mut dyn PacketStore<SimPacket>,
    ) {
        let End::Receiving(end) = &mut self.ends[slot as usize] else { return };
        let ack = end.receiver.poll_transmit(now);
        let more = end.receiver.owes();
        self.deadlines.set(slot, end.receiver.next_timeout());
        match (ack, used) {
            (Some(ack), used) => {
                let mut pkt = used.unwrap_or_else(|| io.fresh());
                let mark =
                    end.marking.as_mut().map_or(Dscp::DEFAULT, |marking| marking.mark(end.connection.class));
                fill_ack(&mut pkt, &end.connection, &ack, mark);
                end.acks += 1;
                let port = end.connection.port;
                send(&mut self.ports, &mut self.processing, &mut self.lost, now, (port, pkt), io);
            }
            (None, Some(used)) => io.consumed(used),
            (None, None) => {}
        }
        self.write_off();
        if more {
            self.acknowledge(now, slot, None, io);
        }
    }

    /// The first deadline of the ports' queues and of packets on their way there.
    #[cold]
    fn next_of_packets(&self) -> Option<Instant> {
        let ready = self.processing.as_ref().and_then(|processing| processing.next_timeout());
        self.ports.iter().filter_map(|out| out.port.next_timeout()).chain(ready).min()
    }

    /// Serves them.
    #[cold]
    fn serve_packets(&mut self, now: Instant, io: &mut dyn PacketStore<SimPacket>) {
        for out in self.ports.iter_mut() {
            if out.backpressure().is_some() {
                out.port.on_timeout(now, &mut Lost { io: &mut *io, flows: &mut self.lost });
            } else {
                out.port.on_timeout(now, io);
            }
        }
        self.write_off();
        while let Some((port, pkt)) = self.processing.as_mut().and_then(|processing| processing.ready(now)) {
            let out = &mut self.ports[port.0 as usize];
            if out.backpressure().is_some() {
                out.enqueue(now, pkt, &mut Lost { io: &mut *io, flows: &mut self.lost });
                self.replace(now, io);
            } else {
                out.enqueue(now, pkt, io);
            }
            io.ready(port);
        }
    }

    /// Lets the flows whose segments were dropped send others in their place.
    fn replace(&mut self, now: Instant, io: &mut dyn PacketStore<SimPacket>) {
        let mut lost = std::mem::take(&mut self.lost);
        for flow in lost.drain(..) {
            if let Some(slot) = self.slots.get(flow.0)
                && let End::Sending(end) = &mut self.ends[slot as usize]
            {
                end.in_port -= 1;
                self.hand_over(now, slot, io);
            }
        }
        self.lost = lost;
    }

    /// `pkt` has come to the end in `slot`.
    #[inline(always)]
    fn take(&mut self, now: Instant, slot: u32, pkt: SimPacket, io: &mut dyn PacketStore<SimPacket>) {
        match &mut self.ends[slot as usize] {
            End::Sending(end) => {
                let ack = &pkt.get().ack;
                end.sender.on_ack(now, ack);
                if self.log.is_some() {
                    let packet = end.sender.packet_acknowledged(ack);
                    self.log(now, slot, TcpEvent::Ack, packet);
                }
                io.consumed(pkt);
                self.hand_over(now, slot, io);
                if let End::Sending(SendingEnd { application: Some(index), sender, .. }) =
                    &self.ends[slot as usize]
                {
                    let (index, una) = (*index, sender.una());
                    self.on_acknowledged(now, index, (slot, una), io);
                }
            }
            End::Receiving(end) => {
                let contents = pkt.get();
                end.arrived.add(contents.meta.dscp, Bytes(contents.full_len.into()));
                if let Some(marking) = &mut end.marking {
                    marking.covered.on_data(contents.meta.dscp);
                }
                end.receiver.on_segment(now, &contents.segment, contents.meta.ecn == Ecn::Ce);
                if contents.meta.tcp.is_some_and(|tcp| tcp.flags & PSH != 0) {
                    // the request for what comes next carries it
                    end.receiver.hurry();
                }
                self.acknowledge(now, slot, Some(pkt), io);
            }
            End::Drain(end) => {
                end.receive(now, &pkt);
                io.consumed(pkt);
            }
            End::Source(_) => io.dropped(now, self.site, pkt, DropReason::Unclassified),
        }
    }

    /// The same at a host whose flows are few among many, or which has no end of the packet's flow.
    #[cold]
    fn search(&mut self, now: Instant, pkt: SimPacket, io: &mut dyn PacketStore<SimPacket>) {
        match self.slots.search(pkt.meta().flow.0) {
            Some(slot) => self.take(now, slot, pkt, io),
            None => io.dropped(now, self.site, pkt, DropReason::Unclassified),
        }
    }

    /// Stops backpressure from waiting for packets that a port has dropped.
    fn write_off(&mut self) {
        while let Some(flow) = self.lost.pop() {
            if let Some(slot) = self.slots.get(flow.0)
                && let End::Sending(end) = &mut self.ends[slot as usize]
            {
                end.in_port -= 1;
            }
        }
    }
}

/// Gives a port a packet of a receiver or of a source, at once or after its processing; a queue may drop others for it.
#[inline]
fn send(
    ports: &mut InlineList<Outgoing<SimPacket>>,
    processing: &mut Option<Box<Processing>>,
    lost: &mut Vec<FlowId>,
    now: Instant,
    (port, pkt): (PortId, SimPacket),
    io: &mut dyn PacketStore<SimPacket>,
) {
    let out = &mut ports[port.0 as usize];
    if let Some(processing) = processing {
        processing.take(now, port, pkt);
    } else {
        if out.backpressure().is_some() {
            out.enqueue(now, pkt, &mut Lost { io: &mut *io, flows: lost });
        } else {
            out.enqueue(now, pkt, io);
        }
        io.ready(port);
    }
}

/// Notes the flows whose segments a port drops.
struct Lost<'a> {
    io: &'a mut dyn PacketStore<SimPacket>,
    flows: &'a mut Vec<FlowId>,
}

impl Sink<SimPacket> for Lost<'_> {
    fn dropped(&mut self, now: Instant, site: SiteId, pkt: SimPacket, why: DropReason) {
        if pkt.meta().dir == Dir::Forward {
            self.flows.push(pkt.meta().flow);
        }
        self.io.dropped(now, site, pkt, why);
    }

    fn marked(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.io.marked(now, site, meta);
    }

    fn enqueued(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.io.enqueued(now, site, meta);
    }

    fn sent(&mut self, now: Instant, site: SiteId, meta: &Meta) {
        self.io.sent(now, site, meta);
    }
}

/// An index as slots count; a host has fewer than 2^32 of anything.
fn index(i: usize) -> u32 {
    u32::try_from(i).unwrap_or(u32::MAX)
}

/// Notes in a segment whether it is the last of what was written.
fn push(pkt: &mut SimPacket, last: bool) {
    if let Some(tcp) = pkt.get_mut().meta.tcp.as_mut().filter(|_| last) {
        tcp.flags |= PSH;
    }
}

/// Removes `flow` from `flows`; returns how often it was there.
fn count_out(flows: &mut Vec<FlowId>, flow: FlowId) -> u32 {
    let before = flows.len();
    flows.retain(|&f| f != flow);
    u32::try_from(before - flows.len()).unwrap_or(u32::MAX)
}

impl SendingEnd {
    /// A step of the connection, with the sender's state.
    pub fn record(&self, time: Instant, event: TcpEvent, packet: i64) -> TcpRecord {
        let sender = &self.sender;
        let (cwnd, ssthresh) = sender.windows_in_packets();
        let rto_s = sender.rtt().rto().as_secs_f64();
        TcpRecord { time, flow: self.connection.flow, event, packet, cwnd, ssthresh, rto_s }
    }
}

impl End {
    const fn connection(&self) -> &Connection {
        match self {
            Self::Sending(end) => &end.connection,
            Self::Receiving(end) => &end.connection,
            Self::Source(end) => &end.connection,
            Self::Drain(end) => &end.connection,
        }
    }
}

impl HostNode for Host {
    type Packet = SimPacket;

    fn io(recorder: &mut Recorder<SimPacket>) -> &mut Self::Io {
        recorder
    }

    fn ports(&self) -> &[Outgoing<SimPacket>] {
        &self.ports
    }

    fn ports_mut(&mut self) -> &mut [Outgoing<SimPacket>] {
        &mut self.ports
    }

    fn restart(&mut self, now: Instant) {
        for end in self.ends.iter_mut() {
            if let End::Sending(end) = end {
                end.sender.restart_extremes();
            }
        }
        self.ports.iter_mut().for_each(|out| out.port.restart(now));
    }

    fn sender(&self, flow: FlowId) -> Option<SenderReading> {
        let SendingEnd { sender, application, .. } = self.sending(flow)?;
        let rtt = sender.rtt();
        let completed = sender.stats().completed.filter(|_| application.is_none());
        Some(SenderReading {
            stats: SenderStats { completed, ..*sender.stats() },
            cwnd: sender.cwnd(),
            srtt: rtt.srtt(),
            rtt: rtt.extremes(),
            rtt_samples: rtt.samples(),
        })
    }

    fn receiver(&self, flow: FlowId) -> Option<ReceiverReading<'_>> {
        let End::Receiving(end) = self.end_of(flow)? else { return None };
        let (delivered, arrived) = (end.receiver.delivered(), &end.arrived);
        Some(ReceiverReading { delivered, arrived, acks: end.acks })
    }

    fn source(&self, flow: FlowId) -> Option<Backlog> {
        if let End::Source(end) = self.end_of(flow)? { Some(end.sent) } else { None }
    }

    fn drain(&self, flow: FlowId) -> Option<&MarkCounts> {
        if let End::Drain(end) = self.end_of(flow)? { Some(&end.arrived) } else { None }
    }

    fn call_receiver(&self, flow: FlowId) -> Option<&CallReceiver> {
        if let End::Drain(end) = self.end_of(flow)? { end.call_receiver.as_deref() } else { None }
    }

    fn applications(&self) -> &[Application] {
        &self.applications
    }

    fn held(&self) -> u64 {
        self.processing.as_ref().map_or(0, |processing| processing.len())
    }

    fn window(&self, time: Instant, flow: FlowId) -> Option<WindowRecord> {
        let sender = &self.sending(flow)?.sender;
        Some(WindowRecord {
            time,
            flow,
            cwnd: sender.cwnd(),
            ssthresh: sender.ssthresh(),
            in_flight: sender.in_flight(),
            rto_s: sender.rtt().rto().as_secs_f64(),
        })
    }

    fn take_log(&mut self, trace: &mut Vec<TcpRecord>) {
        if let Some(log) = &mut self.log {
            trace.append(log);
        }
    }

    fn dropped(&self, time: Instant, flow: FlowId, segment: &Segment) -> Option<TcpRecord> {
        let end = self.sending(flow)?;
        Some(end.record(time, TcpEvent::Drop, end.sender.packet_number(segment)))
    }
}

impl Node<SimPacket> for Host {
    type Io = dyn PacketStore<SimPacket>;

    fn on_packet(&mut self, now: Instant, _from: PortId, pkt: SimPacket, io: &mut Self::Io) {
        match self.slots.at(pkt.meta().flow.0) {
            Some(slot) => self.take(now, slot, pkt, io),
            None => self.search(now, pkt, io),
        }
    }

    fn poll_transmit(&mut self, now: Instant, to: PortId, io: &mut Self::Io) -> Departure<SimPacket> {
        let port = &mut self.ports[to.0 as usize];
        if port.backpressure().is_none() {
            return port.port.dequeue(now, io);
        }
        let departure = port.port.dequeue(now, &mut Lost { io, flows: &mut self.lost });
        self.write_off();
        departure
    }

    #[inline]
    fn waits(&self, to: PortId) -> bool {
        !self.ports[to.0 as usize].port.is_empty()
    }

    fn watches_transmission(&self, to: PortId) -> bool {
        self.ports[to.0 as usize].backpressure().is_some()
    }

    fn on_transmitted(&mut self, now: Instant, _to: PortId, meta: &Meta, io: &mut Self::Io) {
        if meta.dir == Dir::Forward
            && let Some(slot) = self.slots.get(meta.flow.0)
            && let End::Sending(end) = &mut self.ends[slot as usize]
        {
            end.in_port -= 1;
            self.hand_over(now, slot, io);
        }
    }

    #[inline]
    fn next_timeout(&self) -> Option<Instant> {
        let own = self.deadlines.next();
        if self.timed { own.into_iter().chain(self.next_of_packets()).min() } else { own }
    }

    fn on_timeout(&mut self, now: Instant, io: &mut Self::Io) {
        if self.timed {
            self.serve_packets(now, io);
        }
        while let Some(slot) = self.deadlines.pop_due(now) {
            if let Some(application) = slot.checked_sub(index(self.ends.len())) {
                self.applications[application as usize].on_timeout(now);
                self.write(now, application, io);
                continue;
            }
            match &mut self.ends[slot as usize] {
                End::Sending(end) => {
                    let before = end.sender.expiries();
                    end.sender.on_timeout(now);
                    if self.log.is_some() && end.sender.expiries() > before {
                        let packet = end.sender.packet_expired();
                        self.log(now, slot, TcpEvent::Timeout, packet);
                    }
                    self.hand_over(now, slot, io);
                }
                End::Receiving(end) => {
                    end.receiver.on_timeout(now);
                    self.acknowledge(now, slot, None, io);
                }
                End::Source(source) => {
                    while source.next_timeout().is_some_and(|at| at <= now) {
                        let mut pkt = io.fresh();
                        source.send(now, &mut pkt);
                        let port = source.connection.port;
                        send(&mut self.ports, &mut self.processing, &mut self.lost, now, (port, pkt), io);
                    }
                    self.deadlines.set(slot, source.next_timeout());
                    self.write_off();
                }
                End::Drain(_) => {}
            }
        }
    }
}
