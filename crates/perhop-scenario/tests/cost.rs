//! How much work a run is, before it is done.

use perhop_scenario::cost::{memory_bytes, packet_hops, series};
use perhop_scenario::load;

const FILE: &str = r#"
    run.duration = "10s"
    node = [{ name = "s", count = 2 }, { name = "d", count = 2 }, { name = "r", kind = "router" }]
    [[link]]
    ends = ["s[*]", "r"]
    rate = "10Mbit/s"
    delay = "25ms"
    [[link]]
    ends = ["r", "d[*]"]
    rate = "1Mbit/s"
    delay = "25ms"
    [[flow]]
    name = "bulk"
    from = "s[*]"
    to = "d[0]"
    tcp = { profile = "rfc", mss = "960B", header = "40B", window = "100kB" }
"#;

fn hops(changes: &[(&str, &str)], more: &str) -> f64 {
    let text = changes.iter().fold(FILE.to_owned(), |text, (old, new)| text.replace(old, new)) + more;
    packet_hops(&load(text.as_bytes(), "test.toml", &[]).expect("a valid scenario").scenario)
}

/// Whether both are the same but for rounding.
fn alike(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6 * b
}

#[test]
fn memory_is_that_of_series_flows_and_links() {
    let loaded = load(FILE.as_bytes(), "test.toml", &["run.interval=10ms".to_owned()]);
    let scenario = loaded.expect("a valid scenario").scenario;
    // 1000 samples of two flows with four quantities, eight links with two, and their eight classes with two
    assert_eq!(series(&scenario), (1000, 2 * 4 + 8 * 2 + 8 * 2));
    assert_eq!(memory_bytes(&scenario), 40_000 * 80 + 2 * 8_000 + 8 * 4_000);
}

#[test]
fn flows_share_the_narrowest_link() {
    // 10 s of 1 Mbit/s are 1250 packets of 1000 bytes, over two links and their ACKs over two.
    assert!(alike(hops(&[], ""), 1250.0 * 4.0));
    // Each has a link of its own.
    assert!(alike(hops(&[("d[0]", "d[*]")], ""), 2.0 * 1250.0 * 4.0));
    assert!(alike(hops(&[("10s", "20s")], ""), 2500.0 * 4.0));
    assert!(alike(hops(&[("from =", "start = \"4s\"\nfrom =")], ""), 750.0 * 4.0));
}

#[test]
fn a_window_is_sent_once_in_a_round_trip() {
    // 100 round trips of 100 ms, 2 packets each.
    assert!(alike(hops(&[("100kB", "2kB")], ""), 2.0 * 100.0 * 2.0 * 4.0));
    // Without delay there is no such bound.
    assert!(alike(hops(&[("100kB", "2kB"), ("25ms", "0ms")], ""), 1250.0 * 4.0));
}

#[test]
fn a_transfer_too_large_for_the_run_is_like_one_without_end() {
    let large = ("mss =", "size = \"10GB\", mss =");
    assert!(alike(hops(&[("10s", "60s"), large], ""), hops(&[("10s", "60s")], "")));
    assert!(alike(hops(&[large, ("100kB", "2kB")], ""), 2.0 * 100.0 * 2.0 * 4.0));
    // One that starts when the run is over sends nothing.
    assert!(hops(&[large, ("from =", "start = \"10s\"\nfrom =")], "").abs() < 1e-6);
}

#[test]
fn a_small_transfer_leaves_the_rest_of_the_link() {
    // 125 packets beside one flow without end: 10 % more than fit.
    let bulk = "[[flow]]\nname = \"b\"\nfrom = \"s[0]\"\nto = \"d[0]\"\n\
                tcp = { mss = \"960B\", header = \"40B\", window = \"100kB\" }\n";
    let small = [("from = \"s[*]\"", "from = \"s[1]\""), ("mss =", "size = \"125p\", mss =")];
    assert!(alike(hops(&small, ""), 125.0 * 4.0));
    assert!(alike(hops(&small, bulk), 1250.0 * 4.0));
}

#[test]
fn transfers_have_their_size_and_udp_its_rate() {
    assert!(alike(hops(&[("mss =", "size = \"50p\", mss =")], ""), 2.0 * 50.0 * 4.0));
    let udp = "[[udp]]\nname = \"u\"\nfrom = \"s[0]\"\nto = \"d[1]\"\nrate = \"80kbit/s\"\n\
               packet_size = \"100B\"\n";
    assert!(alike(hops(&[], udp), 1250.0 * 4.0 + 1000.0 * 2.0));
    let half = format!("{udp}pattern = {{ kind = \"on-off\", on = \"1s\", off = \"1s\" }}\n");
    assert!(alike(hops(&[], &half), 1250.0 * 4.0 + 500.0 * 2.0));
}
