//! Recovery by time: the reordering timer, and probes of the tail.
//!
//! Source: RFC 8985 sections 6.2, 7 and 8. Different: the retransmission timer runs beside these two instead of being
//! replaced by them; a probe starts it anew. Without DSACK a probe that proves needless is told by the duplicate that
//! answers it. Units: ns.

use perhop_core::time::{Instant, Span};

use super::Sender;
use super::frto::Frto;
use crate::cc::CongestionSignal;
use crate::recovery::{LossRecovery, Recovery};
use crate::segment::{Ack, Segment};
use crate::wheel::expiry;

/// How long a receiver may hold back the acknowledgment of a lone segment, at most: the delay of today's stacks.
const MAX_ACK_DELAY: Span = Span::from_millis(200);
/// The time to a probe before the first round-trip sample.
const FIRST_PROBE: Span = Span::from_secs(1);

/// The next thing to do before the retransmission timer expires.
//= rfc8985-8-one-timer
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
enum Early {
    #[default]
    Nothing,
    /// Segments that have been overtaken become lost.
    Detect(Instant),
    /// A probe leaves.
    Probe(Instant),
}

/// A probe that has left.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Probe {
    /// One past the highest byte sent, the probe included (`TLP.end_seq`).
    end: u64,
    /// It was sent before (`TLP.is_retrans`).
    again: bool,
}

/// Timers and the probe that is out.
//= rfc8985-7.1-initial
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Tail {
    early: Early,
    probe: Option<Probe>,
    /// A probe is to leave now.
    pub(super) due: bool,
    /// Round-trip samples when the last probe left.
    samples: u64,
}

impl Tail {
    pub(super) const fn deadline(&self) -> Option<Instant> {
        match self.early {
            Early::Nothing => None,
            Early::Detect(at) | Early::Probe(at) => Some(at),
        }
    }
}

impl Sender {
    /// An acknowledgment has arrived and nothing has been made of it yet.
    pub(super) fn begin_ack(&mut self, now: Instant, ack: &Ack) {
        let una = if ack.ack > self.max { self.una } else { ack.ack.max(self.una) };
        match &mut self.recovery {
            Recovery::Rack(rack) => {
                rack.begin_ack(now, self.rules.timestamps.then_some(ack.echo), una);
                self.follow_probe(now, ack);
            }
            Recovery::Sack(sack) => sack.begin_ack(),
            _ => {}
        }
    }

    /// The acknowledgment of a probe that was sent before tells whether the probe was needed.
    //= rfc8985-7.4.2-new-data
    //= rfc8985-7.4.2-repaired
    //= rfc8985-7.4.2-needless
    fn follow_probe(&mut self, now: Instant, ack: &Ack) {
        let Some(probe) = self.tail.probe.filter(|probe| ack.ack >= probe.end && ack.ack <= self.max) else {
            return;
        };
        let needless = ack.ack == self.una && ack.sack.as_slice().is_empty();
        if probe.again && ack.ack == probe.end && !needless {
            return;
        }
        self.tail.probe = None;
        if probe.again && ack.ack > probe.end && self.una >= self.marked {
            self.reduce(now, CongestionSignal::FastRetransmit);
            // losses of the same data that this acknowledgment tells of are no further sign
            self.marked = self.max;
        }
    }

    /// Everything has been made of the acknowledgment; `una` was `before` before it.
    pub(super) fn end_ack(&mut self, now: Instant, before: u64) {
        if !matches!(self.recovery, Recovery::Rack(_)) {
            return;
        }
        self.detect_losses(now, Some(self.una > before));
        self.restart_by_report(now, before);
        let quiet = self.may_probe();
        self.tail.due &= quiet;
        match self.tail.early {
            Early::Detect(_) => {}
            _ if quiet && self.una > before => self.await_probe(now),
            Early::Probe(_) if quiet => {}
            _ => self.tail.early = Early::Nothing,
        }
    }

    /// Takes a sample from a report of data sent at a known time (Linux: `tcp_ack_update_rtt`).
    pub(super) fn sample_report(&mut self, now: Instant) {
        if let Recovery::Rack(rack) = &self.recovery
            && self.rules.sack_samples
            && let Some(sent) = rack.reported()
        {
            let per_window = self.in_flight().0.div_ceil(2 * self.rules.mss().0);
            self.rtt.sample(sent, now, per_window, (self.una, self.max));
        }
    }

    /// News of something older than the last transmission of the first outstanding segment shows that the network still
    /// delivers (Linux: `tcp_clean_rtx_queue`).
    fn restart_by_report(&mut self, now: Instant, before: u64) {
        let waits = self.rules.first_restarts_timer && self.una == before && self.timer.is_some();
        if waits
            && !matches!(self.tail.early, Early::Detect(_))
            && matches!(&self.recovery, Recovery::Rack(rack) if rack.reports_older())
        {
            self.timer = Some(self.rtt.deadline(now));
        }
    }

