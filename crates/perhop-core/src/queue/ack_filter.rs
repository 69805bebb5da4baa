//! ACK filter: where an acknowledgment arrives, one that waits and that it makes redundant is dropped.
//!
//! Source: `cake_ack_filter` of `sch_cake.c` in Linux, decision by decision; Hoeiland-Joergensen, Taht and Morton 2018; the idea is
//! RFC 3449 section 5.2.1.
//! Different: of several flows in one queue, ACKs are neighbours if none of the same flow waits between them; none is dropped
//! for an arrival that still has no room. Units: numbers of TCP, modulo 2^32.
//! Cost: for an arrival that acknowledges, a look at each packet that waits, and at the headers of the pure ACKs of its
//! flow until two are redundant. For others, and where it is off, nothing.

use crate::packet::{Acknowledgment, Kind, Packet};

/// How readily acknowledgments are dropped.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AckFilter {
    /// The first of two that are redundant.
    Conservative,
    /// Also the only one, if no other packet of the flow came between it and the arrival, and both say the same of congestion.
    Aggressive,
}

/// ECE and CWR (RFC 3168 section 6.1).
const CONGESTION: u8 = 0x40 | 0x80;

impl AckFilter {
    /// Which of those `waiting` is dropped because `arrival` comes.
    pub(super) fn redundant<'a, P: Packet>(
        self,
        waiting: impl Iterator<Item = &'a P>,
        arrival: &P,
    ) -> Option<usize> {
        //= ackfilter-ack_filter-trigger
        let newer = arrival.acknowledgment()?;
        let congestion = |pkt: &P| pkt.meta().tcp.map(|tcp| tcp.flags & CONGESTION);
        let own = (arrival.meta().flow, arrival.meta().dir);
        // the first redundant one, and what it says of congestion
        let mut first = None;
        let mut last_of_flow = 0;
        for (at, pkt) in waiting.enumerate() {
            let meta = pkt.meta();
            if (meta.flow, meta.dir) != own {
                continue;
            }
            last_of_flow = at;
            if meta.tcp.is_none() {
                continue;
            }
            //= ackfilter-ack_filter-congestion
            first = first.filter(|(_, ack)| *ack == congestion(pkt));
            let redundant = meta.kind == Kind::PureAck
                && pkt.acknowledgment().is_some_and(|older| makes_redundant(&newer, &older));
            match (redundant, first) {
                (false, _) => {}
                (true, None) => first = Some((at, congestion(pkt))),
                //= ackfilter-ack_filter-two
                (true, Some((at, _))) => return Some(at),
            }
        }
        let (at, ack) = first?;
        //= ackfilter-ack_filter-aggressive
        (self == Self::Aggressive && at == last_of_flow && ack == congestion(arrival)).then_some(at)
    }
}

/// Whether one number lies after another, modulo 2^32.
const fn is_after(number: u32, other: u32) -> bool {
    other.wrapping_sub(number) >= 1 << 31
}

/// Whether nothing is lost with `older` once `newer` arrives.
fn makes_redundant(newer: &Acknowledgment, older: &Acknowledgment) -> bool {
    //= ackfilter-may_drop-alone
    //= ackfilter-may_drop-numbers
    if !older.alone || is_after(older.number, newer.number) {
        return false;
    }
    if let Some((value, echo)) = older.timestamps {
        let (newer_value, newer_echo) = newer.timestamps.unwrap_or_default();
        if is_after(value, newer_value) || is_after(echo, newer_echo) {
            return false;
        }
    }
    //= ackfilter-sack_compare-sack
    let (old, new) = (older.sack(), newer.sack());
    let within = |&(start, end): &(u32, u32)| {
        let duplicate = is_after(older.number, start);
        !duplicate && new.iter().any(|&(from, to)| !is_after(from, start) && !is_after(end, to))
    };
    let bytes = |blocks: &[(u32, u32)]| {
        blocks.iter().fold(0u32, |sum, (start, end)| sum.wrapping_add(end.wrapping_sub(*start)))
    };
    old.iter().all(within) && (older.number != newer.number || bytes(new) > bytes(old))
}
