//! CUBIC as the Linux kernel counts it: in whole segments, and in acknowledged ones for each segment of growth.
//!
//! Source: `net/ipv4/tcp_cubic.c` of Linux 5.15 and later (`cubictcp_cong_avoid`, `bictcp_update`, `cubictcp_recalc_ssthresh`) and
//! `tcp_cong_avoid_ai`. Against RFC 9438: Reno's estimate always grows by 8/15 of a segment a window, never by one; before
//! the first loss and after a time-out the window grows by 5 % a round trip at least; the curve is taken at the least round
//! trip from now. Different from the kernel: time is exact instead of in jiffies; an idle time below a time-out does not
//! move the curve on.
//! Of the conventions in `TcpParams` only `initial_window`, `initial_ssthresh`, `slow_start` and `grow_beyond_window` count here.
//! Units: segments, seconds.

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use super::slow_start::{SlowStart, Windows};
use super::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Load};
use crate::settings::{InitialSsthresh, TcpParams};

/// The rest of 1024 segments after a reduction (`beta`).
const BETA: u64 = 717;
/// The same after a mark, with less backoff for it (RFC 8511 section 3.1: 0.85), which the kernel's has not.
const BETA_ECN: u64 = 870;
/// How fast the curve rises, in segments per cubic second (`bic_scale` times ten, of 1024).
const C: f64 = 410.0 / 1024.0;
/// Eighths of a window whose acknowledgment lets Reno's estimate grow by a segment (`beta_scale`).
const FRIENDLY_EIGHTHS: u64 = 15;
/// Most acknowledged segments for one of growth before the first loss: 5 % a round trip.
const FIRST_EACH: u64 = 20;
/// Fewest acknowledged segments for one of growth: half a window a round trip.
const LEAST_EACH: u64 = 2;
/// Windows whose acknowledgment lets cwnd grow by a segment where the curve is below it.
const FLAT_WINDOWS: u64 = 100;
/// How long the rate of growth stands while cwnd does (`HZ / 32`).
const HOLD: Span = Span::from_nanos(31_250_000);
/// How long after the beginning of an epoch round trips do not count.
const SETTLING: Span = Span::from_secs(1);
/// Most segments of a window.
const MOST: u64 = u32::MAX as u64;

/// The time since congestion avoidance began (`epoch_start`).
#[derive(Clone, Copy, PartialEq, Debug)]
struct Epoch {
    began: Instant,
    /// Seconds until the curve is flat (`bic_K`), and its height there (`bic_origin_point`).
    flat_after: f64,
    origin: u64,
    /// Reno's estimate (`tcp_cwnd`), and segments acknowledged towards its next (`ack_cnt`).
    estimate: u64,
    acked: u64,
}

/// Window growth by Linux's CUBIC.
#[derive(Clone, Debug)]
pub struct CubicLinux {
    mss: u64,
    grow_beyond_window: bool,
    /// The rest of 1024 segments after a mark.
    beta_ecn: u64,
    slow_start: SlowStart,
    cwnd: u64,
    /// `u64::MAX` for none.
    ssthresh: u64,
    /// Parts of a segment by which slow start has grown, in bytes.
    part: f64,
    /// Segments acknowledged towards the next of growth (`snd_cwnd_cnt`), and how many make one (`cnt`).
    credit: u64,
    each: u64,
    /// cwnd when that was last set, and when that was.
    set: Option<(u64, Instant)>,
    /// cwnd at the last reduction, or less with fast convergence; 0 before the first and after a time-out (`last_max_cwnd`).
    last_max: u64,
    epoch: Option<Epoch>,
    /// The least round trip (`delay_min`).
    least: Option<Span>,
    /// cwnd and ssthresh before the last time-out.
    before: Option<(u64, u64)>,
}

#[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
const fn real(count: u64) -> f64 {
    count as f64
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "saturates; never negative")]
const fn whole(count: f64) -> u64 {
    count as u64
}

