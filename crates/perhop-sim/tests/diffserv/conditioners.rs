//! Conditioners in a router: policers, shapers, several in a row, a meter for each flow.

use perhop_core::dscp::Dscp;
use perhop_core::packet::{Color, FlowId, Kind};
use perhop_core::sink::DropReason;
use perhop_sim::{ConditionerResult, PacketEvent, PacketRecord, Results};

use super::{EDGE, POLICED, Tokens, af1, site, steps, times};
use crate::common::{ALL, run};

const UNSHAPED: PacketEvent = PacketEvent::Dropped(DropReason::Shaper);

fn edge(more: &str, overrides: &[&str]) -> Results {
    run(&format!("{EDGE}{more}"), overrides, ALL)
}

fn conditioner<'a>(results: &'a Results, path: &str) -> &'a ConditionerResult {
    results.conditioners.iter().find(|row| row.path == path).unwrap_or_else(|| panic!("no {path}"))
}

fn by_color(row: &ConditionerResult) -> [u64; 3] {
    [row.stats.green.packets, row.stats.yellow.packets, row.stats.red.packets]
}

#[test]
fn a_policer_drops_what_the_arithmetic_says_packet_by_packet() {
    let results = edge(
        r#"
        [[udp]]
        name = "u"
        from = "s[0]"
        to = "d"
        rate = "2111111bit/s"
        [[conditioner]]
        name = "police"
        at = "e"
        from = "s[0]"
        meter = { kind = "token-bucket", cir = "777777bit/s", cbs = "4p" }
        marker = { green = "AF11", red = "drop" }
        "#,
        &[],
    );
    // everything that happens to a packet at the edge happens at once: arrival, verdict, and drop or queue
    let arrived = steps(&results, "port.s[0]-e.class.all", PacketEvent::Sent).len();
    let at_edge: Vec<&PacketRecord> = {
        let places = ["port.s[0]-e", "conditioner.police", "port.e-d.class.all"].map(|p| site(&results, p));
        let wanted = |r: &&PacketRecord| places.contains(&r.site) && r.event != PacketEvent::Sent;
        results.trace.packets.iter().filter(wanted).collect()
    };
    assert!(arrived > 5_000, "{arrived}");
    let mut tokens = Tokens::full(777_777, 4 * 500);
    let mut verdicts = [0_u64, 0];
    for step in at_edge.chunks(3) {
        let [arrival, verdict, outcome] = step else { panic!("a packet without an outcome: {step:?}") };
        assert_eq!((arrival.event, arrival.mark), (PacketEvent::Delivered, Dscp::DEFAULT));
        let green = tokens.take(arrival.time.as_nanos(), 500);
        let color = if green { Color::Green } else { Color::Red };
        assert_eq!(
            (verdict.event, verdict.color, verdict.mark),
            (PacketEvent::Coloured, color, Dscp::DEFAULT),
            "packet {}",
            verdicts[0] + verdicts[1]
        );
        let expected = if green { (PacketEvent::Enqueued, af1(1)) } else { (POLICED, Dscp::DEFAULT) };
        assert_eq!((outcome.event, outcome.mark), expected);
        assert!(step.iter().all(|r| r.time == arrival.time && r.flow == FlowId(0)));
        verdicts[usize::from(!green)] += 1;
    }
    // the first burst and then its rate, to a packet: 2000 bytes and 777,777 bit/s for 10 s
    assert!(verdicts[0].abs_diff(4 + 777_777 * 10 / 4_000) <= 1, "{verdicts:?}");
    let row = conditioner(&results, "conditioner.police");
    assert_eq!(by_color(row), [verdicts[0], 0, verdicts[1]]);
    assert_eq!(row.stats.green.bytes.0, 500 * verdicts[0]);
    assert_eq!((row.stats.passed.packets, row.stats.dropped.packets), (verdicts[0], verdicts[1]));
    // at the server: what was green, but for those on the last link
    let on_the_way = results.links.iter().map(|l| l.stats.packets - l.stats.delivered).sum::<u64>();
    let [row] = results.marks[..] else { panic!("one mark: {:?}", results.marks) };
    assert_eq!((row.flow, row.mark), (0, af1(1)));
    assert!(verdicts[0] - row.arrived.packets <= on_the_way);
    assert_eq!(row.arrived, results.udp[0].arrived);
}

