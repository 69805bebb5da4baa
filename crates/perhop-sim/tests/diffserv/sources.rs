//! When UDP packets leave and arrive, what an overloaded link does to them, and short TCP transfers.

use perhop_core::sink::DropReason;
use perhop_core::time::{Instant, Span};
use perhop_sim::{DelayRange, PacketEvent, Results, TcpEvent, TraceKinds};

use super::{float, link, near, queue, steps, times};
use crate::common::{ALL, path, run};

/// Two hosts and a router; the links are faster than any source here.
fn network() -> String {
    let rest = r#"
[[udp]]
name = "u"
from = "a"
to = "b"
"#;
    path(["10s", "0s"], ["1Gbit/s", "5ms"], ["100Mbit/s", "7ms"], rest)
}

fn with_source(udp: &str, overrides: &[&str], trace: TraceKinds) -> Results {
    run(&format!("{}{udp}", network()), overrides, trace)
}

fn departures(results: &Results) -> Vec<u64> {
    times(&steps(results, "port.a-r.class.all", PacketEvent::Enqueued))
}

#[test]
fn a_constant_rate_does_not_drift_in_100_000_packets() {
    // 7976 bits at 77,777,777 bit/s: 102548.5724... ns
    let udp = "start = \"1234567ns\"\nrate = \"77777777bit/s\"\npacket_size = \"997B\"\n";
    let results = with_source(udp, &["run.duration=10.3s"], ALL);
    let left = departures(&results);
    assert!(left.len() > 100_000, "{} packets", left.len());
    // as a long division goes: whole nanoseconds, and what is left of them goes over
    let (mut at, mut rest) = (1_234_567, 0);
    for (n, &time) in left.iter().enumerate() {
        assert_eq!(time, at, "packet {n}");
        rest += 7_976 * 1_000_000_000;
        at += rest / 77_777_777;
        rest %= 77_777_777;
    }
    // the one after the last would have left too late
    assert!(at >= 10_300_000_000);
    assert_eq!(results.udp[0].sent.packets, left.len() as u64);
    assert_eq!(results.udp[0].sent.bytes.0, 997 * left.len() as u64);
    assert_eq!(results.udp[0].start, Instant::from_nanos(1_234_567));
}

#[test]
fn the_start_is_drawn_from_the_jitter() {
    let udp = "rate = \"1Mbit/s\"\nstart = \"1s\"\nstart_jitter = \"1s\"\n";
    let starts: Vec<u64> = (0..20)
        .map(|seed| with_source(udp, &[&format!("run.seed={seed}")], ALL))
        .inspect(|results| assert_eq!(departures(results)[0], results.udp[0].start.as_nanos()))
        .map(|results| results.udp[0].start.as_nanos())
        .collect();
    assert!(starts.iter().all(|start| (1_000_000_000..2_000_000_000).contains(start)), "{starts:?}");
    // 20 uniform draws leave a quarter at either end empty once in 150
    assert!(starts.iter().any(|&start| start < 1_250_000_000), "{starts:?}");
    assert!(starts.iter().any(|&start| start > 1_750_000_000), "{starts:?}");
}

#[test]
fn poisson_departures_have_the_rate_and_the_distances_of_a_poisson_process() {
    // 8000 bits at 80 Mbit/s: 0.1 ms on average, 100,000 in 10 s. Every bound is four standard deviations.
    let udp = "rate = \"80Mbit/s\"\npacket_size = \"1000B\"\npattern = { kind = \"poisson\" }\n";
    let left = departures(&with_source(udp, &[], ALL));
    let n = float(left.len() as u64);
    // the count is Poisson, its standard deviation the root of 100,000
    assert!((n - 100_000.0).abs() < 4.0 * 316.3, "{n} packets");
    let gaps: Vec<f64> = left.windows(2).map(|pair| float(pair[1] - pair[0])).collect();
    let mean = gaps.iter().sum::<f64>() / n;
    let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / n;
    // the sample variance of n exponential draws deviates by sqrt(8 / n) of itself
    assert!(near(variance, mean * mean, 4.0 * (8.0 / n).sqrt()), "mean {mean}, variance {variance}");
    // a gap is longer than the mean with probability 1/e
    let longer = float(gaps.iter().filter(|&&gap| gap > 100_000.0).count() as u64) / n;
    let expected = (-1.0_f64).exp();
    assert!((longer - expected).abs() < 4.0 * (expected * (1.0 - expected) / n).sqrt(), "{longer}");
    // and knows nothing of the one before it: the correlation of neighbours deviates by 1 / sqrt(n)
    let covariance = gaps.windows(2).map(|p| (p[0] - mean) * (p[1] - mean)).sum::<f64>() / n;
    assert!((covariance / variance).abs() < 4.0 / n.sqrt(), "{covariance} of {variance}");
}

