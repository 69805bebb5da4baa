//! Quantities: what is accepted, what is refused and with which hint, and that printing reads back.

use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_scenario::units::{Limit, Rate, Size, Time};
use proptest::prelude::*;

fn rate(text: &str) -> u64 {
    text.parse::<Rate>().unwrap_or_else(|e| panic!("{text}: {e}")).0.bits_per_sec()
}

fn time(text: &str) -> u64 {
    text.parse::<Time>().unwrap_or_else(|e| panic!("{text}: {e}")).0.as_nanos()
}

fn size(text: &str) -> u64 {
    text.parse::<Size>().unwrap_or_else(|e| panic!("{text}: {e}")).0.0
}

#[test]
fn rates() {
    assert_eq!(
        [rate("1bit/s"), rate("10 Mbit/s"), rate("10Mbps"), rate("1.25 MB/s")],
        [1, 10_000_000, 10_000_000, 10_000_000]
    );
    assert_eq!(
        [rate("1Kibit/s"), rate("1.5kbit/s"), rate(" 2Gbps "), rate("1KiB/s")],
        [1024, 1500, 2_000_000_000, 8192]
    );
    assert_eq!(
        [rate("1000Tbit/s"), rate("0.125B/s"), rate("015Mbit/s")],
        [1_000_000_000_000_000, 1, 15_000_000]
    );
}

#[test]
fn times() {
    assert_eq!(
        [time("0s"), time("60s"), time("5 ms"), time("20us"), time("7ns")],
        [0, 60_000_000_000, 5_000_000, 20_000, 7]
    );
    assert_eq!(
        [time("1µs"), time("1μs"), time("5.5667ms"), time("0.000000001s")],
        [1000, 1000, 5_566_700, 1]
    );
}

#[test]
fn sizes_and_limits() {
    assert_eq!(
        [size("0B"), size("1460B"), size("64kB"), size("64KiB"), size("1.5KiB")],
        [0, 1460, 64_000, 65_536, 1536]
    );
    assert_eq!("88p".parse(), Ok(Limit(QueueSize::Packets(88))));
    assert_eq!("45 kB".parse(), Ok(Limit(QueueSize::Bytes(45_000))));
}

/// Why `text` is refused.
fn refused<T: std::str::FromStr<Err = perhop_scenario::units::UnitError> + std::fmt::Debug>(
    text: &str,
) -> String {
    let error = text.parse::<T>().expect_err(text);
    format!("{text}: {} -- {}", error.rule, error.hint)
}

#[test]
fn refusals() {
    let all = [
        refused::<Rate>("10"),
        refused::<Rate>("10mbps"),
        refused::<Rate>("10Mb"),
        refused::<Rate>("10MB"),
        refused::<Rate>("10Mb/s"),
        refused::<Rate>("10 mbit"),
        refused::<Rate>("100K"),
        refused::<Rate>("10Mbits/sec"),
        refused::<Rate>("10 parsecs"),
        refused::<Rate>("0bps"),
        refused::<Rate>("0.5bit/s"),
        refused::<Rate>("-1Mbit/s"),
        refused::<Rate>("1e6bit/s"),
        refused::<Rate>("fast"),
        refused::<Rate>(""),
        refused::<Rate>("1.Mbit/s"),
        refused::<Rate>("1.2.3Mbit/s"),
        refused::<Rate>("2000Tbit/s"),
        refused::<Time>("5"),
        refused::<Time>("5 msec"),
        refused::<Time>("5 seconds"),
        refused::<Time>("5 microseconds"),
        refused::<Time>("5S"),
        refused::<Time>("5min"),
        refused::<Time>("0.1ns"),
        refused::<Time>("99999999999999999999999999999999999999999s"),
        refused::<Time>("0.0000000000000000000000000000000000000000001s"),
        refused::<Size>("1460"),
        refused::<Size>("1460b"),
        refused::<Size>("64K"),
        refused::<Size>("64kb"),
        refused::<Size>("1.5B"),
        refused::<Limit>("100"),
        refused::<Limit>("100 packets"),
        refused::<Limit>("1.5p"),
        refused::<Limit>("64K"),
        refused::<Limit>("1kp"),
    ];
    insta::assert_snapshot!(all.join("\n"), @"");
}

#[test]
fn canonical_form() {
    let rates = ["100000bit/s", "1.25MB/s", "1024bit/s", "1234567bps"]
        .map(|t| t.parse::<Rate>().unwrap().to_string());
    assert_eq!(rates, ["100kbit/s", "10Mbit/s", "1Kibit/s", "1234567bit/s"]);
    let times = ["0ms", "60000ms", "1500ms", "5.5667ms"].map(|t| t.parse::<Time>().unwrap().to_string());
    assert_eq!(times, ["0s", "60s", "1500ms", "5566700ns"]);
    let sizes =
        ["0B", "65536B", "64000B", "1024000B", "1460B"].map(|t| t.parse::<Size>().unwrap().to_string());
    assert_eq!(sizes, ["0B", "64KiB", "64kB", "1000KiB", "1460B"]);
}

proptest! {
    #[test]
    fn rates_read_back(n in 1u64..=1_000_000_000_000_000, by in prop::sample::select(vec![1u64, 8, 1000, 1024, 1_000_000])) {
        let rate = Rate(BitRate::new((n / by).max(1) * by).unwrap());
        prop_assert_eq!(rate.to_string().parse(), Ok(rate));
    }

    #[test]
    fn times_read_back(n in 0u64..=1_000_000_000_000_000_000, by in prop::sample::select(vec![1u64, 1000, 1_000_000_000])) {
        let time = Time(Span::from_nanos(n / by * by));
        prop_assert_eq!(time.to_string().parse(), Ok(time));
    }

    #[test]
    fn sizes_read_back(n in 0u64..=1_000_000_000_000_000, by in prop::sample::select(vec![1u64, 1000, 1024, 1 << 20])) {
        let size = Size(Bytes(n / by * by));
        prop_assert_eq!(size.to_string().parse(), Ok(size));
        let limits = [Limit(QueueSize::Bytes(n / by * by)), Limit(QueueSize::Packets(n))];
        for limit in limits {
            prop_assert_eq!(limit.to_string().parse(), Ok(limit));
        }
    }

    #[test]
    fn decimals_are_exact(whole in 0u64..1_000_000, milli in 0u64..1000) {
        prop_assert_eq!(time(&format!("{whole}.{milli:03}s")), (whole * 1000 + milli) * 1_000_000);
        prop_assert_eq!(size(&format!("{whole}.{milli:03}kB")), whole * 1000 + milli);
    }

    #[test]
    fn no_text_panics(text in "\\PC{0,20}", unit in "[0-9]{1,45}[.]?[0-9]{0,45} ?[kKMGTi]{0,2}(bit/s|bps|B/s|B|b|p|s|ms|)") {
        for text in [text, unit] {
            let _ = (text.parse::<Rate>(), text.parse::<Time>(), text.parse::<Size>(), text.parse::<Limit>());
        }
    }
}
