//! The engine against arithmetic done by hand.

use std::collections::BTreeSet;

#[allow(dead_code, reason = "each test uses a part")]
use crate::common::{ALL, DUMBBELL, run};
use crate::determinism::{DIFFSERV, SHORT};
use crate::diffserv::float;
use perhop_core::packet::Kind;
use perhop_core::sink::DropReason;
use perhop_core::time::Instant;
use perhop_sim::{PacketEvent, PacketRecord, TraceKinds, UdpResult};

/// One flow, one link.
const PIPE: &str = include_str!("scenarios/pipe.toml");

/// Two flows over links of equal rate that meet at a router.
const PATH: &str = include_str!("scenarios/path.toml");

#[expect(clippy::cast_precision_loss, reason = "small counts")]
fn events_per_hop(text: &str, overrides: &[&str]) -> f64 {
    let counts = run(text, overrides, TraceKinds::default()).counts;
    counts.events as f64 / counts.packet_hops as f64
}

#[test]
fn an_uncongested_hop_costs_at_most_1_2_events() {
    // a window of two segments on a path that holds many more: no packet ever waits
    let free = ["flow.f.tcp.window=2920B", "link.r1-r2.rate=10Mbit/s", "run.duration=60s"];
    let cost = events_per_hop(DUMBBELL, &free);
    assert!((1.0..=1.2).contains(&cost), "{cost} events per packet-hop");
}

#[test]
fn a_hop_where_packets_wait_costs_at_most_2_events() {
    // every data packet waits at the only link, none of its ACKs does: an ACK costs one event, data the rest
    let results = run(PIPE, &["flow.f.tcp.window=64KiB"], TraceKinds::default());
    let (data, acks) = (results.links[0].stats.delivered, results.links[1].stats.delivered);
    assert!(data > 2_000 && acks > 2_000, "{data} and {acks}");
    // timers and the first burst come on top: far less than one event in a hundred
    assert!(
        results.counts.events <= acks + 2 * data + 20,
        "{:?} for {data} data and {acks} ACKs",
        results.counts
    );
    assert!(
        results.counts.events > acks + 2 * data - 100,
        "the link must be a bottleneck: {:?}",
        results.counts
    );
}

fn times(records: &[PacketRecord], event: PacketEvent, kind: Kind) -> Vec<u64> {
    let wanted = |r: &&PacketRecord| r.event == event && r.kind == kind;
    records.iter().filter(wanted).map(|r| r.time.as_nanos()).collect()
}

#[test]
fn serialisation_carries_its_remainder() {
    // 1500 bytes at 7 Mbit/s take 1714285.714... ns: after 7 packets back to back exactly 12 ms
    let results = run(PIPE, &["link.a-b.rate.a->b=7Mbit/s", "flow.f.tcp.window=64KiB"], ALL);
    let arrivals = times(&results.trace.packets, PacketEvent::Delivered, Kind::Data);
    let steady = &arrivals[100..];
    for window in steady.windows(8) {
        let gap = window[7] - window[0];
        assert!((12_000_000 - 1..=12_000_000 + 1).contains(&gap), "{gap} ns");
    }
    let n = steady.len() - 1 - (steady.len() - 1) % 7;
    assert_eq!((steady[n] - steady[0]).abs_diff(n as u64 / 7 * 12_000_000), 0);
}

#[test]
fn the_first_exchanges_by_hand() {
    // 1500 bytes at 3 Mbit/s: 4 ms; 40 bytes at 7 Mbit/s: 45714 ns (and 2/7 carried); 5 ms each way.
    // Three segments leave at once (initial window 3).
    let results = run(PIPE, &[], ALL);
    let data = times(&results.trace.packets, PacketEvent::Delivered, Kind::Data);
    assert_eq!(data[..3], [9_000_000, 13_000_000, 17_000_000]);
    let acks = times(&results.trace.packets, PacketEvent::Delivered, Kind::PureAck);
    assert_eq!(acks[..3], [14_045_714, 18_045_714, 22_045_714]);
    // each ACK releases two (slow start): transmission starts as soon as the ACK is here, and back to back
    assert_eq!(data[3..5], [14_045_714 + 9_000_000, 14_045_714 + 13_000_000]);
}

