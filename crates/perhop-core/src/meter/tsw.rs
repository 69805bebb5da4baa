//! The time sliding window markers: an estimate of the rate instead of a bucket, and beyond a target a colour by chance.
//!
//! Source: RFC 2859 sections 3 and 4 (three colours); Clark and Fang 1998 for the estimator; the DiffServ module of ns-2
//! for two colours (TSW2CM). Different: CTR and PTR are `cir` and `pir`, as with every meter; lengths are those on the
//! link; a packet draws only where chance decides, while ns-2's TSW3CM draws for each. It is colour-blind.
//! Units: rates in bit/s, the window in ns. Cost: a division, and a draw for each packet while the estimate exceeds `cir`.

use super::Meter;
use crate::packet::{Color, Meta};
use crate::param_error::ParamError;
use crate::rng::Stream;
use crate::time::{Instant, Span};
use crate::timed::Timed;
use crate::units::{BitRate, Bytes};

/// The parameters of a [`Tsw`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TswParams {
    /// Committed target rate: of a stream that exceeds it, this much is green.
    pub cir: BitRate,
    /// Peak target rate: what exceeds it is red, and what lies between the two yellow. Without one nothing is yellow.
    pub pir: Option<BitRate>,
    /// How long the estimate remembers.
    pub window: Span,
}

/// Two or three colours by an estimate of the rate.
#[derive(Clone, Debug)]
pub struct Tsw {
    /// In bit/s.
    cir: f64,
    pir: f64,
    /// In s.
    window: f64,
    stream: Stream,
    /// The estimate as the last packet came, in bit/s.
    rate: f64,
    front: Instant,
}

#[expect(clippy::cast_precision_loss, reason = "rates and lengths far below 2^53")]
impl Tsw {
    /// A meter that has seen traffic at `cir`, and draws from `stream`.
    ///
    /// # Errors
    /// Refuses a `pir` below `cir`, and a `window` of zero.
    //= rfc2859-3-begins
    pub fn new(params: TswParams, stream: Stream) -> Result<Self, ParamError> {
        let TswParams { cir, pir, window } = params;
        let peak = pir.unwrap_or(cir);
        if peak < cir {
            return Err(ParamError::new("pir", format!("must not be below cir ({cir})")));
        }
        if window == Span::ZERO {
            return Err(ParamError::new("window", "must exceed 0s"));
        }
        let (cir, pir) = (cir.bits_per_sec() as f64, peak.bits_per_sec() as f64);
        Ok(Self { cir, pir, window: window.as_secs_f64(), stream, rate: cir, front: Instant::ZERO })
    }

    /// The window slides on to `now`, and `len` comes into it.
    //= rfc2859-3-estimate
    #[inline]
    fn estimate(&mut self, now: Instant, len: Bytes) {
        let bits = self.rate * self.window + len.bits() as f64;
        self.rate = bits / (now.saturating_since(self.front).as_secs_f64() + self.window);
        self.front = now;
    }
}

impl Timed for Tsw {}

impl Meter for Tsw {
    //= rfc2859-4-green
    //= rfc2859-4-yellow
    //= rfc2859-4-red
    fn measure(&mut self, now: Instant, meta: &Meta) -> Color {
        self.estimate(now, meta.len);
        if self.rate <= self.cir {
            return Color::Green;
        }
        // uniform above zero and up to the rate: the part of it below each target has the target's chance
        let drawn = self.rate * (1.0 - self.stream.unit());
        if drawn <= self.cir {
            Color::Green
        } else if drawn <= self.pir {
            Color::Yellow
        } else {
            Color::Red
        }
    }

    fn draw_apart(&mut self, which: u64) {
        self.stream.turn_to(which);
    }
}
