//! A meter held to a table.

use perhop_core::meter::Meter;
use perhop_core::packet::{Color, Meta};
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

/// Time in ms, length in bytes, colour it came with, verdict.
pub type Row = (u64, u64, Color, Color);

/// Measures the packets of `table` in order.
///
/// # Panics
/// At the first verdict that is another.
pub fn hold(meter: &mut impl Meter, table: &[Row]) {
    for (number, &(ms, len, came, verdict)) in table.iter().enumerate() {
        let meta = Meta { len: Bytes(len), color: came, ..Meta::default() };
        let judged = meter.measure(Instant::ZERO + Span::from_millis(ms), &meta);
        assert_eq!(judged, verdict, "row {number}: {len} bytes at {ms} ms, came {came:?}");
    }
}
