//! Timers that expire on jiffies.
//!
//! Source: `kernel/time/timer.c` of Linux (`calc_wheel_index`): a timer never expires early, and the further away it is the coarser
//! is its level of the wheel. Jiffies are counted from the start of the run, for every host alike.

use perhop_core::time::{Instant, Span};

/// Buckets of a level, but one.
const BUCKETS: u64 = 63;
/// How much coarser each level is than the one before, as a shift, and the last one.
const LEVEL_SHIFT: u32 = 3;
const LEVELS: u32 = 8;

/// When a timer that is set at `now` for `span` expires, with jiffies of `jiffy`; exact where that is zero.
#[must_use]
pub fn expiry(now: Instant, span: Span, jiffy: Span) -> Instant {
    let nanos = jiffy.as_nanos();
    if nanos == 0 {
        return now + span;
    }
    let jiffies = span.as_nanos().div_ceil(nanos);
    let shift = LEVEL_SHIFT
        * (0..LEVELS).take_while(|level| jiffies >= BUCKETS << (LEVEL_SHIFT * level)).count() as u32;
    let due = now.as_nanos() / nanos + jiffies;
    Instant::from_nanos((((due >> shift) + 1) << shift).saturating_mul(nanos))
}

#[cfg(test)]
mod tests {
    use super::*;

    const JIFFY: Span = Span::from_millis(4);

    fn at(now_ms: u64, span_ms: u64) -> u64 {
        let now = Instant::from_nanos(now_ms * 1_000_000);
        expiry(now, Span::from_millis(span_ms), JIFFY).as_nanos() / 1_000_000
    }

    #[test]
    fn a_near_timer_expires_on_the_jiffy_after_its_time() {
        assert_eq!([at(0, 40), at(3, 40), at(4, 40), at(0, 39)], [44, 44, 48, 44]);
    }

    #[test]
    fn from_63_jiffies_on_it_is_eight_of_them_and_from_504_sixty_four() {
        assert_eq!([at(0, 248), at(0, 252), at(0, 255), at(24, 252)], [252, 256, 288, 288]);
        assert_eq!([at(0, 2012), at(0, 2016)], [2016, 2048]);
    }

    #[test]
    fn without_a_jiffy_it_is_exact() {
        let now = Instant::from_nanos(5);
        assert_eq!(expiry(now, Span::from_nanos(7), Span::ZERO), Instant::from_nanos(12));
    }
}
