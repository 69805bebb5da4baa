//! Pacing: segments leave in bursts of a quantum, at a rate.
//!
//! Source: Linux's internal pacing (`tcp_output.c`: `tcp_pacing_check`, `tcp_update_skb_after_send`, `tcp_tso_autosize`): after a
//! burst the next one waits for as long as this one takes at the rate, less what the burst itself came late, up to half of that
//! time; the first ten segments do not wait. Different: a burst ends where the windows end it, where Linux may hold it back
//! for another acknowledgment (`tcp_tso_should_defer`). Units: bytes, ns.

use perhop_core::time::{Instant, Span};

use crate::settings::{Growth, TcpParams};

/// Segments of data at the start of a connection that do not wait.
const UNPACED: u64 = 10;
/// A burst holds what the rate sends in 2^-10 s.
const BURST_SHIFT: u32 = 10;
const SHORT_SHIFT: u32 = 12;
/// Most bytes of a burst (`GSO_LEGACY_MAX_SIZE`).
const MOST: u64 = 65_536;
/// Short round trips lengthen a burst: by `MOST`, halved for each 2^9 us of them (`tcp_tso_rtt_log`).
const RTT_SHIFT: u32 = 9;
/// Bursts have two segments from this rate on, in bytes per second (`bbr_min_tso_rate`), and else one.
const TWO_FROM: u64 = 150_000;

/// Segments of a burst at `rate` bytes per second that takes no longer than 2^-12 s, the draft's 250 us.
//= draft-prague-02-2.5.2-burst
fn short_quantum(rate: u64, mss: u64) -> u64 {
    ((rate >> SHORT_SHIFT).min(MOST) / mss).max(1)
}

//= draft-bbr-00-4.2.2-smallest
//= draft-ietf-ccwg-bbr-5.6.3-smallest
/// Segments of a burst at `rate` bytes per second, without what short round trips add (`tcp_tso_autosize`).
#[must_use]
pub fn quantum(rate: u64, mss: u64, added: u64) -> u64 {
    let least = if rate < TWO_FROM { 1 } else { 2 };
    ((rate >> BURST_SHIFT).saturating_add(added).min(MOST) / mss).max(least)
}

/// When the next segment may leave.
#[derive(Clone, Copy, Debug, Default)]
pub struct Pacer {
    /// From when on the next burst may leave (`tcp_wstamp_ns`).
    departs: Instant,
    /// The burst that is leaving: when it began, how many segments it may still have, and its time so far.
    began: Instant,
    left: u64,
    /// How many segments it has had.
    had: u64,
    credit: Span,
    /// Segments of data that have left.
    segments: u64,
    /// The deadline of a segment that waits.
    waits: Option<Instant>,
    /// Bursts are short.
    short: bool,
}

impl Pacer {
    //= draft-prague-02-2.5.1-pacing
    /// The pacing of a sender with these settings, if it has one; `rated` says that its congestion control has a rate for it.
    #[must_use]
    pub fn of(params: &TcpParams, rated: bool) -> Option<Self> {
        let short = params.cc == Growth::Prague;
        (params.pacing || short || rated).then(|| Self { short, ..Self::default() })
    }

    //= draft-bbr-00-4.2.1-pacing
    /// Whether a segment may leave at `now`; if not, the deadline is set.
    pub fn permits(&mut self, now: Instant) -> bool {
        let may = self.departs <= now || self.left > 0 && self.began == now;
        self.waits = (!may).then_some(self.departs);
        may
    }

    /// A segment of `len` bytes leaves at `rate` bytes per second, `None` for no bound.
    pub fn on_sent(&mut self, now: Instant, len: u64, rate: Option<u64>, mss: u64, min_rtt: Option<Span>) {
        self.segments += 1;
        self.waits = None;
        let Some(rate) = rate.filter(|&rate| rate > 0 && self.segments >= UNPACED) else { return };
        if self.left == 0 || self.began != now {
            let halvings = min_rtt.map_or(u64::MAX, |rtt| (rtt.as_nanos() / 1000) >> RTT_SHIFT);
            let added = u32::try_from(halvings).ok().and_then(|by| MOST.checked_shr(by)).unwrap_or(0);
            self.left = if self.short { short_quantum(rate, mss) } else { quantum(rate, mss, added) };
            self.had = 0;
            self.began = now;
            self.credit = now.saturating_since(self.departs);
            self.departs = self.departs.max(now);
        }
        self.left -= 1;
        self.had += 1;
        let time = Span::from_nanos(len.saturating_mul(1_000_000_000) / rate);
        let credit = self.credit.min(Span::from_nanos(time.as_nanos() / 2));
        self.credit = Span::from_nanos(self.credit.as_nanos() - credit.as_nanos());
        self.departs += Span::from_nanos(time.as_nanos() - credit.as_nanos());
    }

    /// Whether the segment that has just left ends a burst of several; `more` says whether the windows let another follow.
    #[must_use]
    pub fn ends_burst(&self, more: impl FnOnce() -> bool) -> bool {
        self.had > 1 && (self.left == 0 || !more())
    }

    /// When the next burst may leave.
    #[must_use]
    pub const fn departs(&self) -> Instant {
        self.departs
    }

    /// The deadline of a segment that waits.
    #[must_use]
    pub const fn deadline(&self) -> Option<Instant> {
        self.waits
    }

    /// The deadline has come.
    pub fn on_timeout(&mut self, now: Instant) {
        self.waits = self.waits.filter(|&at| at > now);
    }
}
