//! A host whose packets come from a kernel: its outgoing interfaces and access links are the scenario's, its TCP is not.
//!
//! What the tables tell of TCP comes from two places. Segments, retransmissions, round trips, what was delivered and when a
//! transfer was over are read from the packets as they leave and reach the host; time-outs, the window and the smoothed
//! round-trip time from `TCP_INFO`, every 100 ms.
//! Cost for each packet: one look into a tree of the host's flows, a few counters.

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

use perhop_core::dscp::Dscp;
use perhop_core::node::{Departure, Node};
use perhop_core::outgoing::Outgoing;
use perhop_core::packet::{Dir, FlowId, Meta, Packet, PortId};
use perhop_core::queue::Backlog;
use perhop_core::sink::{DropReason, SiteId};
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;
use perhop_sim::{
    Application, CallReceiver, HostMarking, HostNode, MarkCounts, ReceiverReading, Recorder, SenderReading,
};
use perhop_tcp::sender::SenderStats;

use crate::frame::Frame;
use crate::kernel::TcpInfo;

/// The kernel's last `TCP_INFO` of a connection; the thread of the sockets writes it, that of the packets reads it.
#[derive(Debug, Default)]
pub struct LatestTcpInfo {
    /// Congestion window, bytes.
    pub cwnd: AtomicU64,
    /// Smoothed round-trip time, ns; 0 before the first sample.
    pub srtt_ns: AtomicU64,
    /// Retransmissions.
    pub retransmissions: AtomicU64,
    /// Time-outs.
    pub timeouts: AtomicU64,
}

impl LatestTcpInfo {
    /// Keeps what the kernel tells.
    pub fn store(&self, info: &TcpInfo) {
        self.cwnd.store(info.cwnd * info.mss, Relaxed);
        self.srtt_ns.store(info.srtt.as_nanos(), Relaxed);
        self.retransmissions.store(info.retransmissions, Relaxed);
        self.timeouts.store(info.timeouts, Relaxed);
    }
}

/// The sending end of a TCP flow, as seen from outside.
#[derive(Debug)]
pub struct Sending {
    latest: Arc<LatestTcpInfo>,
    /// Of all its packets: a program sets it when the connection has begun.
    mark: Dscp,
    /// Application data to send, and a FIN after it: numbers up to which all must be acknowledged.
    last: Option<u64>,
    segments: u64,
    retransmissions: u64,
    syns: u64,
    /// Runs of retransmissions, each from the first one until all that was sent before it is acknowledged.
    episodes: u64,
    /// One past the highest byte sent when the present episode began, as long as it goes on.
    episode_until: Option<u64>,
    /// One past the highest byte sent.
    sent_to: u64,
    acknowledged: u64,
    /// Segments sent once and not acknowledged: one past the last byte, and when.
    timed: VecDeque<(u64, Instant)>,
    rtt: Option<(Span, Span)>,
    rtt_samples: u64,
    completed: Option<Instant>,
}

impl Sending {
    /// One that has sent nothing; its packets carry `mark`; `last` numbers are all, of a transfer that ends.
    #[must_use]
    pub fn new(latest: Arc<LatestTcpInfo>, mark: Dscp, last: Option<u64>) -> Self {
        Self {
            latest,
            mark,
            last,
            segments: 0,
            retransmissions: 0,
            syns: 0,
            episodes: 0,
            episode_until: None,
            sent_to: 0,
            acknowledged: 0,
            timed: VecDeque::new(),
            rtt: None,
            rtt_samples: 0,
            completed: None,
        }
    }

    /// The bytes from `first` to `end` have left the kernel.
    fn sent(&mut self, now: Instant, first: u64, end: u64, syn: bool) {
        self.segments += 1;
        if syn {
            self.retransmissions += u64::from(self.syns > 0);
            self.syns += 1;
        } else if first < self.sent_to && end > first {
            self.retransmissions += 1;
            // an acknowledgment could be of either transmission (Karn and Partridge 1987)
            self.timed.clear();
            if self.episode_until.is_none() {
                self.episodes += 1;
                self.episode_until = Some(self.sent_to);
            }
        } else if end > first {
            self.timed.push_back((end, now));
        }
        self.sent_to = self.sent_to.max(end);
    }

    /// All before `number` has reached the other end, as the host learns now.
    fn acknowledged(&mut self, now: Instant, number: u64) {
        self.acknowledged = self.acknowledged.max(number);
        let mut newest = None;
        while let Some(&(end, at)) = self.timed.front()
            && end <= number
        {
            newest = Some(at);
            self.timed.pop_front();
        }
        if let Some(at) = newest {
            let sample = now - at;
            self.rtt_samples += 1;
            let (least, most) = self.rtt.unwrap_or((sample, sample));
            self.rtt = Some((least.min(sample), most.max(sample)));
        }
        self.episode_until = self.episode_until.filter(|&until| number < until);
        if self.completed.is_none() && self.last.is_some_and(|last| number >= last) {
            self.completed = Some(now);
        }
    }

