//! What conditioners, marks, queues, schedulers and sources of a file mean.

use crate::common::{domain, overridden, valid};
use perhop_core::ack_marking::{AckMarking, ClassMarks};
use perhop_core::classify::{Address, Flow, FlowKey, KindSet, MarkSet, Pattern, Protocol};
use perhop_core::dscp::{ColorMap, Dscp};
use perhop_core::marker::{Action, Marker};
use perhop_core::meter::{TokenBucketParams, TrTcmDiffServParams, TrTcmParams, TswParams};
use perhop_core::packet::{Color, Dir, FlowId, Kind, TrafficClass};
use perhop_core::queue::{Averaging, Conventions};
use perhop_core::sched::CbqClass;
use perhop_core::shaper::ShaperParams;
use perhop_core::time::Span;
use perhop_core::units::{BitRate, Bytes, QueueSize};
use perhop_scenario::model::{Conditioner, Meter, Per, Queue, Scenario, Scheduler, Selector, UdpPattern};
use perhop_scenario::{Loaded, load};

fn scenario() -> Scenario {
    valid(domain(&[])).scenario
}

fn rate(bits: u64) -> BitRate {
    BitRate::new(bits).expect("above zero")
}

fn af(drop_precedence: u8) -> Dscp {
    Dscp::af(1, drop_precedence).expect("a code point")
}

fn of<'a>(scenario: &'a Scenario, path: &str) -> &'a Conditioner {
    scenario.conditioners.iter().find(|c| c.path == path).expect("a conditioner")
}

