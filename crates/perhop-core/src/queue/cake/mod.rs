//! CAKE: a shaper, tins by DS field, and in each a queue with COBALT for each flow, with fairness among hosts.
//!
//! Source: Hoeiland-Joergensen, Taht and Morton 2018, sections II and III; `sch_cake.c` in Linux, decision by decision.
//! Different: the limit counts packets or their bytes, not memory; hashes are perhop's own, of flows and of the addresses of the
//! scenario; a flow that the scenario does not know is a host of its own. No `ingress`, no ATM cells, no rate of its own finding.
//! Units: nanoseconds, bytes; the limit in packets or in bytes, the packet on the wire not counted.
//! Cost: that of COBALT, a hash, a step in a ring and a random number for each turn of a flow; for the first packet of a flow two
//! look-ups of hosts. A drop for the limit looks at every flow, one that comes back while its state decays at those that do.

mod hash;
mod tin;
mod tins;

use std::cmp::Reverse;
use std::sync::Arc;

pub use self::hash::Isolation;
pub use self::tins::Tins;

use self::hash::Hasher;
use self::tin::Tin;
use self::tins::Pace;
use super::cobalt::Law;
use super::early::{not_empty, some_bytes, some_time};
use super::{AckFilter, Backlog, CobaltParams, Queue};
use crate::classify::FlowTable;
use crate::framing::Framing;
use crate::packet::{Meta, Packet};
use crate::param_error::ParamError;
use crate::rng::Stream;
use crate::sink::{DropReason, Sink, SiteId};
use crate::time::{Instant, Span};
use crate::units::{BitRate, Bytes, QueueSize};

/// Parameters of [`Cake`].
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct CakeParams {
    /// Most that may wait in all queues together.
    pub limit: QueueSize,
    /// The rate of the shaper, of which tins have their parts; without it nothing is held back, and tins share by turns.
    pub rate: Option<BitRate>,
    /// How the length of a packet counts for the shaper and for turns.
    pub framing: Framing,
    /// Which tins there are.
    pub tins: Tins,
    /// Among whom it is fair.
    pub isolation: Isolation,
    /// The longest usual round trip: COBALT's interval, and 20 times its target.
    pub rtt: Span,
    /// The longest packet, by which COBALT waits longer at a low rate.
    pub mtu: Bytes,
    /// The ACK filter of each flow, if it has one.
    pub ack_filter: Option<AckFilter>,
}

/// The shaper of the whole.
#[derive(Clone, Copy, Debug)]
struct Shaper {
    pace: Pace,
    /// When the next packet may leave: the time that all others so far have taken.
    next: Instant,
    /// The same for packets half as long again, of which none was dropped.
    failsafe: Instant,
}

impl Shaper {
    /// Until when nothing may leave.
    const fn opens(&self) -> Instant {
        if self.next.as_nanos() < self.failsafe.as_nanos() { self.next } else { self.failsafe }
    }

    //= cake-advance_shaper-deficit
    fn charge(&mut self, length: Bytes) {
        let time = self.pace.time(length);
        self.next += time;
        self.failsafe += time + Span::from_nanos(time.as_nanos() / 2);
    }
}

/// A queue with CAKE.
#[derive(Debug)]
pub struct Cake<P> {
    site: SiteId,
    limit: QueueSize,
    framing: Framing,
    shaper: Option<Shaper>,
    /// By DS field.
    by_mark: [u8; 64],
    tins: Vec<Tin<P>>,
    /// The tin in turn, where there is no shaper.
    turn: usize,
    hasher: Hasher,
    total: Backlog,
    stream: Stream,
}