//= test rfc7323-3.2-every-segment
//= test rfc7323-A-padding
#[test]
fn timestamps_lengthen_every_packet_of_a_connection_by_twelve_bytes() {
    let lengths = |timestamps: &str| -> BTreeSet<(String, u64)> {
        let whole = ["flow.f.tcp.size=9p", "flow.f.tcp.close=true", "flow.f.tcp.handshake=true", timestamps];
        let packets = run(PIPE, &whole, ALL).trace.packets;
        packets.iter().map(|packet| (format!("{:?}", packet.kind), packet.len.0)).collect()
    };
    let kinds = [("Data", 1500), ("Other", 40), ("PureAck", 40), ("Syn", 40)];
    let longer = |by: u64| kinds.map(|(kind, len)| (kind.to_owned(), len + by)).into();
    assert_eq!(lengths("flow.f.tcp.timestamps=false"), longer(0), "a FIN has no data");
    assert_eq!(lengths("flow.f.tcp.timestamps=true"), longer(12));
}

#[test]
fn goodput_is_the_window_over_the_round_trip_while_the_window_limits() {
    // 6 segments of 1460 bytes in 10 ms + 4 ms + 45.7 us; serialisation of 6 takes 24 ms > that: link-limited
    let busy = run(PIPE, &["run.warmup=1s"], TraceKinds::default());
    assert!((busy.links[0].utilization_data - 1.0).abs() < 1e-9);
    // 2 segments: the second waits for the first; a cycle lasts 14.045714 ms
    let idle = run(PIPE, &["run.warmup=1s", "flow.f.tcp.window=2920B"], TraceKinds::default());
    let expected = 2.0 * 1460.0 * 8.0 / 0.014_045_714_3;
    let ratio = idle.flows[0].goodput_bit_s / expected;
    assert!((ratio - 1.0).abs() < 1e-3, "{ratio}");
}

#[test]
fn drops_are_reported_with_reason_and_place() {
    let results = run(DUMBBELL, &[], ALL);
    let drops: Vec<_> =
        results.trace.packets.iter().filter(|r| matches!(r.event, PacketEvent::Dropped(_))).collect();
    assert!(drops.len() > 10, "{} drops", drops.len());
    for drop in &drops {
        assert_eq!(drop.event, PacketEvent::Dropped(DropReason::Overflow));
        assert_eq!(&results.sites[drop.site], "port.r1-r2.class.all");
    }
    let counted: u64 = results.queues.iter().map(|q| q.stats.dropped.packets).sum();
    assert_eq!(counted, drops.len() as u64);
    let repaired: u64 = results.flows.iter().map(|f| f.stats.retransmissions).sum();
    assert!(repaired >= counted, "{repaired} retransmissions for {counted} drops");
}

#[test]
fn departures_come_before_arrivals_of_the_same_instant() {
    // Two senders, equal links, three segments each at once: pairs reach the router 4 ms apart, and a packet leaves it
    // in the nanosecond in which a pair arrives. By hand, departures first, waiting after each pair: 1, 0 + 2, 1 + 2.
    // Arrivals first would give 1, 1 + 2, 2 + 2.
    let results = run(PATH, &["run.duration=30ms"], ALL);
    let bottleneck = results.queues.iter().find(|q| q.path == "port.r-b.class.all").unwrap();
    assert_eq!(bottleneck.stats.offered.packets, 6);
    assert_eq!(bottleneck.stats.max_packets, 3);
}

#[test]
fn equal_arrivals_keep_the_order_of_their_transmissions() {
    // four senders over equal links, all at once: file order, again and again
    let same = ["flow.f.start_jitter=0s", "link.r1-r2.rate=10Mbit/s", "flow.f.tcp.window=2920B"];
    let results = run(DUMBBELL, &same, ALL);
    let queued = |r: &&PacketRecord| {
        r.event == PacketEvent::Enqueued && results.sites[r.site] == *"port.r1-r2.class.all"
    };
    let first: Vec<(u64, u32)> =
        results.trace.packets.iter().filter(queued).take(4).map(|r| (r.time.as_nanos(), r.flow.0)).collect();
    let at = first[0].0;
    assert_eq!(first, [(at, 0), (at, 1), (at, 2), (at, 3)]);
}

