//! The start of the tests of every congestion control.

use perhop_core::units::Bytes;

use super::AckSample;
use crate::settings::TcpParams;

/// Payload of a segment.
pub const MSS: u64 = 1000;

/// The RFCs' values, in segments of 1000 bytes.
pub const PARAMS: TcpParams =
    TcpParams { mss: Bytes(MSS), window: Bytes(100 * MSS), handshake: false, close: false, ..TcpParams::RFC };

/// `acked` bytes are acknowledged, without a round-trip sample.
pub fn sample(acked: u64) -> AckSample {
    let acked = Bytes(acked);
    AckSample { acked, in_flight: acked, cwnd_limited: true, rtt: None, srtt: None, una: 0 }
}
