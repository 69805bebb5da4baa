//! Pacing, and the rates that a congestion control asks for.
//!
//! Source: Linux (`tcp_update_pacing_rate` for the rate of a control that has none of its own, `tcp_rate_check_app_limited`).

use perhop_core::time::{Instant, Span};

use super::Sender;
use crate::cc::CongestionControl;
use crate::rate::RateSample;
use crate::recovery::{LossRecovery, Next, Recovery};
use crate::segment::{Ack, Segment};

/// Hundredths of a window that leave in a round trip in slow start, below half of ssthresh.
const SLOW_START_PERCENT: u64 = 200;

impl Sender {
    /// Whether the next segment has to wait for the pacing. What a time-out sends again does not.
    pub(super) fn waits_for_pacing(&mut self, now: Instant) -> bool {
        let urgent = self.restart || self.tail.due;
        self.pacer.as_mut().is_some_and(|pacer| !pacer.permits(now) && !urgent)
    }

    /// A segment leaves; nothing was outstanding before where `idle` is set. Returns whether it has PSH, as the last of a burst.
    pub(super) fn pace(&mut self, segment: &Segment, idle: bool) -> bool {
        if self.pacer.is_none() {
            return false;
        }
        if idle && matches!(&self.recovery, Recovery::Rack(rack) if rack.is_app_limited()) {
            self.cc.on_idle_end(segment.sent);
        }
        let rate = self.pacing_rate();
        let (mss, min_rtt) = (self.rules.mss().0, self.min_rtt());
        if let Some(pacer) = &mut self.pacer {
            pacer.on_sent(segment.sent, segment.payload().0, rate, mss, min_rtt);
        }
        if self.rules.follows_limit {
            let flight = self.flight();
            if let Recovery::Rack(rack) = &mut self.recovery {
                rack.check_full(&flight);
            }
        }
        self.rules.burst_push && self.ends_burst()
    }

    /// Whether no segment of its burst can follow the one that has left, and others came before it.
    fn ends_burst(&self) -> bool {
        let more = || self.recovery.next(&self.flight()) != Next::Nothing;
        self.pacer.as_ref().is_some_and(|pacer| pacer.ends_burst(more))
    }

    /// Bytes of data per second at which segments leave; `None` before there is a round trip.
    fn pacing_rate(&self) -> Option<u64> {
        self.cc.pacing_rate().or_else(|| {
            let srtt = self.rtt.srtt()?.as_nanos().max(1);
            let (cwnd, ssthresh) = (self.cc.cwnd().0, self.cc.ssthresh().0);
            let percent = if cwnd < ssthresh / 2 { SLOW_START_PERCENT } else { self.rules.pacing_percent };
            let window = u128::from(cwnd.max(self.in_flight().0)) * u128::from(percent);
            u64::try_from(window * 10_000_000 / u128::from(srtt)).ok()
        })
    }

    const fn min_rtt(&self) -> Option<Span> {
        if let Recovery::Rack(rack) = &self.recovery { rack.min_rtt() } else { None }
    }

    /// The application is about to write: whether it has kept the connection waiting.
    //= draft-dre-00-3.4-write
    //= draft-dre-00-3.4-conditions
    pub(super) fn check_app_limited(&mut self) {
        let flight = self.flight();
        let nothing = self.limit - self.max < if self.rules.follows_limit { 1 } else { self.rules.mss().0 };
        if let Recovery::Rack(rack) = &mut self.recovery
            && nothing
            && rack.pipe(&flight) < flight.cwnd
            && !rack.has_lost()
        {
            rack.limit_rate(&flight);
        }
    }

    //= draft-ietf-ccwg-bbr-4.1.2.4-checks
    /// An acknowledgment has arrived or a timer may have expired, and nothing has been made of it yet: the application may have kept the
    /// connection waiting.
    pub(super) fn follow_limit(&mut self) {
        if self.rules.follows_limit {
            self.check_app_limited();
        }
    }

    //= draft-ietf-ccwg-bbr-5.2.4-lost
    /// The congestion control hears of what has been taken for lost.
    pub(super) fn tell_losses(&mut self, now: Instant) {
        if let Recovery::Rack(rack) = &mut self.recovery {
            for lost in rack.take_losses() {
                self.cc.on_lost(now, &lost);
            }
        }
    }

    /// An acknowledgment has arrived and nothing has been made of it yet.
    pub(super) fn begin_rate(&mut self) {
        let flight = self.flight();
        if let Recovery::Rack(rack) = &mut self.recovery {
            rack.begin_rate(&flight);
        }
    }

    /// Everything else has been made of the acknowledgment; `una` was `before` before it.
    pub(super) fn end_rate(&mut self, now: Instant, ack: &Ack, before: u64) {
        let flight = self.flight();
        let (Recovery::Rack(rack), Some(pacer)) = (&mut self.recovery, &self.pacer) else { return };
        let Some(sample) = rack.rate_sample(now, &flight) else { return };
        // nothing is made of what is older than the last, or answers nothing
        if ack.ack < before || ack.ack > self.max || sample.prior_in_flight.0 == 0 && sample.acked.0 == 0 {
            return;
        }
        self.cc.on_rate(now, &RateSample { departs: pacer.departs(), ..sample });
        if self.cc.limits_itself() {
            rack.limit_rate(&flight);
        }
    }
}