/// Three flows of one host at distances that do not divide one another, into a shaper of 1 Mbit/s.
const SHAPED: &str = r#"
[[udp]]
name = "a"
from = "s[0]"
to = "d"
rate = "400kbit/s"
[[udp]]
name = "b"
from = "s[0]"
to = "d"
rate = "531kbit/s"
start = "1ms"
[[udp]]
name = "c"
from = "s[0]"
to = "d"
rate = "777kbit/s"
start = "2ms"
[[conditioner]]
name = "shape"
at = "e"
from = "s[0]"
match = { direction = "forward" }
marker = { green = "shape" }
shaper = { rate = "1Mbit/s", burst = "1p", limit = "20p" }
"#;

#[test]
fn a_shaper_spaces_departures_exactly_and_keeps_their_order() {
    // a bucket of one packet loses what comes while it is full; one of two never is, after the first packets
    for (rate, bit_s, burst) in [("1Mbit/s", 1_000_000_u64, 1), ("987654bit/s", 987_654, 2)] {
        let overrides = [
            format!("conditioner.shape.shaper.rate={rate}"),
            format!("conditioner.shape.shaper.burst={burst}p"),
        ];
        let results = edge(SHAPED, &overrides.each_ref().map(String::as_str));
        let left = steps(&results, "port.e-d.class.all", PacketEvent::Enqueued);
        assert!(left.len() > 2_000, "{}", left.len());
        // The flows bring 1.7 Mbit/s, so the shaper is never idle: packet n leaves in the first nanosecond at which the
        // bucket, full at first, has had tokens for n + 1 packets.
        let first = left[0].time.as_nanos();
        for (n, time) in (0..).zip(times(&left)).skip(burst) {
            let missing = (n + 1 - burst as u128) * 4_000 * 1_000_000_000;
            let due = first + u64::try_from(missing.div_ceil(u128::from(bit_s))).unwrap();
            assert_eq!(time, due, "packet {n} at {rate}");
        }
        // the order of arrival, without those for which there was no room
        let (host, shaper) = (site(&results, "port.s[0]-e"), site(&results, "conditioner.shape"));
        let mut order: Vec<FlowId> = Vec::new();
        for record in &results.trace.packets {
            if record.site == host && record.event == PacketEvent::Delivered {
                order.push(record.flow);
            } else if record.site == shaper {
                assert_eq!((record.event, order.pop()), (UNSHAPED, Some(record.flow)));
            }
        }
        assert!(left.iter().map(|r| r.flow).eq(order[..left.len()].iter().copied()));
        let row = conditioner(&results, "conditioner.shape");
        let lost = steps(&results, "conditioner.shape", UNSHAPED).len() as u64;
        assert!(lost > 1_000, "{lost}");
        assert_eq!((row.stats.dropped.packets, row.held.packets), (lost, 20));
        assert_eq!(row.stats.passed.packets, burst as u64, "only the first find tokens enough");
        assert_eq!(row.stats.released.packets, (left.len() - burst) as u64);
    }
}

#[test]
fn what_a_shaper_lets_go_meets_the_later_conditioners_of_its_port_and_no_others() {
    let later = |name: &str, from: &str, mark: &str| {
        format!(
            "[[conditioner]]\nname = \"{name}\"\nat = \"e\"\nfrom = \"{from}\"\nmarker = {{ green = \"{mark}\" }}\n"
        )
    };
    let other = "[[udp]]\nname = \"x\"\nfrom = \"s[1]\"\nto = \"d\"\nrate = \"700kbit/s\"\n";
    // one before the shaper, and one after it for each host
    let text = later("before", "s[0]", "AF11") + SHAPED + other;
    let text = text + &later("here", "s[0]", "AF12") + &later("there", "s[1]", "AF13");
    // the shaper holds packets of both hosts
    let results = edge(&text, &["conditioner.shape.from=s[*]"]);
    let left = steps(&results, "port.e-d.class.all", PacketEvent::Enqueued);
    let of = |host: usize| left.iter().filter(move |r| (r.flow.0 == 3) == (host == 1));
    assert!(of(0).all(|r| r.mark == af1(2)) && of(1).all(|r| r.mark == af1(3)));
    assert!(of(0).count() > 1_000 && of(1).count() > 500, "{} and {}", of(0).count(), of(1).count());
    let green = |name: &str| conditioner(&results, name).stats.green.packets;
    assert_eq!(green("conditioner.here"), of(0).count() as u64);
    assert_eq!(green("conditioner.there"), of(1).count() as u64);
    let shaped = conditioner(&results, "conditioner.shape");
    assert!(shaped.stats.conserved(shaped.held) && shaped.held.packets > 0);
    assert!(green("conditioner.before") > green("conditioner.here"), "it comes before the drops");
}

