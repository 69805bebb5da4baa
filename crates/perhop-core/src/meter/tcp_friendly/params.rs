//! The parameters of the marker: the paper's settings, and our readings of what it leaves open.

use super::estimate::{Gain, ONE};
use crate::param_error::ParamError;
use crate::time::Span;
use crate::units::Bytes;

/// Parameters of [`super::TcpFriendly`]. `docs/decisions/0015-tcp-friendly-marker.md` says why the defaults are what
/// they are.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct TcpFriendlyParams {
    /// The marking interval T; the first begins at the start of the run.
    pub interval: Span,
    /// Tokens for all flows together in each interval, M; one is worth one packet.
    pub tokens: u32,
    /// Payload of a full segment: turns sequence numbers into packets.
    pub packet_size: Bytes,
    /// Flows with a window estimate below this many packets have a small window, k. 0: none has.
    pub small_window: f64,
    /// Weight of a new sample in the running average W(i), in (0, 1].
    pub gain_window: f64,
    /// Weight of the last interval in the running average E(i), in (0, 1].
    pub gain_packets: f64,
    /// The tokens of small-window flows if together they ask for all tokens or more.
    pub shortage: Shortage,
    /// The use of a part of a token.
    pub fraction: Fraction,
    /// The tokens of a flow before its first allocation.
    pub new_flow: NewFlow,
    /// The colour of a packet when its flow's tokens are gone.
    pub beyond_tokens: BeyondTokens,
    /// The part of a flow's spacing that goes from one interval to the next.
    pub carry_spacing: CarrySpacing,
    /// At most this many tokens that nobody used go over into the next interval's pool.
    pub carry_tokens: u32,
    /// A flow is forgotten after this many intervals without a packet, 1 to 10,000.
    pub forget_after: u32,
}

impl TcpFriendlyParams {
    /// The defaults: the paper's k, and our readings.
    #[must_use]
    pub const fn new(interval: Span, tokens: u32, packet_size: Bytes) -> Self {
        Self {
            interval,
            tokens,
            packet_size,
            small_window: 4.0,
            gain_window: 0.25,
            gain_packets: 0.5,
            shortage: Shortage::Equal,
            fraction: Fraction::Carry,
            new_flow: NewFlow::SmallWindow,
            beyond_tokens: BeyondTokens::Out,
            carry_spacing: CarrySpacing::CountAndCorrection,
            carry_tokens: 0,
            forget_after: 20,
        }
    }
}

/// The tokens of small-window flows if together they ask for all tokens or more. The paper says it for "all" only.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Shortage {
    /// The same number each, whatever they ask for: the paper's rule for exactly all, also for more.
    #[default]
    Equal,
    /// Max-min fair shares: what a flow does not ask for goes to the others.
    MaxMin,
}

/// The use of a part of a token.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Fraction {
    /// An IN packet takes a whole token; a flow keeps what it has left, at most one token, for the next interval.
    #[default]
    Carry,
    /// Allocations are whole: the parts stay in the pool, unallocated.
    Floor,
    /// Any part of a token makes a packet IN, as Algorithm 2 has it; more tokens may be used than there are.
    RoundUp,
}

/// The tokens of a flow before its first allocation, at the end of the interval in which it appears.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum NewFlow {
    /// It is a flow with a small window: IN while it is one and tokens are left that no flow was allocated.
    #[default]
    SmallWindow,
    /// OUT, as E(i) = 0 reads.
    Out,
}

/// The colour of a packet when its flow's tokens are gone.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum BeyondTokens {
    /// OUT, as Algorithm 2 has it.
    #[default]
    Out,
    /// IN while tokens are left that no flow was allocated, then OUT.
    Surplus,
    /// A packet of a flow with a small window is IN, always, as the text has it; others as with `Out`.
    SmallWindowIn,
}

/// The part of a flow's spacing that goes from one interval to the next.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum CarrySpacing {
    /// The OUT packets since its last IN packet, but no more than the new spacing asks for, and the correction of the
    /// fraction.
    #[default]
    CountAndCorrection,
    /// These OUT packets, and no correction: each allocation overwrites S.
    Count,
    /// Nothing: each interval begins with the OUT packets of a whole spacing.
    Nothing,
}

/// The parameters that are checked and turned into the marker's units.
#[derive(Clone, Copy, Debug)]
pub(super) struct Checked {
    pub(super) gain_window: Gain,
    pub(super) gain_packets: Gain,
    /// k in bytes of sequence space, in parts of 10^6.
    pub(super) small_window: i64,
    /// M in parts of 10^6.
    pub(super) tokens: i64,
    /// Most tokens that go over, in parts of 10^6.
    pub(super) carry_tokens: i64,
    /// Bytes of sequence space in a packet.
    pub(super) packet_size: u32,
}

const MOST_FORGET: u32 = 10_000;
const MOST_WINDOW: f64 = 1e6;

impl TcpFriendlyParams {
    #[expect(clippy::cast_possible_truncation, reason = "below 2^63, checked")]
    #[expect(clippy::cast_precision_loss, reason = "10^6 is exact")]
    pub(super) fn check(&self) -> Result<Checked, ParamError> {
        let gain = |field, gain| {
            Gain::new(gain).ok_or_else(|| ParamError::new(field, "must be above 0 and at most 1"))
        };
        if self.interval == Span::ZERO {
            return Err(ParamError::new("interval", "must be longer than 0"));
        }
        let packet_size = match u32::try_from(self.packet_size.0) {
            Ok(size @ 1..=0xffff) => size,
            _ => return Err(ParamError::new("packet_size", "must be between 1 and 65535 bytes")),
        };
        if !(0.0..=MOST_WINDOW).contains(&self.small_window) {
            return Err(ParamError::new("small_window", "must be between 0 and 1000000 packets"));
        }
        if !(1..=MOST_FORGET).contains(&self.forget_after) {
            return Err(ParamError::new("forget_after", "must be between 1 and 10000 intervals"));
        }
        Ok(Checked {
            gain_window: gain("gain_window", self.gain_window)?,
            gain_packets: gain("gain_packets", self.gain_packets)?,
            small_window: (self.small_window * f64::from(packet_size) * ONE as f64).round() as i64,
            tokens: i64::from(self.tokens) * ONE,
            carry_tokens: i64::from(self.carry_tokens) * ONE,
            packet_size,
        })
    }
}
