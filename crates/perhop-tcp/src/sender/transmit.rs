//! The next segment to leave.

use perhop_core::time::Instant;
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;

use super::validation::Outstanding;
use super::{Sender, Stage};
use crate::cc::{AfterIdle, CongestionControl};
use crate::recovery::{LossRecovery, Next};
use crate::segment::Segment;
use crate::settings::IdleRestart;

impl Sender {
    /// The next segment, if one may leave now.
    ///
    /// The answer may change after [`Sender::on_ack`], [`Sender::write`] and `on_timeout` only.
    pub fn poll_transmit(&mut self, now: Instant) -> Option<Segment> {
        if self.stage == Stage::Waiting {
            // a driver may ask before it tells of the start
            self.on_timeout(now);
        }
        match self.stage {
            Stage::Waiting | Stage::SynSent { .. } => None,
            Stage::Opening { again } => Some(self.open(now, again)),
            Stage::Open => {
                if self.waits_for_pacing(now) {
                    return None;
                }
                let (seq, end) = self.choose(now)?;
                Some(self.emit(now, seq, end))
            }
        }
    }

    fn open(&mut self, now: Instant, again: bool) -> Segment {
        self.stage = Stage::SynSent { at: now, again };
        self.timer = Some(self.rtt.deadline(now));
        self.stats.segments += 1;
        self.stats.retransmissions += u64::from(again);
        Segment {
            seq: 0,
            end: 0,
            sent: now,
            syn: true,
            fin: false,
            retransmission: again,
            cwr: false,
            ect: false,
            push: false,
        }
    }

    /// The windows after an idle time that ends now, if it was longer than a time-out; asked where all is acknowledged and there is data.
    //= rfc5681-4.1-restart
    #[cold]
    fn after_idle(&self, now: Instant) -> Option<AfterIdle> {
        let (since, rto) = (self.last_sent, self.rtt.rto());
        let idle = now.saturating_since(since);
        if self.max == 0 || idle <= rto {
            return None;
        }
        let initial = self.rules.initial_window;
        match self.rules.idle_restart {
            IdleRestart::Off => None,
            IdleRestart::InitialWindow => Some(AfterIdle { since, cwnd: initial, ssthresh: Bytes(0) }),
            IdleRestart::Validation => {
                let halvings = (idle.as_nanos() - 1) / rto.as_nanos().max(1);
                let cwnd = self.cwnd_segments();
                let left = cwnd.checked_shr(u32::try_from(halvings).unwrap_or(u32::MAX)).unwrap_or(0);
                Some(self.unused(since, left))
            }
        }
    }

    /// The windows where cwnd falls to `left` segments, or to the initial window, for it was not used since `since`.
    fn unused(&self, since: Instant, left: u64) -> AfterIdle {
        let (cwnd, mss) = (self.cwnd_segments(), self.rules.mss().0);
        let ssthresh = Bytes(((cwnd >> 1) + (cwnd >> 2)) * mss);
        AfterIdle { since, cwnd: Bytes(left * mss).max(self.rules.initial_window), ssthresh }
    }

    fn cwnd_segments(&self) -> u64 {
        self.cc.cwnd().0 / self.rules.mss().0
    }

    /// New data has left, and nothing more can: the use of cwnd is noted, and what was not used for a time-out is halved.
    #[inline(never)]
    fn validate(&mut self, now: Instant) {
        let mss = self.rules.mss().0;
        let bounds = self.window.min(self.cc.cwnd().0);
        if self.max < self.limit && self.in_flight().0 + mss <= bounds {
            return;
        }
        let Some(mut validation) = self.validation.take() else { return };
        let out = Outstanding {
            una: self.una,
            max: self.max,
            segments: (self.max - self.una).div_ceil(mss),
            in_flight: self.in_flight().0.div_ceil(mss),
            cwnd: self.cwnd_segments(),
            slow_start: self.cc.cwnd() < self.cc.ssthresh(),
        };
        if let Some(used) = validation.on_sent(now, &out, self.rtt.rto()) {
            let used = used.max(self.rules.initial_window.0 / mss);
            let by_application = self.max == self.limit && !self.recovery.recovering();
            if used < out.cwnd && by_application {
                self.cc.on_restart_after_idle(now, &self.unused(now, (out.cwnd + used) / 2));
            }
        }
        self.validation = Some(validation);
    }