#[test]
fn a_mark_given_by_one_conditioner_is_what_the_next_one_sees() {
    let text = |first: &str, second: &str| {
        format!(
            r#"
            [[flow]]
            name = "f"
            class = "gold"
            from = "s[0]"
            to = "d"
            tcp = {{ profile = "rfc" }}
            {first}
            {second}
            "#
        )
    };
    let acks = r#"
        [[conditioner]]
        name = "acks"
        at = "e"
        from = "d"
        ack_marking = { kind = "per-class", marks = { gold = "AF21" } }
        "#;
    let police = r#"
        [[conditioner]]
        name = "police"
        at = "e"
        from = "d"
        match = { mark = "AF21", kind = "pure-ack" }
        meter = { kind = "token-bucket", cir = "100kbit/s", cbs = "2p" }
        marker = { red = "drop" }
        "#;
    let results = edge(&text(acks, police), &["flow.f.tcp.window=60000B"]);
    let came = steps(&results, "port.d-e", PacketEvent::Delivered);
    let acks_came = came.iter().filter(|r| r.kind == Kind::PureAck).count() as u64;
    let policed = conditioner(&results, "conditioner.police");
    assert_eq!(by_color(policed).iter().sum::<u64>(), acks_came);
    let verdicts = steps(&results, "conditioner.police", PacketEvent::Coloured);
    assert!(verdicts.iter().all(|r| r.mark == Dscp::af(2, 1).unwrap() && r.kind == Kind::PureAck));
    // each verdict by arithmetic
    let mut tokens = Tokens::full(100_000, 1_000);
    for (n, verdict) in verdicts.iter().enumerate() {
        let green = tokens.take(verdict.time.as_nanos(), verdict.len.0);
        assert_eq!(verdict.color == Color::Green, green, "ACK {n}");
    }
    let dropped = steps(&results, "conditioner.police", POLICED).len() as u64;
    assert!(dropped > 1_000, "{dropped} of {acks_came}");
    assert_eq!(dropped, policed.stats.dropped.packets);
    // the other way round nothing has that mark yet
    let reversed = edge(&text(police, acks), &["flow.f.tcp.window=60000B"]);
    assert_eq!(by_color(conditioner(&reversed, "conditioner.police")), [0, 0, 0]);
    assert!(steps(&reversed, "conditioner.police", POLICED).is_empty());
}

#[test]
fn a_meter_for_each_flow_has_a_profile_for_each_and_an_aggregate_has_one() {
    // 1 Mbit/s each: 4 ms for each packet
    let text = r#"
        [[udp]]
        name = "u"
        from = "s[*]"
        to = "d"
        rate = "1Mbit/s"
        [[conditioner]]
        name = "police"
        at = "e"
        from = "s[*]"
        meter = { kind = "token-bucket", cir = "1Mbit/s", cbs = "2p" }
        marker = { green = "AF11", red = "AF13" }
        "#;
    let green_and_red = |overrides: &[&str]| {
        let results = edge(text, overrides);
        let [green, yellow, red] = by_color(conditioner(&results, "conditioner.police"));
        assert_eq!(yellow, 0);
        let of = |flow: u32, color: Color| {
            let verdicts = steps(&results, "conditioner.police", PacketEvent::Coloured);
            verdicts.iter().filter(|r| r.flow.0 == flow && r.color == color).count() as u64
        };
        assert_eq!(of(0, Color::Green) + of(1, Color::Green), green);
        ([green, red], [of(0, Color::Green), of(1, Color::Green)])
    };
    // 2500 packets each in 10 s; a packet's tokens come in its packet time, so none is ever missing
    assert_eq!(green_and_red(&["conditioner.police.per=flow"]), ([5_000, 0], [2_500, 2_500]));
    // Both arrive at once, the first first, and find the tokens of one: two packets at first, and then the one that
    // came first each time.
    assert_eq!(green_and_red(&[]), ([2_501, 2_499], [2_500, 1]));
    // half the rate for each is as much for both together, and as much for each
    let half = ["conditioner.police.per=flow", "conditioner.police.meter.cir=500kbit/s"];
    let (all, each) = green_and_red(&half);
    assert_eq!(each[0], each[1]);
    // the first two, and then one in two
    assert!(each[0].abs_diff(1_251) <= 1, "{each:?}");
    assert_eq!(all[0], each[0] + each[1]);
}
