//! Flows as a driver reads them: what each sends, from where to where, when.

use std::sync::Arc;

use perhop_core::ack_marking::AckMarking;
use perhop_core::dscp::Dscp;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes};
use perhop_tcp::ack::AdaptiveParams;
use perhop_tcp::settings::TcpParams;

use crate::meant::code::Code;
use crate::words::congestion::KernelControl;
use crate::words::labels::Labels;
use crate::words::setting::SettingsTable;

/// One UDP flow.
#[derive(Clone, Debug)]
pub struct Udp {
    /// `bulk[3]`, or the plain name where it is a single pair.
    pub name: String,
    /// The class that the flow was contracted as.
    pub class: String,
    /// Further words by name, for results to be grouped by.
    pub labels: Arc<Labels>,
    /// Node index of the sender.
    pub from: usize,
    /// Node index of the receiver.
    pub to: usize,
    /// First packet, before `start_jitter`.
    pub start: Span,
    /// The start is moved later by a uniform draw from [0, this).
    pub start_jitter: Span,
    /// The mark that the sending host gives.
    pub mark: Dscp,
    /// Rate while it sends.
    pub rate: BitRate,
    /// Length of every packet on the wire.
    pub packet_size: Bytes,
    /// Index of the call that it is one way of.
    pub call: Option<usize>,
    /// When packets leave.
    pub pattern: UdpPattern,
    /// The packets of the pattern `Capture`; rate and packet size are then their mean rate and the longest.
    pub capture: Option<Arc<Capture>>,
}

/// Packets as they were captured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// The distance of each from the first, and its length.
    pub packets: Vec<(Span, Bytes)>,
    /// From the first to the first again, where all is repeated.
    pub period: Option<Span>,
}

impl Capture {
    /// Packet number `n`, from 0: its distance from the first and its length; `None` when there are no more.
    #[must_use]
    pub fn packet(&self, n: u64) -> Option<(Span, Bytes)> {
        let count = self.packets.len() as u64;
        let (round, at) = (n / count, usize::try_from(n % count).ok()?);
        let (after, len) = self.packets[at];
        match self.period {
            _ if round == 0 => Some((after, len)),
            None => None,
            Some(period) => Some((Span::from_nanos(period.as_nanos().saturating_mul(round)) + after, len)),
        }
    }

    /// The packets in a time from the first on.
    #[must_use]
    pub fn count(&self, time: Span) -> u64 {
        let within = |rest: u64| self.packets.partition_point(|(after, _)| after.as_nanos() < rest) as u64;
        match self.period {
            None => within(time.as_nanos()),
            Some(period) => {
                let (rounds, rest) =
                    (time.as_nanos() / period.as_nanos(), time.as_nanos() % period.as_nanos());
                rounds.saturating_mul(self.packets.len() as u64) + within(rest)
            }
        }
    }
}

/// When the packets of a UDP flow leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UdpPattern {
    /// At even distances.
    Cbr,
    /// At exponential distances.
    Poisson,
    /// At even distances during times of exponential length, and not at all in between.
    OnOff {
        /// Mean length of a time in which it sends.
        on: Span,
        /// Mean length of a time in which it does not.
        off: Span,
    },
    /// As captured.
    Capture,
}

/// One connection: data `from` -> `to`, ACKs back.
#[derive(Clone, Debug)]
pub struct Flow {
    /// `bulk[3]`, or the plain name where it is a single pair.
    pub name: String,
    /// The class that the flow was contracted as; free text.
    pub class: String,
    /// Further words by name, for results to be grouped by.
    pub labels: Arc<Labels>,
    /// Node index of the sender.
    pub from: usize,
    /// Node index of the receiver.
    pub to: usize,
    /// First transmission, before `start_jitter`.
    pub start: Span,
    /// The start is moved later by a uniform draw from [0, this).
    pub start_jitter: Span,
    /// The mark that the sending host gives.
    pub mark: Dscp,
    /// Index of the application that says what it sends; its `size` is then zero.
    pub application: Option<usize>,
    /// Its TCP.
    pub tcp: Tcp,
    /// Its congestion control, if it is in Python.
    pub control: Option<Arc<CustomControl>>,
    /// Its congestion control, if it is the kernel's: then `tcp.params.cc` says nothing.
    pub kernel: Option<KernelControl>,
    /// When the receiver acknowledges.
    pub ack: AckPolicy,
    /// Its ACK policy, if it is in Python.
    pub ack_control: Option<Arc<CustomControl>>,
    /// Which mark the receiver gives its acknowledgments.
    pub ack_marking: AckMarking,
}

impl Flow {
    /// Bytes that it sends at all; `None` where nothing ends it, or an application says as it goes.
    pub fn size(&self) -> Option<Bytes> {
        self.tcp.params.size.filter(|_| self.application.is_none())
    }
}

/// A congestion control or an ACK policy in Python.
#[derive(Clone, Debug, PartialEq)]
pub struct CustomControl {
    /// Its class.
    pub name: String,
    /// Its settings.
    pub settings: SettingsTable,
    /// The program text that it is a class of.
    pub code: Code,
}

/// A TCP connection's parameters.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Tcp {
    /// Everything that the two ends are made from. The window is what the sender can use of it: rounded down to what
    /// the window field can say with this `window_scale`, then to whole segments.
    pub params: TcpParams,
    /// Added to every segment on the wire; the length of a pure ACK where no link says otherwise.
    pub header: Bytes,
}

/// When the receiver acknowledges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckPolicy {
    /// Each arriving segment at once.
    EverySegment,
    /// Every second full segment, and any other once it has waited.
    Delayed(AdaptiveParams),
}
