//! How the congestion window grows and shrinks; how losses are found and repaired is `recovery`'s matter.

mod reno;

pub use reno::Reno;

use perhop_core::time::{Instant, Span};
use perhop_core::units::{BitRate, Bytes};

/// What a new acknowledgment says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct AckSample {
    /// Bytes acknowledged for the first time.
    pub acked: Bytes,
    /// Bytes outstanding before it.
    pub in_flight: Bytes,
    /// Whether it was the congestion window, not the receiver's, that bounded the sender.
    pub cwnd_limited: bool,
    /// A round-trip sample, where this acknowledgment gave one.
    pub rtt: Option<Span>,
}

/// Why the window must shrink.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CongestionSignal {
    /// A loss was found by duplicate acknowledgments.
    FastRetransmit,
    /// The retransmission timer expired for a segment for the first time.
    Timeout,
    /// The receiver echoed a congestion mark.
    EcnEcho,
}

/// Window growth and decrease. `now` never decreases between calls.
///
/// Laws: `cwnd` is at least one segment, `ssthresh` at least two; equal calls give equal answers.
pub trait CongestionControl: Send {
    /// New data was acknowledged outside of loss recovery.
    fn on_ack(&mut self, now: Instant, ack: &AckSample);
    /// Congestion, with `in_flight` bytes outstanding.
    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, in_flight: Bytes);
    /// Loss recovery has ended.
    fn on_recovery_exit(&mut self, _now: Instant) {}
    /// The sender was idle for a retransmission time-out.
    fn on_restart_after_idle(&mut self, _now: Instant) {}
    /// The congestion window.
    fn cwnd(&self) -> Bytes;
    /// The slow start threshold.
    fn ssthresh(&self) -> Bytes;
    /// The rate to pace at, for a rate-based control.
    fn pacing_rate(&self) -> Option<BitRate> {
        None
    }
}