#[test]
fn backpressure_holds_packets_in_tcp_and_survives_drops() {
    let held = run(PIPE, &["flow.f.tcp.window=64KiB"], TraceKinds::default());
    // a window of 44; the unloaded round trip of 14.05 ms holds 3 of them, 4 ms apart
    assert_eq!(held.queues[0].stats.max_packets, 41);
    let text = format!(
        "{PIPE}\n[[port]]\nat = \"a\"\nto = \"b\"\nbackpressure = 3\n[[port.class]]\nname = \"all\"\nqueue = {{ kind = \"fifo\", limit = \"100p\" }}\n"
    );
    let limited = run(&text, &["flow.f.tcp.window=64KiB"], TraceKinds::default());
    // all three wait for an instant at the start, before the idle link takes the first
    assert_eq!(limited.queues[0].stats.max_packets, 3);
    assert_eq!(limited.links[0].stats.packets, held.links[0].stats.packets);
    // a queue that drops what backpressure counts must not stop the flow
    let tight =
        run(&text, &["flow.f.tcp.window=64KiB", "port.a-b.class.all.queue.limit=1p"], TraceKinds::default());
    assert!(tight.queues[0].stats.dropped.packets > 10, "{:?}", tight.queues[0].stats);
    let goodput = tight.series.values(0);
    assert!(goodput[5..].iter().all(|&g| g > 0.0), "{goodput:?}");
}

#[test]
fn backpressure_survives_that_a_queue_drops_for_what_another_flow_sends() {
    let udp = |name: &str, rate: &str, size: &str| {
        format!(
            "[[udp]]\nname = \"{name}\"\nfrom = \"a\"\nto = \"b\"\nrate = \"{rate}\"\npacket_size = \"{size}\"\n"
        )
    };
    let (small, large) = (udp("u", "800kbit/s", "100B"), udp("v", "1200kbit/s", "1500B"));
    let text = format!(
        "{PIPE}\n{small}{large}[[port]]\nat = \"a\"\nto = \"b\"\nbackpressure = 1\n[[port.class]]\nname = \"all\"\n\
         queue = {{ kind = \"fq\", limit = \"3p\" }}\n"
    );
    // the flow's only packet waits for a large one, until the third small one since passes the limit
    let results = run(&text, &["flow.f.tcp.window=64KiB", "flow.f.tcp.min_rto=200ms"], TraceKinds::default());
    assert!(results.queues[0].stats.dropped.packets > 10, "{:?}", results.queues[0].stats);
    assert!(results.flows[0].stats.segments > 50, "{:?}", results.flows[0].stats);
}

#[test]
fn backpressure_serves_each_connection_when_a_packet_takes_no_time() {
    // a byte at 100 Gbit/s takes less than a nanosecond: several transmissions end in the same instant
    let tiny = [
        "link.a-b.rate=100Gbit/s",
        "link.a-b.pure_ack_size=1B",
        "flow.f.tcp.mss=1B",
        "flow.f.tcp.header=0B",
        "flow.f.tcp.window=8B",
        "run.duration=1s",
    ];
    let second = "[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\ntcp = { mss = \"1B\", header = \"0B\", window = \"8B\" }\n";
    let port = "[[port]]\nat = \"a\"\nto = \"b\"\nbackpressure = 1\n[[port.class]]\nname = \"all\"\n";
    let results = run(&format!("{PIPE}\n{second}\n{port}"), &tiny, TraceKinds::default());
    let sent: Vec<u64> = results.flows.iter().map(|f| f.stats.segments).collect();
    assert!(sent[0] > 500 && sent[0].abs_diff(sent[1]) <= 8, "{sent:?}");
}

