//! The words of a TCP's settings, each with what it means and the value of [`settings`] that it stands for.

use perhop_tcp::settings;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Enumerations of a file whose variants are those of the enumeration of the same name in [`settings`].
macro_rules! words {
    ($($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $variant:ident = $word:literal,)+ })+) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
        pub enum $name {
            $($(#[$about])* #[serde(rename = $word)] $variant,)+
        }

        impl From<$name> for settings::$name {
            fn from(word: $name) -> Self {
                match word {
                    $($name::$variant => Self::$variant,)+
                }
            }
        }
    )+};
}

words! {
    /// How the congestion window grows.
    Growth {
        /// Slow start, then a segment per round trip (RFC 5681 section 3.1).
        Reno = "reno",
        /// Slow start, then a cubic function of the time since the last congestion (RFC 9438 section 4).
        Cubic = "cubic",
    }

    /// How losses are found and repaired.
    RecoveryKind {
        /// Fast retransmit, then slow start from one segment (Jacobson 1988).
        Tahoe = "tahoe",
        /// Fast retransmit and fast recovery (RFC 5681 section 3.2).
        Reno = "reno",
        /// As Reno, and a partial ACK goes on with the recovery (RFC 6582).
        NewReno = "newreno",
        /// Selective acknowledgments (RFC 2018) with the scoreboard of RFC 6675.
        Sack = "sack",
        /// Selective acknowledgments with a pipe that is counted down and up (Fall and Floyd 1996, section 3.2).
        Sack1996 = "sack-1996",
    }

    /// Where slow start first ends.
    InitialSsthresh {
        /// Not before the first congestion (RFC 5681 section 3.1: arbitrarily high).
        Unbounded = "unbounded",
        /// At the receiver's window.
        Window = "window",
    }

    /// What congestion avoidance counts.
    Counting {
        /// ACKs: each adds `mss * mss / cwnd` (RFC 5681 section 3.1, equation (3)).
        Acks = "acks",
        /// Bytes acknowledged: a segment for each window of them (RFC 5681 section 3.1, the recommended way).
        Bytes = "bytes",
    }

    /// What is halved on congestion.
    LossWindow {
        /// The bytes in flight (RFC 5681 section 3.1, equation (4)).
        Flight = "flight",
        /// The smaller of the congestion window, inflation included, and the receiver's window.
        Window = "window",
    }

    /// How halves are rounded.
    Halving {
        /// To the byte: ssthresh and cwnd are the half.
        Bytes = "bytes",
        /// ssthresh down to whole segments, cwnd not at all.
        Fractional = "fractional",
        /// Window, ssthresh and cwnd down to whole segments.
        Integer = "integer",
    }

    /// When duplicate ACKs may start another fast retransmit.
    Guard {
        /// Always.
        Off = "off",
        /// Once all that was outstanding at the last one or at a time-out is acknowledged (RFC 2582 section 5, the less
        /// careful variant).
        LessCareful = "less-careful",
        /// Once more than that is acknowledged (RFC 6582 section 3.2, step 1).
        Careful = "careful",
    }

    /// What a recovery that ends leaves as window.
    RecoveryExit {
        /// ssthresh (RFC 5681 section 3.2, step 6; RFC 6582 section 3.2, step 3, the second option).
        Ssthresh = "ssthresh",
        /// The smaller of ssthresh and a segment more than what is in flight (RFC 6582 section 3.2, step 3, the first
        /// option).
        Flight = "flight",
        /// The window without its inflation; Reno and NewReno let it grow by the ACK that ends the recovery, SACK does not.
        Grow = "grow",
    }

    /// Which partial ACKs restart the retransmission timer.
    PartialAckTimer {
        /// The first of a recovery (RFC 6582 section 4, impatient).
        First = "first",
        /// Each (RFC 6582 section 4, slow but steady).
        Every = "every",
    }

    /// How the smoothed round-trip time and its variation are kept.
    RttArithmetic {
        /// In nanoseconds (RFC 6298 section 2).
        Exact = "exact",
        /// In clock ticks with 3 and 2 fraction bits (Jacobson 1988, appendix A); the time-out is in whole ticks.
        Scaled = "scaled",
    }
}
