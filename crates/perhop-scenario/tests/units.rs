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
fn refused_rates() {
    let texts = [
        "10",
        "4000000",
        "12345",
        "10mbps",
        "10Mb",
        "10MB",
        "10Mb/s",
        "10 mbit",
        "100K",
        "10Mbits/sec",
        "10 parsecs",
        "0bps",
        "0.5bit/s",
        "-1Mbit/s",
        "1e6bit/s",
        "fast",
        "",
        "1.Mbit/s",
        "1.2.3Mbit/s",
        "2000Tbit/s",
    ];
    insta::assert_snapshot!(texts.map(refused::<Rate>).join("\n"), @r#"
    10: a rate needs a unit; a bare number has none -- write the unit: "10kbit/s" or "10Mbit/s"
    4000000: a rate needs a unit; a bare number has none -- write the unit: "4000000bit/s" or "4Mbit/s"
    12345: a rate needs a unit; a bare number has none -- write the unit: "12345bit/s"
    10mbps: `mbps` is not a unit for a rate -- did you mean `10Mbit/s`?
    10Mb: `Mb` is not a unit for a rate -- did you mean `10Mbit/s` or `10MB/s`?
    10MB: `MB` is not a unit for a rate -- did you mean `10Mbit/s` or `10MB/s`?
    10Mb/s: `Mb/s` is not a unit for a rate -- did you mean `10Mbit/s` or `10MB/s`?
    10 mbit: `mbit` is not a unit for a rate -- did you mean `10Mbit/s`?
    100K: `K` is not a unit for a rate -- did you mean `100kbit/s` or `100kB/s`?
    10Mbits/sec: `Mbits/sec` is not a unit for a rate -- did you mean `10Mbit/s`?
    10 parsecs: `parsecs` is not a unit for a rate -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    0bps: a rate must be above zero: at zero nothing is ever sent -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    0.5bit/s: `0.5bit/s` is not a whole number of bits per second -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    -1Mbit/s: a rate cannot be negative -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    1e6bit/s: `e6bit/s` is not a unit for a rate -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    fast: a rate starts with a decimal number -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    : a rate starts with a decimal number -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    1.Mbit/s: a rate starts with a decimal number -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    1.2.3Mbit/s: a rate starts with a decimal number -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    2000Tbit/s: `2000Tbit/s` is more than perhop can count: the most is `1000Tbit/s` -- write `100kbit/s`, `10Mbps` or `1.25MB/s`
    "#);
}

#[test]
fn refused_times() {
    let texts = [
        "5",
        "5 msec",
        "5 seconds",
        "5 microseconds",
        "5S",
        "5min",
        "0.1ns",
        "99999999999999999999999999999999999999999s",
        "0.0000000000000000000000000000000000000000001s",
    ];
    insta::assert_snapshot!(texts.map(refused::<Time>).join("\n"), @r#"
    5: a time needs a unit; a bare number has none -- write the unit: "5s" or "5ms"
    5 msec: `msec` is not a unit for a time -- did you mean `5ms`?
    5 seconds: `seconds` is not a unit for a time -- did you mean `5s`?
    5 microseconds: `microseconds` is not a unit for a time -- did you mean `5us`?
    5S: `S` is not a unit for a time -- did you mean `5s`?
    5min: `min` is not a unit for a time -- write `60s`, `5ms`, `20us` or `100ns`
    0.1ns: `0.1ns` is not a whole number of nanoseconds -- write `60s`, `5ms`, `20us` or `100ns`
    99999999999999999999999999999999999999999s: `99999999999999999999999999999999999999999s` is more than perhop can count: the most is `1000000000s` -- write `60s`, `5ms`, `20us` or `100ns`
    0.0000000000000000000000000000000000000000001s: `0.0000000000000000000000000000000000000000001s` is not a whole number of nanoseconds -- write `60s`, `5ms`, `20us` or `100ns`
    "#);
}

#[test]
fn refused_sizes() {
    let texts = ["1460", "1460b", "64K", "64kb", "1.5B"];
    insta::assert_snapshot!(texts.map(refused::<Size>).join("\n"), @r#"
    1460: a size needs a unit; a bare number has none -- write the unit: "1460B" or "1460kB"
    1460b: `b` is not a unit for a size -- did you mean `1460B`?
    64K: `K` is not a unit for a size -- did you mean `64kB` or `64KiB`?
    64kb: `kb` is not a unit for a size -- did you mean `64kB`?
    1.5B: `1.5B` is not a whole number of bytes -- write `1460B`, `64kB` or `64KiB`
    "#);
}

#[test]
fn refused_limits() {
    let texts = ["100", "100 packets", "1.5p", "64K", "1kp"];
    insta::assert_snapshot!(texts.map(refused::<Limit>).join("\n"), @r#"
    100: an amount needs a unit; a bare number has none -- write the unit: "100p" or "100kB"
    100 packets: `packets` is not a unit for an amount -- did you mean `100p`?
    1.5p: `1.5p` is not a whole number of packets or bytes -- write `100p` (packets), `64kB` or `64KiB`
    64K: `K` is not a unit for an amount -- did you mean `64kB` or `64KiB`?
    1kp: `kp` is not a unit for an amount -- write `100p` (packets), `64kB` or `64KiB`
    "#);
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
