//! The rate at which the network delivers, by the acknowledgments.
//!
//! Source: draft-cheng-iccrg-delivery-rate-estimation, as Linux counts it (`tcp_rate.c`). Different: what is delivered counts in
//! bytes. Cost: a binary search for each segment that arrives; nothing where no congestion control asks for rates. Units: bytes,
//! ns.

use std::collections::VecDeque;

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

/// The repair of losses, as an acknowledgment leaves it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug, Default)]
pub enum Repair {
    /// No losses are known.
    #[default]
    None,
    /// Losses that acknowledgments told of are being repaired.
    Recovery,
    /// Losses that a time-out told of are being repaired.
    Timeout,
}

/// The state of the path by an acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RateSample {
    /// Bytes delivered since the latest of the arrived segments left, and the time that took: the longer of that between the
    /// sendings and that between the acknowledgments. `None` where that is shorter than any round trip, or nothing arrived.
    pub rate: Option<(Bytes, Span)>,
    /// All bytes delivered when that segment left (`P.delivered`); `None` if nothing arrived.
    pub prior_delivered: Option<u64>,
    /// The application had nothing to send when that segment left.
    pub app_limited: bool,
    /// Round trip of the latest segment that arrived and was sent once.
    pub rtt: Option<Span>,
    /// Bytes that the acknowledgment delivers (`newly_acked`).
    pub acked: Bytes,
    /// Bytes that it shows to be lost (`newly_lost`).
    pub lost: Bytes,
    /// Bytes in the network before it and after it.
    pub prior_in_flight: Bytes,
    /// Bytes in the network after it.
    pub in_flight: Bytes,
    /// All bytes delivered (`C.delivered`), and lost, since the start.
    pub delivered_total: u64,
    /// All bytes lost since the start.
    pub lost_total: u64,
    /// The repair that goes on.
    pub repair: Repair,
    //= draft-ietf-ccwg-bbr-2.4-tx-in-flight
    /// Bytes in the network as the latest of the arrived segments left, that segment included (`RS.tx_in_flight`), and bytes lost
    /// since then (`RS.lost`); 0 if nothing arrived.
    pub tx_in_flight: Bytes,
    /// Bytes lost since that segment left.
    pub lost_since: Bytes,
    /// The congestion window has been full since that segment left (`C.is_cwnd_limited`).
    pub cwnd_limited: bool,
    /// When the pacing lets the next segment leave; in the past if it may leave now.
    pub departs: Instant,
}

/// A segment that is taken for lost, or a part of one.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct LostSegment {
    /// Its first byte.
    pub start: u64,
    /// One past its last.
    pub end: u64,
    /// Bytes in the network as it left, itself included (`P.tx_in_flight`).
    pub tx_in_flight: Bytes,
    /// Bytes lost since it left, itself included.
    pub lost_since: Bytes,
    /// The application had nothing to send when it left.
    pub app_limited: bool,
    /// All bytes delivered (`C.delivered`).
    pub delivered_total: u64,
}

/// A transmission.
#[derive(Clone, Copy, Debug)]
struct Transmission {
    /// When it left, and one past its last byte.
    key: (Instant, u64),
    /// `C.delivered`, `C.delivered_time` and `C.first_sent_time` when it left.
    delivered: u64,
    delivered_time: Instant,
    first_sent: Instant,
    app_limited: bool,
    /// Bytes in the network with it, and all bytes lost, when it left (`P.tx_in_flight`, `P.lost`).
    in_flight: u64,
    lost: u64,
    /// It has been sent before.
    again: bool,
}

/// The estimate of a connection.
//= draft-dre-00-2.2-units
//= draft-dre-00-3.1.1-state
#[derive(Clone, Debug, Default)]
pub struct RateEstimator {
    /// Transmissions in order, from the oldest that may still be acknowledged.
    sent: VecDeque<Transmission>,
    delivered: u64,
    delivered_time: Instant,
    first_sent: Instant,
    /// Samples are the application's until so much has been delivered; 0 for no such time (`C.app_limited`).
    app_limited: u64,
    /// Bytes that the present acknowledgment delivers, and the latest transmission among them.
    acked: u64,
    latest: Option<Transmission>,
    /// The latest among those that were sent once, and its round trip.
    latest_once: Option<(Instant, u64)>,
    rtt: Option<Span>,
    /// Bytes lost and in the network before it.
    lost: u64,
    prior_in_flight: u64,
    /// Bytes delivered when the congestion window was last full.
    full_at: Option<u64>,
    /// Segments lost that the congestion control has not heard of.
    losses: Vec<LostSegment>,
}

/// The network and the losses as a segment leaves.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Leaving {
    /// It has been sent before.
    pub again: bool,
    /// Nothing was outstanding.
    pub idle: bool,
    /// Bytes in the network, the segment included.
    pub in_flight: u64,
    /// Bytes lost since the start.
    pub lost: u64,
}

impl RateEstimator {
    /// A segment that ends before `end` leaves.
    //= draft-dre-00-3.2-every
    //= draft-dre-00-3.1.2-state
    //= draft-dre-00-3.2-idle
    //= draft-ietf-ccwg-bbr-4.1.2.2-sent
    pub fn on_sent(&mut self, now: Instant, end: u64, leaving: Leaving) {
        if leaving.idle {
            (self.first_sent, self.delivered_time) = (now, now);
        }
        let one = Transmission {
            key: (now, end),
            delivered: self.delivered,
            delivered_time: self.delivered_time,
            first_sent: self.first_sent,
            app_limited: self.app_limited > 0,
            in_flight: leaving.in_flight,
            lost: leaving.lost,
            again: leaving.again,
        };
        let last = self.sent.back().is_none_or(|last| last.key < one.key);
        let index =
            if last { self.sent.len() } else { self.sent.partition_point(|other| other.key < one.key) };
        self.sent.insert(index, one);
    }

