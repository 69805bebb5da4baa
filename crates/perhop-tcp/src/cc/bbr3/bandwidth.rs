//! The greatest bandwidth of this cycle of ProbeBW and of the one before. Units: bytes per second.

/// The greatest of either.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct TwoCycles {
    before: u64,
    present: u64,
}

impl TwoCycles {
    /// Takes a sample of the present cycle.
    pub(super) fn update(&mut self, rate: u64) {
        self.present = self.present.max(rate);
    }

    //= draft-ietf-ccwg-bbr-5.5.3-window
    /// A cycle ends; one without a sample does not count.
    pub(super) const fn advance(&mut self) {
        if self.present > 0 {
            (self.before, self.present) = (self.present, 0);
        }
    }

    pub(super) fn greatest(&self) -> u64 {
        self.before.max(self.present)
    }
}
