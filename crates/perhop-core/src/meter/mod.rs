//! Meters: whether a packet is within its traffic profile.

mod bank;
pub mod bucket;
mod srtcm;
mod tcp_friendly;
mod token_bucket;
mod trtcm;

pub use bank::MeterBank;
pub use srtcm::{SrTcm, SrTcmParams};
pub use tcp_friendly::{
    BeyondTokens, CarrySpacing, FlowState, Fraction, NewFlow, Shortage, Spacing, TcpFriendly,
    TcpFriendlyParams,
};
pub use token_bucket::{TokenBucket, TokenBucketParams};
pub use trtcm::{TrTcm, TrTcmParams};

use crate::packet::{Color, Meta};
use crate::time::Instant;
use crate::timed::Timed;

/// Measures a stream of packets against a profile (RFC 2475 section 2.3.3.1).
///
/// `now` never decreases between calls. Laws: `perhop_testkit::laws::meter`.
pub trait Meter: Timed + Send {
    /// The verdict on a packet. A colour-aware meter reads `meta.color`, and never improves it.
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color;
    /// A packet of the other direction passed (the TCP-friendly marker watches acknowledgments).
    fn observe_reverse(&mut self, _now: Instant, _meta: &Meta) {}
    /// Whether it ever has a deadline. Who owns the meter asks once, and asks one that has none for nothing more.
    fn has_deadlines(&self) -> bool {
        false
    }
}

impl<M: Meter + ?Sized> Meter for Box<M> {
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        (**self).measure(now, meta)
    }

    fn observe_reverse(&mut self, now: Instant, meta: &Meta) {
        (**self).observe_reverse(now, meta);
    }

    fn has_deadlines(&self) -> bool {
        (**self).has_deadlines()
    }
}
