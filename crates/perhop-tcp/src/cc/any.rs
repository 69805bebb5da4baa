//! A congestion control in place of a pointer: the common one costs no memory read of its own.

use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

use super::{AckSample, AfterIdle, CongestionControl, CongestionSignal, Echo, Load, Reno};
use crate::rate::{LostSegment, RateSample};

/// Reno in place, any other behind a pointer.
pub enum AnyControl {
    /// RFC 5681.
    Reno(Reno),
    /// Any other.
    Other(Box<dyn CongestionControl>),
}

impl From<Reno> for AnyControl {
    fn from(reno: Reno) -> Self {
        Self::Reno(reno)
    }
}

impl From<Box<dyn CongestionControl>> for AnyControl {
    fn from(other: Box<dyn CongestionControl>) -> Self {
        Self::Other(other)
    }
}

macro_rules! forward {
    ($self:ident, $cc:ident => $call:expr) => {
        match $self {
            AnyControl::Reno($cc) => $call,
            AnyControl::Other($cc) => $call,
        }
    };
}

impl CongestionControl for AnyControl {
    fn on_ack(&mut self, now: Instant, ack: &AckSample) {
        forward!(self, cc => cc.on_ack(now, ack));
    }

    fn on_echo(&mut self, echo: &Echo) {
        forward!(self, cc => cc.on_echo(echo));
    }

    fn on_congestion(&mut self, now: Instant, signal: CongestionSignal, load: &Load) {
        forward!(self, cc => cc.on_congestion(now, signal, load));
    }

    fn on_recovery_exit(&mut self, now: Instant) {
        forward!(self, cc => cc.on_recovery_exit(now));
    }

    fn on_spurious_timeout(&mut self, now: Instant) {
        forward!(self, cc => cc.on_spurious_timeout(now));
    }

    fn on_restart_after_idle(&mut self, now: Instant, left: &AfterIdle) {
        forward!(self, cc => cc.on_restart_after_idle(now, left));
    }

    fn deflate(&mut self, by: Bytes) {
        forward!(self, cc => cc.deflate(by));
    }

    fn limit(&mut self, to: Bytes) {
        forward!(self, cc => cc.limit(to));
    }

    fn on_established(&mut self, now: Instant, rtt: Option<Span>) {
        forward!(self, cc => cc.on_established(now, rtt));
    }

    fn on_rate(&mut self, now: Instant, sample: &RateSample) {
        forward!(self, cc => cc.on_rate(now, sample));
    }

    fn on_lost(&mut self, now: Instant, lost: &LostSegment) {
        forward!(self, cc => cc.on_lost(now, lost));
    }

    fn on_idle_end(&mut self, now: Instant) {
        forward!(self, cc => cc.on_idle_end(now));
    }

    fn pacing_rate(&self) -> Option<u64> {
        forward!(self, cc => cc.pacing_rate())
    }

    fn limits_itself(&self) -> bool {
        forward!(self, cc => cc.limits_itself())
    }

    fn cwnd(&self) -> Bytes {
        forward!(self, cc => cc.cwnd())
    }

    fn ssthresh(&self) -> Bytes {
        forward!(self, cc => cc.ssthresh())
    }
}
