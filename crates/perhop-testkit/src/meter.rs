//! A meter held to a table.

use perhop_core::dscp::Dscp;
use perhop_core::marker::{Action, Marker};
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

/// With a marker of assured forwarding `class` behind it, the verdict alone decides the mark: packets of 500 bytes that come
/// green, yellow and red by `meter` leave with drop precedences 1, 2 and 3, whatever they carried.
///
/// # Panics
/// At another mark.
pub fn decides_the_mark(meter: &mut impl Meter, class: u8) {
    let af = |drop_precedence| Dscp::af(class, drop_precedence).expect("a code point of assured forwarding");
    let marker =
        Marker { green: Action::Remark(af(1)), yellow: Action::Remark(af(2)), red: Action::Remark(af(3)) };
    let marks = [Dscp::EF, af(3), Dscp::DEFAULT].map(|dscp| {
        let color = meter.measure(Instant::ZERO, &Meta { len: Bytes(500), dscp, ..Meta::default() });
        marker.action(color)
    });
    assert_eq!(marks, [1, 2, 3].map(|drop_precedence| Action::Remark(af(drop_precedence))));
    assert_eq!(
        [1, 2, 3].map(|drop_precedence| af(drop_precedence).af_color()),
        [Color::Green, Color::Yellow, Color::Red].map(Some)
    );
}