#[test]
fn packet_times_of_a_nanosecond_keep_their_mean() {
    // 2 bytes at 10 Gbit/s take 1.6 ns: 10 us over it. Four standard deviations of a Poisson count.
    for (pattern, most) in [("cbr", 1), ("poisson", 317)] {
        let udp =
            format!("rate = \"10Gbit/s\"\npacket_size = \"2B\"\npattern = {{ kind = \"{pattern}\" }}\n");
        let sent = with_source(&udp, &["run.duration=10us"], TraceKinds::default()).udp[0].sent.packets;
        assert!(sent.abs_diff(6_250) <= most, "{pattern}: {sent}");
    }
}

#[test]
fn on_and_off_have_their_means_and_the_rate_in_between() {
    // a packet for each ms of time on, whichever times off break it
    let udp = "rate = \"8Mbit/s\"\npacket_size = \"1000B\"\n\
               pattern = { kind = \"on-off\", on = \"10ms\", off = \"15ms\" }\n";
    let left = departures(&with_source(udp, &["run.duration=400s"], ALL));
    // The time on of 400 s: 0.4 of it; by renewal theory its variance is 2 * 100 * 225 / 25^3 ms for each ms.
    let (expected, deviation) = (160_000.0, (2.88_f64 * 400_000.0).sqrt());
    assert!((float(left.len() as u64) - expected).abs() < 4.0 * deviation, "{} packets", left.len());
    let gaps: Vec<u64> = left.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|&gap| gap >= 1_000_000));
    // No time off falls into a ms of time on with probability exp(-0.1).
    let whole = float(gaps.iter().filter(|&&gap| gap == 1_000_000).count() as u64) / float(gaps.len() as u64);
    let (expected, deviation) = ((-0.1_f64).exp(), (0.905 * 0.095 / float(gaps.len() as u64)).sqrt());
    assert!((whole - expected).abs() < 4.0 * deviation, "{whole} of the gaps, not {expected}");
}

#[test]
fn the_delay_of_an_empty_path_is_transmission_and_propagation() {
    // 1250 bytes: 10 us at 1 Gbit/s, 100 us at 100 Mbit/s; 5 ms and 7 ms
    let udp = "rate = \"10Mbit/s\"\npacket_size = \"1250B\"\n";
    let exact = &with_source(udp, &[], TraceKinds::default()).udp[0];
    let expected = Span::from_micros(10 + 100 + 12_000);
    let delay = exact.delay.unwrap();
    assert_eq!((delay.min, delay.max), (expected, expected));
    assert!((delay.mean_s - expected.as_secs_f64()).abs() < 1e-15);
    // 7976 bits at 7 Mbit/s: 1139428.571 ns, whose rest is carried
    let udp = "rate = \"1Mbit/s\"\npacket_size = \"997B\"\n";
    let carried = &with_source(udp, &["link.r-b.rate=7Mbit/s"], TraceKinds::default()).udp[0];
    let whole = 7_976 + 1_139_428 + 12_000_000;
    let delay = carried.delay.unwrap();
    assert_eq!((delay.min, delay.max), (Span::from_nanos(whole), Span::from_nanos(whole + 1)));
    let mean = delay.mean_s * 1e9 - float(whole);
    assert!((mean - 4.0 / 7.0).abs() < 0.01, "{mean} ns beyond {whole}");
}

#[test]
fn an_overloaded_link_carries_its_rate_and_loses_the_rest() {
    let udp = "rate = \"20Mbit/s\"\npacket_size = \"1250B\"\n\
               [[port]]\nat = \"r\"\nto = \"b\"\n[[port.class]]\nname = \"all\"\n\
               queue = { kind = \"fifo\", limit = \"50p\" }\n";
    let late = with_source(udp, &["link.r-b.rate=8Mbit/s", "run.warmup=2s"], TraceKinds::default());
    // 1.25 ms for each packet: 6,400 in 8 s
    let flow = &late.udp[0];
    assert!((flow.throughput_bit_s - 8e6).abs() <= 10_000.0 / 8.0, "{}", flow.throughput_bit_s);
    assert!((link(&late, "r->b").utilization_data - 1.0).abs() < 1e-9);
    assert!(flow.delay.unwrap().min > Span::from_micros(10 + 50 * 1_250 + 12_000), "the queue was full");
    let results = with_source(udp, &["link.r-b.rate=8Mbit/s"], TraceKinds::default());
    let (flow, queue) = (&results.udp[0], queue(&results, "port.r-b.class.all"));
    let on_links: u64 = results.links.iter().map(|link| link.stats.packets - link.stats.delivered).sum();
    let dropped = queue.stats.dropped.packets;
    assert_eq!(flow.sent.packets, flow.arrived.packets + dropped + queue.backlog.packets + on_links);
    assert_eq!((queue.drops.of(DropReason::Overflow), queue.drops.by_color), (dropped, [dropped, 0, 0]));
    // a packet each 0.5 ms finds room each 1.25 ms: 3 of 5 are lost once the queue is full
    assert!(near(float(dropped) / float(flow.sent.packets), 0.6, 0.01), "{dropped}");
    // 50 before it, itself, and the rest of the one on the link
    let DelayRange { min: shortest, max: longest, .. } = flow.delay.unwrap();
    assert_eq!(shortest, Span::from_micros(10 + 1_250 + 12_000));
    assert!(longest <= Span::from_micros(10 + 52 * 1_250 + 12_000), "{longest:?}");
    assert!(longest > Span::from_micros(10 + 50 * 1_250 + 12_000), "{longest:?}");
}

