//! Meters: whether a packet is within its traffic profile.

mod bank;
pub mod bucket;
mod srtcm;
mod tcp_friendly;
mod token_bucket;
mod trtcm;
mod trtcm_diffserv;
mod tsw;

pub use bank::MeterBank;
pub use srtcm::{SrTcm, SrTcmParams};
pub use tcp_friendly::{
    BeyondTokens, CarrySpacing, FlowState, Fraction, NewFlow, Shortage, Spacing, TcpFriendly,
    TcpFriendlyParams,
};
pub use token_bucket::{TokenBucket, TokenBucketParams};
pub use trtcm::{TrTcm, TrTcmParams};
pub use trtcm_diffserv::{TrTcmDiffServ, TrTcmDiffServParams};
pub use tsw::{Tsw, TswParams};

use crate::classify::Flow;
use crate::packet::{Color, FlowId, Meta};
use crate::time::Instant;
use crate::timed::Timed;

/// A bucket of a meter (RFC 2697, RFC 2698, RFC 4115).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum BucketName {
    /// Of the committed rate.
    Committed,
    /// For bursts beyond it.
    Excess,
    /// Of the peak rate.
    Peak,
}

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
    /// The tokens that an arrival `now` would find in each bucket, in bytes: always as many buckets. None where there are none,
    /// or one for each flow.
    fn levels(&self, _now: Instant) -> Vec<(BucketName, f64)> {
        Vec::new()
    }
    /// Takes note of a flow that came, or changed, after this was built.
    fn learn(&mut self, _id: FlowId, _flow: &Flow) {}
    /// Makes the random numbers of this copy its own: they are other ones than those of copies that are told another `which`.
    fn draw_apart(&mut self, _which: u64) {}
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

    fn levels(&self, now: Instant) -> Vec<(BucketName, f64)> {
        (**self).levels(now)
    }

    fn learn(&mut self, id: FlowId, flow: &Flow) {
        (**self).learn(id, flow);
    }

    fn draw_apart(&mut self, which: u64) {
        (**self).draw_apart(which);
    }
}
