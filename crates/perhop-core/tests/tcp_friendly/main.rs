//! The TCP-friendly marker.

use perhop_core::meter::{Meter, TcpFriendly, TcpFriendlyParams};
use perhop_core::packet::{Color, FlowId, Meta, TcpView};
use perhop_core::time::{Instant, Span};
use perhop_core::units::Bytes;

#[test]
fn figure_1() {
    let params = TcpFriendlyParams {
        small_window: 0.0,
        ..TcpFriendlyParams::new(Span::from_millis(250), 4, Bytes(1000))
    };
    let mut meter = TcpFriendly::new(params).expect("valid");
    let mut marks = String::new();
    for at in 0..20 {
        let tcp = Some(TcpView { seq_end: 1000 * (at + 1), ..TcpView::default() });
        let meta = Meta { flow: FlowId(3), tcp, ..Meta::default() };
        let color = meter.measure(Instant::from_nanos(u64::from(at) * 25_000_000), &meta);
        marks.push(if color == Color::Green { 'I' } else { '-' });
    }
    assert_eq!(marks, "----------".to_owned() + "--I-I--I-I");
}