#[test]
fn the_measured_time_and_the_whole_run_are_told_apart() {
    // 1250 bytes each 10 ms from 0 on: 300 in 3 s; they arrive 12.11 ms later
    let udp = "rate = \"1Mbit/s\"\npacket_size = \"1250B\"\nmark = \"EF\"\n";
    let results = with_source(udp, &["run.duration=5s", "run.warmup=2s"], TraceKinds::default());
    let flow = &results.udp[0];
    assert_eq!((flow.sent.packets, flow.arrived.packets), (300, 300));
    // those that left from 1.99 s to 4.98 s
    let marks: Vec<_> = results.marks.iter().map(|row| (row.flow, row.mark, row.arrived.packets)).collect();
    assert_eq!(marks, [(0, perhop_core::dscp::Dscp::EF, 300)]);
    assert!((flow.throughput_bit_s - 1e6).abs() < 1e-6);
    assert_eq!(results.series.values(0), [990_000.0, 1e6, 1e6, 1e6, 1e6]);
}

/// Transfers of three segments over one link.
const TRANSFERS: &str = r#"
[run]
duration = "1000s"
[[node]]
name = "a"
[[node]]
name = "b"
[[link]]
ends = ["a", "b"]
rate = "10Mbit/s"
delay = "10ms"
[[flow]]
name = "short"
from = "a"
to = "b"
arrivals = { mean_interval = "1s", size = { kind = "fixed", size = "4380B" } }
tcp = { profile = "rfc", initial_window = 3, close = false }
"#;

#[test]
fn short_transfers_begin_when_drawn_and_end_when_the_last_byte_is_acknowledged() {
    let results = run(TRANSFERS, &[], ALL);
    let count = results.flows.len();
    // a Poisson count of mean 1000, four standard deviations
    assert!((874..=1126).contains(&count), "{count} transfers");
    let begun: Vec<u64> = results.flows.iter().map(|flow| flow.start.as_nanos()).collect();
    assert!(begun.is_sorted());
    for (i, &start) in begun.iter().enumerate() {
        let of_flow = |r: &&perhop_sim::TcpRecord| r.flow.0 as usize == i && r.event == TcpEvent::Send;
        let first = results.trace.tcp.iter().find(of_flow).map(|r| r.time.as_nanos());
        assert_eq!(first, Some(start), "transfer {i}");
    }
    // SYN and SYN-ACK of 40 bytes: 2 (32 us + 10 ms). Three segments of 1500 bytes, and the ACK of the last:
    // 3.6 ms + 10 ms + 32 us + 10 ms.
    let alone = Span::from_micros(2 * 10_032 + 3_600 + 20_032);
    let mut exact = 0;
    for (i, flow) in results.flows.iter().enumerate() {
        let Some(end) = flow.stats.completed else {
            assert!(flow.start + alone > Instant::from_nanos(1_000_000_000_000), "transfer {i} never ended");
            continue;
        };
        let took = end - flow.start;
        let apart = |a: usize, b: usize| begun[b] - begun[a] > 100_000_000;
        if (i == 0 || apart(i - 1, i)) && (i + 1 == count || apart(i, i + 1)) {
            assert_eq!(took, alone, "transfer {i}");
            exact += 1;
        } else {
            // at most two others at once: each keeps it waiting for its packets
            assert!(took >= alone && took < alone + Span::from_millis(12), "transfer {i}: {took:?}");
        }
        assert_eq!(flow.delivered.0, 4_380);
    }
    assert!(exact > count * 3 / 4, "{exact} of {count} were alone");
}