    fn reading(&self) -> SenderReading {
        let timeouts = self.latest.timeouts.load(Relaxed);
        let syn_timeouts = self.syns.saturating_sub(1);
        let timeouts = timeouts.saturating_sub(syn_timeouts);
        let srtt = Some(Span::from_nanos(self.latest.srtt_ns.load(Relaxed)));
        SenderReading {
            stats: SenderStats {
                segments: self.segments,
                retransmissions: self.retransmissions,
                fast_retransmits: self.episodes.saturating_sub(timeouts),
                timeouts,
                syn_timeouts,
                completed: self.completed,
                ..SenderStats::default()
            },
            cwnd: Bytes(self.latest.cwnd.load(Relaxed)),
            srtt: srtt.filter(|srtt| *srtt > Span::ZERO),
            rtt: self.rtt,
            rtt_samples: self.rtt_samples,
        }
    }
}

/// The receiving end of a TCP flow, as seen from outside.
#[derive(Default)]
pub struct Receiving {
    arrived: MarkCounts,
    /// Acknowledgments sent, the answer to the SYN included.
    acks: u64,
    /// Which mark its acknowledgments get, where it is not the default.
    marking: Option<Box<HostMarking>>,
    /// One past the last byte that it has acknowledged.
    acknowledged: u64,
    /// Application data in the whole flow, if it ends: the number of a FIN is none of it.
    size: u64,
}

impl Receiving {
    /// One at which nothing has arrived, of a flow of `size` bytes, if it ends.
    #[must_use]
    pub fn new(marking: Option<Box<HostMarking>>, size: Option<u64>) -> Self {
        Self { marking, size: size.unwrap_or(u64::MAX), ..Self::default() }
    }
}

/// A flow's end at a host.
pub enum End {
    /// Of TCP, where the data come from.
    Sending(Sending),
    /// Of TCP, where they go.
    Receiving(Receiving),
    /// Of UDP, where the packets come from.
    Source(Backlog),
    /// Of UDP, where they go; with what is heard of a call.
    Drain(MarkCounts, Option<Box<CallReceiver>>),
}

/// An end and the port by which its packets leave.
pub struct Place {
    /// The end.
    pub end: End,
    /// The port.
    pub port: PortId,
}

/// A host.
pub struct KernelHost {
    site: SiteId,
    ports: Vec<Outgoing<Frame>>,
    ends: BTreeMap<FlowId, Place>,
    /// The arrivals to be written to the device, and when each was due.
    pub out: VecDeque<(Instant, Frame)>,
    /// The applications over connections that begin here, once they have stopped.
    pub applications: Vec<Application>,
    timed: bool,
}

impl KernelHost {
    /// A host with these ends of flows.
    #[must_use]
    pub fn new(site: SiteId, ports: Vec<Outgoing<Frame>>, ends: BTreeMap<FlowId, Place>) -> Self {
        let timed = ports.iter().any(|out| out.port.has_deadlines());
        Self { site, ports, ends, out: VecDeque::new(), applications: Vec::new(), timed }
    }

    /// The host's kernel has sent `frame`, which is filled in.
    pub fn send(&mut self, now: Instant, mut frame: Frame, io: &mut Recorder<Frame>) {
        use perhop_core::node::Io;
        let meta = *frame.meta();
        let Some(place) = self.ends.get_mut(&meta.flow) else {
            perhop_core::sink::Sink::dropped(io, now, self.site, frame, DropReason::Unclassified);
            return;
        };
        match &mut place.end {
            End::Sending(end) => {
                let (first, syn) = frame.get().numbered.unwrap_or_default();
                let len = meta.tcp.map_or(0, |tcp| tcp.seq_end.wrapping_sub(low(first)));
                end.sent(now, first, first + u64::from(len), syn);
                frame.meta_mut().dscp = end.mark;
            }
            End::Receiving(end) => {
                end.acks += 1;
                if let Some(tcp) = meta.tcp {
                    end.acknowledged = end.acknowledged.max(widen(end.acknowledged, tcp.ack));
                }
                let meta = frame.meta_mut();
                meta.dscp = end.marking.as_mut().map_or(Dscp::DEFAULT, |marking| marking.mark(meta.class));
            }
            End::Source(sent) => sent.add(Bytes(frame.get().full_len.into())),
            End::Drain(..) => {}
        }
        self.ports[place.port.0 as usize].enqueue(now, frame, io);
        io.ready(place.port);
    }

    /// One past the highest byte that flow `flow` has sent from here: by it a number of 32 bits is made whole.
    #[must_use]
    pub fn near(&self, flow: FlowId) -> u64 {
        match self.ends.get(&flow).map(|place| &place.end) {
            Some(End::Sending(end)) => end.sent_to,
            _ => 0,
        }
    }

