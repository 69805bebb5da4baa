//! Marks of acknowledgments that their host or an edge gives, in the packet trace.

use perhop_core::dscp::Dscp;
use perhop_core::packet::{FlowId, Kind};
use perhop_sim::{PacketEvent, Results};

use super::{EDGE, af1, site, steps};
use crate::common::{ALL, run};

/// A connection whose data is marked AF11 to AF13 by how fast it comes; `ack` is its receiver.
fn marked(ack: &str) -> Results {
    let text = format!(
        r#"{EDGE}
        [[flow]]
        name = "f"
        class = "gold"
        from = "s[0]"
        to = "d"
        tcp = {{ profile = "rfc", window = "60000B", size = "5000000B" }}
        ack = {ack}
        [[conditioner]]
        name = "mark"
        at = "e"
        from = "s[0]"
        per = "flow"
        meter = {{ kind = "tr-tcm", cir = "20Mbit/s", pir = "50Mbit/s", cbs = "3000B", pbs = "7000B" }}
        marker = {{ green = "AF11", yellow = "AF12", red = "AF13" }}
        "#
    );
    let results = run(&text, &[], ALL);
    assert!(results.flows[0].stats.completed.is_some());
    results
}

/// What the receiver sent, one after the other: its mark, and the marks of what had come since the one before.
fn acknowledgments(results: &Results) -> Vec<(Dscp, Vec<Dscp>)> {
    let (data, acks) = (site(results, "port.e-d"), site(results, "port.d-e.class.all"));
    let mut covered = Vec::new();
    let mut found = Vec::new();
    for record in &results.trace.packets {
        if (record.site, record.event) == (data, PacketEvent::Delivered) {
            covered.push(record.mark);
        } else if (record.site, record.event) == (acks, PacketEvent::Enqueued) {
            found.push((record.mark, std::mem::take(&mut covered)));
        }
    }
    assert!(found.len() > 1_000, "{} acknowledgments", found.len());
    found
}

/// How many acknowledgments cover different marks.
fn mixed(acks: &[(Dscp, Vec<Dscp>)]) -> usize {
    acks.iter().filter(|(_, covered)| covered.windows(2).any(|pair| pair[0] != pair[1])).count()
}

fn drop_precedence(mark: &Dscp) -> u8 {
    (1..=3).find(|&p| af1(p) == *mark).expect("the edge marks everything")
}

