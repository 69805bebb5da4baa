//! Laws of a TCP sender with any settings: alone, and with a receiver across a bad network.

use arbitrary::Arbitrary;
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;
use perhop_tcp::segment::{Ack, SackBlocks};
use perhop_tcp::sender::SenderStats;
use perhop_tcp::settings::{IdleRestart, RtoParams, TcpParams};
use proptest::prelude::*;

use crate::observed_sender::ObservedSender;

/// Payload of a segment: few bytes, so that books can be kept for each of them.
pub const MSS: u64 = 10;
/// When the senders under test start.
pub const START: Instant = Instant::from_nanos(1_000_000_000);

/// Options that a connection may have or not, whatever else is set.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Arbitrary)]
#[expect(missing_docs, reason = "the names are those of the settings")]
pub struct Options {
    pub handshake: bool,
    pub limited_transmit: bool,
    pub frto: bool,
    pub timestamps: bool,
    pub ecn: bool,
    pub idle_restart: bool,
    pub grow_beyond_window: bool,
    pub finite: bool,
    pub close: bool,
    pub idle_validation: bool,
}

impl Options {
    /// `params` with these options, and 20 and a half segments of [`MSS`] as window.
    #[must_use]
    pub fn apply(&self, params: &TcpParams) -> TcpParams {
        TcpParams {
            mss: Bytes(MSS),
            window: Bytes(20 * MSS + MSS / 2),
            size: self.finite.then_some(Bytes(40 * MSS + MSS / 2)),
            handshake: self.handshake,
            close: self.close,
            limited_transmit: self.limited_transmit,
            frto: self.frto,
            timestamps: self.timestamps,
            ecn: self.ecn,
            idle_restart: match (self.idle_restart, self.idle_validation) {
                (false, _) => IdleRestart::Off,
                (true, false) => IdleRestart::InitialWindow,
                (true, true) => IdleRestart::Validation,
            },
            grow_beyond_window: self.grow_beyond_window,
            rto: RtoParams { min: Span::from_millis(200), ..params.rto },
            ..*params
        }
    }
}

/// Random options.
pub fn options() -> impl Strategy<Value = Options> {
    any::<u16>().prop_map(|bits| {
        let bit = |n: u16| bits >> n & 1 == 1;
        Options {
            handshake: bit(0),
            limited_transmit: bit(1),
            frto: bit(2),
            timestamps: bit(3),
            ecn: bit(4),
            idle_restart: bit(5),
            grow_beyond_window: bit(6),
            finite: bit(7),
            close: bit(8),
            idle_validation: bit(9),
        }
    })
}

/// Ranges relative to the first outstanding byte: an offset and a length.
pub type Blocks = [(i16, u8); 3];

/// Something that happens to a sender.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Arbitrary)]
pub enum Op {
    /// It is asked for segments, at most so many.
    Poll(u8),
    /// An acknowledgment so many bytes beyond the first outstanding one, or before it; perhaps of nothing sent.
    Ack {
        /// Bytes beyond.
        by: i16,
        /// Blocks that it reports, sensible or not.
        blocks: Blocks,
        /// It echoes a congestion mark.
        ece: bool,
    },
    /// A duplicate acknowledgment that reports segments so many beyond the first outstanding one, if not 0.
    Duplicate {
        /// Segments beyond.
        segment: u8,
        /// Number of segments reported.
        count: u8,
    },
    /// The receiver's window becomes so many half segments.
    Window(u8),
    /// The SYN is answered.
    SynAck,
    /// The application has so many bytes more.
    Write(u8),
    /// Time passes, in multiples of 64 us; deadlines are met on the way.
    Wait(u16),
}

/// Random operations.
pub fn ops() -> impl Strategy<Value = Vec<Op>> {
    let block = || prop_oneof![3 => Just((0, 0)), 1 => (-20i16..220, 0u8..60)];
    let blocks = || [block(), block(), block()];
    let op = prop_oneof![
        5 => any::<u8>().prop_map(Op::Poll),
        3 => (0i16..8, blocks(), prop::bool::weighted(0.1))
            .prop_map(|(segments, blocks, ece)| Op::Ack { by: segments * 10, blocks, ece }),
        1 => (-300i16..300, blocks(), any::<bool>()).prop_map(|(by, blocks, ece)| Op::Ack { by, blocks, ece }),
        6 => (0u8..20, 1u8..4).prop_map(|(segment, count)| Op::Duplicate { segment, count }),
        1 => (0u8..42).prop_map(Op::Window),
        1 => Just(Op::SynAck),
        1 => any::<u8>().prop_map(Op::Write),
        2 => any::<u16>().prop_map(Op::Wait),
    ];
    prop::collection::vec(op, 0..300)
}

