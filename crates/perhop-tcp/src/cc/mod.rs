//! How the congestion window grows and shrinks; how losses are found and repaired is `recovery`'s matter.

mod any;
mod bbr;
mod bbr3;
mod cubic;
mod cubic_linux;
mod dctcp;
mod max_filter;
mod prague;
mod rates;
mod reno;
mod slow_start;
#[cfg(test)]
pub(crate) mod testing;

pub use any::AnyControl;
pub use bbr::Bbr;
pub use bbr3::Bbr3;
pub use cubic::Cubic;
pub use cubic_linux::CubicLinux;
pub use dctcp::Dctcp;
pub use prague::Prague;
pub use reno::Reno;

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use crate::rate::{LostSegment, RateSample};

/// The contents of a new acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// Bytes that let the window grow: those acknowledged, or those delivered (`GrowthBy`).
    pub acked: Bytes,
    /// These and what is outstanding after it.
    pub in_flight: Bytes,
    /// Whether it was the congestion window, not the receiver's or the application, that bounded the sender.
    pub cwnd_limited: bool,
    /// How long ago the segment that caused it had left, where that is certain.
    pub rtt: Option<Span>,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Span>,
    /// The first byte not acknowledged after it.
    pub una: u64,
}

impl AckSample {
    /// One past the highest byte sent.
    #[must_use]
    pub const fn sent(&self) -> u64 {
        self.una.saturating_sub(self.acked.0).saturating_add(self.in_flight.0)
    }
}

/// Congestion marks, as an acknowledgment reports them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Echo {
    /// Every byte below it has arrived.
    pub ack: u64,
    /// Bytes that it is the first to acknowledge.
    pub acked: Bytes,
    /// How many of them were marked.
    pub marked: Bytes,
    /// One past the highest byte sent.
    pub sent: u64,
    /// When it arrived.
    pub now: Instant,
    /// Smoothed round-trip time, once there is a sample.
    pub srtt: Option<Span>,
}

/// Why the window must shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionSignal {
    /// A loss was found by duplicate acknowledgments.
    FastRetransmit,
    /// The retransmission timer expired.
    Timeout,
    /// The retransmission timer expired for a segment for which it had expired before.
    RepeatedTimeout,
    /// The receiver echoed a congestion mark.
    EcnEcho,
}

/// The sender's state when congestion is found.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Load {
    /// Bytes outstanding (FlightSize, RFC 5681 section 2).
    pub in_flight: Bytes,
    /// Bytes by which a recovery inflates the window.
    pub inflation: Bytes,
    /// The receiver's window.
    pub window: Bytes,
    /// Bytes still in the network that a time-out leaves in the window (`TimeoutWindow`).
    pub kept: Bytes,
}

/// The windows after an idle time.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AfterIdle {
    /// When the last segment before it left.
    pub since: Instant,
    /// cwnd is at most this, and at least a segment.
    pub cwnd: Bytes,
    /// ssthresh is at least this.
    pub ssthresh: Bytes,
}

/// Window growth and decrease. `now` never decreases between calls.
///
/// Laws: `cwnd` is at least one segment, `ssthresh` at least two; equal calls give equal answers.
pub trait CongestionControl: Send {
    /// New data was acknowledged outside of loss recovery.
    fn on_ack(&mut self, now: Instant, ack: &AckSample);
    /// With ECN, an acknowledgment of something sent arrived, before anything else comes of it. Nothing is made of it where a mark is
    /// like a loss.
    fn on_echo(&mut self, _echo: &Echo) {}
    /// Congestion was found.
    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, load: &Load);
    /// Loss recovery has ended: the window becomes ssthresh, which `deflate` may have gone below.
    fn on_recovery_exit(&mut self, now: Instant);
    /// The last time-out proved spurious: the state before it is the right one (RFC 5682 section 4, RFC 4015).
    fn on_spurious_timeout(&mut self, now: Instant);
    /// The sender was idle for more than a retransmission time-out.
    fn on_restart_after_idle(&mut self, now: Instant, left: &AfterIdle);
    /// A partial acknowledgment took `by` bytes more than the inflation of a recovery held.
    fn deflate(&mut self, by: Bytes);
    /// The window is at most `to`, and at least a segment.
    fn limit(&mut self, to: Bytes);
    /// The connection is open; `rtt` is the round trip of its SYN, where there is a sample.
    fn on_established(&mut self, _now: Instant, _rtt: Option<Span>) {}
    /// An acknowledgment arrived, in a recovery or not, and everything else has been made of it. Only a control with a
    /// [pacing rate](Self::pacing_rate) hears of it.
    fn on_rate(&mut self, _now: Instant, _sample: &RateSample) {}
    /// A segment is taken for lost, after the congestion that this is, if it is one, and before `on_rate`. Only a control with a
    /// [pacing rate](Self::pacing_rate) hears of it.
    fn on_lost(&mut self, _now: Instant, _lost: &LostSegment) {}
    /// Data leaves after the application had nothing to send and everything was acknowledged. Only a control with a
    /// [pacing rate](Self::pacing_rate) hears of it.
    fn on_idle_end(&mut self, _now: Instant) {}
    /// The rate at which segments are to leave, in bytes of data per second. A control that has one moves the window in recoveries
    /// too, by `on_rate`; it has one from its beginning on. Rates are known with `rack` alone: without it only the pace is kept.
    fn pacing_rate(&self) -> Option<u64> {
        None
    }
    /// Whether it sends less than the path takes, so that the rates of what leaves now say nothing of the path.
    fn limits_itself(&self) -> bool {
        false
    }
    /// The congestion window.
    fn cwnd(&self) -> Bytes;
    /// The slow start threshold; `u64::MAX` before the first congestion if there is none.
    fn ssthresh(&self) -> Bytes;
}