#[test]
fn by_the_class_of_the_flow_whatever_the_data_had() {
    let acks = acknowledgments(&marked(r#"{ marking = { kind = "per-class", marks = { gold = "EF" } } }"#));
    assert!(acks.iter().all(|(mark, _)| *mark == Dscp::EF));
    let others = acknowledgments(&marked(r#"{ marking = { kind = "best-effort" } }"#));
    assert!(others.iter().all(|(mark, _)| *mark == Dscp::DEFAULT));
    assert_eq!(others.len(), acks.len(), "nothing on the way looks at marks");
}

#[test]
fn by_the_mark_of_the_data() {
    let acks = acknowledgments(&marked(
        r#"{ marking = { kind = "per-mark", marks = { AF11 = "AF21", AF12 = "AF22" } } }"#,
    ));
    let mut seen = [0; 3];
    for (mark, covered) in &acks {
        let [data] = covered[..] else { panic!("every segment is acknowledged: {covered:?}") };
        let at = usize::from(drop_precedence(&data)) - 1;
        let expected = [Dscp::af(2, 1).unwrap(), Dscp::af(2, 2).unwrap(), Dscp::DEFAULT][at];
        assert_eq!(*mark, expected, "for data marked {data}");
        seen[at] += 1;
    }
    assert!(seen.iter().all(|&n| n > 100), "{seen:?}");
}

#[test]
fn a_copy_for_every_segment_is_its_mark() {
    for rule in ["triggering-segment", "best-of-covered", "worst-of-covered"] {
        let acks =
            acknowledgments(&marked(&format!("{{ marking = {{ kind = \"copy\", rule = \"{rule}\" }} }}")));
        assert!(acks.iter().all(|(mark, covered)| covered[..] == [*mark]), "{rule}");
    }
}

#[test]
fn a_delayed_acknowledgment_copies_by_its_rule() {
    type Rule = fn(&[Dscp]) -> Option<Dscp>;
    let rules: [(&str, Rule); 3] = [
        ("triggering-segment", |covered| covered.last().copied()),
        ("best-of-covered", |covered| covered.iter().copied().min_by_key(drop_precedence)),
        ("worst-of-covered", |covered| covered.iter().copied().max_by_key(drop_precedence)),
    ];
    for (name, rule) in rules {
        let ack = format!("{{ policy = \"delayed\", marking = {{ kind = \"copy\", rule = \"{name}\" }} }}");
        let acks = acknowledgments(&marked(&ack));
        assert!(mixed(&acks) > 100, "{name}: {} of {} cover several marks", mixed(&acks), acks.len());
        for (n, (mark, covered)) in acks.iter().enumerate() {
            let expected = rule(covered).expect("nothing is acknowledged twice on this path");
            assert_eq!(*mark, expected, "{name}, acknowledgment {n} of {covered:?}");
        }
    }
}

/// What leaves the edge towards the sender: kind and mark of the first four packets, of a flow whose data is EF.
fn at_the_edge(ack: &str, marking: &str) -> Vec<(Kind, String)> {
    let text = format!(
        r#"{EDGE}
        [[flow]]
        name = "f"
        class = "gold"
        from = "s[0]"
        to = "d"
        mark = "EF"
        tcp = {{ profile = "rfc", handshake = true, size = "20000B" }}
        ack = {ack}
        [[conditioner]]
        name = "acks"
        at = "e"
        from = "d"
        ack_marking = {marking}
        "#
    );
    let results = run(&text, &[], ALL);
    let back = steps(&results, "port.e-s[0]", PacketEvent::Delivered);
    back.iter().take(4).map(|record| (record.kind, record.mark.to_string())).collect()
}

#[test]
fn an_edge_marks_the_answer_to_a_syn_by_class_and_copies_nothing_into_it() {
    let wanted = |syn: &str, acks: &str| {
        [(Kind::Syn, syn), (Kind::PureAck, acks), (Kind::PureAck, acks), (Kind::PureAck, acks)]
            .map(|(kind, mark)| (kind, mark.to_owned()))
    };
    let by_class = r#"{ kind = "per-class", marks = { gold = "AF21" } }"#;
    let copy = r#"{ kind = "copy" }"#;
    let from_host = r#"{ marking = { kind = "per-class", marks = { gold = "AF31" } } }"#;
    for ack in ["{}", from_host] {
        assert_eq!(at_the_edge(ack, by_class), wanted("AF21", "AF21"));
        assert_eq!(at_the_edge(ack, copy), wanted("BE", "EF"));
        assert_eq!(at_the_edge(ack, r#"{ kind = "best-effort" }"#), wanted("BE", "BE"));
    }
}

#[test]
fn the_marks_that_arrived_are_those_of_the_table() {
    let results = marked("{}");
    let data = site(&results, "port.e-d");
    let arrived = |mark: Dscp| {
        let of = |r: &&perhop_sim::PacketRecord| {
            (r.site, r.event, r.flow) == (data, PacketEvent::Delivered, FlowId(0)) && r.mark == mark
        };
        let lengths: Vec<u64> = results.trace.packets.iter().filter(of).map(|r| r.len.0).collect();
        (lengths.len() as u64, lengths.iter().sum::<u64>())
    };
    for precedence in 1..=3 {
        let row = results.marks.iter().find(|row| row.mark == af1(precedence)).unwrap();
        assert_eq!((row.arrived.packets, row.arrived.bytes.0), arrived(af1(precedence)));
    }
    assert_eq!(results.marks.len(), 3);
    assert!(results.trace.packets.iter().any(|r| r.kind == Kind::Syn));
}