#[test]
fn hosts_take_a_random_time_for_each_packet_and_send_in_order() {
    // two flows and a UDP source at one host, over a link on which nothing waits long
    let more = "[[flow]]\nname = \"g\"\nfrom = \"a\"\nto = \"b\"\ntcp = { profile = \"rfc\", window = \"8760B\" }\n\
                [[udp]]\nname = \"u\"\nfrom = \"a\"\nto = \"b\"\nrate = \"800kbit/s\"\npacket_size = \"200B\"\n";
    let text = format!("{PIPE}\n{more}");
    let fast = ["link.a-b.rate=10Gbit/s", "run.processing_jitter=2ms"];
    let results = run(&text, &fast, ALL);
    let least = results.udp[0].delay.expect("packets arrived");
    // 160 ns of transmission and 5 ms of propagation; 5,000 draws
    let (min, max) = (least.min.as_nanos(), least.max.as_nanos());
    assert!((5_000_161..5_010_000).contains(&min) && (6_990_000..=7_002_560).contains(&max), "{min} {max}");
    // what a host sends later does not leave earlier: TCP's sequence numbers grow, and the n-th datagram is the n-th
    for flow in 0..2 {
        let sent =
            |r: &&PacketRecord| r.flow.0 == flow && r.event == PacketEvent::Sent && r.kind == Kind::Data;
        let ends: Vec<_> = results.trace.packets.iter().filter(sent).map(|r| r.number).collect();
        assert!(ends.len() > 1_000 && ends.is_sorted(), "flow {flow}: {ends:?}");
    }
    // both directions take it: a round trip has two of the times, and a window is on its way in each
    let (short, long) = results.flows[0].rtt.expect("samples");
    assert!(short.as_nanos() < 12_000_000 && long.as_nanos() <= 14_100_000, "{short:?} {long:?}");
    assert_eq!(results.flows[0].stats.retransmissions, 0);
}

#[test]
fn processing_takes_nothing_from_the_rate_of_a_host() {
    let plain = run(PIPE, &["flow.f.tcp.window=64KiB"], TraceKinds::default());
    let jitter = run(PIPE, &["flow.f.tcp.window=64KiB", "run.processing_jitter=50ms"], TraceKinds::default());
    let [plain, jitter] = [plain, jitter].map(|results| results.links[0].utilization_data);
    assert!(plain > 0.98 && jitter > 0.98, "{plain} {jitter}");
}

#[test]
fn packets_in_processing_count_against_backpressure() {
    let text = format!(
        "{PIPE}\n[[port]]\nat = \"a\"\nto = \"b\"\nbackpressure = 3\n[[port.class]]\nname = \"all\"\nqueue = {{ kind = \"fifo\", limit = \"100p\" }}\n"
    );
    let jitter = ["flow.f.tcp.window=64KiB", "run.processing_jitter=1ms"];
    let limited = run(&text, &jitter, TraceKinds::default());
    // the first of the three is on the link when the third is ready
    assert_eq!(limited.queues[0].stats.max_packets, 2);
    // of a queue of one packet every burst loses something, and a link may lose it too: neither stops the flow
    for drops in ["port.a-b.class.all.queue.limit=1p", "link.a-b.loss=0.2"] {
        let results =
            run(&text, &[&jitter[..], &[drops, "flow.f.tcp.min_rto=200ms"]].concat(), TraceKinds::default());
        let lost = results.queues[0].stats.dropped.packets + results.links[0].lost;
        assert!(lost > 10, "{drops}: {lost}");
        assert!(results.flows[0].stats.segments > 50, "{drops}: {:?}", results.flows[0].stats);
    }
}

#[test]
fn samples_and_warmup_split_the_run_without_loss() {
    let results = run(PIPE, &["run.interval=300ms"], TraceKinds::default());
    assert_eq!(results.series.times.len(), 33);
    assert_eq!(results.series.times[32], Instant::from_nanos(9_900_000_000));
    let late = run(PIPE, &["run.warmup=4s"], TraceKinds::default());
    let early = run(PIPE, &["run.duration=4s"], TraceKinds::default());
    let whole = run(PIPE, &[], TraceKinds::default());
    assert_eq!(late.flows[0].delivered.0 + early.flows[0].delivered.0, whole.flows[0].delivered.0);
}

