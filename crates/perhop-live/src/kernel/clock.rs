//! The clock of a live run.

use perhop_core::time::{Instant, Span};

/// `CLOCK_MONOTONIC`, counted from the start of the run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin_ns: u64,
}

impl Clock {
    /// A clock whose zero is `ahead` from now.
    #[must_use]
    pub fn starting_in(ahead: Span) -> Self {
        Self { origin_ns: monotonic_ns() + ahead.as_nanos() }
    }

    /// The time; zero before the start.
    #[must_use]
    pub fn now(&self) -> Instant {
        Instant::from_nanos(monotonic_ns().saturating_sub(self.origin_ns))
    }

    /// How long the machine has been suspended since it started: this clock stands still meanwhile.
    #[must_use]
    pub fn suspended() -> Span {
        Span::from_nanos(time_of(libc::CLOCK_BOOTTIME).as_nanos().saturating_sub(monotonic_ns()))
    }

    /// Sleeps until `at`.
    pub fn sleep_until(&self, at: Instant) {
        std::thread::sleep(std::time::Duration::from_nanos(self.until(at).as_nanos()));
    }

    /// How long it is until `at`.
    #[must_use]
    pub fn until(&self, at: Instant) -> Span {
        Span::from_nanos((self.origin_ns + at.as_nanos()).saturating_sub(monotonic_ns()))
    }
}

fn monotonic_ns() -> u64 {
    time_of(libc::CLOCK_MONOTONIC).as_nanos()
}

/// The time of any of the kernel's clocks.
pub(super) fn time_of(clock: libc::clockid_t) -> Span {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: writes one timespec; the clock exists on every Linux, so that it cannot fail.
    unsafe { libc::clock_gettime(clock, &raw mut time) };
    Span::from_nanos(time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_nsec.unsigned_abs())
}
