//! How losses are found and repaired, apart from how the window grows.
//!
//! Each recovery hears of acknowledgments and time-outs and says what may be sent next; the sender moves sequence
//! numbers, timers and the congestion window. Units: bytes.

mod duplicates;
mod newreno;
mod prr;
mod rack;
mod reno;
mod sack;
mod sack_1996;
mod scoreboard;
mod sent;
mod tahoe;

pub use newreno::NewReno;
pub use rack::Rack;
pub use reno::Reno;
pub use sack::Sack;
pub use sack_1996::Sack1996;
pub use scoreboard::Scoreboard;
pub use tahoe::Tahoe;

use crate::settings::{RecoveryKind, TcpParams};

/// Duplicates that are taken for a loss (RFC 5681 section 3.2).
//= rfc6675-2-threshold
//= rfc3042-2-threshold
pub const DUPLICATE_THRESHOLD: u32 = 3;

/// The outstanding data and the windows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flight {
    /// First byte not acknowledged.
    pub una: u64,
    /// Next byte to send; behind `max` after a time-out.
    pub nxt: u64,
    /// One past the highest byte ever sent.
    pub max: u64,
    /// Payload of a full segment.
    pub mss: u64,
    /// Length of the segment at `nxt`; 0 if there is nothing to send there.
    pub len: u64,
    /// The congestion window.
    pub cwnd: u64,
    /// The receiver's window.
    pub window: u64,
    /// The number of a FIN that has been sent; `u64::MAX` for none.
    pub fin: u64,
}

impl Flight {
    /// Whether the segment at `nxt` fits into the windows, the congestion window being wider by `extra`.
    //= rfc5681-2-window
    //= rfc7323-2.4-first
    #[must_use]
    pub const fn fits(&self, extra: u64) -> bool {
        let wide = self.cwnd + extra;
        let usable = if wide < self.window { wide } else { self.window };
        self.len > 0 && self.nxt + self.len <= self.una + usable
    }

    /// The first outstanding segment, to be sent again.
    #[must_use]
    pub const fn first(&self) -> Next {
        Next::Resend(self.una, self.max)
    }

    /// Whether the segment at `nxt` fits into the receiver's window.
    //= rfc7323-2.4-first
    #[must_use]
    pub const fn offered(&self) -> bool {
        self.len > 0 && self.nxt + self.len <= self.una + self.window
    }
}

/// The action on a duplicate acknowledgment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnDuplicate {
    /// Nothing for the congestion window.
    Wait,
    /// A loss: shrink the window; recovery begins.
    Recover,
    /// A loss: shrink the window to one segment and send again from the first outstanding byte.
    Restart,
}

/// The meaning of an acknowledgment of new data.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum OnNewAck {
    /// No recovery: the window may grow.
    Grow,
    /// A recovery goes on.
    Partial {
        /// Bytes by which the congestion window shrinks.
        deflate: u64,
        /// Whether the retransmission timer starts anew.
        restart_timer: bool,
    },
    /// A recovery has ended.
    Exit,
}

/// The data that may be sent now.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Next {
    /// The segment that begins at the first byte, and not past the second, again.
    Resend(u64, u64),
    /// The segment at `nxt`.
    Segment,
    /// Nothing.
    Nothing,
}

/// Finds and repairs losses.
///
/// Laws: `next` never names bytes below `una`, sends nothing outside the receiver's window, and what it answers changes
/// after `on_*` calls only.
pub trait LossRecovery {
    /// Takes in the SACK blocks of an acknowledgment; called before the two below. Returns bytes not known before.
    fn on_sack(&mut self, _flight: &Flight, _blocks: &[(u64, u64)]) -> u64 {
        0
    }
    /// An acknowledgment repeated the last one while data was outstanding; it brought `fresh` bytes of SACK.
    fn on_duplicate(&mut self, flight: &Flight, fresh: u64) -> OnDuplicate;
    /// The window has been shrunk after [`OnDuplicate::Recover`]; `flight` has the new one.
    fn on_entered(&mut self, _flight: &Flight) {}
    /// `ack`, above `flight.una`, was acknowledged.
    fn on_new_ack(&mut self, flight: &Flight, ack: u64) -> OnNewAck;
    /// The retransmission timer expired.
    fn on_timeout(&mut self, flight: &Flight);
    /// The last time-out proved spurious: what was outstanding then is not lost, and its duplicates may begin a recovery
    /// (RFC 5682 section 2.1, step 3).
    fn on_spurious_timeout(&mut self, flight: &Flight);
    /// The data that may be sent now.
    fn next(&self, flight: &Flight) -> Next;
    /// The bytes `seq..end` were sent; `flight` is as before.
    fn on_sent(&mut self, flight: &Flight, seq: u64, end: u64);
    /// Bytes by which duplicates, segments that have left the network, widen the window.
    fn inflation(&self) -> u64 {
        0
    }
    /// Bytes beyond `una` known to have arrived.
    fn sacked(&self) -> u64 {
        0
    }
    /// The next byte at or after `at` that is not known to have arrived.
    fn skip_sacked(&self, at: u64) -> u64 {
        at
    }
    /// Whether an acknowledgment of new data that also reports bytes beyond it counts as a duplicate.
    fn counts_news(&self) -> bool {
        false
    }
    /// Bytes in the network, where losses are found by time; else 0.
    fn in_network(&self, _flight: &Flight) -> u64 {
        0
    }
    /// Bytes outstanding that limited transmit has added.
    fn limited(&self) -> u64 {
        0
    }
    /// Whether a recovery goes on.
    fn recovering(&self) -> bool;
    /// All that there is to send has arrived: what records of it took is given back, as far as nothing is left in it.
    fn release(&mut self) {}
}