    //= draft-ietf-ccwg-bbr-2.2-cwnd-limited
    /// The congestion window is full.
    pub const fn fill(&mut self) {
        self.full_at = Some(self.delivered);
    }

    /// The bytes `start..end` are taken for lost that left at `sent`: `lost` bytes have been so far, these included.
    pub fn lose(&mut self, sent: Instant, (start, end): (u64, u64), lost: u64) {
        let Some(one) = self.find(sent, end) else { return };
        self.losses.push(LostSegment {
            start,
            end,
            tx_in_flight: Bytes(one.in_flight),
            lost_since: Bytes(lost - one.lost),
            app_limited: one.app_limited,
            delivered_total: self.delivered,
        });
    }

    /// Takes out what has been lost since the last call, in the order of the marking.
    pub fn take_losses(&mut self) -> impl Iterator<Item = LostSegment> + '_ {
        self.losses.drain(..)
    }

    /// The transmission at `sent` that had the byte before `end`.
    fn find(&self, sent: Instant, end: u64) -> Option<Transmission> {
        let index = self.sent.partition_point(|one| one.key < (sent, end));
        self.sent.get(index).copied().filter(|one| one.key.0 == sent)
    }

    /// An acknowledgment has arrived: so much was in the network, and so much had been lost.
    pub const fn begin(&mut self, in_flight: u64, lost: u64) {
        (self.acked, self.latest, self.latest_once, self.rtt) = (0, None, None, None);
        (self.prior_in_flight, self.lost) = (in_flight, lost);
    }

    //= draft-dre-00-3.3-once
    /// A segment of `len` bytes has arrived that left at `sent` and ends before `end`.
    //= draft-dre-00-3.3-each
    //= draft-dre-00-3.3-delivered
    //= draft-dre-00-3.3-newest
    //= draft-dre-00-4.3-reordering
    pub fn arrived(&mut self, now: Instant, sent: Instant, end: u64, len: u64) {
        self.acked += len;
        self.delivered += len;
        let Some(one) = self.find(sent, end) else { return };
        //= draft-bbr-00-4.1.2.1-retransmitted
        //= draft-ietf-ccwg-bbr-4.2-ambiguity
        //= draft-bbr-00-4.1.2.1-latest
        if !one.again && self.latest_once.is_none_or(|latest| latest < one.key) {
            self.latest_once = Some(one.key);
            self.rtt = Some(now - sent);
        }
        if self.latest.is_none_or(|latest| latest.key < one.key) {
            self.latest = Some(one);
        }
    }

    /// Everything has been made of the acknowledgment: `lost` bytes have been lost so far, `in_flight` are in the network, and
    /// everything below `una` is acknowledged.
    //= draft-dre-00-2.2.1-data
    //= draft-dre-00-2.2.1-ack-elapsed
    //= draft-dre-00-2.2.3-send-elapsed
    //= draft-dre-00-2.2.4-rate
    //= draft-dre-00-3.3-first-sent
    //= draft-dre-00-3.3-limited
    //= draft-dre-00-3.3-none
    //= draft-dre-00-2.3-round
    //= draft-dre-00-3.3-min-rtt
    //= draft-dre-00-4.4-implausible
    //= draft-dre-00-3.3-clear
    pub fn sample(
        &mut self,
        now: Instant,
        min_rtt: Option<Span>,
        lost: u64,
        in_flight: u64,
        una: u64,
    ) -> RateSample {
        if self.app_limited > 0 && self.delivered > self.app_limited {
            self.app_limited = 0;
        }
        if self.acked > 0 {
            self.delivered_time = now;
        }
        while self.sent.front().is_some_and(|one| one.key.1 <= una) {
            self.sent.pop_front();
        }
        let rate = self.latest.and_then(|one| {
            self.first_sent = one.key.0;
            let sending = one.key.0 - one.first_sent;
            let interval = sending.max(now - one.delivered_time);
            let plausible = min_rtt.is_none_or(|least| interval >= least) && interval > Span::ZERO;
            plausible.then_some((Bytes(self.delivered - one.delivered), interval))
        });
        RateSample {
            rate,
            prior_delivered: self.latest.map(|one| one.delivered),
            app_limited: self.latest.is_some_and(|one| one.app_limited),
            rtt: self.rtt,
            acked: Bytes(self.acked),
            lost: Bytes(lost - self.lost),
            prior_in_flight: Bytes(self.prior_in_flight),
            in_flight: Bytes(in_flight),
            delivered_total: self.delivered,
            lost_total: lost,
            repair: Repair::None,
            tx_in_flight: Bytes(self.latest.map_or(0, |one| one.in_flight)),
            lost_since: Bytes(self.latest.map_or(0, |one| lost - one.lost)),
            cwnd_limited: self.latest.zip(self.full_at).is_some_and(|(one, full)| full >= one.delivered),
            departs: now,
        }
    }

    /// The application has nothing more to send while `in_flight` bytes are in the network.
    //= draft-dre-00-3.4-mark
    pub fn limit(&mut self, in_flight: u64) {
        self.app_limited = (self.delivered + in_flight).max(1);
    }

    /// Whether samples are the application's.
    #[must_use]
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited > 0
    }
}