/// An acknowledgment of `ack` with these ranges beyond `una`, one hundred milliseconds after what it echoes.
fn ack_of(now: Instant, observed: &ObservedSender, ack: u64, blocks: &[(i16, u8)]) -> Ack {
    let mut sack = SackBlocks::default();
    for (offset, len) in blocks {
        if let Some(start) = observed.una().checked_add_signed(i64::from(*offset)) {
            sack.push(start, start + u64::from(*len));
        }
    }
    let echo = Instant::from_nanos(now.as_nanos().saturating_sub(100_000_000));
    Ack { ack, window: Bytes(observed.window()), echo, syn: false, ece: false, ace: 5, sack }
}

/// Whatever acknowledgments come, sensible or not, the books and windows of [`ObservedSender`] hold.
pub fn survives(params: &TcpParams, options: &Options, ops: &[Op]) -> SenderStats {
    let params = options.apply(params);
    let mut observed = ObservedSender::new(&params, START);
    let mut now = Instant::ZERO;
    for op in ops {
        match *op {
            Op::Poll(most) => {
                let _ = (0..most).take_while(|_| observed.poll(now).is_some()).count();
            }
            Op::Ack { by, blocks, ece } => {
                if let Some(ack) = observed.una().checked_add_signed(i64::from(by)) {
                    let ack = Ack { ece, ace: 5 + u8::from(ece), ..ack_of(now, &observed, ack, &blocks) };
                    observed.ack(now, &ack);
                }
            }
            Op::Duplicate { segment, count } => {
                let from = (i16::from(segment) * 10, if segment == 0 { 0 } else { count % 4 * 10 });
                let ack = ack_of(now, &observed, observed.una(), &[from]);
                observed.ack(now, &ack);
            }
            Op::Window(halves) => {
                let window = Bytes(u64::from(halves) * MSS / 2);
                let ack = Ack { window, ..ack_of(now, &observed, observed.una(), &[]) };
                observed.ack(now, &ack);
            }
            Op::SynAck => {
                let ack = Ack { syn: true, ..ack_of(now, &observed, 0, &[]) };
                observed.ack(now, &ack);
            }
            Op::Write(more) if params.size.is_some() && !params.close => observed.write(Bytes(more.into())),
            Op::Write(_) => {}
            Op::Wait(ticks) => now = wait(&mut observed, now, Span::from_micros(64 * u64::from(ticks))),
        }
    }
    *observed.sender().stats()
}

/// Time passes, and deadlines are met on the way.
fn wait(observed: &mut ObservedSender, mut now: Instant, span: Span) -> Instant {
    let until = now + span;
    while let Some(at) = observed.sender().next_timeout().filter(|&at| at <= until) {
        now = now.max(at);
        observed.on_timeout(now);
    }
    until
}

/// Makes the sender laws tests of one set of settings, in a module `$name`.
///
/// `sender_laws!(newreno, TcpParams { recovery: RecoveryKind::NewReno, ..RFC });`
#[macro_export]
macro_rules! sender_laws {
    ($name:ident, $params:expr) => {
        mod $name {
            use super::*;
            use $crate::laws::{connection, sender};

            //= test rfc5681-2-window
            //= test rfc5681-2-flight-size
            //= test rfc5681-3-aggressive
            //= test rfc6298-5-not-early
            //= test rfc6675-4-next-seg-1
            //= test rfc6675-4-next-seg-2
            //= test rfc6675-4-next-seg-3
            //= test rfc6675-4-next-seg-4
            //= test rfc6675-4-next-seg-4-highest
            //= test rfc6675-4-next-seg-5
            //= test rfc6675-5-c-send
            //= test rfc6675-5-c1-next
            //= test rfc6675-5.1-no-recovery-before-recovery-point
            //= test rfc2018-5-skip
            #[test]
            fn survives() {
                $crate::check(&(sender::options(), sender::ops()), |(options, ops)| {
                    sender::survives(&$params, &options, &ops);
                });
            }

            //= test rfc2018-8-keep-data
            //= test rfc2018-5.1-timeout-fallback
            //= test rfc6675-4-keep-data
            //= test rfc6298-5.1-start
            #[test]
            fn delivers_whatever_happens() {
                let cases = (sender::options(), connection::networks());
                $crate::check(&cases, |(options, network)| {
                    connection::delivers(&$params, &options, &network);
                });
            }

            #[test]
            fn repeats() {
                let cases = (sender::options(), connection::networks());
                $crate::check(&cases, |(options, network)| {
                    let once = connection::delivers(&$params, &options, &network);
                    assert_eq!(once, connection::delivers(&$params, &options, &network));
                });
            }

            #[test]
            fn sends_nothing_twice_without_losses() {
                $crate::check(&(sender::options(), proptest::bool::ANY), |(options, delayed)| {
                    let network = connection::Network { delayed, ..connection::Network::default() };
                    let stats = connection::delivers(&$params, &options, &network);
                    assert_eq!((stats.retransmissions, stats.fast_retransmits, stats.timeouts), (0, 0, 0));
                });
            }
        }
    };
}