    /// Finds losses, begins a recovery if there are any, and sets the reordering timer; after an acknowledgment `acked` says
    /// whether that was of new data.
    fn detect_losses(&mut self, now: Instant, acked: Option<bool>) {
        let srtt = self.rtt.srtt().unwrap_or(Span::from_nanos(u64::MAX));
        let Recovery::Rack(rack) = &mut self.recovery else { return };
        let found = rack.detect(now, srtt, acked.is_none());
        match found.again {
            Some(at) => {
                let left = at.saturating_since(now) + self.rules.early_timer_margin;
                self.tail.early = Early::Detect(expiry(now, left, self.rules.jiffy));
            }
            None if matches!(self.tail.early, Early::Detect(_)) => self.tail.early = Early::Nothing,
            None => {}
        }
        if found.begins {
            (self.tail.probe, self.tail.due) = (None, false);
            if self.rules.timeout_recovery {
                self.frto = Frto::Off;
            }
            self.on_duplicate(now, 0);
        }
        if found.losses {
            self.tell_losses(now);
        }
        let flight = self.flight();
        if let Recovery::Rack(rack) = &mut self.recovery {
            match acked {
                Some(advanced) => rack.count_delivered(&flight, advanced && !found.losses),
                None if found.begins => rack.count_timer(&flight),
                None => {}
            }
        }
    }

    /// The retransmission timer expired.
    pub(super) fn mark_expired(&mut self, now: Instant) {
        let srtt = self.rtt.srtt().unwrap_or(Span::from_nanos(u64::MAX));
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.expire(now, srtt);
            self.tail = Tail { samples: self.tail.samples, ..Tail::default() };
        }
    }

    /// A segment leaves.
    pub(super) fn note_sent(&mut self, segment: &Segment) {
        let Recovery::Rack(rack) = &mut self.recovery else { return };
        rack.on_transmit(segment.sent, segment.seq, segment.end);
        if std::mem::take(&mut self.tail.due) {
            self.tail.probe = Some(Probe { end: self.max, again: segment.retransmission });
            self.tail.samples = self.rtt.samples();
            self.stats.probes += 1;
        } else if !segment.retransmission && self.may_probe() && !matches!(self.tail.early, Early::Detect(_))
        {
            self.await_probe(segment.sent);
        }
    }

    /// Whether nothing but silence would tell of a loss.
    //= rfc8985-7.2-when
    fn may_probe(&self) -> bool {
        let Recovery::Rack(rack) = &self.recovery else { return false };
        self.max > self.una && !rack.repairing() && rack.sacked() == 0
    }

    //= rfc8985-7.2-two-round-trips
    //= rfc8985-7.2-first
    //= rfc8985-7.2-lone-segment
    //= rfc8985-7.2-before-rto
    fn await_probe(&mut self, now: Instant) {
        let lone = matches!(&self.recovery, Recovery::Rack(rack) if rack.outstanding() == 1);
        let margin = self.rules.early_timer_margin;
        let pto = self
            .rtt
            .srtt()
            .map_or(FIRST_PROBE, |srtt| srtt + srtt + if lone { MAX_ACK_DELAY } else { margin });
        let at = expiry(now, pto, self.rules.jiffy);
        self.tail.early = Early::Probe(self.timer.map_or(at, |timer| timer.min(at)));
    }

    /// A timer other than that for retransmissions may have expired.
    //= rfc8985-7.3-conditions
    //= rfc8985-7.3-rto
    pub(super) fn on_early_timeout(&mut self, now: Instant) {
        match self.tail.early {
            Early::Detect(at) if at <= now => {
                self.tail.early = Early::Nothing;
                self.detect_losses(now, None);
            }
            Early::Probe(at) if at <= now => {
                self.tail.early = Early::Nothing;
                self.tail.due = self.tail.probe.is_none() && self.rtt.samples() > self.tail.samples;
                if self.tail.due {
                    self.timer = Some(self.rtt.deadline(now));
                }
            }
            _ => {}
        }
    }

    /// The segment of a probe: new data, or the last that was sent.
    //= rfc8985-7.3-new-data
    //= rfc8985-7.3-last
    pub(super) fn choose_probe(&mut self) -> Option<(u64, u64)> {
        self.nxt = self.max;
        let flight = self.flight();
        if flight.offered() {
            self.nxt = flight.nxt + flight.len;
            return Some((flight.nxt, self.nxt));
        }
        match &self.recovery {
            Recovery::Rack(rack) => rack.last(),
            _ => None,
        }
    }
}
