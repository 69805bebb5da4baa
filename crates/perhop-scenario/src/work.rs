//! How much work a run is, before it is done.

use perhop_core::time::Span;
use perhop_core::units::Bytes;

use crate::model::{Flow, Scenario, Udp, UdpPattern};
use crate::routes::{Route, routes};

/// Roughly how often packets cross links in a run; 0 where a flow has no way.
///
/// A TCP flow without an end sends at an equal part of its narrowest link, as links share among such flows, or its window
/// in each empty round trip, whichever is less. Every packet of data is acknowledged and none is lost.
#[must_use]
pub fn packet_hops(scenario: &Scenario) -> f64 {
    let Ok(ways) = routes(scenario) else { return 0.0 };
    let (of_tcp, of_udp) = ways.split_at(scenario.flows.len());
    let mut sharing = vec![0u32; scenario.links.len()];
    for (_, way) in scenario.flows.iter().zip(of_tcp).filter(|(flow, _)| flow.tcp.params.size.is_none()) {
        way.forward.iter().for_each(|link| sharing[*link] += 1);
    }
    let tcp = scenario.flows.iter().zip(of_tcp).map(|(flow, way)| {
        let hops = way.forward.len() + way.reverse.len();
        segments(scenario, flow, way, &sharing) * float(hops as u64)
    });
    let udp = scenario.udp.iter().zip(of_udp);
    let udp = udp.map(|(flow, way)| datagrams(scenario, flow) * float(way.forward.len() as u64));
    tcp.chain(udp).sum()
}

fn segments(scenario: &Scenario, flow: &Flow, way: &Route, sharing: &[u32]) -> f64 {
    let params = &flow.tcp.params;
    if let Some(size) = params.size {
        return float(size.0) / float(params.mss.0);
    }
    let part = |link: &usize| float(scenario.links[*link].rate.bits_per_sec()) / f64::from(sharing[*link]);
    let narrowest = way.forward.iter().map(part).fold(f64::INFINITY, f64::min);
    let round_trip: f64 =
        way.forward.iter().chain(&way.reverse).map(|link| scenario.links[*link].delay.as_secs_f64()).sum();
    let of_links = narrowest / bits(Bytes(params.mss.0 + flow.tcp.header.0));
    let of_window = float(params.window.0) / float(params.mss.0) / round_trip;
    of_links.min(of_window) * left(scenario, flow.start)
}

fn datagrams(scenario: &Scenario, flow: &Udp) -> f64 {
    let sending = match flow.pattern {
        UdpPattern::Cbr | UdpPattern::Poisson => 1.0,
        UdpPattern::OnOff { on, off } => on.as_secs_f64() / (on.as_secs_f64() + off.as_secs_f64()),
    };
    float(flow.rate.bits_per_sec()) * sending * left(scenario, flow.start) / bits(flow.packet_size)
}

/// Seconds from `start` to the end of the run.
fn left(scenario: &Scenario, start: Span) -> f64 {
    (scenario.run.duration.as_secs_f64() - start.as_secs_f64()).max(0.0)
}

fn bits(size: Bytes) -> f64 {
    8.0 * float(size.0)
}

#[expect(clippy::cast_precision_loss, reason = "a rough number")]
fn float(n: u64) -> f64 {
    n as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load;

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
        tcp = { mss = "960B", header = "40B", window = "100kB" }
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
    fn transfers_have_their_size_and_udp_its_rate() {
        assert!(alike(hops(&[("mss =", "size = \"50p\", mss =")], ""), 2.0 * 50.0 * 4.0));
        let udp = "[[udp]]\nname = \"u\"\nfrom = \"s[0]\"\nto = \"d[1]\"\nrate = \"80kbit/s\"\n\
                   packet_size = \"100B\"\n";
        assert!(alike(hops(&[], udp), 1250.0 * 4.0 + 1000.0 * 2.0));
        let half = format!("{udp}pattern = {{ kind = \"on-off\", on = \"1s\", off = \"1s\" }}\n");
        assert!(alike(hops(&[], &half), 1250.0 * 4.0 + 500.0 * 2.0));
    }
}