/// The recovery of a sender, in place.
pub enum Recovery {
    /// Jacobson 1988.
    Tahoe(Tahoe),
    /// RFC 5681.
    Reno(Reno),
    /// RFC 6582.
    NewReno(NewReno),
    /// RFC 6675.
    Sack(Box<Sack>),
    /// RFC 8985.
    Rack(Box<Rack>),
    /// Fall and Floyd 1996.
    Sack1996(Box<Sack1996>),
}

impl Recovery {
    /// The recovery that `params` names.
    //= rfc5681-4.3-advanced
    //= rfc6582-1-without-sack
    #[must_use]
    pub fn new(params: &TcpParams) -> Self {
        match params.recovery {
            RecoveryKind::Tahoe => Self::Tahoe(Tahoe::new(params)),
            RecoveryKind::Reno => Self::Reno(Reno::new(params)),
            RecoveryKind::NewReno => Self::NewReno(NewReno::new(params)),
            RecoveryKind::Sack if params.rack => Self::Rack(Box::new(Rack::new(params))),
            RecoveryKind::Sack => Self::Sack(Box::new(Sack::new(params))),
            RecoveryKind::Sack1996 => Self::Sack1996(Box::new(Sack1996::new(params))),
        }
    }
}

macro_rules! forward {
    ($self:ident, $recovery:ident => $call:expr) => {
        match $self {
            Recovery::Tahoe($recovery) => $call,
            Recovery::Reno($recovery) => $call,
            Recovery::NewReno($recovery) => $call,
            Recovery::Sack($recovery) => $call,
            Recovery::Rack($recovery) => $call,
            Recovery::Sack1996($recovery) => $call,
        }
    };
}

impl LossRecovery for Recovery {
    fn on_sack(&mut self, flight: &Flight, blocks: &[(u64, u64)]) -> u64 {
        forward!(self, r => r.on_sack(flight, blocks))
    }

    fn on_duplicate(&mut self, flight: &Flight, fresh: u64) -> OnDuplicate {
        forward!(self, r => r.on_duplicate(flight, fresh))
    }

    fn on_entered(&mut self, flight: &Flight) {
        forward!(self, r => r.on_entered(flight));
    }

    fn on_new_ack(&mut self, flight: &Flight, ack: u64) -> OnNewAck {
        forward!(self, r => r.on_new_ack(flight, ack))
    }

    fn on_timeout(&mut self, flight: &Flight) {
        forward!(self, r => r.on_timeout(flight));
    }

    fn on_spurious_timeout(&mut self, flight: &Flight) {
        forward!(self, r => r.on_spurious_timeout(flight));
    }

    fn next(&self, flight: &Flight) -> Next {
        forward!(self, r => r.next(flight))
    }

    fn on_sent(&mut self, flight: &Flight, seq: u64, end: u64) {
        forward!(self, r => r.on_sent(flight, seq, end));
    }

    fn inflation(&self) -> u64 {
        forward!(self, r => r.inflation())
    }

    fn sacked(&self) -> u64 {
        forward!(self, r => r.sacked())
    }

    fn skip_sacked(&self, at: u64) -> u64 {
        forward!(self, r => r.skip_sacked(at))
    }

    fn counts_news(&self) -> bool {
        forward!(self, r => r.counts_news())
    }

    fn in_network(&self, flight: &Flight) -> u64 {
        forward!(self, r => r.in_network(flight))
    }

    fn limited(&self) -> u64 {
        forward!(self, r => r.limited())
    }

    fn recovering(&self) -> bool {
        forward!(self, r => r.recovering())
    }

    fn release(&mut self) {
        forward!(self, r => r.release());
    }
}