    fn choose(&mut self, now: Instant) -> Option<(u64, u64)> {
        if self.restart {
            self.tail.due = false;
            return self.choose_first();
        }
        if self.held {
            return None;
        }
        if self.tail.due {
            return self.choose_probe();
        }
        if self.una == self.max
            && self.nxt < self.limit
            && let Some(left) = self.after_idle(now)
        {
            self.cc.on_restart_after_idle(now, &left);
            if let Some(validation) = &mut self.validation {
                validation.restart(now);
            }
        }
        if self.nxt < self.max {
            self.nxt = self.recovery.skip_sacked(self.nxt);
        }
        let flight = self.flight();
        match self.frto_permits(&flight) {
            Some(false) => return None,
            Some(true) => {
                self.nxt = flight.nxt + flight.len;
                return Some((flight.nxt, self.nxt));
            }
            None => {}
        }
        let chosen = match self.recovery.next(&flight) {
            Next::Resend(seq, bound) => (seq, self.end_of(seq).min(bound)),
            Next::Segment => (flight.nxt, flight.nxt + flight.len),
            Next::Nothing => {
                self.watch_closed_window(now);
                return None;
            }
        };
        self.recovery.on_sent(&flight, chosen.0, chosen.1);
        self.nxt = self.nxt.max(chosen.1);
        Some(chosen)
    }

    /// The first outstanding segment after a time-out, or a byte into a closed window.
    //= rfc2018-5-timeout-left-edge
    //= rfc2018-8-keep-data
    //= rfc6675-4-keep-data
    //= rfc5682-2.1-1-again
    fn choose_first(&mut self) -> Option<(u64, u64)> {
        self.restart = false;
        let bound = if self.window == 0 { self.una + 1 } else { self.max.max(self.una + self.window) };
        let end = self.end_of(self.una).min(bound);
        self.nxt = self.nxt.max(end);
        (end > self.una).then_some((self.una, end))
    }

    /// With nothing outstanding and a window too small for what waits, the timer is all that can go on.
    fn watch_closed_window(&mut self, now: Instant) {
        if self.timer.is_none() && self.max == self.una && self.nxt < self.limit {
            self.timer = Some(self.rtt.deadline(now));
        }
    }

    //= rfc6675-5-c3-new
    //= rfc7323-3.2-tsval
    fn emit(&mut self, now: Instant, seq: u64, end: u64) -> Segment {
        let retransmission = seq < self.max;
        //= rfc6298-5.1-start
        let first_again = self.rules.first_restarts_timer && retransmission && seq == self.una;
        if self.timer.is_none() || self.max == self.una || first_again {
            self.timer = Some(self.rtt.deadline(now));
        }
        self.last_sent = now;
        self.stats.segments += 1;
        if retransmission {
            self.stats.retransmissions += 1;
            if self.timed.is_some_and(|(timed, _)| timed > seq && timed <= end) {
                self.timed = None;
            }
        } else if self.timed.is_none() && !self.rules.timestamps {
            self.timed = Some((end, now));
        }
        let idle = self.max == self.una;
        self.max = self.max.max(end);
        // a FIN is no data either
        //= rfc3168-6.1.5-retransmissions
        //= rfc3168-6.1.6-probe
        let plain = !retransmission && self.window > 0 && seq < self.limit - u64::from(self.rules.close);
        //= rfc3168-6.1.2-cwr-once
        let cwr = plain && std::mem::take(&mut self.cwr);
        let segment = Segment {
            seq,
            end,
            sent: now,
            syn: false,
            fin: self.rules.close && end == self.limit,
            retransmission,
            cwr,
            ect: self.rules.ecn && plain,
            push: false,
        };
        self.note_sent(&segment);
        if !retransmission && self.validation.is_some() {
            self.validate(now);
        }
        let push = self.pace(&segment, idle);
        Segment { push, ..segment }
    }

    /// The end of the segment that begins at `seq`; a FIN goes by itself.
    pub(super) fn end_of(&self, seq: u64) -> u64 {
        let data = self.limit - u64::from(self.rules.close);
        if seq < data { data.min(seq + self.rules.mss().0) } else { self.limit.max(seq) }
    }
}
