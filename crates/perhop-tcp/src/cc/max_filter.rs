//! The greatest value of a time that moves on, by three samples.
//!
//! Source: K. Nichols' algorithm, as Linux has it (`lib/minmax.c`): the greatest value, the greatest since and the greatest since
//! that one; each is renewed in time to take the place of the one before. So the answer may fall below the greatest of the
//! window, but it is never one from before it.

/// The greatest value, and those that take its place, with their times.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct MaxFilter([(u64, u64); 3]);

impl MaxFilter {
    /// Takes `value` at `time`, and drops what is older than `window`.
    pub(super) fn update(&mut self, time: u64, window: u64, value: u64) {
        let new = (time, value);
        let [first, second, third] = &mut self.0;
        if value >= first.1 || time - third.0 > window {
            self.0 = [new; 3];
            return;
        }
        if value >= second.1 {
            (*second, *third) = (new, new);
        } else if value >= third.1 {
            *third = new;
        }
        let age = time - first.0;
        if age > window {
            (*first, *second, *third) = (*second, *third, new);
            if time - first.0 > window {
                (*first, *second, *third) = (*second, *third, new);
            }
        } else if second.0 == first.0 && age > window / 4 {
            (*second, *third) = (new, new);
        } else if third.0 == second.0 && age > window / 2 {
            *third = new;
        }
    }

    /// The greatest value.
    pub(super) const fn greatest(&self) -> u64 {
        self.0[0].1
    }
}
