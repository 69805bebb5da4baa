//! From the file to the model, and back to a resolved file.

use crate::common::{BASE, changed};
use perhop_core::units::QueueSize;
use perhop_scenario::model::{Queue, Scheduler, Selector};
use perhop_scenario::{load, schema};

#[test]
fn counts_are_expanded_in_file_order() {
    let scenario = changed(&[]).expect("valid").scenario;
    let nodes: Vec<&str> = scenario.nodes.iter().map(|node| node.name.as_str()).collect();
    assert_eq!(nodes, ["slow", "fast", "r", "s[0]", "s[1]", "s[2]", "d[0]", "d[1]", "d[2]"]);
    let links: Vec<&str> = scenario.links.iter().map(|link| link.name.as_str()).collect();
    assert_eq!(links[..4], ["slow->fast", "fast->slow", "s[0]->r", "r->s[0]"]);
    assert_eq!(links[12..], ["r->d[2]", "d[2]->r"]);
    let flows: Vec<&str> = scenario.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(flows, ["up", "bulk[0]", "bulk[1]", "bulk[2]"]);
    assert_eq!(scenario.nodes[scenario.flows[3].to].name, "d[2]");
}

#[test]
fn ports_are_put_on_their_links() {
    let scenario = changed(&[]).expect("valid").scenario;
    let port = &scenario.links[0].port;
    assert_eq!((port.path.as_str(), port.backpressure), ("port.slow-fast", Some(1)));
    assert_eq!(port.scheduler, Scheduler::PairedCounter { data: 1, share: 0.5 });
    assert_eq!(port.classes[0].matches, [Selector::PureAck]);
    assert_eq!(port.classes[1].queue, Queue::Fifo { limit: QueueSize::Bytes(64_000), ack_filter: None });
    let other = &scenario.links[2].port;
    assert_eq!((other.path.as_str(), other.classes.len()), ("port.s[0]-r", 1));
    assert_eq!(other.classes[0].queue, Queue::Fifo { limit: QueueSize::Packets(1000), ack_filter: None });
}

#[test]
fn a_port_that_names_a_member_goes_before_one_for_each() {
    let more = "[[port]]\nat = \"s[*]\"\nto = \"r\"\nbackpressure = 2\n[[port]]\nat = \"s[1]\"\nto = \"r\"\nbackpressure = 7";
    let loaded = load(format!("{BASE}\n{more}").as_bytes(), "test.toml", &[]).expect("valid");
    let thresholds: Vec<_> = [2, 4, 6].map(|link| loaded.scenario.links[link].port.backpressure).to_vec();
    assert_eq!(thresholds, [Some(2), Some(7), Some(2)]);
}

#[test]
fn flows_from_many_to_one_and_from_one_to_many() {
    let to_one = changed(&[(r#"to = "d[*]""#, r#"to = "d[1]""#)]).expect("valid").scenario;
    assert!(to_one.flows[1..].iter().all(|flow| to_one.nodes[flow.to].name == "d[1]"));
    assert_eq!(to_one.flows[3].name, "bulk[2]");
    let from_one = changed(&[(r#"from = "s[*]""#, r#"from = "s[1]""#)]).expect("valid").scenario;
    assert_eq!(from_one.nodes[from_one.flows[3].to].name, "d[2]");
}

#[test]
fn the_resolved_file_is_complete_and_resolves_to_itself() {
    let loaded = changed(&[(r#"at = "slow""#, r#"at = "fast""#), (r#"to = "fast""#, r#"to = "slow""#)])
        .expect("valid");
    let text = loaded.resolved_toml();
    insta::assert_snapshot!("resolved", text);
    let again = load(text.as_bytes(), "resolved.toml", &[]).expect("valid");
    assert_eq!(again.resolved_toml(), text);
    assert_eq!(again.file, loaded.file);
    assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
}

#[test]
fn default_ports_are_written_out_where_others_cover_a_part() {
    // `s[1]` has its own port; the others get the default one under the pattern, which it goes before.
    let one = format!("{BASE}\n[[port]]\nat = \"s[1]\"\nto = \"r\"\nbackpressure = 7");
    // Of the links from `r`, `d[*]` covers all; nothing is added.
    let all = format!("{one}\n[[port]]\nat = \"r\"\nto = \"d[*]\"");
    for text in [one, all] {
        let loaded = load(text.as_bytes(), "test.toml", &[]).expect("valid");
        let again = load(loaded.resolved_toml().as_bytes(), "resolved.toml", &[]).expect("valid");
        assert_eq!(format!("{:?}", again.scenario), format!("{:?}", loaded.scenario));
        assert_eq!(again.resolved_toml(), loaded.resolved_toml());
    }
}

#[test]
fn the_schema_describes_every_setting_and_shows_its_default() {
    let schema = schema();
    let tcp = &schema["$defs"]["Tcp"]["properties"];
    assert_eq!(tcp["window"]["default"], "6MiB");
    assert_eq!(schema["$defs"]["Time"]["format"], "time-with-unit");
    assert_eq!(schema["$defs"]["Port"]["additionalProperties"], false);
    let tables = schema["$defs"].as_object().expect("definitions").values();
    for property in tables.filter_map(|table| table["properties"].as_object()).flatten() {
        assert!(property.1["description"].is_string(), "{} has no description", property.0);
    }
}
