//! A policer on the path: two intervals of heavy loss with one rate ("long-term" bandwidth).
//!
//! Source: Linux's `tcp_bbr.c` (`bbr_lt_bw_sampling`); not in the draft. Units: bytes per second.

use perhop_core::time::{Instant, Span};

use super::per_second;

/// Round trips of an interval: at least, and four times that at most.
const LEAST_ROUNDS: u32 = 4;
const MOST_ROUNDS: u32 = 4 * LEAST_ROUNDS;
/// Losses by deliveries in an interval that a policer makes, of 256.
const LOSS: u64 = 50;
/// Two rates are one that differ by an eighth, or by so many bytes per second.
const RATIO: u64 = 8;
const DIFFERENCE: u64 = 500;
/// Round trips of ProbeBW after which the rate is looked for anew.
const OLD: u32 = 48;
/// The shortest interval.
const SHORTEST: Span = Span::from_millis(1);

/// The state of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment {
    /// The last delivery.
    pub(super) now: Instant,
    /// All bytes delivered, and lost.
    pub(super) delivered: u64,
    pub(super) lost: u64,
    /// A round trip begins.
    pub(super) round_start: bool,
}

/// The result of [`Policer::watch`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Verdict {
    Nothing,
    /// A rate has been found.
    Found,
    /// The rate is old.
    Old,
}

/// The search for a policer's rate.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Policer {
    sampling: bool,
    /// The rate of the last interval; of the policer where `found`.
    rate: u64,
    found: bool,
    rounds: u32,
    /// Beginning of the interval, and bytes delivered and lost at it.
    began: Instant,
    delivered: u64,
    lost: u64,
}

impl Policer {
    /// The policer's rate, if there is one.
    pub(super) fn rate(&self) -> Option<u64> {
        self.found.then_some(self.rate)
    }

    #[cfg(test)]
    pub(super) const fn is_sampling(&self) -> bool {
        self.sampling
    }

    const fn begin(&mut self, now: Instant, delivered: u64, lost: u64) {
        (self.began, self.delivered, self.lost, self.rounds) = (now, delivered, lost, 0);
    }

    /// Begins anew.
    pub(super) const fn forget(&mut self, now: Instant, delivered: u64, lost: u64) {
        (self.sampling, self.rate, self.found) = (false, 0, false);
        self.begin(now, delivered, lost);
    }

    //= tcp_bbr-bbr_lt_bw_sampling-interval
    /// Takes an acknowledgment that tells of `losses` or not; `probing` says that ProbeBW goes on.
    pub(super) fn watch(&mut self, at: &Moment, losses: bool, app_limited: bool, probing: bool) -> Verdict {
        if self.found {
            self.rounds += u32::from(probing && at.round_start);
            if self.rounds < OLD {
                return Verdict::Nothing;
            }
            self.forget(at.now, at.delivered, at.lost);
            return Verdict::Old;
        }
        if !self.sampling {
            if !losses {
                return Verdict::Nothing;
            }
            self.begin(at.now, at.delivered, at.lost);
            self.sampling = true;
        }
        if app_limited {
            self.forget(at.now, at.delivered, at.lost);
            return Verdict::Nothing;
        }
        self.rounds += u32::from(at.round_start);
        if self.rounds > MOST_ROUNDS {
            self.forget(at.now, at.delivered, at.lost);
            return Verdict::Nothing;
        }
        if self.rounds < LEAST_ROUNDS || !losses {
            return Verdict::Nothing;
        }
        let (delivered, lost) = (at.delivered - self.delivered, at.lost - self.lost);
        let span = at.now.saturating_since(self.began);
        if delivered == 0 || lost * 256 < LOSS * delivered || span < SHORTEST {
            return Verdict::Nothing;
        }
        self.end(at, per_second(delivered, span))
    }

    //= tcp_bbr-bbr_lt_bw_interval_done-policed
    /// An interval with this rate ends.
    fn end(&mut self, at: &Moment, rate: u64) -> Verdict {
        let apart = rate.abs_diff(self.rate);
        if self.rate > 0 && (apart <= self.rate / RATIO || apart <= DIFFERENCE) {
            self.rate = self.rate.midpoint(rate);
            (self.found, self.rounds) = (true, 0);
            return Verdict::Found;
        }
        self.rate = rate;
        self.begin(at.now, at.delivered, at.lost);
        Verdict::Nothing
    }
}
