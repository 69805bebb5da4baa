//! The kernel's state of a connection (`TCP_INFO`).

use perhop_core::time::Span;

/// A part of `struct tcp_info` of linux/tcp.h, read by its offsets: the struct of the C library lacks the end.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct TcpInfo {
    /// `tcpi_snd_mss`, bytes.
    pub mss: u64,
    /// `tcpi_snd_cwnd`, segments.
    pub cwnd: u64,
    /// `tcpi_rtt`: smoothed; zero before the first sample.
    pub srtt: Span,
    /// `tcpi_rto`.
    pub rto: Span,
    /// `tcpi_total_retrans`.
    pub retransmissions: u64,
    /// `tcpi_total_rto`; since Linux 6.7, zero before.
    pub timeouts: u64,
}

/// Enough for the struct of every kernel so far; what a kernel does not have stays zero.
pub(super) const ROOM: usize = 288;

impl TcpInfo {
    pub(super) fn read(raw: &[u8; ROOM]) -> Self {
        let u32_at =
            |at: usize| u64::from(u32::from_ne_bytes([raw[at], raw[at + 1], raw[at + 2], raw[at + 3]]));
        Self {
            rto: Span::from_micros(u32_at(8)),
            mss: u32_at(16),
            srtt: Span::from_micros(u32_at(68)),
            cwnd: u32_at(80),
            retransmissions: u32_at(100),
            timeouts: u64::from(u16::from_ne_bytes([raw[240], raw[241]])),
        }
    }
}
