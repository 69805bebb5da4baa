//! Flows and hosts of CAKE by hashes, eight places each where it can be.

use std::sync::Arc;

use crate::classify::FlowTable;
use crate::packet::{Address, Dir, Meta};
use crate::queue::fq::mixed;
use crate::rng::Stream;

/// Queues of a tin, and places for hosts.
pub(super) const PLACES: usize = 1024;
const WAYS: usize = 8;

/// Flows, hosts or all: each has a queue of its own, and turns are fair among hosts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Isolation {
    /// Nothing: all share one queue.
    Flowblind,
    /// Each host that sends.
    Srchost,
    /// Each host that receives.
    Dsthost,
    /// Each pair of hosts.
    Hosts,
    /// Each flow and direction.
    Flows,
    /// Each flow; hosts that send share fairly among themselves, whatever the number of their flows.
    DualSrchost,
    /// Each flow; hosts that receive share fairly.
    DualDsthost,
    /// Each flow; a host with many flows gets no more, whether it sends or receives.
    TripleIsolate,
}

impl Isolation {
    /// Whether turns are fair among hosts that send.
    pub(super) const fn dual_source(self) -> bool {
        matches!(self, Self::DualSrchost | Self::TripleIsolate)
    }

    /// Whether turns are fair among hosts that receive.
    pub(super) const fn dual_destination(self) -> bool {
        matches!(self, Self::DualDsthost | Self::TripleIsolate)
    }
}

/// The hash of a packet.
#[derive(Debug)]
pub(super) struct Hasher {
    isolation: Isolation,
    flows: Arc<FlowTable>,
    salt: u64,
}

impl Hasher {
    /// One whose hashes nobody knows before `stream` gave a number.
    pub(super) fn new(isolation: Isolation, flows: Arc<FlowTable>, stream: &mut Stream) -> Self {
        Self { isolation, flows, salt: stream.below(u64::MAX) }
    }

    pub(super) const fn isolation(&self) -> Isolation {
        self.isolation
    }

    /// The hash by which the queue of a packet is found; `None` where there is but one.
    //= cake-hash-isolation
    #[inline]
    pub(super) fn queue(&self, meta: &Meta) -> Option<u32> {
        Some(match self.isolation {
            Isolation::Flowblind => return None,
            Isolation::Srchost => self.hosts(meta)[0],
            Isolation::Dsthost => self.hosts(meta)[1],
            Isolation::Hosts => {
                let [source, destination] = self.hosts(meta);
                source ^ destination
            }
            Isolation::Flows | Isolation::DualSrchost | Isolation::DualDsthost | Isolation::TripleIsolate => {
                self.flow(meta)
            }
        })
    }

    fn flow(&self, meta: &Meta) -> u32 {
        let key = u64::from(meta.flow.0) << 1 | u64::from(meta.dir == Dir::Reverse);
        mixed(key ^ self.salt) as u32
    }

    /// The hashes of the host that sends a packet and of the one that receives it.
    pub(super) fn hosts(&self, meta: &Meta) -> [u32; 2] {
        match self.flows.get(meta.flow) {
            Some(known) => {
                let key = known.key.towards(meta.dir);
                let of = |Address(number)| mixed(mixed((number >> 64) as u64 ^ self.salt) ^ number as u64);
                [key.src, key.dst].map(|host| of(host) as u32)
            }
            None => [self.flow(meta); 2],
        }
    }
}

/// The places where a hash may be, its own first.
//= cake-hash-ways
pub(super) fn ways(hash: u32) -> impl Iterator<Item = usize> + Clone {
    let own = hash as usize % PLACES;
    (0..WAYS).map(move |way| own - own % WAYS + (own + way) % WAYS)
}

/// The hosts of one side, each with how many long flows it has.
#[derive(Debug)]
pub(super) struct Hosts(Box<[(u32, u16)]>);

impl Default for Hosts {
    fn default() -> Self {
        Self(vec![(0, 0); PLACES].into())
    }
}

impl Hosts {
    /// The place of a host; one without long flows makes room for it.
    pub(super) fn place(&mut self, hash: u32) -> u16 {
        let known = ways(hash).find(|&at| self.0[at].0 == hash);
        let free = || ways(hash).find(|&at| self.0[at].1 == 0);
        let at = known.or_else(free).unwrap_or(hash as usize % PLACES);
        self.0[at].0 = hash;
        at as u16
    }

    /// How many long flows the host at `at` has.
    pub(super) fn long(&self, at: u16) -> u16 {
        self.0[usize::from(at)].1
    }

    /// The host at `at` has one more, or one less.
    pub(super) fn count(&mut self, at: u16, more: bool) {
        let long = &mut self.0[usize::from(at)].1;
        *long = if more { *long + 1 } else { *long - 1 };
    }
}
