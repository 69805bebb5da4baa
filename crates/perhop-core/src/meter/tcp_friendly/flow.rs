//! The marker's state of a flow.

use super::estimate::{Average, Gain, ONE, outstanding};
use super::params::{Checked, Fraction};
use super::spacing::Spacing;
use crate::packet::{FlowId, Kind, TcpView};

/// A flow that has sent something of late.
#[derive(Clone, Debug)]
pub(super) struct Flow {
    pub(super) id: FlowId,
    /// The highest acknowledgment, or where the flow was first seen.
    ack: u32,
    /// Packets in this interval.
    sent: u32,
    /// Intervals without a packet.
    pub(super) idle: u32,
    /// W(i), in bytes, in parts of 10^6.
    pub(super) window: Average,
    /// E(i), in parts of 10^6; empty before the first allocation.
    pub(super) packets: Average,
    /// `in_count(i)`, in parts of 10^6.
    pub(super) tokens: i64,
    pub(super) spacing: Spacing,
}

impl Flow {
    /// Where no acknowledgment has been seen, the window is what has been sent since, with this packet.
    pub(super) fn new(id: FlowId, kind: Kind, tcp: TcpView, packet_size: u32) -> Self {
        let before = if kind == Kind::Data { packet_size } else { 0 };
        Self {
            id,
            ack: tcp.seq_end.wrapping_sub(before),
            sent: 0,
            idle: 0,
            window: Average::default(),
            packets: Average::default(),
            tokens: 0,
            spacing: Spacing::default(),
        }
    }

    /// A packet of the flow. One that is acknowledged already says nothing of the window.
    //= feroz2000-3-window
    pub(super) fn sent(&mut self, kind: Kind, tcp: TcpView, gain: Gain) {
        self.sent += 1;
        let bytes = outstanding(tcp.seq_end, self.ack);
        if let (Kind::Data, Some(bytes)) = (kind, bytes) {
            self.window.add(bytes * ONE, gain);
        }
    }

    /// The other end acknowledges. A number behind the highest one is an old packet.
    pub(super) fn acked(&mut self, ack: u32) {
        if outstanding(ack, self.ack).is_some() {
            self.ack = ack;
        }
    }

    /// W(i) < k.
    //= feroz2000-3-small-window
    pub(super) fn is_small(&self, checked: &Checked) -> bool {
        self.window.get() < checked.small_window
    }

    /// The interval is over: takes its packets into account, and returns the tokens the flow does not keep.
    //= feroz2000-3-packets
    pub(super) fn end_interval(&mut self, gain: Gain, fraction: Fraction) -> i64 {
        self.packets.add(i64::from(self.sent) * ONE, gain);
        self.idle = if self.sent == 0 { self.idle + 1 } else { 0 };
        self.sent = 0;
        let left = self.tokens.max(0);
        self.tokens = if fraction == Fraction::Carry { left.min(ONE) } else { 0 };
        left - self.tokens
    }
}
