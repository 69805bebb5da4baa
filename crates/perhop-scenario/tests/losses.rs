//! Packets that a link loses: by chance, and chosen ones.

use crate::common::{BASE, changed, lines};
use insta::assert_snapshot;
use perhop_scenario::model::ListedLoss;
use perhop_scenario::{Diagnostic, Loaded, load};

/// A setting of the link between `slow` and `fast`.
fn slow(setting: &str) -> Result<Loaded, Vec<Diagnostic>> {
    changed(&[(r#"pure_ack_size = "28B""#, setting)])
}

/// The same where `up` has 120 packets, ECN and no handshake.
fn finite(setting: &str) -> Result<Loaded, Vec<Diagnostic>> {
    let tcp = r#"size = "175000B", ecn = true, handshake = false"#;
    changed(&[(r#"pure_ack_size = "28B""#, setting), (r#"window = "64KiB""#, tcp)])
}

#[test]
fn chance() {
    let losses = |setting: &str| {
        let loaded = slow(setting).unwrap_or_else(|found| panic!("{}", lines(Err(found))));
        let again = load(loaded.resolved_toml().as_bytes(), "resolved.toml", &[]).expect("valid");
        assert_eq!(again.file, loaded.file);
        [loaded.scenario.links[0].loss, loaded.scenario.links[1].loss].map(|loss| format!("{loss}"))
    };
    assert_eq!(losses(""), ["0", "0"]);
    assert_eq!(losses("loss = 0.01"), ["0.01", "0.01"]);
    assert_eq!(losses("loss = 0"), ["0", "0"]);
    assert_eq!(losses(r#"loss = { "fast->slow" = 1e-4 }"#), ["0", "0.0001"]);
    assert_snapshot!(lines(slow("loss = 1")), @"22:8 link.slow-fast.loss: 1 is outside the range: at least 0 and below 1");
    assert_snapshot!(lines(slow("loss = -0.1")), @"22:8 link.slow-fast.loss: -0.1 is outside the range: at least 0 and below 1");
    assert_snapshot!(lines(slow("loss = nan")), @"22:8 link.slow-fast.loss: NaN is not a number to count with (write a number at least 0 and below 1)");
    assert_snapshot!(lines(slow(r#"loss = "1%""#)), @"22:8 link.slow-fast.loss: must be a number, not a string");
    assert_snapshot!(lines(slow(r#"loss = { "fast->slwo" = 0.1 }"#)), @"22:25 link.slow-fast.loss.fast->slwo: the link has no direction `fast->slwo` (did you mean `fast->slow`?)");
    let overridden = load(BASE.as_bytes(), "test.toml", &["link.slow-fast.loss.fast->slow=0.5".to_owned()]);
    assert_eq!(format!("{}", overridden.expect("valid").scenario.links[1].loss), "0.5");
}

#[test]
fn chosen_packets_are_on_the_way_of_the_data() {
    let of = |settings: &str| {
        let loaded = finite(settings).unwrap_or_else(|found| panic!("{}", lines(Err(found))));
        let again = load(loaded.resolved_toml().as_bytes(), "resolved.toml", &[]).expect("valid");
        assert_eq!((again.resolved_toml(), &again.file), (loaded.resolved_toml(), &loaded.file));
        assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
        let links = loaded.scenario.links.into_iter();
        links.filter(|l| !l.losses.is_empty()).map(|l| (l.name, l.losses)).collect::<Vec<_>>()
    };
    let loss = |flow, packet, transmission, mark| ListedLoss { flow, packet, transmission, mark };
    let up = vec![loss(0, 14, 1, false), loss(0, 119, 2, false), loss(0, 3, 1, true)];
    assert_eq!(
        of(
            "drop = { flow = \"up\", packets = [[14, 1], [119, 2]] }\nmark = { flow = \"up\", packets = [[3, 1]] }"
        ),
        [("slow->fast".to_owned(), up)]
    );
    // Of a link with members each flow's is meant; the SYN can be lost too.
    let moved = "[[link]]\nends = [\"r\", \"d[*]\"]\nrate = \"15Mbit/s\"";
    let lists =
        "drop = [{ flow = \"bulk[2]\", packets = [[0, 1]] }, { flow = \"bulk[0]\", packets = [[7, 3]] }]";
    let loaded = changed(&[(moved, &format!("{moved}\n{lists}"))]).expect("valid");
    let links = &loaded.scenario.links;
    let at = |name: &str| &links.iter().find(|link| link.name == name).expect("a link").losses;
    assert_eq!((at("r->d[2]"), at("r->d[0]")), (&vec![loss(3, 0, 1, false)], &vec![loss(1, 7, 3, false)]));
    assert_eq!(links.iter().map(|link| link.losses.len()).sum::<usize>(), 2);
}

#[test]
fn chosen_packets_exist() {
    let of = |setting: &str| lines(finite(setting));
    assert_snapshot!(of(r#"drop = { flow = "upp", packets = [[1, 1]] }"#), @"22:17 link.slow-fast.drop.flow: there is no flow `upp` (did you mean `up`?)");
    assert_snapshot!(of(r#"drop = { flow = "bulk", packets = [[1, 1]] }"#), @"22:17 link.slow-fast.drop.flow: there is no flow `bulk` (did you mean `bulk[0]`?)");
    assert_snapshot!(of(r#"drop = { flow = "bulk[0]", packets = [[1, 1]] }"#), @"22:17 link.slow-fast.drop.flow: the data of `bulk[0]` does not cross this link (it takes s[0]->r, r->d[0])");
    assert_snapshot!(of(r#"drop = { flow = "up", packets = [[1, 0], [120, 1], [1, 4294967296]] }"#), @r"
    22:38 link.slow-fast.drop.packets[0][1]: transmissions count from 1 to 4294967295
    22:43 link.slow-fast.drop.packets[1][0]: `up` has no packet 120: its last one is 119
    22:56 link.slow-fast.drop.packets[2][1]: transmissions count from 1 to 4294967295
    ");
    assert_snapshot!(of(r#"drop = { flow = "up", packets = [[1, 1], [1, 2], [1, 1]] }"#), @"22:50 link.slow-fast.drop.packets[2]: transmission 1 of packet 1 is listed twice");
    assert_snapshot!(of("drop = { flow = \"up\", packets = [[1, 1]] }\nmark = [{ flow = \"up\", packets = [[1, 1]] }]"), @"23:35 link.slow-fast.mark[0].packets[0]: transmission 1 of packet 1 is listed twice");
    assert_snapshot!(of(r#"drop = { flow = "up", packets = [1, 1] }"#), @r"
    22:34 link.slow-fast.drop.packets[0]: must be a list, not an integer
    22:37 link.slow-fast.drop.packets[1]: must be a list, not an integer
    ");
    assert_snapshot!(of(r#"drop = { flow = "up", packets = [[1], [-1, 1]] }"#), @r"
    22:34 link.slow-fast.drop.packets[0]: needs exactly 2 entries, not 1
    22:40 link.slow-fast.drop.packets[1][0]: -1 is below 0, the least allowed
    ");
    assert_snapshot!(of(r#"drop = { flow = "up" }"#), @"22:8 link.slow-fast.drop.packets: `packets` is missing (add `packets = ...`: pairs `[n, k]`: the k-th transmission, from 1, of packet n. Packets count from 0 in units of `mss`; where the flow has a handshake, 0 is the SYN and data begins with 1.)");
    assert_snapshot!(of(r#"drop = "up""#), @"22:8 link.slow-fast.drop: must be a list, not a string");
}

#[test]
fn only_packets_with_ecn_are_marked() {
    assert_snapshot!(lines(slow(r#"mark = { flow = "up", packets = [[1, 1]] }"#)), @"22:17 link.slow-fast.mark.flow: `up` has no ECN: its packets cannot be marked (set its `tcp.ecn = true`, or drop the packets)");
    let tcp = (r#"window = "64KiB""#, "ecn = true");
    assert_snapshot!(lines(changed(&[(r#"pure_ack_size = "28B""#, r#"mark = { flow = "up", packets = [[0, 1], [1, 1]] }"#), tcp])), @"22:35 link.slow-fast.mark.packets[0][0]: packet 0 is the SYN, which cannot be marked (RFC 3168 section 6.1.1)");
}

#[test]
fn with_a_handshake_data_begins_with_packet_one() {
    let tcp = |handshake: bool| (r#"window = "64KiB""#, format!(r#"size = "9p", handshake = {handshake}"#));
    let of = |handshake: bool| {
        let drop = r#"drop = { flow = "up", packets = [[0, 1], [8, 1], [9, 1], [10, 1]] }"#;
        let (old, new) = tcp(handshake);
        lines(changed(&[(r#"pure_ack_size = "28B""#, drop), (old, &new)]))
    };
    assert_snapshot!(of(true), @"22:59 link.slow-fast.drop.packets[3][0]: `up` has no packet 10: its last one is 9");
    assert_snapshot!(of(false), @r"
    22:51 link.slow-fast.drop.packets[2][0]: `up` has no packet 9: its last one is 8
    22:59 link.slow-fast.drop.packets[3][0]: `up` has no packet 10: its last one is 8
    ");
}

#[test]
fn nothing_is_said_of_flows_that_could_not_be_made() {
    let drop = (r#"pure_ack_size = "28B""#, r#"drop = { flow = "up", packets = [[1, 1]] }"#);
    assert_snapshot!(lines(changed(&[drop, (r#"from = "slow""#, r#"from = "slwo""#)])), @"46:8 flow.up.from: there is no node `slwo` (did you mean `slow`?)");
    assert_snapshot!(lines(changed(&[drop, (r#"name = "up""#, r#"name = "u.p""#)])), @"45:8 flow.u.p.name: `.` cannot be in a name: it has a meaning in paths (use letters, digits, `_` and `-`, as in `u_p`)");
}

#[test]
fn bursts() {
    let chains = |setting: &str| {
        let loaded = slow(setting).unwrap_or_else(|found| panic!("{}", lines(Err(found))));
        let again = load(loaded.resolved_toml().as_bytes(), "resolved.toml", &[]).expect("valid");
        assert_eq!(again.file, loaded.file);
        [0, 1].map(|link| {
            let chain = loaded.scenario.links[link].burst_loss?;
            Some([chain.p, chain.r, chain.loss_bad, chain.loss_good].map(|part| part.to_string()).join(" "))
        })
    };
    let of = |chain: &str| Some(chain.to_owned());
    assert_eq!(chains(""), [None, None]);
    assert_eq!(chains("burst_loss = { p = 0.01, r = 0.2 }"), [of("0.01 0.2 1 0"), of("0.01 0.2 1 0")]);
    assert_eq!(
        chains(
            r#"burst_loss = { direction = "fast->slow", p = 0.01, r = 1, loss_bad = 0.5, loss_good = 0.1 }"#
        ),
        [None, of("0.01 1 0.5 0.1")]
    );
    let both = r#"burst_loss = [
        { direction = "slow->fast", p = 0.01, r = 0.2 },
        { direction = "fast->slow", p = 0.02, r = 0.3 },
    ]"#;
    assert_eq!(chains(both), [of("0.01 0.2 1 0"), of("0.02 0.3 1 0")]);
    let changed = load(
        BASE.replace(r#"pure_ack_size = "28B""#, "burst_loss = { p = 0.01, r = 0.2 }").as_bytes(),
        "test.toml",
        &["link.slow-fast.burst_loss.p=0.5".to_owned()],
    );
    let changed = changed.expect("valid").scenario.links[0].burst_loss.expect("a chain");
    assert!((changed.mean_loss() - 0.5 / 0.7).abs() < 1e-12);
    let wrong = |chain: &str| lines(slow(&format!("burst_loss = {{ {chain} }}")));
    assert_snapshot!(
        [
            wrong("p = 0, r = 0.2"),
            wrong("p = 0.1"),
            wrong("p = 0.1, r = 1.5"),
            wrong("p = 0.1, r = 0.2, loss_bad = 2"),
            wrong("p = 0.1, r = 0.2, loss_bad = 0"),
            wrong("p = 0.1, r = 0.2, loss_good = 1"),
            wrong("p = 0.1, r = 0.2, h = 0.5"),
            wrong(r#"p = 0.1, r = 0.2, direction = "fast->slwo""#),
            lines(slow("burst_loss = [{ p = 0.1, r = 0.2 }, { p = 0.1, r = 0.2 }]")),
            lines(slow("burst_loss = 0.1")),
        ]
        .join("\n")
    );
}
