//! How much of a processor a thread takes.

use perhop_core::time::{Instant, Span};

use crate::kernel::thread_time;

const A_SECOND: Span = Span::from_secs(1);

/// The largest share of a processor that a thread had in any second.
#[derive(Clone, Copy, Debug, Default)]
pub struct Share {
    /// The largest so far.
    pub most: f64,
    since: Instant,
    used: Span,
}

impl Share {
    /// It is `now`: the thread looks how much processor time it has used, once a second.
    pub fn look(&mut self, now: Instant) {
        if now - self.since >= A_SECOND {
            self.second(now, thread_time());
        }
    }

    /// At `now` it has used `used` in all.
    pub(crate) fn second(&mut self, now: Instant, used: Span) {
        let share = (used.as_secs_f64() - self.used.as_secs_f64()) / (now - self.since).as_secs_f64();
        self.most = self.most.max(share);
        (self.since, self.used) = (now, used);
    }
}
