//! A meter with an estimate of the rate instead of a bucket: the time sliding window three colour marker.
//!
//! Source: RFC 2859 sections 3 and 4. Different: nothing. It is colour-blind. perhop has it too, as `tsw3cm`.
//! Units: rates in bit/s, the window in ns. Cost: a division, and a draw for each packet beyond the target rate.

use perhop_core::meter::Meter;
use perhop_core::packet::{Color, Meta};
use perhop_core::param_error::ParamError;
use perhop_core::rng::Stream;
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::{BitRate, Bytes};

/// What a [`TswTcm`] is built from.
#[derive(Clone, Copy, Debug)]
pub struct TswTcmParams {
    /// Committed target rate: what exceeds it is yellow.
    pub ctr: BitRate,
    /// Peak target rate: what exceeds it is red.
    pub ptr: BitRate,
    /// How long the estimate remembers.
    pub window: Span,
}

/// Three colours by an estimate of the rate.
#[derive(Clone, Debug)]
pub struct TswTcm {
    ctr: f64,
    ptr: f64,
    /// In s.
    window: f64,
    stream: Stream,
    /// The estimate at `front`, in bit/s.
    rate: f64,
    front: Instant,
}

#[expect(clippy::cast_precision_loss, reason = "rates and lengths far below 2^53")]
impl TswTcm {
    /// A meter that has seen traffic at `ctr`.
    ///
    /// # Errors
    /// Refuses a `ptr` below `ctr`, and a `window` of zero.
    pub fn new(params: TswTcmParams, stream: Stream) -> Result<Self, ParamError> {
        let TswTcmParams { ctr, ptr, window } = params;
        if ptr < ctr {
            return Err(ParamError::new("ptr", format!("must not be below ctr ({ctr})")));
        }
        if window == Span::ZERO {
            return Err(ParamError::new("window", "must exceed 0s"));
        }
        let (ctr, ptr) = (ctr.bits_per_sec() as f64, ptr.bits_per_sec() as f64);
        Ok(Self { ctr, ptr, window: window.as_secs_f64(), stream, rate: ctr, front: Instant::ZERO })
    }

    /// Section 3: the window slides to `now`, and `len` comes into it.
    fn estimate(&mut self, now: Instant, len: Bytes) {
        let bits = self.rate * self.window + len.bits() as f64;
        self.rate = bits / (now.saturating_since(self.front).as_secs_f64() + self.window);
        self.front = now;
    }
}

impl Timed for TswTcm {}

impl Meter for TswTcm {
    /// Section 4: as much of the stream is green as the committed rate is of it, and so on.
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.estimate(now, meta.len);
        if self.rate <= self.ctr {
            return Color::Green;
        }
        let drawn = self.stream.unit() * self.rate;
        if drawn < self.ctr {
            Color::Green
        } else if drawn < self.ptr {
            Color::Yellow
        } else {
            Color::Red
        }
    }
}
