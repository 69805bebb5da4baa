//! How soon the kernel lets a thread run, and what the process may use.

use std::io;

use perhop_core::time::Span;

use super::checked;
use super::clock::time_of;

/// How the kernel schedules the loop that forwards.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Priority {
    /// `SCHED_FIFO`: before everything that is not.
    Realtime,
    /// As any other: `SCHED_FIFO` was refused.
    Normal,
}

impl Priority {
    /// Its name in a record.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Realtime => "SCHED_FIFO",
            Self::Normal => "normal",
        }
    }
}

/// Asks for `SCHED_FIFO` for this thread and those that it starts from now on, before those of a lower `level`, which is 1 to 99.
/// Without privileges a thread that has it may ask for a lower level.
#[must_use]
pub fn realtime(level: i32) -> Priority {
    match scheduled(libc::SCHED_FIFO, level) {
        Ok(_) => Priority::Realtime,
        Err(_) => Priority::Normal,
    }
}

/// Schedules this thread as any other again, which is never refused.
pub fn ordinary() -> Priority {
    let _ = scheduled(libc::SCHED_OTHER, 0);
    Priority::Normal
}

fn scheduled(policy: libc::c_int, level: i32) -> io::Result<libc::c_int> {
    // SAFETY: a struct of one integer on Linux; other fields, where there are any, may be zero.
    let mut param: libc::sched_param = unsafe { std::mem::zeroed() };
    param.sched_priority = level;
    // SAFETY: reads one sched_param; 0 is this thread.
    checked(unsafe { libc::sched_setscheduler(0, policy, &raw const param) })
}

/// Lets timers of this thread expire to the nanosecond, instead of within 50 us.
pub fn exact_timers() {
    let ns: libc::c_ulong = 1;
    // SAFETY: sets a number of this thread, as wide as prctl(2) reads it. A kernel without it leaves timers as they are,
    // which the run's lateness shows.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, ns) };
}

/// Lets the process open as many files as it may.
///
/// # Errors
/// Of the kernel.
pub fn more_files() -> io::Result<()> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: writes one rlimit.
    checked(unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) })?;
    limit.rlim_cur = limit.rlim_max;
    // SAFETY: reads one rlimit.
    checked(unsafe { libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit) }).map(drop)
}

/// Processor time that the whole process has used and the programs it started and waited for, the kernel's work included.
///
/// # Errors
/// Of the kernel.
pub fn cpu_time() -> io::Result<Span> {
    let ns = |time: libc::timeval| {
        time.tv_sec.unsigned_abs() * 1_000_000_000 + time.tv_usec.unsigned_abs() * 1_000
    };
    let mut used = 0;
    for whose in [libc::RUSAGE_SELF, libc::RUSAGE_CHILDREN] {
        // SAFETY: a struct of integers, for which zeros are valid.
        let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
        // SAFETY: writes one rusage.
        checked(unsafe { libc::getrusage(whose, &raw mut usage) })?;
        used += ns(usage.ru_utime) + ns(usage.ru_stime);
    }
    Ok(Span::from_nanos(used))
}

/// Processor time that this thread has used, the kernel's work for it included.
#[must_use]
pub fn thread_time() -> Span {
    time_of(libc::CLOCK_THREAD_CPUTIME_ID)
}

/// The share of a processor that the kernel gives to real-time threads: it stops them for the rest of each period, since Linux 6.12 only where
/// others wait (sched(7), `sched_rt_runtime_us`). `None` where there is none.
#[must_use]
pub fn limit() -> Option<f64> {
    let read = |name| {
        let text = std::fs::read_to_string(format!("/proc/sys/kernel/sched_rt_{name}_us")).ok()?;
        text.trim().parse::<f64>().ok().filter(|us| *us > 0.0)
    };
    Some(read("runtime")? / read("period")?).filter(|share| *share < 1.0)
}
