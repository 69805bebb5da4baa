//! Laws of a TCP sender and a receiver across a network that loses, holds up, repeats and marks.

use std::collections::BTreeSet;

use arbitrary::Arbitrary;
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::ack::{AckPolicy, Delayed, EverySegment};
use perhop_tcp::receiver::{Receiver, ReceiverParams};
use perhop_tcp::segment::{Ack, Segment};
use perhop_tcp::sender::SenderStats;
use perhop_tcp::settings::TcpParams;
use proptest::prelude::*;

use super::sender::{MSS, Options, START};
use crate::channel::{Line, PacketEffect};
use crate::observed_sender::ObservedSender;

/// The network between the ends.
#[derive(Clone, PartialEq, Eq, Debug, Default, Arbitrary)]
pub struct Network {
    /// Effects on segments.
    pub there: Vec<PacketEffect>,
    /// Effects on acknowledgments.
    pub back: Vec<PacketEffect>,
    /// Windows of the first acknowledgments, in half segments; after its end they are as they were offered.
    pub windows: Vec<u8>,
    /// Whether acknowledgments are delayed.
    pub delayed: bool,
    /// Later writes of the application, in bytes, and after how many milliseconds without anything to do.
    pub writes: Vec<(u8, u16)>,
}

/// Random networks, in which a third of everything meets some effect for up to 150 packets each way.
pub fn networks() -> impl Strategy<Value = Network> {
    let effects = || {
        let effect = prop_oneof![
            12 => Just(PacketEffect::Passes),
            3 => Just(PacketEffect::Lost),
            1 => any::<u8>().prop_map(PacketEffect::Late),
            1 => any::<u8>().prop_map(PacketEffect::Twice),
            1 => Just(PacketEffect::Marked),
        ];
        prop::collection::vec(effect, 0..150)
    };
    let windows = prop_oneof![2 => Just(vec![]), 1 => prop::collection::vec(0u8..42, 0..60)];
    let writes =
        prop_oneof![1 => Just(vec![]), 1 => prop::collection::vec((any::<u8>(), any::<u16>()), 0..4)];
    (effects(), effects(), windows, any::<bool>(), writes)
        .prop_map(|(there, back, windows, delayed, writes)| Network { there, back, windows, delayed, writes })
}

/// A receiver and what it must have delivered.
struct Far {
    receiver: Receiver,
    arrived: BTreeSet<u64>,
    fin: Option<u64>,
}

impl Far {
    fn new(params: &TcpParams, delayed: bool) -> Self {
        let policy: Box<dyn AckPolicy> =
            if delayed { Box::new(Delayed::new(Span::from_millis(40))) } else { Box::new(EverySegment) };
        let receiver = Receiver::new(ReceiverParams::from(params), policy);
        Self { receiver, arrived: BTreeSet::new(), fin: None }
    }

    /// The bytes delivered are those that arrived without a gap, each once.
    fn hear(&mut self, now: Instant, segment: &Segment, marked: bool) {
        let before = self.receiver.delivered();
        self.receiver.on_segment(now, segment, marked && segment.ect);
        self.arrived.extend(segment.seq..segment.end);
        self.fin = self.fin.or_else(|| segment.fin.then(|| segment.end - 1));
        let contiguous = (0..).find(|byte| !self.arrived.contains(byte)).unwrap_or(u64::MAX);
        let data = self.fin.map_or(contiguous, |fin| fin.min(contiguous));
        assert_eq!((self.receiver.ack(), self.receiver.delivered()), (contiguous, Bytes(data)));
        assert!(before <= self.receiver.delivered(), "delivered twice");
    }
}

/// A transfer ends whatever happens on the way, each byte is delivered once and in order, nothing is acknowledged that
/// did not arrive, and no data waits without a deadline.
pub fn delivers(params: &TcpParams, options: &Options, network: &Network) -> SenderStats {
    let params = options.apply(params);
    let mut ends = Ends::new(&params, network);
    let mut writes = network.writes.iter().filter(|_| params.size.is_some() && !params.close);
    // Each step delivers a packet or lets a timer expire; every effect costs at most one expiry and the segments that
    // go-back-N then sends again.
    let effects = network.there.len() + network.back.len() + network.windows.len();
    for _ in 0..400 * (100 + effects) {
        let now = ends.step();
        if ends.observed.una() < ends.goal {
            continue;
        }
        let Some((more, pause)) = writes.next() else {
            let close = params.close && params.size.is_some();
            assert!(params.size.is_none() || ends.far.receiver.delivered().0 + u64::from(close) == ends.goal);
            return *ends.observed.sender().stats();
        };
        ends.write(now + Span::from_millis(u64::from(*pause)), u64::from(*more));
    }
    panic!("no progress: {} acknowledged, {} delivered", ends.observed.una(), ends.far.receiver.delivered());
}

/// Both ends and what lies between them.
struct Ends {
    observed: ObservedSender,
    far: Far,
    there: Line<Segment>,
    back: Line<Ack>,
    windows: std::vec::IntoIter<u8>,
    /// Bytes to be acknowledged.
    goal: u64,
    /// When the application writes what it has written last.
    written: Instant,
}

impl Ends {
    fn new(params: &TcpParams, network: &Network) -> Self {
        let delay = Span::from_millis(50);
        Self {
            observed: ObservedSender::new(params, START),
            far: Far::new(params, network.delayed),
            there: Line::new(delay, &network.there),
            back: Line::new(delay, &network.back),
            windows: network.windows.clone().into_iter(),
            goal: params.size.map_or(60 * MSS, |size| size.0 + u64::from(params.close)),
            written: START,
        }
    }

    fn write(&mut self, now: Instant, more: u64) {
        self.observed.write(Bytes(more));
        self.goal += more;
        self.written = now;
        self.send(now);
    }

    /// The next thing happens.
    fn step(&mut self) -> Instant {
        let timers = [self.observed.sender().next_timeout(), self.far.receiver.next_timeout()];
        let next = [self.there.next_arrival(), self.back.next_arrival()].into_iter().chain(timers);
        let Some(now) = next.flatten().min() else { return self.written };
        let now = now.max(self.written);
        self.observed.on_timeout(now);
        self.far.receiver.on_timeout(now);
        if let Some((segment, marked)) = self.there.receive(now) {
            self.far.hear(now, &segment, marked);
        }
        while let Some(ack) = self.far.receiver.poll_transmit(now) {
            let window = self.windows.next().map_or(ack.window, |halves| Bytes(u64::from(halves) * MSS / 2));
            self.back.send(now, Ack { window, ..ack });
        }
        if let Some((ack, _)) = self.back.receive(now) {
            self.observed.ack(now, &ack);
        }
        self.send(now);
        now
    }

    fn send(&mut self, now: Instant) {
        while let Some(segment) = self.observed.poll(now) {
            self.there.send(now, segment);
        }
    }
}
