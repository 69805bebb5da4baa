//! Promises to classes: kept as written, no part of a treatment, refused where no run could keep them.

use crate::common::{changed, one, valid};
use insta::assert_snapshot;

const BULK: &str = "name = \"bulk\"";

fn sla(class: &str, quantity: &str, bound: &str) -> String {
    format!("class = \"{class}\"\nquantity = \"{quantity}\"\nbound = \"{bound}\"")
}

/// The example with one promise.
fn promised(class: &str, quantity: &str, bound: &str) -> String {
    format!("[[sla]]\n{}\n\n[[flow]]\n{BULK}", sla(class, quantity, bound))
}

/// What is said of one promise.
fn refusal(class: &str, quantity: &str, bound: &str) -> String {
    one(&format!("[[flow]]\n{BULK}"), &promised(class, quantity, bound))
}

#[test]
fn a_promise_is_kept_as_written_and_is_no_part_of_a_treatment() {
    let flow = format!("[[flow]]\n{BULK}");
    let own = valid(changed(&[(&flow, &promised("default", "goodput", "2Mbit/s"))]));
    let resolved = own.resolved_toml();
    assert!(
        resolved.contains("[[sla]]\nclass = \"default\"\nquantity = \"goodput\"\nbound = \"2Mbit/s\"\n"),
        "{resolved}"
    );
    assert_eq!(own.treatment_toml(), valid(changed(&[])).treatment_toml());
}

#[test]
fn bounds_are_of_their_quantities() {
    assert_snapshot!(refusal("default", "goodput", "5ms"), @"110:9 sla[0].bound: `ms` is not a unit for a rate (write `100kbit/s`, `10Mbps` or `1.25MB/s`)");
    assert_snapshot!(refusal("default", "delay_p99", "5Mbit/s"), @"110:9 sla[0].bound: `Mbit/s` is not a unit for a time (write `60s`, `5ms`, `20us` or `100ns`)");
    assert_snapshot!(refusal("default", "delay_p50", "7"), @r#"110:9 sla[0].bound: a time needs a unit; a bare number has none (write the unit: "7s" or "7ms")"#);
    assert_snapshot!(refusal("default", "loss", "-0%"), @"110:9 sla[0].bound: `-0%` is no percentage from 0 to 100 (write `1%`)");
    assert_snapshot!(refusal("default", "loss", "0.5"), @"110:9 sla[0].bound: `0.5` is no percentage from 0 to 100 (write `1%`)");
    assert_snapshot!(refusal("default", "loss", "101%"), @"110:9 sla[0].bound: `101%` is no percentage from 0 to 100 (write `1%`)");
    assert_snapshot!(refusal("default", "loss", "nan%"), @"110:9 sla[0].bound: `nan%` is no percentage from 0 to 100 (write `1%`)");
}

#[test]
fn a_class_is_one_of_flows_and_is_promised_a_thing_once() {
    assert_snapshot!(refusal("default", "delay_p97", "7Mbit/s"), @r#"109:12 sla[0].quantity: `delay_p97` is not one of "goodput", "loss", "delay_p50", "delay_p95", "delay_p99", "delay_p999", "ipdv_p95", "transfer_mean", "transfer_p95" (did you mean `delay_p95`?)"#);
    assert_snapshot!(refusal("defualt", "loss", "1%"), @"108:9 sla[0].class: there is no class of flows `defualt` (did you mean `default`?)");
    let flow = format!("[[flow]]\n{BULK}");
    let twice = format!("[[sla]]\n{}\n\n{}", sla("default", "loss", "1%"), promised("default", "loss", "2%"));
    assert_snapshot!(one(&flow, &twice), @"114:12 sla[1].quantity: `default` is promised this already (keep the tighter bound)");
}
