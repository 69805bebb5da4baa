//! The growth by acknowledgments in slow start, and its end without a loss; a part of every congestion control.
//!
//! Source: RFC 5681 section 3.1, equation (2), RFC 9406, and the kernel's `HyStart`. Units: bytes, with fractions. Cost:
//! the state of the latter two is behind a pointer, so that a sender without them is no larger.

mod hystart;
mod hystart_plus_plus;

use perhop_core::time::{Instant, Span};

use super::AckSample;
use crate::settings::{Growth, SlowStartKind, TcpParams};
use hystart::Hystart;
use hystart_plus_plus::HystartPlusPlus;

/// Bounds of what [`risen`] adds.
//= rfc9406-4.3-constants
const THRESHOLD: (Span, Span) = (Span::from_millis(4), Span::from_millis(16));
/// Part of a round trip that [`risen`] adds.
//= rfc9406-4.3-constants
const THRESHOLD_DIVISOR: u64 = 8;

/// A segment, cwnd and ssthresh in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Windows {
    pub(super) mss: f64,
    pub(super) cwnd: f64,
    pub(super) ssthresh: f64,
}

/// The slow start of a growth.
#[derive(Clone, Debug)]
pub(super) enum SlowStart {
    Standard,
    /// Each acknowledgment adds all that it brings.
    All,
    HystartPlusPlus(Box<HystartPlusPlus>),
    Hystart(Box<Hystart>),
}

impl SlowStart {
    /// The slow start that the settings name, with ssthresh at its initial value.
    pub(super) fn new(params: &TcpParams, ssthresh: f64) -> Self {
        match params.slow_start {
            SlowStartKind::Standard => Self::Standard,
            SlowStartKind::HystartPlusPlus => Self::HystartPlusPlus(Box::new(HystartPlusPlus::new(ssthresh))),
            SlowStartKind::Hystart => Self::Hystart(Box::default()),
            SlowStartKind::CubicHystart if params.cc != Growth::Cubic => Self::All,
            SlowStartKind::CubicHystart => Self::Hystart(Box::new(Hystart::new(true))),
        }
    }

    /// Bytes that an acknowledgment in slow start adds to cwnd; `None` where slow start ends instead, at the present cwnd.
    pub(super) fn on_ack(&mut self, now: Instant, ack: &AckSample, windows: &Windows) -> Option<f64> {
        match self {
            Self::Standard => Some(one_segment(ack, windows)),
            Self::All => Some(acked(ack)),
            Self::HystartPlusPlus(hystart) => hystart.on_ack(ack, windows),
            Self::Hystart(hystart) => hystart.on_ack(now, ack, windows),
        }
    }

    /// Whether what would exceed ssthresh counts in congestion avoidance instead.
    pub(super) fn ends_at_ssthresh(&self) -> bool {
        match self {
            Self::Standard | Self::HystartPlusPlus(_) => false,
            Self::All => true,
            Self::Hystart(hystart) => hystart.always_all(),
        }
    }

    /// The retransmission timer expired.
    pub(super) fn on_timeout(&mut self) {
        if let Self::Hystart(hystart) = self {
            **hystart = Hystart::new(hystart.always_all());
        }
    }
}

/// The bytes that are acknowledged.
#[expect(clippy::cast_precision_loss, reason = "windows stay below 2^53 bytes")]
const fn acked(ack: &AckSample) -> f64 {
    ack.acked.0 as f64
}

/// The bytes that are acknowledged, up to a segment.
const fn one_segment(ack: &AckSample, windows: &Windows) -> f64 {
    acked(ack).min(windows.mss)
}

/// `rtt` and the increase that tells of a queue: an eighth, but 4 ms at least and 16 ms at most.
//= rfc9406-4.2-threshold
fn risen(rtt: Span) -> Span {
    let (least, most) = THRESHOLD;
    let threshold = Span::from_nanos(rtt.as_nanos() / THRESHOLD_DIVISOR).clamp(least, most);
    Span::from_nanos(rtt.as_nanos().saturating_add(threshold.as_nanos()))
}

#[cfg(test)]
mod tests;
