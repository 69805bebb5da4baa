//! A marker, and flows with windows to order.

use std::collections::BTreeSet;

use perhop_core::meter::{FlowState, Meter, TcpFriendly, TcpFriendlyParams};
use perhop_core::packet::{Color, Dir, FlowId, Kind, Meta, TcpView};
use perhop_core::time::{Instant, Span};
use perhop_core::timed::Timed;
use perhop_core::units::Bytes;

/// The marking interval.
pub const T: Span = Span::from_millis(100);
/// Bytes of sequence space in a packet.
pub const PACKET: u32 = 1000;

/// Estimates that follow the last sample, so that hand calculations stay short.
pub fn params(tokens: u32) -> TcpFriendlyParams {
    let defaults = TcpFriendlyParams::new(T, tokens, Bytes(u64::from(PACKET)));
    TcpFriendlyParams { gain_window: 1.0, gain_packets: 1.0, ..defaults }
}

/// Data of `flow` up to `seq_end`.
pub fn data(flow: u32, seq_end: u32) -> Meta {
    let tcp = Some(TcpView { seq_end, ..TcpView::default() });
    Meta { flow: FlowId(flow), tcp, len: Bytes(1040), ..Meta::default() }
}

/// The other end of `flow` has everything below `ack`.
pub fn ack(flow: u32, ack: u32) -> Meta {
    let tcp = Some(TcpView { ack, ..TcpView::default() });
    Meta {
        flow: FlowId(flow),
        tcp,
        len: Bytes(40),
        dir: Dir::Reverse,
        kind: Kind::PureAck,
        ..Meta::default()
    }
}

/// IN as `I`, OUT as `-`.
pub fn letter(color: Color) -> char {
    match color {
        Color::Green => 'I',
        Color::Red => '-',
        Color::Yellow => panic!("there is no yellow"),
    }
}

/// A marker in an interval.
pub struct Lab {
    pub meter: TcpFriendly,
    pub now: Instant,
    known: BTreeSet<u32>,
}

impl Lab {
    pub fn new(params: TcpFriendlyParams) -> Self {
        let meter = TcpFriendly::new(params).expect("sound parameters");
        Self { meter, now: Instant::ZERO, known: BTreeSet::new() }
    }

    /// Sends `packets` of `flow` that are `window` packets ahead of its acknowledgments. Its very first one is always
    /// one packet ahead.
    pub fn send(&mut self, flow: u32, packets: u32, window: u32) -> String {
        let mut marks = String::new();
        for _ in 0..packets {
            let ahead = if self.known.insert(flow) { 1 } else { window };
            marks.push(letter(self.meter.measure(self.now, &data(flow, ahead * PACKET))));
        }
        marks
    }

    /// To the beginning of the next interval, by the timer.
    pub fn next(&mut self) {
        self.now += T;
        self.meter.on_timeout(self.now);
    }

    pub fn flow(&self, flow: u32) -> FlowState {
        self.meter.flow(FlowId(flow)).expect("a known flow")
    }

    /// Tokens and spacing of a flow, in millionths.
    pub fn grant(&self, flow: u32) -> (i64, i64) {
        let state = self.flow(flow);
        (millionths(state.tokens), millionths(state.spacing))
    }
}

#[expect(clippy::cast_possible_truncation, reason = "a few packets")]
pub fn millionths(packets: f64) -> i64 {
    (packets * 1e6).round() as i64
}