    /// A flow's retransmissions by its packets, beside its kernel's count.
    #[must_use]
    pub fn retransmissions(&self) -> Vec<(FlowId, u64, u64)> {
        let of = |(flow, place): (&FlowId, &Place)| match &place.end {
            End::Sending(end) => Some((*flow, end.retransmissions, end.latest.retransmissions.load(Relaxed))),
            _ => None,
        };
        self.ends.iter().filter_map(of).collect()
    }
}

/// The low half, as TCP numbers are on the wire.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32 on purpose")]
#[must_use]
pub const fn low(number: u64) -> u32 {
    number as u32
}

/// The number whose low half is `number` and that is nearest to `near`.
#[must_use]
pub fn widen(near: u64, number: u32) -> u64 {
    let ahead = number.wrapping_sub(low(near)).cast_signed();
    near.saturating_add_signed(ahead.into())
}

impl Node<Frame> for KernelHost {
    type Io = Recorder<Frame>;

    fn on_packet(&mut self, now: Instant, _from: PortId, frame: Frame, io: &mut Self::Io) {
        let meta = *frame.meta();
        let Some(place) = self.ends.get_mut(&meta.flow) else {
            perhop_core::sink::Sink::dropped(io, now, self.site, frame, DropReason::Unclassified);
            return;
        };
        let len = Bytes(frame.get().full_len.into());
        match &mut place.end {
            End::Sending(end) => {
                if let Some(tcp) = meta.tcp {
                    let number = widen(end.acknowledged, tcp.ack);
                    end.acknowledged(now, number);
                }
            }
            End::Receiving(end) if meta.dir == Dir::Forward => {
                end.arrived.add(meta.dscp, len);
                if let Some(marking) = &mut end.marking {
                    marking.covered.on_data(meta.dscp);
                }
            }
            End::Drain(arrived, receiver) => {
                arrived.add(meta.dscp, len);
                if let Some(receiver) = receiver {
                    receiver.receive(now, receiver.due(frame.get().sent));
                }
            }
            End::Receiving(_) | End::Source(_) => {}
        }
        self.out.push_back((now, frame));
    }

    fn poll_transmit(&mut self, now: Instant, to: PortId, io: &mut Self::Io) -> Departure<Frame> {
        self.ports[to.0 as usize].port.dequeue(now, io)
    }

    fn waits(&self, to: PortId) -> bool {
        !self.ports[to.0 as usize].port.is_empty()
    }

    fn on_transmitted(&mut self, _now: Instant, _to: PortId, _meta: &Meta, _io: &mut Self::Io) {}

    fn next_timeout(&self) -> Option<Instant> {
        if !self.timed {
            return None;
        }
        self.ports.iter().filter_map(|out| out.port.next_timeout()).min()
    }

    fn on_timeout(&mut self, now: Instant, io: &mut Self::Io) {
        if self.timed {
            self.ports.iter_mut().for_each(|out| out.port.on_timeout(now, io));
        }
    }
}

impl HostNode for KernelHost {
    type Packet = Frame;

    fn io(recorder: &mut Recorder<Frame>) -> &mut Self::Io {
        recorder
    }

    fn ports(&self) -> &[Outgoing<Frame>] {
        &self.ports
    }

    fn ports_mut(&mut self) -> &mut [Outgoing<Frame>] {
        &mut self.ports
    }

    fn restart(&mut self, now: Instant) {
        for place in self.ends.values_mut() {
            if let End::Sending(end) = &mut place.end {
                end.rtt = None;
            }
        }
        self.ports.iter_mut().for_each(|out| out.port.restart(now));
    }

    fn sender(&self, flow: FlowId) -> Option<SenderReading> {
        if let End::Sending(end) = &self.ends.get(&flow)?.end { Some(end.reading()) } else { None }
    }

    fn receiver(&self, flow: FlowId) -> Option<ReceiverReading<'_>> {
        let End::Receiving(end) = &self.ends.get(&flow)?.end else { return None };
        let delivered = Bytes(end.acknowledged.min(end.size));
        Some(ReceiverReading { delivered, arrived: &end.arrived, acks: end.acks })
    }

    fn source(&self, flow: FlowId) -> Option<Backlog> {
        if let End::Source(sent) = &self.ends.get(&flow)?.end { Some(*sent) } else { None }
    }

    fn drain(&self, flow: FlowId) -> Option<&MarkCounts> {
        if let End::Drain(arrived, _) = &self.ends.get(&flow)?.end { Some(arrived) } else { None }
    }

    fn call_receiver(&self, flow: FlowId) -> Option<&CallReceiver> {
        if let End::Drain(_, receiver) = &self.ends.get(&flow)?.end { receiver.as_deref() } else { None }
    }

    fn applications(&self) -> &[Application] {
        &self.applications
    }
}