/// The pattern of `customer` with this `match`.
fn pattern(matches: &str) -> Pattern {
    let new = format!("match = {{ {matches} }}");
    let loaded = valid(domain(&[(r#"match = { class = "assured", kind = "data" }"#, &new)]));
    of(&loaded.scenario, "conditioner.customer[0]").pattern.as_ref().clone()
}

#[test]
fn a_conditioner_sits_where_its_packets_come_in() {
    let scenario = scenario();
    let names = |links: &[usize]| links.iter().map(|l| scenario.links[*l].name.as_str()).collect::<Vec<_>>();
    let places = scenario.conditioners.iter();
    let places = places.map(|c| (c.path.as_str(), scenario.nodes[c.node].name.as_str(), names(&c.from)));
    assert_eq!(
        places.collect::<Vec<_>>(),
        [
            ("conditioner.customer[0]", "e[0]", vec!["s[0]->e[0]", "s[1]->e[0]"]),
            ("conditioner.customer[1]", "e[1]", vec!["s[2]->e[1]", "s[3]->e[1]"]),
            ("conditioner.premium", "e[0]", vec!["s[0]->e[0]", "s[1]->e[0]"]),
            ("conditioner.acks", "r3", vec!["d[0]->r3", "d[1]->r3", "d[2]->r3", "d[3]->r3"]),
        ]
    );
}

#[test]
fn a_hundred_sources_share_twenty_edges_in_blocks_of_five() {
    let scenario = valid(overridden(&["node.s.count=100", "node.e.count=20"])).scenario;
    let to = |from: usize| scenario.nodes[scenario.links[2 * from].to].name.clone();
    for s in 0..100 {
        assert_eq!(scenario.links[2 * s].name, format!("s[{s}]->e[{}]", s / 5));
        assert_eq!(to(s), format!("e[{}]", s / 5));
    }
    let customers: Vec<&Conditioner> =
        scenario.conditioners.iter().filter(|c| c.path.starts_with("conditioner.customer")).collect();
    assert_eq!(customers.len(), 20);
    for (k, customer) in customers.iter().enumerate() {
        assert_eq!(customer.path, format!("conditioner.customer[{k}]"));
        assert_eq!(scenario.nodes[customer.node].name, format!("e[{k}]"));
        assert_eq!(customer.from, (0..5).map(|i| 2 * (5 * k + i)).collect::<Vec<_>>());
    }
    // A hundred sources to four servers, in blocks of twenty-five.
    let ends: Vec<String> = scenario.flows[..100].iter().map(|f| scenario.nodes[f.to].name.clone()).collect();
    assert!(ends.iter().enumerate().all(|(k, to)| *to == format!("d[{}]", k / 25)));
}

#[test]
fn a_match_becomes_a_pattern() {
    let customer = Pattern {
        classes: Some(vec![TrafficClass(0)]),
        kinds: Some(KindSet::ALL.without(Kind::PureAck)),
        ..Pattern::default()
    };
    assert_eq!(*of(&scenario(), "conditioner.customer[1]").pattern, customer);
    let premium = Pattern {
        protocol: Some(Protocol::UDP),
        marks: Some(MarkSet::NONE.with(Dscp::EF)),
        ..Pattern::default()
    };
    assert_eq!(*of(&scenario(), "conditioner.premium").pattern, premium);
    assert_eq!(*of(&scenario(), "conditioner.acks").pattern, Pattern::default());
    let all = pattern(
        r#"src = ["d[1]", "s[*]", "s[0]"], dst = "d[2]", src_port = 80, dst_port = [5001, 5010], protocol = "tcp",
        flow = ["cbr", "bulk", "web[1]"], class = ["default", "assured"], direction = "reverse", kind = "pure-ack",
        mark = ["AF11", "0"]"#
            .replace('\n', " ")
            .as_str(),
    );
    let by_hand = Pattern {
        // four sources, two edges, two routers, four servers
        src: Some([0, 1, 2, 3, 9].map(Address).to_vec()),
        dst: Some(vec![Address(10)]),
        src_port: Some(80..=80),
        dst_port: Some(5001..=5010),
        protocol: Some(Protocol::TCP),
        // bulk 0 to 3, web 4 to 6, then UDP
        flows: Some([0, 1, 2, 3, 5, 7].map(FlowId).to_vec()),
        classes: Some(vec![TrafficClass(0), TrafficClass(1)]),
        dir: Some(Dir::Reverse),
        kinds: Some(KindSet::NONE.with(Kind::PureAck)),
        marks: Some(MarkSet::NONE.with(af(1)).with(Dscp::DEFAULT)),
    };
    assert_eq!(all, by_hand);
    assert_eq!(pattern(r#"flow = "web""#).flows, Some([4, 5, 6].map(FlowId).to_vec()));
}

#[test]
fn a_flow_whose_transfers_all_begin_after_the_run_matches_nothing() {
    let late = ("name = \"web\"", "name = \"web\"\nstart = \"90s\"");
    let matches = (r#"match = { class = "assured", kind = "data" }"#, r#"match = { flow = "web" }"#);
    let scenario = valid(domain(&[late, matches])).scenario;
    assert_eq!(of(&scenario, "conditioner.customer[0]").pattern.flows, Some(vec![]));
}

#[test]
fn meters_markers_shapers() {
    let scenario = scenario();
    let customer = of(&scenario, "conditioner.customer[0]");
    let Some(Meter::TrTcm(params)) = customer.meter else { panic!("{:?}", customer.meter) };
    let by_hand = TrTcmParams {
        cir: rate(800_000),
        cbs: Bytes(15_000),
        pir: rate(1_000_000),
        pbs: Bytes(20_000),
        color_aware: false,
    };
    assert_eq!(format!("{params:?}"), format!("{by_hand:?}"));
    let marks =
        Marker { green: Action::Remark(af(1)), yellow: Action::Remark(af(2)), red: Action::Remark(af(3)) };
    assert_eq!(format!("{:?}", customer.marker), format!("{marks:?}"));
    assert!(customer.per == Per::Aggregate && customer.colors.is_none() && customer.shaper.is_none());
    let premium = of(&scenario, "conditioner.premium");
    let bucket = Meter::TokenBucket(TokenBucketParams { cir: rate(300_000), cbs: Bytes(2_000) });
    assert_eq!(format!("{:?}", premium.meter), format!("{:?}", Some(bucket)));
    let policy = Marker { green: Action::Remark(Dscp::EF), yellow: Action::Pass, red: Action::Shape };
    assert_eq!(format!("{:?}", premium.marker), format!("{policy:?}"));
    let shaper = ShaperParams { rate: rate(300_000), burst: Bytes(2_000), limit: QueueSize::Packets(1000) };
    assert_eq!(format!("{:?}", premium.shaper), format!("{:?}", Some(shaper)));
    let acks = AckMarking::PerClass(ClassMarks::new().with(TrafficClass(0), af(1)));
    assert_eq!(format!("{:?}", of(&scenario, "conditioner.acks").ack_marking), format!("{:?}", Some(acks)));
}

#[test]
fn a_colour_aware_meter_knows_the_colours_of_marks() {
    let aware = r#"pbs = "20kB", color_aware = true, colors = { EF = "green", "10" = "red" } }"#;
    let changes = [(r#"pbs = "20kB" }"#, aware), ("match = { class", "per = \"flow\"\nmatch = { class")];
    let scenario = valid(domain(&changes)).scenario;
    let customer = of(&scenario, "conditioner.customer[1]");
    let colors = ColorMap::af(Color::Red).with(Dscp::EF, Color::Green).with(af(1), Color::Red);
    assert_eq!(customer.colors, Some(colors));
    assert_eq!(customer.per, Per::Flow);
    assert!(matches!(customer.meter, Some(Meter::TrTcm(TrTcmParams { color_aware: true, .. }))));
}

#[test]
fn schedulers_and_queues() {
    let scenario = scenario();
    let port = |name: &str| &scenario.links.iter().find(|link| link.name == name).expect("a link").port;
    assert_eq!(port("e[1]->r2").scheduler, Scheduler::Wrr(vec![2, 1]));
    assert_eq!(port("r3->r2").scheduler, Scheduler::Drr(vec![Bytes(1500), Bytes(500)]));
    let core = port("r2->r3");
    let class = |share, bounded| CbqClass { bounded, ..CbqClass::new(share) };
    let first = CbqClass { priority: 0, ..CbqClass::new(0.1) };
    assert_eq!(core.scheduler, Scheduler::Cbq(vec![first, class(0.5, false), class(0.4, true)]));
    let marks: Vec<Selector> = [1, 2, 3].map(|n| Selector::Mark(af(n))).to_vec();
    assert_eq!((&core.classes[1].matches, &core.classes[2].matches), (&marks, &vec![Selector::Any]));
    let Queue::Gred(gred) = &core.classes[1].queue else { panic!("{:?}", core.classes[1].queue) };
    assert_eq!((gred.averaging, gred.limit), (Averaging::Decoupled, QueueSize::Bytes(90_000)));
    assert_eq!((gred.mean_packet, gred.rate), (Bytes(1000), rate(3_000_000)));
    assert_eq!(
        (gred.green.thresholds.max_th, gred.red.limit),
        (QueueSize::Bytes(90_000), Some(QueueSize::Bytes(30_000)))
    );
    assert_eq!(
        format!("{} {} {}", gred.green.w_q, gred.yellow.w_q, gred.yellow.thresholds.max_p),
        "0.002 0.01 0.05"
    );
    assert_eq!(gred.colors, ColorMap::af(Color::Red));
    let Queue::Rio(rio) = &port("r3->r2").classes[0].queue else { panic!("not RIO") };
    assert_eq!((rio.averaging, rio.rate), (Averaging::Coupled, rate(3_000_000)));
    assert_eq!(rio.colors, ColorMap::af(Color::Red).with(Dscp::DEFAULT, Color::Green));
    assert_eq!((rio.green.min_th, rio.red.max_th), (QueueSize::Packets(55), QueueSize::Packets(50)));
    let Queue::Red(red) = &core.classes[2].queue else { panic!("not RED") };
    assert_eq!((red.limit, red.thresholds.min_th), (QueueSize::Packets(100), QueueSize::Packets(15)));
    assert_eq!(red.conventions, Conventions::FLOYD1993);
    let like = |rest: &str| {
        let (min_th, with) = (r#"min_th = "15p""#, format!(r#"min_th = "15p", conventions = {{ {rest} }}"#));
        let scenario = valid(domain(&[(min_th, &with)])).scenario;
        let Queue::Red(red) = &scenario.links[12].port.classes[2].queue else { panic!("not RED") };
        red.conventions
    };
    assert_eq!(like("like = \"ns2-red\", wait = false"), Conventions { wait: false, ..Conventions::NS2_RED });
    assert_eq!(like("like = \"dsred\""), Conventions::DSRED);
    assert_eq!(like("skip_full = true"), Conventions { skip_full: true, ..Conventions::FLOYD1993 });
    // Without `run.packet_size` as well the mean packet is ns-2's.
    let without = [
        ("packet_size = \"1000B\"\n", ""),
        (r#"cbs = "15p""#, r#"cbs = "15kB""#),
        (r#"cbs = "2p""#, r#"cbs = "2kB""#),
        (r#"burst = "2p""#, r#"burst = "2kB""#),
        ("packet_size = \"200B\"\n", ""),
    ];
    let scenario = valid(domain(&without)).scenario;
    let Queue::Red(red) = &scenario.links[12].port.classes[2].queue else { panic!("not RED") };
    assert_eq!((red.mean_packet, scenario.udp[0].packet_size), (Bytes(500), Bytes(1000)));
}

/// Without a limit of the whole, those of the colours are the only ones if all have one in the same unit, as in Linux.
#[test]
fn virtual_queues_with_limits_of_their_own_need_no_other() {
    let limit = |[green, yellow, whole]: [&str; 3]| {
        let edits = [
            ("limit = \"90kB\"\ngreen", format!("{whole}green")),
            (r#"max_p = 0.02 }"#, format!("max_p = 0.02{green} }}")),
            (r#"w_q = 0.01 }"#, format!("w_q = 0.01{yellow} }}")),
        ];
        let edits = edits.each_ref().map(|(old, new)| (*old, new.as_str()));
        let scenario = valid(domain(&edits)).scenario;
        let Queue::Gred(gred) = &scenario.links[12].port.classes[1].queue else { panic!("not GRED") };
        gred.limit
    };
    let [none, bytes, packets] = ["", r#", limit = "100kB""#, r#", limit = "100p""#];
    assert_eq!(limit([bytes, bytes, none]), QueueSize::Bytes(230_000));
    assert_eq!(limit([bytes, bytes, "limit = \"90kB\"\n"]), QueueSize::Bytes(90_000));
    for colours in [[bytes, none], [none, none], [bytes, packets]] {
        assert_eq!(limit([colours[0], colours[1], none]), QueueSize::Packets(1000));
    }
}

#[test]
fn delays_take_turns() {
    let scenario = scenario();
    let delays: Vec<Span> = scenario.links[..8].iter().map(|link| link.delay).collect();
    let ms = [5, 5, 25, 25, 95, 95, 5, 5].map(Span::from_millis);
    assert_eq!(delays, ms);
    let one = valid(overridden(&[r#"link.e-r2.delay=["1ms", "2ms"]"#])).scenario;
    assert_eq!([8, 9, 10, 11].map(|l| one.links[l].delay), [1, 1, 2, 2].map(Span::from_millis));
}

#[test]
fn flows_transfers_and_udp_have_names_marks_and_addresses() {
    let ports = (
        "name = \"cbr\"",
        "name = \"cbr\"\nports = [7, 9]\npattern = { kind = \"on-off\", on = \"1s\", off = \"2s\" }",
    );
    let scenario = valid(domain(&[ports])).scenario;
    let names: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["bulk[0]", "bulk[1]", "bulk[2]", "bulk[3]", "web[0]", "web[1]", "web[2]"]);
    assert!(scenario.flows.iter().all(|flow| flow.mark == Dscp::DEFAULT));
    assert!(scenario.flows[..4].iter().all(|flow| flow.tcp.params.size.is_none()));
    for web in &scenario.flows[4..] {
        let size = web.tcp.params.size.expect("random").0;
        assert!((4_000..=400_000).contains(&size) && web.start < Span::from_secs(60), "{web:?}");
        assert_eq!((web.from, web.to, web.start_jitter), (0, 8, Span::ZERO));
    }
    let udp = &scenario.udp[0];
    assert_eq!((udp.name.as_str(), udp.mark, udp.packet_size), ("cbr", Dscp::EF, Bytes(200)));
    assert_eq!(udp.pattern, UdpPattern::OnOff { on: Span::from_secs(1), off: Span::from_secs(2) });
    let key = |src, dst, src_port, dst_port, protocol| FlowKey {
        src: Address(src),
        dst: Address(dst),
        src_port,
        dst_port,
        protocol,
    };
    let known = |id: u32| scenario.flow_table.get(FlowId(id)).copied();
    assert_eq!(known(3), Some(Flow { key: key(3, 11, 49152, 5001, Protocol::TCP), class: TrafficClass(0) }));
    assert_eq!(known(6), Some(Flow { key: key(0, 8, 49152, 5001, Protocol::TCP), class: TrafficClass(1) }));
    assert_eq!(known(7), Some(Flow { key: key(1, 9, 7, 9, Protocol::UDP), class: TrafficClass(1) }));
    assert_eq!(known(8), None);
}

#[test]
fn transfers_of_many_hosts_take_turns() {
    let changes = [
        ("from = \"s[0]\"\nto", "from = \"s[*]\"\nto"),
        (r#"mean_interval = "20s""#, r#"mean_interval = "5s""#),
    ];
    let scenario = valid(domain(&changes)).scenario;
    let from: Vec<usize> = scenario.flows[4..].iter().map(|flow| flow.from).collect();
    assert!(from.len() > 4);
    assert!(from.iter().enumerate().all(|(k, from)| *from == k % 4));
}

fn resolves_to_itself(loaded: &Loaded) {
    let text = loaded.resolved_toml();
    let again = valid(load(text.as_bytes(), "resolved.toml", &[]));
    assert_eq!(again.resolved_toml(), text);
    assert_eq!(again.file, loaded.file);
    assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
}

#[test]
fn the_resolved_file_resolves_to_itself() {
    resolves_to_itself(&valid(domain(&[])));
    let friendly = r#"{ kind = "tcp-friendly", interval = "250ms", tokens = 22, packet_size = "960B" }"#;
    let tcm = r#"{ kind = "tr-tcm", cir = "800kbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }"#;
    let apart = r#"{ kind = "tr-tcm-diffserv", cir = "800kbit/s", eir = "1Mbit/s", cbs = "15p", ebs = "20kB", color_aware = true }"#;
    let loaded = valid(domain(&[(tcm, apart)]));
    resolves_to_itself(&loaded);
    let customer = of(&loaded.scenario, "conditioner.customer[0]");
    let Some(Meter::TrTcmDiffServ(params)) = customer.meter else { panic!("{:?}", customer.meter) };
    let meant = TrTcmDiffServParams {
        cir: rate(800_000),
        cbs: Bytes(15_000),
        eir: rate(1_000_000),
        ebs: Bytes(20_000),
        color_aware: true,
    };
    assert_eq!((params, customer.colors.is_some()), (meant, true));
    let estimate = r#"{ kind = "tsw3cm", cir = "800kbit/s", pir = "1Mbit/s", window = "250ms" }"#;
    resolves_to_itself(&valid(domain(&[(tcm, estimate)])));
    let host = "to = \"d[*]\"\nports = [1, 2]\nmark = \"63\"\nack = { marking = { kind = \"copy\", rule = \"best-of-covered\" } }";
    let changes = [(tcm, friendly), (r#"yellow = "AF12", "#, ""), ("to = \"d[*]\"", host)];
    resolves_to_itself(&valid(domain(&changes)));
}

#[test]
fn estimates_are_meant_as_they_are_written() {
    let tcm = r#"{ kind = "tr-tcm", cir = "800kbit/s", pir = "1Mbit/s", cbs = "15p", pbs = "20kB" }"#;
    let meter = |changes: &[(&str, &str)]| {
        of(&valid(domain(changes)).scenario, "conditioner.customer[0]").meter.clone().expect("a meter")
    };
    let three = r#"{ kind = "tsw3cm", cir = "800kbit/s", pir = "1Mbit/s" }"#;
    let meant = TswParams { cir: rate(800_000), pir: Some(rate(1_000_000)), window: Span::from_secs(1) };
    let found = meter(&[(tcm, three)]);
    assert!(matches!(found, Meter::Tsw(params) if params == meant), "{found:?}");
    assert_eq!((found.kind(), found.committed()), ("tsw3cm", Some(rate(800_000))));
    let two = r#"{ kind = "tsw2cm", cir = "800kbit/s", window = "250ms" }"#;
    let found = meter(&[(tcm, two), (r#"yellow = "AF12", "#, "")]);
    let meant = TswParams { cir: rate(800_000), pir: None, window: Span::from_millis(250) };
    assert!(matches!(found, Meter::Tsw(params) if params == meant), "{found:?}");
    assert_eq!(found.kind(), "tsw2cm");
}

#[test]
fn the_starter_loads_and_resolves_to_itself() {
    let text = include_bytes!("../../../python/perhop/starters/diffserv/diffserv.toml");
    let loaded = valid(load(text, "diffserv.toml", &[]));
    resolves_to_itself(&loaded);
    let paths: Vec<&str> = loaded.scenario.conditioners.iter().map(|c| c.path.as_str()).collect();
    assert_eq!(paths, ["conditioner.premium", "conditioner.assured"]);
    assert_eq!(loaded.scenario.conditioners[1].from.len(), 4);
}

#[test]
fn overrides_reach_every_new_setting() {
    let with = |overrides: &[&str]| valid(overridden(overrides)).scenario;
    let meter = with(&["conditioner.customer.meter.cir=900kbit/s", "conditioner.customer.per=flow"]);
    let customer = of(&meter, "conditioner.customer[1]");
    assert_eq!(customer.per, Per::Flow);
    assert!(matches!(customer.meter, Some(Meter::TrTcm(params)) if params.cir == rate(900_000)));
    let drops = with(&["conditioner.customer.marker.red=drop", "conditioner.customer.match.class=default"]);
    let customer = of(&drops, "conditioner.customer[0]");
    assert_eq!(
        (customer.marker.red, &customer.pattern.classes),
        (Action::Drop, &Some(vec![TrafficClass(1)]))
    );
    let cbr = with(&["udp.cbr.rate=1Mbit/s", "udp.cbr.mark=AF11", r#"udp.cbr.pattern={ kind = "poisson" }"#]);
    assert_eq!(
        (cbr.udp[0].rate, cbr.udp[0].mark, cbr.udp[0].pattern),
        (rate(1_000_000), af(1), UdpPattern::Poisson)
    );
    let core = with(&["port.r2-r3.class.af.queue.green.max_p=0.5", "port.r2-r3.class.ef.share=0.05"]);
    let Queue::Gred(gred) = &core.links[12].port.classes[1].queue else { panic!("not GRED") };
    assert_eq!(format!("{}", gred.green.thresholds.max_p), "0.5");
    let web = with(&[
        "flow.web.arrivals.mean_interval=1s",
        "flow.web.arrivals.size={ kind = \"fixed\", size = \"9kB\" }",
    ]);
    assert!(
        web.flows.len() > 30 && web.flows[4..].iter().all(|flow| flow.tcp.params.size == Some(Bytes(9_000)))
    );
    assert_eq!(with(&["run.packet_size=500B"]).run.packet_size, Some(Bytes(500)));
}
