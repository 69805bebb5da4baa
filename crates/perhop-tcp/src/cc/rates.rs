//! Rates, times and bytes, one by the others. Units: bytes, bytes per second.

use perhop_core::time::Span;

/// Bytes that leave in `span` at `rate`.
pub(super) fn bytes_in(rate: u64, span: Span) -> u64 {
    let bytes = u128::from(rate) * u128::from(span.as_nanos()) / 1_000_000_000;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// The rate that sends `bytes` in `span`.
pub(super) fn per_second(bytes: u64, span: Span) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(span.as_nanos().max(1));
    u64::try_from(rate).unwrap_or(u64::MAX)
}
