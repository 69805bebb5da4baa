//! Elements with deadlines.

use crate::time::Instant;

/// Something with a deadline.
pub trait Timed {
    /// When [`Timed::on_timeout`] should next be called, if ever.
    fn next_timeout(&self) -> Option<Instant> {
        None
    }
    /// The deadline has come. An extra call changes nothing.
    fn on_timeout(&mut self, _now: Instant) {}
}

impl<T: Timed + ?Sized> Timed for Box<T> {
    fn next_timeout(&self) -> Option<Instant> {
        (**self).next_timeout()
    }

    fn on_timeout(&mut self, now: Instant) {
        (**self).on_timeout(now);
    }
}