impl<P: Packet> Cake<P> {
    /// Empty tins; drops are reported as from `site`. The hosts of each flow are those of `flows`. From `stream` come one number for
    /// the hashes, one for each turn of a flow, and BLUE's chances.
    ///
    /// # Errors
    /// The parameter, and what is wrong with it.
    pub fn new(
        site: SiteId,
        params: CakeParams,
        flows: Arc<FlowTable>,
        mut stream: Stream,
    ) -> Result<Self, ParamError> {
        not_empty("limit", params.limit)?;
        some_time("rtt", params.rtt)?;
        some_bytes("mtu", params.mtu)?;
        let Framing { overhead, mpu } = params.framing;
        for (name, length) in [("overhead", overhead), ("mpu", mpu), ("mtu", params.mtu)] {
            if length.0 > 1 << 16 {
                return Err(ParamError::new(name, "must be at most 65536B"));
            }
        }
        let rate = params.rate.map(|rate| rate.bits_per_sec() / 8);
        //= cake-set_rate-target
        let law = |pace: Option<Pace>| {
            Law::new(&CobaltParams {
                limit: params.limit,
                target: Span::from_nanos((params.rtt.as_nanos() / 20).max(1000)),
                interval: params.rtt,
                packet_time: pace.map_or(Span::ZERO, |pace| pace.time(params.mtu)),
                ecn: true,
                p_inc: 1.0 / 256.0,
                p_dec: 1.0 / 4096.0,
                ack_filter: params.ack_filter,
            })
            .map_err(|_| ParamError::new("rtt", "must exceed 1us"))
        };
        let tin = |part: tins::Part| {
            let pace = part.rate.map(Pace::of);
            Ok(Tin::new(site, params.ack_filter, part, pace, law(pace)?))
        };
        let tins = params.tins.parts(rate).into_iter().map(tin).collect::<Result<_, _>>()?;
        Ok(Self {
            site,
            limit: params.limit,
            framing: params.framing,
            shaper: rate.map(|rate| Shaper {
                pace: Pace::of(rate),
                next: Instant::ZERO,
                failsafe: Instant::ZERO,
            }),
            by_mark: params.tins.by_mark(),
            tins,
            turn: 0,
            hasher: Hasher::new(params.isolation, flows, &mut stream),
            total: Backlog::default(),
            stream,
        })
    }

    /// The tin that is served now; something waits.
    fn choose(&mut self, now: Instant) -> usize {
        if self.shaper.is_some() {
            //= cake-dequeue-schedule
            let mut best = (0, Instant::MAX);
            for (at, tin) in self.tins.iter().enumerate().filter(|(_, tin)| !tin.is_idle()) {
                if tin.next() <= now || tin.next() <= best.1 {
                    best = (at, tin.next());
                }
            }
            return best.0;
        }
        //= cake-dequeue-turns
        while !self.tins[self.turn].is_in_turn() {
            self.turn = (self.turn + 1) % self.tins.len();
        }
        self.turn
    }

    /// Drops the first packet of the flow with most bytes.
    //= cake-drop-longest
    #[cold]
    fn shed(&mut self, now: Instant, sink: &mut dyn Sink<P>) {
        let longest = self.tins.iter().enumerate().filter_map(|(at, tin)| {
            let (bytes, flow) = tin.longest()?;
            Some((bytes, Reverse(at), flow))
        });
        let Some((_, Reverse(at), flow)) = longest.max() else { return };
        if let Some(pkt) = self.tins[at].evict(now, flow) {
            self.total.remove(pkt.meta().len);
            sink.dropped(now, self.site, pkt, DropReason::Overflow);
        }
    }
}

impl<P: Packet> Queue<P> for Cake<P> {
    fn enqueue(&mut self, now: Instant, pkt: P, sink: &mut dyn Sink<P>) {
        let Self { hasher, by_mark, tins, shaper, .. } = self;
        //= cake-select_tin-mark
        let tin = &mut tins[usize::from(by_mark[pkt.meta().dscp.index()])];
        let flow = tin.place(hasher, pkt.meta());
        //= cake-enqueue-idle
        if tin.backlog().packets == 0 {
            tin.wake(now);
            if let Some(shaper) = shaper
                && self.total.packets == 0
                && shaper.next < now
            {
                (shaper.next, shaper.failsafe) = (now, now);
            }
        }
        let before = tin.backlog();
        tin.enqueue(now, flow, pkt, hasher.isolation(), sink);
        self.total += tin.backlog();
        self.total = self.total - before;
        while self.total.exceeds(self.limit) {
            self.shed(now, sink);
        }
    }

    fn dequeue(&mut self, now: Instant, sink: &mut dyn Sink<P>) -> Option<P> {
        let mut first = true;
        loop {
            if self.total.packets == 0 || self.not_before().is_some_and(|at| at > now) {
                return None;
            }
            let at = self.choose(now);
            let Self { framing, tins, hasher, stream, .. } = self;
            let tin = &mut tins[at];
            let before = tin.backlog();
            let served = tin.serve(now, &mut first, hasher.isolation(), stream, sink);
            self.total += tin.backlog();
            self.total = self.total - before;
            if let Some((flow, pkt)) = served {
                //= cake-overhead-length
                let length = framing.on_line(pkt.meta().len);
                tin.charge(now, flow, length);
                if let Some(shaper) = &mut self.shaper {
                    shaper.charge(length);
                }
                return Some(pkt);
            }
        }
    }

    fn peek(&self) -> Option<&Meta> {
        self.tins.iter().rev().find_map(Tin::peek)
    }

    fn backlog(&self) -> Backlog {
        self.total
    }

    //= cake-dequeue-shaper
    fn not_before(&self) -> Option<Instant> {
        self.shaper.as_ref().filter(|_| self.total.packets > 0).map(Shaper::opens)
    }
}