#[test]
fn every_counter_of_the_measured_time_is_that_of_the_whole_run_less_that_of_the_warm_up() {
    // without the transfers that a longer run has more of
    let text: Vec<&str> = DIFFSERV.lines().filter(|line| !line.starts_with("arrivals")).collect();
    let text = text.join("\n");
    let of = |overrides: &[&str]| run(&text, &[&SHORT[2..], overrides].concat(), TraceKinds::default());
    let whole = of(&["run.warmup=0s", "run.duration=15s"]);
    let early = of(&["run.warmup=0s", "run.duration=5s"]);
    let late = of(&["run.warmup=5s", "run.duration=15s"]);
    assert_eq!(late.event_digest, whole.event_digest);
    let mut counted = [0; 4];
    for ((late, early), whole) in late.flows.iter().zip(&early.flows).zip(&whole.flows) {
        assert_eq!(late.stats, whole.stats.since(&early.stats));
        assert_eq!(late.rtt_samples, whole.rtt_samples - early.rtt_samples);
        counted[0] += early.stats.retransmissions;
    }
    for ((late, early), whole) in late.udp.iter().zip(&early.udp).zip(&whole.udp) {
        assert_eq!((late.sent, late.arrived), (whole.sent - early.sent, whole.arrived - early.arrived));
        let sum = |row: &UdpResult| row.delay.map_or(0.0, |delay| delay.mean_s) * float(row.arrived.packets);
        assert!((sum(late) + sum(early) - sum(whole)).abs() < 1e-9);
        counted[1] += early.arrived.packets;
    }
    for ((late, early), whole) in late.links.iter().zip(&early.links).zip(&whole.links) {
        assert_eq!((late.stats, late.lost), (whole.stats.since(&early.stats), whole.lost - early.lost));
    }
    for ((late, early), whole) in late.queues.iter().zip(&early.queues).zip(&whole.queues) {
        assert_eq!(late.drops, whole.drops.since(&early.drops));
        assert_eq!((late.initial_backlog, late.backlog), (early.backlog, whole.backlog));
        let (found, expected) = (late.stats, whole.stats.since(&early.stats));
        assert_eq!(
            (found.offered, found.sent, found.dropped),
            (expected.offered, expected.sent, expected.dropped)
        );
        assert_eq!(whole.stats.max_packets, found.max_packets.max(early.stats.max_packets));
        assert_eq!(whole.stats.max_data_packets, found.max_data_packets.max(early.stats.max_data_packets));
        counted[2] += early.stats.dropped.packets;
    }
    for ((late, early), whole) in late.conditioners.iter().zip(&early.conditioners).zip(&whole.conditioners) {
        assert_eq!(late.stats, whole.stats.since(&early.stats));
        counted[3] += early.stats.yellow.packets;
    }
    assert!(counted.iter().all(|&count| count > 0), "nothing to take off: {counted:?}");
}

#[test]
fn extremes_are_those_of_the_measured_time() {
    let whole = run(PIPE, &["flow.f.tcp.window=64KiB"], ALL);
    let late = run(PIPE, &["flow.f.tcp.window=64KiB", "run.warmup=4s"], ALL);
    let from = Instant::from_nanos(4_000_000_000);
    let waiting =
        late.trace.queue.iter().filter(|r| r.time >= from && r.site.0 == late.trace.queue[0].site.0);
    assert_eq!(late.queues[0].stats.max_packets, waiting.map(|r| r.backlog.packets).max().expect("it waits"));
    let (shortest, longest) = whole.flows[0].rtt.expect("samples");
    let (short, long) = late.flows[0].rtt.expect("samples");
    assert!(shortest < short && long <= longest, "the first round trip saw an empty queue: {short:?}");

    let udp = format!(
        "{PIPE}\n[[udp]]\nname = \"u\"\nfrom = \"a\"\nto = \"b\"\nrate = \"40kbit/s\"\npacket_size = \"500B\"\n"
    );
    let row = |overrides: &[&str]| {
        let results = run(&udp, overrides, ALL);
        let sent = |r: &&PacketRecord| r.event == PacketEvent::Delivered && r.flow.0 == 1;
        let arrived: Vec<u64> =
            results.trace.packets.iter().filter(sent).map(|r| r.time.as_nanos()).collect();
        (results.udp[0].clone(), arrived)
    };
    let (late, arrived) = row(&["flow.f.tcp.window=64KiB", "run.warmup=4s"]);
    // packet n leaves at n * 100 ms, none is lost
    let delays: Vec<u64> = (0..)
        .zip(&arrived)
        .filter(|&(_, &at)| at >= 4_000_000_000)
        .map(|(n, at)| at - n * 100_000_000)
        .collect();
    let delay = late.delay.expect("packets arrived");
    assert_eq!(
        (delay.min.as_nanos(), delay.max.as_nanos()),
        (*delays.iter().min().unwrap(), *delays.iter().max().unwrap())
    );
    let first = arrived[0];
    assert!(delay.min.as_nanos() > first, "the first packet met an empty queue");
}
