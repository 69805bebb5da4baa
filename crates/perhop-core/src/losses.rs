//! Packets that a link loses or marks on arrival at its port, before they are queued: by a list, by chance, or in bursts.

use std::collections::BTreeMap;

use crate::gilbert_elliott::GilbertElliott;
use crate::packet::{Ecn, FlowId, OnWire};
use crate::rng::Stream;
use crate::sink::{DropReason, SiteId};

/// A listed packet: its flow, its first byte, and whether it is the SYN.
pub type Key = (FlowId, u64, bool);

/// Resolution of a probability: what a float can tell apart.
const DRAWS: u64 = 1 << 53;

/// The decision about a packet.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum LossVerdict {
    /// It goes on.
    Pass,
    /// It is lost.
    Lost(DropReason),
}

/// The decisions about the transmissions of one packet.
#[derive(Debug, Default)]
struct Listed {
    seen: u32,
    /// (which transmission from 1, whether it is marked instead of lost).
    actions: Vec<(u32, bool)>,
}

/// The losses of one direction of a link.
#[derive(Debug)]
pub struct Losses {
    /// Where they are reported.
    pub site: SiteId,
    listed: BTreeMap<Key, Listed>,
    /// Probability in units of 1 / [`DRAWS`], and the draws.
    random: Option<(u64, Stream)>,
    bursts: Option<GilbertElliott>,
    /// Packets lost so far.
    pub lost: u64,
}

impl Losses {
    /// Losses with probability `p` inside [0, 1), drawn from `stream`, beside `bursts` and those of `list`: (packet, which
    /// transmission, marked instead of lost).
    pub fn new(
        site: SiteId,
        p: f64,
        stream: Stream,
        bursts: Option<GilbertElliott>,
        list: &[(Key, u32, bool)],
    ) -> Self {
        let mut listed: BTreeMap<Key, Listed> = BTreeMap::new();
        for &(key, transmission, mark) in list {
            listed.entry(key).or_default().actions.push((transmission, mark));
        }
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            clippy::cast_precision_loss,
            reason = "p is inside [0, 1), and the factor a power of two"
        )]
        let threshold = (p * DRAWS as f64) as u64;
        Self { site, listed, random: (threshold > 0).then_some((threshold, stream)), bursts, lost: 0 }
    }

    /// Decides about a packet, and marks it where the list says so. What cannot carry a mark is lost instead, as at a
    /// queue that marks (RFC 3168 section 5).
    pub fn decide(&mut self, pkt: &mut impl OnWire) -> LossVerdict {
        let verdict = self.verdict(pkt);
        self.lost += u64::from(verdict != LossVerdict::Pass);
        verdict
    }

    fn verdict(&mut self, pkt: &mut impl OnWire) -> LossVerdict {
        let listed = self.listed_verdict(pkt);
        // the chain goes on with every packet
        if self.bursts.as_mut().is_some_and(GilbertElliott::loses) {
            return LossVerdict::Lost(DropReason::Loss);
        }
        if let Some((threshold, stream)) = &mut self.random
            && stream.below(DRAWS) < *threshold
        {
            return LossVerdict::Lost(DropReason::Loss);
        }
        listed
    }

    /// The list's decision; it counts every arrival of its packets.
    fn listed_verdict(&mut self, pkt: &mut impl OnWire) -> LossVerdict {
        if self.listed.is_empty() {
            return LossVerdict::Pass;
        }
        let Some((first, syn)) = pkt.numbered() else { return LossVerdict::Pass };
        let Some(listed) = self.listed.get_mut(&(pkt.meta().flow, first, syn)) else {
            return LossVerdict::Pass;
        };
        listed.seen += 1;
        let Some((_, mark)) = listed.actions.iter().find(|action| action.0 == listed.seen) else {
            return LossVerdict::Pass;
        };
        let meta = pkt.meta_mut();
        if *mark && meta.ecn != Ecn::NotEct {
            meta.ecn = Ecn::Ce;
            return LossVerdict::Pass;
        }
        LossVerdict::Lost(DropReason::LossList)
    }
}