impl CubicLinux {
    /// Starts with the initial window.
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        let mss = params.mss.0;
        let ssthresh = match params.initial_ssthresh {
            InitialSsthresh::Unbounded => u64::MAX,
            InitialSsthresh::Window => (params.window.0 / mss).max(2),
        };
        let bytes = if ssthresh == u64::MAX { f64::INFINITY } else { real(ssthresh * mss) };
        Self {
            mss,
            grow_beyond_window: params.grow_beyond_window,
            beta_ecn: if params.abe { BETA_ECN } else { BETA },
            slow_start: SlowStart::new(params, bytes),
            cwnd: params.initial_window.into(),
            ssthresh,
            part: 0.0,
            credit: 0,
            each: LEAST_EACH,
            set: None,
            last_max: 0,
            epoch: None,
            least: None,
            before: None,
        }
    }

    /// Segments acknowledged in slow start that are left for congestion avoidance; `None` if slow start has ended by itself.
    fn grow_fast(&mut self, now: Instant, ack: &AckSample, grows: bool) -> Option<u64> {
        let bytes =
            |segments: u64| if segments == u64::MAX { f64::INFINITY } else { real(segments * self.mss) };
        let windows = Windows { mss: real(self.mss), cwnd: bytes(self.cwnd), ssthresh: bytes(self.ssthresh) };
        let growth = self.slow_start.on_ack(now, ack, &windows)?;
        if !grows {
            return Some(0);
        }
        self.part += growth;
        let segments = whole(self.part / windows.mss);
        self.part -= real(segments) * windows.mss;
        let fits = segments.min(self.ssthresh - self.cwnd).min(MOST - self.cwnd.min(MOST));
        self.cwnd += fits;
        Some(if self.cwnd < self.ssthresh { 0 } else { segments - fits })
    }

    /// Takes `acked` segments in congestion avoidance (`tcp_cong_avoid_ai`).
    fn avoid(&mut self, now: Instant, acked: u64) {
        self.set_rate(now, acked);
        if self.credit >= self.each {
            self.credit = 0;
            self.cwnd += 1;
        }
        self.credit = self.credit.saturating_add(acked);
        let grown = self.credit / self.each;
        self.credit %= self.each;
        self.cwnd = self.cwnd.saturating_add(grown).min(MOST);
    }

    /// How many acknowledged segments make one of growth (`bictcp_update`).
    fn set_rate(&mut self, now: Instant, acked: u64) {
        let cwnd = self.cwnd;
        if let Some(epoch) = &mut self.epoch {
            epoch.acked = epoch.acked.saturating_add(acked);
        }
        if self.set.is_some_and(|(at, when)| at == cwnd && now - when <= HOLD) {
            return;
        }
        self.set = Some((cwnd, now));
        let last_max = self.last_max;
        let epoch = self.epoch.get_or_insert_with(|| {
            let origin = last_max.max(cwnd);
            let flat_after = libm::cbrt(real(origin - cwnd) / C);
            Epoch { began: now, flat_after, origin, estimate: cwnd, acked }
        });
        let least = self.least.unwrap_or(Span::ZERO);
        let t = (now - epoch.began + least).as_secs_f64() - epoch.flat_after;
        let rise = whole((C * t * t * t).abs());
        let target =
            if t < 0.0 { epoch.origin.saturating_sub(rise) } else { epoch.origin.saturating_add(rise) };
        let mut each = if target > cwnd { cwnd / (target - cwnd) } else { FLAT_WINDOWS * cwnd };
        if last_max == 0 {
            each = each.min(FIRST_EACH);
        }
        let window = (cwnd * FRIENDLY_EIGHTHS / 8).max(1);
        epoch.estimate = epoch.estimate.saturating_add(epoch.acked.saturating_sub(1) / window);
        epoch.acked -= epoch.acked.saturating_sub(1) / window * window;
        if epoch.estimate > cwnd {
            each = each.min(cwnd / (epoch.estimate - cwnd));
        }
        self.each = each.max(LEAST_EACH);
    }

    /// ssthresh, and where the curve goes to.
    fn reduce(&mut self, beta: u64) {
        let cwnd = self.cwnd;
        self.last_max = if cwnd < self.last_max { cwnd * (1024 + BETA) / 2048 } else { cwnd };
        self.ssthresh = (cwnd * beta / 1024).max(2);
        self.epoch = None;
        self.credit = 0;
    }

    fn restart(&mut self, load: &Load) {
        self.slow_start.on_timeout();
        self.cwnd = (1 + load.kept.0 / self.mss).min(MOST);
        (self.credit, self.part, self.last_max) = (0, 0.0, 0);
        (self.epoch, self.least, self.set) = (None, None, None);
    }
}

impl CongestionControl for CubicLinux {
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        let settled = self.epoch.is_none_or(|epoch| now - epoch.began >= SETTLING);
        if let Some(rtt) = ack.rtt.filter(|_| settled) {
            self.least = Some(self.least.map_or(rtt, |least| least.min(rtt)));
        }
        let grows = ack.cwnd_limited || self.grow_beyond_window;
        let mut acked = ack.acked.0.div_ceil(self.mss);
        if self.cwnd < self.ssthresh {
            match self.grow_fast(now, ack, grows) {
                Some(0) => return,
                Some(left) => acked = left,
                None => self.ssthresh = self.cwnd.max(2),
            }
        }
        if grows {
            self.avoid(now, acked);
        }
    }

    fn on_congestion(&mut self, _now: Instant, signal: CongestionSignal, load: &Load) {
        let before = (self.cwnd, self.ssthresh);
        self.before = None;
        match signal {
            CongestionSignal::FastRetransmit => {
                self.reduce(BETA);
                self.cwnd = self.ssthresh;
            }
            CongestionSignal::EcnEcho => {
                self.reduce(self.beta_ecn);
                self.cwnd = self.cwnd.min(self.ssthresh);
            }
            CongestionSignal::Timeout => {
                self.reduce(BETA);
                self.restart(load);
                self.before = Some(before);
            }
            CongestionSignal::RepeatedTimeout => self.restart(load),
        }
    }

    fn on_recovery_exit(&mut self, _now: Instant) {
        self.cwnd = self.ssthresh;
    }

    fn on_spurious_timeout(&mut self, _now: Instant) {
        if let Some((cwnd, ssthresh)) = self.before.take() {
            (self.cwnd, self.ssthresh) = (self.cwnd.max(cwnd), self.ssthresh.max(ssthresh));
        }
    }

    /// The curve is moved on by the idle time (`cubictcp_cwnd_event`).
    fn on_restart_after_idle(&mut self, now: Instant, left: &AfterIdle) {
        self.cwnd = self.cwnd.min(left.cwnd.0 / self.mss).max(1);
        self.ssthresh = self.ssthresh.max(left.ssthresh.0 / self.mss);
        if let Some(epoch) = &mut self.epoch {
            epoch.began = (epoch.began + now.saturating_since(left.since)).min(now);
        }
    }

    fn deflate(&mut self, by: Bytes) {
        self.cwnd = self.cwnd.saturating_sub(by.0.div_ceil(self.mss)).max(1);
    }

    fn limit(&mut self, to: Bytes) {
        self.cwnd = self.cwnd.min(to.0 / self.mss).max(1);
    }

    fn cwnd(&self) -> Bytes {
        Bytes(self.cwnd.saturating_mul(self.mss))
    }

    fn ssthresh(&self) -> Bytes {
        Bytes(self.ssthresh.saturating_mul(self.mss))
    }
}

#[cfg(test)]
mod tests;
